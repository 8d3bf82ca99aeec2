"""What kernels ask of NumPy, as rows: ufuncs and their reductions, products of matrices, joins, choices, picks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.program.native.hidden import Hidden, Opaque, Writer, actual_of, as_array, in_c_order, ref_of
from engine.program.native.loops import loop_of, reduces_alike
from engine.program.native.memory import Ref, Row, broadcast_strides, elementwise, longer_inside, loop_nest

# ---- ufuncs ----------------------------------------------------------------------------------------------------------


def apply_ufunc(recorder: Writer, ufunc: np.ufunc, method: str, inputs: Sequence[Any], kw: dict[str, Any]) -> Hidden:
    """A ufunc, or one of its methods."""
    out = kw.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    if method == "__call__" and ufunc is np.matmul and not kw and out is None:
        return matmul(recorder, *inputs)
    if method == "__call__" and set(kw) <= {"order"}:
        return recorder.ufunc(ufunc, inputs, out, **kw)
    if method == "reduce" and out is None:
        return reduce(recorder, ufunc, *inputs, **kw)
    if method == "accumulate" and out is None:
        return _accumulate(recorder, ufunc, *inputs, **kw)
    raise Opaque


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
    if not isinstance(x, Hidden) or x.dtype.char == "e" or not x.size or not isinstance(x.actual, np.ndarray):
        raise Opaque
    real = ufunc.reduce(
        x.actual, axis=axis, dtype=dtype, keepdims=keepdims, **({} if initial is None else {"initial": initial})
    )
    if real.dtype != x.dtype or (dtype is not None and np.dtype(dtype) != x.dtype):
        raise Opaque
    found = loop_of(ufunc, (x.dtype, x.dtype))
    if found is None or any(s <= 0 < d - 1 for s, d in zip(x.strides, x.shape, strict=True)):
        raise Opaque
    ndim = len(x.shape)
    axes = set(range(ndim)) if axis is None else {a % ndim for a in ((axis,) if isinstance(axis, int) else axis)}
    result = recorder.computed(real)
    kept = _kept_strides(x.shape, axes, result.ref, keepdims)
    start = initial if initial is not None else _STARTS.get(ufunc)
    if start is not None:
        blank = recorder.constant(np.asarray(start, x.dtype))
        nest = _nest(x.ref, kept, axes)
        if len(nest) > 1 and not nest[-1][2] and not nest[-2][2]:
            # two axes are reduced that are not one in memory: how NumPy goes through them depends on its version
            raise Opaque
        rows = _reduction_rows(found[0], x.ref, nest, result.ref, blank)
        if not reduces_alike(rows, [(x.ref, x.actual), (blank, np.asarray(start, x.dtype))], real):
            raise Opaque
        for row in rows:
            recorder.add(row)
    elif ufunc in _WITHOUT_START:
        _reduce_from_first(recorder, found[0], x.ref, kept, axes, result)
    else:
        raise Opaque
    return result


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


def _reduction_rows(loop: Any, x: Ref, nest: list[tuple[int, int, int]], result: Ref, start: Ref) -> list[Row]:
    """Rows that reduce `x` into a result, beginning with `start`."""
    few = _FEW // 2 if x.dtype.kind == "c" else _FEW
    only_the_innermost = [k for k, (*_, o) in enumerate(nest) if not o] == [len(nest) - 1]
    if loop[0] is np.add and only_the_innermost and len(nest) > 1 and 1 < nest[-1][0] < few:
        # A call of the loop for each few elements takes longer than to add them: all first ones to all second ones, ...
        (count, step, _), outer = nest[-1], nest[:-1]
        dims, steps, out = zip(*outer, strict=True)
        each = [Ref(x.root, x.offset + k * step, dims, steps, x.dtype) for k in range(count)]
        total = Ref(result.root, result.offset, dims, out, x.dtype)
        sums = [elementwise(loop, [total if k else each[0], each[k + 1], total]) for k in range(count - 1)]
        return [*sums, elementwise(loop, [start, total, total])]
    kept = [k for k, (*_, o) in enumerate(nest) if o]
    if kept and kept[-1] == len(nest) - 1:
        nest.append(nest.pop(kept[longer_inside([nest[k][0] for k in kept])]))
    (count, step, around), outer = nest[-1] if nest else (1, 0, 0), nest[:-1]
    place = (result.root, result.offset)
    strides = tuple(itertools.chain(*[(o, s, o) for _, s, o in outer]))
    dims = tuple([d for d, _, _ in outer])
    copied = elementwise((f"copy_{x.dtype.itemsize}",), [start, result])
    return [copied, Row(loop, (place, (x.root, x.offset), place), (count,), (around, step, around), dims, strides)]


def _reduce_from_first(recorder: Writer, loop: Any, x: Ref, kept: Sequence[int], axes: set[int], result: Any) -> None:
    """A reduction that starts with the first element: a copy, and the rest."""
    reduced = [k for k in axes if x.shape[k] != 1]
    nest = _nest(x, kept, axes)
    if len(reduced) > 1 and sum(o == 0 for _, _, o in nest) > 1:
        raise Opaque
    shape = tuple([1 if k in axes else d for k, d in enumerate(x.shape)])
    count, steps, outer, strides = loop_nest(shape, [x.strides, kept])
    place = (result.ref.root, result.ref.offset)
    recorder.add(Row((f"copy_{x.dtype.itemsize}",), ((x.root, x.offset), place), (count,), steps, outer, strides))
    if not reduced:
        return
    # the axes that are reduced are one in memory
    size, step = next((d, s) for d, s, o in nest if o == 0)
    rest = [(d, s, o) for d, s, o in nest if o] + [(size - 1, step, 0)]
    rest.sort(key=lambda axis: -axis[1])
    (count, step_x, step_out), around = rest[-1], rest[:-1]
    operands = (place, (x.root, x.offset + step), place)
    flat = tuple(itertools.chain(*[(o, s, o) for _, s, o in around]))
    recorder.add(Row(loop, operands, (count,), (step_out, step_x, step_out), tuple([d for d, _, _ in around]), flat))


def _accumulate(recorder: Writer, ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None) -> Hidden:
    """Running results along an axis: each is the one before it and an element, as in NumPy's own call of the loop."""
    if not isinstance(x, Hidden) or x.dtype.char not in "fdil" or not x.size or dtype not in (None, x.dtype):
        raise Opaque
    found, real = loop_of(ufunc, (x.dtype, x.dtype)), ufunc.accumulate(x.actual, axis=axis, dtype=dtype)
    if found is None or real.dtype != x.dtype:
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
            recorder.add(Row(found[0], place, (count - 1,), (of_out, of_x, of_out)))
        else:
            along = (*strides, of_out, of_x, of_out)
            recorder.add(Row(found[0], place, (inner,), (step, step_x, step), (*outer, count - 1), along))
    return result


