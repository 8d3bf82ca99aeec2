"""The losses of ``tf.losses``, written in ops: a loss per element, then `compute_weighted_loss`."""

from __future__ import annotations

from typing import Any

from engine.core.aval import format_shape, is_known
from engine.core.dtypes import BOOL, REAL, float16, float32
from engine.core.expand_axes import squeeze
from engine.core.kinds import check_dtype
from engine.core.operands import Operand, operands
from engine.core.structural import broadcast_like
from engine.core.value import as_array, aval_of, dtype_of, shape_of
from engine.ops.arithmetic import divide_no_nan, maximum, minimum, squared_difference
from engine.ops.checked import checked_op
from engine.ops.compare import cast, cast_like, not_equal
from engine.ops.creation import ones_like, zeros_like
from engine.ops.cross_entropy import (
    check_same_shape,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)  # fmt: skip
from engine.ops.explog import log
from engine.ops.nn import relu, softmax_op
from engine.ops.reduce import reduce_sum
from engine.ops.shape import shape, stop_gradient
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError

# ---- tf.losses -------------------------------------------------------------------------------------------------------

NONE = "none"
SUM = "weighted_sum"
SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
MEAN = "weighted_mean"
SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
REDUCTIONS = (NONE, SUM, SUM_OVER_BATCH_SIZE, MEAN, SUM_BY_NONZERO_WEIGHTS)


class Reduction:
    """How a loss per element becomes one number."""

    NONE = NONE
    SUM = SUM
    SUM_OVER_BATCH_SIZE = SUM_OVER_BATCH_SIZE
    MEAN = MEAN
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS


@operands("losses", "weights")
def compute_weighted_loss(losses: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS) -> Operand:
    """Losses times weights, reduced to one number.

    Parameters
    ----------
    losses : floating value
    weights : float or value
        A scalar, or of the rank of `losses` with each dimension 1 or that of `losses`.
    reduction : str
        "none": no reduction. "weighted_sum". "weighted_sum_over_batch_size": the sum over the number of losses.
        "weighted_mean": the sum over the sum of weights. "weighted_sum_by_nonzero_weights": the sum over the number of
        losses with a weight that is not 0. A quotient by 0 is 0.

    Raises
    ------
    InvalidArgumentError
        If `reduction` is none of these.
    ShapeError
        If `weights` do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_weighted_loss(np.array([1.0, 2.0, 6.0]), np.array([1.0, 0.0, 1.0])))
    3.5
    """
    if reduction not in REDUCTIONS:
        raise InvalidArgumentError(f"compute_weighted_loss: `reduction` must be one of {REDUCTIONS}, got {reduction!r}")
    dtype = dtype_of(losses)
    weights = cast(weights, dtype) if hasattr(weights, "dtype") else as_array(weights, dtype, "weights")
    _check_weights(shape_of(weights), shape_of(losses))
    if shape_of(weights) != () and not (is_known(shape_of(weights)) and is_known(shape_of(losses))):
        # examined again when the shapes are known: a product would broadcast more than weights may
        weights = checked_op(weights, shape(weights), shape(losses), check=_check_weights)
    weighted = losses * weights
    if reduction == NONE:
        return weighted
    if reduction == SUM:
        return reduce_sum(weighted)
    # a mean of half floats may be one of more than they can count
    wide = float32 if dtype is float16 else dtype
    total = reduce_sum(cast(weighted, wide))
    if reduction == SUM_OVER_BATCH_SIZE:
        return cast(divide_no_nan(total, reduce_sum(ones_like(cast(losses, wide)))), dtype)
    counted = weights if reduction == MEAN else not_equal(weights, zeros_like(weights))
    return cast(divide_no_nan(total, reduce_sum(broadcast_like(cast(counted, wide), losses))), dtype)


