"""Parts of the measures of ``tf.metrics``: sums in local variables, and the value computed from them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.aval import compatible, format_shape, is_known
from engine.core.value import known_shape, shape_of
from engine.ops.checked import checked_op
from engine.runtime.errors import ShapeError
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Tensor
from graph_api.graphs.variable import Variable

Result = tuple[Any, Any]
Measure = tuple[Iterable[tuple[str, Any]], Callable[..., Any]]
"""Sums by the names of their variables, and the function that makes the value of them."""


def local_sum(name: str, shape: Sequence[int] = (), dtype: Any = np.float32) -> Variable:
    """A local variable that starts at zero."""
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return tf.Variable(lambda: tf.zeros(shape, dtype), trainable=False, collections=collections, name=name)


def measured(
    name: str | None, default: str, sums: Iterable[tuple[str, Any]], value_of: Callable[..., Any],
    metrics_collections: Any, updates_collections: Any,
) -> Result:  # fmt: skip
    """The value computed from sums, and the same after what is new has been added to them."""
    with tf.variable_scope(name, default):
        pairs = [(local_sum(label, known_shape(new, label), new.dtype.numpy), new) for label, new in sums]
        value = tf.identity(value_of(*[total.read_value() for total, _ in pairs]), name="value")
        added = [tf.assign_add(total, new) for total, new in pairs]
        update = tf.identity(value_of(*[tf.convert_to_tensor(total) for total in added]), name="update_op")
    return noted(value, update, metrics_collections, updates_collections)


def noted(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> Result:
    """A value and an update, noted in collections."""
    for names, what in ((metrics_collections, value), (updates_collections, update)):
        if names:
            get_default_graph().add_to_collections(names, what)
    return value, update


def metric(default: str) -> Callable[[Callable[..., Measure]], Callable[..., Result]]:
    """Decorator: a function that gives what is summed, and what computes the value of the sums, as a metric.

    The metric takes `metrics_collections`, `updates_collections` and `name` besides.

    Parameters
    ----------
    default : str
        The name of the variable scope.
    """

    def decorate(measure: Callable[..., Measure]) -> Callable[..., Result]:
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own = list(inspect.signature(measure).parameters.values())
        further = ("metrics_collections", "updates_collections", "name")
        signature = inspect.Signature([*own, *[inspect.Parameter(n, either, default=None) for n in further]])

        @functools.wraps(measure)
        def apply(*args: Any, **kwargs: Any) -> Result:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            values, updates, name = (bound.arguments.pop(n) for n in further)
            sums, value_of = measure(**bound.arguments)
            return measured(name, default, sums, value_of, values, updates)

        apply.__signature__ = signature  # type: ignore[attr-defined]
        return apply

    return decorate


def ratio(total: Any, count: Any) -> Tensor:
    """The quotient, 0 where the count is."""
    return tf.div_no_nan(total, count)


def floats(x: Any) -> Tensor:
    """A tensor of float32."""
    return tf.cast(tf.convert_to_tensor(x), tf.float32)


def _without_last(x: Any, drop: Any) -> Tensor:
    """`x` without its last dimension, which must be 1, if `drop` is 1 when it runs."""
    return tf.reshape(x, tf.slice(tf.shape(x), [0], [tf.rank(x) - drop]))


def _excess(x: Any, other: Any) -> tuple[Any, int | None]:
    """By how many dimensions `x` has more than `other`: as a tensor, and as a number if that is known."""
    a, b = shape_of(x), shape_of(other)
    known = None if a is None or b is None else len(a) - len(b)
    return (tf.rank(x) - tf.rank(other) if known is None else known), known


def broadcast(weights: Any, values: Any) -> Tensor:
    """Weights of the shape of values: of rank 0, or of their rank with dimensions of 1 or theirs.

    A last dimension of 1 may be missing or be one too many, which is seen when it runs if ranks are not known before.
    """
    weights = floats(weights)
    if shape_of(weights) == ():
        return weights * tf.ones_like(values)
    excess, known = _excess(weights, values)
    if known is None:
        weights = _without_last(weights, tf.cast(tf.equal(excess, 1), tf.int32))
        missing = tf.logical_and(tf.equal(excess, -1), tf.rank(weights) > 0)
        ones = tf.ones(tf.reshape(tf.cast(missing, tf.int32), [1]), tf.int32)
        weights = tf.reshape(weights, tf.concat([tf.shape(weights), ones], 0))
    elif known == 1 and _ends_with_one(weights):
        weights = tf.squeeze(weights, [-1])
    elif known == -1:
        weights = tf.expand_dims(weights, -1)
    _check_weights(shape_of(weights), shape_of(values))
    return _checked(weights, values, _check_weights) * tf.ones_like(values)


def _check_weights(weights: Any, values: Any) -> None:
    if weights is None or values is None or not len(weights):
        return
    if len(weights) != len(values) or not all(
        w is None or w == 1 or v is None or w == v for w, v in zip(weights, values, strict=True)
    ):
        raise ShapeError(
            f"metrics: weights of shape {format_shape(tuple(weights))} cannot be broadcast to values of shape "
            f"{format_shape(tuple(values))}: each dimension must be 1 or theirs"
        )


def weighted_mean(values: Any, weights: Any, after: Callable[[Any], Any] | None = None) -> Measure:
    """The sums of a mean, and what computes it, or what `after` makes of it."""
    values = floats(values)
    if weights is None:
        count = tf.cast(tf.size(values), tf.float32)
    else:
        weights = broadcast(weights, values)
        values, count = values * weights, tf.reduce_sum(weights)
    sums = [("total", tf.reduce_sum(values)), ("count", count)]
    return sums, ratio if after is None else lambda total, number: after(ratio(total, number))


def alike(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Labels and predictions of one shape: a last dimension of 1 that only one has is dropped.

    Raises
    ------
    ShapeError
        If their shapes differ; when it runs, if they are not known before.
    """
    labels, predictions = tf.convert_to_tensor(labels), tf.convert_to_tensor(predictions)
    excess, known = _excess(labels, predictions)
    if known is None:
        labels = _without_last(labels, tf.cast(tf.equal(excess, 1), tf.int32))
        predictions = _without_last(predictions, tf.cast(tf.equal(excess, -1), tf.int32))
    elif known == 1 and _ends_with_one(labels):
        labels = tf.squeeze(labels, [-1])
    elif known == -1 and _ends_with_one(predictions):
        predictions = tf.squeeze(predictions, [-1])
    _check_alike(shape_of(labels), shape_of(predictions))
    return _checked(labels, predictions, _check_alike), predictions


def _checked(x: Any, other: Any, check: Callable[..., None]) -> Any:
    """`x`, of which it is seen when it runs how its shape goes with another's, if one of both is not known before."""
    if is_known(shape_of(x)) and is_known(shape_of(other)):
        return x
    return checked_op(x, tf.shape(x), tf.shape(other), check=check)


def _ends_with_one(x: Any) -> bool:
    last = (shape_of(x) or (0,))[-1]
    return last is None or last == 1


def _check_alike(labels: Any, predictions: Any) -> None:
    if labels is not None and predictions is not None and not compatible(tuple(labels), tuple(predictions)):
        raise ShapeError(
            f"metrics: labels and predictions must have one shape, got {format_shape(tuple(labels))} and "
            f"{format_shape(tuple(predictions))}"
        )
