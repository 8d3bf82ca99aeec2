"""Knowledge of the elements of a value, cell by cell: numbers, and zeros whose sign is not known.

A cotangent of one slice is zero around it, so are products of it, and what slices of these are put into. Each axis is
cut where something changes; in the cells that this makes all elements are known to be one number, or zero, or nothing
is known of them. The kernels themselves compute cells of numbers, one element for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.passes.index_maps import Box, Piece, Shape, whole, whole_shape
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import scale
from engine.ops.arithmetic import add, divide, multiply, negative, subtract
from engine.ops.compare import keep_chosen, not_equal, truncate

UNKNOWN, ZERO_OR_NAN, ZERO, NUMBER, BIT, POSITIVE = range(6)
"""Of a cell: nothing is known; a zero of either sign or NaN; a zero of either sign; one number; 0 or 1; more than 0."""

_MOST = 1 << 12
"""Cells of which something is known."""
_BREAKS = 1 << 6
"""Changes along a line of a constant."""


class Cells(NamedTuple):
    """The cells of a value.

    Attributes
    ----------
    ends : tuple of tuple of int
        Per axis, where each cell ends.
    kinds, numbers : array
        Per cell what is known of it, and which number it is.
    """

    ends: tuple[Shape, ...]
    kinds: np.ndarray
    numbers: np.ndarray

    def within(self, box: Box) -> tuple[Any, ...]:
        """The index of the cells that meet a box."""
        return tuple(
            [
                slice(int(np.searchsorted(ends, a, "right")), int(np.searchsorted(ends, b, "left")) + 1)
                for ends, (a, b) in zip(self.ends, box, strict=True)
            ]
        )

    def besides_zeros(self, box: Box) -> Box | None:
        """The least box in a box around all that is not known to be 0.0, or None if there is nothing."""
        index = self.within(box)
        numbers = self.numbers[index]
        there = (self.kinds[index] != NUMBER) | (numbers != 0) | np.signbit(numbers)
        ends = []
        for axis, (cells, (a, b)) in enumerate(zip(index, box, strict=True)):
            found = np.flatnonzero(there.any(tuple([k for k in range(there.ndim) if k != axis])))
            if not len(found):
                return None
            first, last = cells.start + found[0], cells.start + found[-1]
            ends.append((max(a, self.ends[axis][first - 1] if first else 0), min(b, self.ends[axis][last])))
        return tuple(ends)

    def array(self, box: Box) -> np.ndarray | None:
        """The elements in a box, if all are known: one element stands for all along an axis of one cell."""
        index = self.within(box)
        if (self.kinds[index] != NUMBER).any():
            return None
        out = self.numbers[index]
        for axis, (cells, (a, b)) in enumerate(zip(index, box, strict=True)):
            if cells.stop - cells.start > 1:
                out = np.repeat(out, np.diff(np.clip(self.ends[axis][cells], a, b), prepend=a), axis)
        return np.broadcast_to(np.asarray(out, order="C"), [b - a for a, b in box])


def of_constant(array: Any) -> Cells | None:
    """The cells of a constant, if there are few."""
    array = np.asarray(array)
    if not array.size or array.dtype.kind not in "fb":
        return None
    # what is repeated in memory is looked at once; numbers are compared by their bits, which tell zeros apart
    once = np.asarray(array[tuple([slice(0, None if step else 1) for step in array.strides])], order="C")
    bits = once.view(f"i{once.dtype.itemsize}").reshape(once.shape)
    kept: list[Any] = []
    for axis in range(bits.ndim):
        line = bits[(0,) * axis + (slice(None),) + (0,) * (bits.ndim - axis - 1)]
        if np.count_nonzero(line[1:] != line[:-1]) > _BREAKS:
            return None
    for axis, d in enumerate(once.shape):
        others = tuple([k for k in range(bits.ndim) if k != axis])
        new: Any = np.zeros(d, bool) if d == 1 else np.append(np.diff(bits, axis=axis).any(others), False)
        kept.append(np.flatnonzero(new | (np.arange(d) == d - 1)))
    if math.prod(map(len, kept)) > _MOST:
        return None
    ends = [(d,) if len(k) == 1 else tuple((k + 1).tolist()) for k, d in zip(kept, array.shape, strict=True)]
    numbers = once[np.ix_(*kept)] if kept else once
    return Cells(tuple(ends), np.full(numbers.shape, NUMBER, np.int8), numbers)


def _cell(shape: Shape, kind: int, number: Any, dtype: Any) -> Cells:
    ones = (1,) * len(shape)
    return Cells(tuple([(d,) for d in shape]), np.full(ones, kind, np.int8), np.full(ones, number, dtype))


def _nothing(aval: Aval) -> Cells:
    """The cell of a value of which nothing is known."""
    return _cell(whole_shape(aval), UNKNOWN, 0, aval.dtype.numpy)


def of_elementwise(op: Op, operands: Sequence[Cells | None], avals: Sequence[Aval], params: Any, out: Aval) -> Any:
    """The cells of the result of an elementwise op, of static shapes; None if nothing is known."""
    shape: Any = out.shape
    rank = len(shape)
    given = [_nothing(a) if c is None else c for c, a in zip(operands, avals, strict=True)]
    ends = []
    for axis, d in enumerate(shape):
        found = {e for c in given if (k := axis - rank + len(c.ends)) >= 0 for e in c.ends[k]} - {1} | {d}
        found |= {1} if any((k := axis - rank + len(c.ends)) >= 0 and 1 in c.ends[k][:-1] for c in given) else set()
        ends.append(tuple(sorted(found)))
    if math.prod(map(len, ends)) > _MOST:
        return None
    refined = [_refined(c, ends, shape) for c in given]
    kinds, numbers = [k for k, _ in refined], [x for _, x in refined]
    cells = tuple(map(len, ends))
    known = np.broadcast_to(np.logical_and.reduce([np.broadcast_to(k == NUMBER, cells) for k in kinds]), cells)
    result = np.zeros(cells, out.dtype.numpy)
    if known.any():
        with np.errstate(all="ignore"):
            result = np.where(known, op.kernel(*numbers, **params), result)
    kind = np.where(known, np.int8(NUMBER), np.int8(UNKNOWN))
    if (rule := RULES.get(op)) is not None and not known.all():
        more, number = rule(*[Zeros(k, x) for k, x in refined], **params)
        kind = np.where(known, kind, more)
        result = np.where(~known & (kind == NUMBER), number, result)
    return _merged(tuple(ends), kind, result.astype(out.dtype.numpy, copy=False))


def _refined(c: Cells, ends: Sequence[Shape], shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and numbers in smaller cells."""
    kinds, numbers = c.kinds, c.numbers
    first = len(shape) - len(c.ends)
    for axis, own in enumerate(c.ends):
        if own != ends[first + axis] and len(own) > 1:
            which = np.searchsorted(own, ends[first + axis], "left")
            kinds, numbers = kinds.take(which, axis), numbers.take(which, axis)
    return kinds, numbers


