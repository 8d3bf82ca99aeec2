"""`Instruction`: one kernel call of a program, on values that are named by value ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.op import Op


@dataclass(frozen=True, slots=True)
class Instruction:
    """One kernel call.

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


def is_stateful(op: Op, params: Mapping[str, Any]) -> bool:
    """Whether an application may have effects: because of the op, or of a sub-trace among its parameters."""
    return op.stateful or any(getattr(p, "stateful", False) for p in params.values())


def without_unused(instructions: Sequence[Instruction], outputs: Collection[int]) -> list[Instruction]:
    """The instructions without those that no output needs, except stateful ones."""
    needed = set(outputs)
    kept = []
    for instruction in reversed(instructions):
        if is_stateful(instruction.op, instruction.params) or not needed.isdisjoint(instruction.outputs):
            needed.update(instruction.inputs)
            kept.append(instruction)
    return kept[::-1]
