"""The order in which `Dataset.shuffle` hands elements out: TensorFlow's, to the element.

TensorFlow draws the words of the generator (`engine.ops.philox`) that the two seeds name.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from dualgrad.data.stage import Lasting
from engine.ops import philox

_BLOCKS = 256

Seeds = tuple[int, int]


def random_words(seeds: Seeds) -> Iterator[int]:
    """The 32-bit words of the generator that two seeds name."""
    first, second = [s % 2**64 for s in seeds]
    start = 0
    while True:
        yield from philox.words(philox.Stream(first, second, start), _BLOCKS).ravel().tolist()
        start += _BLOCKS


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

    def drawn() -> Iterator[Any]:
        nonlocal start
        for item in items:
            if len(buffer) < size:
                buffer.append(item)
                continue
            at = (start + next(words) % size) % size
            one, buffer[at], buffer[start] = buffer[at], buffer[start], item
            start = (start + 1) % size
            yield one
        for left in range(len(buffer), 0, -1):
            at = (start + next(words) % left) % len(buffer)
            one, buffer[at] = buffer[at], buffer[start]
            start = (start + 1) % len(buffer)
            yield one

    return Lasting(drawn)
