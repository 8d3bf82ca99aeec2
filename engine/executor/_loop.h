/* Loops: a table that runs once for each step, without a return to Python. Included by _executor.c only.
 *
 * Its first arguments are carried from step to step, the next ones are rows of sequences, the others stay. Its first results are
 * the new carries, all others are stacked. Whatever is not as a loop needs it is refused before the first step, or the whole loop
 * is: then it runs in Python, which raises what there is to raise.
 *
 * A carry of which a step writes entries is no copy from step to step, but one array of the loop's own. The last results say what
 * is written: for each entry its place, and what goes there. They are read when all else of the step is done.
 */

/* A table about to be run again and again. */
typedef struct {
    Table *table;
    Frame *frame;
    Py_ssize_t *bases; /* those of arguments, */
    Py_ssize_t *of;    /* and of which */
    Py_ssize_t count;
} Bound;

/* A result: where a step leaves it. */
typedef struct {
    char *const *from; /* where its address is found, */
    npy_intp offset;   /* and how far behind that it lies */
    char *to[2];       /* where it goes after this step, and after the next one, */
    npy_intp move;     /* and how far behind the first of these after the one behind that */
    PyArrayObject *constant;
    char *bytes_of_constant;
    PyArray_Descr *descr;
    int nd, packed;
    const npy_intp *shape, *strides;
    npy_intp bytes;
    Py_ssize_t direct; /* the base that is placed where the result goes, or -1 */
} Result;

static int is_packed(int nd, npy_intp item, const npy_intp *shape, const npy_intp *strides)
{
    for (int d = nd - 1; d >= 0; d--) {
        if (shape[d] > 1 && strides[d] != item) {
            return 0;
        }
        item *= shape[d];
    }
    return 1;
}

static void unbind(Bound *bound)
{
    if (bound->frame != NULL) {
        frame_release(bound->table, bound->frame);
    }
    PyMem_Free(bound->bases);
    PyMem_Free(bound->of);
}

/* Get a table ready for arguments of this form, the first of which change; 0 if it takes others, or calls Python. */
static int bind(Bound *bound, Table *table, PyArrayObject *const *operands, Py_ssize_t count, Py_ssize_t moving)
{
    *bound = (Bound){.table = table};
    if (table->nargs != count) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < table->nsteps; i++) {
        if (table->steps[i].kind == CALL) {
            return 0;
        }
    }
    bound->bases = PyMem_Calloc((size_t)table->nbases + 1, sizeof(Py_ssize_t));
    bound->of = PyMem_Calloc((size_t)table->nbases + 1, sizeof(Py_ssize_t));
    if (bound->bases == NULL || bound->of == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if ((bound->frame = frame_take(table)) == NULL) {
        return -1;
    }
    for (Py_ssize_t b = 0; b < table->nbases; b++) {
        const Base *base = &table->bases[b];
        if (base->kind == FRESH) {
            if ((bound->frame->owners[b] = fresh(base)) == NULL) {
                return -1;
            }
            bound->frame->bases[b] = PyArray_BYTES((PyArrayObject *)bound->frame->owners[b]);
        }
        else if (base->kind == ARGUMENT) {
            const int changes = base->object != NULL && base->position < moving;
            if (base->written || changes || !hold(bound->frame, base, b, (PyObject *)operands[base->position])) {
                return 0;
            }
            bound->bases[bound->count] = b;
            bound->of[bound->count++] = base->position;
        }
    }
    return 1;
}

/* Run all rows with arguments at these addresses; REFUSED if contents are refused. */
static int run_bound(const Bound *bound, char *const *at)
{
    for (Py_ssize_t k = 0; k < bound->count; k++) {
        bound->frame->bases[bound->bases[k]] = at[bound->of[k]];
    }
    for (Py_ssize_t i = 0; i < bound->table->nsteps; i++) {
        if (run_step(bound->table, bound->frame, &bound->table->steps[i]) == REFUSED) {
            return REFUSED;
        }
    }
    return 0;
}

