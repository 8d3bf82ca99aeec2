"""Entries of arrays that are replaced one after the other: in place, and taken without what is done to all others.

A TensorArray is one array, of which each write replaces an entry, and each read takes one. Where steps of a loop are
written out, only the first write copies it: the others go to the memory of an array that nobody reads any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.compiler.liveness import last_uses, values_of
from engine.core.aval import Aval
from engine.ops.gather import gather_op
from engine.ops.scatter import check_entries, entries_at, gather_last_op, tensor_scatter_update_op


def _write_entries(whole: Any, indices: Any, updates: Any) -> np.ndarray:
    check_entries("tensor_scatter_nd_update", whole, indices, updates)
    whole[entries_at(indices)] = updates
    return whole


write_entries = instruction_op(
    "write_entries",
    __name__,
    _write_entries,
    lambda whole, indices, updates: whole,
    "The array with other entries at some index vectors, in place.",
    shares=(0,),
)


def at_entries(code: Code) -> int:
    """Replace entries in place where nobody needs the array as it was, and take one before what is done to each."""
    taken = _take_first(code)
    if sum(_replaces(each, code.avals) for each in code.instructions) < 2:
        return taken
    ordered = _replaced_late(code)
    last = last_uses(values_of(ordered), code.outputs)
    shown = {s for each in ordered for s in _shown(each)}
    own: set[int] = set()
    count = 0
    for i, each in enumerate(ordered):
        if not _replaces(each, code.avals):
            continue
        whole = each.inputs[0]
        if whole in own and last[whole] == i and whole not in shown and whole not in each.inputs[1:]:
            ordered[i] = Instruction(write_entries, each.inputs, {}, each.outputs, each.where)
            count += 1
        own.add(each.outputs[0])
    if count:
        code.instructions = ordered
    return taken + count


def _replaces(each: Instruction, avals: dict[int, Aval]) -> bool:
    replaces = each.op is tensor_scatter_update_op and not each.params.get("batch_dims")
    return replaces and all(avals[s].is_static for s in each.inputs)


def _shown(each: Instruction) -> Sequence[int]:
    """The operands with which results may share memory."""
    shares = each.op.shares
    return each.inputs if shares is None else [each.inputs[k] for k in shares if k < len(each.inputs)]


def _replaced_late(code: Code) -> list[Instruction]:
    """The instructions with entries replaced behind all that reads the array as it was, if nobody reads the new one.

    What reads an array as it was comes before its entries are replaced, where it may.
    """
    instructions, avals = code.instructions, code.avals
    readers: dict[int, list[int]] = {}
    for i, each in enumerate(instructions):
        for s in each.inputs:
            readers.setdefault(s, []).append(i)
    behind: dict[int, list[Instruction]] = {}
    moved: set[int] = set()
    for i, each in enumerate(instructions):
        if not _replaces(each, avals):
            continue
        others = [k for k in readers[each.inputs[0]] if k != i]
        end = max(others, default=-1)
        plain = not any(_replaces(instructions[k], avals) for k in others)
        if plain and i < end < min(readers.get(each.outputs[0], ()), default=len(instructions)):
            behind.setdefault(end, []).append(each)
            moved.add(i)
    parts = [[*[each] * (i not in moved), *behind.get(i, [])] for i, each in enumerate(instructions)]
    return [each for part in parts for each in part]


def _take_first(code: Code) -> int:
    """Take one entry before what is done to each, where nobody needs that of the others; how often.

    So the mask of what was chosen among many entries, of which one is asked for, is that of one.
    """
    avals = code.avals
    if not any(_takes_one(each, avals) for each in code.instructions):
        return 0
    makers, uses = code.makers(), code.uses()

    def taken_first(each: Instruction) -> list[Instruction] | None:
        steps: list[tuple[Instruction, int]] = []
        whole = each.inputs[0] if _takes_one(each, avals) else -1
        while whole >= 0 and uses[whole] == 1 and (made := makers.get(whole)) is not None and made.op.elementwise:
            large = [k for k, s in enumerate(made.inputs) if avals[s].shape != ()]
            if len(large) != 1 or avals[made.inputs[large[0]]].shape != avals[whole].shape:
                break
            steps.append((made, large[0]))
            whole = made.inputs[large[0]]
        if not steps:
            return None
        shape, left = avals[each.outputs[0]].shape, list[Instruction]()
        for made, k in [(each, 0), *reversed(steps)]:
            inputs = (*made.inputs[:k], left[-1].outputs[0] if left else whole, *made.inputs[k + 1 :])
            if made is steps[0][0]:
                left.append(Instruction(made.op, inputs, made.params, each.outputs, made.where))
            else:
                dtype = avals[whole if made is each else made.outputs[0]].dtype
                left.append(code.new(made.op, inputs, made.params, made.where, Aval(shape, dtype)))
        return left

    return code.rewrite(taken_first)


def _takes_one(each: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether an instruction takes one entry of the first axis."""
    if each.op not in (gather_op, gather_last_op) or each.params.get("batch_dims"):
        return False
    whole, at = [avals[s] for s in each.inputs]
    one = at.shape == (() if each.op is gather_op else (1, 1))
    return one and whole.is_static and each.params.get("axis", 0) in (0, -len(whole.shape or ()))
