"""``tf.metrics``: measures of a whole evaluation, added up run by run.

Each gives ``(value, update_op)``: the value from all that was added up so far, and an operation that adds what a run
sees and gives the value after it. What is added up is in local variables, which `local_variables_initializer` sets to
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graph_api as tf
from engine.core.errors import ShapeError
from engine.core.operands import Operand
from engine.core.value import known_shape, shape_of
from graph_api.graph import GraphKeys, get_default_graph
from graph_api.tensor import Tensor
from graph_api.variable import Variable

METRIC_VARIABLES = "metric_variables"
Result = tuple[Any, Any]


def _sum(name: str, shape: Sequence[int] = (), dtype: Any = np.float32) -> Variable:
    """A local variable that starts at zero."""
    collections = [GraphKeys.LOCAL_VARIABLES, METRIC_VARIABLES]
    return tf.Variable(np.zeros(shape, dtype), trainable=False, collections=collections, name=name)


def _measured(
    name: str | None, default: str, sums: Iterable[tuple[str, Any]], value_of: Callable[..., Any],
    metrics_collections: Any, updates_collections: Any,
) -> Result:  # fmt: skip
    """The value computed from sums, and the same after what is new has been added to them."""
    graph = get_default_graph()
    with tf.variable_scope(name, default):
        pairs = [(_sum(label, known_shape(new, label), new.dtype.numpy), new) for label, new in sums]
        value = tf.identity(value_of(*[total.read_value() for total, _ in pairs]), name="value")
        added = [tf.assign_add(total, new) for total, new in pairs]
        update = tf.identity(value_of(*[tf.convert_to_tensor(total) for total in added]), name="update_op")
    for names, what in ((metrics_collections, value), (updates_collections, update)):
        if names:
            graph.add_to_collections(names, what)
    return value, update


def _ratio(total: Any, count: Any) -> Tensor:
    return tf.div_no_nan(total, count)


def _floats(x: Any) -> Tensor:
    return tf.cast(tf.convert_to_tensor(x), tf.float32)


def _broadcast(weights: Any, values: Any) -> Tensor:
    """Weights of the shape of values: of rank 0, or of their rank with dimensions of 1."""
    weights = _floats(weights)
    own, whole = shape_of(weights), shape_of(values)
    if own is not None and whole is not None and own and len(own) != len(whole):
        if len(own) == len(whole) + 1 and own[-1] == 1:
            weights = tf.squeeze(weights, [-1])
        elif len(own) + 1 == len(whole):
            weights = tf.expand_dims(weights, -1)
        else:
            raise ShapeError(f"metrics: weights of shape {own} cannot be broadcast to values of shape {whole}")
    return weights * tf.ones_like(values)


def _weighted_mean(
    values: Any, weights: Any, name: str | None, default: str, collections: Any, updates: Any,
    after: Callable[[Any], Any] | None = None,
) -> Result:  # fmt: skip
    values = _floats(values)
    if weights is None:
        count = tf.cast(tf.size(values), tf.float32)
    else:
        weights = _broadcast(weights, values)
        values, count = values * weights, tf.reduce_sum(weights)
    sums = [("total", tf.reduce_sum(values)), ("count", count)]

    def value_of(total: Any, number: Any) -> Operand:
        return _ratio(total, number) if after is None else after(_ratio(total, number))

    return _measured(name, default, sums, value_of, collections, updates)


def _alike(labels: Any, predictions: Any) -> tuple[Any, Any]:
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


# ---- means -----------------------------------------------------------------------------------------------------------


def mean(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """The (weighted) mean of all values.

    Parameters
    ----------
    values : tensor
    weights : tensor, optional
        Broadcast against `values`.
    metrics_collections, updates_collections : str or list of str, optional
        Where the value and the update are noted.
    name : str, optional

    Returns
    -------
    value, update_op : tensors

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     value, update = tf.metrics.mean(x)
    ...     sess.run(tf.local_variables_initializer())
    ...     for numbers in ([1.0, 2.0], [6.0]):
    ...         _ = sess.run(update, {x: numbers})
    ...     print(sess.run(value))
    3.0
    """
    return _weighted_mean(values, weights, name, "mean", metrics_collections, updates_collections)


def accuracy(
    labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How often predictions are equal to labels (parameters as in `mean`)."""
    labels, predictions = _alike(labels, predictions)
    hits = tf.equal(predictions, tf.cast(labels, predictions.dtype))
    return _weighted_mean(hits, weights, name, "accuracy", metrics_collections, updates_collections)


