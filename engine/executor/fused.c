/* Several steps of arithmetic in one pass: what lies between two of them stays in registers.
 *
 * fused_TYPE_STEPS goes through its operands side by side. STEPS are letters; each works on what the steps before it gave, and
 * takes the next operand (A to F, X and Y the next two). Each result of a step is rounded, as if it had gone to memory and come
 * back. The operand of b, I and J and the first one of X and Y are booleans; all others, and the result, are of one type.
 */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include "steps.h"

#if defined(__GNUC__)
#define MANY(BYTES) ((BYTES) == 64 ? 16 : 8) /* vectors at a time: as many as there are registers for */
#define FEW 4
#define FIRST(I) VEC_AT(at + (I) * bytes)
#define SECOND(I) VEC_AT(more + (I) * bytes)
#define TRUTH(I) (truth + (I) * lanes)
#define CAN_BE(COUNT, BOOLEAN) 1

/* So many vectors at a time; the last of them again with what is left over, if that is more than LEAST. */
#define WITH(NAME, COUNT, LEAST, T, BYTES) \
    for (; start + (COUNT) * BYTES <= end; start += (COUNT) * BYTES) { \
        NAME##_##T##BYTES(steps, from, moves, start, args[nin] + start); \
    } \
    if (apart && end - start > (LEAST) && end >= (COUNT) * BYTES) { \
        NAME##_##T##BYTES(steps, from, moves, end - (COUNT) * BYTES, args[nin] + end - (COUNT) * BYTES); \
        start = end; \
    }
/* The steps are compiled once for each number of vectors. */
#define COUNTED(NAME, COUNT, T, BYTES, TARGET) \
    TARGET __attribute__((noinline)) static void NAME##_##T##BYTES(const char *steps, char *const *from, const npy_intp *moves, npy_intp start, char *out) \
    { \
        steps_##T##BYTES(steps, from, moves, start, out, COUNT); \
    }
