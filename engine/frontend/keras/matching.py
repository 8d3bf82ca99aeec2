"""What losses and metrics do with labels, predictions and weights: bring them together, and average over a batch."""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of
from engine.frontend.keras import functions as tf
from engine.frontend.keras.settings import floatx


def predictions(y_pred: Any) -> Operand:
    """Predictions as a floating tensor."""
    return y_pred if dtype_of(y_pred).is_floating else tf.cast(y_pred, floatx())


def matched(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Labels and predictions in one dtype and rank: a last dimension of size one may be missing on either side."""
    pred = predictions(y_pred)
    true = tf.cast(y_true, dtype_of(pred))
    a, b = shape_of(true), shape_of(pred)
    if a is None or b is None:
        return true, pred
    if len(a) == len(b) + 1 and a[-1] == 1 and a[:-1] == b:
        true = tf.squeeze(true, axis=-1)
    elif len(b) == len(a) + 1 and b[-1] == 1 and b[:-1] == a:
        pred = tf.squeeze(pred, axis=-1)
    return true, pred


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
    if reduction in ("none", None):
        return values
    return tf.reduce_sum(values) if reduction == "sum" else tf.reduce_mean(values)
