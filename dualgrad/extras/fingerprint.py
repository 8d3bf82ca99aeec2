"""A number of 64 bits for a string, by which TensorFlow puts words into buckets: FarmHash's fingerprint.

References
----------
G. Pike, FarmHash (https://github.com/google/farmhash): ``Fingerprint64``, which never changes.
"""

from __future__ import annotations

import struct

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_Pair = tuple[int, int]


def _word(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<Q", data, at)[0])


def _turned(x: int, by: int) -> int:
    x &= _ALL
    return (x >> by | x << (64 - by)) & _ALL


def _folded(x: int) -> int:
    x &= _ALL
    return x ^ x >> 47


def _mixed(u: int, v: int, factor: int) -> int:
    """Two numbers as one."""
    a = _folded((u ^ v) * factor)
    return _folded((v ^ a) * factor) * factor & _ALL


def _short(data: bytes) -> int:
    """At most 16 bytes."""
    n = len(data)
    factor = _K2 + 2 * n
    if n >= 8:
        a, b = _word(data, 0) + _K2 & _ALL, _word(data, n - 8)
        return _mixed(_turned(b, 37) * factor + a & _ALL, (_turned(a, 25) + b) * factor & _ALL, factor)
    if n >= 4:
        first, last = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, n - 4)[0]
        return _mixed(n + (first << 3), last, factor)
    if n:
        y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
        return _folded(y * _K2 ^ z * _K0) * _K2 & _ALL
    return _K2


def _middle(data: bytes) -> int:
    """From 17 to 64 bytes."""
    n = len(data)
    factor = _K2 + 2 * n
    a = _word(data, 0) * (_K1 if n <= 32 else _K2)
    b, c, d = _word(data, 8), _word(data, n - 8) * factor, _word(data, n - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d & _ALL
    z = _mixed(y, a + _turned(b + _K2, 18) + c & _ALL, factor)
    if n <= 32:
        return z
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, n - 32)) * factor, (z + _word(data, n - 24)) * factor
    last = e + _turned(f + a, 18) + g & _ALL
    return _mixed(_turned(e + f, 43) + _turned(g, 30) + h & _ALL, last, factor)


def _stirred(data: bytes, at: int, a: int, b: int) -> _Pair:
    """Two numbers, and 32 bytes, as two numbers."""
    w, x, y, z = struct.unpack_from("<4Q", data, at)
    first = a + w
    b = _turned(b + first + z, 21)
    a = first + x + y
    return a + z & _ALL, b + _turned(a, 44) + first & _ALL


def _round(data: bytes, at: int, x: int, y: int, z: int, v: _Pair, w: _Pair, factor: int, nine: int) -> tuple[int, ...]:
    """The seven numbers of the state after 64 more bytes; `nine` weighs some of them more in the last round."""
    x = _turned(x + y + v[0] + _word(data, at + 8), 37) * factor
    y = _turned(y + v[1] + _word(data, at + 48), 42) * factor
    x = (x ^ w[1] * nine) & _ALL
    y = y + v[0] * nine + _word(data, at + 40) & _ALL
    z = _turned(z + w[0], 33) * factor & _ALL
    v = _stirred(data, at, v[1] * factor, x + w[0])
    w = _stirred(data, at + 32, z + w[1], y + _word(data, at + 16))
    return z, y, x, *v, *w


def fingerprint64(data: bytes) -> int:
    """The fingerprint of bytes, from 0 to 2 ** 64 - 1.

    Examples
    --------
    >>> fingerprint64(b"a")
    12917804110809363939
    """
    n = len(data)
    if n <= 64:
        return _short(data) if n <= 16 else _middle(data)
    y = 81 * _K1 + 113
    z = _folded(y * _K2 + 113) * _K2
    x = 81 * _K2 + _word(data, 0)
    v, w = (0, 0), (0, 0)
    for at in range(0, (n - 1) // 64 * 64, 64):
        x, y, z, *rest = _round(data, at, x, y, z, v, w, _K1, 1)
        v, w = (rest[0], rest[1]), (rest[2], rest[3])
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + ((n - 1) & 63)
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    x, y, z, *rest = _round(data, n - 64, x, y, z, v, w, factor, 9)
    low = _mixed(rest[0], rest[2], factor) + _folded(y) * _K0 + z
    return _mixed(low & _ALL, _mixed(rest[1], rest[3], factor) + x & _ALL, factor)
