"""Values that go into and come out of the functions of control flow, as values of their own.

In a graph, a loop variable is another value than the one it starts with, and the result of a branch another one than
what the branch returns. So they are on tapes: a tape that watches one does not watch what it was made of. Where
something records, its cotangent is added up by itself and then added to what it belongs to, as a graph does it, to the
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core import nest
from engine.core.eager import EagerTensor
from engine.core.tape import Tape, active
from engine.core.variable import Variable
from engine.ops.shape import identity

Marks = Sequence[tuple[Tape, int]]
"""The tapes that record, and how long their logs were."""


def marks() -> Marks:
    """How far the tapes that record are."""
    return [(tape, len(tape.nodes.log)) for tape in active.tapes]


def kept_apart(leaves: Sequence[Any], since: Marks = ()) -> list[Any]:
    """The values, as values of their own; a variable is read.

    Where something records, what was made `since` is one already. What was there before may be captured; what occurs
    twice has two cotangents, which the reverse walk meets in their order if they are recorded in the opposite one.
    """
    if not active.tapes:
        return [_unrecorded(x) for x in leaves]
    values, ids = list(leaves), list(map(id, leaves))
    for i in range(len(values) - 1, -1, -1):
        x = values[i]
        if not isinstance(x, (EagerTensor, Variable)):
            continue
        if not x.dtype.is_differentiable:
            # a plan computes such a tensor anew at other points, by what it is
            values[i] = x.read_value() if isinstance(x, Variable) else x
        elif ids.count(ids[i]) > 1 or not _was_made(x, since):
            values[i] = identity(x)
    return values


def _unrecorded(x: Any) -> Any:
    """A value of its own that no tape need know."""
    if type(x) is EagerTensor:
        return EagerTensor(x._array)
    return x.read_value() if isinstance(x, Variable) else x


def _was_made(x: Any, since: Marks) -> bool:
    """Whether a tape has recorded `since` how `x` was computed."""
    for tape, mark in since:
        log = tape.nodes.log
        for k in range(len(log) - 1, mark, -4):
            if log[k] is x:
                return True
    return False


def apart(structure: Any, since: Marks = ()) -> Any:
    """The same for a structure."""
    if isinstance(structure, EagerTensor):
        return kept_apart([structure], since)[0]
    return nest.pack_sequence_as(structure, kept_apart(nest.flatten(structure), since))
