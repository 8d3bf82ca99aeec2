"""Batched values: one op applied to many inputs at once.

A `Batched` value stands for `size` values of the same aval, stored along axis 0 of one inner value. Its ``aval`` is the
*logical* one, without that axis; rules never see the axis. Applying an op to a batched operand calls the op's batch
rule, which applies ops to the inner values:

    ``batch(op, size, flags, inputs, params) -> inner output(s)``

`inputs` are inner values, ``flags[i]`` tells whether ``inputs[i]`` has the batch axis, and each inner output has it
again (or is wrapped in `NotBatched` if it turned out not to depend on the batch). Inner values may themselves be eager,
symbolic, raw, or batched at a lower level, so batches nest.

The rules here serve nearly all ops:

- `leading(n0, n1, ...)`: ops that broadcast over leading axes and work on the last ``n_i`` of operand i (elementwise
  ops: all zero). Axis 0 must then stay axis 0 whatever the ranks are, so ones are inserted behind it.
- `aligned`: ops on operands that all need the batch axis, with parameters that count or name axes (`lead_param`: a
  ``lead`` parameter, the number of leading axes to leave alone).
- `axis_param`: the same for reductions, whose axis may be None.
- `like_first`: ops on the last axes of operand 0, with references.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import bool_
from engine.core.expand_axes import expand_dims, repeat_leading
from engine.core.op import Op
from engine.core.operands import Operand, Results
from engine.core.value import Value, as_array, aval_of, not_an_array, shape_of
from engine.runtime.errors import ShapeError, SymbolicArrayError, UnimplementedError

_levels = itertools.count(11)


@contextmanager
def batch_level() -> Iterator[int]:
    """A new, innermost level for batched values, which none has had: a rule may be called when its batch has ended."""
    yield next(_levels)


class NotBatched:
    """The answer of a batch rule for an output that is the same for the whole batch."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Batched(Value):
    """`size` values of one aval, along axis 0 of `inner`, at a level from `batch_level`.

    The size is given where the shape of `inner` does not tell: beside other values of the same batch.
    """

    __slots__ = ("_size", "inner", "level")

    def __init__(self, inner: Any, level: int, size: int | None = None) -> None:
        self.inner = inner
        self.level = level
        self._size = size

    @property
    def aval(self) -> Aval:
        """The aval of one element of the batch."""
        inner = aval_of(self.inner)
        return Aval(None if inner.shape is None else inner.shape[1:], inner.dtype)

    @property
    def size(self) -> int | None:
        """Number of elements in the batch."""
        shape = shape_of(self.inner)
        return self._size if shape is None or shape[0] is None else shape[0]

    def _is_many(self, *_: Any, **__: Any) -> NoReturn:
        raise SymbolicArrayError(
            f"{self!r} stands for many values at once and is no one number: a function, or a gradient rule, that is "
            f"applied to a whole batch (in a Jacobian: to the cotangents of all rows) reads its operand by Python's "
            f"`if`, `.numpy()`, float or a NumPy function. Use tf.where for a choice and functions of this package, "
            f"or take gradients row by row"
        )

    __bool__ = __float__ = __int__ = __complex__ = numpy = _is_many

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        flags = tuple([isinstance(x, Batched) and x.level == self.level for x in inputs])
        inner = tuple([x.inner if flag else self._operand(x, op) for x, flag in zip(inputs, flags, strict=True)])
        size = self.size
        if size is None:
            size = next((x.size for x, f in zip(inputs, flags, strict=True) if f and x.size is not None), None)
        outputs = op.batch(op, size, flags, inner, params)
        if op.multi:
            return tuple([self._wrap(out, size) for out in outputs])
        return self._wrap(outputs, size)

    def _operand(self, x: Any, op: Op) -> Operand:
        """A Python number beside a batch takes the batch's dtype, but beside flags."""
        is_number = isinstance(x, (int, float, complex)) and self.dtype is not bool_
        return as_array(x, self.dtype, op.name) if is_number else x

    def _wrap(self, out: Any, size: int | None) -> Operand | Batched:
        return out.value if isinstance(out, NotBatched) else type(self)(out, self.level, size)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        declined = not_an_array(sys._getframe(1))
        if declined is not None:
            return declined
        raise TypeError(
            "a batched value has no array: NumPy was called inside a function that is being vectorized; "
            "use the corresponding function of this package instead"
        )

    def __repr__(self) -> str:
        return f"Batched({self.inner!r}, level={self.level})"


def innermost(x: Any) -> Any:
    """The value that one of any number of batch levels is made of."""
    while isinstance(x, Batched):
        x = x.inner
    return x


def within(x: Any, inner: Any) -> Any:
    """A value of the batch levels of `x`, made of something else."""
    return Batched(within(x.inner, inner), x.level, x._size) if isinstance(x, Batched) else inner


Levels = Sequence[tuple[int, int]]
"""Batch levels, the outermost first, with their sizes."""


class _Open(threading.local):
    levels: tuple[tuple[int, int], ...] = ()


_open = _Open()


def open_levels() -> Levels:
    """The levels that `vmap` has opened."""
    return _open.levels


@contextmanager
def levels_opened(more: Levels) -> Iterator[None]:
    """Open further levels, or again those of a function that has ended and whose rule is called."""
    before, _open.levels = _open.levels, tuple(sorted({*_open.levels, *more}))
    try:
        yield
    finally:
        _open.levels = before


