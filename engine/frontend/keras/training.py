"""`compile`, `fit`, `evaluate`, `predict`: the loop around a gradient tape."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.frontend.keras import functions as tf
from engine.frontend.keras import losses, metrics
from engine.frontend.keras.callbacks import Callback, CallbackList, History
from engine.frontend.keras.host import Bound
from engine.frontend.keras.metrics import Metric
from engine.gradient_tape import GradientTape


class Trainer(Bound):
    """The part of a model that trains it."""

    optimizer: Any = None
    loss: Any = None
    _metrics: Sequence[Any] = ()
    history: Any = None
    stop_training: bool = False

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
        self.optimizer = self.host.optimizers.get(optimizer)
        self.loss = losses.get(self.host, loss)
        self._metrics = [self._metric(m) for m in metrics or ()]

    def _metric(self, metric: Any) -> Metric:
        if metric in ("accuracy", "acc"):
            name = str(getattr(self.loss, "name", None) or getattr(self.loss, "__name__", ""))
            kind = {
                "sparse_categorical_crossentropy": metrics.SparseCategoricalAccuracy,
                "categorical_crossentropy": metrics.CategoricalAccuracy,
                "binary_crossentropy": metrics.BinaryAccuracy,
            }.get(name, metrics.Accuracy)
            return self.host.bound(kind)(name=metric)
        return metrics.get(self.host, metric)

    def _require_compiled(self) -> None:
        if not self.host.eager:
            raise NotImplementedError(
                "fit, evaluate and predict are not supported in graphs: minimize a loss of the model's outputs with an "
                "optimizer of tf.train in a session, or train the model with tape_api"
            )
        if self.optimizer is None:
            raise ValueError("You must call `compile()` before using the model.")

    def _loss_of(self, y: Any, predictions: Any) -> Operand:
        total = tf.reduce_mean(self.host.tensor(self.loss(y, predictions)))
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
        callbacks: Sequence[Callback] | Callback | None = None,
        steps_per_epoch: int | None = None,
        validation_split: float = 0.0,
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
        callbacks : list of Callback, optional
            Called between steps and epochs.
        steps_per_epoch : int, optional
            After how many batches an epoch ends at the latest. The next one goes on behind them; data that have come to
            their end begin anew.
        validation_split : float
            Which part of the rows, the last ones, is kept for the evaluation.

        Returns
        -------
        History
        """
        self._require_compiled()
        if unsupported:
            raise NotImplementedError(f"fit: arguments {sorted(unsupported)} are not supported; write your own loop")
        if validation_split:
            x, y, validation_data = _split(x, y, validation_split)
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
            data = itertools.chain(ahead, data) if ahead else batches(x, y, batch_size or 32, order_of)
            logs = self._run(self.train_step, itertools.islice(data, steps_per_epoch), told)
            if not logs:
                warnings.warn(
                    f"fit: the input ran out of data before epoch {epoch + 1} of {epochs}; training ends here. An "
                    f"iterator gives its batches once: let it go on for ever, or give a list of batches",
                    stacklevel=2,
                )
                break
            if validation_data is not None:
                found = self._validated(validation_data, batch_size or 32, told)
                logs.update({f"val_{name}": value for name, value in found.items()})
            told.tell("on_epoch_end", epoch, logs)
            if verbose:
                _say(f"Epoch {epoch + 1}/{epochs}", logs)
            if self.stop_training:
                break
        told.tell("on_train_end")
        self.history = history
        return history

    def _validated(self, data: Any, batch_size: int, told: CallbackList) -> dict[str, float]:
        told.tell("on_test_begin")
        x, y = data[:2] if isinstance(data, (tuple, list)) else (data, None)
        found = self._run(self.test_step, batches(x, y, batch_size))
        told.tell("on_test_end", found)
        return found

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        return_dict: bool = False,
    ) -> float | list[float] | dict[str, float]:
        """The loss and the metrics on data: a number if there are no metrics, else a list, or a dict."""
        self._require_compiled()
        logs = self._run(self.test_step, batches(x, y, batch_size or 32))
        if verbose:
            _say("Evaluation", logs)
        if return_dict:
            return logs
        return list(logs.values()) if len(logs) > 1 else logs["loss"]

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto") -> np.ndarray:
        """The outputs for all rows of `x`, as an array."""
        if not self.host.eager:
            self._require_compiled()
        outputs = [self(batch) for batch, _ in batches(x, None, batch_size or 32)]  # type: ignore[operator]
        return np.concatenate([out.numpy() for out in outputs])

    def _run(self, step: Any, data: Iterable[Any], told: CallbackList | None = None) -> dict[str, float]:
        """The steps of one epoch; mean loss, and the metrics over all of it."""
        for metric in self._metrics:
            metric.reset_state()
        mean = self.host.bound(metrics.Mean)()
        logs: dict[str, Any] = {}
        for i, batch in enumerate(data):
            if told is not None:
                told.tell("on_train_batch_begin", i)
            logs = step(batch)
            mean.update_state(logs["loss"], sample_weight=len(batch[0]))
            if told is not None:
                told.tell("on_train_batch_end", i, {name: float(value) for name, value in logs.items()})
                if self.stop_training:
                    break
        return {name: float(mean.result() if name == "loss" else value) for name, value in logs.items()}


def _split(x: Any, y: Any, part: float) -> tuple[Any, Any, tuple[Any, Any]]:
    """The first rows, and the last ones."""
    if not 0 < part < 1 or not hasattr(x, "shape"):
        raise ValueError("fit: `validation_split` must be in (0, 1), and x and y arrays")
    x, y = np.asarray(x), np.asarray(y)
    at = int(len(x) * (1 - part))
    return x[:at], y[:at], (x[at:], y[at:])


def batches(x: Any, y: Any, batch_size: int, order_of: Callable[[int], Any] | None = None) -> Iterator[tuple[Any, Any]]:
    """The rows of `x` and `y` in batches; an iterable of batches as it is."""
    if y is None and not hasattr(x, "shape"):
        # `yield from` would close a generator of the user's that has more to give
        for batch in x:  # noqa: UP028
            yield batch
        return
    x, y = np.asarray(x), None if y is None else np.asarray(y)
    if y is not None and len(x) != len(y):
        raise ValueError(f"x and y must have as many rows, got {len(x)} and {len(y)}")
    order = np.arange(len(x)) if order_of is None else order_of(len(x))
    for start in range(0, len(x), batch_size):
        rows = order[start : start + batch_size]
        yield x[rows], None if y is None else y[rows]


def _say(what: str, logs: dict[str, float]) -> None:
    sys.stdout.write(f"{what} - {' - '.join(f'{name}: {value:.4f}' for name, value in logs.items())}\n")
