"""Hashes of texts, the same on all machines: FarmHash's fingerprint and SipHash, as TensorFlow's kernels compute them.

Sources: G. Pike and J. Alakuijala, FarmHash, function ``farmhashna::Hash64``; J.-P. Aumasson and D. J. Bernstein,
"SipHash: a fast short-input PRF", INDOCRYPT 2012, with 2 rounds for each word and 4 at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_CAT = 0xC6A4A7935BD1E995


def _word(s: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(s[at : at + size], "little")


def _right(x: int, by: int) -> int:
    """A rotation to the right."""
    x &= _ALL
    return (x >> by | x << (64 - by)) & _ALL


def _mix(x: int) -> int:
    x &= _ALL
    return x ^ x >> 47


def _pair(u: int, v: int, factor: int) -> int:
    """Two words as one."""
    a = _mix((u ^ v) * factor)
    return _mix((v ^ a) * factor) * factor & _ALL


def _short(s: bytes) -> int:
    """Up to 16 bytes."""
    n = len(s)
    factor = _K2 + 2 * n
    if n >= 8:
        a, b = _word(s, 0) + _K2 & _ALL, _word(s, n - 8)
        return _pair(_right(b, 37) * factor + a & _ALL, (_right(a, 25) + b) * factor & _ALL, factor)
    if n >= 4:
        return _pair(n + (_word(s, 0, 4) << 3), _word(s, n - 4, 4), factor)
    if n:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[-1] << 2)
        return _mix(y * _K2 & _ALL ^ z * _K0 & _ALL) * _K2 & _ALL
    return _K2


def _middle(s: bytes) -> int:
    """From 17 to 64 bytes."""
    n = len(s)
    factor = _K2 + 2 * n
    a, b = _word(s, 0) * (_K1 if n <= 32 else _K2) & _ALL, _word(s, 8)
    c, d = _word(s, n - 8) * factor, _word(s, n - 16) * _K2
    y, more = _right(a + b, 43) + _right(c, 30) + d & _ALL, a + _right(b + _K2, 18) + c & _ALL
    z = _pair(y, more, factor)
    if n <= 32:
        return z
    e, f = _word(s, 16) * factor & _ALL, _word(s, 24)
    g, h = (y + _word(s, n - 32)) * factor & _ALL, (z + _word(s, n - 24)) * factor & _ALL
    return _pair(_right(e + f, 43) + _right(g, 30) + h & _ALL, e + _right(f + a, 18) + g & _ALL, factor)


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """32 bytes, with two seeds."""
    w, x, y, z = [_word(s, at + i) for i in (0, 8, 16, 24)]
    a = a + w & _ALL
    b, first = _right(b + a + z, 21), a
    a = a + x + y & _ALL
    return a + z & _ALL, b + _right(a, 44) + first & _ALL


State = tuple[int, int, int, tuple[int, int], tuple[int, int]]


def _block(s: bytes, at: int, state: State, factor: int, last: bool) -> State:
    """64 bytes; the `last` of them are weighted otherwise."""
    x, y, z, v, w = state
    x = _right(x + y + v[0] + _word(s, at + 8), 37) * factor & _ALL
    y = _right(y + v[1] + _word(s, at + 48), 42) * factor & _ALL
    x ^= w[1] * (9 if last else 1) & _ALL
    y = y + v[0] * (9 if last else 1) + _word(s, at + 40) & _ALL
    z = _right(z + w[0], 33) * factor & _ALL
    v = _weak(s, at, v[1] * factor & _ALL, x + w[0] & _ALL)
    w = _weak(s, at + 32, z + w[1] & _ALL, y + _word(s, at + 16) & _ALL)
    return z, y, x, v, w


def fingerprint(s: bytes) -> int:
    """FarmHash's fingerprint of 64 bits.

    Examples
    --------
    >>> hex(fingerprint(b"hello"))
    '0xb48be5a931380ce8'
    """
    n = len(s)
    if n <= 16:
        return _short(s)
    if n <= 64:
        return _middle(s)
    x, y = 81, 81 * _K1 + 113 & _ALL
    z = _mix(y * _K2 + 113) * _K2 & _ALL
    state: State = (x * _K2 + _word(s, 0) & _ALL, y, z, (0, 0), (0, 0))
    for at in range(0, (n - 1) // 64 * 64, 64):
        state = _block(s, at, state, _K1, last=False)
    x, y, z, v, w = state
    factor = _K1 + ((z & 0xFF) << 1)
    w = w[0] + (n - 1 & 63) & _ALL, w[1]
    v = v[0] + w[0] & _ALL, v[1]
    w = w[0] + v[0] & _ALL, w[1]
    x, y, z, v, w = _block(s, n - 64, (x, y, z, v, w), factor, last=True)
    first = _pair(v[0], w[0], factor) + _mix(y) * _K0 + z & _ALL
    return _pair(first, _pair(v[1], w[1], factor) + x & _ALL, factor)


def joined(first: int, second: int) -> int:
    """Two fingerprints as one."""
    result = (first ^ _CAT ^ _mix(second * _CAT) * _CAT) & _ALL
    return _mix(_mix(result * _CAT) * _CAT)


def keyed(s: bytes, key: Sequence[int]) -> int:
    """SipHash-2-4 of 64 bits.

    Parameters
    ----------
    s : bytes
    key : sequence of int
        Two.
    """
    k0, k1 = [k & _ALL for k in key]
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0], v[2] = v[0] + v[1] & _ALL, v[2] + v[3] & _ALL
            v[1], v[3] = _right(v[1], 51) ^ v[0], _right(v[3], 48) ^ v[2]
            v[0], v[2] = _right(v[0], 32) + v[3] & _ALL, v[2] + v[1] & _ALL
            v[1], v[3] = _right(v[1], 47) ^ v[2], _right(v[3], 43) ^ v[0]
            v[2] = _right(v[2], 32)

    whole = len(s) // 8 * 8
    last = s[whole:].ljust(7, b"\0") + bytes((len(s) & 0xFF,))
    for m in [*[_word(s, i) for i in range(0, whole, 8)], _word(last, 0)]:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
