"""Columns: arrays of many short rows become vectors, one for each place in a row.

A loop over ``[p, 3]`` that meets ``[p, 1]`` goes three elements at a time, and cannot run tile by tile with others. As
three vectors of `p` numbers each, the same elementwise ops are full loops, and sums of rows, cross products and slices
of columns are no more than arithmetic on vectors. So the two spellings of a formula, by rows and by columns, are one
program.

A value is a *grid*: an array of value ids in which the long axis has size one. Ids stand for vectors along that axis,
or for numbers. NumPy's own indexing and broadcasting of the grid says what moves where.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code, key_of_array, reading
from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.compiler.ir.layout import Order
from engine.compiler.passes.index_maps import BY_LAST, pieces_of, takes_parts, whole, whole_shape
from engine.compiler.passes.known_cells import RULES, UNKNOWN, Cell, cell_of, is_zero, of_constant
from engine.compiler.passes.slice_concat import slice_concat
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import broadcast_like_op, contiguous, reshape_to, scale, sum_to_like_op
from engine.core.sums import add_over
from engine.ops.arithmetic import add, multiply, subtract
from engine.ops.compare import keep_chosen, logical_or
from engine.ops.gather import gather_op
from engine.ops.indexing import getitem_op
from engine.ops.joining import concat_piece, concat_place, unstack_op
from engine.ops.linalg import cross_op
from engine.ops.reduce import reduce_sum_op, spread_like_op
from engine.runtime.tuning import TUNING

_LONG = TUNING.column_elements
_MOST = 36
"""Vectors that a value may become: two small matrices, element by element."""
_SHORT = 8
"""Numbers in a row."""
_PAIRS = 12
"""Numbers of all pairs of a row with others, up to which they become vectors."""
_GAIN = 1.5
"""How many times as much must be computed as is copied."""

Grid = Any


def as_columns(code: Code) -> int:
    """Split arrays of short rows, where that pays; how many."""
    # what computes something of rows, or takes them apart, tells which axis is long
    of_rows = [i for i in code.instructions if i.op.elementwise or i.op is unstack_op]
    values = [(i.inputs if i.op is unstack_op else i.outputs)[0] for i in of_rows]
    shapes = [whole_shape(a) for s in values if len((a := code.avals[s]).shape or ()) > 1 and a.is_static]
    lengths = Counter(max(shape) for shape in shapes if shape[-1] <= _SHORT)
    ((length, _),) = lengths.most_common(1) or [(0, 0)]
    if length < _LONG:
        return 0
    work = _Columns(code, length)
    work.choose()
    if not work.pays():
        return 0
    work.rewrite()
    return len(work.split)


class _Columns:
    """The values of a program with a long axis, and the grids of those that are split.

    `split` results become grids; `whole` are those of them that something needs as they were.
    """

    def __init__(self, code: Code, length: int) -> None:
        self.code, self.instructions, self.length = code, code.instructions, length
        self.avals, self.constants, self.orders = code.avals, code.constants, code.orders
        self.split: set[int] = set()
        self.whole: set[int] = set()
        self.grids: dict[int, Grid] = {}
        self.cells: dict[int, Cell] = {}
        self.seen: dict[Any, int] = {}
        self.out: list[Instruction] = []

    def axis(self, s: int) -> int | None:
        """The long axis of a value, counted from the end; None if there is none, or none that is alone."""
        shape = whole_shape(self.avals[s])
        return shape.index(self.length) - len(shape) if shape.count(self.length) == 1 else None

    def fits(self, s: int) -> bool:
        """Whether a value may be a grid: with a long axis, or of a few numbers."""
        aval = self.avals[s]
        if not aval.is_static or aval.dtype.numpy.kind not in "fb" or not aval.size:
            return False
        if whole_shape(aval).count(self.length) > 1:
            return False
        cells = aval.size // self.length if self.axis(s) is not None else aval.size
        return cells <= _MOST

    def is_wide(self, s: int) -> bool:
        """Whether a value with a long axis would be too many vectors."""
        return self.axis(s) is not None and (self.avals[s].size or 0) > _MOST * self.length

    def is_of_pairs(self, each: Instruction) -> bool:
        """Whether an instruction makes many vectors of few with a table, as differences of all pairs are."""
        cells = [(self.avals[s].size or 0) // self.length for s in each.inputs if self.axis(s) is not None]
        out = each.outputs[0]
        return self.axis(out) is not None and (self.avals[out].size or 0) > self.length * max([_PAIRS, *cells])

    def shape(self, s: int) -> tuple[int, ...]:
        """The shape of the grid."""
        shape, axis = list(whole_shape(self.avals[s])), self.axis(s)
        if axis is not None:
            shape[axis] = 1
        return tuple(shape)

    # ---- what is split -----------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Find what is split: not what something else needs in an order that is not C's."""
        exact = set(self.code.outputs)
        for each in reversed(self.instructions):
            lies = all(s not in exact or self.orders[s] is Order.CONTIGUOUS for s in each.outputs)
            if lies and self.way(each) is not None:
                self.split.update(each.outputs)
            else:
                exact.update(self.operands(each))
            if each.op is gather_op:
                exact.update(each.inputs)
        self.whole = self.split & exact

    def pays(self) -> bool:
        """Whether enough is computed of what is split."""
        sizes = {s: self.avals[s].size or 0 for i in self.instructions for s in (*i.inputs, *i.outputs)}
        several = [
            i
            for i in self.instructions
            if i.outputs[:1] and i.outputs[0] in self.split and (i.op.elementwise or i.op in _COMPUTES)
        ]
        computed = sum([max([sizes[s] for s in (*i.inputs, *i.outputs)]) for i in several])
        taken = {s for i in self.instructions if not self.split.isdisjoint(i.outputs) for s in self.operands(i)}
        copied = [s for s in (taken - self.split - self.constants.keys()) | self.whole if math.prod(self.shape(s)) > 1]
        # a larger value is computed as a whole, in one group with what is made of it
        wide = [
            i for i in self.instructions if i.op.elementwise and (self.is_wide(i.outputs[0]) or self.is_of_pairs(i))
        ]
        return (
            len(several) > 1
            and not wide
            and computed > _GAIN * sum([sizes[s] for s in copied if self.axis(s) is not None])
        )

    def operands(self, each: Instruction) -> list[int]:
        """Those whose elements count."""
        if each.op.from_avals:
            return []
        first = each.op is concat_piece or each.op is concat_place
        given = each.inputs[:1] if first or each.op in BY_LAST else each.inputs
        return [s for k, s in enumerate(given) if k not in each.op.references]

    def way(self, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
        """How an instruction is applied to grids; None if it cannot be."""
        op, params = each.op, each.params
        if op.fill is not None:
            return self.filled if self.fits(each.outputs[0]) and self.axis(each.outputs[0]) is not None else None
        if op is gather_op:
            return self.gathered if self.gathers(each) else None
        if (
            not each.outputs
            or is_stateful(op, params)
            or not all(map(self.fits, (*self.operands(each), *each.outputs)))
        ):
            return None
        axes = {self.axis(s) for s in (*self.operands(each), *each.outputs)} - {None}
        if None in [self.axis(s) for s in each.outputs]:
            return None
        rank = len(self.shape(each.outputs[0]))
        if op is unstack_op:
            return self.unstacked if self.axis(each.inputs[0]) != params["axis"] % (rank + 1) - rank - 1 else None
        if len(each.outputs) > 1:
            return None
        if takes_parts(op, params):
            return self.elementwise if len(axes) == 1 else None
        if op is cross_op:
            return self.cross if len(axes) == 1 and axes != {-1} else None
        if op in _SUMS:
            return self.sum_of(each)
        if op in (spread_like_op, broadcast_like_op):
            own, out = self.spread_out(each), whole_shape(self.avals[each.outputs[0]])
            same = len(own) == rank and all(d in (1, n) for d, n in zip(own, out, strict=True))
            lies = same and own.count(self.length) == 1
            return self.repeated if (lies or not own) and not params.get("mean") else None
        if self.moves(each):
            return self.moved
        return self.reshaped if op is reshape_to and self.reshapes(each) else None

    def reshapes(self, each: Instruction) -> bool:
        """Whether a reshape leaves the long axis as it is."""
        (x,), (s,) = each.inputs, each.outputs
        a, b = self.axis(x), self.axis(s)
        if a is None or b is None:
            return False
        return math.prod(self.shape(x)[a:]) == math.prod(self.shape(s)[b:])

    def sum_of(self, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
        """How a sum along short axes is made."""
        x, axes = each.inputs[0], self.summed_axes(each)
        shape, dtype = whole_shape(self.avals[x]), self.avals[x].dtype.numpy
        if axes is None or self.axis(x) is None or dtype.kind != "f" or dtype.itemsize == 2:
            return None
        # gaps between rows matter where several axes are one, or more numbers are added up than in turn
        several = len(axes) > 1 or math.prod([shape[a] for a in axes]) > _IN_TURN
        if self.orders[x] < (Order.CONTIGUOUS if several else Order.DESCENDING):
            return None
        few = tuple([_TRIED if d == self.length else d for d in shape])
        if len(shape) + (self.axis(x) or 0) in axes or not _adds_alike(few, axes, dtype):
            return None
        return self.summed

    def summed_axes(self, each: Instruction) -> tuple[int, ...] | None:
        """The axes that a sum is along, in ascending order."""
        shape, out = whole_shape(self.avals[each.inputs[0]]), whole_shape(self.avals[each.outputs[0]])
        if each.op is sum_to_like_op:
            # what it drops are axes in front
            same = len(shape) == len(out) and all(e in (d, 1) for d, e in zip(shape, out, strict=True))
            return tuple([k for k, d in enumerate(shape) if d != out[k]]) if same else None
        axis = each.params["axis"]
        return None if axis is None else tuple(sorted([a % len(shape) for a in np.ravel(axis).tolist()]))

    def gathers(self, each: Instruction) -> bool:
        """Whether an instruction takes short rows at as many indices as the long axis has."""
        (x, indices), (s,) = each.inputs, each.outputs
        at, of = each.params["axis"], self.avals[x]
        if not (self.fits(s) and of.is_static and whole_shape(self.avals[indices]) == (self.length,)):
            return False
        return not each.params["batch_dims"] and at % len(whole_shape(of)) - len(self.shape(s)) == self.axis(s)

    def moves(self, each: Instruction) -> bool:
        """Whether an instruction moves whole vectors."""
        (s,) = each.outputs
        out = whole_shape(self.avals[s])
        if not all(self.avals[k].is_static for k in each.inputs):
            return False
        pieces, axis = pieces_of(each, self.avals, self.constants), self.axis(s)
        if pieces is None or axis is None:
            return False
        for piece in pieces:
            own = self.axis(each.inputs[piece.operand])
            if own is None or piece.axes[own] != axis + len(out) or piece.shifts[own] != 0:
                return False
        return True

    # ---- grids -------------------------------------------------------------------------------------------------------

    def grid(self, s: int) -> Grid:
        """The grid of a value."""
        if s not in self.grids:
            self.grids[s] = self.taken_apart(s)
        return self.grids[s]

    def taken_apart(self, s: int) -> Grid:
        """The grid of a value that is there as an array."""
        shape, axis = self.shape(s), self.axis(s)
        grid = np.empty(shape, object)
        rank = len(shape)
        if s in self.constants:
            array = np.asarray(self.constants[s])
            for at in np.ndindex(*shape):
                key: list[Any] = list(at)
                if axis is not None:
                    key[axis] = slice(None)
                vector = np.asarray(array[tuple(key)], order="C")
                c = of_constant(vector)
                alike = c is not None and len(c.cells) == 1 and c.cells[0] != UNKNOWN
                grid[at] = self.constant(vector.reshape(-1)[:1].reshape(()) if alike else vector)
            return grid
        if grid.size == 1 and rank <= 1 and (axis is not None or not rank):
            grid[(0,) * rank] = s
            return grid
        if axis is not None and grid.size == 1:
            grid[(0,) * rank] = self.new(reshape_to, (s,), {"shape": (self.length,)})
            return grid
        for at in np.ndindex(*shape):
            spec = tuple([(None, None, None) if axis is not None and n == axis + rank else k for n, k in enumerate(at)])
            taken = self.new(getitem_op, (s,), {"spec": spec})
            grid[at] = taken if axis in (None, -1) else self.new(contiguous, (taken,), {})
        return grid

    def filled(self, each: Instruction) -> list[Grid]:
        """One number."""
        (s,) = each.outputs
        number = np.asarray(each.op.fill(**each.params), self.avals[s].dtype.numpy)  # type: ignore[misc]
        return [np.full(self.shape(s), self.constant(number), object)]

    def unstacked(self, each: Instruction) -> list[Grid]:
        """The parts along an axis."""
        grid = self.grid(each.inputs[0])
        return list(np.moveaxis(grid, each.params["axis"] % grid.ndim, 0))

    def gathered(self, each: Instruction) -> list[Grid]:
        """Numbers taken at the same indices from each column."""
        (x, indices), (s,) = each.inputs, each.outputs
        grid, axis = np.empty(self.shape(s), object), (self.axis(s) or 0) + len(self.shape(s))
        for at in np.ndindex(*grid.shape):
            spec = tuple([(None, None, None) if n == axis else k for n, k in enumerate(at)])
            column = self.new(getitem_op, (x,), {"spec": spec}) if len(at) > 1 else x
            grid[at] = self.new(gather_op, (column, indices), {"axis": -1, "batch_dims": 0}, each.where)
        return [grid]

    def elementwise(self, each: Instruction) -> list[Grid]:
        """The op, vector by vector."""
        return [self.applied(each.op, [self.grid(s) for s in each.inputs], each.params, each.where)]

    def applied(self, op: Op, grids: Sequence[Grid], params: dict[str, Any], where: str) -> Grid:
        """An elementwise op on grids."""
        shape = np.broadcast_shapes(*[g.shape for g in grids])
        spread: list[Grid] = [np.broadcast_to(g, shape) for g in grids]
        out: Grid = np.empty(shape, object)
        for at in np.ndindex(*shape):
            out[at] = self.one(op, tuple([g[at] for g in spread]), params, where)
        return out

    def one(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], where: str) -> int:
        """An elementwise op on vectors and numbers."""
        numbers = [self.constants.get(s) if not self.avals[s].shape else None for s in inputs]
        if None not in numbers:
            with np.errstate(all="ignore"):
                return self.constant(np.asarray(op.kernel(*map(np.asarray, numbers), **params)))
        if op is keep_chosen and numbers[1] is not None and numbers[1] != 0:
            return inputs[0]
        if op is multiply or op is scale:
            for k, number in enumerate(numbers):
                if number is not None and number == 1:
                    return inputs[1 - k]
        made = self.new(op, inputs, params, where)
        if op in RULES and made not in self.cells:
            cells = [
                self.cells.get(s, UNKNOWN) if x is None else cell_of(x) for s, x in zip(inputs, numbers, strict=True)
            ]
            self.cells[made] = RULES[op](*cells, **params)
        return made

    def is_zero(self, s: int) -> bool:
        """Whether a vector or number is known to be zeros, of whatever sign."""
        number = self.constants.get(s) if not self.avals[s].shape else None
        return is_zero(self.cells.get(s, UNKNOWN) if number is None else cell_of(number))

    def cross(self, each: Instruction) -> list[Grid]:
        """Cross products, as their kernel makes them."""
        a, b = [self.grid(s) for s in each.inputs]

        def of(op: Op, x: Grid, y: Grid) -> Grid:
            return self.applied(op, [x, y], {}, each.where)

        turns = ((1, 2), (2, 0), (0, 1))
        parts = [of(subtract, of(multiply, a[..., i], b[..., k]), of(multiply, a[..., k], b[..., i])) for i, k in turns]
        return [np.stack(parts, -1)]

    def reshaped(self, each: Instruction) -> list[Grid]:
        """Vectors in the same order in another shape."""
        return [self.grid(each.inputs[0]).reshape(self.shape(each.outputs[0]))]

    def summed(self, each: Instruction) -> list[Grid]:
        """Sums along short axes."""
        return [self.added_up(each, self.grid(each.inputs[0]))]

    def added_up(self, each: Instruction, x: Grid) -> Grid:
        """The sums along short axes of a grid."""
        entries = np.vectorize(lambda s: _Entry(self, s, each.where), "O")(x)
        axes = self.summed_axes(each) or ()
        rows = np.moveaxis(entries, axes, range(len(axes))).reshape(-1, x.size // math.prod([x.shape[a] for a in axes]))
        sums = np.array([_total(list(row)) + 0 for row in rows.T])
        return np.vectorize(lambda x: x.id, "O")(sums).reshape(self.shape(each.outputs[0]))

    def repeated(self, each: Instruction) -> list[Grid]:
        """The same vectors again."""
        grid, own = self.grid(each.inputs[0]), self.spread_out(each)
        return [np.broadcast_to(grid.reshape([1 if d == self.length else d for d in own]), self.shape(each.outputs[0]))]

    def spread_out(self, each: Instruction) -> tuple[int, ...]:
        """The shape of what is repeated, with axes of size one where it is repeated along axes that it has not."""
        own = whole_shape(self.avals[each.inputs[0]])
        if not own or each.op is not spread_like_op or each.params["keepdims"]:
            return own
        if any(a >= 0 for a in np.ravel(each.params["axis"])):
            return own
        shown: np.ndarray = np.expand_dims(np.broadcast_to(0, own), each.params["axis"])
        return shown.shape

    def moved(self, each: Instruction) -> list[Grid]:
        """Vectors in other places, and zeros."""
        (s,) = each.outputs
        shape = self.shape(s)
        out = np.full(shape, self.constant(np.zeros((), self.avals[s].dtype.numpy)), object)
        for piece in pieces_of(each, self.avals, self.constants) or ():
            of = each.inputs[piece.operand]
            source = piece.source(whole(whole_shape(self.avals[s])), whole_shape(self.avals[of]))
            if source is not None:
                target = [slice(*ends) for ends in piece.target(source)]
                taken = [slice(*ends) for ends in source]
                for axis, index in ((self.axis(s), target), (self.axis(of), taken)):
                    index[axis or 0] = slice(None)
                part = self.grid(of)[tuple(taken)]
                out[tuple(target)] = part.reshape(out[tuple(target)].shape)
        return [out]

    # ---- new instructions --------------------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Put the new instructions in place of the old ones."""
        gone = self.split - self.whole
        for each in self.instructions:
            if self.split.isdisjoint(each.outputs):
                # only the shapes of other operands count
                self.out.append(reading(each, {s: self.blank(s) for s in each.inputs if s in gone}))
                continue
            way = self.way(each)
            assert way is not None
            for s, grid in zip(each.outputs, way(each), strict=True):
                self.grids[s] = grid
                if s in self.whole:
                    self.put_together(s, grid, each.where)
        self.code.instructions = self.out
        self.code.drop_unused()

    def put_together(self, s: int, grid: Grid, where: str) -> None:
        """A value as it was, by its own id."""
        aval, axis = self.avals[s], self.axis(s)
        shape = whole_shape(aval)
        behind = math.prod(shape[axis:][1:]) if axis is not None else 1
        vectors = [self.vector(k) for k in grid.ravel()]
        moves = []
        for k in range(len(vectors)):
            before, at = divmod(k, behind)
            start = before * behind * self.length + at
            moves.append((k, slice(0, self.length, 1), slice(start, start + (self.length - 1) * behind + 1, behind)))
        flat = vectors[0]
        if len(vectors) > 1:
            of = Aval((aval.size,), aval.dtype)
            flat = self.new(slice_concat, tuple(vectors), {"aval": of, "moves": tuple(moves), "sums": ()}, where)
        self.out.append(Instruction(reshape_to, (flat,), {"shape": shape}, (s,), where))

    def vector(self, s: int) -> int:
        """A vector, also of a number."""
        if self.avals[s].shape:
            return s
        if s in self.constants:
            return self.constant(np.broadcast_to(self.constants[s], (self.length,)))
        nothing = np.zeros((), self.avals[s].dtype.numpy)
        op, nothing = (logical_or, nothing) if nothing.dtype == bool else (add, -nothing)
        return self.new(op, (s, self.constant(np.broadcast_to(nothing, (self.length,)))), {})

    def blank(self, s: int) -> int:
        """Something of the shape of a value."""
        return self.constant(np.broadcast_to(self.avals[s].dtype.numpy.type(0), whole_shape(self.avals[s])))

    def constant(self, array: np.ndarray) -> int:
        """The id of a constant."""
        key = key_of_array(array)
        if key not in self.seen:
            self.seen[key] = self.code.new_constant(array)
        return self.seen[key]

    def new(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], where: str = "") -> int:
        """The id of the result of an op, which may be there already."""
        key = op, inputs, repr(params) if op is not slice_concat else id(params)
        if key not in self.seen:
            self.out.append(self.code.new(op, inputs, params, where))
            (self.seen[key],) = self.out[-1].outputs
        return self.seen[key]


class _Entry:
    """A vector or number of a grid, which instructions add up."""

    def __init__(self, work: _Columns, s: int, where: str) -> None:
        self.work, self.id, self.where = work, s, where

    def __add__(self, other: _Entry | int) -> _Entry:
        """The sum with another one, or with 0: what is a zero changes nothing but the sign of zeros, which 0 mends."""
        work = self.work
        if isinstance(other, _Entry):
            if work.is_zero(other.id) or work.is_zero(self.id):
                return self if work.is_zero(other.id) else other
            return _Entry(work, work.one(add, (self.id, other.id), {}, self.where), self.where)
        zero = work.constant(np.zeros((), work.avals[self.id].dtype.numpy))
        return _Entry(work, work.one(add, (self.id, zero), {}, self.where), self.where)


_SUMS = (reduce_sum_op, sum_to_like_op)
_COMPUTES = (*_SUMS, cross_op)


_IN_TURN = 7
"""Numbers that NumPy adds up one after the other."""
_LANES = 8
"""Of more, sums of so many that are added up at once, and then in pairs."""
_TRIED = 64
"""Rows that sums are tried on."""


def _total(parts: Sequence[Any]) -> Any:
    """The sum of a row, as NumPy adds it up."""
    if len(parts) <= _IN_TURN:
        return functools.reduce(operator.add, parts)
    count = len(parts) // _LANES * _LANES
    sums = [functools.reduce(operator.add, parts[k:count:_LANES]) for k in range(_LANES)]
    while len(sums) > 1:
        sums = [a + b for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return functools.reduce(operator.add, parts[count:], sums[0])


@functools.cache
def _adds_alike(shape: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype) -> bool:
    """Whether NumPy adds up numbers along axes as `_total` does, and then adds 0."""
    count = math.prod([shape[a] for a in axes])
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x.reshape(-1)[: x.size // 4] = -0.0
    rows = np.moveaxis(x, axes, range(len(axes))).reshape(count, -1)
    return 1 < count <= 2 * _LANES and (_total(list(rows)) + dtype.type(0)).tobytes() == add_over(x, axes).tobytes()
