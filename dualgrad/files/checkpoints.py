"""Checkpoints of either version by name, and the file ``checkpoint`` that says which one of a folder is the newest."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import atomic, bundle, limits, v1
from dualgrad.files.bundle import BundleReader, index_file
from dualgrad.files.protos import CheckpointState
from dualgrad.files.tensors import dtype_name
from dualgrad.files.text_format import quoted
from dualgrad.files.text_format_parser import parse
from engine.core.dtypes import DType, as_dtype
from engine.core.operands import Array, Operand
from engine.runtime.errors import DataLossError, NotFoundError
from engine.runtime.faces import Shown

STATE_FILE = "checkpoint"


# ---- one checkpoint --------------------------------------------------------------------------------------------------


class CheckpointReader(Shown):
    """The tensors of a checkpoint of either version, with the methods that TensorFlow's reader has.

    Parameters
    ----------
    filepattern : str
        What the names of its files begin with, as `Saver.save` returned it.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.
    DataLossError
        If it is damaged.
    """

    def __init__(self, filepattern: str) -> None:
        prefix = os.fspath(filepattern)
        is_bundle = Path(index_file(prefix)).is_file()
        if not is_bundle and not v1.files(prefix):
            raise NotFoundError(
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}"
            )
        self.prefix = prefix
        with limits.damage(prefix):
            self._reader: Any = BundleReader(prefix) if is_bundle else v1.V1Reader(prefix)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name."""
        return self._reader.has_tensor(tensor_str)

    def get_tensor(self, tensor_str: str) -> Array:
        """A tensor as an array; a scalar string as bytes.

        Raises
        ------
        NotFoundError
            If there is none of that name.
        DataLossError
            If it is damaged.
        """
        with limits.damage(self.prefix):
            array = self._reader.tensor(tensor_str)
        return array[()] if array.ndim == 0 else array

    def stored(self, name: str) -> bundle.Stored | Array:
        """A tensor that is not damaged: where it lies if it can be read into its place, else as an array."""
        with limits.damage(self.prefix):
            found = self._reader.stored(name) if isinstance(self._reader, BundleReader) else None
        return np.asarray(self.get_tensor(name)) if found is None else found

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of all tensors."""
        return {name: list(self.shape(name)) for name in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtypes of all tensors; a name, where we have no such dtype."""
        return {name: self.dtype(name) for name in self._reader.names()}

    def dtype(self, name: str) -> DType | str:
        """The dtype of a tensor; its name, where we have no such dtype."""
        label = dtype_name(self._reader.data_type(name))
        try:
            return as_dtype(label)
        except TypeError:
            return label

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self._reader.shape(name)

    def debug_string(self) -> bytes:
        """Names, dtypes and shapes, a line each."""
        with limits.damage(self.prefix):
            return bundle.describe(self._reader).encode(errors="surrogateescape")


def exists(prefix: str) -> bool:
    """Whether there is a checkpoint whose files begin so."""
    prefix = os.fspath(prefix)
    if not prefix:
        return False
    if glob.glob(glob.escape(prefix) + ".index") or glob.glob(prefix + ".index"):
        return True
    return Path(prefix).name != STATE_FILE and bool(v1.files(prefix))


def resolved(ckpt_dir_or_file: str) -> str:
    """A checkpoint's prefix: of the newest one, if a folder is given.

    Raises
    ------
    ValueError
        If the folder has none.
    """
    path = os.fspath(ckpt_dir_or_file)
    if not Path(path).is_dir():
        return path
    newest = latest(path)
    if newest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )  # fmt: skip
    return newest


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """The names and shapes of the tensors of a checkpoint, or of the newest one of a folder."""
    reader = CheckpointReader(resolved(ckpt_dir_or_file))
    return sorted(reader.get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str, name: str) -> Operand:
    """A tensor of a checkpoint, or of the newest one of a folder. ``":0"`` behind the name is left out."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """A reader of a checkpoint, or of the newest one of a folder."""
    return CheckpointReader(resolved(ckpt_dir_or_file))


def remove(prefix: str, meta_graph_suffix: str = "meta") -> None:
    """Remove a checkpoint's files."""
    folder = os.path.dirname(prefix) or "."
    if not os.path.isdir(folder):
        return
    with atomic.locked(folder):  # or a checkpoint that another process is saving under this name would lose a part
        for file in (index_file(prefix), *bundle.data_files(prefix), f"{prefix}.{meta_graph_suffix}"):
            atomic.remove(file)
        if Path(prefix).is_file():
            atomic.remove(prefix)


# ---- the state of a folder -------------------------------------------------------------------------------------------


def get_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """The contents of a folder's file ``checkpoint``, with the folder before relative paths; None if there is none.

    Raises
    ------
    DataLossError
        If it is damaged, or does not say which is the newest.
    """
    folder = os.fspath(checkpoint_dir)
    path = os.path.join(folder, latest_filename or STATE_FILE)
    if not Path(path).is_file():
        return None
    with limits.damage(path):
        state = parse(CheckpointState, atomic.read(path))
    if not state.model_checkpoint_path:
        raise DataLossError(f"{path}: Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = _below(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [_below(folder, p) for p in state.all_model_checkpoint_paths]
    return state


def _below(folder: str, path: str) -> str:
    return path if os.path.isabs(path) else os.path.join(folder, path)


def update_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Write the file ``checkpoint`` of a folder, in one step.

    Raises
    ------
    ValueError
        If there are not as many times as paths.
    RuntimeError
        If the state would have the name of a checkpoint.
    """
    paths = [os.fspath(p) for p in all_model_checkpoint_paths or ()]
    newest = os.fspath(model_checkpoint_path)
    if newest not in paths:
        paths.append(newest)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got {len(times)} timestamps and "
            f"{len(paths)} paths)"
        )
    folder = os.fspath(save_dir)
    if save_relative_paths or not os.path.isabs(folder):
        newest, *paths = [_relative(p, folder, save_relative_paths) for p in (newest, *paths)]
    lines = [f"model_checkpoint_path: {quoted(newest)}"]
    lines += [f"all_model_checkpoint_paths: {quoted(p)}" for p in paths]
    lines += [f"all_model_checkpoint_timestamps: {t!r}" for t in times]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {last_preserved_timestamp!r}")
    path = os.path.join(folder, latest_filename or STATE_FILE)
    if path == os.path.join(folder, newest):
        raise RuntimeError(
            f"Save path {newest!r} conflicts with path used for checkpoint state. Please use a different save path."
        )
    atomic.write(path, ["".join(f"{line}\n" for line in lines).encode()])


def _relative(path: str, folder: str, always: bool) -> str:
    return os.path.relpath(path, folder) if always or not os.path.isabs(path) else path


def latest(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The prefix of the newest checkpoint of a folder, None if there is none.

    The file ``checkpoint`` says which it is; a checkpoint that it names and that is not there does not count.
    """
    state = get_state(checkpoint_dir, latest_filename)
    if state is None or not is_there(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def is_there(prefix: str) -> bool:
    """Whether there is a checkpoint of that very name: what a file names is no pattern."""
    return Path(index_file(prefix)).is_file() or Path(prefix).is_file()


def written_at(prefixes: Sequence[str]) -> list[float]:
    """When checkpoints were written, in seconds, of those that are there."""
    times = []
    for prefix in prefixes:
        for name in (index_file(os.fspath(prefix)), os.fspath(prefix)):
            if Path(name).is_file():
                times.append(Path(name).stat().st_mtime)
                break
    return times
