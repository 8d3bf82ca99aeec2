"""Order: sort, argsort, top_k, searchsorted, unique.

Where the elements go is an op without derivative; the sorted values are gathered, which routes derivatives to them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.core.arguments import as_int, normalize_axis
from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import Batches, axis_param, leading, refused
from engine.core.dtypes import INTEGER, REAL, DType, as_dtype, int16, int32, int64
from engine.core.kinds import check_dtype, nondifferentiable, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.value import aval_of, shape_of
from engine.ops.axis_args import single_axis, static_axis
from engine.ops.compare import cast
from engine.ops.gather import gather_op
from engine.ops.shape import identity, transpose
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError

# ---- argsort, sort ---------------------------------------------------------------------------------------------------


def _argsort_kernel(x: Any, *, axis: int, descending: bool) -> np.ndarray:
    if not x.ndim:
        raise IndexError("a scalar has no axis")  # the abstract evaluation says it in full
    if not descending:
        return np.argsort(x, axis, kind="stable").astype(np.int32)
    # sorting backwards what is reversed keeps equal elements in order
    order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    return (x.shape[axis] - 1 - order).astype(np.int32)


def _argsort_abstract(x: Aval, *, axis: int, descending: bool) -> Aval:
    check_dtype("argsort", "values", x, REAL)
    if x.shape is not None:
        normalize_axis("argsort", axis, len(x.shape))
    return Aval(x.shape, int32)


argsort_op = nondifferentiable(
    "argsort_op",
    _argsort_kernel,
    abstract=_argsort_abstract,
    batch=axis_param,
    type="ArgSort",
    args=("values",),
    doc="Where to find the elements along an axis in order. Equal elements stay in order.",
)


def _is_descending(name: str, direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"{name}: argument `direction` must be 'ASCENDING' or 'DESCENDING', got {direction!r}"
        )
    return direction == "DESCENDING"


@operands("values")
def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False) -> Operand:
    """Where to find the elements along an axis in order, as int32.

    Parameters
    ----------
    values : real value
    axis : int
    direction : {"ASCENDING", "DESCENDING"}
    stable : bool
        Has no effect: equal elements always stay in order.

    Examples
    --------
    >>> argsort(np.array([30, 10, 20]))
    array([1, 2, 0], dtype=int32)
    """
    return argsort_op(
        values, axis=single_axis("argsort", values, axis), descending=_is_descending("argsort", direction)
    )


def _inverted(x: Any) -> np.ndarray:
    order, count = np.argsort(x, -1), x.shape[-1]
    ascending = np.take_along_axis(x, order, -1)
    if (ascending != np.arange(count)).any():
        outside = ascending[(ascending < 0) | (ascending >= count)]
        twice = ascending[..., 1:][ascending[..., 1:] == ascending[..., :-1]]
        which = f"{outside[0]} is not between 0 and {count}" if outside.size else f"{twice[0]} is duplicated"
        raise InvalidArgumentError(
            f"invert_permutation: argument `x` must hold each of 0 to {count - 1} once, but {which} in the input"
        )
    return order.astype(x.dtype)


def _invert_abstract(x: Aval) -> Aval:
    check_dtype("invert_permutation", "x", x, INTEGER)
    if x.shape is not None and len(x.shape) != 1:
        raise ShapeError(f"invert_permutation: argument `x` must be a vector (must be rank 1), got {x}")
    return x


invert_permutation_op = nondifferentiable(
    "invert_permutation_op",
    _inverted,
    abstract=_invert_abstract,
    batch=leading(1),
    type="InvertPermutation",
    args=("x",),
    strict=False,
    doc="The inverse of a permutation of 0 to n - 1.",
)


@operands("x")
def invert_permutation(x: Any) -> Operand:
    """The inverse of a permutation: element ``x[i]`` of the result is i.

    Parameters
    ----------
    x : integer value, shape (n,)

    Raises
    ------
    InvalidArgumentError
        If `x` does not hold each of 0 to n - 1 once.

    Examples
    --------
    >>> invert_permutation(np.array([2, 0, 1]))
    array([1, 2, 0])
    """
    return invert_permutation_op(x)


def _rank(name: str, x: Any) -> int:
    shape = shape_of(x)
    if not shape:
        error = NotKnownYet if shape is None else ShapeError
        raise error(f"{name}: needs a value of known rank of at least 1, got {x!r}")
    return len(shape)


def _take_last(x: Any, indices: Any, rank: int) -> Operand:
    """Entries along the last axis, at indices that differ from row to row."""
    # the gradient of a vector sorted or picked from is a tensor in TensorFlow, not the rows that one gathers from `x`
    return gather_op(identity(x) if rank == 1 else x, indices, axis=-1, batch_dims=rank - 1)


@operands("values")
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING") -> Any:
    """The elements along an axis in order.

    Parameters
    ----------
    values : real value
        The derivative goes to the element that ended up at a place.
    axis : int
    direction : {"ASCENDING", "DESCENDING"}

    Examples
    --------
    >>> sort(np.array([30, 10, 20]), direction="DESCENDING")
    array([30, 20, 10])
    """
    rank = _rank("sort", values)
    at = single_axis("sort", values, axis)
    descending = _is_descending("sort", direction)
    if at == -1:
        return _take_last(values, argsort_op(values, axis=-1, descending=descending), rank)
    swap = list(range(rank))
    swap[at], swap[-1] = swap[-1], swap[at]
    last = transpose(values, swap)
    return transpose(_take_last(last, argsort_op(last, axis=-1, descending=descending), rank), swap)


# ---- top_k -----------------------------------------------------------------------------------------------------------


def _top_k_abstract(x: Aval, *, k: int) -> Aval:
    check_dtype("top_k", "input", x, REAL)
    if x.shape is None:
        return Aval(None, int32)
    if not x.shape or (x.shape[-1] is not None and x.shape[-1] < k):
        raise ShapeError(f"top_k: the last dimension of `input` must be at least k = {k}, got {x}")
    return Aval((*x.shape[:-1], k), int32)


def _top_k_kernel(x: Any, *, k: int) -> np.ndarray:
    if x.shape[-1] < k:
        raise ShapeError(f"top_k: the last dimension of `input` must be at least k = {k}, got shape {x.shape}")
    return _argsort_kernel(x, axis=-1, descending=True)[..., :k]


top_k_indices = nondifferentiable(
    "top_k_indices",
    _top_k_kernel,
    abstract=_top_k_abstract,
    batch=leading(1),
    type="TopKV2",
    args=("input",),
    layout=Layout.ANY,
    doc="Where the k largest elements of each row are, the largest first.",
)


class TopKV2(NamedTuple):
    """The result of `top_k`."""

    values: Any
    indices: Any


@operands("input")
def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = "int32") -> TopKV2:
    """The k largest elements of each row (along the last axis), and where they are.

    Parameters
    ----------
    input : real value, shape (..., n)
    k : int
    sorted : bool
        Has no effect: the largest always comes first, and of equal ones the first.
    index_type : DType
        That of the indices: int16, int32 or int64.

    Returns
    -------
    values : value, shape (..., k)
        The derivative goes to the elements selected.
    indices : integer value, shape (..., k)

    Examples
    --------
    >>> top_k(np.array([10, 30, 20]), 2)
    TopKV2(values=array([30, 20]), indices=array([1, 2], dtype=int32))
    """
    wanted = as_dtype(index_type)
    if wanted not in (int16, int32, int64):
        raise InvalidArgumentError(f"top_k: argument `index_type` must be int16, int32 or int64, got {wanted.name}")
    dims = shape_of(input)
    k = static_axis("top_k", k, "k", dims and (*dims[:-1], None))
    indices = top_k_indices(input, k=as_int("top_k", "k", k, 0))
    return TopKV2(_take_last(input, indices, _rank("top_k", input)), cast(indices, wanted))


# ---- searchsorted ----------------------------------------------------------------------------------------------------


def _search_kernel(sequence: Any, values: Any, *, side: Any, out_type: DType) -> np.ndarray:
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(out_type.numpy)
    shape = np.broadcast_shapes(sequence.shape[:-1], values.shape[:-1])
    rows = np.broadcast_to(sequence, shape + sequence.shape[-1:])
    wanted = np.broadcast_to(values, shape + values.shape[-1:])
    out = np.empty(wanted.shape, out_type.numpy)
    for i in np.ndindex(shape):
        out[i] = np.searchsorted(rows[i], wanted[i], side)
    return out


def _search_abstract(sequence: Aval, values: Aval, *, side: str, out_type: DType) -> Aval:
    same_dtype("searchsorted", ("sorted_sequence", "values"), (sequence, values))
    if sequence.shape is None or values.shape is None:
        return Aval(None, out_type)
    if len(sequence.shape) == 1:
        return Aval(values.shape, out_type)
    if not sequence.shape or not values.shape:
        raise ShapeError(f"searchsorted: needs operands of rank 1 or more, got {sequence} and {values}")
    outer = broadcast_shapes("searchsorted", sequence.shape[:-1], values.shape[:-1])
    return Aval(None if outer is None else (*outer, values.shape[-1]), out_type)


def _search_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    sequence = shape_of(inputs[0])
    if not flags[0] and sequence is not None and len(sequence) == 1:
        # values of any rank may be looked up in one sequence
        return op(*inputs, **params)
    return leading(1, 1)(op, size, flags, inputs, params)


searchsorted_op = nondifferentiable(
    "searchsorted_op",
    _search_kernel,
    abstract=_search_abstract,
    batch=_search_batch,
    strict=False,
    type="SearchSorted",
    args=("sorted_sequence", "values"),
    doc="Where in each sorted row to insert values.",
)


@operands("sorted_sequence", "values")
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = int32) -> Operand:
    """Where in sorted rows to insert values so that they stay sorted.

    Parameters
    ----------
    sorted_sequence : value, shape (..., n)
    values : value, shape (..., m)
        Of any shape if `sorted_sequence` is a vector.
    side : {"left", "right"}
        Whether to insert before or behind equal elements.
    out_type : DType

    Examples
    --------
    >>> searchsorted(np.array([1, 3, 5]), np.array([3, 4]))
    array([1, 2], dtype=int32)
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: argument `side` must be 'left' or 'right', got {side!r}")
    check_dtype("searchsorted", "sorted_sequence", aval_of(sorted_sequence), REAL)
    return searchsorted_op(sorted_sequence, values, side=side, out_type=as_dtype(out_type))


