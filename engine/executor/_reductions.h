/* Loops that reduce: sums of rows and lines, extremes. A part of loops.c. */
/* ---- sum_rows_TYPE(x): (rows, columns) -> (columns), added to what is there, row after row ---------------------------- */

#define SUM_ROWS(T, TYPE) \
    void sum_rows_##T(ARGS) \
    { \
        const npy_intp rows = dimensions[1], columns = dimensions[2], sx = steps[3], so = steps[4]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        for (npy_intp n = 0; n < dimensions[0]; n++, x += steps[0], out += steps[1]) { \
            if (sx == sizeof(TYPE) && so == sizeof(TYPE)) { \
                add_rows_##T(rows, columns, x, steps[2], (TYPE *)out); \
                continue; \
            } \
            for (npy_intp i = 0; i < rows; i++) { \
                for (npy_intp j = 0; j < columns; j++) { \
                    *(TYPE *)(out + j * so) += *(const TYPE *)(x + i * steps[2] + j * sx); \
                } \
            } \
        } \
    } \
    /* sum_blocks_TYPE(x): (rows, columns) -> (state), in blocks (row_sums.h) */ \
    static void sum_blocks_##T(ARGS) \
    { \
        const npy_intp columns = dimensions[2]; \
        if (steps[3] != sizeof(TYPE) || steps[4] != sizeof(TYPE) || dimensions[3] != 2 + 2 * columns) { \
            return; /* nobody writes such rows */ \
        } \
        for (npy_intp n = 0; n < dimensions[0]; n++) { \
            add_blocks_##T(dimensions[1], columns, args[0] + n * steps[0], steps[2], (TYPE *)(args[1] + n * steps[1])); \
        } \
    }
SUM_ROWS(f, npy_float)
SUM_ROWS(d, npy_double)

/* skip_row_TYPE(state): (state) -> (state), in place: a row of zeros is added to such a state. */
#define SKIP_ROW(T, TYPE) \
    static void skip_row_##T(ARGS) \
    { \
        char *at = args[1]; \
        for (npy_intp n = 0; args[0] == args[1] && dimensions[1] >= 2 && n < dimensions[0]; n++, at += steps[1]) { \
            TYPE *state = (TYPE *)at; \
            if (state[1] < 1) { \
                begin_row_##T((dimensions[1] - 2) / 2, state); \
            } \
            state[1] -= 1; \
        } \
    }
SKIP_ROW(f, npy_float)
SKIP_ROW(d, npy_double)

/* nonzero_TYPE(x): lines of elements (dimensions 0 and 1), and how many rows follow, each number and one more: those for all
elements, those for each line, and those for each element that is not zero. See run_selected in rows.c. */
static void nonzero(char **NPY_UNUSED(args), npy_intp const *NPY_UNUSED(dimensions), npy_intp const *NPY_UNUSED(steps), void *NPY_UNUSED(data))
{
}

/* shares_TYPE(x, extreme): (columns), () -> (columns), the same for elements of lines that equal an extreme, whose shares it writes. */
void shares(char **NPY_UNUSED(args), npy_intp const *NPY_UNUSED(dimensions), npy_intp const *NPY_UNUSED(steps), void *NPY_UNUSED(data))
{
}

/* ---- sum_each_TYPE(x): (columns) -> (), added to what is there, in the order of NumPy's own sums ------------------ */

/* With vectors of 32 bytes: the same for four rows at a time, whose elements of one column stand side by side in the end. */
#if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#define ACROSS(A, B, C, D) \
    ({ \
        const FOUR ab = __builtin_shufflevector(A, B, 0, 4, 2, 6) + __builtin_shufflevector(A, B, 1, 5, 3, 7); \
        const FOUR cd = __builtin_shufflevector(C, D, 0, 4, 2, 6) + __builtin_shufflevector(C, D, 1, 5, 3, 7); \
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7); \
    })
