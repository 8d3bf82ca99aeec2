/* The native executor: a table of rows, and of calls of Python between them, that runs a program.
 *
 * A `Table` is made once per program from plain tuples and numbers (engine/executor/encoding.py), and checked then: each
 * row must stay inside of its memory. Calling it with the program's arguments gives the program's results: as a list where
 * nobody else has any of their memory, else as a tuple.
 *
 * What it says on the way, it says to its `host`, four callables:
 *   fallback(*arguments)                  runs the program in another way: these arguments lie otherwise in memory
 *   failed(error, position, operands, arguments)  raises what to raise for an error of a kernel, or gives the results
 *   resume(position, arguments, owners, buffers)  carries on behind an instruction: after a call whose result lies otherwise
 *                                         than expected, before one whose rows refuse what they are given
 *   flagged()                             whether floating-point errors are to be raised: then fallback runs
 */
#include <fenv.h>
#include <stddef.h>

#include "loops.h"
#include "threads.h"
#include "../runtime/built_from.h"
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#define ALIGNMENT 64
#define SCALAR 32 /* bytes of the largest scalar, and to spare */
#define MOST_FRAMES 4
#define REFUSED (-1)

enum base_kind { BLOCK, SCRATCH, ARGUMENT, CONSTANT, FRESH, SLOT };

typedef struct {
    enum base_kind kind;
    Py_ssize_t position; /* of an argument */
    int written;         /* whether rows write to an argument */
    PyArray_Descr *descr;
    int nd, scalar;
    npy_intp *shape, *strides;
    PyObject *object; /* a constant; what allocates a fresh array; the bytes that an argument must hold */
} Base;

enum access_kind { WHOLE, OBJECT, GIVEN, VIEW, COPY };

typedef struct {
    enum access_kind kind;
    Py_ssize_t index; /* of a base or argument */
    npy_intp offset;
    PyArray_Descr *descr;
    int nd, scalar, writable;
    npy_intp *shape, *strides;
    PyObject *object;
} Access;

enum step_kind { ROWS, TILES, CHECKED, CALL };

typedef struct {
    enum step_kind kind;
    Py_ssize_t first, end; /* rows */
    npy_intp tiles, rest;
    Py_ssize_t sums, behind; /* of its rows: those that add up all tiles, from one on, before another */
    int shared, release, multi; /* how many threads run the tiles at most */
    Py_ssize_t position; /* of the instruction that a call or checked rows belong to */
    PyObject *kernel, *names;
    Access *operands;
    Py_ssize_t noperands, nouts, nfrees;
    npy_intp *outs, *frees;
} Step;

typedef struct Frame {
    struct Frame *next;
    PyObject *pooled; /* what the block is taken from, if it is a large one */
    PyArrayObject *memory;
    char **bases;
    PyObject **owners;
    char *scalars;
} Frame;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Py_ssize_t nargs, nbases, nloops, nrows, nsteps, noutputs;
    npy_intp block, scratch; /* bytes; scratch for each thread */
    Py_ssize_t own;          /* the base that is scratch */
    int threads;             /* how many there is memory for */
    Base *bases;
    Loop *loops;
    npy_intp *numbers;
    Row *rows;
    ShortRow *shorts;
    Step *steps;
    Access *outputs;
    int owned; /* whether the results are arrays that nobody else has */
    PyObject *ufuncs; /* keeps loops alive */
    PyObject *fallback, *failed, *resume, *flagged, *take, *give_back;
    Frame *spare;
    int nspare;
} Table;

/* ---- frames: the memory of one run ------------------------------------------------------------------------------- */

static void frame_free(Frame *frame)
{
    if (frame != NULL) {
        Py_XDECREF(frame->pooled);
        Py_XDECREF(frame->memory);
        PyMem_Free(frame->bases);
        PyMem_Free(frame->owners);
        PyMem_Free(frame->scalars);
        PyMem_Free(frame);
    }
}

static npy_intp rounded(npy_intp size)
{
    return (size + ALIGNMENT - 1) & ~(npy_intp)(ALIGNMENT - 1);
}

static char *aligned(PyArrayObject *memory)
{
    return (char *)rounded((npy_intp)PyArray_DATA(memory));
}

