/* What every extension of ours ends its initialisation with: it says what it was built from (engine/runtime/extension.py). */
#include <Python.h>

#ifndef BUILT_FROM
#error "setup.py says which sources an extension is built from"
#endif

/* The module, or NULL; takes the reference. */
static PyObject *with_sources(PyObject *module)
{
    if (module != NULL && PyModule_AddStringConstant(module, "BUILT_FROM", BUILT_FROM) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
