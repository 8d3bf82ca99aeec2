"""Narrowing: of each value only the box of elements is computed that something needs and that is not known to be 0.0.

The gradient of ``y[-1]`` has a cotangent of zeros around one number, and so have all that it leads to: what is computed
of them, and of the values that they are multiplied by, are a few elements. Elementwise ops, and ops that move boxes of
elements (`engine.compiler.passes.index_maps`), are applied to parts of their operands. Others get their operands whole,
with zeros where nothing was computed; those lie in memory as they would have.

A zero is left out where it is 0.0. Where it may be -0.0, or NaN by an infinite factor, it is computed like any number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code, key_of_array
from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.compiler.ir.layout import Order
from engine.compiler.passes.index_maps import (
    BY_LAST,
    MOVES,
    Box,
    Piece,
    contains,
    hull,
    pieces_of,
    shape_of_box,
    takes_parts,
    whole,
    whole_shape,
)
from engine.compiler.passes.known_cells import (
    Cells,
    cell_of,
    changes_nothing,
    everywhere,
    of_constant,
    of_elementwise,
    of_pieces,
)
from engine.compiler.passes.slice_sum import slice_sum
from engine.core.aval import Aval
from engine.core.op import Layout, Op
from engine.core.structural import reshape_to
from engine.ops.arithmetic import add
from engine.ops.compare import keep_chosen, truncate
from engine.ops.indexing import getitem_back_op, getitem_op
from engine.ops.joining import concat_op
from engine.runtime.tuning import TUNING

_LEAST = TUNING.narrowing_elements
_CALL = 64
"""Elements that take as long as a call of a kernel."""
_CONSTANT = TUNING.fold_plan_bytes


def narrow(code: Code) -> int:
    """Compute less of values, where that pays; how many instructions were narrowed."""
    if not any(_drops(i, code.avals) for i in code.instructions):
        return 0
    work = _Narrowing(code)
    work.know()
    work.ask()
    before, count = _cost(code.instructions, code.avals), len(code.avals)
    if not _pays(before, work.cost()):
        return 0
    old = code.instructions, code.outputs, code.constants
    work.rewrite()
    if _pays(before, _cost(code.instructions, code.avals)):
        return work.narrowed
    code.instructions, code.outputs, code.constants = old
    code.forget(list(code.avals)[count:])
    return 0


def _pays(before: int, after: int) -> bool:
    return before - after >= max(_LEAST, before // 8)


def _drops(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether a result, or an operand, is a small part of the other."""
    if instruction.op is keep_chosen:
        return (avals[instruction.outputs[0]].size or 0) >= _CALL
    if instruction.op is not getitem_op and instruction.op is not getitem_back_op:
        return False
    sizes = avals[instruction.inputs[0]].size, avals[instruction.outputs[0]].size
    return None not in sizes and 2 * min(sizes) <= max(sizes) >= _CALL  # type: ignore[type-var, operator]