/* Take the block of a frame, with what is scratch behind it, from the pool, or make one. */
static int frame_block(Table *self, Frame *frame)
{
    npy_intp size = rounded(self->block) + self->threads * rounded(self->scratch) + ALIGNMENT;
    if (self->take == NULL) {
        frame->memory = (PyArrayObject *)PyArray_SimpleNew(1, &size, NPY_UINT8);
        return frame->memory == NULL ? -1 : 0;
    }
    frame->pooled = PyObject_CallFunction(self->take, "n", (Py_ssize_t)size);
    if (frame->pooled == NULL) {
        return -1;
    }
    PyObject *memory = PyObject_GetAttrString(frame->pooled, "memory");
    if (memory == NULL || !PyArray_Check(memory) || PyArray_NBYTES((PyArrayObject *)memory) < size) {
        Py_XDECREF(memory);
        Py_CLEAR(frame->pooled);
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "native executor: the pool gave too little memory");
        }
        return -1;
    }
    frame->memory = (PyArrayObject *)memory;
    return 0;
}

static Frame *frame_take(Table *self)
{
    Frame *frame = self->spare;
    if (frame != NULL) {
        self->spare = frame->next;
        self->nspare--;
    }
    else {
        frame = PyMem_Calloc(1, sizeof(Frame));
        if (frame == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        frame->bases = PyMem_Calloc(((size_t)self->nbases + 1) * (size_t)self->threads, sizeof(char *));
        frame->owners = PyMem_Calloc((size_t)self->nbases + 1, sizeof(PyObject *));
        frame->scalars = PyMem_Calloc((size_t)self->nbases + 1, SCALAR);
        if (frame->bases == NULL || frame->owners == NULL || frame->scalars == NULL) {
            PyErr_NoMemory();
            frame_free(frame);
            return NULL;
        }
        for (Py_ssize_t b = 0; b < self->nbases; b++) {
            const Base *base = &self->bases[b];
            if (base->kind == CONSTANT) {
                frame->bases[b] = PyBytes_Check(base->object) ? PyBytes_AS_STRING(base->object)
                                                              : PyArray_BYTES((PyArrayObject *)base->object);
                frame->owners[b] = base->object; /* borrowed: the table keeps it */
            }
        }
    }
    if (frame->memory == NULL) {
        if (frame_block(self, frame) < 0) {
            frame_free(frame);
            return NULL;
        }
        for (Py_ssize_t b = 0; b < self->nbases; b++) {
            if (self->bases[b].kind == BLOCK) {
                frame->bases[b] = aligned(frame->memory);
                frame->owners[b] = (PyObject *)frame->memory;
            }
            else if (self->bases[b].kind == SCRATCH) {
                frame->bases[b] = aligned(frame->memory) + rounded(self->block);
            }
        }
    }
    return frame;
}

static void frame_release(Table *self, Frame *frame)
{
    for (Py_ssize_t b = 0; b < self->nbases; b++) {
        if (self->bases[b].kind == FRESH || self->bases[b].kind == SLOT) {
            Py_CLEAR(frame->owners[b]);
        }
        else if (self->bases[b].kind == ARGUMENT) {
            frame->owners[b] = NULL;
        }
    }
    if (frame->pooled != NULL) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyObject *done = PyObject_CallOneArg(self->give_back, frame->pooled);
        if (done == NULL) {
            PyErr_Clear();
        }
        Py_XDECREF(done);
        Py_CLEAR(frame->pooled);
        Py_CLEAR(frame->memory);
        PyErr_Restore(type, error, traceback);
    }
    if (self->nspare < MOST_FRAMES) {
        frame->next = self->spare;
        self->spare = frame;
        self->nspare++;
    }
    else {
        frame_free(frame);
    }
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static int lies_as(PyArrayObject *array, const Base *base)
{
    if (PyArray_TYPE(array) != base->descr->type_num || PyArray_NDIM(array) != base->nd ||
        !PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array)) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    for (int d = 0; d < base->nd; d++) {
        if (shape[d] != base->shape[d] || (strides[d] != base->strides[d] && shape[d] > 1)) {
            return 0;
        }
    }
    return 1;
}

/* Whether an argument has the contents that the table was made for, if it was made for some. */
static int holds_known(const Frame *frame, const Base *base, Py_ssize_t b)
{
    return base->object == NULL || memcmp(frame->bases[b], PyBytes_AS_STRING(base->object), (size_t)PyBytes_GET_SIZE(base->object)) == 0;
}

