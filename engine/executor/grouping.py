"""Rows on large arrays, one after the other, made groups that run tile by tile.

A row after the other, each intermediate result goes to the second-level cache or to memory and comes back. A tile of
all arrays of a group stays in the first-level cache, and what only the group uses needs no more memory than a tile.
All rows of a group go through the same lines, each in its own way: an elementwise row through all elements of a line,
also where its operands are broadcast or have several axes; others reduce them, or what was reduced before. What is
written for a line may be read for the same line only. What adds up all lines belongs to the group too, if nothing in
it needs the sum. Each element goes through its loops in the order of the program, so no bit changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from engine.executor.fusion import fused, operation
from engine.executor.own_loops import base_of
from engine.executor.refs import Call, Root, Row
from engine.executor.rowlines import ADDING, Form, Lines, is_of_matrices, lines_of, ways_of
from engine.executor.selecting import Chain, chains
from engine.executor.summing import once, recomputed, summed
from engine.runtime.structs import field, struct
from engine.runtime.tuning import TUNING

_TILE = TUNING.native_tile
_ENOUGH = 16
"""Lines in a tile, from which on sums of steps pay also where other rows write down what they do not."""
_EVEN = 32
"""Lines in a tile are a multiple of so many: vectors that go across them are full then."""
_SELDOM = 8
"""Times as many bytes may be in a tile of what only a chain needs where numbers are not zero."""
_LEAST, _LEAST_FUSED = TUNING.group_bytes, TUNING.group_fused_bytes
_LONGEST = TUNING.group_large
_BACK = 4
"""Groups that a row may be moved before, to join an earlier one."""


@struct(slots=True)
class Group:
    """Rows that go through the same lines, `count` of them. Others stand alone, without a count."""

    rows: list[Row]
    count: int
    """As many as all rows can be cut into."""
    forms: dict[Root, set[Form]] = field(default_factory=dict)
    """Per root, in what ways rows see it."""
    writes: set[Root] = field(default_factory=set)
    sums: set[Root] = field(default_factory=set)
    """Those of all lines, which are there behind the last one."""
    work: int = 0
    """Elements of the longest row."""
    tile: int = 0
    """Lines in a tile, once rows are fused."""
    lines: list[Lines] = field(default_factory=list)
    """How each of the rows goes through the lines."""
    chains: list[Chain] = field(default_factory=list)
    """The last ones of the rows, which zeros may make needless."""

    @property
    def length(self) -> int:
        """Elements of the longest line."""
        return self.work // self.count

    def add(self, rows: Sequence[Lines], alike: bool) -> bool:
        """Append rows, if all that is written is seen line by line: else one would read what is not yet there.

        The last one must go through some root as the group does; if `alike`, as many elements are enough.
        """
        counts = [self.count, *[new.count for new in rows]]
        count = min(counts)
        if count < 2 or any(each % count for each in counts):
            return False
        same = not self.rows or rows[-1].work == self.count * self.length
        related = same and (alike or not self.rows)
        if not (related or any(root in self.forms for root, _ in rows[-1].row.operands)):
            return False
        forms = _forms(self.lines, count) if count != self.count else self.forms
        changed: dict[Root, set[Form]] = {} if count == self.count else dict(forms)
        writes, sums, begun = set(self.writes), set(self.sums), set[Root]()
        small, needed = (
            _size(rows[-1].row) < _LEAST_FUSED,
            {root for root, _ in rows[-1].row.operands[:-1]} & self.writes,
        )
        for new in rows:
            written = new.row.operands[-1][0]
            for root, form in new.forms(count):
                known = forms.get(root, set())
                if root in sums or (new.adds_up and root is written and (root in self.forms or root in begun)):
                    return False
                if new is rows[-1] and form[2] != 0 and (root in needed or not small):
                    related |= any(form[2] == by for _, _, by, _ in known)
                changed[root] = changed.get(root, known) | {form}
            writes.add(written)
            begun.update([root for root, _ in new.row.operands])
            if new.adds_up:
                sums.add(written)
        if not related or (
            not (same and all(new.is_plain for new in rows)) and max(map(_bytes, changed.values())) > _LONGEST
        ):
            return False
        if not all(_apart(x) for root, x in changed.items() if root in writes and root not in sums):
            return False
        self.rows += [new.row for new in rows]
        self.lines += rows
        self.count, self.writes, self.sums = count, writes, sums
        self.work = max(self.work, *[new.work for new in rows])
        self.forms.update(changed)
        return True

    def hinders(self, row: Row) -> bool:
        """Whether a row must stay behind the group."""
        return any(root in self.writes for root, _ in row.operands) or any(
            root in self.forms for root, _ in row.written
        )

    def holds(self, root: Root) -> bool:
        """Whether the rows see all of a root, line after line: a tile of it does if nobody else needs it."""
        if root.kind != "computed" or root in self.sums:
            return False
        low, high, by, _ = _hull(self.forms[root])
        start, end = root.extent
        return by > 0 and low >= 0 and high <= by and start == 0 and end == self.count * by

    def fuse(self) -> None:
        """Make rows one where they can be, and put what zeros make needless behind what tells; tiles are known now."""
        left, self.chains = chains(self.rows, self.count, lines_of)
        later = [row for chain in self.chains for row in chain.rows]
        left = once(left, later)
        sums = summed(left, self.count, later, lines_of)
        width = self.width(sums)
        if len(sums) < len(left) and (width < self.width(left) or _TILE // width >= _ENOUGH):
            left = sums
        rows = fused(left, self.count, later)
        for chain in self.chains:
            chain.rows = fused(chain.rows, self.count)
        self.rows = [*rows, *[row for chain in self.chains for row in chain.rows]]
        self.lines = _lines_of_all(self.rows)
        # what rows for single elements hand on need not be what those for all do
        some = [row for chain in self.chains for row in chain.some if row.loop[0] not in ADDING]
        self.forms = _forms([*self.lines, *[every for row in some for every in ways_of(row)[:1]]], self.count)
        self.writes = {row.operands[-1][0] for row in self.rows}
        # each number of matrices is like an array
        blocks = {root for row in self.rows if is_of_matrices(row) for root, _ in row.operands}
        # what is seldom needed may go through the second-level cache
        always = _forms(self.lines[: len(rows)], self.count)
        needed = _widest(always, blocks)
        every = max(needed, -(-_widest(self.forms, blocks) // _SELDOM))
        for chain in self.chains:
            chain.lines = max(1, _TILE // self.width(chain.rows))
        most = _TILE // every
        self.tile = min(self.count, max(1, most if most < 2 * _EVEN else most // _EVEN * _EVEN))

    def width(self, rows: Sequence[Row]) -> int:
        """Bytes of a line in what rows touch the most of."""
        return _widest(_forms(_lines_of_all(rows), self.count))

    def parts(self, lines: int) -> Iterator[tuple[Row, tuple[int, ...]]]:
        """The rows for some lines, and by how much their operands go on from line to line."""
        plain = len(self.rows) - sum(len(chain.rows) for chain in self.chains)
        for each in self.lines[:plain]:
            yield each.part(self.count, lines), each.steps(self.count)
        for chain in self.chains:
            yield from chain.parts(_hull(self.forms[chain.guard.root])[2], self.count, lines, lines_of)

    def used(self) -> list[set[Root]]:
        """The roots that each row needs: the last one of a chain all that it reads, for it may run in another order."""
        used = [{root for root, _ in row.operands} for row in self.rows]
        end = len(used)
        for chain in reversed(self.chains):
            used[end - 1] |= chain.inputs
            end -= len(chain.rows)
        return used

    def held(self, root: Root) -> int:
        """Bytes of a tile of a root."""
        return self.tile * root.extent[1] // self.count


def _lines_of_all(rows: Sequence[Row]) -> list[Lines]:
    """How rows go through lines; nothing if one does not."""
    found = [lines_of(row) for row in rows]
    return [] if None in found else [lines for lines in found if lines is not None]


def _forms(lines: Sequence[Lines], count: int) -> dict[Root, set[Form]]:
    """In what ways rows see their roots, in so many lines."""
    forms: dict[Root, set[Form]] = {}
    for each in lines:
        for root, form in each.forms(count):
            forms.setdefault(root, set()).add(form)
    return forms


def _hull(forms: set[Form]) -> Form:
    """All that is touched for the first line, and the step to the next one; 0 if there are several."""
    lows, highs, steps, times = zip(*forms, strict=True)
    return min(lows), max(highs), steps[0] if len({*steps}) == 1 else 0, max(times)


def _apart(forms: set[Form]) -> bool:
    """Whether rows that see a root in these ways touch the same line of it together, and nothing of any other."""
    low, high, by, times = _hull(forms)
    return high - low <= by if times == 1 else low >= 0 and high <= by


def _widest(forms: Mapping[Root, set[Form]], blocks: Collection[Root] = ()) -> int:
    """Bytes of a line in the array that has most; in `blocks`, of one number."""
    return max([root.item if root in blocks else _bytes(x) for root, x in forms.items()], default=1)


def _bytes(forms: set[Form]) -> int:
    """Bytes of a root for each line."""
    return max([(high - low) * times for low, high, by, times in forms if by], default=1)


def _size(row: Row) -> int:
    """Bytes of the largest array that a row goes through."""
    return row.work * max(root.item for root, _ in row.operands)


def grouped(steps: Sequence[Row | Call]) -> list[Row | Call | Group]:
    """The steps with groups in place of rows that run tile by tile."""
    if not any(isinstance(s, Row) and s.dims != (1,) and _size(s) >= _LEAST_FUSED and lines_of(s) for s in steps):
        return list(steps)
    steps, late = recomputed(steps)
    result: list[Row | Call | Group] = []
    waiting: list[Group] = []
    fills: dict[Root, Row] = {}
    refusing: list[Row] = []
    for step in [*steps, None]:
        if isinstance(step, Row) and step.position < 0 and not _overwrites(step, refusing):
            _place(step, waiting, fills, late)
            continue
        if isinstance(step, Row) and _may_be_late(step):
            refusing.append(step)
            continue
        for row in fills.values():
            _put(row, waiting, True)
        result += [*_closed(waiting), *refusing, *([] if step is None else [step])]
        waiting, fills, refusing = [], {}, []
    return result


def _may_be_late(row: Row) -> bool:
    """Whether a row does nothing but refuse a number, which it can after others, too."""
    name = base_of(row.loop[0]) if isinstance(row.loop[0], str) else ""
    return name == "no_nan" or (name == "all_below" and not row.keeps)


def _overwrites(row: Row, refusing: Sequence[Row]) -> bool:
    """Whether a row writes to what others must read before."""
    read = {root for each in refusing for root, _ in each.operands}
    return any(root in read for root, _ in row.written)


def _place(row: Row, waiting: list[Group], fills: dict[Root, Row], late: Collection[Root]) -> None:
    """Add a row to the latest group that takes it, or behind all, and with it those that fill what it begins with.

    What is computed late waits likewise for the first row that needs it.
    """
    written = row.operands[-1][0]
    begins = written in late or all(root.kind == "constant" for root, _ in row.operands[:-1])
    if row.outputs == 1 and written not in fills and begins:
        fills[written] = row
        return
    filled = _filled(row, fills)
    if filled and _join([*filled, row], waiting):
        return
    begun = [each for each in filled if each.operands[-1][0] in late]
    if begun and (made := _begun(begun[0])):
        rest = [each for each in filled if each.operands[-1][0] not in late]
        parts = [_lines_of_all(part) for part in (*[[each] for each in begun[1:]], [*rest, row])]
        if all(part and made.add(part, True) for part in parts):
            waiting.append(made)
            return
    for each in (*filled, row):
        if not _join([each], waiting):
            _put(each, waiting, each is not row or _size(row) < _LEAST_FUSED)


def _filled(row: Row, fills: dict[Root, Row]) -> list[Row]:
    """The rows that fill what a row begins with, and those that they need."""
    found: list[Row] = []
    for root in dict.fromkeys([root for root, _ in row.operands]):
        if root in fills:
            first = fills.pop(root)
            found += [*_filled(first, fills), first]
    return found


def _join(rows: Sequence[Row], waiting: list[Group]) -> bool:
    """Whether a group has taken the rows."""
    if not (lines := _lines_of_all(rows)):
        return False
    for k in range(len(waiting) - 1, max(-1, len(waiting) - _BACK - 1), -1):
        group, alike = waiting[k], k == len(waiting) - 1 and _size(rows[-1]) >= _LEAST_FUSED
        if group.add(lines, alike):
            return True
        if any(group.hinders(row) for row in rows):
            break
    return False


def _put(row: Row, waiting: list[Group], before: bool) -> None:
    """Begin a group; what is small, or only fills, goes before those that it does not need, which then may go on."""
    made = _begun(row) or Group(
        [row], 1, {root: set() for root, _ in row.operands}, {root for root, _ in row.written}, work=row.work
    )
    groups = reversed(waiting[-_BACK:]) if before else ()
    waiting.insert(len(waiting) - len([*itertools.takewhile(lambda group: not group.hinders(row), groups)]), made)


def _begun(row: Row) -> Group | None:
    """A group of a row, if tiles of it pay."""
    lines = lines_of(row) if _size(row) >= _LEAST_FUSED else None
    made = None if lines is None else Group([], lines.count)
    return made if made is not None and lines is not None and made.add([lines], True) else None


def _closed(waiting: Sequence[Group]) -> list[Row | Call | Group]:
    """Groups, and the rows of those that have only one."""
    closed: list[Row | Call | Group] = []
    for group in waiting:
        closed += [group] if _pays(group) else group.rows
    return closed


def _pays(group: Group) -> bool:
    """Whether tiles of a group do: of arrays that the cache holds anyway, if all is arithmetic, in registers."""
    rows = group.rows
    if len(rows) < 2 or any(_size(row) >= _LEAST for row in rows):
        return len(rows) > 1
    return len(rows) >= 3 and all(operation(row, ()) for row in rows)
