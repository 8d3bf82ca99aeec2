"""Callbacks that `fit` calls between steps and epochs: ``tf.keras.callbacks``."""

from __future__ import annotations

import csv
import inspect
import math
import operator
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from engine.runtime.faces import Shown, as_table

Logs = dict[str, float]


class Callback(Shown):
    """Base of the callbacks. A subclass defines some of the methods.

    Attributes
    ----------
    model : Model
        The model that is trained. Setting ``model.stop_training`` ends the training after the epoch.
    params : dict
        ``{"epochs": ..., "verbose": ..., "steps": ...}``; the last is None where it is not known.
    """

    model: Any = None
    params: dict[str, Any] | None = None

    def set_model(self, model: Any) -> None:
        """Told by `fit` before anything else."""
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Told by `fit` before anything else."""
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Before the first epoch."""

    def on_train_end(self, logs: Logs | None = None) -> None:
        """After the last epoch."""

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """After an epoch; `logs` has the loss, the metrics, and those of the validation."""

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Before a step; by default `on_batch_begin`."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """After a step; by default `on_batch_end`."""
        self.on_batch_end(batch, logs)

    def on_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Before a step, under its older name."""

    def on_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """After a step, under its older name."""

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Before an evaluation."""

    def on_test_end(self, logs: Logs | None = None) -> None:
        """After an evaluation."""

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Before a batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """After a batch of an evaluation."""

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Before `predict`."""

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """After `predict`."""

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Before a batch of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a batch of `predict`, with its ``outputs``."""


class CallbackList:
    """Callbacks that are told of events one after the other."""

    def __init__(self, callbacks: Sequence[Callback], model: Any, params: dict[str, Any]) -> None:
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"fit: argument `callbacks` must hold keras.callbacks.Callback, got {callback!r}")
            callback.set_model(model)
            callback.set_params(params)

    def tell(self, event: str, *args: Any) -> None:
        """Call the method of that name (``"on_epoch_end"``) of each, with empty logs if there are none."""
        given = args if args and isinstance(args[-1], dict) else (*args, {})
        for callback in self.callbacks:
            getattr(callback, event)(*given)


class History(Callback):
    """The result of `fit`.

    Attributes
    ----------
    history : dict of str to list of float
        The loss and each metric, per epoch.
    epoch : list of int
    """

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def _facts_(self) -> dict[str, Any]:
        last = {name: f"{values[-1]:.4g}" for name, values in self.history.items() if values}
        return {"epochs": len(self.epoch), **last}

    def _picture_(self) -> str:
        rows = [
            (str(epoch + 1), *(f"{values[i]:.4g}" if i < len(values) else "" for values in self.history.values()))
            for i, epoch in enumerate(self.epoch)
        ]
        return as_table(rows, ("epoch", *self.history))

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """One more epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class LambdaCallback(Callback):
    """A callback made of functions, given by the names of the methods."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        for name, function in functions.items():
            if not hasattr(Callback, name):
                raise ValueError(f"LambdaCallback: there is no method {name}")
            if function is not None:
                setattr(self, name, function)


_GROWING = ("acc", "auc", "precision", "recall", "score", "iou", "cosine", "sensitivity", "specificity")
"""Words in the names of metrics, and of their classes, where more is better."""


class _Monitor(Callback):
    """The base of the callbacks that watch a number."""

    def __init__(self, monitor: str, mode: str, min_delta: float) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"{type(self).__name__}: argument `mode` must be 'auto', 'min' or 'max', got {mode!r}")
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)
        self.monitor_op: Callable[[float, float], bool] = operator.gt if mode == "max" else operator.lt
        self.best: float | None = None

    def _value(self, logs: Logs | None) -> float | None:
        if self.mode == "auto":
            name, held = self.monitor.removeprefix("val_"), [getattr(m, "metrics", [m]) for m in self.model.metrics]
            kinds = [type(metric).__name__ for metrics in held for metric in metrics if metric.name == name]
            grows = any(word in called.lower() for called in (name, *kinds) for word in _GROWING)
            self.monitor_op = operator.gt if grows else operator.lt
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{type(self).__name__}: there is no metric `{self.monitor}`; available are {', '.join(logs or {})}",
                stacklevel=2,
            )
        return value

    def _is_better(self, value: float, than: float | None) -> bool:
        """Whether it improves on what was best; the first number does, as in Keras 3, also if it is NaN."""
        if than is None:
            return True
        delta = self.min_delta if self.monitor_op is operator.gt else -self.min_delta
        return self.monitor_op(value - delta, than)


class EarlyStopping(_Monitor):
    """Ends the training once a number has not improved for some epochs.

    Parameters
    ----------
    monitor : str
        ``"val_loss"``, ``"accuracy"``, ...
    min_delta : float
        By how much it must improve.
    patience : int
        How many epochs without an improvement are waited for.
    verbose : int
        Whether to say so.
    mode : {"auto", "min", "max"}
        What an improvement is.
    baseline : float, optional
        What must be reached within `patience` epochs.
    restore_best_weights : bool
        Whether to go back to the weights of the best epoch.
    start_from_epoch : int
        Epochs before this one do not count.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Start to count."""
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best = self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Compare with the best epoch so far."""
        value = self._value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._is_better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._is_better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Go back to the best weights, if asked."""
        if self.verbose and self.stopped_epoch:
            sys.stdout.write(f"Epoch {self.stopped_epoch + 1}: early stopping\n")
        if self.restore_best_weights and self.best_weights is not None:
            self.model.set_weights(self.best_weights)


class ReduceLROnPlateau(_Monitor):
    """Multiplies the learning rate by a factor once a number has not improved for some epochs.

    Parameters
    ----------
    monitor, mode, min_delta, verbose
        As in `EarlyStopping`.
    factor : float
        Less than 1.
    patience : int
    cooldown : int
        How many epochs do not count after a reduction.
    min_lr : float
        The rate does not become less than this.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}")
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Start to count."""
        self.wait = self.cooldown_counter = 0
        self.best = None

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Note the rate, and compare with the best epoch so far."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
        value = self._value(logs)
        if value is None:
            return
        cooling = self.cooldown_counter > 0
        if cooling:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        rate = float(self.model.optimizer.learning_rate)
        if rate <= self.min_lr:
            return
        new = max(rate * self.factor, self.min_lr)
        self.model.optimizer.learning_rate = new
        if self.verbose:
            sys.stdout.write(f"Epoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {new}.\n")
        self.cooldown_counter, self.wait = self.cooldown, 0


class ModelCheckpoint(_Monitor):
    """Saves the weights after epochs, or after some numbers of steps.

    Parameters
    ----------
    filepath : str or path
        What the names of the files begin with; ``{epoch}`` and the numbers of the epoch (``{val_loss:.2f}``) are filled
        in.
    monitor, mode, verbose
        As in `EarlyStopping`.
    save_best_only : bool
        Whether to save only where the number has improved.
    save_weights_only : bool
        Whether only the weights are saved, for `load_weights`: as HDF5 or as a TensorFlow checkpoint, as the name says.
        Else the model as a whole, for `load_model`.
    save_freq : "epoch" or int
        After how many steps; ``{batch}`` in `filepath` is then the number of the step in its epoch.
    initial_value_threshold : float, optional
        What the number must be better than at first.

    Raises
    ------
    ValueError
        If the model as a whole is to be saved, and the name does not end in ``.keras`` or ``.h5``.
    NotImplementedError
        If the model is one of a graph.
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode, 0.0)
        if not save_weights_only and not os.fspath(filepath).endswith((".keras", ".h5", ".hdf5")):
            raise ValueError(
                f"ModelCheckpoint: to save the model as a whole, `filepath` must end in .keras or .h5, got "
                f"{filepath!r}; save_weights_only=True saves the weights under any name"
            )
        self.save_weights_only = save_weights_only
        if save_freq != "epoch" and (not isinstance(save_freq, int) or save_freq < 1):
            raise ValueError(f"ModelCheckpoint: `save_freq` must be 'epoch' or a number of steps, got {save_freq!r}")
        self.filepath, self.verbose, self.save_best_only = os.fspath(filepath), verbose, save_best_only
        self.save_freq = save_freq
        self.best = initial_value_threshold
        self._steps = self._epoch = 0
        self._seen = -1

    def set_model(self, model: Any) -> None:
        """Ask whether its weights can be saved."""
        if not hasattr(model, "save_weights"):
            raise NotImplementedError("ModelCheckpoint: the variables of a graph are saved by train.Saver")
        super().set_model(model)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Note which epoch it is."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Save after so many steps."""
        self._steps += batch + 1 if batch <= self._seen else batch - self._seen
        self._seen = batch
        if self.save_freq != "epoch" and self._steps >= self.save_freq:
            self._steps = 0
            self._save(logs, batch=batch + 1)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Save after the epoch."""
        if self.save_freq == "epoch":
            self._save(logs)

    def _save(self, logs: Logs | None, **more: int) -> None:
        if self.save_best_only:
            value = self._value(logs)
            if value is not None and not self._is_better(value, self.best):
                return
            self.best = self.best if value is None else value
        try:
            path = self.filepath.format(**(names := {"epoch": self._epoch + 1, **more, **(logs or {})}))
        except KeyError as error:
            raise KeyError(
                f"ModelCheckpoint: `filepath` {self.filepath!r} asks for {error}; there are {', '.join(names)}"
            ) from None
        (self.model.save_weights if self.save_weights_only else self.model.save)(path)
        if self.verbose:
            sys.stdout.write(f"\nEpoch {self._epoch + 1}: saving model to {path}\n")


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Parameters
    ----------
    schedule : callable
        ``schedule(epoch, rate)`` or ``schedule(epoch)``.
    verbose : int
        Whether to say so.
    """

    def __init__(self, schedule: Callable[..., Any], verbose: int = 0) -> None:
        self.schedule, self.verbose = schedule, verbose
        self._takes_rate = len(inspect.signature(schedule).parameters) > 1

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Set the rate."""
        optimizer = self.model.optimizer
        now = (float(optimizer.learning_rate),) if self._takes_rate else ()
        rate = float(self.schedule(epoch, *now))
        optimizer.learning_rate = rate
        if self.verbose:
            sys.stdout.write(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.\n")

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Note the rate."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class TerminateOnNaN(Callback):
    """Ends the training once a loss is not finite."""

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Look at the loss."""
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            sys.stdout.write(f"Batch {batch}: Invalid loss, terminating training\n")
            self.model.stop_training = True


class CSVLogger(Callback):
    """Writes the numbers of each epoch to a file.

    Parameters
    ----------
    filename : str or path
    separator : str
    append : bool
        Whether to write behind what the file has.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        self.filename, self.separator, self.append = filename, separator, append

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Begin with an empty file, if asked."""
        self._keys: list[str] | None = None
        if not self.append:
            with open(self.filename, "w", encoding="utf-8"):
                pass

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """One more line."""
        numbers = logs or {}
        with open(self.filename, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=self.separator)
            if self._keys is None:
                self._keys = sorted(numbers)
                if not any(key.startswith("val_") for key in self._keys):
                    # an evaluation may come after a later epoch
                    self._keys += [f"val_{key}" for key in self._keys]
                if not file.tell():
                    writer.writerow(["epoch", *self._keys])
            writer.writerow([epoch, *[numbers.get(key, "NA") for key in self._keys]])


__all__ = [
    "CSVLogger", "Callback", "EarlyStopping", "History", "LambdaCallback", "LearningRateScheduler",
    "ModelCheckpoint", "ReduceLROnPlateau", "TerminateOnNaN",
]  # fmt: skip
