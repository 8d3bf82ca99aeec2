"""Where the large results of a program are written.

What a program needs in between, and nobody sees afterwards, is written to the same place in each run
(`engine.runtime.buffer_pool`); values that are not needed at the same time share one, and so do programs that do not
run at the same time. What somebody may see gets memory that is used again once nobody holds it.

A result has the order in memory that it would have had without: what would not be in C order is not written there.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from engine.core.aval import Aval
from engine.core.structural import reshape_to, scale
from engine.ops.joining import concat_op, stack_op, unstack_op
from engine.ops.linalg import matmul_op
from engine.ops.reduce import reduce_sum_op
from engine.ops.selection import pick_op, place_op
from engine.ops.shape import matrix_transpose_op, transpose_op
from engine.program.instruction import Instruction
from engine.program.kernels import diagonal_product, vector_product
from engine.program.passes.inplace_concat import filled, room, written_in_place
from engine.program.passes.loop_fusion import blocks
from engine.program.passes.slice_concat import laid_out

LEAST = 1 << 16
"""Bytes of a result from which on it gets a place."""
MOST = 1 << 25
"""Bytes that the places of one program may take."""
_ALIGN = 64

_VIEWS = {reshape_to, transpose_op, matrix_transpose_op, unstack_op}
"""Ops whose results may share memory with their first operand."""
_COPIES = {
    scale,
    matmul_op,
    vector_product,
    diagonal_product,
    reduce_sum_op,
    concat_op,
    stack_op,
    pick_op,
    place_op,
    filled,
    blocks,
    laid_out,
}
"""Ops whose results never share memory with an operand (`filled` does with its first, which has no place)."""


@dataclass(eq=False)
class Workspace:
    """Where a program's intermediate results are written.

    Attributes
    ----------
    places : dict
        Slot to (offset in bytes, aval).
    size : int
        Bytes in all.
    results : set of int
        Large results that are handed out.
    pieces : dict
        Slots that are pieces of a larger array to the slot of that, its first row and the row behind the last.
    """

    places: dict[int, tuple[int, Aval]]
    size: int
    results: set[int]
    pieces: dict[int, tuple[int, int, int]]

    def cut(self, memory: np.ndarray) -> tuple[np.ndarray, ...]:
        """The arrays for the places, in their order."""
        return tuple([_part(memory, start, aval) for start, aval in self.places.values()])


def into(place: np.ndarray, *operands: np.ndarray) -> np.ndarray | None:
    """`place` if NumPy would give the result of an elementwise op in C order, else None.

    It goes through the axes in the order of the operands' strides; where operands disagree, C order wins.
    """
    for x in operands:
        if x.shape == place.shape and x.flags.c_contiguous:
            return place
    return place if all(_is_descending(x.strides) for x in operands) else None


def _is_descending(strides: tuple[int, ...]) -> bool:
    steps = [step for step in strides if step]
    return all(a >= b > 0 for a, b in itertools.pairwise(steps))


def _part(memory: np.ndarray, start: int, aval: Aval) -> np.ndarray:
    return memory[start : start + _bytes(aval)].view(aval.dtype.numpy).reshape([d or 0 for d in aval.shape or ()])


def _bytes(aval: Aval) -> int:
    return (aval.size or 0) * aval.dtype.size


def workspace(
    instructions: Sequence[Instruction],
    avals: dict[int, Aval],
    outputs: Collection[int],
    products: Collection[int],
) -> Workspace | None:
    """The places for a program's intermediate results; None if none is large.

    Parameters
    ----------
    products : collection of int
        Positions of instructions that are plain products.
    """
    last, shown, handed_out = _lifetimes(instructions, outputs)
    # sweeps in chunks are to take little memory: what is in one goes when the next one comes
    in_chunks = _has_chunks(instructions, avals)
    memory, results = _Memory(), set()
    belongs, pieces = written_in_place(instructions, avals, outputs), {}
    ends: dict[int, list[int]] = {}
    for i, instruction in enumerate(instructions):
        done = ends.pop(i, [])
        slot = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
        if slot >= 0 and _bytes(avals[slot]) >= LEAST and (i in products or _takes_place(instruction, avals)):
            if slot in belongs:
                pieces[slot] = belongs[slot]
            elif slot in handed_out:
                results.add(slot)
            elif not in_chunks and slot not in shown:
                # an elementwise op may write over an operand of the same shape that is not needed any more
                elementwise = i in products or _is_ufunc(instruction)
                over = [s for s in done if elementwise and avals[s] == avals[slot]]
                memory.free(over)
                done = [s for s in done if s not in over]
                if memory.place(slot, avals[slot]):
                    ends.setdefault(last[slot], []).append(slot)
        memory.free([*done, *ends.pop(i, [])])
    if not memory.places and not results and not pieces:
        return None
    return Workspace(memory.places, memory.size, results, pieces)


def _has_chunks(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> bool:
    """Whether a large matrix is put together from several pieces of one size (and what is left over)."""
    pieces: list[list[int]] = []
    for instruction in instructions:
        if instruction.op is room:
            pieces.append([])
        elif instruction.op is filled and len(avals[instruction.inputs[1]].shape or ()) > 1:
            pieces[-1].append(avals[instruction.inputs[1]].size or 0)
    return any(len(sizes) > 1 and len(set(sorted(sizes)[1:])) == 1 for sizes in pieces)


def _takes_place(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether an instruction can be told where to write its result."""
    joins = instruction.op in (concat_op, stack_op)
    return joins or instruction.op is blocks or _is_ufunc(instruction) or _is_product(instruction, avals)


