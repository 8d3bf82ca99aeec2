"""Checkpoints of the second version, "tensor bundles": ``PREFIX.index`` and ``PREFIX.data-00000-of-00001``.

The index is a table from the names of the tensors to where their bytes lie and what their checksum is; the empty name
stands for a header. `dualgrad.files.table` has the layout of tables.
"""

from __future__ import annotations

import glob
import io
import itertools
import math
import os
import struct
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise, starmap
from operator import call
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files import atomic, limits, table
from dualgrad.files.crc32c import crc32c, masked
from dualgrad.files.protos import BundleEntryProto, BundleHeaderProto, TensorSliceProto, VersionDef
from dualgrad.files.tensors import STRING, as_bytes, data_type, dtype_name, numpy_dtype, shape_of, shape_proto
from dualgrad.files.varints import read_varint, varint
from engine.runtime.commit import commit
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError

_VERSION = 1
_LARGE, _BLOCK, _AT_ONCE = 1 << 16, 1 << 22, 1 << 30
"""Bytes of a tensor from which on it is read into its place; that are checked at once; and read by one call."""


def index_file(prefix: str) -> str:
    """The name of a checkpoint's index."""
    return f"{prefix}.index"


def data_file(prefix: str, shard: int = 0, count: int = 1) -> str:
    """The name of a checkpoint's file of tensors."""
    return f"{prefix}.data-{shard:05d}-of-{count:05d}"


def data_files(prefix: str) -> list[str]:
    """The files of tensors that there are."""
    return sorted(glob.glob(f"{glob.escape(prefix)}.data-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]"))


# ---- reading ---------------------------------------------------------------------------------------------------------


class TensorReader:
    """The names of the tensors of a checkpoint, and what is said of each."""

    prefix: str
    entries: dict[str, Any]

    def has_tensor(self, name: str) -> bool:
        """Whether there is a tensor of that name."""
        return name in self.entries

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        with limits.damage(self.prefix):
            return shape_of(self._entry(name).shape)

    def names(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self.entries)

    def _entry(self, name: str) -> Any:
        if name not in self.entries:
            raise NotFoundError(f"Key {name} not found in checkpoint {self.prefix}")
        return self.entries[name]


