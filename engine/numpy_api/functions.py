"""NumPy's signatures for our functions, and which of NumPy's functions they answer for (see `numpy_protocol.py`).

Each function here has the parameters of NumPy's that ours can serve, under NumPy's names. Where NumPy has more, a call
that uses them does not bind, and is treated as one that we have no function for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from string import ascii_letters
from typing import Any

import numpy as np

from engine.core.dtypes import DType, as_dtype, float64, int64, uint64
from engine.core.eager import EagerTensor
from engine.core.operands import Operand, Results, operands
from engine.core.value import Value, dtype_of, shape_of
from engine.numpy_api.promotion import promoted
from engine.ops import (
    arithmetic,
    compare,
    complexes,
    creation,
    decompose,
    determinants,
    diagonal,
    einsum,
    explog,
    extrema,
    filling,
    gather,
    joining,
    linalg,
    matrix_functions,
    rearrange,
    reduce,
    scan,
    slicing,
    solve,
    sorting,
    stats,
)
from engine.ops import shape as shapes
from engine.ops.lift import as_operand
from engine.runtime.errors import ShapeError


class NotTaken(Exception):
    """Our function does not take these arguments of NumPy's."""


def not_taken_if(asked: object) -> None:
    """Raise NotTaken if something is asked for that ours does not take."""
    if asked:
        raise NotTaken


def rank_of(x: Any) -> int:
    """The number of dimensions; it must be known."""
    return len(dims_of(x))


def dims_of(x: Any) -> tuple[int | None, ...]:
    """The shape; the rank must be known."""
    shape = shape_of(x) if isinstance(x, Value) else np.shape(x)
    if shape is None:
        raise ShapeError(f"a NumPy function needs the rank of {x!r}; give it one with set_shape")
    return shape


def flat(x: Any) -> Operand:
    """All elements in one dimension."""
    return shapes.reshape(x, [-1])


def length(x: Any, axis: int) -> int:
    """The size of an axis; it must be known."""
    size = dims_of(x)[axis]
    if size is None:
        raise NotTaken
    return size


def constant(x: Any, like: Any) -> EagerTensor:
    """A constant of the dtype of another value, which must have room for it: an imaginary part is not dropped."""
    return EagerTensor(as_operand(x, dtype_of(like), "what stands beside a tensor"))


def _along(x: Any, axis: Any) -> tuple[Any, Any]:
    """`x` and the axis; NumPy flattens where none is given."""
    return (flat(x), 0) if axis is None else (x, axis)


def by_columns(solved: Callable[[Any], Any], b: Any) -> Any:
    """The solution for a vector, or for the columns of a matrix."""
    return shapes.squeeze(solved(shapes.expand_dims(b, -1)), [-1]) if rank_of(b) == 1 else solved(b)


def in_lines(x: Any, axis: Any) -> tuple[Any, list[int]]:
    """`x` with the elements of some axes, or of all, in a row along the last one; and which axes these are."""
    rank = rank_of(x)
    axes = [*range(rank)] if axis is None else [int(i) % rank for i in np.ravel(axis)]
    others = [length(x, i) for i in range(rank) if i not in axes]
    return np.reshape(np.moveaxis(x, axes, range(rank - len(axes), rank)), [*others, -1]), sorted(axes)


def inexact(x: Any) -> Operand:
    """Integers as NumPy takes their mean."""
    return x if dtype_of(x).is_differentiable else compare.cast(x, float64)


def as_complex(x: Any) -> Any:
    """Real numbers as complex ones of their precision."""
    dtype = dtype_of(x)
    return x if dtype.is_complex else compare.cast(x, as_dtype(np.result_type(dtype.numpy, np.complex64)))


def _wide(x: Any) -> Operand:
    """Integers as NumPy adds them up."""
    dtype = dtype_of(x)
    if dtype.is_differentiable or dtype.size == 8:
        return x
    return compare.cast(x, uint64 if dtype.numpy.kind == "u" else int64)


def as_asked(a: Any, dtype: Any) -> Any:
    """`a` in the dtype in which a result is to be computed, if one is asked for; an imaginary part is not dropped."""
    if dtype is None:
        return a
    not_taken_if(dtype_of(a).is_complex and not numpy_dtype(dtype).is_complex)
    return compare.cast(a, numpy_dtype(dtype))


def numpy_dtype(dtype: Any) -> DType:
    """A dtype as NumPy's users name it: ``float`` has 64 bits."""
    return as_dtype(np.dtype(dtype) if isinstance(dtype, (type, str)) else dtype)