/* Read what a result is, and where; 0 if it is not numeric. `at` has the addresses of arguments. */
static int read_result(Result *result, const Bound *bound, const Access *access, PyArrayObject *const *operands, char *const *at)
{
    const Table *table = bound->table;
    *result = (Result){.from = bound->frame->bases + access->index, .direct = -1};
    if (access->kind == WHOLE) {
        const Base *base = &table->bases[access->index];
        if (base->kind == SLOT || base->descr == NULL) {
            return 0;
        }
        result->descr = base->descr;
        result->nd = base->nd;
        result->shape = base->shape;
        result->strides = base->strides;
    }
    else if (access->kind == GIVEN || access->kind == OBJECT) {
        if (access->kind == OBJECT && (result->constant = (PyArrayObject *)PyArray_FromAny(access->object, NULL, 0, 0, 0, NULL)) == NULL) {
            return -1;
        }
        PyArrayObject *array = access->kind == GIVEN ? operands[access->index] : result->constant;
        result->bytes_of_constant = PyArray_BYTES(array);
        result->from = access->kind == GIVEN ? at + access->index : &result->bytes_of_constant;
        result->descr = PyArray_DESCR(array);
        result->nd = PyArray_NDIM(array);
        result->shape = PyArray_DIMS(array);
        result->strides = PyArray_STRIDES(array);
    }
    else {
        result->offset = access->offset;
        result->descr = access->descr;
        result->nd = access->nd;
        result->shape = access->shape;
        result->strides = access->strides;
    }
    if (!PyTypeNum_ISNUMBER(result->descr->type_num) && !PyTypeNum_ISBOOL(result->descr->type_num)) {
        return 0;
    }
    result->bytes = PyDataType_ELSIZE(result->descr);
    result->packed = is_packed(result->nd, result->bytes, result->shape, result->strides);
    for (int d = 0; d < result->nd; d++) {
        result->bytes *= result->shape[d];
    }
    return 1;
}

/* Copy elements one after the other; returns where the next one goes. */
static char *packed_copy(char *to, const char *from, int nd, npy_intp item, const npy_intp *shape, const npy_intp *strides)
{
    if (nd == 0) {
        memcpy(to, from, (size_t)item);
        return to + item;
    }
    for (npy_intp i = 0; i < shape[0]; i++) {
        to = packed_copy(to, from + i * strides[0], nd - 1, item, shape + 1, strides + 1);
    }
    return to;
}

/* Put a result where it goes, and say where the next one goes. */
static void hand_on(Result *result)
{
    char *to = result->to[0];
    const char *from = *result->from + result->offset;
    if (!result->packed) {
        packed_copy(to, from, result->nd, PyDataType_ELSIZE(result->descr), result->shape, result->strides);
    }
    else if (result->bytes == 8) {
        memcpy(to, from, 8);
    }
    else if (to != from) {
        memcpy(to, from, (size_t)result->bytes);
    }
    result->to[0] = result->to[1];
    result->to[1] = to + result->move;
}

/* Whether the carries are as their first values: of these dtypes and shapes, and in C order. */
static int carries_on(const Result *result, PyArrayObject *first)
{
    if (result->descr->type_num != PyArray_TYPE(first) || result->nd != PyArray_NDIM(first) || !result->packed ||
        !is_packed(result->nd, PyArray_ITEMSIZE(first), PyArray_DIMS(first), PyArray_STRIDES(first))) {
        return 0;
    }
    return PyArray_CompareLists(result->shape, PyArray_DIMS(first), result->nd);
}

#define POOLED (1 << 14) /* bytes of rows from which on they lie in memory that is used again */

/* `rows` arrays like a result in one, or one such array if there are -1; large ones as `make(shape, dtype)` makes them. */
static PyArrayObject *array_for(const Result *result, npy_intp rows, PyObject *make)
{
    npy_intp shape[NPY_MAXDIMS + 1] = {rows};
    const int more = rows >= 0;
    if (result->nd + more > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "native executor: too many dimensions");
        return NULL;
    }
    if (result->nd > 0) {
        memcpy(shape + more, result->shape, (size_t)result->nd * sizeof(npy_intp));
    }
    const npy_intp times = more ? rows : 1;
    if (make != NULL && times > 0 && result->bytes <= LARGE / times && result->bytes * times >= POOLED) {
        PyObject *dims = PyArray_IntTupleFromIntp(result->nd + more, shape);
        PyObject *found = dims == NULL ? NULL : PyObject_CallFunctionObjArgs(make, dims, (PyObject *)result->descr, NULL);
        Py_XDECREF(dims);
        if (found != NULL && !(PyArray_CheckExact(found) && PyArray_ISCARRAY((PyArrayObject *)found) &&
                               PyArray_TYPE((PyArrayObject *)found) == result->descr->type_num &&
                               PyArray_NBYTES((PyArrayObject *)found) == result->bytes * times)) {
            PyErr_SetString(PyExc_ValueError, "native executor: an array was allocated in another form");
            Py_CLEAR(found);
        }
        return (PyArrayObject *)found;
    }
    Py_INCREF(result->descr);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, result->descr, result->nd + more, shape, NULL, NULL, 0, NULL);
}

