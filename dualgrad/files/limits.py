"""Limits that readers share: how much they unpack from a file, and one kind of error for what is wrong with it."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, NamedTuple

from engine.runtime.errors import DataLossError, NotFoundError, ResourceExhaustedError, UnimplementedError

VARIABLE = "DUALGRAD_READ_LIMIT"
_LEAST = 1 << 28
_RATIO = 100
_PASSED_ON = (NotFoundError, UnimplementedError, ResourceExhaustedError, FileNotFoundError, PermissionError)


def most_bytes(path: Any) -> int:
    """How many bytes a reader unpacks from a file: a hundred times its size, 256 MiB at least.

    The environment variable ``DUALGRAD_READ_LIMIT`` is another limit, in bytes.
    """
    return most_bytes_of(os.path.getsize(path))


def most_bytes_of(size: int, least: int = _LEAST) -> int:
    """As `most_bytes`, for a file of some size; another number of bytes may be the `least`."""
    limit = os.environ.get(VARIABLE)
    return int(limit) if limit else max(least, _RATIO * size)


def require(size: int, path: Any, what: str, most: int | None = None) -> None:
    """See that something is not too large to be unpacked, or to be made with what is there of `most` bytes.

    Raises
    ------
    DataLossError
        If it is. The message has the limit, and how to raise it.
    """
    most = most or most_bytes(path)
    if size > most:
        raise DataLossError(
            f"{path}: {what} has {size:,} bytes, more than the {most:,} that are read unasked. If it is to be trusted, "
            f"set {VARIABLE}={size} in the environment"
        )


class Part(NamedTuple):
    """A part of a file that is read without a buffer, as `unpacked` gives it.

    Attributes
    ----------
    file : file
        At `start`; to be closed by whoever has asked for the part.
    start, size : int
        Its first byte, and how many there are.
    """

    file: Any
    start: int
    size: int


def member(archive: zipfile.ZipFile, name: str, path: Any) -> bytes:
    """The contents of a member of a zip archive, no more than it announces; see `unpacked`."""
    part = unpacked(archive, name, path)
    with part.file as file:
        return bytes(file.read(part.size))


def unpacked(archive: zipfile.ZipFile, name: str, path: Any) -> Part:
    """The contents of a member of a zip archive: where they lie in it, or, if they are compressed, a temporary file.

    Raises
    ------
    DataLossError
        If there is no such member, or it is damaged or too large.
    """
    with damage(path):
        info = archive.getinfo(name)
        require(info.file_size, path, name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataLossError(f"{path}: {name} is compressed in a way that is not read ({info.compress_type})")
        is_stored = info.compress_type == zipfile.ZIP_STORED
        made = open(path, "rb", buffering=0) if is_stored else tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        try:
            size, start = 0, 0
            with archive.open(info) as packed:  # which checks the checksum, too
                while size <= info.file_size and (data := packed.read(1 << 20)):
                    size += len(data) if is_stored else made.write(data)
            if size != info.file_size:
                raise DataLossError(f"{path}: {name} has {size} bytes, not the {info.file_size} that are announced")
            if is_stored:  # behind its name and what else is said of it a second time
                if not os.path.sameopenfile(made.fileno(), archive.fp.fileno()):  # type: ignore[union-attr]
                    raise DataLossError(f"{path}: another file has taken its place while it was read")
                made.seek(info.header_offset + 26)
                start = info.header_offset + 30 + sum(struct.unpack("<HH", made.read(4)))
            made.seek(start)
            return Part(made, start, size)
        except BaseException:
            made.close()
            raise


_left: ContextVar[tuple[Any, int | None, list[int]] | None] = ContextVar("left", default=None)
"""The allowance of the reader in progress: the file's name, its limit if it has one, how many bytes were made of it."""


@contextmanager
def allowance(path: Any, most: int | None = None) -> Iterator[None]:
    """Inside, what is made because a file says so counts, all together, against `most`, or what is unpacked from it."""
    token = _left.set((path, most, [0]))
    try:
        yield
    finally:
        _left.reset(token)


def spend(size: int, what: str) -> None:
    """Say that so many bytes are about to be made.

    Raises
    ------
    DataLossError
        If a file says so (`allowance`), and it is more than its limit.
    """
    reader = _left.get()
    if reader is not None:
        path, most, spent = reader
        spent[0] += size
        require(spent[0], path, f"{what}, with what was made before,", most)


def gunzipped(file: Any, path: Any) -> bytes:
    """The contents of a gzip file, unpacked, if they are not too large.

    Parameters
    ----------
    file : binary file
    path : path
        Its name.
    """
    with damage(path), gzip.open(file) as unpacked:
        data: bytes = unpacked.read(most_bytes(path) + 1)
        require(len(data), path, "what it unpacks to")
        return data


class Inflated(io.RawIOBase):
    """A file of zlib's, unpacked as it is read.

    Parameters
    ----------
    file : binary file
        Closed with this one.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._zip = file, zlib.decompressobj()

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, room: Any) -> int:
        """Fill a piece of memory; how much was there."""
        while not self._zip.eof:
            held = self._zip.unconsumed_tail or self._file.read(1 << 16)
            data = self._zip.decompress(held, len(room))
            if data:
                room[: len(data)] = data
                return len(data)
            if not held:
                raise EOFError("compressed file ended before the end-of-stream marker was reached")
        return 0

    def close(self) -> None:
        """Close both."""
        self._file.close()
        super().close()


def require_fill(size: int, what: str) -> None:
    """See that what a message asks to be filled with one value is not too large.

    Raises
    ------
    ResourceExhaustedError
        If it is larger than 256 MiB, or than ``DUALGRAD_READ_LIMIT``.
    """
    most = int(os.environ.get(VARIABLE) or _LEAST)
    if size > most:
        raise ResourceExhaustedError(
            f"{what} would be filled with one value, {size:,} bytes, more than the {most:,} that are made of a few. If "
            f"the file is to be trusted, set {VARIABLE}={size} in the environment"
        )


@contextmanager
def damage(path: Any, *passed_on: type[Exception]) -> Iterator[None]:
    """Make a DataLossError with the file's name of whatever goes wrong while a file is read, but for some errors."""
    try:
        yield
    except Exception as error:  # a damaged file can lead anywhere: into a library, to a missing key, out of memory
        is_said = isinstance(error, DataLossError) and str(path) in str(error)
        if is_said or isinstance(error, (*_PASSED_ON, *passed_on)):
            raise
        kind = "" if isinstance(error, DataLossError) else f" ({type(error).__name__})"
        raise DataLossError(f"{path}: it is damaged, or is not what it should be: {error}{kind}") from error
