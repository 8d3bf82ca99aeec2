#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <string.h>

#include "loops.h"
#include "../runtime/row_sums.h"

#define ARGS char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)

/* ---- copies: copy_SIZE(x), take_SIZE(offsets, x), put_SIZE(offsets, x) and select_SIZE(condition, x, y) ---------- */

static int is_one_byte(const char *x, npy_intp item)
{
    return item == 1 || memcmp(x, x + 1, (size_t)(item - 1)) == 0;
}

static inline void move(char *out, npy_intp so, const char *x, npy_intp sx, npy_intp count, npy_intp item)
{
    if (so == item && sx == item) {
        memcpy(out, x, (size_t)(count * item));
    }
    else if (so == item && sx == 0 && count > 1 && is_one_byte(x, item)) {
        /* zeros, of which dense Jacobians and what slices are added up in are full */
        memset(out, *x, (size_t)(count * item));
    }
    else {
        for (npy_intp i = 0; i < count; i++, x += sx, out += so) {
            memcpy(out, x, (size_t)item);
        }
    }
}

#define MOVES(SIZE) \
    static void copy_##SIZE(ARGS) \
    { \
        move(args[1], steps[1], args[0], steps[0], dimensions[0], SIZE); \
    } \
    static void take_##SIZE(ARGS) \
    { \
        const npy_intp n = dimensions[0], so = steps[2]; \
        const npy_intp *offsets = (const npy_intp *)args[0]; \
        char *out = args[2]; \
        for (npy_intp i = 0; i < n; i++, out += so) { \
            memcpy(out, args[1] + offsets[i], SIZE); \
        } \
    } \
    static void put_##SIZE(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[1]; \
        const npy_intp *offsets = (const npy_intp *)args[0]; \
        const char *x = args[1]; \
        for (npy_intp i = 0; i < n; i++, x += sx) { \
            memcpy(args[2] + offsets[i], x, SIZE); \
        } \
    }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

/* Both are read, so that no branch depends on what the condition happens to be. */
#define SELECT_LINE(TYPE, SX, SY) \
    for (npy_intp i = 0; i < n; i++) { \
        const TYPE a = x[i * (SX)], b = y[i * (SY)]; \
        out[i] = (TYPE)(b ^ ((a ^ b) & (0 - (TYPE)(c[i] != 0)))); \
    }
#define SELECT(SIZE, TYPE) \
    WIDE_ONLY static void select_##SIZE##_in_line( \
        npy_intp n, const npy_bool *restrict c, const TYPE *restrict x, npy_intp sx, const TYPE *restrict y, npy_intp sy, TYPE *restrict out) \
    { \
        if (sx && sy) { \
            SELECT_LINE(TYPE, 1, 1) \
        } \
        else if (sx) { \
            SELECT_LINE(TYPE, 1, 0) \
        } \
        else { \
            SELECT_LINE(TYPE, 0, sy) \
        } \
    } \
    static void select_##SIZE(ARGS) \
    { \
        const npy_intp n = dimensions[0], sc = steps[0], sx = steps[1], sy = steps[2], so = steps[3]; \
        const char *c = args[0], *x = args[1], *y = args[2]; \
        char *out = args[3]; \
        if (HAS_WIDE && sc == 1 && so == SIZE && (sx == SIZE || sx == 0) && (sy == SIZE || sy == 0) && sizeof(TYPE) == SIZE && x != out && y != out && \
            ((npy_uintp)x | (npy_uintp)y | (npy_uintp)out) % SIZE == 0) { \
            select_##SIZE##_in_line(n, (const npy_bool *)c, (const TYPE *)x, sx != 0, (const TYPE *)y, sy != 0, (TYPE *)out); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, c += sc, x += sx, y += sy, out += so) { \
            memcpy(out, *c ? x : y, SIZE); \
        } \
    }
SELECT(1, npy_uint8)
SELECT(2, npy_uint16)
SELECT(4, npy_uint32)
SELECT(8, npy_uint64)
SELECT(16, npy_uint8) /* one by one */

/* copies_SIZE(x): (count) -> (count), in many places */
#define COPIES(SIZE) \
    static void copies_##SIZE(ARGS) \
    { \
        const char *x = args[0]; \
        char *out = args[1]; \
        for (npy_intp i = 0; i < dimensions[0]; i++, x += steps[0], out += steps[1]) { \
            move(out, steps[3], x, steps[2], dimensions[1], SIZE); \
        } \
    }
COPIES(1)
COPIES(2)
COPIES(4)
COPIES(8)
COPIES(16)

