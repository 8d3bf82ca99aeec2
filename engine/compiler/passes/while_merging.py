"""Loop merging: a loop runs once where its results and what its gradient needs of it were asked for one by one.

A loop's gradient needs the values that went from step to step. A rule cannot know whether anybody wants the loop's
results too, so it asks for another loop over the same operands, one that keeps them. `Op.merge` knows when two are one.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.core.aval import Aval


def merge_loops(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Sequence[int]
) -> tuple[list[Instruction], tuple[int, ...], int]:
    """The instructions with such loops merged, the program's outputs then, and how many loops there are less."""
    result: list[Instruction] = []
    loops: dict[object, list[int]] = {}
    same: dict[int, int] = {}
    count = 0
    for each in instructions:
        inputs = tuple([same.get(s, s) for s in each.inputs]) if same else each.inputs
        now = each if inputs == each.inputs else Instruction(each.op, inputs, each.params, each.outputs, each.where)
        if now.op.merge is None or is_stateful(now.op, now.params):
            result.append(now)
            continue
        earlier = loops.setdefault((now.op.merge, inputs), [])
        for at in earlier:
            merged = _merged(result[at], now, avals, same)
            if merged is not None:
                result[at] = merged
                count += 1
                break
        else:
            earlier.append(len(result))
            result.append(now)
    return result, tuple([same.get(s, s) for s in outputs]), count


def _merged(
    first: Instruction, second: Instruction, avals: dict[int, Aval], same: dict[int, int]
) -> Instruction | None:
    """One instruction for two, in place of the first, if that is possible; `same` learns which values are one."""
    assert first.op.merge is not None
    merged = first.op.merge((first.op, first.params), (second.op, second.params))
    if merged is None:
        return None
    op, params, *places = merged
    made: dict[int, int] = {}
    for each, where in zip((first, second), places, strict=True):
        for s, place in zip(each.outputs, where, strict=True):
            if made.setdefault(place, s) != s:
                same[s] = made[place]
    unseen = max(avals) + 1
    results = op.abstract(*[avals[s] for s in first.inputs], **params)
    outputs = tuple([made.get(place, unseen + place) for place in range(len(results))])
    avals.update({s: a for s, a in zip(outputs, results, strict=True) if s not in avals})
    return Instruction(op, first.inputs, params, outputs, first.where)
