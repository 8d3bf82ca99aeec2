"""Integers in groups of seven bits, as protocol buffers and tables have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.runtime.errors import DataLossError

SHORT = [bytes((i,)) for i in range(128)]


def varint(value: int) -> bytes:
    """An integer in groups of seven bits, the lowest first. Negative ones take ten bytes, as if of 64 bits."""
    if 0 <= value < 128:
        return SHORT[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(values: Sequence[int]) -> bytes:
    """Several integers as `varint` makes them."""
    words = np.array(values, np.uint64 if min(values) >= 0 else np.int64).astype(np.uint64)
    groups = words[:, None] >> np.arange(0, 70, 7, dtype=np.uint64)
    more = np.pad(groups[:, 1:] > 0, ((0, 0), (0, 1)))
    return (groups & 127 | more << np.uint64(7)).astype(np.uint8)[np.arange(10) <= more.sum(1)[:, None]].tobytes()


def read_varint(data: Any, at: int) -> tuple[int, int]:
    """The integer that starts at a position of `data`, and the position after it.

    Raises
    ------
    DataLossError
        If the data end within it, or it has more than 64 bits.
    """
    value = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFFFFFFFFFFFFFF, at
            shift += 7
            if shift >= 70:
                raise DataLossError("a number has more than 64 bits")
    except IndexError:
        raise DataLossError("the data end within a number") from None


def read_varints(data: Any) -> np.ndarray:
    """All of the integers that the data consist of, as uint64."""
    raw = np.frombuffer(data, np.uint8)
    last = np.flatnonzero(raw < 128)
    if len(raw) and (not len(last) or last[-1] != len(raw) - 1):
        raise DataLossError("the data end within a number")
    first = np.concatenate([[0], last[:-1] + 1]) if len(last) else last
    lengths = last - first + 1
    if len(lengths) and lengths.max() > 10:
        raise DataLossError("a number has more than 64 bits")
    values = np.zeros(len(last), np.uint64)
    for i in range(int(lengths.max(initial=0))):
        present = np.flatnonzero(lengths > i)
        values[present] |= (raw[first[present] + i] & 127).astype(np.uint64) << np.uint64(7 * i)
    return values
