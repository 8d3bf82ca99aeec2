"""Memory that is used again and again.

Memory that is new to a process is mapped page by page as it is first written. For large arrays that can take longer
than computing what is written, and the C library hands large arrays back to the system as soon as they are freed. So
programs keep what they need between runs, and what a large result was written to comes back when nobody holds it any
more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from engine.runtime.structs import field, struct
from engine.runtime.tuning import TUNING

V = TypeVar("V")

KEPT = TUNING.pool_bytes
"""Bytes that are kept in all while nobody uses them."""
_LEAST = TUNING.pool_least
_VIEWS = 8


@struct(eq=False)
class PoolBlock:
    """A pool block: memory, and the views that were made of it."""

    memory: np.ndarray
    _views: dict[Hashable, Any] = field(default_factory=dict)

    def views(self, key: Hashable, make: Callable[[np.ndarray], V]) -> V:
        """``make(memory)``, or what that gave for the same key before."""
        if key not in self._views:
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[key] = make(self.memory)
        return self._views[key]


_spare: list[PoolBlock] = []
"""The blocks that nobody uses, the one used last at the end.

There is no lock: memory changes hands by one operation of a list, `remove` or `append`, which threads do not split and
which a finalizer may do in the middle of anything. Who has taken a block has it alone, with its views.
"""


def take(size: int) -> PoolBlock:
    """Memory of at least so many bytes that nobody else uses until it is given back."""
    block = _taken(size, 2 * size)
    if block is None:
        # in place of one that is a little too small, and of few sizes: growing ones do not pile up
        _taken(size // 2, size)
        block = PoolBlock(np.empty(size + -size % (1 << max(size.bit_length() - 3, 0)), np.uint8))
    return block


def _taken(least: int, most: int) -> PoolBlock | None:
    """The block of such a size that was used last, if there is one."""
    for block in reversed(_spare):
        if least <= block.memory.size <= most:
            try:
                _spare.remove(block)
            except ValueError:
                # another thread was quicker
                continue
            return block
    return None


def give_back(block: PoolBlock) -> None:
    """Let others have it. What has not been used for longest is freed if there is too much."""
    _spare.append(block)
    while sum([s.memory.size for s in _spare.copy()]) > KEPT:
        del _spare[:1]


def forget() -> None:
    """Free the memory that nobody uses."""
    _spare.clear()


class _Held:
    """The owner of an array's memory, which the array keeps alive; it gives memory back when the last array goes."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: PoolBlock, interface: dict[str, Any]) -> None:
        self._block = block
        self.__array_interface__ = interface

    # the default is there still when an interpreter that ends has cleared the module
    def __del__(self, give_back: Callable[[PoolBlock], None] = give_back) -> None:
        give_back(self._block)


def empty(shape: tuple[int, ...], dtype: Any, least: int = _LEAST) -> np.ndarray:
    """An array with nothing in it yet, like `numpy.empty`; from `least` bytes on in memory that is used again."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if not least <= size <= KEPT:
        return np.empty(shape, dtype)
    block = take(size)
    return np.asarray(_Held(block, block.views((shape, dtype), functools.partial(_interface, shape, dtype))))


def _interface(shape: tuple[int, ...], dtype: np.dtype, memory: np.ndarray) -> dict[str, Any]:
    """How NumPy's array interface describes an array at the start of some memory."""
    return {"version": 3, "data": (memory.ctypes.data, False), "shape": shape, "typestr": dtype.str}


def is_whole(array: np.ndarray) -> bool:
    """Whether an array is all there is of its memory, and no view of another."""
    return array.base is None or isinstance(array.base, _Held)
