/* Eager ops, their recording, and the key of a recording, in C (engine/core/eager.py, tape.py and engine/closed/replay.py say what for).
 *
 * Everything here is done by these modules too, with the same results: what is not the common case goes to them. The classes
 * are Python's; where their slots lie is asked of their descriptors when the module is set up, once.
 *
 * Between two changes of a recording no Python code runs, so neither an interrupt nor another thread comes between them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include "../runtime/built_from.h"
#include "../runtime/row_sums.h"

#define SMALL 65504.0 /* what fits into each floating dtype */
#define MOST 16 /* operands and parameters that are dealt with here */

/* What `setup` is given. The module lives as long as the process. */
static PyTypeObject *eager_type, *value_type, *op_type, *tape_type, *recording_type, *seen_type, *dtype_type;
static PyTypeObject *ufunc_type;
static PyTypeObject *variable_type; /* NULL as long as there are none */
static PyObject *active, *accept, *failed, *beside_of, *enter_slowly, *nothing;
static PyObject *caller, *caller_of_one, *caller_of_two;
static PyObject *distinct_of, *leaf_of, *array_of;
static PyObject *name_dict, *name_tapes, *name_enter, *name_snapshot, *name_spec, *empty;
static npy_intp left_from = NPY_MAX_INTP; /* elements of an operand from which on an op is left to Python; 0: each op */
static Py_ssize_t at_array, at_kernel, at_accepted, at_multi, at_vjp, at_tracked, at_nodes, at_nondifferentiable, at_log, at_recording, at_rounds;

static int cycles_may_be; /* whether any tensor has been given attributes */

static PyObject *slot(PyObject *object, Py_ssize_t offset)
{
    return *(PyObject **)((char *)object + offset);
}

/* ---- tensors and arrays ------------------------------------------------------------------------------------------ */

/* Spare the collector what is part of no cycle. Recordings make so many objects that it would look at all others again and again. */
static PyObject *not_collected(PyObject *x)
{
    if (x != NULL) {
        PyObject_GC_UnTrack(x);
    }
    return x;
}

static PyObject *wrapped(PyObject *array)
{
    PyObject *tensor = eager_type->tp_alloc(eager_type, 0);
    if (tensor != NULL) {
        *(PyObject **)((char *)tensor + at_array) = Py_NewRef(array);
    }
    return not_collected(tensor);
}

/* Attributes of a tensor: one that is given some may be part of a cycle, also of one through what is recorded from now on. */
static int set_attribute(PyObject *x, PyObject *name, PyObject *value)
{
    const int is_tensor = Py_TYPE(x) == eager_type && value != NULL, is_new = is_tensor && slot(x, at_array) == NULL;
    if (is_tensor && !is_new && !PyObject_GC_IsTracked(x)) {
        PyObject_GC_Track(x);
        cycles_may_be = 1;
    }
    const int bad = PyObject_GenericSetAttr(x, name, value);
    if (is_new && slot(x, at_array) != NULL) {
        not_collected(x);
    }
    return bad;
}

static int is_eager(PyObject *x)
{
    return Py_TYPE(x) == eager_type && slot(x, at_array) != NULL;
}

/* Whether ops on an array are left to Python. */
static int is_left(PyObject *array)
{
    return left_from < NPY_MAX_INTP && PyArray_CheckExact(array) && PyArray_SIZE((PyArrayObject *)array) >= left_from;
}

/* Whether two arrays, broadcast together, are. */
static int are_left(PyObject *a, PyObject *b)
{
    if (left_from == NPY_MAX_INTP || !PyArray_CheckExact(a) || !PyArray_CheckExact(b)) {
        return 0;
    }
    const PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
    npy_intp size = 1;
    for (int i = 1; i <= PyArray_NDIM(x) || i <= PyArray_NDIM(y); i++) {
        const npy_intp m = i > PyArray_NDIM(x) ? 1 : PyArray_DIM(x, PyArray_NDIM(x) - i);
        const npy_intp n = i > PyArray_NDIM(y) ? 1 : PyArray_DIM(y, PyArray_NDIM(y) - i);
        size *= m == 1 ? n : m;
    }
    return size >= left_from;
}

