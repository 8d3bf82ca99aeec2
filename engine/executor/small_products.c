/* Products of small matrices, and sums of products of columns and rows.

small_matmul_TYPE and small_matmul_fma_TYPE, (m, k), (k, n) -> (m, n): NumPy's loop, and the BLAS behind it, take 25 to 80 ns for each. A sum is added up in order, from 0; with `fma` a product
and what it is added to are rounded once, as BLAS does. Which of both gives NumPy's bits is tried (vocabulary.py). */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <string.h>

#include "../runtime/wide.h"
#include "loops.h"

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

#if defined(__GNUC__)
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline
#endif

#define APART(TYPE, A, B, C) ((A) * (B) + (C))
#define TOGETHER_npy_float(A, B, C) __builtin_fmaf(A, B, C)
#define TOGETHER_npy_double(A, B, C) __builtin_fma(A, B, C)
#define TOGETHER(TYPE, A, B, C) TOGETHER_##TYPE(A, B, C)

/* The rows of a by b, whose rows are `ldb` apart and hold N numbers side by side. Square matrices are told apart: for these
all loops are unrolled. */
#define ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, N) \
    ATTRIBUTES static INLINED void NAME##_##N##_of( \
        npy_intp m, npy_intp k, const char *a, npy_intp am, npy_intp ak, const TYPE *b, npy_intp ldb, char *out, npy_intp om) \
    { \
        for (npy_intp i = 0; i < m; i++) { \
            TYPE sum[N] = {0}; \
            for (npy_intp p = 0; p < k; p++) { \
                const TYPE x = *(const TYPE *)(a + i * am + p * ak); \
                for (int j = 0; j < N; j++) { \
                    sum[j] = MULTIPLY_ADD(TYPE, x, b[p * ldb + j], sum[j]); \
                } \
            } \
            memcpy(out + i * om, sum, sizeof(sum)); \
        } \
    } \
    ATTRIBUTES static void NAME##_##N( \
        npy_intp m, npy_intp k, const char *a, npy_intp am, npy_intp ak, const TYPE *b, npy_intp ldb, char *out, npy_intp om) \
    { \
        if (m == N && k == N && N <= 4) { \
            NAME##_##N##_of(N, N, a, am, ak, b, ldb, out, om); \
        } \
        else { \
            NAME##_##N##_of(m, k, a, am, ak, b, ldb, out, om); \
        } \
    }
#define SMALL_PRODUCT(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 1) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 2) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 3) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 4) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 5) \
    ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, 6) \
    void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)) \
    { \
        static void (*const by[])( \
            npy_intp, npy_intp, const char *, npy_intp, npy_intp, const TYPE *, npy_intp, char *, npy_intp) = { \
            NULL, NAME##_1, NAME##_2, NAME##_3, NAME##_4, NAME##_5, NAME##_6}; \
        const npy_intp item = sizeof(TYPE), m = dimensions[1], k = dimensions[2], n = dimensions[3]; \
        const npy_intp bk = steps[5], bn = steps[6]; \
        const char *a = args[0], *b = args[1]; \
        char *out = args[2]; \
        TYPE turned[MOST_CORE * MOST_CORE], apart[MOST_CORE * MOST_CORE]; \
        const int aside = steps[8] != item && n > 1; \
        for (npy_intp i = 0; i < dimensions[0]; i++, a += steps[0], b += steps[1], out += steps[2]) { \
            const TYPE *rows = (const TYPE *)b; \
            npy_intp ldb = bk / item; \
            if (bn != item && n > 1) { \
                for (npy_intp p = 0; p < k && (i == 0 || steps[1]); p++) { \
                    for (npy_intp j = 0; j < n; j++) { \
                        turned[p * n + j] = *(const TYPE *)(b + p * bk + j * bn); \
                    } \
                } \
                rows = turned, ldb = n; \
            } \
            by[n](m, k, a, steps[3], steps[4], rows, ldb, aside ? (char *)apart : out, aside ? n * item : steps[7]); \
            for (npy_intp j = 0; aside && j < m * n; j++) { \
                *(TYPE *)(out + j / n * steps[7] + j % n * steps[8]) = apart[j]; \
            } \
        } \
    }
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
