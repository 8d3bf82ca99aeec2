"""``tf.contrib.metrics``: the accuracy of one batch."""

from __future__ import annotations

from typing import Any

import graph_api as tf
from graph_api.convert import convert_to_tensor
from graph_api.graphs.tensor import Tensor


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """How often predictions are equal to labels, in this batch alone.

    Parameters
    ----------
    predictions, labels : tensors of one dtype: integers, booleans or strings
    weights : tensor, optional
        How much each counts.
    name : str, optional

    Returns
    -------
    float32 scalar

    Raises
    ------
    ValueError
        If the dtypes differ.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Session() as sess:
    ...     print(sess.run(tf.contrib.metrics.accuracy([1, 2, 3, 0], [1, 2, 0, 0])))
    0.75
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if labels.dtype != predictions.dtype:
        raise ValueError(
            f"accuracy: dtypes of predictions and labels must be equal, got {predictions.dtype} and {labels.dtype}"
        )
    with tf.name_scope(name or "accuracy"):
        hits = tf.cast(tf.equal(predictions, labels), "float32")
        if weights is None:
            return tf.reduce_mean(hits)
        weights = tf.cast(weights, "float32")
        return tf.math.divide(tf.reduce_sum(hits * weights), tf.reduce_sum(weights * tf.ones_like(hits)))


__all__ = ["accuracy"]