#define FOUR_SUMS(NAME, TYPE) \
    AVX2 static npy_intp NAME##_fours(npy_intp n, const char *x, npy_intp sx, npy_intp columns, char *out, npy_intp so) \
    { \
        typedef TYPE FOUR __attribute__((vector_size(4 * sizeof(TYPE)))); \
        typedef TYPE THERE __attribute__((vector_size(4 * sizeof(TYPE)), aligned(sizeof(TYPE)), may_alias)); \
        npy_intp i = 0; \
        for (; columns >= 8 && i + 4 <= n; i += 4, x += 4 * sx, out += 4 * so) { \
            const THERE *p = (const THERE *)x, *q = (const THERE *)(x + sx), *r = (const THERE *)(x + 2 * sx), *s = (const THERE *)(x + 3 * sx); \
            FOUR p0 = p[0], p1 = p[1], q0 = q[0], q1 = q[1], r0 = r[0], r1 = r[1], s0 = s[0], s1 = s[1]; \
            npy_intp j = 8; \
            for (npy_intp k = 2; j + 8 <= columns; j += 8, k += 2) { \
                p0 += p[k], p1 += p[k + 1], q0 += q[k], q1 += q[k + 1], r0 += r[k], r1 += r[k + 1], s0 += s[k], s1 += s[k + 1]; \
            } \
            FOUR a = ACROSS(p0, q0, r0, s0); \
            a += ACROSS(p1, q1, r1, s1); \
            for (; j < columns; j++) { \
                const char *at = x + j * (npy_intp)sizeof(TYPE); \
                const FOUR last = {*(const TYPE *)at, *(const TYPE *)(at + sx), *(const TYPE *)(at + 2 * sx), *(const TYPE *)(at + 3 * sx)}; \
                a += last; \
            } \
            for (int k = 0; k < 4; k++) { \
                *(TYPE *)(out + k * so) += a[k]; \
            } \
        } \
        return i; \
    }
/* The best of elements that lie side by side, at least 64 bytes of them: the lanes of NumPy's as two vectors. */
#define BEST(A, B, OPERATOR) ((V)(((M)(A) & (((A) OPERATOR (B)) | ((A) != (A)))) | ((M)(B) & ~(((A) OPERATOR (B)) | ((A) != (A))))))
#define WIDE_EXTREME(NAME, TYPE, INTEGER, OPERATOR) \
    AVX2 static npy_intp NAME##_lanes(TYPE *best, npy_intp columns, const char *x) \
    { \
        typedef TYPE V __attribute__((vector_size(32))); \
        typedef INTEGER M __attribute__((vector_size(32))); \
        enum { LANES = 64 / sizeof(TYPE) }; \
        typedef TYPE THERE __attribute__((vector_size(32), aligned(sizeof(TYPE)), may_alias)); \
        const THERE *all = (const THERE *)x; \
        V r = all[0], s = all[1]; \
        npy_intp j = LANES; \
        for (npy_intp k = 2; j + LANES <= columns; j += LANES, k += 2) { \
            const V a = all[k], b = all[k + 1]; \
            r = BEST(r, a, OPERATOR); \
            s = BEST(s, b, OPERATOR); \
        } \
        r = BEST(s, r, OPERATOR); \
        memcpy(best, &r, sizeof(V)); \
        return j; \
    }
#else
#define HAS_AVX2 0
#define FOUR_SUMS(NAME, TYPE) \
    static npy_intp NAME##_fours(npy_intp n, const char *x, npy_intp sx, npy_intp columns, char *out, npy_intp so) \
    { \
        (void)n, (void)x, (void)sx, (void)columns, (void)out, (void)so; \
        return 0; \
    }
#define WIDE_EXTREME(NAME, TYPE, INTEGER, OPERATOR) \
    static npy_intp NAME##_lanes(TYPE *best, npy_intp columns, const char *x) \
    { \
        (void)best, (void)columns, (void)x; \
        return 0; \
    }
#endif
/* Rows of so few elements, one behind the other: a compiler takes those of several rows together. */
#define FEW_COLUMNS(TYPE, COLUMNS) \
    case COLUMNS: { \
        const TYPE *restrict row = (const TYPE *)x; \
        TYPE *restrict to = (TYPE *)out; \
        for (npy_intp i = 0; i < n; i++, row += COLUMNS) { \
            TYPE sum = row[0]; \
            for (int k = 1; k < COLUMNS; k++) { \
                sum += row[k]; \
            } \
            to[i] += sum; \
        } \
        return; \
    }
