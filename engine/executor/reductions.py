"""Reductions and running results as rows, in the order in which NumPy goes through memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from engine.core.sums import add_over
from engine.executor.hidden import Hidden, Opaque, Writer, opaque_if
from engine.executor.loops import loop_of, numbers_like, reduces_alike, special_like
from engine.executor.own_loops import LOOPS, instead_of
from engine.executor.refs import Ref, Root, Row, constant_ref, elementwise, longer_inside, loop_nest
from engine.runtime.cache import Cache
from engine.runtime.structs import replace
from engine.runtime.tuning import TUNING

_STARTS: dict[Any, Any] = {np.add: 0, np.multiply: 1, np.logical_or: False, np.logical_and: True}
_WITHOUT_START = (np.maximum, np.minimum)


def reduce(
    recorder: Writer,
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
) -> Hidden:
    """A reduction, in the order in which NumPy goes through memory.

    It goes through the axes by their strides, those that are one in memory as one. The innermost is one call of the
    loop: sums in pairs if it is reduced, else element by element. The partial results are added up one after the other.
    """
    opaque_if(not isinstance(x, Hidden) or x.dtype.char == "e" or not x.size or not isinstance(x.actual, np.ndarray))
    how = {"axis": axis, "dtype": dtype, "keepdims": keepdims, **({} if initial is None else {"initial": initial})}
    real = ufunc.reduce(x.actual, **how)
    opaque_if(real.dtype != x.dtype or (dtype is not None and np.dtype(dtype) != x.dtype))
    result = recorder.computed(real)
    start = initial if initial is not None else _STARTS.get(ufunc)
    first = np.asarray(0 if start is None else start, x.dtype)
    blank = recorder.constant(first)
    axes = axis if axis is None or isinstance(axis, int) else tuple(axis)
    form = ufunc, x.dtype, x.shape, x.strides, axes, keepdims, result.strides, start is None, first.tobytes()
    places = [(x.ref.root, x.ref.offset), (result.ref.root, 0), (blank.root, 0)]
    known = _KNOWN.get(form)
    if known is None:
        rows = _rows(ufunc, x, axes, keepdims, result.ref, None if start is None else blank)
        like = numbers_like(x.actual)
        opaque_if(not reduces_alike(rows, [(x.ref, like), (blank, first)], ufunc.reduce(like, **how)))
        known = _KNOWN.put(form, [_relative(row, places) for row in rows])
    for row, offsets in known:
        operands = tuple([(places[k][0], places[k][1] + offset) for k, offset in offsets])
        recorder.add(Row(row.loop, operands, row.dims, row.steps, row.outer, row.strides))
    return result


def added_rows(recorder: Writer, x: Any, block: int) -> Hidden:
    """The sums over axis 1 of three, in blocks of so many rows: several go to one state, which keeps their sums."""
    before, count, behind = x.shape
    item, resolved, kind = x.itemsize, loop_of(np.add, (x.dtype, x.dtype)), x.dtype.char
    if resolved is None:
        raise Opaque
    result = recorder.computed(np.empty((before, behind), x.dtype))
    result.actual[...] = add_over(x.actual, 1)
    several = count > block
    width = 2 + 2 * behind if several else behind
    begun = np.zeros(width if several else 1, x.dtype)
    begun[:2] = block * several
    into = recorder.computed(np.empty((before, width), x.dtype)).ref if several else result.ref
    (of_each, of_x, step), places = x.strides, ((x.ref.root, x.ref.offset), (into.root, 0))
    dims, steps = (before, count, behind, width), (of_each, into.strides[0], of_x, step, item)
    recorder.add(elementwise((f"copy_{item}",), [recorder.constant(begun), into]))
    recorder.add(Row((f"sum_{'blocks' if several else 'rows'}_{kind}",), places, dims[: 3 + several], steps))
    if several:
        last, whole = [Ref(into.root, k * item, (before, behind), into.strides, x.dtype) for k in (2, 2 + behind)]
        recorder.add(elementwise(resolved[0], [whole, last, result.ref]))
    return result


_Relative = tuple[Row, list[tuple[int, int]]]
_KNOWN: Cache[Any, list[_Relative]] = Cache("reductions as rows", 1 << 10, key="ufunc, dtype, shape, strides, axes")
"""By the form of a reduction: its rows. All of one form are made in one order, so one is compared with NumPy's."""


