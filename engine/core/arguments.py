"""Checks of arguments that are integers or axes: what is no integer, or out of range, is refused here.

Every op that takes an axis calls `normalize_axis`. `engine.ops.axis_args` adds what is special to reductions.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.runtime.errors import DTypeError, InvalidArgumentError, ShapeError


def as_int(name: str, argument: str, value: Any, least: int | None = None) -> int:
    """`value`, an argument that must be one integer, as an int: Python's, NumPy's, or a tensor's that is known.

    DTypeError is raised if it is no integer (1.0 is none, nor is True), InvalidArgumentError if it is below `least`.
    """
    if type(value) is not int:
        try:
            index = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
        except TypeError:
            index = None
        if index is None:
            raise DTypeError(f"{name}: argument `{argument}` must be an integer, got {value!r}")
        value = index
    if least is not None and value < least:
        raise InvalidArgumentError(f"{name}: argument `{argument}` must be at least {least}, got {value}")
    return value


def as_ints(name: str, argument: str, values: Any, least: int | None = None) -> tuple[int, ...]:
    """Several integers, or one: `as_int` of each, as a tuple."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    items = values if isinstance(values, (tuple, list, range)) else (values,)
    if least is None and {int}.issuperset(map(type, items)):
        return tuple(items)
    return tuple([as_int(name, argument, v, least) for v in items])


def normalize_axis(name: str, axis: Any, rank: int, argument: str = "axis") -> int:
    """`axis` as a non-negative int below `rank`; DTypeError if it is no integer, ShapeError if it is out of range."""
    index = axis if type(axis) is int else as_int(name, argument, axis)
    if not -rank <= index < rank:
        raise ShapeError(f"{name}: Argument `{argument}` = {index} not in range [{-rank}, {rank}) for rank {rank}")
    return index % rank if rank else 0


def normalize_axes(name: str, axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """`axis` (an int, several, or None for all) as a tuple of distinct non-negative ints."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple([normalize_axis(name, a, rank) for a in as_ints(name, "axis", axis)])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: argument `axis` names a dimension twice (specified more than once): {axis}")
    return axes
