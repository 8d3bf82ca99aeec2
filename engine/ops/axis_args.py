"""Axis arguments of reductions and scans: from what users write to what ops take, and what they do to shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_int, as_ints, normalize_axes, normalize_axis
from engine.core.aval import Shape
from engine.core.trace import constant_value
from engine.core.value import Value, shape_of
from engine.runtime.cache import cached
from engine.runtime.errors import NotKnownYet, ShapeError

Axes = tuple[int, ...] | None
"""Axes as ops take them, counted from the end where the rank is known; None for all of a tensor of unknown rank."""


def static_axis(name: str, axis: Any, argument: str = "axis", result: Shape = None) -> Any:
    """`axis` as Python data: ints of an array, or of a tensor that a graph knows; `result`: its shape for any axis."""
    if not isinstance(axis, (Value, np.ndarray, np.generic)):
        return axis
    known = constant_value(axis)
    if known is None:
        message = f"{name}: argument `{argument}` must be known while the graph is built, got {axis!r}"
        raise NotKnownYet(message, axis, result)
    return known.tolist()


def single_axis(name: str, x: Any, axis: Any) -> int:
    """One axis, counted from the end if x's rank is known."""
    if type(axis) is not int:
        axis = static_axis(name, axis)
    shape = shape_of(x)
    return as_int(name, "axis", axis) if shape is None else normalize_axis(name, axis, len(shape)) - len(shape)


def reduction_axes(name: str, x: Any, axis: Any, result: Shape = None) -> Axes:
    """`axis` (None, an int, several, or a known integer tensor) as ints, counted from the end if x's rank is known."""
    shape = shape_of(x)
    if axis is not None and type(axis) is not int:
        axis = static_axis(name, axis, result=result)
        if isinstance(axis, (list, tuple)):
            axis = as_ints(name, "axis", axis)
    if shape is not None:
        return negative_axes(name, axis, len(shape))
    return None if axis is None else as_ints(name, "axis", axis)


def only_item(name: str, axis: Any) -> Any:
    """`axis`, or what stands in it if it holds one number in a list."""
    known = static_axis(name, axis)
    return known[0] if isinstance(known, (list, tuple)) and len(known) == 1 else known


def static_int(name: str, argument: str, value: Any, least: int | None = None) -> int:
    """`value` (an int, or a tensor or array known while the graph is built) as an int that is at least `least`."""
    if type(value) is not int:
        value = static_axis(name, value, argument)
    return as_int(name, argument, value, least)


@cached(4096, typed=True)
def negative_axes(name: str, axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """`axis` as a tuple of distinct negative ints."""
    if axis is None:
        return tuple(range(-rank, 0))
    return tuple([a - rank for a in normalize_axes(name, axis, rank)])


@cached(4096)
def permutation(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions that `transpose` is given, without negative numbers."""
    rank = len(order)
    perm = tuple([p % rank if -rank <= p < rank else p for p in order])
    if sorted(perm) != list(range(rank)):
        raise ShapeError(f"transpose: argument `perm` must name each dimension once, got {order}")
    return perm


def kept_shape(shape: Shape, axis: Axes) -> tuple[int | None, ...] | None:
    """The shape with ones at the reduced axes."""
    if shape is None or axis is None:
        return None if shape is None else (1,) * len(shape)
    kept = list(shape)
    for a in axis:
        kept[a] = 1
    return tuple(kept)


def reduced_shape(shape: Shape, axis: Axes, keepdims: bool) -> Shape:
    """The shape after a reduction."""
    if shape is None:
        return () if axis is None and not keepdims else None
    if keepdims:
        return kept_shape(shape, axis)
    if axis is None:
        return ()
    gone = {a % len(shape) for a in axis}
    return tuple([d for i, d in enumerate(shape) if i not in gone])


def count_reduced(shape: tuple[int, ...], axis: Axes) -> int:
    """How many elements each result is reduced from."""
    return math.prod(shape if axis is None else [shape[a] for a in axis])


def left_over(dims: Sequence[Any], wanted: Sequence[int | None]) -> int:
    """The size of an open wanted dimension; where 0 stays, as with empty batches, what an entry has left."""
    sizes = dims if 0 not in wanted else [d for d in dims if d]
    return math.prod(sizes) // math.prod([d for d in wanted if d and d > 0])
