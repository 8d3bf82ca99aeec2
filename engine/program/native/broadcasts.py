"""Short inner loops made long: a call of a loop for each few elements takes longer than what it computes.

A bias that is added to many rows is repeated first, so that one call adds it to hundreds of them. Copies go through two
dimensions in one call. The order of the elements changes, not what is done to each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from engine.program.native.memory import Ref, Root, Row

_SHORT = 128
"""Elements of an inner loop from which on it is long enough."""
_LONG = 2048
"""Elements that an inner loop is given in place of few."""
_LEAST = 4
"""Repetitions from which on it pays to make them."""


def made_long(row: Row, operands: Sequence[Ref]) -> list[Row]:
    """Rows that do the same as an elementwise one; `operands` are its own, the result last."""
    if not row.outer or any(x.dtype.kind == "c" for x in operands):
        return [row]
    width = len(operands)
    steps = [row.strides[k * width : (k + 1) * width] for k in range(len(row.outer))]
    axes = sorted([*zip(row.outer, steps, strict=True), (row.dims[0], row.steps)], key=lambda axis: -abs(axis[1][-1]))
    (count, inner), (times, last), outer = axes[-1], axes[-2], axes[:-2]
    if isinstance(row.loop[0], str) and row.loop[0].startswith("copy_"):
        return [_copies(row, axes)] if count < _SHORT and inner == row.steps else [row]
    in_place = [k for k in range(width) if inner[k] and not last[k]]
    goes_on = all(last[k] == count * inner[k] for k in range(width) if k not in in_place)
    fixed = all(not strides[k] for k in in_place for _, strides in outer)
    repeated = min(times, _LONG // count)
    if not (in_place and goes_on and fixed and inner[-1] and width - 1 not in in_place and repeated >= _LEAST):
        return [row]
    rows, places, along = [], list(row.operands), list(inner)
    for k in in_place:
        item = operands[k].dtype.itemsize
        tile = Root("computed", operands[k].dtype, (repeated, count), (count * item, item))
        places[k], along[k] = (tile, 0), item
        rows.append(
            Row(
                (f"copies_{item}",),
                (row.operands[k], (tile, 0)),
                (repeated, count),
                (0, count * item, inner[k], item),
            )
        )
    whole, rest = divmod(times, repeated)
    around, flat = tuple([d for d, _ in outer]), tuple(itertools.chain(*[s for _, s in outer]))
    far = tuple([repeated * s for s in last])
    long = Row(row.loop, tuple(places), (repeated * count,), tuple(along), (*around, whole), (*flat, *far), row.outputs)
    rows.append(long)
    if rest:
        moved = tuple([(root, offset + whole * far[k]) for k, (root, offset) in enumerate(places)])
        rows.append(Row(row.loop, moved, (rest * count,), tuple(along), around, flat, row.outputs))
    return rows


def _copies(row: Row, axes: Sequence[tuple[int, Sequence[int]]]) -> Row:
    """A copy of few elements to many places, in one call along the longest of the other axes."""
    *outer, (count, inner) = axes
    times, last = outer.pop(max(range(len(outer)), key=lambda k: outer[k][0]))
    strides = tuple(itertools.chain(*[s for _, s in outer]))
    loop = (f"copies_{row.loop[0].removeprefix('copy_')}",)
    return Row(loop, row.operands, (times, count), (*last, *inner), tuple([d for d, _ in outer]), strides)
