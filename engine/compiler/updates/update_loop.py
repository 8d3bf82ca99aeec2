"""Elementwise updates of large arrays where they lie, tile by tile.

An update reads some arrays and gives some of them new values. Written as a list of calls of C functions, each of which
writes to an array that is there already, it needs memory for a tile of each intermediate result, and
`engine.runtime.commit.commit` makes it in one step: no interrupt comes between two tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from operator import setitem
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Aval
from engine.core.op import Op
from engine.executor.loops import tiled_table
from engine.executor.staged import raises
from engine.ops.arithmetic import maximum, minimum
from engine.runtime.buffer_pool import empty
from engine.runtime.cache import Cache
from engine.runtime.tuning import TUNING

TILE_BYTES = TUNING.update_tile
"""Bytes of an array in one tile: a handful of tiles stay in a core's own cache."""
_tables: Cache[Any, Any] = Cache("tables of updates", 64, key="the program of the update, shapes, dtypes")


class Scratch:
    """Memory for intermediate results, which the updates of one step use one after the other."""

    def __init__(self) -> None:
        self._vectors: dict[Any, list[np.ndarray]] = {}

    def vectors(self, use: str, count: int, size: int, dtype: Any) -> list[np.ndarray]:
        """So many distinct vectors of `size` elements; those of another `use` are others."""
        vectors = self._vectors.setdefault((use, dtype), [])
        vectors += [empty((size,), dtype) for _ in range(len(vectors), count)]
        for i in range(count):
            if vectors[i].size < size:
                vectors[i] = empty((size,), dtype)
        return [vector[:size] for vector in vectors[:count]]


class Step(NamedTuple):
    """An elementwise ufunc, with the value ids of its operands and of its result."""

    op: Op
    operands: tuple[int, ...]
    result: int


class UpdateLoop:
    """Elementwise operations on arrays of one size and dtype and on numbers; all are named by value ids."""

    def __init__(
        self, steps: Sequence[Step], arrays: Sequence[int], numbers: Sequence[int], results: Sequence[int], dtype: Any
    ) -> None:
        self.steps, self.results, self.dtype = tuple(steps), tuple(results), dtype
        self._places = {s: i for i, s in enumerate((*arrays, *numbers))}
        self._first = len(self._places) + 1

    @property
    def key(self) -> tuple[Any, ...]:
        """The key of loops that do the same."""
        places = {**{step.result: -1 - i for i, step in enumerate(self.steps)}, **self._places}
        steps = [(step.op, *[places[s] for s in step.operands]) for step in self.steps]
        return self.dtype, tuple(steps), tuple([places[s] for s in self.results])

    @property
    def keeps_bits_anywhere(self) -> bool:
        """Whether an element has the same bits wherever it lies, so that arrays may be put together to one.

        `maximum` and `minimum` give one of two numbers; which of two zeros or of two NaNs, no update depends on.
        """
        return all(step.op.rounds_correctly or step.op in (maximum, minimum) for step in self.steps)

    def calls(
        self,
        arrays: Sequence[np.ndarray],
        numbers: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        scratch: Scratch | None = None,
    ) -> list[tuple[Any, ...]]:
        """``(function, *arguments)`` for each call that the update consists of.

        Results are written to arrays in C order, each of which is an argument, or overlaps with none. Other loops,
        before or after this one, may use the scratch, too.
        """
        over = [next((i for i, a in enumerate(arrays) if a is r), -1) for r in results]
        flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
        places = [*flat, *[r.reshape(-1) for r, k in zip(results, over, strict=True) if k < 0]]
        if not raises() and all(x.dtype == self.dtype and x.flags.aligned for x in places):
            table = self._table(flat[0].size, over, [x.dtype for x in numbers])
            if table is not None:
                return [(table, *places, *numbers)]
        steps, count = self._scheduled(over)
        own = [next((f for f, a in zip(flat, arrays, strict=True) if a is r), r.reshape(-1)) for r in results]
        tile = TILE_BYTES // self.dtype.itemsize
        scratches = (scratch or Scratch()).vectors("tiles", count, min(tile, flat[0].size), self.dtype)
        made: list[tuple[Any, ...]] = []
        for start in range(0, flat[0].size, tile):
            stop = min(start + tile, flat[0].size)
            tiles: list[Any] = [a[start:stop] for a in flat]
            tiles += [*numbers, Ellipsis, *[r[start:stop] for r in own], *[s[: stop - start] for s in scratches]]
            for function, operands, out in steps:
                function = function if out < 0 else partial(function, out=tiles[out])
                made.append((function, *[tiles[k] for k in operands]))
        return made

    def _table(self, size: int, over: Sequence[int], numbers: Sequence[Any]) -> Any:
        """The calls of all tiles as one call of the native executor; None where it cannot make them."""

        def made() -> Any:
            calls, scratch = self._scheduled(over)
            count, new = self._first - 1 - len(numbers), sum(k < 0 for k in over)
            fresh = itertools.count(count)
            places = list(range(count))
            places += [count + new + k for k in range(len(numbers))]
            places += [-1, *[k if k >= 0 else next(fresh) for k in over]]
            places += [count + new + len(numbers) + k for k in range(scratch)]
            rows = [
                (None, (places[ids[2]],), places[ids[0]])
                if function is setitem
                else (function, tuple([places[k] for k in ids]), places[out])
                for function, ids, out in calls
            ]
            written = places[self._first : self._first + len(over)]
            return tiled_table(rows, size, self.dtype, count + new, written, numbers, scratch)

        key = self.key, size, tuple(over), tuple(numbers)
        table = _tables.get(key)
        # False where there is none
        return (_tables.put(key, made() or False) if table is None else table) or None

    def _scheduled(self, over: Sequence[int]) -> tuple[list[tuple[Any, tuple[int, ...], int]], int]:
        """The calls for one tile, by positions of operands and of ``out``; and how many scratch tiles there are.

        `over` says which argument a result is written over, -1 for none. Positions: arrays, numbers, an ellipsis,
        results, scratch tiles.
        """
        last = {s: i for i, step in enumerate(self.steps) for s in step.operands}
        read_until = {place: last[s] for s, place in self._places.items() if s in last}
        places, first = dict(self._places), self._first
        scratch = first + len(self.results)
        free: list[int] = []
        count = 0
        calls: list[tuple[Any, tuple[int, ...], int]] = []
        copies: list[tuple[Any, tuple[int, ...], int]] = []
        for i, (op, ids, value) in enumerate(self.steps):
            operands = tuple([places[s] for s in ids])
            free += [places[s] for s in set(ids) if last[s] == i and places[s] >= scratch]
            wanted = [first + k for k, s in enumerate(self.results) if s == value]
            at_once = [p for p in wanted if read_until.get(over[p - first], -1) <= i]
            if at_once:
                out = at_once[0]
            else:
                if not free:
                    free.append(scratch + count)
                    count += 1
                out = free.pop()
                if wanted:
                    # it is copied when the tile is done
                    last[value] = len(self.steps)
            places[value] = out
            last.setdefault(value, i)
            calls.append((op.kernel, operands, out))
            copies += [(setitem, (p, first - 1, out), -1) for p in wanted if p != out]
        return calls + copies, count


def is_tileable(op: Op, operands: Sequence[Aval], results: Sequence[Aval]) -> bool:
    """Whether an op is a ufunc that makes one array of arrays of its shape and dtype, and of numbers."""
    if len(results) != 1 or not op.is_ufunc or op.stateful:
        return False
    (out,) = results
    return bool(out.shape) and out.is_static and all(x == out or x.shape == () for x in operands)