# ---- products of matrices --------------------------------------------------------------------------------------------


def matmul(recorder: Writer, a: Any, b: Any, real: Any = None) -> Hidden:
    """`numpy.matmul` of matrices and stacks of them; a vector is a matrix of one row or column."""
    if 0 in (*np.shape(a), *np.shape(b)) or not (np.ndim(a) and np.ndim(b)) or np.ndim(a) == np.ndim(b) == 1:
        raise Opaque
    found = loop_of(np.matmul, (a.dtype, b.dtype))
    if found is None or not a.dtype == b.dtype == found[1][-1]:
        raise Opaque
    if a.dtype.kind == "c" and a.size == b.size == 1:
        raise Opaque
    if real is None:
        real = np.matmul(*[actual_of(x) for x in (a, b)])
    refs = [ref_of(recorder, x) for x in (a, b)]
    result = recorder.computed(real)
    left = _with_axis(refs[0], 0) if np.ndim(a) == 1 else refs[0]
    right = _with_axis(refs[1], 1) if np.ndim(b) == 1 else refs[1]
    out = result.ref
    if np.ndim(a) == 1:
        out = _with_axis(out, len(out.shape) - 1)
    elif np.ndim(b) == 1:
        out = _with_axis(out, len(out.shape))
    dims = left.shape[-2], left.shape[-1], right.shape[-1]
    recorder.add(core_row(found[0], [left, right, out], (2, 2, 2), dims))
    return result


