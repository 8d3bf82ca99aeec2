"""Entries of arrays that are replaced one after the other: in place, and taken without what is done to all others.

A TensorArray is one array, of which each write replaces an entry, and each read takes one. Where steps of a loop are
written out, only the first write copies it: the others go to the memory of an array that nobody reads any more.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import Instruction, without_unused
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


def scatter_in_place(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Collection[int]
) -> tuple[list[Instruction], int]:
    """The instructions with entries replaced in place where nobody needs the array as it was, and how many there were.

    What reads an array as it was comes before its entries are replaced, where it may.
    """
    if sum(_replaces(each, avals) for each in instructions) < 2:
        return list(instructions), 0
    ordered = _replaced_late(instructions, avals)
    last = last_uses(values_of(ordered), outputs)
    shown = {s for each in ordered for s in _shown(each)}
    own: set[int] = set()
    count = 0
    for i, each in enumerate(ordered):
        if not _replaces(each, avals):
            continue
        whole = each.inputs[0]
        if whole in own and last[whole] == i and whole not in shown and whole not in each.inputs[1:]:
            ordered[i] = Instruction(write_entries, each.inputs, {}, each.outputs, each.where)
            count += 1
        own.add(each.outputs[0])
    return (ordered, count) if count else (list(instructions), 0)


def _replaces(each: Instruction, avals: dict[int, Aval]) -> bool:
    replaces = each.op is tensor_scatter_update_op and not each.params.get("batch_dims")
    return replaces and all(avals[s].is_static for s in each.inputs)


def _shown(each: Instruction) -> Sequence[int]:
    """The operands with which results may share memory."""
    shares = each.op.shares
    return each.inputs if shares is None else [each.inputs[k] for k in shares if k < len(each.inputs)]


def _replaced_late(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> list[Instruction]:
    """The instructions with entries replaced behind all that reads the array as it was, if nobody reads the new one."""
    readers: dict[int, list[int]] = {}
    for i, each in enumerate(instructions):
        for s in each.inputs:
            readers.setdefault(s, []).append(i)
    behind: dict[int, list[Instruction]] = {}
    for i, each in enumerate(instructions):
        if not _replaces(each, avals):
            continue
        others = [k for k in readers[each.inputs[0]] if k != i]
        end = max(others, default=-1)
        plain = not any(_replaces(instructions[k], avals) for k in others)
        if plain and i < end < min(readers.get(each.outputs[0], ()), default=len(instructions)):
            behind.setdefault(end, []).append(each)
    moved = {id(each) for some in behind.values() for each in some}
    ordered: list[Instruction] = []
    for i, each in enumerate(instructions):
        ordered += [] if id(each) in moved else [each]
        ordered += behind.get(i, [])
    return ordered


def entries_first(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Collection[int]
) -> tuple[list[Instruction], int]:
    """The instructions with one entry taken before what is done to each, where nobody needs that of the others.

    So the mask of what was chosen among many entries, of which one is asked for, is that of one.
    """
    made_by = {s: each for each in instructions for s in each.outputs}
    used = Counter([*outputs, *[s for each in instructions for s in each.inputs]])
    left: list[Instruction] = []
    fresh = itertools.count(max(avals, default=0) + 1)
    count = 0
    for each in instructions:
        steps: list[tuple[Instruction, int]] = []
        whole = each.inputs[0] if _takes_one(each, avals) else -1
        while whole >= 0 and used[whole] == 1 and (made := made_by.get(whole)) is not None and made.op.elementwise:
            large = [k for k, s in enumerate(made.inputs) if avals[s].shape != ()]
            if len(large) != 1 or avals[made.inputs[large[0]]].shape != avals[whole].shape:
                break
            steps.append((made, large[0]))
            whole = made.inputs[large[0]]
        if not steps:
            left.append(each)
            continue
        count += 1
        shape, taken = avals[each.outputs[0]].shape, whole
        for made, k in [(each, 0), *reversed(steps)]:
            dtype = avals[whole if made is each else made.outputs[0]].dtype
            result = each.outputs[0] if made is steps[0][0] else next(fresh)
            avals[result] = Aval(shape, dtype)
            inputs = (*made.inputs[:k], taken, *made.inputs[k + 1 :])
            left.append(Instruction(made.op, inputs, made.params, (result,), made.where))
            taken = result
    return (without_unused(left, outputs), count) if count else (left, 0)


def _takes_one(each: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether an instruction takes one entry of the first axis."""
    if each.op not in (gather_op, gather_last_op) or each.params.get("batch_dims"):
        return False
    whole, at = [avals[s] for s in each.inputs]
    one = at.shape == (() if each.op is gather_op else (1, 1))
    return one and whole.is_static and each.params.get("axis", 0) in (0, -len(whole.shape or ()))
