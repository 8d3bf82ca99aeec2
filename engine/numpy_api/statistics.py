"""Statistics of NumPy's (see `engine.numpy_api.functions`), written with NumPy's own simpler functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.detach import followers, looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, operands
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import (
    Row,
    as_asked,
    at_least,
    constant,
    dims_of,
    in_lines,
    inexact,
    length,
    not_taken_if,
    rank_of,
)
from engine.ops import compare, extrema, gather, reduce, segment, sorting, stats
from engine.ops import shape as shapes


def _spread(function: Callable[..., Any], power: float) -> Callable[..., Any]:
    @operands("a", "mean")
    def apply(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        ddof: Any = 0,
        correction: Any = 0,
        keepdims: bool = False,
        where: Any = True,
        mean: Any = None,
    ) -> Operand:
        a, less = inexact(as_asked(a, dtype)), ddof or correction
        if where is not True or mean is not None:
            return _mean_square(a, axis, keepdims, less, where, mean) ** power
        axes = range(rank_of(a)) if axis is None else np.ravel(axis).tolist()
        sizes = [dims_of(a)[i] for i in axes]
        if not less:
            # of one element it is zero, and so is its derivative; that of a root would not be a number
            alone = power < 1 and all(n == 1 for n in sizes)
            return (stats.reduce_variance if alone else function)(a, axis, keepdims)
        n = np.prod([length(a, i) for i in axes], dtype=int)
        return function(a, axis, keepdims) * float(n / np.maximum(n - less, 0)) ** power

    return apply


def _mean_square(a: Any, axis: Any, keepdims: Any, less: Any, where: Any, mean: Any, none: float = 0.0) -> Any:
    """The variance of the elements that count, around a mean that may be given; sums over `none` if too few count."""
    if mean is None:
        mean = np.mean(a, axis=axis, keepdims=True, where=where)
    real = dtype_of(a).real_dtype if dtype_of(a).is_complex else dtype_of(a)
    counted = compare.cast(shapes.broadcast_to(where, shapes.shape(a)), real)
    total = np.sum(np.square(np.abs(a - mean)), axis=axis, keepdims=keepdims, where=where)
    free = np.sum(counted, axis=axis, keepdims=keepdims) - less
    return total / np.where(free > 0, free, constant(none, free))


@operands("a", "weights")
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    if weights is None:
        weights = np.ones_like(a)
    if rank_of(weights) != rank_of(a):
        not_taken_if(rank_of(weights) != 1 or not isinstance(axis, int))
        weights = np.moveaxis(np.reshape(weights, [1] * (rank_of(a) - 1) + [-1]), -1, axis)
    total = np.sum(weights + np.zeros_like(a), axis=axis, keepdims=keepdims)
    out = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (out, total) if returned else out


@operands("a")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    return extrema.reduce_max(a, axis, keepdims) - extrema.reduce_min(a, axis, keepdims)


_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "linear": lambda q, n: q * (n - 1),
    "lower": lambda q, n: np.floor(q * (n - 1)),
    "higher": lambda q, n: np.ceil(q * (n - 1)),
    "midpoint": lambda q, n: (np.floor(q * (n - 1)) + np.ceil(q * (n - 1))) / 2,
    "interpolated_inverted_cdf": lambda q, n: q * n - 1,
    "hazen": lambda q, n: q * n - 0.5,
    "weibull": lambda q, n: q * (n + 1) - 1,
    "median_unbiased": lambda q, n: q * (n + 1 / 3) - 2 / 3,
    "normal_unbiased": lambda q, n: q * (n + 1 / 4) - 5 / 8,
}
"""Where quantiles lie among the sorted elements, by the name of a method: R. J. Hyndman and Y. Fan, 1996."""


@operands("a")
def _quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Operand:
    """By linear interpolation between the sorted elements; NaN where one of them is NaN."""
    not_taken_if(isinstance(q, Value) or np.ndim(q) > 1 or method not in _PLACES)
    if np.any(np.less(q, 0) | np.greater(q, 1)):
        raise ValueError("np.quantile: argument `q` must lie between 0 and 1 (np.percentile: between 0 and 100)")
    lines, axes = in_lines(inexact(a), axis)
    ordered = np.moveaxis(sorting.sort(lines, -1), -1, 0)
    last = length(ordered, 0) - 1
    at = np.clip(_PLACES[method](np.asarray(q, float), last + 1), 0, last)
    below = np.floor(at).astype(int)
    above = np.minimum(below + 1, last)
    share = constant((at - below).reshape(at.shape + (1,) * (rank_of(ordered) - 1)), ordered)
    low, high = np.take(ordered, below, axis=0), np.take(ordered, above, axis=0)
    out = np.where(np.isnan(ordered[-1]), constant(np.nan, ordered), low + (high - low) * share)
    if keepdims:
        out = np.expand_dims(out, tuple([i + at.ndim for i in axes]))
    return out


@operands("a")
def _percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Operand:
    return _quantile(a, q if isinstance(q, Value) else np.true_divide(q, 100), axis, method=method, keepdims=keepdims)


@operands("a")
def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    return _quantile(a, 0.5, axis, keepdims=keepdims)


@operands("m", "y", "aweights")
def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Operand:
    """Covariances of variables, each observation counted `fweights` times and weighted by `aweights`."""
    parts = []
    for part in (m, y):
        if part is None:
            continue
        columns = not rowvar and rank_of(part) != 1
        part = at_least([as_asked(inexact(part), dtype)], 2)
        parts.append(np.transpose(part) if columns else part)
    m = parts[0] if y is None else np.concatenate(parts, axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        centered = m - np.mean(m, axis=1, keepdims=True)
        return np.squeeze(centered @ np.conj(np.transpose(centered)) / max(length(m, 1) - less, 0))
    real = dtype_of(m).real_dtype if dtype_of(m).is_complex else dtype_of(m)
    weights: Any = None if fweights is None else EagerTensor(_counts(fweights).astype(real.numpy))
    if aweights is not None:
        aweights = compare.cast(aweights, real)
        weights = aweights if weights is None else weights * aweights
    total = np.sum(weights)
    divisor = total - less if aweights is None else total - less * (np.sum(weights * aweights) / total)
    divisor = np.maximum(divisor, 0.0) if less else total
    weights, divisor = compare.cast(weights, dtype_of(m)), compare.cast(divisor, dtype_of(m))
    centered = m - np.sum(m * weights, axis=1, keepdims=True) / compare.cast(total, dtype_of(m))
    return np.squeeze(centered @ np.conj(np.transpose(centered * weights)) / divisor)


def _counts(fweights: Any) -> np.ndarray:
    not_taken_if(isinstance(fweights, Value))
    counts = np.asarray(fweights)
    if counts.ndim != 1 or np.any(counts != np.round(counts)) or np.any(counts < 0):
        raise ValueError("np.cov: argument `fweights` must be a vector of whole numbers that are not negative")
    return counts


@operands("x", "y")
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Operand:
    cov = _cov(x, y, rowvar, dtype=dtype)
    if rank_of(cov) == 0:
        return cov / cov
    scale = np.sqrt(np.real(np.diag(cov)))
    out = cov / compare.cast(np.outer(scale, scale), dtype_of(cov))
    return out if dtype_of(out).is_complex else np.clip(out, -1.0, 1.0)


def _without_nan(fold: Callable[..., Any], instead: float) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
        return fold(np.where(np.isnan(a), constant(instead, a), a), axis=axis, keepdims=keepdims)

    return apply


@operands("a")
def _nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    counted = 1 - compare.cast(np.isnan(a), dtype_of(a))
    count = reduce.reduce_sum(counted, axis, keepdims)
    return reduce.reduce_sum(np.where(np.isnan(a), constant(0, a), a), axis, keepdims) / count


@operands("x")
def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Operand:
    not_taken_if(not copy or dtype_of(x).is_complex)
    limits = np.finfo(dtype_of(x).numpy)
    instead = (nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    x = np.where(np.isnan(x), constant(instead[0], x), x)
    x = np.where(np.equal(x, np.inf), constant(instead[1], x), x)
    return np.where(np.equal(x, -np.inf), constant(instead[2], x), x)


@operands("weights")
def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Operand:
    if isinstance(x, Value):
        looked_at(x)
        x = x._array if isinstance(x, EagerTensor) else None
    not_taken_if(weights is None or x is None)
    x = np.asarray(x)
    return segment.unsorted_segment_sum(weights, x, max(minlength, int(x.max(initial=-1)) + 1))


@operands("a")
def _nanquantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Operand:
    """Of the elements that are numbers: NaNs are sorted to the end, and how many there are says where to look."""
    not_taken_if(isinstance(q, Value) or np.ndim(q) > 1 or method != "linear")
    if np.ndim(q) == 1:
        return np.stack([_nanquantile(a, one, axis, keepdims=keepdims) for one in q])
    lines, axes = in_lines(inexact(a), axis)
    ordered = sorting.sort(lines, -1)
    count = reduce.reduce_sum(compare.cast(np.logical_not(np.isnan(ordered)), dtype_of(ordered)), -1, True)
    at = np.maximum(float(q) * (count - 1.0), 0.0)
    below = np.floor(at)
    places = [compare.cast(x, "int64") for x in (below, np.minimum(below + 1.0, np.maximum(count - 1.0, 0.0)))]
    low, high = (gather.gather(ordered, place, batch_dims=rank_of(ordered) - 1) for place in places)
    out = np.where(np.equal(count, 0.0), constant(np.nan, ordered), low + (high - low) * (at - below))
    out = np.squeeze(out, -1)
    return np.expand_dims(out, tuple(axes)) if keepdims else out


@operands("a")
def _nanpercentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Operand:
    share = q if isinstance(q, Value) else np.true_divide(q, 100)
    return _nanquantile(a, share, axis, method=method, keepdims=keepdims)


@operands("weights")
def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """The weights have a derivative; numbers that are counted have none."""
    not_taken_if(weights is None or density or isinstance(bins, Value) or (isinstance(a, Value) and followers(a)))
    if isinstance(a, Value):
        looked_at(a)
        a = a._array if isinstance(a, EagerTensor) else None
    not_taken_if(a is None)
    points, edges = np.ravel(a), np.histogram_bin_edges(a, bins, range)
    at = np.searchsorted(edges, points, "right") - 1
    at[points == edges[-1]] = len(edges) - 2
    inside = np.flatnonzero((at >= 0) & (at < len(edges) - 1))
    kept = np.take(np.reshape(weights, [-1]), inside)
    return segment.unsorted_segment_sum(kept, at[inside], len(edges) - 1), edges


def _nanspread(power: float) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Operand:
        known = np.logical_not(np.isnan(a))
        return _mean_square(np.where(known, a, constant(0, a)), axis, keepdims, ddof, known, None, np.nan) ** power

    return apply


def _nanscan(function: Callable[..., Any], instead: float) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None) -> Operand:
        return function(np.where(np.isnan(a), constant(instead, a), a), axis=axis)

    return apply


STATISTICS: dict[Any, Row] = {
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
    np.nanstd: (_nanspread(0.5), "tf.where and tf.reduce_sum"),
    np.nanvar: (_nanspread(1.0), "tf.where and tf.reduce_sum"),
    np.nanquantile: (_nanquantile, "tf.sort"),
    np.nanpercentile: (_nanpercentile, "tf.sort"),
    np.histogram: (_histogram, "tf.math.unsorted_segment_sum"),
    np.nancumsum: (_nanscan(np.cumsum, 0), "tf.where and tf.cumsum"),
    np.nancumprod: (_nanscan(np.cumprod, 1), "tf.where and tf.math.cumprod"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