class BundleReader(TensorReader):
    """The tensors of a checkpoint.

    Parameters
    ----------
    prefix : str
        What the names of its files begin with.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.
    DataLossError
        If the index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._file = index_file(prefix)
        self.entries: dict[str, BundleEntryProto] = {}
        self._slices: dict[bytes, BundleEntryProto] = {}
        self._count = self._read_index()
        self._shards: dict[int, Any] = {}
        self._reading = threading.Lock()

    def _read_index(self) -> int:
        header = None
        for key, value in table.items(atomic.read(self._file), self._file):
            if not key:
                header = BundleHeaderProto.FromString(value)
            elif key[0] == 0:
                self._slices[key] = BundleEntryProto.FromString(value)
            else:
                self.entries[key.decode(errors="surrogateescape")] = BundleEntryProto.FromString(value)
        if header is None:
            raise DataLossError(f"{self._file}: the index has no header")
        if header.endianness != 0:
            raise UnimplementedError(f"{self._file}: the checkpoint was written on a big-endian machine")
        if header.version.min_consumer > _VERSION:
            raise UnimplementedError(f"{self._file}: the format is version {header.version.min_consumer}, not 1")
        return header.num_shards

    def data_type(self, name: str) -> int:
        """The DataType of a tensor."""
        return self._entry(name).dtype

    def tensor(self, name: str) -> np.ndarray:
        """A tensor; strings are bytes in an array of objects.

        Raises
        ------
        NotFoundError
            If there is none of that name.
        DataLossError
            If its checksum is wrong, or its file too short.
        """
        entry = self._entry(name)
        if not entry.slices:
            return self._tensor(entry, f"tensor {name!r}")
        shape, keys = shape_of(entry.shape), [slice_key(name, part) for part in entry.slices]
        if not all(key in self._slices for key in keys):
            raise DataLossError(f"{self._file}: a part of tensor {name!r} is missing")
        count = sum(math.prod(shape_of(self._slices[key].shape)) for key in keys)
        if count != math.prod(shape):
            raise DataLossError(f"{self._file}: the parts of tensor {name!r} of shape {shape} have {count} elements")
        first = [self._tensor(self._slices[key], f"a part of tensor {name!r}") for key in keys[:1]]
        out = np.zeros(shape, numpy_dtype(entry.dtype))
        for part, key in zip(entry.slices, keys, strict=True):
            out[slice_of(part)] = (
                first.pop() if first else self._tensor(self._slices[key], f"a part of tensor {name!r}")
            )
        return out

    def stored(self, name: str) -> Stored | None:
        """A tensor as it lies in its file, whose bytes have the right checksum; None if it must be read as a whole."""
        entry = self._entry(name)
        if entry.size < _LARGE or entry.dtype == STRING or entry.slices or sys.byteorder != "little":
            return None
        stored = self._stored(entry, f"tensor {name!r}")
        block, crc = memoryview(bytearray(min(entry.size, _BLOCK))), 0
        for start in range(0, entry.size, _BLOCK):
            part = block[: min(_BLOCK, entry.size - start)]
            self._fill(stored, part, start)
            crc = crc32c(part, crc)
        self._check(stored, crc)
        return stored

    def _tensor(self, entry: BundleEntryProto, what: str) -> np.ndarray:
        shape, dtype = shape_of(entry.shape), numpy_dtype(entry.dtype)
        stored = self._stored(entry, what)
        if entry.dtype == STRING:
            raw = memoryview(bytearray(entry.size))
            self._fill(stored, raw)
            return _strings(raw, math.prod(shape), entry.crc32c, f"{self.prefix}: {what}").reshape(shape)
        out = np.empty(shape, dtype.newbyteorder("<"))
        raw = memoryview(out.reshape(-1).view(np.uint8).data)
        self._fill(stored, raw)
        self._check(stored, crc32c(raw))
        return out.astype(dtype, copy=False)

    def _stored(self, entry: BundleEntryProto, what: str) -> Stored:
        """Where a tensor lies, as far as the file is as long as the index says."""
        shape, dtype = shape_of(entry.shape), numpy_dtype(entry.dtype)
        name = data_file(self.prefix, entry.shard_id, self._count)
        with self._reading:
            if entry.shard_id not in self._shards:
                if not Path(name).is_file():
                    raise NotFoundError(f"{name}; No such file or directory")
                # held open, so that it can be read when another checkpoint has taken its place
                number = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
                self._shards[entry.shard_id] = io.FileIO(number, closefd=False)
                weakref.finalize(self._shards[entry.shard_id], os.close, number)
        file = self._shards[entry.shard_id]
        length, end = os.fstat(file.fileno()).st_size, entry.offset + entry.size
        if not 0 <= entry.offset <= end <= length:
            raise DataLossError(f"{name}: the file has {length} bytes; {what} ends at {end}")
        if entry.dtype != STRING and entry.size != math.prod(shape) * dtype.itemsize:
            raise DataLossError(f"{self._file}: {what} of shape {shape} has {entry.size} bytes")
        return Stored(what, shape, dtype, name, file, entry.offset, entry.size, entry.crc32c)

    def _fill(self, stored: Stored, room: memoryview, start: int = 0) -> None:
        with self._reading:
            stored.require_all(list(starmap(call, stored.reads(room, start))), len(room))

    def _check(self, stored: Stored, crc: int) -> None:
        if masked(crc) != stored.crc:
            raise DataLossError(
                f"{stored.name}: the checksum of {stored.what} (bytes {stored.offset} to "
                f"{stored.offset + stored.size}) is wrong: the file is damaged"
            )


class Stored(NamedTuple):
    """A tensor that lies in a file, where its bytes are looked for only when there is room for them.

    Attributes
    ----------
    what : str
        For messages.
    shape, dtype
        As of an array.
    name, file
        The file.
    offset, size, crc : int
        Where its bytes are, and their checksum.
    """

    what: str
    shape: tuple[int, ...]
    dtype: np.dtype
    name: str
    file: Any
    offset: int
    size: int
    crc: int = 0

    def reads(self, room: memoryview, start: int = 0) -> list[tuple[Any, ...]]:
        """Calls of C functions, by turns one that goes to a place, and one that reads from there and says how much."""
        calls: list[tuple[Any, ...]] = []
        for at in range(0, len(room), _AT_ONCE):
            calls += [(self.file.seek, self.offset + start + at), (self.file.readinto, room[at : at + _AT_ONCE])]
        return calls

    def array(self) -> np.ndarray:
        """The tensor as an array."""
        out = np.empty(self.shape, self.dtype)
        read_into([(self, out)], ())
        return out

    def require_all(self, results: Sequence[int], size: int) -> None:
        """Raise DataLossError unless `reads` has read so much."""
        if sum(results[1::2]) != size:
            raise DataLossError(f"{self.name}: the file was cut while {self.what} was read")


def read_into(places: Sequence[tuple[Stored, np.ndarray]], writes: Iterable[tuple[Any, ...]]) -> None:
    """Read tensors into memory, and make the changes by which it is found, as `engine.runtime.commit` makes them.

    No interrupt comes between two reads. Who finds the memory after one that came later finds the new values.
    """
    calls = [stored.reads(memoryview(out.reshape(-1).view(np.uint8).data)) for stored, out in places]
    results = iter(list(starmap(call, chain.from_iterable(calls))))
    commit(writes)
    for (stored, _), made in zip(places, calls, strict=True):
        stored.require_all(list(islice(results, len(made))), stored.size)


def _strings(raw: Any, count: int, expected: int, what: str) -> np.ndarray:
    """Strings: their lengths, a checksum of these, and their bytes."""
    at, lengths = 0, []
    for _ in range(count):
        length, at = read_varint(raw, at)
        lengths.append(length)
    own = crc32c(_as_words(lengths))
    stored = bytes(raw[at : at + 4])
    if len(stored) < 4 or struct.unpack("<I", stored)[0] != masked(own):
        raise DataLossError(f"{what}: the checksum of the strings' lengths is wrong: the file is damaged")
    at += 4
    if at + sum(lengths) != len(raw):
        raise DataLossError(f"{what}: the strings have {sum(lengths)} bytes, the file has {len(raw) - at}")
    if masked(crc32c(raw[at:], crc32c(stored, own))) != expected:
        raise DataLossError(f"{what}: the checksum is wrong: the file is damaged")
    ends = accumulate(lengths, initial=at)
    return np.fromiter((bytes(raw[begin:end]) for begin, end in pairwise(ends)), object, count)


def _as_words(lengths: Iterable[int]) -> bytes:
    """Lengths as they are checksummed: 32 bits each, 64 if they need them."""
    return b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths)


def slice_of(part: TensorSliceProto) -> tuple[slice, ...]:
    """The part of a tensor as an index."""
    return tuple(
        [slice(e.start, e.start + e.length) if e.WhichOneof("has_length") else slice(None) for e in part.extent]
    )


def slice_key(name: str, part: TensorSliceProto) -> bytes:
    """The key of a part of a tensor: name, rank, and start and length of each dimension, so that keys sort alike."""
    raw = name.encode()
    escaped = raw.replace(b"\0", b"\0\xff").replace(b"\xff", b"\xff\0") if b"\0" in raw or b"\xff" in raw else raw
    out = b"\0" + escaped + b"\0\x01" + _ordered(len(part.extent))
    for extent in part.extent:
        whole = not extent.WhichOneof("has_length")
        out += _ordered_signed(0 if whole else extent.start) + _ordered_signed(-1 if whole else extent.length)
    return out


def _ordered(number: int) -> bytes:
    """A count as its length in bytes and the bytes, highest first."""
    size = (number.bit_length() + 7) // 8
    return bytes((size,)) + number.to_bytes(size, "big")


def _ordered_signed(number: int) -> bytes:
    """A signed number, as many leading ones as it takes bytes; negative ones inverted."""
    magnitude = ~number if number < 0 else number
    size = magnitude.bit_length() // 7 + 1
    header = ((1 << size) - 1) << (8 * size - size)
    if size > 8:
        raise InvalidArgumentError(f"a dimension of {number} elements is too large for a checkpoint's key")
    value = header | magnitude
    return (value ^ ((1 << 8 * size) - 1) if number < 0 else value).to_bytes(size, "big")


# ---- writing ---------------------------------------------------------------------------------------------------------


def write(prefix: str, tensors: Mapping[str, Any]) -> None:
    """Write a checkpoint.

    A checkpoint of the same name that is there stays whole until the new one is: the new tensors lie in a file of
    another name until the new index has replaced the old one. Saves to one folder wait for each other.

    Parameters
    ----------
    prefix : str
        What the names of its files begin with; the folder is made if need be.
    tensors : mapping of str to array
        Arrays of objects, bytes or str are strings.

    Raises
    ------
    TypeError
        If an array is of a dtype that TensorFlow does not have.
    """
    arrays = {name: np.asarray(tensors[name]) for name in sorted(tensors, key=str.encode)}
    for name, array in arrays.items():
        if not name:
            raise InvalidArgumentError("a tensor of a checkpoint must have a name, got ''")
        data_type(array)
    folder = os.path.dirname(prefix) or "."
    os.makedirs(folder, exist_ok=True)
    with atomic.locked(folder):
        _write(prefix, arrays)


def _write(prefix: str, arrays: Mapping[str, np.ndarray]) -> None:
    old = data_files(prefix)
    plain = data_file(prefix)
    if plain not in old:
        _write_shard(prefix, arrays, 0, 1)
    else:
        count = next(n for n in itertools.count(2) if data_file(prefix, n - 1, n) not in old)
        aside = data_file(prefix, count - 1, count)
        index = _write_shard(prefix, arrays, count - 1, count)
        atomic.link(aside, plain)
        atomic.write(index_file(prefix), [_index(index, 0, 1)])
        atomic.remove(aside)
    for file in old:
        if file != plain:
            atomic.remove(file)


def _write_shard(prefix: str, arrays: Mapping[str, np.ndarray], shard: int, count: int) -> dict[str, BundleEntryProto]:
    """Write tensors and then the index, which makes them a checkpoint."""
    entries: dict[str, BundleEntryProto] = {}
    atomic.write(data_file(prefix, shard, count), _contents(arrays, entries))
    atomic.write(index_file(prefix), [_index(entries, shard, count)])
    return entries


def _contents(arrays: Mapping[str, np.ndarray], entries: dict[str, BundleEntryProto]) -> Iterator[Any]:
    """The bytes of the tensors one after the other; what is to be known of each goes to `entries`."""
    offset = 0
    for name, array in arrays.items():
        number = data_type(array)
        size = 0
        if number == STRING:
            parts, crc = _of_strings(array)
        else:
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            parts = [plain.reshape(-1).data.cast("B")] if plain.size else []
            crc = crc32c(parts[0]) if parts else crc32c(b"")
        for part in parts:
            size += len(part)
            yield part
        entries[name] = BundleEntryProto(
            dtype=number, shape=shape_proto(array.shape), offset=offset, size=size, crc32c=masked(crc)
        )
        offset += size


def _of_strings(array: np.ndarray) -> tuple[list[Any], int]:
    values = as_bytes(array)
    own = crc32c(_as_words(map(len, values)))
    stored = struct.pack("<I", masked(own))
    whole = b"".join(values)
    return [b"".join(varint(len(v)) for v in values), stored, whole], crc32c(whole, crc32c(stored, own))


def _index(entries: Mapping[str, BundleEntryProto], shard: int, count: int) -> bytes:
    header = BundleHeaderProto(num_shards=count, version=VersionDef(producer=_VERSION))
    rows = [(b"", header.SerializeToString())]
    for name, entry in entries.items():
        entry.shard_id = shard
        rows.append((name.encode(errors="surrogateescape"), entry.SerializeToString()))
    return table.written(rows)


def describe(reader: BundleReader) -> str:
    """The names, dtypes and shapes of the tensors, a line each."""
    short = {"float32": "float", "float64": "double", "float16": "half"}
    types = {n: dtype_name(reader.data_type(n)) for n in reader.names()}
    shapes = {n: ",".join(map(str, reader.shape(n))) for n in types}
    return "".join(f"{n} (DT_{short.get(t, t).upper()}) [{shapes[n]}]\n" for n, t in types.items())