def of_repeated(c: Cells, axes: Collection[int], out: Aval) -> Cells:
    """The cells of a value repeated along some axes of the result, which it has not or of size one."""
    shape: Any = out.shape
    kinds, numbers = c.kinds, c.numbers
    own = iter(c.ends)
    if len(c.ends) < len(shape):
        kinds, numbers = (np.expand_dims(x, tuple(axes)) for x in (kinds, numbers))
        ends = [(d,) if axis in axes else next(own) for axis, d in enumerate(shape)]
    else:
        ends = [(d,) if axis in axes else e for axis, (d, e) in enumerate(zip(shape, own, strict=True))]
    return Cells(tuple(ends), kinds, numbers)


def of_sum(c: Cells, axes: Collection[int], keepdims: bool) -> Cells | None:
    """The cells of a sum of whole numbers, which no rounding can change in any order."""
    whole_numbers = (c.kinds == NUMBER) & (np.rint(c.numbers) == c.numbers) & (abs(c.numbers) < _BREAKS)
    if math.prod([c.ends[axis][-1] for axis in axes]) > 1 << 17:
        return None
    numbers = np.where(whole_numbers, c.numbers, 0)
    for axis in axes:
        times = np.diff(c.ends[axis], prepend=0).reshape([-1 if k == axis else 1 for k in range(numbers.ndim)])
        numbers = (numbers * times).sum(axis, keepdims=True)
    known = whole_numbers.all(tuple(axes), keepdims=True)
    kinds = np.where(known & (numbers != 0), np.int8(NUMBER), np.int8(UNKNOWN))
    # a sum of zeros is -0.0 if all of them are
    positive = ((c.kinds == NUMBER) & (c.numbers == 0) & ~np.signbit(c.numbers)).all(tuple(axes), keepdims=True)
    kinds = np.where(positive, np.int8(NUMBER), kinds)
    numbers = np.where(kinds == NUMBER, numbers, 0).astype(c.numbers.dtype)
    ends = [(1,) if axis in axes else e for axis, e in enumerate(c.ends)]
    if not keepdims:
        kinds, numbers = kinds.squeeze(tuple(axes)), numbers.squeeze(tuple(axes))
        ends = [e for axis, e in enumerate(c.ends) if axis not in axes]
    return _merged(tuple(ends), kinds, numbers)


