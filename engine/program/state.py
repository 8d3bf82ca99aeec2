"""What a program says of the variables it assigns to: a new value, or the entries of it that differ.

A variable that is assigned its own value with some entries replaced (rows of an embedding, in a training step) need not
be copied: the program gives index vectors and entries, and whoever keeps the value writes them there, once the whole
program has succeeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.ops.scatter import tensor_scatter_update_op
from engine.program.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a program's results say of a variable.

    Attributes
    ----------
    handle : Value
        The variable's.
    in_part : bool
        Whether there are two results for it, index vectors and the entries that they name, to be written into its
        value; else there is one, the new value.
    """

    handle: Any
    in_part: bool = False


def assignments(
    changed: Sequence[tuple[Any, int]],
    came: Mapping[int, int],
    instructions: Sequence[Instruction],
    wanted: Sequence[int],
) -> tuple[list[Assignment], list[int]]:
    """The assignments, and the slots of their results.

    Parameters
    ----------
    changed : sequence of (handle, slot)
        The variables assigned to, and their new values.
    came : mapping
        ``id(handle) -> slot`` of the values with which variables came, which may be changed in part.
    instructions : sequence of Instruction
    wanted : sequence of int
        The slots of the program's other results.
    """
    found: list[Assignment] = []
    results: list[int] = []
    if not changed:
        return found, results
    used = Counter([*wanted, *[slot for _, slot in changed]])
    used.update(s for instruction in instructions for s in instruction.inputs)
    made_by = {s: instruction for instruction in instructions for s in instruction.outputs}
    for handle, slot in changed:
        part = _part(made_by.get(slot), came.get(id(handle))) if used[slot] == 1 else ()
        found.append(Assignment(handle, in_part=bool(part)))
        results += part or (slot,)
    return found, results


def _part(change: Instruction | None, whole: int | None) -> tuple[int, ...]:
    """The slots of index vectors and entries, if an instruction replaces just these in `whole`."""
    if change is None or change.op is not tensor_scatter_update_op or change.params.get("batch_dims"):
        return ()
    return change.inputs[1:] if change.inputs[0] == whole else ()
