"""Cross entropies, and the losses of ``tf.losses``.

The cross entropies are ops of their own, with exact derivatives in logits and labels. The losses of ``tf.losses`` are
written in ops: a loss per element, then `compute_weighted_loss`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.aval import Aval, Shape, broadcast_shapes, compatible, format_shape, is_known, merge_shapes, normalize_axis
from engine.axes import expand_dims, squeeze
from engine.batching import all_batched, elementwise_rule, shift_axes
from engine.dtypes import FLOATING, INTEGER
from engine.errors import InvalidArgumentError, ShapeError
from engine.kinds import check_dtype, elementwise, general, same_dtype
from engine.op import Op
from engine.operands import operands
from engine.ops.arithmetic import divide_no_nan, maximum, minimum, squared_difference
from engine.ops.axis_args import reduced_shape, single_axis
from engine.ops.checked import checked_op
from engine.ops.compare import cast, cast_like, not_equal
from engine.ops.creation import ones_like, zeros_like
from engine.ops.explog import log
from engine.ops.nn import below_largest, log_softmax_op, relu, sigmoid, softmax_op, softplus
from engine.ops.reduce import reduce_sum, reduce_sum_op
from engine.ops.shape import shape, stop_gradient
from engine.sparsity import ELEMENTWISE, Site, paired, rowwise
from engine.structural import broadcast_like, scale, sum_to_like
from engine.value import as_array, dtype_of, shape_of

# ---- softmax cross entropy -------------------------------------------------------------------------------------------


def _softmax_xent_kernel(labels: Any, logits: Any, *, axis: int) -> Any:
    below = below_largest(logits, axis)
    log_total = np.log(np.add.reduce(np.exp(below), axis=axis, keepdims=True))
    return np.add.reduce(labels * (log_total - below), axis=axis)


def _softmax_xent_abstract(labels: Aval, logits: Aval, *, axis: int) -> Aval:
    name = "softmax_cross_entropy_with_logits"
    check_dtype(name, "logits", logits, FLOATING)
    dtype = same_dtype(name, ("labels", "logits"), (labels, logits))
    shape = broadcast_shapes(name, labels.shape, logits.shape)
    if shape is not None and not shape:
        raise ShapeError(f"{name}: arguments `labels` and `logits` must have at least one dimension, got scalars")
    if shape is not None:
        normalize_axis(name, axis, len(shape))
    return Aval(reduced_shape(shape, (axis,), False), dtype)


def _softmax_xent_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    return elementwise_rule(op, size, flags, inputs, {"axis": shift_axes(params["axis"])})


def _slope_in_logits(labels: Any, logits: Any, axis: int) -> Any:
    # the labels need not sum to 1
    return softmax_op(logits, axis=axis) * reduce_sum_op(labels, axis=(axis,), keepdims=True) - labels


def _pull(slope: Any, ct: Any, operand: Any, axis: int) -> Any:
    return sum_to_like(scale(expand_dims(ct, (axis,)), slope), operand)


def _push(slope: Any, t: Any, out: Any, axis: int) -> Any:
    return broadcast_like(reduce_sum_op(scale(t, slope), axis=(axis,), keepdims=False), out)


def _softmax_xent_sparsity(site: Site, i: int) -> Any:
    shape, (out,) = site.shapes[i], site.results
    rank, axis = len(out) + 1, site.params["axis"] % (len(out) + 1)
    # operands of unequal rank are aligned at the end
    places = [(at, at - rank + len(shape)) for at in range(rank - len(shape), rank) if at != axis]
    return [[paired(shape, out, [(at - (at > axis), b) for at, b in places])]]


softmax_cross_entropy_op = general(
    "softmax_cross_entropy_op",
    _softmax_xent_kernel,
    _softmax_xent_abstract,
    vjp=(
        lambda ct, out, z, x, *, axis: _pull(-log_softmax_op(x, axis=axis), ct, z, axis),
        lambda ct, out, z, x, *, axis: _pull(_slope_in_logits(z, x, axis), ct, x, axis),
    ),
    jvp=(
        lambda t, out, z, x, *, axis: _push(-log_softmax_op(x, axis=axis), t, out, axis),
        lambda t, out, z, x, *, axis: _push(_slope_in_logits(z, x, axis), t, out, axis),
    ),
    batch=_softmax_xent_batch,
    type="SoftmaxCrossEntropyWithLogits",
    args=("labels", "logits"),
    sparsity=_softmax_xent_sparsity,
    doc="Cross entropy of the labels and the softmax of the logits.",
)


@operands("logits", "labels")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1) -> Any:
    """Cross entropy of the labels and the softmax of the logits, without overflow.

    Parameters
    ----------
    labels : floating value
        A probability per class along `axis`.
    logits : floating value
    axis : int
        The axis of the classes.

    Returns
    -------
    value
        One loss per row: the shape without `axis`. Differentiable in both arguments, also if labels do not sum to 1.

    Examples
    --------
    >>> softmax_cross_entropy_with_logits(np.array([[0.0, 1.0]]), np.array([[1000.0, 0.0]]))
    array([1000.])
    """
    at = single_axis("softmax_cross_entropy_with_logits", logits, -1 if axis is None else axis)
    return softmax_cross_entropy_op(labels, logits, axis=at)


# ---- sparse softmax cross entropy ------------------------------------------------------------------------------------


_SPARSE = "sparse_softmax_cross_entropy_with_logits"


def _rows_and_labels(x: Any, labels: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """`x` as a matrix, the label of each of its rows, and the shape of the rows."""
    classes = x.shape[-1]
    if labels.shape != x.shape[:-1]:
        raise IndexError(f"{labels.shape}, {x.shape}")  # the abstract evaluation says it in full
    outside = (labels < 0) | (labels >= classes)
    if outside.any():
        raise InvalidArgumentError(
            f"{_SPARSE}: argument `labels` must be in [0, {classes}), got {np.asarray(labels)[outside].ravel()[0]}"
        )
    return x.reshape(labels.size, classes), labels.ravel(), labels.shape


def _less_one_hot_kernel(p: Any, labels: Any) -> Any:
    matrix, flat, rows = _rows_and_labels(p, labels)
    out = matrix.copy()
    out[np.arange(len(flat)), flat] -= 1
    return out.reshape(*rows, p.shape[-1])


def _rows_abstract(name: str, labels: Aval, logits: Aval) -> Shape:
    """The shape of the rows, after checking that there is one integer label for each."""
    check_dtype(name, "labels", labels, INTEGER)
    check_dtype(name, "logits", logits, FLOATING)
    if logits.shape is None:
        return labels.shape
    if not logits.shape:
        raise ShapeError(f"{name}: argument `logits` must have at least one dimension, got a scalar")
    if not compatible(labels.shape, logits.shape[:-1]):
        raise ShapeError(
            f"{name}: `labels.shape` must equal `logits.shape` except for the last dimension; "
            f"got {format_shape(labels.shape)} and {format_shape(logits.shape)}"
        )
    return merge_shapes(labels.shape, logits.shape[:-1])


def _less_one_hot_abstract(p: Aval, labels: Aval) -> Aval:
    rows = _rows_abstract("less_one_hot", labels, p)
    return Aval(None if rows is None or p.shape is None else (*rows, p.shape[-1]), p.dtype)


less_one_hot = general(
    "less_one_hot",
    _less_one_hot_kernel,
    _less_one_hot_abstract,
    vjp=(lambda ct, out, p, labels: sum_to_like(ct, p), None),
    jvp=(lambda t, out, p, labels: broadcast_like(t, out), None),
    batch=all_batched,
    args=("p", "labels"),
    sparsity=ELEMENTWISE,
    doc="p less 1 at each row's label.",
)


def _sparse_xent_kernel(labels: Any, logits: Any) -> Any:
    below = below_largest(logits, -1)
    matrix, flat, rows = _rows_and_labels(below, labels)
    chosen = matrix[np.arange(len(flat)), flat].reshape(rows)
    return np.subtract(np.log(np.add.reduce(np.exp(below), axis=-1)), chosen)


def _sparse_xent_abstract(labels: Aval, logits: Aval) -> Aval:
    return Aval(_rows_abstract(_SPARSE, labels, logits), logits.dtype)


def _sparse_slope(labels: Any, logits: Any) -> Any:
    return less_one_hot(softmax_op(logits, axis=-1), labels)


sparse_softmax_cross_entropy_op = general(
    "sparse_softmax_cross_entropy_op",
    _sparse_xent_kernel,
    _sparse_xent_abstract,
    vjp=(None, lambda ct, out, labels, x: _pull(_sparse_slope(labels, x), ct, x, -1)),
    jvp=(None, lambda t, out, labels, x: _push(_sparse_slope(labels, x), t, out, -1)),
    batch=all_batched,
    type="SparseSoftmaxCrossEntropyWithLogits",
    args=("labels", "logits"),
    sparsity=rowwise(0, 1, results=(0,)),
    doc="Cross entropy of one label per row and the softmax of the logits.",
)


@operands("logits", alone=("labels",))
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """Cross entropy of one label per row and the softmax of the logits, without overflow.

    Parameters
    ----------
    labels : integer value
        The class of each row: the shape of `logits` without its last axis.
    logits : floating value
        Classes along the last axis.

    Raises
    ------
    ShapeError
        If there is not one label per row.
    InvalidArgumentError
        If a label is not in ``[0, classes)``.

    Examples
    --------
    >>> sparse_softmax_cross_entropy_with_logits(np.array([1]), np.array([[1000.0, 0.0]]))
    array([1000.])
    """
    return sparse_softmax_cross_entropy_op(labels, logits)


# ---- sigmoid cross entropy -------------------------------------------------------------------------------------------


def _sigmoid_xent_kernel(labels: Any, logits: Any) -> Any:
    # in this order nothing cancels: softplus(logits) - logits * labels would lose the digits of a small loss
    tail = np.log1p(np.exp(np.negative(np.absolute(logits))))
    return (np.maximum(logits, 0) - logits * labels) + tail


sigmoid_cross_entropy_op = elementwise(
    "sigmoid_cross_entropy_op",
    _sigmoid_xent_kernel,
    (lambda out, z, x: -x, lambda out, z, x: sigmoid(x) - z),
    type="SigmoidCrossEntropyWithLogits",
    args=("labels", "logits"),
    accepts=FLOATING,
    doc="Cross entropy of the labels and the sigmoid of the logits, elementwise.",
)


def _check_same_shape(name: str, first: str, x: Any, second: str, y: Any) -> None:
    if not compatible(shape_of(x), shape_of(y)):
        raise ShapeError(
            f"{name}: arguments `{first}` and `{second}` must have the same shape, "
            f"got {format_shape(shape_of(x))} and {format_shape(shape_of(y))}"
        )


@operands("logits", "labels")
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """Cross entropy of the labels and the sigmoid of the logits, elementwise and without overflow.

    Examples
    --------
    >>> sigmoid_cross_entropy_with_logits(np.array([0.0, 1.0]), np.array([1000.0, 1000.0]))
    array([1000.,    0.])
    """
    _check_same_shape("sigmoid_cross_entropy_with_logits", "labels", labels, "logits", logits)
    return sigmoid_cross_entropy_op(labels, logits)


@operands("logits", "labels", "pos_weight")
def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any) -> Any:
    """`sigmoid_cross_entropy_with_logits` with the losses of positive labels multiplied by `pos_weight`.

    Examples
    --------
    >>> weighted_cross_entropy_with_logits(np.array([0.0, 1.0]), np.array([1000.0, -1000.0]), 3.0)
    array([1000., 3000.])
    """
    _check_same_shape("weighted_cross_entropy_with_logits", "labels", labels, "logits", logits)
    return (1 - labels) * logits + (1 + (pos_weight - 1) * labels) * softplus(-logits)


# ---- tf.losses -------------------------------------------------------------------------------------------------------

NONE = "none"
SUM = "weighted_sum"
SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
MEAN = "weighted_mean"
SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
REDUCTIONS = (NONE, SUM, SUM_OVER_BATCH_SIZE, MEAN, SUM_BY_NONZERO_WEIGHTS)


@operands("losses", "weights")
def compute_weighted_loss(losses: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS) -> Any:
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
    total = reduce_sum(weighted)
    if reduction == SUM:
        return total
    if reduction == SUM_OVER_BATCH_SIZE:
        return divide_no_nan(total, reduce_sum(ones_like(losses)))
    counted = weights if reduction == MEAN else cast(not_equal(weights, zeros_like(weights)), dtype)
    return divide_no_nan(total, reduce_sum(broadcast_like(counted, losses)))


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


def _labels_like(name: str, labels: Any, predictions: Any) -> Any:
    """The labels in the dtype of the predictions, of whose shape they must be."""
    _check_same_shape(name, "labels", labels, "predictions", predictions)
    return cast_like(labels, predictions)


@operands("predictions", alone=("labels", "weights"))
def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of ``(predictions - labels) ** 2`` (parameters as in `compute_weighted_loss`).

    The loss has the dtype of the predictions, as have those below.

    Examples
    --------
    >>> float(mean_squared_error(np.array([0.0, 1.0]), np.array([2.0, 1.0])))
    2.0
    """
    labels = _labels_like("mean_squared_error", labels, predictions)
    return compute_weighted_loss(squared_difference(predictions, labels), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of ``abs(predictions - labels)`` (parameters as in `compute_weighted_loss`)."""
    labels = _labels_like("absolute_difference", labels, predictions)
    return compute_weighted_loss(abs(predictions - labels), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of the cross entropy of labels and predicted probabilities.

    `epsilon` is added inside the logarithms; other parameters as in `compute_weighted_loss`.
    """
    labels = _labels_like("log_loss", labels, predictions)
    losses = -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)
    return compute_weighted_loss(losses, weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of a loss that is quadratic up to errors of `delta` and linear beyond.

    Other parameters as in `compute_weighted_loss`.
    """
    labels = _labels_like("huber_loss", labels, predictions)
    error = predictions - labels
    most = as_array(delta, dtype_of(error), "huber_loss: argument `delta`")
    # with its sign, whose derivative is not that of a kink: the second derivative at 0 is 1
    quadratic = maximum(minimum(error, most), -most)
    losses = 0.5 * (quadratic * quadratic) + delta * (abs(error) - abs(quadratic))
    return compute_weighted_loss(losses, weights, reduction)


@operands("logits", alone=("labels", "weights"))
def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS) -> Any:
    """Weighted mean of ``max(0, 1 - sign * logits)``, where labels 0 and 1 mean the signs -1 and 1.

    Other parameters as in `compute_weighted_loss`.
    """
    signs = 2 * _labels_like("hinge_loss", labels, logits) - 1
    return compute_weighted_loss(relu(1 - signs * logits), weights, reduction)


@operands("predictions", alone=("labels", "weights"))
def cosine_distance(
    labels: Any, predictions: Any, axis: int, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of 1 less the inner product along `axis` of labels and predictions, both taken as unit vectors.

    Other parameters as in `compute_weighted_loss`.
    """
    labels = _labels_like("cosine_distance", labels, predictions)
    return compute_weighted_loss(1 - reduce_sum(predictions * labels, axis, keepdims=True), weights, reduction)


@operands("logits", alone=("onehot_labels", "weights"))
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0.0,
    reduction: str = SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Weighted mean of `softmax_cross_entropy_with_logits`. Labels count as constants.

    `label_smoothing` moves that share of the labels to the uniform distribution; other parameters as in
    `compute_weighted_loss`, with one weight per row.
    """
    labels = _labels_like("softmax_cross_entropy", onehot_labels, logits)
    if label_smoothing:
        uniform = softmax_op(zeros_like(logits), axis=-1)
        labels = labels * (1 - label_smoothing) + label_smoothing * uniform
    losses = softmax_cross_entropy_with_logits(stop_gradient(labels), logits)
    return compute_weighted_loss(losses, weights, reduction)


def _without_last_one(x: Any, rank: int) -> Any:
    dims = (shape_of(x) if hasattr(x, "dtype") else None) or ()
    return squeeze(x, (-1,)) if len(dims) == rank + 1 and dims[-1] in (1, None) else x


@operands("logits", alone=("labels", "weights"))
def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, reduction: str = SUM_BY_NONZERO_WEIGHTS
) -> Any:
    """Weighted mean of `sparse_softmax_cross_entropy_with_logits`; a last axis of size 1 of the labels is dropped."""
    rows = shape_of(logits)
    if rows is not None:
        labels, weights = [_without_last_one(x, len(rows) - 1) for x in (labels, weights)]
    return compute_weighted_loss(sparse_softmax_cross_entropy_with_logits(labels, logits), weights, reduction)


@operands("logits", alone=("multi_class_labels", "weights"))
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0.0,
    reduction: str = SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Weighted mean of `sigmoid_cross_entropy_with_logits`.

    `label_smoothing` moves labels that far from 0 and 1 toward 1/2; other parameters as in `compute_weighted_loss`.
    """
    labels = _labels_like("sigmoid_cross_entropy", multi_class_labels, logits)
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    return compute_weighted_loss(sigmoid_cross_entropy_with_logits(labels, logits), weights, reduction)
