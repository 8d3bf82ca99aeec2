/* The key of a recording, and its values by number (a part of _eager.c). */
/* A key: numbers, and objects that they say too little of. Equal keys have the same of both.
 *
 * An op is its address, and the key holds it so that no other one comes to lie there; of any other object there is its hash. */
typedef struct {
    PyObject_VAR_HEAD /* so many objects */
    Py_hash_t hash;
    size_t length;
    uint64_t *numbers;
    PyObject *held[1];
} Key;

static PyTypeObject *key_type;

static Py_hash_t key_hash(PyObject *object)
{
    return ((Key *)object)->hash;
}

static PyObject *key_compare(PyObject *object, PyObject *other_object, int how)
{
    if (Py_TYPE(other_object) != key_type || (how != Py_EQ && how != Py_NE)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    const Key *self = (Key *)object, *other = (Key *)other_object;
    int same = self->hash == other->hash && self->length == other->length && Py_SIZE(self) == Py_SIZE(other) &&
               memcmp(self->numbers, other->numbers, self->length * sizeof(uint64_t)) == 0;
    for (Py_ssize_t i = 0; same > 0 && i < Py_SIZE(self); i++) {
        same = PyObject_RichCompareBool(self->held[i], other->held[i], Py_EQ);
    }
    return same < 0 ? NULL : PyBool_FromLong(same == (how == Py_EQ));
}

static int key_traverse(PyObject *object, visitproc visit, void *arg)
{
    const Key *self = (Key *)object;
    Py_VISIT(Py_TYPE(object));
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_VISIT(self->held[i]);
    }
    return 0;
}

