"""How a program comes to run natively.

The first run calls kernels one by one, the second is observed, then there is a table.
So a program that runs once costs nothing but its kernels.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from engine.compiler.ir.instruction import Instruction, is_stateful
from engine.compiler.ir.layout import same_layout
from engine.compiler.liveness import dying, last_uses, values_of
from engine.compiler.passes.inplace_concat import alloc
from engine.compiler.passes.nan_checks import no_nan, without_choices
from engine.compiler.verify import Checked
from engine.core.eager import explained, forget_memory, in_own_memory
from engine.core.operands import Operand
from engine.executor.encoding import Fixed, table_of
from engine.executor.extension import executor
from engine.executor.hidden import Hidden, Opaque, is_readable, opaque_if
from engine.executor.recorder import Observed, Recorder
from engine.executor.refs import Call, Recording, Ref, Root, Row
from engine.executor.rewrites import rewrite_of
from engine.executor.vocabulary import filled
from engine.runtime.collector import uncollected
from engine.runtime.patience import patience

_LARGE = 1 << 20
"""Bytes of what chunks are put together to, from which on a program runs in Python, which computes in its place."""
_LARGE_EACH = 1 << 19
"""The same for each instruction: what calls of many take is more than what copies do."""
_LARGEST_CONSTANT = 1 << 16
"""Bytes of a constant that a table may hold of what is computed from shapes, where it is not one number repeated."""
_TABLES = 4
"""Tables for arguments that lie in different ways in memory."""
_MOST_RESUMED = 8
"""After so many runs that Python carried on with, and finished, a program runs in Python for good."""


class Runnable(Checked, Protocol):
    """The parts of a program that are needed."""

    native: Any

    def kernel(self, instruction: Instruction) -> Callable[..., Any]:
        """The function to call for an instruction."""

    def run_generated(self, *arguments: Any) -> tuple[Any, ...]:
        """Run it in Python."""


class Staged:
    """The way a program runs until it has a table, and where that does not fit.

    ``located(error, where)`` is the error with the place in the user's program.
    """

    def __init__(self, program: Runnable, located: Callable[[Exception, str], Exception]) -> None:
        self.program = program
        self.located = located
        self.runs = self.resumed = self.failures = 0
        self.tables: dict[Any, Any] = {}
        self.plain: Any = None
        self.static = _static(program)
        self.doubted: set[int] = set()

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run the program in the way that is due."""
        lies = _form(arguments)
        self.runs += 1
        if self.runs == 1:
            return self.run(interpreted, self.program, arguments, self.located)
        if self.runs == 2:
            self.plain = without_choices(self.program)
        if len(arguments) != len(self.program.inputs):
            return self.program.run_generated(*arguments)
        return self.observed(arguments, (lies, self.contents(arguments)))

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that runs the program: its large arrays get memory that is used again."""
        has_large = self.program.buffers is not None
        return in_own_memory(function, *arguments) if has_large else function(*arguments)

    def contents(self, arguments: Sequence[Any]) -> tuple[bytes | None, ...]:
        """The contents of static arguments, which a table expects."""
        static = [arguments[k] for k in self.static]
        return tuple([x.tobytes() if is_readable(x) else None for x in static])

    def observed(self, arguments: tuple[Any, ...], form: Any) -> tuple[Any, ...]:
        """Run the program, observed, and make a table for arguments that lie so and have these contents."""
        return uncollected(self._observed, arguments, form)

    @patience("compiling a program for the executor")
    def _observed(self, arguments: tuple[Any, ...], form: Any) -> tuple[Any, ...]:
        program = self.plain or self.program
        try:
            results, recording = self.run(observed, program, arguments, self.located, self.static, self.doubted)
        except Exception:
            if program is self.program:
                raise
            return self.with_choices(arguments)
        kernels = [program.kernel(i) for i in program.instructions]
        failed = functools.partial(self.failed, program)
        host = functools.partial(self.elsewhere, form), failed, _Resume(self, program, recording), raises
        self.program.native = table_of(recording, program.instructions, kernels, host)
        if self.program.native is not None:
            self.tables[form] = self.program.native
        if program.buffers is not None:
            # runs by the table take other memory
            forget_memory(program.buffers.size)
        return results

    def with_choices(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results where a kernel meets, or refuses, a NaN that a choice may make zero; if often so, from now on."""
        self.failures += 1
        if self.failures >= _MOST_RESUMED:
            self.plain = None
            self.tables.clear()
            self.program.native = self
        return interpreted(self.program, arguments, self.located)

    def elsewhere(self, refused: Any, *arguments: Any) -> tuple[Any, ...]:
        """Run the program for arguments that the table for the form `refused` has not taken."""
        lies = _form(arguments)
        form = lies, self.contents(arguments)
        if form == refused:
            return self.program.run_generated(*arguments)
        if lies == refused[0]:
            # what has other contents in other runs is not static
            self.static = ()
            form = lies, ()
        if form in self.tables:
            # the next arguments are likely to be of the same form
            self.program.native = self.tables[form]
            return self.program.native(*arguments)
        if len(self.tables) < _TABLES:
            return self.observed(arguments, form)
        return self.program.run_generated(*arguments)

    def failed(
        self, program: Runnable, error: Exception, position: int, operands: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Raise what a kernel raised in the op's own words, with the place where the user made the op."""
        if program is not self.program:  # it may have been given what choices leave out
            return self.with_choices(arguments)
        instruction = program.instructions[position]
        return _reraise(error, instruction, operands[: len(instruction.inputs)], self.located)


def _static(program: Runnable) -> tuple[int, ...]:
    """The positions of the inputs, of rank 0, by whose contents kernels choose how to compute (`Op.static`)."""
    positions: set[int] = set()
    if not any(instruction.op.static for instruction in program.instructions):
        return ()
    for instruction in reversed(program.instructions):
        op, inputs = instruction.op, instruction.inputs
        positions.update([inputs[k] for k in op.static])
        if not positions.isdisjoint(instruction.outputs) and not is_stateful(op, instruction.params):
            positions.update(inputs)
    return tuple([k for k, s in enumerate(program.inputs) if s in positions and program.avals[s].shape == ()])


def _form(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """How arguments lie in memory."""
    if any(type(x) is Observed for x in arguments):
        # the program of a body, called by a kernel that is being observed itself
        raise Opaque
    return tuple([
        (x.dtype.num, x.shape, *[step for step, d in zip(x.strides, x.shape, strict=True) if d > 1])
        if type(x) is np.ndarray
        else type(x)
        for x in arguments
    ])  # fmt: skip


class _Resume:
    """Carries on with a program in which a call gave a result that lies otherwise than when it was observed.

    Also with one in which rows refused what they were given, behind the instruction before theirs.
    """

    def __init__(self, staged: Staged, program: Runnable, recording: Recording) -> None:
        self.staged, self.program, self.recording = staged, program, recording
        rows = [step for step in recording.steps if isinstance(step, Row) and step.position >= 0]
        self.limited = {row.position: not row.keeps for row in rows if row.loop[0] in ("all_below_f", "all_below_d")}

    def __call__(
        self, position: int, arguments: tuple[Any, ...], owners: tuple[Any, ...], buffers: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        program = self.program
        rest = program.instructions[position + 1 :]
        if rest and rest[0].op is no_nan:
            return self.staged.with_choices(arguments)
        news = position + 1 in self.limited and position + 1 not in self.staged.doubted
        if news:
            # the next run is observed, and writes rows that need no limit there
            self.staged.doubted.add(position + 1)
            self.staged.tables.clear()
            self.staged.program.native = self.staged
        if self.limited.get(position + 1):
            return interpreted(self.staged.program, arguments, self.staged.located)
        needed = {*program.outputs, *[s for instruction in rest for s in instruction.inputs]}
        made = {s for instruction in rest for s in instruction.outputs}
        known = {s: _found(self.recording.values[s], arguments, owners, buffers) for s in needed - made}
        try:
            results = _carried_out(program, known, rest, self.staged.located)
        except Exception:
            if program is self.staged.program:
                raise
            return self.staged.with_choices(arguments)
        self.staged.resumed += not news
        if self.staged.resumed >= _MOST_RESUMED:
            self.staged.program.native = None
        return results


def _found(x: Any, arguments: tuple[Any, ...], owners: tuple[Any, ...], buffers: tuple[Any, ...]) -> Operand:
    """A value in the midst of a run."""
    if isinstance(x, Fixed):
        return x[0]
    root = x.root if isinstance(x, Ref) else x
    if isinstance(x, Root) or (x.is_root and root.kind in ("slot", "argument")):
        if root.kind == "argument":
            return arguments[root.position]
        held = owners[root.base]
        if held is None and root.dtype is not None:
            # it is gone, since no step that is left reads it: it has no elements, or only its shape counts
            return np.zeros(root.shape, root.dtype)
        block = buffers[0]
        inside = isinstance(held, np.ndarray) and block is not None and np.may_share_memory(held, block)
        return same_layout(held) if inside else held
    if root.base < 0 or root.tiled or not x.size:
        # no step reads it any more
        return np.zeros(x.shape, x.dtype)
    if buffers[root.base] is None:
        return np.full(x.shape, owners[root.base], x.dtype)
    low = 0 if root.base == 0 else root.extent[0]
    shown: Any = np.ndarray(x.shape, x.dtype, buffers[root.base], root.offset + x.offset - low, x.strides)
    shown = same_layout(shown)
    return shown[()] if x.scalar else shown


# ---- without a table -------------------------------------------------------------------------------------------------


def interpreted(program: Runnable, arguments: Sequence[Any], located: Callable[..., Exception]) -> tuple[Any, ...]:
    """The results by one kernel after the other."""
    known = {**program.constants, **dict(zip(program.inputs, arguments, strict=True))}
    return _carried_out(program, known, program.instructions, located)


def _carried_out(
    program: Runnable, known: dict[int, Any], instructions: Sequence[Instruction], located: Callable[..., Exception]
) -> tuple[Any, ...]:
    for instruction, unneeded in zip(instructions, _unneeded(program, instructions), strict=True):
        results = _called(program, instruction, [known[s] for s in instruction.inputs], located)
        known.update(zip(instruction.outputs, results, strict=True))
        for s in unneeded:
            known.pop(s, None)
    return tuple([known[s] for s in program.outputs])


def _unneeded(program: Runnable, instructions: Sequence[Instruction]) -> list[list[int]]:
    """For each instruction the values that nobody needs behind it."""
    return dying(last_uses(values_of(instructions), (*program.outputs, *program.constants)), len(instructions))


def _called(
    program: Runnable, instruction: Instruction, operands: Sequence[Any], located: Callable[..., Exception]
) -> tuple[Any, ...]:
    try:
        results = program.kernel(instruction)(*operands, **instruction.params)
    except Exception as error:  # noqa: BLE001 - it is raised again, with its place
        _reraise(error, instruction, operands, located)
    return tuple(results) if instruction.op.multi else (results,)


def _reraise(
    error: Exception, instruction: Instruction, operands: Sequence[Any], located: Callable[..., Exception]
) -> NoReturn:
    better = located(explained(error, instruction.op, operands, instruction.params), instruction.where)
    if better is error:
        raise error
    raise better from error


# ---- observed --------------------------------------------------------------------------------------------------------


def observed(
    program: Runnable,
    arguments: Sequence[Any],
    located: Callable[..., Exception],
    static: Sequence[int] = (),
    doubted: Collection[int] = (),
) -> tuple[tuple[Any, ...], Recording]:
    """The results of a run, and what it did; arguments at the positions `static` are constants to it."""
    recorder = Recorder(not any(is_stateful(i.op, i.params) for i in program.instructions), doubted)
    known: dict[int, Any] = {s: Fixed((array,)) for s, array in program.constants.items()}
    for position, (s, argument) in enumerate(zip(program.inputs, arguments, strict=True)):
        root = recorder.root("argument", argument, position)
        recorder.recording.arguments.append(root)
        if position in static and root.dtype is not None:
            root.array = argument.copy()
            known[s] = Fixed((root.array,))
        else:
            known[s] = _held(recorder, root, argument)
    values = recorder.recording.values
    values.update({s: _operand(x) for s, x in known.items()})
    unneeded = _unneeded(program, program.instructions)
    for i, instruction in enumerate(program.instructions):
        operands = [known[s] for s in instruction.inputs]
        results = _written(recorder, i, instruction, operands)
        if results is None:
            results = _called_and_noted(recorder, program, i, instruction, operands, located)
        for s, x in zip(instruction.outputs, results, strict=True):
            known[s] = x
            values[s] = x.ref if type(x) is Observed else _operand(x)
        for s in unneeded[i]:
            known.pop(s, None)
    wanted = [known[s] for s in program.outputs]
    recorder.recording.results = [_operand(x) for x in wanted]
    return tuple([_real(x) for x in wanted]), recorder.recording


class _Loose:
    """Something that rows cannot read: its root, and what it is in this run."""

    __slots__ = ("actual", "root")

    def __init__(self, root: Root, real: Any) -> None:
        self.root, self.actual = root, real


def _held(recorder: Recorder, root: Root, real: Any) -> Hidden | _Loose:
    return _Loose(root, real) if root.dtype is None else recorder.whole(root, real)


def _operand(x: Any) -> Ref | Fixed | Root:
    """A value as an operand of a `Call`."""
    if type(x) is Observed:
        return x.ref
    return x if type(x) is Fixed else x.root


def _real(x: Any) -> np.ndarray:
    return x[0] if type(x) is Fixed else x.actual


def _written(
    recorder: Recorder, position: int, instruction: Instruction, operands: Sequence[Any]
) -> tuple[Observed | Fixed, ...] | None:
    """The results of an instruction by rows, or None."""
    op, kinds = instruction.op, [*map(type, operands)]
    if _Loose in kinds or is_stateful(op, instruction.params):
        return None
    is_call = op.is_ufunc and Observed in kinds and not instruction.params
    kernel = None if is_call else rewrite_of(op)
    steps = recorder.recording.steps
    before = len(steps)
    recorder.instruction = position, operands
    for hidden in _hidden(recorder, operands):
        try:
            if is_call:
                # what NumPy would ask of an observed operand: it takes long to find out whom to ask
                made: Any = recorder.ufunc(op.kernel, hidden)  # type: ignore[arg-type]
            elif kernel is not None:
                made = kernel(recorder, *hidden, **instruction.params)
            else:
                made = op.kernel(*hidden, **instruction.params)
            results = tuple([_result(recorder, x) for x in (made if op.multi else (made,))])
        except Exception as error:  # noqa: BLE001 - it is called again with arrays, and raises what it has to
            _pass_over(error)
            del steps[before:]
            continue
        if len(results) == len(instruction.outputs):
            return results
    return None


strict = False
"""Whether a fault of ours in writing rows is raised, as tests ask for: else the kernel is called, only slower."""
_MAY_RAISE = {"__array_ufunc__", "__array_function__", "ufunc"}
"""A stand-in for NumPy: it passes on whatever a kernel asks for to NumPy, or to the writer of rows for it."""


def _pass_over(error: Exception) -> None:
    """Let an error pass that says that a kernel cannot be written as rows: all but those of the modules that write."""
    trace = error.__traceback__ if strict and not isinstance(error, Opaque) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        code, module = trace.tb_frame.f_code, trace.tb_frame.f_globals["__name__"]
        if module.startswith(__package__) and code.co_name not in _MAY_RAISE:
            raise error


def _hidden(recorder: Recorder, operands: Sequence[Any]) -> Iterator[list[Any]]:
    """The operands with constants as they are; then with constants hidden.

    Values may be given to their methods, and what follows from constants alone may be too large for another one.
    """
    yield [x[0] if type(x) is Fixed else x for x in operands]
    if any(type(x) is Fixed for x in operands):
        hidden = [Observed(recorder, x[0], recorder.constant(x[0])) if _is_array(x) else x for x in operands]
        yield [x[0] if type(x) is Fixed else x for x in hidden]


def _is_array(x: Any) -> bool:
    return type(x) is Fixed and isinstance(x[0], np.ndarray) and is_readable(x[0])


def _result(recorder: Recorder, x: Any) -> Observed | Fixed:
    """The result of a kernel for observed values: if it is no such value, it followed from shapes and constants."""
    if type(x) is Observed:
        return x
    opaque_if(not is_readable(x))
    if x.nbytes <= _LARGEST_CONSTANT or not any(x.strides):
        return Fixed((x,))
    # bit by bit: 0.0 is not -0.0, and NaN is itself
    words = x.reshape(-1, 1).view(f"u{min(x.itemsize, 8)}") if x.flags.c_contiguous else None
    opaque_if(words is None or not (words == words[0]).all())
    full: Any = filled(recorder, x.shape, x.dtype, x.flat[0])
    return full


def _called_and_noted(
    recorder: Recorder,
    program: Runnable,
    position: int,
    instruction: Instruction,
    operands: Sequence[Any],
    located: Callable[..., Exception],
) -> tuple[Any, ...]:
    """The results of an instruction by a call of its kernel, as it will be made in each run."""
    reals = [_real(x) for x in operands]
    results = _called(program, instruction, reals, located)
    roots = []
    for s, real in zip(instruction.outputs, results, strict=True):
        if isinstance(real, np.ndarray):
            _keep(real, operands)
        # a result of another size in each run is an object to rows
        roots.append(recorder.root("slot", real) if program.avals[s].is_static else Root("slot", None, (), ()))
    if not all(is_readable(real) for real in results):
        # what is no array of numbers may hold arrays that it was given
        for x in operands:
            if type(x) is Observed:
                x.ref.root.escapes = True
    copies = is_stateful(instruction.op, instruction.params)
    call = Call(position, tuple([_operand(x) for x in operands]), tuple(roots), copies)
    recorder.add(call)
    return tuple([_held(recorder, root, real) for root, real in zip(roots, results, strict=True)])


def _keep(real: np.ndarray, operands: Sequence[Any]) -> None:
    """Note that a result is a view of an operand, whose memory must not be used for anything else then."""
    for x in operands:
        if type(x) is Observed and isinstance(x.actual, np.ndarray) and np.may_share_memory(real, x.actual):
            x.ref.root.escapes = True


def raises() -> bool:
    """Whether NumPy has been told to do more about floating-point errors than the warnings that the engine hides."""
    return not {"ignore", "warn"}.issuperset(np.geterr().values())


_switched_off = False


@contextlib.contextmanager
def in_python() -> Iterator[None]:
    """A time in which programs that run for the first time are made for Python, to compare with."""
    global _switched_off
    before, _switched_off = _switched_off, True
    try:
        yield
    finally:
        _switched_off = before


def runs_natively(program: Runnable) -> bool:
    """Whether a program may become a table."""
    if executor is None or _switched_off or not program.instructions:
        return False
    whole = [program.avals[i.outputs[0]] for i in program.instructions if i.op is alloc]
    most = max(_LARGE, len(program.instructions) * _LARGE_EACH)
    return all(a.nbytes < most for a in whole)