#define FUSED(T, TYPE, INTEGER, BYTES, TARGET) \
    typedef TYPE VEC_##T##BYTES __attribute__((vector_size(BYTES))); \
    typedef INTEGER MASK_##T##BYTES __attribute__((vector_size(BYTES))); \
    TARGET INLINED void steps_##T##BYTES(const char *steps, char *const *from, const npy_intp *moves, npy_intp start, char *out, const int count) \
    { \
        typedef VEC_##T##BYTES VEC; \
        typedef MASK_##T##BYTES MASK; \
        typedef TYPE NUMBER; \
        enum { bytes = BYTES, lanes = BYTES / sizeof(TYPE) }; \
        typedef npy_int8 BYTE_EACH __attribute__((vector_size(lanes))); \
        typedef npy_int16 SHORT_EACH __attribute__((vector_size(2 * lanes))); \
        typedef npy_int32 INT_EACH __attribute__((vector_size(4 * lanes))); \
        VEC x0 = {0}, x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0; \
        VEC x8 = x0, x9 = x0, x10 = x0, x11 = x0, x12 = x0, x13 = x0, x14 = x0, x15 = x0; \
        for (int j = 0; *steps != 0; steps++) { \
            const char *at = from[j] + (start & moves[j]), *more = from[j + 1] + (start & moves[j + 1]); \
            const char *truth = from[j] + ((start / (npy_intp)sizeof(TYPE)) & moves[j]); \
            j += TAKEN(*steps); \
            switch (*steps) { STEPS(CASE) } \
        } \
        STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7) \
        STORE(8) STORE(9) STORE(10) STORE(11) STORE(12) STORE(13) STORE(14) STORE(15) \
    } \
    COUNTED(many, MANY(BYTES), T, BYTES, TARGET) \
    COUNTED(few, FEW, T, BYTES, TARGET) \
    COUNTED(one, 1, T, BYTES, TARGET) \
    /* What is left over, or lies apart: operands side by side in vectors, filled up with the first one. */ \
    TARGET INLINED void apart_##T##BYTES(const char *steps, int nin, unsigned bools, char **args, npy_intp const *by, npy_intp i, npy_intp left, \
                                         char **from, npy_intp *moves, VEC_##T##BYTES one[][MANY(BYTES)], const int count) \
    { \
        const npy_intp size = sizeof(TYPE), all = count * BYTES / sizeof(TYPE); \
        VEC_##T##BYTES result[MANY(BYTES)]; \
        for (int j = 0; j < nin; j++) { \
            const int boolean = bools >> j & 1; \
            if (by[j] == (boolean ? 1 : size) && left >= all) { \
                from[j] = args[j] + i * by[j]; \
            } \
            else if (by[j]) { \
                const char *each = args[j] + i * by[j]; \
                char *truths = (char *)one[j]; \
                TYPE *numbers = (TYPE *)one[j]; \
                for (npy_intp k = 0; boolean && k < all; k++) { \
                    truths[k] = each[(k < left ? k : 0) * by[j]]; \
                } \
                for (npy_intp k = 0; !boolean && left >= all && k < all; k++, each += by[j]) { \
                    numbers[k] = *(const TYPE *)each; \
                } \
                for (npy_intp k = 0; !boolean && left < all && k < all; k++) { \
                    numbers[k] = *(const TYPE *)(each + (k < left ? k : 0) * by[j]); \
                } \
                from[j] = (char *)one[j]; \
            } \
            moves[j] = 0; \
        } \
        char *out = args[nin] + i * by[nin]; \
        const int lined = by[nin] == size && left >= all; \
        (count == 1 ? one_##T##BYTES : many_##T##BYTES)(steps, from, moves, 0, lined ? out : (char *)result); \
        for (npy_intp k = 0; !lined && k < all && k < left; k++) { \
            *(TYPE *)(out + k * by[nin]) = ((TYPE *)result)[k]; \
        } \
    } \
    TARGET static void all_##T##BYTES(const char *steps, int nin, unsigned bools, char **args, npy_intp n, npy_intp const *by, npy_intp lines, npy_intp const *far) \
    { \
        enum { LANES = BYTES / sizeof(TYPE) }; \
        VEC_##T##BYTES one[MAX_OPERANDS][MANY(BYTES)]; \
        char *from[MAX_OPERANDS + 1]; \
        npy_intp moves[MAX_OPERANDS + 1]; \
        const npy_intp end = n * (npy_intp)sizeof(TYPE); \
        int together = by[nin] == sizeof(TYPE), apart = 1, begun = 0; \
        for (int j = 0; j < nin; j++) { \
            together &= by[j] == (npy_intp)(bools >> j & 1 ? 1 : sizeof(TYPE)) || by[j] == 0; \
            apart &= args[j] != args[nin]; \
        } \
        for (; lines > 0; lines--) { \
            npy_intp start = 0; \
            for (int j = 0; j < nin; j++) { \
                if (by[j]) { \
                    from[j] = args[j]; \
                    moves[j] = -1; \
                } \
                else if (bools >> j & 1) { \
                    memset(one[j], *args[j], sizeof(one[j])); \
                    from[j] = (char *)one[j]; \
                    moves[j] = 0; \
                } \
                else if (!begun || far[j]) { \
                    for (int k = 0; k < MANY(BYTES); k++) { \
                        one[j][k] = *(const TYPE *)args[j] - (VEC_##T##BYTES){0}; \
                    } \
                    from[j] = (char *)one[j]; \
                    moves[j] = 0; \
                } \
            } \
            begun = 1; \
            from[nin] = from[nin + 1] = from[0]; /* a step may look at what it does not take */ \
            moves[nin] = moves[nin + 1] = 0; \
            if (together) { \
                WITH(many, MANY(BYTES), 2 * FEW * BYTES, T, BYTES) \
                WITH(few, FEW, 0, T, BYTES) \
                for (; start + BYTES <= end; start += BYTES) { \
                    one_##T##BYTES(steps, from, moves, start, args[nin] + start); \
                } \
            } \
            for (npy_intp i = start / (npy_intp)sizeof(TYPE), left = n - i; left > 0; i += LANES, left -= LANES) { \
                if (left >= MANY(BYTES) * LANES) { \
                    apart_##T##BYTES(steps, nin, bools, args, by, i, left, from, moves, one, MANY(BYTES)); \
                    i += (MANY(BYTES) - 1) * LANES; \
                    left -= (MANY(BYTES) - 1) * LANES; \
                } \
                else { \
                    apart_##T##BYTES(steps, nin, bools, args, by, i, left, from, moves, one, 1); \
                } \
            } \
            for (int j = 0; j <= nin; j++) { \
                args[j] += far[j]; \
            } \
        } \
    }
FOR_EACH_WIDTH(FUSED)

#define FUSED_LOOP(T) \
    static void lines_##T(char **args, npy_intp const *dimensions, npy_intp const *by, npy_intp lines, npy_intp const *far, void *data) \
    { \
        const char *steps = data; \
        int nin = 0; \
        unsigned bools = 0; \
        for (const char *each = steps; *each != 0; each++) { \
            bools |= (unsigned)FIRST_IS_BOOLEAN(*each) << nin; \
            nin += TAKEN(*each); \
        } \
        CHOSEN(all_##T)(steps, nin, bools, args, dimensions[0], by, lines, far); \
    } \
    ONE_LINE(fused_##T, lines_##T)
FUSED_LOOP(f)
FUSED_LOOP(d)

int fused_loop(const char *name, Loop *loop)
{
    if (!HAS_STEPS || strncmp(name, "fused_", 6) != 0 || (name[6] != 'f' && name[6] != 'd') || name[7] != '_' || (name[8] != 'l' && name[8] != 'b')) {
        return 0;
    }
    *loop = (Loop){.function = name[6] == 'f' ? fused_f : fused_d, .data = (void *)(name + 8), .lines = name[6] == 'f' ? lines_f : lines_d};
    const npy_intp item = name[6] == 'f' ? 4 : 8;
    for (int j = 0; j < MAX_OPERANDS; j++) {
        loop->size[j] = item;
    }
    for (const char *each = name + 8; *each != 0; each++) {
        if (TAKEN(*each) < 0 || loop->nin + TAKEN(*each) >= MAX_OPERANDS || ((*each == 'l' || *each == 'b') && each > name + 8)) {
            return 0;
        }
        loop->size[loop->nin] = FIRST_IS_BOOLEAN(*each) ? 1 : item;
        loop->nin += TAKEN(*each);
    }
    loop->nargs = loop->nin + 1;
    return 1;
}
#else
int fused_loop(const char *NPY_UNUSED(name), Loop *NPY_UNUSED(loop))
{
    return 0;
}
#endif

PyObject *fused_steps(void)
{
    PyObject *steps = PyList_New(0);
#define ADD_STEP(LETTER, COUNT, BOOLEAN, MEANING, RESULT) \
    if (steps != NULL) { \
        PyObject *step = Py_BuildValue("CiNs", LETTER, COUNT, PyBool_FromLong(BOOLEAN), MEANING); \
        if (step == NULL || PyList_Append(steps, step) < 0) { \
            Py_CLEAR(steps); \
        } \
        Py_XDECREF(step); \
    }
    STEPS(ADD_STEP)
    return steps;
}
