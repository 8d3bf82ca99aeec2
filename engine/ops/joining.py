"""Joining values along an axis and taking them apart: concat and split, stack and unstack."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_int, as_ints, normalize_axis
from engine.core.aval import Aval, Known, Shape, compatible, format_shape, merge_shapes, sum_dims
from engine.core.batching import Batches, aligned, axis_param, like_first
from engine.core.dtypes import INTEGER
from engine.core.kinds import PerOperand, PushedTogether, check_dtype, general, linear, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, REARRANGES, SCATTERS
from engine.core.trace import constant_value
from engine.core.value import Value, boxed, shape_of
from engine.ops.axis_args import only_item, single_axis, static_int
from engine.ops.creation import zeros_like
from engine.ops.indexing import getitem_op
from engine.runtime.cache import cached
from engine.runtime.errors import InvalidArgumentError, ShapeError

_FULL = (None, None, None)


def _known_vector(x: Aval) -> Known:
    """The contents of a vector, as far as they are known."""
    if x.value is None and x.shape is not None and len(x.shape) == 1 and x.shape[0] is not None:
        return (None,) * x.shape[0]
    return x.value


# ---- concat ----------------------------------------------------------------------------------------------------------


def _concat_abstract(*values: Aval, axis: int) -> Aval:
    dtype = same_dtype("concat", ("*values",), values)
    known = [v.shape for v in values if v.shape is not None]
    if not known:
        return Aval(None, dtype)
    rank = len(known[0])
    shown = ", ".join(format_shape(v.shape) for v in values)
    if any(len(s) != rank for s in known):
        raise ShapeError(f"concat: argument `values` must have one rank, got shapes {shown}")
    at = normalize_axis("concat", axis, rank)
    dims: list[int | None] = []
    for i in range(rank):
        column = [s[i] for s in known]
        if i == at:
            dims.append(sum_dims(column) if len(known) == len(values) else None)
            continue
        sizes = {d for d in column if d is not None}
        if len(sizes) > 1:
            raise ShapeError(
                f"concat: Dimension {i} of all `values` must be equal (all but {at} must), got shapes {shown}"
            )
        dims.append(sizes.pop() if sizes else None)
    contents = [_known_vector(v) for v in values] if dtype.is_integer and rank == 1 else [None]
    value = None if None in contents else tuple(itertools.chain(*contents))
    return Aval(tuple(dims), dtype, value)


def _tangents(given: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    return [zeros_like(x) if t is None else t for t, x in zip(given, values, strict=True)]


def _concat_kernel(*values: Any, axis: int, out: Any = None) -> np.ndarray:
    joined = np.concatenate(values, axis, out)
    # NumPy takes the order of what it joins; programs join piece by piece, in C order
    return joined if joined.flags.c_contiguous else np.ascontiguousarray(joined)


def _pieces(ct: Any, out: Any, *values: Any, axis: int) -> Callable[[int], Any] | None:
    """From the number of a value to its part of `ct`; None where a size is not known."""
    rank = len(shape_of(ct) or ())
    sizes = [None if (shape := shape_of(v)) is None else shape[axis] for v in values]
    if None in sizes or not rank:
        return None
    ends = list(itertools.accumulate(sizes, initial=0))
    before = (_FULL,) * (axis % rank)
    return lambda i: getitem_op(ct, spec=(*before, (ends[i], ends[i + 1], None)))


_JOINS: dict[str, Any] = {
    "args": ("*values",), "sparsity": REARRANGES, "layout": Layout.FRESH, "shares": (), "takes_out": True,
    "keeps_nan": None,
}  # fmt: skip

concat_op = general(
    "concat_op",
    _concat_kernel,
    _concat_abstract,
    vjp=PerOperand(lambda i, ct, out, *values, axis: concat_piece(ct, *values, axis=axis, position=i), at_once=_pieces),
    jvp=PushedTogether(lambda ts, out, *values, axis: [concat_op(*_tangents(ts, values), axis=axis)]),
    batch=axis_param,
    type="ConcatV2",
    simplify=lambda avals, params: 0 if len(avals) == 1 else None,
    doc="Values joined along an axis.",
    **_JOINS,
)


def _extent(values: Sequence[Any], axis: int, position: int) -> slice:
    """Where along the axis the value at `position` lies in the whole."""
    start = sum([v.shape[axis] for v in values[:position]])
    return slice(start, start + values[position].shape[axis])


def _at(axis: int, index: Any, rank: int) -> tuple[Any, ...]:
    """A key that applies `index` to one axis."""
    return (*(slice(None),) * (axis % rank), index)


def _place_kernel(t: Any, *values: Any, axis: int, position: int) -> np.ndarray:
    shape = list(t.shape)
    shape[axis] = sum([v.shape[axis] for v in values])
    out = np.zeros(shape, t.dtype)
    out[_at(axis, _extent(values, axis, position), t.ndim)] = t
    return out


def _with_dim(shape: Shape, axis: int, dims: Sequence[int | None]) -> Shape:
    """`shape` with the sum of `dims` at an axis."""
    if shape is None:
        return None
    out = list(shape)
    out[axis] = sum_dims(dims)
    return tuple(out)


def _dims(values: Sequence[Aval], axis: int) -> list[int | None]:
    return [None if v.shape is None else v.shape[axis] for v in values]


def _part_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Operand 0 carries data, the others are references of which only the extent along the axis counts."""
    return (like_first if params["axis"] < 0 else aligned(axis="axis"))(op, size, flags, inputs, params)


