/* The greedy coloring of engine/jacobian/coloring/greedy.py, which says the same in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NO_IMPORT_ARRAY
#define PY_ARRAY_UNIQUE_SYMBOL PRODUCTS_ARRAY
#include <numpy/arrayobject.h>

enum { WORD = 64 };

typedef struct {
    const npy_intp *starts, *order;
    const npy_int32 *rows;
    npy_int64 *colors;
    uint64_t *taken; /* of each row the colors of its columns, as so many words of bits */
    npy_intp count, columns, entries, height, words;
} Coloring;

/* Make twice as many words of each row; 0 if there is no room for them. */
static int widened(Coloring *of)
{
    const npy_intp words = of->words;
    uint64_t *wider = PyMem_RawCalloc(2 * words * Py_MAX(of->height, 1), sizeof(uint64_t));
    if (wider == NULL) {
        return 0;
    }
    for (npy_intp row = 0; row < of->height; row++) {
        memcpy(wider + 2 * words * row, of->taken + words * row, words * sizeof(uint64_t));
    }
    PyMem_RawFree(of->taken);
    of->taken = wider;
    of->words = 2 * words;
    return 1;
}

/* Color the columns in turn; NULL, or what is wrong: an empty string if it is memory. */
static const char *color(Coloring *of)
{
    for (npy_intp k = 0; k < of->count; k++) {
        const npy_intp column = of->order[k];
        if (column < 0 || column >= of->columns) {
            return "a number in `order` is none of a column";
        }
        const npy_intp first = of->starts[column], last = of->starts[column + 1];
        if (first < 0 || first > last || last > of->entries) {
            return "`starts` are no places of entries";
        }
        uint64_t free = 0;
        npy_intp word = 0;
        for (;; word++) {
            if (word == of->words && !widened(of)) {
                return "";
            }
            uint64_t mask = 0;
            for (npy_intp e = first; e < last; e++) {
                if (of->rows[e] < 0 || of->rows[e] >= of->height) {
                    return "a number in `entries` is none of a row";
                }
                mask |= of->taken[of->rows[e] * of->words + word];
            }
            free = ~mask & (mask + 1);
            if (free) {
                break;
            }
        }
        for (npy_intp e = first; e < last; e++) {
            of->taken[of->rows[e] * of->words + word] |= free;
        }
        npy_intp bit = 0;
        for (; free > 1; free >>= 1) {
            bit++;
        }
        of->colors[column] = word * WORD + bit;
    }
    return NULL;
}

/* The colors of columns whose ends, entries and order are arrays that lie as they are expected; NULL with an error. */
static PyObject *colors_of(PyArrayObject *starts, PyArrayObject *entries, PyArrayObject *order, npy_intp height)
{
    Coloring of = {.height = height, .words = 1};
    if (PyArray_NDIM(starts) != 1 || PyArray_NDIM(entries) != 1 || PyArray_NDIM(order) != 1 || PyArray_SIZE(starts) < 1) {
        return PyErr_Format(PyExc_ValueError, "first_fit: expected vectors, and the ends of columns to begin with 0");
    }
    if (height < 0 || height > NPY_MAX_INT32) {
        return PyErr_Format(PyExc_ValueError, "first_fit: expected at most %d rows, got %zd", NPY_MAX_INT32, height);
    }
    of.starts = PyArray_DATA(starts), of.rows = PyArray_DATA(entries), of.order = PyArray_DATA(order);
    of.count = PyArray_SIZE(order), of.columns = PyArray_SIZE(starts) - 1, of.entries = PyArray_SIZE(entries);
    PyObject *made = PyArray_ZEROS(1, &of.columns, NPY_INT64, 0);
    of.taken = PyMem_RawCalloc(Py_MAX(height, 1), sizeof(uint64_t));
    if (made == NULL || of.taken == NULL) {
        Py_XDECREF(made);
        PyMem_RawFree(of.taken);
        return PyErr_NoMemory();
    }
    of.colors = PyArray_DATA((PyArrayObject *)made);
    const char *wrong;
    Py_BEGIN_ALLOW_THREADS
    wrong = color(&of);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(of.taken);
    if (wrong != NULL) {
        Py_DECREF(made);
        return *wrong ? PyErr_Format(PyExc_ValueError, "first_fit: %s", wrong) : PyErr_NoMemory();
    }
    return made;
}

PyObject *first_fit(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyObject *given[3], *arrays[3] = {NULL}, *made = NULL;
    npy_intp height;
    if (!PyArg_ParseTuple(args, "OOOn", &given[0], &given[1], &given[2], &height)) {
        return NULL;
    }
    const int types[] = {NPY_INTP, NPY_INT32, NPY_INTP};
    int there = 0;
    while (there < 3 && (arrays[there] = PyArray_FROM_OTF(given[there], types[there], NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST)) != NULL) {
        there++;
    }
    if (there == 3) {
        made = colors_of((PyArrayObject *)arrays[0], (PyArrayObject *)arrays[1], (PyArrayObject *)arrays[2], height);
    }
    for (int i = 0; i < there; i++) {
        Py_DECREF(arrays[i]);
    }
    return made;
}
