"""What a session has compiled: programs for shapes, and for families of shapes.

A program knows the shapes of all its values. That makes it quick, and costs as much as fifty runs of it. So where ever
new shapes are fed, as batches of different sizes are, a second program is made once: one in which the dimensions that
have changed are unknown. It serves any of these shapes, a few times slower. A shape that comes back often gets a
program of its own after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.core.aval import Aval, Shape, aval_of_array
from engine.program import Program
from engine.program.state import Assignment
from engine.runtime.cache import Cache

_CACHE_SIZE = 512
"""Executables kept per session; the one not used for longest gives way."""
_SHARED_RUNS = 8
"""Runs of one shape by the program of its family before it gets one of its own."""
_MOST_COUNTED = 4096
"""Shapes of a family whose runs are counted; then counting begins anew."""


@dataclass(slots=True)
class Executable:
    """A compiled combination of fetches, feeds and shapes.

    Attributes
    ----------
    program : Program
    reads : list of int
        Identities of the handles of the variables whose values follow the feeds among the program's arguments.
    flags : dict
        Where among `reads` there is none for a value but one that says whether a variable has one; the identity of
        that variable's handle.
    assigned : list of Assignment
        Of the variables whose new values follow the fetches among its results.
    locks : tuple of Lock
        Of these variables.
    fetched : int
        Number of fetched tensors.
    shapes : list of tuple
        Of the values read, when it was compiled.
    owners : set of int
        Who owns the memory of the program's constants.
    after : list of (int, int)
        Which fetches are variables that the run assigns to, and the identities of their handles: the values after it.
    """

    program: Program
    reads: list[int]
    flags: dict[int, int]
    assigned: list[Assignment]
    locks: tuple[Any, ...]
    fetched: int
    shapes: list[Any]
    owners: set[int]
    after: list[tuple[int, int]]


@dataclass(slots=True)
class _Family:
    """The shapes with which the same fetches and feeds have been run, of the same ranks.

    Attributes
    ----------
    shapes : list of tuple
        By feed, with None for the dimensions that have changed.
    executable : Executable, optional
        Compiled for `shapes`.
    runs : dict
        How often each combination of shapes was run by it.
    """

    shapes: list[Shape]
    executable: Executable | None = None
    runs: dict[Any, int] = field(default_factory=dict)


class Executables:
    """The executables of a session.

    Attributes
    ----------
    own : Cache
        By fetches, feeds and shapes.
    families : Cache
        By fetches, feeds and ranks.
    """

    def __init__(self) -> None:
        self.own: Cache[Any, Executable] = Cache("programs of sessions", _CACHE_SIZE)
        self.families: Cache[Any, _Family] = Cache("programs for families of shapes", _CACHE_SIZE)

    def clear(self) -> None:
        """Forget all."""
        self.own.clear()
        self.families.clear()

    def due(
        self,
        key: Any,
        fetches: tuple[int, ...],
        feeds: Sequence[Any],
        values: Sequence[Any],
        compiled: Callable[[Sequence[Aval]], Executable],
        examined: Callable[[Sequence[Aval]], None],
        stale: Executable | None,
    ) -> Executable:
        """The executable for shapes that have none of their own.

        Parameters
        ----------
        key : hashable
            Of `own`.
        fetches : tuple of int
            The identities of what is fetched.
        feeds, values : sequence
            Tensors and what they are fed.
        compiled : callable
            ``compiled(avals of the feeds)``: an executable.
        examined : callable
            ``examined(avals of the feeds)`` raises if these do not fit together.
        stale : Executable, optional
            One that has just been found to be compiled for variables of other shapes.
        """
        avals = [aval_of_array(v) for v in values]
        if avals:
            name = (*fetches, None, *[part for t, a in zip(feeds, avals, strict=True) for part in (id(t), a.ndim)])
            family = self.families.get(name)
            if family is None:
                self.families.put(name, _Family([a.shape for a in avals]))
            elif stale is None and (shared := _shared(family, avals, compiled, examined)) is not None:
                return shared
            elif stale is not None:
                family.executable = None
                family.runs.clear()
        return self.own.put(key, compiled(avals))


def _shared(
    family: _Family,
    avals: Sequence[Aval],
    compiled: Callable[[Sequence[Aval]], Executable],
    examined: Callable[[Sequence[Aval]], None],
) -> Executable | None:
    """The executable of a family, if it is to run for these shapes."""
    shapes = tuple([a.shape for a in avals])
    runs = family.runs.get(shapes, 0)
    if runs >= _SHARED_RUNS:
        return None
    if not runs:
        try:
            # a program with open dimensions takes for granted that they fit where it needs a result's shape only
            examined(avals)
        except Exception:  # noqa: BLE001 - compiling for the shapes themselves tells what is wrong, if anything is
            return None
    if len(family.runs) >= _MOST_COUNTED:
        family.runs.clear()
    family.runs[shapes] = runs + 1
    general = [_in_common(a, b) for a, b in zip(family.shapes, shapes, strict=True)]
    executable = family.executable
    if executable is None or general != family.shapes:
        if general == list(shapes):
            # nothing has changed: it had a program, which has given way
            return None
        try:
            executable = compiled([Aval(shape, a.dtype) for shape, a in zip(general, avals, strict=True)])
        except Exception:  # noqa: BLE001 - compiling for the shapes themselves tells what is wrong, if anything is
            return None
        executable.program.keep_in_python()
        family.shapes, family.executable = general, executable
    return executable


def _in_common(shape: Shape, other: Shape) -> Shape:
    """A shape with what two shapes of the same rank differ in left open."""
    assert shape is not None and other is not None
    return tuple([a if a == b else None for a, b in zip(shape, other, strict=True)])
