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
from engine.core.trace import Symbol, Trace, constant, placeholder
from engine.core.variable import Variable
from engine.executor.staged import raises
from engine.executor.tiled import tiled_table
from engine.ops.arithmetic import maximum, minimum
from engine.runtime.buffer_pool import empty
from engine.runtime.cache import Cache
from engine.runtime.tuning import TUNING

TILE_BYTES = TUNING.update_tile
"""Bytes of an array in one tile: a handful of tiles stay in a core's own cache."""
_tables: Cache[Any, Any] = Cache("tables of updates", 64)


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
    """Elementwise operations on arrays of one size and on numbers.

    Parameters
    ----------
    steps : sequence of Step
    arrays, numbers : sequence of int
        Value ids of the arguments.
    results : sequence of int
        Of what it computes: results of steps.
    dtype : numpy.dtype
        Of all arrays.
    """

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

        Parameters
        ----------
        arrays, numbers : sequence of array
            The arguments. Those that are not themselves among the results do not overlap with these.
        results : sequence of array
            Where to write the results, in C order. Each is an argument, or memory of its own.
        scratch : Scratch, optional
            What other loops use too, before or after this one.
        """
        over = [next((i for i, a in enumerate(arrays) if a is r), -1) for r in results]
        flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
        given = [*flat, *[r.reshape(-1) for r, k in zip(results, over, strict=True) if k < 0]]
        if not raises() and all(x.dtype == self.dtype and x.flags.aligned for x in given):
            table = self._table(flat[0].size, over, [x.dtype for x in numbers])
            if table is not None:
                return [(table, *given, *numbers)]
        steps, count = self._scheduled(over)
        own = [next((f for f, a in zip(flat, arrays, strict=True) if a is r), r.reshape(-1)) for r in results]
        tile = TILE_BYTES // self.dtype.itemsize
        scratches = (scratch or Scratch()).vectors("tiles", count, min(tile, flat[0].size), self.dtype)
        made: list[tuple[Any, ...]] = []
        for start in range(0, flat[0].size, tile):
            stop = min(start + tile, flat[0].size)
            places: list[Any] = [a[start:stop] for a in flat]
            places += [*numbers, Ellipsis, *[r[start:stop] for r in own], *[s[: stop - start] for s in scratches]]
            for function, operands, out in steps:
                function = function if out < 0 else partial(function, out=places[out])
                made.append((function, *[places[k] for k in operands]))
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
        found = _tables.get(key)
        # False where there is none
        return (_tables.put(key, made() or False) if found is None else found) or None

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
        late: list[tuple[Any, tuple[int, ...], int]] = []
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
            late += [(setitem, (p, first - 1, out), -1) for p in wanted if p != out]
        return calls + late, count


def traced_loop(trace: Trace, results: Sequence[Any]) -> tuple[UpdateLoop, list[np.ndarray]]:
    """The loop that computes results from the placeholders of a trace, and the numbers that it takes.

    Raises
    ------
    ValueError
        If the trace does something else than elementwise ufuncs of the placeholders and of constants of rank 0.
    """
    given = [node.outputs[0] for node in trace.nodes if node.op is placeholder]
    aval, numbers, steps = given[0].aval, {}, []
    for node in _needed(trace, results):
        if node.op is constant and np.ndim(node.params["value"]) == 0:
            numbers[id(node.outputs[0])] = np.asarray(node.params["value"])
        elif node.op is not placeholder:
            if not is_tileable(node.op, [x.aval for x in node.inputs], [x.aval for x in node.outputs]):
                raise ValueError(f"{node.op.name} is no elementwise ufunc on arrays of one size")
            steps.append(Step(node.op, tuple(map(id, node.inputs)), id(node.outputs[0])))
    wanted = [id(x) for x in results]
    if not {step.result for step in steps}.issuperset(wanted) or any(x.aval != aval for x in results):
        raise ValueError("a result is not computed")
    loop = UpdateLoop(steps, list(map(id, given)), list(numbers), wanted, aval.dtype.numpy)
    return loop, list(numbers.values())


def _needed(trace: Trace, results: Sequence[Symbol]) -> list[Any]:
    """The nodes that results are computed from."""
    wanted = {id(x) for x in results}
    found = []
    for node in reversed(trace.nodes):
        if not wanted.isdisjoint(map(id, node.outputs)):
            wanted.update(map(id, node.inputs))
            found.append(node)
    return found[::-1]


def is_tileable(op: Op, operands: Sequence[Aval], results: Sequence[Aval]) -> bool:
    """Whether an op is a ufunc that makes one array of arrays of its shape and dtype, and of numbers."""
    if len(results) != 1 or not op.is_ufunc or op.stateful:
        return False
    (out,) = results
    return bool(out.shape) and out.is_static and all(x == out or x.shape == () for x in operands)


# ---- on eager variables ----------------------------------------------------------------------------------------------


class LateChange:
    """A change of variables that is made only when it is written."""

    def writes(self, scratch: Scratch) -> list[tuple[Any, ...]]:
        """The writes for `engine.runtime.commit.commit`; the variables' locks are held until they are made."""
        raise NotImplementedError


class Overwriting(LateChange):
    """New values of a variable and of its slots, computed when they are written.

    Parameters
    ----------
    loop : UpdateLoop
    gradient : array or LateArray
    variables : sequence of Variable
        The variable and its slots: the loop's other arrays.
    changed : sequence of int
        Which of them the loop's results are for.
    numbers : sequence of array
    """

    def __init__(
        self,
        loop: UpdateLoop,
        gradient: Any,
        variables: Sequence[Variable],
        changed: Sequence[int],
        numbers: Sequence[Any],
    ) -> None:
        self.loop, self.gradient, self.variables, self.changed = loop, gradient, variables, changed
        self.numbers = numbers

    def writes(self, scratch: Scratch) -> list[tuple[Any, ...]]:
        """The calls of the loop, after which all variables have new values."""
        gradient, before = self.gradient.given(scratch) if hasattr(self.gradient, "given") else (self.gradient, [])
        arrays, results, after = [gradient], {}, []
        for i, variable in enumerate(self.variables):
            if i in self.changed:
                old, results[i], writes = variable.renewal()
                after += writes
            else:
                (old,) = variable.arrays([variable])
            arrays.append(old)
        calls = self.loop.calls(arrays, self.numbers, [results[i] for i in self.changed], scratch)
        return [*before, *calls, *after]


class Replacing(LateChange):
    """New values of many eager variables of one class.

    Parameters
    ----------
    variables : sequence of Variable
    values : sequence of array
        Of the variables' shapes and dtypes, in memory of their own.
    """

    def __init__(self, variables: Sequence[Variable], values: Sequence[Any]) -> None:
        self.variables, self.values = variables, values

    def writes(self, scratch: Scratch) -> list[tuple[Any, ...]]:
        """One write for all of them."""
        return [type(self.variables[0]).replacement(self.variables, self.values)]
