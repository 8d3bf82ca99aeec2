"""Where values lie: `Root`, memory that something owns, and `Ref`, a view of it."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from engine.executor.own_loops import AT_INDICES
from engine.runtime.cache import cached
from engine.runtime.structs import field, struct

Steps = TypeVar("Steps", bound=tuple[int, ...])


@struct(eq=False, slots=True)
class Root:
    """Memory of one array."""

    kind: str
    """``"computed"`` by rows, ``"argument"``, ``"constant"``, or ``"slot"``: what a call of Python gave."""
    dtype: np.dtype | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Of the array; dtype is None for an object that no row can read."""
    position: int = -1
    """Of an argument."""
    array: Any = None
    """A constant; of an argument, what it must be for the table to fit."""
    scalar: bool = False
    """Whether it is that of a NumPy scalar."""
    escapes: bool = False
    """Whether somebody may keep it beyond the run."""
    tiled: bool = False
    """Whether there is a tile of it at a time only."""
    base: int = -1
    offset: int = 0
    """Where it is in the memory of a table."""

    @property
    def item(self) -> int:
        """Bytes of an element, none of an object."""
        return 0 if self.dtype is None else self.dtype.itemsize

    @property
    def extent(self) -> tuple[int, int]:
        """The bytes that it reaches, from its address."""
        return _extent(self.shape, self.strides, self.item) if self.shape else (0, self.item)


@cached(1 << 12)
def _extent(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, int]:
    low = high = 0
    for d, step in zip(shape, strides, strict=True):
        if d == 0:
            return 0, 0
        reach = step * (d - 1)
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + item


@struct(slots=True)
class Ref:
    """A view of a root.

    Nobody changes one, a row or a call: they are not frozen because that makes them take longer.
    """

    root: Root
    offset: int
    """Bytes from the root's address."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    scalar: bool = False
    """Whether Python has a NumPy scalar for it, not an array."""
    writable: bool = True

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_root(self) -> bool:
        """Whether it is all of its root, as it is."""
        root = self.root
        if self.scalar != root.scalar:
            return False
        return (
            not self.offset and self.shape == root.shape and self.strides == root.strides and self.dtype == root.dtype
        )


def constant_ref(array: np.ndarray) -> Ref:
    """An array as a constant."""
    root = Root("constant", array.dtype, array.shape, array.strides, array=array)
    return Ref(root, 0, array.shape, array.strides, array.dtype)


@functools.cache
def core_dims(ufunc: np.ufunc) -> tuple[tuple[str, ...], ...]:
    """Per operand of a gufunc the names of its core dimensions."""
    return tuple([tuple(re.findall(r"\w+", core)) for core in re.findall(r"\(([^)]*)\)", ufunc.signature or "")])


def core_names(ufunc: np.ufunc) -> tuple[str, ...]:
    """The names of the core dimensions of a gufunc, each once."""
    return tuple(dict.fromkeys(itertools.chain(*core_dims(ufunc))))


@struct(slots=True)
class Row:
    """One call of an inner loop, or several with the dimensions `outer` around it; see rows.h."""

    loop: tuple[Any, ...]
    """``(ufunc, number of its loop)``, or ``(name,)`` of one of our own."""
    operands: tuple[tuple[Root, int], ...]
    """Where each operand starts."""
    dims: tuple[int, ...]
    steps: tuple[int, ...]
    outer: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    outputs: int = 1
    """How many of the operands, the last ones, are written."""
    position: int = -1
    """Of the instruction, for a row that may refuse what it is given: its kernel is called then."""
    keeps: tuple[Root, ...] = ()
    """Operands that the kernel would be given, and so must still be there."""

    @property
    def written(self) -> tuple[tuple[Root, int], ...]:
        """The operands that are written."""
        return self.operands[len(self.operands) - self.outputs :]

    @property
    def work(self) -> int:
        """Elements that it goes through."""
        dims = self.dims
        if len(dims) > 2 and self.loop[0] in AT_INDICES:
            dims = dims[0], dims[2]
        return math.prod(dims) * math.prod(self.outer)


@struct(slots=True)
class Call:
    """A call of a kernel."""

    position: int
    """Of the instruction."""
    operands: tuple[Any, ...]
    """A `Ref`, a `Root` that is an object, or (``"object"``, x) for what stays the same."""
    results: tuple[Root, ...]
    copies: bool = False


_MERGED = 16
"""Elements of the innermost dimension below which a longer one takes its place."""


def longer_inside(sizes: Sequence[int]) -> int:
    """Which dimension to put innermost: the last one, but if it is short and another one is much longer, that one."""
    longest = max(range(len(sizes)), key=lambda k: sizes[k])
    return longest if sizes[-1] < _MERGED and sizes[longest] > 4 * sizes[-1] else len(sizes) - 1


def merged_axes(axes: Sequence[tuple[int, Steps]]) -> list[tuple[int, Steps]]:
    """Sizes and steps of axes: neighboring ones that are one in memory as one, and none of size one."""
    merged: list[tuple[int, Steps]] = []
    for d, steps in axes:
        if d == 1:
            continue
        if merged and all(a == b * d for a, b in zip(merged[-1][1], steps, strict=True)):
            merged[-1] = merged[-1][0] * d, steps
        else:
            merged.append((d, steps))
    return merged


def loop_nest(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Count and steps of the inner loop, and the dimensions and strides around it, for operands of one shape.

    Dimensions that are one in memory for all operands become one. The order of the rest is that of the last operand's
    memory, but for a short innermost one: the order matters to speed alone.
    """
    axes = [(d, tuple([s[k] for s in strides])) for k, d in enumerate(shape)]
    merged = merged_axes(sorted(axes, key=lambda axis: -abs(axis[1][-1])))
    if not merged:
        return 1, tuple([0] * len(strides)), (), ()
    longest = longer_inside([d for d, _ in merged])
    merged.append(merged.pop(longest))
    (count, steps), outer = merged[-1], merged[:-1]
    return count, steps, tuple([d for d, _ in outer]), tuple([s for _, row in outer for s in row])


def broadcast_strides(own: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides that show a value of the shape `own` in a larger one."""
    extra = len(shape) - len(own)
    shown = [0 if d == 1 and n != 1 else s for d, s, n in zip(own, strides, shape[extra:], strict=True)]
    return (*[0] * extra, *shown)


@cached(1 << 12)
def _nest(
    operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """`loop_nest` for the shapes and strides of operands, shown in the shape of the last one."""
    shape = operands[-1][0]
    return loop_nest(shape, [broadcast_strides(own, strides, shape) for own, strides in operands])


def elementwise(loop: tuple[Any, ...], operands: Sequence[Ref], outputs: int = 1) -> Row:
    """The row of an elementwise loop; the last operand is its result."""
    count, steps, outer, strides = _nest(tuple([(x.shape, x.strides) for x in operands]))
    if count == 1:
        # to NumPy's loops a result that stays in place is a reduction; of vectors of one element they get the strides,
        # by which they choose how to compute
        steps = tuple([x.strides[0] if len(x.shape) == 1 and x.strides[0] else x.dtype.itemsize for x in operands])
    return Row(loop, tuple([(x.root, x.offset) for x in operands]), (count,), steps, outer, strides, outputs)


@struct(slots=True)
class Recording:
    """The steps of a run: rows and calls in order, and where its results are."""

    arguments: list[Root]
    """None for an object that rows do not read."""
    steps: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    """As the operands of a `Call`."""
    values: dict[int, Any] = field(default_factory=dict)
    """Value id to where it is, as the operands of a `Call`."""
