"""Repeating, padding and reordering: tile, repeat, pad, reverse, roll, meshgrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_ints, normalize_axis
from engine.core.aval import Aval, format_shape, sum_dims
from engine.core.batching import NotBatched, aligned, axis_param, lead_param, shift_axes
from engine.core.dtypes import INTEGER, int64
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, general, linear, nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Array, Operand, operands
from engine.core.sparsity import REARRANGES, Moves, collected
from engine.core.sums import add_over
from engine.core.trace import constant_value
from engine.core.value import Value, as_padding, dtype_of, shape_of
from engine.ops.arithmetic import negative
from engine.ops.axis_args import reduction_axes, single_axis, static_axis
from engine.ops.gather import gather, placed_shape
from engine.ops.indexing import placing_rule
from engine.ops.joining import stack
from engine.ops.shape import as_dims, broadcast_to, known_dims, reshape, shape_operand, size, unchanged
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError

# ---- tile ------------------------------------------------------------------------------------------------------------


def _check_entries(name: str, argument: str, given: int, rank: int) -> None:
    if given != rank:
        raise ShapeError(f"{name}: argument `{argument}` must have one entry per dimension ({rank}), got {given}")


def _interleaved(shape: Sequence[int], multiples: Sequence[int]) -> tuple[int, ...]:
    """The dimensions with the multiple of each in front of it."""
    return tuple([d for pair in zip(multiples, shape, strict=True) for d in pair])


def _tile_kernel(x: Any, multiples: Any, *, lead: int = 0) -> np.ndarray:
    counts = as_dims(multiples)
    kept, inner = x.shape[:lead], x.shape[lead:]
    _check_entries("tile", "multiples", len(counts), len(inner))
    if counts and min(counts) < 0:
        raise InvalidArgumentError(f"tile: argument `multiples` must be >= 0, got {counts}")
    spread = x.reshape(kept + _interleaved(inner, (1,) * len(inner)))
    repeated = np.broadcast_to(spread, kept + _interleaved(inner, counts))
    return repeated.reshape(kept + tuple([d * m for d, m in zip(inner, counts, strict=True)]))


def _tile_abstract(x: Aval, multiples: Aval, *, lead: int = 0) -> Aval:
    check_dtype("tile", "multiples", multiples, INTEGER)
    counts = known_dims(multiples)
    if x.shape is None:
        return Aval(None if counts is None else (None,) * (lead + len(counts)), x.dtype)
    kept, inner = x.shape[:lead], x.shape[lead:]
    if counts is None:
        return Aval((*kept, *[None] * len(inner)), x.dtype)
    _check_entries("tile", "multiples", len(counts), len(inner))
    return Aval((*kept, *map(_times, inner, counts)), x.dtype)


def _times(dim: int | None, count: int | None) -> int | None:
    return None if dim is None or count is None else dim * count


def _tile_back_kernel(ct: Any, like: Any, multiples: Any, *, lead: int = 0, like_lead: int = 0) -> Array:
    kept, inner = ct.shape[:lead], like.shape[like_lead:]
    parts = ct.reshape(kept + _interleaved(inner, as_dims(multiples)))
    return add_over(parts, tuple(range(lead, parts.ndim, 2)))


tile_op = linear(
    "tile_op",
    _tile_kernel,
    lambda ct, x, multiples, *, lead=0: tile_back_op(ct, x, multiples, lead=lead, like_lead=lead),
    _tile_abstract,
    lead_param,
    type="Tile",
    args=("input", "multiples"),
    simplify=unchanged(_tile_abstract),
    sparsity=REARRANGES,
    doc="Copies of a value side by side.",
)
tile_back_op = linear(
    "tile_back_op",
    _tile_back_kernel,
    lambda ct, x, like, multiples, *, lead=0, like_lead=0: tile_op(ct, multiples, lead=lead),
    placed_shape,
    placing_rule,
    args=("ct", "like", "multiples"),
    sparsity=collected(
        lambda out, ct, like, multiples, *, lead=0, like_lead=0: _tile_kernel(out, multiples, lead=lead)
    ),
    doc="The sum of the copies that `tile_op` made of a value of the shape of `like`: its transpose.",
)


@operands("input")
def tile(input: Any, multiples: Any) -> Operand:
    """``multiples[i]`` copies of `input` side by side, along each dimension i.

    Examples
    --------
    >>> tile(np.array([[1, 2]]), [2, 2])
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    return tile_op(input, shape_operand(multiples))


# ---- repeat ----------------------------------------------------------------------------------------------------------


def _repeat_indices_kernel(repeats: Any, like: Any, *, axis: int) -> np.ndarray:
    if repeats.size and repeats.min() < 0:
        raise InvalidArgumentError(f"repeat: argument `repeats` must be non-negative, got {repeats}")
    return np.repeat(np.arange(like.shape[axis]), repeats)


