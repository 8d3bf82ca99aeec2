"""Training that goes on after an interruption: ``tf.keras.callbacks.BackupAndRestore``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dualgrad.files.atomic import write
from dualgrad.keras.callbacks import Callback
from engine.runtime.errors import DataLossError
from tape_api.files.checkpoint import Checkpoint

_NOTE = "training_metadata.json"


class BackupAndRestore(Callback):
    """Saves weights and optimizer while `fit` trains, and lets the next `fit` go on from there.

    Parameters
    ----------
    backup_dir : str or path
        A folder for nothing else.
    save_freq : "epoch" or int
        Save after each epoch, or after so many steps. An epoch that was cut off is trained anew, from these weights.
    double_checkpoint : bool
        Whether to keep the backup before, too.
    delete_checkpoint : bool
        Whether to remove the backup once the training has come to its end.

    Raises
    ------
    ValueError
        If there is no folder, or `save_freq` is something else.

    Examples
    --------
    >>> import tempfile
    >>> import tape_api as tf
    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> backup = tf.keras.callbacks.BackupAndRestore(tempfile.mkdtemp())
    >>> model.fit(tf.ones([4, 1]), tf.ones([4, 1]), epochs=2, verbose=0, callbacks=[backup]).epoch
    [0, 1]
    """

    def __init__(
        self, backup_dir: Any, save_freq: Any = "epoch", double_checkpoint: bool = False, delete_checkpoint: bool = True
    ) -> None:
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and (isinstance(save_freq, bool) or not isinstance(save_freq, int)):
            raise ValueError(
                f"Invalid value for argument `save_freq`. Received: save_freq={save_freq}. Expected either 'epoch' or "
                f"an integer value."
            )
        self.backup_dir, self.save_freq = Path(backup_dir), save_freq
        self.double_checkpoint, self.delete_checkpoint = double_checkpoint, delete_checkpoint
        self._epoch = self._steps = 0

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(model=self.model, optimizer=self.model.optimizer)

    def _note(self) -> Mapping[str, Any] | None:
        """The note of the last backup; None if there is none."""
        try:
            held = json.loads((self.backup_dir / _NOTE).read_text())
            names = [held["name"], *held["before"]]
            if all(isinstance(n, str) and n == os.path.basename(n) for n in names) and isinstance(held["epoch"], int):
                return dict(held)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            pass
        raise DataLossError(f"{self.backup_dir / _NOTE} is not the note of a backup: remove the folder to begin anew")

    def on_train_begin(self, logs: Any = None) -> None:
        """Go back to the backup, if there is one."""
        note = self._note()
        self._epoch = self._steps = 0
        if note is not None:
            self._checkpoint().restore(str(self.backup_dir / note["name"])).expect_partial()
            self._epoch = self.model._initial_epoch = note["epoch"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Note which epoch it is."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save, if it is time."""
        self._steps += 1
        if self.save_freq != "epoch" and self._steps % self.save_freq == 0:
            self._save()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save, if that is when."""
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._save()

    def _save(self) -> None:
        """Write a checkpoint, then the note that names it, then remove what is older."""
        note = self._note()
        known = [] if note is None else [note["name"], *note["before"]]
        kept = known[:1] if self.double_checkpoint else []
        name = next(n for i in range(len(known) + 1) if (n := f"backup-{i}") not in known)
        self.backup_dir.mkdir(parents=True, exist_ok=True)
        self._checkpoint().write(str(self.backup_dir / name))
        write(self.backup_dir / _NOTE, [json.dumps({"epoch": self._epoch, "name": name, "before": kept}).encode()])
        self._remove([n for n in known if n not in kept])

    def _remove(self, names: list[str]) -> None:
        for name in names:
            for path in self.backup_dir.glob(f"{name}.*"):
                path.unlink()

    def on_train_end(self, logs: Any = None) -> None:
        """Remove the backup, if asked: its own files, and the folder once it is empty."""
        note = self._note()
        if note is None or not self.delete_checkpoint:
            return
        self._remove([note["name"], *note["before"]])
        (self.backup_dir / _NOTE).unlink()
        if not any(self.backup_dir.iterdir()):
            self.backup_dir.rmdir()


__all__ = ["BackupAndRestore"]
