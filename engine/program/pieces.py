"""Large arrays that are put together from pieces: each piece is written to its place as soon as it is there.

So the pieces are not all kept until the last one is there, which would take the memory twice. Jacobians that are swept
in chunks of seeds need no more than the result and one sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.arena import empty
from engine.aval import Aval
from engine.dtypes import as_dtype
from engine.ops.joining import concat_op
from engine.program.instruction import Instruction
from engine.program.kernels import instruction_op

_LEAST = 1 << 16
"""Bytes; smaller arrays are joined at the end."""


def _room(*, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return empty(shape, dtype)


def _filled(whole: Any, piece: Any, *, start: int) -> Any:
    # nobody else has seen it so far
    whole[start : start + len(piece)] = piece
    return whole


room = instruction_op(
    "room",
    __name__,
    _room,
    lambda *, shape, dtype: Aval(shape, as_dtype(dtype)),
    "An array with nothing in it yet.",
)
filled = instruction_op(
    "filled",
    __name__,
    _filled,
    lambda whole, piece, *, start: whole,
    "The array with rows from `start` on replaced, in place.",
)


def in_place(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: set[int]
) -> tuple[list[Instruction], int]:
    """The instructions with joins along the first axis replaced, and how many there were.

    Parameters
    ----------
    instructions : sequence of Instruction
    avals : dict
        Of the slots; those of new ones are added.
    outputs : set of int
        The program's results, which are needed for themselves.
    """
    uses = Counter(s for instruction in instructions for s in instruction.inputs)
    made = {s: i for i, instruction in enumerate(instructions) for s in instruction.outputs}
    before: dict[int, list[Instruction]] = {}
    after: dict[int, list[Instruction]] = {}
    replaced = set()
    for i, join in enumerate(instructions):
        if not (
            _is_large_join(join, avals) and all(uses[s] == 1 and s in made and s not in outputs for s in join.inputs)
        ):
            continue
        replaced.add(i)
        (whole,) = join.outputs
        aval = avals[whole]
        starts = np.cumsum([0, *[avals[s].shape[0] for s in join.inputs]])  # type: ignore[index]
        pieces = sorted(zip(join.inputs, starts, strict=False), key=lambda piece: made[piece[0]])
        slot = _new(avals, aval)
        empty = Instruction(room, (), {"shape": aval.shape, "dtype": aval.dtype.numpy}, (slot,), join.where)
        before.setdefault(made[pieces[0][0]], []).append(empty)
        for k, (piece, start) in enumerate(pieces):
            following = whole if k + 1 == len(pieces) else _new(avals, aval)
            fill = Instruction(filled, (slot, piece), {"start": int(start)}, (following,), join.where)
            after.setdefault(made[piece], []).append(fill)
            slot = following
    found: list[Instruction] = []
    for i, instruction in enumerate(instructions):
        found += before.get(i, [])
        found += [] if i in replaced else [instruction]
        found += after.get(i, [])
    return found, len(replaced)


def _is_large_join(join: Instruction, avals: dict[int, Aval]) -> bool:
    if join.op is not concat_op or len(set(join.inputs)) < 2 or len(set(join.inputs)) < len(join.inputs):
        return False
    aval = avals[join.outputs[0]]
    if not aval.is_static or join.params["axis"] not in (0, -len(aval.shape or ())):
        return False
    return (aval.size or 0) * aval.dtype.size >= _LEAST and all(avals[s].is_static for s in join.inputs)


def _new(avals: dict[int, Aval], aval: Aval) -> int:
    slot = len(avals)
    while slot in avals:
        slot += 1
    avals[slot] = aval
    return slot