/* The dtype of an array or NumPy scalar, a new reference; NULL without an error if it has none. */
static PyObject *dtype_of(PyObject *x)
{
    if (PyArray_CheckExact(x)) {
        return Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)x));
    }
    if (PyArray_IsScalar(x, Generic)) {
        const int number = Py_TYPE(x) == &PyDoubleArrType_Type ? NPY_DOUBLE : Py_TYPE(x) == &PyFloatArrType_Type ? NPY_FLOAT : NPY_NOTYPE;
        return (PyObject *)(number == NPY_NOTYPE ? PyArray_DescrFromScalar(x) : PyArray_DescrFromType(number));
    }
    return NULL;
}

#include "_eager_memory.h"
#include "_eager_tracked.h"

#include "_eager_recording.h"

/* ---- applying an op ---------------------------------------------------------------------------------------------- */

/* One application: operands, and parameters either as keywords behind the operands or as a dict. */
typedef struct {
    PyObject *op;
    PyObject *const *inputs;
    Py_ssize_t count;
    PyObject *names;  /* of the keywords, or NULL */
    PyObject *tuple;  /* of the operands, if there is one by now */
    PyObject *params; /* the dict, if there is one by now */
    int only_known;   /* whether others deal with dtypes that have not been accepted yet */
} Application;

static PyObject *tuple_of(Application *a)
{
    if (a->tuple == NULL) {
        int arrays_alone = !cycles_may_be;
        a->tuple = PyTuple_New(a->count);
        for (Py_ssize_t i = 0; a->tuple != NULL && i < a->count; i++) {
            PyObject *x = Py_NewRef(a->inputs[i]);
            PyTuple_SET_ITEM(a->tuple, i, x);
            arrays_alone &= PyArray_CheckExact(x) || (Py_TYPE(x) == eager_type && !PyObject_GC_IsTracked(x));
        }
        if (arrays_alone) {
            not_collected(a->tuple);
        }
    }
    return a->tuple;
}

static PyObject *params_of(Application *a)
{
    if (a->params == NULL) {
        a->params = PyDict_New();
        const Py_ssize_t number = a->names == NULL ? 0 : PyTuple_GET_SIZE(a->names);
        for (Py_ssize_t i = 0; a->params != NULL && i < number; i++) {
            if (PyDict_SetItem(a->params, PyTuple_GET_ITEM(a->names, i), a->inputs[a->count + i]) < 0) {
                Py_CLEAR(a->params);
            }
        }
    }
    return a->params;
}

static void done_with(Application *a)
{
    Py_XDECREF(a->tuple);
    Py_XDECREF(a->params);
}

static PyObject *list_of(PyObject *const *items, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(items[i]));
    }
    return list;
}

static int push(PyObject *list, PyObject *item)
{
    const int bad = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return bad;
}

