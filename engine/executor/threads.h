/* Threads that share a job with who has it (threads.c). */
#ifndef DUALGRAD_THREADS_H
#define DUALGRAD_THREADS_H

#include <stddef.h>

#define MOST_THREADS 64

/* One of the parts of a job; `thread` counts those at work, 0 is who has the job. */
typedef void Part(void *job, ptrdiff_t part, int thread);

/* Do all parts of a job, each by who is free; at most so many threads do. Floating-point flags are the caller's then. */
void share(Part *part, void *job, ptrdiff_t parts, int most);

/* Wait until a turn, which begins with 0, is that of this part; and let it be that of the next one. */
void await_turn(const ptrdiff_t *turn, ptrdiff_t mine);
void pass_turn(ptrdiff_t *turn);

/* How many threads share jobs from now on, and how many do. */
void set_threads(int count);
int get_threads(void);

#endif
