#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <string.h>

#include "loops.h"

#define ARGS char **args, npy_intp const *dimensions, npy_intp const *steps, void *NPY_UNUSED(data)

/* ---- copies: copy_SIZE(x), take_SIZE(offsets, x), put_SIZE(offsets, x) and select_SIZE(condition, x, y) ---------- */

#define MOVES(SIZE) \
    static void copy_##SIZE(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        if (sx == SIZE && so == SIZE) { \
            memcpy(out, x, (size_t)n * SIZE); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            memcpy(out, x, SIZE); \
        } \
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
    } \
    static void select_##SIZE(ARGS) \
    { \
        const npy_intp n = dimensions[0], sc = steps[0], sx = steps[1], sy = steps[2], so = steps[3]; \
        const char *c = args[0], *x = args[1], *y = args[2]; \
        char *out = args[3]; \
        for (npy_intp i = 0; i < n; i++, c += sc, x += sx, y += sy, out += so) { \
            memcpy(out, *c ? x : y, SIZE); \
        } \
    }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

/* ---- scale_TYPE(cotangent, partial): their product, but zero where the cotangent is zero; either_TYPE: where one is - */

#define ZERO_RULE(NAME, TYPE, ZERO) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], sy = steps[1], so = steps[2]; \
        const char *x = args[0], *y = args[1]; \
        char *out = args[2]; \
        if (sx == sizeof(TYPE) && sy == sizeof(TYPE) && so == sizeof(TYPE)) { \
            for (npy_intp i = 0; i < n; i++) { \
                const TYPE a = ((const TYPE *)x)[i], b = ((const TYPE *)y)[i], product = a * b; \
                ((TYPE *)out)[i] = product != product && (ZERO) ? 0 : product; \
            } \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, y += sy, out += so) { \
            const TYPE a = *(const TYPE *)x, b = *(const TYPE *)y, product = a * b; \
            *(TYPE *)out = product != product && (ZERO) ? 0 : product; \
        } \
    }
ZERO_RULE(scale_f, npy_float, a == 0)
ZERO_RULE(scale_d, npy_double, a == 0)
ZERO_RULE(either_f, npy_float, (a == 0) | (b == 0))
ZERO_RULE(either_d, npy_double, (a == 0) | (b == 0))

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

/* ---- casts whose result the C language defines ----------------------------------------------------------------------- */

#define CAST(NAME, FROM, TO) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        if (sx == sizeof(FROM) && so == sizeof(TO)) { \
            for (npy_intp i = 0; i < n; i++) { \
                ((TO *)out)[i] = (TO)((const FROM *)x)[i]; \
            } \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(TO *)out = (TO)*(const FROM *)x; \
        } \
    }
#define TO_BOOL(NAME, FROM) \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(npy_bool *)out = *(const FROM *)x != 0; \
        } \
    }
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

/* ---- the table ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    Loop loop;
} Named;

#define ROW(NAME, KIND, NIN, NARGS, ...) {#NAME, {NAME, NULL, KIND, NIN, NARGS, {__VA_ARGS__}, 0, {0}, {0}}}
#define MOVE_ROWS(S) \
    ROW(copy_##S, STRIDED, 1, 2, S, S), ROW(take_##S, TAKE, 2, 3, sizeof(npy_intp), S, S), ROW(put_##S, PUT, 2, 3, sizeof(npy_intp), S, S), \
        ROW(select_##S, STRIDED, 3, 4, 1, S, S, S)

static const Named table[] = {
    MOVE_ROWS(1), MOVE_ROWS(2), MOVE_ROWS(4), MOVE_ROWS(8), MOVE_ROWS(16),
    ROW(scale_f, STRIDED, 2, 3, 4, 4, 4),
    ROW(scale_d, STRIDED, 2, 3, 8, 8, 8),
    ROW(either_f, STRIDED, 2, 3, 4, 4, 4),
    ROW(either_d, STRIDED, 2, 3, 8, 8, 8),
    ROW(add_at_f, PUT, 2, 3, sizeof(npy_intp), 4, 4),
    ROW(add_at_d, PUT, 2, 3, sizeof(npy_intp), 8, 8),
    ROW(cast_d_f, STRIDED, 1, 2, 8, 4),
    ROW(cast_f_d, STRIDED, 1, 2, 4, 8),
    ROW(cast_b_f, STRIDED, 1, 2, 1, 4),
    ROW(cast_b_d, STRIDED, 1, 2, 1, 8),
    ROW(cast_b_i, STRIDED, 1, 2, 1, 4),
    ROW(cast_b_l, STRIDED, 1, 2, 1, 8),
    ROW(cast_i_f, STRIDED, 1, 2, 4, 4),
    ROW(cast_i_d, STRIDED, 1, 2, 4, 8),
    ROW(cast_i_l, STRIDED, 1, 2, 4, 8),
    ROW(cast_l_i, STRIDED, 1, 2, 8, 4),
    ROW(cast_l_f, STRIDED, 1, 2, 8, 4),
    ROW(cast_l_d, STRIDED, 1, 2, 8, 8),
    ROW(cast_f_b, STRIDED, 1, 2, 4, 1),
    ROW(cast_d_b, STRIDED, 1, 2, 8, 1),
    ROW(cast_i_b, STRIDED, 1, 2, 4, 1),
    ROW(cast_l_b, STRIDED, 1, 2, 8, 1),
};
#define COUNT (sizeof(table) / sizeof(table[0]))

const Loop *own_loop(const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i].loop;
        }
    }
    return NULL;
}

PyObject *own_loop_names(void)
{
    PyObject *names = PyTuple_New((Py_ssize_t)COUNT);
    for (size_t i = 0; names != NULL && i < COUNT; i++) {
        PyObject *name = PyUnicode_FromString(table[i].name);
        if (name == NULL) {
            Py_CLEAR(names);
            break;
        }
        PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    return names;
}
