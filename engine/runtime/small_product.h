/* The loop of a product of small matrices, (m, k), (k, n) -> (m, n), whose dimensions are at most MOST_CORE.

A sum is added up in order, from 0. MULTIPLY_ADD rounds a product and a sum apart, or both at once. SMALL_PRODUCT needs four_products.h. */
#ifndef DUALGRAD_SMALL_PRODUCT_H
#define DUALGRAD_SMALL_PRODUCT_H

#include <string.h>

#define MOST_CORE 6

#if defined(__GNUC__)
#define UNROLLED inline __attribute__((always_inline))
#else
#define UNROLLED inline
#endif

#define APART(TYPE, A, B, C) ((A) * (B) + (C))

/* The rows of a by b, whose rows are `ldb` apart and hold N numbers side by side. Square matrices are told apart: for these
all loops are unrolled. */
#define ROWS_BY(NAME, TYPE, ATTRIBUTES, MULTIPLY_ADD, N) \
    ATTRIBUTES static UNROLLED void NAME##_##N##_of( \
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
        const npy_intp made = SIDE_BY_SIDE_##MULTIPLY_ADD##_##TYPE(args, dimensions, steps); \
        const char *a = args[0] + made * steps[0], *b = args[1] + made * steps[1]; \
        char *out = args[2] + made * steps[2]; \
        TYPE turned[MOST_CORE * MOST_CORE], apart[MOST_CORE * MOST_CORE]; \
        const int aside = steps[8] != item && n > 1; \
        for (npy_intp i = made; i < dimensions[0]; i++, a += steps[0], b += steps[1], out += steps[2]) { \
            const TYPE *rows = (const TYPE *)b; \
            npy_intp ldb = bk / item; \
            if (bn != item && n > 1) { \
                for (npy_intp p = 0; p < k && (i == made || steps[1]); p++) { \
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

#endif
