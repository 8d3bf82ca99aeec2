"""Liveness: how long each value is needed, and one block of memory for values that are not needed at once.

Every part of the compiler and of the executors that asks for a last use asks here, whatever its steps are: instructions
and value ids, rows and their memory, variables of generated code.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from engine.compiler.ir.instruction import Instruction

K = TypeVar("K", bound=Hashable)


def last_uses(steps: Iterable[Iterable[K]], kept: Iterable[K] = ()) -> dict[K, int]:
    """The position of the last step that a value occurs in; that behind the last step for what is `kept`.

    Examples
    --------
    >>> last_uses(["ab", "bc", "cd"], "a")
    {'a': 3, 'b': 1, 'c': 2, 'd': 2}
    """
    last: dict[K, int] = {}
    count = 0
    for i, step in enumerate(steps):
        count = i + 1
        for value in step:
            last[value] = i
    last.update(dict.fromkeys(kept, count))
    return last


def dying(last: dict[K, int], count: int) -> list[list[K]]:
    """For each of `count` steps, what nobody needs behind it.

    Examples
    --------
    >>> dying({"a": 3, "b": 1, "c": 2, "d": 2}, 3)
    [[], ['b'], ['c', 'd']]
    """
    last_used: list[list[K]] = [[] for _ in range(count)]
    for value, i in last.items():
        if i < count:
            last_used[i].append(value)
    return last_used


def values_of(instructions: Iterable[Instruction]) -> list[tuple[int, ...]]:
    """The values that instructions read and write, as steps."""
    return [(*each.inputs, *each.outputs) for each in instructions]


class Needed(NamedTuple):
    """Bytes that something takes, and the first and the last time at which it is needed."""

    size: int
    first: Any
    last: Any


_LANES = 32
"""Lanes of larger values that are looked at for a value."""


class _Lane:
    """A part of a block, and the times in which it is in use."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.starts: list[Any] = []
        self.ends: list[Any] = []

    def takes(self, value: Needed) -> bool:
        """Use it for a value, if nothing else is there then."""
        k = bisect.bisect_left(self.starts, value.first)
        if (k and self.ends[k - 1] >= value.first) or (k < len(self.starts) and self.starts[k] <= value.last):
            return False
        self.starts.insert(k, value.first)
        self.ends.insert(k, value.last)
        return True


def placed(values: Mapping[K, Needed], most: float = float("inf")) -> tuple[dict[K, int], int]:
    """Offsets in one block of memory, and its size: what is needed at the same time does not overlap.

    Values of one size take the places of each other, that used last first, for it is in the cache. What finds none goes
    where a larger value lies at other times, and behind all if there is no such place. So the block is never larger
    than it would be if each size had places of its own. What does not fit into `most` bytes gets no offset.

    Examples
    --------
    >>> placed({"a": Needed(64, 0, 1), "b": Needed(8, 1, 4), "c": Needed(8, 2, 3)})
    ({'a': 0, 'b': 64, 'c': 0}, 72)
    """
    offsets: dict[K, int] = {}
    lanes: list[_Lane] = []
    total = 0
    by_size: dict[int, list[K]] = {}
    for key, value in sorted(values.items(), key=lambda item: item[1].first):
        by_size.setdefault(value.size, []).append(key)
    for size in sorted(by_size, reverse=True):
        larger, free = lanes[: -_LANES - 1 : -1], list[_Lane]()
        busy: list[tuple[Any, int, _Lane]] = []
        for key in by_size[size]:
            value = values[key]
            while busy and busy[0][0] < value.first:
                free.append(heapq.heappop(busy)[-1])
            if not free and (other := next((lane for lane in larger if lane.takes(value)), None)) is not None:
                offsets[key] = other.offset
                continue
            if not free:
                if total + size > most:
                    continue
                free.append(_Lane(total))
                lanes.append(free[0])
                total += size
            lane = free.pop()
            # behind all that it has taken
            lane.starts.append(value.first)
            lane.ends.append(value.last)
            offsets[key] = lane.offset
            heapq.heappush(busy, (value.last, lane.offset, lane))
    return offsets, total
