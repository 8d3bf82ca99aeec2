"""Values made from shapes and counts: zeros, ones, fill, range, linspace, eye, one_hot.

What depends on no value is a plain array; what a graph computes (a shape, a limit) makes it an op.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval
from engine.core.dtypes import ANY, INTEGER, DType, as_dtype, float16, float32, float64, int32, int64, string
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, nondifferentiable, same_dtype
from engine.core.operands import Operand, operands
from engine.core.structural import broadcast_like
from engine.core.trace import Symbol, constant_value, unless_large
from engine.core.value import Value, as_array, aval_of, dtype_of, shape_of
from engine.ops import creation
from engine.ops.arithmetic import add, divide, multiply, subtract
from engine.ops.axis_args import static_int
from engine.ops.compare import cast, equal, where
from engine.ops.joining import concat
from engine.ops.lift import as_operand
from engine.ops.shape import as_dims, broadcast_to, fill_op, reshape, same_for_all, shape_operand
from engine.ops.shape import shape as shape_of_value
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotKnownYet, ResourceExhaustedError, ShapeError


def _filled(name: str, shape: Any, value: Any) -> Operand:
    """A scalar repeated in a shape."""
    dims = shape_operand(shape)
    if isinstance(dims, Value):
        return fill_op(value, dims)
    if any(d < 0 for d in as_dims(dims)):
        raise InvalidArgumentError(f"{name}: dimensions must be >= 0, got {as_dims(dims)}")
    return fill_op(unless_large(value, math.prod(as_dims(dims))), dims)


def zeros(shape: Any, dtype: Any = float32) -> Operand:
    """Zeros of a shape: a list of ints and scalar values, or an integer vector.

    Examples
    --------
    >>> zeros([2])
    array([0., 0.], dtype=float32)
    """
    target = as_dtype(dtype)
    return _filled("zeros", shape, np.array(b"", object) if target is string else np.zeros((), target.numpy))


def ones(shape: Any, dtype: Any = float32) -> Operand:
    """Ones of a shape: a list of ints and scalar values, or an integer vector.

    Examples
    --------
    >>> ones([2])
    array([1., 1.], dtype=float32)
    """
    target = as_dtype(dtype)
    if target is string:
        raise DTypeError("ones: argument `dtype` must not be string: there is no 1 among strings")
    return _filled("ones", shape, np.ones((), target.numpy))


@operands("input")
def zeros_like(input: Any, dtype: Any = None) -> Operand:
    """Zeros (of strings: empty ones) in the shape of `input`, of its dtype or the given one."""
    if (dtype_of(input) if dtype is None else as_dtype(dtype)) is string:
        return fill(shape_of_value(input), np.array(b"", object))
    return creation.zeros_like(input, **({} if dtype is None else {"dtype": as_dtype(dtype)}))


@operands("input")
def ones_like(input: Any, dtype: Any = None) -> Operand:
    """Ones in the shape of `input`, of its dtype or the given one."""
    return creation.ones_like(input, **({} if dtype is None else {"dtype": as_dtype(dtype)}))


@operands("value")
def fill(dims: Any, value: Any) -> Operand:
    """A scalar repeated in a shape.

    Parameters
    ----------
    dims : sequence of int and scalar values, or integer vector
    value : value, scalar

    Examples
    --------
    >>> fill([2], np.float32(3))
    array([3., 3.], dtype=float32)
    """
    if shape_of(value) not in ((), None):
        raise ShapeError(f"fill: argument `value` must be a scalar, got shape {shape_of(value)}")
    return _filled("fill", dims, value)


# ---- range, linspace -------------------------------------------------------------------------------------------------


_MOST = 1 << 59
"""Elements of an array, as far as an address goes."""


def _count(start: Any, limit: Any, delta: Any) -> int:
    """How many numbers a range has."""
    if delta == 0:
        raise InvalidArgumentError("range: argument `delta` must not be 0")
    if not ((start <= limit) if delta > 0 else (start >= limit)):
        relation = "<=" if delta > 0 else ">="
        raise InvalidArgumentError(
            f"range: argument `start` must be {relation} `limit` for `delta` {delta}, got {start} and {limit}"
        )
    if isinstance(start, (int, np.integer)):
        count = -((int(start) - int(limit)) // int(delta))
    else:
        count = abs((limit - start) / delta)
        if not np.isfinite(count):
            raise InvalidArgumentError(f"range: arguments must be finite, got {start}, {limit} and {delta}")
    if count > _MOST:
        raise ResourceExhaustedError(f"range: from {start} to {limit} in steps of {delta} are {count} numbers")
    return math.ceil(count)


def _range_kernel(start: Any, limit: Any, delta: Any) -> np.ndarray:
    start, limit, delta = start[()], limit[()], delta[()]
    return start + np.arange(_count(start, limit, delta)).astype(start.dtype) * delta


def _range_abstract(start: Aval, limit: Aval, delta: Aval) -> Aval:
    dtype = same_dtype("range", ("start", "limit", "delta"), (start, limit, delta))
    known = [a.value for a in (start, limit, delta)]
    count = _count(*known) if dtype.is_integer and all(isinstance(k, int) for k in known) else None
    return Aval((count,), dtype)


range_op = nondifferentiable(
    "range_op",
    _range_kernel,
    abstract=_range_abstract,
    batch=same_for_all,
    type="Range",
    args=("start", "limit", "delta"),
    refuses=True,
    smooth=(0, 2),
    doc="Equally spaced numbers below (or above) a limit.",
)

_RANGE_DTYPES = (int32, int64, float16, float32, float64)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Operand:
    """The numbers from `start` on in steps of `delta`, without `limit`.

    Parameters
    ----------
    start : number or scalar value
        The limit, if that is not given; the range then starts at 0.
    limit, delta : number or scalar value, optional
    dtype : DType, optional
        By default the widest among those of the arguments.

    Raises
    ------
    InvalidArgumentError
        If the limit cannot be reached in steps of `delta`.

    Examples
    --------
    >>> range(3)
    array([0, 1, 2], dtype=int32)
    >>> range(1, 2, 0.25)
    array([1.  , 1.25, 1.5 , 1.75], dtype=float32)
    """
    if limit is None:
        start, limit = 0, start
    ends = (start, limit, delta)
    wanted = _range_dtype(ends) if dtype is None else as_dtype(dtype)
    given = [cast(x, wanted) if isinstance(x, Value) else as_array(x, wanted, "range") for x in ends]
    if any(isinstance(x, Value) for x in given):
        return range_op(*given)
    count = _count(*[x[()] for x in given])
    made = range_op(unless_large(given[0], count), *given[1:])
    if isinstance(made, Symbol):
        made.set_shape((count,))
    return made


def _range_dtype(given: Any) -> DType:
    dtypes = [dtype_of(as_array(x)) if not isinstance(x, Value) else x.dtype for x in given]
    for dtype in dtypes:
        if dtype not in _RANGE_DTYPES:
            raise DTypeError(
                f"range: arguments must be int32, int64, float16, float32 or float64, got {dtype.name}; give `dtype`"
            )
    return max(dtypes, key=_RANGE_DTYPES.index)


@operands("start", "stop")
def linspace(start: Any, stop: Any, num: Any, axis: Any = 0) -> Operand:
    """`num` equally spaced numbers from `start` to `stop`, both included.

    Parameters
    ----------
    start, stop : value
        Broadcast together. Integers count as float64.
    num : int
    axis : int
        Position of the new axis in the result.

    Examples
    --------
    >>> linspace(np.float32(0), np.float32(1), 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if dtype_of(start).is_integer:
        start, stop = cast(start, float64), cast(stop, float64)
    dtype = dtype_of(start).numpy
    count = static_int("linspace", "num", num, 0)
    span = subtract(stop, start)
    shape = shape_of(span)
    if shape is None:
        raise NotKnownYet("linspace: the ranks of `start` and `stop` must be known")
    at = normalize_axis("linspace", axis, len(shape) + 1) - len(shape) - 1
    first, last, span = (expand_dims(x, (at,)) for x in (broadcast_like(start, span), broadcast_like(stop, span), span))
    intervals = max(count - 1, 1)
    steps = reshape(cast(range(np.int64(count)), dtype_of(start)), (count,) + (1,) * (-at - 1))
    inner = add(first, multiply(divide(span, np.asarray(intervals, dtype)), steps))
    # the last number is `stop` itself, without rounding
    return where(equal(steps, np.asarray(intervals, dtype)), last, inner)


# ---- eye, one_hot ----------------------------------------------------------------------------------------------------


def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = float32) -> Operand:
    """Ones on the diagonal of matrices of zeros.

    Parameters
    ----------
    num_rows, num_columns : int or scalar value
        As many columns as rows by default.
    batch_shape : sequence of int and scalar values, or integer vector, optional
        Leading dimensions of the result.
    dtype : DType

    Examples
    --------
    >>> eye(2, 3)
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    columns = num_rows if num_columns is None else num_columns
    rows = cast(_up_to("eye", "num_rows", num_rows), int64)
    numbers = cast(_up_to("eye", "num_columns", columns), int64)
    if isinstance(rows, np.ndarray) and isinstance(numbers, np.ndarray):
        rows = unless_large(rows, rows.size * numbers.size)
    matrix = cast(equal(expand_dims(rows, (-1,)), numbers), dtype)
    if batch_shape is None:
        return matrix
    return broadcast_to(matrix, concat([_vector(batch_shape), _vector([num_rows, columns])], 0))


def _up_to(name: str, argument: str, count: Any) -> Operand:
    """The integers from 0 to `count`, which must be one and not negative."""
    if constant_value(count) is not None:
        count = static_int(name, argument, count, 0)
    elif dtype_of(count) not in INTEGER:
        raise DTypeError(f"{name}: argument `{argument}` must be an integer, got {count!r}")
    return range(count)


def _vector(shape: Any) -> Operand:
    return cast(shape_operand(shape), int64)


@operands(alone=("indices",))
def one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None
) -> Operand:
    """Vectors with `on_value` at an index and `off_value` elsewhere.

    Parameters
    ----------
    indices : integer value
        One that is not in [0, depth) gives a vector of `off_value` only.
    depth : int or scalar value
        Length of the vectors.
    on_value, off_value : scalar value, optional
        1 and 0 by default.
    axis : int, optional
        Position of the new axis in the result, the last by default.
    dtype : DType, optional
        By default that of the values, or float32.

    Examples
    --------
    >>> one_hot(np.array([1, -1]), 2)
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    check_dtype("one_hot", "indices", aval_of(indices), INTEGER)
    mask = _one_hot_mask(indices, depth, -1 if axis is None else static_int("one_hot", "axis", axis))
    given = {k: v for k, v in (("on_value", on_value), ("off_value", off_value)) if v is not None}
    example = next((v for v in given.values() if isinstance(v, (Value, np.ndarray, np.generic))), None)
    first = next(iter(given.values()), None) if example is None else example
    wanted = as_dtype(dtype) if dtype is not None else float32 if first is None else dtype_of(as_operand(first))
    if not given and wanted is not string:
        return cast(mask, wanted)
    if wanted is string and len(given) < 2:
        raise DTypeError("one_hot: strings have no 1 and 0: arguments `on_value` and `off_value` must both be given")
    check_dtype("one_hot", "dtype" if dtype is not None else "on_value", Aval((), wanted), ANY | {string})
    values = {k: as_operand(v, wanted, f"one_hot: argument `{k}`") for k, v in given.items()}
    for name, value in values.items():
        if dtype_of(value) is not wanted:
            raise DTypeError(
                f"one_hot: argument `{name}` must have the dtype of the result, {wanted.name}, got "
                f"{dtype_of(value).name}; cast it with tf.cast"
            )
    on, off = values.get("on_value", np.ones((), wanted.numpy)), values.get("off_value", np.zeros((), wanted.numpy))
    return where(mask, on, off)


def _one_hot_mask(indices: Any, depth: Any, axis: int) -> Operand:
    wide = indices if dtype_of(indices).size >= 4 else cast(indices, int32)
    shape = shape_of(indices)
    if axis != -1:
        if shape is None:
            raise NotKnownYet("one_hot: with an `axis` other than -1, the rank of `indices` must be known")
        axis = normalize_axis("one_hot", axis, len(shape) + 1) - len(shape) - 1
    positions = cast(_up_to("one_hot", "depth", depth), dtype_of(wide))
    return equal(expand_dims(wide, (axis,)), reshape(positions, [-1] + [1] * (-axis - 1)))
