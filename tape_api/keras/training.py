"""`compile`, `fit`, `evaluate`, `predict`: the loop around a gradient tape."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.gradient_tape import GradientTape
from optim import keras as optimizers
from tape_api import random
from tape_api.keras import losses, metrics
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor


class History:
    """What `fit` returns.

    Attributes
    ----------
    history : dict of str to list of float
        The loss and each metric, per epoch.
    epoch : list of int
    """

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def append(self, epoch: int, logs: dict[str, float]) -> None:
        """One more epoch."""
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)


class Trainer:
    """The part of a model that trains it."""

    optimizer: Any = None
    loss: Any = None
    _metrics: Sequence[Any] = ()

    def compile(
        self, optimizer: Any = "rmsprop", loss: Any = None, metrics: Sequence[Any] | None = None, **ignored: Any
    ) -> None:
        """Say how to train.

        Parameters
        ----------
        optimizer : str or optimizer
        loss : str or callable
            ``loss(y_true, y_pred)``; the mean of what it returns is minimised.
        metrics : list of (str or metric), optional
            ``"accuracy"`` stands for the accuracy that fits the loss.
        **ignored
            Accepted for compatibility (``run_eagerly``, ``jit_compile``, ...).
        """
        self.optimizer = optimizers.get(optimizer)
        self.loss = losses.get(loss)
        self._metrics = [self._metric(m) for m in metrics or ()]

    def _metric(self, metric: Any) -> Any:
        if metric in ("accuracy", "acc"):
            name = str(getattr(self.loss, "name", None) or getattr(self.loss, "__name__", ""))
            kind = {
                "sparse_categorical_crossentropy": metrics.SparseCategoricalAccuracy,
                "categorical_crossentropy": metrics.CategoricalAccuracy,
                "binary_crossentropy": metrics.BinaryAccuracy,
            }.get(name, metrics.Accuracy)
            return kind(name=metric)
        return metrics.get(metric)

    def _require_compiled(self) -> None:
        if self.optimizer is None:
            raise ValueError("You must call `compile()` before using the model.")

    def _loss_of(self, y: Any, predictions: Any) -> Any:
        total = tf.reduce_mean(convert_to_tensor(self.loss(y, predictions)))
        return tf.add_n([total, *self.losses]) if self.losses else total  # type: ignore[attr-defined]

    def train_step(self, data: tuple[Any, Any]) -> dict[str, Any]:
        """One step of the optimizer on a batch ``(x, y)``; the loss and the metrics so far."""
        x, y = data
        with GradientTape() as tape:
            predictions = self(x, training=True)  # type: ignore[operator]
            loss = self._loss_of(y, predictions)
        variables = self.trainable_variables  # type: ignore[attr-defined]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return self._logs(loss, y, predictions)

    def test_step(self, data: tuple[Any, Any]) -> dict[str, Any]:
        """The loss and the metrics of a batch ``(x, y)``, without training."""
        x, y = data
        predictions = self(x, training=False)  # type: ignore[operator]
        return self._logs(self._loss_of(y, predictions), y, predictions)

    def _logs(self, loss: Any, y: Any, predictions: Any) -> dict[str, Any]:
        return {"loss": loss, **{m.name: m(y, predictions) for m in self._metrics}}

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
        **unsupported: Any,
    ) -> History:
        """Train on data.

        Parameters
        ----------
        x, y : array or tensor
            Inputs and labels, with as many rows; or `x` an iterable of batches ``(x, y)``. When an iterator has no more
            of them, training ends with a warning, as in Keras.
        batch_size : int, optional
            By default 32.
        epochs : int
        verbose : {"auto", 0, 1, 2}
            Whether to print a line after each epoch.
        validation_data : tuple (x, y), optional
            Evaluated after each epoch.
        shuffle : bool
            Whether the rows come in another random order in each epoch.
        initial_epoch : int
            The number of the first epoch.

        Returns
        -------
        History
        """
        self._require_compiled()
        if unsupported:
            raise NotImplementedError(f"fit: arguments {sorted(unsupported)} are not supported; write your own loop")
        history = History()
        for epoch in range(initial_epoch, epochs):
            logs = self._run(self.train_step, batches(x, y, batch_size or 32, shuffle))
            if not logs:
                warnings.warn(
                    f"fit: the input ran out of data before epoch {epoch + 1} of {epochs}; training ends here. An "
                    f"iterator gives its batches once: let it go on for ever, or give a list of batches",
                    stacklevel=2,
                )
                break
            if validation_data is not None:
                x_test, y_test = validation_data[:2]
                found = self._run(self.test_step, batches(x_test, y_test, batch_size or 32))
                logs.update({f"val_{name}": value for name, value in found.items()})
            history.append(epoch, logs)
            if verbose:
                _say(f"Epoch {epoch + 1}/{epochs}", logs)
        return history

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        return_dict: bool = False,
    ) -> Any:
        """The loss and the metrics on data: a number if there are no metrics, else a list, or a dict."""
        self._require_compiled()
        logs = self._run(self.test_step, batches(x, y, batch_size or 32))
        if verbose:
            _say("Evaluation", logs)
        if return_dict:
            return logs
        return list(logs.values()) if len(logs) > 1 else logs["loss"]

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto") -> Any:
        """The outputs for all rows of `x`, as an array."""
        outputs = [self(batch) for batch, _ in batches(x, None, batch_size or 32)]  # type: ignore[operator]
        return np.concatenate([out.numpy() for out in outputs])

    def _run(self, step: Any, data: Iterable[Any]) -> dict[str, float]:
        """The steps of one epoch; mean loss, and the metrics over all of it."""
        for metric in self._metrics:
            metric.reset_state()
        mean = metrics.Mean()
        logs: dict[str, Any] = {}
        for batch in data:
            logs = step(batch)
            mean.update_state(logs["loss"], sample_weight=len(batch[0]))
        return {name: float(mean.result() if name == "loss" else value) for name, value in logs.items()}


def batches(x: Any, y: Any, batch_size: int, shuffle: bool = False) -> Iterator[tuple[Any, Any]]:
    """The rows of `x` and `y` in batches; an iterable of batches as it is."""
    if y is None and not hasattr(x, "shape"):
        yield from x
        return
    x, y = np.asarray(x), None if y is None else np.asarray(y)
    if y is not None and len(x) != len(y):
        raise ValueError(f"x and y must have as many rows, got {len(x)} and {len(y)}")
    order = random.shuffle(np.arange(len(x))).numpy() if shuffle else np.arange(len(x))
    for start in range(0, len(x), batch_size):
        rows = order[start : start + batch_size]
        yield x[rows], None if y is None else y[rows]


def _say(what: str, logs: dict[str, float]) -> None:
    sys.stdout.write(f"{what} - {' - '.join(f'{name}: {value:.4f}' for name, value in logs.items())}\n")
