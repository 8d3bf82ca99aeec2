"""`Instruction`: one kernel call of a program, on values that are named by value ids."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from engine.core.aval import Aval
from engine.core.op import Op
from engine.runtime.structs import struct


@struct(slots=True)
class Instruction:
    """One kernel call. Nobody changes one: it is not frozen because that makes it take three times as long.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of int
        Value ids.
    params : dict
    where : str
        For error messages: the graph operation's name and the user's line that made it.
    """

    op: Op
    inputs: tuple[int, ...]
    params: dict[str, Any]
    outputs: tuple[int, ...]
    where: str = ""


class Size(NamedTuple):
    """Sums over instructions: their number, floating-point operations, bytes read and written."""

    instructions: int
    flops: int
    bytes: int


def size_of(instructions: Sequence[Instruction], avals: Mapping[int, Aval]) -> Size:
    """The size of instructions, without dimensions that are not known."""
    flops, traffic = 0.0, 0
    for each in instructions:
        operands, results = ([avals[s] for s in ids] for ids in (each.inputs, each.outputs))
        flops += flops_of(each.op, operands, results, each.params)
        if each.op.shares != (0,):
            traffic += sum([a.nbytes for a in (*operands, *results)])
    return Size(len(instructions), round(flops), traffic)


def flops_of(op: Op, operands: Sequence[Aval], results: Sequence[Aval], params: dict[str, Any]) -> float:
    """Floating-point operations of an application: two for each product in a product of matrices, else one an element.

    Moving data is none. A reduction has as many as its operand has elements.
    """
    if op.flops is not None:
        return op.flops(operands, results, params)
    if op.moves or op.shares == (0,) or op.from_avals:
        return 0
    taken, made = [a.size or 0 for a in operands], sum([a.size or 0 for a in results])
    if op.kind == "multilinear" and len(taken) == 2:
        # (m, k) times (k, n): sizes mk, kn, mn have the product (mkn)**2
        return 2.0 * math.sqrt(float(made) * taken[0] * taken[1])
    return made if op.elementwise else max([made, *taken])


def is_stateful(op: Op, params: Mapping[str, Any]) -> bool:
    """Whether an application may have effects: because of the op, or of a closed function among its parameters."""
    if not op.stateful:
        for p in params.values():
            if getattr(p, "stateful", False):
                return True
    return op.stateful


def without_unused(instructions: Sequence[Instruction], outputs: Collection[int]) -> list[Instruction]:
    """The instructions without those that no output needs, except stateful ones."""
    needed = set(outputs)
    kept = []
    for instruction in reversed(instructions):
        if not needed.isdisjoint(instruction.outputs) or is_stateful(instruction.op, instruction.params):
            needed.update(instruction.inputs)
            kept.append(instruction)
    return kept[::-1]
