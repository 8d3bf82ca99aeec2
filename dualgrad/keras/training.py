"""`compile`, `fit`, `evaluate`, `predict`: the loop around a gradient tape."""

from __future__ import annotations

import inspect
import itertools
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.keras import functions as tf
from dualgrad.keras import metrics as metrics_of_keras
from dualgrad.keras.batches import (
    Epochs,
    batches,
    count_of_batches,
    has_arrays,
    one_batch,
    require_alone,
    rows_at_once,
    split,
    unpack_x_y_sample_weight,
    weighted,
)
from dualgrad.keras.batches import Sequence as DataSequence
from dualgrad.keras.callbacks import Callback, CallbackList, History
from dualgrad.keras.compiled import CompiledLosses, CompiledMetrics, named_outputs
from dualgrad.keras.host import Bound
from dualgrad.keras.progress import bar
from dualgrad.platform import replicas
from engine.core import nest
from engine.core.nest import Structure
from engine.core.operands import Operand
from engine.runtime.public_names import methods_of
from engine.transforms.gradient_tape import GradientTape


class _Steps(dict[str, Any]):
    """The steps of a model as `tf.function` makes them; a copy of the model makes its own."""

    def __deepcopy__(self, memo: Any) -> _Steps:
        return _Steps()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Steps, ()


