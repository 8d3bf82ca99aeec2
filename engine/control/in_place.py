"""Steps that write entries of large arrays which a loop carries, in place of a copy of the whole with other entries.

The program of a step stays one without effects: it gives the entries and where they go. They are written once it has
succeeded, into an array that nobody but the loop has: so a step may run again (after a NaN), and an error leaves
nothing half done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.compiler.ir.instruction import Instruction, is_stateful, without_unused
from engine.compiler.ir.kernels import instruction_op
from engine.compiler.ir.layout import same_layout
from engine.compiler.passes.buffer_assignment import assign_buffers
from engine.compiler.passes.inplace_scatter import write_entries
from engine.compiler.passes.nan_checks import speculate
from engine.compiler.program import Program
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.ops.arithmetic import add
from engine.ops.gather import add_at, check_range, gather_back_op
from engine.ops.scatter import check_entries, tensor_scatter_update_op
from engine.runtime.tuning import TUNING

_LEAST = TUNING.written_bytes


def _replaced_kernel(whole: Any, at: Any, entry: Any) -> np.ndarray:
    if not 0 <= (place := at.item()) < len(whole):
        check_entries("tensor_scatter_nd_update", whole, at, entry)
    return np.array(place, np.int64)


def _added_kernel(whole: Any, at: Any) -> np.ndarray:
    check_range("gather", at, len(whole))
    return np.array(at, np.int64)


_FACTS: dict[str, Any] = {"keeps_nan": ()}
replaced_entry = instruction_op(
    "replaced_entry",
    __name__,
    _replaced_kernel,
    lambda *_: Aval((), int64),
    "Where in an array an entry is replaced.",
    **_FACTS,
)
added_entry = instruction_op(
    "added_entry", __name__, _added_kernel, lambda *_: Aval((), int64), "Where in an array one is added to.", **_FACTS
)


@dataclass(frozen=True)
class _Plan:
    """A program of a step, and what to write: per carry and entry, whether it is added to what is there.

    The program has each such carry itself for its new value, and behind all results a place and an entry for each;
    `constants` are the positions of results that are constants.
    """

    program: Program
    constants: Collection[int]
    writes: Sequence[tuple[int, bool]]


class InPlace:
    """Runs the steps of a loop; the results are those of ``body.run``, of which some carries are written to later."""

    def __init__(self, body: ClosedFunction, plan: _Plan, given: Sequence[Any]) -> None:
        self.body, self.plan, self.form = body, plan, _form(given)
        self.own = {i: np.array(given[i], order="C") for i, _ in plan.writes}
        # where a -0.0 may be, which becomes 0.0 once zeros are added to the whole: None is anywhere
        self.touched: dict[int, set[int] | None] = dict.fromkeys(self.own)
        self.is_on = True

    def run(self, *given: Any) -> Sequence[Any]:
        """The results of a step."""
        self.is_on = self.is_on and _form(given) == self.form
        if not self.is_on:
            return self.body.run(*given)
        found = self.plan.program(*[self.own.get(i, x) for i, x in enumerate(given)])
        count = len(self.body.results)
        # what shows a part of an array that is going to be written to, or is a constant, is copied
        made = [self.own[i] if i in self.own else self.apart(x, i) for i, x in enumerate(found)]
        results, made = made[:count], made[count:]
        for k, (i, adds) in enumerate(self.plan.writes):
            self.write(i, int(made[2 * k]), made[2 * k + 1], adds)
        return results

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


def running(body: ClosedFunction, given: Sequence[Any], count: int) -> Callable[..., Sequence[Any]]:
    """The function that runs a step: it writes entries of those of the first `count` operands that are large."""
    if all(x.nbytes < _LEAST for x in given[:count]):
        return body.run
    key = ("in place", count, *_form(given))
    plan: _Plan | tuple[()] = body.derived(key, lambda: _planned(body.at(given), count) or ())
    return InPlace(body, plan, given).run if isinstance(plan, _Plan) else body.run


def _form(given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([(x.shape, x.dtype) for x in given])


# ---- the program -----------------------------------------------------------------------------------------------------


def _planned(body: ClosedFunction, count: int) -> _Plan | None:
    program = body.program
    if program.updates or program.products or any(is_stateful(i.op, i.params) for i in program.instructions):
        return None
    avals, made_by = dict(program.avals), {s: each for each in program.instructions for s in each.outputs}
    used = Counter([*program.outputs, *[s for each in program.instructions for s in each.inputs]])
    outputs = list(program.outputs)
    writes: list[tuple[int, bool]] = []
    ends: list[int] = []
    instead: dict[int, Instruction] = {}
    for i, (s, result) in enumerate(zip(program.inputs[:count], program.outputs, strict=False)):
        found = _entries(s, result, made_by, used, avals)
        if not found or s in outputs:
            continue
        outputs[i] = s
        for made, at, entry, adds in found:
            place = max(avals) + 1
            avals[place] = Aval((), int64)
            op, inputs = (added_entry, (s, at)) if adds else (replaced_entry, (s, at, entry))
            instead[made] = Instruction(op, inputs, {}, (place,), made_by[made].where)
            writes.append((i, adds))
            ends += [place, entry]
    if not writes:
        return None
    left = [instead.get(each.outputs[0], each) if each.outputs else each for each in program.instructions]
    outputs += ends
    left = without_unused(left, tuple(outputs))
    changed = Program(program.inputs, tuple(outputs), program.constants, left, avals, inline=program.inline)
    if program.speculation is not None:
        speculation = speculate(left, avals)
        changed.speculation = speculation if speculation.products else None
    if program.buffers is not None:
        products = () if changed.speculation is None else changed.speculation.products
        changed.buffers = assign_buffers(left, avals, outputs, products, program.orders)
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
