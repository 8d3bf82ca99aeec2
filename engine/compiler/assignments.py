"""Assignments to variables as results of a program: a new value, or the entries of it that differ.

A variable that is assigned its own value with some entries replaced (rows of an embedding, in a training step) need not
be copied: the program returns index vectors and entries, and its caller writes them into the variable, once the whole
program has succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.ops.scatter import tensor_scatter_update_op
from engine.runtime.structs import struct


@struct(frozen=True)
class Assignment:
    """The value that a program's results give a variable."""

    handle: Any
    """The variable's."""
    in_part: bool = False
    """Whether there are two results for it, index vectors and the entries that they name, to be written into its
    value; else there is one, the new value."""


def assignments(
    changed: Sequence[tuple[Any, int]], initial: Mapping[int, int], code: Code, wanted: Sequence[int]
) -> tuple[list[Assignment], list[int]]:
    """The assignments, and the value ids of their results.

    `changed` are the variables assigned to, with the value ids of their new values, `initial` those of what they held
    before the run, which may be changed in part, by ``id(handle)``; `wanted` are the program's other results.
    """
    made: list[Assignment] = []
    results: list[int] = []
    if not changed:
        return made, results
    used, made_by = code.uses([*wanted, *[value_id for _, value_id in changed]]), code.makers()
    for handle, value_id in changed:
        part = _part(made_by.get(value_id), initial.get(id(handle))) if used[value_id] == 1 else ()
        made.append(Assignment(handle, in_part=bool(part)))
        results += part or (value_id,)
    return made, results


def _part(change: Instruction | None, whole: int | None) -> tuple[int, ...]:
    """The value ids of index vectors and entries, if an instruction replaces just these in `whole`."""
    if change is None or change.op is not tensor_scatter_update_op or change.params.get("batch_dims"):
        return ()
    return change.inputs[1:] if change.inputs[0] == whole else ()