@methods_of("Model")
class Trainer(Bound):
    """The part of a model that trains it."""

    optimizer: Any = None
    loss: Any = None
    _losses_of_outputs: Any = None
    _compiled_metrics: Any = None
    _loss_tracker: Any = None
    history: Any = None
    stop_training: bool = False
    stop_evaluating: bool = False
    stop_predicting: bool = False
    steps_per_execution: int = 1
    _initial_epoch: int | None = None
    _steps: Any = None
    run_eagerly: bool = False

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        **ignored: Any,
    ) -> None:
        """Say how to train.

        Parameters
        ----------
        optimizer : str or optimizer
        loss : str or callable, or a list or dict of these
            ``loss(y_true, y_pred)``; the mean of what it returns is minimized. A list has one for each output, a dict
            one for each name of an output.
        loss_weights : float, or list or dict of float, optional
            Factors of the losses of the outputs in their sum. Metrics in this place are metrics, as in Keras 2.
        metrics : list of (str or metric), or a list or dict of these, optional
            ``"accuracy"`` stands for the accuracy that fits the shapes. They do not look at weights of samples. If
            there are several outputs, a list has the metrics of each, a dict those of some.
        weighted_metrics : list of (str or metric), or a list or dict of these, optional
            Metrics that take the weights of samples into account.
        run_eagerly : bool
            Whether the steps of `fit`, `evaluate` and `predict` run as Python each time. Otherwise they are recorded
            (`function`): what is changed in layers later, such as ``trainable``, counts from the next `compile` on.
        steps_per_execution : int
            How many batches callbacks hear of together.
        **ignored
            What changes how fast Keras runs, not what it computes: ``jit_compile``, ``auto_scale_loss``.

        Raises
        ------
        TypeError
            If another argument is given.
        NotImplementedError
            In the scope of a strategy with several workers.
        """
        if replicas.current.workers is not None:
            raise NotImplementedError(
                "compile: `fit` trains one replica; with several workers write the loop with strategy.run"
            )
        if any(isinstance(x, str) or callable(x) for x in nest.flatten(loss_weights)):
            loss_weights, metrics = metrics, loss_weights
        unknown = sorted(set(ignored) - {"jit_compile", "auto_scale_loss"})
        if unknown:
            raise TypeError(f"compile: unknown arguments {unknown}")
        self.run_eagerly, self._steps = bool(run_eagerly), _Steps()
        if not isinstance(steps_per_execution, int) or steps_per_execution < 1:
            raise ValueError(f"compile: `steps_per_execution` must be a positive integer, got {steps_per_execution!r}")
        self.steps_per_execution = steps_per_execution
        self.optimizer = self.host.optimizers.get(optimizer)
        scaling = self.host.optimizers.LossScaleOptimizer
        is_mixed = self.dtype_policy.name == "mixed_float16"  # type: ignore[attr-defined]
        if is_mixed and ignored.get("auto_scale_loss", True) and not isinstance(self.optimizer, scaling):
            self.optimizer = scaling(self.optimizer)
        self._losses_of_outputs = CompiledLosses(self.host, loss, loss_weights)
        self.loss = self._losses_of_outputs.loss
        given = metrics or weighted_metrics
        self._compiled_metrics = CompiledMetrics(self.host, self, metrics, weighted_metrics) if given else None
        self._loss_tracker = self.host.bound(metrics_of_keras.Mean)(name="loss")

    @property
    def metrics(self) -> list[Any]:
        """The mean of the loss, the metrics of `compile` as one, means of several losses, those of model and layers."""
        losses = None if self._losses_of_outputs is None else self._losses_of_outputs.metrics
        compiled = [m for m in (self._loss_tracker, self._compiled_metrics) if m is not None]
        layers = [layer for layer in self._parts()[1][1:] if not isinstance(layer, Trainer)]  # type: ignore[attr-defined]
        own = [m for layer in (self, *layers) for value in vars(layer).values() for m in _metrics_in(value)]
        return list({id(m): m for m in (*compiled, *(losses or ()), *own)}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [m.name for m in self.metrics]

    def reset_metrics(self) -> None:
        """Start all `metrics` again."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self) -> dict[str, Any]:
        """The values of the metrics so far, by their names."""
        logs: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            logs.update(result if isinstance(result, dict) else {metric.name: result})
        return logs

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
            outputs = named_outputs(self.output_names, y_pred)
            terms = self._losses_of_outputs.terms(outputs, y, sample_weight) + terms
        if not terms:
            raise ValueError("No loss to compute. Give `compile` a loss, or call `add_loss` in a layer.")
        return tf.add_n(terms) if len(terms) > 1 else terms[0]

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Take a batch into account in the metrics of `compile`; `get_metrics_result`."""
        if self._compiled_metrics is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, by which losses, metrics and labels may be given."""
        return []

    @property
    def compiled_metrics(self) -> CompiledMetrics:
        """The metrics of `compile` as one, for train steps as they were written before Keras 3."""
        return self._compiled_metrics or CompiledMetrics(self.host, self, None, None)

    def compiled_loss(
        self, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Operand:
        """`compute_loss`, for train steps as they were written before Keras 3; the mean of the loss goes on, too.

        The layers' penalties are part of it, whether or not they are given as `regularization_losses`; so it is there.
        """
        loss = self.compute_loss(None, y, y_pred, sample_weight)
        self._track(loss, y)
        return loss

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step of the optimizer on a batch; what `fit` logs.

        Parameters
        ----------
        data : x, (x, y) or (x, y, sample_weight)
            As `fit` was given them.
        """
        x, y, weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            predictions = self._called_in(x, training=True)
            loss = self.compute_loss(x, y, predictions, weight)
            variables = self.trainable_variables  # type: ignore[attr-defined]
            if getattr(self.optimizer, "_built_for", variables) is None:
                self.optimizer.build(variables)  # its state has the order of the weights, whoever has gradients
            scaled = self.optimizer.scale_loss(loss) if hasattr(self.optimizer, "scale_loss") else loss
        self._track(loss, x)
        if variables:
            self.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        return self.compute_metrics(x, y, predictions, weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """The same without training; what `evaluate` returns."""
        x, y, weight = unpack_x_y_sample_weight(data)
        predictions = self._called_in(x, training=False)
        self._track(self.compute_loss(x, y, predictions, weight, training=False), x)
        return self.compute_metrics(x, y, predictions, weight)

    def predict_step(self, data: Any) -> Any:
        """The outputs for a batch."""
        return self._called_in(unpack_x_y_sample_weight(data)[0], training=False)

    def _called_in(self, x: Any, training: bool) -> Any:
        """The outputs. As in Keras 3, a `call` without `training` is not told: its layers do as in inference."""
        told = {"training": training} if "training" in inspect.signature(self.call).parameters else {}  # type: ignore[attr-defined]
        return self(x, **told)  # type: ignore[operator]

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
        validation_freq: int | Sequence[int] = 1,
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
            Whether to print a line after each epoch; on a terminal, unless it is 2, also how far the epoch is.
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
        validation_freq : int or list of int
            After how many epochs there is an evaluation, or after which.

        Returns
        -------
        History
        """
        self._require_compiled()
        if unsupported:
            raise NotImplementedError(f"fit: arguments {sorted(unsupported)} are not supported; write your own loop")
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = split((x, y, sample_weight), validation_split)
        require_alone("fit", x, y=y, sample_weight=sample_weight, class_weight=class_weight)
        history = History()
        given = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
        epochs_of = self._epochs_of(x, y, sample_weight, batch_size, steps_per_epoch, shuffle)
        count = steps_per_epoch or epochs_of.count
        told = CallbackList(
            [*given, history, *bar(verbose, given)], self, {"verbose": verbose, "epochs": epochs, "steps": count}
        )
        self.stop_training = False
        told.tell("on_train_begin")
        logs: dict[str, Any] = {}
        first, self._initial_epoch = self._initial_epoch or initial_epoch, None  # a backup may say where to begin
        for epoch in range(first, epochs):
            told.tell("on_epoch_begin", epoch)
            logs = self._run("train_step", weighted(epochs_of.next(), class_weight), told)
            if not logs:
                epochs_of.require_some("fit")
                _ran_out(epoch, epochs)
                break
            if isinstance(x, DataSequence):
                x.on_epoch_end()
            if validation_data is not None and _is_due(epoch + 1, validation_freq):
                size = validation_batch_size or batch_size
                logs = dict(sorted((logs | self._validated(validation_data, size, validation_steps, told)).items()))
            told.tell("on_epoch_end", epoch, logs)
            if verbose:
                _say(f"Epoch {epoch + 1}/{epochs}", logs)
            if self.stop_training:
                break
        steps = getattr(self.optimizer, "inner_optimizer", self.optimizer)
        if getattr(steps, "use_ema", False) and logs:
            steps.finalize_variable_values(self.trainable_weights)  # type: ignore[attr-defined]
        told.tell("on_train_end", logs)
        self.history = history
        return history

    def _epochs_of(
        self, x: Any, y: Any, weight: Any, batch_size: int | None, steps: int | None, shuffle: bool = False
    ) -> Epochs:
        """The batches of data, epoch by epoch."""
        if (steps or 0) < 0 or (batch_size or 0) < 0:
            raise ValueError(f"`batch_size` and numbers of steps must not be negative, got {batch_size} and {steps}")
        size, order_of = rows_at_once(x, y, batch_size, steps), self.host.permutation if shuffle else None
        return Epochs(lambda: batches(x, y, size, order_of, weight), count_of_batches(x, y, size), steps or None)

    def _validated(self, data: Any, batch_size: int | None, steps: int | None, told: CallbackList) -> dict[str, Any]:
        told.tell("on_test_begin")
        x, y, weight = unpack_x_y_sample_weight(data if isinstance(data, tuple) or has_arrays(data) else (data,))
        require_alone("fit: validation_data", x, y=y, sample_weight=weight)
        logs = self._run("test_step", self._epochs_of(x, y, weight, batch_size, steps).next(), told, "test")
        told.tell("on_test_end", logs)
        return {f"val_{name}": value for name, value in logs.items()}

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
        require_alone("evaluate", x, y=y, sample_weight=sample_weight)
        data = self._epochs_of(x, y, sample_weight, batch_size, steps)
        logs = self._run("test_step", data.next(), told, "test")
        if data.count == 0:
            warnings.warn("evaluate: the data have no rows, so nothing is evaluated", stacklevel=2)
        elif not logs:
            data.require_some("evaluate")
        told.tell("on_test_end", logs)
        if verbose:
            _say("Evaluation", logs)
        return self._in_order(logs, return_dict)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Sequence[Callback] | Callback | None = None,
    ) -> Any:
        """The outputs for all rows of `x`, as an array, or a structure of arrays if there are several."""
        if not self.host.eager:
            self._require_compiled()
        data = self._epochs_of(x, None, None, batch_size, steps)
        told = CallbackList([callbacks] if isinstance(callbacks, Callback) else list(callbacks or ()), self, {})
        told.tell("on_predict_begin")
        outputs, predict = [], self._step("predict_step")
        self.stop_predicting = False
        for first, last, group in self._groups(data.next()):
            told.tell("on_predict_batch_begin", first)
            parts = [nest.map_structure(_array, predict(nest.map_structure(self._as_tensor, batch))) for batch in group]
            outputs.append(nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts))
            told.tell("on_predict_batch_end", last, {"outputs": outputs[-1]})
            if self.stop_predicting:
                break
        data.require_some("predict")
        told.tell("on_predict_end")
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
        return self._in_order(
            self._run("train_step", weighted([one_batch(x, y, sample_weight)], class_weight)), return_dict
        )

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> float | list[float] | dict[str, Any]:
        """The loss and the metrics on a batch."""
        self._require_compiled()
        return self._in_order(self._run("test_step", [one_batch(x, y, sample_weight)]), return_dict)

    def predict_on_batch(self, x: Any) -> Structure[np.ndarray]:
        """The outputs for a batch, as arrays."""
        return nest.map_structure(_array, self._step("predict_step")(nest.map_structure(self._as_tensor, x)))

    def _run(
        self, step: str, data: Iterable[Any], told: CallbackList | None = None, kind: str = "train"
    ) -> dict[str, Any]:
        """The steps of one epoch; what the last one logged."""
        self.reset_metrics()
        logs: dict[str, Any] = {}
        made, stop = self._step(step), "stop_training" if kind == "train" else "stop_evaluating"
        if kind == "test":
            self.stop_evaluating = False
        for first, last, group in self._groups(data):
            if told is not None:
                told.tell(f"on_{kind}_batch_begin", first)
            for batch in group:
                logs = made(nest.map_structure(self._as_tensor, batch))
            if told is not None:
                told.tell(f"on_{kind}_batch_end", last, _numbers(logs))
                if getattr(self, stop):
                    break
        return _numbers(logs)

    def _groups(self, data: Iterable[Any]) -> Iterator[tuple[int, int, list[Any]]]:
        """Batches that callbacks hear of together, with the numbers of the first and, if all are there, the last."""
        batches, size = iter(data), self.steps_per_execution
        for first in itertools.count(0, size):
            if not (group := list(itertools.islice(batches, size))):
                return
            yield first, first + size - 1, group

    def _step(self, name: str) -> Any:
        """A step, as the front end runs functions."""
        step = getattr(self, name)
        if self.run_eagerly or self._steps is None:
            return step
        made = self._steps.get(name)
        if made is None or made.python_function != step:
            made = self._steps[name] = self.host.function(step)
        return made

    def _as_tensor(self, x: Any) -> Operand:
        """Arrays are tensors for steps, which may watch them or ask for their gradients."""
        return self.host.tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x

    def _in_order(self, logs: dict[str, Any], return_dict: bool) -> float | list[float] | dict[str, Any]:
        """The logs in the order of `metrics_names`, with the parts of `CompiledMetrics`; then the rest by name."""
        names = [
            m.name for whole in self.metrics for m in (whole.metrics if isinstance(whole, CompiledMetrics) else [whole])
        ]
        ordered = [*[name for name in names if name in logs], *[name for name in sorted(logs) if name not in names]]
        values: list[float] = [logs[name] for name in ordered]
        return logs if return_dict else values if len(values) != 1 else values[0]


def _is_due(epoch: int, frequency: int | Sequence[int]) -> bool:
    """Whether there is an evaluation after this epoch, counted from 1."""
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _ran_out(epoch: int, epochs: int) -> None:
    warnings.warn(
        f"fit: the input ran out of data before epoch {epoch + 1} of {epochs}; training ends here. An iterator gives "
        f"its batches once: let it go on for ever, or give a list of batches",
        stacklevel=3,
    )


def _metrics_in(value: Any) -> list[Any]:
    held = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else [value]
    return [m for m in held if isinstance(m, metrics_of_keras.Metric)]


def _array(x: Any) -> np.ndarray:
    """Of the caller's own: programs write into it."""
    return np.array(x)


def _numbers(logs: Mapping[str, Any]) -> dict[str, Any]:
    """Plain numbers, in the order of their names as in Keras; those of `CompiledMetrics` by their own names."""
    numbers: dict[str, Any] = {}
    for name, value in sorted(logs.items()):
        if isinstance(value, Mapping):
            numbers.update(_numbers(value))
            continue
        array = np.asarray(value)
        numbers[name] = float(array) if array.ndim == 0 else array
    return numbers


def _say(what: str, logs: dict[str, Any]) -> None:
    sys.stdout.write(f"{what} - {' - '.join(f'{name}: {value:.4f}' for name, value in logs.items())}\n")
