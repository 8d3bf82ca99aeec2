"""Horizontal fusion: one op on many small arrays becomes one instruction on a stack of them.

A call of NumPy costs as much as some hundred elements, so the hundred steps of a recurrence, each of a dozen elements,
cost a hundred times as much as they need. The steps must come one after the other, but not all that a sweep does for
each step: what it makes of the stored states (``1 - out ** 2``) can be made for all steps at once.

- A group has elementwise instructions of one op on arrays of one shape, none of which waits for another. It becomes one
  instruction on the stack of their operands. Only ops that NumPy rounds correctly take part, so that an element comes
  out the same wherever in an array it lies.
- A vector by which all rows of a small matrix are multiplied is repeated along them, for a whole stack at once: NumPy
  multiplies arrays of equal shape in half the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.structural import scale
from engine.ops.arithmetic import multiply
from engine.program.instruction import Instruction
from engine.program.kernels import instruction_op
from engine.program.layout import Order
from engine.runtime.tuning import TUNING

MANY = TUNING.horizontal_fusion_count
"""Instructions of a group from which on it pays."""
SMALL = TUNING.horizontal_fusion_elements
"""Elements of an array up to which it pays."""
LARGEST = TUNING.horizontal_fusion_stack
"""Elements of a stack of repeated rows: more should not be held in memory for this."""


def _stacked_abstract(*arrays: Aval) -> Aval:
    return Aval((len(arrays), *(arrays[0].shape or ())), arrays[0].dtype)


def _unstacked_abstract(stack: Aval) -> tuple[Aval, ...]:
    count, *shape = stack.shape or ()
    return tuple([Aval(tuple(shape), stack.dtype)] * (count or 0))


stacked = instruction_op(
    "stacked",
    __name__,
    lambda *arrays: np.concatenate(arrays).reshape(len(arrays), *arrays[0].shape),
    _stacked_abstract,
    "Arrays of one shape, of rank 1 or more, along a new first axis.",
)
unstacked = instruction_op(
    "unstacked",
    __name__,
    lambda stack: tuple(stack),
    _unstacked_abstract,
    "What lies along the first axis.",
    multi=True,
    shares=(0,),
    inline=lambda avals, params: "{0}",
)
repeated = instruction_op(
    "repeated",
    __name__,
    lambda stack, *, rows: np.repeat(stack.reshape(len(stack), 1, -1), rows, axis=1),
    lambda stack, *, rows: Aval(((stack.shape or (None,))[0], rows, (stack.shape or (None,))[-1]), stack.dtype),
    "Vectors in a stack, each repeated to a matrix.",
)


def fuse_horizontally(
    instructions: Sequence[Instruction], avals: dict[int, Aval], live_out: set[int], orders: dict[int, Order]
) -> tuple[list[Instruction], int]:
    """The instructions with groups fused, and how many instructions were.

    Parameters
    ----------
    avals : dict
        Of all values; those of new ones are added.
    kept : set of int
        Value ids that are live-out.
    orders : dict
        How values lie in memory: what is taken from a stack is in C order.
    """
    fusion = _Fusion(list(instructions), avals, live_out, orders)
    while (group := fusion.next_group()) is not None:
        fusion.fuse(group)
    fusion.repeat_rows()
    return fusion.instructions, fusion.count


class _Fusion:
    """Instructions that are being fused.

    Attributes
    ----------
    made : set of int
        Value ids that instructions make.
    kinds : dict
        What the instructions of a group have in common, by result, for those that may be fused.
    stacks : dict
        Tuples of value ids, to the value id of their stack.
    next : int
        A value id that is not used yet.
    """

    def __init__(
        self, instructions: list[Instruction], avals: dict[int, Aval], live_out: set[int], orders: dict[int, Order]
    ) -> None:
        self.instructions = instructions
        self.orders = orders
        self.avals = avals
        self.live_out = live_out
        self.stacks: dict[tuple[int, ...], int] = {}
        self.count = 0
        self.next = max(avals, default=-1) + 1
        self.made = {s for instruction in instructions for s in instruction.outputs}
        self.kinds: dict[int, tuple[Any, ...]] = {}
        for instruction in instructions:
            self.classify(instruction)

    def classify(self, instruction: Instruction) -> None:
        """Note the kind of an instruction, if it can be fused."""
        op = instruction.op
        if op.rounds_correctly and op.is_ufunc and (kind := self.kind(instruction)) is not None:
            self.kinds[instruction.outputs[0]] = kind

    def next_group(self) -> list[int] | None:
        """Positions of instructions of one kind that can all be done at one point of the program."""
        found: dict[Any, list[int]] = {}
        for i, instruction in enumerate(self.instructions):
            if len(instruction.outputs) == 1 and instruction.outputs[0] in self.kinds:
                found.setdefault(self.kinds[instruction.outputs[0]], []).append(i)
        candidates = [members for members in found.values() if len(members) >= MANY]
        if not candidates:
            return None
        made, used = self.spans()
        for members in candidates:
            for group in self.at_one_point(members, made, used):
                if len(group) >= MANY:
                    return group
        return None

    def spans(self) -> tuple[dict[int, int], dict[int, int]]:
        """Positions at which values are made and first used."""
        made = {s: i for i, instruction in enumerate(self.instructions) for s in instruction.outputs}
        used = {s: i for i in reversed(range(len(self.instructions))) for s in self.instructions[i].inputs}
        return made, used

    def kind(self, instruction: Instruction) -> tuple[Any, ...] | None:
        """What the instructions of a group have in common, or None for one that cannot be fused."""
        made = self.made
        (value_id,) = instruction.outputs
        if self.orders[value_id] is not Order.CONTIGUOUS:
            return None
        out = self.avals[value_id]
        if not out.dtype.is_floating or not out.shape or not 0 < (out.size or 0) <= SMALL:
            return None
        own = [s for s in instruction.inputs if s in made]
        shared = tuple([None if s in made else s for s in instruction.inputs])
        if len(own) != 1 or self.avals[own[0]] != out or any(s is not None and self.avals[s].ndim for s in shared):
            return None
        return instruction.op, shared, out.shape, out.dtype

    def at_one_point(self, members: list[int], made: dict[int, int], used: dict[int, int]) -> Iterator[list[int]]:
        """Groups of instructions whose operands are all there before any of the results is used."""
        group: list[int] = []
        end = len(self.instructions)
        first, last = -1, end
        for i in members:
            instruction = self.instructions[i]
            ready = max([made.get(s, -1) for s in instruction.inputs])
            wanted = used.get(instruction.outputs[0], end)
            if max(first, ready) >= min(last, wanted):
                yield group
                group, first, last = [], -1, end
            group.append(i)
            first, last = max(first, ready), min(last, wanted)
        yield group

    def fuse(self, group: list[int]) -> None:
        """Replace a group by one instruction."""
        members = [self.instructions[i] for i in group]
        made = {s: i for i, instruction in enumerate(self.instructions) for s in instruction.outputs}
        position = max(made.get(s, -1) for m in members for s in m.inputs) + 1
        op, where = members[0].op, members[0].where
        own = tuple([s for m in members for s in m.inputs if s in made])
        new = []
        if own not in self.stacks:
            self.stacks[own] = self.new_id(_stacked_abstract(*[self.avals[s] for s in own]))
            new.append(Instruction(stacked, own, {}, (self.stacks[own],), where))
        inputs = tuple([self.stacks[own] if s in made else s for s in members[0].inputs])
        result = self.new_id(self.avals[self.stacks[own]])
        outputs = tuple([m.outputs[0] for m in members])
        self.stacks[outputs] = result
        new.append(Instruction(op, inputs, {}, (result,), where))
        self.made |= {self.stacks[own], result}
        self.classify(new[-1])
        new.append(Instruction(unstacked, (result,), {}, outputs, where))
        gone = set(group)
        before = [x for i, x in enumerate(self.instructions[:position]) if i not in gone]
        after = [x for i, x in enumerate(self.instructions[position:], position) if i not in gone]
        self.instructions = self.drop_unused([*before, *new, *after])
        self.count += len(group)

    def new_id(self, aval: Aval) -> int:
        value_id = self.next
        self.avals[value_id] = aval
        self.orders[value_id] = Order.CONTIGUOUS
        self.next += 1
        return value_id

    def drop_unused(self, instructions: list[Instruction]) -> list[Instruction]:
        """The instructions without what takes apart a stack that is used as a whole only."""
        used = {s for instruction in instructions for s in instruction.inputs} | self.live_out
        return [i for i in instructions if i.op is not unstacked or used.intersection(i.outputs)]

    # ---- rows --------------------------------------------------------------------------------------------------------

    def repeat_rows(self) -> None:
        """Give products with the rows of small matrices operands of their own shape."""
        makers = {s: i for i in self.instructions if i.op is unstacked for s in i.outputs}
        wanted: dict[int, list[tuple[int, int]]] = {}
        for position, instruction in enumerate(self.instructions):
            row = self.row_of(instruction)
            if row is not None and row in makers:
                wanted.setdefault(makers[row].inputs[0], []).append((position, row))
        for stack, uses in wanted.items():
            self.repeat(stack, uses, makers)

    def row_of(self, instruction: Instruction) -> int | None:
        """What each row of a small matrix is multiplied by."""
        if instruction.op is not scale and instruction.op is not multiply:
            return None
        matrix, row = instruction.inputs
        if self.orders[instruction.outputs[0]] is not Order.CONTIGUOUS:
            return None
        shape, other = self.avals[matrix].shape or (), self.avals[row].shape or ()
        small = len(shape) == 2 and shape[0] != 1 and math.prod(d or 0 for d in shape) <= SMALL
        return row if small and other in (shape[1:], (1, *shape[1:])) else None

    def repeat(self, stack: int, uses: list[tuple[int, int]], makers: dict[int, Instruction]) -> None:
        """Repeat all that lies in a stack, if most of it is used as rows of matrices with equally many rows."""
        maker = makers[uses[0][1]]
        counts = {(self.avals[self.instructions[p].outputs[0]].shape or (0,))[0] for p, _ in uses}
        if len(counts) != 1 or 2 * len(uses) < len(maker.outputs):
            return
        (rows,) = counts
        if not rows or (self.avals[stack].size or 0) * rows > LARGEST:
            return
        wide = self.new_id(repeated.abstract(self.avals[stack], rows=rows))
        ids = dict.fromkeys(maker.outputs, 0)
        for s, aval in zip(ids, _unstacked_abstract(self.avals[wide]), strict=True):
            ids[s] = self.new_id(aval)
        for position, row in uses:
            old = self.instructions[position]
            self.instructions[position] = Instruction(
                old.op, (old.inputs[0], ids[row]), old.params, old.outputs, old.where
            )
        position = self.instructions.index(maker) + 1
        new = [
            Instruction(repeated, (stack,), {"rows": rows}, (wide,), maker.where),
            Instruction(unstacked, (wide,), {}, tuple(ids.values()), maker.where),
        ]
        self.instructions = self.drop_unused([*self.instructions[:position], *new, *self.instructions[position:]])
