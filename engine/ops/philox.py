"""The random numbers of TensorFlow's CPU kernels: a counter-based generator, and the distributions made of its words.

Philox 4x32-10 turns a counter of four 32-bit words, with a key of two, into four random words. A `Stream` is a key, the
upper half of the counter and a start for its lower half: what TensorFlow's kernels know as `seed`, `seed2` and the
state of their generator. Each function here gives the numbers that the kernel of that distribution computes from a
stream: words, uniform numbers and integers to the bit; where a logarithm or a sine is taken, the last place may differ.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", 2000.
W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.runtime import elementary
from engine.runtime.cache import cached
from engine.runtime.lazy_scipy import scipy

RESERVED = 256
"""By how many groups of four words a kernel moves its stream on for each number that it gives."""

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_AT_ONCE = 16384
"""Groups computed at a time: their buffers fit into a cache."""
_FEW = 8
"""Up to how many groups Python's integers are faster than arrays."""

_SCRAMBLE = 0x02461E293EC8F720
"""The key with which TensorFlow turns the two seeds of a stateless op into a stream."""


class Stream(NamedTuple):
    """Where words come from: each a number of 64 bits."""

    key: int
    high: int
    low: int


def stream_of(seed: Any, counter: Any) -> Stream:
    """The stream that a draw names (`engine.ops.random`): ``(key, high)`` and ``low`` as signed integers."""
    key, high = np.asarray(seed, np.int64).ravel().tolist()
    return Stream(key % 2**64, high % 2**64, int(counter) % 2**64)


# ---- words -----------------------------------------------------------------------------------------------------------


@cached(64)
def _keys(key: int) -> list[tuple[int, int]]:
    """The two words of each round's key."""
    low, high = key & 0xFFFFFFFF, key >> 32
    return [((low + i * _STEPS[0]) & 0xFFFFFFFF, (high + i * _STEPS[1]) & 0xFFFFFFFF) for i in range(_ROUNDS)]


def _round(a: Any, b: Any, c: Any, d: Any, low: Any, high: Any, number: Any = int) -> tuple[Any, Any, Any, Any]:
    """One round of four words: Python's integers, or arrays and scalars of 64 bits (`number` makes constants)."""
    p, q, half, mask = a * number(_MULTIPLIERS[0]), c * number(_MULTIPLIERS[1]), number(32), number(0xFFFFFFFF)
    return (q >> half) ^ (b ^ low), q & mask, (p >> half) ^ (d ^ high), p & mask


def _rounds(counter: Sequence[Any], key: int) -> list[np.ndarray]:
    """All rounds of a counter of four words, the first an array of 64 bits, the others such arrays or scalars."""
    a, b, c, d = counter
    keys = [(np.uint64(low), np.uint64(high)) for low, high in _keys(key)]
    # The counter's upper words are scalars nearly always: what they alone make is so, too, for three rounds.
    for low, high in keys[:3]:
        a, b, c, d = _round(a, b, c, d, low, high, np.uint64)
    spare = np.empty_like(a)
    for low, high in keys[3:]:
        np.multiply(a, np.uint64(_MULTIPLIERS[0]), out=a)
        np.multiply(c, np.uint64(_MULTIPLIERS[1]), out=c)
        for product, word, k in ((c, b, low), (a, d, high)):
            np.right_shift(product, _HALF, out=spare)
            np.bitwise_xor(word, spare, out=word)
            np.bitwise_xor(word, k, out=word)
            np.bitwise_and(product, _LOW, out=product)
        a, b, c, d = b, c, d, a
    return [a, b, c, d]


def _few(stream: Stream, groups: Sequence[int], order: Sequence[int]) -> list[list[int]]:
    """`words` in Python, which starts faster than NumPy."""
    drawn = []
    for far in groups:
        low = stream.low + far
        high = stream.high + (low >> 64)
        a, b, c, d = low & 0xFFFFFFFF, low >> 32 & 0xFFFFFFFF, high & 0xFFFFFFFF, high >> 32 & 0xFFFFFFFF
        for key_low, key_high in _keys(stream.key):
            a, b, c, d = _round(a, b, c, d, key_low, key_high)
        drawn.append([(a, b, c, d)[i] for i in order])
    return drawn


