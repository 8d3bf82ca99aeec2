"""Buffer assignment: decides by liveness where the large results of a program are written.

An intermediate result that does not escape gets an offset in one block of memory from the pool
(`engine.runtime.buffer_pool`). Values that are not live at the same time share an offset, and programs that do not run
at the same time share a block. A live-out result gets memory of its own, which the pool takes back when the last array
that uses it is gone.

A result keeps the order in memory that its op gives it: one that would not be in C order is not written to a buffer.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.layout import Order
from engine.compiler.liveness import Needed, dying, last_uses, placed
from engine.compiler.passes.inplace_concat import alloc, concat_destinations, write_rows
from engine.core.aval import Aval
from engine.runtime.structs import struct
from engine.runtime.tuning import TUNING

LEAST = TUNING.buffer_bytes
"""Bytes of a result from which on it gets a buffer."""
MOST = TUNING.block_bytes
"""Bytes that the block of one program may have."""
_ALIGN = 64


@struct(eq=False)
class BufferAssignment:
    """Where the large results of a program are written."""

    offsets: dict[int, tuple[int, Aval]]
    """Value id to (offset in bytes, aval)."""
    size: int
    """Bytes of the block."""
    results: set[int]
    """Large values that are live-out."""
    concat_rows: dict[int, tuple[int, int, int]]
    """Value ids that are computed in place in a concat, to that array and its rows (start, stop)."""

    def views(self, block: np.ndarray) -> tuple[np.ndarray, ...]:
        """The arrays at the offsets, in their order."""
        return tuple([_part(block, start, aval) for start, aval in self.offsets.values()])


def into(out: np.ndarray, *operands: np.ndarray) -> np.ndarray | None:
    """`out` if NumPy would give the result of an elementwise op in C order, else None.

    It goes through the axes in the order of the operands' strides; where operands disagree, C order wins.
    """
    for x in operands:
        if x.shape == out.shape and x.flags.c_contiguous:
            return out
    return out if all(_is_descending(x.strides) for x in operands) else None


def _is_descending(strides: tuple[int, ...]) -> bool:
    steps = [step for step in strides if step]
    return all(a >= b > 0 for a, b in itertools.pairwise(steps))


def _part(block: np.ndarray, start: int, aval: Aval) -> np.ndarray:
    return block[start : start + aval.nbytes].view(aval.dtype.numpy).reshape([d or 0 for d in aval.shape or ()])


def assign_buffers(code: Code) -> BufferAssignment | None:
    """Where to write the large results of a program; None if none is large.

    One that may not be in C order gets no offset, which `into` would leave unused.
    """
    instructions, avals, orders = code.instructions, code.avals, code.orders
    if not any(avals[s].shape and avals[s].nbytes >= LEAST for each in instructions for s in each.outputs):
        return None
    last, escaping, live_out = _lifetimes(instructions, code.outputs)
    # sweeps in chunks are to take little memory: what is in one goes when the next one comes
    in_chunks = _has_chunks(instructions, avals)
    destinations, concat_rows = concat_destinations(code), {}
    results: set[int] = set()
    needed: dict[int, Needed] = {}
    # by value, the first one in its place: what is written over a value is where that is
    place_of: dict[int, int] = {}
    for i, (instruction, dead) in enumerate(zip(instructions, dying(last, len(instructions)), strict=True)):
        value_id = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
        if value_id < 0 or avals[value_id].nbytes < LEAST or not _takes_out(instruction, avals):
            continue
        if value_id in destinations:
            concat_rows[value_id] = destinations[value_id]
        elif value_id in live_out:
            results.add(value_id)
        elif not in_chunks and value_id not in escaping and orders.get(value_id) is Order.CONTIGUOUS:
            # an elementwise op may write over an operand of the same shape that is dead
            over = [s for s in dead if s in place_of and avals[s] == avals[value_id]] if instruction.op.is_ufunc else []
            there = [place_of[s] for s in over]
            place = place_of[value_id] = there[0] if there else value_id
            first = needed[place].first if there else i
            needed[place] = Needed(-(-avals[value_id].nbytes // _ALIGN) * _ALIGN, first, last[value_id])
    starts, size = placed(needed, MOST)
    offsets = {s: (starts[place], avals[s]) for s, place in place_of.items() if place in starts}
    if not offsets and not results and not concat_rows:
        return None
    return BufferAssignment(offsets, size, results, concat_rows)


def _has_chunks(instructions: Sequence[Instruction], avals: dict[int, Aval]) -> bool:
    """Whether a large matrix is concatenated from several operands of one size (and what is left over)."""
    sizes_of: list[list[int]] = []
    for instruction in instructions:
        if instruction.op is alloc:
            sizes_of.append([])
        elif instruction.op is write_rows and len(avals[instruction.inputs[1]].shape or ()) > 1:
            sizes_of[-1].append(avals[instruction.inputs[1]].size or 0)
    return any(len(sizes) > 1 and len(set(sorted(sizes)[1:])) == 1 for sizes in sizes_of)


def _takes_out(instruction: Instruction, avals: dict[int, Aval]) -> bool:
    """Whether an instruction can be told where to write its result."""
    op, operands = instruction.op, [avals[s] for s in instruction.inputs]
    if op.inline is None or not op.takes_out:
        return op.takes_out
    return all(a.is_static for a in operands) and op.inline(operands, instruction.params) is not None


def _lifetimes(
    instructions: Sequence[Instruction], outputs: Collection[int]
) -> tuple[dict[int, int], set[int], set[int]]:
    """The last use of each alias set; the alias sets that escape into an op; those that are live-out."""
    alias_set: dict[int, int] = {}
    escaping: set[int] = set()
    used: list[list[int]] = []
    for instruction in instructions:
        operands = [alias_set.get(s, s) for s in instruction.inputs]
        shared = instruction.op.shares
        if shared not in ((), (0,)):
            escaping.update(operands)
        alias_set.update({s: operands[0] if shared == (0,) else s for s in instruction.outputs})
        used.append([*operands, *[alias_set[s] for s in instruction.outputs]])
    return last_uses(used), escaping, {alias_set.get(s, s) for s in outputs}
