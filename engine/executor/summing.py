"""Sums along a short last axis of what is computed from broadcast operands, as the squared distances of all pairs.

Differences of n points and k centroids are n * k * d numbers, made of (n + k) * d: to write them down takes longer than
to compute them. One row computes and adds them up (summed.c), and whoever else needs them computes them again, when it
does (`recomputed`). Numbers go through the same operations, and sums through the same order, so no bit changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from engine.executor.fusion import OPERATIONS, Place, Steps, Strides, joined
from engine.executor.own_loops import FUSES, LOOPS, MOST_SUMMED, MOST_TERMS, SUMMED, SUMMED_STEPS, base_of
from engine.executor.refs import Call, Root, Row
from engine.executor.rowlines import Axis, Lines
from engine.executor.selecting import fills_zero
from engine.runtime.structs import replace
from engine.runtime.tuning import TUNING

Ways = Callable[[Row], Lines | None]
"""How a row goes through the lines of its group."""

_SUM = "sum_each"
_LARGE = TUNING.group_bytes
_REPEATED = 4
"""Times that each number of an operand is used, from which on it pays to compute again."""


def once(rows: Sequence[Row], later: Sequence[Row]) -> list[Row]:
    """The rows, without those that compute once more what one of them did: what a group must write down it may read.

    What `later` ones read stays.
    """
    if sum(map(_expands, rows)) < 2:
        return list(rows)
    needed = {root for row in later for root, _ in row.operands}
    made: list[Row] = []
    first: dict[Any, Root] = {}
    same: dict[Root, Root] = {}
    uses = _Uses(rows)
    for k, row in enumerate(rows):
        *read, (root, offset) = row.operands
        operands = [(same.get(x, x), start) for x, start in read]
        if uses.expands(k) and root.tiled and root not in needed:
            key = row.loop, (*read, (None, offset)), row.dims, row.steps, row.outer, row.strides
            if key in first:
                same[root] = first[key]
                continue
            first[key] = root
        made.append(replace(row, operands=(*operands, (root, offset))) if operands != read else row)
    return made


def summed(rows: Sequence[Row], count: int, later: Sequence[Row], of: Ways) -> list[Row]:
    """The rows of a group of `count` lines, with sums and what nobody but them needs as one row each.

    What `later` ones read stays; `of` says how rows go through lines.
    """
    made = list(rows)
    for row in rows if FUSES else ():
        if _name(row) == _SUM:
            made = _folded(made, row, count, later, of) or made
    return made


def _folded(rows: list[Row], row: Row, count: int, later: Sequence[Row], of: Ways) -> list[Row] | None:
    """The rows with one row in place of a sum and what leads to it; None if that is no gain."""
    lines = of(row)
    inside = [] if lines is None else [(d, by) for d, by in lines.inside(count)[:-1] if d > 1]
    (at,) = [k for k, each in enumerate(rows) if each is row]
    x, total = row.operands
    begins = [k for k, each in enumerate(rows) if each.operands[-1][0] is total[0]]
    if lines is None or len(inside) != 1 or lines.core[0][0] > MOST_TERMS or len(begins) != 2 or begins[1] != at:
        return None
    if not fills_zero(rows[begins[0]]):
        return None
    axes = [(count, lines.steps(count)), inside[0], lines.core[0]]
    target = [(d, by[0]) for d, by in axes]
    inlined: dict[Root, int] = {}

    def inner(place: Place, by: Strides, times: int = 1) -> Steps | None:
        root = place[0]
        writers = [k for k, each in enumerate(rows) if each.operands[-1][0] is root]
        readers = sum(other is root for each in (*rows, *later) for other, _ in each.operands[:-1])
        if not root.tiled or len(writers) != 1 or readers != times or writers[0] > at:
            return None
        (k,) = writers
        each = rows[k]
        name, strides = _operation(each), _along(each, target)
        changed = {other.operands[-1][0] for other in rows[k + 1 : at]}
        if not name or strides is None or (each.operands[-1], strides[-1]) != (place, by):
            return None
        if any(other in changed or other.dtype != root.dtype for other, _ in each.operands[:-1]):
            return None
        inlined[root] = k
        return joined(name, each, 0, strides, inner)

    steps = inner(x, tuple([by for _, by in target]))
    if steps is None or len(steps.operands) > MOST_SUMMED or not SUMMED_STEPS.issuperset(steps.letters):
        return None
    if any(far and near for far, near, _ in steps.strides):
        # nothing is used twice
        return None
    assert total[0].dtype is not None
    left, gone = {root for root, _ in steps.operands}, {begins[0]}
    inside_of = [x[0]]
    while inside_of:
        root = inside_of.pop()
        if root in inlined and root not in left:
            gone.add(inlined[root])
            inside_of += [other for other, _ in rows[inlined[root]].operands[:-1]]
    far, near, terms = zip(*steps.strides, strict=True)
    result = [by[1] for _, by in axes]
    loop = f"{SUMMED}{total[0].dtype.char}_{steps.letters}"
    dims = inside[0][0], lines.core[0][0]
    one = Row((loop,), (*steps.operands, total), dims, (*near, result[1], *terms), (count,), (*far, result[0]))
    return [one if k == at else each for k, each in enumerate(rows) if k not in gone]


def _name(row: Row) -> str:
    loop = row.loop[0]
    return base_of(loop) if isinstance(loop, str) else str(loop.__name__)


def _operation(row: Row) -> str:
    """Name what a row does to each element, if steps can; "" if not."""
    loop, name = row.loop[0], _name(row)
    if isinstance(loop, str) and loop in LOOPS and len(row.dims) == 2 and {*LOOPS[loop].cores} == {1}:
        name = LOOPS[loop].of or ""
    return name if name in OPERATIONS and row.position < 0 else ""


def _axes(row: Row) -> list[Axis]:
    """The axes of a row that goes element by element; none if it does not."""
    width = len(row.operands)
    each = [row.strides[k * width : (k + 1) * width] for k in range(len(row.outer))]
    axes = [*zip(row.outer, each, strict=True), (row.dims[0], row.steps[:width])]
    return axes if len(row.dims) == 1 else [*axes, (row.dims[1], row.steps[width:])]


def _along(row: Row, target: Sequence[tuple[int, int]]) -> list[Strides] | None:
    """How the operands of a row go on along axes that are given by their sizes and the steps of the result."""
    axes = [(d, by) for d, by in _axes(row) if d > 1]
    if math.prod([d for d, _ in axes]) != math.prod([d for d, _ in target]) or any(by[-1] <= 0 for _, by in axes):
        return None
    reach = [0] * len(axes)
    found: list[tuple[int, ...]] = []
    for size, step in target:
        if size == 1:
            found.append((0,) * len(row.operands))
            continue
        fitting = [k for k, (d, by) in enumerate(axes) if step % by[-1] == 0 and step // by[-1] < d]
        if not fitting:
            return None
        k = max(fitting, key=lambda k: axes[k][1][-1])
        times = step // axes[k][1][-1]
        reach[k] += (size - 1) * times
        found.append(tuple([times * by for by in axes[k][1]]))
    if any(far >= d for far, (d, _) in zip(reach, axes, strict=True)):
        return None
    return list(zip(*found, strict=True))


# ---- computed again --------------------------------------------------------------------------------------------------


def recomputed(steps: Sequence[Row | Call]) -> tuple[list[Row | Call], set[Root]]:
    """The steps, in which what is computed from broadcast operands is computed apart for sums.

    Also what is to be computed late, with what needs it first: many numbers made of few.
    """
    result: list[Row | Call] = []
    late: set[Root] = set()
    stretch: list[Row] = []
    for step in [*steps, None]:
        if isinstance(step, Row) and step.position < 0:
            stretch.append(step)
            continue
        if any(map(_expands, stretch)):
            stretch = _apart(stretch)
            late |= _late(stretch)
        result += [*stretch, *([] if step is None else [step])]
        stretch = []
    return result, late


def _expands(row: Row) -> bool:
    """Whether a row makes many numbers of few, in one operation."""
    width = len(row.operands)
    if width != 3 or row.position >= 0 or _operation(row) not in ("add", "subtract", "multiply"):
        return False
    work = row.work
    if work * row.operands[-1][0].item < _LARGE:
        return False
    axes = _axes(row)
    used = [math.prod([d for d, by in axes if by[j]]) for j in range(width - 1)]
    return max(used) * _REPEATED <= work


class _Uses:
    """Which rows read a root, and which write it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.readers: dict[Root, list[int]] = {}
        self.writers: dict[Root, list[int]] = {}
        for k, row in enumerate(rows):
            for root in dict.fromkeys([root for root, _ in row.operands[:-1]]):
                self.readers.setdefault(root, []).append(k)
            for root, _ in row.written:
                self.writers.setdefault(root, []).append(k)

    def is_lasting(self, k: int) -> bool:
        """Whether a row computes the same at any later place."""
        row = self.rows[k]
        read = [self.writers.get(root, [-1]) for root, _ in row.operands[:-1]]
        return row.outputs == 1 and self.writers[row.operands[-1][0]] == [k] and all(each[-1] < k for each in read)

    def expands(self, k: int) -> bool:
        """Whether a row makes many numbers of few, and would make the same at any later place."""
        return _expands(self.rows[k]) and self.is_lasting(k)

    def leads_to_sum(self, k: int) -> bool:
        """Whether what a row gives goes into a sum only, perhaps by way of other rows."""
        while _name(self.rows[k]) != _SUM:
            readers = self.readers.get(self.rows[k].operands[-1][0], [])
            if len(readers) != 1 or not _operation(self.rows[k]) or readers[0] <= k:
                return False
            (k,) = readers
        return self.rows[k].dims[1] <= MOST_TERMS


def _apart(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a row once more for sums where others need what it gives, too."""
    uses = _Uses(rows)
    made: list[Row] = []
    instead: dict[tuple[int, Root], Root] = {}
    for k, row in enumerate(rows):
        *read, (root, offset) = row.operands
        operands = [(instead.get((k, x), x), start) for x, start in read]
        made.append(replace(row, operands=(*operands, (root, offset))) if operands != read else row)
        if not uses.expands(k):
            continue
        readers = uses.readers.get(root, [])
        sums = [at for at in readers if uses.leads_to_sum(at)]
        if sums and len(sums) < len(readers):
            again = replace(root)
            made.append(replace(made[-1], operands=(*operands, (again, offset))))
            instead.update({(at, root): again for at in sums})
    return made


def _late(rows: Sequence[Row]) -> set[Root]:
    """The results of rows that make many numbers of few, or go on with such ones that nobody else needs."""
    uses = _Uses(rows)
    late: set[Root] = set()
    for k, row in enumerate(rows):
        given = {root for root, _ in row.operands[:-1]}
        follows = given <= late and all(len(uses.readers[root]) == 1 for root in given)
        if uses.expands(k) or (follows and _operation(row) and uses.is_lasting(k)):
            late.add(row.operands[-1][0])
    return late
