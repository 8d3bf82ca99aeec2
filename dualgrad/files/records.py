"""Files of records: TFRecord, and the event files that are made of them.

A record is its length (8 bytes), the checksum of the length, the data, and the checksum of the data.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

from dualgrad.files import limits
from dualgrad.files.crc32c import masked_crc32c
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError
from engine.runtime.faces import Shown

_HEAD = struct.Struct("<QI")
_TAIL = struct.Struct("<I")
_BLOCK = 1 << 16


@dataclass(eq=False)
class TFRecordOptions:
    """How a file of records is compressed.

    Parameters
    ----------
    compression_type : {None, "", "GZIP", "ZLIB"}
    flush_mode, input_buffer_size, output_buffer_size : optional
        Accepted for compatibility: they change no byte of what is decompressed.
    window_bits, compression_level, compression_method, mem_level, compression_strategy : int, optional
        As `zlib.compressobj` takes them.

    Raises
    ------
    ValueError
        If there is no such compression.

    Examples
    --------
    >>> TFRecordOptions("GZIP", compression_level=9).compression_level
    9
    """

    compression_type_map: ClassVar[dict[int, str]] = {0: "", 1: "ZLIB", 2: "GZIP"}

    compression_type: Any = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    def __post_init__(self) -> None:
        self.get_compression_type_string(self.compression_type)

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """``""``, ``"GZIP"`` or ``"ZLIB"``, whatever way options say it."""
        return compression_name(options)

    def _for_zlib(self) -> dict[str, Any]:
        """Arguments for zlib, but for the size of the window."""
        names = {"level": "compression_level", "method": "compression_method", "memLevel": "mem_level"}
        names["strategy"] = "compression_strategy"
        return {name: value for name, held in names.items() if (value := getattr(self, held)) is not None}


class TFRecordCompressionType:
    """The compressions, by the numbers that programs of TensorFlow 1 say."""

    NONE, ZLIB, GZIP = 0, 1, 2


def record(data: bytes) -> bytes:
    """The data as a record.

    Examples
    --------
    >>> len(record(b"abc")) - len(b"abc")
    16
    """
    length = struct.pack("<Q", len(data))
    return b"".join((length, _TAIL.pack(masked_crc32c(length)), data, _TAIL.pack(masked_crc32c(data))))


def compression_name(kind: Any) -> str:
    """``""``, ``"GZIP"`` or ``"ZLIB"``, whatever way a program says it."""
    kind = getattr(kind, "compression_type", kind)
    name = {None: "", 0: "", 1: "ZLIB", 2: "GZIP"}.get(kind, kind) if isinstance(kind, (int, type(None))) else kind
    name = name.decode() if isinstance(name, bytes) else name
    if name not in ("", "GZIP", "ZLIB"):
        raise InvalidArgumentError(f"Not a valid compression_type: {kind!r}; use '', 'GZIP' or 'ZLIB'")
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
        at, here, block = 0, 0, b""  # what is at `here` in the block is at `at` in the file
        while True:
            if len(block) - here < _HEAD.size:
                block, here = block[here:] + file.read(_BLOCK), 0
            if len(block) == here:
                return
            end = here + _HEAD.size
            if len(block) >= end:
                length, crc = _HEAD.unpack_from(block, here)
                if masked_crc32c(block[here : here + 8]) != crc:
                    raise DataLossError(f"{path}: corrupted record at byte {at}: the checksum of its length is wrong")
                end += length + _TAIL.size
                if len(block) < end:
                    limits.require(length, path, f"the record at byte {at}")
                    block = block[here:] + file.read(end - len(block) + _BLOCK)
                    here, end = 0, end - here
            if len(block) < end:
                if partial:
                    return
                raise DataLossError(f"{path}: truncated record at byte {at}")
            data = block[here + _HEAD.size : end - _TAIL.size]
            if masked_crc32c(data) != _TAIL.unpack_from(block, end - _TAIL.size)[0]:
                raise DataLossError(f"{path}: corrupted record at byte {at}: the checksum of its data is wrong")
            yield data
            at, here = at + end - here, end


class RecordWriter(Shown):
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
        self._zip = None
        if kind:
            more = options if isinstance(options, TFRecordOptions) else TFRecordOptions(kind)
            bits = (more.window_bits or 15) + (16 if kind == "GZIP" else 0)
            self._zip = zlib.compressobj(wbits=bits, **more._for_zlib())
        try:
            self._file: Any = open(path, "wb")  # noqa: SIM115 - `close` closes it
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"{path}; No such file or directory") from None

    def write(self, record_: Any) -> None:
        """Add a record."""
        if self._file is None:
            raise ValueError("the writer is closed")
        held = record_ if type(record_) is bytes else bytes(record_.encode() if isinstance(record_, str) else record_)
        data = record(held)
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
