"""HDF5 files, opened so that nothing outside of them is reached, and nothing larger than a limit is unpacked."""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files import limits
from dualgrad.files.bundle import Stored
from engine.runtime.errors import DataLossError, UnimplementedError

_DEEPEST = 100
_LARGE = 1 << 16
"""Bytes from which on an array is read into its place."""
_TEXTS = (b"model_config", b"training_config", b"layer_names", b"weight_names")
_LONGEST = max(map(len, _TEXTS))
_OF_ANY_LENGTH = 9
"""The class of datatypes whose elements lie in heaps."""


class _NoPackageError(UnimplementedError, NotImplementedError):
    """The package that reads HDF5 files is not installed: nothing is wrong with the file."""


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
        raise _NoPackageError(
            f"{path}: HDF5 files need the package h5py (pip install h5py); a name without an ending makes a TensorFlow "
            f"checkpoint, which needs nothing"
        ) from None


@contextmanager
def opened(path: str, contents: limits.Part | None = None) -> Iterator[Any]:
    """A file to be read, of which everything but the numbers has been looked at.

    Parameters
    ----------
    path : str
        Its name, also for messages.
    contents : Part, optional
        What is read in its place: a member of an archive. Its file is closed.

    Raises
    ------
    FileNotFoundError
        If there is none.
    DataLossError
        If it is no HDF5 file, is damaged or too large, or has links (soft, or to other files) or data that lie in
        other files (external, virtual).
    """
    h5py = module(path)
    if contents is None:
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {path}")
        contents = limits.Part(open(path, "rb", buffering=0), 0, os.path.getsize(path))  # noqa: SIM115 - closed below
    with closing(contents.file):
        held = _Bytes(path, contents)
        with limits.damage(path):
            if not len(held):
                raise DataLossError(f"{path}: the file is empty")
            if held[:8] != b"\x89HDF\r\n\x1a\n":
                raise DataLossError(f"{path}: this is no HDF5 file")
            file = h5py.File(held, "r")
        before = _source.set(held)
        try:
            with limits.damage(path):
                _examine(h5py, file, path)
            yield file
        finally:
            _source.reset(before)
            file.close()


class _Bytes(io.RawIOBase):
    """The bytes of a file, for the HDF5 library, which asks for what it needs, and for looking at what it is told.

    Texts that would have the library take any amount of memory or time are refused before it sees them. The layouts
    are in sections III.E (global heap), IV.A.2.b (dataspace) and IV.A.2.m (attribute) of the HDF5 file format
    specification.
    """

    def __init__(self, path: str, part: limits.Part) -> None:
        self.path, self.part, self._at = path, part, 0

    def __len__(self) -> int:
        return self.part.size

    def __getitem__(self, places: Any) -> Any:
        first, last, _ = (places if isinstance(places, slice) else slice(places, places + 1)).indices(len(self))
        self.part.file.seek(self.part.start + first)
        held = self.part.file.read(max(last - first, 0))
        return held if isinstance(places, slice) else held[0]

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self)}[whence]
        return self._at

    def readinto(self, room: Any) -> int:
        """Fill a piece of memory; how much was there."""
        first, held = self._at, self[self._at : self._at + len(room)]
        self._at += len(held)
        before, behind = self[max(first - _LONGEST, 0) : first], self[self._at : self._at + _LONGEST]
        self._require_sound_texts(before + held + behind, first - len(before))
        room[: len(held)] = held
        return len(held)

    def _require_sound_texts(self, held: bytes, first: int) -> None:
        """Refuse an attribute, whose name is among some bytes, of which a text does not lie in a heap that ends."""
        for name in _TEXTS:
            at = -1
            while (at := held.find(name + b"\0", at + 1)) >= 0:
                for size, address in _texts(self, first + at, len(name) + 1):
                    if size > len(self) or not _is_sound_heap(self, address):
                        raise DataLossError(
                            f"{self.path}: the attribute {name.decode()} at byte {first + at} is damaged"
                        )


_source: ContextVar[_Bytes] = ContextVar("source")
"""The file that is opened."""


def _is_sound_heap(held: Any, at: int) -> bool:
    """Whether a heap is there whose pieces end; where one has no length, the library would go round and round."""
    if held[max(at, 0) : at + 5] != b"GCOL\x01":
        return False
    end, place = at + int.from_bytes(held[at + 8 : at + 16], "little"), at + 16
    while place + 16 <= end <= len(held):
        index, length = struct.unpack("<H6xQ", held[place : place + 16])
        if not (index or length):
            return False
        place += (length + 7) // 8 * 8 + 16 if index else length
    return place <= end <= len(held)


def _texts(held: Any, at: int, size: int) -> Iterator[tuple[int, int]]:
    """The lengths of the texts of an attribute whose name is at a place, and the addresses of their heaps."""
    for before in (8, 9):  # from the third version on there is a byte for the set of characters
        start = at - before
        version, flags, *sizes = struct.unpack("<BB3H", held[start : start + 8]) if start >= 0 else (0, 0, 0)
        if version not in ((1, 2) if before == 8 else (3,)) or sizes[0] != size:
            continue
        if flags:  # its datatype lies elsewhere, where its lengths cannot be told from here
            yield 0, -1
            continue
        unit = 8 if version == 1 else 1
        kind = at + -(-sizes[0] // unit) * unit
        space = kind + -(-sizes[1] // unit) * unit
        if held[kind] & 15 != _OF_ANY_LENGTH:
            continue
        dims = space + (8 if held[space] == 1 else 4)
        count = math.prod(struct.unpack(f"<{held[space + 1]}Q", held[dims : dims + 8 * held[space + 1]]))
        first = space + -(-sizes[2] // unit) * unit
        for length, address, _ in struct.iter_unpack("<IQI", held[first : first + 16 * min(count, len(held))]):
            if length:
                yield length, address


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
        for text in map(bytes.decode, _TEXTS):
            if text in group.attrs:
                _require_text(h5py, group.attrs.get_id(text), path, f"the attribute {text} of {place or '/'}")
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


def _require_text(h5py: Any, held: Any, path: str, what: str) -> None:
    """Refuse an attribute that is to be text and is not; an empty list is one of numbers.

    The library opens an attribute whose elements lie in heaps and are of no kind that it knows (neither sequences nor
    text), and jumps to a null pointer when it reads one.
    """
    limits.require(16 * math.prod(held.shape or ()), path, what)
    if not isinstance(held.get_type(), (h5py.h5t.TypeStringID, h5py.h5t.TypeFloatID)):
        raise DataLossError(f"{path}: {what} is no text")


def _size(held: Any, path: str, at: str) -> int:
    """The bytes of an array and of one of its chunks, which are unpacked at once."""
    if held.external or held.is_virtual:
        raise DataLossError(f"{path}: the numbers of {at} lie in another file; only those of this file are read")
    return held.dtype.itemsize * (math.prod(held.shape or ()) + math.prod(held.chunks or (0,)))


def numbers(held: Any) -> np.ndarray | Stored:
    """The numbers that a data set holds; anything else is refused."""
    if held.dtype.kind not in "biufc":
        raise DataLossError(f"{held.name} is no array of numbers but of dtype {held.dtype}")
    path, (file, first, _) = (source := _source.get()).path, source.part
    size, start = held.nbytes, held.id.get_offset()
    as_in_memory = held.dtype.kind in "iuf" and held.dtype.isnative and held.chunks is None
    if size >= _LARGE and as_in_memory and start is not None and held.id.get_storage_size() == size:
        return Stored(held.name, held.shape, held.dtype, path, file, first + start, size)
    array: np.ndarray = held[()]
    return array
