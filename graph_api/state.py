"""What the variables of a graph hold in a session.

Threads share it, and interrupts do not split it: see `engine.runtime.state` for how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import setitem
from typing import Any

import numpy as np

from engine.core.aval import compatible, format_shape
from engine.core.errors import ShapeError
from engine.ops.scatter import check_entries, entries_at
from engine.program.state import Assignment
from engine.runtime.ownership import Shared
from engine.runtime.state import ALONE, Lock, commit, exclusively, holders
from graph_api.tensor import Tensor


class State:
    """The values of variables, by the identities of their handles.

    Attributes
    ----------
    values : dict
        Without those whose rows are being written.
    """

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self._aside: dict[int, Any] = {}
        self._locks: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget all values."""
        self.values.clear()
        self._aside.clear()

    def read(self, keys: Sequence[int], flags: Mapping[int, int]) -> list[Any]:
        """The values of several variables, all of them as they are at one moment.

        Parameters
        ----------
        keys : sequence of int
        flags : mapping
            Where among `keys` to say instead whether a variable has a value, and the key of that variable.
        """
        if flags:
            return [np.bool_(self.has(flags[i])) if i in flags else self.value(key) for i, key in enumerate(keys)]
        while True:
            try:
                # one call of a C function, during which no other thread assigns
                return list(map(self.values.__getitem__, keys))
            except KeyError as missing:
                self.value(missing.args[0])

    def value(self, key: int) -> Any:
        """The value of a variable. Whoever is writing rows of it finishes first."""
        found = self.values.get(key)
        return exclusively((self.lock(key),), self._found, key) if found is None else found

    def _found(self, key: int) -> Any:
        """A value, put back if whoever put it aside was interrupted."""
        if key not in self.values and key in self._aside:
            self.values[key] = self._aside[key]
        try:
            return self.values[key]
        except KeyError:
            raise RuntimeError("the session has been closed by another thread") from None

    def has(self, key: int) -> bool:
        """Whether a variable has a value."""
        # looked for twice: it may be put back in between
        return key in self.values or key in self._aside or key in self.values

    def lock(self, key: int) -> Any:
        """What a run holds that assigns to a variable."""
        return self._locks.get(key) or self._locks.setdefault(key, Lock())

    def assign(
        self, assigned: Sequence[Assignment], results: Sequence[Any], shared: Shared, arguments: list[Any]
    ) -> None:
        """Store new values: all of them, or none if one does not fit. What was lent to the program is let go of."""
        left = iter(results)
        whole, parts = [], []
        for assignment in assigned:
            key = id(assignment.handle)
            if assignment.in_part:
                part = [shared.owned(next(left)), shared.owned(next(left))]
                check_entries(f"assign to entries of {assignment.handle.op.name!r}", self.value(key), *part)
                parts.append((key, part))
            else:
                whole.append((key, _fitting(assignment.handle, next(left))))
        new = {key: shared.owned(value) for key, value in whole}
        # finalizers of what is replaced must not run between the writes
        replaced = [self.values.get(key) for key in new]
        if not parts:
            self.values.update(new)
            return
        arguments.clear()
        writes: list[tuple[Any, ...]] = [(setitem, self.values, key, value) for key, value in new.items()]
        for key, (indices, updates) in parts:
            # nobody finds the value from here on; who looks for it waits for the lock
            self._aside[key] = self.values[key]
            del self.values[key]
            if holders(self._aside, key) != ALONE:
                self._aside[key] = self._aside[key].copy()
            writes.insert(0, (setitem, self._aside[key], entries_at(indices), updates))
            writes.append((setitem, self.values, key, self._aside[key]))
        commit(writes)
        del replaced
        for key, _ in parts:
            del self._aside[key]


def _fitting(handle: Tensor, value: Any) -> Any:
    """The new value of a variable, if it is of a shape that the variable may have."""
    if not compatible(value.shape, handle._aval.shape):
        raise ShapeError(
            f"assign: the variable {handle.name!r} has shape {format_shape(handle._aval.shape)}, the value "
            f"{format_shape(value.shape)}"
        )
    return value
