"""Values whose contents are hidden: what they are, and what a kernel may know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from engine.executor.extension import executor
from engine.executor.refs import Call, Ref, Row

_NUMBERS = "?bhilqBHILQefdFD"
"""Dtypes that rows can read, as NumPy's characters."""


class Opaque(Exception):
    """A kernel asks for something that cannot be written as rows."""


def opaque_if(asked: object) -> None:
    """Raise Opaque if something is asked for that rows cannot say."""
    if asked:
        raise Opaque


class Writer(Protocol):
    """The writer of rows (`engine.executor.recorder.Recorder`)."""

    def value(self, actual: Any, ref: Ref) -> Hidden:
        """A hidden value."""

    def constant(self, array: Any) -> Ref:
        """A constant."""

    def computed(self, real: Any) -> Hidden:
        """A result of rows, which is laid out as NumPy laid it out."""

    def add(self, step: Row | Call) -> None:
        """The next step."""

    def add_checked(self, row: Row, keeps: Sequence[Any] | None = None) -> None:
        """The next row, which may refuse what it is given; then the kernel of the instruction is called."""

    def stays_beyond(self, x: Any, limit: float, least: bool) -> bool:
        """Whether all numbers are below a limit, or above if `least`; then rows refuse others."""

    def look(self, loop: tuple[Any, ...], x: Ref, limit: Any) -> None:
        """Let a loop refuse a value where it is used."""

    def elementwise(self, loop: tuple[Any, ...], operands: Sequence[Ref], real: Any, out: Any = None) -> Hidden:
        """The row of an elementwise loop; `real` is its result."""

    def ufunc(self, ufunc: np.ufunc, inputs: Sequence[Any], out: Any = None, order: str = "K") -> Hidden:
        """A call of an elementwise ufunc."""

    def view(self, x: Any, real: Any) -> Hidden:
        """A view of `x`."""

    def copy(self, x: Any, real: Any) -> Hidden:
        """A copy of `x`, of the same shape."""


class Hidden:
    """An array behind a screen: its form can be seen, its contents not.

    `actual` is what it is in the run that is observed: no kernel must get hold of it. `ref` is where it lies.
    """

    __slots__ = ("actual", "recorder", "ref")

    def __init__(self, recorder: Writer, actual: Any, ref: Ref) -> None:
        self.recorder = recorder
        self.actual = actual
        self.ref = ref

    @property
    def shape(self) -> tuple[int, ...]:  # noqa: D102
        return self.ref.shape

    @property
    def strides(self) -> tuple[int, ...]:  # noqa: D102
        return self.ref.strides

    @property
    def dtype(self) -> np.dtype:  # noqa: D102
        return self.ref.dtype

    @property
    def ndim(self) -> int:  # noqa: D102
        return len(self.ref.shape)

    @property
    def size(self) -> int:  # noqa: D102
        return self.ref.size

    @property
    def itemsize(self) -> int:  # noqa: D102
        return self.ref.dtype.itemsize

    @property
    def nbytes(self) -> int:  # noqa: D102
        return self.ref.size * self.ref.dtype.itemsize

    @property
    def flags(self) -> Any:  # noqa: D102
        return self.actual.flags

    def __len__(self) -> int:
        return len(self.actual)


def ref_of(recorder: Writer, x: Any) -> Ref:
    """Where a value lies; what is not hidden is a constant."""
    return x.ref if isinstance(x, Hidden) else recorder.constant(np.asarray(x))


def actual_of(x: Any) -> Any:
    """The array or number that a value is in the run that is observed."""
    return x.actual if isinstance(x, Hidden) else x


def in_c_order(recorder: Writer, x: Any) -> Any:
    """A value, or its copy, that lies in C order."""
    if x.flags.c_contiguous:
        return x
    ordered = np.array(actual_of(x), order="C")
    return recorder.copy(x, ordered) if isinstance(x, Hidden) else ordered


def as_array(real: Any) -> np.ndarray:
    """An array, also for a NumPy scalar."""
    return real if isinstance(real, np.ndarray) else np.asarray(real)


def is_readable(x: Any) -> bool:
    """Whether rows can read it."""
    if isinstance(x, np.ndarray):
        return type(x) is np.ndarray and x.dtype.char in _NUMBERS and x.dtype.isnative and x.flags.aligned
    return isinstance(x, np.generic) and x.dtype.char in _NUMBERS


def offset_in(view: np.ndarray, whole: np.ndarray) -> int | None:
    """How many bytes the first element of an array lies behind that of another; None if they share no memory."""
    assert executor is not None
    offset: int | None = executor.offset_in(view, whole)
    return offset
