"""Messages for when a value that a tape follows turns into a plain array: the tape goes on as if it were a constant.

A tape sees what ops do. NumPy's own functions on tensors are recorded too (`engine.numpy_api.protocol`), but some
code can only be given an array: ``np.array([t[0], t[1]])``, ``out[i] = t[0]``, most of SciPy, ``math.sin(t[0])``. It
asks the tensor for one, by ``__array__`` or ``__float__``, and what it computes has lost its derivative. A value that
is asked calls `detached` if a tape is recording, and there it is seen whether a tape follows the value, and who asked:

- NumPy, SciPy, `math` or a function of ours that takes no tensor: reported at once, as a `DetachWarning` that names the
  user's line, or as a `DetachError` if the tape is there for one function only (`for_scipy`), whose derivative would be
  wrong.
- the user: ``t.numpy()``, ``float(t)``, ``int(t)``, a format. This is how values are logged; nothing is said (a tape of
  one function warns of the first two).

Either way the tape notes it (`Tape.detached`), so that who explains a missing gradient can name the line.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import threading
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from engine.core.nest import flatten
from engine.core.structural import contiguous
from engine.core.tape import NOTHING, Seen, Tape, active, record_nondifferentiable
from engine.core.value import Value, address
from engine.runtime.cache import cached
from engine.runtime.errors import DetachError, DetachWarning, UnimplementedError
from engine.runtime.packages import PACKAGES

_ARRAYS = ("numpy", "scipy")


@functools.cache
def _installed() -> tuple[str, ...]:
    """Where modules are that are not the user's."""
    import sysconfig

    return tuple({sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})


ADVICE = {
    "np.array": "np.stack or tf.stack of the parts, or the array of dualgrad.numpy",
    "np.lib.AxisConcatenator": "np.concatenate, or the r_ and c_ of dualgrad.numpy",
    "np.asarray": "the tensor itself, which NumPy's functions take, or np.stack or tf.stack of the parts of a list",
    "np.full": "tf.fill or np.full_like",
    "np.vectorize": "tf.map_fn, or the function on the whole tensor",
    "np.fromiter": "np.stack or tf.stack of the parts",
    "an assignment to elements of an array": "np.stack or tf.stack of the parts, or tf.tensor_scatter_nd_update",
    "scipy.linalg.solve": "np.linalg.solve or tf.linalg.solve",
    "scipy.linalg.inv": "np.linalg.inv or tf.linalg.inv",
    "scipy.linalg.det": "np.linalg.det or tf.linalg.det",
    "scipy.linalg.expm": "tf.linalg.expm",
    "scipy.linalg.norm": "np.linalg.norm or tf.norm",
    "scipy.linalg.cholesky": "np.linalg.cholesky or tf.linalg.cholesky",
    "scipy.linalg.eigh": "np.linalg.eigh or tf.linalg.eigh",
    "scipy.linalg.svd": "np.linalg.svd or tf.linalg.svd",
    "scipy.linalg.qr": "np.linalg.qr or tf.linalg.qr",
    "scipy.linalg.solve_triangular": "tf.linalg.triangular_solve",
    "scipy.special.logsumexp": "tf.reduce_logsumexp",
    "scipy.special.softmax": "tf.nn.softmax",
    "scipy.special.log_softmax": "tf.nn.log_softmax",
}
"""Advice what to write in place of functions that can only be given arrays; see also `instead`."""


_MOST_CHOICES = 1000


class Detached(NamedTuple):
    """That a value which a tape follows became an array, or a number."""

    kind: str
    """Who asked for it: ``"numpy"``, ``"float"``, ``"int"`` (also ``math.floor``), ``"complex"`` (the user);
    ``"array"`` (NumPy, SciPy, `math`); ``"function"`` (a function of ours that takes one of arrays);
    ``"assigned"`` if it was assigned to a variable."""
    by: str
    """The function that was called, as far as it is known: ``"np.array"``, ``"scipy.linalg.solve"``; else empty."""
    file: str
    line: int
    """Where the user's program called it."""
    value: Any
    into: Any = None
    """The variable that it was assigned to."""


class _Expected(threading.local):
    def __init__(self) -> None:
        self.depth = 0


_expected = _Expected()


@contextmanager
def detaching() -> Iterator[None]:
    """Inside, values become arrays with a derivative of their own: a `custom_gradient`."""
    _expected.depth += 1
    try:
        yield
    finally:
        _expected.depth -= 1


def is_tracked(value: Any, tape: Tape) -> bool:
    """Whether a tape follows `value`, or would watch it when it is read."""
    if not value.dtype.is_differentiable:
        return False
    return address(value) in tape.tracked or (tape.watch_accessed_variables and getattr(value, "trainable", False))


