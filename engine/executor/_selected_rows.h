/* Rows that run for those elements of lines alone that are not zero (selecting.py). A part of rows.c. */
#define MOST_SELECTED 1024
#define AT_ONCE 8

typedef struct {
    npy_int32 line, element;
} Index;

/* Which elements of lines are not zero (-0.0 is), one after the other in `found`; -1 if more than `most` are. Of a few elements all
 * are noted, but only some are kept: no branch depends on which. */
#define FIND_NONZERO(T, WORD) \
    static npy_intp find_nonzero_##T(const char *x, const npy_intp *steps, npy_intp lines, npy_intp count, npy_intp most, Index *found) \
    { \
        npy_intp many = 0; \
        for (npy_intp i = 0; i < lines; i++, x += steps[0]) { \
            for (npy_intp c = 0; c < count; c += AT_ONCE) { \
                const npy_intp some = count - c < AT_ONCE ? count - c : AT_ONCE; \
                WORD words[AT_ONCE], any = 0; \
                if (some == AT_ONCE && steps[1] == sizeof(WORD)) { \
                    memcpy(words, x + c * (npy_intp)sizeof(WORD), sizeof(words)); \
                    for (int k = 0; k < AT_ONCE; k++) { \
                        any |= words[k]; \
                    } \
                    if ((WORD)(any << 1) == 0) { \
                        continue; \
                    } \
                } \
                for (npy_intp k = 0; k < some; k++) { \
                    WORD word; \
                    memcpy(&word, x + (c + k) * steps[1], sizeof(word)); \
                    found[many] = (Index){(npy_int32)i, (npy_int32)(c + k)}; \
                    many += (WORD)(word << 1) != 0; \
                } \
                if (many > most) { \
                    return -1; \
                } \
            } \
        } \
        return many; \
    }
FIND_NONZERO(f, npy_uint32)
FIND_NONZERO(d, npy_uint64)

/* Which of eight elements side by side equal a number, as bits. */
#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
AVX2 static inline unsigned equal_bits_d(const char *x, npy_double number)
{
    typedef npy_double V __attribute__((vector_size(32)));
    V a, b;
    memcpy(&a, x, 32);
    memcpy(&b, x + 32, 32);
    return (unsigned)__builtin_ia32_movmskpd256((V)(a == number)) | (unsigned)__builtin_ia32_movmskpd256((V)(b == number)) << 4;
}
AVX2 static inline unsigned equal_bits_f(const char *x, npy_float number)
{
    typedef npy_float V __attribute__((vector_size(32)));
    V a;
    memcpy(&a, x, 32);
    return (unsigned)__builtin_ia32_movmskps256((V)(a == number));
}
#endif
#define NO_BITS(X, NUMBER) 0u
#if !defined(__GNUC__)
#define __builtin_ctz(BITS) 0 /* there are none */
#endif

/* Which elements of lines equal the extremes of these, one after the other in `found`, and write the share of each: 1 divided by how
 * many there are. -1 if they are more than `most`, or there is none: then something is no number. */
#define FIND_SHARES(NAME, TYPE, TARGET, BITS_OF_EIGHT, IS_WIDE) \
    TARGET static npy_intp NAME(char *const *at, const npy_intp *steps, npy_intp lines, npy_intp count, npy_intp most, Index *found) \
    { \
        const int wide = IS_WIDE && steps[3] == sizeof(TYPE); \
        const char *x = at[0], *extreme = at[1]; \
        char *out = at[2]; \
        npy_intp many = 0; \
        for (npy_intp i = 0; i < lines; i++, x += steps[0], extreme += steps[1], out += steps[2]) { \
            const TYPE number = *(const TYPE *)extreme; \
            const npy_intp first = many; \
            npy_intp c = 0; \
            for (; wide && c + AT_ONCE <= count; c += AT_ONCE) { \
                for (unsigned bits = BITS_OF_EIGHT(x + c * (npy_intp)sizeof(TYPE), number); bits; bits &= bits - 1) { \
                    found[many++] = (Index){(npy_int32)i, (npy_int32)c + __builtin_ctz(bits)}; \
                } \
                if (many > most) { \
                    return -1; \
                } \
            } \
            for (; c < count; c++) { \
                found[many] = (Index){(npy_int32)i, (npy_int32)c}; \
                many += *(const TYPE *)(x + c * steps[3]) == number; \
                if (many > most) { \
                    return -1; \
                } \
            } \
            if (many == first) { \
                return -1; \
            } \
            const TYPE share = (TYPE)1 / (TYPE)(many - first); \
            for (npy_intp k = first; k < many; k++) { \
                *(TYPE *)(out + found[k].element * steps[4]) = share; \
            } \
        } \
        return many; \
    }
