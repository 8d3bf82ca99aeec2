"""Rows of a group made one, where one needs what another gave and nobody else does: it stays in registers then.

These are the four operations of arithmetic, reciprocals, signs, the larger of numbers and one number, copies, choices,
booleans as numbers, and products with partial derivatives, which can be rounded in one way only. Each result is rounded
as if it had gone through memory (see fused.c), so no bit changes.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from engine.executor.own_loops import CONDITIONED, FUSES, MOST_OPERANDS, STEPS, base_of
from engine.executor.refs import Root, Row
from engine.runtime.structs import replace, struct

Place = tuple[Root, int]
"""Where an operand starts."""
Strides = tuple[int, ...]
"""How it goes on along a line, and from line to line; or along other axes that all operands have."""

_NOTHING = ("copy", "positive")
"""Operations that take no step."""
OPERATIONS = {*_NOTHING, *[meaning.split()[0] for meaning in STEPS]}
_LONG = 96
"""Elements of a line from which on a call for each line pays."""


@struct(slots=True)
class Steps:
    """Letters and their operands, with which a row computes its result."""

    row: Row
    length: int
    letters: str
    operands: list[Place]
    strides: list[Strides]

    def then(self, row: Row, letter: str, operands: Sequence[Place] = (), strides: Sequence[Strides] = ()) -> Steps:
        """These steps and one more, for the result of a row."""
        return Steps(row, self.length, self.letters + letter, [*self.operands, *operands], [*self.strides, *strides])


def fused(rows: Sequence[Row], count: int, later: Sequence[Row] = (), least: int = _LONG) -> list[Row]:
    """The rows of a group of `count` lines: as many, or fewer. What `later` ones read stays.

    Lines that are no piece of memory together have at least `least` elements.
    """
    if not FUSES:
        return list(rows)
    reads = Counter([root for row in (*rows, *later) for root, _ in row.operands[:-1]])
    writes = Counter([row.operands[-1][0] for row in rows])
    result: list[Row | Steps | None] = []
    written: dict[Root, int] = {}

    def inner(length: int, place: Place, by: Strides, times: int = 1) -> Steps | None:
        """The steps that gave an operand, if only one row needs it, and nothing that they read has changed since."""
        k = written.get(place[0], -1)
        known = result[k] if k >= 0 else None
        if type(known) is not Steps or not place[0].tiled or (reads[place[0]], writes[place[0]]) != (times, 1):
            return None
        if known.length != length or (place, by) != (known.row.operands[-1], _strides(known.row, length)[-1]):
            return None
        return None if any(written.get(root, -1) > k for root, _ in known.operands) else known

    def packed(row: Row, length: int) -> Row:
        """The row with copies, made once for all rows, of operands that lie with gaps and are read several times."""
        operands, strides = list(row.operands), _strides(row, length)
        for k, view in enumerate(zip(row.operands[:-1], strides[:-1], strict=True)):
            if gaps[view] > 1:
                root = operands[k][0]
                lined = root.item, length * root.item
                if view not in copies:
                    copies[view] = Root("computed", root.dtype, (count * length,), (root.item,), tiled=True)
                    both = [operands[k], (copies[view], 0)]
                    result.append(_row_of((f"copy_{root.item}",), both, [strides[k], lined], count, length))
                operands[k], strides[k] = (copies[view], 0), lined
        return _row_of(row.loop, operands, strides, count, length) if operands != list(row.operands) else row

    lengths = [row.work // count for row in rows]
    last = {row.operands[-1][0]: k for k, row in enumerate(rows)}
    names = [
        operation(row, {root for root, _ in row.operands if last.get(root, -1) >= k})
        if _in_lines(row, count, length, least)
        else ""
        for k, (row, length) in enumerate(zip(rows, lengths, strict=True))
    ]
    each = list(zip(rows, lengths, names, strict=True))
    gaps = Counter([view for row, length, name in each if name for view in _with_gaps(row, length)])
    copies: dict[tuple[Place, Strides], Root] = {}
    for unpacked, length, name in each:
        row = packed(unpacked, length) if name else unpacked
        made = joined(name, row, length, _strides(row, length), functools.partial(inner, length)) if name else row
        if type(made) is Steps:
            for root in {root for root, _ in row.operands[:-1]} - {root for root, _ in made.operands}:
                result[written[root]] = None
        written[row.operands[-1][0]] = len(result)
        result.append(made)
    return [_row(x, count) for x in result if x is not None]


def _in_lines(row: Row, count: int, length: int, least: int) -> bool:
    """Whether a row goes through each line with one stride for an operand; through long ones, or all as one."""
    if not row.outer:
        return row.dims[0] == count * length
    return row.outer == (count,) and row.dims[0] == length >= least


def operation(row: Row, unfinished: Collection[Root]) -> str:
    """Name what a row does to operands of one dtype; "" if steps cannot do it.

    What will be written must be read one element after the other, or be one number: it cannot be copied once for all.
    """
    loop, root = row.loop[0], row.operands[-1][0]
    name = base_of(loop) if isinstance(loop, str) else loop.__name__
    kind = "" if root.dtype is None else root.dtype.char
    if name not in OPERATIONS or kind not in ("f", "d"):
        return ""
    numbers = row.operands[1:] if name in CONDITIONED else row.operands
    alike = all(each.dtype == root.dtype for each, _ in numbers)
    read = list(zip(row.operands, row.steps, strict=True))[:-1]
    in_line = all(step in (0, each.item) or each not in unfinished for (each, _), step in read)
    return name if alike and in_line and row.steps[-1] else ""


def joined(name: str, row: Row, length: int, strides: Sequence[Strides], inner: Callable[..., Steps | None]) -> Steps:
    """The steps of a row, with those that gave its operands where these go no other way."""
    operands, strides = row.operands[:-1], list(strides[:-1])
    begun = [Steps(row, length, STEPS["load"], [x], [by]) for x, by in zip(operands, strides, strict=True)]
    if name == "cast_b":
        return Steps(row, length, STEPS[name], [*operands], strides)
    if name == "select":
        within = [inner(x, by) for x, by in zip(operands[1:], strides[1:], strict=True)]
        k = 0 if within[0] is not None or within[1] is None else 1
        first = within[k]
        if first is None or len(first.operands) + 2 > MOST_OPERANDS:
            first = begun[1 + k]
        return first.then(row, _letter(name, k), [operands[0], operands[2 - k]], [strides[0], strides[2 - k]])
    if len(operands) == 1:
        found = inner(operands[0], strides[0])
        if name in _NOTHING:
            return begun[0] if found is None else found.then(_written_to(found.row, row), "")
        return (found or begun[0]).then(row, STEPS[f"{name} a"])
    if operands[0][0] is operands[1][0]:
        twice = STEPS.get(f"{name} aa")
        if operands[0] == operands[1] and strides[0] == strides[1] and twice:
            return (inner(operands[0], strides[0], 2) or begun[0]).then(row, twice)
        return begun[0].then(row, _letter(name, 0), operands[1:], strides[1:])
    within = [inner(x, by) for x, by in zip(operands, strides, strict=True)]
    # of two the longer one goes on; the other one can be of one step only
    k = int(max((0, 1), key=lambda k: 0 if (x := within[k]) is None else len(x.operands)))
    first, other, letter = within[k], within[1 - k], _letter(name, k)
    if first is not None and other is not None and len(first.operands) + len(other.operands) <= MOST_OPERANDS:
        both = STEPS.get(f"{letter} of {other.letters.removeprefix(STEPS['load'])}")
        if both is not None:
            return first.then(row, both, other.operands, other.strides)
    if first is None or len(first.operands) == MOST_OPERANDS:
        first = begun[k]
    return first.then(row, letter, [operands[1 - k]], [strides[1 - k]])


def _written_to(row: Row, copy: Row) -> Row:
    """A row that writes where its copy is, if both go through lines alike; else that of the copy."""
    if (row.dims, row.outer) != (copy.dims, copy.outer):
        return copy
    result = copy.operands[-1]
    strides = (*row.strides[:-1], *copy.strides[-1:])
    return replace(row, operands=(*row.operands[:-1], result), steps=(*row.steps[:-1], copy.steps[-1]), strides=strides)


def _letter(name: str, k: int) -> str:
    """The step of an operation whose operand `k` is what the steps before it gave."""
    return STEPS[f"{name} {'ba' if k else 'ab'}"]


def _strides(row: Row, length: int) -> list[Strides]:
    lines = row.strides if row.outer else [length * s for s in row.steps]
    return list(zip(row.steps, lines, strict=True))


def _with_gaps(row: Row, length: int) -> list[tuple[Place, Strides]]:
    """The operands that do not lie one element after the other."""
    views = zip(row.operands[:-1], _strides(row, length)[:-1], strict=True)
    return [(place, by) for place, by in views if by[0] not in (0, place[0].item)]


def _row(x: Row | Steps, count: int) -> Row:
    """The row of some steps: in one piece where all operands are."""
    if isinstance(x, Row):
        return x
    length = x.length
    short = len(x.letters) == 1 or (len(x.letters) == 2 and _with_gaps(x.row, length))
    if short and x.operands == list(x.row.operands[:-1]):
        # NumPy's loop takes less than the copies would; what a copy copies may have become a step of its own
        return x.row
    result = x.row.operands[-1]
    assert result[0].dtype is not None
    loop = (f"fused_{result[0].dtype.char}_{x.letters}",)
    return _row_of(loop, [*x.operands, result], [*x.strides, _strides(x.row, length)[-1]], count, length)


def _row_of(
    loop: tuple[str, ...], operands: Sequence[Place], strides: Sequence[Strides], count: int, length: int
) -> Row:
    """A row that goes through all lines, as one where all operands do."""
    steps = tuple([step for step, _ in strides])
    if all(line == length * step for step, line in strides):
        return Row(loop, tuple(operands), (count * length,), steps)
    return Row(loop, tuple(operands), (length,), steps, (count,), tuple([line for _, line in strides]))
