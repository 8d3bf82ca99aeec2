"""Arguments of `compile`: losses and metrics for each output of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dualgrad.autograph.conversion import current
from dualgrad.keras import functions as tf
from dualgrad.keras import losses
from dualgrad.keras import metrics as metrics_of_keras
from dualgrad.keras.masks import mask_of, masked_weights
from dualgrad.keras.matching import reduced, same_rank
from dualgrad.keras.metrics import Metric
from dualgrad.keras.settings import floatx
from engine.core import nest
from engine.core.dtypes import string
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of

_ACCURACIES = ("accuracy", "acc")


def named_outputs(names: Sequence[str], y_pred: Any) -> list[tuple[str | None, Any]]:
    """The outputs of a model with their names, which are the keys if it returns a dict."""
    if isinstance(y_pred, Mapping):
        return [(key, y_pred[key]) for key in (names if set(names) == set(y_pred) else sorted(y_pred))]
    outputs = y_pred if isinstance(y_pred, (list, tuple)) else [y_pred]
    return list(zip(names if len(names) == len(outputs) else [None] * len(outputs), outputs, strict=True))


def for_each(given: Any, outputs: Sequence[tuple[str | None, Any]], what: str) -> list[Any]:
    """Spread an argument over the outputs: a dict by their names, a list in their order, or one thing for all.

    Raises
    ------
    ValueError
        If there are other names, or not as many as outputs.
    """
    if isinstance(given, Mapping):
        names = [name for name, _ in outputs]
        unknown = sorted(set(given) - set(names), key=str)
        if unknown:
            raise ValueError(f"{what}: there are no outputs {unknown}; the model has {names}")
        return [given.get(name) for name in names]
    if not isinstance(given, (list, tuple)):
        return [given] * len(outputs)
    if len(given) != len(outputs):
        raise ValueError(f"{what}: {len(given)} were given for {len(outputs)} outputs")
    return list(given)


class CompiledLosses:
    """The losses of the outputs, and the mean of each if there are several.

    Parameters
    ----------
    host : Host
    loss, loss_weights
        As `compile` was given them.

    Raises
    ------
    ValueError
        If a loss is unknown, or there are not as many weights as losses.
    """

    def __init__(self, host: Any, loss: Any, loss_weights: Any) -> None:
        self.host = host
        self.loss = nest.map_structure(lambda one: losses.get(host, one), loss)
        counts = [len(nest.flatten(x)) for x in (loss_weights, loss)]
        if nest.is_nested(loss_weights) and counts[0] != counts[1]:
            raise ValueError(f"compile: {counts[0]} `loss_weights` for {counts[1]} losses")
        self.loss_weights = loss_weights
        self._means: dict[str, Metric] = {}

    @property
    def metrics(self) -> list[Metric]:
        """The means of the losses, if there are several."""
        return list(self._means.values())

    def terms(self, outputs: Sequence[tuple[str | None, Any]], y: Any, sample_weight: Any) -> list[Operand]:
        """The losses of a batch, by weights of samples and outputs."""
        losses, factors, labels, weights = (
            for_each(given, outputs, what)
            for given, what in (
                (self.loss, "compile: `loss`"),
                (self.loss_weights, "compile: `loss_weights`"),
                (y, "labels"),
                (sample_weight, "`sample_weight`"),
            )
        )
        terms = []
        several = sum(loss is not None for loss in losses) > 1
        for (name, output), loss, factor, label, weight in zip(outputs, losses, factors, labels, weights, strict=True):
            if loss is None:
                continue
            if label is None:
                raise ValueError(f"compute_loss: no labels for the output {name!r}, which has a loss")
            term = self._term(loss, label, output, weight)
            if several:
                called = f"{name or getattr(loss, 'name', None) or loss.__name__}_loss"
                if called not in self._means:
                    self._means[called] = self.host.bound(metrics_of_keras.Mean)(name=called)
                self._means[called].update_state(term)
            terms.append(term if factor is None else term * factor)
        return terms

    def _term(self, loss: Any, label: Any, output: Any, weight: Any) -> Operand:
        if isinstance(loss, losses.Loss):
            return loss(label, output, sample_weight=weight)
        tensor = self.host.tensor
        # Keras hands a program's own function what it hands its losses, of one dtype
        pair = [x if dtype_of(x) is string else tf.cast(x, floatx()) for x in (tensor(label), tensor(output))]
        values = tensor(current(loss)(*same_rank(*pair)))
        weights = None if weight is None else tensor(weight)
        return reduced(values, masked_weights(weights, mask_of(output), dtype_of(values), is_mean=True), "mean")


class CompiledMetrics:
    """The metrics of all outputs, as one. They are made for the first batch, whose shapes say what "accuracy" is.

    Parameters
    ----------
    host : Host
    model : Model
        Names the outputs.
    metrics, weighted_metrics
        As `compile` was given them: those without and those with weights of samples.
    """

    name = "compile_metrics"

    def __init__(self, host: Any, model: Any, metrics: Any, weighted_metrics: Any) -> None:
        self.host, self.model = host, model
        # whoever misspells a name is told so at once
        for one in nest.flatten([metrics or (), weighted_metrics or ()]):
            if one is not None and not (isinstance(one, str) and one in _ACCURACIES):
                metrics_of_keras.get(host, one)
        self._given = metrics, weighted_metrics
        self._made: list[tuple[str, int, Metric, bool]] = []

    @property
    def metrics(self) -> list[Metric]:
        """All of them, once a batch has been seen."""
        return [metric for _, _, metric, _ in self._made]

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into account."""
        if not any(self._given):
            return
        outputs = named_outputs(self.model.output_names, y_pred)
        labels, weights = for_each(y, outputs, "labels"), for_each(sample_weight, outputs, "`sample_weight`")
        if not self._made:
            self._make(outputs, labels)
        for _, i, metric, takes_weights in self._made:
            more = {"sample_weight": weights[i]} if takes_weights else {}
            metric.update_state(labels[i], outputs[i][1], **more)

    def _make(self, outputs: Sequence[tuple[str | None, Any]], labels: Sequence[Any]) -> None:
        taken: set[str] = set()
        for given, takes_weights in zip(self._given, (False, True), strict=True):
            of_outputs = [given] if len(outputs) == 1 else for_each(given or None, outputs, "compile: `metrics`")
            for i, of_output in enumerate(of_outputs):
                prefix = f"{outputs[i][0]}_" if len(outputs) > 1 and outputs[i][0] else ""
                for one in nest.flatten(of_output):
                    if one is None:
                        continue
                    metric = self._metric(one, labels[i], outputs[i][1])
                    name = f"{prefix}{metric.name}"
                    if name in taken and takes_weights:
                        name = f"{prefix}weighted_{metric.name}"
                    number = sum(other == name or other.startswith(f"{name}_") for other in taken)
                    name = f"{name}_{number}" if name in taken else name
                    taken.add(name)
                    self._made.append((name, i, metric, takes_weights))

    def _metric(self, given: Any, label: Any, output: Any) -> Metric:
        """A metric; "accuracy" is the one that fits the shapes."""
        if not isinstance(given, str):
            return metrics_of_keras.get(self.host, given)
        if given not in _ACCURACIES:
            metric = metrics_of_keras.get(self.host, given)
            metric.name = given
            return metric
        true, pred = (tuple(shape_of(self.host.tensor(x)) or ()) for x in (label, output))
        if pred[-1:] == (1,):
            kind: type[Metric] = metrics_of_keras.BinaryAccuracy
        elif len(true) < len(pred) or true[-1:] == (1,):
            kind = metrics_of_keras.SparseCategoricalAccuracy
        else:
            kind = metrics_of_keras.CategoricalAccuracy
        return self.host.bound(kind)(name=given)

    def result(self) -> dict[str, Any]:
        """The values of the metrics so far, by their names."""
        return {name: metric.result() for name, _, metric, _ in self._made}

    def reset_state(self) -> None:
        """Start again."""
        for metric in self.metrics:
            metric.reset_state()