def _check_weights(weights: Any, losses: Any) -> None:
    if weights is None or losses is None or not len(weights):
        return
    fits = len(weights) == len(losses) and all(
        w is None or w == 1 or x is None or w == x for w, x in zip(weights, losses, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"compute_weighted_loss: argument `weights` of shape {format_shape(tuple(weights))} can not be broadcast "
            f"to losses of shape {format_shape(tuple(losses))}: each dimension must be 1 or that of the losses"
        )


def _comparable(name: str, labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Labels and predictions, of one shape, both in the dtype of the predictions; integers become float32."""
    check_same_shape(name, "labels", labels, "predictions", predictions)
    check_dtype(name, "predictions", aval_of(predictions), REAL | BOOL)
    if not dtype_of(predictions).is_differentiable:
        predictions = cast(predictions, float32)
    return cast_like(labels, predictions), predictions


@operands("predictions", alone=("labels", "weights"))
def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of ``(predictions - labels) ** 2`` (parameters as in `compute_weighted_loss`).

    The loss has the dtype of the predictions, as have those below.

    Examples
    --------
    >>> import numpy as np
    >>> float(mean_squared_error(np.array([0.0, 1.0]), np.array([2.0, 1.0])))
    2.0
    """
    labels, predictions = _comparable("mean_squared_error", labels, predictions)
    return compute_weighted_loss(squared_difference(predictions, labels), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def mean_pairwise_squared_error(labels: Any, predictions: Any, weights: Any = 1.0) -> Operand:
    """Sum over examples of the mean square by which differences of two predictions miss those of the labels.

    With ``d = predictions - labels`` of one example, of ``n`` elements whose weights are not 0, this is the mean of
    ``(d[i] - d[j]) ** 2`` over the ``n (n - 1) / 2`` pairs as TensorFlow counts it:
    ``2 sum(d ** 2) / (n - 1) - 2 sum(d) ** 2 / (n (n - 1))``. A quotient by 0 is 0.

    Parameters
    ----------
    labels, predictions : value, shape (examples, ...)
    weights : float or value
        A scalar, or of shape (examples, 1, ...), of the rank of the predictions.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> float(mean_pairwise_squared_error(np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]])))
    4.0
    """
    labels, predictions = _comparable("mean_pairwise_squared_error", labels, predictions)
    dtype, wanted = dtype_of(predictions), shape_of(predictions)
    weights = cast(weights, dtype) if hasattr(weights, "dtype") else as_array(weights, dtype, "weights")
    _check_weights(shape_of(weights), wanted)
    if wanted is None:
        raise NotKnownYet(
            "mean_pairwise_squared_error: the rank of `predictions` must be known; give it one with set_shape"
        )
    axes = tuple(range(1, len(wanted)))
    differences = predictions - labels
    present = broadcast_like(cast(not_equal(weights, zeros_like(weights)), dtype), differences)
    count = reduce_sum(present, axes, keepdims=True)
    squares = reduce_sum(differences * differences, axes, keepdims=True)
    whole = reduce_sum(differences, axes, keepdims=True)
    first = divide_no_nan(squares, maximum(count - 1, zeros_like(count)))
    second = divide_no_nan(whole * whole, maximum(count * (count - 1), zeros_like(count)))
    return reduce_sum((2 * first - 2 * second) * weights)


@operands("predictions", alone=("labels", "weights"))
def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of ``abs(predictions - labels)`` (parameters as in `compute_weighted_loss`)."""
    labels, predictions = _comparable("absolute_difference", labels, predictions)
    return compute_weighted_loss(abs(predictions - labels), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of the cross entropy of labels and predicted probabilities.

    `epsilon` is added inside the logarithms; other parameters as in `compute_weighted_loss`.
    """
    labels, predictions = _comparable("log_loss", labels, predictions)
    losses = -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)
    return compute_weighted_loss(losses, weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of a loss that is quadratic up to errors of `delta` and linear beyond.

    Other parameters as in `compute_weighted_loss`.
    """
    labels, predictions = _comparable("huber_loss", labels, predictions)
    error = predictions - labels
    most = as_array(delta, dtype_of(error), "huber_loss: argument `delta`")
    # with its sign, whose derivative is not that of a kink: the second derivative at 0 is 1
    quadratic = maximum(minimum(error, most), -most)
    losses = 0.5 * (quadratic * quadratic) + delta * (abs(error) - abs(quadratic))
    return compute_weighted_loss(losses, weights, reduction)


@operands("logits", alone=("labels", "weights"))
def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS) -> Operand:
    """Weighted mean of ``max(0, 1 - sign * logits)``, where labels 0 and 1 mean the signs -1 and 1.

    Other parameters as in `compute_weighted_loss`.
    """
    labels, logits = _comparable("hinge_loss", labels, logits)
    return compute_weighted_loss(relu(1 - (2 * labels - 1) * logits), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def cosine_distance(
    labels: Any, predictions: Any, axis: int, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of 1 less the inner product along `axis` of labels and predictions, both taken as unit vectors.

    Other parameters as in `compute_weighted_loss`.
    """
    labels, predictions = _comparable("cosine_distance", labels, predictions)
    return compute_weighted_loss(1 - reduce_sum(predictions * labels, axis, keepdims=True), weights, reduction)


@operands("logits", alone=("onehot_labels", "weights"))
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0.0,
    reduction: str = SUM_BY_NONZERO_WEIGHTS,
) -> Operand:
    """Weighted mean of `softmax_cross_entropy_with_logits`. Labels count as constants.

    `label_smoothing` moves that share of the labels to the uniform distribution; other parameters as in
    `compute_weighted_loss`, with one weight per row.
    """
    labels, logits = _comparable("softmax_cross_entropy", onehot_labels, logits)
    if label_smoothing:
        uniform = softmax_op(zeros_like(logits), axis=-1)
        labels = labels * (1 - label_smoothing) + label_smoothing * uniform
    losses = softmax_cross_entropy_with_logits(stop_gradient(labels), logits)
    return compute_weighted_loss(losses, weights, reduction)


def _without_last_one(x: Any, rank: int) -> Operand | float:
    dims = (shape_of(x) if hasattr(x, "dtype") else None) or ()
    return squeeze(x, (-1,)) if len(dims) == rank + 1 and dims[-1] in (1, None) else x


@operands("logits", alone=("labels", "weights"))
def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Operand:
    """Weighted mean of `sparse_softmax_cross_entropy_with_logits`; a last axis of size 1 of the labels is dropped."""
    rows = shape_of(logits)
    if rows is None or shape_of(labels) is None:
        raise NotKnownYet("sparse_softmax_cross_entropy: the ranks of labels and logits must be known; use set_shape")
    labels, weights = [_without_last_one(x, len(rows) - 1) for x in (labels, weights)]
    return compute_weighted_loss(sparse_softmax_cross_entropy_with_logits(labels, logits), weights, reduction)


@operands("logits", alone=("multi_class_labels", "weights"))
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0.0,
    reduction: str = SUM_BY_NONZERO_WEIGHTS,
) -> Operand:
    """Weighted mean of `sigmoid_cross_entropy_with_logits`.

    `label_smoothing` moves labels that far from 0 and 1 toward 1/2; other parameters as in `compute_weighted_loss`.
    """
    labels, logits = _comparable("sigmoid_cross_entropy", multi_class_labels, logits)
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    return compute_weighted_loss(sigmoid_cross_entropy_with_logits(labels, logits), weights, reduction)
