"""``tf.metrics``: measures of a whole evaluation, added up run by run.

Each gives ``(value, update_op)``: the value from all that was added up so far, and an operation that adds what a run
sees and gives the value after it. What is added up is in local variables, which `local_variables_initializer` sets to
zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graph_api as tf
from dualgrad.keras.matching import areas_between
from engine.core.operands import Operand
from graph_api.graphs.tensor import Tensor
from graph_api.legacy.metric_sums import (
    Measure,
    Result,
    alike,
    broadcast,
    floats,
    local_sum,
    measured,
    metric,
    noted,
    ratio,
    weighted_mean,
)

# ---- means -----------------------------------------------------------------------------------------------------------


@metric("mean")
def mean(values: Any, weights: Any = None) -> Measure:
    """The (weighted) mean of all values.

    As every metric it takes `metrics_collections` and `updates_collections` besides, where the value and the update are
    noted, and a `name`.

    Parameters
    ----------
    values : tensor
    weights : tensor, optional
        Broadcast against `values`.

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
    return weighted_mean(values, weights)


@metric("accuracy")
def accuracy(labels: Any, predictions: Any, weights: Any = None) -> Measure:
    """How often predictions are equal to labels (parameters as in `mean`)."""
    labels, predictions = alike(labels, predictions)
    return weighted_mean(tf.equal(predictions, tf.cast(labels, predictions.dtype)), weights)


