"""In-place concat: each operand of a large concat is written to its rows as soon as it is computed.

Otherwise all operands are kept until the last one is computed, which takes the memory twice. With this pass a Jacobian
that is swept in chunks of seeds needs no more memory than the result and one sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.structural import reshape_to
from engine.ops.joining import concat_op
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

_LEAST = TUNING.inplace_concat_bytes
"""Bytes; smaller arrays are joined at the end."""


def _alloc(*, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return empty(shape, dtype)


def _write_rows(whole: Any, operand: Any, *, start: int) -> np.ndarray:
    # an operand that was computed in place is a view of the whole, which nothing else has read so far
    if operand.base is not whole:
        whole[start : start + len(operand)] = operand
    return whole


alloc = instruction_op(
    "alloc",
    __name__,
    _alloc,
    lambda *, shape, dtype: Aval(shape, as_dtype(dtype)),
    "An array with nothing in it yet.",
)
write_rows = instruction_op(
    "write_rows",
    __name__,
    _write_rows,
    lambda whole, operand, *, start: whole,
    "The array with rows from `start` on replaced, in place.",
    shares=(0,),
)


def concat_in_place(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: set[int]
) -> tuple[list[Instruction], int]:
    """The instructions with joins along the first axis replaced, and how many there were.

    Parameters
    ----------
    instructions : sequence of Instruction
    avals : dict
        Of all values; those of new ones are added.
    outputs : set of int
        Value ids that are live-out.
    """
    joins = [i for i, instruction in enumerate(instructions) if _is_large_join(instruction, avals)]
    if not joins:
        return list(instructions), 0
    reads = _Reads(instructions, outputs)
    made = reads.made
    before: dict[int, list[Instruction]] = {}
    after: dict[int, list[Instruction]] = {}
    replaced = set()
    for i in joins:
        join = instructions[i]
        if not all(reads.uses[s] == 1 and s in made for s in join.inputs):
            continue
        replaced.add(i)
        (whole,) = join.outputs
        aval = avals[whole]
        starts = np.cumsum([0, *[avals[s].shape[0] for s in join.inputs]])  # type: ignore[index]
        operands = sorted(zip(join.inputs, starts, strict=False), key=lambda operand: made[operand[0]])
        value_id = _new_id(avals, aval)
        allocation = Instruction(alloc, (), {"shape": aval.shape, "dtype": aval.dtype.numpy}, (value_id,), join.where)
        first = reads.before_reshape(operands[0][0])
        before.setdefault(made.get(first, made[operands[0][0]]), []).append(allocation)
        for k, (operand, start) in enumerate(operands):
            following = whole if k + 1 == len(operands) else _new_id(avals, aval)
            fill = Instruction(write_rows, (value_id, operand), {"start": int(start)}, (following,), join.where)
            after.setdefault(made[operand], []).append(fill)
            value_id = following
    kept: list[Instruction] = []
    for i, instruction in enumerate(instructions):
        kept += before.get(i, [])
        kept += [] if i in replaced else [instruction]
        kept += after.get(i, [])
    return kept, len(replaced)


def concat_destinations(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Collection[int]
) -> dict[int, tuple[int, int, int]]:
    """Per operand that may be computed in place: the id of the whole at that time, and the rows (start, stop)."""
    if not any(instruction.op is alloc for instruction in instructions):
        return {}
    reads = _Reads(instructions, outputs)
    versions_of: dict[int, list[int]] = {}
    destinations = {}
    for instruction in instructions:
        if instruction.op is alloc:
            versions_of[instruction.outputs[0]] = [*instruction.outputs]
        elif instruction.op is write_rows:
            versions = versions_of[instruction.inputs[0]]
            value_id = reads.before_reshape(instruction.inputs[1])
            before = [s for s in versions if value_id in reads.made and reads.made[s] < reads.made[value_id]]
            if before:
                start, (rows, *_) = instruction.params["start"], avals[instruction.inputs[1]].shape or (0,)
                destinations[value_id] = before[-1], start, start + (rows or 0)
            versions_of[instruction.outputs[0]] = versions
            versions += instruction.outputs
    return destinations


class _Reads:
    """Which instruction makes each value (`made`), and how often it is used (`uses`)."""

    def __init__(self, instructions: Sequence[Instruction], outputs: Collection[int]) -> None:
        self.instructions = instructions
        self.made = {s: i for i, instruction in enumerate(instructions) for s in instruction.outputs}
        self.uses = Counter([*(s for instruction in instructions for s in instruction.inputs), *outputs])

    def before_reshape(self, value_id: int) -> int:
        """The value that this one is a reshape of, in the end, if nothing else reads it."""
        while value_id in self.made and self.instructions[self.made[value_id]].op is reshape_to:
            (operand,) = self.instructions[self.made[value_id]].inputs
            if self.uses[operand] > 1:
                break
            value_id = operand
        return value_id


def _is_large_join(join: Instruction, avals: dict[int, Aval]) -> bool:
    if join.op is not concat_op or len(set(join.inputs)) < 2 or len(set(join.inputs)) < len(join.inputs):
        return False
    aval = avals[join.outputs[0]]
    if not aval.is_static or join.params["axis"] not in (0, -len(aval.shape or ())):
        return False
    return (aval.size or 0) * aval.dtype.size >= _LEAST and all(avals[s].is_static for s in join.inputs)


def _new_id(avals: dict[int, Aval], aval: Aval) -> int:
    value_id = len(avals)
    while value_id in avals:
        value_id += 1
    avals[value_id] = aval
    return value_id
