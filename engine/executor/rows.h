/* Rows: one row is one call of an inner loop on operands in memory, at offsets and strides that are known beforehand. */
#ifndef DUALGRAD_ROWS_H
#define DUALGRAD_ROWS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dualgrad_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL dualgrad_UFUNC_API
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#define MAX_OPERANDS 8
#define MAX_CORE 8
#define MAX_OUTER 32

/* How a loop goes through an operand. */
enum loop_kind {
    STRIDED, /* all of them element by element, and along core dimensions */
    TAKE,    /* operand 0 holds offsets in bytes into operand 1, which itself stays in place */
    PUT,     /* operand 0 holds offsets in bytes into the last operand, which itself stays in place */
    SELECTS  /* operand 0 says for which of its elements the rows behind it run; in TILES steps only */
};

/* What does the same as an inner loop along several lines, which are `far` apart, and changes what it is given. */
typedef void LinesFunction(char **args, npy_intp const *dims, npy_intp const *steps, npy_intp lines, npy_intp const *far, void *data);

/* An inner loop: one of NumPy's, or of loops.c. */
typedef struct {
    PyUFuncGenericFunction function;
    void *data;
    enum loop_kind kind;
    int refuses; /* whether it sets its first operand to NULL for contents that it does not take; only in CHECKED steps */
    int nin, nargs;
    npy_intp size[MAX_OPERANDS]; /* bytes of an element */
    int ndims;                   /* core dimensions that have names */
    int ncore[MAX_OPERANDS];     /* core dimensions of each operand */
    int core[MAX_CORE];          /* and which those are, one operand after the other */
    npy_intp align[MAX_OPERANDS]; /* what addresses and strides are multiples of; a power of two */
    LinesFunction *lines;        /* NULL if it has none */
    int code;                    /* of short rows that do the same, or 0 */
    npy_intp most;               /* the largest core dimension that it takes, or 0 */
    PyUFuncGenericFunction inner; /* what `function` calls with one thread of BLAS, with the loop itself as its data; else NULL */
    void *inner_data;
    int own;                     /* whether it is no ufunc's */
} Loop;

/* A row of a few elements (short_rows.c): where operands are, the result last. */
typedef struct {
    npy_uint16 code, count, base[3];
    npy_uint32 offset[3];
} ShortRow;

/* No number that describes memory is larger. */
#define LARGE ((npy_intp)1 << 48)

/* Memory that operands lie in: what can be reached from its address, and whether rows may write there. */
typedef struct {
    npy_intp low, high;
    int there; /* whether it has its contents: a slot has those of a call before */
    int writable;
    const char *fixed; /* its contents, where these never change */
} Extent;

typedef struct {
    const Loop *loop;
    int nouter;
    const npy_intp *base;    /* per operand: in which memory */
    const npy_intp *offset;  /* per operand: where in it, in bytes */
    const npy_intp *advance; /* per operand: bytes from tile to tile */
    const npy_intp *dims;    /* of the inner loop, then of the core */
    const npy_intp *steps;   /* strides of the inner loop, then those of the core */
    const npy_intp *outer;   /* dimensions around the inner loop */
    const npy_intp *strides; /* per outer dimension, per operand */
    npy_intp first, end;     /* where there is no loop: short rows */
    int shared;              /* whether several threads can run its outermost lines */
} Row;

/* What adds up all tiles does so in their order: rows from `first` on, before `end`, wait until it is the turn of their tile. */
typedef struct {
    const Row *first, *end;
    npy_intp turn;
} Turns;

/* Read a row from numbers; returns how many were read, or -1 with an exception if they describe none. */
npy_intp row_read(Row *row, const npy_intp *numbers, npy_intp count, const Loop *loops, npy_intp nloops);

/* Whether all that a row touches, in `tiles` tiles, the last of `rest` elements (0: as many), lies inside; else -1 and an exception. */
int row_check(const Row *row, const Extent *extents, npy_intp nbases, npy_intp tiles, npy_intp rest);

/* How many numbers a row goes through in a tile. */
double row_work(const Row *row);

/* Whether a row's outermost lines can be run in any order: none writes what another one reads or writes. */
int row_is_apart(const Row *row);

/* Whether tiles write each their own: 1; 0 if they do not; -1 if all tiles write the same, and it is not in memory of one thread's own. */
int row_has_tiles(const Row *row, npy_intp own);

/* Whether the rows that a row selects are there, before `end`, and have the dimensions that it counts; else -1 and an exception. */
int row_check_selected(const Row *row, const Row *end);

/* The code of short rows that do what the loop of this name does, such as add_d; 0 if there are none. */
int short_row_code(const char *name);

/* Whether a row, which has been checked, is a short one, and if so which. */
int short_row_of(const Row *row, ShortRow *found);

void short_rows_run(const ShortRow *row, const ShortRow *end, char *const *bases);

/* Run rows, up to one that refuses what it is given; whether there was one. The GIL need not be held. */
int rows_run(const Row *row, const Row *end, const ShortRow *shorts, char *const *bases);

/* The same for rows that may refuse; a loop of NumPy's does by an invalid operation. */
int rows_run_checked(const Row *row, const Row *end, char *const *bases);

/* Run rows for a tile of that many elements, as many as they say where that is 0. */
void rows_run_tile(const Row *first, const Row *end, char *const *bases, npy_intp tile, npy_intp count, Turns *turns);

#endif