FIND_SHARES(find_shares_f, npy_float, , NO_BITS, 0)
FIND_SHARES(find_shares_d, npy_double, , NO_BITS, 0)
#if defined(AVX2)
FIND_SHARES(find_shares_wide_f, npy_float, AVX2, equal_bits_f, 1)
FIND_SHARES(find_shares_wide_d, npy_double, AVX2, equal_bits_d, 1)
#define FOUND_SHARES(T) (HAS_AVX2 ? find_shares_wide_##T : find_shares_##T)
#else
#define FOUND_SHARES(T) find_shares_##T
#endif

/* Run a row for one index of the first dimensions around it. */
static void run_at(const Row *row, char *const *bases, npy_intp tile, const npy_intp *index, int fixed)
{
    const Loop *loop = row->loop;
    char *start[MAX_OPERANDS];
    for (int j = 0; j < loop->nargs; j++) {
        start[j] = bases[row->base[j]] + row->offset[j] + tile * row->advance[j];
        for (int d = 0; d < fixed; d++) {
            start[j] += index[d] * row->strides[d * loop->nargs + j];
        }
    }
    if (row->nouter > fixed) {
        Row rest = *row;
        rest.nouter -= fixed;
        rest.outer += fixed;
        rest.strides += (npy_intp)fixed * loop->nargs;
        run_outer(&rest, start);
        return;
    }
    loop->function(start, row->dims, row->steps, loop->data);
}

static void run_each(const Row *row, const Row *end, char *const *bases, npy_intp tile, npy_intp line)
{
    for (; row < end; row++) {
        run_at(row, bases, tile, &line, 1);
    }
}

#define MOST_GATHERED 16
#define GATHERED 2048 /* bytes of an operand for some elements, one after the other */

/* An operand of rows that run for single elements of lines: `n` numbers for each, which lie `step` apart; or one number, of another
 * operand, for all of them. */
typedef struct {
    const char *at;
    npy_intp by, far, step, n, item;
    int written, there, source;
    char *room;
} Gathered;

/* Which of what is gathered an operand is; -1 if there is no room, or it overlaps with another one that is written. */
static int gathered_of(Gathered *all, int *count, char (*room)[GATHERED], const npy_intp *ends, Gathered one)
{
    int same = -1;
    one.source = -1;
    for (int k = 0; k < *count; k++) {
        const Gathered *x = &all[k];
        const char *const end = x->at + ends[0] * x->by + ends[1] * x->far + (x->n - 1) * x->step + x->item;
        const char *const end_of_one = one.at + ends[0] * one.by + ends[1] * one.far + (one.n - 1) * one.step + one.item;
        const int begin = x->at == one.at && x->by == one.by && x->far == one.far && x->item == one.item;
        if (begin && x->step == one.step && x->n == one.n) {
            same = k;
        }
        else if (begin && x->n == 1 && one.step == 0 && !one.written) {
            one.source = k;
        }
        else if ((x->written || one.written) && one.at < end && x->at < end_of_one && x->source < 0) {
            return -1;
        }
    }
    for (int k = 0; one.written && same >= 0 && k < *count; k++) {
        if (all[k].source == same) {
            return -1;
        }
    }
    if (same >= 0) {
        all[same].written |= one.written;
        return same;
    }
    if (*count == MOST_GATHERED || one.by < 0 || one.far < 0 || one.step < 0 || one.n * one.item > GATHERED) {
        return -1;
    }
    one.room = room[*count];
    all[*count] = one;
    return (*count)++;
}

#define GATHER_SOME(TYPE, N) \
    for (npy_intp f = 0; f < many; f++, to += (N)) { \
        const char *from = at == NULL ? numbers + f * (npy_intp)sizeof(TYPE) : at + index[f].line * by + index[f].element * far; \
        if (step == sizeof(TYPE)) { \
            memcpy(to, from, (size_t)(N) * sizeof(TYPE)); \
            continue; \
        } \
        for (npy_intp k = 0; k < (N); k++) { \
            to[k] = *(const TYPE *)(from + k * step); \
        } \
    }
