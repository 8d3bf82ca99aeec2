/* Windows in C: laying them side by side, adding them up, and pooling (engine/ops/windows.py and pool_kernels.py say what for).
 *
 * Each function does what these modules do with NumPy, with the same numbers in the same order, so with the same bits. They
 * take arrays in C order, and a tuple that says how windows lie: the number of images, then for each of three spatial
 * dimensions (size, taps, stride, dilation, padding before, windows), then the channels. What is written has been checked to
 * be as large as that says, and reads outside of an image are those of its padding.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <string.h>

#include "../runtime/built_from.h"
#include "../runtime/wide.h"

#ifdef _MSC_VER
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif

#define RANK 3
#define GROUP 8192                    /* bytes of windows that are laid out before others, so that they stay in the cache */
#define MOST_TAPS 255                 /* of a window whose largest entry is looked for */
#define CHANNELS 32                   /* that are placed at once */
#define LARGE ((npy_intp)1 << 40)     /* no dimension is larger */
#define SPARE 16                      /* more windows or taps than there are that may be looked up */
#define RELEASE ((npy_intp)1 << 13)   /* numbers from which on other threads may run meanwhile */

typedef struct {
    npy_intp dim, taps, stride, dilation, before, number;
} Dim;

typedef struct {
    npy_intp images, channels;
    Dim dims[RANK];
} Geometry;

/* ---- arguments --------------------------------------------------------------------------------------------------- */

#include "_windows_geometry.h"

/* ---- side by side ------------------------------------------------------------------------------------------------ */

/* Copy runs of `size` bytes, as the processor moves them: of a constant number of bytes, the last ones again. */
#define COPY_RUNS(unit) \
    for (npy_intp i = 0; i < runs; i++, out += apart, in += step) { \
        for (npy_intp at = 0; at < size - (unit); at += (unit)) { \
            memcpy(out + at, in + at, (unit)); \
        } \
        memcpy(out + size - (unit), in + size - (unit), (unit)); \
    }

WIDE static void copy_runs(char *RESTRICT out, npy_intp apart, const char *RESTRICT in, npy_intp step, npy_intp runs, npy_intp size)
{
    if (size >= 64) {
        COPY_RUNS(64)
    }
    else if (size >= 32) {
        COPY_RUNS(32)
    }
    else if (size >= 16) {
        COPY_RUNS(16)
    }
    else if (size >= 8) {
        COPY_RUNS(8)
    }
    else if (size >= 4) {
        COPY_RUNS(4)
    }
}

/* What windows read along a line, in bytes, and a row of taps of one window; -1 if it is too large. */
static npy_intp line_size(const Geometry *g, npy_intp item)
{
    const Dim *d = &g->dims[2];
    const npy_intp steps[2] = {d->number, d->stride}, reach[2] = {d->taps, d->dilation};
    const npy_intp moved = product(steps, 2), extent = product(reach, 2);
    const npy_intp sizes[3] = {moved < 0 || extent < 0 ? LARGE : moved + extent + d->taps, g->channels, item};
    return moved < 0 || extent < 0 ? -1 : product(sizes, 3);
}

/* A row of taps of some windows, of which the first one begins at `from`. */
static void lay_out_row(const Dim *d, npy_intp pixel, const char *from, npy_intp windows, char *out, npy_intp window)
{
    const npy_intp at_once = d->dilation == 1 ? d->taps : 1;
    for (npy_intp k = 0; k < d->taps; k += at_once) {
        copy_runs(out + k * pixel, window, from + k * d->dilation * pixel, d->stride * pixel, windows, at_once * pixel);
    }
}

/* Windows side by side, one after the other: so many of them from the first one on. `scratch` has zeros at first: what windows at
 * the ends of a line read is put there, where their padding is zero, and windows beside the data read from its end. */
