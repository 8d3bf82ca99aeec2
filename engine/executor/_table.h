/* Making tables: reading what describes one, and refusing what would lead astray. Included by _executor.c only. */

static int refused(const char *what)
{
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "native executor: %s", what);
    }
    return -1;
}

/* Whether a shape and strides lead further than memory can be large. */
static int too_large(int nd, const npy_intp *shape, const npy_intp *strides)
{
    npy_intp reach = 0, size = 1;
    for (int d = 0; d < nd; d++) {
        const npy_intp more = shape[d] > 1 ? shape[d] - 1 : 0;
        if (strides[d] > LARGE || strides[d] < -LARGE || (more && strides[d] && more > LARGE / Py_ABS(strides[d])) ||
            size > LARGE / (more + 1)) {
            return 1;
        }
        size *= more + 1;
        reach += more * Py_ABS(strides[d]);
        if (reach > LARGE) {
            return 1;
        }
    }
    return 0;
}

/* Read a dtype, a shape and strides. */
static int read_form(
    PyObject *dtype, PyObject *shape, PyObject *strides, PyArray_Descr **descr, int *nd, npy_intp **dims, npy_intp **steps)
{
    if (!PyArray_DescrCheck(dtype) || !PyTuple_Check(shape) || !PyTuple_Check(strides) ||
        PyTuple_GET_SIZE(shape) != PyTuple_GET_SIZE(strides) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS) {
        return refused("an array is not described by dtype, shape and strides");
    }
    PyArray_Descr *found = (PyArray_Descr *)dtype;
    if (!PyTypeNum_ISNUMBER(found->type_num) && !PyTypeNum_ISBOOL(found->type_num)) {
        return refused("a dtype is neither numeric nor boolean");
    }
    if (!PyArray_ISNBO(found->byteorder) || PyDataType_ELSIZE(found) > SCALAR) {
        return refused("a dtype is not in the machine's byte order");
    }
    Py_INCREF(found);
    *descr = found;
    *nd = (int)PyTuple_GET_SIZE(shape);
    *dims = PyMem_Calloc((size_t)*nd + 1, sizeof(npy_intp));
    *steps = PyMem_Calloc((size_t)*nd + 1, sizeof(npy_intp));
    if (*dims == NULL || *steps == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int d = 0; d < *nd; d++) {
        (*dims)[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
        (*steps)[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, d));
        if (PyErr_Occurred() || (*dims)[d] < 0) {
            return refused("a shape has a negative dimension");
        }
    }
    return too_large(*nd, *dims, *steps) ? refused("an array is too large") : 0;
}

