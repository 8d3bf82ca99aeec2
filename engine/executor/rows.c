#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <fenv.h>
#include <string.h>

#include "../runtime/wide.h"
#include "loops.h"
#include "threads.h"

static int core_strides(const Loop *loop)
{
    int count = 0;
    for (int j = 0; j < loop->nargs; j++) {
        count += loop->ncore[j];
    }
    return count;
}

npy_intp row_read(Row *row, const npy_intp *numbers, npy_intp count, const Loop *loops, npy_intp nloops)
{
    if (count < 2 || numbers[0] < 0 || numbers[0] >= nloops || numbers[1] < 0 || numbers[1] > MAX_OUTER) {
        PyErr_SetString(PyExc_ValueError, "native executor: a row does not start with a loop and a rank");
        return -1;
    }
    const Loop *loop = row->loop = &loops[numbers[0]];
    const int nargs = loop->nargs;
    row->nouter = (int)numbers[1];
    row->base = numbers + 2;
    row->offset = row->base + nargs;
    row->advance = row->offset + nargs;
    row->dims = row->advance + nargs;
    row->steps = row->dims + 1 + loop->ndims;
    row->outer = row->steps + nargs + core_strides(loop);
    row->strides = row->outer + row->nouter;
    const npy_intp read = (row->strides - numbers) + (npy_intp)row->nouter * nargs;
    if (read > count) {
        PyErr_SetString(PyExc_ValueError, "native executor: a row is too short");
        return -1;
    }
    for (npy_intp i = 2; i < read; i++) {
        if (numbers[i] > LARGE || numbers[i] < -LARGE) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row has a number that is too large");
            return -1;
        }
    }
    return read;
}

/* Extend a range of offsets by `count` steps; -1 if that leads nowhere. */
static int extend(npy_intp *low, npy_intp *high, npy_intp count, npy_intp step)
{
    if (count > 1 && step && (count - 1 > LARGE / (step < 0 ? -step : step) || *high > LARGE || *low < -LARGE)) {
        return -1;
    }
    const npy_intp reach = step * (count - 1);
    *(reach < 0 ? low : high) += reach;
    return 0;
}

/* Whether the offsets that operand 0 holds stay inside of another operand. */
static int check_offsets(const Row *row, const Extent *extents, int indexed, npy_intp count)
{
    const Extent *where = &extents[row->base[indexed]], *held = &extents[row->base[0]];
    if (held->fixed == NULL || row->nouter || row->advance[0] || row->offset[0] % (npy_intp)sizeof(npy_intp) ||
        row->steps[0] != (npy_intp)sizeof(npy_intp)) {
        PyErr_SetString(PyExc_ValueError, "native executor: offsets must be constant, in one row");
        return -1;
    }
    const npy_intp *offsets = (const npy_intp *)(held->fixed + row->offset[0]);
    const npy_intp first = row->offset[indexed], size = row->loop->size[indexed];
    for (npy_intp i = 0; i < count; i++) {
        const npy_intp at = offsets[i];
        if (at > LARGE || at < -LARGE || first + at < where->low || first + at + size > where->high) {
            PyErr_SetString(PyExc_ValueError, "native executor: an offset leads out of its memory");
            return -1;
        }
    }
    return 0;
}

/* Extend a range of offsets by all that an operand reaches in a tile of so many elements, without outer dimensions before one; -1 if that
 * leads nowhere. What strides are multiples of is added to `apart`. */
static int span(const Row *row, int j, npy_intp count, int outer, npy_intp *low, npy_intp *high, npy_intp *apart)
{
    const Loop *loop = row->loop;
    const npy_intp *core_step = row->steps + loop->nargs;
    const int *core = loop->core;
    for (int k = 0; k < j; k++) {
        core_step += loop->ncore[k];
        core += loop->ncore[k];
    }
    int bad = extend(low, high, count, row->steps[j]);
    *apart |= count > 1 ? row->steps[j] : 0;
    for (int d = outer; d < row->nouter; d++) {
        bad |= extend(low, high, row->outer[d], row->strides[d * loop->nargs + j]);
        *apart |= row->outer[d] > 1 ? row->strides[d * loop->nargs + j] : 0;
    }
    for (int d = 0; d < loop->ncore[j]; d++) {
        const npy_intp dim = row->dims[1 + core[d]];
        bad |= extend(low, high, dim, core_step[d]);
        *apart |= dim > 1 ? core_step[d] : 0;
    }
    *high += loop->size[j];
    return bad;
}

/* Whether a row stays inside in each tile up to this one, which has `count` elements. */
static int check_tile(const Row *row, const Extent *extents, npy_intp tile, npy_intp count)
{
    const Loop *loop = row->loop;
    for (int d = 1; d <= loop->ndims; d++) {
        if (row->dims[d] <= 0 || (loop->most && row->dims[d] > loop->most)) {
            PyErr_SetString(PyExc_ValueError, "native executor: a core dimension is empty, or too large");
            return -1;
        }
    }
    for (int j = 0; j < loop->nargs; j++) {
        const Extent *extent = &extents[row->base[j]];
        npy_intp low = row->offset[j], high = low, apart = row->offset[j] | (tile ? row->advance[j] : 0);
        /* from the first tile to this one */
        int bad = extend(&low, &high, tile + 1, row->advance[j]);
        bad |= span(row, j, count, 0, &low, &high, &apart);
        if (bad || low < extent->low || high > extent->high) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row leads out of its memory");
            return -1;
        }
        if (apart & (loop->align[j] - 1)) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row leads between elements");
            return -1;
        }
    }
    return 0;
}

