"""Moments and norms: variance, standard deviation, Euclidean and other norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.api import operands
from engine.aval import Aval
from engine.batching import axis_param
from engine.dtypes import INEXACT
from engine.kinds import check_dtype, linear
from engine.ops.arithmetic import divide_no_nan
from engine.ops.axis_args import Axes
from engine.ops.reduce import mean_kernel, reduce_with, reduction, sum_kernel


def _center_kernel(x: Any, *, axis: Axes) -> Any:
    if x.size == 0:
        return x
    # Deviations from an element first: equal values then give exact zeros, and large ones lose no digits.
    first = x[tuple([slice(1) if axis is None or i - x.ndim in axis else slice(None) for i in range(x.ndim)])]
    shifted = np.subtract(x, first)
    return np.subtract(shifted, mean_kernel(shifted, axis=axis, keepdims=True))


def _center_abstract(x: Aval, *, axis: Axes) -> Aval:
    check_dtype("center", "x", x, INEXACT)
    return Aval(x.shape, x.dtype)


center = linear(
    "center",
    _center_kernel,
    lambda ct, x, *, axis: center(ct, axis=axis),
    _center_abstract,
    axis_param,
    doc="x less its mean over `axis` (negative): a projection, hence its own transpose.",
)


def _variance_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return mean_kernel(np.square(_center_kernel(x, axis=axis)), axis=axis, keepdims=keepdims)


def _std_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return np.sqrt(_variance_kernel(x, axis=axis, keepdims=keepdims))


def _norm_kernel(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    squares = np.square(x) if x.dtype.kind != "c" else np.square(x.real) + np.square(x.imag)
    return np.sqrt(sum_kernel(squares, axis=axis, keepdims=keepdims)).astype(x.dtype)


reduce_variance_op = reduction(
    "reduce_variance",
    _variance_kernel,
    lambda out, x, axis: 2 * center(x, axis=axis),
    mean=True,
    type="Variance",
    module=__name__,
    doc="Mean squared deviation from the mean over axes.",
)
reduce_std_op = reduction(
    "reduce_std",
    _std_kernel,
    lambda out, x, axis: divide_no_nan(center(x, axis=axis), out),
    mean=True,
    type="StandardDeviation",
    module=__name__,
    doc="Square root of the variance over axes.",
)
reduce_euclidean_norm_op = reduction(
    "reduce_euclidean_norm",
    _norm_kernel,
    lambda out, x, axis: divide_no_nan(x, out),
    type="EuclideanNorm",
    module=__name__,
    doc="Square root of the sum of squares over axes.",
)


@operands("input_tensor")
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Mean squared deviation from the mean over axes (parameters as in `reduce_sum`; floats only).

    Examples
    --------
    >>> float(reduce_variance(np.array([1.0, 2.0, 3.0, 4.0])))
    1.25
    """
    return reduce_with(reduce_variance_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Square root of the variance over axes (parameters as in `reduce_sum`; floats only).

    The derivative at equal values, where there is none, is 0.

    Examples
    --------
    >>> float(reduce_std(np.array([1.0, 3.0])))
    1.0
    """
    return reduce_with(reduce_std_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Square root of the sum of squares over axes (parameters as in `reduce_sum`; floats only).

    The derivative at 0, where there is none, is 0.

    Examples
    --------
    >>> float(reduce_euclidean_norm(np.array([3.0, 4.0])))
    5.0
    """
    return reduce_with(reduce_euclidean_norm_op, input_tensor, axis, keepdims)