def followers(value: Any) -> list[Tape]:
    """The tapes that follow `value` for a derivative, which that of a function does not."""
    return [tape for tape in active.tapes if tape is not active.function and is_tracked(value, tape)]


def detached(value: Any, kind: str) -> None:
    """Note, and perhaps report, that an eager tensor or a variable is asked for its array (see the module).

    The kinds are those of `Detached`. ``"array"``: asked by ``__array__``; ``"float"``: by ``__float__``, which may
    mean `math`.
    """
    caller = sys._getframe(2)
    if kind == "numpy" and _package(caller) in PACKAGES and not _is_rewritten(caller):
        # ours read it to compare or to show it
        shown(value)
        return
    looked_at(value)
    tapes = followers(value)
    if not tapes or _expected.depth:
        return
    user, by = _origin(caller)
    if by in _STEPS:
        kind = "int"
    elif kind in ("float", "complex") and not _is_asked_by_the_user(caller):
        kind = "array"
    key = user.f_code, user.f_lasti, kind
    note = Detached(kind, by, user.f_code.co_filename, user.f_lineno, value)
    for tape in tapes:
        if key not in tape.detached:
            tape.detached[key] = note
            _report(note, tape, user)


def looked_at(value: Any) -> None:
    """Note that something that is no op depends on the contents of an eager tensor or a variable.

    A function that does such a thing cannot be run without Python (`engine.core.function_tape`), and a recording tells
    nothing of other points where the contents are others (`Tape.left`).
    """
    shown(value)
    for tape in active.tapes:
        if tape not in function_tapes() and address(value) not in tape.left and is_known(value, tape):
            user = user_frame(sys._getframe(2))
            tape.left[address(value)] = value, value._array, user.f_code.co_filename, user.f_lineno


def function_tapes() -> tuple[Tape, ...]:
    """The tapes that record a function, and are asked for no derivative."""
    return () if active.function is None else (active.function, active.function.witness)


def is_known(value: Any, tape: Tape) -> bool:
    """Whether a tape knows what `value` was computed from, or would watch it when it is read."""
    return tape.knows(getattr(value, "handle", value)) or is_tracked(value, tape)


def truth(value: Any) -> bool:
    """The truth of a tensor of which Python asks for it; a tape may want it to be another one (`Tape.choices`)."""
    found = bool(value._array)
    for tape in active.tapes:
        if tape.choices is not None and tape.depends(value):
            at = len(tape.chosen)
            if at >= _MOST_CHOICES:
                raise UnimplementedError(f"a function asks for the truth of tensors more than {at} times")
            found = tape.choices[at] if at < len(tape.choices) else found
            tape.chosen.append(found)
            return found
    looked_at(value)
    return found


def shown(value: Any) -> None:
    """Note that the contents are put into words or are compared, on which nothing that is computed depends."""
    function = active.function
    if function is None or function.refusal:
        return
    if value.level or function.depends(value):
        _noted(f"Python looked at the contents of {'a variable' if value.level else f'a tensor of {value.aval}'}")
    else:
        function.looked_at.append(value)


def effect(what: str) -> None:
    """Note that a function does something that is no op, so that it cannot be run without Python.

    Raises
    ------
    UnimplementedError
        In a branch or the body of a loop, which holds symbols now: it is going to run as Python, and then do it.
    """
    _noted(what)
    if active.function is not None and active.region is not None:
        raise UnimplementedError(str(active.function.refusal))


def _noted(what: str) -> None:
    function = active.function
    if function is not None and not function.refusal:
        user = user_frame(sys._getframe(2))
        function.refusal = f"{what} ({user.f_code.co_filename}, line {user.f_lineno})"


def _report(note: Detached, tape: Tape, user: FrameType) -> None:
    if tape.strict and note.kind == "array":
        raise _error(note)
    if note.kind == "array" or (tape.strict and note.kind != "int"):
        _warn(_said(note), user)


def _said(note: Detached) -> str:
    what = f"a tensor of {note.value.aval} that a gradient tape follows"
    if note.kind == "array":
        return (
            f"{note.by or 'NumPy'} made a plain array of {what}: its gradient ends here. Use {instead(note.by)}. "
            f"If no gradient is meant to pass, take x.numpy() or tf.stop_gradient(x) first"
        )
    return (
        f"{note.kind}() made plain numbers of {what}: what is computed from them has no derivative. If that is meant, "
        f"of a value that is printed, say, take those of tf.stop_gradient(x)"
    )


def _error(note: Detached) -> DetachError:
    return DetachError(f"{note.file}, line {note.line}: {_said(note)}")


