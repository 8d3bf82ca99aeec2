"""Index maps: where the parts of operands are in the result of an op that moves boxes of elements as they are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.compiler.passes.slice_sum import box_of, slice_sum
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import contiguous, reshape_to
from engine.ops.arithmetic import divide_no_nan, part_of
from engine.ops.compare import cast_op, keep_chosen, select, truncate
from engine.ops.explog import rsqrt
from engine.ops.indexing import getitem_back_op, getitem_op, numpy_key
from engine.ops.joining import concat_op, concat_piece, concat_place, stack_op
from engine.ops.nn import leaky_relu_op, relu, sigmoid, silu_op, softplus
from engine.ops.rearrange import pad_back_op, pad_op, roll_op

Shape = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
"""Per axis, where it begins and ends."""


_OF_UFUNCS = (
    *(select, keep_chosen, truncate, cast_op, relu, leaky_relu_op, sigmoid, silu_op, softplus, rsqrt),
    *(part_of, divide_no_nan),
)
"""Elementwise ops whose kernels are made of ufuncs, and whose results do not depend on what else is computed."""


def takes_parts(op: Op, params: dict[str, Any]) -> bool:
    """Whether an elementwise op gives each element the same bits, whichever others it is given with."""
    if not op.elementwise or op.multi or op.static or op.references or is_stateful(op, params):
        return False
    return op.is_ufunc or op.rounds_correctly or op in _OF_UFUNCS


BY_LAST = (pad_op, pad_back_op, roll_op)
"""Ops whose last operand says where to."""
MOVES = frozenset({
    concat_op, concat_piece, concat_place, stack_op, contiguous, reshape_to, getitem_op, getitem_back_op, slice_sum,
    *BY_LAST,
})  # fmt: skip
"""Ops that may move boxes."""


class Piece(NamedTuple):
    """A part of a result that is an operand, or a part of it."""

    operand: int
    """Its position."""
    axes: tuple[int | None, ...]
    """Per axis of the operand, which one it is of the result; in ascending order. None: one index of it is taken."""
    shifts: Shape
    """Per axis of the operand, the index in the result less that in the operand; of an axis that is None, the index
    that is taken."""
    others: tuple[tuple[int, int], ...] = ()
    """Axes of the result that the operand does not have, with the index in each."""

    def source(self, box: Box, shape: Shape) -> Box | None:
        """The box of an operand of some shape that a box of the result shows, or None if it shows nothing."""
        if any(not box[axis][0] <= at < box[axis][1] for axis, at in self.others):
            return None
        ends = [
            (shift, shift + 1) if axis is None else (max(box[axis][0] - shift, 0), min(box[axis][1] - shift, d))
            for axis, shift, d in zip(self.axes, self.shifts, shape, strict=True)
        ]
        return None if any(a >= b for a, b in ends) else tuple(ends)

    def target(self, box: Box) -> Box:
        """Where in the result a box of the operand is."""
        known = {axis: (at, at + 1) for axis, at in self.others}
        for axis, shift, (a, b) in zip(self.axes, self.shifts, box, strict=True):
            if axis is not None:
                known[axis] = a + shift, b + shift
        return tuple([known[axis] for axis in range(len(known))])

    def spec(self, box: Box, start: Shape) -> tuple[Any, ...]:
        """The index that takes a box of the operand from an array that begins at `start`, with the result's axes."""
        new = {axis for axis, _ in self.others}
        items: list[Any] = []
        count = 0
        for axis, (a, b), first in zip(self.axes, box, start, strict=True):
            while axis is not None and count in new:
                items.append(None)
                count += 1
            items.append(a - first if axis is None else (a - first, b - first, None))
            count += axis is not None
        return (*items, *[None] * (len(new) + sum(axis is not None for axis in self.axes) - count))


def whole_shape(aval: Aval) -> Shape:
    """The shape of a value, all of which is known."""
    return aval.shape or ()  # type: ignore[return-value]


def whole(shape: Shape) -> Box:
    """The box of all elements."""
    return tuple([(0, d) for d in shape])


def hull(first: Box | None, last: Box | None) -> Box | None:
    """The least box around two."""
    if first is None or last is None:
        return last if first is None else first
    return tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in zip(first, last, strict=True)])


def contains(box: Box, part: Box) -> bool:
    """Whether a box has another in it."""
    return all(a <= c and d <= b for (a, b), (c, d) in zip(box, part, strict=True))


def shape_of_box(box: Box) -> Shape:
    """Its sizes."""
    return tuple([b - a for a, b in box])


