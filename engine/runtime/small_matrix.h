/* Loops of linear algebra on small matrices: each operation goes through LANES matrices side by side.

Rows are exchanged as in LAPACK: the largest number of a column is its pivot, the first of several. What is NaN counts as larger, so that
all results are NaN. All is in double precision, in one order: engine/ops/small_matrix.py has the same in NumPy. Where a matrix
is singular, or not positive definite, a NaN says so, elsewhere a 0. */
#ifndef DUALGRAD_SMALL_MATRIX_H
#define DUALGRAD_SMALL_MATRIX_H

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>
#if defined(__GNUC__) && defined(__SSE2__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#include <emmintrin.h>
#define ROOT_OF_HALVES
#endif
#endif

#include "small_product.h"
#include "wide.h"

#define MOST_MATRIX MOST_CORE
#define MOST_COFACTORS 3

#if defined(__GNUC__)
typedef double Lanes __attribute__((vector_size(32)));
typedef npy_int64 Marks __attribute__((vector_size(32)));
enum { LANES = 4 };
#define LANE(X, L) (X)[L]
#define UNROLL _Pragma("GCC unroll 4")
#else
typedef double Lanes;
typedef npy_int64 Marks;
enum { LANES = 1 };
#define LANE(X, L) (X)
#define UNROLL
#endif
#pragma GCC diagnostic ignored "-Wpsabi" /* nothing of vectors is passed: all functions are inlined */
typedef Lanes Matrix[MOST_MATRIX][MOST_MATRIX];
typedef Marks Exchanges[MOST_MATRIX][MOST_MATRIX];

/* Where a column has a larger number in another row than in its own. */
static UNROLLED Marks is_larger(Lanes x, Lanes than)
{
#if defined(__GNUC__)
    const Marks sign = (Marks)-(Lanes){0};
    return ~((Lanes)((Marks)x & ~sign) <= (Lanes)((Marks)than & ~sign));
#else
    return -(npy_int64)!(fabs(x) <= fabs(than));
#endif
}

static UNROLLED void exchange(Lanes *x, Lanes *y, Marks where)
{
#if defined(__GNUC__)
    const Marks apart = ((Marks)*x ^ (Marks)*y) & where;
    *x = (Lanes)((Marks)*x ^ apart);
    *y = (Lanes)((Marks)*y ^ apart);
#else
    const Lanes before = *x;
    *x = where ? *y : *x;
    *y = where ? before : *y;
#endif
}

static UNROLLED Lanes negated(Lanes x, Marks where)
{
#if defined(__GNUC__)
    return (Lanes)((Marks)x ^ ((Marks)-(Lanes){0} & where));
#else
    return where ? -x : x;
#endif
}

/* What can be divided by: 1 in place of 0, by which only zeros are. */
static UNROLLED Lanes or_one(Lanes x)
{
#if defined(__GNUC__)
    return (Lanes)((Marks)x | ((Marks)((Lanes){0} + 1) & (x == 0)));
#else
    return x == 0 ? 1 : x;
#endif
}

static UNROLLED Lanes root(Lanes x)
{
#if defined(ROOT_OF_HALVES)
    /* the function of C's library tells of negative numbers, one by one */
    const __m128d low = _mm_sqrt_pd(__builtin_shufflevector(x, x, 0, 1)), high = _mm_sqrt_pd(__builtin_shufflevector(x, x, 2, 3));
    x = __builtin_shufflevector(low, high, 0, 1, 2, 3);
#else
    for (int l = 0; l < LANES; l++) {
        LANE(x, l) = sqrt(LANE(x, l));
    }
#endif
    return x;
}

/* Upper triangular factors in place, multipliers of rows as they were when they were subtracted, and which rows were exchanged then. */
static UNROLLED void factor(const int n, Matrix a, Matrix multiplier, Exchanges exchanged, Marks *odd)
{
    UNROLL for (int k = 0; k < n; k++) {
        UNROLL for (int i = k + 1; i < n; i++) {
            const Marks larger = is_larger(a[i][k], a[k][k]);
            exchanged[i][k] = larger;
            *odd ^= larger;
            UNROLL for (int j = k; j < n; j++) {
                exchange(&a[k][j], &a[i][j], larger);
            }
        }
        const Lanes pivot = or_one(a[k][k]);
        UNROLL for (int i = k + 1; i < n; i++) {
            multiplier[i][k] = a[i][k] / pivot;
            UNROLL for (int j = k + 1; j < n; j++) {
                a[i][j] -= multiplier[i][k] * a[k][j];
            }
        }
    }
}