def assigned(variable: Any, value: Any, new: Any) -> None:
    """Note that `value` was assigned to `variable` while tapes record; it is reported when the variable is read again.

    `new` is what the variable holds now, as far as tapes know it: `value`, or what an update has made of it.

    No derivative passes an assignment, and a gradient with respect to a variable takes all its reads for reads of one
    value, as TensorFlow's does. Of variables that a tape does not watch (averages, counters) only strict tapes tell.
    """
    if active.function is not None:
        active.function.write(variable, new)
    if _expected.depth:
        return
    parts = [x for x in flatten(value) if isinstance(x, Value)]
    user: FrameType | None = None
    for tape in active.tapes:
        source = next((x for x in (new, *parts) if isinstance(x, Value) and tape.knows(x)), None)
        tape.held.pop(id(variable), None)
        sees_all = isinstance(tape.nondifferentiable, Seen)  # the read itself, too
        if source is not None and not sees_all and tape not in function_tapes():
            tape.held[id(variable)] = partial(_held, source, source is new, tape)
        watched = address(variable) in tape.tracked or (tape.watch_accessed_variables and variable.trainable)
        reported = watched or tape.strict
        source = next((x for x in parts if is_tracked(x, tape)), None) if reported or tape.explains else None
        followed = reported and source is not None
        if source is not None:
            user = user or user_frame(sys._getframe(2))
            where_to = Detached("assigned", "", user.f_code.co_filename, user.f_lineno, source, variable)
            tape.detached.setdefault((user.f_code, user.f_lasti, id(variable)), where_to)
        if not followed and not _was_read(variable, tape):
            tape.assigned.pop(id(variable), None)
            continue
        user = user or user_frame(sys._getframe(2))
        where = f"{user.f_code.co_filename}, line {user.f_lineno}"
        tape.assigned[id(variable)] = partial(_read_again, variable, where, tape, followed)


def _held(value: Any, same: bool, tape: Tape, out: Any) -> None:
    """Note that `out` was read of a variable that holds `value`, or what an update has made of it."""
    if same:
        record_nondifferentiable(tape, contiguous, (value,), NOTHING, out)
    elif address(value) not in tape.left:
        user = user_frame(sys._getframe(2))
        tape.left[address(value)] = value, value._array, user.f_code.co_filename, user.f_lineno


def _was_read(variable: Any, tape: Tape) -> bool:
    log = tape.nodes.log
    # each node takes four places, of which the operands are the second
    return address(variable) in tape.tracked and any(
        len(log[i]) == 1 and log[i][0] is variable for i in range(len(log) - 3, 0, -4)
    )


def _read_again(variable: Any, where: str, tape: Tape, followed: bool) -> None:
    if followed:
        message = (
            f"variable {variable.name!r} is read after a tensor that a gradient tape follows was assigned to it "
            f"({where}): no derivative passes the assignment. Use the tensor in place of the variable; if none is "
            f"meant to pass, assign tf.stop_gradient(x)"
        )
    else:
        message = (
            f"variable {variable.name!r} is read again by a gradient tape after it was assigned to ({where}): its "
            f"gradient adds up what belongs to the old and to the new value. Open a tape for each value"
        )
    user = user_frame(sys._getframe(3))
    if tape.strict:
        raise DetachError(f"{user.f_code.co_filename}, line {user.f_lineno}: {message}")
    _warn(message, user)


def _warn(message: str, user: FrameType) -> None:
    registry = user.f_globals.setdefault("__warningregistry__", {})
    module = user.f_globals.get("__name__", "<unknown>")
    warnings.warn_explicit(message, DetachWarning, user.f_code.co_filename, user.f_lineno, module, registry)


def tell_left(tape: Tape) -> None:
    """Warn of what made plain numbers of tensors, on which what a function gives may depend unseen."""
    for note in tape.detached.values():
        if note.kind not in ("array", "int"):
            warnings.warn_explicit(_said(note), DetachWarning, note.file, note.line)


def refusal(tape: Tape) -> DetachError | None:
    """The error of a strict tape, also if the program, or NumPy, has caught it."""
    return next((_error(note) for note in tape.detached.values() if note.kind == "array"), None)


def instead(by: str) -> str:
    """Advice what to write in place of a function that can only be given arrays."""
    module, _, name = by.rpartition(".")
    if module in ("math", "cmath") and hasattr(np, name):
        return f"np.{name}"
    return ADVICE.get(by) or "functions of tf or of NumPy, or make it differentiable with tf.primitive"


# ---- who asked -------------------------------------------------------------------------------------------------------


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0]


def _is_rewritten(frame: FrameType) -> bool:
    """Whether it makes calls for the user's program, in a function whose source was rewritten."""
    return (frame.f_globals.get("__name__") or "").partition(".")[2].startswith("autograph")


def user_frame(caller: FrameType) -> FrameType:
    """The innermost frame of the user's program from `caller` up: not ours, nor NumPy's, nor what is installed."""
    return _outside([*_frames(caller)])


