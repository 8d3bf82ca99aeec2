"""`Program`: a straight-line list of kernel calls, and the Python function that runs it.

A program is pure: arrays in, arrays out. State (variables, random counters) has become inputs and outputs by the time
a program exists. A generated Python function executes the instructions. The list of instructions is what is pickled;
loading it generates the function again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from engine.compiler.ir.code import Code
from engine.compiler.ir.instruction import Instruction, Size, size_of
from engine.compiler.ir.layout import packed, unpacked
from engine.compiler.liveness import dying, last_uses, values_of
from engine.compiler.passes.buffer_assignment import BufferAssignment, into
from engine.compiler.updates.deferred_updates import Product, Update
from engine.core.eager import accept, explained
from engine.executor.staged import Staged, runs_natively
from engine.runtime import buffer_pool, elementary
from engine.runtime.errors import ResourceExhaustedError
from engine.runtime.ownership import owners_of
from engine.runtime.structs import field, struct

_rows = functools.partial(buffer_pool.empty, least=0)
"""How rows of a loop are allocated: there may be many arrays of some hundred steps, which are freed together."""


@struct(slots=True)
class Program(Code):
    """A compiled trace."""

    report: dict[str, int] = field(default_factory=dict)
    """By name of each pass, the number of values or instructions that it removed or changed."""
    inline: bool = False
    """Whether to write out kernels as `Op.inline` says."""
    buffers: BufferAssignment | None = None
    """Where to write large results."""
    stages: dict[str, list[Instruction] | Size] = field(default_factory=dict)
    """Instructions left by lowering (``"lowering"``) and each pass behind it, or their size once it was pickled."""
    native: Callable[..., Any] | None = None
    """Its form in the native executor, if there is one (`engine.executor`)."""
    updates: Sequence[Update] = ()
    """Made by its caller of results, once it has succeeded; positions count from the first that was not asked for."""
    products: Mapping[int, tuple[int, Product]] = field(default_factory=dict)
    """By the positions of results that are not the value asked for but the first factor of a product that is: the
    position of the second factor, which follows the results asked for, and the product."""
    _staged: bool = False
    _compiled: tuple[Callable[..., Any], BufferAssignment | None] | None = None
    _owners: set[int] | None = None

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        """Run the program on arrays, one per input, of the shape and dtype it was compiled for.

        Results may share memory with arguments and constants; those of a list are nobody else's.
        """
        if self.native is not None:
            return self.native(*arguments)
        if not self._staged:
            self._staged = True
            if runs_natively(self):
                self.native = Staged(self, located)
                return self.native(*arguments)
        return self.run_generated(*arguments)

    def loop(
        self,
        cond: Program | None,
        operands: Sequence[Any],
        carries: int,
        sequences: int,
        steps: range,
        before: int,
        writes: tuple[tuple[int, bool], ...] = (),
    ) -> tuple[int, list[Any], list[np.ndarray]] | None:
        """As `ClosedFunction.loop`, by the tables of the programs, if they have any."""
        run = getattr(self.native, "loop", None)
        if run is None or (cond is not None and not hasattr(cond.native, "loop")):
            return None
        given = tuple([np.asarray(x) if isinstance(x, np.generic) else x for x in operands])
        by = None if cond is None else cond.native
        found = run(by, given, carries, sequences, steps[0], len(steps), steps.step < 0, before, _rows, writes)
        if found is None:
            return None
        done, state, rows = found
        return done, [x[()] if x.ndim == 0 else x for x in state], rows

    def keep_in_python(self) -> None:
        """Never run the program natively: a table is for one way in which arguments lie in memory."""
        self._staged, self.native = True, None

    def run_generated(self, *arguments: Any) -> tuple[Any, ...]:
        """Run the program by the generated Python function."""
        if self._compiled is None:
            # threads that do so at once make the same function
            self._compiled = self._generate(self.buffers), self.buffers
        function, buffers = self._compiled
        try:
            if buffers is not None:
                return self._with_buffers(function, buffers, arguments)
            return function(*arguments)
        except Exception as error:
            better = self._located(error)
            if better is error:
                raise
            raise better from error

    def _with_buffers(
        self, function: Callable[..., Any], buffers: BufferAssignment, arguments: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        if not buffers.offsets:
            return function(*arguments)
        block = buffer_pool.take(buffers.size)
        try:
            return function(*arguments, *block.views(buffers, buffers.views))
        finally:
            buffer_pool.give_back(block)

    @property
    def owners(self) -> set[int]:
        """Who owns the memory of the constants, which results may share (`engine.runtime.ownership`)."""
        if self._owners is None:
            self._owners = owners_of(self.constants.values())
        return self._owners

    def source(self) -> str:
        """The Python source of the generated function."""
        return "\n".join(self._lines(None))

    def _lines(self, buffers: BufferAssignment | None) -> list[str]:
        names, deleted = self._names()
        outs = [f"w{s}" for s in buffers.offsets] if buffers is not None else []
        lines = [f"def program({', '.join([*[names[s] for s in self.inputs], *outs])}):"]
        for i, instruction in enumerate(self.instructions):
            # one line per instruction, so that a traceback's line number tells which one failed
            lines.append("    " + self._statement(i, instruction, names, buffers))
            if deleted[i]:
                lines[-1] += "; del " + ", ".join(deleted[i])
        lines.append("    return (" + "".join(f"{names[s]}, " for s in self.outputs) + ")")
        return lines

    def _names(self) -> tuple[dict[int, str], list[list[str]]]:
        """The local variable for each value, and per instruction those to delete after it.

        A name is used again once its value is not needed any more. Python keeps a frame in 16 kB of memory with
        those of its callers: a frame with a variable for each of a thousand values takes 16 kB of its own, which some
        calls, by their depth, must have mapped each time.
        """
        last = last_uses(values_of(self.instructions), (*self.outputs, *self.constants))
        names = {s: f"v{s}" for s in (*self.inputs, *self.constants)}
        free: list[str] = []
        deleted: list[list[str]] = []
        for each, dead in zip(self.instructions, dying(last, len(self.instructions)), strict=True):
            gone = [names[s] for s in dead if s in names]
            free += gone
            for value_id in each.outputs:
                names[value_id] = free.pop() if free else f"v{value_id}"
            written = {names[s] for s in each.outputs}
            unused = [names[s] for s in dead if s in each.outputs]
            deleted.append([name for name in gone if name not in written] + unused)
            free += unused
        return names, deleted

    def _statement(
        self, i: int, instruction: Instruction, names: dict[int, str], buffers: BufferAssignment | None
    ) -> str:
        results = ", ".join(names[s] for s in instruction.outputs)
        operands = [names[s] for s in instruction.inputs]
        if instruction.op.multi:
            results += "," if results else "_"
        value_id = instruction.outputs[0] if instruction.outputs else -1
        out = None if buffers is None else self._out(value_id, names, buffers)
        written = self._written_out(instruction, operands) if self.inline or out is not None else None
        call = written or self._call(i, instruction, operands)
        if out is None:
            return f"{results} = {call}"
        if instruction.op.is_ufunc:
            taken = ", ".join(operands)
            return f"{results} = k{i}({taken}, out=into({out}, {taken}))"
        return f"{results} = {call.removesuffix(')')}, out={out})"

    def _out(self, value_id: int, names: dict[int, str], buffers: BufferAssignment) -> str | None:
        """Where to write a value, if it matters: at an offset in the block, in a new array, or in rows of a concat."""
        if value_id in buffers.offsets:
            return f"w{value_id}"
        if value_id in buffers.results:
            return f"empty({self.avals[value_id].shape}, {self.avals[value_id].dtype.numpy.str!r})"
        if value_id in buffers.concat_rows:
            whole, start, stop = buffers.concat_rows[value_id]
            return f"{names[whole]}[{start}:{stop}].reshape({self.avals[value_id].shape})"
        return None

    def _call(self, i: int, instruction: Instruction, operands: list[str]) -> str:
        """The call of the kernel."""
        named = [f"{name}=p{i}_{name}" for name in instruction.params]
        return f"k{i}({', '.join(operands + named)})"

    def _written_out(self, instruction: Instruction, operands: list[str]) -> str | None:
        """The kernel as a Python expression, if the op says how."""
        op, avals = instruction.op, [self.avals[s] for s in instruction.inputs]
        if op.inline is None or not all(a.is_static for a in avals):
            return None
        text = op.inline(avals, instruction.params)
        return None if text is None else text.format(*operands)

    def _generate(self, buffers: BufferAssignment | None) -> Callable[..., Any]:
        if not self.instructions:
            # to compile a function takes as long as to run a small program
            places, constants = {s: k for k, s in enumerate(self.inputs)}, self.constants
            return lambda *given: tuple([given[places[s]] if s in places else constants[s] for s in self.outputs])
        names: dict[str, Any] = {
            "__name__": "engine.compiler.generated",
            "np": np,
            "into": into,
            "empty": buffer_pool.empty,
        }
        names.update({f"v{s}": array for s, array in self.constants.items()})
        names.update({f"v{s}": np.asarray(self.constants[s]) for s in self._ufunc_scalars()})
        for i, instruction in enumerate(self.instructions):
            names[f"k{i}"] = self.kernel(instruction)
            names.update({f"p{i}_{name}": value for name, value in instruction.params.items()})
        exec(compile("\n".join(self._lines(buffers)), "<program>", "exec"), names)
        return names["program"]

    def kernel(self, instruction: Instruction) -> Callable[..., Any]:
        """The op's kernel; where shapes are known only when it runs, and it would let bad ones pass, with a check."""
        op = instruction.op
        if op.strict or all(self.avals[s].is_static for s in instruction.inputs):
            return op.kernel

        def guarded(*operands: Any, **params: Any) -> np.ndarray:
            accept(op, operands, params)
            return op.kernel(*operands, **params)

        return guarded

    def _ufunc_scalars(self) -> set[int]:
        """Scalar constants that only NumPy's ufuncs take, which are quicker with arrays of rank 0 than with scalars."""
        found = {s for s, array in self.constants.items() if isinstance(array, np.generic)} - set(self.outputs)
        for instruction in self.instructions:
            if not elementary.is_ufunc(instruction.op.kernel):
                found.difference_update(instruction.inputs)
        return found

    def _located(self, error: Exception) -> Exception:
        """The error in the op's own words, with the place where the user made the op."""
        frame, line = _frame_of(error.__traceback__)
        if frame is None or not 2 <= line < 2 + len(self.instructions):
            return ResourceExhaustedError.of(error, "the program") if isinstance(error, MemoryError) else error
        instruction = self.instructions[line - 2]
        # what the instruction was given is still there, in the function's frame
        values = {**frame.f_globals, **frame.f_locals}
        names, _ = self._names()
        operands = [values[names[s]] for s in instruction.inputs]
        return located(explained(error, instruction.op, operands, instruction.params), instruction.where)

    def __getstate__(self) -> tuple[Any, ...]:
        constants = {s: packed(array) for s, array in self.constants.items()}
        parts = (self.inputs, self.outputs, constants, self.instructions, self.avals, self.report)
        return (*parts, self.inline, self.buffers, self.sizes())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.inputs, self.outputs, self.constants, self.instructions, self.avals, self.report = state[:6]
        self.inline, self.buffers, self.stages = state[6:]
        self.constants = {s: unpacked(array) for s, array in self.constants.items()}
        self._compiled, self._owners, self.orders = None, None, {}
        self.native, self._staged, self.updates, self.products = None, False, (), {}

    def sizes(self) -> dict[str, Size]:
        """By pass: instructions, floating-point operations and bytes read and written after it."""
        known: dict[int, Size] = {}
        found: dict[str, Size] = {}
        for name, left in self.stages.items():
            if not isinstance(left, Size):
                left = known.get(id(left)) or known.setdefault(id(left), size_of(left, self.avals))
            found[name] = left
        return found

    def explain(self) -> str:
        """The changes that each pass made to this program, as a table.

        Passes of level "node" have no sizes of their own: they run together while nodes become instructions, which is
        the row ``lowering``. The other rows say what there is after the pass: instructions, floating-point operations,
        bytes read and written. `engine.compiler.pipeline.PIPELINE` says what each pass does.

        Examples
        --------
        >>> from engine.core.aval import Aval
        >>> from engine.core.dtypes import float64
        >>> from engine.core.trace import Trace
        >>> from engine.ops.trig import sin
        >>> from engine.compiler.lowering import lower
        >>> trace = Trace()
        >>> x = trace.placeholder(Aval((3,), float64))
        >>> y = sin(x) * sin(x)
        >>> passes = ("common_subexpression_elimination", "dead_code_elimination")
        >>> program, _, _ = lower(trace.nodes[1:], [(x, x.aval)], [y], passes=passes)
        >>> print(program.explain())
        pass                              changed  instructions  flops  bytes
        common_subexpression_elimination        1
        lowering                                              2      6    120
        dead_code_elimination                   0             2      6    120
        block for intermediates: 0 bytes
        """
        sizes = self.sizes()
        rows = [("pass", "changed", "instructions", "flops", "bytes")]
        rows += [(name, str(count), "", "", "") for name, count in self.report.items() if name not in sizes]
        for name, size in sizes.items():
            changed = "" if name == "lowering" else str(self.report.get(name, 0))
            rows.append((name, changed, str(size.instructions), str(size.flops), str(size.bytes)))
        first, *widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = [
            "  ".join([row[0].ljust(first), *[cell.rjust(w) for cell, w in zip(row[1:], widths, strict=True)]]).rstrip()
            for row in rows
        ]
        block = 0 if self.buffers is None else self.buffers.size
        return "\n".join([*lines, f"block for intermediates: {block} bytes", *self.plans()])

    def plans(self) -> list[str]:
        """Lines about the instructions that carry out a plan."""
        params = [(key, p) for i in self.instructions for key, p in i.params.items()]
        return [repr(p) for key, p in params if key == "recipe" or getattr(p, "tells", False)]

    def __str__(self) -> str:
        """The instructions, one a line, with their avals."""
        lines = [f"inputs  {', '.join(f'v{s}:{self.avals[s]}' for s in self.inputs)}"]
        for instruction in self.instructions:
            params = "".join(f", {k}={v}" for k, v in instruction.params.items())
            results = ", ".join(f"v{s}:{self.avals[s]}" for s in instruction.outputs)
            lines.append(f"{results} = {instruction.op.name}({', '.join(f'v{s}' for s in instruction.inputs)}{params})")
        return "\n".join([*lines, f"outputs {', '.join(f'v{s}' for s in self.outputs)}"])


def _frame_of(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
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
