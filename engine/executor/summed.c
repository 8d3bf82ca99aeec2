/* Steps of arithmetic and the sum of their results along a short axis, in one pass: neither the results nor their sums leave the registers.
 *
 * summed_TYPE_STEPS(x, ...): (terms), ... -> (), for steps as in fused.c whose operands are all of one type. The sum is that of
 * NumPy: fewer than eight terms one after the other, else eight sums side by side, those in pairs, then what is left over; and 0 is
 * added to it. Of the two axes around the terms an operand moves along one: a centroid is the same for all points, a point for all
 * centroids. What moves along the elements of a line is laid side by side once for all lines, what moves from line to line is
 * repeated in a vector, and so each vector has results of one line.
 */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include "steps.h"

#if defined(__GNUC__)
enum { MANY = 8, FEW = 4, MOST_LINES = 16, ROOM = 64 * MANY * MOST_TAKEN * MOST_TERMS }; /* vectors at a time, lines whose sums wait; bytes for what is side by side */
#define FIRST(I) (moves ? VEC_AT(at + (I) * bytes) : same)
#define SECOND(I) b   /* no step takes two operands */
#define TRUTH(I) at /* no operand is boolean */
#define CAN_BE(COUNT, BOOLEAN) ((COUNT) == 1 ? !(BOOLEAN) : (COUNT) == 0 && !moves)

/* What becomes of a term: it begins the sum (of few terms), or one of eight sums (of several terms each), ... */
enum { BEGINS, GOES_ON, BEGINS_EIGHTH, GOES_ON_EIGHTH, ALONE, IN_PAIR, IN_FOUR, LAST_OF_EIGHT, ENDS = 4 };
/* ... or is added to these: the last four count for a single term as they do for the last one of several, which is 4 more. */
typedef struct {
    int term, then;
} Order;

/* The order of NumPy's sums. */
static void order_of(npy_intp terms, Order *order)
{
    const npy_intp whole = terms < 8 ? 0 : terms - terms % 8;
    for (npy_intp k = 0; k < (whole ? 8 : 0); k++) {
        const int pairs = k == 7 ? LAST_OF_EIGHT : k == 3 ? IN_FOUR : k % 2 ? IN_PAIR : ALONE;
        for (npy_intp j = k; j < whole; j += 8) {
            const int last = j + 8 >= whole;
            *order++ = (Order){(int)j, whole == 8 ? pairs : last ? pairs + ENDS : j == k ? BEGINS_EIGHTH : GOES_ON_EIGHTH};
        }
    }
    for (npy_intp j = whole; j < terms; j++) {
        *order++ = (Order){(int)j, j == 0 ? BEGINS : GOES_ON};
    }
}

/* There are too few registers for all sums: the results of steps shall have them. */
#define IN_MEMORY(SUMS) __asm__("" : "+r"(SUMS) : : "memory");
#define FOR_PARTS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define WITHIN(I, ...) \
    if (I < count) { \
        __VA_ARGS__; \
    }
#define TO_TOTAL(I) WITHIN(I, total[I] = x##I)
#define ADD_TOTAL(I) WITHIN(I, total[I] += x##I)
#define TO_EIGHTH(I) WITHIN(I, eighth[I] = x##I)
#define ADD_EIGHTH(I) WITHIN(I, eighth[I] += x##I)
#define END_EIGHTH(I) WITHIN(I, x##I = eighth[I] + x##I)
#define TO_ONE(I) WITHIN(I, one[I] = x##I)
#define TO_TWO(I) WITHIN(I, two[I] = one[I] + x##I)
#define TO_FOUR(I) WITHIN(I, total[I] = two[I] + (one[I] + x##I))
#define TO_EIGHT(I) WITHIN(I, total[I] += two[I] + (one[I] + x##I))
#define RESULT_OF(I) WITHIN(I, result[I] = total[I] + zero)
#define BEGUN(I) VEC x##I = zero;

#if defined(__clang__) || __GNUC__ >= 12
#define MIXED(A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define MIXED(A, B, ...) __builtin_shuffle(A, B, (WHICH){__VA_ARGS__})
#endif

