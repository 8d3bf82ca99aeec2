"""`Program`: a straight-line list of kernel calls, and the Python function that runs it.

A program is pure: arrays in, arrays out. State (variables, random counters) has become inputs and outputs by the time
a program exists. It is an explicit list in static single assignment form: each *slot* (an int) is written once, by an
input, a constant or an instruction. A generated Python function executes it; the list is what is pickled, and the
function is generated again on the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.eager import accept, explained
from engine.ops.joining import concat_op, stack_op
from engine.ops.linalg import matmul_op
from engine.program.instruction import Instruction
from engine.program.layout import Order, packed, unpacked
from engine.program.passes.buffer_assignment import Workspace, into
from engine.program.passes.loop_fusion import blocks
from engine.program.passes.nan_checks import NotFinite, Plain, check
from engine.runtime import buffer_pool as arena
from engine.runtime.ownership import owners_of

_RETRIES = 8
"""After so many runs that met a NaN, a program no longer hopes for runs without."""


@dataclass(slots=True)
class Program:
    """A compiled trace.

    Attributes
    ----------
    inputs, outputs : tuple of int
        Slots of the arguments and results.
    constants : dict
        Slot to array.
    instructions : list of Instruction
        In the order of execution.
    avals : dict
        What is known of each slot.
    report : dict
        What each pass did: its name to the number of instructions it removed or made simpler.
    plain : Plain, optional
        Products that may be plain, as long as all is finite.
    inline : bool
        Whether to write out what ops say of themselves in `Op.inline`.
    workspace : Workspace, optional
        Where to write large intermediate results.
    orders : dict
        What is known of how each slot lies in memory, for passes.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: dict[int, Any]
    instructions: list[Instruction]
    avals: dict[int, Aval]
    report: dict[str, int] = field(default_factory=dict)
    plain: Plain | None = None
    inline: bool = False
    workspace: Workspace | None = None
    orders: dict[int, Order] = field(default_factory=dict)
    _compiled: tuple[Callable[..., Any], Workspace | None] | None = None
    _retries: int = 0
    _owners: set[int] | None = None

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run the program.

        Parameters
        ----------
        *arguments : array
            One per input slot, of the shape and dtype it was compiled for.

        Returns
        -------
        tuple of array
            Results may share memory with arguments and constants.
        """
        if self._compiled is None:
            # threads that do so at once make the same function
            self._compiled = self._generate(self.plain, self.workspace), self.workspace
        function, workspace = self._compiled
        try:
            if workspace is not None:
                return self._in_workspace(function, workspace, arguments)
            return function(*arguments)
        except NotFinite:
            return self._careful(arguments)
        except Exception as error:
            better = self._located(error)
            if better is error:
                raise
            raise better from error

    def _in_workspace(self, function: Callable[..., Any], space: Workspace, arguments: tuple[Any, ...]) -> Any:
        if not space.places:
            return function(*arguments)
        stretch = arena.take(space.size)
        try:
            return function(*arguments, *stretch.cut(space, space.cut))
        finally:
            arena.give_back(stretch)

    def _careful(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the program with every product looked at."""
        careful = self._generate(None)
        self._retries += 1
        if self._retries >= _RETRIES:
            self._compiled = careful, None
            self.workspace = None
        return careful(*arguments)

    @property
    def owners(self) -> set[int]:
        """Who owns the memory of the constants, which results may share (`engine.runtime.ownership`)."""
        if self._owners is None:
            self._owners = owners_of(self.constants.values())
        return self._owners

    def source(self) -> str:
        """The Python source of the generated function."""
        return "\n".join(self._lines(self.plain, None))

    def _lines(self, plain: Plain | None, space: Workspace | None) -> list[str]:
        names, dying = self._names()
        places = [f"w{s}" for s in space.places] if space is not None else []
        lines = [f"def program({', '.join([*[names[s] for s in self.inputs], *places])}):"]
        for i, instruction in enumerate(self.instructions):
            # one line per instruction, so that a traceback's line number tells which one failed
            lines.append("    " + self._statement(i, instruction, names, plain, space))
            if dying[i]:
                lines[-1] += "; del " + ", ".join(dying[i])
        lines.append("    return (" + "".join(f"{names[s]}, " for s in self.outputs) + ")")
        return lines

    def _names(self) -> tuple[dict[int, str], list[list[str]]]:
        """The local variable for each slot, and per instruction those to delete after it.

        A name is used again once its value is not needed any more. Python keeps a frame in a stretch of memory of 16 kB
        with those of its callers: one that has a variable for each of a thousand values takes a stretch of its own,
        which some calls, by their depth, must have mapped each time.
        """
        last = {s: i for i, each in enumerate(self.instructions) for s in (*each.inputs, *each.outputs)}
        keep = set(self.outputs) | set(self.constants)
        names = {s: f"v{s}" for s in (*self.inputs, *self.constants)}
        free: list[str] = []
        dying: list[list[str]] = []
        for i, each in enumerate(self.instructions):
            dead = [s for s in dict.fromkeys((*each.inputs, *each.outputs)) if last[s] == i and s not in keep]
            gone = [names[s] for s in dead if s in names]
            free += gone
            for slot in each.outputs:
                names[slot] = free.pop() if free else f"v{slot}"
            written = {names[s] for s in each.outputs}
            unused = [names[s] for s in dead if s in each.outputs]
            dying.append([name for name in gone if name not in written] + unused)
            free += unused
        return names, dying

    def _statement(
        self, i: int, instruction: Instruction, names: dict[int, str], plain: Plain | None, space: Workspace | None
    ) -> str:
        results = ", ".join(names[s] for s in instruction.outputs)
        operands = [names[s] for s in instruction.inputs]
        if instruction.op.multi:
            results += "," if results else "_"
        slot = instruction.outputs[0] if instruction.outputs else -1
        place = None if space is None else self._place(slot, names, space)
        if place is None:
            statement = f"{results} = {self._expression(i, instruction, operands, plain)}"
        else:
            statement = f"{results} = {self._written_to(place, i, instruction, operands, plain)}"
        return f"{statement}; check({results})" if plain is not None and i in plain.checks else statement

    def _place(self, slot: int, names: dict[int, str], space: Workspace) -> str | None:
        """Where a slot is to be written: memory of the workspace's, a new array, or some rows of a larger one."""
        if slot in space.places:
            return f"w{slot}"
        if slot in space.results:
            return f"empty({self.avals[slot].shape}, {self.avals[slot].dtype.numpy.str!r})"
        if slot in space.pieces:
            whole, start, stop = space.pieces[slot]
            return f"{names[whole]}[{start}:{stop}].reshape({self.avals[slot].shape})"
        return None

    def _expression(self, i: int, instruction: Instruction, operands: list[str], plain: Plain | None) -> str:
        if plain is not None and i in plain.products:
            return f"np.multiply({', '.join(operands)})"
        text = self._written_out(instruction, operands) if self.inline else None
        if text is not None:
            return text
        named = [f"{name}=p{i}_{name}" for name in instruction.params]
        return f"k{i}({', '.join(operands + named)})"

    def _written_out(self, instruction: Instruction, operands: list[str]) -> str | None:
        """The kernel as a Python expression, if the op says how."""
        op, avals = instruction.op, [self.avals[s] for s in instruction.inputs]
        if op.inline is None or not all(a.is_static for a in avals):
            return None
        text = op.inline(avals, instruction.params)
        return None if text is None else text.format(*operands)

    def _written_to(
        self, place: str, i: int, instruction: Instruction, operands: list[str], plain: Plain | None
    ) -> str:
        """The same, with a place for the result."""
        if instruction.op is matmul_op:
            return f"{(self._written_out(instruction, operands) or '').removesuffix(')')}, out={place})"
        taken = ", ".join(operands)
        if instruction.op is blocks:
            return f"k{i}({taken}, chain=p{i}_chain, place={place})"
        if instruction.op in (concat_op, stack_op):
            name = "np.concatenate" if instruction.op is concat_op else "np.stack"
            return f"{name}(({taken},), p{i}_axis, out={place})"
        kernel = "np.multiply" if plain is not None and i in plain.products else f"k{i}"
        return f"{kernel}({taken}, out=into({place}, {taken}))"

    def _generate(self, plain: Plain | None, space: Workspace | None = None) -> Callable[..., Any]:
        names: dict[str, Any] = {
            "__name__": "engine.program.generated",
            "np": np,
            "check": check,
            "into": into,
            "empty": arena.empty,
        }
        names.update({f"v{s}": array for s, array in self.constants.items()})
        names.update({f"v{s}": np.asarray(self.constants[s]) for s in self._ufunc_scalars()})
        for i, instruction in enumerate(self.instructions):
            names[f"k{i}"] = self._kernel(instruction)
            names.update({f"p{i}_{name}": value for name, value in instruction.params.items()})
        exec(compile("\n".join(self._lines(plain, space)), "<program>", "exec"), names)
        return names["program"]

    def _kernel(self, instruction: Instruction) -> Callable[..., Any]:
        """The op's kernel; where shapes are known only when it runs, and it would let bad ones pass, with a check."""
        op = instruction.op
        if op.strict or all(self.avals[s].is_static for s in instruction.inputs):
            return op.kernel

        def checked(*operands: Any, **params: Any) -> Any:
            accept(op, operands, params)
            return op.kernel(*operands, **params)

        return checked

    def _ufunc_scalars(self) -> set[int]:
        """Scalar constants that only NumPy's ufuncs take, which are quicker with arrays of rank 0 than with scalars."""
        found = {s for s, array in self.constants.items() if isinstance(array, np.generic)} - set(self.outputs)
        for instruction in self.instructions:
            if not isinstance(instruction.op.kernel, np.ufunc):
                found.difference_update(instruction.inputs)
        return found

    def _located(self, error: Exception) -> Exception:
        """The error in the op's own words, with the place where the user made the op."""
        frame, line = _place_of(error.__traceback__)
        if frame is None or not 2 <= line < 2 + len(self.instructions):
            return error
        instruction = self.instructions[line - 2]
        # what the instruction was given is still there, in the function's frame
        values = {**frame.f_globals, **frame.f_locals}
        names, _ = self._names()
        operands = [values[names[s]] for s in instruction.inputs]
        return located(explained(error, instruction.op, operands, instruction.params), instruction.where)

    def __getstate__(self) -> tuple[Any, ...]:
        constants = {s: packed(array) for s, array in self.constants.items()}
        parts = (self.inputs, self.outputs, constants, self.instructions, self.avals, self.report)
        return (*parts, self.plain, self.inline, self.workspace)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.inputs, self.outputs, self.constants, self.instructions, self.avals, self.report = state[:6]
        self.plain, self.inline, self.workspace = state[6:]
        self.constants = {s: unpacked(array) for s, array in self.constants.items()}
        self._compiled, self._retries, self._owners, self.orders = None, 0, None, {}

    def __str__(self) -> str:
        """The instructions, one a line, with their avals."""
        lines = [f"inputs  {', '.join(f'v{s}:{self.avals[s]}' for s in self.inputs)}"]
        for instruction in self.instructions:
            params = "".join(f", {k}={v}" for k, v in instruction.params.items())
            results = ", ".join(f"v{s}:{self.avals[s]}" for s in instruction.outputs)
            lines.append(f"{results} = {instruction.op.name}({', '.join(f'v{s}' for s in instruction.inputs)}{params})")
        return "\n".join([*lines, f"outputs {', '.join(f'v{s}' for s in self.outputs)}"])


def _place_of(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    """The frame of the generated function in which the error arose, and the line."""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<program>":
            return traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return None, 0


def located(error: Exception, where: str) -> Exception:
    """The error with the place in the user's program appended to its message."""
    if not where:
        return error
    try:
        return type(error)(f"{error}{where}")
    except TypeError:
        # an exception class of the user's own that wants other arguments
        return error