double row_work(const Row *row)
{
    double work = 1;
    for (int d = 0; d <= row->loop->ndims; d++) {
        work *= (double)row->dims[d];
    }
    for (int d = 0; d < row->nouter; d++) {
        work *= (double)row->outer[d];
    }
    return work;
}

/* Whether two operands lie in each other's way, unless they are seen in one way. */
static int in_the_way(const Row *row, int j, int k)
{
    npy_intp low[2] = {row->offset[j], row->offset[k]}, high[2] = {low[0], low[1]}, unused = 0;
    const int nargs = row->loop->nargs;
    if (row->base[j] != row->base[k] || j == k) {
        return 0;
    }
    int alike = low[0] == low[1] && row->steps[j] == row->steps[k] && row->loop->ndims == 0 && row->loop->kind == STRIDED;
    for (int d = 0; d < row->nouter; d++) {
        alike &= row->strides[d * nargs + j] == row->strides[d * nargs + k];
    }
    span(row, j, row->dims[0], 0, &low[0], &high[0], &unused);
    span(row, k, row->dims[0], 0, &low[1], &high[1], &unused);
    return !alike && (row->loop->kind != STRIDED || (low[0] < high[1] && low[1] < high[0]));
}

int row_is_apart(const Row *row)
{
    const Loop *loop = row->loop;
    int apart = (loop->kind == STRIDED || loop->kind == TAKE) && !loop->refuses && (row->nouter ? row->outer[0] : row->dims[0]) > 1;
    for (int j = loop->nin; apart && j < loop->nargs; j++) {
        npy_intp low = 0, high = 0, unused = 0;
        span(row, j, row->nouter ? row->dims[0] : 1, 1, &low, &high, &unused);
        apart = Py_ABS(row->nouter ? row->strides[j] : row->steps[j]) >= high - low;
        for (int k = 0; k < loop->nargs; k++) {
            apart &= !in_the_way(row, j, k);
        }
    }
    return apart;
}

int row_has_tiles(const Row *row, npy_intp own)
{
    int has = 1;
    for (int j = row->loop->nin; j < row->loop->nargs; j++) {
        npy_intp low = 0, high = 0, unused = 0;
        span(row, j, row->dims[0], 0, &low, &high, &unused);
        if (row->advance[j] == 0) {
            has = row->base[j] == own ? has : Py_MIN(has, -1);
        }
        else if (Py_ABS(row->advance[j]) < high - low) {
            return 0;
        }
    }
    return has;
}

int row_check(const Row *row, const Extent *extents, npy_intp nbases, npy_intp tiles, npy_intp rest)
{
    const Loop *loop = row->loop;
    for (int j = 0; j < loop->nargs; j++) {
        if (row->base[j] < 0 || row->base[j] >= nbases || !extents[row->base[j]].there) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row names memory that there is not");
            return -1;
        }
        if (j >= loop->nin && !extents[row->base[j]].writable) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row writes to what is not its own");
            return -1;
        }
    }
    for (int d = 0; d < row->nouter; d++) {
        if (row->outer[d] <= 0) {
            PyErr_SetString(PyExc_ValueError, "native executor: a row is empty");
            return -1;
        }
    }
    if (row->dims[0] <= 0 || tiles <= 0 || rest < 0 || rest > row->dims[0] || (rest && tiles > 1 && row->nouter)) {
        PyErr_SetString(PyExc_ValueError, "native executor: a row is empty");
        return -1;
    }
    if (tiles > 1 && check_tile(row, extents, tiles - 2, row->dims[0]) < 0) {
        return -1;
    }
    if (check_tile(row, extents, tiles - 1, tiles == 1 || !rest ? row->dims[0] : rest) < 0) {
        return -1;
    }
    if (loop->kind != STRIDED && loop->kind != SELECTS) {
        const int indexed = loop->kind == TAKE ? 1 : loop->nargs - 1;
        if (tiles != 1 || row->steps[indexed] || check_offsets(row, extents, indexed, row->dims[0]) < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "native executor: indexed memory must stay in place");
            }
            return -1;
        }
    }
    return 0;
}

