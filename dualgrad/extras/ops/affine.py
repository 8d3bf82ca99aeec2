"""Small parts of networks: affine layers, normalization of neighboring channels, weighted moments, Poisson losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.dtypes import float16, float32
from engine.core.operands import Operand, operands
from engine.core.structural import broadcast_like
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.arithmetic import reciprocal, squared_difference
from engine.ops.compare import cast, greater_equal, less_equal, logical_and, where
from engine.ops.creation import zeros_like
from engine.ops.einsum import tensordot
from engine.ops.explog import exp, log, pow
from engine.ops.linalg import matmul
from engine.ops.nn import relu
from engine.ops.reduce import reduce_mean, reduce_sum
from engine.ops.shape import stop_gradient
from engine.runtime.errors import NotKnownYet, ShapeError


@operands("x", "weights", "biases")
def xw_plus_b(x: Any, weights: Any, biases: Any) -> np.ndarray:
    """``x @ weights + biases``.

    Examples
    --------
    >>> xw_plus_b(np.array([[1.0, 2.0]]), np.eye(2), np.array([0.5, 0.5]))
    array([[1.5, 2.5]])
    """
    return matmul(x, weights) + biases


@operands("x", "weights", "biases")
def relu_layer(x: Any, weights: Any, biases: Any) -> Operand:
    """``relu(x @ weights + biases)``."""
    return relu(matmul(x, weights) + biases)


@operands("input")
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Operand:
    """Each element divided by ``(bias + alpha * s) ** beta``, s the sum of squares of the channels around.

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
    depth_radius : int
        How many channels count on each side.
    bias, alpha, beta : float

    References
    ----------
    Krizhevsky, Sutskever and Hinton (2012), *ImageNet classification with deep convolutional neural networks*, NIPS.
    """
    shape = shape_of(input)
    if shape is None or (shape and shape[-1] is None):
        raise NotKnownYet(f"lrn: the number of channels must be known, got {aval_of(input)}; use set_shape")
    if len(shape) != 4:
        raise ShapeError(f"lrn: argument `input` must have rank 4, got {aval_of(input)}")
    channels = shape[-1]
    assert channels is not None
    places = np.arange(channels)
    near = (np.abs(places[:, None] - places) <= depth_radius).astype(dtype_of(input).numpy)
    around = tensordot(input * input, near, [[-1], [0]])
    number = dtype_of(input).as_numpy_dtype
    return input * pow(number(bias) + number(alpha) * around, number(-beta))


@operands("x", "frequency_weights")
def weighted_moments(x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False) -> tuple[Any, Any]:
    """Mean and variance over axes of elements that count as often as their weights say.

    Parameters
    ----------
    x : value, floating
    axes : int or sequence of int
    frequency_weights : value
        Broadcast against `x`.
    keepdims : bool

    Returns
    -------
    mean, variance : value

    Examples
    --------
    >>> weighted_moments(np.array([1.0, 3.0]), [0], np.array([3.0, 1.0]))
    (np.float64(1.5), np.float64(0.75))
    """
    dtype = dtype_of(x)
    wide, weights = (cast(v, float32) if dtype is float16 else cast(v, dtype) for v in (x, frequency_weights))
    weights = broadcast_like(weights, wide)
    share = weights * reciprocal(reduce_sum(weights, axes, keepdims=True))
    mean = reduce_sum(wide * share, axes, keepdims=True)
    variance = reduce_sum(squared_difference(wide, stop_gradient(mean)) * share, axes, keepdims)
    return cast(reduce_sum(wide * share, axes, keepdims), dtype), cast(variance, dtype)


@operands("x")
def sufficient_statistics(x: Any, axes: Any, shift: Any = None, keepdims: bool = False) -> tuple[Any, Any, Any, Any]:
    """Sums for `normalize_moments`: count, sum and sum of squares of ``x - shift``, and the shift."""
    moved = x if shift is None else x - shift
    count = reduce_sum(zeros_like(x) + dtype_of(x).as_numpy_dtype(1), axes, keepdims=False)
    whole = count if len(shape_of(count) or ()) == 0 else reduce_mean(count)
    return whole, reduce_sum(moved, axes, keepdims), reduce_sum(moved * moved, axes, keepdims), shift


@operands("counts", "mean_ss", "variance_ss")
def normalize_moments(counts: Any, mean_ss: Any, variance_ss: Any, shift: Any = None) -> tuple[Any, Any]:
    """Mean and variance from what `sufficient_statistics` gave."""
    mean = mean_ss / counts
    variance = variance_ss / counts - mean * mean
    return mean if shift is None else mean + shift, variance


@operands("targets", "log_input")
def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False) -> Operand:
    """``exp(log_input) - log_input * targets``: the negative logarithm of a Poisson probability.

    `compute_full_loss` adds what depends on targets only, by Stirling's formula, where targets exceed 1.
    """
    loss = exp(log_input) - log_input * targets
    if not compute_full_loss:
        return loss
    number = dtype_of(targets).as_numpy_dtype
    one = number(1)
    small = logical_and(greater_equal(targets, zeros_like(targets)), less_equal(targets, zeros_like(targets) + one))
    safe = where(small, zeros_like(targets) + one, targets)
    stirling = safe * log(safe) - safe + number(0.5) * log(number(2 * math.pi) * safe)
    return loss + where(small, zeros_like(targets), stirling)


@operands("x", "frequency_weights")
def old_weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: Any = None, keep_dims: Any = None, keepdims: Any = None
) -> tuple[Any, Any]:
    """`weighted_moments` with TensorFlow 1's arguments."""
    return weighted_moments(x, axes, frequency_weights, bool(keep_dims or keepdims))


@operands("x")
def old_sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keep_dims: Any = None, name: Any = None, keepdims: Any = None
) -> tuple[Any, Any, Any, Any]:
    """`sufficient_statistics` with TensorFlow 1's arguments."""
    return sufficient_statistics(x, axes, shift, bool(keep_dims or keepdims))