/* ---- scale_TYPE(cotangent, partial): their product, but zero where the cotangent is zero; either_TYPE: where one is;
kept_TYPE(number, chosen): zero for a NaN that was not chosen */

/* outer_TYPE: the product to which BLAS adds 0, as where the length of rows and columns that it multiplies is one.

scales_TYPE, eithers_TYPE, outers_TYPE: (count), (count) -> (count), in many places: a call for each few elements takes longer.
So do adds_TYPE, subtracts_TYPE, multiplies_TYPE and divides_TYPE, which do what NumPy's loops do.

One of the operands may stay in place along a line; what else lies with gaps goes element by element. Lines of two and
three, as places have, are worth loops of their own. */
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif
#define LINES(NAME, TYPE, COUNT, SX, SY) \
    for (npy_intp i = 0; i < lines; i++, x += fx, y += fy, out += fo) { \
        NAME##_line(COUNT, (const TYPE *)x, SX, (const TYPE *)y, SY, out); \
    }
#define SHORT_LINES(NAME, TYPE, SX, SY) \
    if (n == 2) { \
        LINES(NAME, TYPE, 2, SX, SY) \
    } \
    else if (n == 3) { \
        LINES(NAME, TYPE, 3, SX, SY) \
    } \
    else if (n == 8) { \
        LINES(NAME, TYPE, 8, SX, SY) \
    } \
    else { \
        LINES(NAME, TYPE, n, SX, SY) \
    }
#define IN_PLACES(NAME, TYPE, OPERATOR, RESULT) IN_PLACES_TO(NAME, TYPE, TYPE, OPERATOR, RESULT)
#define IN_PLACES_TO(NAME, TYPE, OUT, OPERATOR, RESULT) \
    INLINED void NAME##_line( \
        npy_intp n, const TYPE *restrict x, npy_intp sx, const TYPE *restrict y, npy_intp sy, char *restrict to) \
    { \
        OUT *restrict out = (OUT *)to; \
        for (npy_intp j = 0; j < n; j++) { \
            const TYPE a = x[j * sx], b = y[j * sy]; \
            const OUT both = a OPERATOR b; \
            (void)both; \
            out[j] = RESULT; \
        } \
    } \
    WIDE_ONLY static void NAME##_in_lines( \
        npy_intp lines, npy_intp n, const char *x, npy_intp fx, npy_intp sx, const char *y, npy_intp fy, npy_intp sy, char *out, npy_intp fo) \
    { \
        if (sx && sy) { \
            SHORT_LINES(NAME, TYPE, 1, 1) \
        } \
        else if (sx) { \
            SHORT_LINES(NAME, TYPE, 1, 0) \
        } \
        else { \
            SHORT_LINES(NAME, TYPE, 0, 1) \
        } \
    } \
    static void NAME##_all(npy_intp lines, npy_intp n, char **args, npy_intp const *far, npy_intp const *steps) \
    { \
        const npy_intp sx = steps[0], sy = steps[1], so = steps[2], item = sizeof(TYPE); \
        const char *x = args[0], *y = args[1]; \
        char *out = args[2]; \
        if (HAS_WIDE && so == sizeof(OUT) && (sx == item || (sx == 0 && sy == item)) && (sy == item || sy == 0) && x != out && y != out) { \
            NAME##_in_lines(lines, n, x, far[0], sx, y, far[1], sy, out, far[2]); \
            return; \
        } \
        for (npy_intp i = 0; i < lines; i++) { \
            for (npy_intp j = 0; j < n; j++) { \
                const TYPE a = *(const TYPE *)(x + i * far[0] + j * sx), b = *(const TYPE *)(y + i * far[1] + j * sy); \
                const OUT both = a OPERATOR b; \
                (void)both; \
                *(OUT *)(out + i * far[2] + j * so) = RESULT; \
            } \
        } \
    } \
    static void NAME##_2(ARGS) \
    { \
        NAME##_all(dimensions[0], dimensions[1], args, steps, steps + 3); \
    }
#define PRODUCT(NAME, TYPE, RESULT) \
    IN_PLACES(NAME, TYPE, *, RESULT) \
    static void NAME##_1(ARGS) \
    { \
        const npy_intp far[3] = {0, 0, 0}; \
        NAME##_all(1, dimensions[0], args, far, steps); \
    }
