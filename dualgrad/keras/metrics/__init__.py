"""Metrics: ``tf.keras.metrics``, numbers accumulated over batches."""

from __future__ import annotations

from typing import Any

from dualgrad.extras.module import snake_case
from dualgrad.keras import losses
from dualgrad.keras.host import public_names
from dualgrad.keras.lookup import by_name
from dualgrad.keras.metrics import decisions, means
from dualgrad.keras.metrics.decisions import *  # noqa: F403
from dualgrad.keras.metrics.means import *  # noqa: F403
from dualgrad.keras.metrics.means import MeanAbsoluteError, MeanMetricWrapper, MeanSquaredError, Metric

KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for module in (means, decisions)
    for kind in (vars(module)[name] for name in public_names(module))
    if isinstance(kind, type) and kind not in (Metric, MeanMetricWrapper)
}
KNOWN.update({snake_case(name): kind for name, kind in KNOWN.items()})
KNOWN.update(mse=MeanSquaredError, MSE=MeanSquaredError, mae=MeanAbsoluteError, MAE=MeanAbsoluteError)


def get(host: Any, identifier: Any) -> Metric:
    """The metric that `identifier` stands for: a name, a class, an instance, or a function of (labels, predictions)."""
    metric = by_name(host, {**losses.FUNCTIONS, **KNOWN}, identifier, "metric")
    return metric if isinstance(metric, Metric) else host.bound(MeanMetricWrapper)(metric)


__all__ = [name for module in (means, decisions) for name in public_names(module)] + ["KNOWN", "get"]