static void lay_out_windows(
    const Geometry *g, npy_intp item, const char *x, char *out, npy_intp first, npy_intp count, char *scratch)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp pixel = g->channels * item, row = d2->dim * pixel, plane = d1->dim * row, image = d0->dim * plane;
    const npy_intp width = d2->taps * pixel, window = d0->taps * d1->taps * width;
    const npy_intp reach = (d2->taps - 1) * d2->dilation + 1, extent = (d2->number - 1) * d2->stride + reach;
    /* windows from `low` up to `high` lie inside of a line; ends[0] is read by those before, from ends[1] on by those behind */
    const npy_intp before = d2->before, room = d2->dim + before - reach;
    const npy_intp up = (before + d2->stride - 1) / d2->stride, low = up < d2->number ? up : d2->number;
    const npy_intp top = room < 0 ? 0 : room / d2->stride + 1, most = top < d2->number ? top : d2->number, high = most > low ? most : low;
    const npy_intp limit = before >= extent ? 0 : extent - before < d2->dim ? extent - before : d2->dim;
    const npy_intp read = (low - 1) * d2->stride + reach - before, start = high * d2->stride - before;
    const npy_intp ends[2] = {low == 0 || read < 0 ? 0 : read < limit ? read : limit, start < 0 ? 0 : start < limit ? start : limit};
    const npy_intp group = 1 + GROUP / window;
    while (count > 0) {
        const npy_intp line = first / d2->number, begin = first % d2->number;
        const npy_intp rest = d2->number - begin < count ? d2->number - begin : count;
        const npy_intp end = begin + (rest < group ? rest : group);
        const npy_intp n = line / (d0->number * d1->number), a = line / d1->number % d0->number, b = line % d1->number;
        const npy_intp left = end < low ? end : low, from = begin > low ? begin : low, to = end < high ? end : high;
        const npy_intp right = begin > high ? begin : high;
        for (npy_intp tap = 0; tap < d0->taps * d1->taps; tap++) {
            const npy_intp at0 = a * d0->stride - d0->before + tap / d1->taps * d0->dilation;
            const npy_intp at1 = b * d1->stride - d1->before + tap % d1->taps * d1->dilation;
            char *target = out + tap * width - begin * window;
            if (at0 < 0 || at0 >= d0->dim || at1 < 0 || at1 >= d1->dim) {
                copy_runs(target + begin * window, window, scratch + extent * pixel, 0, end - begin, width);
                continue;
            }
            const char *data = x + n * image + at0 * plane + at1 * row;
            if (begin < left) {
                memcpy(scratch + before * pixel, data, (size_t)(ends[0] * pixel));
                lay_out_row(d2, pixel, scratch + begin * d2->stride * pixel, left - begin, target + begin * window, window);
            }
            if (from < to) {
                lay_out_row(d2, pixel, data + (from * d2->stride - before) * pixel, to - from, target + from * window, window);
            }
            if (right < end) {
                memcpy(scratch + (before + ends[1]) * pixel, data + ends[1] * pixel, (size_t)((limit - ends[1]) * pixel));
                lay_out_row(d2, pixel, scratch + right * d2->stride * pixel, end - right, target + right * window, window);
            }
        }
        out += (end - begin) * window;
        first += end - begin;
        count -= end - begin;
    }
}

/* ---- sums, extrema, and where these are: for float and double ------------------------------------------------------ */

/* For each result along a dimension, the entries it is made of: those from starts[i] up to starts[i + 1]. */
typedef struct {
    npy_intp results, dim;
    const npy_intp *starts, *entries;
} Reads;

/* What a depthwise convolution adds products up to. */
enum depthwise { FORWARD, TO_DATA, TO_FILTERS };

#define TYPE npy_float
#define MASK npy_int32
#define NAMED(name) name##_float
#include "_windows_typed.h"
#undef TYPE
#undef MASK
#undef NAMED

#define TYPE npy_double
#define MASK npy_int64
#define NAMED(name) name##_double
#include "_windows_typed.h"
#undef TYPE
#undef MASK
#undef NAMED

/* ---- products straight from the data ------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define DIRECT 1
#define AT_ONCE 14 /* sums of one or two vectors each that registers hold */
#define FOR_WIDE __attribute__((target("avx512f")))
#define INLINE_WIDE static inline __attribute__((always_inline, target("avx512f")))
#define UNROLL _Pragma("GCC unroll 16")