/* Go through the dimensions around an inner loop, the last one fastest; whether the loop refused. */
static int run_outer(const Row *row, char *const *start)
{
    const Loop *loop = row->loop;
    const int nargs = loop->nargs, nouter = row->nouter - (loop->lines != NULL);
    npy_intp index[MAX_OUTER] = {0};
    char *at[MAX_OPERANDS], *given[MAX_OPERANDS];
    for (int j = 0; j < nargs; j++) {
        at[j] = start[j];
    }
    for (;;) {
        for (int j = 0; j < nargs; j++) {
            given[j] = at[j]; /* a loop may change what it is given */
        }
        if (loop->lines != NULL) {
            loop->lines(given, row->dims, row->steps, row->outer[nouter], row->strides + (npy_intp)nouter * nargs, loop->data);
        }
        else {
            loop->function(given, row->dims, row->steps, loop->data);
        }
        if (loop->refuses && given[0] == NULL) {
            return 1;
        }
        int d = nouter - 1;
        for (; d >= 0; d--) {
            const npy_intp *strides = row->strides + (npy_intp)d * nargs;
            if (++index[d] < row->outer[d]) {
                for (int j = 0; j < nargs; j++) {
                    at[j] += strides[j];
                }
                break;
            }
            for (int j = 0; j < nargs; j++) {
                at[j] -= strides[j] * (row->outer[d] - 1);
            }
            index[d] = 0;
        }
        if (d < 0) {
            return 0;
        }
    }
}

typedef struct {
    const Row *row;
    char *const *bases;
    npy_intp parts;
} SharedRow;

static void run_part(void *job, npy_intp part, int NPY_UNUSED(thread))
{
    const SharedRow *all = job;
    Row row = *all->row;
    const Loop *loop = row.loop;
    npy_intp dims[MAX_OUTER + 1 + MAX_CORE];
    const npy_intp count = row.nouter ? row.outer[0] : row.dims[0], each = (count + all->parts - 1) / all->parts;
    const npy_intp first = part * each, left = count - first;
    char *start[MAX_OPERANDS];
    if (left <= 0) {
        return;
    }
    for (int j = 0; j < loop->nargs; j++) {
        start[j] = all->bases[row.base[j]] + row.offset[j] + first * (row.nouter ? row.strides[j] : row.steps[j]);
    }
    memcpy(dims, row.nouter ? row.outer : row.dims, (size_t)(row.nouter ? row.nouter : 1 + loop->ndims) * sizeof(npy_intp));
    dims[0] = left < each ? left : each;
    if (row.nouter) {
        row.outer = dims;
        run_outer(&row, start);
        return;
    }
    loop->function(start, dims, row.steps, loop->data);
}

int rows_run(const Row *row, const Row *end, const ShortRow *shorts, char *const *bases)
{
    for (; row < end; row++) {
        const Loop *loop = row->loop;
        if (loop == NULL) {
            short_rows_run(shorts + row->first, shorts + row->end, bases);
            continue;
        }
        if (row->shared) {
            SharedRow job = {row, bases, 4 * row->shared};
            share(run_part, &job, job.parts, row->shared);
            continue;
        }
        char *start[MAX_OPERANDS];
        for (int j = 0; j < loop->nargs; j++) {
            start[j] = bases[row->base[j]] + row->offset[j];
        }
        if (row->nouter) {
            if (run_outer(row, start)) {
                return 1;
            }
            continue;
        }
        loop->function(start, row->dims, row->steps, loop->data);
        if (loop->refuses && start[0] == NULL) {
            return 1;
        }
    }
    return 0;
}

int rows_run_checked(const Row *row, const Row *end, char *const *bases)
{
    for (; row < end; row++) {
        const int refuses = row->loop->refuses;
        if (!refuses && fetestexcept(FE_ALL_EXCEPT)) {
            feclearexcept(FE_ALL_EXCEPT);
        }
        if (rows_run(row, row + 1, NULL, bases) || (!refuses && fetestexcept(FE_INVALID))) {
            feclearexcept(FE_ALL_EXCEPT);
            return 1;
        }
        if (!refuses && fetestexcept(FE_ALL_EXCEPT)) {
            /* what else happens inside of LAPACK is nobody's business */
            feclearexcept(FE_ALL_EXCEPT);
        }
    }
    return 0;
}

#include "_selected_rows.h"

void rows_run_tile(const Row *first, const Row *end, char *const *bases, npy_intp tile, npy_intp count, Turns *turns)
{
    const Row *until = end, *after = end;
    enum { BEFORE, DURING, AFTER } turn = turns == NULL ? AFTER : BEFORE;
    for (const Row *row = first; row < end;) {
        if (row == until) {
            row = after;
            until = after = end;
            continue;
        }
        if (turn == BEFORE && row >= turns->first) {
            await_turn(&turns->turn, tile);
            turn = DURING;
        }
        if (turn == DURING && row >= turns->end) {
            pass_turn(&turns->turn);
            turn = AFTER;
        }
        const Loop *loop = row->loop;
        if (loop->kind == SELECTS) {
            until = run_selected(row++, bases, tile, &after);
            continue;
        }
        char *start[MAX_OPERANDS];
        for (int j = 0; j < loop->nargs; j++) {
            start[j] = bases[row->base[j]] + row->offset[j] + tile * row->advance[j];
        }
        if (row->nouter) {
            run_outer(row, start);
        }
        else {
            loop->function(start, count ? &count : row->dims, row->steps, loop->data);
        }
        row++;
    }
    if (turn == BEFORE) {
        await_turn(&turns->turn, tile);
    }
    if (turn != AFTER) {
        pass_turn(&turns->turn);
    }
}
