"""The features of many serialized examples at once, by NumPy: no message is made, and no byte is looked at by Python.

A part of the bytes of all examples is a row of `_Parts`: where it begins and ends, and which example it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files.varints import read_varints
from engine.runtime.errors import DataLossError

_KINDS = ("bytes_list", "float_list", "int64_list")
_WIDTHS = np.array([0, 8, 0, -1, -1, 4, -1, -1])
"""By wire type: how many bytes the contents have; -1, if there is no such type."""
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5
_ALONE = (-1, _LENGTH, _FIXED32, _VARINT)
"""By kind: the wire type of a value that is not packed with others."""
_UNEVEN = 32


class _Parts(NamedTuple):
    owner: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def of(self, rows: Any) -> _Parts:
        """Some of them."""
        return _Parts(self.owner[rows], self.start[rows], self.end[rows])


def _number_at(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The integers that start at some places, and the places after them."""
    value, at, shift = data[at].astype(np.int64), at + 1, 7
    more = np.flatnonzero(value >= 128)
    value[more] &= 127
    while len(more):
        if shift > 63:
            raise DataLossError("a number has more than 64 bits")
        byte = data[at[more]].astype(np.int64)
        at[more] += 1
        value[more] |= (byte & 127) << shift
        more, shift = more[byte >= 128], shift + 7
    return value, at


def _fields(data: np.ndarray, parts: _Parts) -> tuple[np.ndarray, np.ndarray, _Parts]:
    """The fields of messages: number, wire type, and contents, which belong to the row of their message."""
    left, at = np.flatnonzero(parts.start < parts.end), parts.start.copy()
    found: list[tuple[np.ndarray, ...]] = []
    while len(left):
        if len(found) > _UNEVEN * len(left):
            raise DataLossError("a few messages have most of the fields: one by one is faster")
        tag, start = _number_at(data, at[left])
        wire_type = tag & 7
        end = start + _WIDTHS[wire_type]
        long = np.flatnonzero(wire_type == _LENGTH)
        size, start[long] = _number_at(data, start[long])
        end[long] = start[long] + size
        short = np.flatnonzero(wire_type == _VARINT)
        end[short] = _number_at(data, start[short])[1]
        if (tag < 8).any() or (end < start).any() or (end > parts.end[left]).any():
            raise DataLossError("a field has no number or wire type, or ends behind the message")
        found.append((tag >> 3, wire_type, left, start, end))
        at[left] = end
        left = left[end < parts.end[left]]
    columns = [np.concatenate(c) for c in zip(*found, strict=True)] or [np.zeros(0, np.int64)] * 5
    order = np.argsort(columns[2], kind="stable")
    number, wire_type, *rest = (c[order] for c in columns)
    return number, wire_type, _Parts(*rest)


def _inside(data: np.ndarray, parts: _Parts, wanted: int) -> _Parts:
    """The contents of one field of messages, which belong to the owner of their message."""
    number, wire_type, found = _fields(data, parts)
    rows = np.flatnonzero(number == wanted)
    if (wire_type[rows] != _LENGTH).any():
        raise DataLossError(f"field {wanted} has a wire type that is not {_LENGTH}")
    return found.of(rows)._replace(owner=parts.owner[found.owner[rows]])


def _last(owner: np.ndarray) -> np.ndarray:
    """The last row of each owner."""
    return np.flatnonzero(np.append(owner[1:] != owner[:-1], len(owner) > 0)[: len(owner)])


class Features:
    """The features of examples by name.

    Parameters
    ----------
    examples : sequence of bytes
        Serialized examples.

    Raises
    ------
    DataLossError
        If one is no example.
    """

    def __init__(self, examples: Sequence[bytes]) -> None:
        self._raw = b"".join((*examples, bytes(16)))  # what is read behind an end is found to end too late
        self._data = np.frombuffer(self._raw, np.uint8)
        self._count = len(examples)
        end = np.cumsum([len(x) for x in examples], dtype=np.int64)
        start = np.append(0, end[:-1])[: self._count]
        entries = _inside(self._data, _inside(self._data, _Parts(np.arange(self._count), start, end), 1), 1)
        self._owner = entries.owner
        numbered = entries._replace(owner=np.arange(len(entries.owner)))
        self._names, values = [self._one_of_each(numbered, number) for number in (1, 2)]
        number, wire_type, lists = _fields(self._data, values._replace(owner=numbered.owner))
        self._kinds = np.zeros(len(entries.owner), np.int64)
        self._kinds[lists.owner] = number
        kind = self._kinds[lists.owner]
        if ((wire_type != _LENGTH) | (kind != number) | (number > 3)).any():
            raise DataLossError("a feature has other fields than lists of one kind")
        number, wire_type, items = _fields(self._data, lists)
        alone = np.array(_ALONE)[kind[items.owner]]
        if ((wire_type != alone) & (wire_type != _LENGTH) | (number != 1)).any():
            raise DataLossError("a list has other fields than values")
        self._items = items._replace(owner=lists.owner[items.owner])

    def _one_of_each(self, entries: _Parts, number: int) -> _Parts:
        """A field of each entry of a map, which has no bytes where it is missing."""
        found = _inside(self._data, entries, number)
        last = found.of(_last(found.owner))
        made = _Parts(entries.owner, np.zeros_like(entries.start), np.zeros_like(entries.start))
        made.start[last.owner], made.end[last.owner] = last.start, last.end
        return made

    def column(self, name: str, kind: str) -> tuple[np.ndarray, Any]:
        """How many values of a feature each example has (-1: none at all), and the values."""
        key = np.frombuffer(name.encode(), np.uint8)
        rows = np.flatnonzero(self._names.end - self._names.start == len(key))
        rows = rows[(self._data[self._names.start[rows][:, None] + np.arange(len(key))] == key).all(1)]
        rows = rows[_last(self._owner[rows])]
        number = _KINDS.index(kind) + 1
        if ((self._kinds[rows] != number) & (self._kinds[rows] > 0)).any():
            raise DataLossError("a feature has another kind")
        rows = rows[self._kinds[rows] > 0]
        counts = np.full(self._count, -1)
        counts[self._owner[rows]] = 0
        asked = np.zeros(len(self._kinds), bool)
        asked[rows] = True
        items = self._items.of(asked[self._items.owner])
        lengths, values = self._listed(items, kind)
        np.add.at(counts, self._owner[items.owner], lengths)
        return counts, values

    def _listed(self, items: _Parts, kind: str) -> tuple[Any, Any]:
        """How many values the fields of lists hold, and all of them."""
        size = items.end - items.start
        pieces = [self._raw[a:b] for a, b in zip(items.start.tolist(), items.end.tolist(), strict=True)]
        if kind == "bytes_list":
            return 1, pieces
        whole, ends = b"".join(pieces), np.cumsum(size)
        if kind == "float_list":
            if (size % 4).any():
                raise DataLossError("the data end within a number")
            return size // 4, np.frombuffer(whole, "<f4")
        last = np.frombuffer(whole, np.uint8) < 128
        if not last[ends[size > 0] - 1].all():
            raise DataLossError("the data end within a number")
        return np.diff(np.append(0, np.cumsum(last))[ends], prepend=0), read_varints(whole).view(np.int64)
