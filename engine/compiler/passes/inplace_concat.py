"""In-place concat: each operand of a large concat is written to its rows as soon as it is computed.

Otherwise all operands are kept until the last one is computed, which takes the memory twice. With this pass a Jacobian
that is swept in chunks of seeds needs no more memory than the result and one sweep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.structural import reshape_to
from engine.ops.joining import concat_op
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

_LEAST = TUNING.inplace_concat_bytes


def _write_rows(whole: Any, operand: Any, *, start: int) -> np.ndarray:
    # an operand that was computed in place is a view of the whole, which nothing else has read so far
    if operand.base is not whole:
        whole[start : start + len(operand)] = operand
    return whole


alloc = instruction_op(
    "alloc",
    __name__,
    lambda *, shape, dtype: empty(shape, dtype),
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


def concat_in_place(code: Code) -> int:
    """Replace concats along the first axis by writes of their operands; how many there were."""
    avals = code.avals
    joins = [i for i, each in enumerate(code.instructions) if _is_large_join(each, avals)]
    if not joins:
        return 0
    places = Places(code)
    before: dict[int, list[Instruction]] = {}
    after: dict[int, list[Instruction]] = {}
    replaced = set()
    for i in joins:
        join = code.instructions[i]
        if not all(places.uses[s] == 1 and s in places.of for s in join.inputs):
            continue
        replaced.add(i)
        (whole,) = join.outputs
        aval = avals[whole]
        starts = np.cumsum([0, *[avals[s].shape[0] for s in join.inputs]])  # type: ignore[index]
        operands = sorted(zip(join.inputs, starts, strict=False), key=lambda operand: places.of[operand[0]])
        allocation = code.new(alloc, (), {"shape": aval.shape, "dtype": aval.dtype.numpy}, join.where, aval)
        now = allocation.outputs
        first = places.before_reshape(operands[0][0])
        before.setdefault(places.of.get(first, places.of[operands[0][0]]), []).append(allocation)
        for k, (operand, start) in enumerate(operands):
            fill = code.new(write_rows, (*now, operand), {"start": int(start)}, join.where, aval)
            if k + 1 == len(operands):
                code.forget(fill.outputs)
                fill = Instruction(write_rows, fill.inputs, fill.params, (whole,), join.where)
            after.setdefault(places.of[operand], []).append(fill)
            now = fill.outputs
    left: list[Instruction] = []
    for i, each in enumerate(code.instructions):
        left += [*before.get(i, []), *[each] * (i not in replaced), *after.get(i, [])]
    code.instructions = left
    return len(replaced)


def concat_destinations(code: Code) -> dict[int, tuple[int, int, int]]:
    """Per operand that may be computed in place: the id of the whole at that time, and the rows (start, stop)."""
    if not any(each.op is alloc for each in code.instructions):
        return {}
    places = Places(code)
    versions_of: dict[int, list[int]] = {}
    destinations = {}
    for each in code.instructions:
        if each.op is alloc:
            versions_of[each.outputs[0]] = [*each.outputs]
        elif each.op is write_rows:
            versions = versions_of[each.inputs[0]]
            value = places.before_reshape(each.inputs[1])
            before = [s for s in versions if value in places.of and places.of[s] < places.of[value]]
            if before:
                start, (rows, *_) = each.params["start"], code.avals[each.inputs[1]].shape or (0,)
                destinations[value] = before[-1], start, start + (rows or 0)
            versions_of[each.outputs[0]] = versions
            versions += each.outputs
    return destinations


class Places:
    """Where in code each value is made (`of`), and how often it is used (`uses`)."""

    def __init__(self, code: Code) -> None:
        self.code, self.uses = code, code.uses()
        self.of = {s: i for i, each in enumerate(code.instructions) for s in each.outputs}

    def before_reshape(self, value: int) -> int:
        """The value that this one is a reshape of, in the end, if nothing else reads it."""
        while value in self.of and self.code.instructions[self.of[value]].op is reshape_to:
            (operand,) = self.code.instructions[self.of[value]].inputs
            if self.uses[operand] > 1:
                break
            value = operand
        return value


def _is_large_join(join: Instruction, avals: dict[int, Aval]) -> bool:
    if join.op is not concat_op or len(set(join.inputs)) < 2 or len(set(join.inputs)) < len(join.inputs):
        return False
    aval = avals[join.outputs[0]]
    if not aval.is_static or join.params["axis"] not in (0, -len(aval.shape or ())):
        return False
    return aval.nbytes >= _LEAST and all(avals[s].is_static for s in join.inputs)
