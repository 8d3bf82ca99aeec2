"""Entries taken along an axis by index, and their transpose: adding values up at indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, format_shape
from engine.core.batching import Batches, NotBatched, materialize, shift_axes
from engine.core.dtypes import INTEGER
from engine.core.kinds import check_dtype, linear
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, collected
from engine.core.value import boxed, shape_of
from engine.ops.axis_args import single_axis, static_int
from engine.runtime.errors import IndexOutOfRangeError, NotKnownYet, ShapeError
from engine.runtime.lazy_scipy import scipy
from engine.runtime.tuning import TUNING

_FEW = TUNING.gather_numbers


def check_range(name: str, indices: Any, size: int) -> None:
    """Raise IndexOutOfRangeError unless all indices are in [0, size).

    Negative indices do not count from the end here, as NumPy would have it.
    """
    if not indices.size:
        return
    # one pass: as unsigned numbers, negative ones are larger than any size
    unsigned = indices if indices.dtype.kind == "u" else indices.view(f"u{indices.dtype.itemsize}")
    if int(unsigned.max()) < size:
        return
    where = np.argwhere((indices < 0) | (indices >= size))[0]
    position = f"[{','.join(str(i) for i in where)}]" if len(where) else ""
    raise IndexOutOfRangeError(f"{name}: indices{position} = {indices[tuple(where)]} is not in [0, {size})")


def add_at(size: int, indices: Any, values: Any) -> np.ndarray:
    """Rows of zeros, `size` of them, to which row i of `values` is added at ``indices[i]`` (in order of i)."""
    columns = values.shape[1]
    kind = values.dtype.kind
    if columns == 1 and values.dtype == np.float64 and len(indices):
        return np.bincount(indices, values[:, 0], size)[:, None]
    if values.size > _FEW and kind in "fc" and values.dtype.itemsize >= 4:
        if kind == "c":
            halves = np.ascontiguousarray(values).view(values.real.dtype)
            return np.ascontiguousarray(add_at(size, indices, halves)).view(values.dtype)
        count = len(indices)
        ones = np.ones(count, values.dtype)
        return scipy.sparse.csc_array((ones, indices, np.arange(count + 1)), shape=(size, count)) @ values
    out = np.zeros(size * columns, values.dtype)
    at = indices.astype(np.intp)
    if columns != 1:
        at = (at[:, None] * columns + np.arange(columns)).ravel()
    np.add.at(out, at, values.ravel())
    return out.reshape(size, columns)


# ---- gather ----------------------------------------------------------------------------------------------------------


def _position(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _taken(x: Any, indices: Any, at: int) -> Any:
    """Entries along an axis. Where axes lie in another order in memory, they keep it: so long rows move together."""
    order = sorted(range(x.ndim), key=lambda k: -x.strides[k])
    if x.flags.c_contiguous or not x.transpose(order).flags.c_contiguous:
        return np.take(x, indices, at)
    place, more = order.index(at), indices.ndim - 1
    axes = [k + more * (k > at) for k in order]
    axes[place : place + 1] = range(at, at + more + 1)
    return np.take(x.transpose(order), indices, place).transpose(np.argsort(axes))


def _gather_kernel(params: Any, indices: Any, *, axis: int, batch_dims: int) -> Operand:
    at = _position(axis, params.ndim)
    if not batch_dims <= at < params.ndim:
        raise IndexError(f"axis {axis}, batch_dims {batch_dims}")  # the abstract evaluation says it in full
    check_range("gather", indices, params.shape[at])
    if not batch_dims:
        return boxed(_taken(params, indices, at))
    # one index array per batch dimension, aligned with the leading dimensions of `indices`
    if params.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise IndexError(f"{batch_dims} dimensions of {params.shape} and {indices.shape}")
    grids = np.ix_(*[np.arange(d) for d in indices.shape[:batch_dims]])
    inner = (1,) * (indices.ndim - batch_dims)
    between = at - batch_dims
    key = (*[g.reshape(g.shape + inner) for g in grids], *(slice(None),) * between, indices)
    out = params[key]
    # NumPy puts the dimensions of `indices` in front of those between the batch and the axis
    return np.moveaxis(out, range(indices.ndim, indices.ndim + between), range(batch_dims, at)) if between else out


def _gather_abstract(params: Aval, indices: Aval, *, axis: int, batch_dims: int) -> Aval:
    check_dtype("gather", "indices", indices, INTEGER)
    if params.shape is None or indices.shape is None:
        return Aval(None, params.dtype)
    rank = len(params.shape)
    at = normalize_axis("gather", axis, rank)
    if not 0 <= batch_dims <= min(at, len(indices.shape)):
        raise ShapeError(
            f"gather: argument `batch_dims` must be at most `axis` ({at}) and the rank of `indices` "
            f"({len(indices.shape)}), got {batch_dims}"
        )
    for p, i in zip(params.shape[:batch_dims], indices.shape[:batch_dims], strict=True):
        if None not in (p, i) and p != i:
            raise ShapeError(
                f"gather: `params` {format_shape(params.shape)} and `indices` {format_shape(indices.shape)} must agree "
                f"in their first {batch_dims} dimensions"
            )
    size = params.shape[at]
    if size is not None and indices.value is not None:
        known = indices.value if isinstance(indices.value, tuple) else (indices.value,)
        check_range("gather", np.asarray([0 if i is None else i for i in known]), size)
    shape = params.shape[:at] + indices.shape[batch_dims:] + params.shape[at + 1 :]
    return Aval(shape, params.dtype, _gathered_value(params.value, indices.value))


def _gathered_value(params: Any, indices: Any) -> int | tuple[int | None, ...] | None:
    """The contents of the result, as far as known, if `params` is a vector of partly known integers."""
    if not isinstance(params, tuple) or indices is None:
        return None
    if isinstance(indices, int):
        return params[indices]
    return tuple(None if i is None else params[i] for i in indices)


def _gather_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Operand:
    data, indices = inputs
    axis, batch_dims = params["axis"], params["batch_dims"]
    if flags[1] and not flags[0]:
        shape = shape_of(data)
        if not batch_dims and (axis == 0 or (shape is not None and axis == -len(shape))):
            # the dimensions of `indices` come first in the result, the batch foremost
            return op(data, indices, axis=axis, batch_dims=0)
        data = materialize(data, size)
    shared = batch_dims + (flags[1] or batch_dims > 0)
    if not flags[1] and shared:
        indices = materialize(indices, size)
    return op(data, indices, axis=shift_axes(axis), batch_dims=shared)


def _gather_rows(ct: Any, params: Any, indices: Any, *, axis: int, batch_dims: int) -> tuple[Operand, ...] | None:
    """The cotangent of `params` as rows and their indices, where whole rows are gathered."""
    shape = shape_of(params)
    whole_rows = shape is not None and not batch_dims and axis in (0, -len(shape))
    return (ct, indices) if whole_rows else None


gather_op = linear(
    "gather_op",
    _gather_kernel,
    lambda ct, params, indices, *, axis, batch_dims: gather_back_op(
        ct, params, indices, axis=axis, batch_dims=batch_dims
    ),
    _gather_abstract,
    _gather_batch,
    type="GatherV2",
    args=("params", "indices"),
    rows=_gather_rows,
    sparsity=GATHERS,
    layout=lambda avals, params: Layout.ANY if params["batch_dims"] else Layout.KEPT,
    shares=(),
    doc="Entries of `params` along an axis, at `indices`.",
)


# ---- its transpose ---------------------------------------------------------------------------------------------------


def _gather_back_kernel(
    ct: Any, like: Any, indices: Any, *, axis: int, batch_dims: int, lead: int = 0, like_lead: int = 0
) -> np.ndarray:
    shape = ct.shape[:lead] + like.shape[like_lead:]
    at = _position(axis, len(shape))
    size = shape[at]
    check_range("gather", indices, size)
    # the dimensions before the axis select blocks of `size` rows, those behind it are the columns
    outer = math.prod(shape[:batch_dims])
    between = math.prod(shape[batch_dims:at])
    columns = math.prod(shape[at + 1 :])
    rows = indices.reshape(outer, 1, indices.size // outer if outer else 0)
    if outer * between != 1:
        rows = rows + np.arange(outer * between).reshape(outer, between, 1) * size
    values = ct.reshape(rows.size, columns)
    return add_at(outer * between * size, rows.ravel(), values).reshape(shape)


def placed_shape(ct: Aval, like: Aval, *_: Aval, lead: int = 0, like_lead: int = 0, **__: Any) -> Aval:
    """Abstract evaluation of ops that place `ct` in zeros: its leading dimensions, then like's own."""
    if like.shape is None or (lead and ct.shape is None):
        return Aval(None, ct.dtype)
    return Aval((ct.shape or ())[:lead] + like.shape[like_lead:], ct.dtype)


