/* Many ops at once: applied, or recorded only. A part of _eager.c. */
/* The result of one of the steps of `apply_all`, given its operands. */
static PyObject *step_result(PyObject *op, PyObject *inputs, PyObject *params)
{
    PyObject *const *items = &PyTuple_GET_ITEM(inputs, 0);
    const Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyObject_TypeCheck(items[i], value_type)) {
            Application a = {op, items, count, NULL, Py_NewRef(inputs), Py_NewRef(params), 0};
            return applied_or_elsewhere(&a, items[i]);
        }
    }
    return PyObject_Call(op, inputs, params);
}

static PyObject *by_number(PyObject *values, PyObject *numbers)
{
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(numbers));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(numbers); i++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
        if (number < 0 || number >= PyList_GET_SIZE(values)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "there is no value of such a number");
            }
            Py_CLEAR(found);
            break;
        }
        PyTuple_SET_ITEM(found, i, Py_NewRef(PyList_GET_ITEM(values, number)));
    }
    return found;
}

/* apply_all(steps, values), as `engine.closed.op_list` says. */
static PyObject *apply_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyTuple_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || PyTuple_GET_SIZE(args[0]) % 3) {
        PyErr_SetString(PyExc_TypeError, "apply_all: takes a tuple of ops, numbers and parameters, and a list");
        return NULL;
    }
    PyObject *values = args[1];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); i += 3) {
        PyObject *const *step = &PyTuple_GET_ITEM(args[0], i);
        if (Py_TYPE(step[0]) != op_type || !PyTuple_CheckExact(step[1]) || !PyDict_CheckExact(step[2])) {
            PyErr_SetString(PyExc_TypeError, "apply_all: a step is an op, a tuple and a dict");
            return NULL;
        }
        PyObject *inputs = by_number(values, step[1]), *result = NULL;
        if (inputs != NULL) {
            result = step_result(step[0], inputs, step[2]);
            Py_DECREF(inputs);
        }
        if (result == NULL) {
            return NULL;
        }
        const Py_ssize_t end = PyList_GET_SIZE(values);
        const int bad = slot(step[0], at_multi) == Py_True ? PyList_SetSlice(values, end, end, result) : PyList_Append(values, result);
        Py_DECREF(result);
        if (bad < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* record_all(steps, values), as `engine.closed.call_record` says. */
static PyObject *record_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyTuple_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || PyTuple_GET_SIZE(args[0]) % 4) {
        PyErr_SetString(PyExc_TypeError, "record_all: takes a tuple of ops, numbers, parameters and numbers, and a list");
        return NULL;
    }
    PyObject *tapes = recording_tapes();
    int bad = tapes == NULL;
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(args[0]); i += 4) {
        PyObject *const *step = &PyTuple_GET_ITEM(args[0], i);
        const int several = PyTuple_CheckExact(step[3]);
        if (Py_TYPE(step[0]) != op_type || !PyTuple_CheckExact(step[1]) || !PyDict_CheckExact(step[2]) ||
            several != (slot(step[0], at_multi) == Py_True)) {
            PyErr_SetString(PyExc_TypeError, "record_all: a step is an op, a tuple, a dict and numbers");
            bad = 1;
            break;
        }
        PyObject *numbers = several ? Py_NewRef(step[3]) : PyTuple_Pack(1, step[3]);
        PyObject *inputs = numbers == NULL ? NULL : by_number(args[1], step[1]);
        PyObject *outputs = inputs == NULL ? NULL : by_number(args[1], numbers);
        bad = outputs == NULL ||
            record(tapes, step[0], inputs, step[2], several ? outputs : PyTuple_GET_ITEM(outputs, 0)) < 0;
        Py_XDECREF(numbers);
        Py_XDECREF(inputs);
        Py_XDECREF(outputs);
    }
    Py_XDECREF(tapes);
    return bad ? NULL : Py_NewRef(Py_None);
}