#define SCALED (both == both ? both : a == 0 ? 0 : both)
#define EITHER (both == both ? both : (a == 0) | (b == 0) ? 0 : both)
#define KEPT (a == a ? a : b == 0 ? 0 : a)
PRODUCT(scale_f, npy_float, SCALED)
PRODUCT(scale_d, npy_double, SCALED)
PRODUCT(either_f, npy_float, EITHER)
PRODUCT(either_d, npy_double, EITHER)
PRODUCT(kept_f, npy_float, KEPT)
PRODUCT(kept_d, npy_double, KEPT)
PRODUCT(outer_f, npy_float, both + 0)
PRODUCT(outer_d, npy_double, both + 0)
IN_PLACES(add_f, npy_float, +, both)
IN_PLACES(add_d, npy_double, +, both)
IN_PLACES(subtract_f, npy_float, -, both)
IN_PLACES(subtract_d, npy_double, -, both)
IN_PLACES(multiply_f, npy_float, *, both)
IN_PLACES(multiply_d, npy_double, *, both)
IN_PLACES(divide_f, npy_float, /, both)
IN_PLACES(divide_d, npy_double, /, both)
IN_PLACES_TO(equal_f, npy_float, npy_bool, ==, both)
IN_PLACES_TO(equal_d, npy_double, npy_bool, ==, both)
IN_PLACES_TO(less_f, npy_float, npy_bool, <, both)
IN_PLACES_TO(less_d, npy_double, npy_bool, <, both)
IN_PLACES_TO(greater_f, npy_float, npy_bool, >, both)
IN_PLACES_TO(greater_d, npy_double, npy_bool, >, both)
IN_PLACES_TO(not_equal_f, npy_float, npy_bool, !=, both)
IN_PLACES_TO(not_equal_d, npy_double, npy_bool, !=, both)

/* ---- larger_TYPE(x, y), smaller_TYPE(x, y): NumPy's maximum and minimum, quick where one operand is a number ------------ */

#define EXTREMUM(NAME, TYPE, WINS) \
    WIDE_ONLY static void NAME##_in_line(npy_intp n, const TYPE *restrict x, TYPE b, TYPE *restrict out, int first) \
    { \
        if (first) { \
            for (npy_intp i = 0; i < n; i++) { \
                out[i] = (x[i] WINS b) | (x[i] != x[i]) ? x[i] : b; \
            } \
        } \
        else { \
            for (npy_intp i = 0; i < n; i++) { \
                out[i] = (b WINS x[i]) | (b != b) ? b : x[i]; \
            } \
        } \
    } \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], sy = steps[1], so = steps[2], item = sizeof(TYPE); \
        const char *x = args[0], *y = args[1]; \
        char *out = args[2]; \
        if (HAS_WIDE && so == item && sx + sy == item && (sx == 0 || sy == 0) && x != out && y != out) { \
            const char *many = sx ? x : y, *one = sx ? y : x; \
            NAME##_in_line(n, (const TYPE *)many, *(const TYPE *)one, (TYPE *)out, sx != 0); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, y += sy, out += so) { \
            const TYPE a = *(const TYPE *)x, b = *(const TYPE *)y; \
            *(TYPE *)out = (a WINS b) | (a != a) ? a : b; \
        } \
    }
EXTREMUM(larger_f, npy_float, >)
EXTREMUM(larger_d, npy_double, >)
EXTREMUM(smaller_f, npy_float, <)
EXTREMUM(smaller_d, npy_double, <)

/* ---- one operand, one result: NAME(x), whose result is made of the element x[i] ------------------------------------------- */

#define MAP(NAME, FROM, TO, RESULT) \
    WIDE_ONLY static void NAME##_in_line(npy_intp n, const FROM *x, TO *out) \
    { \
        for (npy_intp i = 0; i < n; i++) { \
            const FROM a = x[i]; \
            out[i] = RESULT; \
        } \
    } \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], so = steps[1]; \
        if (HAS_WIDE && sx == sizeof(FROM) && so == sizeof(TO)) { \
            NAME##_in_line(n, (const FROM *)args[0], (TO *)args[1]); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) { \
            const FROM a = *(const FROM *)(args[0] + i * sx); \
            *(TO *)(args[1] + i * so) = RESULT; \
        } \
    }

/* The loop of NumPy 2.4 gives wrong numbers where both operand and result lie with gaps. */
MAP(negative_f, npy_float, npy_float, -a)
MAP(negative_d, npy_double, npy_double, -a)