def _reduction(
    function: Callable[..., Any],
    prepare: Callable[[Any], Any],
    join: Callable[[Any, Any], Any],
    neutral: float | None = None,
) -> Callable[..., Any]:
    """A fold over axes; `join` adds one more element, and `neutral` takes the place of those that do not count."""

    def folded(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Operand:
        if where is not True:
            if initial is None and neutral is None:
                raise NotTaken  # NumPy wants a first element too, and says so
            a = compare.where(where, a, constant(initial if neutral is None else neutral, a))
        out = function(prepare(a), axis, keepdims)
        return out if initial is None else join(out, constant(initial, out))

    if neutral is None:

        @operands("a")
        def extreme(
            a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
        ) -> Operand:
            if dtype_of(a).is_complex and initial is None and where is True:
                return _in_order(function, a, axis, keepdims)
            return folded(a, axis, keepdims, initial, where)

        return extreme

    @operands("a")
    def apply(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Operand:
        return folded(as_asked(a, dtype), axis, keepdims, initial, where)

    return apply


def _in_order(function: Callable[..., Any], a: Any, axis: Any, keepdims: bool) -> Operand:
    """The greatest or the least of complex numbers, which NumPy orders by the real part, then by the imaginary one."""
    first, second = complexes.real(a), complexes.imag(a)
    best = compare.equal(first, function(first, axis, True))
    worst = -np.inf if function is extrema.reduce_max else np.inf
    second = compare.where(best, second, constant(worst, second))
    return complexes.complex(function(first, axis, keepdims), function(second, axis, keepdims))


@operands("a")
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Operand:
    a = inexact(as_asked(a, dtype))
    if where is True:
        return reduce.reduce_mean(a, axis, keepdims)
    counted = compare.cast(shapes.broadcast_to(where, shapes.shape(a)), dtype_of(a))
    total = reduce.reduce_sum(compare.where(where, a, constant(0, a)), axis, keepdims)
    return total / reduce.reduce_sum(counted, axis, keepdims)


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, *, keepdims: bool = False) -> Operand:
        return function(a, axis, keepdims)

    return apply


def _scan(function: Callable[..., Any]) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None, dtype: Any = None) -> Operand:
        return function(*_along(_wide(as_asked(a, dtype)), axis))

    return apply


def _position(function: Callable[..., Any]) -> Callable[..., Any]:
    @operands("a")
    def apply(a: Any, axis: Any = None) -> Operand:
        a, axis = _along(a, axis)
        if not dtype_of(a).is_floating:
            return function(a, axis)
        strange = compare.is_nan(a)  # NumPy stops at the first NaN
        return compare.where(reduce.reduce_any(strange, axis), extrema.argmax(strange, axis), function(a, axis))

    return apply


@operands("a")
def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Operand:
    """How NumPy sorts does not show in the result."""
    not_taken_if(order is not None)
    return sorting.sort(*_along(a, axis))


@operands("x")
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Operand:
    if ord is not None and axis is None:
        axis = {1: -1, 2: (-2, -1)}.get(rank_of(x))
    of_matrices = isinstance(axis, (tuple, list)) and len(axis) == 2
    # the largest of none is no norm
    of_none = (of_matrices or ord == np.inf) and 0 in dims_of(x)
    not_taken_if(ord is not None and (axis is None or of_none))
    if dtype_of(x).is_complex and not (of_matrices and ord in (2, -2, "nuc")):
        x = complexes.abs(x)
    x = inexact(x)
    if ord is not None and (of_matrices or ord in (0, -np.inf) or (isinstance(ord, (int, float)) and ord < 0)):
        return _matrix_norm(x, ord, tuple(axis), keepdims) if of_matrices else _odd_norm(x, ord, axis, keepdims)
    not_taken_if(not (ord is None or (isinstance(ord, (int, float)) and ord > 0)))
    return stats.norm(x, "euclidean" if ord is None else ord, axis, keepdims)


def _odd_norm(x: Any, ord: float, axis: Any, keepdims: bool) -> Operand:
    """Of vectors, with an order that is no norm's."""
    if ord == 0:
        return reduce.reduce_sum(compare.cast(compare.not_equal(x, constant(0, x)), dtype_of(x)), axis, keepdims)
    if ord == -np.inf:
        return extrema.reduce_min(complexes.abs(x), axis, keepdims)
    return reduce.reduce_sum(complexes.abs(x) ** float(ord), axis, keepdims) ** (1 / ord)