def _relative(row: Row, places: Sequence[tuple[Root, int]]) -> _Relative:
    """A row, and for each operand at which of some places it starts, and how far behind."""
    roots = [root for root, _ in places]
    relative = [(roots.index(root), offset) for root, offset in row.operands]
    return replace(row, operands=()), [(k, offset - places[k][1]) for k, offset in relative]


def _rows(ufunc: np.ufunc, x: Any, axis: Any, keepdims: bool, result: Ref, blank: Ref | None) -> list[Row]:
    """Rows that reduce a value, beginning with `blank` or with its first element."""
    resolved = loop_of(ufunc, (x.dtype, x.dtype))
    if resolved is None or any(s <= 0 < d - 1 for s, d in zip(x.strides, x.shape, strict=True)):
        raise Opaque
    ndim = len(x.shape)
    axes = set(range(ndim)) if axis is None else {a % ndim for a in ((axis,) if isinstance(axis, int) else axis)}
    kept = _kept_strides(x.shape, axes, result, keepdims)
    nest = _nest(x.ref, kept, axes)
    if blank is not None:
        if len(nest) > 1 and not nest[-1][2] and not nest[-2][2]:
            # two axes are reduced that are not one in memory: how NumPy goes through them depends on its version
            raise Opaque
        return _reduction_rows(resolved[0], x.ref, nest, result, blank)
    if ufunc in _WITHOUT_START:
        return _rows_from_first(resolved[0], x.ref, kept, axes, nest, result)
    raise Opaque


def _is_of_each(nest: list[tuple[int, int, int]]) -> bool:
    """Whether rows are reduced, each by itself: NumPy's loops take one call for each."""
    return [k for k, (*_, o) in enumerate(nest) if not o] == [len(nest) - 1]


def _own_of_each(ufunc: np.ufunc, dtype: np.dtype, nest: list[tuple[int, int, int]]) -> str | None:
    """The loop of our own that reduces rows, each by itself and what is there; None if there is none."""
    name = f"{_OF_EACH.get(ufunc.__name__)}_{dtype.char}"
    if name not in LOOPS or not _is_of_each(nest):
        return None
    if ufunc is np.add:
        return name
    short = len(nest) > 1 and nest[-1][0] <= _SHORT
    return name if short and _finds_the_same(name, ufunc, dtype, nest[-1][0]) else None


_OF_EACH = instead_of(1, 0)
"""By ufunc: the loop of our own that reduces each row."""


@lru_cache(maxsize=1 << 8)
def _finds_the_same(name: str, ufunc: np.ufunc, dtype: np.dtype, count: int) -> bool:
    """Whether a loop of our own finds what NumPy does in rows of so many elements, also among zeros of both signs."""
    item = dtype.itemsize
    x = special_like(dtype, (64, count + 1), (count * item + item, item), 0)
    for numbers in (x, numbers_like(x), np.copysign(np.zeros_like(x), numbers_like(x))):
        expected = ufunc.reduce(numbers, 1)
        first, rest, out = [constant_ref(a) for a in (numbers[:, 0], numbers[:, 1:], expected)]
        first.root, rest.root, rest.offset = (whole := constant_ref(numbers)).root, whole.root, item
        rows = [
            elementwise((f"copy_{item}",), [first, out]),
            _each(name, rest, [(64, count * item + item, item), (count, item, 0)], out),
        ]
        if not reduces_alike(rows, [(whole, numbers)], expected):
            return False
    return True


def _kept_strides(shape: Sequence[int], axes: set[int], result: Ref, keepdims: bool) -> tuple[int, ...]:
    """The strides of a result along all axes of what is reduced: none along those that are."""
    left = iter(result.strides)
    if keepdims:
        return tuple([0 if k in axes else s for k, s in enumerate(left)])
    return tuple([0 if k in axes else next(left) for k in range(len(shape))])


