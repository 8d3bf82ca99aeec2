/* Products of windows and filters, made of the data where they lie, for one TYPE: sixteen or eight at a time (AVX-512).
 *
 * Each sum begins with 0 and goes on in order, product by product, rounded once for both: as small products of BLAS do.
 */

/* What `count` windows that begin at `starts` have in common with filters for up to two vectors of outputs. Taps are in runs. */
INLINE_WIDE void NAMED(some_windows)(
    const TYPE *const *starts, const npy_intp *runs, npy_intp number, npy_intp run, const TYPE *w, npy_intp outputs, TYPE *out,
    npy_intp apart, LANES_OF first, LANES_OF second, const int two)
{
    VECTOR sums[AT_ONCE][2];
    UNROLL
    for (int q = 0; q < AT_ONCE; q++) {
        sums[q][0] = sums[q][1] = ZERO();
    }
    for (npy_intp r = 0; r < number; r++) {
        const TYPE *at[AT_ONCE];
        UNROLL
        for (int q = 0; q < AT_ONCE; q++) {
            at[q] = starts[q] + runs[r];
        }
        for (npy_intp k = 0; k < run; k++, w += outputs) {
            const VECTOR a = LOAD(first, w), b = two ? LOAD(second, w + LANES) : a;
            UNROLL
            for (int q = 0; q < AT_ONCE; q++) {
                const VECTOR x = SPREAD(at[q][k]);
                sums[q][0] = FMA(x, a, sums[q][0]);
                if (two) {
                    sums[q][1] = FMA(x, b, sums[q][1]);
                }
            }
        }
    }
    UNROLL
    for (int q = 0; q < AT_ONCE; q++) {
        STORE(out + q * apart, first, sums[q][0]);
        if (two) {
            STORE(out + q * apart + LANES, second, sums[q][1]);
        }
    }
}

/* What the entries at `AT_ONCE` offsets of `count` windows have in common with points. */
INLINE_WIDE void NAMED(some_taps)(
    const TYPE *const *starts, npy_intp count, const npy_intp *offsets, const TYPE *points, npy_intp outputs, TYPE *out,
    npy_intp apart, LANES_OF first, LANES_OF second, const int two)
{
    VECTOR sums[AT_ONCE][2];
    npy_intp at[AT_ONCE];
    UNROLL
    for (int q = 0; q < AT_ONCE; q++) {
        sums[q][0] = sums[q][1] = ZERO();
        at[q] = offsets[q];
    }
    for (npy_intp p = 0; p < count; p++, points += outputs) {
        const VECTOR a = LOAD(first, points), b = two ? LOAD(second, points + LANES) : a;
        const TYPE *window = starts[p];
        UNROLL
        for (int q = 0; q < AT_ONCE; q++) {
            const VECTOR x = SPREAD(window[at[q]]);
            sums[q][0] = FMA(x, a, sums[q][0]);
            if (two) {
                sums[q][1] = FMA(x, b, sums[q][1]);
            }
        }
    }
    UNROLL
    for (int q = 0; q < AT_ONCE; q++) {
        STORE(out + q * apart, first, sums[q][0]);
        if (two) {
            STORE(out + q * apart + LANES, second, sums[q][1]);
        }
    }
}

/* Multiply `count` windows by filters, or by points for filters (`runs` then are the offsets of all taps), in blocks. */
FOR_WIDE static void NAMED(direct)(
    const TYPE **starts, npy_intp count, const npy_intp *runs, npy_intp number, npy_intp run, const TYPE *factor, npy_intp outputs,
    TYPE *out, int to_filters)
{
    const npy_intp rows = to_filters ? number : count;
    TYPE rest[AT_ONCE * 2 * LANES];
    for (npy_intp from = 0; from < outputs; from += 2 * LANES) {
        const npy_intp left = outputs - from, two = left > LANES, tail = two ? left - LANES : left;
        const LANES_OF last = (LANES_OF)(tail >= LANES ? -1 : (1 << tail) - 1), first = two ? (LANES_OF)-1 : last;
        for (npy_intp begin = 0; begin < rows; begin += AT_ONCE) {
            const npy_intp some = rows - begin < AT_ONCE ? rows - begin : AT_ONCE, whole = some == AT_ONCE;
            TYPE *to = whole ? out + begin * outputs + from : rest;
            const npy_intp apart = whole ? outputs : 2 * LANES;
            if (to_filters && two) {
                NAMED(some_taps)(starts, count, runs + begin, factor + from, outputs, to, apart, first, last, 1);
            }
            else if (to_filters) {
                NAMED(some_taps)(starts, count, runs + begin, factor + from, outputs, to, apart, first, last, 0);
            }
            else if (two) {
                NAMED(some_windows)(starts + begin, runs, number, run, factor + from, outputs, to, apart, first, last, 1);
            }
            else {
                NAMED(some_windows)(starts + begin, runs, number, run, factor + from, outputs, to, apart, first, last, 0);
            }
            for (npy_intp q = 0; !whole && q < some; q++) {
                memcpy(out + (begin + q) * outputs + from, rest + q * apart, (size_t)(left < 2 * LANES ? left : 2 * LANES) * sizeof(TYPE));
            }
        }
    }
}

#undef NAMED
#undef VECTOR
#undef LANES
#undef LANES_OF
#undef ZERO
#undef LOAD
#undef STORE
#undef SPREAD
#undef FMA
