/* Linear algebra of stacks of small matrices, as gufuncs (engine/ops/small_product.py and small_matrix.py say what for). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL PRODUCTS_ARRAY /* which first_fit.c uses, too */
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../runtime/built_from.h"
#include "../runtime/four_products.h"
#include "../runtime/small_matrix.h"

SMALL_PRODUCT(products_f, npy_float, , APART)
SMALL_PRODUCT(products_d, npy_double, , APART)

typedef struct {
    const char *name;
    int nin, nout;
    const char *signature;
    PyUFuncGenericFunction functions[2];
    char types[2 * 4]; /* of operands and results, for each of the functions */
    const char *doc;
} Gufunc;

/* How many numbers are made double at once, and how many right sides of a matrix at most. */
enum { NUMBERS = 2048, SIDES = 16 };

typedef struct {
    char *array;
    double *block;
    int type, is_number, is_sided;
    npy_intp by[3], sizes[3]; /* of matrices, rows, columns */
} Part;

#define MOVE(TO, FROM) \
    for (npy_intp l = 0; l < of->sizes[0]; l++, at += of->by[0]) { \
        TO = FROM; \
    }

/* Make numbers double, those of one matrix beside those of the next, or take them back. */
static UNROLLED void move(const Part *of, const int into)
{
    double *block = of->block;
    for (npy_intp r = 0; r < of->sizes[1]; r++) {
        for (npy_intp c = 0; c < of->sizes[2]; c++, block += of->sizes[0]) {
            char *at = of->array + r * of->by[1] + c * of->by[2];
            if (into) {
                MOVE(block[l], *(npy_float *)at)
            }
            else if (of->type == NPY_FLOAT) {
                MOVE(*(npy_float *)at, (npy_float)block[l])
            }
            else {
                MOVE(*(double *)at, block[l])
            }
        }
    }
}

/* Call the loop of doubles for some matrices and right sides of theirs. */
static void call_in_double(const Gufunc *gufunc, const Part *all, npy_intp first, npy_intp count, npy_intp side, npy_intp sides)
{
    const int width = gufunc->nin + gufunc->nout;
    double blocks[NUMBERS], *block = blocks;
    npy_intp by[4 + 2 * 4], *core = by + width;
    char *at[4];
    Part parts[4];
    for (int k = 0; k < width; k++) {
        Part *const part = &parts[k];
        *part = all[k];
        part->array += first * part->by[0] + (part->is_sided ? side * part->by[2] : 0);
        part->sizes[0] = count;
        part->sizes[2] = part->is_sided ? sides : part->sizes[2];
        part->block = block;
        at[k] = (char *)block, by[k] = sizeof(double);
        if (!part->is_number) {
            *core++ = part->sizes[2] * count * sizeof(double), *core++ = count * sizeof(double);
        }
        block += count * part->sizes[1] * part->sizes[2];
        if (k < gufunc->nin) {
            move(part, 1);
        }
    }
    gufunc->functions[1](at, (npy_intp[]){count, parts[0].sizes[1], sides}, by, NULL);
    for (int k = gufunc->nin; k < width; k++) {
        move(&parts[k], 0);
    }
}

/* The loop of float32, of any gufunc but products. */
static void in_double(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    const Gufunc *const gufunc = data;
    const int width = gufunc->nin + gufunc->nout;
    const char *shape = gufunc->signature;
    const npy_intp n = dimensions[1], *core = steps + width;
    npy_intp sides = 1, each = 0;
    Part parts[4];
    for (int k = 0; k < width; k++, shape++) {
        shape = strchr(shape, '(');
        Part part = {args[k], NULL, gufunc->types[k], shape[1] == ')', shape[1] != ')' && shape[3] == 'm', {steps[k], 0, 0}, {0, 1, 1}};
        if (!part.is_number) {
            part.by[1] = *core++, part.by[2] = *core++;
            part.sizes[1] = n, part.sizes[2] = part.is_sided ? SIDES : n;
            sides = part.is_sided ? dimensions[2] : sides;
        }
        each += part.sizes[1] * part.sizes[2];
        parts[k] = part;
    }
    const npy_intp at_once = n > MOST_CORE ? 0 : NUMBERS / each;
    for (npy_intp i = 0; i < dimensions[0] && at_once > 0; i += at_once) {
        for (npy_intp j = 0; j < sides; j += SIDES) {
            call_in_double(gufunc, parts, i, Py_MIN(at_once, dimensions[0] - i), j, Py_MIN(SIDES, sides - j));
        }
    }
    feclearexcept(FE_ALL_EXCEPT);
}

#define F NPY_FLOAT
#define D NPY_DOUBLE
static Gufunc gufuncs[] = {
    {"small_product", 2, 1, "(m,k),(k,n)->(m,n)", {products_f, products_d}, {F, F, F, D, D, D}, "Sums of products, added up in order, from 0."},
    {"small_det", 1, 1, "(n,n)->()", {in_double, small_det}, {F, F, D, D}, "Determinants."},
    {"small_det_parts", 1, 2, "(n,n)->(),()", {in_double, small_det_parts}, {F, D, D, D, D, D}, "Determinants, as numbers and powers of two."},
    {"small_inv", 1, 2, "(n,n)->(n,n),()", {in_double, small_inv}, {F, F, F, D, D, D}, "Inverses, and where there are none."},
    {"small_solve", 2, 2, "(n,n),(n,m)->(n,m),()", {in_double, small_solve}, {F, F, F, F, D, D, D, D}, "Solutions, and where there are none."},
    {"small_lower_solve", 2, 2, "(n,n),(n,m)->(n,m),()", {in_double, small_lower_solve}, {F, F, F, F, D, D, D, D}, "Solutions for lower triangles, and where there are none."},
    {"small_cholesky", 1, 2, "(n,n)->(n,n),()", {in_double, small_cholesky}, {F, F, F, D, D, D}, "Triangular factors, and where there are none."},
    {"small_cofactors", 1, 1, "(n,n)->(n,n)", {in_double, small_cofactors}, {F, F, D, D}, "Cofactors."},
    {"small_cofactor_change", 2, 1, "(n,n),(n,n)->(n,n)", {in_double, small_cofactor_change}, {F, F, F, D, D, D}, "Changes of cofactors."},
};
static void *data[sizeof(gufuncs) / sizeof(gufuncs[0])][2]; /* the loop of float32 is told whose it is */

PyObject *first_fit(PyObject *module, PyObject *args);

static PyMethodDef methods[] = {
    {"first_fit", first_fit, METH_VARARGS, "first_fit(starts, entries, order, rows): the first color of each column that its rows leave free."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__products(void)
{
    import_array();
    import_umath();
    PyObject *made = with(new_module("_products", "Linear algebra of stacks of small matrices, and colors of sparse ones.", methods), "MOST", PyLong_FromLong(MOST_CORE));
    for (size_t i = 0; made != NULL && i < sizeof(gufuncs) / sizeof(gufuncs[0]); i++) {
        Gufunc *each = &gufuncs[i];
        data[i][0] = each;
        PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(
            each->functions, data[i], each->types, 2, each->nin, each->nout, PyUFunc_None, each->name, each->doc, 0, each->signature);
        made = with(made, each->name, ufunc);
    }
    return made;
}
