"""Short inner loops made long: a call of a loop for each few elements takes longer than what it computes.

A bias that is added to many rows is repeated first, so that one call adds it to hundreds of them. Copies, products with
partial derivatives, and arithmetic of which no operand can be repeated once for all (differences of pairs) go through
two dimensions in one call. The order of the elements changes, not what is done to each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from engine.executor.own_loops import instead_of
from engine.executor.refs import Ref, Root, Row
from engine.runtime.cache import cached
from engine.runtime.structs import replace
from engine.runtime.tuning import TUNING

_SHORT = TUNING.row_elements
_LONG = TUNING.repeat_elements
_LEAST = TUNING.repeat_times
_LARGE = TUNING.group_large
_NEAR = 1 << 3
"""Places that lie next to one another from which on a call goes through these, not through more that lie apart."""
_IN_PLACES = instead_of(1, 1)
"""By loop for vectors, of our own or of NumPy: the loop of our own that does the same in many places."""


def made_long(row: Row, operands: Sequence[Ref]) -> list[Row]:
    """Rows that do the same as an elementwise one; `operands` are its own, the result last."""
    for k, x in enumerate(operands[:-1]):
        item, count, step = x.dtype.itemsize, row.dims[0], row.steps[k]
        if step not in (0, item) and count >= _SHORT and not any(row.strides[k :: len(operands)]):
            # what lies with gaps, and is read for many rows, is laid side by side once
            line = Root("computed", x.dtype, (count,), (item,))
            copied = Row((f"copy_{item}",), (row.operands[k], (line, 0)), (count,), (step, item))
            moved = tuple([(line, 0) if j == k else place for j, place in enumerate(row.operands)])
            steps = tuple([item if j == k else s for j, s in enumerate(row.steps)])
            return [copied, *made_long(replace(row, operands=moved, steps=steps), operands)]
    items = tuple([0 if x.dtype.kind == "c" else x.dtype.itemsize for x in operands])
    own = isinstance(row.loop[0], str)
    if own:
        name, _, kind = row.loop[0].rpartition("_")
        many = _IN_PLACES.get(name)
    else:
        kind = operands[0].dtype.char
        one_kind = kind in "fd" and all(x.dtype.char == kind for x in operands[:-1])
        many = _IN_PLACES.get(row.loop[0].__name__) if one_kind else None
    plan = _plan(row.dims[0], row.steps, row.outer, row.strides, items, many, own)
    if plan is None:
        return [row]
    if isinstance(plan, Row):
        return [Row((f"{many}_{kind}",), row.operands, plan.dims, plan.steps, plan.outer, plan.strides)]
    count, repeated, inner, in_place, steps, around, strides, whole, rest, far = plan
    rows, places = [], list(row.operands)
    for k in in_place:
        item = items[k]
        tile = Root("computed", operands[k].dtype, (repeated, count), (count * item, item))
        places[k] = tile, 0
        along = (0, count * item, inner[k], item)
        rows.append(Row((f"copies_{item}",), (row.operands[k], (tile, 0)), (repeated, count), along))
    rows.append(Row(row.loop, tuple(places), (repeated * count,), steps, (*around, whole), strides, row.outputs))
    if rest:
        moved = tuple([(root, offset + whole * far[k]) for k, (root, offset) in enumerate(places)])
        rows.append(Row(row.loop, moved, (rest * count,), steps, around, strides[: -len(far)], row.outputs))
    return rows


@cached(1 << 12)
def _plan(
    innermost: int,
    inner_steps: tuple[int, ...],
    around: tuple[int, ...],
    strides: tuple[int, ...],
    items: tuple[int, ...],
    many: str | None,
    own: bool,
) -> Any:
    """How a row is made long: None if it is not, the form of a row of the loop `many`, or what to make rows of."""
    if not around or 0 in items:
        return None
    width = len(items)
    each = [strides[k * width : (k + 1) * width] for k in range(len(around))]
    axes = sorted([*zip(around, each, strict=True), (innermost, inner_steps)], key=lambda axis: -abs(axis[1][-1]))
    (count, inner), (times, last), outer = axes[-1], axes[-2], axes[:-2]
    if many == "copies":
        return _in_many_places(axes) if count < _SHORT and inner == inner_steps else None
    if many is not None and count >= _SHORT and innermost * math.prod(around) * items[-1] >= _LARGE:
        # long lines of large arrays go tile by tile, with other rows
        return None
    if many is not None and own:
        return _in_many_places(axes)
    in_place = [k for k in range(width) if inner[k] and not last[k]]
    goes_on = all(last[k] == count * inner[k] for k in range(width) if k not in in_place)
    fixed = all(not far[k] for k in in_place for _, far in outer)
    repeated = min(times, _LONG // count)
    if not (in_place and goes_on and fixed and inner[-1] and width - 1 not in in_place and repeated >= _LEAST):
        return _in_many_places(axes) if many is not None and count < _SHORT else None
    steps = tuple([items[k] if k in in_place else inner[k] for k in range(width)])
    far = tuple([repeated * s for s in last])
    flat = (*itertools.chain(*[s for _, s in outer]), *far)
    return count, repeated, inner, in_place, steps, tuple([d for d, _ in outer]), flat, *divmod(times, repeated), far


def _in_many_places(axes: Sequence[tuple[int, tuple[int, ...]]]) -> Row:
    """The form of what is done to few elements in many places, in one call along the next axis or a longer one."""
    *outer, (count, inner) = axes
    longest = max(range(len(outer)), key=lambda k: outer[k][0])
    times, last = outer.pop(longest if outer[-1][0] < _NEAR else -1)
    strides = tuple(itertools.chain(*[s for _, s in outer]))
    return Row((), (), (times, count), (*last, *inner), tuple([d for d, _ in outer]), strides)