/* The solution for one right side, in place; with reciprocals of the pivots, or divided by them. */
static UNROLLED void substitute(const int n, Matrix a, Matrix multiplier, Exchanges exchanged, const Lanes *reciprocal, Lanes *b)
{
    UNROLL for (int k = 0; k < n; k++) {
        UNROLL for (int i = k + 1; i < n; i++) {
            exchange(&b[k], &b[i], exchanged[i][k]);
        }
        UNROLL for (int i = k + 1; i < n; i++) {
            b[i] -= multiplier[i][k] * b[k];
        }
    }
    UNROLL for (int j = n - 1; j >= 0; j--) {
        b[j] = reciprocal == NULL ? b[j] / a[j][j] : b[j] * reciprocal[j];
        UNROLL for (int i = 0; i < j; i++) {
            b[i] -= a[i][j] * b[j];
        }
    }
}

/* The product of the pivots, and where a product on the way to it is too large or too small. */
static UNROLLED Lanes multiplied(const int n, Matrix a, Marks odd, Marks *odd_sizes)
{
    Lanes product = a[0][0];
    *odd_sizes = (Marks){0};
    UNROLL for (int k = 1; k < n; k++) {
        product *= a[k][k];
        *odd_sizes |= is_larger((Lanes){0} + DBL_MIN, product) | is_larger(product, (Lanes){0} + DBL_MAX);
    }
    return negated(product, odd) + 0;
}

/* The same where a product is, as a number times a power of two. */
static UNROLLED void multiply_apart(const int n, Matrix a, Marks odd, Marks odd_sizes, Lanes *number, Lanes *exponent)
{
    for (int l = 0; l < LANES; l++) {
        int power, sum = 0;
        double all = 1;
        for (int k = 0; k < n && LANE(odd_sizes, l); k++) {
            all *= frexp(LANE(a[k][k], l), &power);
            sum += all == 0 || !(fabs(all) <= 1) ? 0 : power;
        }
        if (LANE(odd_sizes, l)) {
            LANE(*number, l) = (LANE(odd, l) ? -all : all) + 0;
            LANE(*exponent, l) = sum;
        }
    }
}

static UNROLLED int any_of(Marks x)
{
    const Marks none = {0};
    return memcmp(&x, &none, sizeof(none)) != 0;
}

/* NaN where there is no result, 0 elsewhere. */
static UNROLLED Lanes nan_or_zero(Marks failed)
{
#if defined(__GNUC__)
    return (Lanes)failed; /* all bits of one number */
#else
    return failed ? NAN : 0;
#endif
}

static UNROLLED Marks have_no_pivots(const int n, Matrix a)
{
    Marks singular = (Marks)(a[0][0] == 0);
    UNROLL for (int k = 1; k < n; k++) {
        singular |= (Marks)(a[k][k] == 0);
    }
    return singular;
}

#define ARGUMENTS npy_intp count, char *const *args, npy_intp const *by, npy_intp const *core
/* A loop for each size, told apart once; a machine without wide registers has one for all. */
#define SIZED(NAME, LARGEST) \
    WIDE_ONLY static void NAME##_sizes(npy_intp n, ARGUMENTS) \
    { \
        switch (n) { \
        case 1: NAME##_of(1, count, args, by, core); break; \
        case 2: NAME##_of(2, count, args, by, core); break; \
        case 3: NAME##_of(3, count, args, by, core); break; \
        case 4: if (LARGEST >= 4) { NAME##_of(LARGEST >= 4 ? 4 : 1, count, args, by, core); } break; \
        case 5: \
        case 6: if (LARGEST > 4) { NAME##_of(LARGEST > 4 ? (n == 5 ? 5 : 6) : 1, count, args, by, core); } break; \
        } \
    } \
    static void NAME##_each(npy_intp n, ARGUMENTS) \
    { \
        if (HAS_WIDE) { \
            NAME##_sizes(n, count, args, by, core); \
        } \
        else if (n > 0 && n <= LARGEST) { \
            NAME##_of((int)n, count, args, by, core); \
        } \
    }
#define LOOP(NAME, NARGS, LARGEST) \
    SIZED(NAME, LARGEST) \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)) \
    { \
        NAME##_each(dimensions[1], dimensions[0], args, steps, steps + NARGS); \
        feclearexcept(FE_ALL_EXCEPT); /* what is wrong is told otherwise */ \
    }