static void key_free(PyObject *object)
{
    Key *self = (Key *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_XDECREF(self->held[i]);
    }
    PyMem_Free(self->numbers);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyType_Slot key_slots[] = {
    {Py_tp_hash, key_hash},
    {Py_tp_richcompare, key_compare},
    {Py_tp_traverse, key_traverse},
    {Py_tp_dealloc, key_free},
    {Py_tp_doc, "What a recording is compared by."},
    {0, NULL},
};

static PyType_Spec key_type_spec = {"engine.core._eager.Key", offsetof(Key, held), sizeof(PyObject *),
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, key_slots};

#define MOST_SPARE (1 << 20) /* numbers, or objects, that there is memory for between two drafts */

/* A key that is being made. */
typedef struct {
    uint64_t *numbers;
    size_t length, room;
    PyObject **held;
    size_t holds, places;
} Draft;

/* Memory for the next draft: to ask for it each time makes the allocator tidy up what a recording left. */
static Draft spare;

static void *with_room(void *memory, size_t needed, size_t *room, size_t item)
{
    const size_t more = 2 * needed + 250;
    void *larger = PyMem_Realloc(memory, more * item);
    if (larger == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *room = more;
    return larger;
}

static int note(Draft *draft, uint64_t number)
{
    if (draft->length == draft->room) {
        uint64_t *larger = with_room(draft->numbers, draft->length, &draft->room, sizeof(uint64_t));
        if (larger == NULL) {
            return -1;
        }
        draft->numbers = larger;
    }
    draft->numbers[draft->length++] = number;
    return 0;
}

static int hold(Draft *draft, PyObject *x)
{
    if (draft->holds == draft->places) {
        PyObject **larger = with_room(draft->held, draft->holds, &draft->places, sizeof(PyObject *));
        if (larger == NULL) {
            return -1;
        }
        draft->held = larger;
    }
    draft->held[draft->holds++] = Py_NewRef(x);
    return 0;
}

/* What something of a key is. Each is followed by as many numbers as it tells. */
enum tag { NODE = 1, KNOWN, ARRAY, OTHER_ARRAY, LEAF, RESULT, PARAM, NONE, ELLIPSIS, WHOLE, YES_OR_NO, REAL, TUPLE, OBJECT };
#define TAGGED(tag, number) ((uint64_t)(tag) | (uint64_t)(number) << 8)

static int note_object(Draft *draft, PyObject *x)
{
    const Py_hash_t hash = PyObject_Hash(x);
    return hash == -1 || note(draft, OBJECT) < 0 || note(draft, (uint64_t)hash) < 0 ? -1 : hold(draft, x);
}

/* A parameter: tells apart what `engine.core.op.distinct` tells apart. */
static int note_param(Draft *draft, PyObject *x)
{
    if (x == Py_None) {
        return note(draft, NONE);
    }
    if (x == Py_Ellipsis) {
        return note(draft, ELLIPSIS);
    }
    if (PyBool_Check(x)) {
        return note(draft, TAGGED(YES_OR_NO, x == Py_True));
    }
    if (PyLong_CheckExact(x)) {
        int large;
        const long long number = PyLong_AsLongLongAndOverflow(x, &large);
        return large ? note_object(draft, x) : note(draft, WHOLE) < 0 ? -1 : note(draft, (uint64_t)number);
    }
    if (PyFloat_CheckExact(x)) {
        const double number = PyFloat_AS_DOUBLE(x);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return note(draft, REAL) < 0 ? -1 : note(draft, bits);
    }
    if (PyUnicode_CheckExact(x) || Py_TYPE(x) == dtype_type) {
        return note_object(draft, x);
    }
    if (!PyTuple_CheckExact(x)) {
        PyObject *stand_in = PyObject_CallOneArg(distinct_of, x);
        const int bad = stand_in == NULL ? -1 : note_object(draft, stand_in);
        Py_XDECREF(stand_in);
        return bad;
    }
    if (Py_EnterRecursiveCall(" in a parameter of an op")) {
        return -1;
    }
    int bad = note(draft, TAGGED(TUPLE, PyTuple_GET_SIZE(x)));
    for (Py_ssize_t i = 0; bad == 0 && i < PyTuple_GET_SIZE(x); i++) {
        bad = note_param(draft, PyTuple_GET_ITEM(x, i));
    }
    Py_LeaveRecursiveCall();
    return bad;
}

static int note_shape(Draft *draft, enum tag tag, int more, PyObject *array)
{
    const int ndim = PyArray_CheckExact(array) ? PyArray_NDIM((PyArrayObject *)array) : 0;
    int bad = note(draft, TAGGED(tag, ndim | more << 8));
    for (int i = 0; bad == 0 && i < ndim; i++) {
        bad = note(draft, (uint64_t)PyArray_DIM((PyArrayObject *)array, i));
    }
    return bad;
}

/* What the key says of a value that the recording did not compute. */
static int note_leaf(Draft *draft, PyObject *x)
{
    PyObject *array = is_eager(x) ? slot(x, at_array) : x;
    PyArray_Descr *dtype = (PyArray_Descr *)dtype_of(array);
    if (dtype != NULL) {
        const int in_order = !PyArray_CheckExact(array) || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)array);
        const int number = dtype->type_num;
        /* what a number says it all of */
        const int is_plain = number >= 0 && number < NPY_OBJECT && dtype->byteorder != '>' && dtype->byteorder != '<';
        const int bad = is_plain ? note_shape(draft, ARRAY, in_order | number << 1, array)
                                 : note_shape(draft, OTHER_ARRAY, in_order, array) < 0 ? -1 : note_object(draft, (PyObject *)dtype);
        Py_DECREF(dtype);
        return bad;
    }
    PyObject *leaf = PyErr_Occurred() ? NULL : PyObject_CallOneArg(leaf_of, x);
    const int bad = leaf == NULL || note(draft, LEAF) < 0 ? -1 : note_object(draft, leaf);
    Py_XDECREF(leaf);
    return bad;
}

