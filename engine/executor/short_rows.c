/* Rows of a few elements that lie side by side: arithmetic and copies, without the call of a loop.

What a call costs, and what reading a `Row` costs that is larger than its numbers, is more than such a row computes. The
operations here are rounded in one way only, so the bits are those of the loops. A row goes through its elements in pieces as
wide as registers are, then half as wide and so on: the next row, which is likely to have as many, finds each piece in one store. */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <math.h>
#include <string.h>

#include "rows.h"

#if defined(__GNUC__)
#define MOST NPY_MAX_UINT8 /* elements of a row */
#else
#define MOST 8 /* for more a loop that goes through several at once is faster */
#endif

/* The result of elements a and b, and that of vectors; scale, either, kept and outer: see loops.c */
#define ALIKE(RESULT) RESULT, RESULT
#define UNLESS(NUMBER, ZERO) (NUMBER) == (NUMBER) ? (NUMBER) : (ZERO) ? 0 : (NUMBER), CLEARED(NUMBER, ZERO)
#define FOR_EACH_OPERATION(X, TYPE, WORD, T) \
    X(add_##T, TYPE, WORD, ALIKE(a + b)) \
    X(subtract_##T, TYPE, WORD, ALIKE(a - b)) \
    X(multiply_##T, TYPE, WORD, ALIKE(a * b)) \
    X(divide_##T, TYPE, WORD, ALIKE(a / b)) \
    X(scale_##T, TYPE, WORD, UNLESS(a * b, a == 0)) \
    X(either_##T, TYPE, WORD, UNLESS(a * b, (a == 0) | (b == 0))) \
    X(kept_##T, TYPE, WORD, UNLESS(a, b == 0)) \
    X(outer_##T, TYPE, WORD, ALIKE(a * b + 0)) \
    X(negative_##T, TYPE, WORD, ALIKE(-a)) \
    X(reciprocal_##T, TYPE, WORD, ALIKE(1 / a)) \
    X(square_##T, TYPE, WORD, ALIKE(a * a)) \
    X(positive_##T, TYPE, WORD, ALIKE(+a))
#define FOR_EACH(X) \
    FOR_EACH_OPERATION(X, npy_float, npy_int32, f) \
    FOR_EACH_OPERATION(X, npy_double, npy_int64, d) \
    X(copy_4, npy_uint32, npy_int32, ALIKE(a)) \
    X(copy_8, npy_uint64, npy_int64, ALIKE(a))

/* One element; several of both operands; several of one where the other one stays in place. */
#define CODES(NAME, ...) ONE_##NAME, BOTH_##NAME, FIRST_##NAME, SECOND_##NAME,
enum { NO_CODE, FOR_EACH(CODES) };

int short_row_code(const char *name)
{
#define CODE(NAME, ...) \
    if (strcmp(name, #NAME) == 0) { \
        return ONE_##NAME; \
    }
    FOR_EACH(CODE)
    return NO_CODE;
}

int short_row_of(const Row *row, ShortRow *found)
{
    const Loop *loop = row->loop;
    const npy_intp count = row->dims[0], last = loop->nargs - 1, bytes = count * loop->size[last];
    if (loop->code == NO_CODE || row->nouter || count > MOST) {
        return 0;
    }
    memset(found, 0, sizeof(ShortRow));
    int moves = 0;
    for (npy_intp j = 0; j <= last; j++) {
        const npy_intp item = loop->size[j], step = count == 1 ? item : row->steps[j], behind = row->offset[last] - row->offset[j];
        if (row->base[j] > NPY_MAX_UINT16 || row->offset[j] < 0 || row->offset[j] % item || row->offset[j] > NPY_MAX_UINT32 ||
            (step != item && (step != 0 || j == last))) {
            return 0;
        }
        if (j < last && row->base[j] == row->base[last] && (behind || !step) && behind > -bytes && behind < bytes) {
            return 0; /* a piece would be written before all of what was there is read */
        }
        /* the result is operand 2 also where one operand only is read */
        const npy_intp at = j == last ? 2 : j;
        found->base[at] = (npy_uint16)row->base[j];
        found->offset[at] = (npy_uint32)row->offset[j];
        moves |= (step != 0) << at;
    }
    if (last == 2 && !(moves & 3)) {
        return 0;
    }
    found->count = (npy_uint8)count;
    found->code = (npy_uint16)(loop->code + (count == 1 ? 0 : moves & 1 ? (last == 1 || moves & 2 ? 1 : 2) : 3));
    return 1;
}

/* A piece of some bytes, if so many are left. */
#if defined(__GNUC__)
#define CLEARED(NUMBER, ZERO) \
    ({ \
        const VEC number = NUMBER; \
        (VEC)((MASK)number & ~((number != number) & (ZERO))); \
    })
#define PIECE(AGAIN, BYTES, TYPE, WORD, X, Y, VECTOR) \
    AGAIN(n >= (npy_intp)(BYTES / sizeof(TYPE))) \
    { \
        typedef TYPE VEC __attribute__((vector_size(BYTES))); \
        typedef WORD MASK __attribute__((vector_size(BYTES))); \
        VEC a, b, result; \
        X(a, x, TYPE) \
        Y(b, y, TYPE) \
        result = VECTOR; \
        (void)a, (void)b, (void)sizeof(MASK); \
        memcpy(out, &result, BYTES); \
        out += BYTES; \
        n -= (npy_intp)(BYTES / sizeof(TYPE)); \
    }
#else
#define PIECE(AGAIN, BYTES, TYPE, WORD, X, Y, VECTOR)
#endif
#define MOVING(A, AT, TYPE) \
    memcpy(&A, AT, sizeof(A)); \
    AT += sizeof(A);
#define STAYING(A, AT, TYPE) A = *(const TYPE *)AT - (VEC){0};
#define SEVERAL(NAME, TYPE, WORD, SX, SY, X, Y, RESULT, VECTOR, WIDE) \
    case NAME: { \
        npy_intp n = row->count; \
        WIDE(TYPE, WORD, X, Y, VECTOR) \
        for (; n > 0; n--, x += SX * (npy_intp)sizeof(TYPE), y += SY * (npy_intp)sizeof(TYPE), out += sizeof(TYPE)) { \
            const TYPE a = *(const TYPE *)x, b = *(const TYPE *)y; \
            (void)b; \
            *(TYPE *)out = RESULT; \
        } \
        break; \
    }
#define WIDE_64(...) PIECE(while, 64, __VA_ARGS__) PIECE(if, 32, __VA_ARGS__) PIECE(if, 16, __VA_ARGS__)
#define WIDE_32(...) PIECE(while, 32, __VA_ARGS__) PIECE(if, 16, __VA_ARGS__)
#define WIDE_16(...) PIECE(while, 16, __VA_ARGS__)
#define CASES(NAME, TYPE, WORD, RESULT, VECTOR, WIDE) \
    case ONE_##NAME: { \
        const TYPE a = *(const TYPE *)x, b = *(const TYPE *)y; \
        (void)b; \
        *(TYPE *)out = RESULT; \
        break; \
    } \
    SEVERAL(BOTH_##NAME, TYPE, WORD, 1, 1, MOVING, MOVING, RESULT, VECTOR, WIDE) \
    SEVERAL(FIRST_##NAME, TYPE, WORD, 1, 0, MOVING, STAYING, RESULT, VECTOR, WIDE) \
    SEVERAL(SECOND_##NAME, TYPE, WORD, 0, 1, STAYING, MOVING, RESULT, VECTOR, WIDE)
#define CASES_64(NAME, TYPE, WORD, ...) CASES(NAME, TYPE, WORD, __VA_ARGS__, WIDE_64)
#define CASES_32(NAME, TYPE, WORD, ...) CASES(NAME, TYPE, WORD, __VA_ARGS__, WIDE_32)
#define CASES_16(NAME, TYPE, WORD, ...) CASES(NAME, TYPE, WORD, __VA_ARGS__, WIDE_16)
/* For one width of registers; see fused.c. */
#define RUN(BYTES, TARGET) \
    TARGET static void run_##BYTES(const ShortRow *row, const ShortRow *end, char *const *bases) \
    { \
        for (; row < end; row++) { \
            const char *x = bases[row->base[0]] + row->offset[0], *y = bases[row->base[1]] + row->offset[1]; \
            char *out = bases[row->base[2]] + row->offset[2]; \
            switch (row->code) { FOR_EACH(CASES_##BYTES) } \
        } \
    }
#if defined(__GNUC__) && defined(__x86_64__)
RUN(64, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))))
RUN(32, __attribute__((target("avx2"))))
#endif
RUN(16, )

void short_rows_run(const ShortRow *row, const ShortRow *end, char *const *bases)
{
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        run_64(row, end, bases);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        run_32(row, end, bases);
        return;
    }
#endif
    run_16(row, end, bases);
}