/* Right sides: of one or few matrices, the columns of each lie side by side. */
#define LOOP_OF_SIDES(NAME) \
    SIZED(NAME, MOST_MATRIX) \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)) \
    { \
        const npy_intp count = dimensions[0], n = dimensions[1], m = dimensions[2], *core = steps + 4; \
        const int across = count < LANES && m > count; \
        const npy_intp by[] = {across ? 0 : steps[0], across ? core[3] : steps[1], across ? core[5] : steps[2], across ? 0 : steps[3]}; \
        for (npy_intp i = 0; i < (across ? count : m); i++) { \
            const npy_intp b = across ? steps[1] : core[3], out = across ? steps[2] : core[5]; \
            char *at[] = {args[0] + (across ? i * steps[0] : 0), args[1] + i * b, args[2] + i * out, args[3] + (across ? i * steps[3] : 0)}; \
            NAME##_each(n, across ? m : count, at, by, core); \
        } \
        feclearexcept(FE_ALL_EXCEPT); \
    }

/* How far apart the numbers of LANES matrices lie. Where fewer are left the first stands for the others, too. */
typedef struct {
    npy_intp at[LANES];
} Places;

static UNROLLED Places places(npy_intp step, npy_intp left)
{
    Places all;
    for (int l = 0; l < LANES; l++) {
        all.at[l] = l < left ? l * step : 0;
    }
    return all;
}
#define OPERAND(K) args[K] + i * by[K], places(by[K], count - i)

static UNROLLED Lanes load(const char *x, Places each)
{
    Lanes all;
    for (int l = 0; l < LANES; l++) {
        LANE(all, l) = *(const double *)(x + each.at[l]);
    }
    return all;
}

static UNROLLED void store(char *out, Places each, Lanes all)
{
    for (int l = 0; l < LANES; l++) {
        *(double *)(out + each.at[l]) = LANE(all, l);
    }
}

static UNROLLED void load_matrix(const int n, Matrix a, const char *x, Places each, npy_intp const *core)
{
    UNROLL for (int i = 0; i < n; i++) {
        UNROLL for (int j = 0; j < n; j++) {
            a[i][j] = load(x + i * core[0] + j * core[1], each);
        }
    }
}

static UNROLLED void store_matrix(const int n, Matrix a, char *out, Places each, npy_intp const *core)
{
    UNROLL for (int i = 0; i < n; i++) {
        UNROLL for (int j = 0; j < n; j++) {
            store(out + i * core[0] + j * core[1], each, a[i][j]);
        }
    }
}

static UNROLLED void det_of(const int n, const int parts, ARGUMENTS)
{
    Marks any = {0};
    for (int apart = 0; apart < 1 + any_of(any); apart++) {
        for (npy_intp i = 0; i < count; i += LANES) {
            Matrix a, multiplier;
            Exchanges exchanged;
            Marks odd = {0}, odd_sizes;
            load_matrix(n, a, OPERAND(0), core);
            factor(n, a, multiplier, exchanged, &odd);
            Lanes number = multiplied(n, a, odd, &odd_sizes), exponent = {0};
            any |= odd_sizes;
            if (apart) {
                multiply_apart(n, a, odd, odd_sizes, &number, &exponent);
                for (int l = 0; l < LANES && !parts; l++) {
                    LANE(number, l) = ldexp(LANE(number, l), (int)LANE(exponent, l));
                }
            }
            store(OPERAND(1), number);
            if (parts) {
                store(OPERAND(2), exponent);
            }
        }
    }
}

static UNROLLED void small_det_of(const int n, ARGUMENTS)
{
    det_of(n, 0, count, args, by, core);
}

static UNROLLED void small_det_parts_of(const int n, ARGUMENTS)
{
    det_of(n, 1, count, args, by, core);
}

static UNROLLED void small_inv_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Matrix a, multiplier, out;
        Exchanges exchanged;
        Marks odd = {0};
        Lanes reciprocal[MOST_MATRIX];
        load_matrix(n, a, OPERAND(0), core);
        factor(n, a, multiplier, exchanged, &odd);
        UNROLL for (int k = 0; k < n; k++) {
            reciprocal[k] = 1 / a[k][k];
        }
        UNROLL for (int j = 0; j < n; j++) {
            Lanes b[MOST_MATRIX];
            UNROLL for (int k = 0; k < n; k++) {
                b[k] = (Lanes){0} + (k == j ? 1.0 : 0.0);
            }
            substitute(n, a, multiplier, exchanged, reciprocal, b);
            UNROLL for (int k = 0; k < n; k++) {
                out[k][j] = b[k];
            }
        }
        store_matrix(n, out, OPERAND(1), core + 2);
        store(OPERAND(2), nan_or_zero(have_no_pivots(n, a)));
    }
}