def _cost(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> int:
    return sum([_CALL + sum([avals[s].size or 0 for s in i.outputs]) for i in instructions if not _is_view(i)])


def _is_view(instruction: Instruction) -> bool:
    op = instruction.op
    return op is getitem_op or (op.shares == (0,) and op.layout in (Layout.PART, Layout.VIEW))


class _Narrowing:
    """Knowledge of the values of a program, and what is needed of them.

    `cells` are what is known of the contents, `pieces` what a result of an op that moves boxes consists of, and `need`
    is the box that is computed of a value. Something looks at how the values in `exact` lie in memory. `alone` says
    which operand a result is in the box that is computed, if it is one.
    """

    def __init__(self, code: Code) -> None:
        self.code, self.instructions = code, code.instructions
        self.avals, self.constants, self.orders = code.avals, code.constants, code.orders
        self.cells: dict[int, Cells] = {}
        self.pieces: dict[int, list[Piece]] = {}
        self.need: dict[int, Box] = {}
        self.exact: set[int] = set()
        self.kept: set[int] = set()
        self.makers, self.uses = code.makers(), code.uses()
        self.made = self.makers.keys()
        self.holders: dict[int, tuple[int, Box]] = {}
        self.reads: dict[Any, int] = {}
        self.rest: dict[Any, Box | None] = {}
        self.numbers: dict[Any, Any] = {}
        self.shapes = {s: whole_shape(aval) for s, aval in code.avals.items() if aval.is_static}
        self.by_parts: dict[int, bool] = {}
        self.positive: set[int] = set()
        self.alone: dict[int, int | None] = {}
        self.out: list[Instruction] = []
        self.narrowed = 0

    def shape(self, s: int) -> tuple[int, ...]:
        """The shape of a value, which is known."""
        return self.shapes[s]

    # ---- what is known -----------------------------------------------------------------------------------------------

    def know(self) -> None:
        """Find the cells of all values, in order."""
        used = {s for i in self.instructions for s in i.inputs}
        numbers = {s for s in self.shapes if self.avals[s].dtype.numpy.kind in "fb"}
        for s, array in self.constants.items():
            if s in used and (c := of_constant(array)) is not None:
                self.cells[s] = c
        for each in self.instructions:
            known = [self.cells.get(k) for k in each.inputs]
            if each.op not in MOVES and each.op is not truncate and each.op.fill is None and not any(known):
                continue
            values = each.inputs[:-1] if each.op in BY_LAST else each.inputs
            if len(each.outputs) != 1 or not numbers.issuperset(values) or not numbers.issuperset(each.outputs):
                continue
            (s,) = each.outputs
            operands, out = [self.avals[k] for k in each.inputs], self.avals[s]
            if not out.size:
                continue
            pieces = pieces_of(each, self.avals, self.constants)
            if pieces is not None:
                self.pieces[s] = pieces
            if pieces is not None:
                c = of_pieces(pieces, known, operands, out) if each.op is getitem_back_op or any(known) else None
            elif self.is_elementwise(each) and (each.op is truncate or any(k is not None and k.ends for k in known)):
                c = of_elementwise(each.op, known, operands, each.params, out)
            elif each.op.fill is not None:
                c = everywhere(cell_of(out.dtype.numpy.type(each.op.fill(**each.params))), whole_shape(out))
            elif each.op is reshape_to:
                c = self.of_reshaped(each.inputs[0], out)
            else:
                continue
            if c is not None:
                self.cells[s] = c

    def of_reshaped(self, s: int, out: Aval) -> Cells | None:
        """The cells of a constant in another shape, as it is or after an op: the seeds of a plan lie in a row."""
        if s in self.constants:
            return of_constant(np.reshape(self.constants[s], out.shape))
        maker = self.makers.get(s)
        if maker is None or len(maker.inputs) != 1 or not self.is_elementwise(maker):
            return None
        (of,) = maker.inputs
        aval = Aval(out.shape, self.avals[of].dtype)
        c = self.of_reshaped(of, aval) if self.avals[of].size == out.size else None
        return None if c is None else of_elementwise(maker.op, [c], [aval], maker.params, out)

    def is_elementwise(self, each: Instruction) -> bool:
        """Whether an instruction may be applied to parts: to one place as to another."""
        key = id(each)
        if key not in self.by_parts:
            known = takes_parts(each.op, each.params)
            self.by_parts[key] = known and all(s in self.shapes for s in (*each.inputs, *each.outputs))
        return self.by_parts[key]

    def number(self, s: int, box: Box) -> np.ndarray | None:
        """The elements in a box, if they are known, and few enough to be kept in the way in which they are needed."""
        c = self.cells.get(s)
        if c is None:
            return None
        if (s, box) not in self.numbers:
            array = c.array(box, self.avals[s].dtype.numpy)
            if array is not None and (array.base if array.base is not None else array).nbytes > _CONSTANT:
                array = None
            self.numbers[s, box] = array
        array = self.numbers[s, box]
        if array is None or s not in self.exact:
            return array
        # where more than the elements counts, how an operand repeats them has a say in how a result lies
        if self.is_kept(s) or array.nbytes > _CONSTANT:
            return None
        return np.asarray(array, order="C")

    def besides_zeros(self, s: int, box: Box) -> Box | None:
        """The part of a box that must be computed."""
        c = self.cells.get(s)
        if c is None:
            return box
        if (s, box) not in self.rest:
            self.rest[s, box] = c.besides_zeros(box)
        return self.rest[s, box]

    # ---- what is needed ----------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Find the boxes that are needed, backwards."""
        for s in self.code.outputs:
            self.ask_for(s, None)
        for each in reversed(self.instructions):
            s = each.outputs[0] if len(each.outputs) == 1 else -1
            if s in self.need and s in self.pieces and not self.is_kept(s):
                for piece in self.pieces[s]:
                    of = each.inputs[piece.operand]
                    if (source := piece.source(self.need[s], self.shape(of))) is not None:
                        self.ask_for(of, source)
            elif s in self.need and self.is_elementwise(each) and not self.is_kept(s):
                box = self.need[s]
                self.alone[s] = alone = self.alone_in(each, box)
                for k, of in enumerate(each.inputs):
                    if alone is None or k == alone:
                        self.ask_for(of, self.part(of, box))
                        if each.op is add and of in self.need and self.is_partial_sum(of):
                            # in one box, all that is added up is added where it belongs (`slice_sum`)
                            self.need[of] = hull(self.need[of], self.part(of, box))  # type: ignore[assignment]
            elif is_stateful(each.op, each.params) or not self.need.keys().isdisjoint(each.outputs):
                self.kept.update(each.outputs)
                for k, of in enumerate(each.inputs):
                    if not self.is_reference(each, k):
                        self.ask_for(of, None)

    def ask_for(self, s: int, box: Box | None) -> None:
        """Note that a box of a value is needed, or that the whole is, as it lies in memory."""
        if s not in self.made:
            return
        if s not in self.shapes:
            self.need[s] = ()
            self.exact.add(s)
            return
        if box is None:
            self.exact.add(s)
            box = whole(self.shape(s))
            if not self.is_contiguous(s):
                self.need[s] = box
                return
        if self.number(s, box) is None and (rest := self.besides_zeros(s, box)) is not None:
            self.need[s] = hull(self.need.get(s), rest)  # type: ignore[assignment]

    def is_kept(self, s: int) -> bool:
        """Whether a value must be what it was, since what uses it sees how it lies in memory."""
        return s in self.exact and not self.is_contiguous(s)

    def is_contiguous(self, s: int) -> bool:
        """Whether a value lies in C order without gaps, as a part of such a vector does."""
        if self.orders[s] is Order.CONTIGUOUS:
            return True
        pieces, maker = self.pieces.get(s), self.makers.get(s)
        if pieces is None or maker is None or len(pieces) != 1 or len(pieces[0].axes) != 1:
            return False
        return maker.op.layout is not Layout.ANY and self.is_contiguous(maker.inputs[pieces[0].operand])

    def is_reference(self, each: Instruction, k: int) -> bool:
        """Whether only the shape of operand k counts, so that anything of that shape will do."""
        s = each.inputs[k]
        return k in each.op.references and s in self.made and self.avals[s].is_static

    def part(self, s: int, box: Box) -> Box:
        """The part of an operand that is broadcast to a box."""
        shape = self.shape(s)
        if len(shape) == len(box) and 1 not in shape:
            return box
        return tuple([(0, 1) if d == 1 else at for d, at in zip(shape, box[len(box) - len(shape) :], strict=True)])

    def is_partial_sum(self, s: int) -> bool:
        """Whether a value is a sum that nothing but another sum needs."""
        maker = self.makers.get(s)
        return maker is not None and maker.op is add and self.uses[s] == 1 and self.is_elementwise(maker)

    def alone_in(self, each: Instruction, box: Box) -> int | None:
        """Which operand is all of a value in a box: the other is 0.0, or the mask of NaNs that are not there."""
        if each.op is not add and each.op is not keep_chosen:
            return None
        first, second = each.inputs
        if self.shape(first) != self.shape(second) or self.shape(first) != self.shape(each.outputs[0]):
            return None
        if each.op is keep_chosen:
            same = changes_nothing(self.cells.get(first), self.cells.get(second), self.shape(first), box)
            return 0 if same else None
        there = [k for k, s in enumerate(each.inputs) if self.besides_zeros(s, box) is not None]
        return there[0] if len(there) == 1 else None

    def cost(self) -> int:
        """About what the new instructions cost."""
        total = 0
        for each in self.instructions:
            if not _is_view(each):
                sizes = [math.prod(shape_of_box(self.need[s])) for s in each.outputs if s in self.need]
                total += _CALL * bool(sizes) + sum(sizes)
        return total

    # ---- new instructions --------------------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Put the new instructions in place of the old ones."""
        for each in self.instructions:
            s = each.outputs[0] if len(each.outputs) == 1 else -1
            if not self.kept.isdisjoint(each.outputs) or is_stateful(each.op, each.params):
                self.keep(each)
            elif s in self.need:
                box = self.need[s]
                new = self.from_pieces(each, box) if s in self.pieces else self.elementwise(each, box)
                self.holders[s] = new, box
                self.narrowed += new != s
        results = [self.read(s, whole(self.shape(s))) if s in self.shapes else s for s in self.code.outputs]
        self.code.instructions, self.code.outputs = self.out, tuple(results)
        self.code.drop_unused()

    def keep(self, each: Instruction) -> None:
        """An instruction as it was, of whole operands."""
        inputs = [
            self.blank(self.avals[s])
            if self.is_reference(each, k) and s not in self.kept
            else self.read(s, whole(self.shape(s)))
            if s in self.shapes
            else s
            for k, s in enumerate(each.inputs)
        ]
        self.append(each, tuple(inputs))
        for s in each.outputs:
            if self.avals[s].is_static:
                self.holders[s] = s, whole(self.shape(s))

    def append(self, each: Instruction, inputs: tuple[int, ...]) -> int:
        """An instruction with other operands that have the same shapes."""
        same = inputs == each.inputs
        self.out.append(each if same else Instruction(each.op, inputs, each.params, each.outputs, each.where))
        return each.outputs[0] if each.outputs else -1

    def elementwise(self, each: Instruction, box: Box) -> int:
        """The id of a box of an elementwise result."""
        if (alone := self.alone[each.outputs[0]]) is not None:
            x = self.read(each.inputs[alone], box)
            # 0.0 makes zeros positive: once is enough
            if each.op is add and x not in self.positive:
                x = self.new(each, add, (x, self.constant(np.zeros((), self.avals[x].dtype.numpy))), {}, box)
                self.positive.add(x)
            return x
        inputs = tuple([self.read(s, self.part(s, box)) for s in each.inputs])
        if box == whole(self.shape(each.outputs[0])):
            return self.append(each, inputs)
        return self.new(each, each.op, inputs, each.params, box)

    def from_pieces(self, each: Instruction, box: Box) -> int:
        """The id of a box of a value that consists of pieces."""
        (s,) = each.outputs
        found = []
        for piece in self.pieces[s]:
            of = each.inputs[piece.operand]
            if (source := piece.source(box, self.shape(of))) is not None:
                found.append((piece, of, source))
        entire = box == whole(self.shape(s)) and all(a == whole(self.shape(of)) for _, of, a in found)
        if entire and len(each.inputs) == len(self.pieces[s]):
            return self.append(each, tuple([self.read(of, whole(self.shape(of))) for of in each.inputs]))
        parts = [(self.view(each, *one), one[0].target(one[2])) for one in found]
        if len(parts) > 1:
            (axis,) = [k for k in range(len(box)) if len({at[k] for _, at in parts}) > 1]
            return self.new(each, concat_op, tuple([part for part, _ in parts]), {"axis": axis}, box)
        if not parts:
            return self.constant(np.zeros(shape_of_box(box), self.avals[s].dtype.numpy))
        return self.padded(each, *parts[0], box)

    def view(self, each: Instruction, piece: Piece, s: int, box: Box) -> int:
        """A box of an operand, with the axes of the result."""
        value_id, held = self.holders.get(s, (s, whole(self.shape(s))))
        if not contains(held, box) or (s in self.made and s not in self.holders):
            value_id, held = self.read(s, box), box
        spec = piece.spec(box, tuple([a for a, _ in held]))
        if box == held and len(spec) == len(box) and None not in piece.axes and not piece.others:
            return value_id
        return self.new(each, getitem_op, (value_id,), {"spec": spec}, piece.target(box))

    def padded(self, each: Instruction | None, value_id: int, at: Box, box: Box) -> int:
        """A box with a part in zeros."""
        if at == box:
            return value_id
        ends = [(a - first, b - first) for (a, b), (first, _) in zip(at, box, strict=True)]
        aval = Aval(shape_of_box(box), self.avals[value_id].dtype)
        if aval.dtype.is_floating:
            params = {"aval": aval, "keys": (tuple([slice(*of) for of in ends]),), "hows": "+"}
            return self.new(each, slice_sum, (value_id,), params, box)
        spec = tuple([(*of, None) for of in ends])
        return self.new(each, getitem_back_op, (value_id, self.blank(aval)), {"spec": spec}, box)

    def read(self, s: int, box: Box) -> int:
        """The id of a box of a value."""
        key = s, box
        if key not in self.reads:
            self.reads[key] = self.found(s, box)
        return self.reads[key]

    def found(self, s: int, box: Box) -> int:
        """The id of a box, by what there is of the value."""
        value_id, held = self.holders.get(s, (s, whole(self.shape(s))))
        if s in self.made:
            if (array := self.number(s, box)) is not None:
                return self.constant(array)
            if s not in self.holders:
                # so many zeros that they are not kept
                return self.constant(np.broadcast_to(self.avals[s].dtype.numpy.type(0), shape_of_box(box)))
        if held == box:
            return value_id
        if not contains(held, box):
            rest = self.besides_zeros(s, box)
            assert rest is not None
            return self.padded(None, self.read(s, rest), rest, box)
        if s in self.constants:
            return self.constant(self.constants[s][tuple([slice(*at) for at in box])])
        spec = tuple([(a - first, b - first, None) for (a, b), (first, _) in zip(box, held, strict=True)])
        return self.new(None, getitem_op, (value_id,), {"spec": spec}, box)

    def blank(self, aval: Aval) -> int:
        """The id of something of a shape."""
        return self.constant(np.broadcast_to(aval.dtype.numpy.type(0), whole_shape(aval)))

    def constant(self, array: np.ndarray) -> int:
        """The id of a constant."""
        key = key_of_array(array)
        if key not in self.reads:
            self.reads[key] = self.code.new_constant(array)
        return self.reads[key]

    def new(self, each: Instruction | None, op: Op, inputs: tuple[int, ...], params: dict[str, Any], box: Box) -> int:
        """The id of the result of a new instruction."""
        like, where = (inputs[0], "") if each is None else (each.outputs[0], each.where)
        self.out.append(self.code.new(op, inputs, params, where, Aval(shape_of_box(box), self.avals[like].dtype)))
        return self.out[-1].outputs[0]