def pieces_of(each: Instruction, avals: Mapping[int, Aval], constants: Mapping[int, Any]) -> list[Piece] | None:
    """The pieces of the result, which is zero elsewhere; None if an op, or this application of it, is no such move."""
    op, params = each.op, each.params
    if op not in MOVES:
        return None
    shapes: list[Any] = [avals[s].shape for s in each.inputs]
    out = whole_shape(avals[each.outputs[0]])
    rank = len(out)
    if op is concat_op:
        axis = params["axis"] % rank
        starts = itertools.accumulate([s[axis] for s in shapes], initial=0)
        return [_shifted(i, rank, axis, start) for i, start in zip(range(len(shapes)), starts, strict=False)]
    if op is concat_piece or op is concat_place:
        axis = params["axis"] % rank
        start = sum([s[params["axis"]] for s in shapes[1:][: params["position"]]])
        return [_shifted(0, rank, axis, -start if op is concat_piece else start)]
    if op is stack_op:
        axis = params["axis"] % rank
        axes = (*range(axis), *range(axis + 1, rank))
        return [Piece(i, axes, (0,) * (rank - 1), ((axis, i),)) for i in range(len(shapes))]
    if op is contiguous:
        return [_shifted(0, rank, 0, 0)]
    if op is reshape_to:
        return _reshaped(shapes[0], out)
    if op is roll_op:
        return _rolled(out, each.inputs[1], params["axis"], constants)
    if op in BY_LAST and each.inputs[-1] in constants and params["mode"] == "CONSTANT":
        if op is pad_op and (params["value"] != 0 or np.signbit(params["value"])):
            return None
        before = np.reshape(constants[each.inputs[-1]], (-1, 2))[:, 0] * (1 if op is pad_op else -1)
        shifts = (*(0,) * params.get("lead", 0), *before.tolist())
        return [Piece(0, tuple(range(rank)), shifts)]
    if op is slice_sum and params["hows"] == "+" and all(isinstance(k, slice) for k in params["keys"][0]):
        return [Piece(0, tuple(range(rank)), tuple([start for start, _ in box_of(out, params["keys"][0])]))]
    if op is getitem_op and len(shapes) == 1:
        return _indexed(shapes[0], params)
    if op is getitem_back_op and len(shapes) == 2:
        found = _indexed(out, params)
        return None if found is None else [_reversed(found[0], rank)]
    return None


def _shifted(operand: int, rank: int, axis: int, shift: int) -> Piece:
    return Piece(operand, tuple(range(rank)), tuple([shift if a == axis else 0 for a in range(rank)]))


def _rolled(shape: Shape, by: int, axis: tuple[int, ...], constants: Mapping[int, Any]) -> list[Piece] | None:
    """The pieces that come in at one end, and that stay."""
    if by not in constants or len(axis) != 1 or not (size := shape[axis[0]]):
        return None
    shift = int(np.ravel(constants[by])[0]) % size
    return [_shifted(0, len(shape), axis[0] % len(shape), start) for start in (shift - size, shift)][not shift :]


def _reshaped(shape: Shape, out: Shape) -> list[Piece] | None:
    """A reshape that only adds and drops axes of size one."""
    if [d for d in shape if d != 1] != [d for d in out if d != 1]:
        return None
    kept = iter([axis for axis, d in enumerate(out) if d != 1])
    axes = tuple([next(kept) if d != 1 else None for d in shape])
    return [Piece(0, axes, (0,) * len(shape), tuple([(a, 0) for a in range(len(out)) if a not in axes]))]


def _indexed(shape: Shape, params: dict[str, Any]) -> list[Piece] | None:
    """The piece that an index takes."""
    key: Any = numpy_key(shape, params["spec"], (), params.get("lead", 0))
    key = key if isinstance(key, tuple) else (key,)
    named = sum(k is not None and k is not ... for k in key)
    at = key.index(...) if ... in key else len(key)
    key = (*key[:at], *[slice(None)] * (len(shape) - named), *key[at + 1 :])
    axes: list[int | None] = []
    shifts: list[int] = []
    others: list[tuple[int, int]] = []
    count = 0
    for k in key:
        if k is None:
            others.append((count, 0))
        elif isinstance(k, slice):
            start, stop, step = k.indices(shape[len(axes)])
            if step != 1 or stop <= start:
                return None
            axes.append(count)
            shifts.append(-start)
        else:
            shifts.append(k % shape[len(axes)])
            axes.append(None)
            continue
        count += 1
    return [Piece(0, tuple(axes), tuple(shifts), tuple(others))]


def _reversed(piece: Piece, rank: int) -> Piece:
    """The piece of the transpose of an index."""
    back = {axis: a for a, axis in enumerate(piece.axes) if axis is not None}
    count = len(back) + len(piece.others)
    axes = tuple([back.get(axis) for axis in range(count)])
    shifts = tuple([0 if a is None else -piece.shifts[a] for a in axes])
    return Piece(0, axes, shifts, tuple([(a, piece.shifts[a]) for a in range(rank) if piece.axes[a] is None]))
