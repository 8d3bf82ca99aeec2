"""Steps that write entries of large arrays which a loop carries, in place of a copy of the whole with other entries.

The program of a step stays one without effects: it gives the entries and where they go. They are written once it has
succeeded, into an array that nobody but the loop has: so a step may run again (after a NaN), and an error leaves
nothing half done. The table of such a program runs all steps of a loop (`ClosedFunction.loop`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.closed.function import ClosedFunction
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.layout import same_layout
from engine.compiler.passes.buffer_assignment import assign_buffers
from engine.compiler.passes.inplace_scatter import write_entries
from engine.compiler.program import Program, located
from engine.core.aval import Aval
from engine.ops.arithmetic import add
from engine.ops.gather import add_at, check_range, gather_back_op
from engine.ops.scatter import check_entries, tensor_scatter_update_op
from engine.runtime.errors import IndexOutOfRangeError
from engine.runtime.structs import struct
from engine.runtime.tuning import TUNING

_LEAST = TUNING.written_bytes


class _Write(NamedTuple):
    """An entry of a carry that a step writes, or adds to what is there, and where the user's program says so."""

    carry: int
    adds: bool
    where: str


@struct(frozen=True)
class _Plan:
    """A program of a step, and what to write.

    The program has each carry that is written to itself for its new value, and behind all results a place and an entry
    for each of `writes`; `constants` are the positions of results that are constants.
    """

    program: Program
    constants: Collection[int]
    writes: Sequence[_Write]


class InPlace:
    """Runs the steps of a loop; the results are those of ``body.run``, of which some carries are written to later."""

    def __init__(self, body: ClosedFunction, plan: _Plan, given: Sequence[Any]) -> None:
        self.body, self.plan, self.form = body, plan, _form(given)
        self.own: dict[int, np.ndarray] = {}
        # where a -0.0 may be, which becomes 0.0 once zeros are added to the whole: None is anywhere
        self.touched: dict[int, set[int] | None] = {}
        self.is_on = True

    def run(self, *given: Any) -> Sequence[Any]:
        """The results of a step."""
        self.is_on = self.is_on and _form(given) == self.form
        if not self.is_on:
            return self.body.run(*given)
        if not self.own:
            self.own = {w.carry: np.array(given[w.carry], order="C") for w in self.plan.writes}
            self.touched = dict.fromkeys(self.own)
        found = self.plan.program(*[self.own.get(i, x) for i, x in enumerate(given)])
        count = len(self.body.results)
        # what shows a part of an array that is going to be written to, or is a constant, is copied
        made = [self.own[i] if i in self.own else self.apart(x, i) for i, x in enumerate(found)]
        results, places, entries = made[:count], made[count::2], made[count + 1 :: 2]
        for write, at, entry in zip(self.plan.writes, places, entries, strict=True):
            _check(write, self.own[write.carry], at, entry)
        for write, at, entry in zip(self.plan.writes, places, entries, strict=True):
            self.write(write.carry, at.item(), entry, write.adds)
        return results

    def loop(self, *given: Any, **named: Any) -> tuple[int, list[Any], list[np.ndarray]] | None:
        """As that of the body; a table writes to arrays of its own."""
        if self.is_on:
            writes = tuple([(write.carry, write.adds) for write in self.plan.writes])
            named = {**named, "program": self.plan.program, "writes": writes}
        outcome = self.body.loop(*given, **named)
        if outcome is not None:
            self.own = {}
        return outcome

    def apart(self, x: Any, i: int) -> Any:
        """Result `i`, or its copy."""
        shown = i in self.plan.constants or any(np.may_share_memory(x, whole) for whole in self.own.values())
        return same_layout(x) if shown else x

    def write(self, i: int, at: int, entry: Any, adds: bool) -> None:
        """Write one entry, with the bits that the whole would have."""
        whole, touched = self.own[i], self.touched[i]
        if not adds:
            whole[at] = entry.reshape(whole.shape[1:])
            if touched is not None:
                touched.add(at)
            return
        one = add_at(1, np.zeros(1, np.intp), entry.reshape(1, -1)).reshape(whole.shape[1:])
        new = whole[at] + one
        for k in (slice(None),) if touched is None else touched:
            whole[k] += whole.dtype.type(0)
        whole[at] = new
        self.touched[i] = {at}


