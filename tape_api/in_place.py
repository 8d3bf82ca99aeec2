"""New values for variables, put where the old ones lie."""

from __future__ import annotations

from collections.abc import Sequence
from operator import setitem
from typing import Any

import numpy as np

from dualgrad.files.bundle import Stored, read_into
from engine.core.tape import active, unrecorded
from engine.runtime.commit import exclusively
from optim.slots import locks_of, step
from tape_api.tensor import convert_to_tensor
from tape_api.variable import Variable


def held(variable: Variable) -> np.ndarray:
    """The array of a variable, as it lies: nobody must change it, and updates do not."""
    return np.asarray(unrecorded(variable.read_value)._array)


def put(variables: Sequence[Variable], values: Sequence[Any]) -> None:
    """Give variables arrays, tensors, or what lies in files (`Stored`), in one step: all, or none if one does not fit.

    A large array is written to the memory of the old value, unless somebody else holds this.
    """
    if active.function is None:
        exclusively(locks_of(variables), unrecorded, _put, variables, values)
    else:
        made = [convert_to_tensor(x.array() if isinstance(x, Stored) else x) for x in values]
        step(variables, lambda: made)


def _put(variables: Sequence[Variable], values: Sequence[Any]) -> None:
    writes: list[tuple[Any, ...]] = []
    renewed: list[tuple[Variable, Any]] = []
    for variable, value in zip(variables, values, strict=True):
        if _takes_the_place(variable, value):
            renewed.append((variable, value))
        else:
            writes += variable.writes(value.array() if isinstance(value, Stored) else value)
    places: list[tuple[Stored, np.ndarray]] = []
    for variable, value in renewed:
        _, room, changes = variable.renewal()
        if isinstance(value, Stored):
            places.append((value, room))
        else:
            writes.append((setitem, room, ..., value))
        writes += changes
    read_into(places, writes)


def _takes_the_place(variable: Variable, value: Any) -> bool:
    """Whether a value is large, and as large as the variable's: then the memory of this is worth keeping."""
    if not isinstance(value, (np.ndarray, Stored)) or not isinstance(variable, Variable):
        return False
    old = variable._tensor._array
    return old.nbytes >= _LARGE and old.dtype == value.dtype and old.shape == value.shape and old.dtype.kind != "O"


_LARGE = 1 << 16
