"""Activation functions, by name or as functions: ``tf.keras.activations``."""

from __future__ import annotations

from typing import Any

from tape_api.keras.lookup import by_name
from tape_api.library import root as tf


def linear(x: Any) -> Any:
    """`x` itself."""
    return x


def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """``max(x, 0)``; in general `x` above the threshold, at most `max_value`, and a line of the given slope below."""
    if negative_slope == 0 and threshold == 0:
        if max_value is None:
            return tf.nn.relu(x)
        return tf.nn.relu6(x) if max_value == 6 else tf.minimum(tf.nn.relu(x), max_value)
    x = tf.identity(x)
    above = x * tf.cast(x > threshold, x.dtype)
    if max_value is not None:
        above = tf.minimum(above, max_value)
    return above - negative_slope * tf.nn.relu(threshold - x)


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """``x`` above 0, ``negative_slope * x`` below."""
    return tf.nn.leaky_relu(x, alpha=negative_slope)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    if alpha == 1:
        return tf.nn.elu(x)
    x = tf.identity(x)
    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0)))


def exponential(x: Any) -> Any:
    """``exp(x)``."""
    return tf.exp(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """``x * P(X <= x)`` for a standard normal X."""
    return tf.nn.gelu(x, approximate=approximate)


def hard_sigmoid(x: Any) -> Any:
    """0 below -3, 1 above 3, linear between."""
    return tf.nn.relu6(tf.identity(x) + 3) / 6


def hard_silu(x: Any) -> Any:
    """``x * hard_sigmoid(x)``."""
    x = tf.identity(x)
    return x * hard_sigmoid(x)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Logarithm of `softmax`."""
    return tf.nn.log_softmax(x, axis=axis)


def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))``."""
    x = tf.identity(x)
    return x * tf.tanh(tf.nn.softplus(x))


def relu6(x: Any) -> Any:
    """``x`` limited to [0, 6]."""
    return tf.nn.relu6(x)


def selu(x: Any) -> Any:
    """Scaled exponential linear unit."""
    return tf.nn.selu(x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return tf.sigmoid(x)


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``."""
    return tf.nn.silu(x)


def softmax(x: Any, axis: int = -1) -> Any:
    """``exp(x)`` over its sum along `axis`."""
    return tf.nn.softmax(x, axis=axis)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``."""
    return tf.nn.softplus(x)


def softsign(x: Any) -> Any:
    """``x / (1 + abs(x))``."""
    return tf.nn.softsign(x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return tf.tanh(x)


swish = silu

KNOWN = {
    function.__name__: function
    for function in (
        linear, relu, leaky_relu, elu, exponential, gelu, hard_sigmoid, hard_silu, log_softmax, mish, relu6, selu,
        sigmoid, silu, softmax, softplus, softsign, tanh,
    )
} | {"swish": silu}  # fmt: skip


def get(identifier: Any) -> Any:
    """The activation that `identifier` stands for: a name, a function, or None for `linear`."""
    return linear if identifier is None else by_name(KNOWN, identifier, "activation function")
