"""Checkpoints of the first version, which Saver wrote until 2016: one table of slices of tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad.files import atomic, limits, table
from dualgrad.files.bundle import TensorReader, slice_of
from dualgrad.files.protos import SavedSliceMeta, SavedTensorSlices
from dualgrad.files.tensors import array_of, numpy_dtype, shape_of
from engine.runtime.errors import DataLossError


class V1Reader(TensorReader):
    """The tensors of a checkpoint of the first version.

    Parameters
    ----------
    path : str
        The file. Of a checkpoint in several files (``-00000-of-00002``) only what that file has.

    Raises
    ------
    NotFoundError
        If there is no such file.
    DataLossError
        If it is no checkpoint, or damaged.
    """

    def __init__(self, path: str) -> None:
        self.prefix = path
        data = atomic.read(path)
        with limits.damage(path):
            rows = table.items(data, path)
            key, first = next(rows, (b"?", b""))
            if key:
                raise DataLossError(
                    f"{path}: a checkpoint of the first version begins with a description, this does not"
                )
            self.entries: dict[str, SavedSliceMeta] = {
                t.name: t for t in SavedTensorSlices.FromString(first).meta.tensor
            }
            self._rows = [value for _, value in rows]
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
        limits.require(math.prod(shape) * dtype.itemsize, self.prefix, f"tensor {name!r}")
        out = np.zeros(shape, dtype)
        covered = 0
        for part in self._parts.get(name, ()):
            where = slice_of(part.slice)
            region = out[where]
            region[...] = array_of(part.data, entry.type, region.shape)
            covered += region.size
        if covered != out.size:
            raise DataLossError(f"{self.prefix}: {covered} of {out.size} elements of tensor {name!r} are there")
        return out