/* NumPy's loops give wrong answers where results lie with gaps. Here they come from the bits: without the sign, a number that is
not finite is at least that of infinity. */
#define CLASSES(T, BITS, INFINITE) \
    MAP(isfinite_##T, BITS, npy_bool, (npy_bool)((a & ((BITS)-1 >> 1)) < (INFINITE))) \
    MAP(isinf_##T, BITS, npy_bool, (npy_bool)((a & ((BITS)-1 >> 1)) == (INFINITE))) \
    MAP(isnan_##T, BITS, npy_bool, (npy_bool)((a & ((BITS)-1 >> 1)) > (INFINITE))) \
    MAP(signbit_##T, BITS, npy_bool, (npy_bool)(a >> (8 * sizeof(BITS) - 1)))
CLASSES(f, npy_uint32, 0x7f800000u)
CLASSES(d, npy_uint64, 0x7ff0000000000000u)

/* casts whose result the C language defines */
#define CAST(NAME, FROM, TO) MAP(NAME, FROM, TO, (TO)a)
#define TO_BOOL(NAME, FROM) MAP(NAME, FROM, npy_bool, a != 0)
CAST(cast_d_f, npy_double, npy_float)
CAST(cast_f_d, npy_float, npy_double)
CAST(cast_b_f, npy_bool, npy_float)
CAST(cast_b_d, npy_bool, npy_double)
CAST(cast_b_i, npy_bool, npy_int32)
CAST(cast_b_l, npy_bool, npy_int64)
CAST(cast_i_f, npy_int32, npy_float)
CAST(cast_i_d, npy_int32, npy_double)
CAST(cast_i_l, npy_int32, npy_int64)
CAST(cast_l_i, npy_int64, npy_int32)
CAST(cast_l_f, npy_int64, npy_float)
CAST(cast_l_d, npy_int64, npy_double)
TO_BOOL(cast_f_b, npy_float)
TO_BOOL(cast_d_b, npy_double)
TO_BOOL(cast_i_b, npy_int32)
TO_BOOL(cast_l_b, npy_int64)


#include "_reductions.h"

/* ---- puts that add: add_at_TYPE(offsets, x), one after the other --------------------------------------------------- */

#define ADD_AT(NAME, TYPE) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[1]; \
        const npy_intp *offsets = (const npy_intp *)args[0]; \
        const char *x = args[1]; \
        for (npy_intp i = 0; i < n; i++, x += sx) { \
            *(TYPE *)(args[2] + offsets[i]) += *(const TYPE *)x; \
        } \
    }
ADD_AT(add_at_f, npy_float)
ADD_AT(add_at_d, npy_double)

/* ---- casts of numbers that the other type may not have: then they refuse ------------------------------------------------- */

#define CHECKED_CAST(NAME, FROM, TO, LOW, HIGH) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            const FROM a = *(const FROM *)x; \
            if (!(a > (FROM)(LOW) && a < (FROM)(HIGH))) { \
                args[0] = NULL; \
                return; \
            } \
            *(TO *)out = (TO)a; \
        } \
    }
CHECKED_CAST(cast_f_i, npy_float, npy_int32, -2147483648.0, 2147483648.0)
CHECKED_CAST(cast_d_i, npy_double, npy_int32, -2147483648.0, 2147483648.0)
CHECKED_CAST(cast_f_l, npy_float, npy_int64, -9223372036854775808.0, 9223372036854775808.0)
CHECKED_CAST(cast_d_l, npy_double, npy_int64, -9223372036854775808.0, 9223372036854775808.0)

/* ---- rows at indices that only a run knows -------------------------------------------------------------------------- */

/* The data of a loop that lets negative indices pass; others refuse them. */
static char some[] = {1};

/* What an index refers to: the row, nothing (where it is let pass), or a refusal. */
#define AT(INDEX, LENIENT) \
    const npy_intp at = (npy_intp) * (const INDEX *)index; \
    const int absent = at < 0; \
    if (at >= size || (absent && !(LENIENT))) { \
        args[0] = NULL; \
        return; \
    }

/* rows_INDEX_SIZE(indices, x): (), (size, columns) -> (columns); `data` says which indices give zeros. */
#define ROWS_AT(NAME, INDEX, SIZE) \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data) \
    { \
        const npy_intp n = dimensions[0], size = dimensions[1], columns = dimensions[2]; \
        const char *index = args[0], *x = args[1]; \
        char *out = args[2]; \
        const int lenient = data != NULL; \
        for (npy_intp i = 0; i < n; i++, index += steps[0], x += steps[1], out += steps[2]) { \
            AT(INDEX, lenient) \
            if (absent) { \
                for (npy_intp j = 0; j < columns; j++) { \
                    memset(out + j * steps[5], 0, SIZE); \
                } \
            } \
            else if (columns == 1) { \
                memcpy(out, x + at * steps[3], SIZE); \
            } \
            else { \
                move(out, steps[5], x + at * steps[3], steps[4], columns, SIZE); \
            } \
        } \
    }
#define ROWS_OF(SIZE) ROWS_AT(rows_i_##SIZE, npy_int32, SIZE) ROWS_AT(rows_l_##SIZE, npy_int64, SIZE)
ROWS_OF(1)
ROWS_OF(2)
ROWS_OF(4)
ROWS_OF(8)
ROWS_OF(16)

/* put_rows_INDEX_SIZE(indices, x): (), (columns) -> (size, columns), in place of what is there; of several the last stays. */
#define PUT_ROWS(NAME, INDEX, SIZE) \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)) \
    { \
        const npy_intp n = dimensions[0], size = dimensions[1], columns = dimensions[2]; \
        const char *index = args[0], *x = args[1]; \
        char *out = args[2]; \
        for (npy_intp i = 0; i < n; i++, index += steps[0], x += steps[1], out += steps[2]) { \
            AT(INDEX, 0) \
            move(out + at * steps[4], steps[5], x, steps[3], columns, SIZE); \
        } \
    }
#define PUT_ROWS_OF(SIZE) PUT_ROWS(put_rows_i_##SIZE, npy_int32, SIZE) PUT_ROWS(put_rows_l_##SIZE, npy_int64, SIZE)
PUT_ROWS_OF(1)
PUT_ROWS_OF(2)
PUT_ROWS_OF(4)
PUT_ROWS_OF(8)
PUT_ROWS_OF(16)

/* add_rows_INDEX_TYPE(indices, x): (), (columns) -> (size, columns), added to what is there, one after the other. */
#define ADD_ROWS(NAME, INDEX, TYPE) \
    /* rows that lie side by side; whether no index was refused */ \
    WIDE_ONLY static int NAME##_in_lines(npy_intp n, npy_intp size, npy_intp columns, char **args, npy_intp const *steps, int lenient) \
    { \
        const char *index = args[0], *x = args[1]; \
        for (npy_intp i = 0; i < n; i++, index += steps[0], x += steps[1]) { \
            const npy_intp at = (npy_intp) * (const INDEX *)index; \
            if (at < 0 || at >= size) { \
                if (at >= 0 || !lenient) { \
                    return 0; \
                } \
                continue; \
            } \
            const TYPE *restrict from = (const TYPE *)x; \
            TYPE *restrict to = (TYPE *)(args[2] + at * steps[4]); \
            for (npy_intp j = 0; j < columns; j++) { \
                to[j] += from[j]; \
            } \
        } \
        return 1; \
    } \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data) \
    { \
        const npy_intp n = dimensions[0], size = dimensions[1], columns = dimensions[2]; \
        const char *index = args[0], *x = args[1]; \
        char *out = args[2]; \
        const int lenient = data != NULL; \
        if (HAS_WIDE && columns >= 4 && steps[2] == 0 && steps[3] == sizeof(TYPE) && steps[5] == sizeof(TYPE)) { \
            args[0] = NAME##_in_lines(n, size, columns, args, steps, lenient) ? args[0] : NULL; \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, index += steps[0], x += steps[1], out += steps[2]) { \
            AT(INDEX, lenient) \
            if (absent) { \
                continue; \
            } \
            char *to = out + at * steps[4]; \
            for (npy_intp j = 0; j < columns; j++) { \
                *(TYPE *)(to + j * steps[5]) += *(const TYPE *)(x + j * steps[3]); \
            } \
        } \
    }