def _frames(caller: FrameType) -> Iterator[FrameType]:
    frame: FrameType | None = caller
    while frame is not None:
        yield frame
        frame = frame.f_back


def _outside(frames: Sequence[FrameType]) -> FrameType:
    foreign = [f for f in frames if _package(f) not in (*PACKAGES, *_ARRAYS)] or frames[-1:]
    return next((f for f in foreign if not f.f_code.co_filename.startswith(_installed())), foreign[0])


def is_raised_by_user(error: BaseException) -> bool:
    """Whether a ``raise`` or an ``assert`` of the user's program raised an error."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or _package(at.tb_frame) in (*PACKAGES, *_ARRAYS):
        return False
    code = at.tb_frame.f_code
    instruction = next(i for i in dis.get_instructions(code) if i.offset == at.tb_lasti)
    return instruction.opname == "RAISE_VARARGS" and not code.co_filename.startswith(_installed())


def _origin(caller: FrameType) -> tuple[FrameType, str]:
    """The user's frame, and the name of what was called there."""
    frames = [*_frames(caller)]
    user = _outside(frames)
    within = frames[: frames.index(user)]
    called = _called(user)
    if called is None and within:
        called = within[-1].f_globals.get("__name__", ""), within[-1].f_code.co_qualname.partition(".")[0]
    return user, "" if called is None else _public(*called)


def _is_asked_by_the_user(caller: FrameType) -> bool:
    """Whether a number is asked for by ``float(x)`` or ``"%f" % x`` rather than by a function that computes."""
    names = _names_called(caller.f_code, caller.f_lasti)
    return _package(caller) not in (*PACKAGES, *_ARRAYS) and names in ((), ("float",), ("complex",), ("round",))


def _called(frame: FrameType) -> tuple[str, str] | None:
    """Module and name of the function that a frame is calling, if it is called by name: ``np.array``, ``sin``."""
    names = _names_called(frame.f_code, frame.f_lasti)
    if not names:
        return None
    if names == _ASSIGNMENT:
        return "", "an assignment to elements of an array"
    first, *attributes = names
    spaces = frame.f_locals, frame.f_globals, vars(builtins)
    function = next((space[first] for space in spaces if first in space), None)
    for name in attributes:
        # of modules only: other attributes may do something when they are asked for
        function = getattr(function, name, None) if isinstance(function, types.ModuleType) else None
    called = getattr(function, "__name__", None)
    return (getattr(function, "__module__", None) or "", called) if isinstance(called, str) else ("", ".".join(names))


_ASSIGNMENT = ("[]=",)
_STEPS = {f"math.{name}" for name in ("floor", "ceil", "trunc", "isclose", "isnan", "isinf", "isfinite")}
"""Functions whose derivative is zero, as that of ``int``."""


def assigns_in_place(caller: FrameType) -> bool:
    """Whether a user's frame is at ``a += b`` or the like, which gives the name `a` to whatever comes of it."""
    return _package(caller) not in _ARRAYS and _is_augmented(caller.f_code, caller.f_lasti)


@cached(1024)
def _is_augmented(code: CodeType, at: int) -> bool:
    instruction = [i for i in dis.get_instructions(code) if i.offset <= at].pop()
    return instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")


@cached(1024)
def _names_called(code: CodeType, at: int) -> tuple[str, ...]:
    """The names by which an instruction calls: ``("np", "array")``; none if it does not, or calls what has no name."""
    # Python 3.11 may say where the cache behind a call is, and calls built-in functions that it knows in PRECALL
    before = [i for i in dis.get_instructions(code) if i.offset <= at]
    instruction = before.pop()
    if instruction.opname in ("STORE_SUBSCR", "STORE_SLICE"):
        return _ASSIGNMENT
    if not instruction.opname.startswith(("CALL", "PRECALL")) or instruction.positions is None:
        return ()
    start = instruction.positions[0], instruction.positions[2]
    names: list[str] = []
    for other in reversed(before):
        if other.positions is None or (other.positions[0], other.positions[2]) != start:
            continue
        if other.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF")):
            return str(other.argval), *reversed(names)
        if other.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            names.append(str(other.argval))
        elif other.opname not in ("PRECALL", "PUSH_NULL", "KW_NAMES", "CACHE", "RESUME"):
            break
    return ()


def _public(module: str, name: str) -> str:
    """``scipy.linalg.solve`` for what is defined in ``scipy.linalg._basic``."""
    if module.startswith("numpy") and hasattr(np, name):
        return f"np.{name}"
    parts = [part for part in module.split(".") if part and not part.startswith("_") and part != "builtins"]
    return ".".join([*parts, name]).replace("numpy.", "np.", 1)
