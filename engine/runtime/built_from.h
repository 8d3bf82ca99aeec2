/* How every extension of ours makes its module: it says what it was built from (engine/runtime/extension.py). */
#include <Python.h>

#ifndef BUILT_FROM
#error "setup.py says which sources an extension is built from"
#endif

/* A module with one more object, whose reference this takes; NULL with an error. */
static inline PyObject *with(PyObject *module, const char *name, PyObject *object)
{
    if (module != NULL && PyModule_AddObjectRef(module, name, object) < 0) {
        Py_CLEAR(module);
    }
    Py_XDECREF(object);
    return module;
}

/* A new module; NULL with an error. */
static PyObject *new_module(const char *name, const char *doc, PyMethodDef *methods)
{
    static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT, .m_size = -1};
    definition.m_name = name;
    definition.m_doc = doc;
    definition.m_methods = methods;
    return with(PyModule_Create(&definition), "BUILT_FROM", PyUnicode_FromString(BUILT_FROM));
}