/* Note where an array or scalar has its data; 0 if it is not what the base says, without an exception. */
static int hold(Frame *frame, const Base *base, Py_ssize_t b, PyObject *object)
{
    if (base->descr == NULL) {
        return 1; /* any object: no row reads it */
    }
    if (PyArray_CheckExact(object)) {
        frame->bases[b] = PyArray_BYTES((PyArrayObject *)object);
        return lies_as((PyArrayObject *)object, base) && (!base->written || PyArray_ISWRITEABLE((PyArrayObject *)object)) &&
               holds_known(frame, base, b);
    }
    if (base->nd == 0 && !base->written && Py_TYPE(object) == base->descr->typeobj) {
        frame->bases[b] = frame->scalars + b * SCALAR;
        PyArray_ScalarAsCtype(object, frame->bases[b]);
        return holds_known(frame, base, b);
    }
    return 0;
}

static PyObject *fresh(const Base *base)
{
    if (base->object != NULL) {
        PyObject *found = PyObject_CallNoArgs(base->object);
        if (found != NULL && (!PyArray_Check(found) || !lies_as((PyArrayObject *)found, base) ||
                              !PyArray_ISWRITEABLE((PyArrayObject *)found))) {
            PyErr_SetString(PyExc_ValueError, "native executor: an array was allocated in another form");
            Py_CLEAR(found);
        }
        return found;
    }
    Py_INCREF(base->descr);
    return PyArray_NewFromDescr(&PyArray_Type, base->descr, base->nd, base->shape, base->strides, NULL, 0, NULL);
}

/* An access as a Python object: a new reference. */
static PyObject *object_of(const Access *access, Frame *frame, PyObject *const *args)
{
    switch (access->kind) {
        case OBJECT:
            return Py_NewRef(access->object);
        case GIVEN:
            return Py_NewRef(args[access->index]);
        case WHOLE:
            return Py_NewRef(frame->owners[access->index]);
        default:
            break;
    }
    char *data = frame->bases[access->index] + access->offset;
    PyObject *owner = frame->owners[access->index];
    if (access->scalar) {
        return PyArray_Scalar(data, access->descr, NULL);
    }
    /* what shows a scalar shows an array of that one number */
    PyObject *shown = PyArray_Check(owner) ? Py_NewRef(owner) : PyArray_FromScalar(owner, NULL);
    if (shown == NULL) {
        return NULL;
    }
    if (shown != owner) {
        data = PyArray_BYTES((PyArrayObject *)shown) + access->offset;
    }
    int flags = access->writable && PyArray_ISWRITEABLE((PyArrayObject *)shown) ? NPY_ARRAY_WRITEABLE : 0;
    Py_INCREF(access->descr);
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, access->descr, access->nd, access->shape, access->strides, data, flags, NULL);
    if (array == NULL) {
        Py_DECREF(shown);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, shown) < 0) {
        Py_CLEAR(array);
    }
    else if (access->kind == COPY) {
        Py_SETREF(array, PyArray_NewCopy((PyArrayObject *)array, NPY_KEEPORDER));
    }
    return array;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

enum outcome { FAILED = -1, DONE, ELSEWHERE };

