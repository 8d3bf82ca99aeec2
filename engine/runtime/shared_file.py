"""A file in memory: what large arrays go through from one process of a machine to another, instead of a pipe.

What is sent is pickled, its large buffers beside it. They are written to the file, each once however many objects hold
it, and whoever unpickles maps them read-only: nobody copies them. The file is in no folder. The kernel takes it back
when the process that made it closes it or is no more, so nothing is left over however a call ends.
"""

from __future__ import annotations

import atexit
import itertools
import mmap
import os
import pickle
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from typing import Any

import numpy as np

from engine.runtime.tuning import TUNING

_LARGE = TUNING.shared_bytes
"""Bytes of a buffer from which on it goes through the file."""
_KEPT = TUNING.shared_kept
"""Bytes of a file that is kept for the next call: memory that is new is mapped page by page, which takes as long."""
_ALIGNMENT = 64
_numbers = itertools.count()
_open: weakref.WeakSet[FileIO] = weakref.WeakSet()
_free: list[tuple[FileIO, str]] = []


def _forget() -> None:
    """Close all: a process that is forked has no part in the files of its parent, and must not keep their memory."""
    for file in list(_open):
        file.close()
    _free.clear()


atexit.register(_forget)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _opened(path: str, name: str, mode: str) -> FileIO:
    """The file, opened once more; its path may be another file's by now, if a call was called off."""
    file = FileIO(path, mode)
    if os.readlink(f"/proc/self/fd/{file.fileno()}") != f"/memfd:{name} (deleted)":
        file.close()
        raise FileNotFoundError(f"{name} is closed")
    return file


def _made() -> tuple[FileIO, str]:
    name = f"dualgrad-{os.getpid()}-{next(_numbers)}"
    file = FileIO(os.memfd_create(name), "r+")
    _open.add(file)
    try:
        _opened(_path(file), name, "r+").close()
    except OSError:
        file.close()
        raise
    return file, name


def _path(file: FileIO) -> str:
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


@contextmanager
def shared_file() -> Iterator[Room | None]:
    """Room in a file for as long as the context lasts; None where the system has no such files."""
    try:
        file, name = _free.pop() if len(_free) else _made()
    except (AttributeError, IndexError, OSError):
        yield None
        return
    try:
        yield Room(_path(file), name)
    except BaseException:
        # workers may still write to it
        file.close()
        raise
    if os.fstat(file.fileno()).st_size > _KEPT:
        file.close()
        return
    _free.append((file, name))
    # one is kept, or none where several threads find one too many at once
    while len(_free) > 1:
        with suppress(IndexError):
            _free.pop()[0].close()


@dataclass(frozen=True)
class Packed:
    """An object that was pickled, and where in the file its large buffers are: (start, size) each."""

    pickled: bytes
    places: list[tuple[int, int]]
    path: str
    name: str

    def load(self) -> Any:
        """The object. Its large arrays are read-only, and hold only until the call ends."""
        if not self.places:
            return pickle.loads(self.pickled)
        with _opened(self.path, self.name, "r") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return pickle.loads(self.pickled, buffers=[memory[start : start + size] for start, size in self.places])


@dataclass
class Room:
    """A part of the file that one process writes to: from `start` to `stop` it is free yet."""

    path: str
    name: str
    start: int = 0
    stop: int = sys.maxsize
    _known: dict[tuple[int, int], tuple[tuple[int, int], memoryview]] = field(default_factory=dict)

    def part(self, size: int) -> Room:
        """Room for so many bytes, for somebody else."""
        start = self.start
        self.start += _aligned(size)
        return Room(self.path, self.name, start, self.start)

    def pack(self, thing: Any) -> Packed:
        """Pickle something; what there is no room or memory for stays in the pickle."""
        places: list[tuple[int, int]] = []
        with _opened(self.path, self.name, "r+") as file:

            def stays(buffer: pickle.PickleBuffer) -> bool:
                place = self._place(buffer.raw(), file.fileno())
                if place is not None:
                    places.append(place)
                return place is None

            pickled = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL, buffer_callback=stays)
        return Packed(pickled, places, self.path, self.name)

    def _place(self, raw: memoryview, file: int) -> tuple[int, int] | None:
        size = raw.nbytes
        if size < _LARGE:
            return None
        key = np.frombuffer(raw, np.uint8).ctypes.data, size
        if key not in self._known:
            if self.start + size > self.stop or not _written(file, raw, self.start):
                return None
            # with the buffer, whose address nobody else is to get meanwhile
            self._known[key] = (self.start, size), raw
            self.start += _aligned(size)
        return self._known[key][0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Room, (self.path, self.name, self.start, self.stop)


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT


def _written(file: int, raw: memoryview, at: int) -> bool:
    """Whether there was memory for it: a write says so, where touching a mapped page would end the process."""
    try:
        while raw.nbytes:
            count = os.pwrite(file, raw, at)
            raw, at = raw[count:], at + count
    except OSError:
        return False
    return True
