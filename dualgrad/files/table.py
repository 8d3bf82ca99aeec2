"""Tables of sorted keys: the ``.index`` file of a checkpoint, and checkpoints of the first version.

A table is a row of blocks, each followed by a byte that says how it is compressed and a checksum; then a block that
says where the blocks are, and a footer that says where that one is. The layout is LevelDB's.

References
----------
https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from dualgrad.files.crc32c import masked_crc32c
from dualgrad.files.limits import VARIABLE, most_bytes_of
from dualgrad.files.snappy import decompress
from dualgrad.files.varints import read_varint, varint
from engine.runtime.errors import DataLossError, UnimplementedError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
_RESTART_INTERVAL = 16
_BLOCK_SIZE = 1 << 18
_PLAIN, _SNAPPY = 0, 1


class _Block:
    """A block under construction."""

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self.data = bytearray()
        self._restarts = [0]
        self._since = 0
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since < self._interval:
            most = min(len(key), len(self._last))
            while shared < most and key[shared] == self._last[shared]:
                shared += 1
        else:
            self._restarts.append(len(self.data))
            self._since = 0
        self.data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self._last = key
        self._since += 1

    def finished(self) -> bytes:
        tail = [*self._restarts, len(self._restarts)]
        return bytes(self.data) + struct.pack(f"<{len(tail)}I", *tail)


def written(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A table of some keys and values; the keys ascend strictly."""
    out = bytearray()
    index = _Block(1)

    def put(block: _Block) -> bytes:
        contents = block.finished() + bytes((_PLAIN,))
        handle = varint(len(out)) + varint(len(contents) - 1)
        out.extend(contents + struct.pack("<I", masked_crc32c(contents)))
        return handle

    block, last = _Block(_RESTART_INTERVAL), None
    handle = None
    for key, value in items:
        if last is not None and key <= last:
            raise ValueError(f"the keys of a table must ascend, got {key!r} after {last!r}")
        if handle is not None:
            index.add(_between(last or b"", key), handle)
            handle = None
        block.add(key, value)
        last = key
        if len(block.data) >= _BLOCK_SIZE:
            handle, block = put(block), _Block(_RESTART_INTERVAL)
    if block.data:
        handle = put(block)
    if handle is not None:
        index.add(_after(last or b""), handle)
    places = put(_Block(_RESTART_INTERVAL)) + put(index)
    return bytes(out) + places.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def _between(low: bytes, high: bytes) -> bytes:
    """A short key from `low` on and before `high`."""
    at = 0
    while at < min(len(low), len(high)) and low[at] == high[at]:
        at += 1
    if at < min(len(low), len(high)) and low[at] < 255 and low[at] + 1 < high[at]:
        return low[:at] + bytes((low[at] + 1,))
    return low


def _after(key: bytes) -> bytes:
    """A short key that is not before `key`."""
    for at, byte in enumerate(key):
        if byte != 255:
            return key[:at] + bytes((byte + 1,))
    return key


def items(data: Any, what: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table, in order.

    Parameters
    ----------
    data : bytes-like
    what : str
        The file, for messages.

    Raises
    ------
    DataLossError
        If it is no table, or is damaged: the message says where.
    """
    if len(data) < _FOOTER:
        raise DataLossError(f"{what}: a table has at least {_FOOTER} bytes, this file has {len(data)}")
    footer = bytes(data[-_FOOTER:])
    if struct.unpack_from("<Q", footer, _FOOTER - 8)[0] != _MAGIC:
        raise DataLossError(f"{what}: the file does not end as a table does (bad magic number); it is cut or no table")
    offset, at = read_varint(footer, 0)
    size, at = read_varint(footer, at)
    _block(data, offset, size, what)  # nobody needs what it says; that it is whole is checked all the same
    offset, at = read_varint(footer, at)
    size, _ = read_varint(footer, at)
    last, total, most = None, 0, most_bytes_of(len(data))
    for _, handle in _entries(_block(data, offset, size, what), what):
        start, at = read_varint(handle, 0)
        length, _ = read_varint(handle, at)
        for key, value in _entries(_block(data, start, length, what), what):
            if last is not None and key <= last:
                raise DataLossError(f"{what}: the keys of the table do not ascend, {key[:80]!r} is after {last[:80]!r}")
            last, total = (
                key,
                total + len(key) + len(value),
            )  # keys share beginnings: they can be far more than the file
            if total > most:
                raise DataLossError(f"{what}: the table holds more than the {most:,} bytes that {VARIABLE} allows")
            yield key, value


def _block(data: Any, offset: int, size: int, what: str) -> bytes:
    end = offset + size + _TRAILER
    if end > len(data) - _FOOTER:
        raise DataLossError(f"{what}: the block at byte {offset} ends behind the file")
    kind = data[offset + size]
    expected = struct.unpack_from("<I", data, offset + size + 1)[0]
    if masked_crc32c(data[offset : offset + size + 1]) != expected:
        raise DataLossError(f"{what}: the checksum of the block at byte {offset} ({size} bytes) is wrong")
    contents = bytes(data[offset : offset + size])
    if kind == _SNAPPY:
        return decompress(contents)
    if kind != _PLAIN:
        raise UnimplementedError(f"{what}: the block at byte {offset} is compressed in an unknown way ({kind})")
    return contents


def _entries(block: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise DataLossError(f"{what}: a block has no restart points")
    end = len(block) - 4 * (struct.unpack_from("<I", block, len(block) - 4)[0] + 1)
    key, at = b"", 0
    while at < end:
        shared, at = read_varint(block, at)
        own, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise DataLossError(f"{what}: an entry of a block ends behind it")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length
