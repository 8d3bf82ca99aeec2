"""Metrics: ``tf.keras.metrics``, numbers accumulated over batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import as_dtype
from engine.core.value import dtype_of, shape_of
from optim.state import step
from tape_api.keras import losses
from tape_api.keras.backend import floatx
from tape_api.keras.lookup import by_name
from tape_api.keras.matching import matched, reduced
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor
from tape_api.variable import Variable

# ---- functions -------------------------------------------------------------------------------------------------------


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where prediction and label are equal, else 0."""
    true, pred = matched(y_true, y_pred)
    return tf.cast(tf.equal(true, pred), floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """1 where a prediction above the threshold has the label 1, or one below it the label 0; else 0."""
    true, pred = matched(y_true, y_pred)
    return tf.cast(tf.equal(true, tf.cast(pred > threshold, dtype_of(pred))), floatx())


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the largest prediction is at the one of the label, else 0."""
    hits = tf.equal(tf.argmax(convert_to_tensor(y_true), axis=-1), tf.argmax(convert_to_tensor(y_pred), axis=-1))
    return tf.cast(hits, floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where the largest prediction is at the index that the label gives, else 0."""
    pred, true = convert_to_tensor(y_pred), convert_to_tensor(y_true)
    if len(shape_of(true) or ()) == len(shape_of(pred) or ()) and shape_of(true)[-1] == 1:  # type: ignore[index]
        true = tf.squeeze(true, axis=-1)
    return tf.cast(tf.equal(tf.cast(true, "int64"), tf.argmax(pred, axis=-1)), floatx())


# ---- classes ---------------------------------------------------------------------------------------------------------


class Metric:
    """Base of the metrics: call `update_state` for each batch, then `result`. A subclass defines both.

    Parameters
    ----------
    name : str, optional
    dtype : DType, optional
        Of the state, by default float32.
    """

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        self.name = name or type(self).__name__.lower()
        self.dtype = as_dtype(dtype or floatx()).name
        self._state: list[Variable] = []

    def add_weight(
        self, name: str | None = None, shape: Any = (), initializer: Any = "zeros", dtype: Any = None
    ) -> Variable:
        """A new variable of the state, zero at first (and after `reset_state`)."""
        if not isinstance(name, (str, type(None))):
            name, shape = None, name
        zeros = np.zeros(tuple(shape), as_dtype(dtype or self.dtype).numpy)
        variable = Variable(zeros, trainable=False, name=f"{self.name}/{name or 'variable'}")
        self._state.append(variable)
        return variable

    add_variable = add_weight

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Take one more batch into account."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state")

    def result(self) -> Any:
        """The value so far."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def reset_state(self) -> None:
        """Start again."""
        step(self._state, lambda: [np.zeros(v.numpy().shape, v.dtype.numpy) for v in self._state])

    def reset_states(self) -> None:
        """`reset_state` under its older name."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take one more batch into account and return the value so far."""
        self.update_state(*args, **kwargs)
        return self.result()

    @property
    def variables(self) -> list[Variable]:
        """The state."""
        return list(self._state)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


class Sum(Metric):
    """The (weighted) sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Add the values to the sum."""
        weighted, _ = _weighted(values, sample_weight, self.dtype)
        self.total.assign_add(weighted)

    def result(self) -> Any:
        """The sum so far."""
        return tf.identity(self.total)


class Mean(Metric):
    """The (weighted) mean of all values.

    Examples
    --------
    >>> mean = Mean()
    >>> mean.update_state([1.0, 3.0])
    >>> mean(8.0).numpy()
    np.float32(4.0)
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take the values into account."""
        weighted, count = _weighted(values, sample_weight, self.dtype)
        step([self.total, self.count], lambda: [self.total + weighted, self.count + count])

    def result(self) -> Any:
        """The mean so far, 0 before the first value."""
        return tf.math.divide_no_nan(self.total, self.count)


def _weighted(values: Any, sample_weight: Any, dtype: str) -> tuple[Any, Any]:
    """Sum of the weighted values, and sum of the weights."""
    x = tf.cast(convert_to_tensor(values), dtype)
    if sample_weight is None:
        return tf.reduce_sum(x), tf.cast(tf.size(x), dtype)
    weighted = reduced(x, sample_weight, "none")
    return tf.reduce_sum(weighted), tf.reduce_sum(reduced(tf.ones_like(x), sample_weight, "none"))


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **arguments: Any) -> None:
        super().__init__(name or fn.__name__, dtype)
        self.fn, self.arguments = fn, arguments

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch of labels and predictions into account."""
        super().update_state(self.fn(y_true, y_pred, **self.arguments), sample_weight)


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

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Take a batch of labels and predictions into account."""
        true, pred = matched(y_true, y_pred)
        super().update_state(tf.math.squared_difference(true, pred), sample_weight)

    def result(self) -> Any:
        """The root of the mean so far."""
        return tf.sqrt(super().result())


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


KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Sum, Mean, Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy, MeanSquaredError,
        MeanAbsoluteError, RootMeanSquaredError, BinaryCrossentropy, CategoricalCrossentropy,
        SparseCategoricalCrossentropy,
    )
}  # fmt: skip
KNOWN.update(
    mse=MeanSquaredError,
    MSE=MeanSquaredError,
    mean_squared_error=MeanSquaredError,
    mae=MeanAbsoluteError,
    MAE=MeanAbsoluteError,
    mean_absolute_error=MeanAbsoluteError,
    binary_accuracy=BinaryAccuracy,
    categorical_accuracy=CategoricalAccuracy,
    sparse_categorical_accuracy=SparseCategoricalAccuracy,
)


def get(identifier: Any) -> Any:
    """The metric that `identifier` stands for: a name, a class, an instance, or a function of (labels, predictions)."""
    found = by_name(KNOWN, identifier, "metric")
    return found if isinstance(found, Metric) else MeanMetricWrapper(found)