def _mean_error(
    default: str, error: Callable[..., Any], after: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    def metric(
        labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
        updates_collections: Any = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        labels, predictions = _alike(_floats(labels), _floats(predictions))
        errors = error(labels, predictions)
        return _weighted_mean(errors, weights, name, default, metrics_collections, updates_collections, after)

    metric.__name__ = metric.__qualname__ = default
    metric.__doc__ = f"The {default.replace('_', ' ')} of predictions (parameters as in `mean`)."
    return metric


mean_absolute_error = _mean_error("mean_absolute_error", lambda y, p: tf.abs(p - y))
mean_squared_error = _mean_error("mean_squared_error", lambda y, p: tf.squared_difference(p, y))
root_mean_squared_error = _mean_error(
    "root_mean_squared_error", lambda y, p: tf.squared_difference(p, y), lambda total: tf.sqrt(total)
)


def mean_relative_error(
    labels: Any, predictions: Any, normalizer: Any, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Result:  # fmt: skip
    """The mean of errors divided by `normalizer`, 0 where that is 0 (other parameters as in `mean`)."""
    labels, predictions = _alike(_floats(labels), _floats(predictions))
    errors = tf.div_no_nan(tf.abs(labels - predictions), _floats(normalizer))
    return _weighted_mean(errors, weights, name, "mean_relative_error", metrics_collections, updates_collections)


def mean_cosine_distance(
    labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Result:  # fmt: skip
    """1 less the mean inner product along a dimension of unit vectors (other parameters as in `mean`)."""
    labels, predictions = _alike(_floats(labels), _floats(predictions))
    products = tf.reduce_sum(labels * predictions, [dim], keepdims=True)
    default = "mean_cosine_distance"
    return _weighted_mean(
        products, weights, name, default, metrics_collections, updates_collections, lambda mean: 1 - mean
    )


def percentage_below(
    values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """How often values are below a threshold (other parameters as in `mean`)."""
    below = tf.less(tf.convert_to_tensor(values), threshold)
    return _weighted_mean(below, weights, name, "percentage_below_threshold", metrics_collections, updates_collections)


def mean_tensor(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
    name: str | None = None,
) -> Result:  # fmt: skip
    """The (weighted) mean of each element (parameters as in `mean`)."""
    values = _floats(values)
    weights = tf.ones_like(values) if weights is None else _broadcast(weights, values)
    sums = [("total_tensor", values * weights), ("count_tensor", weights)]
    return _measured(name, "mean", sums, _ratio, metrics_collections, updates_collections)


# ---- counts ----------------------------------------------------------------------------------------------------------


def _cells(labels: Any, predictions: Any, weights: Any, which: str) -> list[tuple[str, Any]]:
    """Numbers of predictions by what they and the labels are: "tp", "fp", "tn", "fn", in the order asked for."""
    labels, predictions = _alike(tf.cast(labels, tf.bool), tf.cast(predictions, tf.bool))
    found = {
        "tp": (labels, predictions),
        "fp": (tf.logical_not(labels), predictions),
        "tn": (tf.logical_not(labels), tf.logical_not(predictions)),
        "fn": (labels, tf.logical_not(predictions)),
    }
    words = {"tp": "true_positives", "fp": "false_positives", "tn": "true_negatives", "fn": "false_negatives"}
    sums = []
    single = " " not in which
    for key in which.split():
        hits = tf.cast(tf.logical_and(*found[key]), tf.float32)
        count = tf.reduce_sum(hits if weights is None else hits * _broadcast(weights, hits))
        sums.append(("count" if single else f"{words[key]}/count", count))
    return sums


def _counted(default: str, which: str, value_of: Callable[..., Any]) -> Callable[..., Any]:
    def metric(
        labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
        updates_collections: Any = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        sums = _cells(labels, predictions, weights, which)
        return _measured(name, default, sums, value_of, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = default
    metric.__doc__ = f"The {default.replace('_', ' ')} of predictions that are true or false (parameters as in `mean`)."
    return metric


true_positives = _counted("true_positives", "tp", lambda n: n)
false_positives = _counted("false_positives", "fp", lambda n: n)
true_negatives = _counted("true_negatives", "tn", lambda n: n)
false_negatives = _counted("false_negatives", "fn", lambda n: n)
precision = _counted("precision", "tp fp", lambda tp, fp: _ratio(tp, tp + fp))
recall = _counted("recall", "tp fn", lambda tp, fn: _ratio(tp, tp + fn))


# ---- counts at thresholds --------------------------------------------------------------------------------------------

_EPSILON = 1e-7
"""TensorFlow's thresholds of areas lie a little outside of [0, 1], and its quotients are kept from 0 by as much."""


_KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
"""For each kind of prediction its name, and whether the label and the prediction are true."""


def _at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, which: str = "tp fn tn fp"
) -> list[tuple[str, Any]]:
    labels, predictions = _alike(tf.cast(labels, tf.bool), _floats(predictions))
    truth = tf.reshape(labels, [1, -1])
    above = tf.reshape(predictions, [1, -1]) > np.asarray(thresholds, np.float32)[:, None]
    if weights is not None:
        weights = tf.reshape(_broadcast(weights, predictions), [1, -1])
    sums = []
    for key in which.split():
        name, positive, over = _KINDS[key]
        hits = tf.cast(
            tf.logical_and(truth if positive else tf.logical_not(truth), above if over else tf.logical_not(above)),
            tf.float32,
        )
        sums.append((name, tf.reduce_sum(hits if weights is None else hits * weights, 1)))
    return sums


def _rate_at_thresholds(default: str, which: str, rate: Callable[..., Any]) -> Callable[..., Any]:
    def metric(
        labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
        metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
    ) -> Result:  # fmt: skip
        sums = _at_thresholds(labels, predictions, thresholds, weights, which)
        scope = default if " " in which else default.removesuffix("_at_thresholds")
        return _measured(name, scope, sums, rate, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = default
    metric.__doc__ = f"The {default.replace('_', ' ')}: one number for each (other parameters as in `mean`)."
    return metric


precision_at_thresholds = _rate_at_thresholds(
    "precision_at_thresholds", "tp fp", lambda tp, fp: tp / (_EPSILON + tp + fp)
)
recall_at_thresholds = _rate_at_thresholds("recall_at_thresholds", "tp fn", lambda tp, fn: tp / (_EPSILON + tp + fn))
true_positives_at_thresholds = _rate_at_thresholds("true_positives_at_thresholds", "tp", lambda n: n)
false_negatives_at_thresholds = _rate_at_thresholds("false_negatives_at_thresholds", "fn", lambda n: n)
true_negatives_at_thresholds = _rate_at_thresholds("true_negatives_at_thresholds", "tn", lambda n: n)
false_positives_at_thresholds = _rate_at_thresholds("false_positives_at_thresholds", "fp", lambda n: n)


def auc(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, metrics_collections: Any = None,
    updates_collections: Any = None, curve: str = "ROC", name: str | None = None,
    summation_method: str = "trapezoidal", thresholds: Sequence[float] | None = None,
) -> Result:  # fmt: skip
    """The area under a curve of predictions in [0, 1], by the trapezoidal rule.

    Parameters
    ----------
    labels, predictions, weights, metrics_collections, updates_collections, name
        As in `mean`; labels are true or false.
    num_thresholds : int
        Of how many points the curve is made.
    curve : "ROC" or "PR"
        True against false positive rate, or precision against recall.
    summation_method : "trapezoidal", "minoring" or "majoring"
        Of each interval the mean, the lower or the higher end.
    thresholds : sequence of float, optional
        The points between 0 and 1.

    Raises
    ------
    ValueError
        If `curve` or `summation_method` is none of these.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"auc: `curve` must be 'ROC' or 'PR', got {curve!r}")
    rules = {"trapezoidal": lambda a, b: (a + b) / 2.0, "minoring": tf.minimum, "majoring": tf.maximum}
    if summation_method not in rules:
        raise ValueError(f"auc: `summation_method` must be one of {', '.join(rules)}, got {summation_method!r}")
    inner = thresholds or [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    points = [-_EPSILON, *sorted(inner), 1.0 + _EPSILON]

    def area(tp: Any, fn: Any, tn: Any, fp: Any) -> Operand:
        recalled = (tp + 1e-6) / (tp + fn + 1e-6)
        if curve == "ROC":
            x, y = fp / (fp + tn + 1e-6), recalled
        else:
            x, y = recalled, (tp + 1e-6) / (tp + fp + 1e-6)
        return tf.reduce_sum((x[:-1] - x[1:]) * rules[summation_method](y[:-1], y[1:]))

    sums = _at_thresholds(labels, predictions, points, weights)
    return _measured(name, "auc", sums, area, metrics_collections, updates_collections)


# ---- classes ---------------------------------------------------------------------------------------------------------


def _confusion(labels: Any, predictions: Any, num_classes: int, weights: Any) -> Tensor:
    """How often each class (row) was predicted as each class (column)."""
    truth, said = (tf.reshape(tf.cast(x, tf.int64), [-1]) for x in (labels, predictions))
    each = tf.ones_like(truth, tf.float64) if weights is None else tf.cast(tf.reshape(weights, [-1]), tf.float64)
    return tf.scatter_nd(tf.stack([truth, said], 1), each, tf.constant([num_classes, num_classes], tf.int64))


def mean_iou(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Result:  # fmt: skip
    """Intersection over union, the mean over the classes that occur. The update gives the confusion matrix."""
    return _of_classes(
        labels, predictions, num_classes, weights, metrics_collections, updates_collections, name, "mean_iou",
        lambda m: tf.reduce_sum(m, 0) + tf.reduce_sum(m, 1) - tf.diag_part(m), "total_confusion_matrix",
    )  # fmt: skip


def _of_classes(
    labels: Any, predictions: Any, num_classes: int, weights: Any, collections: Any, updates: Any, name: str | None,
    default: str, size_of: Callable[[Any], Any], label: str,
) -> Result:  # fmt: skip
    with tf.variable_scope(name, default):
        total = _sum(label, (num_classes, num_classes), np.float64)
        update = tf.assign_add(total, _confusion(labels, predictions, num_classes, weights), name="update_op")
        matrix = tf.cast(total.read_value(), tf.float32)
        size = size_of(matrix)
        there = tf.reduce_sum(tf.cast(tf.not_equal(size, 0.0), tf.float32))
        shares = tf.diag_part(matrix) / tf.where(size > 0.0, size, tf.ones_like(size))
        value = tf.where(there > 0.0, tf.reduce_sum(shares) / tf.maximum(there, 1.0), tf.zeros([]), name="value")
    for names, what in ((collections, value), (updates, update)):
        if names:
            get_default_graph().add_to_collections(names, what)
    return value, update


__all__ = [
    "accuracy", "auc", "false_negatives", "false_negatives_at_thresholds", "false_positives",
    "false_positives_at_thresholds", "mean", "mean_absolute_error", "mean_cosine_distance", "mean_iou",
    "mean_relative_error", "mean_squared_error", "mean_tensor", "percentage_below", "precision",
    "precision_at_thresholds", "recall", "recall_at_thresholds", "root_mean_squared_error", "true_negatives",
    "true_negatives_at_thresholds", "true_positives", "true_positives_at_thresholds",
]  # fmt: skip
