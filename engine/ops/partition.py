"""Picking, splitting and merging as values say: nonzero_indices, dynamic_partition, reverse_sequence and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import elementwise_rule, materialize, refused
from engine.core.dtypes import INTEGER, as_dtype, bool_, int32, int64
from engine.core.kinds import check_dtype, linear, nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import REARRANGES
from engine.core.value import Value, dtype_of, shape_of
from engine.ops.axis_args import single_axis, static_int
from engine.ops.compare import cast, less
from engine.ops.filling import range as range_of
from engine.ops.filling import zeros
from engine.ops.joining import concat
from engine.ops.scatter import tensor_scatter_nd_update
from engine.ops.shape import expand_dims, reshape, shape_op
from engine.ops.slicing import boolean_mask_op, getitem
from engine.runtime.errors import DTypeError, IndexOutOfRangeError, InvalidArgumentError, NotKnownYet, ShapeError

_NO_BATCH = refused(
    "the operands must not differ between batch elements, whose results could then differ in shape", ShapeError
)

# ---- where with one argument -----------------------------------------------------------------------------------------

nonzero_indices = nondifferentiable(
    "nonzero_indices",
    lambda x: np.argwhere(x).astype(np.int64),
    abstract=lambda x: Aval((None, x.ndim), int64),
    batch=_NO_BATCH,
    type="Where",
    args=("condition",),
    layout=Layout.ANY,
    doc="Index vectors of the entries that are true (or not zero), in order.",
)

# ---- dynamic_partition, dynamic_stitch -------------------------------------------------------------------------------


def _masks_kernel(partitions: Any, *, num: int) -> tuple[np.ndarray, ...]:
    if partitions.size and not 0 <= partitions.min() <= partitions.max() < num:
        wrong = partitions[(partitions < 0) | (partitions >= num)].flat[0]
        raise IndexOutOfRangeError(f"dynamic_partition: argument `partitions` must be in [0, {num}), got {wrong}")
    return tuple([np.equal(partitions, i) for i in range(num)])


def _masks_abstract(partitions: Aval, *, num: int) -> tuple[Aval, ...]:
    check_dtype("dynamic_partition", "partitions", partitions, INTEGER)
    return (Aval(partitions.shape, bool_),) * num


partition_masks = nondifferentiable(
    "partition_masks",
    _masks_kernel,
    abstract=_masks_abstract,
    batch=elementwise_rule,
    args=("partitions",),
    multi=True,
    doc="Where each of the numbers below `num` stands.",
)


@operands("data", alone=("partitions",))
def dynamic_partition(data: Any, partitions: Any, num_partitions: int) -> list[Any]:
    """Split `data` into parts as `partitions` says.

    Parameters
    ----------
    data : value
        Its first dimensions are those of `partitions`.
    partitions : integer value
        The number of the part that an entry belongs to, in [0, num_partitions).
    num_partitions : int

    Returns
    -------
    list of value
        The entries of each part in order, along the first dimension.

    Examples
    --------
    >>> dynamic_partition(np.array([5, 6, 7]), np.array([0, 1, 0]), 2)
    [array([5, 7]), array([6])]
    """
    count = static_int("dynamic_partition", "num_partitions", num_partitions, 1)
    return [boolean_mask_op(data, mask) for mask in partition_masks(partitions, num=count)]


stitched_size = nondifferentiable(
    "stitched_size",
    lambda indices: np.asarray(np.max(indices, initial=-1) + 1, indices.dtype),
    abstract=lambda indices: Aval((), indices.dtype),
    batch=_NO_BATCH,
    args=("indices",),
    doc="How many entries a value needs to have all the given indices.",
)


@operands("*data", alone=("*indices",))
def dynamic_stitch(indices: Any, data: Any) -> Operand:
    """One value made of the entries of several: entry ``indices[m][i]`` is ``data[m][i]``.

    Parameters
    ----------
    indices : list of integer value
        Of an index that occurs twice, the last entry counts. An index that does not occur gives zeros.
    data : list of value
        ``data[m].shape`` begins with ``indices[m].shape``; what follows is the same for all m.

    Examples
    --------
    >>> dynamic_stitch([np.array([2, 0]), np.array([1])], [np.array([5, 6]), np.array([7])])
    array([6, 7, 5])
    """
    for name, argument in (("indices", indices), ("data", data)):
        if not isinstance(argument, (list, tuple)) and shape_of(argument) == ():
            raise DTypeError(f"dynamic_stitch: argument `{name}` must be a list of tensors, got {argument!r}")
    if len(indices) != len(data) or not len(indices):
        raise ShapeError(f"dynamic_stitch: needs as many `indices` as `data`, got {len(indices)} and {len(data)}")
    ranks = [(len(s), x) for s, x in zip(map(shape_of, indices), data, strict=True) if s is not None]
    if not ranks:
        raise NotKnownYet("dynamic_stitch: the rank of one of `indices` must be known; give it one with set_shape")
    flat = concat([reshape(i, [-1]) for i in indices], 0)
    inner = getitem(shape_op(ranks[0][1], out_type=int32), slice(ranks[0][0], None))
    one = np.asarray([-1], np.int32)
    rows = concat([reshape(d, concat([one, inner], 0)) for d in data], 0)
    size = cast(reshape(stitched_size(flat), [1]), int32)
    empty = zeros(concat([size, inner], 0), dtype_of(rows))
    return tensor_scatter_nd_update(empty, expand_dims(flat, -1), rows)


# ---- sequences of unequal length -------------------------------------------------------------------------------------


def _check_lengths(lengths: Any, size: int) -> None:
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= size:
        wrong = lengths[(lengths < 0) | (lengths > size)].flat[0]
        raise InvalidArgumentError(f"reverse_sequence: argument `seq_lengths` must be in [0, {size}], got {wrong}")


def _reverse_kernel(x: Any, lengths: Any, *, axis: int, batch_axes: tuple[int, ...]) -> np.ndarray:
    size = x.shape[axis]
    _check_lengths(lengths, size)
    rank = x.ndim
    dims = [1] * rank
    for a, n in zip(sorted(a % rank for a in batch_axes), lengths.shape, strict=True):
        dims[a] = n
    steps = np.arange(size).reshape([size if a == axis % rank else 1 for a in range(rank)])
    ends = lengths.astype(np.intp).reshape(dims)
    return np.take_along_axis(x, np.where(steps < ends, ends - 1 - steps, steps), axis)


def _reverse_abstract(x: Aval, lengths: Aval, *, axis: int, batch_axes: tuple[int, ...]) -> Aval:
    check_dtype("reverse_sequence", "seq_lengths", lengths, INTEGER)
    if x.shape is None:
        return x
    rank = len(x.shape)
    dims = tuple(x.shape[normalize_axis("reverse_sequence", a, rank)] for a in batch_axes)
    normalize_axis("reverse_sequence", axis, rank)
    if not compatible(lengths.shape, dims):
        shown = f"{format_shape(dims)}, got {format_shape(lengths.shape)}"
        raise ShapeError(f"reverse_sequence: argument `seq_lengths` must have shape {shown}")
    return Aval(x.shape, x.dtype)


def _reverse_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Operand:
    x = inputs[0] if flags[0] else materialize(inputs[0], size)
    axis, *others = [a if a < 0 else a + 1 for a in (params["axis"], *params["batch_axes"])]
    return op(x, inputs[1], axis=axis, batch_axes=(*([0] if flags[1] else []), *others))


reverse_sequence_op = linear(
    "reverse_sequence_op",
    _reverse_kernel,
    lambda ct, x, lengths, *, axis, batch_axes: reverse_sequence_op(ct, lengths, axis=axis, batch_axes=batch_axes),
    _reverse_abstract,
    _reverse_batch,
    strict=False,
    type="ReverseSequence",
    args=("input", "seq_lengths"),
    sparsity=REARRANGES,
    doc="The first entries along an axis, so many as is said for each place along the batch axes, in opposite order.",
)


@operands("input", alone=("seq_lengths",))
def reverse_sequence(input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None) -> Operand:
    """Sequences of unequal length, each in opposite order.

    Parameters
    ----------
    input : value
    seq_lengths : integer vector
        For each entry along `batch_axis`, how many entries along `seq_axis` to turn round; the rest stays.
    seq_axis, batch_axis : int
        `batch_axis` is 0 by default.

    Examples
    --------
    >>> reverse_sequence(np.array([[1, 2, 3], [4, 5, 6]]), np.array([2, 3]), seq_axis=1)
    array([[2, 1, 3],
           [6, 5, 4]])
    """
    if seq_axis is None:
        raise InvalidArgumentError("reverse_sequence: argument `seq_axis` is needed")
    axis = single_axis("reverse_sequence", input, seq_axis)
    batch = single_axis("reverse_sequence", input, 0 if batch_axis is None else batch_axis)
    if axis == batch:
        raise InvalidArgumentError(f"reverse_sequence: `seq_axis` and `batch_axis` must differ, got {axis} twice")
    return reverse_sequence_op(input, seq_lengths, axis=axis, batch_axes=(batch,))


@operands("lengths")
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = bool_) -> Operand:
    """For each length n, n times true and then false.

    Parameters
    ----------
    lengths : integer value
    maxlen : int or scalar value, optional
        Size of the new last dimension, by default the largest of the lengths.
    dtype : DType

    Examples
    --------
    >>> sequence_mask(np.array([1, 2]), 3)
    array([[ True, False, False],
           [ True,  True, False]])
    """
    if maxlen is not None and (shape_of(maxlen) if isinstance(maxlen, Value) else np.shape(maxlen)) not in ((), None):
        raise ShapeError(f"sequence_mask: argument `maxlen` must be scalar, got {maxlen!r}")
    size = stitched_size(lengths) - 1 if maxlen is None else maxlen
    positions = cast(range_of(size), dtype_of(lengths))
    return cast(less(positions, expand_dims(lengths, -1)), as_dtype(dtype))
