"""Memory that a program keeps from one run to the next, for large intermediate results.

Memory that is new to a process is mapped page by page as it is first written, which can take longer than computing what
is written. So what a program needs in between, and nobody sees afterwards, is written to the same place in each run;
values that are not needed at the same time share one, and so do programs that do not run at the same time.

A result has the order in memory that it would have had without: what would not be in C order is not written there.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.aval import Aval
from engine.ops.joining import concat_op, stack_op, unstack_op
from engine.ops.linalg import FEW, matmul_op
from engine.ops.reduce import reduce_sum_op
from engine.ops.selection import pick_op, place_op
from engine.ops.shape import matrix_transpose_op, transpose_op
from engine.program.instruction import Instruction
from engine.program.kernels import diagonal_product, vector_product
from engine.program.pieces import filled
from engine.structural import reshape_to, scale

LEAST = 1 << 16
"""Bytes of a result from which on it gets a place."""
MOST = 1 << 25
"""Bytes that the places of one program may take."""
KEPT = 1 << 26
"""Bytes that are kept between runs, for all programs together."""
_CUTS = 8
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
    """

    places: dict[int, tuple[int, Aval]]
    size: int

    def take(self) -> Stretch:
        """Memory that nobody else uses until it is given back."""
        for stretch in reversed(_spare):
            if self.size <= stretch.memory.size <= 4 * self.size:
                try:
                    _spare.remove(stretch)
                except ValueError:
                    # another thread was quicker
                    continue
                return stretch
        return Stretch(np.empty(self.size, np.uint8))


@dataclass(eq=False)
class Stretch:
    """A stretch of memory, and what it has been cut into."""

    memory: np.ndarray
    cuts: dict[Workspace, tuple[np.ndarray, ...]] = field(default_factory=dict)

    def places(self, space: Workspace) -> tuple[np.ndarray, ...]:
        """The arrays for a workspace's places, in their order."""
        if space not in self.cuts:
            if len(self.cuts) >= _CUTS:
                self.cuts.clear()
            self.cuts[space] = tuple([_part(self.memory, start, aval) for start, aval in space.places.values()])
        return self.cuts[space]

    def give_back(self) -> None:
        """Let others have it. What lies around longest is freed if there is too much."""
        _spare.append(self)
        while sum([stretch.memory.size for stretch in _spare.copy()]) > KEPT:
            del _spare[:1]


_spare: list[Stretch] = []


def forget() -> None:
    """Free the memory that is kept for later runs."""
    _spare.clear()


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
    outputs: Sequence[int],
    products: Collection[int],
) -> Workspace | None:
    """The places for a program's intermediate results; None if none is large.

    Parameters
    ----------
    products : collection of int
        Positions of instructions that are plain products.
    """
    root, last, shown = _lifetimes(instructions, outputs)
    memory = _Memory()
    ends: dict[int, list[int]] = {}
    for i, instruction in enumerate(instructions):
        slot = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
        elementwise = i in products or _is_ufunc(instruction)
        wanted = slot >= 0 and root[slot] == slot and slot not in shown and _bytes(avals[slot]) >= LEAST
        if wanted and (elementwise or _is_large_product(instruction, avals)):
            done = ends.pop(i, [])
            # an elementwise op may write over an operand of the same shape that is not needed any more
            over = [s for s in done if elementwise and avals[s] == avals[slot]]
            memory.free(over)
            if memory.place(slot, avals[slot]):
                ends.setdefault(last[slot], []).append(slot)
            memory.free([s for s in done if s not in over])
        memory.free(ends.pop(i, []))
    if not memory.places:
        return None
    return Workspace(memory.places, memory.size)


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
    instructions: Sequence[Instruction], outputs: Sequence[int]
) -> tuple[dict[int, int], dict[int, int], set[int]]:
    """Per slot the one whose memory it may share, per such slot its last use, and those that somebody may see later."""
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
    shown.update([root.get(s, s) for s in outputs])
    return root, last, shown


def _is_ufunc(instruction: Instruction) -> bool:
    kernel = instruction.op.kernel
    return isinstance(kernel, np.ufunc) and kernel.signature is None and kernel.nout == 1 and not instruction.params


def _is_large_product(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether it is a product of two matrices by `numpy.matmul`."""
    ranks = [len(avals[s].shape or ()) for s in instruction.inputs]
    return instruction.op is matmul_op and ranks == [2, 2] and (avals[instruction.outputs[0]].size or 0) > FEW
