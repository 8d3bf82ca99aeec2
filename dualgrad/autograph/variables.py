"""The variables that a branch or a loop assigns to, and what of them goes through the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dualgrad.autograph.host import Host
from dualgrad.autograph.jumps import RESULT
from dualgrad.frontend.flow.composites import closed, opened
from engine.core import nest
from engine.core.aval import compatible, format_shape
from engine.core.value import Value
from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError

_NUMBERS = (bool, int, float, complex, np.generic)
_ADVICE = {
    "`raise` is there": "tf.debugging.Assert is an error of the program",
    "an attribute is assigned to": "assign to a variable of the function",
}


class NoValueError(UnboundLocalError, ValueError):
    """That a variable has no value after a branch or a loop of a program."""


class Undefined:
    """That a variable has no value, and why."""

    __slots__ = ("_name", "_why")

    def __init__(self, name: str, why: str = "") -> None:
        self._name, self._why = name, why

    def __repr__(self) -> str:
        return f"<{_shown(self._name)} has no value>"

    def fail(self) -> NoReturn:
        """Raise the error of Python, with the reason."""
        if self._why:
            raise NoValueError(self._why)
        raise UnboundLocalError(f"local variable {self._name!r} is used before it is given a value")


def require_defined(value: Any) -> Any:
    """The value of a variable, which must have one."""
    if type(value) is Undefined:
        value.fail()
    return value


class State:
    """The variables that a statement assigns to.

    Parameters
    ----------
    names : tuple of str
    get, set : callable
        Give and take the values of all of them.
    bars : tuple of (what, line, function or None)
        What only Python can do, if what the function returns is a container of Python's.
    """

    __slots__ = ("bars", "get", "names", "place", "set")

    def __init__(
        self, names: Sequence[str], get: Callable[[], Any], set: Callable[[Any], None], bars: Sequence[Any] = ()
    ) -> None:
        self.names, self.get, self.set, self.bars = names, get, set, bars
        self.place: Any = None

    def at(self, place: Any) -> State:
        """The same for another statement, which is at that place of the program."""
        other = State(self.names, self.get, self.set)
        other.place = place
        return other

    def bar(self) -> tuple[str, int, str] | None:
        """The first thing that keeps the statement from being one of the program: what, its line, what to write."""
        for what, line, function in self.bars:
            if function is not None:
                try:
                    held = function()
                except (NameError, AttributeError):
                    continue
                if not isinstance(held, (list, dict, set, bytearray, np.ndarray)):
                    continue
            return what, line, _ADVICE.get(what, "tf.TensorArray collects values in a loop of the program")
        return None

    def is_plain(self, host: Host) -> bool:
        """Whether it holds no arrays of tensors that are written in a loop."""
        return not any(host.is_array(x) for value in self.get() for x in nest.flatten(value))

    def is_result(self, i: int) -> bool:
        """Whether a variable is the result of a function, which is read only where it was set."""
        return self.names[i] == RESULT


class Encoded(NamedTuple):
    """The value of a variable, with the tensors in it, if it holds nothing else."""

    value: Any
    leaves: list[Any]

    @property
    def is_undefined(self) -> bool:
        """Whether there is no value."""
        return type(self.value) is Undefined

    def is_equal(self, other: Encoded) -> bool:
        """Whether both are the same value of Python."""
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and isinstance(a, (*_NUMBERS, str, bytes, type(None))) and _same(a, b))

    def is_like(self, other: Encoded) -> bool:
        """Whether both have the same structure, and dtypes."""
        try:
            nest.assert_same_structure(self.value, other.value)
        except ValueError:
            return False
        return all(a.dtype is b.dtype for a, b in zip(self.leaves, other.leaves, strict=True))

    def packed(self, leaves: Sequence[Any]) -> Any:
        """A value of the same structure."""
        return closed(nest.pack_sequence_as(self.value, list(leaves)))

    def packed_as(self, leaves: Sequence[Any]) -> Encoded:
        """The same with other leaves."""
        return Encoded(nest.pack_sequence_as(self.value, list(leaves)), list(leaves))


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and repr(a) == repr(b)


def encoded(host: Host, value: Any) -> Encoded:
    """A value, with its parts that can go through the program."""
    if type(value) is Undefined or value is None or isinstance(value, str):
        return Encoded(value, [])
    parts = opened(value)
    leaves = nest.flatten(parts)
    if not leaves or not all(host.is_leaf(x) for x in leaves):
        return Encoded(value, [])
    return Encoded(parts, [host.leaf(x) for x in leaves])


def placeholders(host: Host, like: Encoded) -> list[Any]:
    """Zeros in place of some leaves: nobody reads them."""
    made = []
    for x in like.leaves:
        if not isinstance(x, Value):
            made.append(x)
            continue
        made.append(host.zeros([d or 0 for d in x.aval.shape or ()], x.dtype))
    return made


def _shown(name: str) -> str:
    return "the returned value" if name == RESULT else f"`{name}`" if name.isidentifier() or "." in name else name


def _described(e: Encoded) -> str:
    if e.is_undefined:
        return "no value"
    if e.leaves and isinstance(e.value, (Value, *_NUMBERS)):
        return f"dtype {e.leaves[0].dtype.name}"
    return (
        "None" if e.value is None else f"a {type(e.value).__name__}" if not e.leaves else f"the structure {e.value!r}"
    )


def mismatch(name: str, a: Encoded, b: Encoded, labels: tuple[str, str], where: Any) -> Exception:
    """The error that a variable has different values after both ways."""
    what = f"{where.file}, line {where.line}: {_shown(name)} has"
    if labels[0] == "loop":
        said = f"{what} {_described(a)} before the loop, but {_described(b)} after one iteration"
    else:
        said = f"{what} {_described(a)} in the {labels[0]}, but {_described(b)} in the {labels[1]}"
    numbers = a.leaves and b.leaves
    advice = "; cast one of them with tf.cast" if numbers else "; a program needs the same kind of value on both ways"
    return refused((DTypeError if numbers else ValueError)(said + advice))


def refused(error: Exception) -> Exception:
    """An error that Python does not try to do without."""
    error.is_refused = True  # type: ignore[attr-defined]
    return error


def require_shapes(name: str, before: Sequence[Any], after: Sequence[Any], where: Any) -> None:
    """Raise if an iteration changes a shape."""
    for b, a in zip(before, after, strict=True):
        if isinstance(b, Value) and isinstance(a, Value) and not compatible(a.aval.shape, b.aval.shape):
            said = (
                f"{where.file}, line {where.line}: {_shown(name)} has shape {format_shape(b.aval.shape)} before the "
                f"loop, but shape {format_shape(a.aval.shape)} after one iteration; say what stays the same with "
                f"tf.autograph.experimental.set_loop_options(shape_invariants=...)"
            )
            raise refused(ShapeError(said))


class Iterated:
    """Raises if there was no iteration."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __call__(self, flag: Any) -> None:
        """Examine the flag."""
        if not flag:
            raise InvalidArgumentError(self.message)