/* Put what an operand has for some elements side by side. */
#define GATHER(TYPE) \
    WIDE static void gather_##TYPE(const Gathered *x, const char *at, const char *numbers, const Index *index, npy_intp many) \
    { \
        const npy_intp by = x->by, far = x->far, step = x->step, n = x->n; \
        TYPE *restrict to = (TYPE *)x->room; \
        if (n == 1) { \
            GATHER_SOME(TYPE, 1) \
        } \
        else if (n == 2) { \
            GATHER_SOME(TYPE, 2) \
        } \
        else if (n == 3) { \
            GATHER_SOME(TYPE, 3) \
        } \
        else if (n == 8) { \
            GATHER_SOME(TYPE, 8) \
        } \
        else { \
            GATHER_SOME(TYPE, n) \
        } \
    }
GATHER(npy_uint64)
GATHER(npy_uint32)
GATHER(npy_uint8)

#define ADD_SOME(TYPE, N) \
    for (npy_intp f = first; f < end; f++) { \
        const TYPE *restrict from = (const TYPE *)x->room + f * (N); \
        TYPE *restrict to = (TYPE *)(at + index[f].line * by + index[f].element * far); \
        for (npy_intp k = 0; k < (N); k++) { \
            to[k] += from[k]; \
        } \
    }
/* Add what was gathered to sums, one element after the other. */
#define ADD_GATHERED(TYPE) \
    WIDE static void add_gathered_##TYPE(const Gathered *x, char *at, npy_intp by, npy_intp far, const Index *index, npy_intp first, npy_intp end) \
    { \
        const npy_intp n = x->n; \
        if (n == 2) { \
            ADD_SOME(TYPE, 2) \
        } \
        else if (n == 3) { \
            ADD_SOME(TYPE, 3) \
        } \
        else if (n == 8) { \
            ADD_SOME(TYPE, 8) \
        } \
        else { \
            ADD_SOME(TYPE, n) \
        } \
    }
ADD_GATHERED(npy_double)
ADD_GATHERED(npy_float)

/* Add elements from one on, up to one, to the sums that rows are. */
static void add_all(const Row *some, const Row *end, char *const *bases, npy_intp tile, const Gathered *all, unsigned char (*which)[MAX_OPERANDS],
                    const Index *index, npy_intp first, npy_intp until)
{
    for (const Row *row = some; row < end; row++) {
        if (row->loop->ndims == 0) {
            continue;
        }
        const Gathered *x = &all[which[row - some][0]];
        char *at = bases[row->base[1]] + row->offset[1] + tile * row->advance[1];
        (x->item == 8 ? add_gathered_npy_double : add_gathered_npy_float)(x, at, row->strides[1], row->strides[3], index, first, until);
    }
}

/* Run rows for each line (before `some`) and for elements that were found: those that go element by element for as many as fit side by
 * side, then what adds up, in order. 0, and nothing is done, if they are of another kind. */
static int run_gathered(const Row *each, const Row *some, const Row *end, char *const *bases, npy_intp tile, npy_intp lines, npy_intp count,
                        const Index *found, npy_intp many_found)
{
    char room[MOST_GATHERED][GATHERED] __attribute__((aligned(64)));
    Gathered all[MOST_GATHERED];
    unsigned char which[8][MAX_OPERANDS];
    const npy_intp ends[2] = {lines - 1, count - 1};
    npy_intp largest = 1;
    int gathered = 0;
    if (end - some > 8) {
        return 0;
    }
    for (const Row *row = some; row < end; row++) {
        const Loop *loop = row->loop;
        const int sums = loop->function == sum_rows_f || loop->function == sum_rows_d, nargs = loop->nargs;
        if (row->nouter != 2 || (sums ? row->dims[0] != 1 || row->dims[1] != 1 || row->steps[4] != loop->size[1] : loop->ndims != 0) || loop->kind != STRIDED) {
            return 0;
        }
        const npy_intp n = row->dims[sums ? 2 : 0];
        for (int j = 0; j < nargs - sums; j++) {
            Gathered one = {.at = bases[row->base[j]] + row->offset[j] + tile * row->advance[j], .by = row->strides[j], .far = row->strides[nargs + j],
                            .step = n == 1 ? loop->size[j] : row->steps[sums ? 3 : j], .n = n, .item = loop->size[j], .written = j >= loop->nin};
            const int k = gathered_of(all, &gathered, room, ends, one);
            if (k < 0 || (one.item != 1 && one.item != 4 && one.item != 8)) {
                return 0;
            }
            which[row - some][j] = (unsigned char)k;
            largest = n * one.item > largest ? n * one.item : largest;
        }
    }
    const npy_intp most = GATHERED / largest;
    npy_intp line = 0;
    for (npy_intp first = 0; first < many_found;) {
        const npy_intp many = many_found - first < most ? many_found - first : most;
        const Index *index = found + first;
        for (int k = 0; k < gathered; k++) {
            /* what is the same for all elements stays there */
            all[k].there = first > 0 && !all[k].written && all[k].source < 0 && !(all[k].by | all[k].far);
        }
        first += many;
        for (const Row *row = some; row < end; row++) {
            const Loop *loop = row->loop;
            char *start[MAX_OPERANDS];
            npy_intp steps[MAX_OPERANDS], n = 0;
            const int inputs = loop->nin;
            for (int j = 0; j < loop->nargs; j++) {
                if (loop->ndims && j) {
                    break;
                }
                Gathered *x = &all[which[row - some][j]];
                if (j < inputs && !x->there) {
                    const char *at = x->source < 0 ? x->at : NULL, *numbers = x->source < 0 ? NULL : all[x->source].room;
                    (x->item == 8 ? gather_npy_uint64 : x->item == 4 ? gather_npy_uint32 : gather_npy_uint8)(x, at, numbers, index, many);
                }
                x->there = 1;
                start[j] = x->room;
                steps[j] = x->item;
                n = many * x->n;
            }
            if (!loop->ndims) {
                loop->function(start, &n, steps, loop->data);
            }
        }
        for (npy_intp f = 0, next; f < many; f = next) {
            for (; line <= index[f].line; line++) {
                run_each(each, some, bases, tile, line);
            }
            for (next = each < some ? f + 1 : many; next < many && index[next].line == index[f].line; next++) {
            }
            add_all(some, end, bases, tile, all, which, index, f, next);
        }
    }
    for (; line < lines; line++) {
        run_each(each, some, bases, tile, line);
    }
    return 1;
}

