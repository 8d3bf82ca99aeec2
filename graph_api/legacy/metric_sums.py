"""Parts of the measures of ``tf.metrics``: sums in local variables, and the value computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.operands import Operand
from engine.core.value import known_shape, shape_of
from engine.runtime.errors import ShapeError
from graph_api.graph import get_default_graph
from graph_api.graph_keys import GraphKeys
from graph_api.tensor import Tensor
from graph_api.variable import Variable

METRIC_VARIABLES = "metric_variables"
Result = tuple[Any, Any]


def local_sum(name: str, shape: Sequence[int] = (), dtype: Any = np.float32) -> Variable:
    """A local variable that starts at zero."""
    collections = [GraphKeys.LOCAL_VARIABLES, METRIC_VARIABLES]
    return tf.Variable(np.zeros(shape, dtype), trainable=False, collections=collections, name=name)


def measured(
    name: str | None, default: str, sums: Iterable[tuple[str, Any]], value_of: Callable[..., Any],
    metrics_collections: Any, updates_collections: Any,
) -> Result:  # fmt: skip
    """The value computed from sums, and the same after what is new has been added to them."""
    graph = get_default_graph()
    with tf.variable_scope(name, default):
        pairs = [(local_sum(label, known_shape(new, label), new.dtype.numpy), new) for label, new in sums]
        value = tf.identity(value_of(*[total.read_value() for total, _ in pairs]), name="value")
        added = [tf.assign_add(total, new) for total, new in pairs]
        update = tf.identity(value_of(*[tf.convert_to_tensor(total) for total in added]), name="update_op")
    for names, what in ((metrics_collections, value), (updates_collections, update)):
        if names:
            graph.add_to_collections(names, what)
    return value, update


def ratio(total: Any, count: Any) -> Tensor:
    """The quotient, 0 where the count is."""
    return tf.div_no_nan(total, count)


def floats(x: Any) -> Tensor:
    """A tensor of float32."""
    return tf.cast(tf.convert_to_tensor(x), tf.float32)


def broadcast(weights: Any, values: Any) -> Tensor:
    """Weights of the shape of values: of rank 0, or of their rank with dimensions of 1."""
    weights = floats(weights)
    own, whole = shape_of(weights), shape_of(values)
    if own is not None and whole is not None and own and len(own) != len(whole):
        if len(own) == len(whole) + 1 and own[-1] == 1:
            weights = tf.squeeze(weights, [-1])
        elif len(own) + 1 == len(whole):
            weights = tf.expand_dims(weights, -1)
        else:
            raise ShapeError(f"metrics: weights of shape {own} cannot be broadcast to values of shape {whole}")
    return weights * tf.ones_like(values)


def weighted_mean(
    values: Any, weights: Any, name: str | None, default: str, collections: Any, updates: Any,
    after: Callable[[Any], Any] | None = None,
) -> Result:  # fmt: skip
    """The value and the update of a mean, and of what `after` makes of it."""
    values = floats(values)
    if weights is None:
        count = tf.cast(tf.size(values), tf.float32)
    else:
        weights = broadcast(weights, values)
        values, count = values * weights, tf.reduce_sum(weights)
    sums = [("total", tf.reduce_sum(values)), ("count", count)]

    def value_of(total: Any, number: Any) -> Operand:
        return ratio(total, number) if after is None else after(ratio(total, number))

    return measured(name, default, sums, value_of, collections, updates)


def alike(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Labels and predictions of one rank: a last dimension of 1 that only one has is dropped."""
    labels, predictions = tf.convert_to_tensor(labels), tf.convert_to_tensor(predictions)
    a, b = shape_of(labels), shape_of(predictions)
    if a is not None and b is not None:
        if len(a) == len(b) + 1 and a[-1] in (1, None):
            labels = tf.squeeze(labels, [-1])
        elif len(b) == len(a) + 1 and b[-1] in (1, None):
            predictions = tf.squeeze(predictions, [-1])
        elif len(a) != len(b):
            raise ShapeError(f"metrics: labels and predictions must have one shape, got {a} and {b}")
    return labels, predictions
