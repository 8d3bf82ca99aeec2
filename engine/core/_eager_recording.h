/* Recording on tapes. A part of _eager.c. */
/* ---- recording --------------------------------------------------------------------------------------------------- */

/* Whether one of some values is tracked, or in a dict of addresses, if there is one. */
static int any_in(const Tracked *tracked, PyObject *other, PyObject *inputs)
{
    int found = 0;
    for (Py_ssize_t i = 0; !found && i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject *x = PyTuple_GET_ITEM(inputs, i);
        found = tracked_has(tracked, x);
        if (!found && other != NULL) {
            PyObject *key = PyLong_FromSsize_t(address_of(x));
            if (key == NULL) {
                return -1;
            }
            found = PyDict_Contains(other, key);
            Py_DECREF(key);
        }
    }
    return found;
}

/* One node: op, operands, parameters, result. */
enum part { OP, INPUTS, PARAMS, OUT, PARTS };

/* Add a node to a log, or nothing. */
static int log_node(PyObject *log, PyObject *const *node)
{
    const Py_ssize_t before = PyList_GET_SIZE(log);
    for (int i = 0; i < PARTS; i++) {
        if (PyList_Append(log, node[i]) < 0) {
            PyObject *type, *error, *traceback;
            PyErr_Fetch(&type, &error, &traceback);
            PyList_SetSlice(log, before, PyList_GET_SIZE(log), NULL);
            PyErr_Restore(type, error, traceback);
            return -1;
        }
    }
    return 0;
}

/* Let one tape keep what has no derivative here, if it comes from what it tracks. */
static int record_nondifferentiable(PyObject *tape, const Tracked *tracked, PyObject *others, PyObject *const *node)
{
    if (Py_TYPE(others) == seen_type) {
        PyObject *seen = slot(others, at_recording);
        return log_node(slot(seen, at_log), node);
    }
    if (PyDict_CheckExact(others)) {
        const int found = any_in(tracked, PyDict_GET_SIZE(others) ? others : NULL, node[INPUTS]);
        if (found <= 0) {
            return found;
        }
    }
    PyObject *done = PyObject_CallFunctionObjArgs(beside_of, tape, node[OP], node[INPUTS], node[PARAMS], node[OUT], NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Let one tape record a node if it tracks an operand. */
static int record_on(PyObject *tape, PyObject *const *node)
{
    PyObject *tracked = NULL, *others = NULL, *log = NULL, *out = node[OUT];
    if (PyObject_TypeCheck(tape, tape_type)) {
        PyObject *nodes = slot(tape, at_nodes);
        tracked = slot(tape, at_tracked);
        others = slot(tape, at_nondifferentiable);
        log = nodes != NULL && Py_TYPE(nodes) == recording_type ? slot(nodes, at_log) : NULL;
    }
    if (tracked == NULL || others == NULL || log == NULL || Py_TYPE(tracked) != tracked_type || !PyDict_Check(others) ||
        !PyList_CheckExact(log)) {
        PyErr_SetString(PyExc_TypeError, "record: this is no tape");
        return -1;
    }
    Tracked *known = (Tracked *)tracked;
    if (slot(node[OP], at_vjp) == Py_None) {
        return record_nondifferentiable(tape, known, others, node);
    }
    if (any_in(known, NULL, node[INPUTS]) == 0) {
        const int some = PyObject_IsTrue(others);
        return some <= 0 ? some : record_nondifferentiable(tape, known, others, node);
    }
    if (log_node(log, node) < 0) {
        return -1;
    }
    if (slot(node[OP], at_multi) != Py_True) {
        return tracked_add(known, out);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) {
        if (tracked_add(known, PyTuple_GET_ITEM(out, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

static int record(PyObject *tapes, PyObject *op, PyObject *inputs, PyObject *params, PyObject *out)
{
    PyObject *const node[PARTS] = {op, inputs, params != NULL && PyDict_GET_SIZE(params) ? params : nothing, out};
    int bad = 0;
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(tapes); i++) {
        bad = record_on(PyTuple_GET_ITEM(tapes, i), node) < 0;
    }
    return bad ? -1 : 0;
}

/* What `active` holds for the thread that was here last, which asks mostly again. A thread's number is given once. */
static PyObject *own_active;
static uint64_t owner;
static int by_thread; /* whether that is kept by thread, and not by what takes turns within one */

/* The tapes that record this thread, a new reference to a tuple. */
static PyObject *recording_tapes(void)
{
    const uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (own_active == NULL || owner != thread || !by_thread) {
        PyObject *own = PyObject_GetAttr(active, name_dict);
        if (own == NULL) {
            return NULL;
        }
        if (!PyDict_CheckExact(own)) {
            Py_DECREF(own);
            PyErr_SetString(PyExc_TypeError, "record: what is active is not kept by thread");
            return NULL;
        }
        PyObject *before = own_active;
        own_active = own;
        owner = thread;
        Py_XDECREF(before);
    }
    PyObject *tapes = PyDict_GetItemWithError(own_active, name_tapes);
    if (tapes == NULL || !PyTuple_CheckExact(tapes)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "record: the active tapes are no tuple");
        }
        return NULL;
    }
    return Py_NewRef(tapes);
}