/* One row of a sequence, as an array. */
static PyArrayObject *row_of(PyArrayObject *sequence, npy_intp row)
{
    PyArray_Descr *descr = PyArray_DESCR(sequence);
    Py_INCREF(descr);
    PyArrayObject *found = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, PyArray_NDIM(sequence) - 1, PyArray_DIMS(sequence) + 1, PyArray_STRIDES(sequence) + 1,
        PyArray_BYTES(sequence) + row * PyArray_STRIDES(sequence)[0], 0, NULL);
    if (found != NULL && PyArray_SetBaseObject(found, Py_NewRef((PyObject *)sequence)) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

/* An entry of a carry that each step writes. */
typedef struct {
    Py_ssize_t carry;
    int adds; /* to what is there */
    Result at, entry;
    char *held;       /* the entry, for it may be a part of what is written to, */
    npy_intp number;  /* where it goes, */
    npy_intp pending; /* and where a -0.0 may be, which becomes 0.0 as zeros are added to all others; or -1 */
} Write;

typedef struct {
    Py_ssize_t noperands, nresults, nwrites, carries;
    PyArrayObject **operands; /* what each is like: rows of sequences */
    char **at;
    npy_intp *moves;
    Bound body, cond;
    Result *results, stop;
    Write *writes;
    PyArrayObject **made; /* per carry two arrays, then one per stacked result, */
    npy_intp before;      /* with so many rows more, of steps before the first one */
    PyObject *make;
} Looping;

static void loop_free(Looping *loop)
{
    unbind(&loop->body);
    unbind(&loop->cond);
    for (Py_ssize_t i = 0; loop->operands != NULL && i < loop->noperands; i++) {
        Py_XDECREF(loop->operands[i]);
    }
    for (Py_ssize_t i = 0; loop->results != NULL && i < loop->nresults; i++) {
        Py_XDECREF(loop->results[i].constant);
    }
    for (Py_ssize_t i = 0; loop->made != NULL && i < loop->nresults + loop->carries; i++) {
        Py_XDECREF(loop->made[i]);
    }
    for (Py_ssize_t k = 0; loop->writes != NULL && k < loop->nwrites; k++) {
        Py_XDECREF(loop->writes[k].at.constant);
        Py_XDECREF(loop->writes[k].entry.constant);
        PyMem_Free(loop->writes[k].held);
    }
    Py_XDECREF(loop->stop.constant);
    PyMem_Free(loop->writes);
    PyMem_Free(loop->operands);
    PyMem_Free(loop->at);
    PyMem_Free(loop->moves);
    PyMem_Free(loop->results);
    PyMem_Free(loop->made);
}

/* Add numbers, or zeros, to others; of two dtypes. */
static void add_to(char *to, const char *numbers, npy_intp bytes, int type)
{
    if (type == NPY_DOUBLE) {
        const double *from = (const double *)numbers;
        for (npy_intp i = 0; i < bytes / 8; i++) {
            ((double *)to)[i] += 0.0 + (from == NULL ? 0.0 : from[i]);
        }
    }
    else {
        const float *from = (const float *)numbers;
        for (npy_intp i = 0; i < bytes / 4; i++) {
            ((float *)to)[i] += 0.0f + (from == NULL ? 0.0f : from[i]);
        }
    }
}

/* Read what is written, and copy what it is written to; 0 if this is not for tables. */
static int writes_begin(Looping *loop, const Table *body)
{
    for (Py_ssize_t k = 0; k < loop->nwrites; k++) {
        Write *write = &loop->writes[k];
        const Py_ssize_t i = write->carry;
        if (i < 0 || i >= loop->carries || body->outputs[i].kind != GIVEN || body->outputs[i].index != i) {
            return 0;
        }
        PyArrayObject *whole = loop->operands[i];
        const Access *last = &body->outputs[loop->nresults + 2 * k];
        int fits = read_result(&write->at, &loop->body, last, loop->operands, loop->at);
        fits = fits == 1 ? read_result(&write->entry, &loop->body, last + 1, loop->operands, loop->at) : fits;
        if (fits != 1) {
            return fits;
        }
        const int type = write->at.descr->type_num;
        const npy_intp rows = PyArray_NDIM(whole) ? PyArray_DIMS(whole)[0] : 0;
        if (!(type == NPY_INT32 || type == NPY_INT64) || write->at.bytes != PyDataType_ELSIZE(write->at.descr) || rows < 1 ||
            write->entry.descr->type_num != PyArray_TYPE(whole) || write->entry.bytes * rows != PyArray_NBYTES(whole) ||
            (write->adds && PyArray_TYPE(whole) != NPY_DOUBLE && PyArray_TYPE(whole) != NPY_FLOAT)) {
            return 0;
        }
        write->pending = -1;
        if ((write->held = PyMem_Malloc((size_t)write->entry.bytes + 1)) == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        if (loop->made[i] == NULL) {
            const Result form = {.descr = PyArray_DESCR(whole), .nd = PyArray_NDIM(whole), .shape = PyArray_DIMS(whole),
                .bytes = PyArray_NBYTES(whole)};
            if ((loop->made[i] = array_for(&form, -1, loop->make)) == NULL || PyArray_CopyInto(loop->made[i], whole) < 0) {
                return -1;
            }
            loop->at[i] = PyArray_BYTES(loop->made[i]);
        }
        if (write->adds) {
            add_to(loop->at[i], NULL, PyArray_NBYTES(whole), PyArray_TYPE(whole));
        }
    }
    return 1;
}

/* Write the entries of a step; REFUSED if one has no place. */
static int write_entries(Looping *loop)
{
    for (Py_ssize_t k = 0; k < loop->nwrites; k++) {
        Write *write = &loop->writes[k];
        const char *at = *write->at.from + write->at.offset, *entry = *write->entry.from + write->entry.offset;
        const Result *form = &write->entry;
        write->number = write->at.descr->type_num == NPY_INT64 ? *(const npy_int64 *)at : *(const npy_int32 *)at;
        if (write->number < 0 || write->number >= PyArray_DIMS(loop->made[write->carry])[0]) {
            return REFUSED;
        }
        if (form->packed) {
            memcpy(write->held, entry, (size_t)form->bytes);
        }
        else {
            packed_copy(write->held, entry, form->nd, PyDataType_ELSIZE(form->descr), form->shape, form->strides);
        }
    }
    for (Py_ssize_t k = 0; k < loop->nwrites; k++) {
        Write *write = &loop->writes[k];
        const npy_intp bytes = write->entry.bytes;
        const int type = write->entry.descr->type_num;
        char *whole = PyArray_BYTES(loop->made[write->carry]);
        if (!write->adds) {
            memcpy(whole + write->number * bytes, write->held, (size_t)bytes);
            write->pending = write->number;
            continue;
        }
        for (Py_ssize_t j = 0; j < loop->nwrites; j++) {
            Write *other = &loop->writes[j];
            if (other->carry == write->carry && other->pending >= 0) {
                add_to(whole + other->pending * bytes, NULL, bytes, type);
                other->pending = -1;
            }
        }
        add_to(whole + write->number * bytes, write->held, bytes, type);
    }
    return 0;
}

/* Get everything ready; 0 if this is no loop for tables. */
static int loop_begin(Looping *loop, Table *body, Table *cond, PyObject *given, Py_ssize_t sequences, npy_intp first, npy_intp count, npy_intp step)
{
    loop->noperands = PyTuple_GET_SIZE(given);
    loop->nresults = body->noutputs - 2 * loop->nwrites;
    if (loop->nresults < 0) {
        return 0;
    }
    loop->operands = PyMem_Calloc((size_t)loop->noperands + 1, sizeof(PyArrayObject *));
    loop->at = PyMem_Calloc((size_t)loop->noperands + 1, sizeof(char *));
    loop->moves = PyMem_Calloc((size_t)loop->noperands + 1, sizeof(npy_intp));
    loop->results = PyMem_Calloc((size_t)loop->nresults + 1, sizeof(Result));
    loop->made = PyMem_Calloc((size_t)(loop->nresults + loop->carries) + 1, sizeof(PyArrayObject *));
    if (loop->operands == NULL || loop->at == NULL || loop->moves == NULL || loop->results == NULL || loop->made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (loop->carries < 0 || sequences < 0 || loop->carries + sequences > loop->noperands || loop->carries > loop->nresults || count < 1 ||
        loop->before < 0 || loop->before > LARGE || count > LARGE) {
        return 0;
    }
    const npy_intp last = first + step * (count - 1);
    for (Py_ssize_t i = 0; i < loop->noperands; i++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(given, i);
        if (!PyArray_CheckExact(array)) {
            return 0;
        }
        const int in_rows = i >= loop->carries && i < loop->carries + sequences;
        if (!in_rows) {
            loop->operands[i] = (PyArrayObject *)Py_NewRef(array);
        }
        else if (PyArray_NDIM(array) < 1 || Py_MIN(first, last) < 0 || Py_MAX(first, last) >= PyArray_DIMS(array)[0]) {
            return 0;
        }
        else if ((loop->operands[i] = row_of(array, first)) == NULL) {
            return -1;
        }
        else {
            loop->moves[i] = step * PyArray_STRIDES(array)[0];
        }
        loop->at[i] = PyArray_BYTES(loop->operands[i]);
    }
    const Py_ssize_t moving = loop->carries + sequences;
    int fits = bind(&loop->body, body, loop->operands, loop->noperands, moving);
    if (fits == 1 && cond != NULL) {
        fits = cond->noutputs == 1 ? bind(&loop->cond, cond, loop->operands, loop->noperands, moving) : 0;
        fits = fits == 1 ? read_result(&loop->stop, &loop->cond, cond->outputs, loop->operands, loop->at) : fits;
        fits = fits == 1 ? loop->stop.descr->type_num == NPY_BOOL && loop->stop.nd == 0 : fits;
    }
    fits = fits == 1 ? writes_begin(loop, body) : fits;
    for (Py_ssize_t i = 0; fits == 1 && i < loop->nresults; i++) {
        Result *result = &loop->results[i];
        const Access *access = &body->outputs[i];
        fits = read_result(result, &loop->body, access, loop->operands, loop->at);
        if (fits == 1 && i < loop->carries) {
            fits = carries_on(result, loop->operands[i]);
        }
        if (fits != 1) {
            return fits;
        }
        if (i < loop->carries && loop->made[i] != NULL) {
            continue;
        }
        if (access->kind == WHOLE && result->packed && body->bases[access->index].kind == FRESH) {
            result->direct = access->index;
            for (Py_ssize_t k = 0; k < i; k++) {
                result->direct = loop->results[k].direct == access->index ? -1 : result->direct;
            }
        }
        if ((loop->made[loop->carries + i] = array_for(result, i < loop->carries ? -1 : loop->before + count, i < loop->carries ? NULL : loop->make)) == NULL ||
            (i < loop->carries && (loop->made[i] = array_for(result, -1, NULL)) == NULL)) {
            return -1;
        }
        char *to = PyArray_BYTES(loop->made[loop->carries + i]);
        if (i < loop->carries) {
            /* one of two arrays in turn, for a step may read its own until it ends */
            result->to[0] = PyArray_BYTES(loop->made[i]);
            result->to[1] = to;
        }
        else {
            const npy_intp row = step * result->bytes;
            result->to[0] = to + (step < 0 ? count - 1 : loop->before) * result->bytes;
            result->to[1] = result->to[0] + row;
            result->move = 2 * row;
        }
    }
    return fits;
}

#if defined(__GNUC__)
#define LINE 64
#define AHEAD 512 /* bytes of a row of which the machine does not know by itself that they are needed next */
/* Rows of many sequences, one after the other, are more than what the machine foresees. */
static inline void foresee(const char *row, npy_intp bytes)
{
    for (npy_intp i = 0; i < bytes && i < AHEAD; i += LINE) {
        __builtin_prefetch(row + i);
    }
}
#else
#define foresee(ROW, BYTES) (void)0
#endif

/* Run the steps; how many until the condition failed, or all; -2 if they are to be run in Python. */
static npy_intp loop_run(Looping *loop, npy_intp count)
{
    npy_intp done = 0;
    for (; done < count; done++) {
        if (loop->cond.table != NULL) {
            if (run_bound(&loop->cond, loop->at) == REFUSED) {
                return -2;
            }
            if (!*(const npy_bool *)(*loop->stop.from + loop->stop.offset)) {
                break;
            }
        }
        for (Py_ssize_t i = 0; i < loop->nresults; i++) {
            if (loop->results[i].direct >= 0) {
                loop->body.frame->bases[loop->results[i].direct] = loop->results[i].to[0];
            }
        }
        if (run_bound(&loop->body, loop->at) == REFUSED) {
            return -2;
        }
        for (Py_ssize_t i = 0; i < loop->nresults; i++) {
            if (loop->results[i].to[0] != NULL) {
                hand_on(&loop->results[i]);
            }
        }
        if (loop->nwrites && write_entries(loop) == REFUSED) {
            return -2;
        }
        for (Py_ssize_t i = 0; i < loop->carries; i++) {
            loop->at[i] = loop->results[i].to[0] == NULL ? loop->at[i] : loop->results[i].to[1];
        }
        for (Py_ssize_t i = loop->carries; i < loop->noperands; i++) {
            loop->at[i] += loop->moves[i];
            if (loop->moves[i] && done + 2 < count) {
                foresee(loop->at[i] + loop->moves[i], Py_ABS(loop->moves[i]));
            }
        }
        if ((done & 1023) == 1023 && PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
    const int raise = met_flags() ? raises(loop->body.table) : 0;
    return raise == 0 ? done : raise < 0 ? -1 : -2;
}

/* Read ((carry, adds), ...); -1 on an error. */
static int read_writes(Looping *loop, PyObject *given)
{
    loop->nwrites = given == NULL ? 0 : PyTuple_GET_SIZE(given);
    if ((loop->writes = PyMem_Calloc((size_t)loop->nwrites + 1, sizeof(Write))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < loop->nwrites; k++) {
        PyObject *pair = PyTuple_GET_ITEM(given, k);
        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "native executor: what is written must be pairs");
            return -1;
        }
        if (!PyArg_ParseTuple(pair, "np", &loop->writes[k].carry, &loop->writes[k].adds)) {
            return -1;
        }
    }
    return 0;
}

/* loop(cond, operands, carries, sequences, first, count, backwards, before, make, writes): how many steps ran, the carries and the stacked
 * results; or None. These have room for results of steps before the first one, and are made by make(shape, dtype), if that is given and they are large. */
static PyObject *table_loop(PyObject *object, PyObject *args)
{
    PyObject *cond, *given, *make = NULL, *writes = NULL, *found = NULL;
    Py_ssize_t carries, sequences, first, count, before = 0;
    int backwards;
    if (!PyArg_ParseTuple(
            args, "OO!nnnnp|nOO!", &cond, &PyTuple_Type, &given, &carries, &sequences, &first, &count, &backwards, &before, &make,
            &PyTuple_Type, &writes)) {
        return NULL;
    }
    if (cond != Py_None && Py_TYPE(cond) != Py_TYPE(object)) {
        Py_RETURN_NONE;
    }
    Looping loop = {.carries = carries, .before = before, .make = make};
    int fits = read_writes(&loop, writes);
    fits = fits < 0 ? fits
                    : loop_begin(&loop, (Table *)object, cond == Py_None ? NULL : (Table *)cond, given, sequences, first, count,
                          backwards ? -1 : 1);
    const npy_intp done = fits == 1 ? loop_run(&loop, count) : fits == 0 ? -2 : -1;
    if (done == -2) {
        found = Py_NewRef(Py_None);
    }
    else if (done >= 0) {
        PyObject *state = PyList_New(carries), *rows = PyList_New(loop.nresults - carries);
        for (Py_ssize_t i = 0; state != NULL && rows != NULL && i < loop.nresults; i++) {
            PyArrayObject *array = i >= carries ? loop.made[carries + i]
                                   : done == 0  ? (PyArrayObject *)PyTuple_GET_ITEM(given, i)
                                                : loop.made[i + (done & 1 || loop.results[i].to[0] == NULL ? 0 : carries)];
            PyList_SET_ITEM(i < carries ? state : rows, i < carries ? i : i - carries, Py_NewRef((PyObject *)array));
        }
        found = state == NULL || rows == NULL ? NULL : Py_BuildValue("nOO", done, state, rows);
        Py_XDECREF(state);
        Py_XDECREF(rows);
    }
    loop_free(&loop);
    return found;
}

static PyMethodDef table_methods[] = {
    {"loop", table_loop, METH_VARARGS, "Run it once for each step of a loop; None if that takes Python."},
    {NULL, NULL, 0, NULL},
};
