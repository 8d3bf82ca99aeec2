"""Sums of lines of which most elements are zero, as the gradient of a minimum has them: only the others are computed.

What a group adds up may be zero wherever some number is, which was chosen for few of many elements: a cotangent of a
minimum, repeated and multiplied. What lies between that number and the sum is then computed for each number that is not
zero, if few are not. Adding a zero changes no sum that began with 0.0, so no bit changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.executor.fusion import Place, fused
from engine.executor.loops import loop_of
from engine.executor.own_loops import LOOPS, base_of, is_summed
from engine.executor.refs import Root, Row
from engine.executor.rowlines import ADDING, Axis, Lines
from engine.runtime.structs import replace, struct

Ways = Callable[[Row], Lines | None]
"""How a row goes through the lines of its group."""

_FEWEST = 2
"""Elements that are left out for a zero, from which on it pays to look for zeros."""

_ZERO, _ZERO_OR_NAN, _FALSE, _TOLD = "zero", "zero or NaN", "false", "whether it is not zero"
"""Facts of numbers where the guard is zero; the last one is false, or 0, there, and true, or 1, elsewhere."""
_KEEPING = ("copy", "negative", "absolute", "square")


@struct(frozen=True)
class Guard:
    """The numbers that say what is zero: where they start, how many of each line, and the step between these."""

    root: Root
    offset: int
    count: int
    step: int


@struct(frozen=True)
class Shares:
    """The derivative of an extreme: a share for each number that equals the extreme of its line, and 0 for others."""

    operands: tuple[Place, Place, Place]
    """The numbers, the extremes, and the shares."""
    by: tuple[int, ...]
    """Steps of these from line to line."""
    steps: tuple[int, int]
    """Steps of numbers and shares from one to the next."""


@struct()
class Chain:
    """Rows behind a guard, the sums they lead to among them."""

    guard: Guard
    rows: list[Row]
    """Those for all elements."""
    some: list[Row]
    """Those for one number of the guard that is not zero."""
    inputs: set[Root]
    """The roots that the latter read and write: they must stay until all of them have run."""
    shares: Shares | None = None
    """The numbers that make the guard, if it is the derivative of an extreme."""
    lines: int = 0
    """How many lines all elements are computed for at a time; 0 for all lines of a tile."""

    def whole(self, count: int, lines: int, of: Ways) -> Iterator[tuple[Row, tuple[int, ...]]]:
        """The rows for all elements of some of so many lines, a few lines after the other.

        What only they need lies in one place for all of these.
        """
        every = [known for row in self.rows if (known := of(row)) is not None]
        own = {row.operands[-1][0] for row in self.rows if row.operands[-1][0].tiled}
        for first in range(0, lines, self.lines or lines):
            some = min(self.lines or lines, lines - first)
            for each in every:
                row, steps = each.part(count, some), each.steps(count)
                places = zip(row.operands, steps, strict=True)
                moved = [(root, at if root in own else at + first * by) for (root, at), by in places]
                yield replace(row, operands=tuple(moved)), steps

    def parts(self, by: int, count: int, lines: int, of: Ways) -> Iterator[tuple[Row, tuple[int, ...]]]:
        """The row that selects, and those it chooses from, for some of so many lines, which are `by` bytes apart."""
        every = [*self.whole(count, lines, of)]
        skips = []
        for row in self.rows:
            if _in_blocks(row):
                state, dims, far = row.operands[-1], (row.dims[0], row.dims[3]), row.steps[1]
                assert state[0].dtype is not None
                loop, item = f"skip_row_{state[0].dtype.char}", state[0].item
                skips.append(Row((loop,), (state, state), dims, (far, far, item, item), (lines,), (0, 0)))
        guard, dtype = self.guard, self.guard.root.dtype
        assert dtype is not None
        numbers = (len(every) + 1, len(skips) + 1, len(self.some) + 1)
        sizes = lines, guard.count, *numbers
        if self.shares is None:
            place = guard.root, guard.offset
            yield Row((f"nonzero_{dtype.char}",), (place,), sizes, (by, guard.step), outputs=0), (by,)
        else:
            made = self.shares
            yield Row((f"shares_{dtype.char}",), made.operands, sizes, (*made.by, *made.steps)), made.by
        yield from every
        yield from [(row, (0, 0)) for row in skips]
        for row in self.some:
            yield replace(row, outer=(lines, *row.outer[1:])), row.strides[: len(row.operands)]


def chains(rows: Sequence[Row], count: int, of: Ways) -> tuple[list[Row], list[Chain]]:
    """The rows of a group that run for all elements, and those behind guards; `of` says how rows go through lines."""
    left: list[Row] = list(rows)
    found: list[Chain] = []
    guards = _guards(rows, count, of) if any(row.loop[0] in ADDING for row in rows) else []
    while guards:
        kept = {root for chain in found for row in chain.rows for root, _ in row.operands}
        # more is left out for what others were made of
        each = [(guard, _behind(left, guard, count, of, kept)) for guard in guards]
        guards = [guard for guard, behind in each if behind]
        guard, behind = max(each, key=lambda x: len(x[1]))
        if behind:
            guards.remove(guard)
            chosen = [left[k] for k in sorted(behind)]
            some = _some(chosen, guard, count, of)
            inputs = {guard.root, *[root for row in some for root, _ in row.operands]}
            shares, before = _shares(rows, chosen, guard, count, of) or (None, [])
            left = [row for k, row in enumerate(left) if k not in behind and not any(row is x for x in before)]
            inputs |= set() if shares is None else {root for root, _ in shares.operands}
            found.append(Chain(guard, [*before, *chosen], some, inputs, shares))
    return left, found


def _shares(
    rows: Sequence[Row], behind: Sequence[Row], guard: Guard, count: int, of: Ways
) -> tuple[Shares, list[Row]] | None:
    """How a guard is made, if it is the derivative of an extreme, and the rows that make it.

    These are ``(x == extreme) / sum(x == extreme)``, of each line, and nobody but the rows behind needs any of it.
    """

    def made_by(root: Root, *names: str) -> Row | None:
        writers = [row for row in rows if row.operands[-1][0] is root]
        good = root.tiled and len(writers) == 1 and _name(writers[0]) in names
        return writers[0] if good else None

    def seen(row: Row) -> list[tuple[int, int]] | None:
        """Per operand, the steps from line to line and from element to element."""
        lines = of(row)
        inside = [] if lines is None else [by for d, by in lines.inside(count) if d > 1]
        if lines is None or len(inside) != 1 or lines.adds_up or row.work != count * guard.count:
            return None
        return list(zip(lines.steps(count), inside[0], strict=True))

    share = made_by(guard.root, "divide")
    cast = None if share is None else made_by(share.operands[0][0], "cast_b")
    equal = None if cast is None else made_by(cast.operands[0][0], "equal")
    if share is None or cast is None or equal is None:
        return None
    number, total = cast.operands[-1], share.operands[1]
    sums = [row for row in rows if row.operands[-1][0] is total[0]]
    ways = seen(equal), seen(cast), seen(share)
    if len(sums) != 2 or not total[0].tiled or not fills_zero(sums[0]) or None in ways:
        return None
    by_equal, by_cast, by_share = (each or [] for each in ways)
    summed = of(sums[1]) if _name(sums[1]) == "add" or sums[1].loop[0] in ADDING else None
    before = [equal, cast, *sums, share]
    own = {row.operands[-1][0] for row in before}
    readers = [row for row in rows if any(root in own for root, _ in row.operands[:-1])]
    (x, extreme), mask = equal.operands[:2], equal.operands[-1]
    if by_equal[0][1] == 0:
        x, extreme, by_equal = extreme, x, [by_equal[1], by_equal[0], by_equal[2]]
    alike = (
        x[0].dtype == extreme[0].dtype == guard.root.dtype
        and all(root.kind == "computed" and root not in own for root, _ in (x, extreme))
        and (by_equal[1][1], by_share[1][1]) == (0, 0)
        and (mask, by_equal[2]) == (cast.operands[0], by_cast[0])
        and (number, by_cast[1]) == (share.operands[0], by_share[0])
        and (share.operands[-1], by_share[-1][1]) == ((guard.root, guard.offset), guard.step)
        and summed is not None
        and sums[1].operands[-2 if len(sums[1].operands) == 2 else 1] == number
        and sums[1].work == count * guard.count
        and all(d == 1 or not by[-1] for d, by in summed.inside(count))
        and all(any(row is each for each in (*before, *behind)) for row in readers)
    )
    if not alike:
        return None
    steps = by_equal[0][1], guard.step
    return Shares((x, extreme, share.operands[-1]), (by_equal[0][0], by_equal[1][0], by_share[-1][0]), steps), before


def _some(rows: Sequence[Row], guard: Guard, count: int, of: Ways) -> list[Row]:
    """The rows where the guard is not zero, with lines and numbers of the guard around them.

    What tells so is known there, and one row does what several do.
    """

    def selected(rows: Sequence[Row]) -> list[Row]:
        return [_selected(lines, count, guard.count) for row in rows if (lines := of(row)) is not None]

    told = {root for root, what in _zeros(rows, guard).items() if what == _TOLD}
    same: dict[Root, tuple[Root, int]] = {}
    left: list[Row] = []
    for row in rows:
        result, name = row.operands[-1], _name(row)
        row = replace(row, operands=tuple([same.get(x[0], x) for x in row.operands]))
        k, by = (0, 1) if name == "kept" else (1, 0)
        if name in ("kept", "select") and row.operands[by][0] in told and _lies_alike(row, k, of):
            same[result[0]] = row.operands[k]
        elif result[0] not in told:
            left.append(row)
    if any(root in told for row in left for root, _ in row.operands):
        return selected(rows)
    sums = [row for row in left if row.loop[0] in ADDING]
    plain: list[Row] = []
    needed = {row.operands[0][0] for row in sums}
    for row in reversed(left):
        # what was chosen from may be needed no more
        if row.loop[0] not in ADDING and row.operands[-1][0] in needed:
            plain.insert(0, row)
            needed |= {root for root, _ in row.operands}
    return [*(_fused(plain, guard.count, sums, count, of) or selected(plain)), *selected(sums)]


def _fused(rows: Sequence[Row], blocks: int, later: Sequence[Row], count: int, of: Ways) -> list[Row] | None:
    """Rows of plain elements, fused, with the lines and blocks around them; None if some are not that."""
    far: dict[Place, int] = {}
    plain: list[Row] = []
    for row in rows:
        lines = of(row)
        each = None if lines is None or lines.adds_up else _of_a_line(lines, count, blocks)
        if lines is None or each is None:
            return None
        plain.append(each)
        for place, by in zip(row.operands, lines.steps(count), strict=True):
            if far.setdefault(place, by) != by:
                return None
    made: list[Row] = []
    for row in fused(plain, blocks, later, least=1):
        if any(place not in far for place in row.operands):
            return None
        size = row.dims[0] if row.outer else row.dims[0] // blocks
        strides = row.strides if row.outer else tuple([size * step for step in row.steps])
        around = (*[far[place] for place in row.operands], *strides)
        made.append(replace(row, dims=(size,), outer=(count, blocks), strides=around))
    return made


def _lies_alike(row: Row, k: int, of: Ways) -> bool:
    """Whether all of an operand lies as all of the result does."""
    lines = of(row)
    (root, offset), (result, start) = row.operands[k], row.operands[-1]
    alike = (root.shape, root.strides, offset) == (result.shape, result.strides, start) and not offset
    return alike and lines is not None and all(by[k] == by[-1] for d, by in (*lines.axes, *lines.core) if d > 1)


def _of_a_line(lines: Lines, count: int, blocks: int) -> Row | None:
    """A row for one line, as one of plain elements, for each number of the guard, if it is that."""
    row, cut = lines.row, _cut(lines, count, blocks)
    if cut is None:
        return None
    *inside, (_, far) = cut
    inner = [axis for axis in inside if axis[0] > 1] or [(1, tuple([root.item for root, _ in row.operands]))]
    if len(inner) > 1:
        return None
    loop = row.loop
    if isinstance(loop[0], str) and len(row.dims) > 1:
        char, of = loop[0][-1], LOOPS[loop[0]].of
        known = None if f"{of}_{char}" in LOOPS else loop_of(getattr(np, str(of)), (np.dtype(char),) * 2)
        loop = (f"{of}_{char}",) if known is None else known[0]
    return Row(loop, row.operands, inner[0][:1], inner[0][1], (blocks,), far)


def _guards(rows: Sequence[Row], count: int, of: Ways) -> list[Guard]:
    """Numbers of a tile that are repeated for some elements each."""
    found: dict[Guard, None] = {}
    for row in rows:
        lines = of(row)
        if lines is None or lines.adds_up:
            continue
        inside = [(d, steps) for d, steps in lines.inside(count) if d > 1]
        for k, (root, offset) in enumerate(row.operands[:-1]):
            moving = [(d, steps[k]) for d, steps in inside if steps[k]]
            repeated = np.prod([d for d, steps in inside if not steps[k]], dtype=int)
            real = root.tiled and root.dtype is not None and root.dtype.char in "fd"
            if real and repeated >= _FEWEST and len(moving) == 1 and moving[0][1] > 0:
                found[Guard(root, offset, *moving[0])] = None
    for row in reversed(rows):
        # what these were made of, number by number
        lines, (root, offset) = of(row), row.operands[-1]
        own = LOOPS.get(row.loop[0]) if isinstance(row.loop[0], str) else None
        if lines is None or lines.adds_up or is_summed(row.loop[0]) or (own is not None and own.lines >= 0):
            continue
        inside = [(d, steps) for d, steps in lines.inside(count) if d > 1]
        for made in [guard for guard in found if (guard.root, guard.offset) == (root, offset)]:
            for k, (before, start) in enumerate(row.operands[:-1]):
                alike = before.tiled and before.dtype == root.dtype and [steps[k] for _, steps in inside] == [made.step]
                if alike and lines.steps(count)[k] == lines.steps(count)[-1] and inside[0][0] == made.count:
                    found[Guard(before, start, made.count, made.step)] = None
    return list(found)


def _behind(rows: Sequence[Row], guard: Guard, count: int, of: Ways, kept: Collection[Root]) -> set[int]:
    """Which rows need to run only where a guard is not zero: sums, and what leads to them alone, not what is kept."""
    readers: dict[Root, list[int]] = {}
    writers: dict[Root, list[int]] = {}
    for k, row in enumerate(rows):
        for root, _ in row.operands[:-1]:
            readers.setdefault(root, []).append(k)
        writers.setdefault(row.operands[-1][0], []).append(k)
    before, needed = set(), {guard.root}
    for k in reversed(range(len(rows))):
        if rows[k].operands[-1][0] in needed:
            before.add(k)
            needed |= {root for root, _ in rows[k].operands[:-1]}
    sinks = {k for k, row in enumerate(rows) if k not in before and _may_leave_out(row, k, readers, writers, of)}
    while sinks:
        behind: set[int] = set()
        for k in reversed(range(len(rows))):
            root = rows[k].operands[-1][0]
            alone = root.tiled and root not in kept and writers[root] == [k]
            own = alone and readers.get(root) and behind.issuperset(readers[root])
            if k in sinks or (own and k not in before and _is_cut(rows[k], guard, count, of)):
                behind.add(k)
        known = _zeros([rows[k] for k in sorted(behind)], guard)
        good = {k for k in sinks if known.get(rows[k].operands[0][0]) == _ZERO}
        if good == sinks:
            late = any(k < max(writers.get(root, [-1])) for k in behind for root, _ in rows[k].operands[:-1])
            return set() if late or not _block_by_block([rows[k] for k in sorted(behind)], guard, count, of) else behind
        sinks = good
    return set()


def _is_cut(row: Row, guard: Guard, count: int, of: Ways) -> bool:
    """Whether a row has something for each number of the guard, not for a line as a whole."""
    lines = of(row)
    return lines is not None and _cut(lines, count, guard.count) is not None


def _may_leave_out(
    row: Row, k: int, readers: Mapping[Root, Sequence[int]], writers: Mapping[Root, Sequence[int]], of: Ways
) -> bool:
    """Whether a row adds up rows, to what nobody else in the group reads, or writes afterwards."""
    lines = of(row) if row.loop[0] in ADDING else None
    if lines is None or (_in_blocks(row) and not lines.adds_up):
        return False
    total = row.operands[-1][0]
    return total not in readers and max(writers[total]) == k


def _zeros(rows: Sequence[Row], guard: Guard) -> dict[Root, str]:
    """Results that are zero, or false, where a guard is zero."""
    known = {guard.root: _ZERO}

    def of(root: Root) -> str | None:
        if root.kind == "constant" and root.dtype is not None and root.dtype.char in "fd":
            return _ZERO if not np.any(root.array) else "finite" if np.isfinite(root.array).all() else None
        return known.get(root)

    for row in rows:
        name = _name(row)
        told = [of(root) == _TOLD for root, _ in row.operands[:-1]]
        given = [
            _ZERO if x and name not in ("cast_b", "select", "copy") else of(root)
            for x, (root, _) in zip(told, row.operands, strict=False)
        ]
        zeros = [x in (_ZERO, _ZERO_OR_NAN) for x in given]
        found: Any = None
        if name in _KEEPING:
            found = given[0]
        elif name == "multiply" and any(zeros):
            found = _ZERO if _ZERO in given and all(x in (_ZERO, "finite") for x in given) else _ZERO_OR_NAN
        elif name == "scale" and any(zeros):
            found = _ZERO if given[0] == _ZERO else _ZERO_OR_NAN
        elif name == "either" and any(zeros):
            found = _ZERO if _ZERO in given else _ZERO_OR_NAN
        elif name == "kept" and zeros[0]:
            found = _ZERO if given[1] == _ZERO or given[0] == _ZERO else _ZERO_OR_NAN
        elif name in ("add", "subtract") and all(zeros):
            found = _ZERO if given == [_ZERO, _ZERO] else _ZERO_OR_NAN
        elif name == "divide" and zeros[0]:
            found = _ZERO_OR_NAN
        elif name == "not_equal" and given == [_ZERO, _ZERO]:
            found = _TOLD if told[0] or row.operands[0][0] is guard.root else _FALSE
        elif name == "cast_b":
            found = _TOLD if told == [True] else _ZERO if given == [_FALSE] else None
        elif name == "select":
            found = given[2] if given[0] in (_TOLD, _FALSE) else given[1] if given[1] == given[2] else None
        if found in (_ZERO, _ZERO_OR_NAN, _FALSE, _TOLD):
            known[row.operands[-1][0]] = found
    return known


def fills_zero(row: Row) -> bool:
    """Whether a row fills its result with 0.0."""
    root = row.operands[0][0]
    constant = root.kind == "constant" and root.dtype is not None and _name(row) == "copy"
    return constant and not np.any(root.array) and not np.signbit(root.array).any()


def _name(row: Row) -> str:
    """The operation on each element, whatever loop does it."""
    loop = row.loop[0]
    if not isinstance(loop, str):
        return str(loop.__name__)
    return (LOOPS[loop].of if loop in LOOPS and loop not in ADDING else None) or base_of(loop)


def _block_by_block(rows: Sequence[Row], guard: Guard, count: int, of: Ways) -> bool:
    """Whether what rows write, and the guard, is seen for one number of the guard at a time."""
    written = {row.operands[-1][0] for row in rows if row.loop[0] not in ADDING}
    seen: dict[Root, set[tuple[int, int, int]]] = {
        guard.root: {(guard.offset, guard.offset + guard.root.item, guard.step)}
    }
    for row in rows:
        lines = of(row)
        cut = None if lines is None else _cut(lines, count, guard.count)
        if lines is None or cut is None or (_in_blocks(row) and lines.count != count):
            return False
        *around, (_, far) = cut
        for k, (root, offset) in enumerate(row.operands):
            reach = [(d - 1) * steps[k] for d, steps in around]
            if min(reach, default=0) < 0:
                return False
            if root in written or root is guard.root:
                seen.setdefault(root, set()).add((offset, offset + sum(reach) + root.item, far[k]))
    if len(seen[guard.root]) > 1:
        return False
    for forms in seen.values():
        steps = {step for *_, step in forms}
        wide = max(high for _, high, _ in forms) - min(low for low, *_ in forms)
        if len(steps) > 1 or (guard.count > 1 and wide > next(iter(steps))):
            return False
    return True


def _in_blocks(row: Row) -> bool:
    return row.loop[0] in ADDING and len(row.dims) > 3


def _cut(lines: Lines, count: int, blocks: int) -> list[Axis] | None:
    """The axes of one block of one line, the free ones first; and in the end the step from block to block."""
    inside = lines.inside(count)
    full = 0 if lines.row.loop[0] in ADDING else -1
    if blocks == 1:
        return [*inside, (1, (0,) * len(lines.row.operands))]
    k = max(range(len(inside)), key=lambda k: (inside[k][0] > 1, inside[k][1][full]))
    size, by = inside[k]
    if size % blocks or by[full] <= 0:
        return None
    each = size // blocks
    return [*inside[:k], (each, by), *inside[k + 1 :], (blocks, tuple([each * step for step in by]))]


def _selected(lines: Lines, count: int, blocks: int) -> Row:
    """The row for one block of one line, with the lines and blocks around it."""
    cut = _cut(lines, count, blocks)
    assert cut is not None
    *inside, (_, far) = cut
    row, by = lines.row, lines.steps(count)
    if row.loop[0] in ADDING:
        axis, *rest = inside
        rest.insert(lines.dim, axis)
        (many, of_each), (rows, (of_x, _)), (columns, (step, step_out)) = rest
        x, (out, offset) = row.operands
        loop = f"sum_rows_{x[0].dtype.char}"  # type: ignore[union-attr]
        operands = x, (out, offset + (2 * out.item if _in_blocks(row) else 0))
        steps = (*of_each, of_x, step, step_out)
        return Row((loop,), operands, (many, rows, columns), steps, (count, blocks), (*by, *far))
    free, core = inside[: len(lines.axes)], inside[len(lines.axes) :]
    free = [axis for axis in free if axis[0] > 1] or [(1, free[-1][1])]
    inner, around = free[-1], [(count, by), (blocks, far), *free[:-1]]
    dims, steps = (inner[0], *[d for d, _ in core]), (*inner[1], *row.steps[len(row.operands) :])
    strides = tuple(itertools.chain(*[s for _, s in around]))
    return replace(row, dims=dims, steps=steps, outer=tuple([d for d, _ in around]), strides=strides)
