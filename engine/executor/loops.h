/* Inner loops that NumPy has none for: copies, casts, choices, offsets, and the product that keeps zeros. */
#ifndef DUALGRAD_LOOPS_H
#define DUALGRAD_LOOPS_H

#include "../runtime/small_product.h"
#include "rows.h"

/* The loop of this name; NULL if there is none. */
const Loop *own_loop(const char *name);

/* The loop fused_TYPE_STEPS (fused.c), which needs its name as long as it is used; whether there is one. */
int fused_loop(const char *name, Loop *loop);

/* The loop summed_TYPE_STEPS (summed.c), likewise; how many operands and terms it takes at most. */
#define MOST_TAKEN 4
#define MOST_TERMS 32
int summed_loop(const char *name, Loop *loop);

/* Products of small matrices (small_products.c), whose dimensions are at most MOST_CORE; those with fma where the machine has it. */
void small_matmul_f(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void small_matmul_d(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void small_matmul_fma_f(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void small_matmul_fma_d(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
int has_fma(void);

/* Sums of products of columns and rows (small_products.c). */
void add_outers_f_1(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void add_outers_f_2(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void add_outers_f_3(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void add_outers_d_1(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void add_outers_d_2(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void add_outers_d_3(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);

/* Rows added to what is there (loops.c): those of single elements are added by others, see run_gathered in rows.c. */
void sum_rows_f(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);
void sum_rows_d(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);

/* Stands for rows that select by shares of extremes, see run_selected in rows.c. */
void shares(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data);

/* Where LAPACK's strtrs and dtrtrs are; whether they are anywhere. */
int set_trtrs(void *single, void *both);

/* Those that this machine can run, as a dict: by name (cores, indexed, refuses, most, lines, of); see own_loops.py. */
PyObject *own_loops(void);

/* The steps of a fused loop, as a list of (letter, operands, whether the first of these is a boolean, meaning). */
PyObject *fused_steps(void);

#endif
