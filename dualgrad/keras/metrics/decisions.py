"""Metrics of decisions: how often what is above a threshold is right, and the areas under curves of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.keras import functions as tf
from dualgrad.keras.matching import areas_between, same_rank
from dualgrad.keras.metrics.means import Metric
from dualgrad.keras.settings import epsilon
from engine.core.operands import Operand, Operation
from engine.core.value import shape_of
from engine.core.variable import Variable

_LEAST = -1e10
"""The score of predictions that are not among the largest."""


class _Decisions(Metric):
    """Counts of right and wrong decisions, for some thresholds.

    Attributes
    ----------
    counts : tuple of str
        Which ones are kept: ``true_positives``, ``false_negatives``, ...
    """

    counts: tuple[str, ...] = ()

    def __init__(
        self, thresholds: Any, default: float, name: str | None, dtype: Any, top_k: Any = None, class_id: Any = None
    ) -> None:
        super().__init__(name, dtype)
        levels = [default] if thresholds is None else list(np.atleast_1d(np.asarray(thresholds, float)))
        if thresholds is not None and not all(0 <= t <= 1 for t in levels):
            raise ValueError(f"Threshold values must be in [0, 1]. Received: {thresholds}")
        self.thresholds, self.top_k, self.class_id = levels, top_k, class_id
        self._kept: dict[str, Variable] = {}
        self._make((len(levels),))

    def _make(self, shape: tuple[int, ...]) -> None:
        for count in self.counts:
            self._kept[count] = self.add_weight(count, shape)
            setattr(self, count, self._kept[count])

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operation | None:
        """Take a batch of labels and predictions into account."""
        true, pred = (tf.cast(self.host.tensor(x), self.dtype) for x in (y_true, y_pred))
        true, pred = same_rank(true, pred)
        weights = None if sample_weight is None else tf.cast(self.host.tensor(sample_weight), self.dtype)
        if weights is not None:
            missing = len(shape_of(true) or ()) - len(shape_of(weights) or ())
            for _ in range(missing):
                weights = tf.expand_dims(weights, -1)
        if self.top_k is not None:
            size = (shape_of(pred) or (None,))[-1]
            places = tf.one_hot(tf.top_k(pred, self.top_k)[1], size, dtype=self.dtype)
            among = tf.reduce_sum(places, axis=-2)
            pred = pred * among + _LEAST * (1 - among)
        if self.class_id is not None:
            true, pred = true[..., self.class_id, None], pred[..., self.class_id, None]
        return self._counted(true, pred, weights)

    def _counted(self, true: Any, pred: Any, weights: Any) -> Operation | None:
        """Add to the counts."""
        positive = self._positive(tf.reshape(pred, [1, -1]))
        label = tf.cast(tf.cast(tf.reshape(true, [1, -1]), "bool"), self.dtype)
        factors = tf.ones_like(label)
        if weights is not None:
            factors = tf.reshape(tf.broadcast_to(weights, tf.shape(pred)), [1, -1])
        return self._add(positive, label, factors, axis=1)

    def _positive(self, pred: Any) -> Operand:
        """1 where a prediction is above a threshold, one row for each."""
        limits = tf.reshape(self.host.tensor(np.asarray(self.thresholds), self.dtype), [-1, 1])
        return tf.cast(pred > limits, self.dtype)

    def _add(self, positive: Any, label: Any, factors: Any, axis: int) -> Operation | None:
        counts = {
            "true_positives": lambda: positive * label,
            "false_positives": lambda: positive * (1 - label),
            "true_negatives": lambda: (1 - positive) * (1 - label),
            "false_negatives": lambda: (1 - positive) * label,
        }
        kept = list(self._kept.items())
        return self.host.assign(
            [variable for _, variable in kept],
            lambda: [variable + tf.reduce_sum(counts[name]() * factors, axis=axis) for name, variable in kept],
        )

    def _shown(self, values: Any) -> Operand:
        """One number if there is one threshold."""
        return values[0] if len(self.thresholds) == 1 else values


class Precision(_Decisions):
    """Which part of what is predicted to be positive is.

    Parameters
    ----------
    thresholds : float or list of float, optional
        Above which a prediction is positive, by default 0.5.
    top_k : int, optional
        Only so many of the largest predictions of a row are positive.
    class_id : int, optional
        Only this column counts.

    Examples
    --------
    >>> import tape_api as tf
    >>> precision = tf.keras.metrics.Precision()
    >>> precision([0, 1, 1, 1], [0.9, 0.2, 0.7, 0.6]).numpy()
    np.float32(0.6666667)
    """

    counts = ("true_positives", "false_positives")

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(thresholds, 0.5 if top_k is None else _LEAST, name, dtype, top_k, class_id)

    def result(self) -> Operand:
        """The precision so far, for each threshold if there are several."""
        right, wrong = (tf.identity(self._kept[count]) for count in self.counts)
        return self._shown(tf.divide_no_nan(right, right + wrong))


class Recall(Precision):
    """Which part of what is positive is predicted to be so; parameters as those of `Precision`."""

    counts = ("true_positives", "false_negatives")


class _Count(_Decisions):
    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(thresholds, 0.5, name, dtype)

    def result(self) -> Operand:
        """The (weighted) count so far, for each threshold if there are several."""
        return self._shown(tf.identity(self._kept[self.counts[0]]))


class TruePositives(_Count):
    """How many positive labels are predicted to be so."""

    counts = ("true_positives",)


class FalsePositives(_Count):
    """How many negative labels are predicted to be positive."""

    counts = ("false_positives",)


class TrueNegatives(_Count):
    """How many negative labels are predicted to be so."""

    counts = ("true_negatives",)


class FalseNegatives(_Count):
    """How many positive labels are predicted to be negative."""

    counts = ("false_negatives",)


class AUC(_Decisions):
    """The area under the curve of decisions for many thresholds, approximated by a sum.

    Parameters
    ----------
    num_thresholds : int
        How many thresholds, evenly spread, the curve has.
    curve : {"ROC", "PR"}
        True positives by false ones, or precision by recall.
    summation_method : {"interpolation", "minoring", "majoring"}
    name : str, optional
    dtype : DType, optional
    thresholds : list of float, optional
        In place of the evenly spread ones.
    multi_label : bool
        Whether the columns are labels of their own, whose areas are averaged.
    num_labels : int, optional
        How many columns there are; else the first batch says so.
    label_weights : list of float, optional
        Of the columns.
    from_logits : bool
        Whether predictions are to go through a sigmoid.

    Examples
    --------
    >>> import tape_api as tf
    >>> auc = tf.keras.metrics.AUC(num_thresholds=3)
    >>> auc([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]).numpy()
    np.float32(0.75)
    """

    counts = ("true_positives", "false_positives", "true_negatives", "false_negatives")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Sequence[float] | None = None,
        from_logits: bool = False,
    ) -> None:
        if curve.upper() not in ("ROC", "PR"):
            raise ValueError(f'Invalid AUC curve value: "{curve}". Expected values are ["PR", "ROC"]')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(f'Invalid AUC summation method value: "{summation_method}".')
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(f"Argument `num_thresholds` must be an integer > 1. Received: {num_thresholds}")
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        self.curve, self.summation_method = curve.upper(), summation_method
        self.multi_label, self.num_labels = multi_label, num_labels
        self.label_weights, self.from_logits = label_weights, from_logits
        self._is_even = thresholds is None
        if thresholds is None:
            inner = [i / (num_thresholds - 1) for i in range(1, num_thresholds - 1)]
        else:
            inner = sorted(thresholds)
            self._is_even = bool(np.allclose(np.diff([0.0, *inner, 1.0], 2), 0.0, atol=epsilon()))
        super().__init__(inner or None, 0.5, name, dtype)
        self.num_thresholds = len(inner) + 2
        self.thresholds = [-epsilon(), *inner, 1 + epsilon()]
        if not multi_label or num_labels:
            self._build()

    def _make(self, shape: tuple[int, ...]) -> None:
        """Not yet: the number of labels may not be known."""

    def _build(self) -> None:
        columns = (self.num_labels,) if self.num_labels else ()
        super()._make((self.num_thresholds, *columns))

    def _counted(self, true: Any, pred: Any, weights: Any) -> Operation | None:
        if self.from_logits:
            pred = tf.sigmoid(pred)
        if not self.multi_label:
            if self.label_weights is not None:
                columns = tf.cast(self.host.tensor(self.label_weights), self.dtype)
                weights = columns if weights is None else weights * columns
            return super()._counted(true, pred, weights)
        if not self._kept:
            self.num_labels = (shape_of(pred) or (None,))[-1]
            self._build()
        label = tf.expand_dims(tf.cast(tf.cast(true, "bool"), self.dtype), 0)
        factors = tf.ones_like(label)
        if weights is not None:
            factors = tf.expand_dims(tf.broadcast_to(weights, tf.shape(pred)), 0)
        return self._add(self._positive(tf.expand_dims(pred, 0)), label, factors, axis=1)

    def _positive(self, pred: Any) -> Operand:
        limits = np.asarray(self.thresholds) if not self._is_even else np.arange(self.num_thresholds)
        shaped = limits.reshape(-1, *[1] * (len(shape_of(pred) or ()) - 1))
        if not self._is_even:
            return tf.cast(pred > self.host.tensor(shaped, self.dtype), self.dtype)
        # the bucket between evenly spread thresholds, rounded as Keras rounds it
        bucket = tf.ceil(tf.clip(pred, 0.0, 1.0) * (self.num_thresholds - 1)) - 1
        return tf.cast(tf.relu(bucket) >= self.host.tensor(shaped, self.dtype), self.dtype)

    def result(self) -> Operand:
        """The area so far; of several labels the (weighted) mean."""
        if not self._kept:
            raise ValueError("AUC: no batch has been seen, and `num_labels` is not given")
        right, wrong, off, missed = (tf.identity(self._kept[count]) for count in self.counts)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._averaged(areas_between(right, wrong, missed))
        recall = tf.divide_no_nan(right, right + missed)
        if self.curve == "ROC":
            x, y = tf.divide_no_nan(wrong, wrong + off), recall
        else:
            x, y = recall, tf.divide_no_nan(right, right + wrong)
        heights: dict[str, Callable[[], Any]] = {
            "interpolation": lambda: (y[:-1] + y[1:]) / 2,
            "minoring": lambda: tf.minimum(y[:-1], y[1:]),
            "majoring": lambda: tf.maximum(y[:-1], y[1:]),
        }
        return self._averaged((x[:-1] - x[1:]) * heights[self.summation_method]())

    def _averaged(self, parts: Any) -> Operand:
        if not self.multi_label:
            return tf.reduce_sum(parts)
        areas = tf.reduce_sum(parts, axis=0)
        if self.label_weights is None:
            return tf.reduce_mean(areas)
        weights = tf.cast(self.host.tensor(self.label_weights), self.dtype)
        return tf.divide_no_nan(tf.reduce_sum(areas * weights), tf.reduce_sum(weights))
