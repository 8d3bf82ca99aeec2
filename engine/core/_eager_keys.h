/* The key of a recording, and its values by number (a part of _eager.c). */
/* Like `engine.core.op.distinct`. */
static int is_itself(PyObject *x)
{
    return PyLong_CheckExact(x) || PyUnicode_CheckExact(x) || x == Py_None || x == Py_Ellipsis || Py_TYPE(x) == dtype_type;
}

static PyObject *distinct(PyObject *param)
{
    if (is_itself(param)) {
        return Py_NewRef(param);
    }
    if (!PyTuple_CheckExact(param)) {
        return PyObject_CallOneArg(distinct_of, param);
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(param);
    Py_ssize_t exact = 0;
    while (exact < count && is_itself(PyTuple_GET_ITEM(param, exact))) {
        exact++;
    }
    if (exact == count) {
        return Py_NewRef(param);
    }
    PyObject *found = PyTuple_New(count + 1);
    if (found == NULL || Py_EnterRecursiveCall(" in a parameter of an op")) {
        Py_XDECREF(found);
        return NULL;
    }
    PyTuple_SET_ITEM(found, 0, Py_NewRef((PyObject *)&PyTuple_Type));
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        PyObject *part = distinct(PyTuple_GET_ITEM(param, i));
        if (part == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyTuple_SET_ITEM(found, i + 1, part);
    }
    Py_LeaveRecursiveCall();
    return found;
}

static PyObject *shape_of(PyObject *array)
{
    if (PyArray_CheckExact(array)) {
        PyArrayObject *x = (PyArrayObject *)array;
        return PyArray_NDIM(x) ? PyArray_IntTupleFromIntp(PyArray_NDIM(x), PyArray_DIMS(x)) : Py_NewRef(empty);
    }
    return PyArray_IsScalar(array, Generic) ? Py_NewRef(empty) : PyObject_GetAttrString(array, "shape");
}

/* What the key says of a value that the recording did not compute. */
static int push_leaf(PyObject *parts, PyObject *x)
{
    PyObject *array = is_eager(x) ? slot(x, at_array) : x;
    PyObject *dtype = dtype_of(array);
    if (dtype != NULL) {
        const int in_order = !PyArray_CheckExact(array) || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
        if (push(parts, shape_of(array)) < 0) {
            Py_DECREF(dtype);
            return -1;
        }
        return push(parts, dtype) < 0 || push(parts, PyBool_FromLong(in_order)) < 0 ? -1 : 0;
    }
    PyObject *leaf = PyErr_Occurred() ? NULL : PyObject_CallOneArg(leaf_of, x);
    const int bad = leaf == NULL ? -1 : PyList_SetSlice(parts, PyList_GET_SIZE(parts), PyList_GET_SIZE(parts), leaf);
    Py_XDECREF(leaf);
    return bad;
}

/* The values of a recording, with their numbers by identity: a table with open addressing. */
typedef struct {
    PyObject *values, *parts; /* lists */
    struct numbered {
        PyObject *value;
        Py_ssize_t number;
    } *table;
    size_t mask;
} Numbering;

static struct numbered *place_of(const Numbering *all, const PyObject *x)
{
    size_t at = (size_t)x >> 4;
    at ^= at >> 15;
    struct numbered *place = &all->table[at & all->mask];
    while (place->value != NULL && place->value != x) {
        at++;
        place = &all->table[at & all->mask];
    }
    return place;
}

static int push_value(const Numbering *all, struct numbered *place, PyObject *x)
{
    place->value = x;
    place->number = PyList_GET_SIZE(all->values);
    return PyList_Append(all->values, x);
}

static int push_operand(const Numbering *all, PyObject *x)
{
    struct numbered *place = place_of(all, x);
    if (place->value == NULL && (push_value(all, place, x) < 0 || push_leaf(all->parts, x) < 0)) {
        return -1;
    }
    return push(all->parts, PyLong_FromSsize_t(place->number));
}

static int push_result(const Numbering *all, PyObject *out)
{
    if (!is_eager(out)) {
        PyErr_SetString(PyExc_TypeError, "what is no eager tensor has no structure to compare");
        return -1;
    }
    return push_value(all, place_of(all, out), out) < 0 || push(all->parts, shape_of(slot(out, at_array))) < 0 ? -1 : 0;
}

/* The most values that a log of nodes can have; -1 if it is none. */
static Py_ssize_t most_values(PyObject *nodes)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i + 4 <= PyTuple_GET_SIZE(nodes); i += 4) {
        PyObject *const *node = &PyTuple_GET_ITEM(nodes, i);
        const int several = Py_TYPE(node[0]) == op_type && slot(node[0], at_multi) == Py_True;
        if (Py_TYPE(node[0]) != op_type || !PyTuple_CheckExact(node[1]) || !PyDict_CheckExact(node[2]) ||
            (several && !PyTuple_CheckExact(node[3]))) {
            PyErr_SetString(PyExc_TypeError, "structure: this is no node");
            return -1;
        }
        found += PyTuple_GET_SIZE(node[1]) + (several ? PyTuple_GET_SIZE(node[3]) : 1);
    }
    return found;
}

