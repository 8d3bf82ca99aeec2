/* Products of four matrices of equal shape side by side, for the shapes that are most frequent: how many were made.

The sums are those of small_product.h, in the same order. */
#ifndef DUALGRAD_FOUR_PRODUCTS_H
#define DUALGRAD_FOUR_PRODUCTS_H

#include "small_product.h"
#include "wide.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* all is set, by loops that are unrolled later than it is looked at */

#define LEAST_SIDE_BY_SIDE 32
typedef double Four __attribute__((vector_size(32)));

static UNROLLED void four_products_of(
    const int m, const int k, const int n, npy_intp count, char *const *args, npy_intp const *steps, npy_intp const *core)
{
    for (npy_intp i = 0; i < count; i += 4) {
        Four a[4][4], b[4][4];
        const char *x = args[0] + i * steps[0], *y = args[1] + i * steps[1];
        char *out = args[2] + i * steps[2];
        _Pragma("GCC unroll 4") for (int r = 0; r < m; r++) {
            _Pragma("GCC unroll 4") for (int c = 0; c < k; c++) {
                const char *at = x + r * core[0] + c * core[1];
                a[r][c] = (Four){*(const double *)at, *(const double *)(at + steps[0]), *(const double *)(at + 2 * steps[0]), *(const double *)(at + 3 * steps[0])};
            }
        }
        _Pragma("GCC unroll 4") for (int r = 0; r < k; r++) {
            _Pragma("GCC unroll 4") for (int c = 0; c < n; c++) {
                const char *at = y + r * core[2] + c * core[3];
                b[r][c] = (Four){*(const double *)at, *(const double *)(at + steps[1]), *(const double *)(at + 2 * steps[1]), *(const double *)(at + 3 * steps[1])};
            }
        }
        _Pragma("GCC unroll 4") for (int r = 0; r < m; r++) {
            _Pragma("GCC unroll 4") for (int c = 0; c < n; c++) {
                Four sum = {0};
                _Pragma("GCC unroll 4") for (int p = 0; p < k; p++) {
                    sum = a[r][p] * b[p][c] + sum;
                }
                for (int l = 0; l < 4; l++) {
                    *(double *)(out + r * core[4] + c * core[5] + l * steps[2]) = sum[l];
                }
            }
        }
    }
}

WIDE_ONLY static npy_intp four_products_wide(char *const *args, npy_intp const *dimensions, npy_intp const *steps)
{
    const npy_intp count = dimensions[0] / 4 * 4;
    if (count < LEAST_SIDE_BY_SIDE || (dimensions[3] == 4 && steps[6] == sizeof(double))) {
        return 0; /* rows of four are a vector each */
    }
    switch (dimensions[1] * 100 + dimensions[2] * 10 + dimensions[3]) {
    case 222: four_products_of(2, 2, 2, count, args, steps, steps + 3); return count;
    case 221: four_products_of(2, 2, 1, count, args, steps, steps + 3); return count;
    case 333: four_products_of(3, 3, 3, count, args, steps, steps + 3); return count;
    case 331: four_products_of(3, 3, 1, count, args, steps, steps + 3); return count;
    case 444: four_products_of(4, 4, 4, count, args, steps, steps + 3); return count;
    case 441: four_products_of(4, 4, 1, count, args, steps, steps + 3); return count;
    default: return 0;
    }
}

static npy_intp four_products(char *const *args, npy_intp const *dimensions, npy_intp const *steps)
{
    return HAS_WIDE ? four_products_wide(args, dimensions, steps) : 0;
}
#pragma GCC diagnostic pop
#else
#define four_products(ARGS, DIMENSIONS, STEPS) 0
#endif
#define SIDE_BY_SIDE_APART_npy_double(...) four_products(__VA_ARGS__)
#define SIDE_BY_SIDE_APART_npy_float(...) 0
#define SIDE_BY_SIDE_TOGETHER_npy_double(...) 0
#define SIDE_BY_SIDE_TOGETHER_npy_float(...) 0

#endif
