"""Labels, predictions and weights of losses and metrics: bring them together, and average over a batch."""

from __future__ import annotations

from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.settings import floatx
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of


def predictions(y_pred: Any) -> Operand:
    """Predictions as a floating tensor."""
    return y_pred if dtype_of(y_pred).is_floating else tf.cast(y_pred, floatx())


def same_rank(true: Any, pred: Any) -> tuple[Any, Any]:
    """Labels and predictions in one rank: a last dimension of size one may be missing on either side.

    A vector gets it: what is averaged over the last dimension is a value for each element of the batch then.
    """
    a, b = shape_of(true), shape_of(pred)
    if a is None or b is None:
        return true, pred
    if len(a) == len(b) + 1 and a[-1] == 1 and a[:-1] == b:
        return (true, tf.expand_dims(pred, axis=-1)) if len(b) == 1 else (tf.squeeze(true, axis=-1), pred)
    if len(b) == len(a) + 1 and b[-1] == 1 and b[:-1] == a:
        return (tf.expand_dims(true, axis=-1), pred) if len(a) == 1 else (true, tf.squeeze(pred, axis=-1))
    return true, pred


def matched(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Labels and predictions in one dtype and rank."""
    pred = predictions(y_pred)
    return same_rank(tf.cast(y_true, dtype_of(pred)), pred)


def reduced(values: Any, sample_weight: Any, reduction: str | None) -> Operand:
    """The values of the elements of a batch, weighted, as one number (or all of them, for ``"none"``)."""
    if sample_weight is not None:
        weights = tf.cast(sample_weight, dtype_of(values))
        shape = shape_of(weights) or ()
        missing = len(shape_of(values) or ()) - len(shape)
        if missing < 0 and shape[-1] == 1:
            weights = tf.squeeze(weights, axis=-1)
        elif missing > 0 and shape:
            weights = tf.reshape(weights, (*shape, *[1] * missing))
        values = values * weights
        if reduction == "mean_with_sample_weight":
            return tf.divide_no_nan(tf.reduce_sum(values), tf.reduce_sum(weights))
    if reduction in ("none", None):
        return values
    return tf.reduce_sum(values) if reduction == "sum" else tf.reduce_mean(values)


def areas_between(right: Any, wrong: Any, missed: Any) -> Operand:
    """Areas under the curve of precision by recall, where counts grow evenly between thresholds.

    References
    ----------
    Davis and Goadrich (2006), *The Relationship Between Precision-Recall and ROC Curves*.
    """
    positives = right + wrong
    here, there = positives[:-1], positives[1:]
    slope = tf.divide_no_nan(right[:-1] - right[1:], tf.maximum(here - there, 0.0))
    start = right[1:] - slope * there
    both = tf.logical_and(here > 0, there > 0)
    ratio = tf.where(both, tf.divide_no_nan(here, tf.maximum(there, 0.0)), tf.ones_like(there))
    area = slope * (right[:-1] - right[1:] + start * tf.log(ratio))
    return tf.divide_no_nan(area, tf.maximum(right[1:] + missed[1:], 0.0))
