/* Public functions: calls with tensors where tensors belong need no conversion (a part of _eager.c).
 *
 * A function stays Python's, which is called in all but the common cases. From Python 3.12 on it may say how it is called. */
typedef struct {
    PyObject *target; /* an op or a function of the engine */
    PyObject *finish; /* what is called with results that are no tensors */
    PyObject *names;  /* of keywords that are tensors, or not for the target */
    Py_ssize_t least, most;
    uint64_t tensors, lists; /* bit by bit: at which positions tensors stand, and lists of them */
} Shortcut;

static PyObject *name_shortcut;
#if PY_VERSION_HEX >= 0x030C0000
#define SHORTCUT "engine.core._eager.shortcut"
static vectorcallfunc called_in_python;

static int is_value(PyObject *x)
{
    return Py_TYPE(x) == eager_type || PyObject_TypeCheck(x, value_type);
}

static int are_values(PyObject *x)
{
    if (!PyList_Check(x) && !PyTuple_Check(x)) {
        return 0;
    }
    int found = 1;
    for (Py_ssize_t i = 0; found && i < PySequence_Fast_GET_SIZE(x); i++) {
        found = is_value(PySequence_Fast_GET_ITEM(x, i));
    }
    return found;
}

/* Whether nothing needs to be converted. -1 on an error. */
static int is_plain_call(const Shortcut *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (left_from == 0 || count < self->least || count > self->most) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count && i < 64; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if (self->lists & bit ? !are_values(args[i]) : (self->tensors & bit) && !is_value(args[i])) {
            return 0;
        }
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        const int other = PySet_Contains(self->names, PyTuple_GET_ITEM(names, i));
        if (other) {
            return other < 0 ? -1 : 0;
        }
    }
    return 1;
}

/* Two operands of an op of which one is a tensor, and the other a Python number. NULL without an error otherwise. */
static PyObject *with_number(PyObject *op, PyObject *const *args)
{
    const int at = is_eager(args[0]) ? 1 : 0;
    if (!is_eager(args[1 - at]) || !(PyFloat_CheckExact(args[at]) || PyLong_CheckExact(args[at]))) {
        return NULL;
    }
    PyObject *number = number_beside(slot(args[1 - at], at_array), args[at]);
    if (number == NULL) {
        return NULL;
    }
    PyObject *inputs[2] = {at ? args[0] : number, at ? number : args[1]};
    Application a = {op, inputs, 2, NULL, NULL, NULL, 0};
    PyObject *out = applied_or_elsewhere(&a, inputs[1 - at]);
    Py_DECREF(number);
    return out;
}

static PyObject *shortcut_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *own = ((PyFunctionObject *)function)->func_dict;
    PyObject *capsule = own == NULL ? NULL : PyDict_GetItemWithError(own, name_shortcut);
    const Shortcut *self = capsule == NULL || !PyCapsule_CheckExact(capsule) ? NULL : PyCapsule_GetPointer(capsule, SHORTCUT);
    if (self == NULL) {
        return PyErr_Occurred() ? NULL : called_in_python(function, args, nargsf, names);
    }
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    const int is_op = Py_TYPE(self->target) == op_type, plain = is_plain_call(self, args, count, names);
    PyObject *out = NULL;
    if (plain > 0) {
        out = is_op ? op_call(self->target, args, count, names)
                    : PyObject_Vectorcall(self->target, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names);
        if (out != NULL && Py_TYPE(out) != eager_type) {
            Py_SETREF(out, PyObject_CallOneArg(self->finish, out));
        }
        return out;
    }
    if (plain == 0 && is_op && left_from && names == NULL && count == 2 && self->least == 2 && self->most == 2) {
        out = with_number(self->target, args);
    }
    return out != NULL || PyErr_Occurred() ? out : called_in_python(function, args, nargsf, names);
}

static void shortcut_free(PyObject *capsule)
{
    Shortcut *self = PyCapsule_GetPointer(capsule, SHORTCUT);
    if (self != NULL) {
        Py_XDECREF(self->target);
        Py_XDECREF(self->finish);
        Py_XDECREF(self->names);
        PyMem_Free(self);
    }
}
#endif

/* shortcut(function, target, finish, names, least, most, tensors, lists): let plain calls go to the target. */
static PyObject *shortcut(PyObject *module, PyObject *args)
{
    PyObject *function, *target, *finish, *names;
    Py_ssize_t least, most;
    unsigned long long tensors, lists;
    (void)module;
    if (!PyArg_ParseTuple(
            args, "O!OOO!nnKK", &PyFunction_Type, &function, &target, &finish, &PyFrozenSet_Type, &names, &least, &most, &tensors, &lists)) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030C0000
    Shortcut *self = PyMem_Malloc(sizeof(Shortcut));
    if (self == NULL) {
        return PyErr_NoMemory();
    }
    *self = (Shortcut){Py_NewRef(target), Py_NewRef(finish), Py_NewRef(names), least, most, tensors, lists};
    PyObject *capsule = PyCapsule_New(self, SHORTCUT, shortcut_free);
    if (capsule == NULL) {
        Py_DECREF(target);
        Py_DECREF(finish);
        Py_DECREF(names);
        PyMem_Free(self);
        return NULL;
    }
    const int bad = PyObject_SetAttr(function, name_shortcut, capsule);
    Py_DECREF(capsule);
    if (bad < 0) {
        return NULL;
    }
    PyFunctionObject *own = (PyFunctionObject *)function;
    if (own->vectorcall != shortcut_call) {
        called_in_python = own->vectorcall;
        PyFunction_SetVectorcall(own, shortcut_call);
    }
#endif
    Py_RETURN_NONE;
}