/* What an array reaches from its address: nothing if it is empty. Forms that were read lead nowhere too large. */
static void reach_of(const PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides, Extent *extent)
{
    npy_intp low = 0, high = PyDataType_ELSIZE(descr);
    for (int d = 0; d < nd; d++) {
        if (shape[d] == 0) {
            extent->low = extent->high = 0;
            return;
        }
        const npy_intp reach = strides[d] * (shape[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    extent->low = low;
    extent->high = high;
}

static void extents_of(const Table *self, Extent *extents)
{
    for (Py_ssize_t b = 0; b < self->nbases; b++) {
        const Base *base = &self->bases[b];
        Extent *extent = &extents[b];
        if (base->kind == BLOCK) {
            extent->high = self->block;
        }
        else if (base->kind == SCRATCH) {
            extent->high = self->scratch;
        }
        else if (base->kind == CONSTANT && PyBytes_Check(base->object)) {
            extent->high = PyBytes_GET_SIZE(base->object);
            extent->fixed = PyBytes_AS_STRING(base->object);
        }
        else if (base->kind == CONSTANT) {
            PyArrayObject *array = (PyArrayObject *)base->object;
            reach_of(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array), extent);
        }
        else if (base->descr != NULL) {
            reach_of(base->descr, base->nd, base->shape, base->strides, extent);
        }
        extent->there = base->kind != SLOT;
        extent->writable = base->kind == BLOCK || base->kind == SCRATCH || base->kind == FRESH || base->written;
    }
}

static int read_base(Table *self, Base *base, PyObject *spec)
{
    const char *kind;
    PyObject *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL;
    if (!PyTuple_Check(spec) || !PyArg_ParseTuple(spec, "s|OOOOO", &kind, &a, &b, &c, &d, &e)) {
        return refused("memory is described by a tuple");
    }
    const int scratch = strcmp(kind, "scratch") == 0;
    if (scratch || strcmp(kind, "block") == 0) {
        npy_intp *size = scratch ? &self->scratch : &self->block;
        base->kind = scratch ? SCRATCH : BLOCK;
        self->own = scratch ? base - self->bases : self->own;
        *size = a == NULL ? -1 : PyLong_AsSsize_t(a);
        return *size < 0 || *size > LARGE / MOST_THREADS ? refused("a block has a size") : 0;
    }
    if (strcmp(kind, "constant") == 0 && a != NULL) {
        base->kind = CONSTANT;
        base->object = Py_NewRef(a);
        if (!PyBytes_Check(a) && !(PyArray_CheckExact(a) && PyArray_ISALIGNED((PyArrayObject *)a) &&
                                   PyArray_ISNOTSWAPPED((PyArrayObject *)a))) {
            return refused("a constant is an array, or bytes");
        }
        return 0;
    }
    const int written = strcmp(kind, "target") == 0;
    if ((written || strcmp(kind, "argument") == 0) && d != NULL) {
        base->kind = ARGUMENT;
        base->written = written;
        base->position = PyLong_AsSsize_t(a);
        if (base->position < 0 || base->position >= self->nargs) {
            return refused("there is no such argument");
        }
        if (read_form(b, c, d, &base->descr, &base->nd, &base->shape, &base->strides) < 0) {
            return -1;
        }
        if (e != NULL && (written || base->nd || !PyBytes_Check(e) || PyBytes_GET_SIZE(e) != PyDataType_ELSIZE(base->descr))) {
            return refused("what an argument must be is one number");
        }
        base->object = Py_XNewRef(e);
        return 0;
    }
    if (strcmp(kind, "fresh") == 0 && c != NULL) {
        base->kind = FRESH;
        if (d != NULL && d != Py_None) {
            base->object = Py_NewRef(d);
        }
        if (read_form(a, b, c, &base->descr, &base->nd, &base->shape, &base->strides) < 0) {
            return -1;
        }
        /* NumPy allocates as much as there are elements, wherever strides lead */
        Extent reach;
        npy_intp size = PyDataType_ELSIZE(base->descr);
        for (int d = 0; d < base->nd; d++) {
            size *= base->shape[d];
        }
        reach_of(base->descr, base->nd, base->shape, base->strides, &reach);
        return reach.low < 0 || reach.high > size ? refused("a fresh array has gaps") : 0;
    }
    if (strcmp(kind, "slot") == 0) {
        base->kind = SLOT;
        return c == NULL ? 0 : read_form(a, b, c, &base->descr, &base->nd, &base->shape, &base->strides);
    }
    return refused("there is no such kind of memory");
}

static int read_access(Table *self, const Extent *extents, Access *access, PyObject *spec)
{
    const char *kind;
    PyObject *a, *dtype = NULL, *shape = NULL, *strides = NULL;
    Py_ssize_t offset = 0;
    if (!PyTuple_Check(spec) ||
        !PyArg_ParseTuple(
            spec, "sO|nOOOpp", &kind, &a, &offset, &dtype, &shape, &strides, &access->scalar, &access->writable)) {
        return refused("a value is described by a tuple");
    }
    if (strcmp(kind, "object") == 0) {
        access->kind = OBJECT;
        access->object = Py_NewRef(a);
        return 0;
    }
    access->index = PyLong_AsSsize_t(a);
    if (strcmp(kind, "given") == 0) {
        access->kind = GIVEN;
        return access->index < 0 || access->index >= self->nargs ? refused("there is no such argument") : 0;
    }
    if (access->index < 0 || access->index >= self->nbases) {
        return refused("there is no such memory");
    }
    const enum base_kind base = self->bases[access->index].kind;
    if (!extents[access->index].there) {
        return refused("a slot is empty");
    }
    if (strcmp(kind, "whole") == 0) {
        access->kind = WHOLE;
        return base == FRESH || base == SLOT ? 0 : refused("only results are taken as a whole");
    }
    access->kind = strcmp(kind, "copy") == 0 ? COPY : VIEW;
    if (access->kind == VIEW && strcmp(kind, "view") != 0) {
        return refused("there is no such kind of value");
    }
    access->offset = offset;
    if (strides == NULL || read_form(dtype, shape, strides, &access->descr, &access->nd, &access->shape, &access->strides) < 0) {
        return refused("a view has dtype, shape and strides");
    }
    if (offset > LARGE || offset < -LARGE || (access->scalar && access->nd)) {
        return refused("a view leads out of its memory");
    }
    const Base *shown = &self->bases[access->index];
    if (shown->object != NULL && PyBytes_Check(shown->object)) {
        return refused("bytes are no array");
    }
    if (shown->kind == SLOT && shown->descr == NULL) {
        return refused("an object is no array");
    }
    Extent reach;
    reach_of(access->descr, access->nd, access->shape, access->strides, &reach);
    if (reach.high > reach.low &&
        (reach.low + offset < extents[access->index].low || reach.high + offset > extents[access->index].high)) {
        return refused("a view leads out of its memory");
    }
    if (reach.high <= reach.low) {
        access->offset = 0;
    }
    return 0;
}

static int read_accesses(Table *self, const Extent *extents, PyObject *specs, Access **found, Py_ssize_t *count)
{
    if (!PyTuple_Check(specs)) {
        return refused("values come in tuples");
    }
    *found = PyMem_Calloc((size_t)PyTuple_GET_SIZE(specs) + 1, sizeof(Access));
    if (*found == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *count = PyTuple_GET_SIZE(specs);
    for (Py_ssize_t i = 0; i < *count; i++) {
        if (read_access(self, extents, &(*found)[i], PyTuple_GET_ITEM(specs, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Read indices of slots. */
static int read_slots(Table *self, PyObject *given, npy_intp **found, Py_ssize_t *count)
{
    if (!PyTuple_Check(given)) {
        return refused("slots come in tuples");
    }
    *found = PyMem_Calloc((size_t)PyTuple_GET_SIZE(given) + 1, sizeof(npy_intp));
    if (*found == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *count = PyTuple_GET_SIZE(given);
    for (Py_ssize_t i = 0; i < *count; i++) {
        const npy_intp b = (*found)[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (b < 0 || b >= self->nbases || self->bases[b].kind != SLOT) {
            return refused("there is no such slot");
        }
    }
    return 0;
}

/* Numbers of a row, or of all tiles, from which on several threads share them: work for some tenths of a millisecond. */
static double shared_from;

/* How many threads share so much work: each has half of the least at least. */
static int sharing(double work)
{
    return work < shared_from ? 1 : (int)Py_MIN((double)get_threads(), 2 * work / shared_from);
}

/* Let threads share the tiles of a step, or its rows, where their order is of no matter and there is enough to do. */
static void spread(Table *self, Step *step)
{
    const Py_ssize_t rows = step->end - step->first;
    Py_ssize_t selects = rows;
    int apart = get_threads() > 1;
    double all = 0, summed = 0;
    step->sums = step->behind = rows;
    for (Py_ssize_t i = 0; i < rows && apart; i++) {
        Row *row = &self->rows[step->first + i];
        /* a ufunc with core dimensions has threads of BLAS, unless it is to do without */
        const int alone = row->loop->own || row->loop->ndims == 0 || row->loop->inner != NULL;
        const double work = row_work(row);
        if (step->kind == ROWS) {
            row->shared = alone && sharing(work) > 1 && row_is_apart(row) ? sharing(work) : 0;
            continue;
        }
        const int tiles = row_has_tiles(row, self->own);
        apart = alone && tiles;
        all += work * (double)step->tiles;
        selects = row->loop->kind == SELECTS ? Py_MIN(i, selects) : selects;
        if (tiles < 0) {
            step->sums = Py_MIN(i, step->sums);
            step->behind = i + 1;
        }
    }
    if (step->sums < rows && selects < rows) {
        step->sums = Py_MIN(selects, step->sums);
        step->behind = rows;
    }
    for (Py_ssize_t i = step->sums; i < step->behind; i++) {
        summed += row_work(&self->rows[step->first + i]) * (double)step->tiles;
    }
    /* what is done in turns costs more than it does in one thread */
    step->shared = apart && step->tiles > 1 ? sharing(all - 3 * summed) : 1;
    step->sums = step->shared > 1 ? step->sums : rows;
    self->threads = Py_MAX(self->threads, step->shared);
}

static int read_step(Table *self, Extent *extents, Step *step, PyObject *spec)
{
    const char *kind;
    PyObject *rest;
    if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) < 2 ||
        (kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(spec, 0))) == NULL) {
        return refused("a step is described by a tuple");
    }
    if ((rest = PyTuple_GetSlice(spec, 1, PyTuple_GET_SIZE(spec))) == NULL) {
        return -1;
    }
    int read = 0;
    if (strcmp(kind, "call") == 0) {
        PyObject *kernel, *operands, *names, *outs, *frees;
        step->kind = CALL;
        if (PyArg_ParseTuple(
                rest, "nOOOOpO", &step->position, &kernel, &operands, &names, &outs, &step->multi, &frees)) {
            step->kernel = Py_NewRef(kernel);
            step->names = names == Py_None ? NULL : Py_NewRef(names);
            read = read_accesses(self, extents, operands, &step->operands, &step->noperands) == 0 &&
                   read_slots(self, outs, &step->outs, &step->nouts) == 0 &&
                   read_slots(self, frees, &step->frees, &step->nfrees) == 0;
            if (read && step->names != NULL &&
                (!PyTuple_Check(names) || PyTuple_GET_SIZE(names) > step->noperands)) {
                read = 0;
            }
            for (Py_ssize_t i = 0; read && step->names != NULL && i < PyTuple_GET_SIZE(names); i++) {
                read = PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i));
            }
            if (read && !step->multi && step->nouts != 1) {
                read = 0;
            }
            /* what comes behind finds these slots filled, and those empty */
            for (Py_ssize_t i = 0; read && i < step->nouts; i++) {
                extents[step->outs[i]].there = 1;
            }
            for (Py_ssize_t i = 0; read && i < step->nfrees; i++) {
                extents[step->frees[i]].there = 0;
            }
        }
    }
    else {
        const int checked = strcmp(kind, "checked") == 0;
        step->kind = ROWS;
        step->tiles = step->rest = 1;
        if (checked ? PyArg_ParseTuple(rest, "nnpn", &step->first, &step->end, &step->release, &step->position)
                    : PyArg_ParseTuple(rest, "nnp|nn", &step->first, &step->end, &step->release, &step->tiles, &step->rest)) {
            step->kind = checked ? CHECKED : PyTuple_GET_SIZE(rest) > 3 ? TILES : ROWS;
            read = (checked || strcmp(kind, "rows") == 0) && 0 <= step->first && step->first <= step->end &&
                   step->end <= self->nrows && step->position >= 0;
            for (Py_ssize_t i = step->first; read && i < step->end; i++) {
                const Row *row = &self->rows[i];
                read = row_check(row, extents, self->nbases, step->tiles, step->rest) == 0 &&
                       (step->kind != TILES || row->loop->ndims == 0 || step->rest == 0) &&
                       (checked || !row->loop->refuses) &&
                       (row->loop->kind != SELECTS || (step->kind == TILES && row_check_selected(row, self->rows + step->end) == 0));
            }
            if (read && !checked) {
                spread(self, step);
            }
        }
    }
    Py_DECREF(rest);
    return read ? 0 : refused("a step cannot be read");
}

/* How many threads BLAS computes with: see blas.py, whose scopes these are, too. */
static int (*get_blas_threads)(void);
static void (*set_blas_threads)(int);
static PyThread_type_lock lowering;
static int lowered, threads_before;

static void with_one_thread(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    const Loop *loop = data;
    PyThread_acquire_lock(lowering, WAIT_LOCK);
    if (lowered++ == 0 && (threads_before = get_blas_threads()) > 1) {
        set_blas_threads(1);
    }
    PyThread_release_lock(lowering);
    loop->inner(args, dimensions, steps, loop->inner_data);
    PyThread_acquire_lock(lowering, WAIT_LOCK);
    if (--lowered == 0 && threads_before > 1) {
        set_blas_threads(threads_before);
    }
    PyThread_release_lock(lowering);
}

/* use_blas(get, set): the addresses of functions of OpenBLAS. */
static PyObject *use_blas(PyObject *NPY_UNUSED(module), PyObject *args)
{
    PyObject *get, *set;
    if (!PyArg_ParseTuple(args, "O!O!", &PyLong_Type, &get, &PyLong_Type, &set)) {
        return NULL;
    }
    void *found[2] = {PyLong_AsVoidPtr(get), PyLong_AsVoidPtr(set)};
    if (PyErr_Occurred() || (lowering == NULL && (lowering = PyThread_allocate_lock()) == NULL)) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    memcpy(&get_blas_threads, &found[0], sizeof(void *));
    memcpy(&set_blas_threads, &found[1], sizeof(void *));
    Py_RETURN_NONE;
}

/* use_threads(count, least): how many threads share what goes through so many numbers; those of tables that are made from now on. */
static PyObject *use_threads(PyObject *NPY_UNUSED(module), PyObject *args)
{
    int count;
    if (!PyArg_ParseTuple(args, "id", &count, &shared_from)) {
        return NULL;
    }
    set_threads(count);
    Py_RETURN_NONE;
}

static int loop_of_ufunc(Loop *loop, PyObject *ufunc, Py_ssize_t index)
{
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        return refused("a loop belongs to a ufunc");
    }
    PyUFuncObject *found = (PyUFuncObject *)ufunc;
    if (index < 0 || index >= found->ntypes || found->nargs > MAX_OPERANDS || found->functions[index] == NULL ||
        found->core_num_dim_ix > MAX_CORE) {
        return refused("a ufunc has no such loop");
    }
    loop->function = found->functions[index];
    loop->data = found->data == NULL ? NULL : (void *)found->data[index];
    loop->nin = found->nin;
    loop->nargs = found->nargs;
    int count = 0;
    for (int j = 0; j < found->nargs; j++) {
        const int type = found->types[index * found->nargs + j];
        PyArray_Descr *descr = PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) ? PyArray_DescrFromType(type) : NULL;
        if (descr == NULL) {
            return refused("a loop is not numeric");
        }
        loop->size[j] = PyDataType_ELSIZE(descr);
        loop->align[j] = PyDataType_ALIGNMENT(descr);
        Py_DECREF(descr);
        for (int d = 0; found->core_enabled && d < found->core_num_dims[j]; d++) {
            if (count == MAX_CORE) {
                return refused("a loop has too many core dimensions");
            }
            loop->core[count++] = found->core_dim_ixs[found->core_offsets[j] + d];
        }
        loop->ncore[j] = found->core_enabled ? found->core_num_dims[j] : 0;
    }
    loop->ndims = found->core_enabled ? found->core_num_dim_ix : 0;
    /* the code of short rows, where all operands are of one type that these have */
    const char *types = found->types + index * found->nargs;
    char name[32];
    if (!found->core_enabled && types[0] == types[found->nargs - 1] && (types[0] == NPY_DOUBLE || types[0] == NPY_FLOAT)) {
        PyOS_snprintf(name, sizeof(name), "%s_%c", found->name, types[0] == NPY_DOUBLE ? 'd' : 'f');
        loop->code = short_row_code(name);
    }
    return 0;
}

static int read_loops(Table *self, PyObject *specs)
{
    self->nloops = PyTuple_GET_SIZE(specs);
    self->loops = PyMem_Calloc((size_t)self->nloops + 1, sizeof(Loop));
    self->ufuncs = Py_NewRef(specs);
    if (self->loops == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->nloops; i++) {
        PyObject *spec = PyTuple_GET_ITEM(specs, i), *ufunc;
        Py_ssize_t index;
        int alone = 0;
        if (PyUnicode_Check(spec)) {
            const char *name = PyUnicode_AsUTF8(spec);
            const Loop *own = name == NULL ? NULL : own_loop(name);
            if (own != NULL) {
                self->loops[i] = *own;
                self->loops[i].code = short_row_code(name);
            }
            else if (name == NULL || !(fused_loop(name, &self->loops[i]) || summed_loop(name, &self->loops[i]))) {
                return refused("there is no such loop");
            }
            self->loops[i].own = 1;
            /* what moves eight bytes may move two floats */
            const npy_intp most = strstr(name, "_d") != NULL ? 8 : 4;
            for (int j = 0; j < self->loops[i].nargs; j++) {
                self->loops[i].align[j] = Py_MIN(self->loops[i].size[j], most);
            }
        }
        else if (!PyTuple_Check(spec) || !PyArg_ParseTuple(spec, "On|p", &ufunc, &index, &alone) ||
                 loop_of_ufunc(&self->loops[i], ufunc, index) < 0) {
            return refused("a loop is a name, or a ufunc and a number, and whether BLAS computes with one thread");
        }
        if (alone && set_blas_threads != NULL) {
            Loop *loop = &self->loops[i];
            loop->inner = loop->function;
            loop->inner_data = loop->data;
            loop->function = with_one_thread;
            loop->data = loop;
        }
    }
    return 0;
}

static int read_rows(Table *self, PyObject *numbers)
{
    const npy_intp count = PyBytes_GET_SIZE(numbers) / (npy_intp)sizeof(npy_intp);
    self->numbers = PyMem_Malloc((size_t)PyBytes_GET_SIZE(numbers) + 1);
    self->rows = PyMem_Calloc((size_t)count + 1, sizeof(Row));
    if (self->numbers == NULL || self->rows == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(self->numbers, PyBytes_AS_STRING(numbers), (size_t)PyBytes_GET_SIZE(numbers));
    for (npy_intp at = 0; at < count;) {
        const npy_intp read = row_read(&self->rows[self->nrows], self->numbers + at, count - at, self->loops, self->nloops);
        if (read < 0) {
            return -1;
        }
        self->nrows++;
        at += read;
    }
    Row *less = PyMem_Realloc(self->rows, ((size_t)self->nrows + 1) * sizeof(Row));
    self->rows = less == NULL ? self->rows : less;
    return 0;
}

/* Let short rows stand for those that are ones. All rows have been checked. */
static int shorten(Table *self)
{
    Py_ssize_t read = 0, kept = 0, shorts = 0;
    self->shorts = PyMem_Malloc(((size_t)self->nrows + 1) * sizeof(ShortRow));
    if (self->shorts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->nsteps; i++) {
        if (self->steps[i].kind != CALL && self->steps[i].first < read) {
            return 0; /* steps that share rows, which nobody makes */
        }
        read = self->steps[i].kind == CALL ? read : self->steps[i].end;
    }
    for (Py_ssize_t i = 0; i < self->nsteps; i++) {
        Step *step = &self->steps[i];
        const Py_ssize_t first = kept;
        for (Py_ssize_t r = step->first; step->kind != CALL && r < step->end; r++) {
            if (step->kind != ROWS || !short_row_of(&self->rows[r], &self->shorts[shorts])) {
                self->rows[kept++] = self->rows[r];
                continue;
            }
            if (kept == first || self->rows[kept - 1].loop != NULL) {
                self->rows[kept++] = (Row){.first = shorts};
            }
            self->rows[kept - 1].end = ++shorts;
        }
        step->first = first;
        step->end = kept;
    }
    return 0;
}

static int read_table(Table *self, PyObject *bases, PyObject *loops, PyObject *numbers, PyObject *steps, PyObject *outputs)
{
    self->bases = PyMem_Calloc((size_t)PyTuple_GET_SIZE(bases) + 1, sizeof(Base));
    self->steps = PyMem_Calloc((size_t)PyTuple_GET_SIZE(steps) + 1, sizeof(Step));
    Extent *extents = PyMem_Calloc((size_t)PyTuple_GET_SIZE(bases) + 1, sizeof(Extent));
    if (self->bases == NULL || self->steps == NULL || extents == NULL) {
        PyMem_Free(extents);
        PyErr_NoMemory();
        return -1;
    }
    int read = 0;
    for (Py_ssize_t b = 0; read == 0 && b < PyTuple_GET_SIZE(bases); b++) {
        self->nbases = b + 1;
        read = read_base(self, &self->bases[b], PyTuple_GET_ITEM(bases, b));
    }
    if (read == 0) {
        extents_of(self, extents);
        read = read_loops(self, loops) < 0 || read_rows(self, numbers) < 0;
    }
    for (Py_ssize_t i = 0; read == 0 && i < PyTuple_GET_SIZE(steps); i++) {
        self->nsteps = i + 1;
        read = read_step(self, extents, &self->steps[i], PyTuple_GET_ITEM(steps, i));
    }
    if (read == 0) {
        read = shorten(self);
    }
    if (read == 0) {
        read = read_accesses(self, extents, outputs, &self->outputs, &self->noutputs);
    }
    PyMem_Free(extents);
    return read == 0 ? 0 : -1;
}

/* Whether each result is a scalar, or an array that is allocated for it alone. */
static int owns_results(const Table *self)
{
    for (Py_ssize_t i = 0; i < self->noutputs; i++) {
        const Access *access = &self->outputs[i];
        if (access->scalar && (access->kind == VIEW || access->kind == COPY)) {
            continue;
        }
        if (access->kind != WHOLE || self->bases[access->index].kind != FRESH || self->bases[access->index].nd == 0) {
            return 0;
        }
        for (Py_ssize_t j = 0; j < i; j++) {
            if (self->outputs[j].kind == WHOLE && self->outputs[j].index == access->index) {
                return 0;
            }
        }
    }
    return 1;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"nargs", "bases", "loops", "numbers", "steps", "outputs", "host", "pool", NULL};
    PyObject *bases, *loops, *numbers, *steps, *outputs, *host, *pool;
    Py_ssize_t nargs;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "nO!O!SO!O!O!O", names, &nargs, &PyTuple_Type, &bases, &PyTuple_Type, &loops, &numbers,
            &PyTuple_Type, &steps, &PyTuple_Type, &outputs, &PyTuple_Type, &host, &pool)) {
        return NULL;
    }
    Table *self = (Table *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = table_call;
    self->threads = 1;
    self->own = -1;
    self->nargs = nargs;
    if (!PyArg_ParseTuple(host, "OOOO", &self->fallback, &self->failed, &self->resume, &self->flagged)) {
        self->fallback = self->failed = self->resume = self->flagged = NULL;
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(self->fallback);
    Py_INCREF(self->failed);
    Py_INCREF(self->resume);
    Py_INCREF(self->flagged);
    if (pool != Py_None) {
        if (!PyArg_ParseTuple(pool, "OO", &self->take, &self->give_back)) {
            self->take = self->give_back = NULL;
            Py_DECREF(self);
            return NULL;
        }
        Py_INCREF(self->take);
        Py_INCREF(self->give_back);
    }
    if (read_table(self, bases, loops, numbers, steps, outputs) < 0) {
        refused("a table cannot be read");
        Py_DECREF(self);
        return NULL;
    }
    self->owned = owns_results(self);
    return (PyObject *)self;
}

/* ---- the types --------------------------------------------------------------------------------------------------- */

static int accesses_traverse(const Access *accesses, Py_ssize_t count, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; accesses != NULL && i < count; i++) {
        Py_VISIT(accesses[i].object);
    }
    return 0;
}

static int table_traverse(PyObject *object, visitproc visit, void *arg)
{
    Table *self = (Table *)object;
    Py_VISIT(self->fallback);
    Py_VISIT(self->failed);
    Py_VISIT(self->resume);
    Py_VISIT(self->flagged);
    for (Py_ssize_t b = 0; b < self->nbases; b++) {
        Py_VISIT(self->bases[b].object);
    }
    for (Py_ssize_t i = 0; i < self->nsteps; i++) {
        Py_VISIT(self->steps[i].kernel);
        const int found = accesses_traverse(self->steps[i].operands, self->steps[i].noperands, visit, arg);
        if (found) {
            return found;
        }
    }
    return accesses_traverse(self->outputs, self->noutputs, visit, arg);
}

static int table_clear(PyObject *object)
{
    /* what refers back to the table is here: the program that fallback belongs to */
    Table *self = (Table *)object;
    self->nargs = -1; /* it cannot be called any more */
    Py_CLEAR(self->fallback);
    Py_CLEAR(self->failed);
    Py_CLEAR(self->resume);
    Py_CLEAR(self->flagged);
    return 0;
}

static void accesses_free(Access *accesses, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; accesses != NULL && i < count; i++) {
        Py_XDECREF(accesses[i].descr);
        Py_XDECREF(accesses[i].object);
        PyMem_Free(accesses[i].shape);
        PyMem_Free(accesses[i].strides);
    }
    PyMem_Free(accesses);
}

static void table_dealloc(PyObject *object)
{
    Table *self = (Table *)object;
    PyObject_GC_UnTrack(object);
    table_clear(object);
    while (self->spare != NULL) {
        Frame *frame = self->spare;
        self->spare = frame->next;
        frame_free(frame);
    }
    for (Py_ssize_t b = 0; b < self->nbases; b++) {
        Py_XDECREF(self->bases[b].descr);
        Py_XDECREF(self->bases[b].object);
        PyMem_Free(self->bases[b].shape);
        PyMem_Free(self->bases[b].strides);
    }
    for (Py_ssize_t i = 0; i < self->nsteps; i++) {
        Py_XDECREF(self->steps[i].kernel);
        Py_XDECREF(self->steps[i].names);
        accesses_free(self->steps[i].operands, self->steps[i].noperands);
        PyMem_Free(self->steps[i].outs);
        PyMem_Free(self->steps[i].frees);
    }
    accesses_free(self->outputs, self->noutputs);
    PyMem_Free(self->bases);
    PyMem_Free(self->loops);
    PyMem_Free(self->numbers);
    PyMem_Free(self->rows);
    PyMem_Free(self->shorts);
    PyMem_Free(self->steps);
    Py_XDECREF(self->ufuncs);
    Py_XDECREF(self->take);
    Py_XDECREF(self->give_back);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject table_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "engine.executor._executor.Table",
    .tp_doc = "A program as rows, and calls of Python between them.",
    .tp_basicsize = sizeof(Table),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Table, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_methods = table_methods,
    .tp_new = table_new,
    .tp_dealloc = table_dealloc,
    .tp_traverse = table_traverse,
    .tp_clear = table_clear,
};
