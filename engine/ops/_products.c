/* Linear algebra of stacks of small matrices, as gufuncs (engine/ops/small_product.py and small_matrix.py say what for). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../runtime/built_from.h"
#include "../runtime/four_products.h"
#include "../runtime/small_matrix.h"

SMALL_PRODUCT(products_f, npy_float, , APART)
SMALL_PRODUCT(products_d, npy_double, , APART)

SMALL_MATRIX(d, npy_double)
SMALL_MATRIX(f, npy_float)

typedef struct {
    const char *name;
    int nin, nout;
    const char *signature;
    PyUFuncGenericFunction functions[2];
    char types[2 * 4]; /* of operands and results, for each of the functions */
    const char *doc;
} Gufunc;

#define F NPY_FLOAT
#define D NPY_DOUBLE
#define FUNCTIONS(NAME) {NAME##_f, NAME##_d}
static Gufunc gufuncs[] = {
    {"small_product", 2, 1, "(m,k),(k,n)->(m,n)", {products_f, products_d}, {F, F, F, D, D, D}, "Sums of products, added up in order, from 0."},
    {"small_det", 1, 1, "(n,n)->()", FUNCTIONS(small_det), {F, F, D, D}, "Determinants."},
    {"small_det_parts", 1, 2, "(n,n)->(),()", FUNCTIONS(small_det_parts), {F, D, D, D, D, D}, "Determinants, as numbers and powers of two."},
    {"small_inv", 1, 2, "(n,n)->(n,n),()", FUNCTIONS(small_inv), {F, F, F, D, D, D}, "Inverses, and where there are none."},
    {"small_solve", 2, 2, "(n,n),(n,m)->(n,m),()", FUNCTIONS(small_solve), {F, F, F, F, D, D, D, D}, "Solutions, and where there are none."},
    {"small_lower_solve", 2, 2, "(n,n),(n,m)->(n,m),()", FUNCTIONS(small_lower_solve), {F, F, F, F, D, D, D, D}, "Solutions for lower triangles, and where there are none."},
    {"small_cholesky", 1, 2, "(n,n)->(n,n),()", FUNCTIONS(small_cholesky), {F, F, F, D, D, D}, "Triangular factors, and where there are none."},
    {"small_cofactors", 1, 1, "(n,n)->(n,n)", FUNCTIONS(small_cofactors), {F, F, D, D}, "Cofactors."},
    {"small_cofactor_change", 2, 1, "(n,n),(n,n)->(n,n)", FUNCTIONS(small_cofactor_change), {F, F, F, D, D, D}, "Changes of cofactors."},
};
static void *const data[] = {NULL, NULL};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_products", "Linear algebra of stacks of small matrices.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__products(void)
{
    import_array();
    import_umath();
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyModule_AddIntConstant(made, "MOST", MOST_CORE) < 0) {
        Py_CLEAR(made);
    }
    for (size_t i = 0; made != NULL && i < sizeof(gufuncs) / sizeof(gufuncs[0]); i++) {
        Gufunc *each = &gufuncs[i];
        PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(
            each->functions, data, each->types, 2, each->nin, each->nout, PyUFunc_None, each->name, each->doc, 0, each->signature);
        if (ufunc == NULL || PyModule_AddObjectRef(made, each->name, ufunc) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(ufunc);
    }
    return made == NULL ? NULL : with_sources(made);
}
