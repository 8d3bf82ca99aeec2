"""Speculative NaN checks: the native executor runs a program without the choices that only a NaN needs.

A product with a partial derivative of a chosen zero stays zero even if the partial is infinite or NaN there:
`keep_chosen` makes such a NaN zero where nobody chose the element. But the ops behind it in a sweep propagate NaN: sums
and products of a NaN are NaN. So the executor leaves `keep_chosen` out, and with it the masks that say what was chosen,
and looks at a result through which all must pass. If there is a NaN in it, the program runs again, with the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code, reading
from engine.compiler.ir.instruction import Instruction, without_unused
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.core.dtypes import bool_
from engine.core.op import Op
from engine.core.sparsity import along
from engine.core.structural import has_nan, sum_to_like_op
from engine.ops.arithmetic import maximum
from engine.ops.compare import equal, keep_chosen


def _kept(instruction: Instruction) -> Sequence[int]:
    """The operands each NaN of which makes a NaN in the result."""
    inputs = instruction.inputs
    return [inputs[k] for k in instruction.op.nan_keepers(instruction.params, len(inputs))]


def _no_nan(x: Any) -> np.ndarray:
    if has_nan(x):
        raise FloatingPointError("there is a NaN or, among complex numbers, an infinity: the program needs its choices")
    return np.ones((), bool)


no_nan = instruction_op("no_nan", __name__, _no_nan, lambda x: Aval((), bool_), "True; it raises if there is a NaN.")
_LARGEST = 1 << 16
"""Elements of a value up to which it may be kept to the end of a program to be looked at; larger ones are at once."""
_SMALL = 1 << 10
"""Elements of values that are looked at equally fast."""
_MANY, _EACH = 1 << 12, 2
"""Elements of a value, and those that go by one element of what equals something, from which on `executor.selecting`
leaves out what it can. Few elements equal an extreme; of any other mask nothing is known."""


class Plain(Code):
    """A program's instructions without the choices that only a NaN needs: `no_nan` tells whether there is one."""

    def __init__(self, of: Any, instructions: list[Instruction], outputs: tuple[int, ...]) -> None:
        super().__init__(of.inputs, outputs, of.constants, instructions, {**of.avals}, {**of.orders})
        self.of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)


def without_choices(program: Any) -> Plain | None:
    """The program without `keep_chosen` and the masks for it, as far as one of its results tells of any NaN.

    A sweep that starts from numbers that may be zero, as in the body of a loop, keeps masks of what was chosen, which
    take longer than its products. They matter where a product is NaN only.
    """
    instructions, avals = program.instructions, program.avals
    if not any(i.op is keep_chosen for i in instructions) or program.is_stateful:
        return None
    makers = {s: i.op for i in instructions for s in i.outputs}
    masks = _masks(instructions, avals)
    found: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    cheapest: dict[int, tuple[int, int]] = {}
    watched: set[int] = set()
    checks: set[int] = set()
    added: set[int] = set()
    for i in reversed(range(len(instructions))):
        op, inputs, outputs = instructions[i].op, instructions[i].inputs, instructions[i].outputs
        real = len(outputs) == 1 and avals[outputs[0]].dtype.numpy.char in "fd"
        if real and (
            op.sparsity is along or op is sum_to_like_op or ((op.elementwise or op.moves) and outputs[0] in added)
        ):
            added.update(inputs)
        kept = _kept(instructions[i])
        if real and (size := avals[outputs[0]].size):
            by = users.get(outputs[0], ())
            # what equals an extreme says what need not be computed where many are added up (`executor.selecting`)
            selects = size > _MANY and outputs[0] in added and masks.get(inputs[-1], size + 1) <= size
            left_out = op is keep_chosen and not selects and _is_alike(instructions[i], makers, avals)
            ways = [cheapest[user] for user in by if user in cheapest]
            if outputs[0] in program.outputs or (not op.shares and size <= _LARGEST) or (left_out and not ways):
                ways.append((max(size, _SMALL), -i))
            if ways:
                cheapest[i] = min(ways)
            if not watched.isdisjoint(by):
                watched.add(i)
            if left_out:
                found[outputs[0]] = inputs[0]
                kept = inputs[:1]
                if i not in watched:
                    checks.add(-cheapest[i][1])
                    watched |= {i, -cheapest[i][1]}
        for operand in kept:
            users.setdefault(operand, []).append(i)
    return _plain(program, found, [instructions[i] for i in sorted(checks)])


def _masks(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> dict[int, int]:
    """How many elements a value should have to be left out by the smallest mask that it goes by, of values that do."""
    masks: dict[int, int] = {}
    for i in instructions:
        if not (i.op.elementwise or i.op.moves or i.op.repeats):
            continue
        sizes = [masks[s] for s in i.inputs if s in masks]
        for s in i.outputs:
            size = avals[s].size
            own = [size * _EACH] if i.op is equal and size is not None and not sizes else []
            if known := [*sizes, *own]:
                # what equals either of two things is chosen for more
                masks[s] = min(known) * (2 if i.op is maximum and len(sizes) > 1 else 1)
    return masks


def _is_alike(instruction: Instruction, makers: dict[int, Op], avals: dict[int, Aval]) -> bool:
    """Whether the result of `keep_chosen` lies as its operand: a new array of the same shape."""
    x = instruction.inputs[0]
    return x in makers and not makers[x].shares and avals[x].shape == avals[instruction.outputs[0]].shape


def _plain(program: Any, found: dict[int, int], checked: Sequence[Instruction]) -> Plain | None:
    def source(s: int) -> int:
        while s in found:
            s = found[s]
        return s

    outputs = tuple(map(source, program.outputs))
    if not found or len(set(outputs)) < len(set(program.outputs)):
        # two results would be one array
        return None
    by = {s: source(s) for s in found}
    left = [reading(i, by) for i in program.instructions if i.outputs[0] not in found]
    needed = dict.fromkeys(source(i.outputs[0]) for i in checked)
    plain = Plain(program, without_unused(left, (*outputs, *needed)), outputs)
    checks = {s: plain.new(no_nan, (s,), {}) for s in needed}
    at_once = {s for s in needed if (program.avals[s].size or 0) > _LARGEST}
    every: list[Instruction] = []
    for i in plain.instructions:
        every += [i, *[checks[s] for s in i.outputs if s in at_once]]
    plain.instructions = every + [each for s, each in checks.items() if s not in at_once]
    return plain