ADD_ROWS(add_rows_i_f, npy_int32, npy_float)
ADD_ROWS(add_rows_i_d, npy_int32, npy_double)
ADD_ROWS(add_rows_l_f, npy_int64, npy_float)
ADD_ROWS(add_rows_l_d, npy_int64, npy_double)

/* ---- limits, which refuse: all_below(x, limit), unless every x is below its limit; all_within(x, limit): and none is negative --- */

#define ALL(NAME, TYPE, CONDITION) \
    static void NAME(ARGS) \
    { \
        const char *at = args[0], *limit = args[1]; \
        char *out = args[2]; \
        for (npy_intp i = 0; i < dimensions[0]; i++, at += steps[0], limit += steps[1], out += steps[2]) { \
            const TYPE x = *(const TYPE *)at, most = *(const TYPE *)limit; \
            if (!(CONDITION)) { \
                args[0] = NULL; \
                return; \
            } \
            *(npy_bool *)out = 1; \
        } \
    }
ALL(all_below_f, npy_float, x < most)
ALL(all_below_d, npy_double, x < most)
ALL(all_within_i, npy_int32, 0 <= x && x < most)
ALL(all_within_l, npy_int64, 0 <= x && x < most)

/* ---- numbers: no_nan(x), which refuses if any x is NaN ----------------------------------------------------------------- */

