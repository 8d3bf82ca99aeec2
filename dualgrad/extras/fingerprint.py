"""A number of 64 bits for a string, by which TensorFlow puts words into buckets: FarmHash's fingerprint.

The arithmetic is written once: of a few strings with Python's integers, one string after the other, and of many about
equally long ones at once, with NumPy's arrays in place of the integers.

References
----------
G. Pike, FarmHash (https://github.com/google/farmhash): ``Fingerprint64``, which never changes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MANY, _AT_ONCE = 32, 1 << 12
"""Strings from which on arrays are faster, and strings in an array at most: a cache holds so many numbers."""
_ENDS = (0, 3, 7, 16, 32, 64)
"""The lengths at which the arithmetic changes."""
_Pair = tuple[Any, Any]
_Words = Callable[[Any], Any]
"""The number that the eight bytes from a place on are; those behind the string's end are any."""


def _turned(x: Any, by: int) -> Any:
    x = x & _ALL
    return x >> by | x << (64 - by)


def _folded(x: Any) -> Any:
    x = x & _ALL
    return x ^ x >> 47


def _mixed(u: Any, v: Any, factor: Any) -> Any:
    """Two numbers as one."""
    a = _folded((u ^ v) * factor)
    return _folded((v ^ a) * factor) * factor


def _short(word: _Words, n: Any, most: int) -> Any:
    """At most 16 bytes."""
    factor = _K2 + 2 * n
    if most > 7:
        a, b = word(0) + _K2, word(n - 8)
        return _mixed(_turned(b, 37) * factor + a, (_turned(a, 25) + b) * factor, factor)
    if most > 3:
        return _mixed(n + ((word(0) & 0xFFFFFFFF) << 3), word(n - 4) & 0xFFFFFFFF, factor)
    if most:
        y, z = (word(0) & 255) + ((word(n >> 1) & 255) << 8), n + ((word(n - 1) & 255) << 2)
        return _folded(y * _K2 ^ z * _K0) * _K2
    return n + _K2


def _middle(word: _Words, n: Any, most: int) -> Any:
    """From 17 to 64 bytes."""
    factor = _K2 + 2 * n
    a = word(0) * (_K1 if most <= 32 else _K2)
    b, c, d = word(8), word(n - 8) * factor, word(n - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d
    z = _mixed(y, a + _turned(b + _K2, 18) + c, factor)
    if most <= 32:
        return z
    e, f = word(16) * factor, word(24)
    g, h = (y + word(n - 32)) * factor, (z + word(n - 24)) * factor
    last = e + _turned(f + a, 18) + g
    return _mixed(_turned(e + f, 43) + _turned(g, 30) + h, last, factor)


def _stirred(word: _Words, at: Any, a: Any, b: Any) -> _Pair:
    """Two numbers, and 32 bytes, as two numbers."""
    w, x, y, z = word(at), word(at + 8), word(at + 16), word(at + 24)
    first = a + w
    b = _turned(b + first + z, 21)
    a = first + x + y
    return a + z & _ALL, b + _turned(a, 44) + first & _ALL


def _round(
    word: _Words, at: Any, x: Any, y: Any, z: Any, v: _Pair, w: _Pair, factor: Any, nine: int
) -> tuple[Any, ...]:
    """The seven numbers of the state after 64 more bytes; `nine` weighs some of them more in the last round."""
    x = _turned(x + y + v[0] + word(at + 8), 37) * factor
    y = _turned(y + v[1] + word(at + 48), 42) * factor
    x = (x ^ w[1] * nine) & _ALL
    y = y + v[0] * nine + word(at + 40) & _ALL
    z = _turned(z + w[0], 33) * factor & _ALL
    v = _stirred(word, at, v[1] * factor, x + w[0])
    w = _stirred(word, at + 32, z + w[1], y + word(at + 16))
    return z, y, x, *v, *w


def _long(word: _Words, n: Any, most: int) -> Any:
    """More than 64 bytes, of equally many blocks of 64."""
    y = 81 * _K1 + 113 & _ALL
    z = _folded(y * _K2 + 113) * _K2 & _ALL
    x = word(0) + (81 * _K2 & _ALL)
    v, w = (0, 0), (0, 0)
    for at in range(0, most - 64, 64):
        x, y, z, *rest = _round(word, at, x, y, z, v, w, _K1, 1)
        v, w = (rest[0], rest[1]), (rest[2], rest[3])
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + ((n - 1) & 63)
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    x, y, z, *rest = _round(word, n - 64, x, y, z, v, w, factor, 9)
    low = _mixed(rest[0], rest[2], factor) + _folded(y) * _K0 + z
    return _mixed(low, _mixed(rest[1], rest[3], factor) + x, factor)


def _function(most: int) -> Callable[[_Words, Any, int], Any]:
    return _long if most > 64 else _middle if most > 16 else _short


def _windows(words: np.ndarray, starts: np.ndarray) -> _Words:
    return lambda at: words[starts + at]


def _of_one(text: bytes) -> int:
    n, padded = len(text), text + bytes(8)
    most = -(-n // 64) * 64 if n > 64 else next(end for end in _ENDS if n <= end)
    return int(_function(most)(lambda at: struct.unpack_from("<Q", padded, at)[0], n, most)) & _ALL


def fingerprints(texts: Sequence[bytes]) -> np.ndarray:
    """The fingerprints of strings, uint64.

    Examples
    --------
    >>> fingerprints([b"a"])
    array([12917804110809363939], dtype=uint64)
    """
    if len(texts) < _MANY:
        return np.array([_of_one(text) for text in texts], np.uint64)
    sizes = np.fromiter(map(len, texts), np.uint64, len(texts))
    starts, buffer = np.cumsum(sizes) - sizes, b"".join([*texts, bytes(8)])
    words: np.ndarray = np.ndarray(len(buffer) - 7, "<u8", buffer, 0, (1,))
    most = np.where(sizes > 64, (sizes + 63) // 64 * 64, np.take(_ENDS, np.searchsorted(_ENDS[:-1], sizes)))
    most = most.astype(np.min_scalar_type(most.max()))  # small integers are sorted fast
    order, out = np.argsort(most, kind="stable"), np.empty_like(sizes)
    for alike in np.split(order, np.flatnonzero(np.diff(most[order])) + 1):
        if len(alike) < _MANY:
            out[alike] = [_of_one(texts[i]) for i in alike.tolist()]
            continue
        end = int(most[alike[0]])
        for some in np.split(alike, range(_AT_ONCE, len(alike), _AT_ONCE)):
            out[some] = _function(end)(_windows(words, starts[some]), sizes[some], end)
    return out
