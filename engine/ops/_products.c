/* Products of stacks of small matrices, as a gufunc (engine/ops/small_product.py says what for). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../runtime/built_from.h"
#include "../runtime/small_product.h"

SMALL_PRODUCT(products_f, npy_float, , APART)
SMALL_PRODUCT(products_d, npy_double, , APART)

static PyUFuncGenericFunction functions[] = {products_f, products_d};
static const char types[] = {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static void *const data[] = {NULL, NULL};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_products", "Products of stacks of small matrices.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__products(void)
{
    import_array();
    import_umath();
    PyObject *made = PyModule_Create(&module);
    PyObject *product = PyUFunc_FromFuncAndDataAndSignature(
        functions, data, types, 2, 2, 1, PyUFunc_None, "small_product", "Sums of products, added up in order, from 0.", 0,
        "(m,k),(k,n)->(m,n)");
    if (made == NULL || product == NULL || PyModule_AddIntConstant(made, "MOST", MOST_CORE) < 0 ||
        PyModule_AddObjectRef(made, "small_product", product) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(product);
    return made == NULL ? NULL : with_sources(made);
}
