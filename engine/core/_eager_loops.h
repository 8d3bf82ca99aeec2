/* Elementwise ops by NumPy's inner loops themselves (a part of _eager.c).
 *
 * A call of a ufunc on few numbers costs several times what they do: most of it is finding the loop. Which loop it is follows
 * from the dtypes, so it is asked for once (`engine.executor.loops` says which, if calling it gives the bits of NumPy's
 * call), and called as NumPy would call it. Where NumPy might have something to say, a number out of range, NumPy is called. */
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#else
#include <fenv.h>
#endif

#define WORTH_A_LOOP 8 /* how often a ufunc is called before its loop is looked for */
#define LOOP_SLOTS 512
#define LOOP_MOST 4096 /* numbers; beyond that NumPy's own call costs little, and lets other threads run */
#define LOOP_AXES 8
#define LOOP_LINES 64 /* so many lines of a broadcast operand are gone through one by one */
#define LOOP_SHORT 10 /* shorter lines are laid side by side in tiles: a call for each costs more than what it computes */
#define LOOP_TILE 512
#define LOOP_TILED_MOST (1 << 20) /* numbers; for longer no other thread should wait */

typedef struct {
    PyObject *ufunc;
    int type, calls, result;
    PyUFuncGenericFunction function; /* NULL if there is none to be called */
    void *data;
} EagerLoop;

static EagerLoop eager_loops[LOOP_SLOTS];
static PyObject *find_loop; /* find_loop(ufunc, dtypes) -> (index, number of the result's dtype), or None */

/* What has gone wrong with numbers since `loop_begins`: NumPy's warnings, or errors, depend on it. */
static inline void loop_begins(void)
{
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
#else
    feclearexcept(FE_ALL_EXCEPT);
#endif
}

static inline int loop_complains(void)
{
#if defined(__SSE2__)
    return (_mm_getcsr() & (0x01 | 0x04 | 0x08 | 0x10)) != 0; /* invalid, division by zero, overflow, underflow */
#else
    return fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID | FE_UNDERFLOW) != 0;
#endif
}

/* Ask for the loop of a ufunc whose operands all have one dtype. -1 on an error. */
static int look_for_loop(EagerLoop *loop, PyArray_Descr *dtype)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)loop->ufunc;
    PyObject *dtypes = ufunc->nin == 1 ? PyTuple_Pack(1, dtype) : PyTuple_Pack(2, dtype, dtype);
    PyObject *found = dtypes == NULL ? NULL : PyObject_CallFunctionObjArgs(find_loop, loop->ufunc, dtypes, NULL);
    int bad = found == NULL, index, result;
    if (!bad && found != Py_None) {
        bad = !PyArg_ParseTuple(found, "ii", &index, &result);
        if (!bad && index >= 0 && index < ufunc->ntypes && (result == loop->type || result == NPY_BOOL)) {
            loop->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[index];
            loop->result = result;
            loop->function = ufunc->functions[index];
        }
    }
    Py_XDECREF(dtypes);
    Py_XDECREF(found);
    return bad ? -1 : 0;
}

/* The loop of a ufunc, NULL if there is none to be called, or not yet. */
static EagerLoop *loop_for(PyObject *kernel, PyArray_Descr *dtype)
{
    /* ufuncs lie at regular distances: the high half of a product spreads them (Fibonacci hashing; Knuth, volume 3, 6.4) */
    const uint64_t at = ((uint64_t)(uintptr_t)kernel + (uint64_t)dtype->type_num) * 0x9E3779B97F4A7C15u >> 32;
    for (uint64_t i = 0; i < 32; i++) {
        EagerLoop *loop = &eager_loops[(at + i) % LOOP_SLOTS];
        if (loop->ufunc == NULL) {
            loop->ufunc = Py_NewRef(kernel);
            loop->type = dtype->type_num;
        }
        if (loop->ufunc == kernel && loop->type == dtype->type_num) {
            if (loop->calls < WORTH_A_LOOP && ++loop->calls == WORTH_A_LOOP && look_for_loop(loop, dtype) < 0) {
                return NULL;
            }
            return loop->function == NULL ? NULL : loop;
        }
    }
    return NULL;
}

/* An operand as a loop sees it. */
typedef struct {
    const char *data;
    int ndim, type;
    const npy_intp *dims, *strides;
    double number; /* of a NumPy scalar */
} LoopOperand;

