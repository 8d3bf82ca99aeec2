/* What _windows.c does with numbers, for one TYPE; MASK is an integer of its size. */

/* Windows of planes side by side, tap after tap: for each tap, its entry of each window. */
static void NAMED(lay_out_taps)(const Geometry *g, const TYPE *RESTRICT x, TYPE *RESTRICT out)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp plane = d1->dim * d2->dim, image = d0->dim * plane, number = d2->number, points = d1->number * number;
    /* lines of windows then lie as those of the data */
    const int alike = d1->stride == 1 && d2->stride == 1 && number == d2->dim;
    for (npy_intp tap = 0; tap < d0->taps * d1->taps * d2->taps; tap++) {
        const npy_intp i = tap / (d1->taps * d2->taps), j = tap / d2->taps % d1->taps, k = tap % d2->taps;
        const npy_intp shift = k * d2->dilation - d2->before, shift1 = j * d1->dilation - d1->before;
        npy_intp first, end, begin, stop;
        windows_inside(d2, shift, &first, &end);
        windows_inside(d1, shift1, &begin, &stop);
        for (npy_intp l = 0; l < g->images * d0->number; l++, out += points) {
            const npy_intp at0 = l % d0->number * d0->stride - d0->before + i * d0->dilation;
            if (at0 < 0 || at0 >= d0->dim || first == end || begin == stop) {
                memset(out, 0, (size_t)points * sizeof(TYPE));
                continue;
            }
            const TYPE *RESTRICT from = x + l / d0->number * image + at0 * plane + shift1 * d2->dim + shift;
            memset(out, 0, (size_t)(begin * number) * sizeof(TYPE));
            memset(out + stop * number, 0, (size_t)(points - stop * number) * sizeof(TYPE));
            if (alike) {
                const npy_intp start = begin * number + first;
                memcpy(out + start, from + start, (size_t)((stop - 1) * number + end - start) * sizeof(TYPE));
            }
            for (npy_intp b = begin; b < stop; b++) {
                TYPE *RESTRICT line = out + b * number;
                for (npy_intp c = 0; c < first; c++) {
                    line[c] = 0;
                }
                for (npy_intp c = first; !alike && c < end; c++) {
                    line[c] = from[b * d1->stride * d2->dim + c * d2->stride];
                }
                for (npy_intp c = end; c < number; c++) {
                    line[c] = 0;
                }
            }
        }
    }
}

