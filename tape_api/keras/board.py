"""The callback that writes a training down for TensorBoard."""

from __future__ import annotations

import os
from typing import Any

from dualgrad.keras.callbacks import Callback, Logs
from dualgrad.keras.models import Sequential
from tape_api import summary


class TensorBoard(Callback):
    """Writes the numbers of epochs, and of steps if asked, to event files: training in ``train``, else ``validation``.

    Parameters
    ----------
    log_dir : str or path
    histogram_freq : int
        After how many epochs there are histograms of the weights; 0 for none.
    write_graph : bool
        Accepted for compatibility: a model on tapes has no graph to be written.
    write_images, embeddings_freq, embeddings_metadata, profile_batch
        Must be as they are by default: there is nothing of the kind.
    write_steps_per_second : bool
        Must be False.
    update_freq : "epoch", "batch" or int
        After how many steps numbers of steps are written.

    Raises
    ------
    NotImplementedError
        If something is asked for that is not written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tape_api as tf
    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> board = tf.keras.callbacks.TensorBoard(tempfile.mkdtemp())
    >>> _ = model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=[board])
    >>> os.listdir(board.log_dir)
    ['train']
    """

    def __init__(
        self,
        log_dir: Any = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: Any = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
    ) -> None:
        asked = {
            "write_images": write_images,
            "write_steps_per_second": write_steps_per_second,
            "embeddings_freq": embeddings_freq,
            "embeddings_metadata": embeddings_metadata,
        }
        wrong = [name for name, value in asked.items() if value]
        if wrong:
            raise NotImplementedError(
                f"TensorBoard: {', '.join(wrong)}: not written. Write them with tf.summary in a Callback of your own"
            )
        # 2 was the default until TensorFlow 2.6
        if profile_batch not in (0, 2, None):
            raise NotImplementedError(
                "TensorBoard: `profile_batch`: TensorFlow's profiler is out of scope: use cProfile"
            )
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers: dict[str, Any] = {}
        self._steps = 0

    def _writer(self, kind: str) -> Any:
        if kind not in self._writers:
            self._writers[kind] = summary.create_file_writer(os.path.join(self.log_dir, kind))
        return self._writers[kind]

    def _write(self, kind: str, prefix: str, logs: Logs, step: int, suffix: str = "") -> None:
        if logs:
            with self._writer(kind).as_default():
                for name, value in logs.items():
                    summary.scalar(f"{prefix}{name}{suffix}", value, step=step)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Count the steps from the first one."""
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """The numbers of a step, if asked."""
        self._steps += 1
        if self.update_freq != "epoch" and self._steps % self.update_freq == 0:
            self._write("train", "batch_", logs or {}, self._steps)

    def on_test_end(self, logs: Logs | None = None) -> None:
        """The numbers of an evaluation, by the steps of the optimizer."""
        optimizer: Any = getattr(self.model, "optimizer", None)
        if hasattr(optimizer, "iterations"):
            self._write("validation", "evaluation_", logs or {}, int(optimizer.iterations), "_vs_iterations")

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """The numbers of an epoch, with the learning rate, and histograms."""
        numbers = logs or {}
        trained = {name: value for name, value in numbers.items() if not name.startswith("val_")}
        optimizer: Any = getattr(self.model, "optimizer", None)
        if hasattr(optimizer, "learning_rate"):
            trained["learning_rate"] = float(optimizer.learning_rate)
        self._write("train", "epoch_", trained, epoch)
        validated = {name.removeprefix("val_"): x for name, x in numbers.items() if name.startswith("val_")}
        self._write("validation", "epoch_", validated, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            above = f"{self.model.name}/" if isinstance(self.model, Sequential) else ""
            with self._writer("train").as_default():
                for layer in self.model.layers:
                    for weight in layer.weights:
                        name = weight.name.removesuffix(":0").removeprefix(f"{layer.name}/")
                        summary.histogram(f"{above}{layer.name}/{name}/histogram", weight, step=epoch)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Finish the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
