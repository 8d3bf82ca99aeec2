/* Rows of a few elements that lie side by side: arithmetic and copies, without the call of a loop.

What a call costs, and what reading a `Row` costs that is larger than its numbers, is more than such a row computes. The
operations here are rounded in one way only, so the bits are those of the loops. */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <math.h>
#include <string.h>

#include "rows.h"

#define MOST 8 /* elements of a row: for more a loop that goes through several at once is faster */

/* scale, either, kept and outer: see loops.c */
#define FOR_EACH_OPERATION(X, TYPE, T) \
    X(add_##T, TYPE, a + b) \
    X(subtract_##T, TYPE, a - b) \
    X(multiply_##T, TYPE, a * b) \
    X(divide_##T, TYPE, a / b) \
    X(scale_##T, TYPE, a * b == a * b ? a * b : a == 0 ? 0 : a * b) \
    X(either_##T, TYPE, a * b == a * b ? a * b : (a == 0) | (b == 0) ? 0 : a * b) \
    X(kept_##T, TYPE, a == a ? a : b == 0 ? 0 : a) \
    X(outer_##T, TYPE, a * b + 0) \
    X(negative_##T, TYPE, -a) \
    X(reciprocal_##T, TYPE, 1 / a) \
    X(square_##T, TYPE, a * a) \
    X(positive_##T, TYPE, +a)
#define FOR_EACH(X) \
    FOR_EACH_OPERATION(X, npy_float, f) \
    FOR_EACH_OPERATION(X, npy_double, d) \
    X(copy_4, npy_uint32, a) \
    X(copy_8, npy_uint64, a)

#define CODES(NAME, TYPE, RESULT) ONE_##NAME, FEW_##NAME,
enum { NO_CODE, FOR_EACH(CODES) };

int short_row_code(const char *name)
{
#define CODE(NAME, TYPE, RESULT) \
    if (strcmp(name, #NAME) == 0) { \
        return ONE_##NAME; \
    }
    FOR_EACH(CODE)
    return NO_CODE;
}

int short_row_of(const Row *row, ShortRow *found)
{
    const Loop *loop = row->loop;
    const npy_intp count = row->dims[0], last = loop->nargs - 1;
    if (loop->code == NO_CODE || row->nouter || count > MOST) {
        return 0;
    }
    memset(found, 0, sizeof(ShortRow));
    for (npy_intp j = 0; j <= last; j++) {
        const npy_intp item = loop->size[j], step = count == 1 ? item : row->steps[j];
        if (row->base[j] > NPY_MAX_UINT16 || row->offset[j] < 0 || row->offset[j] % item || row->offset[j] > NPY_MAX_UINT32 ||
            (step != item && (step != 0 || j == last))) {
            return 0;
        }
        /* the result is operand 2 also where one operand only is read */
        const npy_intp at = j == last ? 2 : j;
        found->base[at] = (npy_uint16)row->base[j];
        found->offset[at] = (npy_uint32)row->offset[j];
        found->moves |= (npy_uint8)((step != 0) << at);
    }
    found->count = (npy_uint8)count;
    found->code = (npy_uint8)(loop->code + (count > 1));
    return 1;
}

void short_rows_run(const ShortRow *row, const ShortRow *end, char *const *bases)
{
    for (; row < end; row++) {
        const char *x = bases[row->base[0]] + row->offset[0], *y = bases[row->base[1]] + row->offset[1];
        char *out = bases[row->base[2]] + row->offset[2];
        switch (row->code) {
#define RUN(NAME, TYPE, RESULT) \
    case ONE_##NAME: { \
        const TYPE a = *(const TYPE *)x, b = *(const TYPE *)y; \
        (void)b; \
        *(TYPE *)out = RESULT; \
        break; \
    } \
    case FEW_##NAME: { \
        const npy_intp sx = row->moves & 1, sy = row->moves >> 1 & 1; \
        for (npy_intp i = 0; i < row->count; i++) { \
            const TYPE a = ((const TYPE *)x)[i * sx], b = ((const TYPE *)y)[i * sy]; \
            (void)b; \
            ((TYPE *)out)[i] = RESULT; \
        } \
        break; \
    }
            FOR_EACH(RUN)
        }
    }
}
