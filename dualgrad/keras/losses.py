"""Losses: ``tf.keras.losses``, as functions (one value per element of the batch) and as classes (one number)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dualgrad.autograph.conversion import current
from dualgrad.keras import functions as tf
from dualgrad.keras.activations import logits_of
from dualgrad.keras.configs import Configured, OfFunction
from dualgrad.keras.host import Bound
from dualgrad.keras.lookup import by_name
from dualgrad.keras.masks import mask_of, masked_weights, set_mask
from dualgrad.keras.matching import matched, predictions, reduced
from dualgrad.keras.settings import epsilon, floatx
from engine.core.dtypes import float16, string
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of
from engine.runtime.errors import ShapeError


def _smoothed(y_true: Any, label_smoothing: float, classes: Any) -> Operand:
    return y_true * (1 - label_smoothing) + label_smoothing / classes if label_smoothing else y_true


def _logits(given: Any, pred: Any) -> Operand | None:
    """The logits behind predictions that an activation of Keras made: saturated probabilities lose nothing then."""
    logits = logits_of(given)
    return logits if logits is not None and shape_of(logits) == shape_of(pred) else None


# ---- functions -------------------------------------------------------------------------------------------------------


@operands(alone=("y_true", "y_pred"))
def mean_squared_error(y_true: Any, y_pred: Any) -> Operand:
    """``mean((y_true - y_pred) ** 2)`` over the last dimension.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.losses.mean_squared_error([[0.0, 1.0]], [[1.0, 3.0]]).numpy()
    array([2.5], dtype=float32)
    """
    true, pred = matched(y_true, y_pred)
    return tf.reduce_mean(tf.squared_difference(true, pred), axis=-1)


@operands(alone=("y_true", "y_pred"))
def mean_absolute_error(y_true: Any, y_pred: Any) -> Operand:
    """``mean(abs(y_true - y_pred))`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    return tf.reduce_mean(tf.abs(true - pred), axis=-1)


@operands(alone=("y_true", "y_pred"))
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Operand:
    """``100 * mean(abs((y_true - y_pred) / y_true))`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    return 100 * tf.reduce_mean(tf.abs((true - pred) / tf.maximum(tf.abs(true), epsilon())), axis=-1)


@operands(alone=("y_true", "y_pred"))
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Operand:
    """``mean((log(1 + y_true) - log(1 + y_pred)) ** 2)`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    first, second = (tf.log1p(tf.maximum(x, epsilon())) for x in (true, pred))
    return tf.reduce_mean(tf.square(first - second), axis=-1)


@operands(alone=("y_true", "y_pred"))
def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Operand:
    """``error ** 2 / 2`` up to `delta`, linear beyond, averaged over the last dimension."""
    true, pred = matched(y_true, y_pred)
    error = true - pred
    size = tf.abs(error)
    return tf.reduce_mean(tf.where(size <= delta, 0.5 * tf.square(error), delta * size - 0.5 * delta * delta), axis=-1)


@operands(alone=("y_true", "y_pred"))
def log_cosh(y_true: Any, y_pred: Any) -> Operand:
    """``mean(log(cosh(y_pred - y_true)))`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    error = pred - true
    return tf.reduce_mean(error + tf.softplus(-2.0 * error) - 0.6931471805599453, axis=-1)


def _signs(y_true: Any) -> Operand:
    """Labels 0 and 1 as -1 and 1; labels that are -1 and 1 already stay."""
    is_binary = tf.reduce_all(tf.logical_or(tf.equal(y_true, 0), tf.equal(y_true, 1)))
    return tf.where(is_binary, 2 * y_true - 1, y_true)


@operands(alone=("y_true", "y_pred"))
def hinge(y_true: Any, y_pred: Any) -> Operand:
    """``mean(max(1 - y_true * y_pred, 0))`` over the last dimension, for labels -1 and 1 (or 0 and 1)."""
    true, pred = matched(y_true, y_pred)
    return tf.reduce_mean(tf.maximum(1 - _signs(true) * pred, 0), axis=-1)


@operands(alone=("y_true", "y_pred"))
def squared_hinge(y_true: Any, y_pred: Any) -> Operand:
    """``mean(max(1 - y_true * y_pred, 0) ** 2)`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    return tf.reduce_mean(tf.square(tf.maximum(1 - _signs(true) * pred, 0)), axis=-1)