static PyObject *as_tuple(PyObject *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

/* Hand an error of a kernel to the host, which raises a better one, or has the results in another way. */
static PyObject *explain(Table *self, const Step *step, PyObject *const *operands, PyObject *const *args)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *given = as_tuple(operands, step->noperands), *all = as_tuple(args, self->nargs), *results = NULL;
    if (given != NULL && all != NULL) {
        results = PyObject_CallFunction(self->failed, "OnOO", error, step->position, given, all);
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    Py_XDECREF(given);
    Py_XDECREF(all);
    return results;
}

/* Whether an array has its data in the block, which it must not keep. */
static int in_block(const Table *self, const Frame *frame, PyObject *object)
{
    if (!PyArray_Check(object)) {
        return 0;
    }
    const char *data = PyArray_BYTES((PyArrayObject *)object), *block = aligned(frame->memory);
    return data >= block && data < block + self->block;
}

static enum outcome store(Table *self, Frame *frame, const Step *step, PyObject *result)
{
    enum outcome outcome = DONE;
    PyObject *several = NULL;
    if (step->multi) {
        several = PySequence_Tuple(result);
        if (several == NULL || PyTuple_GET_SIZE(several) != step->nouts) {
            if (several != NULL) {
                PyErr_Format(PyExc_ValueError, "a kernel gave %zd results, not %zd", PyTuple_GET_SIZE(several), step->nouts);
            }
            Py_XDECREF(several);
            return FAILED;
        }
    }
    for (Py_ssize_t i = 0; i < step->nouts; i++) {
        PyObject *object = several == NULL ? result : PyTuple_GET_ITEM(several, i);
        const npy_intp b = step->outs[i];
        Py_XSETREF(frame->owners[b], Py_NewRef(object));
        if (!hold(frame, &self->bases[b], b, object) || in_block(self, frame, object)) {
            outcome = ELSEWHERE;
        }
    }
    Py_XDECREF(several);
    return outcome;
}

/* Call a kernel; if it raises, the `results` of the program are what the host gives in its place, if anything. */
static enum outcome call(Table *self, Frame *frame, const Step *step, PyObject *const *args, PyObject **results)
{
    PyObject *few[8], **given = few;
    if (step->noperands > 8 && (given = PyMem_Calloc((size_t)step->noperands, sizeof(PyObject *))) == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    enum outcome outcome = FAILED;
    Py_ssize_t made = 0;
    for (; made < step->noperands; made++) {
        if ((given[made] = object_of(&step->operands[made], frame, args)) == NULL) {
            goto done;
        }
    }
    const Py_ssize_t named = step->names == NULL ? 0 : PyTuple_GET_SIZE(step->names);
    PyObject *result = PyObject_Vectorcall(step->kernel, given, (size_t)(step->noperands - named), step->names);
    if (result != NULL) {
        outcome = store(self, frame, step, result);
        Py_DECREF(result);
    }
    if (outcome == FAILED) {
        *results = explain(self, step, given, args);
    }
done:
    while (made > 0) {
        Py_DECREF(given[--made]);
    }
    if (given != few) {
        PyMem_Free(given);
    }
    for (Py_ssize_t i = 0; outcome == DONE && i < step->nfrees; i++) {
        Py_CLEAR(frame->owners[step->frees[i]]);
    }
    return outcome;
}

/* Tiles of a step. */
typedef struct {
    const Table *self;
    const Frame *frame;
    const Step *step;
    Turns turns;
} Tiles;

static void run_tile(void *job, npy_intp tile, int thread)
{
    Tiles *all = job;
    const Table *self = all->self;
    const Step *step = all->step;
    char **bases = all->frame->bases + thread * self->nbases;
    if (thread) {
        memcpy(bases, all->frame->bases, (size_t)self->nbases * sizeof(char *));
        bases[self->own] += thread * rounded(self->scratch);
    }
    const Row *first = self->rows + step->first, *end = self->rows + step->end;
    rows_run_tile(first, end, bases, tile, tile + 1 == step->tiles ? step->rest : 0, all->turns.first < end ? &all->turns : NULL);
}

/* Run rows; REFUSED if contents are refused. */
static int run_step(const Table *self, const Frame *frame, const Step *step)
{
    int refused = 0;
    const Row *first = self->rows + step->first, *end = self->rows + step->end;
    PyThreadState *saved = step->release ? PyEval_SaveThread() : NULL;
    if (step->kind == TILES) {
        Tiles job = {self, frame, step, {first + step->sums, first + step->behind, 0}};
        share(run_tile, &job, step->tiles, step->shared);
    }
    else if (step->kind == CHECKED) {
        refused = rows_run_checked(first, end, frame->bases);
    }
    else {
        rows_run(first, end, self->shorts, frame->bases);
    }
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
    }
    return refused ? REFUSED : 0;
}

/* Whether rows met an overflow, a division by zero or an invalid operation since this was last asked. */
static int met_flags(void)
{
    const int flags = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID | FE_UNDERFLOW);
    if (flags) {
        feclearexcept(FE_ALL_EXCEPT);
    }
    return flags != 0;
}

/* Whether floating-point errors are to be raised; -1 with an exception. */
static int raises(const Table *self)
{
    PyObject *answer = PyObject_CallNoArgs(self->flagged);
    const int raise = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return raise;
}