#define SUMMED(T, TYPE, INTEGER, BYTES, TARGET) \
    typedef TYPE VEC_##T##BYTES __attribute__((vector_size(BYTES))); \
    typedef INTEGER MASK_##T##BYTES __attribute__((vector_size(BYTES))); \
    /* The sums of some vectors side by side. Operand j of the first term is at from[j], of the next one `core[j]` behind. */ \
    TARGET INLINED void parts_##T##BYTES(const char *all, const char *const *from, const npy_intp *core, const int *moving, npy_intp terms, \
                                         const Order *order, VEC_##T##BYTES *result, const int count) \
    { \
        typedef VEC_##T##BYTES VEC; \
        typedef MASK_##T##BYTES MASK; \
        typedef TYPE NUMBER; \
        enum { bytes = BYTES, lanes = BYTES / sizeof(TYPE) }; \
        typedef npy_int8 BYTE_EACH __attribute__((vector_size(lanes))); \
        typedef npy_int16 SHORT_EACH __attribute__((vector_size(2 * lanes))); \
        typedef npy_int32 INT_EACH __attribute__((vector_size(4 * lanes))); \
        const VEC zero = {0}; \
        VEC sums[4][MANY], *total = sums[0], *one = sums[1], *two = sums[2], *eighth = sums[3]; \
        IN_MEMORY(total) \
        IN_MEMORY(one) \
        IN_MEMORY(two) \
        IN_MEMORY(eighth) \
        FOR_PARTS(BEGUN) \
        VEC x8 = zero, x9 = zero, x10 = zero, x11 = zero, x12 = zero, x13 = zero, x14 = zero, x15 = zero; \
        for (const Order *end = order + terms; order < end; order++) { \
            int j = 0; \
            for (const char *steps = all; *steps != 0; steps++) { \
                const char *at = from[j] + order->term * core[j]; \
                const int takes_one = TAKEN(*steps); \
                if (takes_one && moving[j]) { \
                    enum { moves = 1 }; \
                    const VEC same = zero; \
                    switch (*steps) { STEPS(CASE) } \
                } \
                else { \
                    enum { moves = 0 }; \
                    const VEC same = *(const TYPE *)at - zero; \
                    switch (*steps) { STEPS(CASE) } \
                } \
                j += takes_one; \
            } \
            if (order->then >= ALONE + ENDS) { \
                FOR_PARTS(END_EIGHTH) \
            } \
            switch (order->then) { \
                case BEGINS: FOR_PARTS(TO_TOTAL) break; \
                case GOES_ON: FOR_PARTS(ADD_TOTAL) break; \
                case BEGINS_EIGHTH: FOR_PARTS(TO_EIGHTH) break; \
                case GOES_ON_EIGHTH: FOR_PARTS(ADD_EIGHTH) break; \
                case ALONE: \
                case ALONE + ENDS: FOR_PARTS(TO_ONE) break; \
                case IN_PAIR: \
                case IN_PAIR + ENDS: FOR_PARTS(TO_TWO) break; \
                case IN_FOUR: \
                case IN_FOUR + ENDS: FOR_PARTS(TO_FOUR) break; \
                default: FOR_PARTS(TO_EIGHT) \
            } \
        } \
        FOR_PARTS(RESULT_OF) \
        (void)x8, (void)x9, (void)x10, (void)x11, (void)x12, (void)x13, (void)x14, (void)x15; \
    } \
    /* Lay numbers side by side: `there` for each of some terms, which are `next` apart, filled up with the first one to `all`. */ \
    TARGET static void beside_##T##BYTES(const char *from, npy_intp by, npy_intp there, npy_intp core, npy_intp terms, TYPE *to, npy_intp next, \
                                         npy_intp all) \
    { \
        typedef TYPE FOUR __attribute__((vector_size(4 * sizeof(TYPE)))); \
        typedef INTEGER WHICH __attribute__((vector_size(4 * sizeof(TYPE)), unused)); \
        const npy_intp fours = core == sizeof(TYPE) ? terms / 4 * 4 : 0, whole = there / 4 * 4; \
        for (npy_intp i = 0; fours && i < whole; i += 4) { \
            for (npy_intp k = 0; k < fours; k += 4) { \
                FOUR a, b, c, d; \
                const char *at = from + i * by + k * (npy_intp)sizeof(TYPE); \
                memcpy(&a, at, sizeof(a)); \
                memcpy(&b, at + by, sizeof(b)); \
                memcpy(&c, at + 2 * by, sizeof(c)); \
                memcpy(&d, at + 3 * by, sizeof(d)); \
                const FOUR ab = MIXED(a, b, 0, 4, 1, 5), cd = MIXED(c, d, 0, 4, 1, 5); \
                const FOUR more_ab = MIXED(a, b, 2, 6, 3, 7), more_cd = MIXED(c, d, 2, 6, 3, 7); \
                a = MIXED(ab, cd, 0, 1, 4, 5); \
                b = MIXED(ab, cd, 2, 3, 6, 7); \
                c = MIXED(more_ab, more_cd, 0, 1, 4, 5); \
                d = MIXED(more_ab, more_cd, 2, 3, 6, 7); \
                memcpy(to + k * next + i, &a, sizeof(a)); \
                memcpy(to + (k + 1) * next + i, &b, sizeof(b)); \
                memcpy(to + (k + 2) * next + i, &c, sizeof(c)); \
                memcpy(to + (k + 3) * next + i, &d, sizeof(d)); \
            } \
        } \
        for (npy_intp k = 0; k < terms; k++) { \
            const char *each = from + k * core; \
            npy_intp i = k < fours ? whole : 0; \
            for (; i < there; i++) { \
                to[k * next + i] = *(const TYPE *)(each + i * by); \
            } \
            for (; i < all; i++) { \
                to[k * next + i] = *(const TYPE *)each; \
            } \
        } \
    } \
    TARGET static void sums_##T##BYTES(const char *steps, int nin, char *const *args, npy_intp n, npy_intp terms, npy_intp const *by, \
                                       npy_intp const *core, npy_intp lines, npy_intp const *far) \
    { \
        enum { LANES = BYTES / sizeof(TYPE) }; \
        char room[ROOM] __attribute__((aligned(64))); \
        VEC_##T##BYTES result[MOST_LINES][MANY]; \
        const char *from[MOST_TAKEN + 1]; \
        char *side_by_side[MOST_TAKEN]; \
        npy_intp next[MOST_TAKEN + 1] = {0}, vectors = 0; \
        int moving[MOST_TAKEN + 1] = {0}; \
        Order order[MOST_TERMS]; \
        order_of(terms, order); \
        for (int j = 0; j < nin; j++) { \
            moving[j] = by[j] != 0; \
            vectors += moving[j] ? (core[j] ? terms : 1) : 0; \
        } \
        const npy_intp most = ROOM / BYTES / (vectors ? vectors : 1) / MANY * MANY, by_out = by[nin], far_out = far[nin]; \
        for (npy_intp first = 0, width; first < n; first += width * LANES) { \
            const npy_intp left = n - first, needed = (left + FEW * LANES - 1) / (FEW * LANES) * FEW; \
            width = needed < most ? needed : most; \
            char *at = room; \
            for (int j = 0; j < nin; j++) { \
                next[j] = moving[j] && core[j] ? width * BYTES : core[j]; \
                side_by_side[j] = at; \
                if (moving[j]) { \
                    const npy_intp all = width * LANES, some = core[j] ? terms : 1; \
                    beside_##T##BYTES(args[j] + first * by[j], by[j], left < all ? left : all, core[j], some, (TYPE *)at, all, all); \
                    at += some * width * BYTES; \
                } \
            } \
            for (npy_intp part = 0; part < width; part += MANY) { \
                const npy_intp start = part * LANES, there = left - start < MANY * LANES ? left - start : MANY * LANES; \
                char *out = args[nin] + (first + start) * by_out; \
                for (npy_intp line = 0, done = 0; line < lines; line++) { \
                    for (int j = 0; j < nin; j++) { \
                        from[j] = moving[j] ? side_by_side[j] + part * BYTES : args[j] + line * far[j]; \
                    } \
                    from[nin] = from[0]; /* a step may look at what it does not take */ \
                    if (width - part >= MANY) { \
                        parts_##T##BYTES(steps, from, next, moving, terms, order, result[line - done], MANY); \
                    } \
                    else { \
                        parts_##T##BYTES(steps, from, next, moving, terms, order, result[line - done], FEW); \
                    } \
                    if (by_out == sizeof(TYPE)) { \
                        memcpy(out + line * far_out, result, (size_t)there * sizeof(TYPE)); \
                        done++; \
                        continue; \
                    } \
                    const npy_intp some = line + 1 - done; \
                    if (some < MOST_LINES && line + 1 < lines) { \
                        continue; \
                    } \
                    if (far_out == sizeof(TYPE) && by_out % (npy_intp)sizeof(TYPE) == 0) { \
                        TYPE *to = (TYPE *)(out + done * far_out); \
                        beside_##T##BYTES((const char *)result, sizeof(result[0]), some, sizeof(TYPE), there, to, by_out / (npy_intp)sizeof(TYPE), some); \
                    } \
                    else { \
                        for (npy_intp k = 0; k < some; k++) { \
                            for (npy_intp i = 0; i < there; i++) { \
                                *(TYPE *)(out + i * by_out + (done + k) * far_out) = ((const TYPE *)result[k])[i]; \
                            } \
                        } \
                    } \
                    done = line + 1; \
                } \
            } \
        } \
    }
