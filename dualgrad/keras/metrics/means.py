"""Means and sums over batches, and the base of all metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dualgrad.autograph.conversion import current
from dualgrad.keras import functions as tf
from dualgrad.keras import initializers, losses
from dualgrad.keras.configs import Configured, OfFunction
from dualgrad.keras.host import Bound
from dualgrad.keras.masks import mask_of, masked_weights
from dualgrad.keras.matching import matched, reduced
from dualgrad.keras.settings import floatx, layer_name, unique_name
from engine.core.dtypes import as_dtype
from engine.core.operands import Operand, Operation, operands
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable

# ---- functions -------------------------------------------------------------------------------------------------------


@operands(alone=("y_true", "y_pred"))
def accuracy(y_true: Any, y_pred: Any) -> Operand:
    """1 where prediction and label are equal, else 0."""
    true, pred = matched(y_true, y_pred)
    return tf.cast(tf.equal(true, pred), floatx())


@operands(alone=("y_true", "y_pred"))
def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Operand:
    """1 where a prediction above the threshold has the label 1, or one below it the label 0; else 0."""
    true, pred = matched(y_true, y_pred)
    return tf.cast(tf.equal(true, tf.cast(pred > threshold, dtype_of(pred))), floatx())


@operands(alone=("y_true", "y_pred"))
def categorical_accuracy(y_true: Any, y_pred: Any) -> Operand:
    """1 where the largest prediction is at the one of the label, else 0."""
    hits = tf.equal(tf.argmax(y_true, axis=-1), tf.argmax(y_pred, axis=-1))
    return tf.cast(hits, floatx())


@operands(alone=("y_true", "y_pred"))
def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Operand:
    """1 where the largest prediction is at the index that the label gives, else 0."""
    pred, true = y_pred, y_true
    if len(shape_of(true) or ()) == len(shape_of(pred) or ()) and shape_of(true)[-1] == 1:  # type: ignore[index]
        true = tf.squeeze(true, axis=-1)
    return tf.cast(tf.equal(tf.cast(true, "int64"), tf.argmax(pred, axis=-1)), floatx())


@operands(alone=("y_true", "y_pred"))
def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Operand:
    """1 where the one of the label is among the `k` largest predictions, else 0."""
    return _in_top_k(tf.argmax(y_true, axis=-1), y_pred, k)


@operands(alone=("y_true", "y_pred"))
def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Operand:
    """1 where the index that the label gives is among the `k` largest predictions, else 0."""
    return _in_top_k(y_true, y_pred, k)


def _in_top_k(labels: Any, y_pred: Any, k: int) -> Operand:
    rows = tf.reshape(y_pred, [-1, shape_of(y_pred)[-1]])  # type: ignore[index]
    hits = tf.in_top_k(tf.cast(tf.reshape(labels, [-1]), "int32"), rows, k)
    return tf.reshape(tf.cast(hits, floatx()), tf.shape(labels))


# ---- classes ---------------------------------------------------------------------------------------------------------


class Metric(Bound, Configured):
    """Base of the metrics: call `update_state` for each batch, then `result`. A subclass defines both.

    Parameters
    ----------
    name : str, optional
    dtype : DType, optional
        Of the state, by default float32.
    """

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        self.name = name or unique_name(self.host, layer_name(type(self).__name__))
        self.dtype = as_dtype(dtype or floatx()).name
        self._state: list[Variable] = []
        self._starts: list[Callable[[], Any]] = []

    def add_weight(
        self, name: str | None = None, shape: Any = (), initializer: Any = "zeros", dtype: Any = None
    ) -> Variable:
        """A new variable of the state, which is as the initializer says at first, and after `reset_state`."""
        if not isinstance(name, (str, type(None))):
            name, shape = None, name
        make = initializers.get(self.host, initializer)
        wanted = as_dtype(dtype or self.dtype)
        variable: Variable = self.host.variable(self, name or "variable", tuple(shape), make, wanted, trainable=False)
        self._state.append(variable)
        self._starts.append(partial(make, tuple(shape), dtype=wanted))
        return variable

    add_variable = add_weight

    def update_state(self, *args: Any, **kwargs: Any) -> Operation | None:
        """Take one more batch into account."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state")

    def result(self) -> Operand:
        """The value so far."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def reset_state(self) -> Operation | None:
        """Start again; in a graph, the operation that does."""
        return self.host.assign(self._state, lambda: [make() for make in self._starts])

    def reset_states(self) -> Operation | None:
        """`reset_state` under its older name."""
        return self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Operand:
        """Take one more batch into account and return the value so far."""
        return self.host.after(self.update_state(*args, **kwargs), self.result)

    @property
    def variables(self) -> list[Variable]:
        """The state."""
        return list(self._state)

    def _weighted(self, values: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Sum of the weighted values, and sum of the weights."""
        x = tf.cast(self.host.tensor(values), self.dtype)
        if sample_weight is None:
            return tf.reduce_sum(x), tf.cast(tf.size(x), self.dtype)
        weights = self.host.tensor(sample_weight)
        weighted = reduced(x, weights, "none")
        return tf.reduce_sum(weighted), tf.reduce_sum(reduced(tf.ones_like(x), weights, "none"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


class Sum(Metric):
    """The (weighted) sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Operation | None:
        """Add the values to the sum."""
        weighted, _ = self._weighted(values, sample_weight)
        return self.host.assign([self.total], lambda: [self.total + weighted])

    def result(self) -> Operand:
        """The sum so far."""
        return tf.identity(self.total)


class Mean(Metric):
    """The (weighted) mean of all values.

    Examples
    --------
    >>> import tape_api as tf
    >>> mean = tf.keras.metrics.Mean()
    >>> mean.update_state([1.0, 3.0])
    >>> mean(8.0).numpy()
    np.float32(4.0)
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Operation | None:
        """Take the values into account."""
        weighted, count = self._weighted(values, sample_weight)
        return self.host.assign([self.total, self.count], lambda: [self.total + weighted, self.count + count])

    def result(self) -> Operand:
        """The mean so far, 0 before the first value."""
        return tf.divide_no_nan(self.total, self.count)


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **arguments: Any) -> None:
        super().__init__(name or fn.__name__, dtype)
        self.fn, self.arguments = fn, arguments

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operation | None:  # type: ignore[override]
        """Take a batch of labels and predictions into account."""
        true, pred = self.host.tensor(y_true), self.host.tensor(y_pred)
        values = current(self.fn)(true, pred, **self.arguments)
        return super().update_state(values, masked_weights(sample_weight, mask_of(y_pred), self.dtype, is_mean=False))


class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operation | None:  # type: ignore[override]
        """Take a batch of labels and predictions into account."""
        true, pred = matched(self.host.tensor(y_true), self.host.tensor(y_pred))
        return super().update_state(tf.squared_difference(true, pred), sample_weight)

    def result(self) -> Operand:
        """The root of the mean so far."""
        return tf.sqrt(super().result())


class _MeanOf(OfFunction, MeanMetricWrapper):
    """The mean of a function; its own arguments come last."""

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, order: str = "name dtype", **defaults: Any
    ) -> None:
        if function is not None:
            defaults = {"name": function.__name__, **defaults}
        super().__init_subclass__(function, order, **defaults)