# ---- unique ----------------------------------------------------------------------------------------------------------


def _unique_kernel(x: Any, *, out_idx: DType) -> tuple[np.ndarray, ...]:
    if x.ndim != 1:
        raise ShapeError(f"unique: argument `x` must be a vector, got shape {x.shape}")
    if x.dtype == object:
        strings = x.tolist()
        number = dict(zip(dict.fromkeys(strings), range(len(strings)), strict=False))
        found = np.fromiter(map(number.get, strings), out_idx.numpy, len(strings))
        return np.fromiter(number, object, len(number)), found, np.bincount(found).astype(out_idx.numpy)
    _, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    # in the order in which they occur
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return x[first[order]], place[inverse].astype(out_idx.numpy), counts[order].astype(out_idx.numpy)


def _unique_abstract(x: Aval, *, out_idx: DType) -> tuple[Aval, ...]:
    if x.shape is not None and len(x.shape) != 1:
        raise ShapeError(f"unique: argument `x` must be a vector (must be rank 1), got {x}")
    return Aval((None,), x.dtype), Aval(x.shape or (None,), out_idx), Aval((None,), out_idx)


unique_op = nondifferentiable(
    "unique_op",
    _unique_kernel,
    abstract=_unique_abstract,
    batch=refused(
        "argument `x` must not differ between batch elements, whose results would differ in shape", ShapeError
    ),
    type="UniqueWithCounts",
    args=("x",),
    multi=True,
    doc="The distinct elements of a vector, which of them each element is, and how often they occur.",
)


class Unique(NamedTuple):
    """The result of `unique`."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """The result of `unique_with_counts`."""

    y: Any
    idx: Any
    count: Any


@operands("x")
def unique(x: Any, out_idx: Any = int32) -> Unique:
    """The distinct elements of a vector in the order in which they occur, and which of them each element is.

    Examples
    --------
    >>> unique(np.array([5, 3, 5]))
    Unique(y=array([5, 3]), idx=array([0, 1, 0], dtype=int32))
    """
    return Unique(*unique_op(x, out_idx=as_dtype(out_idx))[:2])


@operands("x")
def unique_with_counts(x: Any, out_idx: Any = int32) -> UniqueWithCounts:
    """As `unique`, and how often each distinct element occurs."""
    return UniqueWithCounts(*unique_op(x, out_idx=as_dtype(out_idx)))
