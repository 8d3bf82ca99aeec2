"""Arrays that are parts of one array, so that what is done to all of them is done at once."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from engine.runtime.buffer_pool import empty


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of some arrays, one after the other; of one array, itself."""
    return arrays[0] if len(arrays) == 1 else copied(arrays)


def copied(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of some arrays, one after the other, in memory of their own."""
    size = sum([a.size for a in arrays])
    return np.concatenate(arrays, axis=None, out=empty((size,), arrays[0].dtype))


def taken_apart(whole: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Copies of the parts of an array that `joined` made; of one array, itself."""
    if len(shapes) == 1:
        return [whole]
    # the parts of equal shapes are the rows of a matrix
    parts = whole.reshape(len(shapes), *shapes[0]) if len(set(shapes)) == 1 else parts_of(whole, shapes)
    return list(map(np.ndarray.copy, parts))


def parts_of(whole: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Views of the parts of a vector, of some shapes."""
    ends = list(itertools.accumulate(map(math.prod, shapes)))
    return [
        whole[start:end] if len(shape) == 1 else whole[start:end].reshape(shape)
        for start, end, shape in zip([0, *ends], ends, shapes, strict=False)
    ]


class Pack:
    """Values, at first those of `arrays`, that lie one after the other in one array (`whole`): its parts (`values`)."""

    def __init__(self, arrays: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]) -> None:
        # not from the pool, which gives out memory again for what does not stay
        self.whole = np.concatenate(arrays, axis=None)
        self.values = parts_of(self.whole, shapes)

    def holds(self, values: Sequence[Any]) -> bool:
        """Whether these are the values."""
        return len(values) == len(self.values) and all(map(is_, values, self.values))

    def is_alone(self) -> bool:
        """Whether nobody shares the values' memory but one mapping that holds each of them."""
        return self._holders() == _ALONE

    def _holders(self) -> tuple[int, set[int]]:
        """How many references there are to the array, but for those of its parts; and to a part."""
        return sys.getrefcount(self.whole) - len(self.values), set(map(sys.getrefcount, self.values))


def _alone() -> tuple[int, set[int]]:
    pack = Pack([np.zeros(1), np.zeros(1)], [(1,), (1,)])
    mapping = dict(enumerate(pack.values))
    holders = pack._holders()
    del mapping
    return holders


_ALONE = _alone()
