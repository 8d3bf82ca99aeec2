"""Initial values and penalties of weights, as ``tf.contrib.layers`` has them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.frontend.initializers import fans
from dualgrad.keras import functions as tf
from engine.core.dtypes import as_dtype, float32
from engine.core.operands import Operand
from graph_api import sampling
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys

Penalty = Callable[[Any], Any]


def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: Any = float32
) -> Callable[..., Any]:
    """Random numbers of variance ``factor / n``.

    Parameters
    ----------
    factor : float
    mode : {"FAN_IN", "FAN_OUT", "FAN_AVG"}
        What n counts: a layer's inputs, outputs, or the mean of both.
    uniform : bool
        Uniform, or else (truncated) normal.
    seed : int, optional
    dtype : DType
        Floating.
    """
    if not as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    default = dtype

    def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Operand:
        wanted = as_dtype(default if dtype is None else dtype)
        dims = tuple(int(d) for d in shape)
        inputs, outputs = fans(dims)
        n = {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2}[mode]
        if uniform:
            limit = math.sqrt(3 * factor / n)
            return sampling.uniform(dims, -limit, limit, wanted, seed)
        # the factor makes up for what is cut off
        return sampling.truncated_normal(dims, 0.0, math.sqrt(1.3 * factor / n), wanted, seed)

    return initial


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = float32) -> Callable[..., Any]:
    """Random numbers of variance 1 over the mean of the numbers of inputs and outputs (Glorot and Bengio, 2010)."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


def _checked(scale: Any, what: str = "scale") -> float:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{what} cannot be an integer: {scale}")
    if scale < 0:
        raise ValueError(f"Setting a {what} less than 0 on a regularizer: {scale}")
    return float(scale)


def l1_regularizer(scale: float, scope: str | None = None) -> Penalty:
    """A penalty ``scale * sum(abs(weights))``.

    Raises
    ------
    ValueError
        If `scale` is negative, or an int.
    """
    factor = _checked(scale)
    return _named(scope or "l1_regularizer", lambda w: factor * tf.reduce_sum(tf.abs(w)), factor)


def l2_regularizer(scale: float, scope: str | None = None) -> Penalty:
    """A penalty ``scale * sum(weights ** 2) / 2``.

    Raises
    ------
    ValueError
        If `scale` is negative, or an int.
    """
    factor = _checked(scale)
    return _named(scope or "l2_regularizer", lambda w: factor * tf.l2_loss(w), factor)


def _named(name: str, penalty: Penalty, factor: float = 1.0) -> Penalty:
    def named(weights: Any) -> Operand | None:
        if not factor:
            return None
        with get_default_graph().name_scope(name):
            return penalty(weights)

    return named


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Penalty:
    """The sum of both penalties."""
    first, second = _checked(scale_l1, "scale_l1"), _checked(scale_l2, "scale_l2")
    return sum_regularizer([l1_regularizer(first), l2_regularizer(second)], scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list: Sequence[Penalty | None], scope: str | None = None) -> Penalty:
    """The sum of some penalties."""
    regularizers = [r for r in regularizer_list if r is not None]

    def total(weights: Any) -> Operand | None:
        penalties = [x for x in [penalty(weights) for penalty in regularizers] if x is not None]
        return tf.add_n(penalties) if penalties else None

    return _named(scope or "sum_regularizer", total)


def apply_regularization(regularizer: Penalty, weights_list: Sequence[Any] | None = None) -> Operand:
    """The sum of a penalty on some weights, which is also added to REGULARIZATION_LOSSES.

    Parameters
    ----------
    regularizer : callable
    weights_list : list of Variable, optional
        By default the collection WEIGHTS.
    """
    graph = get_default_graph()
    weights = graph.get_collection(GraphKeys.WEIGHTS) if weights_list is None else list(weights_list)
    if not weights:
        raise ValueError("No weights to regularize.")
    with graph.name_scope("get_regularization_penalty"):
        penalties = [regularizer(w) for w in weights]
        penalty = tf.add_n(
            [0.0 * tf.reduce_sum(w) if x is None else x for w, x in zip(weights, penalties, strict=True)]
        )
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, penalty)
    return penalty


xavier_initializer_conv2d = xavier_initializer

__all__ = [
    "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "sum_regularizer",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip
