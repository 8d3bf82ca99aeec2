"""Slice concat: a vector that gathers numbers from several others becomes copies of slices.

The values of a banded matrix in the order of its rows are those of its diagonals, in turn: the first diagonal goes to
every third position, say. Concatenating the diagonals and indexing the result reads an index for each number, and
moves each number through memory twice more. One slice for each diagonal does neither.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.core.sparsity import numbers
from engine.core.structural import reshape_to
from engine.ops.joining import concat_op
from engine.ops.selection import add_at_op, flat_gather_op
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

_LEAST = TUNING.slice_concat_elements
_MOST = TUNING.slice_concat_slices
_LONG = TUNING.slice_concat_length
_AT_ONCE = 1 << 16
"""Numbers that are looked at at a time: they lie in the processor's caches."""

Move = tuple[int, slice, slice]
"""Which vector, what of it, and where it goes."""


def _slice_concat(*vectors: Any, aval: Aval, moves: Sequence[Move], sums: Sequence[Move]) -> np.ndarray:
    out = empty((aval.size or 0,), aval.dtype.numpy)
    for k, of, to in moves:
        out[to] = vectors[k][of]
    for k, of, to in sums:
        out[to] += vectors[k][of]
    return out


slice_concat = instruction_op(
    "slice_concat",
    __name__,
    _slice_concat,
    lambda *vectors, aval, moves, sums: aval,
    "A vector that slices of others are written to, and then added to.",
)


def concat_slices(code: Code) -> int:
    """Replace gathers that are slices; how many there were."""
    if not any(each.op is flat_gather_op or each.op is add_at_op for each in code.instructions):
        return 0
    made, avals, constants, uses = code.makers(), code.avals, code.constants, code.uses()

    def replaced(each: Instruction) -> list[Instruction] | None:
        if each.op not in (flat_gather_op, add_at_op) or not _is_vector(avals[each.outputs[0]]):
            return None
        gathers = each.op is flat_gather_op
        new = _gathered(each, made, avals, constants, _LEAST) if gathers else added(each)
        if new is not None:
            made[new.outputs[0]] = new
        return None if new is None else [new]

    def added(each: Instruction) -> Instruction | None:
        x, values, entries = each.inputs
        first, more = made.get(x), made.get(values)
        if more is not None and more.op is flat_gather_op:
            more = _gathered(more, made, avals, constants, 1)
        if first is None or more is None or first.op is not slice_concat or entries not in constants:
            return None
        if more.op is not slice_concat or uses[x] > 1 or more.inputs != first.inputs or more.params["sums"]:
            return None
        sums = [move for one in more.params["moves"] for move in _onward(one, constants[entries])]
        if len(sums) > _MOST or not (each.params["distinct"] or _apart(sums, avals[x].size or 0)):
            return None
        params = {**first.params, "sums": (*first.params["sums"], *sums)}
        return Instruction(slice_concat, first.inputs, params, each.outputs, each.where)

    return code.rewrite(replaced)


def _gathered(
    instruction: Instruction,
    made: dict[int, Instruction],
    avals: dict[int, Aval],
    constants: dict[int, Any],
    least: int,
) -> Instruction | None:
    data, positions = instruction.inputs
    out = avals[instruction.outputs[0]]
    if positions not in constants or (out.size or 0) < least:
        return None
    join = made.get(data)
    vectors = join.inputs if join is not None and join.op is concat_op else (data,)
    if not all(_is_vector(avals[v]) for v in vectors):
        return None
    vectors, places = _seen_through(vectors, constants[positions], made, avals)
    sizes = [avals[v].size or 0 for v in vectors]
    moves = _moves(places, np.cumsum([0, *sizes]))
    if moves is None:
        return None
    return Instruction(
        slice_concat, vectors, {"aval": out, "moves": moves, "sums": ()}, instruction.outputs, instruction.where
    )


def _seen_through(
    vectors: Sequence[int], positions: Any, made: dict[int, Instruction], avals: dict[int, Aval]
) -> tuple[tuple[int, ...], Any]:
    """The vectors, with what slices of others were written to replaced by those, and the positions in them."""
    origins = [_origin(v, made) for v in vectors]
    if not any(origins):
        return tuple(vectors), positions
    inner: list[int] = []
    places, count = [], 0
    for v, origin in zip(vectors, origins, strict=True):
        of = (v,) if origin is None else origin.inputs
        starts = count + np.cumsum([0, *[avals[k].size or 0 for k in of]])
        place = numbers(avals[v].size or 0, count).copy()
        for k, source, to in () if origin is None else origin.params["moves"]:
            place[to] = starts[k] + np.arange(source.start, source.stop, source.step)
        inner += of
        places.append(place)
        count = int(starts[-1])
    return tuple(inner), np.concatenate(places)[positions]


def _origin(v: int, made: dict[int, Instruction]) -> Instruction | None:
    """The instruction that writes a vector slice by slice, and adds none, whatever its shape in between."""
    source = made.get(v)
    while source is not None and source.op is reshape_to:
        source = made.get(source.inputs[0])
    return source if source is not None and source.op is slice_concat and not source.params["sums"] else None


def _apart(sums: Sequence[Move], size: int) -> bool:
    """Whether no vector adds two of its numbers to one place, so that their order there is that of the vectors."""
    for _, moves in itertools.groupby(sums, operator.itemgetter(0)):
        origins = np.full(size, -1)
        for _, of, to in moves:
            numbers = np.arange(of.start, of.stop, of.step)
            if ((origins[to] != -1) & (origins[to] != numbers)).any():
                return False
            origins[to] = numbers
    return True


def _is_vector(aval: Aval) -> bool:
    return aval.is_static and len(aval.shape or ()) == 1


def _moves(positions: Any, starts: Any) -> tuple[Move, ...] | None:
    """The slices that put together what is at the positions in the joined vectors; None if they are too many."""
    most = min(_MOST, len(positions) // _LONG)
    moves: list[Move] = []
    first = 0
    while first < len(positions):
        found = _moves_within(positions[first : first + _AT_ONCE], starts, 2 * most)
        if found is None or len(starts) > most:
            return None
        more = _periods(positions[first:], starts, found)
        for k, of, place in [_longer(move, more) for move in found]:
            to = slice(place.start + first, place.stop + first, place.step)
            before = [i for i, m in enumerate(moves) if m[0] == k and _goes_on(m[1], of) and _goes_on(m[2], to)]
            if before:
                _, since, origin = moves[before[0]]
                moves[before[0]] = k, slice(since.start, of.stop, since.step), slice(origin.start, to.stop, origin.step)
            else:
                moves.append((k, of, to))
        if len(moves) > most:
            return None
        first += _AT_ONCE + more * len(found)
    # sums are added in the order of the vectors
    return tuple(sorted(moves, key=operator.itemgetter(0)))


def _periods(positions: Any, starts: Any, moves: Sequence[Move]) -> int:
    """How often what follows the first numbers goes on as they do, where each of the moves takes its turn."""
    period, end = len(moves), _AT_ONCE
    if any(to.step != period for _, _, to in moves) or not 2 * period <= end <= len(positions) // 2:
        return 0
    steps = positions[end - period : end] - positions[end - 2 * period : end - period]
    while end + period <= len(positions):
        rows = positions[end - period : end + _AT_ONCE]
        rows = rows[: len(rows) // period * period].reshape(-1, period)
        ends = np.searchsorted(starts, rows[[0, -1]], "right")
        if (ends[0] != ends[1]).any() or (rows[1:] - rows[:-1] != steps).any():
            break
        end += rows.size - period
    return (end - _AT_ONCE) // period


def _longer(move: Move, more: int) -> Move:
    """The move with so many numbers more."""
    k, of, to = move
    return k, slice(of.start, of.stop + more * of.step, of.step), slice(to.start, to.stop + more * to.step, to.step)


def _goes_on(one: slice, other: slice) -> bool:
    """Whether a slice goes on where another ends, which has two numbers at least."""
    alone = other.stop - other.start == 1
    return other.start == one.stop - 1 + one.step < other.stop and (alone or other.step == one.step)


def _moves_within(positions: Any, starts: Any, most: int) -> list[Move] | None:
    moves: list[Move] = []
    # by the vectors that they are in
    within = np.searchsorted(starts.astype(positions.dtype), positions, "right").astype(np.int8)
    for k in range(len(starts) - 1):
        targets = np.flatnonzero(within == k + 1)
        sources = positions[targets] - starts[k]
        if not (sources[1:] >= sources[:-1]).all():
            turn = np.argsort(sources, kind="stable")
            sources, targets = sources[turn], targets[turn]
        # what is used several times on end is used once by each of several slices
        times = _times(sources)
        if len(times) > most:
            return None
        for time in times:
            runs = _runs(sources[time], targets[time], most - len(moves))
            if runs is None:
                return None
            moves += [(k, of, to) for of, to in runs]
    return moves


def _times(sources: Any) -> list[Any]:
    """Which of the numbers stand there for the first time on end, which for the second time and so on.

    Some of those are enough if they are too many.
    """
    new = np.concatenate([[True], sources[1:] != sources[:-1]])[: len(sources)]
    if new.all():
        return [slice(None)]
    at = np.arange(len(sources))
    before = at - np.maximum.accumulate(np.where(new, at, 0))
    return [np.flatnonzero(before == time) for time in range(min(int(before.max()) + 1, _MOST + 1))]


def _runs(sources: Any, targets: Any, most: int) -> list[tuple[slice, slice]] | None:
    """The slices in which both advance by equal steps; None if they are more than `most`."""
    of, to = np.diff(sources), np.diff(targets)
    # where the step to the next one is another than the step before
    ends = np.append(np.flatnonzero((of[1:] != of[:-1]) | (to[1:] != to[:-1])) + 1, len(sources) - 1)
    runs: list[tuple[slice, slice]] = []
    first = 0
    while first < len(sources):
        if len(runs) == most:
            return None
        alone = first == len(of) or of[first] < 1 or to[first] < 1
        last = first if alone else int(ends[np.searchsorted(ends, first, "right")])
        runs.append((_slice(sources, first, last), _slice(targets, first, last)))
        first = last + 1
    return runs


def _slice(numbers: Any, first: int, last: int) -> slice:
    """The slice from one of the numbers to another, by equal steps."""
    start, end = int(numbers[first]), int(numbers[last])
    step = int(numbers[first + 1]) - start if last > first else 1
    return slice(start, end + 1, step)


def _onward(move: Move, entries: Any) -> list[Move]:
    """The move, where what it makes goes on to the given entries."""
    k, of, to = move
    sources = np.arange(of.start, of.stop, of.step)
    runs = _runs(sources, entries[to], _MOST)
    return [(k, *run) for run in runs] if runs is not None else [(k, of, to)] * (_MOST + 1)