#define TYPE npy_float
#define NAMED(name) name##_float
#define VECTOR __m512
#define LANES 16
#define LANES_OF __mmask16
#define ZERO _mm512_setzero_ps
#define LOAD _mm512_maskz_loadu_ps
#define STORE _mm512_mask_storeu_ps
#define SPREAD _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#include "_windows_direct.h"
#undef TYPE

#define TYPE npy_double
#define NAMED(name) name##_double
#define VECTOR __m512d
#define LANES 8
#define LANES_OF __mmask8
#define ZERO _mm512_setzero_pd
#define LOAD _mm512_maskz_loadu_pd
#define STORE _mm512_mask_storeu_pd
#define SPREAD _mm512_set1_pd
#define FMA _mm512_fmadd_pd
#include "_windows_direct.h"
#undef TYPE

static int is_direct(void)
{
    return __builtin_cpu_supports("avx512f");
}
#else
#define DIRECT 0

static int is_direct(void)
{
    return 0;
}
#endif

#define FOR_TYPE(array, call) \
    if (PyArray_TYPE(array) == NPY_FLOAT) { \
        call(float); \
    } \
    else { \
        call(double); \
    }

static int is_float(PyArrayObject *array)
{
    if (PyArray_TYPE(array) != NPY_FLOAT && PyArray_TYPE(array) != NPY_DOUBLE) {
        PyErr_SetString(PyExc_TypeError, "windows: the data must be float32 or float64");
        return 0;
    }
    return 1;
}

/* Memory with zeros. */
static char *zeros(npy_intp size)
{
    char *memory = size < 0 ? NULL : PyMem_Calloc((size_t)size + 1, 1);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    return memory;
}

static PyObject *lay_out(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *out;
    PyObject *given;
    Geometry g;
    int by_tap;
    if (!PyArg_ParseTuple(args, "O!O!Op", &PyArray_Type, &x, &PyArray_Type, &out, &given, &by_tap) || !is_float(x) ||
        read_geometry(given, &g) < 0 || check(x, size_of(&g, DATA), PyArray_TYPE(x), 0) < 0 ||
        check(out, size_of(&g, SIDE_BY_SIDE), PyArray_TYPE(x), 1) < 0) {
        return NULL;
    }
    if (by_tap && g.channels != 1) {
        return PyErr_Format(PyExc_ValueError, "windows: taps are laid out of planes, not of %zd channels", (Py_ssize_t)g.channels);
    }
    char *scratch = PyArray_SIZE(out) ? zeros(line_size(&g, PyArray_ITEMSIZE(x))) : NULL;
    if (PyArray_SIZE(out) && scratch == NULL) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out) / RELEASE * 500);
#define TAPS(type) lay_out_taps_##type(&g, PyArray_DATA(x), PyArray_DATA(out))
    if (by_tap) {
        FOR_TYPE(x, TAPS)
    }
    else if (scratch != NULL) {
        lay_out_windows(
            &g, PyArray_ITEMSIZE(x), PyArray_BYTES(x), PyArray_BYTES(out), 0, size_of(&g, POINTS) / g.channels, scratch);
    }
#undef TAPS
    NPY_END_THREADS;
    PyMem_Free(scratch);
    Py_RETURN_NONE;
}

/* ---- products of windows and filters ------------------------------------------------------------------------------- */

/* NumPy's loops that multiply matrices of floats and doubles; they live as long as the process. */
static struct {
    PyUFuncGenericFunction function;
    void *data;
} matmul[2];

static int find_matmul(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *found = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "matmul");
    Py_XDECREF(numpy);
    if (found == NULL || !PyObject_TypeCheck(found, &PyUFunc_Type)) {
        Py_XDECREF(found);
        return PyErr_Occurred() ? -1 : 0;
    }
    const PyUFuncObject *ufunc = (PyUFuncObject *)found;
    for (int i = 0; i < ufunc->ntypes && ufunc->nargs == 3; i++) {
        const char *types = ufunc->types + 3 * i;
        const int at = types[0] == NPY_FLOAT ? 0 : 1;
        if ((types[0] == NPY_FLOAT || types[0] == NPY_DOUBLE) && types[1] == types[0] && types[2] == types[0]) {
            matmul[at].function = ufunc->functions[i];
            matmul[at].data = ufunc->data == NULL ? NULL : ufunc->data[i];
        }
    }
    return 0;
}