/* Hand the error of a kernel to Python, which raises a better one. */
static void explain(Application *a, PyObject *const *arrays)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *given = list_of(arrays, a->count), *params = params_of(a);
    PyObject *done = NULL;
    if (given != NULL && params != NULL) {
        done = PyObject_CallFunctionObjArgs(failed, error, a->op, given, params, NULL);
    }
    Py_XDECREF(given);
    if (done != NULL) {
        Py_DECREF(done);
        PyErr_Restore(type, error, traceback);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

/* Combinations that were found accepted: an op and the dtypes of one or two operands, never let go of while they are here. */
#define REMEMBERED 256
static struct accepted {
    PyObject *op, *first, *second; /* `second` may be NULL */
} remembered[REMEMBERED];

static struct accepted *place_of_accepted(const PyObject *op, const PyObject *first, const PyObject *second)
{
    const uint64_t mixed = ((uint64_t)(uintptr_t)op >> 4) * 31 + ((uint64_t)(uintptr_t)first >> 4) * 7 + ((uint64_t)(uintptr_t)second >> 4);
    return &remembered[(mixed * UINT64_C(0x9E3779B97F4A7C15) >> 32) % REMEMBERED];
}

/* Whether abstract evaluation has accepted these dtypes, and nothing else counts. */
static int known(PyObject *op, PyObject *const *arrays, Py_ssize_t count)
{
    PyObject *accepted = slot(op, at_accepted), *dtypes[MOST];
    if (accepted == NULL || !PySet_Check(accepted)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((dtypes[i] = dtype_of(arrays[i])) == NULL) {
            while (i > 0) {
                Py_DECREF(dtypes[--i]);
            }
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    struct accepted *place = count > 2 ? NULL : place_of_accepted(op, dtypes[0], count == 2 ? dtypes[1] : NULL);
    int found = place != NULL && place->op == op && place->first == dtypes[0] && place->second == (count == 2 ? dtypes[1] : NULL);
    if (!found) {
        PyObject *key = count == 1 ? Py_NewRef(dtypes[0]) : list_of(dtypes, count);
        if (key != NULL && count > 1) {
            Py_SETREF(key, PyList_AsTuple(key));
        }
        found = key == NULL ? -1 : PySet_Contains(accepted, key);
        Py_XDECREF(key);
        if (found > 0 && place != NULL) {
            const struct accepted before = *place;
            *place = (struct accepted){Py_NewRef(op), Py_NewRef(dtypes[0]), count == 2 ? Py_NewRef(dtypes[1]) : NULL};
            Py_XDECREF(before.op);
            Py_XDECREF(before.first);
            Py_XDECREF(before.second);
        }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(dtypes[i]);
    }
    return found;
}

/* What an op gives, as tensors, recorded. */
static PyObject *finished(Application *a, PyObject *result)
{
    PyObject *out;
    if (slot(a->op, at_multi) == Py_True) {
        PyObject *parts = PySequence_Fast(result, "an op with several results gives a sequence of them");
        if (parts == NULL) {
            return NULL;
        }
        out = PyTuple_New(PySequence_Fast_GET_SIZE(parts));
        for (Py_ssize_t i = 0; out != NULL && i < PyTuple_GET_SIZE(out); i++) {
            PyObject *part = wrapped(PySequence_Fast_GET_ITEM(parts, i));
            if (part == NULL) {
                Py_CLEAR(out);
                break;
            }
            PyTuple_SET_ITEM(out, i, part);
        }
        Py_DECREF(parts);
    }
    else {
        out = wrapped(result);
    }
    PyObject *tapes = out == NULL ? NULL : recording_tapes();
    if (tapes == NULL) {
        Py_XDECREF(out);
        return NULL;
    }
    if (PyTuple_GET_SIZE(tapes)) {
        PyObject *inputs = tuple_of(a), *params = inputs == NULL ? NULL : a->names == NULL && a->params == NULL ? nothing : params_of(a);
        if (params == NULL || record(tapes, a->op, inputs, params, out) < 0) {
            Py_CLEAR(out);
        }
    }
    Py_DECREF(tapes);
    return out;
}

enum raw { NOT_HERE, ARRAYS, SHAPES };

/* What the kernel takes of an application, borrowed: operands, then keywords. */
static enum raw raw_operands(const Application *a, PyObject **arrays)
{
    const Py_ssize_t number = a->names == NULL ? 0 : PyTuple_GET_SIZE(a->names);
    enum raw found = ARRAYS;
    if (left_from == 0 || a->count < 1 || a->count + number > MOST || slot(a->op, at_kernel) == NULL) {
        return NOT_HERE;
    }
    for (Py_ssize_t i = 0; i < a->count; i++) {
        PyObject *x = a->inputs[i];
        if (is_eager(x)) {
            arrays[i] = slot(x, at_array);
            if (is_left(arrays[i]) || (i == 1 && are_left(arrays[0], arrays[1]))) {
                return NOT_HERE;
            }
        }
        else if (PyArray_CheckExact(x)) {
            arrays[i] = x;
        }
        else if (PyTuple_CheckExact(x)) {
            arrays[i] = x;
            found = SHAPES;
        }
        else {
            return NOT_HERE;
        }
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        arrays[a->count + i] = a->inputs[a->count + i];
    }
    return found;
}

/* What a kernel gives, with keywords behind the operands or in a dict. There is room for one object before the operands.
 *
 * NumPy says whose fault a warning is by the innermost function of Python, and ours are silent (engine/__init__.py). So what
 * is no such function is called by one. */
static PyObject *called(PyObject *kernel, PyObject **args, Py_ssize_t count, PyObject *names, PyObject *params)
{
    PyObject *function = kernel, *before = args[-1];
    if (!PyFunction_Check(kernel)) {
        function = caller;
        args[-1] = kernel;
        args--;
        count++;
    }
    Py_INCREF(kernel);
    PyObject *result;
    if (params != NULL && PyDict_GET_SIZE(params)) {
        result = PyObject_VectorcallDict(function, args, (size_t)count, params);
    }
    else if (function == caller && names == NULL && count <= 3) {
        result = PyObject_Vectorcall(count == 2 ? caller_of_one : caller_of_two, args, (size_t)count, NULL);
    }
    else {
        result = PyObject_Vectorcall(function, args, (size_t)count, names);
    }
    Py_DECREF(kernel);
    if (function == caller) {
        args[0] = before;
    }
    return result;
}

#include "_eager_loops.h"

static int any_large(PyObject *const *arrays, Py_ssize_t count)
{
    int found = 0;
    for (Py_ssize_t i = 0; !found && i < count; i++) {
        found = PyArray_CheckExact(arrays[i]) && PyArray_NBYTES((PyArrayObject *)arrays[i]) >= MEMORY_WORTH;
    }
    return found;
}

/* What the kernel gives; there is room for one more before the arrays. */
static PyObject *raw_result(Application *a, PyObject **arrays, int have_dtypes)
{
    const int is_known = have_dtypes ? known(a->op, arrays, a->count) : 0;
    if (is_known < 0) {
        return NULL;
    }
    if (!is_known && a->only_known) {
        return NULL;
    }
    if (!is_known) {
        PyObject *list = list_of(arrays, a->count), *params = params_of(a), *done = NULL;
        if (list != NULL && params != NULL) {
            done = PyObject_CallFunctionObjArgs(accept, a->op, list, params, NULL);
        }
        Py_XDECREF(list);
        if (done == NULL) {
            return NULL;
        }
        Py_DECREF(done);
    }
    const int plain = a->names == NULL && (a->params == NULL || PyDict_GET_SIZE(a->params) == 0);
    PyObject *result = plain ? by_loop(a->op, arrays, a->count) : NULL;
    if (result == NULL && !PyErr_Occurred()) {
        PyObject *before = any_large(arrays, a->count) ? memory_begins() : NULL;
        result = called(slot(a->op, at_kernel), arrays, a->count, a->names, a->names == NULL ? a->params : NULL);
        memory_ends(before);
    }
    if (result == NULL) {
        explain(a, arrays);
    }
    return result;
}

/* Apply an op to tensors and arrays. NULL without an error if something else is among the operands. */
static PyObject *applied(Application *a)
{
    PyObject *given[MOST + 1], **arrays = given + 1;
    given[0] = NULL;
    const int raw = raw_operands(a, arrays);
    if (raw == NOT_HERE) {
        return NULL;
    }
    /* whatever a kernel does, its operands stay */
    for (Py_ssize_t i = 0; i < a->count; i++) {
        Py_INCREF(arrays[i]);
    }
    PyObject *result = raw_result(a, arrays, raw == ARRAYS);
    for (Py_ssize_t i = 0; i < a->count; i++) {
        Py_DECREF(arrays[i]);
    }
    PyObject *out = result == NULL ? NULL : finished(a, result);
    Py_XDECREF(result);
    return out;
}

/* The same by Python: `enter_slowly(first, op, inputs, params)`, where `first` decides unless another operand does. */
static PyObject *elsewhere(Application *a, PyObject *first)
{
    PyObject *inputs = tuple_of(a), *params = inputs == NULL ? NULL : params_of(a);
    if (params == NULL) {
        return NULL;
    }
    if (Py_TYPE(first) == eager_type) {
        return PyObject_CallFunctionObjArgs(enter_slowly, first, a->op, inputs, params, NULL);
    }
    return PyObject_CallMethodObjArgs(first, name_enter, a->op, inputs, params, NULL);
}

static PyObject *applied_or_elsewhere(Application *a, PyObject *first)
{
    PyObject *out = Py_TYPE(first) == eager_type ? applied(a) : NULL;
    if (out == NULL && !PyErr_Occurred()) {
        out = elsewhere(a, first);
    }
    done_with(a);
    return out;
}

static PyObject *called_with_many(PyObject *kernel, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const Py_ssize_t number = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject **given = PyMem_Malloc((size_t)(1 + count + number) * sizeof(PyObject *));
    if (given == NULL) {
        return PyErr_NoMemory();
    }
    given[0] = kernel;
    memcpy(given + 1, args, (size_t)(count + number) * sizeof(PyObject *));
    PyObject *result = PyObject_Vectorcall(caller, given, (size_t)count + 1, names);
    PyMem_Free(given);
    return result;
}

/* The tensor that ops work on in place of a variable, a new reference; of anything else, itself. */
static PyObject *as_read(PyObject *x)
{
    return Py_TYPE(x) == variable_type ? PyObject_CallMethodNoArgs(x, name_snapshot) : Py_NewRef(x);
}

/* Whether some values are tensors, and variables that are read first. */
static int must_be_read(PyObject *const *inputs, Py_ssize_t count)
{
    int found = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (Py_TYPE(inputs[i]) == variable_type) {
            found = 1;
        }
        else if (!is_eager(inputs[i])) {
            return 0;
        }
    }
    return found;
}

/* Apply an op to tensors and variables, which are read in their order. */
static PyObject *applied_to_read(PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    const Py_ssize_t number = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *inputs[MOST], *out = NULL;
    Py_ssize_t read = 0;
    memcpy(inputs + count, args + count, (size_t)number * sizeof(PyObject *));
    while (read < count && (inputs[read] = as_read(args[read])) != NULL) {
        read++;
    }
    if (read == count) {
        Application a = {op, inputs, count, names, NULL, NULL, 0};
        out = applied_or_elsewhere(&a, inputs[0]);
    }
    while (read > 0) {
        Py_DECREF(inputs[--read]);
    }
    return out;
}

/* `Op.__call__`. */
static PyObject *op_call(PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyObject_TypeCheck(args[i], value_type)) {
            if (count + (names == NULL ? 0 : PyTuple_GET_SIZE(names)) <= MOST && must_be_read(args, count)) {
                return applied_to_read(op, args, count, names);
            }
            Application a = {op, args, count, names, NULL, NULL, 0};
            return applied_or_elsewhere(&a, args[i]);
        }
    }
    PyObject *kernel = slot(op, at_kernel);
    const Py_ssize_t number = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (kernel == NULL) {
        return PyErr_Format(PyExc_AttributeError, "the op has no kernel");
    }
    if (PyFunction_Check(kernel)) {
        return PyObject_Vectorcall(kernel, args, (size_t)count, names);
    }
    if (count < 1 || count + number > MOST) {
        return called_with_many(kernel, args, count, names);
    }
    PyObject *result = names == NULL && left_from ? by_loop(op, args, count) : NULL;
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    PyObject *given[MOST + 1];
    given[0] = NULL;
    memcpy(given + 1, args, (size_t)(count + number) * sizeof(PyObject *));
    return called(kernel, given + 1, count, names, NULL);
}