def _repeat_indices_abstract(repeats: Aval, like: Aval, *, axis: int) -> Aval:
    check_dtype("repeat", "repeats", repeats, INTEGER)
    dim = None if like.shape is None else like.shape[normalize_axis("repeat", axis, len(like.shape))]
    counts = known_dims(repeats)
    if counts is None:
        return Aval((None,), int64)
    if len(counts) == 1:
        return Aval((_times(dim, counts[0]),), int64)
    if dim not in (None, len(counts)):
        raise ShapeError(f"repeat: argument `repeats` must be a scalar or have {dim} entries, got {len(counts)}")
    return Aval((sum_dims(counts),), int64)


def _repeat_indices_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> NotBatched:
    if flags[0]:
        raise ShapeError("repeat: argument `repeats` must not differ between batch elements")
    return NotBatched(op(*inputs, axis=shift_axes(params["axis"])))


repeat_indices = nondifferentiable(
    "repeat_indices",
    _repeat_indices_kernel,
    abstract=_repeat_indices_abstract,
    batch=_repeat_indices_batch,
    args=("repeats", "like"),
    doc="Which entry of an axis of `like` each entry of a repeat along it is.",
)


@operands("input", alone=("repeats",))
def repeat(input: Any, repeats: Any, axis: Any = None) -> Operand:
    """Each entry of `input` along an axis, so many times in a row.

    Parameters
    ----------
    input : value
    repeats : integer scalar, or vector of one entry per entry along the axis
    axis : int, optional
        By default, `input` is flattened first.

    Examples
    --------
    >>> repeat(np.array([3, 4]), np.array([1, 2]))
    array([3, 4, 4])
    """
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    at = single_axis("repeat", input, axis)
    return gather(input, repeat_indices(repeats, input, axis=at), axis=at)


# ---- pad -------------------------------------------------------------------------------------------------------------

MODES = ("CONSTANT", "REFLECT", "SYMMETRIC")


