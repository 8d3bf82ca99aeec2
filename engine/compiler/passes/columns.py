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
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import Instruction, is_stateful, without_unused
from engine.compiler.ir.layout import Order, order_of, order_of_result
from engine.compiler.passes.index_maps import BY_LAST, pieces_of, takes_parts, whole, whole_shape
from engine.compiler.passes.known_cells import RULES, UNKNOWN, Cell, cell_of, is_zero, of_constant
from engine.compiler.passes.slice_concat import slice_concat
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.op import Op
from engine.core.structural import broadcast_like_op, contiguous, reshape_to, scale, sum_to_like_op
from engine.ops.arithmetic import add, multiply, square_op, subtract
from engine.ops.compare import keep_chosen, logical_or, truncate
from engine.ops.explog import sqrt
from engine.ops.gather import gather_op
from engine.ops.indexing import getitem_op
from engine.ops.joining import concat_piece, concat_place, unstack_op
from engine.ops.linalg import cross_op
from engine.ops.reduce import reduce_sum_op, spread_like_op
from engine.ops.stats import reduce_euclidean_norm_op
from engine.runtime.tuning import TUNING

_LONG = TUNING.column_elements
"""Elements of a vector from which on it pays."""
_MOST = 16
"""Vectors that a value may become."""
_SHORT = 8
"""Numbers in a row."""
_ADDED = 7
"""Numbers that NumPy adds up one after the other."""
_GAIN = 1.5
"""How many times as much must be computed as is copied."""

Grid = Any


def as_columns(
    instructions: Sequence[Instruction],
    avals: dict[int, Aval],
    constants: dict[int, Any],
    orders: dict[int, Order],
    outputs: Sequence[int],
) -> tuple[list[Instruction], int]:
    """The instructions with arrays of short rows split, and how many instructions were.

    Parameters
    ----------
    avals, constants, orders : dict
        Of all values; those of new ones are added.
    outputs : sequence of int
        Value ids that are live-out.
    """
    values = [(i.inputs if i.op is unstack_op else i.outputs)[0] for i in instructions if _is_of_rows(i)]
    shapes = [whole_shape(avals[s]) for s in values if avals[s].is_static]
    lengths = Counter(max(shape) for shape in shapes if len(shape) > 1 and shape[-1] <= _SHORT)
    ((length, _),) = lengths.most_common(1) or [(0, 0)]
    if length < _LONG:
        return list(instructions), 0
    work = _Columns(instructions, avals, constants, orders, length)
    work.choose(outputs)
    return (work.rewritten(outputs), len(work.split)) if work.pays(outputs) else (list(instructions), 0)