/* The memory of each base as an array of bytes, None where there is none: the rest of a program finds its values there. */
static PyObject *buffers_of(Table *self, Frame *frame, const Extent *extents)
{
    PyObject *all = PyTuple_New(self->nbases);
    for (Py_ssize_t b = 0; all != NULL && b < self->nbases; b++) {
        PyObject *owner = frame->owners[b], *item = NULL;
        npy_intp size = extents[b].high - extents[b].low;
        if (owner == NULL || !PyArray_Check(owner) || size <= 0 || (self->bases[b].kind == SLOT && !lies_as((PyArrayObject *)owner, &self->bases[b]))) {
            item = Py_NewRef(Py_None);
        }
        else {
            item = PyArray_New(&PyArray_Type, 1, &size, NPY_UINT8, NULL, frame->bases[b] + extents[b].low, 0, 0, NULL);
            if (item != NULL && PyArray_SetBaseObject((PyArrayObject *)item, Py_NewRef(owner)) < 0) {
                Py_CLEAR(item);
            }
        }
        if (item == NULL) {
            Py_CLEAR(all);
            break;
        }
        PyTuple_SET_ITEM(all, b, item);
    }
    return all;
}

/* What each base is in Python, None where it is nothing. */
static PyObject *owners_of(Table *self, Frame *frame)
{
    PyObject *all = PyTuple_New(self->nbases);
    for (Py_ssize_t b = 0; all != NULL && b < self->nbases; b++) {
        PyTuple_SET_ITEM(all, b, Py_NewRef(frame->owners[b] == NULL ? Py_None : frame->owners[b]));
    }
    return all;
}

static void extents_of(const Table *self, Extent *extents);

/* Carry on in Python behind the instruction at a position. */
static PyObject *carry_on(Table *self, Frame *frame, Py_ssize_t position, PyObject *const *args)
{
    PyObject *result = NULL;
    Extent *extents = PyMem_Calloc((size_t)self->nbases + 1, sizeof(Extent));
    if (extents == NULL) {
        return PyErr_NoMemory();
    }
    extents_of(self, extents);
    PyObject *given = as_tuple(args, self->nargs), *owners = owners_of(self, frame), *buffers = buffers_of(self, frame, extents);
    if (given != NULL && owners != NULL && buffers != NULL) {
        result = PyObject_CallFunction(self->resume, "nOOO", position, given, owners, buffers);
    }
    Py_XDECREF(given);
    Py_XDECREF(owners);
    Py_XDECREF(buffers);
    PyMem_Free(extents);
    return result;
}

static PyObject *results_of(Table *self, Frame *frame, PyObject *const *args)
{
    PyObject *results = self->owned ? PyList_New(self->noutputs) : PyTuple_New(self->noutputs);
    for (Py_ssize_t i = 0; results != NULL && i < self->noutputs; i++) {
        PyObject *item = object_of(&self->outputs[i], frame, args);
        if (item == NULL) {
            Py_CLEAR(results);
        }
        else if (self->owned) {
            PyList_SET_ITEM(results, i, item);
        }
        else {
            PyTuple_SET_ITEM(results, i, item);
        }
    }
    return results;
}

/* Note where arguments lie and allocate results; 0 if the arguments are not what the table was made for. */
static int begin(Table *self, Frame *frame, PyObject *const *args)
{
    for (Py_ssize_t b = 0; b < self->nbases; b++) {
        const Base *base = &self->bases[b];
        if (base->kind == ARGUMENT) {
            if (!hold(frame, base, b, args[base->position])) {
                return 0;
            }
            frame->owners[b] = args[base->position];
        }
        else if (base->kind == FRESH) {
            if ((frame->owners[b] = fresh(base)) == NULL) {
                return -1;
            }
            frame->bases[b] = PyArray_BYTES((PyArrayObject *)frame->owners[b]);
        }
    }
    return 1;
}

static PyObject *run(Table *self, Frame *frame, PyObject *const *args)
{
    int flags = 0;
    const int begun = begin(self, frame, args);
    if (begun <= 0) {
        return begun < 0 ? NULL : PyObject_Vectorcall(self->fallback, args, (size_t)self->nargs, NULL);
    }
    for (Py_ssize_t i = 0; i < self->nsteps; i++) {
        const Step *step = &self->steps[i];
        if (step->kind != CALL) {
            if (run_step(self, frame, step) == REFUSED) {
                /* its kernel raises, or takes another way */
                return carry_on(self, frame, step->position - 1, args);
            }
            flags |= met_flags();
            continue;
        }
        PyObject *results = NULL;
        const enum outcome outcome = call(self, frame, step, args, &results);
        if (outcome == FAILED) {
            return results;
        }
        if (outcome == ELSEWHERE) {
            return carry_on(self, frame, step->position, args);
        }
    }
    const int raise = flags ? raises(self) : 0;
    if (raise) {
        return raise < 0 ? NULL : PyObject_Vectorcall(self->fallback, args, (size_t)self->nargs, NULL);
    }
    return results_of(self, frame, args);
}