def _mean_error(
    default: str, error: Callable[..., Any], after: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    def measure(labels: Any, predictions: Any, weights: Any = None) -> Measure:
        labels, predictions = alike(floats(labels), floats(predictions))
        return weighted_mean(error(labels, predictions), weights, after)

    return _named(measure, default, f"The {default.replace('_', ' ')} of predictions (parameters as in `mean`).")


def _named(measure: Callable[..., Measure], default: str, doc: str, scope: str = "") -> Callable[..., Result]:
    """A metric that is made of a function."""
    measure.__name__ = measure.__qualname__ = default
    measure.__doc__ = doc
    return metric(scope or default)(measure)


mean_absolute_error = _mean_error("mean_absolute_error", lambda y, p: tf.abs(p - y))
mean_squared_error = _mean_error("mean_squared_error", lambda y, p: tf.squared_difference(p, y))
root_mean_squared_error = _mean_error(
    "root_mean_squared_error", lambda y, p: tf.squared_difference(p, y), lambda total: tf.sqrt(total)
)


# ---- counts ----------------------------------------------------------------------------------------------------------


_KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
"""For each kind of prediction its name, and whether the label and the prediction are true."""


def _hits(key: str, labels: Any, predictions: Any) -> Tensor:
    """1 where a prediction is of a kind, else 0."""
    _, positive, over = _KINDS[key]
    label = labels if positive else tf.logical_not(labels)
    said = predictions if over else tf.logical_not(predictions)
    return tf.cast(tf.logical_and(label, said), tf.float32)


def _cells(labels: Any, predictions: Any, weights: Any, which: str) -> list[tuple[str, Any]]:
    """Numbers of predictions of the kinds asked for."""
    labels, predictions = alike(tf.cast(labels, tf.bool), tf.cast(predictions, tf.bool))
    sums = []
    for key in which.split():
        hits = _hits(key, labels, predictions)
        count = tf.reduce_sum(hits if weights is None else hits * broadcast(weights, hits))
        sums.append(("count" if key == which else f"{_KINDS[key][0]}/count", count))
    return sums


def _counted(default: str, which: str, value_of: Callable[..., Any]) -> Callable[..., Result]:
    def measure(labels: Any, predictions: Any, weights: Any = None) -> Measure:
        return _cells(labels, predictions, weights, which), value_of

    doc = f"The {default.replace('_', ' ')} of predictions that are true or false (parameters as in `mean`)."
    return _named(measure, default, doc)


true_positives = _counted("true_positives", "tp", lambda n: n)
false_positives = _counted("false_positives", "fp", lambda n: n)
true_negatives = _counted("true_negatives", "tn", lambda n: n)
false_negatives = _counted("false_negatives", "fn", lambda n: n)
precision = _counted("precision", "tp fp", lambda tp, fp: ratio(tp, tp + fp))
recall = _counted("recall", "tp fn", lambda tp, fn: ratio(tp, tp + fn))


# ---- counts at thresholds --------------------------------------------------------------------------------------------

_EPSILON = 1e-7
"""TensorFlow's thresholds of areas lie a little outside of [0, 1], and its quotients are kept from 0 by as much."""


def _at_thresholds(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any) -> list[tuple[str, Any]]:
    labels, predictions = alike(tf.cast(labels, tf.bool), floats(predictions))
    with tf.control_dependencies(
        [
            tf.assert_greater_equal(predictions, 0.0, message="predictions must be in [0, 1]"),
            tf.assert_less_equal(predictions, 1.0, message="predictions must be in [0, 1]"),
        ]
    ):
        predictions = tf.identity(predictions)
    truth = tf.reshape(labels, [1, -1])
    above = tf.reshape(predictions, [1, -1]) > np.asarray(thresholds, np.float32)[:, None]
    if weights is not None:
        weights = tf.reshape(broadcast(weights, predictions), [1, -1])
    sums = []
    for key, (label, *_) in _KINDS.items():
        hits = _hits(key, truth, above)
        sums.append((label, tf.reduce_sum(hits if weights is None else hits * weights, 1)))
    return sums


def _thresholds(count: int, inner: Sequence[float] | None = None) -> list[float]:
    """The points of a curve: those given, or so many, and one beyond each end."""
    inner = inner or [(i + 1) / (count - 1) for i in range(count - 2)]
    return [-_EPSILON, *sorted(inner), 1.0 + _EPSILON]


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
    summation_method : "trapezoidal", "minoring", "majoring" or "careful_interpolation"
        Of each interval the mean, the lower or the higher end; or, of precision against recall, the area below the
        curve on which the true positives grow evenly with the positives.
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
    careful = summation_method == "careful_interpolation"
    if summation_method not in rules and not careful:
        raise ValueError(
            f"auc: `summation_method` must be one of {', '.join(rules)}, careful_interpolation, not {summation_method}"
        )
    if careful and curve != "PR":
        raise ValueError("auc: `summation_method` careful_interpolation is for the curve 'PR' only")
    points = _thresholds(num_thresholds, thresholds)

    def area(tp: Any, fn: Any, tn: Any, fp: Any) -> Operand:
        if careful:
            parts: Any = areas_between(tp, fp, fn)
            return tf.reduce_sum(parts)
        recalled = (tp + 1e-6) / (tp + fn + 1e-6)
        if curve == "ROC":
            x, y = fp / (fp + tn + 1e-6), recalled
        else:
            x, y = recalled, (tp + 1e-6) / (tp + fp + 1e-6)
        return tf.reduce_sum((x[:-1] - x[1:]) * rules[summation_method](y[:-1], y[1:]))

    sums = _at_thresholds(labels, predictions, points, weights)
    return measured(name, "auc", sums, area, metrics_collections, updates_collections)


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
    with tf.variable_scope(name, "mean_iou"):
        total = local_sum("total_confusion_matrix", (num_classes, num_classes), np.float64)
        update = tf.assign_add(total, _confusion(labels, predictions, num_classes, weights), name="update_op")
        matrix = tf.cast(total.read_value(), tf.float32)
        size = tf.reduce_sum(matrix, 0) + tf.reduce_sum(matrix, 1) - tf.diag_part(matrix)
        there = tf.reduce_sum(tf.cast(tf.not_equal(size, 0.0), tf.float32))
        shares = tf.diag_part(matrix) / tf.where(size > 0.0, size, tf.ones_like(size))
        value = tf.where(there > 0.0, tf.reduce_sum(shares) / tf.maximum(there, 1.0), tf.zeros([]), name="value")
    return noted(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
    updates_collections: Any = None, name: str | None = None,
) -> Result:  # fmt: skip
    """How often each class is recognized, the mean over all classes. The update gives that of each class."""
    labels, predictions = alike(labels, predictions)
    hits = floats(tf.equal(tf.cast(predictions, tf.int64), tf.cast(labels, tf.int64)))
    each = tf.ones_like(hits) if weights is None else broadcast(weights, hits)
    places = tf.reshape(labels, [-1])
    sums = [
        (label, tf.unsorted_segment_sum(tf.reshape(values, [-1]), places, num_classes))
        for label, values in (("total", each), ("count", hits * each))
    ]
    value, update = measured(
        name, "mean_accuracy", sums, lambda total, count: ratio(count, total), None, updates_collections
    )
    return noted(tf.reduce_mean(value), update, metrics_collections, None)


__all__ = [
    "accuracy", "auc", "false_negatives", "false_positives", "mean", "mean_absolute_error", "mean_iou",
    "mean_per_class_accuracy", "mean_squared_error", "precision", "recall", "root_mean_squared_error",
    "true_negatives", "true_positives",
]  # fmt: skip