def _nest(x: Ref, kept: Sequence[int], axes: set[int]) -> list[tuple[int, int, int]]:
    """(size, stride, stride of the result) per axis, outermost first, as NumPy goes through them."""
    each = [(d, s, o, k in axes) for k, (d, s, o) in enumerate(zip(x.shape, x.strides, kept, strict=True)) if d != 1]
    each.sort(key=lambda axis: -axis[1])
    merged: list[tuple[int, int, int, bool]] = []
    for d, s, o, reduced in each:
        if merged and merged[-1][3] == reduced and merged[-1][1] == s * d and merged[-1][2] == o * d:
            merged[-1] = merged[-1][0] * d, s, o, reduced
        else:
            merged.append((d, s, o, reduced))
    return [axis[:3] for axis in merged]


_FEW = 8
"""Elements from which NumPy's sums take several at a time; it adds fewer one after the other."""
_SHORT = 128
"""Elements up to which we look for the largest ourselves; trying more takes longer than is won."""


def _reduction_rows(loop: Any, x: Ref, nest: list[tuple[int, int, int]], result: Ref, start: Ref) -> list[Row]:
    """Rows that reduce `x` into a result, beginning with `start`."""
    own = _own_of_each(loop[0], x.dtype, nest)
    if own is not None:
        copied = elementwise((f"copy_{x.dtype.itemsize}",), [start, result])
        return [copied, _each(own, x, nest, result)]
    few = _FEW // 2 if x.dtype.kind == "c" else _FEW
    if loop[0] is np.add and len(nest) > 1 and _is_of_each(nest) and 1 < nest[-1][0] < few:
        # A call of the loop for each few elements takes longer than to add them: all first ones to all second ones, ...
        (count, step, _), outer = nest[-1], nest[:-1]
        dims, steps, out = zip(*outer, strict=True)
        each = [Ref(x.root, x.offset + k * step, dims, steps, x.dtype) for k in range(count)]
        total = Ref(result.root, result.offset, dims, out, x.dtype)
        sums = [elementwise(loop, [total if k else each[0], each[k + 1], total]) for k in range(count - 1)]
        return [*sums, elementwise(loop, [start, total, total])]
    kept = [k for k, (*_, o) in enumerate(nest) if o]
    if loop[0] is np.add and x.dtype.char in "fd" and len(kept) == len(nest) - 1 in kept and nest[-1][0] < _NARROW:
        return _sums_of_rows(x, nest, result, start)
    if kept and kept[-1] == len(nest) - 1:
        nest.append(nest.pop(kept[longer_inside([nest[k][0] for k in kept])]))
    (count, step, around), outer = nest[-1] if nest else (1, 0, 0), nest[:-1]
    place = (result.root, result.offset)
    strides = tuple(itertools.chain(*[(o, s, o) for _, s, o in outer]))
    dims = tuple([d for d, _, _ in outer])
    copied = elementwise((f"copy_{x.dtype.itemsize}",), [start, result])
    return [copied, Row(loop, (place, (x.root, x.offset), place), (count,), (around, step, around), dims, strides)]


_NARROW = TUNING.sum_columns


def _sums_of_rows(x: Ref, nest: list[tuple[int, int, int]], result: Ref, start: Ref) -> list[Row]:
    """Rows of `x`, which are short, added up one after the other."""
    (reduced,) = [k for k, (*_, o) in enumerate(nest) if not o]
    (count, step, _), (width, of_x, of_out) = nest[reduced], nest[-1]
    outer = [axis for k, axis in enumerate(nest[:-1]) if k != reduced]
    many, *steps = outer.pop() if outer else (1, 0, 0)
    copied = elementwise((f"copy_{x.dtype.itemsize}",), [start, result])
    added = _into(f"sum_rows_{x.dtype.char}", x, result, (many, count, width), (*steps, step, of_x, of_out), outer)
    return [copied, added]