/* Whether a loop may read an operand where it lies: a line, one number, or an array in C order. */
static int loop_operand(PyObject *x, LoopOperand *found)
{
    if (PyArray_CheckExact(x)) {
        PyArrayObject *array = (PyArrayObject *)x;
        found->data = PyArray_BYTES(array);
        found->ndim = PyArray_NDIM(array);
        found->type = PyArray_TYPE(array);
        found->dims = PyArray_DIMS(array);
        found->strides = PyArray_STRIDES(array);
        return PyArray_ISBEHAVED_RO(array) && found->ndim <= LOOP_AXES && (found->type == NPY_DOUBLE || found->type == NPY_FLOAT) &&
               (found->ndim == 1 ? found->strides[0] >= 0 : PyArray_IS_C_CONTIGUOUS(array));
    }
    *found = (LoopOperand){(const char *)&found->number, 0, PyArray_IsScalar(x, Double) ? NPY_DOUBLE : NPY_FLOAT, NULL, NULL, 0.0};
    if (PyArray_IsScalar(x, Double) || PyArray_IsScalar(x, Float)) {
        PyArray_ScalarAsCtype(x, &found->number);
        return 1;
    }
    return 0;
}

/* The operands' common shape, and how they go through it: its last axes are one axis where they can be. */
typedef struct {
    int ndim, axes;
    npy_intp shape[LOOP_AXES], dims[LOOP_AXES], steps[2][LOOP_AXES];
} Broadcast;

/* Whether operands are broadcast together here. */
static int is_broadcast(const LoopOperand *given, int nin, Broadcast *all)
{
    const int ndim = all->ndim = nin == 2 && given[1].ndim > given[0].ndim ? given[1].ndim : given[0].ndim;
    npy_intp size = all->dims[0] = 1;
    memset(all->steps, 0, sizeof all->steps);
    for (int d = 0; d < ndim; d++) {
        all->dims[d] = 1;
        for (int i = 0; i < nin; i++) {
            const int own = d - (ndim - given[i].ndim);
            const npy_intp n = own < 0 ? 1 : given[i].dims[own];
            if (n != 1 && all->dims[d] != 1 && n != all->dims[d]) {
                return 0;
            }
            all->dims[d] = n == 1 ? all->dims[d] : n;
            all->steps[i][d] = n == 1 ? 0 : given[i].strides[own];
        }
        size *= all->shape[d] = all->dims[d];
    }
    int last = ndim > 1 ? ndim - 1 : 0;
    npy_intp *dims = all->dims, *first = all->steps[0], *second = all->steps[1];
    for (; last && first[last - 1] == dims[last] * first[last] && second[last - 1] == dims[last] * second[last]; last--) {
        dims[last - 1] *= dims[last];
        first[last - 1] = first[last];
        second[last - 1] = second[last];
    }
    all->axes = last + 1;
    const npy_intp most = last && dims[last] < LOOP_SHORT ? LOOP_TILED_MOST : LOOP_MOST;
    return size >= 1 && size <= most && (dims[last] < LOOP_SHORT || size / dims[last] <= LOOP_LINES);
}

/* Some short lines of an operand: where they lie side by side, or copied into a tile. */
static char *side_by_side(const char *lines, npy_intp number, npy_intp length, npy_intp far, npy_intp step, npy_intp item, double *tile)
{
    if (step == item && far == length * item) {
        return (char *)lines;
    }
    for (npy_intp i = 0; i < number; i++) {
        for (npy_intp k = 0; k < length; k++) {
            const char *from = lines + i * far + k * step;
            if (item == 8) {
                tile[i * length + k] = *(const double *)from;
            }
            else {
                ((float *)tile)[i * length + k] = *(const float *)from;
            }
        }
    }
    return (char *)tile;
}

