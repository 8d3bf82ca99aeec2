"""Whose memory an array is in: what sessions and plans hand out is the caller's alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.runtime.buffer_pool import is_whole


class Shared:
    """Which memory somebody else has: what was lent to a program, and what has been handed out.

    Parameters
    ----------
    lent : sequence of array
    constants : set of int
        Who owns the memory of a program's constants (`owners_of`).
    """

    __slots__ = ("_constants", "_owners")

    def __init__(self, lent: Sequence[Any], constants: set[int]) -> None:
        self._constants = constants
        self._owners = owners_of(lent)

    def owned(self, value: Any) -> Any:
        """An array that shares no memory with these, and is no view of a part of an array; nobody else gets it."""
        if not isinstance(value, np.ndarray):
            return value
        if value.ndim == 0:
            return value[()]
        whole = _whole(value)
        owner = _owner(whole)
        # as large as the whole and yet no view of it: one number, shown several times
        if value.nbytes != whole.nbytes or not value.flags.writeable:
            return value.copy()
        if owner in self._owners or owner in self._constants:
            return value.copy()
        self._owners.add(owner)
        return value


def own_results(program: Callable[..., Any], lent: Sequence[Any], constants: set[int]) -> list[Any]:
    """What a program makes of the arrays lent to it, in memory that is neither theirs nor that of its constants."""
    shared = Shared(lent, constants)
    return [shared.owned(value) for value in program(*lent)]


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