static PyObject *table_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Table *self = (Table *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count != self->nargs || (names != NULL && PyTuple_GET_SIZE(names))) {
        return PyErr_Format(PyExc_TypeError, "the program takes %zd arguments, got %zd", self->nargs, count);
    }
    Frame *frame = frame_take(self);
    if (frame == NULL) {
        return NULL;
    }
    PyObject *results = run(self, frame, args);
    frame_release(self, frame);
    return results;
}

#include "_loop.h"
#include "_table.h"

static PyObject *ufunc_types(PyObject *NPY_UNUSED(module), PyObject *ufunc)
{
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        return PyErr_Format(PyExc_TypeError, "expected a ufunc");
    }
    PyUFuncObject *found = (PyUFuncObject *)ufunc;
    return PyBytes_FromStringAndSize(found->types, (Py_ssize_t)found->ntypes * found->nargs);
}

/* offset_in(view, whole): how many bytes a view's first element lies behind another array's; None if they share none. */
static PyObject *offset_in(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyObject *arrays[2];
    Extent extents[2];
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &arrays[0], &PyArray_Type, &arrays[1])) {
        return NULL;
    }
    PyArrayObject *view = (PyArrayObject *)arrays[0], *whole = (PyArrayObject *)arrays[1];
    for (int i = 0; i < 2; i++) {
        PyArrayObject *array = (PyArrayObject *)arrays[i];
        reach_of(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array), &extents[i]);
    }
    const npy_intp offset = PyArray_BYTES(view) - PyArray_BYTES(whole);
    if (extents[0].low == extents[0].high || extents[1].low == extents[1].high ||
        offset + extents[0].low >= extents[1].high || offset + extents[0].high <= extents[1].low) {
        Py_RETURN_NONE;
    }
    return PyLong_FromSsize_t(offset);
}

static PyObject *use_trtrs(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyObject *capsules[2];
    void *found[2];
    if (!PyArg_ParseTuple(args, "OO", &capsules[0], &capsules[1])) {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        if (!PyCapsule_CheckExact(capsules[i]) ||
            (found[i] = PyCapsule_GetPointer(capsules[i], PyCapsule_GetName(capsules[i]))) == NULL) {
            return PyErr_Format(PyExc_TypeError, "expected two capsules");
        }
    }
    return PyBool_FromLong(set_trtrs(found[0], found[1]));
}

static PyMethodDef methods[] = {
    {"use_blas", use_blas, METH_VARARGS, "Take the functions of OpenBLAS that tell and set how many threads it computes with."},
    {"use_threads", use_threads, METH_VARARGS, "Let so many threads share what goes through so many numbers, or more."},
    {"use_trtrs", use_trtrs, METH_VARARGS, "Take strtrs and dtrtrs of LAPACK from SciPy's capsules."},
    {"offset_in", offset_in, METH_VARARGS, "How far an array lies behind another; None if they share no memory."},
    {"ufunc_types", ufunc_types, METH_O, "The type numbers of the loops of a ufunc, one loop after the other."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__executor(void)
{
    import_array();
    import_umath();
    if (PyType_Ready(&table_type) < 0) {
        return NULL;
    }
    PyObject *made = with(new_module("_executor", "The interpreter of the native executor.", methods), "Table", Py_NewRef((PyObject *)&table_type));
    made = with(made, "LOOPS", own_loops());
    made = with(made, "STEPS", fused_steps());
    made = with(made, "FUSES", PyLong_FromLong(fused_loop("fused_d_l", &(Loop){0})));
    made = with(made, "MAX_OPERANDS", PyLong_FromLong(MAX_OPERANDS));
    made = with(made, "MOST_TAKEN", PyLong_FromLong(MOST_TAKEN));
    return with(made, "MOST_TERMS", PyLong_FromLong(MOST_TERMS));
}
