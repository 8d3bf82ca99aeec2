"""Rows of arrays at indices that only a run knows: taken, put, and added up.

Loops of our own look whether indices are in range. One that meets an index that is not refuses; then the kernel is
called with the arrays, and says what is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.passes.inplace_scatter import write_entries
from engine.core.op import Op
from engine.executor.hidden import Hidden, Writer, actual_of, opaque_if, ref_of
from engine.executor.refs import Ref, Row, merged_axes
from engine.executor.vocabulary import filled, placed, put
from engine.ops.cross_entropy import entropy_of, less_one_hot, sparse_softmax_cross_entropy_op
from engine.ops.gather import gather_back_op, gather_op
from engine.ops.indexing import FULL, OPERAND, getitem_back_op, getitem_op, numpy_key
from engine.ops.nn import below_largest
from engine.ops.scatter import gather_last_op, gather_nd_op, scatter_nd_op, tensor_scatter_update_op
from engine.ops.segment import segment_sum_like, unsegment, unsorted_segment_sum_op
from engine.ops.selection import add_at_op, flat_scatter_op

_INDICES = {np.dtype(np.int32): "i", np.dtype(np.int64): "l"}
Axis = tuple[int, tuple[int, int, int]]
"""The size of an axis, and by how much indices, the whole and the parts go on along it."""


def _row(recorder: Writer, loop: str, indices: Ref, whole: Ref, parts: Ref, at: int, batch: int = 0) -> None:
    """The row that takes parts of a whole along the axis `at`, or puts or adds them there.

    Indices have the first `batch` axes of the whole; the rest of theirs stand in the parts in place of the axis `at`.
    What is put or added is so in the order of the indices.
    """
    adds, into = loop.startswith("add"), loop.startswith(("add", "put"))
    opaque_if(indices.dtype not in _INDICES or whole.dtype != parts.dtype or (adds and whole.dtype.char not in "fd"))
    own = len(indices.shape) - batch
    before = range(batch, at)
    # what lies within a row is taken with it
    within = [k for k in before if abs(whole.strides[k]) < abs(whole.strides[at])]
    around: list[Axis] = [
        *[(d, (indices.strides[k], whole.strides[k], parts.strides[k])) for k, d in enumerate(whole.shape[:batch])],
        *[(whole.shape[k], (0, whole.strides[k], parts.strides[k])) for k in before if k not in within],
        *[(indices.shape[batch + k], (indices.strides[batch + k], 0, parts.strides[at + k])) for k in range(own)],
    ]
    columns: list[Axis] = [
        *[(whole.shape[k], (0, whole.strides[k], parts.strides[k])) for k in within],
        *[(whole.shape[k], (0, whole.strides[k], parts.strides[k + own - 1])) for k in range(at + 1, len(whole.shape))],
    ]
    columns.sort(key=lambda axis: -axis[1][1])
    inside, outside = merged_axes(columns), merged_axes(around)
    size = whole.dtype.itemsize
    width, (_, of_whole, of_parts) = inside.pop() if inside else (1, (0, size, size))
    outside = [*inside, *outside]
    count, steps = outside.pop() if outside else (1, (0, 0, 0))
    along = whole.strides[at]
    # the operands are indices, what is read, what is written

    def turn(s: tuple[int, int, int]) -> tuple[int, int, int]:
        return (s[0], s[2], s[1]) if into else s

    core = (of_parts, along, of_whole) if into else (along, of_whole, of_parts)
    operands = (indices, parts, whole) if into else (indices, whole, parts)
    row = Row(
        (f"{loop}_{_INDICES[indices.dtype]}_{whole.dtype.char if adds else size}",),
        tuple([(x.root, x.offset) for x in operands]),
        (count, whole.shape[at], width),
        (*turn(steps), *core),
        tuple([d for d, _ in outside]),
        tuple(itertools.chain(*[turn(s) for _, s in outside])),
    )
    recorder.add_checked(row)


def _taken(recorder: Writer, loop: str, real: Any, x: Any, indices: Any, at: int, batch: int = 0) -> Hidden:
    """The values that a kernel took of `x`."""
    result = recorder.computed(real)
    if result.size:
        _row(recorder, loop, ref_of(recorder, indices), ref_of(recorder, x), result.ref, at, batch)
    return result


def _added(recorder: Writer, loop: str, real: Any, values: Any, indices: Any, at: int, batch: int = 0) -> Hidden:
    """Zeros to which a kernel added values, or in whose place it put them."""
    result = filled(recorder, real.shape, real.dtype)
    result.actual[...] = real
    if values.size:
        _row(recorder, loop, ref_of(recorder, indices), result.ref, ref_of(recorder, values), at, batch)
    return result


def _entries(recorder: Writer, indices: Any, shape: Sequence[int], batch: int) -> tuple[Any, tuple[int, ...]]:
    """Index vectors as indices, and the shape in which what they index is one axis.

    Index vectors of one entry are left to the row that uses them. Of others each entry is looked at: a vector outside
    of its axes may be inside of them all.
    """
    depth = indices.shape[-1]
    sizes = shape[batch : batch + depth]
    whole = math.prod(sizes)
    opaque_if(not depth or indices.dtype not in _INDICES or whole > np.iinfo(indices.dtype).max)
    together = (*shape[:batch], whole, *shape[batch + depth :])
    if depth == 1:
        return indices[..., 0], together
    entries = [indices[..., k] for k in range(depth)]
    loop = (f"all_within_{_INDICES[indices.dtype]}",)
    for entry, size in zip(entries, sizes, strict=True):
        if isinstance(entry, Hidden) and entry.size:
            recorder.look(loop, entry.ref, size)
    at: Any = entries[0]
    for entry, size in zip(entries[1:], sizes[1:], strict=True):
        at = at * indices.dtype.type(size) + entry
    return at, together


# ---- by op -----------------------------------------------------------------------------------------------------------


def _gather(recorder: Writer, params: Any, indices: Any, *, axis: int, batch_dims: int) -> Hidden:
    real = gather_op.kernel(actual_of(params), actual_of(indices), axis=axis, batch_dims=batch_dims)
    return _taken(recorder, "rows", real, params, indices, axis % len(params.shape), batch_dims)


def _gather_back(
    recorder: Writer, ct: Any, like: Any, indices: Any, *, axis: int, batch_dims: int, lead: int = 0, like_lead: int = 0
) -> Hidden:
    params = {"axis": axis, "batch_dims": batch_dims, "lead": lead, "like_lead": like_lead}
    real = gather_back_op.kernel(actual_of(ct), actual_of(like), actual_of(indices), **params)
    return _added(recorder, "add_rows", real, ct, indices, axis % real.ndim, batch_dims)


def _unsegment(recorder: Writer, x: Any, ids: Any, *, lead: int = 0) -> Hidden:
    real = unsegment.kernel(actual_of(x), actual_of(ids), lead=lead)
    return _taken(recorder, "some_rows", real, x, ids, lead, lead)


def _segment_sum_like(recorder: Writer, data: Any, ids: Any, ref: Any, *, lead: int = 0) -> Hidden:
    real = segment_sum_like.kernel(actual_of(data), actual_of(ids), actual_of(ref), lead=lead)
    return _added(recorder, "add_some_rows", real, data, ids, lead, lead)


def _unsorted_segment_sum(recorder: Writer, data: Any, ids: Any, number: Any, *, lead: int = 0) -> Hidden:
    opaque_if(isinstance(number, Hidden))
    real = unsorted_segment_sum_op.kernel(actual_of(data), actual_of(ids), number, lead=lead)
    return _added(recorder, "add_some_rows", real, data, ids, lead, lead)


def _less_one_hot(recorder: Writer, p: Any, labels: Any) -> Hidden:
    opaque_if(not isinstance(p, Hidden))
    result = recorder.copy(p, less_one_hot.kernel(p.actual, actual_of(labels)))
    if result.size:
        less = recorder.constant(np.broadcast_to(p.dtype.type(-1), labels.shape))
        _row(recorder, "add_rows", ref_of(recorder, labels), result.ref, less, labels.ndim, labels.ndim)
    return result


def _sparse_cross_entropy(recorder: Writer, labels: Any, logits: Any) -> Any:
    opaque_if(labels.shape != logits.shape[:-1] or not isinstance(logits, Hidden))
    below: Any = below_largest(logits, -1)
    real = np.take_along_axis(below.actual, actual_of(labels)[..., np.newaxis], -1)[..., 0]
    return entropy_of(below, _taken(recorder, "rows", real, below, labels, labels.ndim, labels.ndim))


def _place(recorder: Writer, values: Any, positions: Any, *, size: int, distinct: bool) -> Hidden:
    if not distinct:
        real = flat_scatter_op.kernel(actual_of(values), actual_of(positions), size=size, distinct=False)
        return _added(recorder, "add_rows", real, values, positions, real.ndim - 1)
    result: Any = filled(recorder, (*values.shape[:-1], size), values.dtype)
    put(recorder, result, (..., positions), values)
    return result


def _add_at(recorder: Writer, x: Any, values: Any, positions: Any, *, size: int, distinct: bool) -> Hidden:
    opaque_if(not isinstance(x, Hidden))
    arrays = [actual_of(v) for v in (x, values, positions)]
    result = recorder.copy(x, np.ascontiguousarray(add_at_op.kernel(*arrays, size=size, distinct=distinct)))
    if values.size:
        _row(recorder, "add_rows", ref_of(recorder, positions), result.ref, ref_of(recorder, values), x.ndim - 1)
    return result


def _indexed_axis(spec: Any, lead: int) -> int:
    """The axis of which an index takes one entry that only a run knows, and nothing of others."""
    items = [item for item in spec if item is not ...] if spec[-1:] == (...,) else [*spec]
    opaque_if(items.count(OPERAND) != 1 or any(item not in (OPERAND, FULL) for item in items))
    return int(lead + items.index(OPERAND))


def _getitem(recorder: Writer, x: Any, *dynamic: Any, spec: Any, lead: int = 0) -> Any:
    if not dynamic:
        return getitem_op.kernel(x, spec=spec, lead=lead)
    at = _indexed_axis(spec, lead)
    real = getitem_op.kernel(actual_of(x), actual_of(dynamic[0]), spec=spec, lead=lead)
    return _taken(recorder, "rows", np.ascontiguousarray(real).reshape(np.shape(real)), x, dynamic[0], at)


def _getitem_back(
    recorder: Writer, ct: Any, like: Any, *dynamic: Any, spec: Any, lead: int = 0, like_lead: int = 0
) -> Hidden:
    shape = ct.shape[:lead] + like.shape[like_lead:]
    if not dynamic:
        return placed(recorder, shape, numpy_key(shape, spec, dynamic, lead), ct)
    at = _indexed_axis(spec, lead)
    real = getitem_back_op.kernel(
        actual_of(ct), actual_of(like), actual_of(dynamic[0]), spec=spec, lead=lead, like_lead=like_lead
    )
    return _added(recorder, "put_rows", real, ct, dynamic[0], at)


def _gather_nd(recorder: Writer, params: Any, indices: Any, *, batch_dims: int = 0) -> Hidden:
    real = gather_nd_op.kernel(actual_of(params), actual_of(indices), batch_dims=batch_dims)
    at, shape = _entries(recorder, indices, params.shape, batch_dims)
    return _taken(recorder, "rows", real, params.reshape(shape), at, batch_dims, batch_dims)


def _into(recorder: Writer, loop: str, whole: Any, indices: Any, updates: Any, batch: int = 0) -> None:
    """Put updates at index vectors of what rows compute, or add them."""
    if not updates.size:
        return
    at, shape = _entries(recorder, indices, whole.shape, batch)
    rows = recorder.view(whole, whole.actual.reshape(shape))
    _row(recorder, loop, ref_of(recorder, at), rows.ref, ref_of(recorder, updates), batch, batch)


def _scatter_nd(recorder: Writer, updates: Any, indices: Any, shape: Any, *, batch_dims: int = 0) -> Hidden:
    opaque_if(isinstance(shape, Hidden))
    real = scatter_nd_op.kernel(actual_of(updates), actual_of(indices), shape, batch_dims=batch_dims)
    result = filled(recorder, real.shape, real.dtype)
    result.actual[...] = real
    _into(recorder, "add_rows", result, indices, updates, batch_dims)
    return result


def _tensor_scatter_update(recorder: Writer, x: Any, indices: Any, updates: Any, *, batch_dims: int = 0) -> Hidden:
    opaque_if(not isinstance(x, Hidden))
    arrays = [actual_of(v) for v in (x, indices, updates)]
    real = tensor_scatter_update_op.kernel(*arrays, batch_dims=batch_dims)
    result = recorder.copy(x, np.ascontiguousarray(real))
    _into(recorder, "put_rows", result, indices, updates, batch_dims)
    return result


def _write_entries(recorder: Writer, x: Any, indices: Any, updates: Any) -> Hidden:
    opaque_if(not isinstance(x, Hidden) or x.ref.root.kind != "computed")
    write_entries.kernel(x.actual, actual_of(indices), actual_of(updates))
    _into(recorder, "put_rows", x, indices, updates)
    return x


def _gather_last(recorder: Writer, params: Any, indices: Any, *, batch_dims: int = 0) -> Hidden:
    opaque_if(batch_dims or indices.shape[-1] != 1 or indices.size != 1)
    return _taken(
        recorder, "rows", gather_last_op.kernel(actual_of(params), actual_of(indices)), params, indices[..., 0], 0
    )


GATHERS: dict[Op, Callable[..., Any]] = {
    gather_op: _gather,
    gather_back_op: _gather_back,
    unsegment: _unsegment,
    segment_sum_like: _segment_sum_like,
    unsorted_segment_sum_op: _unsorted_segment_sum,
    less_one_hot: _less_one_hot,
    sparse_softmax_cross_entropy_op: _sparse_cross_entropy,
    flat_scatter_op: _place,
    add_at_op: _add_at,
    getitem_op: _getitem,
    getitem_back_op: _getitem_back,
    gather_nd_op: _gather_nd,
    scatter_nd_op: _scatter_nd,
    tensor_scatter_update_op: _tensor_scatter_update,
    write_entries: _write_entries,
    gather_last_op: _gather_last,
}
"""By op: its kernel as rows, given the recorder in front. What it cannot write raises `Opaque`."""
