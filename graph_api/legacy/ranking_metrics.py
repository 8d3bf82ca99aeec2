"""Measures of the k best predictions: ``precision_at_k``, ``recall_at_k``, ``average_precision_at_k``."""

from __future__ import annotations

from typing import Any

import numpy as np

import graph_api as tf
from engine.core.value import shape_of
from graph_api.legacy.metric_sums import Measure, metric, ratio
from graph_api.sparse import SparseTensor
from graph_api.tensor import Tensor

_NO_CLASS = -1
"""The number that fills up where there are fewer labels than others have."""


def _labels(name: str, labels: Any, predictions: Any) -> Any:
    """Labels as a tensor with a dimension for several of them."""
    labels = tf.convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, SparseTensor):
        return tf.sparse_tensor_to_dense(tf.sparse_reorder(labels), default_value=_NO_CLASS)
    labels = tf.cast(labels, tf.int64)
    ranks = [None if shape_of(x) is None else len(shape_of(x) or ()) for x in (labels, predictions)]
    if None in ranks:
        raise ValueError(f"{name}: the ranks of labels and predictions must be known; give them with set_shape")
    return tf.expand_dims(labels, -1) if ranks[0] + 1 == ranks[1] else labels  # type: ignore[operator]


def _top(name: str, predictions: Any, k: int) -> Tensor:
    classes = (shape_of(predictions) or (None,))[-1]
    if k < 1 or (classes is not None and k > classes):
        raise ValueError(f"{name}: `k` must be in [1, {classes}], got {k}")
    return tf.cast(tf.nn.top_k(predictions, k)[1], tf.int64)


def _hits(labels: Any, best: Any) -> tuple[Any, Any]:
    """For each prediction whether it is a label; for each label whether it is among the predictions."""
    same = tf.equal(tf.expand_dims(best, -1), tf.expand_dims(labels, -2))
    return tf.reduce_any(same, -1), tf.reduce_any(same, -2)


def _first_of_each(labels: Any) -> Tensor:
    """Whether a label is none that stands before it, and one at all."""
    same = tf.cast(tf.equal(tf.expand_dims(labels, -1), tf.expand_dims(labels, -2)), tf.float32)
    before = tf.reduce_sum(tf.matrix_band_part(same, -1, 0), -1)  # with itself
    return tf.logical_and(tf.equal(before, 1.0), tf.not_equal(labels, _NO_CLASS))


def _summed(flags: Any, weights: Any) -> Tensor:
    """How many are True, as float64; those of each row count as its weight says."""
    rows = tf.reduce_sum(tf.cast(flags, tf.float64), -1)
    return tf.reduce_sum(rows if weights is None else rows * tf.cast(weights, tf.float64))


def _of(class_id: int | None, classes: Any, flags: Any) -> Tensor:
    return flags if class_id is None else tf.logical_and(flags, tf.equal(classes, np.int64(class_id)))


@metric("precision_at_top_k", numbered=True)
def precision_at_top_k(
    labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None
) -> Measure:
    """`precision_at_k` of predictions that are classes already."""
    return _precision(labels, predictions_idx, k, class_id, weights)


def _precision(labels: Any, predictions_idx: Any, k: int | None, class_id: int | None, weights: Any) -> Measure:
    best = tf.cast(tf.convert_to_tensor(predictions_idx), tf.int64)
    labels = _labels("precision_at_top_k", labels, best)
    right = _hits(labels, best)[0]
    at = "" if k is None else f"_at_{k}"  # as TensorFlow names the variables
    sums = [
        (f"true_positive{at}", _summed(_of(class_id, best, right), weights)),
        (f"false_positive{at}", _summed(_of(class_id, best, tf.logical_not(right)), weights)),
    ]
    return sums, lambda tp, fp: tp / (tp + fp)


@metric("precision_at_{k}", numbered=True)
def precision_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None) -> Measure:
    """How many of the k best predictions are labels.

    Parameters
    ----------
    labels : int tensor or SparseTensor, shape (..., labels), or (...) for one label each
    predictions : tensor, shape (..., classes)
        Scores.
    k : int
    class_id : int, optional
        Count this class only.
    weights : tensor, optional
        How much each row counts.

    Returns
    -------
    value, update_op : float64 tensors
        NaN if nothing was predicted.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.precision_at_k([[0], [2]], [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]], 1)
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(update))
    0.5
    """
    return _precision(labels, _top("precision_at_k", tf.convert_to_tensor(predictions), k), k, class_id, weights)


@metric("recall_at_top_k", numbered=True)
def recall_at_top_k(
    labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None
) -> Measure:
    """`recall_at_k` of predictions that are classes already."""
    return _recall(labels, predictions_idx, k, class_id, weights)


def _recall(labels: Any, predictions_idx: Any, k: int | None, class_id: int | None, weights: Any) -> Measure:
    best = tf.cast(tf.convert_to_tensor(predictions_idx), tf.int64)
    labels = _labels("recall_at_top_k", labels, best)
    hits, counted = _hits(labels, best)[1], _of(class_id, labels, _first_of_each(labels))
    at = "" if k is None else f"_at_{k}"
    sums = [
        (f"true_positive{at}", _summed(tf.logical_and(counted, hits), weights)),
        (f"false_negative{at}", _summed(tf.logical_and(counted, tf.logical_not(hits)), weights)),
    ]
    return sums, lambda tp, fn: tp / (tp + fn)


@metric("recall_at_{k}", numbered=True)
def recall_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None) -> Measure:
    """How many of the labels are among the k best predictions (parameters as of `precision_at_k`)."""
    return _recall(labels, _top("recall_at_k", tf.convert_to_tensor(predictions), k), k, class_id, weights)


@metric("average_precision_at_{k}", numbered=True)
def average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None) -> Measure:
    """The mean, over the labels, of the precision down to each of them (parameters as of `precision_at_k`)."""
    best = _top("average_precision_at_k", tf.convert_to_tensor(predictions), k)
    labels = _labels("average_precision_at_k", labels, best)
    right = tf.cast(_hits(labels, best)[0], tf.float64)
    precision = tf.cumsum(right, -1) / np.arange(1.0, k + 1)
    there = tf.reduce_sum(tf.cast(tf.not_equal(labels, _NO_CLASS), tf.float64), -1)
    each = tf.reduce_sum(precision * right, -1) / tf.minimum(there, tf.constant(k, tf.float64))
    if weights is None:
        total, most = tf.reduce_sum(each), tf.cast(tf.size(each), tf.float64)
    else:
        spread = tf.cast(weights, tf.float64) * tf.ones_like(each)
        total, most = tf.reduce_sum(each * spread), tf.reduce_sum(spread)
    sums = [("average_precision/max", most), ("average_precision/total", total)]
    return sums, lambda most, total: ratio(total, most)


sparse_precision_at_k = precision_at_k
sparse_average_precision_at_k = average_precision_at_k