FOR_EACH_WIDTH(SUMMED)

/* Percents of the elements of vectors that are used for so many results in a line. */
static npy_intp used(npy_intp n)
{
    enum { ELEMENTS = 8 * FEW };
    return 100 * n / ((n + ELEMENTS - 1) / ELEMENTS * ELEMENTS);
}

#define SUMMED_LOOP(T) \
    static void summed_lines_##T(char **args, npy_intp const *dimensions, npy_intp const *by, npy_intp lines, npy_intp const *far, void *data) \
    { \
        const char *steps = data; \
        npy_intp n = dimensions[0], one = 1; \
        int nin = 0, both = 0; \
        for (const char *each = steps; *each != 0; each++) { \
            nin += TAKEN(*each); \
        } \
        const npy_intp *core = by + nin + 1; \
        if (3 * used(n) < 2 * used(lines)) { \
            const npy_intp *swap = by; \
            by = far, far = swap; \
            one = n, n = lines, lines = one; \
        } \
        for (int j = 0; j < nin; j++) { \
            both |= n > 1 && by[j] && lines > 1 && far[j]; \
        } \
        for (one = both ? 1 : lines; lines > 0; lines -= one) { \
            CHOSEN(sums_##T)(steps, nin, args, n, dimensions[1], by, core, one, far); \
            for (int j = 0; j <= nin; j++) { \
                args[j] += far[j]; \
            } \
        } \
    } \
    ONE_LINE(summed_##T, summed_lines_##T)
SUMMED_LOOP(f)
SUMMED_LOOP(d)

int summed_loop(const char *name, Loop *loop)
{
    if (!HAS_STEPS || strncmp(name, "summed_", 7) != 0 || (name[7] != 'f' && name[7] != 'd') || name[8] != '_' || name[9] != 'l') {
        return 0;
    }
    const int single = name[7] == 'f';
    *loop = (Loop){.function = single ? summed_f : summed_d, .data = (void *)(name + 9), .lines = single ? summed_lines_f : summed_lines_d, .ndims = 1, .most = MOST_TERMS};
    for (const char *each = name + 9; *each != 0; each++) {
        if (TAKEN(*each) < 0 || TAKEN(*each) > 1 || loop->nin + TAKEN(*each) > MOST_TAKEN || FIRST_IS_BOOLEAN(*each) || (*each == 'l' && each > name + 9)) {
            return 0;
        }
        loop->nin += TAKEN(*each);
    }
    loop->nargs = loop->nin + 1;
    for (int j = 0; j < loop->nargs; j++) {
        loop->size[j] = single ? 4 : 8;
        loop->ncore[j] = j < loop->nin;
    }
    return 1;
}
#else
int summed_loop(const char *NPY_UNUSED(name), Loop *NPY_UNUSED(loop))
{
    return 0;
}
#endif