#define NO_NAN(NAME, TYPE) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0]; \
        const char *x = args[0]; \
        int found = 0; \
        for (npy_intp i = 0; i < n && steps[0] == sizeof(TYPE); i++) { \
            found |= ((const TYPE *)x)[i] != ((const TYPE *)x)[i]; \
        } \
        for (npy_intp i = 0; i < n && steps[0] != sizeof(TYPE); i++, x += steps[0]) { \
            found |= *(const TYPE *)x != *(const TYPE *)x; \
        } \
        *(npy_bool *)args[1] = 1; \
        args[0] = found ? NULL : args[0]; \
    }
NO_NAN(no_nan_f, npy_float)
NO_NAN(no_nan_d, npy_double)

/* ---- triangular systems: LAPACK's own, which SciPy's Cython interface hands out -------------------------------------- */

typedef void (*Trtrs)(char *, char *, char *, int *, int *, void *, int *, void *, int *, int *);
static Trtrs trtrs_function[2];
static char of_lower[] = "UT", of_lower_adjoint[] = "UN", of_upper[] = "LT", of_upper_adjoint[] = "LN";

int set_trtrs(void *single, void *both)
{
    trtrs_function[0] = (Trtrs)single;
    trtrs_function[1] = (Trtrs)both;
    return single != NULL && both != NULL;
}

