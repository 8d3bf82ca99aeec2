"""Activation functions, by name or as functions: ``tf.keras.activations``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.lookup import by_name, described
from engine.core.arguments import normalize_axis
from engine.core.operands import Operand, operands
from engine.core.value import shape_of


def with_logits(probabilities: Any, logits: Any) -> Operand:
    """Probabilities that remember what they were made of: cross entropies use it, as Keras's do (`logits_of`)."""
    probabilities._keras_logits = logits
    return probabilities


def logits_of(probabilities: Any) -> Operand | None:
    """The logits of which an activation of Keras made these probabilities; None if they come from elsewhere."""
    return getattr(probabilities, "_keras_logits", None)


def linear(x: Any) -> Operand:
    """`x` itself."""
    return x


@operands("x")
def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Operand:
    """``max(x, 0)``; in general `x` above the threshold, at most `max_value`, and a line of the given slope below."""
    if negative_slope == 0 and threshold == 0:
        if max_value is None:
            return tf.relu(x)
        return tf.relu6(x) if max_value == 6 else tf.minimum(tf.relu(x), max_value)
    above = x * tf.cast(x > threshold, x.dtype)
    if max_value is not None:
        above = tf.minimum(above, max_value)
    return above - negative_slope * tf.relu(threshold - x)


@operands("x")
def leaky_relu(x: Any, negative_slope: float = 0.2) -> Operand:
    """``x`` above 0, ``negative_slope * x`` below."""
    return tf.leaky_relu(x, alpha=negative_slope)


@operands("x")
def elu(x: Any, alpha: float = 1.0) -> Operand:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    if alpha == 1:
        return tf.elu(x)
    return tf.where(x > 0, x, alpha * tf.expm1(tf.minimum(x, 0)))


@operands("x")
def exponential(x: Any) -> Operand:
    """``exp(x)``."""
    return tf.exp(x)


@operands("x")
def gelu(x: Any, approximate: bool = False) -> Operand:
    """``x * P(X <= x)`` for a standard normal X."""
    return tf.gelu(x, approximate=approximate)


@operands("x")
def hard_sigmoid(x: Any) -> Operand:
    """0 below -3, 1 above 3, linear between."""
    return tf.relu6(x + 3) / 6


@operands("x")
def hard_silu(x: Any) -> Operand:
    """``x * hard_sigmoid(x)``."""
    return x * hard_sigmoid(x)


@operands("x")
def log_softmax(x: Any, axis: Any = -1) -> Operand:
    """Logarithm of `softmax`."""
    return _along(tf.log_softmax, x, axis)


@operands("x")
def mish(x: Any) -> Operand:
    """``x * tanh(softplus(x))``."""
    return x * tf.tanh(tf.softplus(x))


@operands("x")
def relu6(x: Any) -> Operand:
    """``x`` limited to [0, 6]."""
    return tf.relu6(x)


@operands("x")
def selu(x: Any) -> Operand:
    """Scaled exponential linear unit."""
    return tf.selu(x)


@operands("x")
def sigmoid(x: Any) -> Operand:
    """``1 / (1 + exp(-x))``."""
    return with_logits(tf.sigmoid(x), x)


@operands("x")
def silu(x: Any) -> Operand:
    """``x * sigmoid(x)``."""
    return tf.silu(x)


@operands("x")
def softmax(x: Any, axis: Any = -1) -> Operand:
    """``exp(x)`` over its sum along `axis`, or along several together."""
    return with_logits(_along(tf.softmax, x, axis), x)


def _along(function: Callable[..., Operand], x: Any, axis: Any) -> Operand:
    """A function of one axis along several, which are taken as one; along all for None."""
    if not isinstance(axis, (tuple, list, type(None))):
        return function(x, axis=axis)
    rank = len(shape_of(x) or ())
    axes = [normalize_axis(function.__name__, a, rank) for a in (range(rank) if axis is None else axis)]
    order = [*(i for i in range(rank) if i not in axes), *axes]
    moved = tf.transpose(x, order)
    rows = tf.reshape(moved, tf.concat([tf.shape(moved)[: rank - len(axes)], [-1]], axis=0))
    return tf.transpose(tf.reshape(function(rows, axis=-1), tf.shape(moved)), [order.index(i) for i in range(rank)])


@operands("x")
def softplus(x: Any) -> Operand:
    """``log(1 + exp(x))``."""
    return tf.softplus(x)


@operands("x")
def softsign(x: Any) -> Operand:
    """``x / (1 + abs(x))``."""
    return tf.softsign(x)


@operands("x")
def tanh(x: Any) -> Operand:
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


def get(host: Any, identifier: Any) -> Callable[..., Any]:
    """The activation that `identifier` stands for: a name, a function, or None for `linear`."""
    return host.public(linear) if identifier is None else by_name(host, KNOWN, identifier, "activation function")


def serialize(host: Any, activation: Any) -> Any:
    """The name of an activation of Keras's; another function or a layer as plain data.

    Raises
    ------
    ValueError
        If it is neither, or a function without a name.
    """
    name = getattr(activation, "__name__", None)
    if name in KNOWN and activation in (KNOWN[name], host.public(KNOWN[name])):
        return name
    return described("activations", activation)


def deserialize(host: Any, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The activation that `serialize` has described; `custom_objects` are a program's own, by name."""
    return by_name(host, {**KNOWN, **(custom_objects or {})}, config, "activation function")
