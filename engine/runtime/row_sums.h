/* Sums of rows, one row after the other: NAME_T(rows, columns, x, step, out) adds rows, which lie `step` bytes apart, to `out`. */
#include <string.h>

#include "wide.h"

/* Some columns of all rows, whose sums stay in registers. */
#define ADD_COLUMNS(TYPE, COUNT) \
    { \
        TYPE total[COUNT]; \
        const char *from = x + j * (npy_intp)sizeof(TYPE); \
        memcpy(total, out + j, sizeof(total)); \
        for (npy_intp i = 0; i < some; i++, from += step) { \
            const TYPE *row = (const TYPE *)from; \
            for (int k = 0; k < (COUNT); k++) { \
                total[k] += row[k]; \
            } \
        } \
        memcpy(out + j, total, sizeof(total)); \
    }
#define ADD_PART(TYPE, COUNT) \
    if (j + (COUNT) <= columns) { \
        ADD_COLUMNS(TYPE, COUNT) \
        j += COUNT; \
    }
#define ADD_LAST(TYPE, COUNT) \
    case COUNT: ADD_COLUMNS(TYPE, COUNT) break;
#define ADD_ROWS_IN_LINE(T, TYPE) \
    WIDE static void add_rows_##T(npy_intp rows, npy_intp columns, const char *x, npy_intp step, TYPE *restrict out) \
    { \
        enum { WIDTH = 256 / sizeof(TYPE) }; \
        const npy_intp near = rows > 8 && step > 0 && step < 1 << 12 ? (1 << 15) / step : 8; /* rows that stay in the cache */ \
        if (rows < 6 && columns >= 8) { \
            for (npy_intp i = 0; i < rows; i++, x += step) { \
                const TYPE *restrict row = (const TYPE *)x; \
                for (npy_intp j = 0; j < columns; j++) { \
                    out[j] += row[j]; \
                } \
            } \
            return; \
        } \
        for (npy_intp some; rows > 0; rows -= some, x += some * step) { \
            npy_intp j = 0; \
            some = rows < near ? rows : near; \
            for (; j + WIDTH <= columns; j += WIDTH) { \
                ADD_COLUMNS(TYPE, WIDTH) \
            } \
            ADD_PART(TYPE, WIDTH / 2) \
            ADD_PART(TYPE, WIDTH / 4) \
            ADD_PART(TYPE, 8) \
            switch (columns - j) { \
                ADD_LAST(TYPE, 1) ADD_LAST(TYPE, 2) ADD_LAST(TYPE, 3) ADD_LAST(TYPE, 4) ADD_LAST(TYPE, 5) ADD_LAST(TYPE, 6) ADD_LAST(TYPE, 7) \
            } \
        } \
    } \
    /* The same in blocks. The state: rows in a block, those that this one still takes, its sums, and those of all before it. */ \
    static void begin_row_##T(npy_intp columns, TYPE *state) \
    { \
        TYPE *block = state + 2, *total = block + columns; \
        for (npy_intp j = 0; state[1] < 1 && j < columns; j++) { \
            total[j] += block[j]; \
            block[j] = 0; \
        } \
        state[1] = state[1] < 1 ? state[0] : state[1]; \
    } \
    static void add_blocks_##T(npy_intp rows, npy_intp columns, const char *x, npy_intp step, TYPE *state) \
    { \
        while (rows > 0) { \
            begin_row_##T(columns, state); \
            npy_intp some = (TYPE)rows < state[1] ? rows : (npy_intp)state[1]; \
            some = some < 1 ? rows : some; /* of no state there is */ \
            add_rows_##T(some, columns, x, step, state + 2); \
            state[1] -= (TYPE)some; \
            rows -= some; \
            x += some * step; \
        } \
    }
ADD_ROWS_IN_LINE(f, npy_float)
ADD_ROWS_IN_LINE(d, npy_double)