def _matrix_norm(x: Any, ord: Any, axis: tuple[int, int], keepdims: bool) -> Operand:
    rank = rank_of(x)
    rows, columns = axis[0] % rank, axis[1] % rank
    if ord == "fro" or ord in (1, np.inf):
        return stats.norm(x, ord, list(axis), keepdims)
    if ord in (-1, -np.inf):
        first, second = (rows, columns) if ord == -1 else (columns, rows)
        return extrema.reduce_min(reduce.reduce_sum(complexes.abs(x), first, True), [first, second], keepdims)
    not_taken_if(ord not in (2, -2, "nuc"))
    singular = decompose.svd(np.moveaxis(x, (rows, columns), (-2, -1)), compute_uv=False)
    fold = {2: extrema.reduce_max, -2: extrema.reduce_min, "nuc": reduce.reduce_sum}[ord]
    out = fold(singular, -1)
    return np.expand_dims(np.expand_dims(out, min(rows, columns)), max(rows, columns)) if keepdims else out


@operands("a", "b")
def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solution, residuals, rank and singular values; of full rank where that decides on the residuals' shape."""
    m, n = length(a, 0), length(a, 1)
    rcond = (
        float(np.finfo(dtype_of(a).numpy).eps) * (max(m, n) if rcond is None else 1) if rcond in (None, -1) else rcond
    )
    columns = np.expand_dims(b, -1) if rank_of(b) == 1 else b
    x = linalg.matmul(matrix_functions.pinv(a, rcond), columns)
    singular = decompose.svd(a, compute_uv=False)
    rank = reduce.count_nonzero(compare.greater(singular, constant(rcond, a) * extrema.reduce_max(singular)))
    full = not isinstance(rank, EagerTensor) or int(rank._array) == n
    missed = complexes.abs(columns - linalg.matmul(a, x)) ** 2.0
    residuals = (
        reduce.reduce_sum(missed, 0) if m > n and full else slicing.getitem(reduce.reduce_sum(missed, 0), slice(0, 0))
    )
    return (np.squeeze(x, -1) if rank_of(b) == 1 else x), residuals, rank, singular


@operands("a")
def _reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Operand:
    if order == "F":
        sizes = [int(n) for n in np.ravel(shape)]
        return np.transpose(shapes.reshape(np.transpose(a), sizes[::-1]))
    not_taken_if(order not in ("C", "A"))
    return shapes.reshape(a, shape)


