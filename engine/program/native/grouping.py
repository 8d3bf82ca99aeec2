"""Elementwise rows on large arrays, one after the other, made groups that run tile by tile.

A row after the other, each intermediate result goes to the second-level cache or to memory and comes back. A tile of
all arrays of a group stays in the first-level cache, and what only the group uses needs no more memory than a tile.
Each element goes through its loops in the order of the program, so no bit changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine.program.native.memory import Call, Root, Row
from engine.runtime.tuning import TUNING

_TILE = TUNING.native_tile
"""Bytes of an array in one tile."""
_LEAST = TUNING.group_bytes
"""Bytes of an array from which on tiles pay."""
_BACK = 4
"""Groups that a row may be moved before, to join an earlier one."""
_OWN = frozenset({"copy", "negative", "select", "scale", "either", "larger", "smaller", "cast", "fused"})
"""Loops of our own that go element by element."""

Form = tuple[int, int, int | None]
"""Where elements start, the step from one to the next, and that from row to row where it does not follow."""


@dataclass(slots=True)
class Group:
    """Rows that go through the same elements: `count` rows of `length` each. Others stand alone, without a count.

    Attributes
    ----------
    rows : list of Row
    count, length : int
    forms : dict
        Per root, in what ways rows see its elements.
    writes : set of Root
    """

    rows: list[Row]
    count: int
    length: int
    forms: dict[Root, set[Form]] = field(default_factory=dict)
    writes: set[Root] = field(default_factory=set)

    def add(self, row: Row, length: int) -> bool:
        """Append a row, if all that is written is seen in one way only: else tiles would read what is not yet there."""
        seen = _forms(row)
        written = row.operands[-1][0]
        for root, forms in seen.items():
            if (root is written or root in self.writes) and len(self.forms.get(root, forms) | forms) > 1:
                return False
        for root, forms in seen.items():
            self.forms[root] = self.forms.get(root, set()) | forms
        self.rows.append(row)
        self.writes.add(written)
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
        return self.forms[root] == {(0, root.item, None)} and root.extent == (0, self.count * self.length * root.item)

    @property
    def tile(self) -> int:
        """Rows of elements in a tile."""
        largest = max(root.item for root in self.forms)
        return min(self.count, max(1, _TILE // (largest * self.length)))

    def part(self, row: Row, count: int) -> tuple[Row, tuple[int, ...]]:
        """A row for so many rows of elements, and by how much its operands go on from each to the next."""
        if row.outer:
            return replace(row, outer=(count,)), row.strides
        return replace(row, dims=(count * self.length,)), tuple([self.length * s for s in row.steps])


def _forms(row: Row) -> dict[Root, set[Form]]:
    """In what ways a row sees its roots."""
    found: dict[Root, set[Form]] = {}
    for k, (root, offset) in enumerate(row.operands):
        step, by = row.steps[k], row.strides[k] if row.outer else None
        found.setdefault(root, set()).add((offset, step, None if by == row.dims[0] * step else by))
    return found


def _split(row: Row) -> tuple[int, int]:
    """Rows of elements that an elementwise row goes through, and the elements in each; none if it is none, or small."""
    name = row.loop[0]
    if row.position >= 0 or row.outputs != 1 or len(row.dims) != 1 or len(row.outer) > 1:
        return 0, 1
    if name.split("_")[0] not in _OWN if isinstance(name, str) else name.signature is not None:
        return 0, 1
    if any(root.dtype is None or root.dtype.char not in "fd?" for root, _ in row.operands):
        return 0, 1
    step = row.steps[-1]
    if _bytes(row) < _LEAST or step < 1 or (row.outer and row.strides[-1] < row.dims[0] * step):
        # it is small, or its result stays in place or lies in another order
        return 0, 1
    return (row.outer[0], row.dims[0]) if row.outer else (row.dims[0], 1)


def _bytes(row: Row) -> int:
    """Bytes of the largest array that a row goes through."""
    return row.work * max(root.item for root, _ in row.operands)


def grouped(steps: Sequence[Row | Call]) -> list[Row | Call | Group]:
    """The steps with groups in place of rows that run tile by tile."""
    if not any(isinstance(s, Row) and _split(s)[0] for s in steps):
        return list(steps)
    found: list[Row | Call | Group] = []
    waiting: list[Group] = []
    for step in steps:
        if isinstance(step, Row) and step.position < 0:
            _place(step, waiting)
        else:
            found += [*_closed(waiting), step]
            waiting = []
    return found + _closed(waiting)


def _place(row: Row, waiting: list[Group]) -> None:
    """Add a row to the latest group that takes it, or behind all."""
    count, length = _split(row)
    free = 0
    for k, group in enumerate(reversed(waiting[-_BACK:])):
        one_size = count and group.count * group.length == count * length
        if one_size and (length == 1 or group.length in (1, length)):
            related = any(root in group.forms for root, _ in row.operands)
            if (related or k == 0) and group.add(row, max(length, group.length)):
                return
        if group.hinders(row):
            break
        free += 1
    made = Group([], count, length)
    if not (count and made.add(row, length)):
        made = Group([row], 0, 1, {root: set() for root, _ in row.operands}, {root for root, _ in _written(row)})
    # what is small goes before groups that it does not need, which then may go on behind it
    small = _bytes(row) < _LEAST
    waiting.insert(len(waiting) - (free if small else 0), made)


def _written(row: Row) -> Sequence[tuple[Root, int]]:
    return row.operands[len(row.operands) - row.outputs :]


def _closed(waiting: Sequence[Group]) -> list[Row | Call | Group]:
    """Groups, and the rows of those that have only one."""
    found: list[Row | Call | Group] = []
    for group in waiting:
        found += [group] if len(group.rows) > 1 else group.rows
    return found
