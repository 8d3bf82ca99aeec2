"""Chains of elementwise ops on large arrays, run block by block.

An op at a time, each intermediate result goes to memory and comes back. In blocks that fit into the cache it does not,
and needs no memory either. Each element goes through the same kernels in the same order, so no bit changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.structural import reshape_to
from engine.program.instruction import Instruction
from engine.program.kernels import instruction_op
from engine.program.passes.nan_checks import NotFinite, Plain, check, plain
from engine.program.passes.unit_axes import is_elementwise
from engine.runtime.buffer_pool import empty

LARGE = 5 << 19
"""Bytes of an array from which on blocks pay: it does not stay in any cache until the next op."""
SHORT = 1 << 10
"""Elements in memory one after the other, below which they do not."""
BLOCK_BYTES = 1 << 18
"""Bytes of an array in one block."""


class Chain:
    """Elementwise instructions on arrays of one size and on scalars.

    Parameters
    ----------
    instructions : sequence of Instruction
        In the order of execution.
    inputs : sequence of int
        Slots. An input is a scalar or has as many elements as all the others, in the same order.
    outputs : sequence of (int, tuple of int)
        Slots, and the shapes that the results shall have.
    avals : dict
        Of all slots.
    members : sequence of Instruction, optional
        The same with the reshapes between them, for arrays that no blocks can be made of.
    results : sequence of int, optional
        The slots of the results among those.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        inputs: Sequence[int],
        outputs: Sequence[tuple[int, tuple[int, ...]]],
        avals: dict[int, Aval],
        members: Sequence[Instruction] = (),
        results: Sequence[int] = (),
    ) -> None:
        self.instructions = tuple(instructions)
        self.members, self.results = tuple(members or instructions), tuple(results or [s for s, _ in outputs])
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.avals = {s: avals[s] for i in instructions for s in (*i.inputs, *i.outputs)}
        self.size = max(a.size or 0 for a in self.avals.values())
        self._functions: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self._spare: list[np.dtype] = []

    def __call__(self, *arrays: Any, place: Any = None) -> tuple[Any, ...]:
        """The results for arrays of the inputs' shapes; there may be a place for the result if it is one."""
        in_blocks = [self.avals[s].size == self.size for s in self.inputs]
        rows = _in_rows([a for a, full in zip(arrays, in_blocks, strict=True) if full])
        if rows is None:
            return self._one_by_one(arrays)
        left = iter(rows)
        operands = [next(left) if full else a.reshape(()) for a, full in zip(arrays, in_blocks, strict=True)]
        results = {s: empty(shape, self.avals[s].dtype.numpy) if place is None else place for s, shape in self.outputs}
        self._run(operands, in_blocks, [r.reshape(rows[0].shape) for r in results.values()], rows[0].shape)
        return tuple([results[s].reshape(shape) for s, shape in self.outputs])

    def _run(self, operands: list[Any], in_blocks: list[bool], results: list[Any], shape: tuple[int, ...]) -> None:
        """Fill the results, row by row."""
        if self._functions is None:
            self._functions = self._generate(plain(self.instructions, self.avals)), self._generate(None)
        quick, careful = self._functions
        block = min(BLOCK_BYTES // max(a.dtype.size for a in self.avals.values()), shape[-1])
        spare = [np.empty(block, dtype) for dtype in self._spare]
        for row in np.ndindex(*shape[:-1]):
            of_row = [x[row] if full else x for x, full in zip(operands, in_blocks, strict=True)]
            of_row += [r[row] for r in results] + spare
            try:
                quick(shape[-1], block, *of_row)
            except NotFinite:
                careful(shape[-1], block, *of_row)

    def _one_by_one(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results by one instruction after the other, as they would be without blocks."""
        known = dict(zip(self.inputs, arrays, strict=True))
        last = {s: i for i, member in enumerate(self.members) for s in member.inputs}
        last.update({s: len(self.members) for s in self.results})
        for i, member in enumerate(self.members):
            operands = [known[s] for s in member.inputs]
            known[member.outputs[0]] = member.op.kernel(*operands, **member.params)
            del operands
            for s in {s for s in member.inputs if last[s] == i}:
                del known[s]
        return tuple([known[s] for s in self.results])

    # ---- the generated function --------------------------------------------------------------------------------------

    def _generate(self, trusted: Plain | None) -> Callable[..., Any]:
        """A function of the lengths of a row and a block, rows of inputs and results, and spare blocks."""
        places, self._spare = self._places()
        names: dict[str, Any] = {"__name__": "engine.program.generated", "np": np, "check": check}
        stored = dict.fromkeys(s for s, _ in self.outputs)
        rows = [places[s] for s in (*self.inputs, *stored) if self.avals[s].size == self.size]
        arguments = [f"all_{p}" if p in rows else p for p in [places[s] for s in (*self.inputs, *stored)]]
        spare = [f"spare{k}" for k in range(len(self._spare))]
        source = [
            f"def chain(size, block, {', '.join([*arguments, *[f'all_{p}' for p in spare]])}):",
            "    for start in range(0, size, block):",
            *[f"        {p} = all_{p}[start:start + block]" for p in rows],
            *[f"        {p} = all_{p}[:size - start]" for p in spare],
        ]
        for i, instruction in enumerate(self.instructions):
            names[f"k{i}"] = instruction.op.kernel
            names.update({f"p{i}_{name}": value for name, value in instruction.params.items()})
            source.append("        " + _statement(i, instruction, places, trusted))
        exec(compile("\n".join(source), "<chain>", "exec"), names)
        return names["chain"]

    def _places(self) -> tuple[dict[int, str], list[np.dtype]]:
        """What holds each slot's block: the name of an argument or of a spare array.

        An op may write over an operand that nobody needs any more, and into what a later result will be written to.
        """
        places = {s: f"v{s}" for s in (*self.inputs, *[s for s, _ in self.outputs])}
        last = {s: i for i, instruction in enumerate(self.instructions) for s in instruction.inputs}
        made = {instruction.outputs[0]: i for i, instruction in enumerate(self.instructions)}
        spare: list[np.dtype] = []
        # the names of what is free, with its dtype and until which instruction
        free = [(places[s], self.avals[s].dtype.numpy, made[s]) for s in dict.fromkeys(s for s, _ in self.outputs)]
        held: dict[int, tuple[str, np.dtype, int]] = {}
        for i, instruction in enumerate(self.instructions):
            (slot,) = instruction.outputs
            dtype, end = self.avals[slot].dtype.numpy, last.get(slot, i)
            free += [held.pop(s) for s in {*instruction.inputs} if s in held and last[s] == i]
            if slot not in places:
                fitting = [f for f in free if f[1] == dtype and end <= f[2]]
                if not fitting:
                    fitting.append((f"spare{len(spare)}", dtype, len(self.instructions)))
                    free += fitting
                    spare.append(dtype)
                held[slot] = fitting[-1]
                free.remove(fitting[-1])
                places[slot] = fitting[-1][0]
        return places, spare

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_functions": None}

    def __repr__(self) -> str:
        steps = [f"v{i.outputs[0]} = {i.op.name}({', '.join(f'v{s}' for s in i.inputs)})" for i in self.instructions]
        return f"[{'; '.join(steps)}]"


def _statement(i: int, instruction: Instruction, places: dict[int, str], trusted: Plain | None) -> str:
    """One instruction on blocks, its result written where it belongs."""
    operands = [places[s] for s in instruction.inputs]
    into = places[instruction.outputs[0]]
    if trusted is not None and i in trusted.products:
        text = f"np.multiply({', '.join(operands)}, out={into})"
    elif isinstance(instruction.op.kernel, np.ufunc):
        text = f"k{i}({', '.join(operands)}, out={into})"
    else:
        named = [f"{name}=p{i}_{name}" for name in instruction.params]
        text = f"np.copyto({into}, k{i}({', '.join(operands + named)}))"
    return f"{text}; check({into})" if trusted is not None and i in trusted.checks else text


def _in_rows(arrays: Sequence[Any]) -> list[Any] | None:
    """The arrays, which differ in axes of size one at most, with all those axes as one that are one in memory.

    None if their results would not lie in C order, or if the rows are short.
    """
    shape = tuple([d for d in arrays[0].shape if d != 1])
    arrays = [a.reshape(shape) for a in arrays]
    for a in arrays:
        steps = [s for s in a.strides if s]
        if steps != sorted(steps, reverse=True) or (steps and steps[-1] < 0):
            return None
    first = len(shape) - 1
    while first and all(a.strides[first - 1] == a.strides[first] * shape[first] for a in arrays):
        first -= 1
    length = math.prod(shape[first:])
    return None if length < SHORT else [a.reshape(*shape[:first], length) for a in arrays]


blocks = instruction_op(
    "blocks",
    __name__,
    lambda *arrays, chain, place=None: chain(*arrays, place=place),
    lambda *avals, chain: tuple([Aval(shape, chain.avals[s].dtype) for s, shape in chain.outputs]),
    "A chain of elementwise ops, block by block.",
    multi=True,
)


# ---- finding chains --------------------------------------------------------------------------------------------------


def fused(instructions: Sequence[Instruction], avals: dict[int, Aval], kept: set[int]) -> tuple[list[Instruction], int]:
    """The instructions with elementwise ones on large arrays put together, and how many were.

    Parameters
    ----------
    kept : set of int
        Slots that are wanted when all is done.
    """
    if all((aval.size or 0) * aval.dtype.size < LARGE for aval in avals.values()):
        return list(instructions), 0
    groups = _Groups(instructions, avals, kept)
    for instruction in instructions:
        groups.add(instruction)
    for size in list(groups.members):
        groups.close(size)
    return groups.result, groups.count


class _Groups:
    """Elementwise instructions wait in groups, one for each size, until somebody else needs a result.

    Nor do they wait when no later instruction can join them: what they read would only take memory meanwhile.
    """

    def __init__(self, instructions: Sequence[Instruction], avals: dict[int, Aval], kept: set[int]) -> None:
        self.avals, self.kept = avals, kept
        self.users: dict[int, list[Instruction]] = {}
        for instruction in instructions:
            for s in instruction.inputs:
                self.users.setdefault(s, []).append(instruction)
        self.members: dict[int, list[Instruction]] = {}
        self.waiting: dict[int, int] = {}
        self.seen: set[int] = set()
        self.result: list[Instruction] = []
        self.count = 0

    def add(self, instruction: Instruction) -> None:
        """Put an instruction into its group, or at the end of the result."""
        size = self.group_of(instruction)
        self.seen.add(id(instruction))
        for s in instruction.inputs:
            if s in self.waiting and self.waiting[s] != size:
                self.close(self.waiting[s])
        if size is None:
            self.result.append(instruction)
        else:
            self.members.setdefault(size, []).append(instruction)
            self.waiting[instruction.outputs[0]] = size
            if self.is_complete(size):
                self.close(size)

    def is_complete(self, size: int) -> bool:
        """Whether no later instruction could join a group for one of its arrays."""
        arrays = {s for m in self.members[size] for s in (*m.inputs, *m.outputs) if self.avals[s].size == size}
        later = (user for s in arrays for user in self.users.get(s, ()) if id(user) not in self.seen)
        return not any(self.group_of(user) == size for user in later)

    def group_of(self, instruction: Instruction) -> int | None:
        """The size of the arrays that an instruction works on, if it can be run in blocks."""
        op, outputs = instruction.op, [self.avals[s] for s in instruction.outputs]
        if op is reshape_to:
            # a new name for a result of the group
            return self.waiting.get(instruction.inputs[0])
        operands = [self.avals[s] for s in instruction.inputs]
        if op.stateful or len(outputs) != 1 or not is_elementwise(op):
            return None
        (out,) = outputs
        if out.size is None or not all(_is_real(a) and _fits(a, out) for a in (*operands, out)):
            return None
        return out.size if out.size * max(a.dtype.size for a in (*operands, out)) >= LARGE else None

    def close(self, size: int) -> None:
        """Put a group at the end of the result, as one instruction if it has several."""
        members = self.members.pop(size)
        made = {s for m in members for s in m.outputs}
        self.waiting = {s: n for s, n in self.waiting.items() if s not in made}
        steps = [m for m in members if m.op is not reshape_to]
        if len(steps) < 2:
            self.result += members
            return
        self.result.append(self.together(members, made))
        self.count += len(steps)

    def together(self, members: Sequence[Instruction], made: set[int]) -> Instruction:
        """One instruction for a group."""
        root = {s: s for s in made}
        steps = []
        for m in members:
            if m.op is reshape_to:
                root[m.outputs[0]] = root[m.inputs[0]]
            else:
                operands = tuple([root.get(s, s) for s in m.inputs])
                steps.append(Instruction(m.op, operands, m.params, m.outputs, m.where))
        inside = {id(m) for m in members}
        outputs = [s for m in members for s in m.outputs if self.is_needed(s, inside)]
        inputs = dict.fromkeys(s for step in steps for s in step.inputs if s not in made)
        shapes: list[Any] = [self.avals[s].shape for s in outputs]
        made_as = [(root[s], d) for s, d in zip(outputs, shapes, strict=True)]
        chain = Chain(steps, list(inputs), made_as, self.avals, members, outputs)
        return Instruction(blocks, tuple(inputs), {"chain": chain}, tuple(outputs), members[-1].where)

    def is_needed(self, slot: int, inside: set[int]) -> bool:
        """Whether anybody outside a group needs a slot."""
        return slot in self.kept or any(id(user) not in inside for user in self.users.get(slot, ()))


def _is_real(aval: Aval) -> bool:
    return aval.dtype.is_floating or aval.dtype.is_bool


def _fits(aval: Aval, out: Aval) -> bool:
    """Whether an operand is a scalar, or has the result's elements in the same order."""
    if aval.shape is None or out.shape is None:
        return False
    return aval.size == 1 or [d for d in aval.shape if d != 1] == [d for d in out.shape if d != 1]
