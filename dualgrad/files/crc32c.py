"""CRC-32C (Castagnoli), the checksum of TensorFlow's files.

The extension computes it. Without it, a long buffer is cut into lanes of equal length. All lanes advance together, two
bytes at a time, by table look-ups on whole arrays; then neighboring lanes are joined. Joining rests on the checksum
being linear: that of ``A + B`` is that of A, advanced by as many zero bytes as B has, xor that of B.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from engine.runtime.cache import cached
from engine.runtime.extension import extension
from engine.runtime.tuning import TUNING

in_c: Any = extension("engine.runtime._checksum")[0]
_POLYNOMIAL = 0x82F63B78  # reversed
_MASK_DELTA = 0xA282EAD8
_SHORT = TUNING.checksum_bytes
"""Buffers up to so many bytes are done by a loop in Python."""
_LANES = 4096


def _byte_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


@functools.cache
def _tables() -> tuple[np.ndarray, ...]:
    """Of what two bytes become after four, and after two, more bytes; the second also as a list."""
    first = _byte_table()
    pairs = np.arange(1 << 16, dtype=np.uint32)
    by_two = pairs
    for _ in range(2):
        by_two = by_two >> 8 ^ first[by_two & 255]
    by_four = by_two
    for _ in range(2):
        by_four = by_four >> 8 ^ first[by_four & 255]
    return first, by_two, by_four


@functools.cache
def _lists() -> tuple[list[int], list[int]]:
    first, by_two, _ = _tables()
    return first.tolist(), by_two.tolist()


def _short(data: Any, crc: int) -> int:
    first, by_two = _lists()
    pairs = len(data) // 2
    for pair in struct.unpack_from(f"<{pairs}H", data):
        crc = by_two[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(data) % 2:
        crc = first[(crc ^ data[-1]) & 255] ^ crc >> 8
    return crc


@cached(1 << 10)
def _advance(length: int) -> np.ndarray:
    """Tables, one per byte of a checksum, of what it becomes after so many zero bytes."""
    if length == 1:
        first = _tables()[0]
        values = np.arange(256, dtype=np.uint32)
        return np.stack([first[values], *[values << (8 * i - 8) for i in (1, 2, 3)]]).astype(np.uint32)
    half = _advance(length // 2)
    twice = _advanced(half, half)
    return _advanced(_advance(1), twice) if length % 2 else twice


def _advanced(tables: np.ndarray, crcs: np.ndarray) -> np.ndarray:
    """Checksums after some zero bytes."""
    return (
        tables[0][crcs & 255] ^ tables[1][crcs >> 8 & 255] ^ tables[2][crcs >> 16 & 255] ^ tables[3][crcs >> 24]
    )  # fmt: skip


def _lanes(data: Any, count: int, crc: int) -> int:
    """The checksum of a buffer whose length is a multiple of four times the number of lanes, a power of two."""
    words = np.frombuffer(data, "<u4").reshape(count, -1).T
    _, by_two, by_four = _tables()
    crcs = np.zeros(count, np.uint32)
    crcs[0] = crc
    for word in np.ascontiguousarray(words):
        crcs ^= word
        crcs = by_four[crcs & np.uint32(0xFFFF)] ^ by_two[crcs >> np.uint32(16)]
    length = len(data) // count
    while len(crcs) > 1:
        crcs = _advanced(_advance(length), crcs[::2]) ^ crcs[1::2]
        length *= 2
    return int(crcs[0])


def crc32c(data: Any, before: int = 0) -> int:
    """The checksum of a buffer.

    Parameters
    ----------
    data : bytes-like
    before : int
        The checksum of what comes before it.

    Examples
    --------
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    >>> crc32c(b"6789", crc32c(b"12345")) == crc32c(b"123456789")
    True
    """
    if in_c:
        return in_c.crc32c(data, before)  # type: ignore[no-any-return]
    view = memoryview(data).cast("B")
    crc = before ^ 0xFFFFFFFF
    at = 0
    while len(view) - at > _SHORT:
        count = min(_LANES, 1 << ((len(view) - at) // 64).bit_length() - 1)
        size = min((len(view) - at) // (4 * count) * 4 * count, 1 << 24)
        crc = _lanes(view[at : at + size], count, crc)
        at += size
    return _short(view[at:], crc) ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """A checksum as it is stored, so that it can itself be part of what is checksummed."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """The checksum of a buffer as it is stored."""
    return masked(crc32c(data))
