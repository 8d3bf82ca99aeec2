/* Threads of this process that share jobs. They are started when they are first needed, and sleep between two jobs; a forked child
 * starts its own. Parts are handed out in order, so whoever has the lowest one that is not done never waits for another.
 */
#include "threads.h"

static int count = 1;

int get_threads(void)
{
    return count;
}

void set_threads(int wanted)
{
    count = wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : wanted;
}

#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__))
#include <fenv.h>
#include <pthread.h>
#include <sched.h>

#define PATIENCE 1000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun, left;
    int started, busy, wanted, inside, flags; /* threads; whether there is a job; how many it still wants, and has */
    Part *part;
    void *job;
    ptrdiff_t next, parts;
    fenv_t environment;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void do_parts(int thread)
{
    for (ptrdiff_t part; (part = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED)) < pool.parts;) {
        pool.part(pool.job, part, thread);
    }
}

static void *help(void *unused)
{
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.wanted == 0) {
            pthread_cond_wait(&pool.begun, &pool.lock);
        }
        const int thread = pool.wanted--;
        pool.inside++;
        fesetenv(&pool.environment);
        pthread_mutex_unlock(&pool.lock);
        feclearexcept(FE_ALL_EXCEPT);
        do_parts(thread);
        pthread_mutex_lock(&pool.lock);
        pool.flags |= fetestexcept(FE_ALL_EXCEPT);
        if (--pool.inside == 0) {
            pthread_cond_signal(&pool.left);
        }
    }
    return unused;
}

/* In a forked child there are none of the threads, and whoever had the lock is gone. */
static void forget(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.begun, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.started = pool.busy = pool.wanted = pool.inside = 0;
}

/* Offer a job to others, which has the lock; whether there are any. */
static int offer(Part *part, void *job, ptrdiff_t parts, int most)
{
    static int watched;
    if (pool.busy || (!watched && pthread_atfork(NULL, NULL, forget) != 0)) {
        return 0;
    }
    watched = 1;
    for (pthread_t thread; pool.started < most - 1; pool.started++) {
        if (pthread_create(&thread, NULL, help, NULL) != 0) {
            break;
        }
        pthread_detach(thread);
    }
    if (pool.started == 0) {
        return 0;
    }
    pool.part = part;
    pool.job = job;
    pool.next = 0;
    pool.parts = parts;
    pool.flags = 0;
    pool.busy = 1;
    pool.wanted = pool.started < most - 1 ? pool.started : most - 1;
    fegetenv(&pool.environment);
    pthread_cond_broadcast(&pool.begun);
    return 1;
}

void share(Part *part, void *job, ptrdiff_t parts, int most)
{
    most = most < count ? most : count;
    most = most < parts ? most : (int)parts;
    int offered = 0;
    if (most > 1) {
        pthread_mutex_lock(&pool.lock);
        offered = offer(part, job, parts, most);
        pthread_mutex_unlock(&pool.lock);
    }
    if (!offered) {
        for (ptrdiff_t i = 0; i < parts; i++) {
            part(job, i, 0);
        }
        return;
    }
    do_parts(0);
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* who has not come yet need not */
    while (pool.inside) {
        pthread_cond_wait(&pool.left, &pool.lock);
    }
    const int flags = pool.flags;
    pool.busy = 0;
    pthread_mutex_unlock(&pool.lock);
    feraiseexcept(flags);
}

void await_turn(const ptrdiff_t *turn, ptrdiff_t mine)
{
    for (int times = 0; __atomic_load_n(turn, __ATOMIC_ACQUIRE) != mine; times++) {
        if (times >= PATIENCE) {
            sched_yield(); /* who has the turn may wait for this core */
        }
    }
}

void pass_turn(ptrdiff_t *turn)
{
    __atomic_fetch_add(turn, 1, __ATOMIC_RELEASE);
}
#else
void share(Part *part, void *job, ptrdiff_t parts, int most)
{
    for (ptrdiff_t i = 0; i < parts; i++) {
        part(job, i, 0);
    }
    (void)most;
}

void await_turn(const ptrdiff_t *turn, ptrdiff_t mine)
{
    (void)turn, (void)mine;
}

void pass_turn(ptrdiff_t *turn)
{
    ++*turn;
}
#endif
