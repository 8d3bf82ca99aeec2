"""Rows on large arrays, one after the other, made groups that run tile by tile.

A row after the other, each intermediate result goes to the second-level cache or to memory and comes back. A tile of
all arrays of a group stays in the first-level cache, and what only the group uses needs no more memory than a tile.
Where a group goes line by line, what reduces each line, and what is done to one number of each line, belongs to it; so
does what adds up all lines, if nothing in the group needs the sum. Each element goes through its loops in the order of
the program, so no bit changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.executor.own_loops import LOOPS
from engine.executor.refs import Call, Root, Row
from engine.runtime.tuning import TUNING

_TILE = TUNING.native_tile
"""Bytes of an array in one tile."""
_LEAST = TUNING.group_bytes
"""Bytes of an array from which on tiles pay."""
_LONGEST = TUNING.group_large
"""Bytes of a line from which on it is not reduced in a group: it would be one tile."""
_BACK = 4
"""Groups that a row may be moved before, to join an earlier one."""

Form = tuple[int, int, int | None]
"""Where elements start, the step from one to the next, and that from line to line where it does not follow."""


@dataclass(slots=True)
class Group:
    """Rows that go through the same elements: `count` lines of `length` each. Others stand alone, without a count.

    Attributes
    ----------
    rows : list of Row
    count, length : int
        The length is one as long as no row goes line by line.
    forms : dict
        Per root, in what ways rows see its elements.
    writes : set of Root
    sums : set of Root
        Those of all lines, which are there behind the last one.
    """

    rows: list[Row]
    count: int
    length: int
    forms: dict[Root, set[Form]] = field(default_factory=dict)
    writes: set[Root] = field(default_factory=set)
    sums: set[Root] = field(default_factory=set)

    def takes(self, count: int, length: int) -> bool:
        """Whether so many lines of such a length are those of the group, or one number of each."""
        if count and self.count * self.length == count * length:
            return length == 1 or self.length in (1, length)
        return length == 1 < self.length and count == self.count

    def add(self, row: Row, length: int) -> bool:
        """Append a row, if all that is written is seen tile by tile: else one would read what is not yet there."""
        # as long as no row goes line by line, all is one line
        seen = _forms(row, self.count * self.length // length if length > 1 else 1)
        written = row.operands[-1][0]
        adds_up = _adds_up(row)
        if not self.sums.isdisjoint(seen) or (adds_up and written in self.forms):
            return False
        for root, forms in seen.items():
            if (root is written or root in self.writes) and not _apart(root, self.forms.get(root, forms) | forms):
                return False
        for root, forms in seen.items():
            self.forms[root] = self.forms.get(root, set()) | forms
        self.rows.append(row)
        self.writes.add(written)
        if adds_up:
            self.sums.add(written)
        self.count, self.length = self.count * self.length // length, length
        return True

    def hinders(self, row: Row) -> bool:
        """Whether a row must stay behind the group."""
        return any(root in self.writes for root, _ in row.operands) or any(
            root in self.forms for root, _ in _written(row)
        )

    def holds(self, root: Root) -> bool:
        """Whether the rows see all of a root, element after element: a tile of it does if nobody else needs it."""
        if root.kind != "computed":
            return False
        if self.forms[root] == {(0, 0, root.item)}:
            return root.extent == (0, self.count * root.item)
        return self.forms[root] == {(0, root.item, None)} and root.extent == (0, self.count * self.length * root.item)

    @property
    def tile(self) -> int:
        """Lines in a tile."""
        largest = max(root.item for root in self.forms)
        return min(self.count, max(1, _TILE // (largest * self.length)))

    def part(self, row: Row, count: int) -> tuple[Row, tuple[int, ...]]:
        """A row for so many lines, and by how much its operands go on from each to the next."""
        by = tuple([by for _, by in _steps(row, self.count)])
        if row.outer:
            return replace(row, outer=(count,)), by
        at = max(_lines(row), 0)
        each = row.dims[at] // self.count
        return replace(row, dims=(*row.dims[:at], count * each, *row.dims[at + 1 :])), by


def _lines(row: Row) -> int:
    """Which dimension of a row counts lines that its loop reduces (0) or adds up (1); -1 if it does neither."""
    own = LOOPS.get(row.loop[0])
    return -1 if own is None else own.lines


def _is_elementwise(loop: Any) -> bool:
    """Whether a loop, which does not reduce, goes element by element."""
    if not isinstance(loop, str):
        return loop.signature is None
    return loop.startswith("fused_") or LOOPS[loop].is_elementwise


def _steps(row: Row, count: int) -> list[tuple[int, int]]:
    """Per operand, the step along a line and that from line to line, of so many lines."""
    if row.outer:
        return list(zip(row.steps, row.strides, strict=True))
    if _lines(row) == 1:
        *_, of_x, step, step_out = row.steps
        return [(step, of_x), (step_out, 0)]
    if _lines(row) == 0:
        of_x, of_out, step = row.steps
        return [(step, of_x), (0, of_out)]
    each = row.dims[0] // count
    return [(step if each > 1 else 0, each * step) for step in row.steps]


def _forms(row: Row, count: int) -> dict[Root, set[Form]]:
    """In what ways a row sees its roots, in so many lines."""
    length = row.work // count
    forms: dict[Root, set[Form]] = {}
    for (root, offset), (step, by) in zip(row.operands, _steps(row, count), strict=True):
        forms.setdefault(root, set()).add((offset, step, None if by == length * step else by))
    return forms


def _apart(root: Root, forms: set[Form]) -> bool:
    """Whether rows that see a root in these ways go on to the same place together, as those of a stack's parts do."""
    if len(forms) == 1:
        return True
    starts = [start for start, _, _ in forms]
    steps = {(step, by) for _, step, by in forms}
    step, by = next(iter(steps))
    return len(steps) == 1 and by is None and max(starts) + root.item - min(starts) <= step