def levels_of(values: Sequence[Any]) -> dict[int, int]:
    """The levels of values, with the sizes that are known."""
    found: dict[int, int] = {}
    for x in values:
        while isinstance(x, Batched):
            if x.size is not None:
                found.setdefault(x.level, x.size)
            x = x.inner
    return found


def lowered(x: Any, levels: Levels) -> Any:
    """Give a value the form that a tape sees, all elements of a batch at once: an axis in front for each level.

    What was batched later stays so.
    """
    if levels and isinstance(x, Batched) and x.level > levels[-1][0]:
        return Batched(np.moveaxis(lowered(x.inner, levels), len(levels), 0), x.level, x.size)
    for level, size in reversed(levels):
        x = unbatch(x, level, size)
    return x


def raised(x: Any, levels: Levels) -> Any:
    """The inverse of `lowered`."""
    if levels and isinstance(x, Batched) and x.level > levels[-1][0]:
        return Batched(raised(np.moveaxis(x.inner, 0, len(levels)), levels), x.level, x.size)
    for level, size in levels:
        x = Batched(x, level, size)
    return x


def unbatch(value: Any, level: int, size: int) -> Operand:
    """The inner value with the batch axis in front, also for a value that turned out not to be batched."""
    if isinstance(value, Batched) and value.level == level:
        return value.inner
    return materialize(value, size)


class UnknownRankError(ShapeError):
    """A batch rule must know a rank that is not known yet. Give the operand named one with ``set_shape``."""


Batches = Operand | NotBatched | Sequence[Operand | NotBatched]
"""The answer of a batch rule: per result one value that holds those of the whole batch, or that is the same for all."""

BatchRule = Callable[[Op, int, tuple[bool, ...], tuple[Any, ...], dict[str, Any]], Batches]


def logical_rank(op: Op, x: Any, flag: bool) -> int:
    """The rank of one element of an operand."""
    shape = shape_of(x)
    if shape is None:
        raise UnknownRankError(
            f"{op.title}: cannot be vectorized over an operand of unknown rank; give it one with set_shape"
        )
    return len(shape) - flag


def leading(*core: int) -> BatchRule:
    """Rule for ops that broadcast over all but the last ``core[i]`` axes of operand i (``core[-1]`` for further ones).

    Operands of different rank are aligned by inserting axes of size one behind the batch axis; aligning from the right
    alone would match the batch axis with a logical one ((B, 3) with (2, 3)).
    """

    def rule(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
        if len(inputs) == 1:
            return op(*inputs, **params)
        extra = [
            logical_rank(op, x, f) - (core[min(i, len(core) - 1)] if core else 0)
            for i, (x, f) in enumerate(zip(inputs, flags, strict=True))
        ]
        most = max(extra)
        aligned = [insert_axes(x, 1, most - e) if f else x for x, f, e in zip(inputs, flags, extra, strict=True)]
        return op(*aligned, **params)

    return rule


elementwise_rule = leading(0)


def shift_axes(axis: Any) -> int | tuple[Any, ...] | None:
    """Axis parameters of the op on inner values: negative ones count from the end and stay, others move by one."""
    if isinstance(axis, tuple):
        return tuple(shift_axes(a) for a in axis)
    return axis if axis is None or axis < 0 else axis + 1


def axis_param(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Rule for ops with an ``axis`` parameter; every operand gets the batch axis."""
    axis = params["axis"]
    if axis is None:
        axis = tuple(range(-logical_rank(op, inputs[0], flags[0]), 0))
    return op(*materialized(inputs, flags, size), **{**params, "axis": shift_axes(axis)})


def aligned(filled: int | None = None, own: int | None = None, counts: str = "", axis: str = "") -> BatchRule:
    """Rule for ops that broadcast nothing: operands get the batch axis, and parameters that count axes count it too.

    The first `filled` operands get the batch axis, by default all, and the first `own` may differ between batch
    elements at all: the others say what shape there is. `counts` is the parameter that is a number of leading axes,
    `axis` the one that names axes, if there are such.
    """

    def rule(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
        if own is not None and any(flags[own:]):
            name = op.args[min(flags.index(True, own), len(op.args) - 1)].lstrip("*")
            raise ShapeError(f"{op.title}: argument `{name}` must not differ between batch elements")
        if counts:
            params = {**params, counts: params.get(counts, 0) + 1}
        if axis:
            params = {**params, axis: shift_axes(params[axis])}
        full = materialized(inputs[:filled], flags[:filled], size)
        return op(*full, *(() if filled is None else inputs[filled:]), **params)

    return rule


all_batched = aligned()
lead_param = aligned(1, 1, "lead")


def like_first(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Batches:
    """Rule for ops that count axes from the end, and take no more from further operands than their last dimensions."""
    out = op(*inputs, **params)
    return out if flags[0] else NotBatched(out)


def insert_axes(x: Any, position: int, count: int) -> Operand:
    """`x` with `count` axes of size one inserted before axis `position`."""
    return expand_dims(x, tuple(range(position, position + count))) if count else x


def refused(advice: str, kind: type[Exception] = UnimplementedError) -> BatchRule:
    """Rule for ops that cannot be vectorized: it raises, with what to do instead."""

    def rule(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> Batches:
        raise kind(f"{op.title}: {advice}")

    return rule


def materialize(x: Any, size: int) -> Operand:
    """`x` repeated along a new leading axis of the given size."""
    return repeat_leading(x, size=size)


def materialized(values: Sequence[Any], flags: Sequence[bool], size: int) -> list[Any]:
    """The values with the batch axis; flags tell which have it already."""
    return [x if flag else materialize(x, size) for x, flag in zip(values, flags, strict=True)]