@operands(alone=("y_true", "y_pred"))
def categorical_hinge(y_true: Any, y_pred: Any) -> Operand:
    """``max(largest prediction of another class - that of the label's class + 1, 0)``."""
    true, pred = matched(y_true, y_pred)
    right = tf.reduce_sum(true * pred, axis=-1)
    return tf.maximum(tf.reduce_max((1 - true) * pred, axis=-1) - right + 1, 0)


@operands(alone=("y_true", "y_pred"))
def poisson(y_true: Any, y_pred: Any) -> Operand:
    """``mean(y_pred - y_true * log(y_pred))`` over the last dimension."""
    true, pred = matched(y_true, y_pred)
    return tf.reduce_mean(pred - true * tf.log(pred + epsilon()), axis=-1)


@operands(alone=("y_true", "y_pred"))
def kl_divergence(y_true: Any, y_pred: Any) -> Operand:
    """``sum(y_true * log(y_true / y_pred))`` over the last dimension."""
    true, pred = (tf.clip(x, epsilon(), 1.0) for x in matched(y_true, y_pred))
    return tf.reduce_sum(true * tf.log(true / pred), axis=-1)


@operands(alone=("y_true", "y_pred"))
def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Operand:
    """Minus the cosine of the angle between labels and predictions: a loss, least when they are parallel."""
    true, pred = (tf.l2_normalize(x, axis=axis) for x in matched(y_true, y_pred))
    return -tf.reduce_sum(true * pred, axis=axis)


@operands(alone=("y_true", "y_pred"))
def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Operand:
    """Mean over `axis` of the cross entropy of labels in [0, 1] with predicted probabilities (or logits)."""
    true, pred = matched(y_true, y_pred)
    true = _smoothed(true, label_smoothing, 2)
    logits = _logits(y_pred, pred)
    if logits is not None:
        pred, from_logits = logits, True
    if from_logits:
        return tf.reduce_mean(tf.sigmoid_cross_entropy_with_logits(labels=true, logits=pred), axis=axis)
    p = tf.clip(pred, epsilon(), 1 - epsilon())
    return tf.reduce_mean(-(true * tf.log(p) + (1 - true) * tf.log(1 - p)), axis=axis)


@operands(alone=("y_true", "y_pred"))
def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Operand:
    """`binary_crossentropy` with less weight for what is predicted well.

    ::

        q = y p + (1 - y) (1 - p)
        loss = (1 - q) ** gamma * crossentropy(y, p) [* (alpha y + (1 - alpha) (1 - y))]

    References
    ----------
    Lin et al. (2017), *Focal Loss for Dense Object Detection*, arXiv:1708.02002.
    """
    true, pred = matched(y_true, y_pred)
    true = _smoothed(true, label_smoothing, 2)
    pred = tf.sigmoid(pred) if from_logits else pred
    p = tf.clip(pred, epsilon(), 1 - epsilon())
    each = -(true * tf.log(p) + (1 - true) * tf.log(1 - p))
    right = true * pred + (1 - true) * (1 - pred)
    each = tf.pow(1 - right, gamma) * each
    if apply_class_balancing:
        each = each * (true * alpha + (1 - true) * (1 - alpha))
    return tf.reduce_mean(each, axis=axis)


@operands(alone=("y_true", "y_pred"))
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Operand:
    """`categorical_crossentropy`, each part times ``alpha (1 - p) ** gamma``: less for what is predicted well.

    References
    ----------
    Lin et al. (2017), arXiv:1708.02002.
    """
    true, pred = matched(y_true, y_pred)
    true = _smoothed(true, label_smoothing, shape_of(pred)[axis])  # type: ignore[index]
    pred = tf.softmax(pred, axis=axis) if from_logits else pred
    p = tf.clip(pred / tf.reduce_sum(pred, axis=axis, keepdims=True), epsilon(), 1 - epsilon())
    return tf.reduce_sum(tf.pow(1 - p, gamma) * alpha * (-true * tf.log(p)), axis=axis)


