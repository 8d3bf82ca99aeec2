"""Snappy, to read the tables that use it.

References
----------
https://github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

from dualgrad.files.varints import read_varint
from engine.runtime.errors import DataLossError


def decompress(data: bytes) -> bytes:
    """Unpack a compressed block.

    Raises
    ------
    DataLossError
        If it is damaged.

    Examples
    --------
    >>> decompress(bytes([6, 4, 97, 98, 1, 2]))
    b'ababab'
    """
    size, at = read_varint(data, 0)
    out = bytearray()
    try:
        while at < len(data):
            at = _element(data, at, out)
    except IndexError:
        raise DataLossError("a compressed block ends within an element") from None
    if len(out) != size:
        raise DataLossError(f"a compressed block gives {len(out)} bytes, not the {size} that it announces")
    return bytes(out)


def _element(data: bytes, at: int, out: bytearray) -> int:
    """One literal or copy; the position after it."""
    tag = data[at]
    at += 1
    kind, length = tag & 3, (tag >> 2) + 1
    if kind == 0:
        if length > 60:
            width = length - 60
            length = int.from_bytes(data[at : at + width], "little") + 1
            at += width
        if at + length > len(data):
            raise IndexError
        out += data[at : at + length]
        return at + length
    if kind == 1:
        length = (tag >> 2 & 7) + 4
        offset = tag >> 5 << 8 | data[at]
        at += 1
    else:
        width = 2 if kind == 2 else 4
        data[at + width - 1]
        offset = int.from_bytes(data[at : at + width], "little")
        at += width
    start = len(out) - offset
    if offset == 0 or start < 0:
        raise DataLossError("a compressed block copies from before its beginning")
    for _ in range(length // offset + 1):
        part = out[start : start + min(length, offset)]
        out += part
        length -= len(part)
        if not length:
            break
    return at