/* Eight sums side by side, those in pairs, then what is left over; more than 128 in halves. */
#define SUM_EACH(NAME, TYPE) \
    FOUR_SUMS(NAME, TYPE) \
    INLINED TYPE NAME##_of(npy_intp columns, const char *x, npy_intp step) \
    { \
        TYPE r[8], sum = (TYPE)-0.0; \
        npy_intp j = 0; \
        for (; columns < 8 && j < columns; j++) { \
            sum += *(const TYPE *)(x + j * step); \
        } \
        if (columns < 8) { \
            return sum; \
        } \
        for (int k = 0; k < 8; k++) { \
            r[k] = *(const TYPE *)(x + k * step); \
        } \
        for (j = 8; j < columns - columns % 8; j += 8) { \
            for (int k = 0; k < 8; k++) { \
                r[k] += *(const TYPE *)(x + (j + k) * step); \
            } \
        } \
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
        for (; j < columns; j++) { \
            sum += *(const TYPE *)(x + j * step); \
        } \
        return sum; \
    } \
    WIDE static void NAME##_in_line(npy_intp n, const char *x, npy_intp sx, npy_intp columns, char *out, npy_intp so) \
    { \
        const int packed = so == sizeof(TYPE) && sx == columns * (npy_intp)sizeof(TYPE) && n > 1; \
        switch (packed ? columns : 0) { \
            FEW_COLUMNS(TYPE, 2) FEW_COLUMNS(TYPE, 3) FEW_COLUMNS(TYPE, 4) FEW_COLUMNS(TYPE, 5) FEW_COLUMNS(TYPE, 6) FEW_COLUMNS(TYPE, 7) \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(TYPE *)out += NAME##_of(columns, x, sizeof(TYPE)); \
        } \
    } \
    static TYPE NAME##_halves(npy_intp columns, const char *x, npy_intp step) \
    { \
        TYPE sum = (TYPE)-0.0; \
        if (columns > 128) { \
            const npy_intp half = columns / 16 * 8; \
            sum = NAME##_halves(half, x, step); \
            return sum + NAME##_halves(columns - half, x + half * step, step); \
        } \
        if (step != sizeof(TYPE)) { \
            return NAME##_of(columns, x, step); \
        } \
        NAME##_in_line(1, x, 0, columns, (char *)&sum, 0); \
        return sum; \
    } \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], columns = dimensions[1], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        if (columns <= 128 && steps[2] == sizeof(TYPE)) { \
            const npy_intp done = n >= 4 && columns >= 8 && HAS_AVX2 ? NAME##_fours(n, x, sx, columns, out, so) : 0; \
            NAME##_in_line(n - done, x + done * sx, sx, columns, out + done * so, so); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(TYPE *)out += NAME##_halves(columns, x, steps[2]); \
        } \
    }
SUM_EACH(sum_each_f, npy_float)
SUM_EACH(sum_each_d, npy_double)

/* ---- max_each_TYPE(x), min_each_TYPE(x): (columns) -> (), compared with what is there; NumPy takes a call for each ---- */

/* Which of two zeros is found depends on the order, which is NumPy's with AVX-512: LANES side by side, halves of those, the rest. */
#define EXTREME_EACH(NAME, TYPE, INTEGER, OPERATOR) \
    WIDE_EXTREME(NAME, TYPE, INTEGER, OPERATOR) \
    static inline TYPE NAME##_two(TYPE a, TYPE b) \
    { \
        return (a OPERATOR b) | (a != a) ? a : b; \
    } \
    INLINED TYPE NAME##_of(TYPE found, npy_intp columns, const char *x, npy_intp step) \
    { \
        enum { LANES = 64 / sizeof(TYPE), LAST = 16 / sizeof(TYPE) }; \
        npy_intp j = 0; \
        if (columns >= LANES) { \
            TYPE r[LANES]; \
            const int wide = step == sizeof(TYPE) && HAS_AVX2; \
            if (wide) { \
                j = NAME##_lanes(r, columns, x); \
            } \
            for (; j < LANES; j++) { \
                r[j] = *(const TYPE *)(x + j * step); \
            } \
            for (; j + LANES <= columns; j += LANES) { \
                for (int k = 0; k < LANES; k++) { \
                    r[k] = NAME##_two(r[k], *(const TYPE *)(x + (j + k) * step)); \
                } \
            } \
            for (int half = wide ? LANES / 4 : LANES / 2; half >= LAST; half /= 2) { \
                for (int k = 0; k < half; k++) { \
                    r[k] = NAME##_two(r[k + half], r[k]); \
                } \
            } \
            for (int k = 1; k < LAST; k++) { \
                r[0] = NAME##_two(r[0], r[k]); \
            } \
            found = NAME##_two(found, r[0]); \
        } \
        for (; j < columns; j++) { \
            found = NAME##_two(found, *(const TYPE *)(x + j * step)); \
        } \
        return found; \
    } \
    WIDE static void NAME##_in_line(npy_intp n, const char *x, npy_intp sx, npy_intp columns, char *out, npy_intp so) \
    { \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(TYPE *)out = NAME##_of(*(TYPE *)out, columns, x, sizeof(TYPE)); \
        } \
    } \
    static void NAME(ARGS) \
    { \
        const npy_intp n = dimensions[0], columns = dimensions[1], sx = steps[0], so = steps[1]; \
        const char *x = args[0]; \
        char *out = args[1]; \
        if (steps[2] == sizeof(TYPE)) { \
            NAME##_in_line(n, x, sx, columns, out, so); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++, x += sx, out += so) { \
            *(TYPE *)out = NAME##_of(*(TYPE *)out, columns, x, steps[2]); \
        } \
    }
EXTREME_EACH(max_each_f, npy_float, npy_int32, >)
EXTREME_EACH(max_each_d, npy_double, npy_int64, >)
EXTREME_EACH(min_each_f, npy_float, npy_int32, <)
EXTREME_EACH(min_each_d, npy_double, npy_int64, <)
