"""Large arrays that are put together from pieces: each piece is written to its place as soon as it is there.

So the pieces are not all kept until the last one is there, which would take the memory twice. Jacobians that are swept
in chunks of seeds need no more than the result and one sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import as_dtype
from engine.core.structural import reshape_to
from engine.ops.joining import concat_op
from engine.program.instruction import Instruction
from engine.program.kernels import instruction_op
from engine.runtime.buffer_pool import empty

_LEAST = 1 << 16
"""Bytes; smaller arrays are joined at the end."""


def _room(*, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return empty(shape, dtype)


def _filled(whole: Any, piece: Any, *, start: int) -> Any:
    # a piece that was written where it belongs is a view of the whole, which nobody else has seen so far
    if piece.base is not whole:
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
    reads = _Reads(instructions, outputs)
    made = reads.made
    before: dict[int, list[Instruction]] = {}
    after: dict[int, list[Instruction]] = {}
    replaced = set()
    for i, join in enumerate(instructions):
        if not (_is_large_join(join, avals) and all(reads.uses[s] == 1 and s in made for s in join.inputs)):
            continue
        replaced.add(i)
        (whole,) = join.outputs
        aval = avals[whole]
        starts = np.cumsum([0, *[avals[s].shape[0] for s in join.inputs]])  # type: ignore[index]
        pieces = sorted(zip(join.inputs, starts, strict=False), key=lambda piece: made[piece[0]])
        slot = _new(avals, aval)
        empty = Instruction(room, (), {"shape": aval.shape, "dtype": aval.dtype.numpy}, (slot,), join.where)
        first = reads.unshaped(pieces[0][0])
        before.setdefault(made.get(first, made[pieces[0][0]]), []).append(empty)
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


def written_in_place(
    instructions: Sequence[Instruction], avals: dict[int, Aval], outputs: Collection[int]
) -> dict[int, tuple[int, int, int]]:
    """Slots that may be written where they belong: the slot of the whole at that time, the first row and the last."""
    reads = _Reads(instructions, outputs)
    wholes: dict[int, list[int]] = {}
    found = {}
    for instruction in instructions:
        if instruction.op is room:
            wholes[instruction.outputs[0]] = [*instruction.outputs]
        elif instruction.op is filled:
            same = wholes[instruction.inputs[0]]
            slot = reads.unshaped(instruction.inputs[1])
            before = [s for s in same if slot in reads.made and reads.made[s] < reads.made[slot]]
            if before:
                start, (rows, *_) = instruction.params["start"], avals[instruction.inputs[1]].shape or (0,)
                found[slot] = before[-1], start, start + (rows or 0)
            wholes[instruction.outputs[0]] = same
            same += instruction.outputs
    return found


class _Reads:
    """Which instruction makes each slot (`made`), and how often it is used."""

    def __init__(self, instructions: Sequence[Instruction], outputs: Collection[int]) -> None:
        self.instructions = instructions
        self.made = {s: i for i, instruction in enumerate(instructions) for s in instruction.outputs}
        self.uses = Counter([*(s for instruction in instructions for s in instruction.inputs), *outputs])

    def unshaped(self, slot: int) -> int:
        """What a slot is a reshape of, in the end, if nobody else reads that."""
        while slot in self.made and self.instructions[self.made[slot]].op is reshape_to:
            (given,) = self.instructions[self.made[slot]].inputs
            if self.uses[given] > 1:
                break
            slot = given
        return slot


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
