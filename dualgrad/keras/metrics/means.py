"""Means and sums over batches, and the base of all metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dualgrad.autograph.conversion import current
from dualgrad.keras import functions as tf
from dualgrad.keras import initializers, losses
from dualgrad.keras.configs import Configured
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


class Accuracy(MeanMetricWrapper):
    """How often predictions equal labels."""

    def __init__(self, name: str = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often predictions above the threshold match binary labels."""

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is that of a one-hot label."""

    def __init__(self, name: str = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is that of an integer label."""

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class MeanSquaredError(MeanMetricWrapper):
    """The mean squared error."""

    def __init__(self, name: str = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean absolute error."""

    def __init__(self, name: str = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype)


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


def _mean_of(function: Callable[..., Any], class_name: str, doc: str) -> type[MeanMetricWrapper]:
    """The mean of a loss, whose further arguments the class takes too."""

    def __init__(self: Any, name: str = function.__name__, dtype: Any = None, **arguments: Any) -> None:  # noqa: N807
        MeanMetricWrapper.__init__(self, function, name, dtype, **arguments)

    return type(class_name, (MeanMetricWrapper,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


MeanAbsolutePercentageError = _mean_of(
    losses.mean_absolute_percentage_error, "MeanAbsolutePercentageError", "The mean absolute error, in percent."
)
MeanSquaredLogarithmicError = _mean_of(
    losses.mean_squared_logarithmic_error, "MeanSquaredLogarithmicError", "The mean squared error of logarithms."
)
Hinge = _mean_of(losses.hinge, "Hinge", "The mean hinge loss.")
SquaredHinge = _mean_of(losses.squared_hinge, "SquaredHinge", "The mean squared hinge loss.")
CategoricalHinge = _mean_of(losses.categorical_hinge, "CategoricalHinge", "The mean categorical hinge loss.")
KLDivergence = _mean_of(losses.kl_divergence, "KLDivergence", "The mean divergence of Kullback and Leibler.")
Poisson = _mean_of(losses.poisson, "Poisson", "The mean Poisson loss.")


class LogCoshError(MeanMetricWrapper):
    """The mean logarithm of the hyperbolic cosine of the error."""

    def __init__(self, name: str = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.log_cosh, name, dtype)


def _cosine(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    return -losses.cosine_similarity(y_true, y_pred, axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between labels and predictions."""

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(_cosine, name, dtype, axis=axis)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often a one-hot label is among the `k` largest predictions."""

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often an integer label is among the `k` largest predictions."""

    def __init__(self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean binary cross entropy."""

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.binary_crossentropy, name, dtype, **options)


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of one-hot labels."""

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.categorical_crossentropy, name, dtype, **options)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of integer labels."""

    def __init__(
        self, name: str = "sparse_categorical_crossentropy", dtype: Any = None, from_logits: bool = False
    ) -> None:
        super().__init__(losses.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits)