/* The product of two matrices; that of the columns of the first one if `columns` says how many there are in all. */
static void multiply_matrices(
    int type, char *a, char *b, char *out, npy_intp height, npy_intp width, npy_intp outputs, npy_intp columns)
{
    const npy_intp item = type == NPY_FLOAT ? sizeof(npy_float) : sizeof(npy_double);
    char *arrays[3] = {a, b, out};
    const npy_intp dims[4] = {1, height, width, outputs};
    const npy_intp steps[9] = {0, 0, 0, columns ? item : width * item, columns ? columns * item : item, outputs * item, item,
        outputs * item, item};
    matmul[type == NPY_DOUBLE].function(arrays, dims, steps, matmul[type == NPY_DOUBLE].data);
}

/* Where the taps of a window lie from its first one on in images of these dimensions: each run of them, or each one of `single`
 * ones, the last one again for those that go over them in groups. How many these are. */
static npy_intp runs_of(const Geometry *g, const npy_intp *dims, int single, npy_intp *offsets)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp runs = d2->dilation == 1 ? 1 : d2->taps, inner = single ? d2->taps * g->channels : runs;
    const npy_intp count = d0->taps * d1->taps * inner;
    for (npy_intp i = 0; i < count; i++) {
        const npy_intp rest = i % inner, row = i / inner, k = single ? rest / g->channels : rest, c = single ? rest % g->channels : 0;
        const npy_intp lines = row / d1->taps * d0->dilation * dims[1] + row % d1->taps * d1->dilation;
        offsets[i] = (lines * dims[2] + k * d2->dilation) * g->channels + c;
    }
    for (npy_intp i = 0; single && i < SPARE; i++) {
        offsets[count + i] = offsets[count - 1];
    }
    return count;
}

/* What `direct` of a type does. */
static void multiply_straight(
    int type, const char **starts, npy_intp count, const npy_intp *runs, npy_intp number, npy_intp run, const char *factor,
    npy_intp outputs, char *out, int to_filters)
{
#if DIRECT
#define GO(name, type) \
    direct_##name((const type **)starts, count, runs, number, run, (const type *)factor, outputs, (type *)out, to_filters)
    if (type == NPY_DOUBLE) {
        GO(double, npy_double);
    }
    else {
        GO(float, npy_float);
    }
#undef GO
#endif
}

/* The dimensions of images with their padding, as far as windows reach or data do; whether there is padding. */
static int padded_dims(const Geometry *g, npy_intp *dims)
{
    int any = 0;
    for (int d = 0; d < RANK; d++) {
        const Dim *dim = &g->dims[d];
        const npy_intp moved[2] = {dim->number - 1, dim->stride}, reach[2] = {dim->taps - 1, dim->dilation};
        const npy_intp end = product(moved, 2), extent = product(reach, 2), data = dim->before + dim->dim;
        if (end < 0 || extent < 0) {
            return -1;
        }
        dims[d] = end + extent + 1 > data ? end + extent + 1 : data;
        any |= dims[d] > dim->dim;
    }
    return any;
}

/* Copy images into larger ones of zeros. */
static void pad(const Geometry *g, npy_intp item, const char *x, char *out, const npy_intp *dims)
{
    const npy_intp pixel = g->channels * item, line = g->dims[2].dim * pixel;
    memset(out, 0, (size_t)(g->images * dims[0] * dims[1] * dims[2] * pixel));
    for (npy_intp n = 0; n < g->images; n++) {
        for (npy_intp a = 0; a < g->dims[0].dim; a++) {
            for (npy_intp b = 0; b < g->dims[1].dim; b++, x += line) {
                const npy_intp row = (n * dims[0] + a + g->dims[0].before) * dims[1] + b + g->dims[1].before;
                memcpy(out + (row * dims[2] + g->dims[2].before) * pixel, x, (size_t)line);
            }
        }
    }
}

