"""Metrics that are best where another one is good enough, and how much of a variance is explained."""

from __future__ import annotations

from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.matching import same_rank
from dualgrad.keras.metrics.decisions import AUC
from dualgrad.keras.metrics.means import Metric
from engine.core.operands import Operand, Operation
from engine.core.value import shape_of
from engine.core.variable import Variable


class _AtLeast(AUC):
    """The largest value of one rate over all thresholds for which another one is at least a given number."""

    _limited, _wanted = "", ""

    def __init__(self, value: float, num_thresholds: int, class_id: int | None, name: Any, dtype: Any) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"{type(self).__name__}: the rate must be in the range [0, 1], got {value}")
        super().__init__(num_thresholds, name=name, dtype=dtype)
        self.value, self.class_id = value, class_id

    def result(self) -> Operand:
        """The largest value so far; 0 if no threshold is good enough."""
        right, wrong, off, missed = (tf.identity(self._kept[count]) for count in self.counts)
        rates = {
            "sensitivity": lambda: tf.divide_no_nan(right, right + missed),
            "specificity": lambda: tf.divide_no_nan(off, off + wrong),
            "precision": lambda: tf.divide_no_nan(right, right + wrong),
        }
        limited, wanted = rates[self._limited](), rates[self._wanted]()
        return tf.reduce_max(tf.where(limited >= self.value, wanted, tf.zeros_like(wanted)))


class SensitivityAtSpecificity(_AtLeast):
    """The best sensitivity where the specificity is at least `specificity`.

    Parameters
    ----------
    specificity : float
        In [0, 1].
    num_thresholds : int
    class_id : int, optional
        The column that is looked at.

    Examples
    --------
    >>> import tape_api as tf
    >>> metric = tf.keras.metrics.SensitivityAtSpecificity(0.5)
    >>> metric([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]).numpy()
    np.float32(0.5)
    """

    _limited, _wanted = "specificity", "sensitivity"

    def __init__(
        self, specificity: float, num_thresholds: int = 200, class_id: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)


class SpecificityAtSensitivity(_AtLeast):
    """The best specificity where the sensitivity is at least `sensitivity`."""

    _limited, _wanted = "sensitivity", "specificity"

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, class_id: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)


class PrecisionAtRecall(_AtLeast):
    """The best precision where the recall is at least `recall`."""

    _limited, _wanted = "sensitivity", "precision"

    def __init__(
        self, recall: float, num_thresholds: int = 200, class_id: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)


class RecallAtPrecision(_AtLeast):
    """The best recall where the precision is at least `precision`."""

    _limited, _wanted = "precision", "sensitivity"

    def __init__(
        self, precision: float, num_thresholds: int = 200, class_id: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)


class R2Score(Metric):
    """The part of the variance of the labels that predictions explain, ``1 - residuals / variance``.

    Parameters
    ----------
    class_aggregation : {"uniform_average", "variance_weighted_average", None}
        How the columns become one number.
    num_regressors : int
        Of the adjusted score: how many independent variables there are; 0 for the plain one.
    """

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name, dtype)
        if class_aggregation not in ("uniform_average", "variance_weighted_average", None):
            raise ValueError(f"R2Score: unknown `class_aggregation` {class_aggregation!r}")
        if num_regressors < 0:
            raise ValueError(f"R2Score: `num_regressors` must be 0 or more, got {num_regressors}")
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.num_samples = self.add_weight("num_samples", ())
        self._kept: list[Variable] = []

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operation | None:
        """Take a batch of rows into account."""
        true, pred = (tf.cast(self.host.tensor(x), self.dtype) for x in (y_true, y_pred))
        true, pred = same_rank(true, pred)
        shape = shape_of(pred) or ()
        if len(shape) != 2 or shape[1] is None:
            raise ValueError(f"R2Score: labels and predictions must be of shape (batch, columns), got {shape}")
        if not self._kept:
            names = ("squared_sum", "sum", "residual", "count")
            self._kept = [self.add_weight(name, (shape[1],)) for name in names]
        weights = tf.ones_like(true)
        if sample_weight is not None:
            given = tf.cast(self.host.tensor(sample_weight), self.dtype)
            weights = weights * (tf.expand_dims(given, 1) if len(shape_of(given) or ()) == 1 else given)
        parts = (true * true * weights, true * weights, tf.square(true - pred) * weights, weights)
        count = tf.cast(tf.size(true), self.dtype)
        return self.host.assign(
            [self.num_samples, *self._kept],
            lambda: [
                self.num_samples + count,
                *[v + tf.reduce_sum(x, axis=0) for v, x in zip(self._kept, parts, strict=True)],
            ],
        )

    def result(self) -> Operand:
        """The score so far."""
        if not self._kept:
            raise ValueError("R2Score: no batch has been seen yet")
        squares, sums, residuals, count = map(tf.identity, self._kept)
        total = squares - sums * (sums / count)
        scores = 1 - residuals / total
        scores = tf.where(tf.is_inf(scores), tf.zeros_like(scores), scores)
        if self.class_aggregation == "uniform_average":
            scores = tf.reduce_mean(scores)
        elif self.class_aggregation is not None:
            scores = tf.reduce_sum(total * scores) / tf.reduce_sum(total)
        if not self.num_regressors:
            return scores
        left = tf.identity(self.num_samples) - (self.num_regressors + 1.0)
        adjusted = 1 - (1 - scores) * (tf.identity(self.num_samples) - 1.0) / left
        return tf.where(left > 0, adjusted, scores)


__all__ = [
    "PrecisionAtRecall", "R2Score", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity",
]  # fmt: skip