/* `EagerTensor._enter`. */
static PyObject *enter(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || Py_TYPE(args[0]) != op_type || !PyTuple_CheckExact(args[1]) || !PyDict_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "_enter: takes an op, a tuple and a dict");
        return NULL;
    }
    Application a = {args[0], &PyTuple_GET_ITEM(args[1], 0), PyTuple_GET_SIZE(args[1]), NULL, Py_NewRef(args[1]), Py_NewRef(args[2]), 0};
    return applied_or_elsewhere(&a, self);
}

#include "_eager_steps.h"

#include "_eager_operators.h"
#include "_eager_functions.h"
#include "_eager_keys.h"

/* ---- the module -------------------------------------------------------------------------------------------------- */

static PyObject *wrap(PyObject *module, PyObject *array)
{
    (void)module;
    return wrapped(array);
}

/* Where a slot of a class lies. */
static int offset_of(PyObject *type, const char *name, Py_ssize_t *found)
{
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    if (descriptor == NULL) {
        return -1;
    }
    const int fits = Py_TYPE(descriptor) == &PyMemberDescr_Type;
    if (fits) {
        *found = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    else {
        PyErr_Format(PyExc_TypeError, "the class has no slot `%s`", name);
    }
    Py_DECREF(descriptor);
    return fits ? 0 : -1;
}

static PyMethodDef op_methods[] = {
    {"__call__", (PyCFunction)(void (*)(void))op_call, METH_FASTCALL | METH_KEYWORDS,
        "Apply the op. Raw operands give raw results; otherwise the most abstract operand decides."},
};
static PyMethodDef eager_methods[] = {
    {"_enter", (PyCFunction)(void (*)(void))enter, METH_FASTCALL, "Apply an op to operands, the first value among which is this one."},
};

static int set_method(PyObject *type, PyMethodDef *method)
{
    PyObject *descriptor = PyDescr_NewMethod((PyTypeObject *)type, method);
    const int bad = descriptor == NULL ? -1 : PyObject_SetAttrString(type, method->ml_name, descriptor);
    Py_XDECREF(descriptor);
    return bad;
}

/* setup(EagerTensor, Value, Op, Tape, Recording, Seen, active, accept, failed, nondifferentiable, slowly, nothing,
 * of_one, of_two, of_any) */
static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *eager, *value, *op, *tape, *recording, *seen, *given[9];
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOO", &eager, &value, &op, &tape, &recording, &seen, &given[0], &given[1], &given[2],
            &given[3], &given[4], &given[5], &given[6], &given[7], &given[8])) {
        return NULL;
    }
    if (offset_of(eager, "_array", &at_array) < 0 || offset_of(op, "kernel", &at_kernel) < 0 ||
        offset_of(op, "accepted", &at_accepted) < 0 || offset_of(op, "multi", &at_multi) < 0 ||
        offset_of(op, "vjp", &at_vjp) < 0 || offset_of(tape, "tracked", &at_tracked) < 0 ||
        offset_of(tape, "nodes", &at_nodes) < 0 || offset_of(tape, "nondifferentiable", &at_nondifferentiable) < 0 ||
        offset_of(recording, "log", &at_log) < 0 || offset_of(seen, "recording", &at_recording) < 0 ||
        offset_of(op, "rounds_correctly", &at_rounds) < 0) {
        return NULL;
    }
    PyObject *threads = PyImport_ImportModule("_thread"), *local = threads == NULL ? NULL : PyObject_GetAttrString(threads, "_local");
    by_thread = local == NULL ? -1 : PyObject_IsInstance(given[0], local);
    Py_XDECREF(threads);
    Py_XDECREF(local);
    if (by_thread < 0) {
        return NULL;
    }
    PyTypeObject **types[6] = {&eager_type, &value_type, &op_type, &tape_type, &recording_type, &seen_type};
    PyObject *classes[6] = {eager, value, op, tape, recording, seen};
    for (int i = 0; i < 6; i++) {
        *types[i] = (PyTypeObject *)Py_NewRef(classes[i]);
    }
    PyObject **into[9] = {
        &active, &accept, &failed, &beside_of, &enter_slowly, &nothing, &caller_of_one, &caller_of_two, &caller};
    for (int i = 0; i < 9; i++) {
        *into[i] = Py_NewRef(given[i]);
    }
    if (set_method(op, op_methods) < 0 || set_method(eager, eager_methods) < 0) {
        return NULL;
    }
    eager_type->tp_setattro = set_attribute;
    Py_RETURN_NONE;
}

