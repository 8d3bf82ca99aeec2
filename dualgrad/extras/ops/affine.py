"""Small parts of networks: affine layers, normalization of neighboring channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.operands import Operand, operands
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.einsum import tensordot
from engine.ops.explog import pow
from engine.ops.linalg import matmul
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
