"""Knowledge of the elements of a value, cell by cell: numbers, and zeros whose sign is not known.

A cotangent of one slice is zero around it, so are products of it, and what slices of these are put into. Each axis is
cut where something changes; in the cells that this makes all elements are known to be one number, or zero, or nothing
is known of them. The kernels themselves compute cells of numbers, one element for each.

Most values have a handful of cells, and a program has thousands of values. So this is plain Python: NumPy takes longer
for three numbers.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.passes.index_maps import Box, Piece, Shape, whole, whole_shape
from engine.core.aval import Aval
from engine.core.op import Op, distinct
from engine.core.structural import scale
from engine.ops.arithmetic import add, divide, maximum, multiply, negative, subtract
from engine.ops.compare import keep_chosen, not_equal, truncate
from engine.runtime.cache import cached

Cell = float | str
"""A number, neither NaN nor -0.0, or one of these: equal cells say the same, and can be keys."""
UNKNOWN, ZERO_OR_NAN, ZERO, BIT, POSITIVE, MINUS_ZERO = "unknown", "zero or NaN", "zero", "bit", "positive", "-0.0"
"""Nothing is known; a zero of either sign or NaN; a zero of either sign; 0 or 1; more than 0; the number -0.0."""

_MOST = 1 << 8
"""Cells of which something is known."""
_BREAKS = 1 << 6
"""Changes along a line of a constant."""


class Cells(NamedTuple):
    """The cells of a value."""

    ends: tuple[Shape, ...]
    """Per axis, where each cell ends."""
    cells: tuple[Any, ...]
    """Knowledge of each, in C order."""

    def within(self, box: Box) -> list[range]:
        """Per axis, the cells that meet a box."""
        return [
            range(bisect.bisect_right(ends, a), bisect.bisect_left(ends, b) + 1)
            for ends, (a, b) in zip(self.ends, box, strict=True)
        ]

    def at(self, index: Sequence[Sequence[int]]) -> list[Any]:
        """Those that the indices along each axis name, in C order."""
        return [self.cells[place] for place in _places(self.ends, index)]

    def besides_zeros(self, box: Box) -> Box | None:
        """The least box in a box around all that is not known to be 0.0, or None if there is nothing."""
        if len(self.cells) == 1:
            return None if self.cells[0] == 0.0 else box
        index = self.within(box)
        found = [at for at, c in zip(itertools.product(*index), self.at(index), strict=True) if c != 0.0]
        if not found:
            return None
        rest = []
        for ends, (a, b), places in zip(self.ends, box, zip(*found, strict=True), strict=True):
            first = min(places)
            rest.append((max(a, ends[first - 1] if first else 0), min(b, ends[max(places)])))
        return tuple(rest)

    def array(self, box: Box, dtype: Any) -> np.ndarray | None:
        """The elements in a box, if all are known: one element stands for all along an axis of one cell."""
        index = self.within(box)
        numbers = [_number(c) for c in self.at(index)]
        if None in numbers:
            return None
        out = np.array(numbers, dtype).reshape([len(cells) for cells in index])
        for axis, (cells, (a, b)) in enumerate(zip(index, box, strict=True)):
            if len(cells) > 1:
                out = np.repeat(out, np.diff([min(self.ends[axis][k], b) for k in cells], prepend=a), axis)
        return np.broadcast_to(np.asarray(out, order="C"), [b - a for a, b in box])


def cell_of(number: Any) -> Cell:
    """The cell of a number."""
    x = float(number)
    if x != x:
        return UNKNOWN
    return MINUS_ZERO if x == 0 and math.copysign(1.0, x) < 0 else x


def _number(c: Cell) -> float | None:
    return c if isinstance(c, float) else -0.0 if c == MINUS_ZERO else None


def _places(ends: Sequence[Sequence[int]], index: Sequence[Sequence[int]]) -> Sequence[int]:
    """Positions in C order among cells."""
    if len(ends) == 1:
        return index[0]
    places = [0]
    for own, which in zip(ends, index, strict=True):
        places = [place * len(own) + k for place in places for k in which]
    return places


def everywhere(cell: Cell, shape: Shape) -> Cells:
    """The same of all elements."""
    return Cells(tuple([(d,) for d in shape]), (cell,))


def _nothing(aval: Aval) -> Cells:
    """The cell of a value of which only the dtype is known."""
    return everywhere(BIT if aval.dtype.numpy.kind == "b" else UNKNOWN, whole_shape(aval))


def of_constant(array: Any) -> Cells | None:
    """The cells of a constant, if there are few."""
    array = np.asarray(array)
    if not array.size or array.dtype.kind not in "fb":
        return None
    if array.size == 1:
        return everywhere(cell_of(array.item()), array.shape)
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
    return Cells(tuple(ends), tuple(map(cell_of, once[np.ix_(*kept)].ravel().tolist())))


def of_elementwise(op: Op, operands: Sequence[Cells | None], avals: Sequence[Aval], params: Any, out: Aval) -> Any:
    """The cells of the result of an elementwise op, of static shapes; None if nothing is known."""
    given = [_nothing(a) if c is None else c for c, a in zip(operands, avals, strict=True)]
    ends = _common(given, whole_shape(out))
    if math.prod(map(len, ends)) > _MOST:
        return None
    dtypes, values = tuple([a.dtype.numpy for a in avals]), tuple(params.values())
    key = tuple(map(distinct, values))
    found = [
        _combined(op, cells, dtypes, tuple(params), values, key)
        for cells in zip(*[_refined(c, ends) for c in given], strict=True)
    ]
    return _merged(ends, found)


@cached(1 << 12)
def _combined(op: Op, cells: Any, dtypes: Any, names: Any, values: Any, key: Hashable) -> Cell:
    """The cell of a result; `key` tells parameters apart that Python takes for equal."""
    params = dict(zip(names, values, strict=True))
    numbers = list(map(_number, cells))
    if None in numbers:
        return RULES[op](*cells, **params) if op in RULES else UNKNOWN
    with np.errstate(all="ignore"):
        return cell_of(op.kernel(*[np.array([x], d) for x, d in zip(numbers, dtypes, strict=True)], **params)[0])


def _common(given: Sequence[Cells], shape: Shape) -> tuple[Shape, ...]:
    """The ends of cells of a shape, to which all that are given are broadcast, that lie in one cell of each."""
    ends = []
    for behind, d in zip(range(len(shape), 0, -1), shape, strict=True):
        found = {c.ends[-behind] for c in given if behind <= len(c.ends) and c.ends[-behind][-1] == d}
        ends.append(found.pop() if len(found) == 1 else tuple(sorted(set().union(*found) | {d})))
    return tuple(ends)


def _refined(c: Cells, ends: Sequence[Shape]) -> Sequence[Any]:
    """Cells in smaller ones, of a shape to which they are broadcast."""
    count = math.prod(map(len, ends))
    if len(c.cells) == 1 or c.ends == ends:
        return c.cells if count == len(c.cells) else c.cells * count
    last = ends[len(ends) - len(c.ends) :]
    index = [
        [bisect.bisect_left(own, e) for e in new] if len(own) > 1 else [0] * len(new)
        for own, new in zip(c.ends, last, strict=True)
    ]
    found = c.at(index)
    return found * (count // len(found))


def of_pieces(pieces: Sequence[Piece], operands: Sequence[Cells | None], avals: Sequence[Aval], out: Aval) -> Any:
    """The cells of a value that consists of pieces, and is zero elsewhere."""
    shape = whole_shape(out)
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
        for cut, at in zip(cuts, target, strict=True):
            cut.update(at)
        for onto, shift, own in zip(piece.axes, piece.shifts, c.ends, strict=True):
            if onto is not None and len(own) > 1:
                cuts[onto].update([e + shift for e in own if target[onto][0] < e + shift < target[onto][1]])
    bounds = [sorted(cut) for cut in cuts]
    ends = tuple([tuple(b[1:]) for b in bounds])
    count = math.prod(map(len, ends))
    if count > _MOST:
        return None
    cells: list[Any] = [0.0] * count
    for piece, c, target in placed:
        here = [range(b.index(start), b.index(end)) for b, (start, end) in zip(bounds, target, strict=True)]
        index = []
        for onto, shift, own in zip(piece.axes, piece.shifts, c.ends, strict=True):
            starts = [shift] if onto is None else [bounds[onto][k] - shift for k in here[onto]]
            index.append([bisect.bisect_right(own, start) for start in starts])
        for place, cell in zip(_places(ends, here), c.at(index), strict=True):
            cells[place] = cell
    return _merged(ends, cells)


def _merged(ends: tuple[Shape, ...], cells: Sequence[Any]) -> Cells | None:
    """Cells with equal neighbors as one; None if nothing is known of any."""
    if cells.count(UNKNOWN) == len(cells):
        return None
    if cells.count(cells[0]) == len(cells):
        return Cells(tuple([own[-1:] for own in ends]), (cells[0],))
    behind = len(cells)
    for axis, own in enumerate(ends):
        lines, behind = behind, behind // len(own)
        kept = [
            k
            for k in range(len(own) - 1)
            if any(
                cells[at : at + behind] != cells[at + behind : at + 2 * behind]
                for at in range(k * behind, len(cells), lines)
            )
        ]
        if len(kept) < len(own) - 1:
            kept.append(len(own) - 1)
            index = [kept if k == axis else range(len(e)) for k, e in enumerate(ends)]
            cells = [cells[place] for place in _places(ends, index)]
            ends = (*ends[:axis], tuple([own[k] for k in kept]), *ends[axis + 1 :])
    return Cells(ends, tuple(cells))


# ---- zeros -----------------------------------------------------------------------------------------------------------


def is_zero(c: Cell) -> bool:
    """Whether a cell is a zero, of whatever sign."""
    return c in (0.0, ZERO, MINUS_ZERO)


def _may_be_nan(c: Cell) -> bool:
    """Whether a cell is a zero or NaN."""
    return c in (0.0, ZERO, MINUS_ZERO, ZERO_OR_NAN)


def _is_finite(c: Cell) -> bool:
    return math.isfinite(c) if isinstance(c, float) else is_zero(c)


def _is_more(c: Cell) -> bool:
    return c > 0 if isinstance(c, float) else c == POSITIVE


def _is_least(c: Cell) -> bool:
    """Whether a cell is 0 or more."""
    return _is_more(c) or is_zero(c) or c == BIT


def _zero(zero: bool, safe: bool) -> Cell:
    return UNKNOWN if not zero else ZERO if safe else ZERO_OR_NAN


def _scaled(a: Cell, b: Cell, either: bool = False) -> Cell:
    return _zero(_may_be_nan(a) or (either and _may_be_nan(b)), is_zero(a) or (either and is_zero(b)))


def _added(a: Cell, b: Cell) -> Cell:
    if (_is_more(a) and _is_least(b)) or (_is_more(b) and _is_least(a)):
        return POSITIVE
    kind = _zero(_may_be_nan(a) and _may_be_nan(b), is_zero(a) and is_zero(b))
    return 0.0 if kind == ZERO and 0.0 in (a, b) else kind


def _subtracted(a: Cell, b: Cell) -> Cell:
    kind = _zero(_may_be_nan(a) and _may_be_nan(b), is_zero(a) and is_zero(b))
    return 0.0 if kind == ZERO and (a == 0.0 or b == MINUS_ZERO) else kind


def _kept(x: Cell, chosen: Cell, fixed: bool) -> Cell:
    dropped = chosen in (0.0, MINUS_ZERO)
    if isinstance(x, float) or x == MINUS_ZERO or (isinstance(chosen, float) and not dropped):
        return x
    return _zero(_may_be_nan(x), is_zero(x) or dropped)


def _larger(a: Cell, b: Cell) -> Cell:
    """Of bits."""
    bits = {a, b} <= {0.0, 1.0, BIT}
    return UNKNOWN if not bits else 1.0 if 1.0 in (a, b) else BIT


RULES: dict[Op, Callable[..., Cell]] = {
    add: _added,
    subtract: _subtracted,
    multiply: lambda a, b: _zero(_may_be_nan(a) or _may_be_nan(b), _is_finite(a) and _is_finite(b)),
    divide: lambda a, b: _zero(_may_be_nan(a), is_zero(a) and isinstance(b, float) and b != 0),
    negative: lambda a: a if _may_be_nan(a) else UNKNOWN,
    scale: _scaled,
    keep_chosen: _kept,
    maximum: _larger,
    not_equal: lambda a, b: 1.0 if (_is_more(a) and is_zero(b)) or (_is_more(b) and is_zero(a)) else UNKNOWN,
    truncate: lambda a, dtype: a if a == BIT else UNKNOWN,
}
"""Per op, what is known of a cell in which not all operands are numbers."""


def changes_nothing(x: Cells | None, chosen: Cells | None, shape: Shape, box: Box) -> bool:
    """Whether `keep_chosen` of operands of one shape gives the first of them in a box: no NaN that is not chosen."""
    if x is None and chosen is None:
        return False
    given = [everywhere(UNKNOWN, shape) if c is None else c for c in (x, chosen)]
    ends = _common(given, shape)
    of_x, of_chosen = (Cells(ends, tuple(_refined(c, ends))) for c in given)
    index = of_x.within(box)
    return all(
        _is_finite(a) or (isinstance(b, float) and b != 0)
        for a, b in zip(of_x.at(index), of_chosen.at(index), strict=True)
    )
