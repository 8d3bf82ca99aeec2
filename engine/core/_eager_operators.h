/* Operators of tensors and variables: methods that apply an op (a part of _eager.c). */
/* A method of tensors that applies an op: to tensors and numbers here, to anything else by `slow`. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *op, *slow;
    int reflected, index;
} Operator;

/* A Python number as a tensor of the dtype of the array beside it, if that is floating or complex. */
static PyObject *number_beside(PyObject *array, PyObject *number)
{
    PyArray_Descr *dtype = (PyArray_Descr *)dtype_of(array);
    if (dtype == NULL) {
        return NULL;
    }
    if (dtype->kind != 'f' && dtype->kind != 'c') {
        Py_DECREF(dtype);
        return NULL;
    }
    const double value = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : PyLong_AsDouble(number);
    const int is_double = dtype->type_num == NPY_DOUBLE || dtype->type_num == NPY_CDOUBLE;
    if (!is_double && !(value >= -SMALL && value <= SMALL)) {
        /* NumPy may warn */
        PyErr_Clear();
        Py_DECREF(dtype);
        return NULL;
    }
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        Py_DECREF(dtype);
        return NULL;
    }
    PyObject *found = PyArray_FromAny(number, dtype, 0, 0, 0, NULL);
    PyObject *tensor = found == NULL ? NULL : wrapped(found);
    Py_XDECREF(found);
    return tensor;
}

/* An item of an index as `engine.ops.indexing` has it; NULL without an error if it is not a static one. */
static PyObject *spec_item(PyObject *item)
{
    if (PyLong_CheckExact(item) || item == Py_None || item == Py_Ellipsis) {
        return Py_NewRef(item);
    }
    if (PySlice_Check(item)) {
        PySliceObject *s = (PySliceObject *)item;
        PyObject *parts[3] = {s->start, s->stop, s->step};
        for (int i = 0; i < 3; i++) {
            if (parts[i] != Py_None && !PyLong_CheckExact(parts[i])) {
                return NULL;
            }
        }
        return not_collected(PyTuple_Pack(3, s->start, s->stop, s->step));
    }
    return NULL;
}

static PyObject *spec_of(PyObject *key)
{
    const int several = PyTuple_CheckExact(key);
    PyObject *spec = PyTuple_New(several ? PyTuple_GET_SIZE(key) : 1);
    for (Py_ssize_t i = 0; spec != NULL && i < PyTuple_GET_SIZE(spec); i++) {
        PyObject *item = spec_item(several ? PyTuple_GET_ITEM(key, i) : key);
        if (item == NULL) {
            Py_CLEAR(spec);
            break;
        }
        PyTuple_SET_ITEM(spec, i, item);
    }
    return not_collected(spec);
}

/* What a static index selects: as the op's kernel does it, which hands NumPy the same index. NULL if that raises: `slow` does. */
static PyObject *selected(Operator *self, PyObject *tensor, PyObject *key)
{
    PyObject *array = slot(tensor, at_array);
    if (!PyArray_CheckExact(array) || is_left(array)) {
        return NULL;
    }
    const int is_known = known(self->op, &array, 1);
    PyObject *spec = is_known > 0 ? spec_of(key) : NULL;
    if (spec == NULL) {
        return NULL;
    }
    PyObject *found = PyObject_GetItem(array, key), *out = NULL;
    if (found == NULL) {
        if (PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear();
        }
    }
    else if (PyArray_CheckExact(found) || PyArray_IsScalar(found, Generic)) {
        PyObject *inputs[2] = {tensor, spec};
        Application a = {self->op, inputs, 1, name_spec, NULL, NULL, 1};
        out = finished(&a, found);
        done_with(&a);
    }
    Py_XDECREF(found);
    Py_DECREF(spec);
    return out;
}

/* What the operator gives for tensors, and numbers beside them. NULL without an error if they are something else. */
static PyObject *operated(Operator *self, PyObject *first, PyObject *second)
{
    if (!is_eager(first)) {
        return NULL;
    }
    if (self->index) {
        return selected(self, first, second);
    }
    PyObject *other = NULL;
    if (second == NULL) {
        Application a = {self->op, &first, 1, NULL, NULL, NULL, 1};
        PyObject *out = applied(&a);
        done_with(&a);
        return out;
    }
    if (is_eager(second)) {
        other = Py_NewRef(second);
    }
    else if (PyFloat_CheckExact(second) || PyLong_CheckExact(second)) {
        other = number_beside(slot(first, at_array), second);
    }
    if (other == NULL) {
        return NULL;
    }
    PyObject *inputs[2] = {self->reflected ? other : first, self->reflected ? first : other};
    Application a = {self->op, inputs, 2, NULL, NULL, NULL, 1};
    PyObject *out = applied(&a);
    done_with(&a);
    Py_DECREF(other);
    return out;
}

static PyObject *operator_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Operator *self = (Operator *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (names == NULL && (count == 2 || (count == 1 && !self->index)) &&
        (is_eager(args[0]) || Py_TYPE(args[0]) == variable_type)) {
        PyObject *first = as_read(args[0]), *out = NULL;
        PyObject *second = first == NULL || count == 1 ? NULL : as_read(args[1]);
        if (first != NULL && (second != NULL || count == 1)) {
            out = operated(self, first, second);
        }
        Py_XDECREF(first);
        Py_XDECREF(second);
        if (out != NULL || PyErr_Occurred()) {
            return out;
        }
    }
    return PyObject_Vectorcall(self->slow, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names);
}

static PyObject *operator_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static void operator_free(PyObject *object)
{
    Operator *self = (Operator *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->op);
    Py_XDECREF(self->slow);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, vectorcall), READONLY, NULL},
    {"__wrapped__", T_OBJECT_EX, offsetof(Operator, slow), READONLY, "What is called in all but the common cases."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot operator_slots[] = {
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, operator_get},
    {Py_tp_dealloc, operator_free},
    {Py_tp_members, operator_members},
    {0, NULL},
};

static PyType_Spec operator_type_spec = {
    "engine.core._eager.Operator",
    sizeof(Operator),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    operator_slots,
};
static PyTypeObject *operator_type;

static PyObject *make_operator(PyObject *module, PyObject *args)
{
    PyObject *op, *slow;
    int reflected = 0, index = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O|pp", op_type, &op, &slow, &reflected, &index)) {
        return NULL;
    }
    Operator *self = (Operator *)operator_type->tp_alloc(operator_type, 0);
    if (self != NULL) {
        self->vectorcall = operator_call;
        self->op = Py_NewRef(op);
        self->slow = Py_NewRef(slow);
        self->reflected = reflected;
        self->index = index;
    }
    return (PyObject *)self;
}
