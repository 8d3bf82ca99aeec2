"""Loop fusion: a chain of elementwise ops on large arrays runs tile by tile.

One op at a time, each intermediate result goes to memory and comes back. A tile fits into the cache, so a tile's
intermediate results stay there and need no memory of their own. Each element goes through its kernels in the order of
the program, so no bit changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.compiler.liveness import dying, last_uses, values_of
from engine.compiler.passes.nan_checks import Speculation, SpeculationFailed, check, speculate
from engine.core.aval import Aval
from engine.core.op import Op
from engine.core.structural import reshape_to
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

LARGE = TUNING.loop_fusion_bytes
"""Bytes of an array from which on tiles pay: it does not stay in any cache until the next op."""
SHORT = TUNING.loop_fusion_run
"""Elements in memory one after the other, below which they do not."""
TILE_BYTES = TUNING.loop_fusion_tile
"""Bytes of an array in one tile."""


class FusedLoop:
    """Elementwise instructions on arrays of one size and on scalars.

    Parameters
    ----------
    instructions : sequence of Instruction
        In the order of execution.
    inputs : sequence of int
        Value ids. An input is a scalar or has as many elements as all the others, in the same order.
    outputs : sequence of (int, tuple of int)
        Value ids, and the shapes that the results shall have.
    avals : dict
        Of all value ids.
    members : sequence of Instruction, optional
        The instructions with the reshapes between them, for arrays that cannot be tiled.
    results : sequence of int, optional
        The value ids of the results among `members`.
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
        self._scratch: list[np.dtype] = []

    def __call__(self, *arrays: Any, out: Any = None) -> tuple[Any, ...]:
        """The results for arrays of the inputs' shapes; a single result is written to `out`, if given."""
        tiled = [self.avals[s].size == self.size for s in self.inputs]
        rows = _as_rows([a for a, full in zip(arrays, tiled, strict=True) if full])
        if rows is None:
            return self.unfused(arrays, lambda op, operands, params: op.kernel(*operands, **params))
        left = iter(rows)
        operands = [next(left) if full else a.reshape(()) for a, full in zip(arrays, tiled, strict=True)]
        results = {s: empty(shape, self.avals[s].dtype.numpy) if out is None else out for s, shape in self.outputs}
        self._run(operands, tiled, [r.reshape(rows[0].shape) for r in results.values()], rows[0].shape)
        return tuple([results[s].reshape(shape) for s, shape in self.outputs])

    def _run(self, operands: list[Any], tiled: list[bool], results: list[Any], shape: tuple[int, ...]) -> None:
        """Fill the results, row by row."""
        if self._functions is None:
            self._functions = self._generate(speculate(self.instructions, self.avals)), self._generate(None)
        speculative, checked = self._functions
        tile = min(TILE_BYTES // max(a.dtype.size for a in self.avals.values()), shape[-1])
        scratch = [np.empty(tile, dtype) for dtype in self._scratch]
        for row in np.ndindex(*shape[:-1]):
            of_row = [x[row] if full else x for x, full in zip(operands, tiled, strict=True)]
            of_row += [r[row] for r in results] + scratch
            try:
                speculative(shape[-1], tile, *of_row)
            except SpeculationFailed:
                checked(shape[-1], tile, *of_row)

    @property
    def bytes(self) -> int:
        """Bytes of an array that it goes through."""
        return self.size * max(a.dtype.size for a in self.avals.values())

    def unfused(self, arrays: Sequence[Any], call: Callable[[Op, list[Any], dict[str, Any]], Any]) -> tuple[Any, ...]:
        """The results by one instruction after the other, as they would be without tiles; `call` calls a kernel."""
        known = dict(zip(self.inputs, arrays, strict=True))
        last = last_uses(values_of(self.members), self.results)
        for member, dead in zip(self.members, dying(last, len(self.members)), strict=True):
            known[member.outputs[0]] = call(member.op, [known[s] for s in member.inputs], member.params)
            for s in dead:
                del known[s]
        return tuple([known[s] for s in self.results])

    # ---- the generated function --------------------------------------------------------------------------------------

    def _generate(self, speculation: Speculation | None) -> Callable[..., Any]:
        """A function of the lengths of a row and a tile, rows of inputs and results, and scratch tiles."""
        buffers, self._scratch = self._buffers()
        names: dict[str, Any] = {"__name__": "engine.compiler.generated", "np": np, "check": check}
        stored = dict.fromkeys(s for s, _ in self.outputs)
        rows = [buffers[s] for s in (*self.inputs, *stored) if self.avals[s].size == self.size]
        arguments = [f"all_{p}" if p in rows else p for p in [buffers[s] for s in (*self.inputs, *stored)]]
        scratch = [f"scratch{k}" for k in range(len(self._scratch))]
        source = [
            f"def loop(size, tile, {', '.join([*arguments, *[f'all_{p}' for p in scratch]])}):",
            "    for start in range(0, size, tile):",
            *[f"        {p} = all_{p}[start:start + tile]" for p in rows],
            *[f"        {p} = all_{p}[:size - start]" for p in scratch],
        ]
        for i, instruction in enumerate(self.instructions):
            names[f"k{i}"] = instruction.op.kernel
            names.update({f"p{i}_{name}": value for name, value in instruction.params.items()})
            source.append("        " + _statement(i, instruction, buffers, speculation))
        exec(compile("\n".join(source), "<loop>", "exec"), names)
        return names["loop"]

    def _buffers(self) -> tuple[dict[int, str], list[np.dtype]]:
        """The name of the buffer for each value's tile: an argument or a scratch array.

        An op may write over an operand that is dead, and into the memory of a later result.
        """
        buffers = {s: f"v{s}" for s in (*self.inputs, *[s for s, _ in self.outputs])}
        last = last_uses(values_of(self.instructions))
        made = {instruction.outputs[0]: i for i, instruction in enumerate(self.instructions)}
        scratch: list[np.dtype] = []
        # the names of what is free, with its dtype and until which instruction
        free = [(buffers[s], self.avals[s].dtype.numpy, made[s]) for s in dict.fromkeys(s for s, _ in self.outputs)]
        held: dict[int, tuple[str, np.dtype, int]] = {}
        for i, instruction in enumerate(self.instructions):
            (value_id,) = instruction.outputs
            dtype, end = self.avals[value_id].dtype.numpy, last[value_id]
            free += [held.pop(s) for s in {*instruction.inputs} if s in held and last[s] == i]
            if value_id not in buffers:
                fitting = [f for f in free if f[1] == dtype and end <= f[2]]
                if not fitting:
                    fitting.append((f"scratch{len(scratch)}", dtype, len(self.instructions)))
                    free += fitting
                    scratch.append(dtype)
                held[value_id] = fitting[-1]
                free.remove(fitting[-1])
                buffers[value_id] = fitting[-1][0]
        return buffers, scratch

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_functions": None}

    def __repr__(self) -> str:
        steps = [f"v{i.outputs[0]} = {i.op.name}({', '.join(f'v{s}' for s in i.inputs)})" for i in self.instructions]
        return f"[{'; '.join(steps)}]"


def _statement(i: int, instruction: Instruction, buffers: dict[int, str], speculation: Speculation | None) -> str:
    """One instruction on tiles, its result written to its buffer."""
    operands = [buffers[s] for s in instruction.inputs]
    into = buffers[instruction.outputs[0]]
    if speculation is not None and i in speculation.products:
        text = f"np.multiply({', '.join(operands)}, out={into})"
    elif isinstance(instruction.op.kernel, np.ufunc):
        text = f"k{i}({', '.join(operands)}, out={into})"
    else:
        named = [f"{name}=p{i}_{name}" for name in instruction.params]
        text = f"np.copyto({into}, k{i}({', '.join(operands + named)}))"
    return f"{text}; check({into})" if speculation is not None and i in speculation.checks else text


def _as_rows(arrays: Sequence[Any]) -> list[Any] | None:
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


fused_loop = instruction_op(
    "fused_loop",
    __name__,
    lambda *arrays, loop, out=None: loop(*arrays, out=out),
    lambda *avals, loop: tuple([Aval(shape, loop.avals[s].dtype) for s, shape in loop.outputs]),
    "Elementwise ops, one after the other, tile by tile.",
    multi=True,
    takes_out=True,
    flops=lambda operands, results, params: params["loop"].size * len(params["loop"].instructions),
)


# ---- finding chains --------------------------------------------------------------------------------------------------


def fuse_loops(
    instructions: Sequence[Instruction], avals: dict[int, Aval], live_out: set[int]
) -> tuple[list[Instruction], int]:
    """The instructions with elementwise ones on large arrays fused, and how many were.

    Parameters
    ----------
    live_out : set of int
        Ids of the values that are needed after the last instruction.
    """
    if all((aval.size or 0) * aval.dtype.size < LARGE for aval in avals.values()):
        return list(instructions), 0
    groups = _Groups(instructions, avals, live_out)
    for instruction in instructions:
        groups.add(instruction)
    for size in list(groups.members):
        groups.close(size)
    return groups.result, groups.count


class _Groups:
    """Elementwise instructions wait in groups, one for each size, until an instruction outside needs a result.

    A group is closed early if no later instruction can join it: what it reads would only take memory meanwhile.
    """

    def __init__(self, instructions: Sequence[Instruction], avals: dict[int, Aval], live_out: set[int]) -> None:
        self.avals, self.live_out = avals, live_out
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
        """The size of the arrays that an instruction works on, if it can be tiled."""
        op, outputs = instruction.op, [self.avals[s] for s in instruction.outputs]
        if op is reshape_to:
            # another shape of a result of the group
            return self.waiting.get(instruction.inputs[0])
        operands = [self.avals[s] for s in instruction.inputs]
        if op.stateful or len(outputs) != 1 or not op.elementwise:
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
        self.result.append(self.fuse(members, made))
        self.count += len(steps)

    def fuse(self, members: Sequence[Instruction], made: set[int]) -> Instruction:
        """One instruction for a group."""
        source = {s: s for s in made}
        steps = []
        for m in members:
            if m.op is reshape_to:
                source[m.outputs[0]] = source[m.inputs[0]]
            else:
                operands = tuple([source.get(s, s) for s in m.inputs])
                steps.append(Instruction(m.op, operands, m.params, m.outputs, m.where))
        inside = {id(m) for m in members}
        outputs = [s for m in members for s in m.outputs if self.is_needed(s, inside)]
        inputs = dict.fromkeys(s for step in steps for s in step.inputs if s not in made)
        shapes: list[Any] = [self.avals[s].shape for s in outputs]
        made_as = [(source[s], d) for s, d in zip(outputs, shapes, strict=True)]
        loop = FusedLoop(steps, list(inputs), made_as, self.avals, members, outputs)
        return Instruction(fused_loop, tuple(inputs), {"loop": loop}, tuple(outputs), members[-1].where)

    def is_needed(self, value_id: int, inside: set[int]) -> bool:
        """Whether an instruction outside the group, or the caller, needs a value."""
        return value_id in self.live_out or any(id(user) not in inside for user in self.users.get(value_id, ()))


def _is_real(aval: Aval) -> bool:
    return aval.dtype.is_floating or aval.dtype.is_bool


def _fits(aval: Aval, out: Aval) -> bool:
    """Whether an operand is a scalar, or has the result's elements in the same order."""
    if aval.shape is None or out.shape is None:
        return False
    return aval.size == 1 or [d for d in aval.shape if d != 1] == [d for d in out.shape if d != 1]