/* Of the rows behind one that selects, run those for each line and for each element, if few elements are not zero. Returns up to
 * where rows are to be run as ever then, and sets where to go on behind these. */
static const Row *run_selected(const Row *row, char *const *bases, npy_intp tile, const Row **after)
{
    const npy_intp lines = row->dims[0], count = row->dims[1], item = row->loop->size[0];
    const Row *all = row + 1, *each = all + (row->dims[2] - 1), *some = each + (row->dims[3] - 1), *end = some + (row->dims[4] - 1);
    char *at[MAX_OPERANDS];
    Index found[MOST_SELECTED + AT_ONCE];
    for (int j = 0; j < row->loop->nargs; j++) {
        at[j] = bases[row->base[j]] + row->offset[j] + tile * row->advance[j];
    }
    /* it takes as long to gather two numbers for an element as to gather several */
    const Row *last = end - 1;
    const int few = row->loop->function != shares && some < end && last->loop->ndims && last->dims[last->loop->ndims] < 4;
    const npy_intp part = lines * count / (few ? 8 : 4), most = part < MOST_SELECTED ? part : MOST_SELECTED;
    const npy_intp many = row->loop->function == shares
                              ? (item == 4 ? FOUND_SHARES(f) : FOUND_SHARES(d))(at, row->steps, lines, count, most, found)
                              : (item == 4 ? find_nonzero_f : find_nonzero_d)(at[0], row->steps, lines, count, most, found);
    *after = end;
    if (many < 0) {
        return each;
    }
    if (run_gathered(each, some, end, bases, tile, lines, count, found, many)) {
        return all;
    }
    npy_intp next = 0;
    for (npy_intp i = 0; i < lines; i++) {
        run_each(each, some, bases, tile, i);
        for (; next < many && found[next].line == i; next++) {
            const npy_intp index[2] = {i, found[next].element};
            for (const Row *r = some; r < end; r++) {
                run_at(r, bases, tile, index, 2);
            }
        }
    }
    return all;
}

/* Whether the rows that a row selects are there, and have the dimensions around them that it counts. */
int row_check_selected(const Row *row, const Row *end)
{
    const npy_intp all = row->dims[2] - 1, each = row->dims[3] - 1, some = row->dims[4] - 1, behind = end - row - 1;
    int good = all <= behind && each <= behind && some <= behind && all + each + some <= behind && row->dims[0] <= LARGE / row->dims[1] / 4 &&
               row->dims[0] * row->dims[1] < (npy_intp)1 << 30;
    for (npy_intp k = 1; good && k <= all + each + some; k++) {
        const Row *r = row + k;
        const int fixed = k <= all ? 0 : k <= all + each ? 1 : 2;
        good = r->loop->kind != SELECTS && r->nouter >= fixed && (fixed < 1 || r->outer[0] == row->dims[0]) &&
               (fixed < 2 || r->outer[1] == row->dims[1]);
    }
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "native executor: a row selects what is not there");
    }
    return good ? 0 : -1;
}