class _Columns:
    """The values of a program with a long axis, and the grids of those that are split.

    Attributes
    ----------
    length : int
        Of the long axis.
    split : set
        Results that become grids.
    whole : set
        Those of them that something needs as they were.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        avals: dict[int, Aval],
        constants: dict[int, Any],
        orders: dict[int, Order],
        length: int,
    ) -> None:
        self.instructions, self.avals, self.constants, self.orders = instructions, avals, constants, orders
        self.length = length
        self.split: set[int] = set()
        self.whole: set[int] = set()
        self.grids: dict[int, Grid] = {}
        self.cells: dict[int, Cell] = {}
        self.seen: dict[Any, int] = {}
        self.out: list[Instruction] = []
        self.makers = {i.outputs[0]: i for i in instructions if i.op in _FOLDED}

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

    def shape(self, s: int) -> tuple[int, ...]:
        """The shape of the grid."""
        shape, axis = list(whole_shape(self.avals[s])), self.axis(s)
        if axis is not None:
            shape[axis] = 1
        return tuple(shape)

    # ---- what is split -----------------------------------------------------------------------------------------------

    def choose(self, outputs: Sequence[int]) -> None:
        """Find what is split: not what something else needs in an order that is not C's."""
        exact = set(outputs)
        for each in reversed(self.instructions):
            lies = all(s not in exact or self.orders[s] is Order.CONTIGUOUS for s in each.outputs)
            if lies and self.way(each) is not None:
                self.split.update(each.outputs)
            else:
                exact.update(self.operands(each))
            if each.op is gather_op:
                exact.update(each.inputs)
        self.whole = self.split & exact

    def pays(self, outputs: Sequence[int]) -> bool:
        """Whether enough is computed of what is split."""
        sizes = {s: self.avals[s].size or 0 for i in self.instructions for s in (*i.inputs, *i.outputs)}
        several = [
            i
            for i in self.instructions
            if i.outputs[:1] and i.outputs[0] in self.split and (i.op.elementwise or i.op in (cross_op, *_SUMS))
        ]
        computed = sum([max([sizes[s] for s in (*i.inputs, *i.outputs)]) for i in several])
        taken = {s for i in self.instructions if not self.split.isdisjoint(i.outputs) for s in self.operands(i)}
        copied = [s for s in (taken - self.split - self.constants.keys()) | self.whole if math.prod(self.shape(s)) > 1]
        return len(several) > 1 and computed > _GAIN * sum([sizes[s] for s in copied if self.axis(s) is not None])

    def operands(self, each: Instruction) -> list[int]:
        """Those whose elements count."""
        first = each.op is concat_piece or each.op is concat_place
        given = each.inputs[:1] if first or each.op in BY_LAST else each.inputs
        return [s for k, s in enumerate(given) if k not in each.op.references]

    def way(self, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
        """How an instruction is applied to grids; None if it cannot be."""
        op, params = each.op, each.params
        if op in _FOLDED and self.is_known(each.outputs[0]):
            return self.known
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
        return self.moved if self.moves(each) else None

    def is_known(self, s: int) -> bool:
        """Whether a value with a long axis follows from a constant."""
        return self.fits(s) and self.axis(s) is not None and self.contents(s) is not None

    def sum_of(self, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
        """How a sum is made: of the last axis alone, one number after the other."""
        (x, *_), (s,) = each.inputs, each.outputs
        shape, out = whole_shape(self.avals[x]), whole_shape(self.avals[s])
        # what `sum_to_like` drops are axes in front
        forms = (shape[:-1], (*shape[:-1], 1))[each.op is sum_to_like_op :]
        if self.axis(x) in (None, -1) or self.orders[x] < Order.DESCENDING or out not in forms:
            return None
        if each.op is not sum_to_like_op and each.params["axis"] not in (-1, (-1,), len(shape) - 1, (len(shape) - 1,)):
            return None
        dtype = self.avals[x].dtype.numpy
        good = dtype.kind == "f" and dtype.itemsize > 2 and 1 < shape[-1] <= _ADDED and _in_turn(shape[-1], dtype)
        return (self.normed if each.op is reduce_euclidean_norm_op else self.summed) if good else None

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
        if (array := self.contents(s)) is not None:
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

    def contents(self, s: int) -> np.ndarray | None:
        """A constant, or what follows from one: seeds, which are too large to be computed before."""
        if s in self.constants:
            return np.asarray(self.constants[s])
        if s not in self.makers:
            return None
        each = self.makers[s]
        array = self.contents(each.inputs[0])
        return None if array is None else np.asarray(each.op.kernel(array, **each.params))

    def known(self, each: Instruction) -> list[Grid]:
        """Constants."""
        return [self.taken_apart(each.outputs[0])]

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

    def cross(self, each: Instruction) -> list[Grid]:
        """Cross products, as their kernel makes them."""
        a, b = [self.grid(s) for s in each.inputs]

        def of(op: Op, x: Grid, y: Grid) -> Grid:
            return self.applied(op, [x, y], {}, each.where)

        turns = ((1, 2), (2, 0), (0, 1))
        parts = [of(subtract, of(multiply, a[..., i], b[..., k]), of(multiply, a[..., k], b[..., i])) for i, k in turns]
        return [np.stack(parts, -1)]

    def summed(self, each: Instruction) -> list[Grid]:
        """Sums of the last axis: from 0, to which the first number is added, so no sum is -0.0."""
        return [self.added_up(each, self.grid(each.inputs[0]))]

    def normed(self, each: Instruction) -> list[Grid]:
        """Square roots of sums of squares along the last axis."""
        squares = self.applied(square_op, [self.grid(each.inputs[0])], {}, each.where)
        return [self.applied(sqrt, [self.added_up(each, squares)], {}, each.where)]

    def added_up(self, each: Instruction, x: Grid) -> Grid:
        """The sums of the last axis of a grid."""
        zero = self.constant(np.zeros((), self.avals[each.outputs[0]].dtype.numpy))
        out = np.empty(x.shape[:-1], object)
        for at in np.ndindex(*out.shape):
            # a zero, of whatever sign, changes nothing but the sign of zeros, which 0.0 makes positive
            parts = [s for s in x[at] if s != zero and not is_zero(self.cells.get(s, UNKNOWN))] or [zero]
            out[at] = functools.reduce(lambda a, b: self.one(add, (a, b), {}, each.where), [*parts, zero])
        return out.reshape(self.shape(each.outputs[0]))

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

    def rewritten(self, outputs: Sequence[int]) -> list[Instruction]:
        """The new instructions."""
        for each in self.instructions:
            if self.split.isdisjoint(each.outputs):
                # only the shapes of other operands count
                inputs = tuple([self.blank(s) if s in self.split - self.whole else s for s in each.inputs])
                same = inputs == each.inputs
                self.out.append(each if same else Instruction(each.op, inputs, each.params, each.outputs, each.where))
                continue
            way = self.way(each)
            assert way is not None
            for s, grid in zip(each.outputs, way(each), strict=True):
                self.grids[s] = grid
                if s in self.whole:
                    self.put_together(s, grid, each.where)
        return without_unused(self.out, outputs)

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
        once = array[(0,) * array.ndim] if not any(array.strides) else array
        key = "constant", array.dtype.str, array.shape, array.strides, once.tobytes() if once.nbytes < 64 else id(array)
        if key not in self.seen:
            self.seen[key] = value_id = self.new_id(Aval(array.shape, as_dtype(array.dtype)), order_of(array))
            self.constants[value_id] = array
        return self.seen[key]

    def new(self, op: Op, inputs: tuple[int, ...], params: dict[str, Any], where: str = "") -> int:
        """The id of the result of an op, which may be there already."""
        key = op, inputs, repr(params) if op is not slice_concat else id(params)
        if key not in self.seen:
            operands = [self.avals[s] for s in inputs]
            aval = op.result_avals(operands, params)
            order = order_of_result(op, [self.orders[s] for s in inputs], operands, params, aval)
            self.seen[key] = value_id = self.new_id(aval, order)
            self.out.append(Instruction(op, inputs, params, (value_id,), where))
        return self.seen[key]

    def new_id(self, aval: Aval, order: Order) -> int:
        """A fresh value id."""
        value_id = len(self.avals)
        while value_id in self.avals:
            value_id += 1
        self.avals[value_id], self.orders[value_id] = aval, order
        return value_id


_FOLDED = (truncate, reshape_to)
_SUMS = (reduce_sum_op, reduce_euclidean_norm_op, sum_to_like_op)


def _is_of_rows(each: Instruction) -> bool:
    """Whether an instruction tells which axis is long: it computes something of rows, or takes them apart."""
    return each.op.elementwise or each.op is unstack_op


@functools.cache
def _in_turn(count: int, dtype: np.dtype) -> bool:
    """Whether NumPy adds up so many numbers of a row one after the other, from 0."""
    x = np.random.default_rng(0).normal(size=(64, count)).astype(dtype)
    x[:8] = -0.0
    total = x[:, 0]
    for k in range(1, count):
        total = total + x[:, k]
    return (total + dtype.type(0)).tobytes() == np.add.reduce(x, axis=-1).tobytes()