def of_pieces(pieces: Sequence[Piece], operands: Sequence[Cells | None], avals: Sequence[Aval], out: Aval) -> Any:
    """The cells of a value that consists of pieces, and is zero elsewhere."""
    shape: Any = out.shape
    cuts: list[set[int]] = [{0, d} for d in shape]
    placed = []
    for piece in pieces:
        aval = avals[piece.operand]
        c = operands[piece.operand] or _nothing(aval)
        source = piece.source(whole(shape), whole_shape(aval))
        if source is None:
            continue
        target = piece.target(source)
        placed.append((piece, c, target))
        for axis, ends in enumerate(target):
            cuts[axis] |= set(ends)
        for onto, shift, own in zip(piece.axes, piece.shifts, c.ends, strict=True):
            if onto is not None:
                cuts[onto] |= {e + shift for e in own if target[onto][0] < e + shift < target[onto][1]}
    bounds = [sorted(cut) for cut in cuts]
    if math.prod([len(b) - 1 for b in bounds]) > _MOST:
        return None
    kinds = np.full([len(b) - 1 for b in bounds], NUMBER, np.int8)
    numbers = np.zeros(kinds.shape, out.dtype.numpy)
    for piece, c, target in placed:
        here = tuple([slice(b.index(s), b.index(e)) for b, (s, e) in zip(bounds, target, strict=True)])
        of_kinds, of_numbers = c.kinds, c.numbers
        for at, (onto, shift, own) in enumerate(zip(piece.axes, piece.shifts, c.ends, strict=True)):
            starts = [shift] if onto is None else [s - shift for s in bounds[onto][:-1][here[onto]]]
            which = np.searchsorted(own, starts, "right")
            of_kinds, of_numbers = of_kinds.take(which, at), of_numbers.take(which, at)
        there = kinds[here].shape
        kinds[here], numbers[here] = of_kinds.reshape(there), of_numbers.reshape(there)
    return _merged(tuple([tuple(b[1:]) for b in bounds]), kinds, numbers)


def _merged(ends: tuple[Shape, ...], kinds: np.ndarray, numbers: np.ndarray) -> Cells | None:
    """Cells with equal neighbors as one; None if nothing is known of any."""
    if not kinds.any():
        return None
    for axis, own in enumerate(ends):
        if len(own) == 1:
            continue
        others = tuple([k for k in range(kinds.ndim) if k != axis])
        new = np.diff(kinds, axis=axis) != 0
        left, right = (numbers.take(np.arange(len(own) - 1) + k, axis) for k in (0, 1))
        new |= (left != right) | (np.signbit(left) != np.signbit(right) if numbers.dtype.kind == "f" else False)
        kept = np.flatnonzero(np.append(new.any(others), True))
        if len(kept) < len(own):
            kinds, numbers = kinds.take(kept, axis), numbers.take(kept, axis)
            ends = (*ends[:axis], tuple([own[k] for k in kept]), *ends[axis + 1 :])
    return Cells(ends, kinds, numbers)