static UNROLLED void small_solve_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Matrix a, multiplier;
        Exchanges exchanged;
        Marks odd = {0};
        Lanes b[MOST_MATRIX];
        load_matrix(n, a, OPERAND(0), core);
        factor(n, a, multiplier, exchanged, &odd);
        UNROLL for (int k = 0; k < n; k++) {
            b[k] = load(args[1] + i * by[1] + k * core[2], places(by[1], count - i));
        }
        substitute(n, a, multiplier, exchanged, NULL, b);
        UNROLL for (int k = 0; k < n; k++) {
            store(args[2] + i * by[2] + k * core[4], places(by[2], count - i), b[k]);
        }
        store(OPERAND(3), nan_or_zero(have_no_pivots(n, a)));
    }
}

static UNROLLED void small_lower_solve_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Lanes b[MOST_MATRIX];
        Marks failed = {0};
        UNROLL for (int k = 0; k < n; k++) {
            b[k] = load(args[1] + i * by[1] + k * core[2], places(by[1], count - i));
        }
        UNROLL for (int j = 0; j < n; j++) {
            const char *column = args[0] + i * by[0] + j * core[1];
            const Lanes pivot = load(column + j * core[0], places(by[0], count - i));
            failed |= (Marks)(pivot == 0);
            b[j] = b[j] / pivot;
            UNROLL for (int k = j + 1; k < n; k++) {
                b[k] -= load(column + k * core[0], places(by[0], count - i)) * b[j];
            }
        }
        UNROLL for (int k = 0; k < n; k++) {
            store(args[2] + i * by[2] + k * core[4], places(by[2], count - i), b[k]);
        }
        store(OPERAND(3), nan_or_zero(failed));
    }
}

static UNROLLED void small_cholesky_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Matrix a;
        Marks failed = {0};
        UNROLL for (int j = 0; j < n; j++) {
            UNROLL for (int k = j; k < n; k++) {
                a[k][j] = load(args[0] + i * by[0] + k * core[0] + j * core[1], places(by[0], count - i));
            }
            UNROLL for (int k = 0; k < j; k++) {
                a[k][j] = (Lanes){0};
            }
        }
        UNROLL for (int j = 0; j < n; j++) {
            failed |= (Marks)(a[j][j] <= 0); /* NaN is let pass */
            a[j][j] = root(a[j][j]);
            UNROLL for (int k = j + 1; k < n; k++) {
                a[k][j] = a[k][j] / a[j][j];
            }
            UNROLL for (int k = j + 1; k < n; k++) {
                UNROLL for (int l = k; l < n; l++) {
                    a[l][k] -= a[l][j] * a[k][j];
                }
            }
        }
        store_matrix(n, a, OPERAND(1), core + 2);
        store(OPERAND(2), nan_or_zero(failed));
    }
}

static UNROLLED void small_cofactors_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Matrix x, out;
        load_matrix(n, x, OPERAND(0), core);
        UNROLL for (int r = 0; r < n; r++) {
            UNROLL for (int c = 0; c < n; c++) {
                const int p = (r + 1) % n, q = (r + 2) % n, s = (c + 1) % n, t = (c + 2) % n;
                out[r][c] = n == 1 ? (Lanes){0} + 1 : n == 2 ? (r == c ? x[p][s] : -x[p][s]) : x[p][s] * x[q][t] - x[p][t] * x[q][s];
            }
        }
        store_matrix(n, out, OPERAND(1), core + 2);
    }
}

static UNROLLED void small_cofactor_change_of(const int n, ARGUMENTS)
{
    for (npy_intp i = 0; i < count; i += LANES) {
        Matrix d, x, out;
        load_matrix(n, d, OPERAND(0), core);
        load_matrix(n, x, OPERAND(1), core + 2);
        UNROLL for (int r = 0; r < n; r++) {
            UNROLL for (int c = 0; c < n; c++) {
                const int p = (r + 1) % n, q = (r + 2) % n, s = (c + 1) % n, t = (c + 2) % n;
                out[r][c] = n == 1   ? (Lanes){0}
                            : n == 2 ? (r == c ? d[p][s] : -d[p][s])
                                     : (d[p][s] * x[q][t] + x[p][s] * d[q][t]) - (d[p][t] * x[q][s] + x[p][t] * d[q][s]);
            }
        }
        store_matrix(n, out, OPERAND(2), core + 4);
    }
}

LOOP(small_det, 2, MOST_MATRIX)
LOOP(small_det_parts, 3, MOST_MATRIX)
LOOP(small_inv, 3, MOST_MATRIX)
LOOP_OF_SIDES(small_solve)
LOOP_OF_SIDES(small_lower_solve)
LOOP(small_cholesky, 3, MOST_MATRIX)
LOOP(small_cofactors, 2, MOST_COFACTORS)
LOOP(small_cofactor_change, 3, MOST_COFACTORS)

#endif
