"""Loop merging: a loop runs once where its results and what its gradient needs of it were asked for one by one.

A loop's gradient needs the values that went from step to step. A rule cannot know whether anybody wants the loop's
results too, so it asks for another loop over the same operands, one that keeps them. `Op.merge` knows when two are one.
"""

from __future__ import annotations

from engine.compiler.ir.code import Code, reading
from engine.compiler.ir.instruction import Instruction, is_stateful


def merge_loops(code: Code) -> int:
    """Merge such loops; how many there are less."""
    if not any(each.op.merge for each in code.instructions):
        return 0
    left: list[Instruction] = []
    loops: dict[object, list[int]] = {}
    same: dict[int, int] = {}
    count = 0
    for each in code.instructions:
        each = reading(each, same)
        if each.op.merge is None or is_stateful(each.op, each.params):
            left.append(each)
            continue
        earlier = loops.setdefault((each.op.merge, each.inputs), [])
        for at in earlier:
            merged = _merged(code, left[at], each, same)
            if merged is not None:
                left[at] = merged
                count += 1
                break
        else:
            earlier.append(len(left))
            left.append(each)
    code.instructions, code.outputs = left, tuple([same.get(s, s) for s in code.outputs])
    return count


def _merged(code: Code, first: Instruction, second: Instruction, same: dict[int, int]) -> Instruction | None:
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
    results = op.abstract(*[code.avals[s] for s in first.inputs], **params)
    outputs = tuple([made[k] if k in made else code.new_value(aval) for k, aval in enumerate(results)])
    return Instruction(op, first.inputs, params, outputs, first.where)