WIDE static void NAMED(overlay)(const Geometry *g, const TYPE *RESTRICT x, TYPE *RESTRICT out)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp pixel = g->channels, row = d2->dim * pixel, plane = d1->dim * row, image = d0->dim * plane;
    const npy_intp line = d2->number * pixel, points = d0->number * d1->number * line, tap = g->images * points;
    for (npy_intp n = 0; n < g->images; n++, x += points, out += image) {
        const TYPE *from = x;
        for (npy_intp i = 0; i < d0->taps; i++) {
            for (npy_intp j = 0; j < d1->taps; j++) {
                for (npy_intp k = 0; k < d2->taps; k++, from += tap) {
                    const npy_intp shift = k * d2->dilation - d2->before;
                    npy_intp first, end;
                    windows_inside(d2, shift, &first, &end);
                    for (npy_intp a = 0; a < d0->number; a++) {
                        const npy_intp at0 = a * d0->stride - d0->before + i * d0->dilation;
                        for (npy_intp b = 0; at0 >= 0 && at0 < d0->dim && b < d1->number; b++) {
                            const npy_intp at1 = b * d1->stride - d1->before + j * d1->dilation;
                            if (at1 < 0 || at1 >= d1->dim || first >= end) {
                                continue;
                            }
                            const TYPE *RESTRICT given = from + (a * d1->number + b) * line + first * pixel;
                            TYPE *RESTRICT to = out + at0 * plane + at1 * row + (first * d2->stride + shift) * pixel;
                            if (d2->stride == 1) {
                                for (npy_intp m = 0; m < (end - first) * pixel; m++) {
                                    to[m] += given[m];
                                }
                                continue;
                            }
                            for (npy_intp c = first; pixel == 1 && c < end; c++) {
                                to[(c - first) * d2->stride] += given[c - first];
                            }
                            for (npy_intp c = first; pixel > 1 && c < end; c++, given += pixel, to += d2->stride * pixel) {
                                for (npy_intp m = 0; m < pixel; m++) {
                                    to[m] += given[m];
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

WIDE static void NAMED(overlay_windows)(const Geometry *g, const TYPE *RESTRICT x, TYPE *RESTRICT out)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp pixel = g->channels, row = d2->dim * pixel, plane = d1->dim * row, image = d0->dim * plane;
    const npy_intp width = d2->taps * pixel, window = d0->taps * d1->taps * width;
    /* the last window first, so that each entry gets its taps in order */
    x += size_of(g, SIDE_BY_SIDE);
    out += g->images * image;
    for (npy_intp n = g->images; n-- > 0;) {
        out -= image;
        for (npy_intp a = d0->number; a-- > 0;) {
            for (npy_intp b = d1->number; b-- > 0;) {
                for (npy_intp c = d2->number; c-- > 0;) {
                    x -= window;
                    const npy_intp start = c * d2->stride - d2->before;
                    npy_intp first, end;
                    inside(d2, start, &first, &end);
                    for (npy_intp i = 0; i < d0->taps; i++) {
                        const npy_intp at0 = a * d0->stride - d0->before + i * d0->dilation;
                        for (npy_intp j = 0; at0 >= 0 && at0 < d0->dim && j < d1->taps; j++) {
                            const npy_intp at1 = b * d1->stride - d1->before + j * d1->dilation;
                            if (at1 < 0 || at1 >= d1->dim) {
                                continue;
                            }
                            TYPE *RESTRICT line = out + at0 * plane + at1 * row + start * pixel;
                            const TYPE *RESTRICT from = x + (i * d1->taps + j) * width;
                            if (d2->dilation == 1) {
                                for (npy_intp k = first * pixel; k < end * pixel; k++) {
                                    line[k] += from[k];
                                }
                                continue;
                            }
                            for (npy_intp t = first; t < end; t++) {
                                for (npy_intp k = 0; k < pixel; k++) {
                                    line[t * d2->dilation * pixel + k] += from[t * pixel + k];
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/* Add some numbers to others. */
WIDE static void NAMED(add)(TYPE *RESTRICT out, const TYPE *RESTRICT x, npy_intp count)
{
    for (npy_intp k = 0; k < count; k++) {
        out[k] += x[k];
    }
}

/* ---- each channel on its own ---------------------------------------------------------------------------------------- */

/* Add products of pixels that lie so many numbers apart. */
WIDE static void NAMED(add_products)(
    TYPE *RESTRICT out, npy_intp so, const TYPE *RESTRICT a, npy_intp sa, const TYPE *RESTRICT b, npy_intp sb, npy_intp pixels,
    npy_intp pixel)
{
    for (npy_intp c = 0; c < pixels; c++, out += so, a += sa, b += sb) {
        for (npy_intp k = 0; k < pixel; k++) {
            out[k] += a[k] * b[k];
        }
    }
}

/* Add what the zeros of the padding are multiplied by: there may be infinities. */
WIDE static void NAMED(add_zeros)(TYPE *RESTRICT out, const TYPE *RESTRICT b, npy_intp count)
{
    for (npy_intp k = 0; k < count; k++) {
        out[k] += (TYPE)0 * b[k];
    }
}

/* Go through a line of windows, one tap after the other; the numbers of each tap lie `tap` apart. */
static void NAMED(depthwise_line)(
    const Geometry *g, npy_intp n, npy_intp a, npy_intp b, enum depthwise what, TYPE *x, TYPE *y, TYPE *w, npy_intp tap)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp pixel = g->channels, stride = d2->stride;
    for (npy_intp i = 0; i < d0->taps; i++) {
        const npy_intp at0 = a * d0->stride - d0->before + i * d0->dilation;
        for (npy_intp j = 0; j < d1->taps; j++) {
            const npy_intp at1 = b * d1->stride - d1->before + j * d1->dilation;
            const int outside = at0 < 0 || at0 >= d0->dim || at1 < 0 || at1 >= d1->dim;
            const npy_intp row = ((n * d0->dim + at0) * d1->dim + at1) * d2->dim;
            for (npy_intp k = 0; k < d2->taps; k++, w += tap) {
                const npy_intp shift = k * d2->dilation - d2->before;
                npy_intp first, end;
                windows_inside(d2, outside ? d2->dim : shift, &first, &end);
                if (first < end) {
                    TYPE *from = x + (row + first * stride + shift) * pixel, *at = y + first * pixel, *weight = w + first * pixel;
                    const npy_intp pixels = stride == 1 ? 1 : end - first, size = stride == 1 ? (end - first) * pixel : pixel;
                    const npy_intp step = stride * pixel;
                    if (what == FORWARD) {
                        NAMED(add_products)(at, pixel, from, step, weight, pixel, pixels, size);
                    }
                    else if (what == TO_DATA) {
                        NAMED(add_products)(from, step, at, pixel, weight, pixel, pixels, size);
                    }
                    else {
                        NAMED(add_products)(weight, pixel, from, step, at, pixel, pixels, size);
                    }
                }
                if (what != TO_DATA) {
                    TYPE *sum = what == FORWARD ? y : w, *factor = what == FORWARD ? w : y;
                    NAMED(add_zeros)(sum, factor, first * pixel);
                    NAMED(add_zeros)(sum + end * pixel, factor + end * pixel, (d2->number - end) * pixel);
                }
            }
        }
    }
}

/* What is written begins with zeros. Sums for filters are made of `step` images at a time, in `scratch`: per tap and place in a
 * line, over all lines; then over the line. */
static void NAMED(depthwise)(const Geometry *g, enum depthwise what, TYPE *x, TYPE *y, TYPE *w, npy_intp step, TYPE *scratch)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp line = d2->number * g->channels, lines = d0->number * d1->number, taps = d0->taps * d1->taps * d2->taps;
    if (what != TO_FILTERS) {
        for (npy_intp at = 0; at < g->images * lines; at++) {
            /* the last window first for data, so that each entry gets its taps in order */
            const npy_intp l = what == TO_DATA ? g->images * lines - 1 - at : at, within = l % lines;
            NAMED(depthwise_line)(g, l / lines, within / d1->number, within % d1->number, what, x, y + l * line, w, line);
        }
        return;
    }
    for (npy_intp begin = 0; begin < g->images; begin += step) {
        const npy_intp end = g->images - begin < step ? g->images : begin + step;
        for (npy_intp k = 0; k < taps * line; k++) {
            /* to which any number may be added without changing it */
            scratch[k] = -(TYPE)0;
        }
        for (npy_intp l = begin * lines; l < end * lines; l++) {
            const npy_intp within = l % lines;
            NAMED(depthwise_line)(g, l / lines, within / d1->number, within % d1->number, what, x, y + l * line, scratch, line);
        }
        for (npy_intp tap = 0; tap < taps; tap++) {
            TYPE *RESTRICT sums = scratch + tap * line, *RESTRICT out = w + tap * g->channels;
            for (npy_intp c = 1; c < d2->number; c++) {
                for (npy_intp k = 0; k < g->channels; k++) {
                    sums[k] += sums[c * g->channels + k];
                }
            }
            for (npy_intp k = 0; line && k < g->channels; k++) {
                out[k] += sums[k];
            }
        }
    }
}

/* ---- the largest entries ------------------------------------------------------------------------------------------- */

/* Which tap is the first that is not less than the largest entry. Lines of data are read one after the other, as memory likes
 * it: taps from the last one back, which it is if all the others are less. `number` is for a line of windows. */
WIDE static void NAMED(largest_tap)(
    const Geometry *g, const TYPE *x, const TYPE *RESTRICT maximum, npy_uint8 *RESTRICT out, MASK *RESTRICT number)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp pixel = g->channels, line = d2->number * pixel, lines = d0->number * d1->number;
    const npy_intp last = d0->taps * d1->taps * d2->taps - 1;
    for (npy_intp l = 0; l < g->images * lines; l++, maximum += line, out += line) {
        const npy_intp n = l / lines, a = l % lines / d1->number, b = l % d1->number;
        for (npy_intp m = 0; m < line; m++) {
            number[m] = (MASK)last;
        }
        for (npy_intp row = d0->taps * d1->taps; row-- > 0;) {
            const npy_intp at0 = a * d0->stride - d0->before + row / d1->taps * d0->dilation;
            const npy_intp at1 = b * d1->stride - d1->before + row % d1->taps * d1->dilation;
            if (at0 < 0 || at0 >= d0->dim || at1 < 0 || at1 >= d1->dim) {
                continue;
            }
            const TYPE *from = x + ((n * d0->dim + at0) * d1->dim + at1) * d2->dim * pixel;
            for (npy_intp c = 0; c < d2->number; c++) {
                for (npy_intp k = d2->taps; k-- > 0;) {
                    const npy_intp at2 = c * d2->stride - d2->before + k * d2->dilation;
                    const MASK tap = (MASK)(row * d2->taps + k);
                    if (at2 < 0 || at2 >= d2->dim || tap == (MASK)last) {
                        continue;
                    }
                    const TYPE *RESTRICT entry = from + at2 * pixel, *RESTRICT most = maximum + c * pixel;
                    MASK *RESTRICT found = number + c * pixel;
                    for (npy_intp m = 0; m < pixel; m++) {
                        const MASK less = -(MASK)(entry[m] < most[m]);
                        found[m] = (found[m] & less) | (tap & ~less);
                    }
                }
            }
        }
        for (npy_intp m = 0; m < line; m++) {
            out[m] = (npy_uint8)number[m];
        }
    }
}

/* Put the shares of those whose number is `tap`, and 0: by their bits, as it is hard to guess which these are. */
static inline void NAMED(put)(
    TYPE *RESTRICT out, const TYPE *RESTRICT share, const MASK *RESTRICT number, MASK tap, npy_intp count)
{
    for (npy_intp k = 0; k < count; k++) {
        MASK bits;
        memcpy(&bits, &share[k], sizeof(TYPE));
        bits &= -(MASK)(number[k] == tap);
        memcpy(&out[k], &bits, sizeof(TYPE));
    }
}

WIDE static void NAMED(place)(const Geometry *g, const TYPE *ct, const npy_uint8 *which, TYPE *out)
{
    const npy_intp taps = g->dims[0].taps * g->dims[1].taps * g->dims[2].taps;
    const npy_intp image = g->dims[0].dim * g->dims[1].dim * g->dims[2].dim * g->channels;
    const npy_intp points = size_of(g, POINTS);
    int overlap = 0, whole = 1;
    for (int d = 0; d < RANK; d++) {
        const Dim *dim = &g->dims[d];
        overlap |= dim->taps > 1 && (dim->taps - 1) * dim->dilation >= dim->stride;
        whole &= dim->taps == dim->stride && dim->dilation == 1 && dim->before == 0 && dim->number * dim->stride >= dim->dim;
    }
    if (!whole) {
        memset(out, 0, (size_t)(g->images * image) * sizeof(TYPE));
    }
    ct += points;
    which += points;
    out += g->images * image;
    npy_intp at[RANK], offsets[MOST_TAPS], places[MOST_TAPS];
    offsets_of(g, offsets);
    for (npy_intp n = g->images; n-- > 0;) {
        out -= image;
        for (at[0] = g->dims[0].number; at[0]-- > 0;) {
            for (at[1] = g->dims[1].number; at[1]-- > 0;) {
                for (at[2] = g->dims[2].number; at[2]-- > 0;) {
                    ct -= g->channels;
                    which -= g->channels;
                    places_of(g, at, offsets, places);
                    /* adding zeros to sums that begin with 0 would change nothing */
                    for (npy_intp k = 0; overlap && k < g->channels; k++) {
                        if (which[k] < taps && places[which[k]] >= 0) {
                            out[places[which[k]] + k] += ct[k];
                        }
                    }
                    for (npy_intp from = 0; !overlap && from < g->channels; from += CHANNELS) {
                        const npy_intp count = g->channels - from < CHANNELS ? g->channels - from : CHANNELS;
                        MASK number[CHANNELS];
                        for (npy_intp k = 0; k < count; k++) {
                            number[k] = which[from + k];
                        }
                        for (npy_intp tap = 0; tap < taps; tap++) {
                            if (places[tap] < 0) {
                                continue;
                            }
                            TYPE *to = out + places[tap] + from;
                            if (count == CHANNELS) {
                                NAMED(put)(to, ct + from, number, (MASK)tap, CHANNELS);
                            }
                            else {
                                NAMED(put)(to, ct + from, number, (MASK)tap, count);
                            }
                        }
                    }
                }
            }
        }
    }
}

/* ---- sums and extrema, along one dimension after the other ----------------------------------------------------------- */

/* One that is no number stays. */
static inline TYPE NAMED(larger)(TYPE a, TYPE b)
{
    return (b > a) | (b != b) ? b : a;
}

WIDE static void NAMED(combine)(
    const TYPE *RESTRICT x, TYPE *RESTRICT out, npy_intp inner, const npy_intp *entries, npy_intp count, int extremum, TYPE fill)
{
    if (count == 0) {
        for (npy_intp k = 0; k < inner; k++) {
            out[k] = fill;
        }
        return;
    }
    const TYPE *RESTRICT a = x + entries[0] * inner;
    if (count == 1) {
        memcpy(out, a, (size_t)inner * sizeof(TYPE));
        return;
    }
    const TYPE *RESTRICT b = x + entries[1] * inner;
    if (extremum) {
        for (npy_intp k = 0; k < inner; k++) {
            out[k] = NAMED(larger)(a[k], b[k]);
        }
    }
    else {
        for (npy_intp k = 0; k < inner; k++) {
            out[k] = a[k] + b[k];
        }
    }
    for (npy_intp i = 2; i < count; i++) {
        const TYPE *RESTRICT c = x + entries[i] * inner;
        if (extremum) {
            for (npy_intp k = 0; k < inner; k++) {
                out[k] = NAMED(larger)(out[k], c[k]);
            }
        }
        else {
            for (npy_intp k = 0; k < inner; k++) {
                out[k] += c[k];
            }
        }
    }
}

static void NAMED(reduce_along)(
    const TYPE *x, TYPE *out, npy_intp channels, const Reads *reads, npy_intp rank, int extremum, TYPE fill, TYPE *scratch)
{
    npy_intp inner = channels, written = channels;
    for (npy_intp k = 1; k < rank; k++) {
        inner *= reads[k].dim;
        written *= reads[k].results;
    }
    for (npy_intp i = 0; i < reads->results; i++, out += written) {
        const npy_intp *entries = reads->entries + reads->starts[i], count = reads->starts[i + 1] - reads->starts[i];
        if (rank == 1) {
            NAMED(combine)(x, out, inner, entries, count, extremum, fill);
            continue;
        }
        NAMED(combine)(x, scratch, inner, entries, count, extremum, fill);
        NAMED(reduce_along)(scratch, out, channels, reads + 1, rank - 1, extremum, fill, scratch + inner);
    }
}

static void NAMED(reduce_images)(
    const TYPE *x, TYPE *out, npy_intp images, npy_intp channels, const Reads *reads, npy_intp rank, int extremum, TYPE fill,
    TYPE *scratch)
{
    npy_intp data = channels, results = channels;
    for (npy_intp k = 0; k < rank; k++) {
        data *= reads[k].dim;
        results *= reads[k].results;
    }
    for (npy_intp n = 0; n < images; n++) {
        NAMED(reduce_along)(x + n * data, out + n * results, channels, reads, rank, extremum, fill, scratch);
    }
}