/* The key that a draft has become, which lets go of what it held. */
static PyObject *finished_key(Draft *draft)
{
    Key *key = (Key *)key_type->tp_alloc(key_type, (Py_ssize_t)draft->holds);
    uint64_t *numbers = key == NULL ? NULL : PyMem_Malloc(draft->length * sizeof(uint64_t) + 1);
    if (numbers == NULL) {
        if (key != NULL) {
            PyErr_NoMemory();
            Py_DECREF(key);
        }
        return NULL;
    }
    uint64_t hash = draft->length;
    for (size_t i = 0; i < draft->length; i++) {
        hash = (hash ^ draft->numbers[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    if (draft->length) {
        memcpy(numbers, draft->numbers, draft->length * sizeof(uint64_t));
    }
    if (draft->holds) {
        memcpy(key->held, draft->held, draft->holds * sizeof(PyObject *));
    }
    draft->holds = 0;
    key->numbers = numbers;
    key->length = draft->length;
    key->hash = (Py_hash_t)hash == -1 ? -2 : (Py_hash_t)hash;
    return (PyObject *)key;
}

static Draft begun(void)
{
    const Draft draft = spare;
    memset(&spare, 0, sizeof spare);
    return draft;
}

static void done_with_draft(Draft *draft)
{
    while (draft->holds) {
        Py_DECREF(draft->held[--draft->holds]);
    }
    draft->length = 0;
    /* the decrements may have run code that made a draft */
    Draft unused = *draft;
    if (unused.room <= MOST_SPARE && unused.places <= MOST_SPARE) {
        unused = spare;
        spare = *draft;
    }
    PyMem_Free(unused.numbers);
    PyMem_Free(unused.held);
}

/* The values of a recording, with their numbers by identity: a table with open addressing. */
typedef struct {
    PyObject *values; /* a list */
    Draft draft;
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

static int note_operand(Numbering *all, PyObject *x)
{
    struct numbered *place = place_of(all, x);
    if (place->value != NULL) {
        return note(&all->draft, TAGGED(KNOWN, place->number));
    }
    return push_value(all, place, x) < 0 ? -1 : note_leaf(&all->draft, x);
}

static int note_result(Numbering *all, PyObject *out)
{
    if (!is_eager(out)) {
        PyErr_SetString(PyExc_TypeError, "what is no eager tensor has no structure to compare");
        return -1;
    }
    return push_value(all, place_of(all, out), out) < 0 ? -1 : note_shape(&all->draft, RESULT, 0, slot(out, at_array));
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

static int note_node(Numbering *all, PyObject *const *node)
{
    PyObject *op = node[OP], *inputs = node[INPUTS], *params = node[PARAMS], *out = node[OUT];
    if (note(&all->draft, TAGGED(NODE, PyTuple_GET_SIZE(inputs))) < 0 || note(&all->draft, (uint64_t)(uintptr_t)op) < 0 ||
        hold(&all->draft, op) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        if (note_operand(all, PyTuple_GET_ITEM(inputs, i)) < 0) {
            return -1;
        }
    }
    PyObject *name, *param;
    Py_ssize_t at = 0;
    while (PyDict_Next(params, &at, &name, &param)) {
        /* to look at one may run code that changes the dict */
        Py_INCREF(name);
        Py_INCREF(param);
        const int bad = note(&all->draft, PARAM) < 0 || note_object(&all->draft, name) < 0 || note_param(&all->draft, param) < 0;
        Py_DECREF(name);
        Py_DECREF(param);
        if (bad) {
            return -1;
        }
    }
    if (slot(op, at_multi) != Py_True) {
        return note_result(all, out);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out); i++) {
        if (note_result(all, PyTuple_GET_ITEM(out, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* structure(log) -> (values, key), as `engine.closed.replay.Structure` says. */
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
    Numbering all = {PyList_New(0), begun(), NULL, 7};
    /* most operands are results: it stays half empty */
    while (all.mask <= (size_t)most) {
        all.mask = 2 * all.mask + 1;
    }
    all.table = all.values == NULL ? NULL : zeros((all.mask + 1) * sizeof(struct numbered));
    int bad = all.table == NULL;
    for (Py_ssize_t i = 0; !bad && i + PARTS <= PyTuple_GET_SIZE(nodes); i += PARTS) {
        bad = note_node(&all, &PyTuple_GET_ITEM(nodes, i)) < 0;
    }
    PyObject *key = bad ? NULL : finished_key(&all.draft);
    if (key != NULL) {
        found = PyTuple_Pack(2, all.values, key);
    }
    memory_free(NULL, all.table, 0);
    done_with_draft(&all.draft);
    Py_XDECREF(key);
    Py_XDECREF(nodes);
    Py_XDECREF(all.values);
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

/* arrays_of(values, places): the arrays behind some of the values, as `engine.closed.replay` says. */
static PyObject *arrays_of(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "arrays_of: takes two lists");
        return NULL;
    }
    PyObject *found = PyList_New(PyList_GET_SIZE(args[1]));
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(found); i++) {
        /* to ask for an array may run code that changes the lists */
        const Py_ssize_t place = i < PyList_GET_SIZE(args[1]) ? PyLong_AsSsize_t(PyList_GET_ITEM(args[1], i)) : -1;
        if (place < 0 || place >= PyList_GET_SIZE(args[0])) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "arrays_of: there is no such value");
            }
            Py_CLEAR(found);
            break;
        }
        PyObject *x = PyList_GET_ITEM(args[0], place), *array;
        if (is_eager(x)) {
            array = Py_NewRef(slot(x, at_array));
        }
        else {
            Py_INCREF(x);
            array = PyObject_CallOneArg(array_of, x);
            Py_DECREF(x);
        }
        if (array == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyList_SET_ITEM(found, i, array);
    }
    return found;
}
