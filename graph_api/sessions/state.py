"""Values of the variables of a graph in a session.

Threads share it, and interrupts do not split it: see `engine.runtime.commit` for how.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import repeat
from operator import setitem
from typing import Any

import numpy as np

from dualgrad.files.bundle import Stored, read_into
from engine.compiler.assignments import Assignment
from engine.compiler.updates.deferred_updates import Update
from engine.compiler.updates.update_loop import Scratch
from engine.core.aval import Aval, aval_of_array, compatible, format_shape
from engine.core.dtypes import bool_
from engine.core.operands import Array, Operand
from engine.core.value import boxed, scalar
from engine.core.variable import variable_is_initialized
from engine.ops.scatter import check_entries, entries_at
from engine.runtime.buffer_pool import empty, is_whole
from engine.runtime.commit import ALONE, Lock, commit_computing, exclusively, holders, in_order
from engine.runtime.errors import FailedPreconditionError, ShapeError
from engine.runtime.packs import Pack
from graph_api.graphs.tensor import Tensor


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
        self._packs: dict[tuple[int, ...], Pack] = {}
        self._locks: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget all values."""
        self.values.clear()
        self._aside.clear()
        self._packs.clear()

    # ---- what closed functions ask for -------------------------------------------------------------------------------

    def key(self, handle: Tensor) -> int:
        """The identity of a variable's handle; its complement for whether the variable has a value."""
        asks = handle.node.op is variable_is_initialized
        return ~id(handle.node.inputs[0]) if asks else id(handle)

    def keys(self, handles: Sequence[Tensor]) -> list[int]:
        """Those of variables to be read, which must have values."""
        keys = list(map(self.key, handles))
        for handle, key in zip(handles, keys, strict=True):
            if key >= 0 and not self.has(key):
                raise _uninitialized(handle)
        return keys

    def locks(self, handles: Sequence[Tensor]) -> list[AbstractContextManager[Any]]:
        """Those of variables to be assigned to."""
        return [self.lock(id(handle)) for handle in handles]

    def destinations(self, assigned: Sequence[Assignment]) -> Sequence[Assignment]:
        """The assignments themselves."""
        return assigned

    def read(self, keys: Sequence[int]) -> list[Any]:
        """The values of several variables, all of them as they are at one moment."""
        while True:
            try:
                # one call of a C function, during which no other thread assigns
                return list(map(self.values.__getitem__, keys))
            except KeyError as missing:
                if min(keys) < 0:
                    return [np.bool_(self.has(~key)) if key < 0 else self.value(key) for key in keys]
                self.value(missing.args[0])

    def is_missing(self, handle: Any) -> bool:
        """Whether a variable must be initialized before it can be read."""
        return handle.node.params["default"] is None and not self.has(id(handle))

    def aval(self, handle: Any) -> Aval:
        """The aval of a variable's value; a hidden variable with a default gets it now."""
        key = self.key(handle)
        if key < 0:
            return Aval((), bool_)
        if not self.has(key):
            default = handle.node.params["default"]
            if default is None:
                # known well enough for what needs no more than its shape
                if handle._aval.is_static:
                    return handle._aval
                raise _uninitialized(handle)
            self.values.setdefault(key, default())
        return aval_of_array(self.value(key))

    # ---- single values -----------------------------------------------------------------------------------------------

    def value(self, key: int) -> Array:
        """The value of a variable. Whoever is writing rows of it finishes first."""
        value = self.values.get(key)
        return exclusively((self.lock(key),), self._put_back, key) if value is None else value

    def _put_back(self, key: int) -> np.ndarray:
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

    def lock(self, key: int) -> AbstractContextManager[Any]:
        """The lock that a run holds that assigns to a variable."""
        return self._locks.get(key) or self._locks.setdefault(key, Lock())

    def load(self, handles: Sequence[Tensor], values: Sequence[Any]) -> None:
        """Set several variables in one step: all of them, or none if one does not fit.

        What lies in a file (`Stored`) is read into the variable's own memory, if nobody else holds its value.
        """
        new = {id(handle): _fitting(handle, value) for handle, value in zip(handles, values, strict=True)}
        stored = {key: value for key, value in new.items() if isinstance(value, Stored)}
        new = {key: scalar(np.array(value, order="C")) for key, value in new.items() if key not in stored}
        replaced = [self.values.get(key) for key in new]
        exclusively(in_order(self.lock(key) for key in [*new, *stored]), self._load, new, stored)
        del replaced

    def _load(self, new: dict[int, Any], stored: Mapping[int, Stored]) -> None:
        places: list[tuple[Stored, np.ndarray]] = []
        writes = [(self.values.update, new)]
        renewed = [key for key, value in stored.items() if self.has(key) and _is_like(self.value(key), value)]
        for key, value in stored.items():
            if key in renewed:
                _, array, changes = self.renewed((key,), ())
                writes += changes
            else:
                array = empty(value.shape, value.dtype)
                writes.append(self.replacing([key], [array]))
            places.append((value, array))
        read_into(places, writes)
        deque(map(self._aside.pop, renewed, repeat(None)), 0)

    def assign(
        self, assigned: Sequence[Assignment], results: Sequence[Any], updates: Sequence[Update], arguments: list[Any]
    ) -> None:
        """Store new values, of memory of their own: all of them, or none if one does not fit.

        `arguments`, what was lent to the program, are let go of.
        """
        left = iter(results)
        new: dict[int, Any] = {}
        parts = []
        for assignment in assigned:
            key = id(assignment.handle)
            if assignment.in_part:
                part = [next(left), next(left)]
                check_entries(f"assign to entries of {assignment.handle.op.name!r}", self.value(key), *part)
                parts.append((key, part))
            else:
                new[key] = _fitting(assignment.handle, boxed(next(left)))
        # finalizers of what is replaced must not run between the writes
        replaced = [self.values.get(key) for key in new]
        if not parts and not updates:
            self.values.update(new)
            return
        arguments.clear()
        writes: list[tuple[Any, ...]] = []
        scratch = Scratch()
        for update in updates:
            writes += update.writes(results, scratch, self)
        writes.append((self.values.update, new))
        for key, (indices, entries) in parts:
            # nobody finds the value from here on; who looks for it waits for the lock
            self._aside[key] = self.values[key]
            del self.values[key]
            if holders(self._aside, key) != ALONE:
                self._aside[key] = self._aside[key].copy()
            writes.insert(0, (setitem, self._aside[key], entries_at(indices), entries))
            writes.append((setitem, self.values, key, self._aside[key]))
        commit_computing(writes)
        del replaced
        # if floating-point errors raise, updates put nothing aside
        hidden = [*[key for update in updates for keys in update.keys for key in keys], *[key for key, _ in parts]]
        deque(map(self._aside.pop, hidden, repeat(None)), 0)

    # ---- deferred updates --------------------------------------------------------------------------------------------

    packs = True

    def arrays(self, keys: Sequence[int]) -> list[Any]:
        """The values of variables that this thread holds the locks of."""
        return [self.value(key) for key in keys]

    def replacing(self, keys: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """The write that gives variables new values."""
        return self.values.update, dict(zip(keys, values, strict=True))

    def renewed(self, keys: tuple[int, ...], shapes: Sequence[Any]) -> tuple[Any, Any, list[tuple[Any, ...]]]:
        """The old values as one array; an array for the new ones; and the write that makes these the values.

        The array is the same if nobody else holds the values. Meanwhile nobody finds them.
        """
        values = self.read(keys)
        self._aside.update(zip(keys, values, strict=True))
        deque(map(self.values.__delitem__, keys), 0)
        if len(keys) > 1:
            pack = self._packs.get(keys)
            same = pack is not None and pack.holds(values)
            values.clear()
            if pack is None or not same or not pack.is_alone():
                pack = self._packs[keys] = Pack([self._aside[key] for key in keys], shapes)
            return pack.whole, pack.whole, [self.replacing(keys, pack.values)]
        values.clear()
        (key,) = keys
        old = self._aside[key]
        own = is_whole(old) and old.flags.writeable
        del old
        alone = own and holders(self._aside, key) == ALONE
        old = self._aside[key]
        new = old if alone else empty(old.shape, old.dtype)
        return old, new, [self.replacing(keys, [new])]


def _uninitialized(handle: Tensor) -> Exception:
    return FailedPreconditionError(
        f"Attempting to use uninitialized value {handle.op.name}: run its initializer "
        f"(tf.global_variables_initializer) in this session first",
        handle.op,
    )


def _is_like(array: Array, other: Any) -> bool:
    """Whether shapes and dtypes are equal."""
    return array.shape == other.shape and array.dtype == other.dtype


def _fitting(handle: Tensor, value: Any) -> Operand:
    """The new value of a variable, if it is of a shape that the variable may have."""
    if not compatible(value.shape, handle._aval.shape):
        raise ShapeError(
            f"assign: the variable {handle.name!r} has shape {format_shape(handle._aval.shape)}, the value "
            f"{format_shape(value.shape)}"
        )
    return value
