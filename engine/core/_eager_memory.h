/* Memory of results, which is used again (a part of _eager.c).
 *
 * A tape keeps all that is computed, and lets go of it at once. The C library then tidies up what are many small blocks, and
 * hands large ones back to the system, which maps new pages for the next recording: either takes longer than computing what is
 * written there. So what a result lay in is kept for others of its size.
 *
 * NumPy asks each array how its memory is freed (NEP 49): nobody can tell such an array from another, or must know of it. The
 * GIL is held whenever NumPy asks for memory or frees it. */
#define MEMORY_LINE 64      /* bytes: where vectors and lines of the cache begin */
#define MEMORY_CLASSES 81   /* of sizes, 0 for those that are not kept */
#define MEMORY_LEAST 1024   /* bytes, up to which classes are lines; then there are four to each power of two */
#define MEMORY_WORTH (1 << 14) /* bytes of an operand, from which on what a kernel asks NumPy for is kept too */
#define TRACED 389047       /* what NumPy calls its memory before `tracemalloc` */

/* In front of what an array gets. */
typedef struct {
    void *whole;
    size_t capacity;
} MemoryHead;

/* What lies in memory that nobody uses: where to find others, of its class and of all. */
typedef struct Spare {
    struct Spare *next, *before, *older, *newer;
} Spare;

static Spare *spares[MEMORY_CLASSES];
static Spare *newest, *oldest;
static size_t spare_bytes, most_spare_bytes;
static PyDataMemAllocator system_memory; /* NumPy's own */
static PyObject *own_memory;             /* the capsule by which NumPy knows ours */

static MemoryHead *head_of(void *data)
{
    return (MemoryHead *)data - 1;
}

/* The class of a size, and what is asked for in its place. */
static int memory_class(size_t size, size_t *capacity)
{
    size_t step = MEMORY_LINE, octave = 0;
    if (size > MEMORY_LEAST) {
        while ((size - 1) >> octave >= 8) {
            octave++;
        }
        step = (size_t)1 << octave;
    }
    const size_t steps = size ? (size - 1) / step + 1 : 1;
    *capacity = steps * step;
    const size_t found = size > MEMORY_LEAST ? MEMORY_LEAST / MEMORY_LINE + 4 * (octave - 8) + steps - 4 : steps;
    return found < MEMORY_CLASSES ? (int)found : 0;
}

static void spare_out(Spare *spare, size_t capacity)
{
    size_t same;
    *(spare->before == NULL ? &spares[memory_class(capacity, &same)] : &spare->before->next) = spare->next;
    if (spare->next != NULL) {
        spare->next->before = spare->before;
    }
    *(spare->newer == NULL ? &newest : &spare->newer->older) = spare->older;
    *(spare->older == NULL ? &oldest : &spare->older->newer) = spare->newer;
    spare_bytes -= capacity;
}

static void to_system(void *data)
{
    const MemoryHead head = *head_of(data);
    system_memory.free(system_memory.ctx, head.whole, head.capacity + 2 * MEMORY_LINE);
}

static void *memory_new(size_t size, int zeroed)
{
    size_t capacity;
    const int class = memory_class(size, &capacity);
    Spare *spare = class ? spares[class] : NULL;
    if (spare != NULL) {
        spare_out(spare, capacity);
        return zeroed ? memset(spare, 0, size) : spare;
    }
    capacity = class ? capacity : size;
    const size_t whole_size = capacity + 2 * MEMORY_LINE;
    void *whole = whole_size < size ? NULL
                  : zeroed          ? system_memory.calloc(system_memory.ctx, whole_size, 1)
                                    : system_memory.malloc(system_memory.ctx, whole_size);
    if (whole == NULL) {
        return NULL;
    }
    void *data = (void *)(((uintptr_t)whole + 2 * MEMORY_LINE - 1) / MEMORY_LINE * MEMORY_LINE);
    *head_of(data) = (MemoryHead){whole, capacity};
    return data;
}

static void *memory_malloc(void *context, size_t size)
{
    (void)context;
    return memory_new(size, 0);
}

static void *memory_calloc(void *context, size_t number, size_t size)
{
    (void)context;
    return size && number > SIZE_MAX / size ? NULL : memory_new(number * size, 1);
}