def _piece_by_index(ct: Any, *values: Any, axis: int, position: int) -> Operand | None:
    piece = _pieces(ct, None, *values, axis=axis)
    return None if piece is None else piece(position)


concat_piece = linear(
    "concat_piece",
    lambda ct, *values, axis, position: ct[_at(axis, _extent(values, axis, position), ct.ndim)],
    lambda ct, x, *values, axis, position: concat_place(ct, *values, axis=axis, position=position),
    lambda ct, *values, axis, position: Aval(
        _with_dim(ct.shape, axis, _dims(values[position : position + 1], axis)), ct.dtype
    ),
    _part_batch,
    strict=False,
    args=("ct", "*like"),
    sparsity=GATHERS,
    specialize=_piece_by_index,
    layout=Layout.PART,
    doc="The part of `ct` that belongs to the value at `position` of a concat: one operand's transpose of it.",
)
concat_place = linear(
    "concat_place",
    _place_kernel,
    lambda ct, x, *values, axis, position: concat_piece(ct, *values, axis=axis, position=position),
    lambda t, *values, axis, position: Aval(_with_dim(t.shape, axis, _dims(values, axis)), t.dtype),
    _part_batch,
    args=("t", "*like"),
    sparsity=SCATTERS,
    doc="A concat in which all but the value at `position` is zero.",
)


@operands("*values")
def concat(values: Any, axis: Any) -> Operand:
    """Values joined along an axis.

    Parameters
    ----------
    values : list of value
        Of one dtype and rank, and of equal dimensions except along `axis`.
    axis : int

    Examples
    --------
    >>> concat([np.array([1, 2]), np.array([3])], 0)
    array([1, 2, 3])
    """
    if not isinstance(values, (list, tuple)):
        return values
    if not values:
        raise InvalidArgumentError("concat: argument `values` must not be empty")
    ranked = values[0]
    if shape_of(ranked) is None:
        ranked = next((v for v in values if shape_of(v) is not None), ranked)
    if shape_of(ranked) == ():
        raise ShapeError("concat: Can't concatenate scalars (use tf.stack instead)")
    return concat_op(*values, axis=single_axis("concat", ranked, only_item("concat", axis)))


# ---- split -----------------------------------------------------------------------------------------------------------


def _split_sizes(dim: int | None, sizes: Sequence[int]) -> list[int | None]:
    """`sizes` with what is left in place of -1."""
    if sizes.count(-1) > 1 or any(s < -1 for s in sizes):
        raise ShapeError(
            f"split: argument `num_or_size_splits` must hold sizes >= 0, and -1 at most once, got {list(sizes)}"
        )
    rest = None if dim is None else dim - sum([s for s in sizes if s != -1])
    resolved = [rest if s == -1 else s for s in sizes]
    if rest is not None and (rest < 0 or (rest and -1 not in sizes)):
        raise ShapeError(
            f"split: can't split axis of size {dim} into pieces of {list(sizes)}: Sum of output sizes must be {dim}"
        )
    return resolved