@operands(alone=("y_true", "y_pred"))
def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Operand:
    """Cross entropy of one-hot labels with predicted probabilities (or logits) along `axis`."""
    pred = predictions(y_pred)
    true = tf.cast(y_true, dtype_of(pred))
    if shape_of(true) != shape_of(pred):
        raise ShapeError(
            f"Arguments `target` and `output` must have the same shape. Received: target.shape={shape_of(true)}, "
            f"output.shape={shape_of(pred)}"
        )
    true = _smoothed(true, label_smoothing, shape_of(pred)[axis])  # type: ignore[index]
    logits = _logits(y_pred, pred)
    if logits is not None:
        pred, from_logits = logits, True
    if from_logits:
        return tf.softmax_cross_entropy_with_logits(labels=true, logits=pred, axis=axis)
    p = pred / tf.reduce_sum(pred, axis=axis, keepdims=True)
    return -tf.reduce_sum(true * tf.log(tf.clip(p, epsilon(), 1 - epsilon())), axis=axis)


@operands(alone=("y_true", "y_pred"))
def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: int = -1
) -> Operand:
    """Cross entropy of integer labels with predicted probabilities (or logits) along the last dimension.

    Labels equal to `ignore_class` give 0, and are no part of a mean.
    """
    pred = predictions(y_pred)
    labels = tf.cast(y_true, "int64")
    shape, wanted = shape_of(labels), shape_of(pred)
    if axis not in (-1, len(wanted or ()) - 1):
        raise ShapeError(f"sparse_categorical_crossentropy: the classes must be the last dimension, got axis={axis}")
    if shape is not None and wanted is not None and len(shape) == len(wanted) and shape[-1] == 1:
        labels = tf.squeeze(labels, axis=-1)
    if shape_of(labels) != (wanted or ())[:-1]:
        raise ShapeError(
            f"Argument `output` must have rank one more than the labels, and agree with them in all dimensions but the "
            f"last. Received: target.shape={shape}, output.shape={wanted}"
        )
    logits = _logits(y_pred, pred)
    if logits is None:
        logits = pred if from_logits else tf.log(tf.clip(pred, epsilon(), 1 - epsilon()))
    if ignore_class is None:
        return tf.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    valid = tf.not_equal(labels, ignore_class)
    safe = tf.where(valid, labels, tf.zeros_like(labels))
    each = tf.sparse_softmax_cross_entropy_with_logits(labels=safe, logits=logits)
    counted = tf.where(valid, each, tf.zeros_like(each))
    set_mask(counted, valid)
    return counted


# ---- classes ---------------------------------------------------------------------------------------------------------


class Reduction:
    """How a loss makes one number of the values for the elements of a batch."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"


class Loss(Bound, Configured):
    """Base of the losses: ``loss(y_true, y_pred, sample_weight=None)``. A subclass defines `call`.

    Parameters
    ----------
    name : str, optional
    reduction : {"sum_over_batch_size", "auto", "mean", "sum", "mean_with_sample_weight", "none"}
        Mean, sum, sum over that of the weights, or one value per element of the batch.
    dtype : DType, optional
        Predictions are cast to it, and labels to the dtype of predictions.
    """

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        known = ("sum_over_batch_size", "auto", "sum", "none", "mean", "mean_with_sample_weight", None)
        if reduction not in known:
            raise ValueError(f"argument `reduction` must be one of {known}, got {reduction!r}")
        self.name, self.reduction, self.dtype = name or type(self).__name__, reduction, dtype

    def call(self, y_true: Any, y_pred: Any) -> Operand:
        """The loss of each element of the batch."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operand:
        """The loss of a batch.

        Parameters
        ----------
        y_true, y_pred : tensor or array
        sample_weight : tensor or array, optional
            A factor for each element.
        """
        tensor = self.host.tensor
        pred = tensor(y_pred)
        if self.dtype is not None or dtype_of(pred) is float16:
            pred = tf.cast(pred, self.dtype or floatx())
        weights = None if sample_weight is None else tensor(sample_weight)
        true = tensor(y_true)
        if not isinstance(self, _MeanOf) and dtype_of(true) is not string:
            true = tf.cast(true, dtype_of(predictions(pred)))
        values = tensor(current(self.call)(true, pred))
        is_mean = self.reduction in ("sum_over_batch_size", "auto", "mean")
        masks = [mask for mask in map(mask_of, (y_pred, values)) if mask is not None]
        mask = functools.reduce(tf.logical_and, masks) if masks else None
        weights = masked_weights(weights, mask, dtype_of(values), is_mean)
        return reduced(values, weights, self.reduction)


