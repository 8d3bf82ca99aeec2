"""Whose memory an array is in: what a session hands out is the caller's alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from engine.arena import is_whole


def owned(value: Any, shared: Shared) -> Any:
    """An array that shares no memory with arguments, constants, or what was handed out before."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 0:
        return value[()]
    if shared.has(value):
        return value.copy()
    shared.handed_out(value)
    return value


class Shared:
    """Which arrays somebody else has: what was lent to a program, and what has been handed out."""

    __slots__ = ("_constants", "_owners")

    def __init__(self, lent: Sequence[Any], constants: set[int]) -> None:
        self._constants = constants
        self._owners = owners_of(lent)

    def has(self, array: np.ndarray) -> bool:
        """Whether an array shares memory with one of them, or is a view of a part of an array."""
        if not is_whole(array) and array.nbytes != _whole(array).nbytes:
            return True
        owner = _owner(array)
        return owner in self._owners or owner in self._constants

    def handed_out(self, array: np.ndarray) -> None:
        """Note that somebody has this array from now on."""
        self._owners.add(_owner(array))


def _whole(array: np.ndarray) -> np.ndarray:
    """The array that a view is a view of, in the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _owner(array: np.ndarray) -> int:
    """The identity of what owns an array's memory: an array, or what it was made from."""
    whole = _whole(array)
    return id(whole if is_whole(whole) else whole.base)


def owners_of(arrays: Iterable[Any]) -> set[int]:
    """The identities of what owns the memory of the arrays among these."""
    return {_owner(a) for a in arrays if isinstance(a, np.ndarray)}
