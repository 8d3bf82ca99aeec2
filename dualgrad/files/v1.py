"""Checkpoints of the first version, which Saver wrote until 2016: one table of slices of tensors."""

from __future__ import annotations

import glob
import math
import os
from typing import Any

import numpy as np

from dualgrad.files import atomic, limits, table
from dualgrad.files.bundle import TensorReader, slice_of
from dualgrad.files.protos import SavedSliceMeta, SavedTensorSlices
from dualgrad.files.tensors import array_of, numpy_dtype, shape_of
from engine.runtime.errors import DataLossError


def files(prefix: str) -> list[str]:
    """The files of a checkpoint of the first version: one of that name, or those of all shards, if there are any.

    Savers call several files ``prefix-00000-of-00002``, or all of them ``prefix-?????-of-00002``.

    Raises
    ------
    DataLossError
        If one of several is missing.
    """
    if os.path.isfile(prefix):
        return [prefix]
    found = sorted(glob.glob(prefix) if "?" in prefix else glob.glob(f"{glob.escape(prefix)}-[0-9]????-of-[0-9]????"))
    counts = {path.rpartition("-of-")[2] for path in found}
    if found and (len(counts) > 1 or len(found) != int(counts.pop())):
        raise DataLossError(f"{prefix}: of several files some are missing; there are {', '.join(found)}")
    return found


class V1Reader(TensorReader):
    """The tensors of a checkpoint of the first version.

    Parameters
    ----------
    prefix : str
        What `files` takes. Of one of several files, only what that file has.

    Raises
    ------
    NotFoundError
        If there is no such file.
    DataLossError
        If it is no checkpoint, or damaged, or one of several files is missing.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.entries: dict[str, SavedSliceMeta] = {}
        self._rows: list[bytes] = []
        paths = files(prefix) or [prefix]
        for path in paths:
            data = atomic.read(path)
            with limits.damage(path):
                rows = table.items(data, path)
                key, first = next(rows, (b"?", b""))
                if key:
                    raise DataLossError(
                        f"{path}: a checkpoint of the first version begins with a description, this does not"
                    )
                self.entries.update((t.name, t) for t in SavedTensorSlices.FromString(first).meta.tensor)
                self._rows += [value for _, value in rows]
        self._largest = max(paths, key=os.path.getsize)
        self._parts: dict[str, list[Any]] | None = None

    def data_type(self, name: str) -> int:
        """The DataType of a tensor."""
        return self._entry(name).type

    def tensor(self, name: str) -> np.ndarray:
        """A tensor, put together from its slices."""
        entry = self._entry(name)
        with limits.damage(self.prefix):
            return self._tensor(name, entry)

    def _tensor(self, name: str, entry: SavedSliceMeta) -> np.ndarray:
        if self._parts is None:
            parts: dict[str, list[Any]] = {}
            for row in self._rows:
                saved = SavedTensorSlices.FromString(row).data
                parts.setdefault(saved.name, []).append(saved)
            self._parts, self._rows = parts, []
        shape, dtype = shape_of(entry.shape), numpy_dtype(entry.type)
        limits.require(math.prod(shape) * dtype.itemsize, self._largest, f"tensor {name!r}")
        out = np.zeros(shape, dtype)
        covered = 0
        for part in self._parts.get(name, ()):
            where: Any = (*slice_of(part.slice), ...)  # a view, also of a scalar
            region = out[where]
            region[...] = array_of(part.data, entry.type, region.shape)
            covered += region.size
        if covered != out.size:
            raise DataLossError(f"{self.prefix}: {covered} of {out.size} elements of tensor {name!r} are there")
        return out