def _equal_sizes(dim: int | None, count: int) -> list[int | None]:
    if dim is None:
        return [None] * count
    if dim % count:
        raise ShapeError(
            f"split: Number of ways to split should evenly divide the split dimension, got {dim} and {count} ways"
        )
    return [dim // count] * count


def _sizes(dim: int | None, split: Any) -> list[Any]:
    return _equal_sizes(dim, split) if isinstance(split, int) else _split_sizes(dim, split)


def _split_kernel(x: Any, *sizes: Any, split: Any, axis: int) -> tuple[np.ndarray, ...]:
    if sizes:
        split = sizes[0].tolist()
    parts = _parts(x.shape[axis], split if type(split) is int else tuple(split), axis, x.ndim)
    return tuple([x[part] for part in parts])


@cached(1024)
def _parts(dim: int, split: Any, axis: int, rank: int) -> list[tuple[slice, ...]]:
    """The indices of the parts."""
    ends = list(itertools.accumulate(_sizes(dim, split)))
    return [_at(axis, slice(a, b), rank) for a, b in zip([0, *ends], ends, strict=False)]


def _split_abstract(x: Aval, *sizes: Aval, split: Any, axis: int) -> tuple[Aval, ...]:
    if x.shape is not None:
        normalize_axis("split", axis, len(x.shape))
    dim = None if x.shape is None else x.shape[axis]
    for size in sizes:
        check_dtype("split", "num_or_size_splits", size, INTEGER)
        if not compatible(size.shape, (split,)):
            raise ShapeError(f"split: argument `num_or_size_splits` must be a vector of {split} sizes, got {size}")
        known: Any = size.value if isinstance(size.value, tuple) and None not in size.value else None
        parts = [None] * split if known is None else _split_sizes(dim, known)
        return tuple(Aval(_with_dim(x.shape, axis, (s,)), x.dtype) for s in parts)
    return tuple(Aval(_with_dim(x.shape, axis, (s,)), x.dtype) for s in _sizes(dim, split))


split_op = linear(
    "split_op",
    _split_kernel,
    lambda cts, x, *sizes, split, axis: concat_op(*cts, axis=axis),
    _split_abstract,
    aligned(0, 1, axis="axis"),
    type="SplitV",
    args=("value", "*sizes"),
    multi=True,
    sparsity=GATHERS,
    layout=Layout.PART,
    doc="""Parts of a value along an axis: so many equal ones, or ones of the given sizes.

    Where an operand holds the sizes, `split` is their number.
    """,
)


@operands("value")
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None) -> list[Any]:
    """Parts of `value` along an axis.

    Parameters
    ----------
    value : value
    num_or_size_splits : int, or integer vector
        The number of equal parts, or the sizes of the parts; one of them may be -1, what is left.
    axis : int
    num : int, optional
        The number of parts, if `num_or_size_splits` is a vector of unknown length.

    Returns
    -------
    list of value

    Examples
    --------
    >>> split(np.arange(5), [2, -1])
    [array([0, 1]), array([2, 3, 4])]
    """
    at = single_axis("split", value, axis)
    sizes = num_or_size_splits
    if not isinstance(sizes, (list, tuple)) and (known := constant_value(sizes)) is not None:
        sizes = known.tolist()
    if isinstance(sizes, (list, tuple)):
        if num is not None and num != len(sizes):
            raise InvalidArgumentError(f"split: argument `num` is {num}, but `num_or_size_splits` has {len(sizes)}")
        if not any(isinstance(s, Value) for s in sizes):
            return list(split_op(value, split=as_ints("split", "num_or_size_splits", sizes), axis=at))
    elif not isinstance(sizes, Value):
        return list(split_op(value, split=as_int("split", "num_or_size_splits", sizes, 1), axis=at))
    return _split_dynamic(value, sizes, at, num)


def _split_dynamic(value: Any, sizes: Any, axis: int, num: int | None) -> list[Any]:
    """Split at sizes that a graph computes."""
    if not isinstance(sizes, Value):
        sizes = stack_op(*sizes, axis=-1)
    shape = shape_of(sizes)
    count = num or (shape[0] if shape else None)
    if not count:
        raise ShapeError(f"split: the number of parts is not known from {sizes!r}; give it as `num`")
    return list(split_op(value, sizes, split=count, axis=axis))


# ---- stack -----------------------------------------------------------------------------------------------------------


def _stack_kernel(*values: Any, axis: int, out: Any = None) -> np.ndarray:
    rank = values[0].ndim
    if not rank and out is None:
        if axis not in (0, -1):
            raise IndexError(f"axis {axis} of rank 1")  # the abstract evaluation says it in full
        return np.asarray(values) if values[0].dtype.kind != "O" else np.array([v[()] for v in values], object)
    # what `numpy.stack` does, with less ado
    key = _at(axis % (rank + 1), None, rank + 1)
    return _concat_kernel(*[v[key] for v in values], axis=axis, out=out)