class _Memory:
    """Places in one stretch of memory: those that are free are used again for what fits."""

    def __init__(self) -> None:
        self.places: dict[int, tuple[int, Aval]] = {}
        self.size = 0
        self._room: dict[int, int] = {}
        self._free: list[int] = []

    def place(self, slot: int, aval: Aval) -> bool:
        """Find a place; False if there is none left."""
        need = -(-_bytes(aval) // _ALIGN) * _ALIGN
        fitting = [start for start in self._free if need <= self._room[start] <= 2 * need]
        if fitting:
            start = min(fitting, key=lambda start: self._room[start])
            self._free.remove(start)
        elif self.size + need <= MOST:
            start = self.size
            self._room[start] = need
            self.size += need
        else:
            return False
        self.places[slot] = start, aval
        return True

    def free(self, slots: Sequence[int]) -> None:
        """These are not needed any more."""
        self._free += [self.places[slot][0] for slot in slots]


def _lifetimes(
    instructions: Sequence[Instruction], outputs: Collection[int]
) -> tuple[dict[int, int], set[int], set[int]]:
    """Per slot the last use of its memory, those that another op may hold on to, and those that are handed out."""
    root: dict[int, int] = {}
    last: dict[int, int] = {}
    shown: set[int] = set()
    for i, instruction in enumerate(instructions):
        operands = [root.get(s, s) for s in instruction.inputs]
        last.update(dict.fromkeys(operands, i))
        shares = operands[0] if instruction.op in _VIEWS else None
        if shares is None and not _is_ufunc(instruction) and instruction.op not in _COPIES:
            shown.update(operands)
        for slot in instruction.outputs:
            root[slot] = slot if shares is None else shares
            last.setdefault(root[slot], i)
    return last, shown, {root.get(s, s) for s in outputs}


def _is_ufunc(instruction: Instruction) -> bool:
    kernel = instruction.op.kernel
    return isinstance(kernel, np.ufunc) and kernel.signature is None and kernel.nout == 1 and not instruction.params


def _is_product(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether it is a product of two matrices."""
    return instruction.op is matmul_op and all(len(avals[s].shape or ()) == 2 for s in instruction.inputs)
