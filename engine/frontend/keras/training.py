"""`compile`, `fit`, `evaluate`, `predict`: the loop around a gradient tape."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.operands import Operand
from engine.frontend.keras import functions as tf
from engine.frontend.keras import losses
from engine.frontend.keras import metrics as metrics_of_keras
from engine.frontend.keras.batches import batches, packed, split, unpack_x_y_sample_weight, weighted
from engine.frontend.keras.callbacks import Callback, CallbackList, History
from engine.frontend.keras.host import Bound
from engine.frontend.keras.matching import reduced
from engine.frontend.keras.metrics import Metric
from engine.gradient_tape import GradientTape


class Trainer(Bound):
    """The part of a model that trains it."""

    optimizer: Any = None
    loss: Any = None
    _losses_of_outputs: Any = None
    _compiled_metrics: tuple[Sequence[Any], Sequence[Any]] = ((), ())
    _loss_tracker: Any = None
    history: Any = None
    stop_training: bool = False

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Sequence[Any] | None = None,
        loss_weights: Sequence[float] | float | None = None,
        weighted_metrics: Sequence[Any] | None = None,
        **ignored: Any,
    ) -> None:
        """Say how to train.

        Parameters
        ----------
        optimizer : str or optimizer
        loss : str or callable, or a list of these
            ``loss(y_true, y_pred)``; the mean of what it returns is minimised. A list has one for each output.
        metrics : list of (str or metric), optional
            ``"accuracy"`` stands for the accuracy that fits the loss. They do not look at weights of samples.
        loss_weights : float or list of float, optional
            By what the losses of the outputs are multiplied before they are added.
        weighted_metrics : list of (str or metric), optional
            Metrics that take the weights of samples into account.
        **ignored
            What changes how fast Keras runs, not what it computes: ``run_eagerly``, ``jit_compile``,
            ``steps_per_execution``, ``auto_scale_loss``.

        Raises
        ------
        TypeError
            If another argument is given.
        """
        unknown = sorted(set(ignored) - {"run_eagerly", "jit_compile", "steps_per_execution", "auto_scale_loss"})
        if unknown:
            raise TypeError(f"compile: unknown arguments {unknown}")
        self.optimizer = self.host.optimizers.get(optimizer)
        several = isinstance(loss, (list, tuple))
        found = [losses.get(self.host, one) for one in (loss if several else [loss])]
        self.loss = found if several else found[0]
        factors = [1.0] * len(found) if loss_weights is None else np.atleast_1d(loss_weights).tolist()
        if len(factors) != len(found):
            raise ValueError(f"compile: {len(factors)} `loss_weights` for {len(found)} losses")
        self._losses_of_outputs = list(zip(found, factors, strict=True))
        kinds = (metrics or (), weighted_metrics or ())
        self._compiled_metrics = tuple([[self._metric(m) for m in kind] for kind in kinds])  # type: ignore[assignment]
        self._loss_tracker = self.host.bound(metrics_of_keras.Mean)(name="loss")

    def _metric(self, metric: Any) -> Metric:
        if metric in ("accuracy", "acc"):
            name = str(getattr(self.loss, "name", None) or getattr(self.loss, "__name__", ""))
            kind = {
                "sparse_categorical_crossentropy": metrics_of_keras.SparseCategoricalAccuracy,
                "categorical_crossentropy": metrics_of_keras.CategoricalAccuracy,
                "binary_crossentropy": metrics_of_keras.BinaryAccuracy,
            }.get(name, metrics_of_keras.Accuracy)
            return self.host.bound(kind)(name=metric)
        return metrics_of_keras.get(self.host, metric)

    @property
    def metrics(self) -> list[Any]:
        """The mean of the loss, the model's own metrics (attributes), and those that `compile` was given."""
        tracker = [] if self._loss_tracker is None else [self._loss_tracker]
        own = [m for value in vars(self).values() for m in _metrics_in(value)]
        compiled = [m for kind in self._compiled_metrics for m in kind]
        return list({id(m): m for m in (*tracker, *own, *compiled)}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [m.name for m in self.metrics]

    def reset_metrics(self) -> None:
        """Start all `metrics` again."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """What the metrics say so far, by their names."""
        return {m.name: m.result() for m in self.metrics}

    def _require_compiled(self) -> None:
        if not self.host.eager:
            raise NotImplementedError(
                "fit, evaluate and predict are not supported in graphs: minimize a loss of the model's outputs with an "
                "optimizer of tf.train in a session, or train the model with tape_api"
            )
        if self.optimizer is None:
            raise ValueError("You must call `compile()` before using the model.")

    # ---- steps, for subclasses to change -----------------------------------------------------------------------------

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Operand:
        """The loss of a batch: those of `compile` and the penalties of the layers, added up.

        Raises
        ------
        ValueError
            If there are neither, or not as many outputs and labels as losses.
        """
        terms = list(self.losses)  # type: ignore[attr-defined]
        if y is not None and self.loss is not None:
            several = isinstance(self.loss, list)
            labels, outputs = (list(y), list(y_pred)) if several else ([y], [y_pred])
            if not len(labels) == len(outputs) == len(self._losses_of_outputs):
                raise ValueError(
                    f"compute_loss: {len(self._losses_of_outputs)} losses for {len(labels)} labels and "
                    f"{len(outputs)} outputs"
                )
            for (loss, factor), label, output in zip(self._losses_of_outputs, labels, outputs, strict=True):
                term = _loss_of(self.host, loss, label, output, sample_weight)
                terms.insert(0, term if factor == 1.0 else term * factor)
        if not terms:
            raise ValueError("No loss to compute. Give `compile` a loss, or call `add_loss` in a layer.")
        return tf.add_n(terms) if len(terms) > 1 else terms[0]

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Take a batch into account in the metrics of `compile`; `get_metrics_result`."""
        self.compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    @property
    def compiled_metrics(self) -> CompiledMetrics:
        """The metrics of `compile` as one, for train steps as they were written before Keras 3."""
        return CompiledMetrics(*self._compiled_metrics)

    def compiled_loss(
        self, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Operand:
        """`compute_loss`, for train steps as they were written before Keras 3."""
        return self.compute_loss(None, y, y_pred, sample_weight)

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step of the optimizer on a batch; what `fit` logs.

        Parameters
        ----------
        data : x, (x, y) or (x, y, sample_weight)
            As `fit` was given them.
        """
        x, y, weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            predictions = self(x, training=True)  # type: ignore[operator]
            loss = self.compute_loss(x, y, predictions, weight)
        self._track(loss, x)
        variables = self.trainable_variables  # type: ignore[attr-defined]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return self.compute_metrics(x, y, predictions, weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """The same without training; what `evaluate` returns."""
        x, y, weight = unpack_x_y_sample_weight(data)
        predictions = self(x, training=False)  # type: ignore[operator]
        self._track(self.compute_loss(x, y, predictions, weight, training=False), x)
        return self.compute_metrics(x, y, predictions, weight)

    def predict_step(self, data: Any) -> Any:
        """The outputs for a batch."""
        return self(unpack_x_y_sample_weight(data)[0], training=False)  # type: ignore[operator]

    def _track(self, loss: Any, x: Any) -> None:
        if self._loss_tracker is not None:
            self._loss_tracker.update_state(loss, sample_weight=len(nest.flatten(x)[0]))

    # ---- loops -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        validation_data: Any = None,
        shuffle: bool = True,
        initial_epoch: int = 0,
        callbacks: Sequence[Callback] | Callback | None = None,
        steps_per_epoch: int | None = None,
        validation_split: float = 0.0,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: Any = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int = 1,
        **unsupported: Any,
    ) -> History:
        """Train on data.

        Parameters
        ----------
        x, y : array or tensor, or structures of these
            Inputs and labels, with as many rows; or `x` an iterable of batches: ``x``, ``(x, y)`` or
            ``(x, y, sample_weight)``. When an iterator has no more of them, training ends with a warning, as in Keras.
        batch_size : int, optional
            By default 32.
        epochs : int
        verbose : {"auto", 0, 1, 2}
            Whether to print a line after each epoch.
        validation_data : tuple (x, y) or (x, y, sample_weight), or batches, optional
            Evaluated after each epoch.
        shuffle : bool
            Whether the rows come in another random order in each epoch.
        initial_epoch : int
            The number of the first epoch.
        callbacks : list of Callback, optional
            Called between steps and epochs.
        steps_per_epoch : int, optional
            After how many batches an epoch ends at the latest. The next one goes on behind them; data that have come to
            their end begin anew.
        validation_split : float
            Which part of the rows, the last ones, is kept for the evaluation.
        class_weight : dict of int to float, optional
            By what the losses of the samples of a class are multiplied; by default 1.
        sample_weight : array, optional
            By what the loss of each row is multiplied.
        validation_steps : int, optional
            After how many batches an evaluation ends at the latest.
        validation_batch_size : int, optional
            By default `batch_size`.
        validation_freq : int
            After how many epochs there is an evaluation.

        Returns
        -------
        History
        """
        self._require_compiled()
        if unsupported:
            raise NotImplementedError(f"fit: arguments {sorted(unsupported)} are not supported; write your own loop")
        if validation_split:
            (x, y, sample_weight), validation_data = split((x, y, sample_weight), validation_split)
        history = History()
        given = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
        told = CallbackList([*given, history], self, {"epochs": epochs, "verbose": verbose})
        self.stop_training = False
        told.tell("on_train_begin")
        data: Iterator[Any] = iter(())
        for epoch in range(initial_epoch, epochs):
            told.tell("on_epoch_begin", epoch)
            ahead = list(itertools.islice(data, 1))
            order_of = self.host.permutation if shuffle else None
            data = itertools.chain(ahead, data) if ahead else batches(x, y, batch_size or 32, order_of, sample_weight)
            steps = itertools.islice(data, steps_per_epoch)
            logs = self._run(self.train_step, weighted(steps, class_weight), told)
            if not logs:
                warnings.warn(
                    f"fit: the input ran out of data before epoch {epoch + 1} of {epochs}; training ends here. An "
                    f"iterator gives its batches once: let it go on for ever, or give a list of batches",
                    stacklevel=2,
                )
                break
            if validation_data is not None and (epoch + 1) % validation_freq == 0:
                size = validation_batch_size or batch_size or 32
                found = self._validated(validation_data, size, validation_steps, told)
                logs.update({f"val_{name}": value for name, value in found.items()})
            told.tell("on_epoch_end", epoch, logs)
            if verbose:
                _say(f"Epoch {epoch + 1}/{epochs}", logs)
            if self.stop_training:
                break
        told.tell("on_train_end")
        self.history = history
        return history

    def _validated(self, data: Any, batch_size: int, steps: int | None, told: CallbackList) -> dict[str, Any]:
        told.tell("on_test_begin")
        x, y, weight = unpack_x_y_sample_weight(data if isinstance(data, tuple) else (data,))
        found = self._run(self.test_step, itertools.islice(batches(x, y, batch_size, None, weight), steps))
        told.tell("on_test_end", found)
        return found

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Sequence[Callback] | Callback | None = None,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, Any]:
        """The loss and the metrics on data: a number if there are no metrics, else a list, or a dict."""
        self._require_compiled()
        told = CallbackList([callbacks] if isinstance(callbacks, Callback) else list(callbacks or ()), self, {})
        told.tell("on_test_begin")
        data = batches(x, y, batch_size or 32, None, sample_weight)
        logs = self._run(self.test_step, itertools.islice(data, steps))
        told.tell("on_test_end", logs)
        if verbose:
            _say("Evaluation", logs)
        return _in_order(logs, return_dict)

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto", steps: int | None = None) -> Any:
        """The outputs for all rows of `x`, as an array, or a structure of arrays if there are several."""
        if not self.host.eager:
            self._require_compiled()
        data = itertools.islice(batches(x, None, batch_size or 32), steps)
        outputs = [nest.map_structure(_array, self.predict_step(batch)) for batch in data]
        return nest.map_structure(lambda *parts: np.concatenate(parts), *outputs)

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Mapping[int, float] | None = None,
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, Any]:
        """One train step on a batch; its loss and metrics.

        Examples
        --------
        >>> import numpy as np, tape_api as tf
        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        >>> model.compile("sgd", "mse")
        >>> model.train_on_batch(np.ones((4, 2)), np.zeros((4, 1)))
        4.0
        """
        self._require_compiled()
        return _in_order(self._run(self.train_step, weighted([packed(x, y, sample_weight)], class_weight)), return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> float | list[float] | dict[str, Any]:
        """The loss and the metrics on a batch."""
        self._require_compiled()
        return _in_order(self._run(self.test_step, [packed(x, y, sample_weight)]), return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch, as arrays."""
        return nest.map_structure(_array, self.predict_step(x))

    def _run(self, step: Any, data: Iterable[Any], told: CallbackList | None = None) -> dict[str, Any]:
        """The steps of one epoch; what the last one logged."""
        self.reset_metrics()
        logs: dict[str, Any] = {}
        for i, batch in enumerate(data):
            if told is not None:
                told.tell("on_train_batch_begin", i)
            logs = step(batch)
            if told is not None:
                told.tell("on_train_batch_end", i, _numbers(logs))
                if self.stop_training:
                    break
        return _numbers(logs)


def _metrics_in(value: Any) -> list[Any]:
    held = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else [value]
    return [m for m in held if isinstance(m, metrics_of_keras.Metric)]


class CompiledMetrics:
    """The metrics of `compile`, those without and those with weights of samples."""

    def __init__(self, plain: Sequence[Any], weighted: Sequence[Any]) -> None:
        self._plain, self._weighted = plain, weighted

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into account."""
        for metric in self._plain:
            metric.update_state(y, y_pred)
        for metric in self._weighted:
            metric.update_state(y, y_pred, sample_weight=sample_weight)


def _loss_of(host: Any, loss: Any, y: Any, y_pred: Any, sample_weight: Any) -> Operand:
    if isinstance(loss, losses.Loss):
        return loss(y, y_pred, sample_weight=sample_weight)
    weights = None if sample_weight is None else host.tensor(sample_weight)
    return reduced(host.tensor(loss(host.tensor(y), y_pred)), weights, "mean")


def _array(x: Any) -> np.ndarray:
    return np.asarray(x)


def _numbers(logs: dict[str, Any]) -> dict[str, Any]:
    arrays = {name: np.asarray(value) for name, value in logs.items()}
    return {name: float(value) if value.ndim == 0 else value for name, value in arrays.items()}


def _in_order(logs: dict[str, Any], return_dict: bool) -> float | list[float] | dict[str, Any]:
    values: list[float] = list(logs.values())
    return logs if return_dict else values if len(values) > 1 else values[0]


def _say(what: str, logs: dict[str, Any]) -> None:
    sys.stdout.write(f"{what} - {' - '.join(f'{name}: {value:.4f}' for name, value in logs.items())}\n")
