"""Files of records: TFRecord, and the event files that are made of them.

A record is its length (8 bytes), the checksum of the length, the data, and the checksum of the data.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from dualgrad.files import limits
from dualgrad.files.crc32c import masked_crc32c
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError

_HEAD = struct.Struct("<QI")
_TAIL = struct.Struct("<I")


def record(data: bytes) -> bytes:
    """The data as a record.

    Examples
    --------
    >>> len(record(b"abc")) - len(b"abc")
    16
    """
    length = struct.pack("<Q", len(data))
    return length + _TAIL.pack(masked_crc32c(length)) + data + _TAIL.pack(masked_crc32c(data))


def compression_name(kind: Any) -> str:
    """``""``, ``"GZIP"`` or ``"ZLIB"``, whatever way a program says it."""
    kind = getattr(kind, "compression_type", kind)
    name = {None: "", 0: "", 1: "ZLIB", 2: "GZIP"}.get(kind, kind) if isinstance(kind, (int, type(None))) else kind
    name = name.decode() if isinstance(name, bytes) else name
    if name not in ("", "GZIP", "ZLIB"):
        raise InvalidArgumentError(f"Unsupported compression_type: {kind!r}; it must be '', 'GZIP' or 'ZLIB'")
    return name


def opened(path: str | Path, compression: Any = None) -> IO[bytes]:
    """A file for reading, decompressed.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    kind = compression_name(compression)
    try:
        if kind == "GZIP":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NotFoundError(f"{path}; No such file or directory") from None
    if kind == "ZLIB":
        return io.BufferedReader(limits.Inflated(file))
    return file


def read_records(path: str | Path, compression: Any = None, partial: bool = False) -> Iterator[bytes]:
    """The records of a file.

    Parameters
    ----------
    path : str or Path
    compression : {None, "", "GZIP", "ZLIB"}
    partial : bool
        Whether a record may be cut at the end of the file, which is being written then.

    Raises
    ------
    NotFoundError
        If there is no such file.
    DataLossError
        If it is damaged, and the message says at which byte; or if a record is larger than its limit
        (`dualgrad.files.limits`).
    """
    with limits.damage(path, InvalidArgumentError), opened(path, compression) as file:
        at = 0
        while head := file.read(_HEAD.size):
            if len(head) < _HEAD.size:
                if partial:
                    return
                raise DataLossError(f"{path}: truncated record at byte {at}")
            length, crc = _HEAD.unpack(head)
            if masked_crc32c(head[:8]) != crc:
                raise DataLossError(f"{path}: corrupted record at byte {at}: the checksum of its length is wrong")
            limits.require(length, path, f"the record at byte {at}")
            data, tail = file.read(length), file.read(4)
            if len(data) < length or len(tail) < 4:
                if partial:
                    return
                raise DataLossError(f"{path}: truncated record at byte {at}")
            if masked_crc32c(data) != _TAIL.unpack(tail)[0]:
                raise DataLossError(f"{path}: corrupted record at byte {at}: the checksum of its data is wrong")
            yield data
            at += _HEAD.size + length + _TAIL.size


class RecordWriter:
    """Writes records to a file.

    Parameters
    ----------
    path : str or Path
    options : str or TFRecordOptions, optional
        How to compress.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> with RecordWriter(path, "GZIP") as writer:
    ...     writer.write(b"one")
    >>> list(read_records(path, "GZIP"))
    [b'one']
    """

    def __init__(self, path: str | Path, options: Any = None) -> None:
        kind = compression_name(options)
        self._compress = {"": None, "GZIP": 31, "ZLIB": 15}[kind]
        self._zip = None if self._compress is None else zlib.compressobj(wbits=self._compress)
        try:
            self._file: Any = open(path, "wb")  # noqa: SIM115 - `close` closes it
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"{path}; No such file or directory") from None

    def write(self, record_: Any) -> None:
        """Add a record."""
        if self._file is None:
            raise ValueError("the writer is closed")
        data = record(bytes(record_.encode() if isinstance(record_, str) else record_))
        self._file.write(data if self._zip is None else self._zip.compress(data))

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self._zip is not None:
            self._file.write(self._zip.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            if self._zip is not None:
                self._file.write(self._zip.flush())
            self._file.close()
            self._file = None

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