/* setup_structure(DType, distinct, leaf, array) */
static PyObject *setup_structure(PyObject *module, PyObject *args)
{
    PyObject *dtype;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO", &dtype, &distinct_of, &leaf_of, &array_of)) {
        return NULL;
    }
    dtype_type = (PyTypeObject *)Py_NewRef(dtype);
    Py_INCREF(distinct_of);
    Py_INCREF(leaf_of);
    Py_INCREF(array_of);
    Py_RETURN_NONE;
}

/* setup_variable(Variable): the class of variables that are read before ops are applied. */
static PyObject *setup_variable(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type) || eager_type == NULL) {
        return PyErr_Format(PyExc_TypeError, "setup_variable: takes a class");
    }
    variable_type = (PyTypeObject *)Py_NewRef(type);
    PyObject *known = PyObject_GetAttrString((PyObject *)eager_type, "__dict__"), *all = NULL;
    if (known == NULL || (all = PyMapping_Items(known)) == NULL) {
        Py_XDECREF(known);
        return NULL;
    }
    int bad = 0;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(all); i++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(all, i), 0), *item = PyTuple_GET_ITEM(PyList_GET_ITEM(all, i), 1);
        if (Py_TYPE(item) == operator_type) {
            PyObject *own = PyObject_GetAttr(type, name);
            /* not those that the class has of its own */
            bad = own == NULL || (own == ((Operator *)item)->slow && PyObject_SetAttr(type, name, item) < 0);
            Py_XDECREF(own);
        }
    }
    Py_DECREF(all);
    Py_DECREF(known);
    return bad ? NULL : Py_NewRef(Py_None);
}