/* Where so many windows begin, from one on; the last ones again, for those that go over them in groups. */
static void starts_of(
    const Geometry *g, const npy_intp *dims, npy_intp item, const char *x, npy_intp first, npy_intp count, const char **starts)
{
    const Dim *d0 = &g->dims[0], *d1 = &g->dims[1], *d2 = &g->dims[2];
    const npy_intp step = d2->stride * g->channels * item;
    npy_intp line = first / d2->number, c = first % d2->number;
    for (npy_intp i = 0; i < count; line++, c = 0) {
        const npy_intp b = line % d1->number, a = line / d1->number % d0->number, n = line / d1->number / d0->number;
        const npy_intp row = (n * dims[0] + a * d0->stride) * dims[1] + b * d1->stride;
        const char *start = x + row * dims[2] * g->channels * item;
        for (; c < d2->number && i < count; c++, i++) {
            starts[i] = start + c * step;
        }
    }
    for (npy_intp i = 0; i < SPARE; i++) {
        starts[count + i] = starts[count - 1];
    }
}

/* Lay so many windows at a time side by side in `rows`, and multiply them. If no `columns` are to be taken at a time, they are
 * multiplied where they lie, and the images, if they are padded, are copied to `rows` with their padding. */
static PyObject *multiply(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *filters, *points, *rows, *share;
    PyObject *given;
    Geometry g;
    npy_intp step, columns, group;
    int to_filters;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!Onnpn", &PyArray_Type, &x, &PyArray_Type, &filters, &PyArray_Type, &points, &PyArray_Type,
            &rows, &PyArray_Type, &share, &given, &step, &columns, &to_filters, &group) ||
        !is_float(x) || read_geometry(given, &g) < 0) {
        return NULL;
    }
    const int type = PyArray_TYPE(x), straight = columns == 0;
    if (straight ? !is_direct() : matmul[type == NPY_DOUBLE].function == NULL) {
        return PyErr_Format(PyExc_ValueError, "windows: nothing here multiplies such matrices");
    }
    const npy_intp size = size_of(&g, SIDE_BY_SIDE), item = PyArray_ITEMSIZE(x);
    const npy_intp taps[4] = {g.dims[0].taps, g.dims[1].taps, g.dims[2].taps, g.channels}, width = product(taps, 4);
    const npy_intp outputs = width > 0 ? PyArray_SIZE(filters) / width : 0, height = width > 0 ? size / width : 0;
    if (group < 1 || group > g.images || step < 1 || step > LARGE || size < 1 || outputs < 1 || columns < 0 || (!straight && width % columns != 0)) {
        return PyErr_Format(PyExc_ValueError, "windows: there is nothing to multiply");
    }
    npy_intp dims[RANK] = {0};
    const int padding = padded_dims(&g, dims);
    const Geometry all = g;
    g.images = group;
    const npy_intp each = height / all.images, most = step < group * each ? step : group * each, numbers[2] = {height, outputs}, block[2] = {most, width};
    const npy_intp images[2 + RANK] = {g.images, g.channels, dims[0], dims[1], dims[2]};
    const npy_intp room = !straight ? product(block, 2) : padding < 0 ? -1 : padding ? product(images, 2 + RANK) : 0;
    if (check(x, size_of(&all, DATA), type, 0) < 0 || check(filters, width * outputs, type, to_filters) < 0 ||
        check(points, product(numbers, 2), type, !to_filters) < 0 || check(rows, room, type, 1) < 0 ||
        check(share, to_filters ? 2 * width * outputs : 0, type, to_filters) < 0) {
        return NULL;
    }
    /* where windows begin and, behind that, where their taps lie */
    char *scratch = zeros(straight ? (most + width + 2 * SPARE) * (npy_intp)sizeof(npy_intp) : line_size(&g, item));
    if (scratch == NULL) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(size / RELEASE * 500);
    char *product_of_rows = PyArray_BYTES(share), *total = product_of_rows + width * outputs * item;
    const char **starts = (const char **)scratch;
    npy_intp *offsets = (npy_intp *)scratch + most + SPARE;
    const npy_intp runs = straight ? runs_of(&g, dims, to_filters, offsets) : 1, image = size_of(&all, DATA) / all.images * item;