def _check(write: _Write, whole: np.ndarray, at: Any, entry: Any) -> None:
    """Raise unless there is such an entry."""
    if 0 <= at.item() < len(whole):
        return
    try:
        if write.adds:
            check_range("gather", at, len(whole))
        else:
            check_entries("tensor_scatter_nd_update", whole, at, entry)
    except IndexOutOfRangeError as error:
        raise located(error, write.where) from error


def stepping(
    body: ClosedFunction, carried: Sequence[Any], others: Callable[[], Sequence[Any]]
) -> ClosedFunction | InPlace:
    """Choose the runner of a loop: the body, or one that writes entries of what is carried, where that is large.

    `others` gives what else the first step is given.
    """
    for x in carried:
        if x.nbytes >= _LEAST:
            break
    else:
        return body
    given, count = [*carried, *others()], len(carried)
    key = ("in place", count, *_form(given))
    plan: _Plan | tuple[()] = body.derived(key, lambda: _planned(body.at(given), count) or ())
    return InPlace(body, plan, given) if isinstance(plan, _Plan) else body


def _form(given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([(x.shape, x.dtype) for x in given])


# ---- the program -----------------------------------------------------------------------------------------------------


def _planned(body: ClosedFunction, count: int) -> _Plan | None:
    program = body.program
    if program.updates or program.products or program.is_stateful:
        return None
    avals, made_by, used = program.avals, program.makers(), program.uses()
    outputs = list(program.outputs)
    writes: list[_Write] = []
    ends: list[int] = []
    for i, (s, result) in enumerate(zip(program.inputs[:count], program.outputs, strict=False)):
        found = _entries(s, result, made_by, used, avals)
        if not found or s in outputs:
            continue
        outputs[i] = s
        for made, at, entry, adds in found:
            writes.append(_Write(i, adds, made_by[made].where))
            ends += [at, entry]
    if not writes:
        return None
    outputs += ends
    parts = program.constants, program.instructions, avals, program.orders
    changed = Program(program.inputs, tuple(outputs), *parts, inline=program.inline)
    changed.drop_unused()
    if program.buffers is not None:
        changed.buffers = assign_buffers(changed)
    constants = {i for i, s in enumerate(outputs[: len(program.outputs)]) if s in program.constants}
    return _Plan(changed, constants, writes)


def _entries(
    whole: int, result: int, made_by: dict[int, Instruction], used: Counter[int], avals: dict[int, Aval]
) -> list[tuple[int, int, int, bool]]:
    """By what instructions an array gets other entries: their result, the place, the entry, whether it is added."""
    found: list[tuple[int, int, int, bool]] = []
    while result != whole:
        made = made_by.get(result)
        if made is None or used[result] != 1 or avals[result] != avals[whole]:
            return []
        if made.op in (tensor_scatter_update_op, write_entries) and avals[made.inputs[1]].shape == (1, 1):
            if made.params.get("batch_dims"):
                return []
            found.append((result, made.inputs[1], made.inputs[2], False))
            result = made.inputs[0]
            continue
        back = [s for s in made.inputs if _adds_entry(made_by.get(s), avals) and used[s] == 1]
        if made.op is not add or not back or avals[back[-1]] != avals[whole]:
            return []
        entry, _, at = made_by[back[-1]].inputs
        found.append((result, at, entry, True))
        result = made.inputs[1 if made.inputs[0] == back[-1] else 0]
    return found[::-1]


def _adds_entry(made: Instruction | None, avals: dict[int, Aval]) -> bool:
    if made is None or made.op is not gather_back_op or avals[made.inputs[2]].shape != ():
        return False
    rank = len(avals[made.inputs[1]].shape or ())
    return made.params["axis"] in (0, -rank) and not any(
        made.params.get(k) for k in ("batch_dims", "lead", "like_lead")
    )
