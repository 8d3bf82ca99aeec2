"""Functions of NumPy's that are several of ours: ``np.median``, ``np.interp``, ``np.kron``, ``np.select``.

Each is written with NumPy's own simpler functions. Its tensors are values, on which these arrive at our ops again
(`engine.numpy_api.functions`), so derivatives, graphs and batches follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.operands import Operand, Results, operands
from engine.core.value import Value
from engine.numpy_api.arrangement import ARRANGEMENT
from engine.numpy_api.calculus import CALCULUS
from engine.numpy_api.decompositions import DECOMPOSITIONS
from engine.numpy_api.fourier import TRANSFORMS
from engine.numpy_api.functions import (
    NotTaken,
    Row,
    at_least,
    constant,
    dims_of,
    flat,
    in_lines,
    inexact,
    length,
    not_taken_if,
    rank_of,
)
from engine.numpy_api.padding import PADDING
from engine.numpy_api.polynomials import POLYNOMIALS
from engine.numpy_api.statistics import STATISTICS
from engine.ops import diagonal, gather, linalg, rearrange, reduce, scipy_special, slicing, special
from engine.ops import shape as shapes

# ---- convolutions ----------------------------------------------------------------------------------------------------


@operands("a", "v")
def _convolve(a: Any, v: Any, mode: str = "full") -> Operand:
    not_taken_if(mode not in ("full", "same", "valid"))
    if length(a, 0) < length(v, 0):
        a, v = v, a
    n, m = length(a, 0), length(v, 0)
    windows = np.add.outer(np.arange(n + m - 1), np.arange(m))
    out = linalg.matvec(gather.gather(np.pad(a, m - 1), windows), np.flip(v))
    if mode == "same":
        return out[(m - 1) // 2 : (m - 1) // 2 + n]
    return out if mode == "full" else out[m - 1 : n]


@operands("a", "v")
def _correlate(a: Any, v: Any, mode: str = "valid") -> Operand:
    if length(a, 0) < length(v, 0):
        return np.flip(_convolve(np.conj(v), np.flip(a), mode))
    return _convolve(a, np.conj(np.flip(v)), mode)


# ---- choices ---------------------------------------------------------------------------------------------------------


@operands("*choicelist", "default")
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Operand:
    out = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        out = np.where(condition, choice, out)
    return out


@operands("x")
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Operand:
    not_taken_if(not isinstance(condlist, (list, tuple)))
    pieces = [f(x, *args, **kwargs) if callable(f) else constant(f, x) for f in funclist]
    out = pieces.pop() if len(pieces) == len(condlist) + 1 else constant(0, x)
    # of two conditions that hold, the last counts
    for condition, piece in zip(condlist, pieces, strict=True):
        out = np.where(condition, piece, out)
    return out


@operands("arr")
def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Operand:
    moved = np.moveaxis(arr, axis, -1)
    lead = [length(moved, i) for i in range(rank_of(moved) - 1)]
    rows = np.reshape(moved, [-1, length(moved, -1)])
    results = [func1d(rows[i], *args, **kwargs) for i in range(length(rows, 0))]
    not_taken_if(not all(isinstance(y, Value) for y in results))
    out = np.stack(results)
    out = np.reshape(out, [*lead, *[length(out, i) for i in range(1, rank_of(out))]])
    return np.moveaxis(out, -1, axis) if rank_of(out) == rank_of(arr) else out


@operands("arr")
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Operand:
    if axis is None:
        return gather.gather(flat(arr), indices)
    moved, at = np.moveaxis(arr, axis, -1), indices
    at = np.moveaxis(at, axis, -1)
    if not isinstance(at, Value):
        at = np.where(np.asarray(at) < 0, np.asarray(at) + length(moved, -1), at)
    if dims_of(at)[:-1] != dims_of(moved)[:-1]:
        lead = np.broadcast_shapes(*[[length(x, i) for i in range(rank_of(x) - 1)] for x in (at, moved)])
        at, moved = (np.broadcast_to(x, (*lead, length(x, -1))) for x in (at, moved))
    return np.moveaxis(gather.gather(moved, at, batch_dims=rank_of(moved) - 1), -1, axis)


@operands("a")
def log_sum(a: Any, axis: Any = 0, *, keepdims: bool = False) -> Operand:
    """``np.logaddexp.reduce``."""
    return reduce.reduce_logsumexp(a, axis, keepdims)


# ---- shapes and joining ----------------------------------------------------------------------------------------------


@operands("*tup")
def _column_stack(tup: Any) -> Operand:
    return np.concatenate([x if rank_of(x) > 1 else np.reshape(x, [-1, 1]) for x in tup], axis=1)


@operands("a")
def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Operand:
    for axis in np.ravel(axes).tolist():
        out = func(a, axis)
        a = out if rank_of(out) == rank_of(a) else np.expand_dims(out, axis)
    return a


@operands("*xi")
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if not sparse:
        return tuple(rearrange.meshgrid(*xi, indexing=indexing))
    places = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else [*range(len(xi))]
    return tuple(
        [np.reshape(x, [-1 if k == i else 1 for k in range(len(xi))]) for x, i in zip(xi, places, strict=True)]
    )


@operands("*arys")
def _atleast_3d(*arys: Any) -> Results:
    index: dict[int, Any] = {0: (None,) * 3, 1: (None, slice(None), None), 2: (slice(None), slice(None), None)}
    out = [slicing.getitem(x, index.get(rank_of(x), ())) if rank_of(x) < 3 else x for x in arys]
    return out[0] if len(out) == 1 else tuple(out)


def _block(arrays: Any) -> Operand:
    def joined(part: Any, axis: int) -> Operand:
        if not isinstance(part, list):
            return part if isinstance(part, Value) else np.asarray(part)
        return np.concatenate([at_least([joined(p, axis + 1)], max(-axis, 1)) for p in part], axis=axis)

    depth = 0
    part = arrays
    while isinstance(part, list):
        part, depth = part[0], depth + 1
    not_taken_if(not depth)
    return joined(arrays, -depth)


@operands("ary")
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Operand]:
    pieces = np.array_split(np.arange(length(ary, axis)), indices_or_sections)
    return [np.take(ary, piece, axis=axis) for piece in pieces]


def _split_along(axis: int) -> Callable[..., Any]:
    @operands("ary")
    def apply(ary: Any, indices_or_sections: Any) -> Sequence[Operand]:
        return np.split(ary, indices_or_sections, axis=0 if rank_of(ary) == 1 else axis)

    return apply


@operands("arr")
def _delete(arr: Any, obj: Any, axis: int | None = None) -> Operand:
    arr, axis = (flat(arr), 0) if axis is None else (arr, axis)
    return np.take(arr, np.delete(np.arange(length(arr, axis)), obj), axis=axis)


@operands("arr", "values")
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Operand:
    arr, axis = (flat(arr), 0) if axis is None else (arr, axis)
    n, rank = length(arr, axis), rank_of(arr)
    if rank == 1:
        added, count = at_least([values], 1), length(at_least([values], 1), 0)
    elif np.ndim(obj) == 0 and rank_of(values) < rank:
        # at one place: one line, whose axis the values lack
        sizes = [length(arr, i) for i in range(rank) if i != axis % rank]
        added, count = np.expand_dims(np.broadcast_to(values, sizes), axis), 1
    else:
        raise NotTaken
    order = np.insert(np.arange(n), obj, n + np.arange(count))
    return np.take(np.concatenate([arr, added], axis=axis), order, axis=axis)


@operands("a", "fill_value")
def _full_like(a: Any, fill_value: Any) -> Operand:
    return shapes.broadcast_to(fill_value, shapes.shape(a))


# ---- products and matrices -------------------------------------------------------------------------------------------


@operands("a", "b")
def _kron(a: Any, b: Any) -> Operand:
    rank = max(rank_of(a), rank_of(b))
    a, b = at_least([a], rank), at_least([b], rank)
    a_index, b_index = (slice(None), None) * rank, (None, slice(None)) * rank
    sizes = [length(a, i) * length(b, i) for i in range(rank)]
    return np.reshape(slicing.getitem(a, a_index) * slicing.getitem(b, b_index), sizes)


@operands("*arrays")
def _multi_dot(arrays: Any) -> Operand:
    # in the order that costs least, which NumPy finds in shapes
    return functools.reduce(np.dot, arrays)


@operands("a")
def _matrix_power(a: Any, n: int) -> Operand:
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if not n:
        return constant(np.eye(length(a, -1)), a) + np.zeros_like(a)
    out: Any = None
    while n:
        if n % 2:
            out = a if out is None else out @ a
        a, n = (a @ a if n > 1 else a), n // 2
    return out


@operands("x")
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Operand:
    """Over several axes that of the elements in a row."""
    rows, axes = in_lines(x, axis)
    out = np.linalg.norm(rows, ord=ord, axis=-1)
    return np.expand_dims(out, tuple(axes)) if keepdims else out


@operands("x1", "x2")
def vecdot(x1: Any, x2: Any) -> Operand:
    """The sum of products along the last axis, of the conjugate of the first."""
    return np.sum(np.conj(x1) * x2, axis=-1)


COMPOUND: dict[Any, Row] = {
    **TRANSFORMS,
    **STATISTICS,
    **CALCULUS,
    **PADDING,
    **ARRANGEMENT,
    **DECOMPOSITIONS,
    **POLYNOMIALS,
    np.sinc: (operands("x")(lambda x: scipy_special.sinc(inexact(x))), "tf.sin"),
    np.i0: (operands("x")(lambda x: special.bessel_i0(inexact(x))), "tf.math.bessel_i0"),
    np.convolve: (_convolve, "tf.nn.conv1d"),
    np.correlate: (_correlate, "tf.nn.conv1d"),
    np.select: (_select, "tf.where"),
    np.piecewise: (_piecewise, "tf.where"),
    np.apply_along_axis: (_apply_along_axis, "tf.map_fn"),
    np.take_along_axis: (_take_along_axis, "tf.gather with batch_dims"),
    np.apply_over_axes: (_apply_over_axes, "tf.reduce_sum"),
    np.meshgrid: (_meshgrid, "tf.meshgrid"),
    np.column_stack: (_column_stack, "tf.stack"),
    np.dstack: (operands("*tup")(lambda tup: np.concatenate([_atleast_3d(x) for x in tup], axis=2)), "tf.concat"),
    np.atleast_3d: (_atleast_3d, "tf.reshape"),
    np.block: (_block, "tf.concat"),
    np.array_split: (_array_split, "tf.split"),
    np.vsplit: (_split_along(0), "tf.split"),
    np.hsplit: (_split_along(1), "tf.split"),
    np.dsplit: (_split_along(2), "tf.split"),
    np.fliplr: (operands("m")(lambda m: np.flip(m, 1)), "tf.reverse"),
    np.flipud: (operands("m")(lambda m: np.flip(m, 0)), "tf.reverse"),
    np.delete: (_delete, "tf.gather"),
    np.insert: (_insert, "tf.concat"),
    np.full_like: (_full_like, "tf.fill"),
    np.kron: (_kron, "tf.einsum"),
    np.linalg.multi_dot: (_multi_dot, "tf.matmul"),
    np.linalg.matrix_power: (_matrix_power, "tf.matmul"),
    np.linalg.vecdot: (vecdot, "tf.reduce_sum"),
    np.linalg.outer: (operands("x1", "x2")(lambda x1, x2: np.outer(x1, x2)), "tf.multiply after tf.reshape"),
    np.linalg.cross: (operands("x1", "x2")(lambda x1, x2, *, axis=-1: np.cross(x1, x2, axis=axis)), "tf.linalg.cross"),
    np.linalg.trace: (linalg.trace, "tf.linalg.trace"),
    np.linalg.diagonal: (
        operands("x")(lambda x, *, offset=0: diagonal.matrix_diag_part(x, offset)),
        "tf.linalg.diag_part",
    ),
    np.linalg.matrix_transpose: (shapes.matrix_transpose, "tf.linalg.matrix_transpose"),
    np.linalg.svdvals: (operands("x")(lambda x: np.linalg.svd(x, compute_uv=False)), "tf.linalg.svd"),
    np.linalg.vector_norm: (_vector_norm, "tf.norm"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