#define ADD(type) add_##type((npy_##type *)to, (npy_##type *)from, width *outputs)
    for (npy_intp from_image = 0; from_image < all.images; from_image += group) {
        char *data = PyArray_BYTES(x) + from_image * image, *group_points = PyArray_BYTES(points) + from_image * each * outputs * item;
        g.images = all.images - from_image < group ? all.images - from_image : group;
        if (straight && padding) {
            pad(&g, item, data, PyArray_BYTES(rows), dims);
            data = PyArray_BYTES(rows);
        }
        for (npy_intp begin = 0; begin < g.images * each; begin += step) {
            const npy_intp some = g.images * each - begin < step ? g.images * each - begin : step;
            char *some_points = group_points + begin * outputs * item, *sums = begin ? product_of_rows : total;
            if (straight) {
                starts_of(&g, dims, item, data, begin, some, starts);
                multiply_straight(type, starts, some, offsets, runs, width / runs, to_filters ? some_points : PyArray_BYTES(filters),
                    outputs, to_filters ? sums : some_points, to_filters);
            }
            else {
                lay_out_windows(&g, item, data, PyArray_BYTES(rows), begin, some, scratch);
            }
            if (!straight && !to_filters) {
                multiply_matrices(type, PyArray_BYTES(rows), PyArray_BYTES(filters), some_points, some, width, outputs, 0);
            }
            /* the sum of the products begins with the first one, and is added to what is there */
            for (npy_intp at = 0; !straight && to_filters && at < width; at += columns) {
                multiply_matrices(
                    type, PyArray_BYTES(rows) + at * item, some_points, sums + at * outputs * item, columns, some, outputs, width);
            }
            if (begin && to_filters) {
                char *to = total, *from = product_of_rows;
                FOR_TYPE(x, ADD)
            }
        }
        if (to_filters) {
            char *to = PyArray_BYTES(filters), *from = total;
            FOR_TYPE(x, ADD)
        }
    }
#undef ADD
    NPY_END_THREADS;
    PyMem_Free(scratch);
    Py_RETURN_NONE;
}

static PyObject *straight(PyObject *NPY_UNUSED(module), PyObject *NPY_UNUSED(args))
{
    return PyBool_FromLong(is_direct());
}

static PyObject *overlay(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *out;
    PyObject *given;
    Geometry g;
    int by_window;
    if (!PyArg_ParseTuple(args, "O!O!Op", &PyArray_Type, &x, &PyArray_Type, &out, &given, &by_window) || !is_float(x) ||
        read_geometry(given, &g) < 0 || check(x, size_of(&g, SIDE_BY_SIDE), PyArray_TYPE(x), 0) < 0 ||
        check(out, size_of(&g, DATA), PyArray_TYPE(x), 1) < 0) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x) / RELEASE * 500);
    memset(PyArray_BYTES(out), 0, (size_t)PyArray_NBYTES(out));
#define TAPS(type) overlay_##type(&g, PyArray_DATA(x), PyArray_DATA(out))
#define WINDOWS(type) overlay_windows_##type(&g, PyArray_DATA(x), PyArray_DATA(out))
    if (by_window) {
        FOR_TYPE(x, WINDOWS)
    }
    else {
        FOR_TYPE(x, TAPS)
    }
    NPY_END_THREADS;
    Py_RETURN_NONE;
}

static PyObject *largest_tap(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *maximum, *out;
    PyObject *given;
    Geometry g;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyArray_Type, &x, &PyArray_Type, &maximum, &PyArray_Type, &out, &given) ||
        !is_float(x) || read_geometry(given, &g) < 0 || !few_taps(&g) ||
        check(x, size_of(&g, DATA), PyArray_TYPE(x), 0) < 0 || check(maximum, size_of(&g, POINTS), PyArray_TYPE(x), 0) < 0 || check(out, size_of(&g, POINTS), NPY_UINT8, 1) < 0) {
        return NULL;
    }
    /* the checks say that this is no more than the maxima have, if there are any images */
    void *number = PyMem_Malloc((size_t)(PyArray_SIZE(maximum) ? g.dims[2].number * g.channels : 1) * sizeof(npy_int64));
    if (number == NULL) {
        return PyErr_NoMemory();
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x) / RELEASE * 500);
#define CALL(type) largest_tap_##type(&g, PyArray_DATA(x), PyArray_DATA(maximum), PyArray_DATA(out), number)
    FOR_TYPE(x, CALL)
