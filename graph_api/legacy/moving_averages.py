"""``tensorflow.python.training.moving_averages``: averages kept in variables of the program's own."""

from __future__ import annotations

from typing import Any

import graph_api as tf
from engine.core.operands import Operand
from graph_api.control_flow.flow import group
from graph_api.training import ExponentialMovingAverage

__all__ = ["ExponentialMovingAverage", "assign_moving_average", "weighted_moving_average"]


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Operand:
    """``variable = variable * decay + value * (1 - decay)``.

    Parameters
    ----------
    variable : Variable
    value : tensor
    decay : float or tensor
    zero_debias : bool
        Whether to divide by how much of the average is of values, so that it does not begin near zero. That takes
        two more variables, below the variable's name.
    name : str, optional

    Returns
    -------
    tensor
        The variable's new value.
    """
    with tf.name_scope(name or "AssignMovingAvg"):
        rate = tf.cast(1.0 - tf.convert_to_tensor(decay), variable.dtype)
        if not zero_debias:
            return tf.assign_sub(variable, (variable - value) * rate)
        with tf.variable_scope(variable.name.removesuffix(":0")):
            zeros = tf.zeros_initializer()
            biased = tf.get_variable("biased", variable.shape, variable.dtype, zeros, trainable=False)
            steps = tf.get_variable("local_step", [], variable.dtype, zeros, trainable=False)
        moved = tf.assign_sub(biased, (biased - value) * rate)
        counted = tf.assign_add(steps, 1.0)
        known = 1.0 - tf.pow(1.0 - rate, counted)
        with tf.control_dependencies([group(moved, counted)]):
            return tf.assign(variable, moved / known)


def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None
) -> Operand:
    """The moving average of values that count differently: that of ``value * weight`` over that of `weight`."""
    with tf.variable_scope(name, "WeightedMovingAvg"):
        value = tf.convert_to_tensor(value)
        sums: list[Any] = []
        for label, new in (("value_times_weight", value * weight), ("weight", tf.convert_to_tensor(weight))):
            zeros = tf.zeros_initializer()
            kept = tf.get_variable(label, new.shape, new.dtype, zeros, trainable=False, collections=collections)
            sums.append(assign_moving_average(kept, new, decay, zero_debias=False))
        return tf.div(sums[0], sums[1])