def _into(
    name: str, x: Ref, result: Ref, dims: tuple[int, ...], steps: tuple[int, ...], outer: list[tuple[int, int, int]]
) -> Row:
    """The row of a loop that reduces `x` into a result."""
    strides = itertools.chain(*[(s, o) for _, s, o in outer])
    places = ((x.root, x.offset), (result.root, result.offset))
    return Row((name,), places, dims, steps, tuple([d for d, _, _ in outer]), tuple(strides))


def _each(name: str, x: Ref, nest: list[tuple[int, int, int]], result: Ref) -> Row:
    """The row of a loop that reduces rows of `x` in NumPy's order."""
    *around, (count, step, _) = nest
    *outer, (many, of_x, of_out) = around or [(1, 0, 0)]
    return _into(name, x, result, (many, count), (of_x, of_out, step), outer)


def _rows_from_first(
    loop: Any, x: Ref, kept: Sequence[int], axes: set[int], nest: list[tuple[int, int, int]], result: Ref
) -> list[Row]:
    """Rows of a reduction that starts with the first element: a copy, and the rest."""
    reduced = [k for k in axes if x.shape[k] != 1]
    opaque_if(len(reduced) > 1 and sum(o == 0 for _, _, o in nest) > 1)
    shape = tuple([1 if k in axes else d for k, d in enumerate(x.shape)])
    count, steps, outer, strides = loop_nest(shape, [x.strides, kept])
    place = (result.root, result.offset)
    copied = Row((f"copy_{x.dtype.itemsize}",), ((x.root, x.offset), place), (count,), steps, outer, strides)
    if not reduced:
        return [copied]
    # the axes that are reduced are one in memory
    size, step = next((d, s) for d, s, o in nest if o == 0)
    own = _own_of_each(loop[0], x.dtype, [*nest[:-1], (size - 1, *nest[-1][1:])])
    if own is not None:
        behind = Ref(x.root, x.offset + step, x.shape, x.strides, x.dtype)
        return [copied, _each(own, behind, [*nest[:-1], (size - 1, step, 0)], result)]
    rest = [(d, s, o) for d, s, o in nest if o] + [(size - 1, step, 0)]
    rest.sort(key=lambda axis: -axis[1])
    (count, step_x, step_out), around = rest[-1], rest[:-1]
    operands = (place, (x.root, x.offset + step), place)
    flat = tuple(itertools.chain(*[(o, s, o) for _, s, o in around]))
    rest_of = Row(loop, operands, (count,), (step_out, step_x, step_out), tuple([d for d, _, _ in around]), flat)
    return [copied, rest_of]


def accumulate(recorder: Writer, ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None) -> Hidden:
    """Running results along an axis: each is the one before it and an element, as in NumPy's own call of the loop."""
    if not isinstance(x, Hidden) or x.dtype.char not in "fdil" or not x.size or dtype not in (None, x.dtype):
        raise Opaque
    resolved, real = loop_of(ufunc, (x.dtype, x.dtype)), ufunc.accumulate(x.actual, axis=axis, dtype=dtype)
    if resolved is None or real.dtype != x.dtype:
        raise Opaque
    result, count = recorder.computed(real), real.shape[axis]
    (of_x, of_out), item = (x.strides[axis], real.strides[axis]), real.itemsize
    shape = tuple([1 if k == axis % real.ndim else d for k, d in enumerate(real.shape)])
    first = [Ref(r.root, r.offset, shape, r.strides, r.dtype) for r in (x.ref, result.ref)]
    recorder.add(elementwise((f"copy_{item}",), first))
    if count > 1:
        inner, (_, step_x, step), outer, strides = loop_nest(shape, [first[1].strides, first[0].strides, real.strides])
        start = [(result.ref.root, result.ref.offset), (x.ref.root, x.ref.offset + of_x)]
        place = (*start, (result.ref.root, result.ref.offset + of_out))
        if inner == 1:
            recorder.add(Row(resolved[0], place, (count - 1,), (of_out, of_x, of_out)))
        else:
            along = (*strides, of_out, of_x, of_out)
            recorder.add(Row(resolved[0], place, (inner,), (step, step_x, step), (*outer, count - 1), along))
    return result