static void memory_free(void *context, void *data, size_t size)
{
    (void)context;
    (void)size;
    if (data == NULL) {
        return;
    }
    size_t capacity;
    const int class = memory_class(head_of(data)->capacity, &capacity);
    if (class == 0 || capacity > most_spare_bytes) {
        to_system(data);
        return;
    }
    Spare *spare = data;
    *spare = (Spare){spares[class], NULL, newest, NULL};
    if (spare->next != NULL) {
        spare->next->before = spare;
    }
    *(newest == NULL ? &oldest : &newest->newer) = spare;
    spares[class] = newest = spare;
    spare_bytes += capacity;
    while (spare_bytes > most_spare_bytes) {
        Spare *gone = oldest;
        spare_out(gone, head_of(gone)->capacity);
        to_system(gone);
    }
}

static void *memory_realloc(void *context, void *data, size_t size)
{
    void *other = memory_malloc(context, size);
    if (other != NULL && data != NULL) {
        const size_t had = head_of(data)->capacity;
        memcpy(other, data, had < size ? had : size);
        memory_free(context, data, 0);
    }
    return other;
}

static PyDataMem_Handler memory_handler = {
    "dualgrad", 1, {NULL, memory_malloc, memory_calloc, memory_realloc, memory_free}};

/* A new array in C order with nothing in it yet, like PyArray_SimpleNew. */
static PyObject *new_array(int ndim, const npy_intp *dims, int type)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    const size_t size = (size_t)(PyArray_MultiplyList(dims, ndim) * PyDataType_ELSIZE(dtype));
    void *data = memory_new(size, 0);
    if (data == NULL) {
        Py_DECREF(dtype);
        return PyErr_NoMemory();
    }
    PyArrayObject *array =
        (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, NULL, data, NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        memory_free(NULL, data, size);
        return NULL;
    }
    PyArray_UpdateFlags(array, NPY_ARRAY_UPDATE_ALL);
    PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
    ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(own_memory);
    PyTraceMalloc_Track(TRACED, (uintptr_t)data, size);
    return (PyObject *)array;
}

/* Memory for tables, full of zeros. To ask the system for so much makes it tidy up what arrays have left. */
static void *zeros(size_t size)
{
    void *found = memory_new(size, 1);
    return found == NULL ? PyErr_NoMemory() : found;
}

/* From here on NumPy takes our memory; what it took before, a new reference, or NULL if it does not. */
static PyObject *memory_begins(void)
{
    PyObject *before = PyDataMem_SetHandler(own_memory);
    if (before != NULL && before != PyDataMem_DefaultHandler && before != own_memory) {
        /* the user has memory of their own */
        Py_XDECREF(PyDataMem_SetHandler(before));
        Py_CLEAR(before);
    }
    return before;
}

static void memory_ends(PyObject *before)
{
    if (before != NULL) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        Py_XDECREF(PyDataMem_SetHandler(before));
        Py_DECREF(before);
        PyErr_Restore(type, error, traceback);
    }
}

static int begin_memory(void)
{
    const PyDataMem_Handler *numpy = PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
    if (numpy != NULL) {
        system_memory = numpy->allocator;
        own_memory = PyCapsule_New(&memory_handler, "mem_handler", NULL);
    }
    return own_memory == NULL ? -1 : 0;
}

/* setup_memory(bytes): keep memory of results, up to so many bytes that nobody uses; returns what held before. */
static PyObject *setup_memory(PyObject *module, PyObject *bytes)
{
    (void)module;
    const size_t before = most_spare_bytes, most = PyLong_AsSize_t(bytes);
    if (most == (size_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    most_spare_bytes = most;
    while (spare_bytes > most_spare_bytes) {
        Spare *gone = oldest;
        spare_out(gone, head_of(gone)->capacity);
        to_system(gone);
    }
    return PyLong_FromSize_t(before);
}

/* in_own_memory(function, *arguments): call it while NumPy takes our memory. */
static PyObject *in_own_memory(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "in_own_memory takes a function");
        return NULL;
    }
    PyObject *before = memory_begins(), *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), NULL);
    memory_ends(before);
    return result;
}