def _same(x: np.ndarray) -> Any:
    """`x`, or the scalar that all its elements are."""
    return x[0] if (x == x[0]).all() else x


def words(stream: Stream, groups: Any, order: Sequence[int] = (0, 1, 2, 3)) -> np.ndarray:
    """Words of some groups of a stream.

    Parameters
    ----------
    stream : Stream
    groups : int, or array of uint64
        How many, from the start; or how far from the start each lies.
    order : sequence of int, optional
        Of the words within a group.

    Returns
    -------
    uint32 array, shape (number of groups, 4)
    """
    if isinstance(groups, int):
        if groups <= _FEW:
            return np.array(_few(stream, range(groups), order), np.uint32).reshape(groups, 4)
        groups = np.arange(groups, dtype=np.uint64)
    elif len(groups) <= _FEW:
        return np.array(_few(stream, groups.tolist(), order), np.uint32).reshape(len(groups), 4)
    out = np.empty((len(groups), 4), np.uint32)
    start, high = np.uint64(stream.low), np.array([stream.high], np.uint64)
    for first in range(0, len(groups), _AT_ONCE):
        low = groups[first : first + _AT_ONCE] + start
        # what overflows is carried to the upper half
        upper = _same(high + (low < start))
        counter = low & _LOW, _same(low >> _HALF), upper & _LOW, upper >> _HALF
        for i, word in zip(order, _rounds(counter, stream.key), strict=True):
            out[first : first + _AT_ONCE, i] = word
    return out


def scrambled(seed: Any) -> Stream:
    """The stream of a stateless op with the given seeds, two integers."""
    low, high = (int(s) % 2**64 for s in np.asarray(seed).ravel().tolist())
    key, upper = words(Stream(_SCRAMBLE, high, low), 1).view(np.uint64).ravel().tolist()
    return Stream(key, upper, 0)


Fill = Callable[..., np.ndarray]
"""``fill(stream, groups, dtype)`` gives the numbers of `words`, as many in each group as have room in it."""


