"""How rows go through lines: which of their axes are cut, and what they touch in each line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

from engine.executor.own_loops import LOOPS, is_summed
from engine.executor.refs import Root, Row, core_dims, core_names, longer_inside
from engine.ops.small_matrix import FUNCTIONS as SMALL_MATRICES
from engine.runtime.structs import replace, struct

Axis = tuple[int, tuple[int, ...]]
"""The size of an axis, and the strides of all operands along it."""
Form = tuple[int, int, int, int]
"""Which bytes of a root a row touches for the first line, by how much these go on from line to line, and how often all
that begins anew behind the last line: lines along the second axis of an array have a piece in each row."""


@struct(slots=True)
class Lines:
    """How a row goes through lines."""

    row: Row
    axes: list[Axis]
    """Those that are free, in the order in which the row goes through them: the last one is the loop's."""
    core: list[Axis]
    """Those inside of the loop."""
    at: int
    """Which of the free axes, or parts of it, are the lines."""
    adds_up: bool
    """Whether each line is added to the same place."""
    dim: int = 0
    """Which dimension of a loop that adds up rows the lines are."""

    @property
    def is_plain(self) -> bool:
        """Whether it goes element by element, in one call for many."""
        return not (self.core or self.adds_up) and all(d == 1 or steps[-1] for d, steps in self.axes)

    @property
    def work(self) -> int:
        """Elements that it goes through: matrices, of a function of these."""
        return math.prod([d for d, _ in self.axes]) if is_of_matrices(self.row) else self.row.work

    @property
    def count(self) -> int:
        """The most lines that it can be cut into; it can be cut into any divisor of them."""
        return self.axes[self.at][0]

    def inside(self, count: int) -> list[Axis]:
        """The axes of each of so many lines."""
        size, by = self.axes[self.at]
        return [*self.axes[: self.at], (size // count, by), *self.axes[self.at + 1 :], *self.core]

    def steps(self, count: int) -> tuple[int, ...]:
        """Per operand, the step from each of so many lines to the next."""
        size, by = self.axes[self.at]
        return tuple([size // count * step for step in by])

    def forms(self, count: int) -> Iterable[tuple[Root, Form]]:
        """The bytes that it touches, in so many lines."""
        inside = self.inside(count)
        for k, ((root, offset), by) in enumerate(zip(self.row.operands, self.steps(count), strict=True)):
            every = max(by * count, 0)
            pieces = [d for d, steps in inside if every and d > 1 and abs(steps[k]) >= every and steps[k] % every == 0]
            reach = [
                (d - 1) * steps[k]
                for d, steps in inside
                if not (every and abs(steps[k]) >= every and steps[k] % every == 0)
            ]
            times = math.prod(pieces)
            if every and (times > 1 or offset >= every) and not root.extent[1] % every:
                times, offset = max(times, root.extent[1] // every), offset % every
            low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
            yield root, (offset + low, offset + high + root.item, by, times)

    def part(self, count: int, lines: int) -> Row:
        """The row for some of so many lines."""
        row, axes = self.row, list(self.axes)
        size, by = axes[self.at]
        axes[self.at] = size // count * lines, by
        if row.loop[0] in ADDING:
            return replace(row, dims=(*row.dims[: self.dim], axes[0][0], *row.dims[self.dim + 1 :]))
        written = row.operands[-1][0]
        if not self.core and all(root is not written for root, _ in row.operands[:-1]):
            axes.sort(key=lambda axis: -abs(axis[1][-1]))
            axes.append(axes.pop(longer_inside([d for d, _ in axes])))
        elif not self.core and axes[-1][0] == 1:
            # of a running sum of one line each step would be a call; a sum stays as it is: many of its terms at once
            # would be added up in pairs
            axes.sort(key=lambda axis: axis[0] != 1 and axis[1][-1] != 0)
        inner, outer = axes[-1], axes[:-1]
        steps = (*inner[1], *row.steps[len(row.operands) :])
        around = tuple(itertools.chain(*[strides for _, strides in outer]))
        return replace(
            row, dims=(inner[0], *row.dims[1:]), steps=steps, outer=tuple([d for d, _ in outer]), strides=around
        )


ADDING = {name for name, loop in LOOPS.items() if loop.lines == 1}
"""Loops of our own that add up rows."""


def lines_of(row: Row) -> Lines | None:
    """How a row goes through lines, if it may belong to a group: along the axis that leads farthest."""

    def farthest(lines: Lines) -> tuple[int, int]:
        size, steps = lines.axes[lines.at]
        return steps[-1] if all(by[-1] or d == 1 for d, by in lines.axes) else max(steps), size

    ways = ways_of(row) if row.work > 1 else []
    if row.loop[0] in ADDING:
        return ways[0] if ways else None
    found = max(ways, key=farthest, default=None)
    return None if found is None or farthest(found)[0] <= 0 or found.count < 2 else found


def ways_of(row: Row) -> list[Lines]:
    """The ways in which a row may go through lines, along each of its axes."""
    if row.position >= 0 or len({root for root, _ in row.written}) != 1:
        return []
    width, name = len(row.operands), row.loop[0]
    if any(root.dtype is None or root.dtype.char not in "fdFD?" for root, _ in row.operands):
        return []
    if name in ADDING:
        return [] if row.outer else _ways_of_sums(row)
    each = [row.strides[k * width : (k + 1) * width] for k in range(len(row.outer))]
    axes: list[Axis] = [*zip(row.outer, each, strict=True), (row.dims[0], row.steps[:width])]
    own = LOOPS.get(name)
    if (own is not None and own.lines == 0) or is_summed(name):
        core: list[Axis] = [(row.dims[1], (*row.steps[width:], 0))]
    elif len(row.dims) == 1 and _is_elementwise(name):
        core = []
    elif is_of_matrices(row):
        core = _core_of_matrices(row)
    elif own is not None and len(row.dims) == 2 and set(own.cores) == {1} and not (own.indexed or own.refuses):
        core = [(row.dims[1], row.steps[width:])]
    else:
        return []
    kept = [d == 1 or steps[-1] != 0 for d, steps in axes]
    if not all(kept) and (core or row.operands[-1] not in row.operands[:-1]):
        # it writes several times to one place
        return []
    # what is reduced in one call of the loop is reduced as a whole
    return [Lines(row, axes, core, k, not kept[k]) for k in range(len(axes)) if kept[k] or k < len(axes) - 1]


def _ways_of_sums(row: Row) -> list[Lines]:
    """Those of a loop that adds up rows: each of many sums, the rows, or, if there are no states, the columns."""
    of_each, (of_x, step, step_out) = row.steps[:2], row.steps[2:]
    axes: list[Axis] = [(row.dims[0], of_each), (row.dims[1], (of_x, 0)), (row.dims[2], (step, step_out))]
    ways = [(1, True)] if row.dims[0] == 1 else [(0, False), (1, True)]
    ways += [(2, False)] if len(row.dims) == 3 else []
    return [Lines(row, [axes[k]], [*axes[:k], *axes[k + 1 :]], 0, adds, k) for k, adds in ways]


_OF_MATRICES = frozenset(SMALL_MATRICES.values())


def is_of_matrices(row: Row) -> bool:
    """Whether a row goes through small matrices."""
    return not isinstance(row.loop[0], str) and row.loop[0] in _OF_MATRICES


def _core_of_matrices(row: Row) -> list[Axis]:
    """The axes of matrices, each operand's by themselves."""
    width, ufunc = len(row.operands), row.loop[0]
    sizes = dict(zip(core_names(ufunc), row.dims[1:], strict=True))
    of = [(k, sizes[name]) for k, names in enumerate(core_dims(ufunc)) for name in names]
    return [
        (size, tuple([step if j == k else 0 for j in range(width)]))
        for (k, size), step in zip(of, row.steps[width:], strict=True)
    ]


def _is_elementwise(loop: Any) -> bool:
    """Whether a loop, which does not reduce, goes element by element."""
    if not isinstance(loop, str):
        return loop.signature is None
    return loop.startswith("fused_") or LOOPS[loop].is_elementwise