def _pairs(paddings: Any, rank: int) -> list[tuple[int, int]]:
    """The numbers of entries before and behind each dimension."""
    flat = as_dims(paddings)
    _check_entries("pad", "paddings", len(flat) // 2, rank)
    _check_not_negative(flat)
    return list(zip(flat[::2], flat[1::2], strict=True))


def _check_not_negative(paddings: Sequence[int | None]) -> None:
    if any(p is not None and p < 0 for p in paddings):
        raise InvalidArgumentError(f"pad: argument `paddings` must be non-negative, got {paddings}")


def _check_mirror(mode: str, before: int, behind: int, dim: int) -> None:
    most = dim - (mode == "REFLECT")
    if max(before, behind) > most:
        raise InvalidArgumentError(
            f"pad: with mode {mode} at most {most} entries can be added at each end of a dimension of {dim}, "
            f"got `paddings` {(before, behind)}"
        )


def _pad_kernel(x: Any, paddings: Any, *, mode: str, value: Any, lead: int = 0) -> np.ndarray:
    if mode == "CONSTANT":
        shape, core = pad_place(x.shape, paddings, lead)
        out = np.full(shape, value, x.dtype)
        out[core] = x
        return out
    pairs = _pairs(paddings, x.ndim - lead)
    for d, (a, b) in zip(x.shape[lead:], pairs, strict=True):
        _check_mirror(mode, a, b, d)
    return np.pad(x, [(0, 0)] * lead + pairs, mode.lower())  # type: ignore[call-overload]


def pad_place(shape: tuple[int, ...], paddings: Any, lead: int) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The shape of a padded value, and where in it the value itself lies."""
    pairs = _pairs(paddings, len(shape) - lead)
    padded = [d + a + b for d, (a, b) in zip(shape[lead:], pairs, strict=True)]
    return (*shape[:lead], *padded), _core(pairs, shape[lead:])


def _core(pairs: Sequence[tuple[int, int]], shape: Sequence[int]) -> tuple[Any, ...]:
    """Where in the padded value the value itself lies."""
    return (..., *[slice(a, a + d) for d, (a, _) in zip(shape, pairs, strict=True)])


def _pad_abstract(x: Aval, paddings: Aval, *, mode: str, value: Any, lead: int = 0) -> Aval:
    check_dtype("pad", "paddings", paddings, INTEGER)
    flat = known_dims(paddings)
    if x.shape is None:
        return Aval(None if flat is None else (None,) * (lead + len(flat) // 2), x.dtype)
    inner = x.shape[lead:]
    _check_not_negative(flat or ())
    if flat is None or paddings.ndim == 2:
        return Aval((*x.shape[:lead], *(None,) * len(inner)), x.dtype)
    _check_entries("pad", "paddings", len(flat) // 2, len(inner))
    dims = [sum_dims(parts) for parts in zip(inner, flat[::2], flat[1::2], strict=True)]
    return Aval((*x.shape[:lead], *dims), x.dtype)


pad_op = general(
    "pad_op",
    _pad_kernel,
    _pad_abstract,
    vjp=(
        lambda ct, out, x, pads, *, mode, value, lead=0: pad_back_op(ct, x, pads, mode=mode, lead=lead, like_lead=lead),
        None,
    ),
    jvp=(lambda t, out, x, paddings, *, mode, value, lead=0: pad_op(t, paddings, mode=mode, value=0, lead=lead), None),
    batch=lead_param,
    type="PadV2",
    args=("tensor", "paddings"),
    simplify=unchanged(_pad_abstract),
    sparsity=Moves(drops=False, value=0),
    doc="A value with entries added around it: a constant, or its own ones mirrored.",
)


def _fold(ct: Any, axis: int, mode: str, before: int, size: int) -> np.ndarray:
    """Add the mirrored entries along an axis to those they came from."""
    x = np.moveaxis(ct, axis, 0)
    core = x[before : before + size].copy()
    # REFLECT leaves out the entry at the edge
    skip = int(mode == "REFLECT")
    behind = len(x) - before - size
    core[skip : before + skip] += x[:before][::-1]
    core[size - behind - skip : size - skip] += x[before + size :][::-1]
    return np.moveaxis(core, 0, axis)


def _pad_back_kernel(ct: Any, like: Any, paddings: Any, *, mode: str, lead: int = 0, like_lead: int = 0) -> np.ndarray:
    inner = like.shape[like_lead:]
    pairs = _pairs(paddings, len(inner))
    if mode == "CONSTANT":
        return ct[_core(pairs, inner)]
    for i, (d, (before, behind)) in enumerate(zip(inner, pairs, strict=True)):
        if before or behind:
            ct = _fold(ct, lead + i, mode, before, d)
    return ct


pad_back_op = linear(
    "pad_back_op",
    _pad_back_kernel,
    lambda ct, x, like, paddings, *, mode, lead=0, like_lead=0: pad_op(ct, paddings, mode=mode, value=0, lead=lead),
    placed_shape,
    placing_rule,
    args=("ct", "like", "paddings"),
    sparsity=collected(
        lambda out, ct, like, paddings, *, mode, lead=0, like_lead=0: _pad_kernel(
            out, paddings, mode=mode, value=0, lead=lead
        )
    ),
    layout=lambda avals, params: Layout.PART if params["mode"] == "CONSTANT" else Layout.ANY,
    doc="`ct` without what `pad_op` added to a value like `like`, or with it folded back: its transpose.",
)


@operands("tensor")
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Operand:
    """`tensor` with entries added around it.

    Parameters
    ----------
    tensor : value
    paddings : integer matrix, shape (rank, 2)
        How many entries to add before and behind each dimension.
    mode : str
        ``"CONSTANT"``, ``"REFLECT"`` (mirrored, without repeating the edge) or ``"SYMMETRIC"`` (with the edge).
    constant_values : number
        What to add in CONSTANT mode. No derivative flows to it.

    Raises
    ------
    InvalidArgumentError
        If more entries are to be mirrored than there are.

    Examples
    --------
    >>> pad(np.array([1, 2, 3]), [[2, 1]], "REFLECT")
    array([3, 2, 1, 2, 3, 2])
    """
    upper = mode.upper()
    if upper not in MODES:
        raise InvalidArgumentError(
            f"pad: Unknown padding mode {mode!r}; argument `mode` must be one of {', '.join(MODES)}"
        )
    known = constant_value(constant_values)
    if known is None:
        raise InvalidArgumentError(
            f"pad: `constant_values` must be known while the graph is built: {constant_values!r}"
        )
    value = as_padding(known, dtype_of(tensor), "pad: argument `constant_values`").item()
    return pad_op(tensor, _flat_paddings(paddings), mode=upper, value=value)


def _flat_paddings(paddings: Any) -> Operand:
    """Paddings as a vector, whose contents abstract evaluation can see."""
    if isinstance(paddings, (list, tuple)):
        if not all(isinstance(pair, (list, tuple, np.ndarray, Value)) for pair in paddings):
            raise DTypeError(
                f"pad: argument `paddings` must be a pair of integers for each dimension, got {paddings!r}"
            )
        return shape_operand([n for pair in paddings for n in pair])
    known = constant_value(paddings)
    return paddings if known is None else np.ravel(known)


# ---- reverse, roll ---------------------------------------------------------------------------------------------------


def _axis_abstract(name: str) -> Callable[..., Aval]:
    def abstract(x: Aval, *_: Aval, axis: tuple[int, ...]) -> Aval:
        if x.shape is not None and not all(-len(x.shape) <= a < len(x.shape) for a in axis):
            raise ShapeError(f"{name}: argument `axis` {axis} is out of range for shape {format_shape(x.shape)}")
        return Aval(x.shape, x.dtype)

    return abstract


reverse_op = linear(
    "reverse_op",
    lambda x, *, axis: np.flip(x, axis),
    lambda ct, x, *, axis: reverse_op(ct, axis=axis),
    _axis_abstract("reverse"),
    axis_param,
    type="ReverseV2",
    args=("tensor",),
    sparsity=REARRANGES,
    layout=Layout.PART,
    doc="The entries along some axes in opposite order.",
)


@operands("tensor")
def reverse(tensor: Any, axis: Any) -> Operand:
    """`tensor` with the entries along each of the given axes in opposite order.

    Examples
    --------
    >>> reverse(np.array([[1, 2], [3, 4]]), [1])
    array([[2, 1],
           [4, 3]])
    """
    return reverse_op(tensor, axis=reduction_axes("reverse", tensor, axis, shape_of(tensor)))


def _unequal_lengths(count: int, axis: tuple[int, ...]) -> ShapeError:
    return ShapeError(f"roll: arguments `shift` and `axis` must have one length, got {count} and {len(axis)}")


def _roll_abstract(x: Aval, shift: Aval, *, axis: tuple[int, ...]) -> Aval:
    check_dtype("roll", "shift", shift, INTEGER)
    dims = known_dims(shift)
    if dims is not None and len(dims) != len(axis):
        raise _unequal_lengths(len(dims), axis)
    return _axis_abstract("roll")(x, axis=axis)


def _roll_kernel(x: Any, shift: Any, *, axis: tuple[int, ...]) -> np.ndarray:
    shifts = as_dims(shift)
    if len(shifts) != len(axis):
        raise _unequal_lengths(len(shifts), axis)
    for distance, at in zip(shifts, axis, strict=True):
        x = _rolled(x, distance, at)
    return x


def _rolled(x: Any, distance: int, axis: int) -> np.ndarray:
    """The result of `numpy.roll`, in half the time if `x` is small."""
    out = np.empty_like(x)
    for to, of in rolled_slices(x.shape, distance, axis):
        out[to] = x[of]
    return out


def rolled_slices(shape: tuple[int, ...], distance: int, axis: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The two parts of a rolled array: where each goes, and where it comes from."""
    size, before = shape[axis], (slice(None),) * (axis % len(shape))
    distance %= size or 1
    rest = size - distance
    return (
        ((*before, slice(distance, None)), (*before, slice(rest))),
        ((*before, slice(distance)), (*before, slice(rest, None))),
    )


roll_op = linear(
    "roll_op",
    _roll_kernel,
    lambda ct, x, shift, *, axis: roll_op(ct, negative(shift), axis=axis),
    _roll_abstract,
    aligned(0, 1, axis="axis"),
    type="Roll",
    args=("input", "shift"),
    refuses=False,
    sparsity=REARRANGES,
    doc="The entries moved along some axes; those moved out at one end come in at the other.",
)


@operands("input")
def roll(input: Any, shift: Any, axis: Any) -> Operand:
    """`input` with its entries moved by ``shift[i]`` along ``axis[i]``; those moved out come in at the other end.

    Examples
    --------
    >>> roll(np.arange(5), 2, 0)
    array([3, 4, 0, 1, 2])
    """
    axes = as_ints("roll", "axis", static_axis("roll", axis))
    at = tuple([single_axis("roll", input, a) for a in axes])
    return roll_op(input, shape_operand(shift), axis=at)


# ---- meshgrid --------------------------------------------------------------------------------------------------------


@operands("*args")
def meshgrid(*args: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates of the points of a grid.

    Parameters
    ----------
    *args : value
        The coordinates along each axis of the grid, flattened if they are not vectors.
    indexing : {"xy", "ij"}
        With ``"xy"``, the first two dimensions of the results are exchanged, as in NumPy.

    Returns
    -------
    list of value
        One per argument, all of the shape of the grid.

    Examples
    --------
    >>> meshgrid(np.array([1, 2]), np.array([3, 4, 5]))[1]
    array([[3, 3],
           [4, 4],
           [5, 5]])
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"meshgrid: argument `indexing` must be 'xy' or 'ij', got {indexing!r}")
    order = list(range(len(args)))
    if indexing == "xy" and len(args) > 1:
        order[:2] = [1, 0]
    vectors = [reshape(x, [-1]) for x in args]
    grid: Any = stack([size(vectors[i]) for i in order]) if args else []
    along = [expand_dims(v, [a for a in order if a != order[i]]) for i, v in enumerate(vectors)]
    return [broadcast_to(x, grid) for x in along]
