"""Entries at multi-dimensional indices: taken (`gather_nd`), placed (`scatter_nd`), changed (`tensor_scatter_nd_*`).

The last dimension of `indices` holds the index vectors. The number of leading dimensions that all operands share,
`batch_dims`, is also what makes these ops work on batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, Shape, compatible, format_shape
from engine.core.batching import aligned
from engine.core.dtypes import INTEGER, REAL, int32
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, general, linear, same_dtype
from engine.core.op import FROM_VJP, Layout, Op
from engine.core.operands import Array, Operand, operands
from engine.core.sparsity import ELEMENTWISE, GATHERS, MOVES, collected
from engine.core.structural import scale
from engine.core.value import aval_of, dtype_of, shape_of, shape_of_rank
from engine.ops.arithmetic import add, divide, negative
from engine.ops.axis_args import static_int
from engine.ops.compare import cast_like, equal, greater_equal, less, logical_and, select
from engine.ops.creation import zeros_like
from engine.ops.gather import add_at, check_range
from engine.ops.reduce import reduce_all
from engine.ops.shape import as_dims, known_dims, shape_op, shape_operand, squeeze
from engine.runtime.errors import IndexOutOfRangeError, InvalidArgumentError, NotKnownYet, ShapeError


def _rows(name: str, indices: Any, shape: tuple[int, ...], batch_dims: int) -> np.ndarray:
    """The index vectors as row numbers of the array reshaped to rows, in order."""
    depth = indices.shape[-1]
    sizes = shape[batch_dims : batch_dims + depth]
    if len(sizes) < depth:
        raise ShapeError(f"{name}: index vectors of {depth} entries for shape {format_shape(shape[batch_dims:])}")
    rows = np.zeros(indices.shape[:-1], np.intp)
    for k, size in enumerate(sizes):
        column = indices[..., k]
        try:
            check_range(name, column, size)
        except IndexOutOfRangeError:
            raise _outside(name, indices, sizes, format_shape(shape[batch_dims:])) from None
        rows = rows * size + column
    outer = math.prod(shape[:batch_dims])
    rows = rows.reshape(outer, rows.size // outer if outer else 0)
    return (rows + np.arange(outer)[:, None] * math.prod(sizes)).ravel()


def _outside(name: str, indices: Any, sizes: tuple[int, ...], shape: str) -> IndexOutOfRangeError:
    """The error for the first index vector that is outside."""
    where = tuple(np.argwhere(((indices < 0) | (indices >= np.array(sizes))).any(-1))[0])
    vector, kind = ", ".join(map(str, indices[where])), "param shape" if name == "gather_nd" else "shape"
    shown = f"[{', '.join(shape.strip('(),').split(', '))}]"
    return IndexOutOfRangeError(
        f"{name}: indices[{','.join(map(str, where))}] = [{vector}] does not index into {kind} {shown}"
    )


def _row_shape(indices: Any, shape: tuple[int, ...], batch_dims: int) -> tuple[int, int]:
    """Number and length of the rows."""
    inner = batch_dims + indices.shape[-1]
    return math.prod(shape[:inner]), math.prod(shape[inner:])


def _entries_shape(name: str, indices: Aval, shape: Shape, batch_dims: int) -> Shape:
    """The shape of the entries of a value of the given shape that `indices` name."""
    check_dtype(name, "indices", indices, INTEGER)
    if indices.shape is None:
        return None
    if not indices.shape:
        raise ShapeError(f"{name}: argument `indices` must have rank 1 or more, got a scalar")
    depth = indices.shape[-1]
    if shape is None or depth is None:
        return None
    if depth > len(shape) - batch_dims:
        raise ShapeError(
            f"{name}: the last dimension of `indices`, {depth}, must be at most the rank of what is indexed, "
            f"{len(shape) - batch_dims}"
        )
    if not compatible(shape[:batch_dims], indices.shape[:batch_dims]):
        raise ShapeError(
            f"{name}: `indices` {format_shape(indices.shape)} must agree with {format_shape(shape)} in the first "
            f"{batch_dims} dimensions"
        )
    return indices.shape[:-1] + shape[batch_dims + depth :]


_batch = aligned(counts="batch_dims")
"""The batch is one more leading dimension that all operands share."""

# ---- gather_nd, scatter_nd -------------------------------------------------------------------------------------------


def _gather_nd_kernel(params: Any, indices: Any, *, batch_dims: int = 0) -> np.ndarray:
    rows = _rows("gather_nd", indices, params.shape, batch_dims)
    # an index of NumPy's takes four times as long
    taken = np.take(params.reshape(_row_shape(indices, params.shape, batch_dims)), rows, 0)
    return taken.reshape(indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1] :])


def _gathered_rows(ct: Any, params: Any, indices: Any, *, batch_dims: int = 0) -> tuple[Operand, ...] | None:
    """The cotangent of `params` as rows and their indices, where index vectors of one entry each name whole rows."""
    shape = shape_of(indices)
    whole_rows = not batch_dims and shape is not None and shape[-1] == 1 and shape_of(params) is not None
    return (ct, squeeze(indices, [-1])) if whole_rows else None


gather_nd_op = linear(
    "gather_nd_op",
    _gather_nd_kernel,
    lambda ct, params, indices, *, batch_dims=0: scatter_nd_op(
        ct, indices, shape_op(params, out_type=int32, lead=batch_dims), batch_dims=batch_dims
    ),
    lambda params, indices, *, batch_dims=0: Aval(
        _entries_shape("gather_nd", indices, params.shape, batch_dims), params.dtype
    ),
    _batch,
    strict=False,
    type="GatherNd",
    args=("params", "indices"),
    rows=_gathered_rows,
    sparsity=GATHERS,
    doc="Entries of `params` at index vectors.",
)


def _scatter_nd_kernel(updates: Any, indices: Any, shape: Any, *, batch_dims: int = 0) -> np.ndarray:
    full = updates.shape[:batch_dims] + as_dims(shape)
    rows = _rows("scatter_nd", indices, full, batch_dims)
    count, columns = _row_shape(indices, full, batch_dims)
    _check_updates("scatter_nd", updates.shape, indices, full, batch_dims)
    return add_at(count, rows, updates.reshape(rows.size, columns)).reshape(full)


def _check_updates(name: str, shape: tuple[int, ...], indices: Any, full: tuple[int, ...], batch_dims: int) -> None:
    expected = indices.shape[:-1] + full[batch_dims + indices.shape[-1] :]
    if shape != expected:
        raise ShapeError(f"{name}: argument `updates` must have shape {expected}, got {shape}")


def _scatter_nd_abstract(updates: Aval, indices: Aval, shape: Aval, *, batch_dims: int = 0) -> Aval:
    dims = known_dims(shape)
    if dims is None or (batch_dims and updates.shape is None):
        return Aval(None, updates.dtype)
    full = (updates.shape or ())[:batch_dims] + dims
    expected = _entries_shape("scatter_nd", indices, full, batch_dims)
    if not compatible(updates.shape, expected):
        shown = f"{format_shape(expected)}, got {format_shape(updates.shape)}"
        raise ShapeError(f"scatter_nd: argument `updates` must have shape {shown}")
    return Aval(full, updates.dtype)


scatter_nd_op = linear(
    "scatter_nd_op",
    _scatter_nd_kernel,
    lambda ct, updates, indices, shape, *, batch_dims=0: gather_nd_op(ct, indices, batch_dims=batch_dims),
    _scatter_nd_abstract,
    aligned(2, 2, "batch_dims"),
    type="ScatterNd",
    args=("updates", "indices", "shape"),
    sparsity=collected(
        lambda out, updates, indices, shape, *, batch_dims=0: _gather_nd_kernel(out, indices, batch_dims=batch_dims)
    ),
    doc="Updates added up at index vectors in zeros: the transpose of `gather_nd_op`.",
)


@operands("params", alone=("indices",))
def gather_nd(params: Any, indices: Any, batch_dims: int = 0, bad_indices_policy: str = "") -> Operand:
    """Entries of `params` at index vectors.

    Parameters
    ----------
    params : value
    indices : integer value, shape (..., k)
        Index vectors of k entries; negative entries do not count from the end.
    batch_dims : int
        Number of leading dimensions that `params` and `indices` share.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}
        "IGNORE" gives zeros for index vectors that are out of range, all else raises.

    Returns
    -------
    value
        Of shape ``indices.shape[:-1] + params.shape[batch_dims + k:]``.

    Raises
    ------
    IndexOutOfRangeError
        If an index is out of range.

    Examples
    --------
    >>> gather_nd(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]))
    array([1, 3])
    """
    shared = static_int("gather_nd", "batch_dims", batch_dims, 0)
    if bad_indices_policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"gather_nd: argument `bad_indices_policy` must be '', 'DEFAULT', 'ERROR' or 'IGNORE', got "
            f"{bad_indices_policy!r}"
        )
    if bad_indices_policy != "IGNORE":
        return gather_nd_op(params, indices, batch_dims=shared)
    depth = shape_of_rank("gather_nd", "indices", indices)[-1]
    if depth is None:
        raise NotKnownYet("gather_nd: the last dimension of `indices` must be known where bad ones are ignored")
    sizes = shape_op(params, out_type=dtype_of(indices))[shared : shared + depth]
    inside = reduce_all(logical_and(greater_equal(indices, zeros_like(indices)), less(indices, sizes)), -1)
    found = gather_nd_op(params, select(expand_dims(inside, [-1]), indices, zeros_like(indices)), batch_dims=shared)
    missing = len(shape_of_rank("gather_nd", "params", params, 0)) - shared - depth
    return select(expand_dims(inside, range(-missing, 0)) if missing else inside, found, zeros_like(found))


@operands("updates", alone=("indices",))
def scatter_nd(indices: Any, updates: Any, shape: Any) -> Operand:
    """Updates placed at index vectors in zeros; those at equal indices add up.

    Parameters
    ----------
    indices : integer value, shape (..., k)
    updates : value, shape ``indices.shape[:-1] + shape[k:]``
    shape : sequence of int and scalar values, or integer vector

    Examples
    --------
    >>> scatter_nd(np.array([[1], [3], [1]]), np.array([5, 6, 7]), [4])
    array([ 0, 12,  0,  6])
    """
    return scatter_nd_op(updates, indices, shape_operand(shape))


# ---- tensor_scatter_nd_* ---------------------------------------------------------------------------------------------


def _changed_abstract(name: str) -> Callable[..., Aval]:
    def abstract(tensor: Aval, indices: Aval, updates: Aval, *, batch_dims: int = 0) -> Aval:
        dtype = same_dtype(name, ("tensor", "updates"), (tensor, updates))
        expected = _entries_shape(name, indices, tensor.shape, batch_dims)
        if not compatible(updates.shape, expected):
            shown = f"{format_shape(expected)}, got {format_shape(updates.shape)}"
            raise ShapeError(f"{name}: argument `updates` must have shape {shown}")
        return Aval(tensor.shape, dtype)

    return abstract


def _changed(name: str, change: Any) -> Callable[..., Array]:
    """Kernel: a copy of the tensor, as rows, in which ``change(rows, at, updates)`` is made."""

    def kernel(tensor: Any, indices: Any, updates: Any, *, batch_dims: int = 0) -> np.ndarray:
        at = _rows(name, indices, tensor.shape, batch_dims)
        _check_updates(name, updates.shape, indices, tensor.shape, batch_dims)
        count, columns = _row_shape(indices, tensor.shape, batch_dims)
        out = np.array(tensor, order="C").reshape(count, columns)
        change(out, at, updates.reshape(at.size, columns))
        return out.reshape(tensor.shape)

    return kernel


def check_entries(name: str, tensor: Any, indices: Any, updates: Any) -> None:
    """Raise unless `updates` can take the place of the entries of an array at index vectors."""
    _rows(name, indices, tensor.shape, 0)
    _check_updates(name, updates.shape, indices, tensor.shape, 0)


def entries_at(indices: Any) -> tuple[Any, ...]:
    """The index by which NumPy finds the entries at index vectors; see `check_entries`."""
    return tuple(np.moveaxis(indices, -1, 0))


def _assign(rows: Any, at: Any, updates: Any) -> None:
    rows[at] = updates


tensor_scatter_update_op = general(
    "tensor_scatter_update_op",
    _changed("tensor_scatter_nd_update", _assign),
    _changed_abstract("tensor_scatter_nd_update"),
    vjp=(
        lambda ct, out, x, i, updates, **p: tensor_scatter_update_op(ct, i, zeros_like(updates), **p),
        None,
        lambda ct, out, x, i, updates, **p: gather_last_op(ct, i, **p),
    ),
    jvp=(
        lambda t, out, x, i, updates, **p: tensor_scatter_update_op(t, i, zeros_like(updates), **p),
        None,
        lambda t, out, x, i, updates, **p: tensor_scatter_update_op(zeros_like(x), i, t, **p),
    ),
    batch=_batch,
    type="TensorScatterUpdate",
    args=("tensor", "indices", "updates"),
    sparsity=MOVES,
    layout=Layout.FRESH,
    shares=(),
    doc="A tensor with other entries at some index vectors; of several at equal ones the last.",
)


def _gather_last_kernel(params: Any, indices: Any, *, batch_dims: int = 0) -> np.ndarray:
    rows = _rows("gather_last", indices, params.shape, batch_dims)
    count, columns = _row_shape(indices, params.shape, batch_dims)
    taken = params.reshape(count, columns)[rows]
    numbers, last = np.arange(rows.size), np.empty(count, np.intp)
    last[rows] = numbers
    others = last[rows] != numbers
    if others.any():
        taken[others] = 0
    return taken.reshape(indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1] :])


gather_last_op = linear(
    "gather_last_op",
    _gather_last_kernel,
    lambda ct, params, indices, **p: tensor_scatter_update_op(zeros_like(params), indices, ct, **p),
    lambda params, indices, *, batch_dims=0: Aval(
        _entries_shape("gather_last", indices, params.shape, batch_dims), params.dtype
    ),
    _batch,
    strict=False,
    args=("params", "indices"),
    shares=(),
    sparsity=MOVES,
    doc="Entries of `params` at index vectors; zeros but for the last of equal ones, which is what an update leaves.",
)


def _attained(out: Any, x: Any, i: Any, updates: Any, batch_dims: int) -> tuple[Any, Any, Any]:
    """Where x and where the updates attain the extremum, as ones and zeros, and how many of them do at each entry."""
    by_x = cast_like(equal(x, out), x)
    by_update = cast_like(equal(updates, gather_nd_op(out, i, batch_dims=batch_dims)), x)
    shape = shape_op(x, out_type=int32, lead=batch_dims)
    return by_x, by_update, add(by_x, scatter_nd_op(by_update, i, shape, batch_dims=batch_dims))


def _extreme_dx(ct: Any, out: Any, x: Any, i: Any, updates: Any, *, batch_dims: int = 0) -> Operand:
    by_x, _, count = _attained(out, x, i, updates, batch_dims)
    return scale(divide(ct, count), by_x, either=True)


def _extreme_dupdates(ct: Any, out: Any, x: Any, i: Any, updates: Any, *, batch_dims: int = 0) -> Operand:
    _, by_update, count = _attained(out, x, i, updates, batch_dims)
    return scale(gather_nd_op(divide(ct, count), i, batch_dims=batch_dims), by_update, either=True)


_updated = collected(
    lambda out, x, indices, updates, *, batch_dims=0: _gather_nd_kernel(out, indices, batch_dims=batch_dims)
)


def _extreme(name: str, ufunc: Any, public: str) -> Op:
    return general(
        name,
        _changed(public, ufunc.at),
        _changed_abstract(public),
        vjp=(_extreme_dx, None, _extreme_dupdates),
        jvp=FROM_VJP,
        batch=_batch,
        selects=True,
        args=("tensor", "indices", "updates"),
        sparsity=lambda site, i: ELEMENTWISE(site, i) if i == 0 else _updated(site, i),
        layout=Layout.FRESH,
        doc=f"A tensor whose entries at some index vectors are the {ufunc.__name__} of themselves and the updates.",
    )


tensor_scatter_max_op = _extreme("tensor_scatter_max_op", np.maximum, "tensor_scatter_nd_max")
tensor_scatter_min_op = _extreme("tensor_scatter_min_op", np.minimum, "tensor_scatter_nd_min")


@operands("tensor", "updates", alone=("indices",))
def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any) -> Operand:
    """`tensor` with `updates` in place of the entries at some index vectors.

    Of several updates at equal index vectors the last counts, and it alone gets a gradient.

    Parameters
    ----------
    tensor : value
    indices : integer value, shape (..., k)
    updates : value, shape ``indices.shape[:-1] + tensor.shape[k:]``

    Examples
    --------
    >>> tensor_scatter_nd_update(np.array([1, 2, 3]), np.array([[2]]), np.array([9]))
    array([1, 2, 9])
    """
    return tensor_scatter_update_op(tensor, indices, updates)


@operands("tensor", "updates", alone=("indices",))
def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any) -> Operand:
    """`tensor` with `updates` added to the entries at some index vectors."""
    return add(tensor, scatter_nd_op(updates, indices, shape_op(tensor, out_type=int32)))


@operands("tensor", "updates", alone=("indices",))
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any) -> Operand:
    """`tensor` with `updates` subtracted from the entries at some index vectors."""
    return tensor_scatter_nd_add(tensor, indices, negative(updates))


@operands("tensor", "updates", alone=("indices",))
def tensor_scatter_nd_max(tensor: Any, indices: Any, updates: Any) -> Operand:
    """`tensor` with the larger of entry and update at some index vectors. k ties share the derivative equally."""
    check_dtype("tensor_scatter_nd_max", "tensor", aval_of(tensor), REAL)
    return tensor_scatter_max_op(tensor, indices, updates)


@operands("tensor", "updates", alone=("indices",))
def tensor_scatter_nd_min(tensor: Any, indices: Any, updates: Any) -> Operand:
    """`tensor` with the smaller of entry and update at some index vectors. k ties share the derivative equally."""
    check_dtype("tensor_scatter_nd_min", "tensor", aval_of(tensor), REAL)
    return tensor_scatter_min_op(tensor, indices, updates)
