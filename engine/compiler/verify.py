"""Verifier: says whether a list of instructions, and the memory it was given, is legal, and where it is not.

A pass that makes an illegal program may go unnoticed for long: a value that is read after its memory was used again is
wrong in some runs only. So what each pass leaves is checked where ``DUALGRAD_VERIFY=1`` is in the environment, as in
the tests and for random programs; elsewhere this costs nothing. None of it uses what it checks: lifetimes are not
computed here, but each read asks whether what was written is still there.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from engine.compiler.ir.instruction import Instruction
from engine.compiler.passes.buffer_assignment import BufferAssignment
from engine.compiler.passes.inplace_concat import alloc, write_rows
from engine.core.aval import Aval, compatible
from engine.core.eager import abstract_operand

VARIABLE = "DUALGRAD_VERIFY"
"""The environment variable that asks for checks."""
ENABLED = os.environ.get(VARIABLE, "0") not in ("", "0")


class IllegalProgram(Exception):
    """A pass of the compiler, or what gives values memory, has made a mistake."""


class Checked(Protocol):
    """The parts of a program that are verified."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: dict[int, Any]
    instructions: list[Instruction]
    avals: dict[int, Aval]
    buffers: BufferAssignment | None


class Memory:
    """Whose bytes lie in a block, while one step follows the other."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[int, int]] = {}
        self._lost: dict[Hashable, Hashable] = {}

    def write(self, key: Hashable, start: int, end: int) -> None:
        """All or a part of a value is written, which takes these bytes: who held any of them has lost them."""
        if key in self._lost:
            self.read(key)
        for other, (a, b) in list(self._held.items()):
            if other != key and a < end and start < b:
                del self._held[other]
                self._lost[other] = key
        self._held[key] = start, end

    def drop(self, key: Hashable) -> None:
        """Nobody needs a value any more, until it is written anew."""
        self._held.pop(key, None)
        self._lost.pop(key, None)

    def read(self, key: Hashable) -> None:
        """Raise if a value has not been written, or is not there any more."""
        if key in self._lost:
            raise IllegalProgram(f"{key} is needed after {self._lost[key]} was written to its memory")
        if key not in self._held:
            raise IllegalProgram(f"{key} is read before it is written")


def verify(program: Checked, after: str) -> None:
    """Check all that can be said of a program, or raise IllegalProgram, which says `after` what it was found.

    Each value is written once, before it is used, and has the dtype and shape that its op says. Memory that is shared
    is large enough, and nobody reads a value whose memory has been used again, or of which a part is missing.
    """
    try:
        avals, known = program.avals, (*program.inputs, *program.constants)
        for s, array in program.constants.items():
            _same_aval(s, avals, abstract_operand(array))
        verify_instructions(program.instructions, known, program.outputs, avals)
        _verify_joins(program)
        if program.buffers is not None:
            _verify_buffers(program, program.buffers)
    except IllegalProgram as error:
        raise IllegalProgram(f"after {after}: {error}\n{program}") from None


def verify_instructions(
    instructions: Sequence[Instruction], given: Iterable[int], outputs: Iterable[int], avals: Mapping[int, Aval]
) -> None:
    """Check that values are written once and before they are used, with the avals that their ops say."""
    known: set[int] = set()
    for s in given:
        _define(s, known, avals)
    for i, each in enumerate(instructions):
        for s in each.inputs:
            if s not in known:
                raise IllegalProgram(f"instruction {i}, {each.op.name}, reads v{s}, which is not defined there")
        expected = each.op.result_avals([avals[s] for s in each.inputs], each.params)
        results = expected if each.op.multi else (expected,)
        if len(results) != len(each.outputs):
            raise IllegalProgram(f"instruction {i}, {each.op.name}, has {len(results)} results, not {each.outputs}")
        for s, aval in zip(each.outputs, results, strict=True):
            _define(s, known, avals)
            _same_aval(s, avals, aval)
    for s in outputs:
        if s not in known:
            raise IllegalProgram(f"v{s} is a result and is not defined")


def _define(s: int, known: set[int], avals: Mapping[int, Aval]) -> None:
    if s in known:
        raise IllegalProgram(f"v{s} is written twice")
    if s not in avals:
        raise IllegalProgram(f"v{s} has no aval")
    known.add(s)


def _same_aval(s: int, avals: Mapping[int, Aval], aval: Aval) -> None:
    if avals[s].dtype != aval.dtype or not compatible(avals[s].shape, aval.shape):
        raise IllegalProgram(f"v{s} is said to be {avals[s]} and is {aval}")


# ---- memory ----------------------------------------------------------------------------------------------------------


def _homes(instructions: Sequence[Instruction], given: Iterable[int]) -> dict[int, set[int]]:
    """Per value, those in whose memory it may lie, itself among them."""
    homes = {s: {s} for s in given}
    for each in instructions:
        shared = range(len(each.inputs)) if each.op.shares is None else each.op.shares
        within = {home for k in shared if k < len(each.inputs) for home in homes[each.inputs[k]]}
        for s in each.outputs:
            homes[s] = {s} | within
    return homes


class _Filled:
    """An array that is filled row by row: the id that it has now, and the rows that are there."""

    def __init__(self, s: int, aval: Aval) -> None:
        self.now, self.length = s, (aval.shape or (0,))[0] or 0
        self.rows: list[tuple[int, int]] = []

    @property
    def is_whole(self) -> bool:
        """Whether no row is missing."""
        return sum(stop - start for start, stop in self.rows) == self.length

    def fill(self, start: int, stop: int, now: int) -> None:
        """Note that some rows are written."""
        if not 0 <= start <= stop <= self.length or any(a < stop and start < b for a, b in self.rows):
            raise IllegalProgram(f"rows {start} to {stop} of v{self.now} are not there, or have been written")
        self.rows.append((start, stop))
        self.now = now


def _verify_joins(program: Checked) -> None:
    """Check arrays that are filled: no rows twice, and nobody else reads one of which rows are missing."""
    arrays: dict[int, _Filled] = {}
    in_place = {} if program.buffers is None else program.buffers.concat_rows
    homes = _homes(program.instructions, (*program.inputs, *program.constants)) if in_place else {}
    for each in program.instructions:
        for k, s in enumerate(each.inputs):
            _verify_filled(s, arrays, filling=each.op is write_rows and k == 0)
        if each.op is alloc:
            arrays[each.outputs[0]] = _Filled(each.outputs[0], program.avals[each.outputs[0]])
        elif each.op is write_rows:
            filled = arrays[each.outputs[0]] = arrays[each.inputs[0]]
            start, stop = each.params["start"], each.params["start"] + (program.avals[each.inputs[1]].shape or (0,))[0]
            filled.fill(start, stop, each.outputs[0])
            for s in homes.get(each.inputs[1], set()) & in_place.keys():
                whole, *rows = in_place[s]
                if arrays.get(whole) is not filled or rows != [start, stop]:
                    raise IllegalProgram(f"v{s} lies in rows {rows} of v{whole} and belongs to {start} to {stop}")
        for s in each.outputs:
            if s in in_place and in_place[s][0] not in arrays:
                raise IllegalProgram(f"v{s} is written to v{in_place[s][0]}, which is not there yet")
    for s in program.outputs:
        _verify_filled(s, arrays)


def _verify_filled(s: int, arrays: Mapping[int, _Filled], filling: bool = False) -> None:
    if s in arrays and (arrays[s].now != s or not (filling or arrays[s].is_whole)):
        raise IllegalProgram(f"v{s} is read and is being filled")


def _verify_buffers(program: Checked, buffers: BufferAssignment) -> None:
    """Check that what lies in the block, or in the rows of another array, fits there and is read in time."""
    avals, homes = program.avals, _homes(program.instructions, (*program.inputs, *program.constants))
    memory = Memory()
    for s, (start, aval) in buffers.offsets.items():
        if start < 0 or start + aval.nbytes > buffers.size or aval.nbytes != avals[s].nbytes:
            raise IllegalProgram(f"v{s} does not fit into the block of {buffers.size} bytes at {start}")
    for s, (whole, start, stop) in buffers.concat_rows.items():
        shape = avals[whole].shape or (0,)
        row = avals[whole].nbytes // max(shape[0] or 0, 1)
        if not 0 <= start <= stop <= (shape[0] or 0) or (stop - start) * row != avals[s].nbytes:
            raise IllegalProgram(f"v{s} does not fit into rows {start} to {stop} of v{whole}")
    for each in program.instructions:
        placed = [s for operand in each.inputs for s in homes[operand] if s in buffers.offsets]
        for s in placed:
            _read(memory, s, each)
        for s in each.outputs:
            if s in buffers.offsets:
                start, aval = buffers.offsets[s]
                memory.write(f"v{s}", start, start + aval.nbytes)
                for operand in placed:
                    # an elementwise op may write over an operand of the same form
                    if not (each.op.is_ufunc and buffers.offsets[operand] == buffers.offsets[s]):
                        _read(memory, operand, each)
    for s in program.outputs:
        if not homes[s].isdisjoint(buffers.offsets):
            raise IllegalProgram(f"v{s} is a result and lies in the block")


def _read(memory: Memory, s: int, by: Instruction) -> None:
    try:
        memory.read(f"v{s}")
    except IllegalProgram as error:
        raise IllegalProgram(f"{by.op.name}: {error}") from None