def _with_axis(x: Ref, axis: int) -> Ref:
    """A view with one more axis, of size one."""
    shape, strides = (*x.shape[:axis], 1, *x.shape[axis:]), (*x.strides[:axis], x.dtype.itemsize, *x.strides[axis:])
    return Ref(x.root, x.offset, shape, strides, x.dtype)


def core_row(
    loop: tuple[Any, ...], operands: Sequence[Ref], cores: Sequence[int], dims: Sequence[int], outputs: int = 1
) -> Row:
    """The row of a loop with core dimensions.

    Parameters
    ----------
    cores : sequence of int
        How many each operand has, behind those that are broadcast to the shape of the last one.
    dims : sequence of int
        Their sizes, each once.
    """
    lead = [len(x.shape) - core for x, core in zip(operands, cores, strict=True)]
    stack = operands[-1].shape[: lead[-1]]
    outside = [broadcast_strides(x.shape[:k], x.strides[:k], stack) for x, k in zip(operands, lead, strict=True)]
    axes = [(d, s) for d, *s in zip(stack, *outside, strict=True) if d != 1]
    (count, steps), around = axes[-1] if axes else (1, [0] * len(operands)), axes[:-1]
    inside = itertools.chain(*[x.strides[k:] for x, k in zip(operands, lead, strict=True)])
    places = tuple([(x.root, x.offset) for x in operands])
    strides = tuple(itertools.chain(*[s for _, s in around]))
    return Row(loop, places, (count, *dims), (*steps, *inside), tuple([d for d, _ in around]), strides, outputs)


def dot(recorder: Writer, a: Any, b: Any) -> Hidden:
    """`dot` of vectors and matrices: the product of matrices of one row or column.

    Of single numbers it is their product, to which nothing is added; of one number and several it is left to NumPy.
    """
    if len(np.shape(b)) not in (1, 2) or a.ndim not in (1, 2) or 0 in (a.size, b.size):
        raise Opaque
    if a.size == b.size == 1 and a.ndim + b.ndim > 2 and a.dtype.char in "fd":
        shape = a.shape[:-1] + b.shape[1:]
        return (a.reshape(()) * b.reshape(())).reshape(shape)
    if 1 in (a.size, b.size) or not all(x.flags.c_contiguous or x.flags.f_contiguous for x in (a, b)):
        # with gaps, `dot` copies some and calls BLAS with others
        raise Opaque
    if a.dtype.kind == "c" and a.shape[-1] == 1:
        # what becomes of infinities differs
        raise Opaque
    real = a.actual.dot(actual_of(b))
    left = a if a.ndim == 2 else a[np.newaxis]
    right = b if len(b.shape) == 2 else b[:, np.newaxis]
    if not isinstance(real, np.ndarray):
        raise Opaque
    product = matmul(recorder, left, right, real.reshape(left.shape[0], right.shape[1]))
    return product if real.ndim == 2 else recorder.view(product, product.actual.reshape(real.shape))


_CASTS = frozenset(["df", "fd", "bf", "bd", "bi", "bl", "if", "id", "il", "li", "lf", "ld", "fb", "db", "ib", "lb"])
_CHECKED_CASTS = frozenset(["fi", "fl", "di", "dl"])
"""Those that refuse numbers which the other dtype does not have."""
_NAMES = {"?": "b", "f": "f", "d": "d", "i": "i", "l": "l"}


def cast(recorder: Writer, x: Any, dtype: np.dtype) -> Hidden:
    """`x` in another dtype."""
    real = x.actual.astype(dtype)
    if dtype == x.dtype:
        return recorder.copy(x, real)
    name = _NAMES.get(x.dtype.char, "-") + _NAMES.get(dtype.char, "-")
    if name in _CHECKED_CASTS and np.dtype("l").itemsize == 8 and np.isfinite(x.actual).all():
        result = recorder.computed(real)
        if result.size:
            recorder.add_checked(elementwise((f"cast_{name[0]}_{name[1]}",), [x.ref, result.ref]))
        return result
    if name not in _CASTS or np.dtype("l").itemsize != 8:
        raise Opaque
    return recorder.elementwise((f"cast_{name[0]}_{name[1]}",), [x.ref], real)


# ---- views and picks -------------------------------------------------------------------------------------------------