#undef CALL
    NPY_END_THREADS;
    PyMem_Free(number);
    Py_RETURN_NONE;
}

static PyObject *place(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *ct, *which, *out;
    PyObject *given;
    Geometry g;
    if (!PyArg_ParseTuple(args, "O!O!O!O", &PyArray_Type, &ct, &PyArray_Type, &which, &PyArray_Type, &out, &given) ||
        !is_float(ct) || read_geometry(given, &g) < 0 || !few_taps(&g) || check(ct, size_of(&g, POINTS), PyArray_TYPE(ct), 0) < 0 ||
        check(which, size_of(&g, POINTS), NPY_UINT8, 0) < 0 || check(out, size_of(&g, DATA), PyArray_TYPE(ct), 1) < 0) {
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(out) / RELEASE * 500);
#define CALL(type) place_##type(&g, PyArray_DATA(ct), PyArray_DATA(which), PyArray_DATA(out))
    FOR_TYPE(ct, CALL)
#undef CALL
    NPY_END_THREADS;
    Py_RETURN_NONE;
}

static PyObject *depthwise(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *y, *w;
    PyObject *given;
    Geometry g;
    int what;
    npy_intp step;
    if (!PyArg_ParseTuple(args, "O!O!O!Oin", &PyArray_Type, &x, &PyArray_Type, &y, &PyArray_Type, &w, &given, &what, &step) ||
        !is_float(x) || read_geometry(given, &g) < 0) {
        return NULL;
    }
    if (what < FORWARD || what > TO_FILTERS || step < 1 || step > LARGE) {
        return PyErr_Format(PyExc_ValueError, "windows: a depthwise convolution is one of three, of one image or more at a time");
    }
    const npy_intp numbers[5] = {g.dims[0].taps, g.dims[1].taps, g.dims[2].taps, g.channels, g.dims[2].number};
    const npy_intp line = product(numbers, 5), each = product(numbers, 4);
    PyArrayObject *written = what == FORWARD ? y : what == TO_DATA ? x : w;
    if (check(x, size_of(&g, DATA), PyArray_TYPE(x), x == written) < 0 || check(y, size_of(&g, POINTS), PyArray_TYPE(x), y == written) < 0 ||
        check(w, what == TO_FILTERS ? each : line, PyArray_TYPE(x), w == written) < 0) {
        return NULL;
    }
    if (line < 0) {
        return PyErr_Format(PyExc_ValueError, "windows: a dimension is too large");
    }
    void *scratch = what == TO_FILTERS ? PyMem_Malloc((size_t)(line + 1) * (size_t)PyArray_ITEMSIZE(x)) : NULL;
    if (what == TO_FILTERS && scratch == NULL) {
        return PyErr_NoMemory();
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x) / RELEASE * 500);
    memset(PyArray_BYTES(written), 0, (size_t)PyArray_NBYTES(written));
#define CALL(type) depthwise_##type(&g, what, PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(w), step, scratch)
    FOR_TYPE(x, CALL)
#undef CALL
    NPY_END_THREADS;
    PyMem_Free(scratch);
    Py_RETURN_NONE;
}

/* Read what results are made of along one dimension: a tuple of the data's dimension, and two vectors of numbers. */
static int read_reads(PyObject *spec, Reads *found)
{
    PyArrayObject *starts, *entries;
    if (!PyTuple_Check(spec) || !PyArg_ParseTuple(spec, "nO!O!", &found->dim, &PyArray_Type, &starts, &PyArray_Type, &entries)) {
        PyErr_SetString(PyExc_ValueError, "windows: reads are a dimension and two vectors");
        return -1;
    }
    found->results = PyArray_SIZE(starts) - 1;
    if (found->results < 0 || check(starts, found->results + 1, NPY_INTP, 0) < 0 ||
        check(entries, PyArray_SIZE(entries), NPY_INTP, 0) < 0) {
        return -1;
    }
    found->starts = PyArray_DATA(starts);
    found->entries = PyArray_DATA(entries);
    npy_intp last = 0;
    for (npy_intp i = 0; i <= found->results; i++) {
        if (found->starts[i] < last || found->starts[i] > PyArray_SIZE(entries)) {
            PyErr_SetString(PyExc_ValueError, "windows: reads must be in order");
            return -1;
        }
        last = found->starts[i];
    }
    for (npy_intp i = 0; i < PyArray_SIZE(entries); i++) {
        if (found->entries[i] < 0 || found->entries[i] >= found->dim) {
            PyErr_SetString(PyExc_ValueError, "windows: a read leads out of the data");
            return -1;
        }
    }
    return 0;
}

