"""Functions of NumPy's that are several of ours: ``np.median``, ``np.interp``, ``np.kron``, ``np.select``.

Each is written with NumPy's own simpler functions. Its tensors are values, on which these arrive at our ops again
(`engine.numpy_api.functions`), so derivatives, graphs and batches follow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Results, operands
from engine.core.value import Value, dtype_of
from engine.numpy_api.fourier import TRANSFORMS
from engine.numpy_api.functions import NotTaken, Row, at_least, dims_of, flat, inexact, rank_of
from engine.ops import (
    compare,
    diagonal,
    extrema,
    gather,
    linalg,
    rearrange,
    reduce,
    segment,
    slicing,
    sorting,
    stats,
)
from engine.ops import shape as shapes


def _length(x: Any, axis: int) -> int:
    found = dims_of(x)[axis]
    if found is None:
        raise NotTaken
    return found


def _constant(x: Any, like: Any) -> EagerTensor:
    return EagerTensor(np.asarray(x, dtype_of(like).numpy))


# ---- statistics ------------------------------------------------------------------------------------------------------


def _spread(function: Callable[..., Any], power: float) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Operand:
        out = function(inexact(a), axis, keepdims)
        if not ddof:
            return out
        axes = range(rank_of(a)) if axis is None else np.ravel(axis).tolist()
        n = np.prod([_length(a, i) for i in axes], dtype=int)
        return out * float(n / (n - ddof)) ** power

    return apply


@operands("a", "weights")
def _average(a: Any, axis: Any = None, weights: Any = None) -> Operand:
    if weights is None:
        return np.mean(a, axis=axis)
    if rank_of(weights) != rank_of(a):
        if rank_of(weights) != 1 or not isinstance(axis, int):
            raise NotTaken
        weights = np.moveaxis(np.reshape(weights, [1] * (rank_of(a) - 1) + [-1]), -1, axis)
    return np.sum(a * weights, axis=axis) / np.sum(weights + np.zeros_like(a), axis=axis)


@operands("a")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    return extrema.reduce_max(a, axis, keepdims) - extrema.reduce_min(a, axis, keepdims)


@operands("a")
def _quantile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    """By linear interpolation between the sorted elements; NaN where one of them is NaN."""
    if isinstance(q, Value) or np.ndim(q) > 1 or not (axis is None or isinstance(axis, int)):
        raise NotTaken
    rank = rank_of(a)
    a, along = (flat(a), 0) if axis is None else (a, axis)
    ordered = np.moveaxis(sorting.sort(a, along), along, 0)
    at = np.asarray(q, float) * (_length(ordered, 0) - 1)
    below = np.floor(at).astype(int)
    above = np.minimum(below + 1, _length(ordered, 0) - 1)
    share = _constant((at - below).reshape(at.shape + (1,) * (rank_of(ordered) - 1)), ordered)
    low, high = np.take(ordered, below, axis=0), np.take(ordered, above, axis=0)
    out = np.where(np.isnan(ordered[-1]), _constant(np.nan, ordered), low + (high - low) * share)
    if not keepdims:
        return out
    for i in range(rank) if axis is None else [axis % rank]:
        out = np.expand_dims(out, i + at.ndim)
    return out


@operands("a")
def _percentile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    return _quantile(a, q if isinstance(q, Value) else np.true_divide(q, 100), axis, keepdims=keepdims)


@operands("a")
def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    return _quantile(a, 0.5, axis, keepdims=keepdims)


@operands("m")
def _cov(m: Any, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Operand:
    m = at_least([m], 2)
    if not rowvar and _length(m, 0) != 1:
        m = np.transpose(m)
    n = _length(m, 1)
    centred = m - np.mean(m, axis=1, keepdims=True)
    out = centred @ np.conj(np.transpose(centred)) / (n - (1 - bias if ddof is None else ddof))
    return np.squeeze(out)


@operands("x")
def _corrcoef(x: Any, rowvar: bool = True) -> Operand:
    cov = _cov(x, rowvar)
    scale = np.sqrt(np.diag(cov))
    return cov / np.outer(scale, scale)


def _without_nan(fold: Callable[..., Any], instead: float) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
        return fold(np.where(np.isnan(a), _constant(instead, a), a), axis=axis, keepdims=keepdims)

    return apply


@operands("a")
def _nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    counted = 1 - compare.cast(np.isnan(a), dtype_of(a))
    count = reduce.reduce_sum(counted, axis, keepdims)
    return reduce.reduce_sum(np.where(np.isnan(a), _constant(0, a), a), axis, keepdims) / count


@operands("x")
def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Operand:
    if not copy or dtype_of(x).is_complex:
        raise NotTaken
    limits = np.finfo(dtype_of(x).numpy)
    given = (nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    x = np.where(np.isnan(x), _constant(given[0], x), x)
    x = np.where(np.equal(x, np.inf), _constant(given[1], x), x)
    return np.where(np.equal(x, -np.inf), _constant(given[2], x), x)


@operands("weights")
def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Operand:
    if isinstance(x, Value):
        looked_at(x)
        x = x._array if isinstance(x, EagerTensor) else None
    if weights is None or x is None:
        raise NotTaken
    x = np.asarray(x)
    return segment.unsorted_segment_sum(weights, x, max(minlength, int(x.max(initial=-1)) + 1))


# ---- differences, sums, interpolation --------------------------------------------------------------------------------


@operands("y", "x")
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Operand:
    y = np.moveaxis(y, axis, -1)
    if x is not None:
        x = x if rank_of(x) == 1 else np.moveaxis(x, axis, -1)
        dx = x[..., 1:] - x[..., :-1]
    return np.sum(dx * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)


@operands("f")
def _gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Results:
    axes = list(range(rank_of(f))) if axis is None else [int(a) for a in np.ravel(axis)]
    steps = list(spacing or (1.0,)) * (len(axes) if len(spacing) < 2 else 1)
    if len(steps) != len(axes) or edge_order != 1 or any(rank_of(s) for s in steps):
        raise NotTaken
    out = [_central(f, s, a) for s, a in zip(steps, axes, strict=True)]
    return out[0] if len(out) == 1 else tuple(out)


def _central(f: Any, step: Any, axis: int) -> Operand:
    f = np.moveaxis(f, axis, 0)
    parts = [f[1:2] - f[:1], (f[2:] - f[:-2]) / 2, f[-1:] - f[-2:-1]]
    return np.moveaxis(np.concatenate(parts, axis=0) / step, 0, axis)


@operands("x", "xp", "fp")
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Operand:
    if left is not None or right is not None:
        raise NotTaken
    last = _length(xp, 0) - 1
    inside = np.clip(x, xp[0], xp[last])
    at = sorting.searchsorted(xp, flat(inside), "right") - 1
    at = shapes.reshape(np.clip(at, 0, max(last - 1, 0)), shapes.shape(x))
    below, above = np.minimum(at, last), np.minimum(at + 1, last)
    # the identity: a gradient with respect to `fp` itself is to be a tensor, not rows of one
    xp, fp = shapes.identity(xp), shapes.identity(fp)
    x0, x1, y0, y1 = (gather.gather(v, i) for v, i in ((xp, below), (xp, above), (fp, below), (fp, above)))
    # beyond the ends the line is flat
    return y0 + (y1 - y0) * ((inside - x0) / (x1 - x0)) if last else y0 + 0 * inside


@operands("a", "v")
def _convolve(a: Any, v: Any, mode: str = "full") -> Operand:
    if mode not in ("full", "same", "valid"):
        raise NotTaken
    if _length(a, 0) < _length(v, 0):
        a, v = v, a
    n, m = _length(a, 0), _length(v, 0)
    windows = np.add.outer(np.arange(n + m - 1), np.arange(m))
    out = linalg.matvec(gather.gather(np.pad(a, m - 1), windows), np.flip(v))
    if mode == "same":
        return out[(m - 1) // 2 : (m - 1) // 2 + n]
    return out if mode == "full" else out[m - 1 : n]


@operands("a", "v")
def _correlate(a: Any, v: Any, mode: str = "valid") -> Operand:
    if _length(a, 0) < _length(v, 0):
        raise NotTaken
    return _convolve(a, np.conj(np.flip(v)), "full" if mode == "full" else mode)


@operands("p", "x")
def _polyval(p: Any, x: Any) -> Operand:
    out = np.zeros_like(x)
    for i in range(_length(p, 0)):
        out = out * x + p[i]
    return out


@operands("x")
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Operand:
    powers = np.arange(_length(x, 0) if N is None else N)
    return np.power(np.expand_dims(x, -1), _constant(powers if increasing else powers[::-1], x))


# ---- choices ---------------------------------------------------------------------------------------------------------


@operands("*choicelist", "default")
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Operand:
    out = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        out = np.where(condition, choice, out)
    return out


@operands("x")
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Operand:
    if not isinstance(condlist, (list, tuple)):
        raise NotTaken
    pieces = [f(x, *args, **kwargs) if callable(f) else _constant(f, x) for f in funclist]
    out = pieces.pop() if len(pieces) == len(condlist) + 1 else _constant(0, x)
    # of two conditions that hold, the last counts
    for condition, piece in zip(condlist, pieces, strict=True):
        out = np.where(condition, piece, out)
    return out


@operands("arr")
def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Operand:
    moved = np.moveaxis(arr, axis, -1)
    lead = [_length(moved, i) for i in range(rank_of(moved) - 1)]
    rows = np.reshape(moved, [-1, _length(moved, -1)])
    found = [func1d(rows[i], *args, **kwargs) for i in range(_length(rows, 0))]
    if not all(isinstance(y, Value) for y in found):
        raise NotTaken
    out = np.stack(found)
    out = np.reshape(out, [*lead, *[_length(out, i) for i in range(1, rank_of(out))]])
    return np.moveaxis(out, -1, axis) if rank_of(out) == rank_of(arr) else out


@operands("arr")
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Operand:
    if axis is None:
        return gather.gather(flat(arr), indices)
    moved, at = np.moveaxis(arr, axis, -1), indices
    at = np.moveaxis(at, axis, -1)
    if not isinstance(at, Value):
        at = np.where(np.asarray(at) < 0, np.asarray(at) + _length(moved, -1), at)
    if dims_of(at)[:-1] != dims_of(moved)[:-1]:
        raise NotTaken
    return np.moveaxis(gather.gather(moved, at, batch_dims=rank_of(moved) - 1), -1, axis)


# ---- shapes and joining ----------------------------------------------------------------------------------------------


@operands("*tup")
def _column_stack(tup: Any) -> Operand:
    return np.concatenate([x if rank_of(x) > 1 else np.reshape(x, [-1, 1]) for x in tup], axis=1)


@operands("*tup")
def _dstack(tup: Any) -> Operand:
    return np.concatenate([_atleast_3d(x) for x in tup], axis=2)


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
    if not depth:
        raise NotTaken
    return joined(arrays, -depth)


@operands("ary")
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Operand]:
    pieces = np.array_split(np.arange(_length(ary, axis)), indices_or_sections)
    return [np.take(ary, piece, axis=axis) for piece in pieces]


def _split_along(axis: int) -> Callable[..., Any]:
    @operands("ary")
    def apply(ary: Any, indices_or_sections: Any) -> Sequence[Operand]:
        return np.split(ary, indices_or_sections, axis=0 if rank_of(ary) == 1 else axis)

    return apply


@operands("m")
def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Operand:
    if tuple(axes) != (0, 1):
        raise NotTaken
    if k % 4 == 2:
        return rearrange.reverse(m, [0, 1])
    if k % 4 == 0:
        return np.copy(m)
    return np.swapaxes(np.flip(m, 1), 0, 1) if k % 4 == 1 else np.flip(np.swapaxes(m, 0, 1), 1)


@operands("a")
def _diagonal(a: Any, offset: int = 0) -> Operand:
    if rank_of(a) != 2:
        raise NotTaken
    return np.diag(a, offset)


@operands("arr")
def _delete(arr: Any, obj: Any, axis: int | None = None) -> Operand:
    arr, axis = (flat(arr), 0) if axis is None else (arr, axis)
    return np.take(arr, np.delete(np.arange(_length(arr, axis)), obj), axis=axis)


@operands("arr", "values")
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Operand:
    if rank_of(arr) != 1 or rank_of(values) > 1:
        raise NotTaken
    values, n = at_least([values], 1), _length(arr, 0)
    order = np.insert(np.arange(n), obj, n + np.arange(_length(values, 0)))
    return np.take(np.concatenate([arr, values]), order)


@operands("a", "fill_value")
def _full_like(a: Any, fill_value: Any) -> Operand:
    return shapes.broadcast_to(fill_value, shapes.shape(a))


# ---- products and matrices -------------------------------------------------------------------------------------------


@operands("a", "b")
def _kron(a: Any, b: Any) -> Operand:
    rank = max(rank_of(a), rank_of(b))
    a, b = at_least([a], rank), at_least([b], rank)
    a_index, b_index = (slice(None), None) * rank, (None, slice(None)) * rank
    sizes = [_length(a, i) * _length(b, i) for i in range(rank)]
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
        raise NotTaken
    out: Any = None
    while n:
        if n % 2:
            out = a if out is None else out @ a
        a, n = (a @ a if n > 1 else a), n // 2
    return out


@operands("x")
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Operand:
    if axis is None:
        if keepdims:
            raise NotTaken
        x, axis = flat(x), 0
    if not isinstance(axis, int):
        raise NotTaken
    return np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


@operands("x1", "x2")
def vecdot(x1: Any, x2: Any) -> Operand:
    """The sum of products along the last axis, of the conjugate of the first."""
    return np.sum(np.conj(x1) * x2, axis=-1)


COMPOUND: dict[Any, Row] = {
    **TRANSFORMS,
    np.std: (_spread(stats.reduce_std, 0.5), "tf.math.reduce_std"),
    np.var: (_spread(stats.reduce_variance, 1.0), "tf.math.reduce_variance"),
    np.average: (_average, "tf.reduce_mean"),
    np.ptp: (_ptp, "tf.reduce_max and tf.reduce_min"),
    np.quantile: (_quantile, "tf.sort"),
    np.percentile: (_percentile, "tf.sort"),
    np.median: (_median, "tf.sort"),
    np.cov: (_cov, "tf.matmul"),
    np.corrcoef: (_corrcoef, "tf.matmul"),
    np.nansum: (_without_nan(np.sum, 0), "tf.where and tf.reduce_sum"),
    np.nanprod: (_without_nan(np.prod, 1), "tf.where and tf.reduce_prod"),
    np.nanmax: (_without_nan(np.max, -np.inf), "tf.where and tf.reduce_max"),
    np.nanmin: (_without_nan(np.min, np.inf), "tf.where and tf.reduce_min"),
    np.nanmean: (_nanmean, "tf.where and tf.reduce_mean"),
    np.nan_to_num: (_nan_to_num, "tf.where"),
    np.bincount: (_bincount, "tf.math.unsorted_segment_sum"),
    np.trapezoid: (_trapezoid, "tf.reduce_sum of slices"),
    np.gradient: (_gradient, "tf.subtract of slices"),
    np.interp: (_interp, "tf.gather and tf.searchsorted"),
    np.convolve: (_convolve, "tf.nn.conv1d"),
    np.correlate: (_correlate, "tf.nn.conv1d"),
    np.polyval: (_polyval, "tf.pow"),
    np.vander: (_vander, "tf.pow"),
    np.select: (_select, "tf.where"),
    np.piecewise: (_piecewise, "tf.where"),
    np.apply_along_axis: (_apply_along_axis, "tf.map_fn"),
    np.take_along_axis: (_take_along_axis, "tf.gather with batch_dims"),
    np.column_stack: (_column_stack, "tf.stack"),
    np.dstack: (_dstack, "tf.concat"),
    np.atleast_3d: (_atleast_3d, "tf.reshape"),
    np.block: (_block, "tf.concat"),
    np.array_split: (_array_split, "tf.split"),
    np.vsplit: (_split_along(0), "tf.split"),
    np.hsplit: (_split_along(1), "tf.split"),
    np.dsplit: (_split_along(2), "tf.split"),
    np.fliplr: (operands("m")(lambda m: np.flip(m, 1)), "tf.reverse"),
    np.flipud: (operands("m")(lambda m: np.flip(m, 0)), "tf.reverse"),
    np.rot90: (_rot90, "tf.reverse and tf.transpose"),
    np.diagonal: (_diagonal, "tf.linalg.diag_part"),
    np.delete: (_delete, "tf.gather"),
    np.insert: (_insert, "tf.concat"),
    np.full_like: (_full_like, "tf.fill"),
    np.kron: (_kron, "tf.einsum"),
    np.linalg.multi_dot: (_multi_dot, "tf.matmul"),
    np.linalg.matrix_power: (_matrix_power, "tf.matmul"),
    np.linalg.vecdot: (vecdot, "tf.reduce_sum"),
    np.linalg.outer: (operands("x1", "x2")(lambda x1, x2: np.outer(x1, x2)), "tf.multiply after tf.reshape"),
    np.linalg.cross: (linalg.cross, "tf.linalg.cross"),
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