class LossFunctionWrapper(Loss):
    """A loss function, with some of its arguments, as a `Loss`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **arguments: Any,
    ) -> None:
        super().__init__(name or fn.__name__, reduction, dtype)
        self.fn, self.arguments = fn, arguments

    def call(self, y_true: Any, y_pred: Any) -> Operand:
        """The loss of each element of the batch."""
        return current(self.fn)(y_true, y_pred, **self.arguments)


class _MeanOf(OfFunction, LossFunctionWrapper):
    """A loss function as a `Loss`; its own arguments come first."""

    def __init_subclass__(cls, function: Callable[..., Any] | None = None, order: str = "", **defaults: Any) -> None:
        if function is not None and not order:
            order = " ".join([*[*inspect.signature(function).parameters][2:], "reduction", "name", "dtype"])
        super().__init_subclass__(function, order, **defaults)


class MeanSquaredError(_MeanOf, function=mean_squared_error):
    """Mean of `mean_squared_error`.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.losses.MeanSquaredError()([[0.0, 1.0]], [[1.0, 3.0]]).numpy()
    np.float32(2.5)
    """


class MeanAbsoluteError(_MeanOf, function=mean_absolute_error):
    """Mean of `mean_absolute_error`."""


class MeanAbsolutePercentageError(_MeanOf, function=mean_absolute_percentage_error):
    """Mean of `mean_absolute_percentage_error`."""


class MeanSquaredLogarithmicError(_MeanOf, function=mean_squared_logarithmic_error):
    """Mean of `mean_squared_logarithmic_error`."""


class Huber(_MeanOf, function=huber, name="huber_loss"):
    """Mean of `huber`."""


class LogCosh(_MeanOf, function=log_cosh):
    """Mean of `log_cosh`."""


class Hinge(_MeanOf, function=hinge):
    """Mean of `hinge`."""


class SquaredHinge(_MeanOf, function=squared_hinge):
    """Mean of `squared_hinge`."""


class CategoricalHinge(_MeanOf, function=categorical_hinge):
    """Mean of `categorical_hinge`."""


class Poisson(_MeanOf, function=poisson):
    """Mean of `poisson`."""


class KLDivergence(_MeanOf, function=kl_divergence):
    """Mean of `kl_divergence`."""


class CosineSimilarity(_MeanOf, function=cosine_similarity):
    """Mean of `cosine_similarity`."""


class BinaryCrossentropy(_MeanOf, function=binary_crossentropy):
    """Mean of `binary_crossentropy`."""


class CategoricalCrossentropy(_MeanOf, function=categorical_crossentropy):
    """Mean of `categorical_crossentropy`."""


class SparseCategoricalCrossentropy(
    _MeanOf, function=sparse_categorical_crossentropy, order="from_logits ignore_class reduction axis name dtype"
):
    """Mean of `sparse_categorical_crossentropy`."""


class BinaryFocalCrossentropy(_MeanOf, function=binary_focal_crossentropy):
    """Mean of `binary_focal_crossentropy`."""


class CategoricalFocalCrossentropy(_MeanOf, function=categorical_focal_crossentropy):
    """Mean of `categorical_focal_crossentropy`."""


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh

FUNCTIONS = {
    function.__name__: function
    for function in (
        mean_squared_error, mean_absolute_error, mean_absolute_percentage_error, mean_squared_logarithmic_error, huber,
        log_cosh, hinge, squared_hinge, categorical_hinge, poisson, kl_divergence, cosine_similarity,
        binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy, binary_focal_crossentropy,
        categorical_focal_crossentropy,
    )
}  # fmt: skip
FUNCTIONS.update(mse=mse, mae=mae, mape=mape, msle=msle, kld=kld, logcosh=logcosh)
FUNCTIONS.update(MSE=mse, MAE=mae, MAPE=mape, MSLE=msle, KLD=kld)
CLASSES = {
    kind.__name__: kind
    for kind in (
        MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, Huber, LogCosh,
        Hinge, SquaredHinge, CategoricalHinge, Poisson, KLDivergence, CosineSimilarity, BinaryCrossentropy,
        CategoricalCrossentropy, SparseCategoricalCrossentropy, BinaryFocalCrossentropy, CategoricalFocalCrossentropy,
    )
}  # fmt: skip


def get(host: Any, identifier: Any) -> Callable[..., Any] | None:
    """The loss that `identifier` stands for: the name of a function or class, or a callable; None for none."""
    return None if identifier is None else by_name(host, {**FUNCTIONS, **CLASSES}, identifier, "loss")