def _adds_up(row: Row) -> bool:
    """Whether a row adds each line to the same place."""
    if row.outer:
        return row.strides[-1] == 0 < row.steps[-1] and row.operands[0] == row.operands[-1]
    return _lines(row) == 1


def _split(row: Row) -> tuple[int, int]:
    """Lines that a row goes through, and the elements in each, if it may belong to a group; else none."""
    if row.position >= 0 or row.outputs != 1 or len(row.outer) > 1:
        return 0, 1
    if any(root.dtype is None or root.dtype.char not in "fd?" for root, _ in row.operands):
        return 0, 1
    if (at := _lines(row)) >= 0:
        count, length = row.dims[at], row.dims[at + 1]
        unfit = row.outer or row.work != count * length or length * row.operands[0][0].item >= _LONGEST
        return (0, 1) if unfit else (count, length)
    if len(row.dims) != 1 or not _is_elementwise(row.loop[0]):
        return 0, 1
    step, item = row.steps[-1], row.operands[-1][0].item
    if not row.outer:
        return (row.dims[0], 1) if step > 0 else (0, 1)
    short = row.dims[0] * item < _LONGEST
    reduces = step == 0 and row.strides[-1] == item and row.operands[0] == row.operands[-1]
    if (reduces and short) or _adds_up(row) or (step > 0 and row.strides[-1] >= row.dims[0] * step):
        return row.outer[0], row.dims[0]
    # its result lies in another order
    return 0, 1


def _bytes(row: Row) -> int:
    """Bytes of the largest array that a row goes through."""
    return row.work * max(root.item for root, _ in row.operands)


def grouped(steps: Sequence[Row | Call]) -> list[Row | Call | Group]:
    """The steps with groups in place of rows that run tile by tile."""
    if not any(isinstance(s, Row) and _bytes(s) >= _LEAST and _split(s)[0] for s in steps):
        return list(steps)
    result: list[Row | Call | Group] = []
    waiting: list[Group] = []
    for step in steps:
        if isinstance(step, Row) and step.position < 0:
            _place(step, waiting)
        else:
            result += [*_closed(waiting), step]
            waiting = []
    return result + _closed(waiting)


def _place(row: Row, waiting: list[Group]) -> None:
    """Add a row to the latest group that takes it, or behind all."""
    count, length = _split(row)
    small = _bytes(row) < _LEAST
    free = 0
    for k, group in enumerate(reversed(waiting[-_BACK:])):
        if group.takes(count, length):
            related = any(root in group.forms for root, _ in row.operands)
            if (related or (k == 0 and not small)) and group.add(row, max(length, group.length)):
                return
        if group.hinders(row):
            break
        free += 1
    made = Group([], count, length)
    if small or not (count and made.add(row, length)):
        made = Group([row], 0, 1, {root: set() for root, _ in row.operands}, {root for root, _ in _written(row)})
    # what is small goes before groups that it does not need, which then may go on behind it
    waiting.insert(len(waiting) - (free if small else 0), made)


def _written(row: Row) -> Sequence[tuple[Root, int]]:
    return row.operands[len(row.operands) - row.outputs :]


def _closed(waiting: Sequence[Group]) -> list[Row | Call | Group]:
    """Groups, and the rows of those that have only one."""
    closed: list[Row | Call | Group] = []
    for group in waiting:
        closed += [group] if len(group.rows) > 1 else group.rows
    return closed