/* Call a loop as NumPy would, line by line if there are several; short lines tile by tile. */
static void loop_over_lines(
    const EagerLoop *loop, const LoopOperand *given, int nin, const Broadcast *all, char *out, npy_intp item, npy_intp result_item)
{
    const npy_intp *dims = all->dims, (*steps)[LOOP_AXES] = all->steps, length = dims[all->axes - 1];
    const int tiled = length < LOOP_SHORT && all->axes > 1, inner = all->axes - 1 - tiled;
    npy_intp at[LOOP_AXES] = {0}, along[3] = {tiled ? item : steps[0][inner], tiled ? item : steps[1][inner]};
    const char *args[2] = {given[0].data, nin == 2 ? given[1].data : NULL};
    double tiles[2][LOOP_TILE];
    along[nin] = result_item;
    for (;;) {
        npy_intp number = dims[inner];
        for (npy_intp done = 0; done < dims[inner]; done += number) {
            npy_intp count = number;
            char *now[3] = {(char *)args[0], (char *)args[1]};
            if (tiled) {
                number = LOOP_TILE / length < dims[inner] - done ? LOOP_TILE / length : dims[inner] - done;
                count = number * length;
                for (int i = 0; i < nin; i++) {
                    const npy_intp far = steps[i][inner];
                    now[i] = side_by_side(args[i] + done * far, number, length, far, steps[i][inner + 1], item, tiles[i]);
                }
            }
            now[nin] = out;
            out += count * result_item;
            loop->function(now, &count, along, loop->data);
        }
        int d = inner - 1;
        for (; d >= 0; d--) {
            args[0] += steps[0][d];
            args[1] += steps[1][d];
            if (++at[d] < dims[d]) {
                break;
            }
            args[0] -= steps[0][d] * dims[d];
            args[1] -= steps[1][d] * dims[d];
            at[d] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

/* What a ufunc gives, by its loop. NULL without an error where NumPy must be called. */
static PyObject *by_loop(PyObject *op, PyObject *const *arrays, Py_ssize_t nin)
{
    PyObject *kernel = slot(op, at_kernel);
    LoopOperand given[2];
    if (find_loop == NULL || Py_TYPE(kernel) != ufunc_type || nin < 1 || nin > 2 || ((PyUFuncObject *)kernel)->nin != nin ||
        ((PyUFuncObject *)kernel)->nout != 1) {
        return NULL;
    }
    for (int i = 0; i < nin; i++) {
        if (!loop_operand(arrays[i], &given[i]) || given[i].type != given[0].type) {
            return NULL;
        }
    }
    const int type = given[0].type;
    Broadcast all;
    /* in several lines a number lies elsewhere: the loop must give it the same bits there */
    if (!is_broadcast(given, (int)nin, &all) || (all.axes > 1 && slot(op, at_rounds) != Py_True)) {
        return NULL;
    }
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    EagerLoop *loop = loop_for(kernel, dtype);
    Py_DECREF(dtype);
    if (loop == NULL) {
        return NULL;
    }
    const npy_intp item = type == NPY_DOUBLE ? 8 : 4, result_item = loop->result == NPY_BOOL ? 1 : item;
    double number;
    char *data = (char *)&number;
    PyObject *out = NULL;
    if (all.ndim) {
        out = new_array(all.ndim, all.shape, loop->result);
        if (out == NULL) {
            return NULL;
        }
        data = PyArray_BYTES((PyArrayObject *)out);
    }
    loop_begins();
    loop_over_lines(loop, given, (int)nin, &all, data, item, result_item);
    if (loop_complains()) {
        Py_XDECREF(out);
        return NULL;
    }
    if (out == NULL) {
        /* one number comes as NumPy's scalar */
        PyArray_Descr *own = PyArray_DescrFromType(loop->result);
        out = PyArray_Scalar(data, own, NULL);
        Py_DECREF(own);
    }
    return out;
}

/* setup_loops(ufunc, find): from now on loops are called, unless `find` is None; returns the `find` before. */
static PyObject *setup_loops(PyObject *module, PyObject *args)
{
    PyObject *type, *find, *before = find_loop == NULL ? Py_None : find_loop;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &find)) {
        return NULL;
    }
    /* never let go of: it is one of a few, and somebody may be calling it */
    ufunc_type = (PyTypeObject *)Py_NewRef(type);
    find_loop = find == Py_None ? NULL : Py_NewRef(find);
    return Py_NewRef(before);
}

/* loops(): the ufuncs whose loops are called, each with the letter of a dtype. */
static PyObject *loops(PyObject *module, PyObject *nothing_given)
{
    (void)module;
    (void)nothing_given;
    PyObject *found = PyList_New(0);
    for (int i = 0; found != NULL && i < LOOP_SLOTS; i++) {
        const EagerLoop *loop = &eager_loops[i];
        if (loop->function != NULL && push(found, Py_BuildValue("(Os)", loop->ufunc, loop->type == NPY_FLOAT ? "f" : "d")) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}