def _cosine(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    return -losses.cosine_similarity(y_true, y_pred, axis=axis)


_LOGITS = "name dtype from_logits"


class Accuracy(_MeanOf, function=accuracy):
    """How often predictions equal labels."""


class BinaryAccuracy(_MeanOf, function=binary_accuracy, order="name dtype threshold"):
    """How often predictions above the threshold match binary labels."""


class CategoricalAccuracy(_MeanOf, function=categorical_accuracy):
    """How often the largest prediction is that of a one-hot label."""


class SparseCategoricalAccuracy(_MeanOf, function=sparse_categorical_accuracy):
    """How often the largest prediction is that of an integer label."""


class TopKCategoricalAccuracy(_MeanOf, function=top_k_categorical_accuracy, order="k name dtype"):
    """How often a one-hot label is among the `k` largest predictions."""


class SparseTopKCategoricalAccuracy(_MeanOf, function=sparse_top_k_categorical_accuracy, order="k name dtype"):
    """How often an integer label is among the `k` largest predictions."""


class MeanSquaredError(_MeanOf, function=losses.mean_squared_error):
    """The mean squared error."""


class MeanAbsoluteError(_MeanOf, function=losses.mean_absolute_error):
    """The mean absolute error."""


class MeanAbsolutePercentageError(_MeanOf, function=losses.mean_absolute_percentage_error):
    """The mean absolute error, in percent."""


class MeanSquaredLogarithmicError(_MeanOf, function=losses.mean_squared_logarithmic_error):
    """The mean squared error of logarithms."""


class LogCoshError(_MeanOf, function=losses.log_cosh, name="logcosh"):
    """The mean logarithm of the hyperbolic cosine of the error."""


class Hinge(_MeanOf, function=losses.hinge):
    """The mean hinge loss."""


class SquaredHinge(_MeanOf, function=losses.squared_hinge):
    """The mean squared hinge loss."""


class CategoricalHinge(_MeanOf, function=losses.categorical_hinge):
    """The mean categorical hinge loss."""


class KLDivergence(_MeanOf, function=losses.kl_divergence):
    """The mean divergence of Kullback and Leibler."""


class Poisson(_MeanOf, function=losses.poisson):
    """The mean Poisson loss."""


class CosineSimilarity(_MeanOf, function=_cosine, order="name dtype axis", name="cosine_similarity"):
    """The mean cosine of the angle between labels and predictions."""


class BinaryCrossentropy(
    _MeanOf, function=losses.binary_crossentropy, order=f"{_LOGITS} label_smoothing", label_smoothing=0
):
    """The mean binary cross entropy."""


class CategoricalCrossentropy(
    _MeanOf, function=losses.categorical_crossentropy, order=f"{_LOGITS} label_smoothing", label_smoothing=0
):
    """The mean cross entropy of one-hot labels."""


class SparseCategoricalCrossentropy(_MeanOf, function=losses.sparse_categorical_crossentropy, order=_LOGITS):
    """The mean cross entropy of integer labels."""