def getitem(recorder: Writer, x: Any, key: Any) -> Hidden:
    """An index: a view, or a pick at positions that are known."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, Hidden) for k in keys):
        raise Opaque
    if isinstance(x.actual, np.generic):
        return recorder.view(x, as_array(x.actual)[key])
    real = x.actual[key]
    if isinstance(real, np.generic):
        shown = recorder.view(x, x.actual[(*keys, ...)])
        return recorder.value(real, Ref(shown.ref.root, shown.ref.offset, (), (), x.dtype, True))
    if all(isinstance(k, (int, np.integer, slice, type(None), type(...))) for k in keys):
        return recorder.view(x, real) if real.size else recorder.computed(real)
    positions = np.arange(x.size).reshape(x.shape)[key]
    return take(recorder, x, positions, real)


_MOST = 1 << 20
"""Positions that one row may hold."""


def take(recorder: Writer, x: Any, positions: np.ndarray, real: Any) -> Hidden:
    """The elements at positions in the order of C, of the shape of the positions."""
    if positions.size > _MOST or not real.flags.c_contiguous:
        raise Opaque
    result = recorder.computed(real)
    if positions.size:
        add_take(recorder, x.ref, positions.ravel(), result.ref, 0, real.itemsize)
    return result


def add_take(recorder: Writer, x: Ref, positions: np.ndarray, out: Ref, start: int, step: int) -> None:
    """The row of a pick: a copy where positions are regular."""
    offsets = np.zeros(len(positions), np.intp)
    for axis, step_x in zip(np.unravel_index(positions, x.shape), x.strides, strict=True):
        offsets += axis * step_x
    count, size = len(offsets), x.dtype.itemsize
    gap = int(offsets[1] - offsets[0]) if count > 1 else 0
    place = (out.root, out.offset + start)
    if count < 3 or (np.diff(offsets) == gap).all():
        recorder.add(Row((f"copy_{size}",), ((x.root, x.offset + int(offsets[0])), place), (count,), (gap, step)))
        return
    held = recorder.constant(offsets)
    operands = ((held.root, 0), (x.root, x.offset), place)
    recorder.add(Row((f"take_{size}",), operands, (count,), (held.strides[0], 0, step)))


def filled(recorder: Writer, shape: tuple[int, ...], dtype: np.dtype, value: Any = 0) -> Hidden:
    """An array that is full of one number."""
    result = recorder.computed(np.full(shape, value, dtype))
    if result.size:
        blank = recorder.constant(np.asarray(value, dtype))
        recorder.add(elementwise((f"copy_{result.itemsize}",), [blank, result.ref]))
    return result


def put(recorder: Writer, whole: Any, key: Any, x: Any) -> None:
    """Write a value to known positions of what rows compute, of whatever index; of several at one the last stays."""
    positions = np.arange(whole.size).reshape(whole.shape)[key]
    if x.dtype != whole.dtype or positions.shape != x.shape or positions.size > _MOST:
        raise Opaque
    whole.actual[key] = actual_of(x)
    if not positions.size:
        return
    source = ref_of(recorder, in_c_order(recorder, x))
    offsets = np.zeros(positions.size, np.intp)
    for axis, step in zip(np.unravel_index(positions.ravel(), whole.shape), whole.strides, strict=True):
        offsets += axis * step
    held = recorder.constant(offsets)
    operands = ((held.root, 0), (source.root, source.offset), (whole.ref.root, whole.ref.offset))
    size = whole.itemsize
    recorder.add(Row((f"put_{size}",), operands, (len(offsets),), (held.strides[0], size, 0)))


# ---- functions -------------------------------------------------------------------------------------------------------


def _view(function: Callable[..., Any]) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, *args: Any, **kw: Any) -> Hidden:
        if not isinstance(x, Hidden):
            raise Opaque
        real = function(x.actual, *args, **kw)
        if isinstance(x.actual, np.generic):
            # NumPy made an array of the number first
            x = recorder.value(as_array(x.actual), Ref(x.ref.root, x.ref.offset, (), (), x.dtype))
            real = function(x.actual, *args, **kw)
        return recorder.view(x, real) if real.size else recorder.computed(real)

    return handler


def _method(name: str) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, *args: Any, **kw: Any) -> Hidden:
        if not isinstance(x, Hidden):
            raise Opaque
        return getattr(x, name)(*args, **kw)

    return handler


def _where(recorder: Writer, condition: Any, x: Any, y: Any) -> Hidden:
    given = (condition, x, y)
    if condition.dtype != np.bool_ or not (hasattr(x, "dtype") and hasattr(y, "dtype")) or x.dtype != y.dtype:
        raise Opaque
    real = np.where(*[actual_of(v) for v in given])
    operands = [ref_of(recorder, v) for v in given]
    return recorder.elementwise((f"select_{real.itemsize}",), operands, real)


def concatenate(recorder: Writer, arrays: Any, axis: int = 0, out: Any = None) -> Hidden:
    """`numpy.concatenate` along an axis."""
    if isinstance(arrays, Hidden) or axis is None or out is not None:
        raise Opaque
    real = np.concatenate([actual_of(a) for a in arrays], axis)
    return joined(recorder, arrays, axis % real.ndim, real)


def joined(recorder: Writer, arrays: Sequence[Any], axis: int, real: Any) -> Hidden:
    """Copies into the parts of a whole."""
    if any(a.dtype != real.dtype for a in arrays):
        raise Opaque
    result = recorder.computed(real)
    start = 0
    for a in arrays:
        stop = start + np.shape(a)[axis]
        write(recorder, result, (*[slice(None)] * axis, slice(start, stop)), a)
        start = stop
    return result


def write(recorder: Writer, whole: Any, key: Any, x: Any) -> None:
    """Write a value to a part of what rows compute."""
    if whole.ref.root.kind != "computed" or x.dtype != whole.dtype:
        raise Opaque
    whole.actual[key] = actual_of(x)
    part = whole.actual[key]
    if isinstance(part, np.generic):
        part = whole.actual[(*key, ...) if isinstance(key, tuple) else (key, ...)]
    if not part.size:
        return
    ref = ref_of(recorder, x)
    recorder.elementwise((f"copy_{whole.itemsize}",), [ref], None, recorder.view(whole, part))


def stack(recorder: Writer, arrays: Any, axis: int = 0, out: Any = None) -> Hidden:
    """`numpy.stack` along a new axis."""
    if isinstance(arrays, Hidden) or out is not None:
        raise Opaque
    rank = len(arrays[0].shape) + 1
    key = (*[slice(None)] * (axis % rank), np.newaxis)
    real = np.stack([actual_of(a) for a in arrays], axis)
    expanded = [expanded(recorder, a, key) for a in arrays]
    return joined(recorder, expanded, axis % rank, real)


def expanded(recorder: Writer, x: Any, key: Any) -> Hidden | np.ndarray:
    """A value with one more axis, of size one."""
    if not isinstance(x, Hidden):
        return np.asarray(x)[key]
    shown = as_array(x.actual)[key]
    strides = shown.strides
    return recorder.value(shown, Ref(x.ref.root, x.ref.offset, shown.shape, strides, x.dtype))


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def handler(recorder: Writer, x: Any, axis: Any = None, *, keepdims: bool = False) -> Hidden:
        return reduce(recorder, ufunc, x, axis, None, keepdims)

    return handler


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        f: _view(f)
        for f in (
            np.broadcast_to,
            np.transpose,
            np.swapaxes,
            np.moveaxis,
            np.expand_dims,
            np.squeeze,
            np.flip,
            np.diagonal,
        )
    },
    np.reshape: _method("reshape"),
    np.ravel: _method("ravel"),
    np.copy: _method("copy"),
    np.where: _where,
    np.concatenate: concatenate,
    np.stack: stack,
    np.sum: _reduction(np.add),
    np.prod: _reduction(np.multiply),
    np.max: _reduction(np.maximum),
    np.min: _reduction(np.minimum),
    np.any: _reduction(np.logical_or),
    np.all: _reduction(np.logical_and),
    np.shape: lambda recorder, x: x.shape,
    np.ndim: lambda recorder, x: x.ndim,
    np.size: lambda recorder, x: x.size,
    np.zeros_like: lambda recorder, x, dtype=None: np.zeros(x.shape, dtype or x.dtype),
    np.ones_like: lambda recorder, x, dtype=None: np.ones(x.shape, dtype or x.dtype),
}
"""By NumPy's function: what to do, with the recorder in front."""