def _gather_back_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    ct, like, indices = inputs
    leads = {"lead": params.get("lead", 0), "like_lead": params.get("like_lead", 0) + flags[1]}
    axis, batch_dims = params["axis"], params["batch_dims"]
    if not flags[0] and not flags[2]:
        return NotBatched(op(ct, like, indices, axis=axis, batch_dims=batch_dims, **leads))
    shared = batch_dims + (flags[2] or batch_dims > 0)
    ct = ct if flags[0] else materialize(ct, size)
    if not flags[2] and shared:
        indices = materialize(indices, size)
    leads["lead"] += 1
    return op(ct, like, indices, axis=shift_axes(axis), batch_dims=shared, **leads)


gather_back_op = linear(
    "gather_back_op",
    _gather_back_kernel,
    lambda ct, x, like, indices, *, axis, batch_dims, lead=0, like_lead=0: gather_op(
        ct, indices, axis=axis, batch_dims=batch_dims
    ),
    placed_shape,
    _gather_back_batch,
    args=("ct", "like", "indices"),
    sparsity=collected(
        lambda out, ct, like, indices, *, axis, batch_dims, **_: _gather_kernel(
            out, indices, axis=axis, batch_dims=batch_dims
        ),
        undoes=_gather_kernel,
    ),
    doc="Values added up at `indices` in zeros of the shape of `like`: the transpose of `gather_op`.",
)


@operands("params", alone=("indices",))
def gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: Any = 0) -> Any:
    """Entries of `params` along an axis, at `indices`.

    Parameters
    ----------
    params : value
    indices : integer value
        In [0, size of the axis); negative indices do not count from the end.
    validate_indices : None
        Has no effect: indices are always checked.
    axis : int, optional
        `batch_dims` by default.
    batch_dims : int, optional
        Number of leading dimensions that `params` and `indices` share; None is 0.

    Returns
    -------
    value
        Of shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.

    Raises
    ------
    IndexOutOfRangeError
        If an index is out of range. The message names it.

    Examples
    --------
    >>> gather(np.array([10, 20, 30]), np.array([2, 0]))
    array([30, 10])
    """
    if type(batch_dims) is not int:
        batch_dims = 0 if batch_dims is None else static_int("gather", "batch_dims", batch_dims)
    if batch_dims < 0:
        rank = shape_of(indices)
        if rank is None:
            raise NotKnownYet("gather: a negative `batch_dims` needs `indices` of known rank")
        batch_dims += len(rank)
    return gather_op(
        params, indices, axis=single_axis("gather", params, batch_dims if axis is None else axis), batch_dims=batch_dims
    )
