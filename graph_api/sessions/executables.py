"""Programs that a session has compiled: for shapes, and for families of shapes.

A program knows the shapes of all its values. That makes it quick, and costs as much as fifty runs of it. So where ever
new shapes are fed, as batches of different sizes are, a second program is made once: one in which the dimensions that
have changed are unknown. It serves any of these shapes, a few times slower. A shape that comes back often gets a
program of its own after all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction
from engine.core.aval import Aval, Shape, aval_of_array, common_shape
from engine.runtime.cache import Cache
from engine.runtime.structs import field, struct

_CACHE_SIZE = 512
"""Executables kept per session; the one not used for longest gives way."""
_SHARED_RUNS = 8
"""Runs of one shape by the program of its family before it gets one of its own."""
_PROBED = 16
"""How many times as large as what was fed are the shapes that are examined beforehand."""
_MOST_COUNTED = 4096
"""Shapes of a family whose runs are counted; then counting begins anew."""


@struct(slots=True)
class _Family:
    """The shapes with which the same fetches and feeds have been run, of the same ranks.

    Attributes
    ----------
    shapes : list of tuple
        By feed, with None for the dimensions that have changed.
    executable : ClosedFunction, optional
        Compiled for `shapes`.
    runs : dict
        How often each combination of shapes was run by it.
    sizes : Sizes
        Of the dimension that has changed, if it is one: those that need not be examined.
    """

    shapes: list[Shape]
    executable: ClosedFunction | None = None
    runs: dict[Any, int] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=lambda: Sizes())


class Sizes:
    """For which sizes of a batch the shapes of all values are known to fit together, without looking at them.

    If each dimension of each value (and each number computed from shapes) was the same for two sizes, or a multiple of
    the size, then so it is for those between: no such dimension has met a constant, which would fit one size only.
    Sizes below 2 say nothing, as they fit anything.
    """

    def __init__(self) -> None:
        self._first: tuple[int, np.ndarray] | None = None
        self._least = self._most = 0
        self._uniform = True

    def __contains__(self, size: int) -> bool:
        return self._uniform and self._least <= size <= self._most

    def examined(self, size: int, avals: Sequence[Aval]) -> None:
        """Note what was found of all values for a size that somebody has asked for."""
        if size < 2 or not self._uniform:
            return
        self._uniform = bool(avals)
        if self._first is None:
            self._first, self._least, self._most = (size, _numbers(avals)), size, size
        else:
            self._uniform = self._uniform and self.probed(size, avals)

    def probed(self, size: int, avals: Sequence[Aval]) -> bool:
        """Whether what was found for a size goes with what was found before; it is noted if so."""
        assert self._first is not None
        (one, before), numbers = self._first, _numbers(avals)
        if numbers.shape != before.shape:
            return False
        if not ((numbers == before) | ((numbers * one == before * size) & (before % one == 0))).all():
            return False
        self._least, self._most = min(self._least, size), max(self._most, size)
        return True

    def probe(self, shapes: Sequence[Shape], avals: Sequence[Aval], examined: Callable[..., Sequence[Aval]]) -> None:
        """Examine a large and a small size, too, for shapes that are open in one dimension, of what has been examined.

        The large one is odd. Where it does not go with what was found, somebody divides the size.
        """
        for size, needed in ((_PROBED * self._most + 1, True), (2, False)):
            if self._uniform and self._first is not None:
                goes = False
                with contextlib.suppress(Exception):
                    goes = self.probed(
                        size, examined([_of_size(s, size, a) for s, a in zip(shapes, avals, strict=True)])
                    )
                self._uniform = goes or not needed


def _open_size(shapes: Sequence[Shape], avals: Sequence[Aval]) -> int:
    """The size that all open dimensions of the shapes have in the avals; 0 if they differ."""
    pairs = [pair for s, a in zip(shapes, avals, strict=True) for pair in zip(s or (), a.shape or (), strict=True)]
    sizes = {size for d, size in pairs if d is None and size is not None}
    return sizes.pop() if len(sizes) == 1 else 0


def _of_size(shape: Shape, size: int, aval: Aval) -> Aval:
    assert shape is not None
    return Aval(tuple([size if d is None else d for d in shape]), aval.dtype)


def _numbers(avals: Sequence[Aval]) -> np.ndarray:
    """Ranks, dimensions and contents, as far as they are known; -1 for what is not."""
    numbers: list[Any] = []
    for aval in avals:
        numbers += (-1,) if aval.shape is None else (len(aval.shape), *aval.shape)
        if aval.value is not None:
            numbers += np.ravel(np.array(aval.value, object)).tolist()
    return np.array([-1 if n is None else int(n) for n in numbers], np.int64)


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
        self.own: Cache[Any, ClosedFunction] = Cache(
            "programs of sessions", _CACHE_SIZE, key="the session; fetches, feeds, shapes and dtypes of feeds"
        )
        self.families: Cache[Any, _Family] = Cache(
            "programs for families of shapes", _CACHE_SIZE, key="the session; fetches, feeds, dtypes and ranks of feeds"
        )

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
        compiled: Callable[[Sequence[Aval]], ClosedFunction],
        examined: Callable[[Sequence[Aval]], Sequence[Aval]],
        stale: ClosedFunction | None,
    ) -> ClosedFunction:
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
            ``examined(avals of the feeds)``: those of all values; raises if they do not fit together.
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
                family.sizes = Sizes()
        return self.own.put(key, compiled(avals))


def _shared(
    family: _Family,
    avals: Sequence[Aval],
    compiled: Callable[[Sequence[Aval]], ClosedFunction],
    examined: Callable[[Sequence[Aval]], Sequence[Aval]],
) -> ClosedFunction | None:
    """The executable of a family, if it is to run for these shapes."""
    shapes = tuple([a.shape for a in avals])
    runs = family.runs.get(shapes, 0)
    if runs >= _SHARED_RUNS:
        return None
    general = [common_shape(a, b) for a, b in zip(family.shapes, shapes, strict=True)]
    if general != family.shapes:
        family.sizes = Sizes()
    size = _open_size(general, avals)
    if not runs and size not in family.sizes:
        try:
            # a program with open dimensions takes for granted that they fit where it needs a result's shape only
            family.sizes.examined(size, examined(avals))
            if general != family.shapes:
                family.sizes.probe(general, avals, examined)
        except Exception:  # noqa: BLE001 - compiling for the shapes themselves tells what is wrong, if anything is
            return None
    if len(family.runs) >= _MOST_COUNTED:
        family.runs.clear()
    family.runs[shapes] = runs + 1
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