static PyObject *pause_from(PyObject *module, PyObject *least)
{
    (void)module;
    const Py_ssize_t from = PyLong_AsSsize_t(least);
    if (from == -1 && PyErr_Occurred()) {
        return NULL;
    }
    left_from = from < 0 ? NPY_MAX_INTP : from;
    Py_RETURN_NONE;
}

/* Sums over the middle one of three axes: arrays in C order, of which the second one is zeros. */
static PyObject *add_rows(PyObject *module, PyObject *args)
{
    PyArrayObject *x, *states;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &x, &PyArray_Type, &states)) {
        return NULL;
    }
    const int type = PyArray_TYPE(x);
    if (PyArray_NDIM(x) != 3 || PyArray_NDIM(states) != 2 || (type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_TYPE(states) != type ||
        !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISCARRAY(states) || PyArray_DIM(states, 0) != PyArray_DIM(x, 0)) {
        PyErr_SetString(PyExc_ValueError, "add_rows takes arrays of one real type in C order, with three axes and two");
        return NULL;
    }
    const npy_intp rows = PyArray_DIM(x, 1), columns = PyArray_DIM(x, 2), width = PyArray_DIM(states, 1), step = columns * PyArray_ITEMSIZE(x);
    if (width != columns && width != 2 + 2 * columns) {
        PyErr_SetString(PyExc_ValueError, "add_rows takes sums or states of sums in blocks");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp n = 0; n < PyArray_DIM(x, 0); n++) {
        const char *from = PyArray_BYTES(x) + n * rows * step;
        char *to = PyArray_BYTES(states) + n * PyArray_STRIDE(states, 0);
        if (type == NPY_FLOAT) {
            (width == columns ? add_rows_f : add_blocks_f)(rows, columns, from, step, (npy_float *)to);
        }
        else {
            (width == columns ? add_rows_d : add_blocks_d)(rows, columns, from, step, (npy_double *)to);
        }
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"add_rows", add_rows, METH_VARARGS, "add_rows(x, sums): add the rows of x, along axis 1, to sums, or to states of sums in blocks."},
    {"pause", pause_from, METH_O, "pause(least): leave ops on tensors of so many elements or more to Python; none if it is negative."},
    {"setup_variable", setup_variable, METH_O, "setup_variable(Variable): variables that are read before ops are applied."},
    {"setup", setup, METH_VARARGS, "setup(...): the classes and functions of Python that this is about."},
    {"setup_structure", setup_structure, METH_VARARGS, "setup_structure(DType, distinct, leaf, array): what keys are made with."},
    {"setup_memory", setup_memory, METH_O, "setup_memory(bytes): keep memory of results, up to so many bytes that nobody uses."},
    {"in_own_memory", (PyCFunction)(void (*)(void))in_own_memory, METH_FASTCALL,
        "in_own_memory(function, *arguments): call it while arrays get memory that is used again."},
    {"setup_loops", setup_loops, METH_VARARGS, "setup_loops(ufunc, find): which loops elementwise ops call."},
    {"loops", loops, METH_NOARGS, "loops(): the ufuncs whose loops are called, each with a letter for the dtype."},
    {"operator", make_operator, METH_VARARGS, "operator(op, slow, reflected, index): a method of tensors that applies an op."},
    {"structure", structure, METH_O, "structure(log): values and key of a recording."},
    {"arrays_of", (PyCFunction)(void (*)(void))arrays_of, METH_FASTCALL, "arrays_of(values, places): the arrays behind some values."},
    {"places", (PyCFunction)(void (*)(void))places, METH_FASTCALL, "places(values, some): where some values stand among others."},
    {"apply_all", (PyCFunction)(void (*)(void))apply_all, METH_FASTCALL, "apply_all(steps, values): apply ops to values by number."},
    {"record_all", (PyCFunction)(void (*)(void))record_all, METH_FASTCALL, "record_all(steps, values): record ops on values by number."},
    {"shortcut", shortcut, METH_VARARGS, "shortcut(function, target, ...): let calls that need no conversion go to the target."},
    {"wrap", wrap, METH_O, "wrap(array): the tensor of an array."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__eager(void)
{
    import_array();
    if (begin_memory() < 0) {
        return NULL;
    }
    PyObject *spec = PyUnicode_InternFromString("spec");
    name_dict = PyUnicode_InternFromString("__dict__");
    name_tapes = PyUnicode_InternFromString("tapes");
    name_enter = PyUnicode_InternFromString("_enter");
    name_snapshot = PyUnicode_InternFromString("_snapshot");
    name_shortcut = PyUnicode_InternFromString("__shortcut__");
    name_spec = spec == NULL ? NULL : PyTuple_Pack(1, spec);
    empty = PyTuple_New(0);
    operator_type = (PyTypeObject *)PyType_FromSpec(&operator_type_spec);
    tracked_type = (PyTypeObject *)PyType_FromSpec(&tracked_type_spec);
    key_type = (PyTypeObject *)PyType_FromSpec(&key_type_spec);
    Py_XDECREF(spec);
    if (name_dict == NULL || name_shortcut == NULL || name_tapes == NULL || name_enter == NULL || name_snapshot == NULL || name_spec == NULL || empty == NULL ||
        operator_type == NULL || tracked_type == NULL || key_type == NULL) {
        return NULL;
    }
    return with(new_module("_eager", "Eager ops and their recording.", methods), "Tracked", Py_NewRef((PyObject *)tracked_type));
}