/* Solve in place for the columns of the result, in Fortran's order, with a matrix in C's: (n, n) -> (n, m). */
static void solve_in_place(char **args, npy_intp const *dims, npy_intp const *steps, void *data, int kind, npy_intp item)
{
    const npy_intp n = dims[1], m = dims[2];
    int info = -1, rows = (int)n, columns = (int)m;
    char *how = data, unit[] = "N", uplo[] = {how[0], 0}, trans[] = {how[1], 0};
    const int lies_well = (n == 1 || (steps[2] == n * item && steps[3] == item && steps[4] == item)) && (m == 1 || steps[5] == n * item);
    char *matrix = args[0], *out = args[1];
    for (npy_intp i = 0; i < dims[0]; i++, matrix += steps[0], out += steps[1]) {
        if (lies_well && rows == n && columns == m && trtrs_function[kind] != NULL) {
            trtrs_function[kind](uplo, trans, unit, &rows, &columns, matrix, &rows, out, &rows, &info);
        }
        if (info != 0) {
            args[0] = NULL;
            return;
        }
    }
}
static void trtrs_f(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    solve_in_place(args, dimensions, steps, data, 0, sizeof(npy_float));
}
static void trtrs_d(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    solve_in_place(args, dimensions, steps, data, 1, sizeof(npy_double));
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

/* All that is known of a loop. Python has no other table (own_loops.py). */
typedef struct {
    const char *name;
    Loop loop;
    const char *of; /* the ufunc or loop that does the same, for which this one is chosen; NULL where there is none */
    int lines;      /* of a loop that reduces lines: 1 + which of its dimensions counts them, else 0 */
} Named;

#define CORE_ROW(NAME, FUNCTION, NIN, SIZES, NDIMS, NCORE, CORE, ...) \
    {NAME, {FUNCTION, NULL, STRIDED, 0, NIN, NIN + 1, SIZES, NDIMS, NCORE, CORE}, __VA_ARGS__}
#define OF(...) {__VA_ARGS__}
#define ROW(NAME, KIND, NIN, ...) {#NAME, {NAME, NULL, KIND, 0, NIN, NIN + 1, {__VA_ARGS__}}}
/* a loop in place of that of a ufunc: always where both have one name, for numbers and one number elsewhere */
#define UFUNC_ROW(NAME, T, UFUNC, NIN, ...) {#NAME "_" #T, {NAME##_##T, NULL, STRIDED, 0, NIN, NIN + 1, {__VA_ARGS__}}, .of = #UFUNC}
#define REFUSING_ROW(NAME, NIN, ...) {#NAME, {NAME, NULL, STRIDED, 1, NIN, NIN + 1, {__VA_ARGS__}}}
/* negative indices are let pass where the name says "some" */
#define AT_ROW(NAME, FUNCTION, DATA, INDEX, S, ...) \
    {NAME, {FUNCTION, DATA, STRIDED, 1, 2, 3, {sizeof(INDEX), S, S}, 2, __VA_ARGS__}}
#define FROM_WHOLE {0, 2, 1}, {0, 1, 1}
#define TO_WHOLE {0, 1, 2}, {1, 0, 1}
#define ROWS_ROW(I, INDEX, S) \
    AT_ROW("rows_" #I "_" #S, rows_##I##_##S, NULL, INDEX, S, FROM_WHOLE), AT_ROW("some_rows_" #I "_" #S, rows_##I##_##S, some, INDEX, S, FROM_WHOLE), \
        AT_ROW("put_rows_" #I "_" #S, put_rows_##I##_##S, NULL, INDEX, S, TO_WHOLE)
#define ROWS_ROWS(S) ROWS_ROW(i, npy_int32, S), ROWS_ROW(l, npy_int64, S)
#define ADD_ROWS_ROW(I, INDEX, T, S) \
    AT_ROW("add_rows_" #I "_" #T, add_rows_##I##_##T, NULL, INDEX, S, TO_WHOLE), \
        AT_ROW("add_some_rows_" #I "_" #T, add_rows_##I##_##T, some, INDEX, S, TO_WHOLE)
#define TRTRS_ROW(T, S, HOW) \
    {"trtrs_" #T "_" #HOW, {trtrs_##T, HOW, STRIDED, 1, 1, 2, {S, S}, 2, {2, 2}, {0, 0, 0, 1}}}
#define TRTRS_ROWS(T, S) TRTRS_ROW(T, S, of_lower), TRTRS_ROW(T, S, of_lower_adjoint), TRTRS_ROW(T, S, of_upper), TRTRS_ROW(T, S, of_upper_adjoint)
#define PLACES_ROW(MANY, NAME, T, S, O) CORE_ROW(#MANY "_" #T, NAME##_##T##_2, 2, OF(S, S, O), 1, OF(1, 1, 1), {0}, .of = #NAME)
#define PRODUCT_ROWS(NAME, T, S) {#NAME "_" #T, {NAME##_##T##_1, NULL, STRIDED, 0, 2, 3, {S, S, S}}}, PLACES_ROW(NAME##s, NAME, T, S, S)
#define SMALL_PRODUCT_ROW(NAME, S) {#NAME, {NAME, NULL, STRIDED, 0, 2, 3, {S, S, S}, 3, {2, 2, 2}, {0, 1, 1, 2, 0, 2}, .most = MOST_CORE}}
#define ADD_OUTERS_ROW(T, S, N, ...) \
    CORE_ROW("add_outers_" #T "_" #N, add_outers_##T##_##N, 2 * N, OF(S, S, S, S, S, S, S), 2, OF(__VA_ARGS__, 2), OF(0, 1, 0, 1, 0, 1, 0, 1), NULL)
#define EACH_ROW(NAME, T, UFUNC, S) CORE_ROW(#NAME "_" #T, NAME##_##T, 1, OF(S, S), 1, OF(1, 0), {0}, .of = #UFUNC, .lines = 1 + 0)
#define CLASS_ROW(NAME, T, S) UFUNC_ROW(NAME, T, NAME, 1, S, 1)
#define MOVE_ROWS(S) \
    ROW(copy_##S, STRIDED, 1, S, S), CORE_ROW("copies_" #S, copies_##S, 1, OF(S, S), 1, OF(1, 1), {0}, .of = "copy"), \
        ROW(take_##S, TAKE, 2, sizeof(npy_intp), S, S), ROW(put_##S, PUT, 2, sizeof(npy_intp), S, S), ROW(select_##S, STRIDED, 3, 1, S, S, S), ROWS_ROWS(S)
#define REAL_ROWS(T, S) \
    CORE_ROW("sum_rows_" #T, sum_rows_##T, 1, OF(S, S), 2, OF(2, 1), OF(0, 1, 1), .of = "add", .lines = 1 + 1), \
        CORE_ROW("sum_blocks_" #T, sum_blocks_##T, 1, OF(S, S), 3, OF(2, 1), OF(0, 1, 2), NULL, .lines = 1 + 1), \
        CORE_ROW("skip_row_" #T, skip_row_##T, 1, OF(S, S), 1, OF(1, 1), {0}, NULL), \
        {"nonzero_" #T, {nonzero, NULL, SELECTS, 0, 1, 1, {S}, 4, {1}, {0}}}, \
        {"shares_" #T, {shares, NULL, SELECTS, 0, 2, 3, {S, S, S}, 4, {1, 0, 1}, {0, 0}}}, \
        EACH_ROW(sum_each, T, add, S), EACH_ROW(max_each, T, maximum, S), EACH_ROW(min_each, T, minimum, S), PRODUCT_ROWS(scale, T, S), \
        PRODUCT_ROWS(either, T, S), PRODUCT_ROWS(kept, T, S), PRODUCT_ROWS(outer, T, S), PLACES_ROW(adds, add, T, S, S), \
        PLACES_ROW(subtracts, subtract, T, S, S), PLACES_ROW(multiplies, multiply, T, S, S), PLACES_ROW(divides, divide, T, S, S), \
        PLACES_ROW(equals, equal, T, S, 1), PLACES_ROW(lesses, less, T, S, 1), PLACES_ROW(greaters, greater, T, S, 1), \
        PLACES_ROW(not_equals, not_equal, T, S, 1), \
        UFUNC_ROW(negative, T, negative, 1, S, S), CLASS_ROW(isfinite, T, S), CLASS_ROW(isinf, T, S), CLASS_ROW(isnan, T, S), \
        CLASS_ROW(signbit, T, S), UFUNC_ROW(larger, T, maximum, 2, S, S, S), UFUNC_ROW(smaller, T, minimum, 2, S, S, S), \
        SMALL_PRODUCT_ROW(small_matmul_##T, S), SMALL_PRODUCT_ROW(small_matmul_fma_##T, S), ADD_OUTERS_ROW(T, S, 1, 1, 1), \
        ADD_OUTERS_ROW(T, S, 2, 1, 1, 1, 1), ADD_OUTERS_ROW(T, S, 3, 1, 1, 1, 1, 1, 1), ROW(add_at_##T, PUT, 2, sizeof(npy_intp), S, S), \
        ADD_ROWS_ROW(i, npy_int32, T, S), ADD_ROWS_ROW(l, npy_int64, T, S), REFUSING_ROW(all_below_##T, 2, S, S, 1), REFUSING_ROW(no_nan_##T, 1, S, 1), TRTRS_ROWS(T, S), \
        ROW(cast_##T##_b, STRIDED, 1, S, 1), REFUSING_ROW(cast_##T##_i, 1, S, 4), REFUSING_ROW(cast_##T##_l, 1, S, 8), \
        ROW(cast_b_##T, STRIDED, 1, 1, S), ROW(cast_i_##T, STRIDED, 1, 4, S), ROW(cast_l_##T, STRIDED, 1, 8, S)

static const Named table[] = {
    MOVE_ROWS(1), MOVE_ROWS(2), MOVE_ROWS(4), MOVE_ROWS(8), MOVE_ROWS(16),
    REAL_ROWS(f, 4),
    REAL_ROWS(d, 8),
    ROW(cast_d_f, STRIDED, 1, 8, 4),
    ROW(cast_f_d, STRIDED, 1, 4, 8),
    ROW(cast_b_i, STRIDED, 1, 1, 4),
    ROW(cast_b_l, STRIDED, 1, 1, 8),
    ROW(cast_i_b, STRIDED, 1, 4, 1),
    ROW(cast_l_b, STRIDED, 1, 8, 1),
    ROW(cast_i_l, STRIDED, 1, 4, 8),
    ROW(cast_l_i, STRIDED, 1, 8, 4),
    REFUSING_ROW(all_within_i, 2, 4, 4, 1),
    REFUSING_ROW(all_within_l, 2, 8, 8, 1),
};
#define COUNT (sizeof(table) / sizeof(table[0]))

const Loop *own_loop(const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return strstr(name, "_fma_") != NULL && !has_fma() ? NULL : &table[i].loop;
        }
    }
    return NULL;
}

/* How many core dimensions each operand of a loop has, as a tuple. */
static PyObject *cores_of(const Loop *loop)
{
    PyObject *cores = PyTuple_New(loop->nargs);
    for (int j = 0; cores != NULL && j < loop->nargs; j++) {
        PyTuple_SET_ITEM(cores, j, PyLong_FromLong(loop->ncore[j]));
    }
    return cores;
}

PyObject *own_loops(void)
{
    PyObject *all = PyDict_New();
    for (size_t i = 0; all != NULL && i < COUNT; i++) {
        const Named *row = &table[i];
        const Loop *loop = own_loop(row->name);
        if (loop == NULL) {
            continue;
        }
        PyObject *facts = Py_BuildValue(
            "NNNniz", cores_of(loop), PyBool_FromLong(loop->kind != STRIDED), PyBool_FromLong(loop->refuses), loop->most,
            row->lines - 1, row->of);
        if (facts == NULL || PyDict_SetItemString(all, row->name, facts) < 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(facts);
    }
    return all;
}
