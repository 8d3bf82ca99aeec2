"""Settings of layers and losses, ``tf.keras.backend``: the default dtype, a small number, names that differ."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dualgrad.keras import functions as tf
from engine.core.dtypes import FLOATING, as_dtype
from engine.core.operands import Operand, operands
from engine.core.value import shape_of
from engine.core.variable import Variable
from engine.runtime.public_names import named

_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7}


def floatx() -> str:
    """The dtype of new weights, and of floating inputs: ``"float32"`` unless `set_floatx` was called."""
    return str(_settings["floatx"])


def set_floatx(value: Any) -> None:
    """Set the dtype of weights made from now on."""
    dtype = as_dtype(value)
    if dtype not in FLOATING:
        raise ValueError(f"set_floatx: the dtype must be floating, got {dtype.name}")
    _settings["floatx"] = dtype.name


def epsilon() -> float:
    """The small number that keeps logarithms and quotients finite, 1e-7."""
    return float(_settings["epsilon"])


def set_epsilon(value: float) -> None:
    """Set the small number."""
    _settings["epsilon"] = float(value)


def layer_name(kind: str) -> str:
    """``batch_normalization`` for ``BatchNormalization``, ``conv2d`` for ``Conv2D``."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", kind)).lower()
    return parted.lstrip("_")


def unique_name(host: Any, prefix: str) -> str:
    """``dense``, ``dense_1``, ``dense_2``, ..."""
    names = host.names()
    count = names[prefix]
    names[prefix] += 1
    return f"{prefix}_{count}" if count else prefix


def clear_session(host: Any) -> None:
    """Start the numbering of layer names again."""
    host.names().clear()


# ---- functions under Keras's older names -----------------------------------------------------------------------------


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The static shape as a tuple, None where it is not known."""
    return shape_of(x)


@operands("x")
def shape(x: Any) -> Operand:
    """The shape, as an integer vector."""
    return tf.shape(x)


@operands("x", "y")
def dot(x: Any, y: Any) -> Operand:
    """The matrix product."""
    return tf.matmul(x, y)


def of_the_engine(name: str, *others: str, doc: str = "") -> Any:
    """A function of the engine's with the same meaning."""

    @operands("x", *others)
    def function(x: Any, *more: Any) -> Operand:
        return getattr(tf, name)(x, *more)

    return named(function, name, doc or f"``tf.{name}``.")


def _over_axes(name: str, doc: str) -> Any:
    @operands("x")
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Operand:
        return getattr(tf, name)(x, axis=axis, keepdims=keepdims)

    return named(function, name.removeprefix("reduce_"), doc)


sum, mean = _over_axes("reduce_sum", "The sum over some axes."), _over_axes("reduce_mean", "The mean over some axes.")
var = _over_axes("reduce_variance", "The variance over some axes.")
max = _over_axes("reduce_max", "The largest element over some axes.")
min = _over_axes("reduce_min", "The smallest element over some axes.")
abs, cos, exp, log, ones_like, round, sigmoid, sign, sin, sqrt, square, stop_gradient, tanh, transpose, zeros_like = (
    *map(of_the_engine, ("abs", "cos", "exp", "log", "ones_like", "round", "sigmoid", "sign", "sin", "sqrt")),
    *map(of_the_engine, ("square", "stop_gradient", "tanh", "transpose", "zeros_like")),
)
equal, greater, less, maximum, minimum, not_equal, pow = (
    of_the_engine(name, "y") for name in ("equal", "greater", "less", "maximum", "minimum", "not_equal", "pow")
)


@operands("x")
def expand_dims(x: Any, axis: int = -1) -> Operand:
    """One more axis."""
    return tf.expand_dims(x, axis)


@operands("x")
def clip(x: Any, min_value: Any, max_value: Any) -> Operand:
    """Numbers below and above two bounds are these."""
    return tf.minimum(tf.maximum(x, min_value), max_value)


@operands("x")
def cast(x: Any, dtype: Any) -> Operand:
    """In another dtype."""
    return tf.cast(x, dtype)


@operands("x")
def reshape(x: Any, shape: Any) -> Operand:
    """In another shape."""
    return tf.reshape(x, shape)


@operands("x")
def batch_flatten(x: Any) -> Operand:
    """A matrix with one row for each element of the batch."""
    return tf.reshape(x, [tf.shape(x)[0], -1])


@operands("x")
def argmax(x: Any, axis: int = -1) -> Operand:
    """Where the largest elements are."""
    return tf.argmax(x, axis)


@operands("x")
def softmax(x: Any, axis: int = -1) -> Operand:
    """``exp(x)``, divided by its sum over an axis."""
    return tf.softmax(x, axis)


def get_value(host: Any, x: Any) -> Any:
    """The value of a variable, as an array; in a graph, in the session."""
    return host.values([x])[0] if isinstance(x, Variable) else np.asarray(x)[()]


def set_value(host: Any, x: Any, value: Any) -> None:
    """Set a variable to an array; in a graph, in the session."""
    host.set_values([x], [np.asarray(value, x.dtype.numpy)])


__all__ = [
    "abs", "argmax", "batch_flatten", "cast", "clear_session", "clip", "cos", "dot", "epsilon", "equal", "exp",
    "expand_dims", "floatx", "get_value", "greater", "int_shape", "less", "log", "max", "maximum", "mean", "min",
    "minimum", "not_equal", "ones_like", "pow", "reshape", "round", "set_epsilon", "set_floatx", "set_value", "shape",
    "sigmoid", "sign", "sin", "softmax", "sqrt", "square", "stop_gradient", "sum", "tanh", "transpose", "var",
    "zeros_like",
]  # fmt: skip
