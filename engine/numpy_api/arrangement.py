"""How NumPy arranges elements: axes, windows, parts that are chosen (see `engine.numpy_api.functions`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.detach import looked_at
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Results, operands
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import Row, as_complex, constant, dims_of, flat, inexact, length, not_taken_if, rank_of
from engine.ops import compare, complexes, diagonal, gather, reduce, scan, slicing, sorting
from engine.ops import shape as shapes


@operands("a")
def _expand_dims(a: Any, axis: Any) -> Operand:
    axes = [int(i) for i in np.ravel(axis)]
    rank = rank_of(a) + len(axes)
    for i in sorted(i % rank if -rank <= i < rank else i for i in axes):
        a = shapes.expand_dims(a, i)
    return a


@operands("a")
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Operand:
    matrices = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = dims_of(matrices)[-2:]
    if None not in (rows, columns) and not -rows < offset < columns:  # type: ignore[operator]
        return matrices[..., 0, :0]  # a diagonal outside of the matrix is empty
    return diagonal.matrix_diag_part(matrices, offset)


@operands("a")
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Operand:
    return np.sum(_diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@operands("a")
def _real_if_close(a: Any, tol: float = 100) -> Operand:
    if not dtype_of(a).is_complex:
        return shapes.identity(a)
    not_taken_if(not isinstance(a, EagerTensor))
    looked_at(a)
    return complexes.real(a) if np.isrealobj(np.real_if_close(a._array, tol)) else shapes.identity(a)


@operands("m")
def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Operand:
    first, second = axes
    if k % 4 == 2:
        return np.flip(m, (first, second))
    if k % 4 == 0:
        return np.copy(m)
    turned = np.swapaxes(m, first, second)
    return np.flip(turned, first if k % 4 == 1 else second)


@operands("a")
def _rollaxis(a: Any, axis: int, start: int = 0) -> Operand:
    rank = rank_of(a)
    axis, start = axis % rank, start + rank if start < 0 else start
    return np.moveaxis(a, axis, start - (axis < start))


@operands("*args")
def _broadcast_arrays(*args: Any) -> tuple[Operand, ...]:
    shape = np.broadcast_shapes(*[tuple([length(x, i) for i in range(rank_of(x))]) for x in args])
    return tuple([np.broadcast_to(x, shape) for x in args])


@operands("a")
def _resize(a: Any, new_shape: Any) -> Operand:
    sizes = [int(n) for n in np.ravel(new_shape)]
    a = flat(a)
    return np.reshape(np.take(a, np.arange(math.prod(sizes)) % max(length(a, 0), 1)), sizes)


@operands("x")
def _sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Operand:
    windows = [int(n) for n in np.ravel(window_shape)]
    axes = [*range(rank_of(x))] if axis is None else [int(i) % rank_of(x) for i in np.ravel(axis)]
    not_taken_if(len(axes) != len(windows))
    # the identity: a gradient with respect to the operand itself is to be a tensor, not rows of one
    x = shapes.identity(x)
    for i, width in zip(axes, windows, strict=True):
        count = length(x, i) - width + 1
        not_taken_if(count < 1)
        x = np.moveaxis(np.take(x, np.arange(count)[:, None] + np.arange(width), axis=i), i + 1, -1)
    return x


@operands("a")
def _partition(a: Any, kth: Any, axis: Any = -1) -> Operand:
    """All sorted, which is one of the orders that are allowed."""
    return sorting.sort(flat(a), 0) if axis is None else sorting.sort(a, axis)


@operands("a")
def _compress(condition: Any, a: Any, axis: Any = None) -> Operand:
    not_taken_if(isinstance(condition, Value))
    a, axis = (flat(a), 0) if axis is None else (shapes.identity(a), axis)
    return np.take(a, np.flatnonzero(condition), axis=axis)


@operands("arr")
def _extract(condition: Any, arr: Any) -> Operand:
    return _compress(condition if isinstance(condition, Value) else np.ravel(condition), arr)


@operands("*choices")
def _choose(a: Any, choices: Any) -> Operand:
    out = choices[-1]
    for i in range(len(choices) - 1, -1, -1):
        out = np.where(np.equal(a, i), choices[i], out)
    return out


@operands("ary", "to_begin", "to_end")
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Operand:
    parts: list[Any] = [np.diff(flat(ary))]
    parts = parts if to_begin is None else [flat(to_begin), *parts]
    return np.concatenate(parts if to_end is None else [*parts, flat(to_end)])


@operands("p")
def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Operand:
    """Elements change by multiples of the period only, so their derivatives stay."""
    p = inexact(p)
    steps = np.diff(p, axis=axis)
    wrapped = np.mod(steps + period / 2, period) - period / 2
    up = np.logical_and(compare.equal(wrapped, constant(-period / 2, p)), compare.greater(steps, constant(0, p)))
    change = np.where(up, constant(period / 2, p), wrapped) - steps
    least = period / 2 if discont is None else max(discont, period / 2)
    change = np.where(compare.less(np.abs(steps), constant(least, p)), constant(0, p), shapes.stop_gradient(change))
    before = [(0, 0)] * rank_of(p)
    before[axis] = (1, 0)
    return p + np.pad(scan.cumsum(change, axis), before)


def _cumulative(function: Any, first: float) -> Any:
    @operands("x")
    def apply(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Operand:
        not_taken_if(axis is None and rank_of(x) != 1)
        out = function(x, axis=axis or 0, dtype=dtype)
        if not include_initial:
            return out
        added = [(0, 0)] * rank_of(out)
        added[axis or 0] = (1, 0)
        return np.pad(out, added, constant_values=first)

    return apply


def sums_from(array: Any, indices: Any, axis: int = 0) -> Any:
    """``np.add.reduceat``: sums from each index up to the next one; one element where that is not further on."""
    n, starts = length(array, axis), [int(i) for i in np.asarray(indices)]
    lines = np.moveaxis(array, axis, 0)
    ends = [max(end, start + 1) for start, end in zip(starts, [*starts[1:], n], strict=True)]
    return np.moveaxis(np.stack([np.sum(lines[i:j], axis=0) for i, j in zip(starts, ends, strict=True)]), 0, axis)


def _of_any_number(real: Any, domain: Any, on_a_cut: bool = False) -> Any:
    """A function of `numpy.emath`: complex where a real one has no value, unless its slope has a branch cut there."""

    @operands("x")
    def apply(x: Any) -> Operand:
        if not dtype_of(x).is_complex:
            not_taken_if(not isinstance(x, EagerTensor))
            looked_at(x)
            x = inexact(x)
            if not np.all(domain(x._array)):
                not_taken_if(on_a_cut)
                x = as_complex(x)
        return real(x)

    return apply


@operands("filt")
def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Operand:
    not_taken_if(not isinstance(filt, EagerTensor) or rank_of(filt) != 1)
    looked_at(filt)
    places = np.flatnonzero(filt._array)
    if not len(places):
        return filt[:0]
    first = int(places[0]) if "f" in trim.lower() else 0
    return filt[first : int(places[-1]) + 1 if "b" in trim.lower() else length(filt, 0)]


def running(ufunc: Any, array: Any, axis: int = 0) -> Any:
    """The extremes of all elements up to each one, in steps that double."""
    out, n, step = np.moveaxis(array, axis, 0), length(array, axis), 1
    while step < n:
        out = np.concatenate([out[:step], ufunc(out[step:], out[:-step])], axis=0)
        step *= 2
    return np.moveaxis(out, 0, axis)


@operands("x")
def _unstack(x: Any, *, axis: int = 0) -> Results:
    moved = np.moveaxis(x, axis, 0)
    return tuple([slicing.getitem(moved, i) for i in range(length(moved, 0))])


@operands("a")
def _nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
    """Of the elements that are numbers: NaNs are sorted to the end, and how many there are says where the middle is."""
    rank = rank_of(a)
    lines: Any = flat(a) if axis is None else a
    along = 0 if axis is None else axis
    not_taken_if(not isinstance(along, int))
    ordered = np.sort(np.moveaxis(lines, along, -1), axis=-1)
    count = reduce.reduce_sum(compare.cast(np.logical_not(np.isnan(ordered)), "int64"), -1, True)
    places = [np.maximum((count - 1) // 2, 0 * count), count // 2]
    places[1] = np.minimum(places[1], 0 * count + length(ordered, -1) - 1)
    picked = [gather.gather(ordered, place, batch_dims=rank_of(ordered) - 1) for place in places]
    middle = np.where(compare.equal(count, 0 * count), constant(np.nan, a), (picked[0] + picked[1]) / 2)
    out = np.squeeze(middle, -1)
    return _expand_dims(out, tuple(range(rank)) if axis is None else axis) if keepdims else out


def _shape_known(x: Any) -> tuple[int, ...]:
    not_taken_if(None in dims_of(x))
    return dims_of(x)  # type: ignore[return-value]


# ---- matrices --------------------------------------------------------------------------------------------------------


@operands("a")
def _tensorinv(a: Any, ind: int = 2) -> Operand:
    shape = _shape_known(a)
    n = math.prod(shape[ind:])
    return np.reshape(np.linalg.inv(np.reshape(a, (n, -1))), (*shape[ind:], *shape[:ind]))


@operands("a", "b")
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Operand:
    not_taken_if(axes is not None)
    shape = _shape_known(a)[rank_of(b) :]
    n = math.prod(shape)
    return np.reshape(np.linalg.solve(np.reshape(a, (-1, n)), flat(b)), shape)


@operands("x")
def _cond(x: Any, p: Any = None) -> Operand:
    if p in (None, 2, -2):
        singular = np.linalg.svdvals(x)
        ratio = singular[..., 0] / singular[..., -1]
        return 1 / ratio if p == -2 else ratio
    axes = (-2, -1)
    return np.linalg.norm(x, p, axis=axes) * np.linalg.norm(np.linalg.inv(x), p, axis=axes)


@operands("x")
def _matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Operand:
    return np.linalg.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


ARRANGEMENT: dict[Any, Row] = {
    np.expand_dims: (_expand_dims, "tf.expand_dims"),
    np.diagonal: (_diagonal, "tf.linalg.diag_part"),
    np.real_if_close: (_real_if_close, "tf.math.real"),
    np.trace: (_trace, "tf.linalg.trace"),
    np.rot90: (_rot90, "tf.reverse and tf.transpose"),
    np.diagflat: (operands("v")(lambda v, k=0: np.diag(flat(v), k)), "tf.linalg.diag"),
    np.rollaxis: (_rollaxis, "tf.transpose"),
    np.broadcast_arrays: (_broadcast_arrays, "tf.broadcast_to"),
    np.resize: (_resize, "tf.gather"),
    np.lib.stride_tricks.sliding_window_view: (_sliding_window_view, "tf.gather"),
    np.partition: (_partition, "tf.sort"),
    np.compress: (_compress, "tf.boolean_mask"),
    np.extract: (_extract, "tf.boolean_mask"),
    np.choose: (_choose, "tf.where"),
    np.ediff1d: (_ediff1d, "tf.concat"),
    np.trim_zeros: (_trim_zeros, "tf.slice"),
    np.emath.sqrt: (_of_any_number(np.sqrt, lambda x: x >= 0), "tf.sqrt"),
    np.emath.log: (_of_any_number(np.log, lambda x: x >= 0), "tf.math.log"),
    np.emath.log2: (_of_any_number(np.log2, lambda x: x >= 0), "tf.math.log"),
    np.emath.log10: (_of_any_number(np.log10, lambda x: x >= 0), "tf.math.log"),
    np.emath.arccos: (_of_any_number(np.arccos, lambda x: abs(x) <= 1, on_a_cut=True), "tf.acos"),
    np.emath.arcsin: (_of_any_number(np.arcsin, lambda x: abs(x) <= 1, on_a_cut=True), "tf.asin"),
    np.emath.arctanh: (_of_any_number(np.arctanh, lambda x: abs(x) <= 1), "tf.atanh"),
    np.unwrap: (_unwrap, "tf.cumsum"),
    np.fix: (operands("x")(lambda x: np.trunc(x)), "tf.floor"),
    np.cumulative_sum: (_cumulative(np.cumsum, 0.0), "tf.cumsum"),
    np.cumulative_prod: (_cumulative(np.cumprod, 1.0), "tf.math.cumprod"),
    np.unstack: (_unstack, "tf.unstack"),
    np.nanmedian: (_nanmedian, "tf.sort"),
    np.linalg.tensorinv: (_tensorinv, "tf.linalg.inv"),
    np.linalg.tensorsolve: (_tensorsolve, "tf.linalg.solve"),
    np.linalg.cond: (_cond, "tf.linalg.svd"),
    np.linalg.matrix_norm: (_matrix_norm, "tf.norm"),
    np.linalg.matmul: (operands("x1", "x2")(lambda x1, x2: np.matmul(x1, x2)), "tf.matmul"),
    np.linalg.tensordot: (operands("x1", "x2")(lambda x1, x2, *, axes=2: np.tensordot(x1, x2, axes)), "tf.tensordot"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
