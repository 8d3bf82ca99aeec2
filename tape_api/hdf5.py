"""HDF5 files, opened so that nothing outside of them is reached, and nothing larger than a limit is unpacked."""

from __future__ import annotations

import io
import math
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.core.errors import DataLossError
from engine.io import limits

_DEEPEST = 100
_HEAP = b"GCOL\x01"


def module(path: Any) -> Any:
    """The module that reads and writes HDF5 files.

    Raises
    ------
    NotImplementedError
        If it is not installed.
    """
    try:
        return import_module("h5py")
    except ImportError:
        raise NotImplementedError(
            f"{path}: HDF5 files need the package h5py (pip install h5py); a name without an ending makes a TensorFlow "
            f"checkpoint, which needs nothing"
        ) from None


@contextmanager
def opened(path: str, contents: bytes | None = None) -> Iterator[Any]:
    """A file to be read, of which everything but the numbers has been looked at.

    Parameters
    ----------
    path : str
        Its name, also for messages.
    contents : bytes, optional
        What is read in its place: a member of an archive.

    Raises
    ------
    FileNotFoundError
        If there is none.
    DataLossError
        If it is no HDF5 file, is damaged or too large, or has links (soft, or to other files) or data that lie in
        other files (external, virtual).
    """
    h5py = module(path)
    if contents is None and not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    with limits.damage(path):
        _require_sound_heaps(path, contents)
        file = h5py.File(path if contents is None else io.BytesIO(contents), "r")
    try:
        with limits.damage(path):
            _examine(h5py, file, path)
        yield file
    finally:
        file.close()


def _require_sound_heaps(path: str, contents: bytes | None) -> None:
    """Refuse heaps of strings in which the HDF5 library would go round and round: where a piece has no length.

    The layout is in section III.E of the HDF5 file format specification.
    """
    with open(path, "rb") as file:
        if contents is None and os.fstat(file.fileno()).st_size == 0:
            raise DataLossError(f"{path}: the file is empty")
        held: Any = contents if contents is not None else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        at = held.find(_HEAP)
        while at >= 0:
            end = at + int.from_bytes(held[at + 8 : at + 16], "little")
            place = at + 16
            while place + 16 <= end <= len(held):
                index, size = int.from_bytes(held[place : place + 2], "little"), held[place + 8 : place + 16]
                length = int.from_bytes(size, "little")
                place += (length + 7) // 8 * 8 + 16 if index else length
                if place > end or not (index or length):
                    raise DataLossError(f"{path}: the heap at byte {at} is damaged")
            at = held.find(_HEAP, at + 1)


def _examine(h5py: Any, file: Any, path: str) -> None:
    """Go through a file once; an object that two names have is looked at once."""
    if file.id.get_create_plist().get_sizes() != (8, 8):
        raise DataLossError(f"{path}: addresses and lengths in the file have other than 8 bytes")
    total, seen, left = 0, set(), [("", file, 0)]
    while left:
        place, group, depth = left.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen or depth > _DEEPEST:
            raise DataLossError(f"{path}: group {place!r} is inside itself, or too deep")
        seen.add(address)
        for name in group:
            at = f"{place}/{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise DataLossError(f"{path}: {at} is a link, which may lead anywhere; files with links are not read")
            held = group[name]
            if isinstance(held, h5py.Group):
                left.append((at, held, depth + 1))
            elif isinstance(held, h5py.Dataset):
                total += _size(held, path, at)
                limits.require(total, path, "all that it holds")
            else:
                raise DataLossError(f"{path}: {at} is neither a group nor an array")


def _size(held: Any, path: str, at: str) -> int:
    """The bytes of an array and of one of its chunks, which are unpacked at once."""
    if held.external or held.is_virtual:
        raise DataLossError(f"{path}: the numbers of {at} lie in another file; only those of this file are read")
    return held.dtype.itemsize * (math.prod(held.shape or ()) + math.prod(held.chunks or (0,)))


def written(path: Any, fill: Callable[[Any], None]) -> bytes:
    """The contents of a file that a function fills."""
    buffer = io.BytesIO()
    with module(path).File(buffer, "w") as file:
        fill(file)
    return buffer.getvalue()