def _stack_abstract(*values: Aval, axis: int) -> Aval:
    dtype = same_dtype("stack", ("*values",), values)
    shape: Shape = None
    for v in values:
        try:
            shape = merge_shapes(shape, v.shape)
        except ShapeError:
            shown = ", ".join(format_shape(v.shape) for v in values)
            raise ShapeError(f"stack: Shapes of all values must match, got {shown}") from None
    if shape is None:
        return Aval(None, dtype)
    at = normalize_axis("stack", axis, len(shape) + 1)
    contents = tuple(v.value for v in values) if dtype.is_integer and not shape else None
    return Aval((*shape[:at], len(values), *shape[at:]), dtype, contents)  # type: ignore[arg-type]


def _entry(i: int, axis: int) -> tuple[Any, ...]:
    """The spec of entry `i` along an axis."""
    return (*(_FULL,) * axis, i) if axis >= 0 else (..., i, *(_FULL,) * (-axis - 1))


stack_op = general(
    "stack_op",
    _stack_kernel,
    _stack_abstract,
    vjp=PerOperand(
        lambda i, ct, out, *values, axis: getitem_op(ct, spec=_entry(i, axis)),
        at_once=lambda ct, out, *values, axis: lambda i: getitem_op(ct, spec=_entry(i, axis)),
    ),
    jvp=PushedTogether(lambda ts, out, *values, axis: [stack_op(*_tangents(ts, values), axis=axis)]),
    batch=axis_param,
    type="Pack",
    doc="Values joined along a new axis.",
    **_JOINS,
)


@operands("*values")
def stack(values: Any, axis: Any = 0) -> Operand:
    """Values of one shape and dtype joined along a new axis.

    Parameters
    ----------
    values : list of value
    axis : int
        Position of the new axis in the result.

    Examples
    --------
    >>> stack([np.array([1, 2]), np.array([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    if not isinstance(values, (list, tuple)):
        values = unstack(values)
    if not values:
        raise InvalidArgumentError("stack: argument `values` must not be empty")
    shape = next((s for v in values if (s := shape_of(v)) is not None), None)
    at = static_int("stack", "axis", axis)
    if shape is not None:
        at = normalize_axis("stack", at, len(shape) + 1) - len(shape) - 1
    return stack_op(*values, axis=at)


# ---- unstack ---------------------------------------------------------------------------------------------------------


def _unstack_kernel(x: Any, *, num: int, axis: int) -> tuple[Operand, ...]:
    if x.shape[axis] != num:
        raise ShapeError(f"unstack: argument `num` is {num}, but the dimension is {x.shape[axis]}")
    axis %= x.ndim
    # what follows goes through each several times, which takes longer where its elements are far apart
    return tuple(map(boxed, np.ascontiguousarray(x.transpose(axis, *range(axis), *range(axis + 1, x.ndim)))))


def _unstack_abstract(x: Aval, *, num: int, axis: int) -> tuple[Aval, ...]:
    if x.shape is None:
        return (Aval(None, x.dtype),) * num
    at = normalize_axis("unstack", axis, len(x.shape))
    if x.shape[at] not in (num, None):
        raise ShapeError(f"unstack: argument `num` is {num}, but dimension {at} of {x} is not")
    contents = x.value if isinstance(x.value, tuple) else (None,) * num
    return tuple(Aval(x.shape[:at] + x.shape[at + 1 :], x.dtype, value) for value in contents)


unstack_op = linear(
    "unstack_op",
    _unstack_kernel,
    lambda cts, x, *, num, axis: stack_op(*cts, axis=axis),
    _unstack_abstract,
    axis_param,
    type="Unpack",
    args=("value",),
    multi=True,
    sparsity=GATHERS,
    layout=Layout.FRESH,
    shares=(0,),
    doc="The entries along an axis.",
)


@operands("value")
def unstack(value: Any, num: int | None = None, axis: Any = 0) -> list[Any]:
    """The entries of `value` along an axis.

    Parameters
    ----------
    value : value
    num : int, optional
        Their number; needed if it is not known while a graph is built.
    axis : int

    Returns
    -------
    list of value

    Examples
    --------
    >>> unstack(np.array([[1, 2], [3, 4]]), axis=1)
    [array([1, 3]), array([2, 4])]
    """
    at = single_axis("unstack", value, axis)
    shape = shape_of(value)
    count = num if num is not None or shape is None else shape[at]
    if count is None:
        raise ShapeError(f"unstack: the dimension is not known for {value!r}; give it as `num`")
    return list(unstack_op(value, num=static_int("unstack", "num", count, 0), axis=at))