# ---- zeros -----------------------------------------------------------------------------------------------------------


class Zeros:
    """Answers to what rules ask of an operand, cell by cell."""

    def __init__(self, kinds: np.ndarray, numbers: np.ndarray) -> None:
        self.kinds, self.numbers = kinds, numbers
        self.number = kinds == NUMBER
        self.safe = (kinds == ZERO) | (self.number & (numbers == 0))
        self.zero = self.safe | (kinds == ZERO_OR_NAN)
        self.finite = (kinds == ZERO) | (self.number & np.isfinite(numbers))
        self.more = (kinds == POSITIVE) | (self.number & (numbers > 0))
        self.least = self.more | self.safe | (kinds == BIT)
        self.positive = self.number & (numbers == 0) & ~np.signbit(numbers)


def _where_zero(zero: Any, safe: Any) -> Any:
    return np.where(zero, np.where(safe, np.int8(ZERO), np.int8(ZERO_OR_NAN)), np.int8(UNKNOWN))


def _multiplied(a: Zeros, b: Zeros) -> Any:
    return _where_zero(a.zero | b.zero, a.finite & b.finite), 0


def _divided(a: Zeros, b: Zeros) -> Any:
    return _where_zero(a.zero, a.safe & b.number & (b.numbers != 0) & (b.numbers == b.numbers)), 0


def _scaled(a: Zeros, b: Zeros, either: bool = False) -> Any:
    zero = a.zero | b.zero if either else a.zero
    return _where_zero(zero, a.safe | (b.safe if either else False)), 0


def _added(a: Zeros, b: Zeros) -> Any:
    kind = _where_zero(a.zero & b.zero, a.safe & b.safe)
    kind = np.where((kind == ZERO) & (a.positive | b.positive), np.int8(NUMBER), kind)
    return np.where((a.more & b.least) | (b.more & a.least), np.int8(POSITIVE), kind), 0


def _subtracted(a: Zeros, b: Zeros) -> Any:
    kind = _where_zero(a.zero & b.zero, a.safe & b.safe)
    negative = b.number & (b.numbers == 0) & np.signbit(b.numbers)
    return np.where((kind == ZERO) & (a.positive | negative), np.int8(NUMBER), kind), 0


def _kept(x: Zeros, chosen: Zeros, fixed: bool) -> Any:
    dropped = chosen.number & (chosen.numbers == 0)
    kind = np.where(chosen.number & ~dropped, x.kinds, _where_zero(x.zero, x.safe | dropped))
    kind = np.where(x.number & (x.numbers == x.numbers), x.kinds, kind)
    return kind, x.numbers


def _differs(a: Zeros, b: Zeros) -> Any:
    return np.where((a.more & b.safe) | (b.more & a.safe), np.int8(NUMBER), np.int8(UNKNOWN)), True


RULES: dict[Op, Callable[..., Any]] = {
    add: _added,
    subtract: _subtracted,
    multiply: _multiplied,
    divide: _divided,
    negative: lambda a: (np.where(a.zero, a.kinds, np.int8(UNKNOWN)), 0),
    scale: _scaled,
    keep_chosen: _kept,
    not_equal: _differs,
    truncate: lambda a, dtype: (np.full(a.kinds.shape, BIT if a.numbers.dtype == bool else UNKNOWN, np.int8), 0),
}
"""Per op, what is known of a cell in which not all operands are numbers: its kind, and the number if it is one."""


def changes_nothing(x: Cells | None, chosen: Cells | None, shape: Shape, box: Box) -> bool:
    """Whether `keep_chosen` of operands of one shape gives the first of them in a box: no NaN that is not chosen."""
    given = [_cell(shape, UNKNOWN, 0, np.float64) if c is None else c for c in (x, chosen)]
    ends = [tuple(sorted({*a, *b})) for a, b in zip(given[0].ends, given[1].ends, strict=True)]
    of_x, of_chosen = [Zeros(*_refined(c, ends, shape)) for c in given]
    clean = of_x.safe | of_x.finite | (of_chosen.number & (of_chosen.numbers != 0))
    return bool(clean[Cells(tuple(ends), clean, clean).within(box)].all())