@operands("a")
def _swapaxes(a: Any, axis1: int, axis2: int) -> Operand:
    order = list(range(rank_of(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return shapes.transpose(a, order)


@operands("a")
def _moveaxis(a: Any, source: Any, destination: Any) -> Operand:
    # NumPy's own arithmetic of axes, done on a stand-in without elements
    axes = range(rank_of(a))
    stand_in = np.moveaxis(np.empty([*axes], dtype=bool), source, destination)
    return shapes.transpose(a, list(stand_in.shape))


@operands("a")
def _ravel(a: Any, order: str = "C") -> Operand:
    """Values lie in C order, so that the orders "A" and "K" are this one."""
    not_taken_if(order not in ("C", "A", "K", "F"))
    return flat(np.transpose(a) if order == "F" else a)


def at_least(values: Sequence[Any], rank: int) -> Results:
    """The values with dimensions of 1 in front (one alone if there is one)."""
    out = tuple([slicing.getitem(x, (None,) * max(rank - rank_of(x), 0)) for x in values])
    return out[0] if len(out) == 1 else out


@operands("*arrays")
def _concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Operand:
    pairs = [_along(x, axis) for x in _items(arrays, dtype, casting)]
    return joining.concat([x for x, _ in pairs], pairs[0][1])


@operands("*arrays")
def _stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Operand:
    return joining.stack(_items(arrays, dtype, casting), axis)


@operands("*tup")
def _vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Operand:
    return joining.concat([at_least([x], 2) for x in _items(tup, dtype, casting)], 0)


@operands("*tup")
def _hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Operand:
    rows = [at_least([x], 1) for x in _items(tup, dtype, casting)]
    return joining.concat(rows, 0 if rank_of(rows[0]) == 1 else 1)


def _items(arrays: Any, dtype: Any, casting: str) -> list[Any]:
    not_taken_if(casting != "same_kind")
    parts = list(arrays) if isinstance(arrays, (list, tuple)) else joining.unstack(arrays)
    return [as_asked(x, dtype) for x in parts]


@operands("arr", "values")
def _append(arr: Any, values: Any, axis: Any = None) -> Operand:
    return _concatenate([arr, values], axis)


@operands("ary")
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Operand]:
    if isinstance(indices_or_sections, (int, np.integer)):
        return joining.split(ary, int(indices_or_sections), axis)
    bounds = [0, *[int(i) for i in indices_or_sections]]
    return joining.split(ary, [*[j - i for i, j in pairwise(bounds)], -1], axis)


@operands("A")
def _tile(A: Any, reps: Any) -> Operand:
    counts = [int(n) for n in np.ravel(reps)]
    counts = [1] * (rank_of(A) - len(counts)) + counts
    return rearrange.tile(at_least([A], len(counts)), counts)


@operands("a")
def _roll(a: Any, shift: Any, axis: Any = None) -> Operand:
    if axis is None:
        return shapes.reshape(rearrange.roll(flat(a), [shift], [0]), shapes.shape(a))
    shifts, axes = np.broadcast_arrays(shift, axis)
    return rearrange.roll(a, shifts.ravel().tolist(), axes.ravel().tolist())


@operands("m")
def _flip(m: Any, axis: Any = None) -> Operand:
    return rearrange.reverse(m, list(range(rank_of(m))) if axis is None else axis)


@operands("a")
def _take(a: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Operand:
    a, axis = _along(a, axis)
    if mode != "raise":
        not_taken_if(isinstance(indices, Value))
        n = length(a, axis)
        indices = np.clip(indices, 0, n - 1) if mode == "clip" else np.mod(indices, n)
    if not isinstance(indices, Value):
        # from the end where negative, which our gather refuses
        indices = np.asarray(indices)
        size = dims_of(a)[axis]
        not_taken_if(size is None and indices.min(initial=0) < 0)
        indices = np.where(indices < 0, indices + (size or 0), indices)
    return gather.gather(a, indices, axis=axis)


@operands("a", "prepend", "append")
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Operand:
    if n and (prepend is not None or append is not None):
        a = np.concatenate([_end(prepend, a, axis), a, _end(append, a, axis)], axis=axis)
    before: tuple[Any, ...] = (slice(None),) * (axis if axis >= 0 else axis + rank_of(a))
    for _ in range(n):
        a = slicing.getitem(a, (*before, slice(1, None))) - slicing.getitem(a, (*before, slice(None, -1)))
    return a


def _end(x: Any, a: Any, axis: int) -> Any:
    """Elements to be put at an end of an axis of `a`; a number stands for one on each line."""
    sizes = [length(a, i) for i in range(rank_of(a))]
    sizes[axis] = 0 if x is None else 1 if rank_of(x) == 0 else length(x, axis)
    return np.zeros(sizes) if x is None else np.broadcast_to(x, sizes)


@operands("x", "y", alone=("condition",))
def _where(condition: Any, x: Any, y: Any) -> Operand:
    return compare.where(condition, x, y)


@operands("a", "a_min", "a_max", "min", "max")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Operand:
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is not None and high is not None:
        return arithmetic.clip(a, np.minimum(low, high), high)
    a = a if low is None else arithmetic.maximum(a, low)
    return a if high is None else arithmetic.minimum(a, high)


@operands("start", "stop")
def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    count = num if endpoint else num + 1
    out: Any = filling.linspace(start, stop, count, axis)
    if not endpoint:
        out = np.moveaxis(np.moveaxis(out, axis, 0)[:-1], 0, axis)
    out = as_asked(out, dtype)
    return (out, (stop - start) / (count - 1 if count > 1 else np.nan)) if retstep else out


@operands("start", "stop", "base")
def _logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, axis: int = 0) -> Operand:
    return base ** _linspace(start, stop, num, endpoint, axis=axis)


@operands("start", "stop")
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, axis: int = 0) -> Operand:
    """Of positive numbers; their powers are those of e."""
    return explog.exp(_linspace(explog.log(start), explog.log(stop), num, endpoint, axis=axis))


@operands("a", "b")
def _dot(a: Any, b: Any) -> Operand:
    ranks = rank_of(a), rank_of(b)
    if 0 in ranks:
        return a * b
    return linalg.matmul(a, b) if ranks == (2, 2) else einsum.tensordot(a, b, ([-1], [-min(2, ranks[1])]))


@operands("a", "b")
def _inner(a: Any, b: Any) -> Operand:
    return a * b if 0 in (rank_of(a), rank_of(b)) else einsum.tensordot(a, b, ([-1], [-1]))


@operands("a", "b")
def _outer(a: Any, b: Any) -> Operand:
    return shapes.reshape(a, [-1, 1]) * shapes.reshape(b, [1, -1])


def _einsum(*operands: Any, optimize: Any = None) -> Operand:
    """Also in NumPy's other form, in which a list of numbers follows each factor, and another one may say the result.

    In the order that our own `einsum` finds; `optimize` is not needed.
    """
    equation, factors = _equation(operands)
    factors = promoted(factors)
    like = next(x for x in factors if isinstance(x, Value))
    values = [as_operand(x, dtype_of(like), "np.einsum: argument `operands`") for x in factors]
    return einsum.einsum(*_without_ones(equation.replace(" ", ""), values))


def _without_ones(equation: str, values: list[Any]) -> tuple[Any, ...]:
    """As NumPy has it, an axis of one element goes with a longer one of the same letter; so it is dropped."""
    if "." in equation or any(shape_of(x) is None for x in values):
        return equation, *values
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    if [len(term) for term in terms] != [rank_of(x) for x in values]:
        return equation, *values  # which says so
    pairs = [pair for term, x in zip(terms, values, strict=True) for pair in zip(term, dims_of(x), strict=True)]
    longer = {letter for letter, n in pairs if n != 1}
    for i, x in enumerate(values):
        ones = [at for at, (c, n) in enumerate(zip(terms[i], dims_of(x), strict=True)) if n == 1 and c in longer]
        if ones:
            values[i] = shapes.squeeze(x, ones)
            terms[i] = "".join(c for at, c in enumerate(terms[i]) if at not in ones)
    return f"{','.join(terms)}->{right}", *values


def _equation(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    if isinstance(operands[0], str):
        return operands[0], operands[1:]

    def letters(places: Any) -> str:
        return "".join("..." if i is ... else ascii_letters[i] for i in places)

    count = len(operands) // 2
    equation = ",".join(letters(places) for places in operands[1 : 2 * count : 2])
    if len(operands) % 2:
        equation += f"->{letters(operands[-1])}"
    return equation, operands[: 2 * count : 2]


@operands("a", "b")
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Operand:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (x if at == -1 else np.moveaxis(x, at, -1) for x, at in ((a, axisa), (b, axisb)))
    not_taken_if((length(a, -1), length(b, -1)) != (3, 3))
    product: Any = linalg.cross(a, b)
    return product if axisc == -1 else np.moveaxis(product, -1, axisc)


@operands("v")
def _diag(v: Any, k: int = 0) -> Operand:
    return diagonal.matrix_diag(v, k) if rank_of(v) == 1 else diagonal.matrix_diag_part(v, k)


@operands("a", "b")
def _solve(a: Any, b: Any) -> Operand:
    return by_columns(lambda columns: solve.solve(a, columns), b)


@operands("a")
def _round(a: Any, decimals: int = 0) -> Operand:
    not_taken_if(decimals)
    return arithmetic.round(a)


@operands("a")
def _static_shape(a: Any) -> Any:
    shape = shape_of(a)
    not_taken_if(shape is None or None in shape)
    return shape


# ---- the tables ------------------------------------------------------------------------------------------------------

Row = tuple[Callable[..., Any], str]

RECORDED: dict[Any, Row] = {
    np.sum: (_reduction(reduce.reduce_sum, _wide, arithmetic.add, 0), "tf.reduce_sum"),
    np.prod: (_reduction(reduce.reduce_prod, _wide, arithmetic.multiply, 1), "tf.reduce_prod"),
    np.mean: (_mean, "tf.reduce_mean"),
    np.max: (_reduction(extrema.reduce_max, lambda a: a, arithmetic.maximum), "tf.reduce_max"),
    np.amax: (_reduction(extrema.reduce_max, lambda a: a, arithmetic.maximum), "tf.reduce_max"),
    np.min: (_reduction(extrema.reduce_min, lambda a: a, arithmetic.minimum), "tf.reduce_min"),
    np.amin: (_reduction(extrema.reduce_min, lambda a: a, arithmetic.minimum), "tf.reduce_min"),
    np.cumsum: (_scan(scan.cumsum), "tf.cumsum"),
    np.cumprod: (_scan(scan.cumprod), "tf.math.cumprod"),
    np.diff: (_diff, "tf.subtract of slices"),
    np.sort: (_sort, "tf.sort"),
    np.where: (_where, "tf.where"),
    np.clip: (_clip, "tf.clip_by_value"),
    np.linspace: (_linspace, "tf.linspace"),
    np.logspace: (_logspace, "tf.linspace"),
    np.geomspace: (_geomspace, "tf.linspace"),
    np.astype: (operands("x")(lambda x, dtype, *, copy=True: compare.cast(x, numpy_dtype(dtype))), "tf.cast"),
    np.real: (complexes.real, "tf.math.real"),
    np.imag: (complexes.imag, "tf.math.imag"),
    np.angle: (complexes.angle, "tf.math.angle"),
    # ---- shapes
    np.reshape: (_reshape, "tf.reshape"),
    np.ravel: (_ravel, "tf.reshape"),
    np.transpose: (operands("a")(lambda a, axes=None: shapes.transpose(a, axes)), "tf.transpose"),
    np.matrix_transpose: (shapes.matrix_transpose, "tf.linalg.matrix_transpose"),
    np.swapaxes: (_swapaxes, "tf.transpose"),
    np.moveaxis: (_moveaxis, "tf.transpose"),
    np.squeeze: (shapes.squeeze, "tf.squeeze"),
    np.atleast_1d: (operands("*arys")(lambda *arys: at_least(arys, 1)), "tf.reshape"),
    np.atleast_2d: (operands("*arys")(lambda *arys: at_least(arys, 2)), "tf.reshape"),
    np.broadcast_to: (shapes.broadcast_to, "tf.broadcast_to"),
    np.copy: (operands("a")(lambda a: shapes.identity(a)), "tf.identity"),
    # ---- joining and moving
    np.concatenate: (_concatenate, "tf.concat"),
    np.append: (_append, "tf.concat"),
    np.stack: (_stack, "tf.stack"),
    np.vstack: (_vstack, "tf.concat"),
    np.hstack: (_hstack, "tf.concat"),
    np.split: (_split, "tf.split"),
    np.tile: (_tile, "tf.tile"),
    np.repeat: (rearrange.repeat, "tf.repeat"),
    np.roll: (_roll, "tf.roll"),
    np.flip: (_flip, "tf.reverse"),
    np.take: (_take, "tf.gather"),
    np.tril: (diagonal.tril, "tf.linalg.band_part"),
    np.triu: (diagonal.triu, "tf.linalg.band_part"),
    np.diag: (_diag, "tf.linalg.diag or tf.linalg.diag_part"),
    # ---- products and matrices
    np.dot: (_dot, "tf.matmul or tf.tensordot"),
    np.inner: (_inner, "tf.tensordot"),
    np.outer: (_outer, "tf.multiply after tf.reshape"),
    np.vdot: (operands("a", "b")(lambda a, b: einsum.tensordot(complexes.conj(flat(a)), flat(b), 1)), "tf.tensordot"),
    np.tensordot: (operands("a", "b")(lambda a, b, axes=2: einsum.tensordot(a, b, axes)), "tf.tensordot"),
    np.einsum: (_einsum, "tf.einsum"),
    np.cross: (_cross, "tf.linalg.cross"),
    np.linalg.norm: (_norm, "tf.norm"),
    np.linalg.inv: (solve.inv, "tf.linalg.inv"),
    np.linalg.det: (determinants.det, "tf.linalg.det"),
    np.linalg.solve: (_solve, "tf.linalg.solve"),
    np.linalg.lstsq: (_lstsq, "tf.linalg.lstsq"),
}
"""Functions that carry derivatives: NumPy's, ours, and the name users know ours by."""

UNDERIVED: dict[Any, Row] = {
    np.argmax: (_position(extrema.argmax), "tf.argmax"),
    np.argmin: (_position(extrema.argmin), "tf.argmin"),
    np.argsort: (operands("a")(lambda a, axis=-1: sorting.argsort(*_along(a, axis))), "tf.argsort"),
    np.all: (_truth(reduce.reduce_all), "tf.reduce_all"),
    np.any: (_truth(reduce.reduce_any), "tf.reduce_any"),
    np.count_nonzero: (_truth(reduce.count_nonzero), "tf.math.count_nonzero"),
    np.round: (_round, "tf.round"),
    np.around: (_round, "tf.round"),
    np.zeros_like: (operands("a")(lambda a: creation.zeros_like(a)), "tf.zeros_like"),
    np.ones_like: (operands("a")(lambda a: creation.ones_like(a)), "tf.ones_like"),
    np.shape: (_static_shape, "tf.shape"),
    np.ndim: (rank_of, "tf.rank"),
    np.size: (operands("a")(lambda a: math.prod(_static_shape(a))), "tf.size"),
}
"""Functions that carry none: NumPy's own function serves eager values, ours the others."""
