"""CRC-32C (Castagnoli), the checksum of TensorFlow's files, by the extension, or else by NumPy.

The checksum is linear. So NumPy cuts a long buffer into lanes, takes all of them on at once by look-ups of two bytes,
and joins them: that of ``A + B`` is that of A after as many zeros as B is long, xor that of B.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from engine.runtime.extension import extension

in_c: Any = extension("engine.runtime._checksum")[0]
_POLYNOMIAL = 0x82F63B78  # reversed
_MASK_DELTA = 0xA282EAD8
_LANE, _LANES = 1024, 2048
"""Bytes of a lane; how many lanes there are at most, which caches hold."""


@functools.cache
def _tables() -> list[np.ndarray]:
    """Of what each two bytes become after none to four more bytes."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, first >> 1 ^ np.uint32(_POLYNOMIAL), first >> 1)
    ahead = [np.arange(1 << 16, dtype=np.uint32)]
    for _ in range(4):
        ahead.append(ahead[-1] >> 8 ^ first[ahead[-1] & 255])
    return ahead


def _advanced(crcs: np.ndarray, words: Any) -> np.ndarray:
    """Checksums after more bytes, four at a time."""
    by_two, by_four = _tables()[2::2]
    for word in words:
        crcs = crcs ^ word
        crcs = by_four.take(crcs & 0xFFFF, mode="clip") ^ by_two.take(crcs >> 16, mode="clip")  # "clip" looks at none
    return crcs


@functools.cache
def _lists() -> list[list[int]]:
    """For a loop in Python: what two bytes become after one and two more, and each half of a checksum after a lane."""
    zeros, ahead = [np.uint32(0)] * (_LANE // 4), _tables()
    halves = [_advanced(half, zeros) for half in (ahead[0], ahead[0] << 16)]
    return [table.tolist() for table in (*ahead[1:3], *halves)]


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
    view, crc = memoryview(data).cast("B"), before ^ 0xFFFFFFFF
    by_one, by_two, low, high = _lists()
    while lanes := min(len(view) // _LANE, _LANES):
        words = np.frombuffer(view[: lanes * _LANE], "<u4").reshape(lanes, -1).T
        for own in _advanced(np.zeros(lanes, np.uint32), np.ascontiguousarray(words)).tolist():
            crc = low[crc & 0xFFFF] ^ high[crc >> 16] ^ own
        view = view[lanes * _LANE :]
    for (pair,) in struct.iter_unpack("<H", view[: len(view) // 2 * 2]):
        crc = by_two[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(view) % 2:
        crc = by_one[(crc ^ view[-1]) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """A checksum as it is stored, so that it can itself be part of what is checksummed."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """The checksum of a buffer as it is stored."""
    return masked(crc32c(data))
