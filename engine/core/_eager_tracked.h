/* The values that a tape tracks, by identity (a part of _eager.c): what a dict from addresses to values is, without an int for each. */
typedef struct {
    PyObject_HEAD
    PyObject **table; /* with open addressing; NULL where nothing lies */
    size_t mask;
    Py_ssize_t count;
} Tracked;

static PyTypeObject *tracked_type;

/* Like `engine.core.value.address`. */
static Py_hash_t address_of(PyObject *x)
{
    return PyBaseObject_Type.tp_hash(x);
}

/* Where the value of an address lies, or would; the table is never full. */
static PyObject **tracked_place(PyObject *const *table, size_t mask, Py_hash_t number)
{
    size_t at = (size_t)(((uint64_t)number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;
    while (table[at] != NULL && address_of(table[at]) != number) {
        at = (at + 1) & mask;
    }
    return (PyObject **)&table[at];
}

static int tracked_has(const Tracked *self, PyObject *x)
{
    return self->count && *tracked_place(self->table, self->mask, address_of(x)) != NULL;
}

static int tracked_add(Tracked *self, PyObject *x)
{
    if (2 * ((size_t)self->count + 1) > self->mask) {
        const size_t mask = self->table == NULL ? 15 : 4 * self->mask + 3;
        PyObject **table = zeros((mask + 1) * sizeof(PyObject *));
        if (table == NULL) {
            return -1;
        }
        for (size_t i = 0; self->table != NULL && i <= self->mask; i++) {
            if (self->table[i] != NULL) {
                *tracked_place(table, mask, address_of(self->table[i])) = self->table[i];
            }
        }
        memory_free(NULL, self->table, 0);
        self->table = table;
        self->mask = mask;
    }
    PyObject **place = tracked_place(self->table, self->mask, address_of(x));
    if (*place == NULL) {
        *place = Py_NewRef(x);
        self->count++;
    }
    return 0;
}

/* The address that a key is; -1 with an error if it is none. */
static Py_hash_t tracked_key(PyObject *key)
{
    if (!PyLong_CheckExact(key)) {
        PyErr_SetString(PyExc_TypeError, "tracked values are looked for by their addresses");
        return -1;
    }
    return (Py_hash_t)PyLong_AsSsize_t(key);
}

static int tracked_contains(PyObject *object, PyObject *key)
{
    const Tracked *self = (Tracked *)object;
    const Py_hash_t number = tracked_key(key);
    if (number == -1) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return self->count && *tracked_place(self->table, self->mask, number) != NULL;
}

static Py_ssize_t tracked_length(PyObject *object)
{
    return ((Tracked *)object)->count;
}

static int tracked_assign(PyObject *object, PyObject *key, PyObject *value)
{
    const Py_hash_t number = tracked_key(key);
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (value == NULL || address_of(value) != number) {
        PyErr_SetString(PyExc_ValueError, "a tracked value stays, at its own address");
        return -1;
    }
    return tracked_add((Tracked *)object, value);
}

static PyObject *tracked_copy(PyObject *object, PyObject *nothing_given)
{
    const Tracked *self = (Tracked *)object;
    (void)nothing_given;
    Tracked *other = (Tracked *)tracked_type->tp_alloc(tracked_type, 0);
    for (size_t i = 0; other != NULL && self->table != NULL && i <= self->mask; i++) {
        if (self->table[i] != NULL && tracked_add(other, self->table[i]) < 0) {
            Py_CLEAR(other);
        }
    }
    return (PyObject *)other;
}

static PyObject *tracked_values(PyObject *object, PyObject *nothing_given)
{
    const Tracked *self = (Tracked *)object;
    (void)nothing_given;
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values != NULL && self->table != NULL && i <= self->mask; i++) {
        if (self->table[i] != NULL && PyList_Append(values, self->table[i]) < 0) {
            Py_CLEAR(values);
        }
    }
    return values;
}

static int tracked_traverse(PyObject *object, visitproc visit, void *arg)
{
    const Tracked *self = (Tracked *)object;
    Py_VISIT(Py_TYPE(object));
    for (size_t i = 0; self->table != NULL && i <= self->mask; i++) {
        Py_VISIT(self->table[i]);
    }
    return 0;
}

static int tracked_clear(PyObject *object)
{
    Tracked *self = (Tracked *)object;
    PyObject **table = self->table;
    const size_t mask = self->mask;
    /* what goes may run Python code, which sees nothing here by then */
    self->table = NULL;
    self->mask = 0;
    self->count = 0;
    for (size_t i = 0; table != NULL && i <= mask; i++) {
        Py_XDECREF(table[i]);
    }
    memory_free(NULL, table, 0);
    return 0;
}

static void tracked_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    tracked_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef tracked_methods[] = {
    {"copy", tracked_copy, METH_NOARGS, "The same values, to which others may be added."},
    {"values", tracked_values, METH_NOARGS, "A list of the values, in any order."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot tracked_slots[] = {
    {Py_sq_contains, tracked_contains},
    {Py_mp_length, tracked_length},
    {Py_mp_ass_subscript, tracked_assign},
    {Py_tp_methods, tracked_methods},
    {Py_tp_traverse, tracked_traverse},
    {Py_tp_clear, tracked_clear},
    {Py_tp_dealloc, tracked_free},
    {Py_tp_doc, "The values that a tape tracks, by address."},
    {0, NULL},
};

static PyType_Spec tracked_type_spec = {"engine.core._eager.Tracked", sizeof(Tracked), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, tracked_slots};
