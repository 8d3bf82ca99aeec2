"""Whose memory an array is in: what sessions and plans hand out is the caller's alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.runtime.buffer_pool import is_whole
from engine.runtime.errors import ResourceExhaustedError


class Shared:
    """Which memory somebody else has: what was lent to a program, and what has been handed out.

    Parameters
    ----------
    lent : sequence of array
        Looked at when an array is first asked about.
    constants : set of int
        Who owns the memory of a program's constants (`owners_of`).
    """

    __slots__ = ("_constants", "_lent", "_owners")

    def __init__(self, lent: Sequence[Any], constants: set[int]) -> None:
        self._constants = constants
        self._lent: Sequence[Any] = lent
        self._owners: set[int] | None = None

    def owned(self, value: Any) -> np.ndarray:
        """An array that shares no memory with these, and is no view of a part of an array; nobody else gets it."""
        if not isinstance(value, np.ndarray):
            return value
        if value.ndim == 0:
            return value[()]
        if self._owners is None:
            # most arrays have memory of their own
            lent = [a for a in self._lent if isinstance(a, np.ndarray)]
            self._owners = {id(a) if a.base is None else _owner(_whole(a)) for a in lent}
        whole = value if value.base is None else _whole(value)
        owner = id(value) if value.base is None else _owner(whole)
        # as large as the whole and yet no view of it: one number, shown several times
        is_shown = value.nbytes != whole.nbytes or not value.flags.writeable
        if is_shown or owner in self._owners or owner in self._constants:
            try:
                return value.copy()
            except MemoryError as error:
                raise ResourceExhaustedError.of(error, "a result of its own memory") from error
        self._owners.add(owner)
        return value


def own_results(program: Callable[..., Any], lent: Sequence[Any], constants: set[int]) -> list[Any]:
    """The results of a program for the arrays lent to it, in memory that is neither theirs nor that of its constants.

    A program that gives a list says that this is so.
    """
    results = program(*lent)
    if type(results) is list:
        return results
    shared = Shared(lent, constants)
    return [shared.owned(value) for value in results]


def owners_of(arrays: Iterable[Any]) -> set[int]:
    """The identities of what owns the memory of the arrays among these."""
    return {_owner(_whole(a)) for a in arrays if isinstance(a, np.ndarray)}


def _whole(array: np.ndarray) -> np.ndarray:
    """The array that a view is a view of, in the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _owner(whole: np.ndarray) -> int:
    """The identity of what owns an array's memory: the array, or what it was made from."""
    return id(whole if is_whole(whole) else whole.base)