static int push_node(const Numbering *all, PyObject *const *node)
{
    PyObject *op = node[0], *inputs = node[1], *params = node[2], *out = node[3];
    if (PyList_Append(all->parts, op) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        if (push_operand(all, PyTuple_GET_ITEM(inputs, i)) < 0) {
            return -1;
        }
    }
    PyObject *name, *param;
    Py_ssize_t at = 0;
    while (PyDict_Next(params, &at, &name, &param)) {
        if (PyList_Append(all->parts, name) < 0 || push(all->parts, distinct(param)) < 0) {
            return -1;
        }
    }
    if (slot(op, at_multi) != Py_True) {
        return push_result(all, out);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) {
        if (push_result(all, PyTuple_GET_ITEM(out, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* structure(log) -> (values, key), as `engine.replay.Structure` says. */
static PyObject *structure(PyObject *module, PyObject *log)
{
    (void)module;
    if (!PyList_CheckExact(log)) {
        return PyErr_Format(PyExc_TypeError, "structure: takes a log");
    }
    /* a copy, which nobody else changes */
    PyObject *nodes = PyList_AsTuple(log), *found = NULL;
    const Py_ssize_t most = nodes == NULL ? -1 : most_values(nodes);
    if (most < 0) {
        Py_XDECREF(nodes);
        return NULL;
    }
    Numbering all = {PyList_New(0), PyList_New(0), NULL, 7};
    while (all.mask < 2 * (size_t)most) {
        all.mask = 2 * all.mask + 1;
    }
    all.table = PyMem_Calloc(all.mask + 1, sizeof(struct numbered));
    int bad = all.values == NULL || all.parts == NULL;
    if (all.table == NULL) {
        PyErr_NoMemory();
        bad = 1;
    }
    for (Py_ssize_t i = 0; !bad && i + 4 <= PyTuple_GET_SIZE(nodes); i += 4) {
        bad = push_node(&all, &PyTuple_GET_ITEM(nodes, i)) < 0;
    }
    PyObject *key = bad ? NULL : PyList_AsTuple(all.parts);
    if (key != NULL) {
        found = PyTuple_Pack(2, all.values, key);
    }
    PyMem_Free(all.table);
    Py_XDECREF(key);
    Py_XDECREF(nodes);
    Py_XDECREF(all.values);
    Py_XDECREF(all.parts);
    return found;
}

/* places(values, some): where each of some values stands in a list, counted from its end if it is there twice; None if nowhere. */
static PyObject *places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "places: takes two lists");
        return NULL;
    }
    const Py_ssize_t number = PyList_GET_SIZE(args[1]);
    PyObject *found = PyList_New(number);
    for (Py_ssize_t i = 0; found != NULL && i < number; i++) {
        Py_ssize_t at = PyList_GET_SIZE(args[0]) - 1;
        while (at >= 0 && PyList_GET_ITEM(args[0], at) != PyList_GET_ITEM(args[1], i)) {
            at--;
        }
        PyObject *place = at < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(at);
        if (place == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyList_SET_ITEM(found, i, place);
    }
    return found;
}

/* arrays_of(values, places): the arrays behind some of the values, as `engine.replay` says. */
static PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "arrays_of: takes two lists");
        return NULL;
    }
    PyObject *values = PyList_AsTuple(args[0]), *wanted = PyList_AsTuple(args[1]);
    PyObject *found = values == NULL || wanted == NULL ? NULL : PyList_New(PyTuple_GET_SIZE(wanted));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(wanted); i++) {
        const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, i));
        if (place < 0 || place >= PyTuple_GET_SIZE(values)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "arrays_of: there is no such value");
            }
            Py_CLEAR(found);
            break;
        }
        PyObject *x = PyTuple_GET_ITEM(values, place);
        PyObject *array = is_eager(x) ? Py_NewRef(slot(x, at_array)) : PyObject_CallOneArg(array_of, x);
        if (array == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyList_SET_ITEM(found, i, array);
    }
    Py_XDECREF(values);
    Py_XDECREF(wanted);
    return found;
}
