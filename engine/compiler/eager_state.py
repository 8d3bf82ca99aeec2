"""Eager variables as the state of closed functions: what a program reads, and what its results make of them.

Results are new values, entries, and updates made when they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.compiler.assignments import Assignment
from engine.compiler.updates.deferred_updates import Update
from engine.compiler.updates.update_loop import Scratch
from engine.core.variable import Variable
from engine.runtime.commit import commit_computing


class EagerState:
    """Where the values of eager variables are that handles of a trace stand for (`engine.closed.function.Store`).

    Parameters
    ----------
    variables : mapping
        By the identities of the handles.
    """

    def __init__(self, variables: Mapping[int, Variable]) -> None:
        self._variables = variables

    def key(self, handle: Any) -> Variable:
        """The variable."""
        return self._variables[id(handle)]

    def keys(self, handles: Sequence[Any]) -> list[Variable]:
        """The variables."""
        return list(map(self.key, handles))

    def locks(self, handles: Sequence[Any]) -> Iterable[Any]:
        """Those of the variables."""
        return [lock for v in self.keys(handles) for lock in v.locks]

    def read(self, variables: Sequence[Variable]) -> list[Any]:
        """Their arrays."""
        return type(variables[0]).arrays(variables)

    # ---- deferred updates --------------------------------------------------------------------------------------------

    packs = False
    """A tensor that somebody keeps must not keep the memory of others."""

    def arrays(self, keys: Sequence[int]) -> list[Any]:
        """The arrays of variables."""
        return self.read([self._variables[key] for key in keys])

    def renewed(self, keys: tuple[int, ...], shapes: Sequence[Any]) -> tuple[Any, Any, list[tuple[Any, ...]]]:
        """The array of a variable, one for its new value, and the writes that make that its value."""
        (key,) = keys
        return self._variables[key].renewal()

    def replacing(self, keys: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """The write that sets variables to arrays."""
        variables = [self._variables[key] for key in keys]
        return type(variables[0]).replacement(variables, values)

    # ---- assigning ---------------------------------------------------------------------------------------------------

    def destinations(self, assigned: Sequence[Assignment]) -> list[tuple[Variable, bool]]:
        """Variables, and whether there are two results for one, index vectors and entries, in place of a new value."""
        return [(self._variables[id(a.handle)], a.in_part) for a in assigned]

    def assign(
        self,
        destinations: Sequence[tuple[Variable, bool]],
        results: Sequence[Any],
        updates: Sequence[Update],
        arguments: list[Any],
    ) -> None:
        """Store new values in variables whose locks are held: all of them, or none if something fails."""
        arguments.clear()
        left, scratch = iter(results), Scratch()
        new = [(v, next(left), next(left) if in_part else None) for v, in_part in destinations]
        held = [v for v, _, _ in new]
        writes: list[tuple[Any, ...]] = []
        for update in updates:
            writes += update.writes(results, scratch, self)
        whole = [(v, value) for v, value, entries in new if entries is None]
        if whole:
            writes.append(type(held[0]).replacement(*zip(*whole, strict=True)))
        for v, indices, entries in new:
            if entries is not None:
                writes += v.entry_writes(indices, entries)
        replaced = type(held[0]).arrays([v for v, _ in whole]) if whole else []
        commit_computing(writes)
        del replaced
