"""CRC-32C (Castagnoli), the checksum of TensorFlow's files, by the extension, or else by a loop in Python."""

from __future__ import annotations

import functools
import struct
from typing import Any

from engine.runtime.extension import extension

in_c: Any = extension("engine.runtime._checksum")[0]
_POLYNOMIAL = 0x82F63B78  # reversed
_MASK_DELTA = 0xA282EAD8


@functools.cache
def _tables() -> tuple[list[int], list[int]]:
    """Of what a byte, and two, become after as many more bytes."""
    first = list(range(256))
    for _ in range(8):
        first = [crc >> 1 ^ _POLYNOMIAL * (crc & 1) for crc in first]
    one_more = [crc >> 8 ^ first[crc & 255] for crc in first]
    return first, [one_more[pair & 255] ^ first[pair >> 8] for pair in range(1 << 16)]


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
        return in_c.crc32c(data, before)
    view = memoryview(data).cast("B")
    first, by_two = _tables()
    crc = before ^ 0xFFFFFFFF
    for (pair,) in struct.iter_unpack("<H", view[: len(view) // 2 * 2]):
        crc = by_two[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(view) % 2:
        crc = first[(crc ^ view[-1]) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """A checksum as it is stored, so that it can itself be part of what is checksummed."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """The checksum of a buffer as it is stored."""
    return masked(crc32c(data))
