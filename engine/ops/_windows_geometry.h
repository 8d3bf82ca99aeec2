/* How windows lie in images. A part of _windows.c. */
static int read_geometry(PyObject *given, Geometry *found)
{
    npy_intp numbers[2 + 6 * RANK];
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 2 + 6 * RANK) {
        PyErr_SetString(PyExc_ValueError, "windows: how they lie is said by 20 numbers");
        return -1;
    }
    for (Py_ssize_t i = 0; i < 2 + 6 * RANK; i++) {
        numbers[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (numbers[i] < 0 || numbers[i] > LARGE) {
            PyErr_SetString(PyExc_ValueError, "windows: a dimension is negative or too large");
            return -1;
        }
    }
    found->images = numbers[0];
    found->channels = numbers[1 + 6 * RANK];
    memcpy(found->dims, numbers + 1, sizeof(found->dims));
    for (int d = 0; d < RANK; d++) {
        if (found->dims[d].stride < 1 || found->dims[d].dilation < 1 || found->dims[d].taps < 1) {
            PyErr_SetString(PyExc_ValueError, "windows: strides, dilations and taps are positive");
            return -1;
        }
    }
    return 0;
}

/* The product of some numbers; -1 if it is too large. */
static npy_intp product(const npy_intp *numbers, int count)
{
    npy_intp total = 1;
    for (int i = 0; i < count; i++) {
        if (numbers[i] == 0) {
            return 0;
        }
        total = total < 0 || numbers[i] > LARGE / total ? -1 : total * numbers[i];
    }
    return total;
}

/* Elements of the data, of what windows give, and of the windows side by side. */
enum size { DATA, POINTS, SIDE_BY_SIDE };

static npy_intp size_of(const Geometry *g, enum size what)
{
    npy_intp numbers[2 + 2 * RANK] = {g->images, g->channels};
    for (int d = 0; d < RANK; d++) {
        numbers[2 + d] = what == DATA ? g->dims[d].dim : g->dims[d].number;
        numbers[2 + RANK + d] = what == SIDE_BY_SIDE ? g->dims[d].taps : 1;
    }
    return product(numbers, 2 + 2 * RANK);
}

static int few_taps(const Geometry *g)
{
    const npy_intp taps[RANK] = {g->dims[0].taps, g->dims[1].taps, g->dims[2].taps};
    const npy_intp count = product(taps, RANK);
    if (count < 0 || count > MOST_TAPS) {
        PyErr_SetString(PyExc_ValueError, "windows: there are too many taps to be told apart");
        return 0;
    }
    return 1;
}

static int check(PyArrayObject *array, npy_intp size, int type, int written)
{
    if (PyArray_TYPE(array) != type || PyArray_SIZE(array) != size || !PyArray_IS_C_CONTIGUOUS(array) ||
        !PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array) || (written && !PyArray_ISWRITEABLE(array))) {
        PyErr_SetString(PyExc_ValueError, "windows: an array has another size, dtype or order than the windows ask for");
        return -1;
    }
    return 0;
}

/* The taps of a window that lie inside: from first up to end. */
static void inside(const Dim *d, npy_intp start, npy_intp *first, npy_intp *end)
{
    *first = start >= 0 ? 0 : (-start + d->dilation - 1) / d->dilation;
    *end = start >= d->dim ? 0 : (d->dim - 1 - start) / d->dilation + 1;
    if (*end > d->taps) {
        *end = d->taps;
    }
    if (*first > *end) {
        *first = *end;
    }
}

/* The windows whose tap lies inside, if that of the first one lies at `shift`: from first up to end. */
static void windows_inside(const Dim *d, npy_intp shift, npy_intp *first, npy_intp *end)
{
    *first = shift >= 0 ? 0 : (-shift + d->stride - 1) / d->stride;
    *end = shift >= d->dim ? 0 : (d->dim - 1 - shift) / d->stride + 1;
    if (*end > d->number) {
        *end = d->number;
    }
    if (*first > *end) {
        *first = *end;
    }
}

/* Where the taps of a window lie from its first one on. */
static void offsets_of(const Geometry *g, npy_intp *offsets)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    for (npy_intp i = 0; i < d0->taps; i++) {
        for (npy_intp j = 0; j < d1->taps; j++) {
            for (npy_intp k = 0; k < d2->taps; k++) {
                *offsets++ = ((i * d0->dilation * d1->dim + j * d1->dilation) * d2->dim + k * d2->dilation) * g->channels;
            }
        }
    }
}

/* Where the taps of a window lie in an image; -1 for those in the padding. */
static void places_of(const Geometry *g, const npy_intp *window, const npy_intp *offsets, npy_intp *places)
{
    npy_intp start[RANK];
    int within = 1;
    for (int d = 0; d < RANK; d++) {
        const Dim *dim = &g->dims[d];
        start[d] = window[d] * dim->stride - dim->before;
        within &= start[d] >= 0 && start[d] + (dim->taps - 1) * dim->dilation < dim->dim;
    }
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp first = ((start[0] * d1->dim + start[1]) * d2->dim + start[2]) * g->channels;
    const npy_intp taps = d0->taps * d1->taps * d2->taps;
    for (npy_intp tap = 0; tap < taps; tap++) {
        places[tap] = first + offsets[tap];
    }
    for (npy_intp i = 0; !within && i < d0->taps; i++) {
        const npy_intp at0 = start[0] + i * d0->dilation;
        for (npy_intp j = 0; j < d1->taps; j++) {
            const npy_intp at1 = start[1] + j * d1->dilation;
            const int padding = at0 < 0 || at0 >= d0->dim || at1 < 0 || at1 >= d1->dim;
            for (npy_intp k = 0; k < d2->taps; k++, places++) {
                const npy_intp at2 = start[2] + k * d2->dilation;
                if (padding || at2 < 0 || at2 >= d2->dim) {
                    *places = -1;
                }
            }
        }
    }
}
