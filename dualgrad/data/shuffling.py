"""The order in which `Dataset.shuffle` hands elements out: TensorFlow's, to the element.

TensorFlow draws from a Philox generator of 32-bit words (four at a time, ten rounds), keyed by the two seeds.

References
----------
Salmon, Moraes, Dror and Shaw (2011), *Parallel Random Numbers: As Easy as 1, 2, 3*.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)
_BLOCKS = 256

Seeds = tuple[int, int]


def random_words(seeds: Seeds) -> Iterator[int]:
    """The 32-bit words of the generator that two seeds name."""
    first, second = [s & 0xFFFFFFFFFFFFFFFF for s in seeds]
    start = 0
    while True:
        yield from _block(first, second, start).tolist()
        start += _BLOCKS


def _block(key: int, stream: int, start: int) -> np.ndarray:
    at = np.arange(start, start + _BLOCKS, dtype=np.uint64)
    x = [at & _LOW, at >> _32, np.full_like(at, stream & 0xFFFFFFFF), np.full_like(at, stream >> 32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = x[0] * _M0, x[2] * _M1
        x = [(q >> _32) ^ x[1] ^ np.uint64(k0), q & _LOW, (p >> _32) ^ x[3] ^ np.uint64(k1), p & _LOW]
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack(x, axis=1).ravel()


class SeedGenerator:
    """The seeds of one iteration after the other."""

    def __init__(self, seeds: Seeds, again: bool) -> None:
        self._seeds = seeds
        self._words = random_words(seeds) if again else None

    def next(self) -> Seeds:
        """The seeds of the next iteration: always the same ones, if it is not to be shuffled again."""
        if self._words is None:
            return self._seeds
        return next(self._words), next(self._words)


def seed_pair(seeds: tuple[int | None, int | None]) -> Seeds:
    """The seeds of a data set; drawn, if there are none."""
    if seeds == (None, None):
        return secrets.randbits(63), secrets.randbits(63)
    first, second = (s or 0 for s in seeds)
    return (0, 2**31 - 1) if first == second == 0 else (first, second)


def shuffled(items: Iterator[Any], size: int, seeds: Seeds) -> Iterator[Any]:
    """Items in random order: each is drawn from a buffer, which is then filled up."""
    words = random_words(seeds)
    buffer: list[Any] = []
    start = 0  # a ring: the oldest place is the next one to be filled
    for item in items:
        if len(buffer) < size:
            buffer.append(item)
            continue
        at = (start + next(words) % size) % size
        drawn, buffer[at], buffer[start] = buffer[at], buffer[start], item
        start = (start + 1) % size
        yield drawn
    for left in range(len(buffer), 0, -1):
        at = (start + next(words) % left) % len(buffer)
        drawn, buffer[at] = buffer[at], buffer[start]
        start = (start + 1) % len(buffer)
        yield drawn
