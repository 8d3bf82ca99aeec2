/* Products of small matrices, and sums of products of columns and rows.

small_matmul_TYPE and small_matmul_fma_TYPE, (m, k), (k, n) -> (m, n): NumPy's loop, and the BLAS behind it, take 25 to 80 ns for each. A sum is added up in order, from 0; with `fma` a product
and what it is added to are rounded once, as BLAS does. Which of both gives NumPy's bits is tried (vocabulary.py). */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <string.h>

#include "loops.h"

#include "../runtime/four_products.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define WITH_FMA __attribute__((target("avx2,fma")))
#define HAS_FMA (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#elif defined(__aarch64__) && defined(__GNUC__)
#define WITH_FMA
#define HAS_FMA 1
#else
#define WITH_FMA
#define HAS_FMA 0
#endif

int has_fma(void)
{
    return HAS_FMA;
}

#define TOGETHER_npy_float(A, B, C) __builtin_fmaf(A, B, C)
#define TOGETHER_npy_double(A, B, C) __builtin_fma(A, B, C)
#define TOGETHER(TYPE, A, B, C) TOGETHER_##TYPE(A, B, C)
SMALL_PRODUCT(small_matmul_f, npy_float, , APART)
SMALL_PRODUCT(small_matmul_d, npy_double, , APART)
SMALL_PRODUCT(small_matmul_fma_f, npy_float, WITH_FMA, TOGETHER)
SMALL_PRODUCT(small_matmul_fma_d, npy_double, WITH_FMA, TOGETHER)

/* add_outers_TYPE_N: N times (m), (n), each added to (m, n), one after the other. */
#define TERM_1 sum += u[0] * v0[j];
#define TERM_2 TERM_1 sum += u[1] * v1[j];
#define TERM_3 TERM_2 sum += u[2] * v2[j];
#define ADD_OUTERS(NAME, TYPE, N) \
    WIDE static void NAME##_in_lines(npy_intp m, npy_intp n, char *const *at, const npy_intp *core) \
    { \
        const TYPE *v0 = (const TYPE *)at[1], *v1 = N > 1 ? (const TYPE *)at[3] : NULL, *v2 = N > 2 ? (const TYPE *)at[5] : NULL; \
        for (npy_intp i = 0; i < m; i++) { \
            TYPE u[N], *restrict out = (TYPE *)(at[2 * N] + i * core[2 * N]); \
            for (int k = 0; k < N; k++) { \
                u[k] = *(const TYPE *)(at[2 * k] + i * core[2 * k]); \
            } \
            for (npy_intp j = 0; j < n; j++) { \
                TYPE sum = out[j]; \
                TERM_##N out[j] = sum; \
            } \
        } \
        (void)v1, (void)v2; \
    } \
    static void NAME##_apart(npy_intp m, npy_intp n, char *const *at, const npy_intp *core) \
    { \
        for (npy_intp i = 0; i < m * n; i++) { \
            TYPE *out = (TYPE *)(at[2 * N] + i / n * core[2 * N] + i % n * core[2 * N + 1]); \
            for (int k = 0; k < N; k++) { \
                *out += *(const TYPE *)(at[2 * k] + i / n * core[2 * k]) * *(const TYPE *)(at[2 * k + 1] + i % n * core[2 * k + 1]); \
            } \
        } \
    } \
    void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)) \
    { \
        const npy_intp m = dimensions[1], n = dimensions[2], *core = steps + 2 * N + 1; \
        int side_by_side = 1; \
        for (int k = 1; k < 2 * N + 2; k += 2) { \
            side_by_side &= core[k] == sizeof(TYPE) || n == 1; \
        } \
        for (npy_intp c = 0; c < dimensions[0]; c++) { \
            char *at[2 * N + 1]; \
            for (int k = 0; k < 2 * N + 1; k++) { \
                at[k] = args[k] + c * steps[k]; \
            } \
            (side_by_side ? NAME##_in_lines : NAME##_apart)(m, n, at, core); \
        } \
    }
ADD_OUTERS(add_outers_f_1, npy_float, 1)
ADD_OUTERS(add_outers_f_2, npy_float, 2)
ADD_OUTERS(add_outers_f_3, npy_float, 3)
ADD_OUTERS(add_outers_d_1, npy_double, 1)
ADD_OUTERS(add_outers_d_2, npy_double, 2)
ADD_OUTERS(add_outers_d_3, npy_double, 3)