def _at_once(fill: Fill, stream: Stream, count: int, dtype: Any) -> np.ndarray:
    """`count` numbers, some groups at a time, as their words would not stay in a cache."""
    size = 16 // max(4, np.dtype(dtype).itemsize)
    out = np.empty((-(-count // size), size), dtype)
    for first in range(0, len(out), _AT_ONCE):
        start = stream.low + first
        moved = Stream(stream.key, (stream.high + (start >> 64)) % 2**64, start % 2**64)
        out[first : first + _AT_ONCE] = fill(moved, min(_AT_ONCE, len(out) - first), dtype)
    return out.ravel()[:count]


# ---- uniform numbers and integers ------------------------------------------------------------------------------------


def _floats(stream: Stream, groups: Any, dtype: Any) -> np.ndarray:
    if dtype == np.float16:
        return (words(stream, groups) & np.uint32(0x3FF)) / np.float32(1024)
    # the bits of a number in [1, 2); for float64 the first of two words is the upper one
    kind, order, bits = (np.uint64, (1, 0, 3, 2), 52) if dtype == np.float64 else (np.uint32, (0, 1, 2, 3), 23)
    whole = words(stream, groups, order).view(kind)
    np.bitwise_and(whole, kind(2**bits - 1), out=whole)
    np.bitwise_or(whole, np.ones((), dtype).view(kind), out=whole)
    return np.subtract(whole.view(dtype), 1, out=whole.view(dtype))


def uniform(stream: Stream, count: int, dtype: Any) -> np.ndarray:
    """Numbers in [0, 1)."""
    return _at_once(_floats, stream, count, dtype)


def full_integers(stream: Stream, count: int, dtype: Any) -> np.ndarray:
    """Integers of the whole range of a dtype of 32 or 64 bits."""
    # of two words the first is the lower one
    return _at_once(lambda stream, groups, dtype: words(stream, groups).view(dtype), stream, count, dtype)


def integers(stream: Stream, count: int, low: int, high: int, dtype: Any) -> np.ndarray:
    """Integers in [low, high): the remainders of those of the whole range."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    drawn = full_integers(stream, count, unsigned)
    np.remainder(drawn, unsigned.type(high - low), out=drawn)
    return np.add(drawn, unsigned.type(low % 2 ** (8 * unsigned.itemsize)), out=drawn).view(dtype)


# ---- normal numbers --------------------------------------------------------------------------------------------------


def _normals(stream: Stream, groups: Any, dtype: Any) -> np.ndarray:
    """Two of each pair of uniform numbers (Box and Muller)."""
    kind = np.float64 if dtype == np.float64 else np.float32
    u = _floats(stream, groups, kind)
    # The nearest float of what float64 gives is what a good float function gives, too.
    radius = elementary.log(np.maximum(u[:, 0::2], kind(1e-7)), dtype=np.float64).astype(kind)
    np.sqrt(np.multiply(radius, kind(-2), out=radius), out=radius)
    angle = np.multiply(u[:, 1::2], 2 * math.pi, dtype=np.float64).astype(kind).astype(np.float64)
    np.multiply(elementary.sin(angle).astype(kind, copy=False), radius, out=u[:, 0::2])
    np.multiply(elementary.cos(angle).astype(kind, copy=False), radius, out=u[:, 1::2])
    return u


def normal(stream: Stream, count: int, dtype: Any) -> np.ndarray:
    """Numbers of the standard normal distribution."""
    return _at_once(_normals, stream, count, dtype)


def truncated_normal(stream: Stream, count: int, dtype: Any) -> np.ndarray:
    """Normal numbers in (-2, 2): each group of results has a place of its own, from which it takes until it is full."""
    size = 2 if dtype == np.float64 else 4
    out = np.empty((-(-count // size), size), np.promote_types(dtype, np.float32))
    places = np.arange(len(out), dtype=np.uint64) * np.uint64(size * RESERVED // 4)
    left, filled = np.arange(len(out)), np.zeros(len(out), np.int64)
    while len(left):
        drawn = _normals(stream, places[left], dtype)
        for candidate in drawn.T:
            good = np.flatnonzero((np.abs(candidate) < 2) & (filled[left] < size))
            rows = left[good]
            out[rows, filled[rows]] = candidate[good]
            filled[rows] += 1
        places[left] += np.uint64(1)
        left = left[filled[left] < size]
    return out.ravel()[:count].astype(dtype, copy=False)


# ---- distributions that reject: each result has a place of its own ---------------------------------------------------


class _Sources:
    """For each of many results, one number after the other of a place of its own in a stream.

    A kernel draws whole groups and hands out each from its end. Normal and uniform numbers of the same result share its
    place: a group belongs to who asks first.
    """

    def __init__(self, stream: Stream, count: int) -> None:
        self._stream = stream
        self._places = np.arange(count, dtype=np.uint64) * np.uint64(RESERVED)
        self._held: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def take(self, rows: np.ndarray, fill: Fill, dtype: Any) -> np.ndarray:
        """The next number of some results."""
        if fill not in self._held:
            size = 2 if dtype == np.float64 else 4
            self._held[fill] = np.empty((len(self._places), size), dtype), np.zeros(len(self._places), np.int64)
        held, left = self._held[fill]
        empty = rows[left[rows] == 0]
        if len(empty):
            held[empty] = fill(self._stream, self._places[empty], dtype)
            self._places[empty] += np.uint64(1)
            left[empty] = held.shape[1]
        left[rows] -= 1
        return held[rows, left[rows]]


def gamma(stream: Stream, count: int, alpha: np.ndarray) -> np.ndarray:
    """Numbers of the gamma distribution of unit scale: `count` for each alpha (a vector), shape (count, alphas).

    By Marsaglia and Tsang's method, in float64; below 1 with alpha + 1, times a power of a uniform number.
    """
    a = np.repeat(alpha.astype(np.float64), count)
    sources, out = _Sources(stream, len(a)), np.full(len(a), np.nan)
    exponential = np.flatnonzero(a == 1)
    out[exponential] = -elementary.log1p(-sources.take(exponential, _floats, np.float64))
    small = a < 1
    with np.errstate(invalid="ignore", divide="ignore"):
        d = a + np.where(small, 2 / 3, -1 / 3)
        c = 1 / 3 / np.sqrt(d)
    left = np.flatnonzero((a > 0) & (a != 1) & np.isfinite(a))
    while len(left):
        x = sources.take(left, _normals, np.float64)
        v = 1 + c[left] * x
        tried = v > 0
        rows, x, v = left[tried], x[tried], v[tried] ** 3
        u = sources.take(rows, _floats, np.float64)
        with np.errstate(divide="ignore"):
            good = u < 1 - 0.0331 * (x * x) * (x * x)
            good |= elementary.log(u) < 0.5 * x * x + d[rows] * (1 - v + elementary.log(v))
        done = rows[good]
        out[done] = d[done] * v[good]
        below = done[small[done]]
        out[below] *= sources.take(below, _floats, np.float64) ** (1 / a[below])
        left = np.setdiff1d(left, done, assume_unique=True)
    return out.reshape(len(alpha), count).T


def poisson(stream: Stream, count: int, rate: np.ndarray) -> np.ndarray:
    """Counts of the Poisson distribution: `count` for each rate (a vector), float64 of shape (count, rates).

    Below a rate of 10 by products of uniform numbers (Knuth), above by Hörmann's transformed rejection.
    """
    rates = np.repeat(rate.astype(np.float64), count)
    sources, out = _Sources(stream, len(rates)), np.full(len(rates), np.nan)
    product, limit, number = np.ones_like(rates), elementary.exp(-rates), np.zeros_like(rates)
    left = np.flatnonzero((rates >= 0) & (rates < 10))
    while len(left):
        product[left] *= sources.take(left, _floats, np.float64)
        over = product[left] > limit[left]
        out[left[~over]] = number[left[~over]]
        left = left[over]
        number[left] += 1
    left = np.flatnonzero((rates >= 10) & np.isfinite(rates))
    while len(left):
        accepted, k = _hoermann(sources, left, rates[left])
        out[left[accepted]] = k[accepted]
        left = left[~accepted]
    return out.reshape(len(rate), count).T


def _hoermann(sources: _Sources, rows: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One try of transformed rejection (algorithm PTRS): which are accepted, and the counts."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    u = sources.take(rows, _floats, np.float64) - 0.5
    v = sources.take(rows, _floats, np.float64)
    shifted = 0.5 - np.abs(u)
    with np.errstate(divide="ignore", invalid="ignore"):
        k = np.floor((2 * a / shifted + b) * u + rate + 0.43)
        surely = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        never = (k < 0) | ((shifted < 0.013) & (v > shifted))
        density = elementary.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (shifted * shifted) + b))
        wanted = -rate + k * elementary.log(rate) - scipy.special.gammaln(k + 1)
    return surely | (~never & (density <= wanted)), k


# ---- choices ---------------------------------------------------------------------------------------------------------


def categorical(stream: Stream, count: int, logits: np.ndarray) -> np.ndarray:
    """Classes, `count` for each row of logits: the rows take one after the other from the stream."""
    finite = np.isfinite(logits)
    highest = np.max(np.where(finite, logits, np.finfo(logits.dtype).min), axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = elementary.exp(logits.astype(np.float64) - highest)
    edges = np.cumsum(np.where(finite, weights, 0.0), axis=1)
    points = uniform(stream, len(logits) * count, np.float64).reshape(len(logits), count) * edges[:, -1:]
    chosen = [np.searchsorted(row, p, side="right") for row, p in zip(edges, points, strict=True)]
    return np.array(chosen, np.int64).reshape(points.shape)


def permutation(stream: Stream, count: int) -> np.ndarray:
    """The numbers below `count` in random order: each place in turn is swapped with itself or one behind it."""
    order = list(range(count))
    if count > 1:
        room = np.arange(count, 1, -1, dtype=np.uint32)
        steps = words(stream, -(-(count - 1) // 4)).ravel()[: count - 1] % room
        for i, step in enumerate(steps.tolist()):
            order[i], order[i + step] = order[i + step], order[i]
    return np.array(order, np.int64)