static PyObject *reduce(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyArrayObject *x, *out;
    PyObject *specs;
    int extremum;
    double fill;
    npy_intp images, channels;
    Reads reads[NPY_MAXDIMS];
    if (!PyArg_ParseTuple(
            args, "O!O!nnO!pd", &PyArray_Type, &x, &PyArray_Type, &out, &images, &channels, &PyTuple_Type, &specs, &extremum,
            &fill) ||
        !is_float(x)) {
        return NULL;
    }
    const Py_ssize_t rank = PyTuple_GET_SIZE(specs);
    if (rank < 1 || rank > NPY_MAXDIMS - 2 || images < 0 || channels < 0) {
        return PyErr_Format(PyExc_ValueError, "windows: there are too few or too many dimensions");
    }
    npy_intp data[NPY_MAXDIMS], results[NPY_MAXDIMS], scratch = 0;
    data[0] = results[0] = images;
    data[1] = results[1] = channels;
    for (Py_ssize_t k = 0; k < rank; k++) {
        if (read_reads(PyTuple_GET_ITEM(specs, k), &reads[k]) < 0) {
            return NULL;
        }
        data[2 + k] = reads[k].dim;
        results[2 + k] = reads[k].results;
    }
    if (check(x, product(data, (int)rank + 2), PyArray_TYPE(x), 0) < 0 ||
        check(out, product(results, (int)rank + 2), PyArray_TYPE(x), 1) < 0) {
        return NULL;
    }
    for (npy_intp inner = channels, k = rank - 1; k > 0; k--) {
        if (reads[k].dim > 0 && inner > LARGE / reads[k].dim) {
            return PyErr_Format(PyExc_ValueError, "windows: a dimension is too large");
        }
        inner *= reads[k].dim;
        scratch += inner;
    }
    char *memory = PyMem_Malloc((size_t)(scratch + 1) * (size_t)PyArray_ITEMSIZE(x));
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x) / RELEASE * 500);
#define CALL(type) \
    reduce_images_##type(PyArray_DATA(x), PyArray_DATA(out), images, channels, reads, rank, extremum, (npy_##type)fill, (void *)memory)
    FOR_TYPE(x, CALL)
#undef CALL
    NPY_END_THREADS;
    PyMem_Free(memory);
    Py_RETURN_NONE;
}

/* ---- the module ---------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"lay_out", lay_out, METH_VARARGS, "lay_out(x, out, windows, by_tap): lay windows side by side, or one tap of them after the other."},
    {"multiply", multiply, METH_VARARGS,
     "multiply(x, filters, points, rows, share, windows, step, columns, to_filters, images): products of windows and filters, or their transpose."},
    {"straight", straight, METH_NOARGS, "straight(): whether windows can be multiplied where they lie: `multiply` with no columns."},
    {"overlay", overlay, METH_VARARGS, "overlay(x, out, windows, by_window): add up numbers, per tap or per window, where windows lie in the data."},
    {"depthwise", depthwise, METH_VARARGS, "depthwise(x, y, w, windows, what, step): add up products of two of the arrays in the third one."},
    {"largest_tap", largest_tap, METH_VARARGS, "largest_tap(x, maximum, out, windows): which tap is the largest."},
    {"place", place, METH_VARARGS, "place(ct, which, out, windows): add up numbers at one tap of each window."},
    {"reduce", reduce, METH_VARARGS, "reduce(x, out, images, channels, reads, extremum, fill): sums or the largest entries."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__windows(void)
{
    import_array();
    import_umath();
    return find_matmul() < 0 ? NULL : new_module("_windows", "Windows that slide over images.", methods);
}
