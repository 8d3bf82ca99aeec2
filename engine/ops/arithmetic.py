"""Arithmetic with broadcasting: sums, products, quotients, remainders, extrema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING, NUMERIC, REAL, float32, float64
from engine.core.kinds import elementwise, nondifferentiable, real_elementwise
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.structural import Cotangent, Tangent, conj
from engine.core.value import Value, dtype_of, scalar
from engine.ops.compare import cast, cast_like, equal, greater, greater_equal, less, less_equal, logical_and, where
from engine.ops.creation import ones_like, zeros_like
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError

_SIGNED = frozenset(d for d in NUMERIC if not d.is_unsigned)
_IEEE: dict[str, Any] = {"rounds_correctly": True}
add = elementwise("add", np.add, (1, 1), type="AddV2", accepts=NUMERIC, commutes=True, doc="``x + y``.", **_IEEE)
subtract = elementwise("subtract", np.subtract, (1, -1), type="Sub", accepts=NUMERIC, doc="``x - y``.", **_IEEE)
negative = elementwise("negative", np.negative, (-1,), type="Neg", accepts=_SIGNED, doc="``-x``.", **_IEEE)
multiply = elementwise(
    "multiply",
    np.multiply,
    (lambda out, x, y: y, lambda out, x, y: x),
    type="Mul",
    accepts=NUMERIC,
    commutes=True,
    keeps_nan=(0, 1),
    # of x * x: where twice x is infinite, the result is as well; not so twice the cotangent
    alike=(Cotangent(0, lambda out, x, _: x + x), Tangent(lambda out, x, _: x + x)),
    doc="``x * y``.",
    **_IEEE,
)
divide = elementwise(
    "divide",
    np.true_divide,
    (lambda out, x, y: reciprocal(y), lambda out, x, y: -out / y),
    type="RealDiv",
    doc="""``x / y`` of floating or complex values.

    The two derivatives cost some 6 times the quotient: two more divisions, and each is multiplied by the cotangent.
    """,
    **_IEEE,
)


@operands("x", "y")
def truediv(x: Any, y: Any) -> Operand:
    """``x / y``; integers are divided as float64 (8- and 16-bit ones as float32), as in TensorFlow."""
    return divide(*_as_divided(x, y))


def _as_divided(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands, integers as floats."""
    dtype = dtype_of(x if isinstance(x, Value) or not isinstance(y, Value) else y)
    if not dtype.is_integer:
        return x, y
    wide = float32 if dtype.size < 4 else float64
    return cast(x, wide), cast(y, wide)


reciprocal = elementwise("reciprocal", np.reciprocal, (lambda out, x: -out * out,), doc="``1 / x``.", **_IEEE)
square_op = elementwise(
    "square_op", np.square, (lambda out, x: x + x,), type="Square", accepts=REAL, doc="``x * x``, real.", **_IEEE
)


@operands("x")
def square(x: Any) -> Operand:
    """``x * x``.

    Examples
    --------
    >>> square(np.array([1.0, 3.0]))
    array([1., 9.])
    """
    # NumPy squares complex scalars in place, and rounds them there as it rounds no other complex numbers
    return multiply(x, x) if dtype_of(x).is_complex else square_op(x)


def _twice(x: Any) -> Any:
    return x + x


squared_difference_op = elementwise(
    "squared_difference_op",
    lambda x, y: np.square(np.subtract(x, y)),
    (lambda out, x, y: _twice(x - y), lambda out, x, y: -_twice(x - y)),
    type="SquaredDifference",
    accepts=REAL,
    # the derivatives need the difference too
    specialize=lambda x, y: square_op(subtract(x, y)),
    doc="``(x - y) ** 2`` of real values.",
)


@operands("x", "y")
def squared_difference(x: Any, y: Any) -> Operand:
    """``(x - y) * conj(x - y)``: the square of the distance, real (in a complex dtype) also for complex values.

    Examples
    --------
    >>> squared_difference(np.array([1.0, 5.0]), np.array([3.0, 4.0]))
    array([4., 1.])
    """
    if not dtype_of(x).is_complex:
        return squared_difference_op(x, y)
    difference = x - y
    return difference * conj(difference)


def _by_nonzero(ufunc: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The kernel of a division: integers have no infinity that could stand for a quotient by zero."""

    def kernel(x: Any, y: Any) -> Operand:
        if y.dtype.kind != "f" and np.count_nonzero(y) != y.size:
            raise InvalidArgumentError(f"{name}: Integer division by zero")
        return ufunc(x, y)

    return kernel


mod = elementwise(
    "mod",
    _by_nonzero(np.mod, "mod"),
    (1, lambda out, x, y: -floordiv(x, y)),
    type="FloorMod",
    accepts=REAL,
    doc="Remainder with the sign of `y`: ``x - floor(x / y) * y``.",
)
floordiv = nondifferentiable(
    "floordiv",
    _by_nonzero(np.floor_divide, "floordiv"),
    type="FloorDiv",
    args=("x", "y"),
    accepts=REAL,
    doc="``floor(x / y)``.",
)


def _truncated(x: Any, y: Any) -> Operand:
    quotient = np.trunc(np.true_divide(x, y)) if x.dtype.kind == "f" else np.floor_divide(x - np.fmod(x, y), y)
    return quotient.astype(x.dtype, copy=False)


truncatemod = elementwise(
    "truncatemod",
    _by_nonzero(np.fmod, "truncatemod"),
    (1, lambda out, x, y: -truncatediv(x, y)),
    type="TruncateMod",
    accepts=REAL,
    doc="Remainder with the sign of `x`, as in C: ``x - truncatediv(x, y) * y``.",
)
truncatediv = nondifferentiable(
    "truncatediv",
    _by_nonzero(_truncated, "truncatediv"),
    type="TruncateDiv",
    args=("x", "y"),
    accepts=REAL,
    doc="``x / y``, rounded toward zero, as in C.",
)


def _divide_no_nan_kernel(x: Any, y: Any) -> Operand:
    zero = np.equal(y, 0)
    if not zero.any():
        return np.true_divide(x, y)
    return scalar(np.where(zero, np.zeros((), x.dtype), np.true_divide(x, np.where(zero, np.ones((), y.dtype), y))))


divide_no_nan = elementwise(
    "divide_no_nan",
    _divide_no_nan_kernel,
    (lambda out, x, y: divide_no_nan(ones_like(y), y), lambda out, x, y: -divide_no_nan(out, y)),
    type="DivNoNan",
    selects=True,
    doc="""``x / y``, but 0 where ``y == 0`` (and so are both derivatives).

    The two derivatives cost some 5 times the quotient, as those of `divide` do.
    """,
)


def _multiply_no_nan_kernel(x: Any, y: Any) -> Operand:
    zero = np.equal(y, 0)
    if not zero.any():
        return np.multiply(x, y)
    return scalar(np.where(zero, np.zeros((), x.dtype), np.multiply(np.where(zero, np.zeros((), x.dtype), x), y)))


multiply_no_nan = elementwise(
    "multiply_no_nan",
    _multiply_no_nan_kernel,
    (lambda out, x, y: y, lambda out, x, y: x),
    type="MulNoNan",
    selects=True,
    doc="``x * y``, but 0 where ``y == 0``, even if x is infinite or NaN. The derivatives are those of the product.",
)


part_of = elementwise(
    "part_of",
    _divide_no_nan_kernel,
    (lambda out, x, y: reciprocal(y), lambda out, x, y: -out / y),
    type="DivNoNan",
    doc="""``x / y``, but 0 where ``y == 0``, with the derivatives of `divide`: infinite or NaN there.

    Of the gradient of a norm, which is taken to be 0 where there is none. A derivative of that is not.
    """,
)


def _vanishes(x: Any) -> Operand:
    return equal(x, zeros_like(x))


def over_length(ct: Any, r: Any, slope: Any) -> Operand:
    """``ct / r``, and its limit where both are 0."""
    none, one = _vanishes(r), ones_like(r)
    limit = where(_vanishes(ct), slope, np.nan * one)
    return where(none, limit, ct / where(none, one, r))


@operands("x", "y")
def div_no_nan(x: Any, y: Any) -> Operand:
    """``x / y``, but 0 where ``y == 0``; integers are divided as `truediv` divides them.

    Examples
    --------
    >>> div_no_nan(np.array([3, 3]), np.array([2, 0]))
    array([1.5, 0. ])
    """
    return divide_no_nan(*_as_divided(x, y))


nextafter = real_elementwise(
    "nextafter",
    np.nextafter,
    (1, lambda out, x1, x2: zeros_like(x2)),
    args=("x1", "x2"),
    doc="The float next to `x1` in the direction of `x2`.",
)


def _extremum(ufunc: np.ufunc, of_x: Op, of_y: Op, adjective: str) -> Op:
    """The `adjective` of two; `of_x` says where x is it, also at a tie, and `of_y` where y is."""
    return elementwise(
        ufunc.__name__,
        elementary.of_second(ufunc),
        (lambda out, x, y: cast_like(of_x(x, y), x), lambda out, x, y: cast_like(of_y(x, y), x)),
        accepts=REAL,
        selects=True,
        doc=f"""The {adjective} of the two. At a tie the derivative is that of `x`.

    The op is one pass over memory; the two derivatives, a comparison and a product each, cost some 6 times as much.
    """,
    )


maximum = _extremum(np.maximum, greater_equal, less, "larger")
minimum = _extremum(np.minimum, less_equal, greater, "smaller")
sign = elementwise(
    "sign",
    np.sign,
    (lambda out, x: zeros_like(x),),
    accepts=REAL,
    selects=True,
    rounds_correctly=True,
    doc="-1, 0 or 1; its derivative is 0 everywhere.",
)
real_abs = elementwise(
    "real_abs",
    np.absolute,
    (lambda out, x: sign(x),),
    type="Abs",
    accepts=REAL,
    rounds_correctly=True,
    doc="""Absolute value of a real value.

    Its derivative costs some 6 times as much: dropping a bit is the cheapest op there is, and `sign` compares.
    """,
)
sign_sloped = real_elementwise(
    "sign_sloped",
    lambda ct, x, slope: np.multiply(np.broadcast_arrays(ct, slope)[0], np.sign(x)),
    (
        lambda out, ct, x, slope: sign(x),
        lambda out, ct, x, slope: where(logical_and(_vanishes(ct), _vanishes(x)), slope, zeros_like(slope)),
        None,
    ),
    args=("ct", "x", "slope"),
    doc="""``ct * sign(x)``, the gradient of a function of ``abs(x)``, if `ct` changes by `slope` with that.

    Of an even function `ct` is 0 where x is, and the derivative is the slope.
    """,
)
floor = nondifferentiable("floor", np.floor, accepts=FLOATING, doc="Largest integer not above x.")
ceil = nondifferentiable("ceil", np.ceil, accepts=FLOATING, doc="Smallest integer not below x.")
round = nondifferentiable("round", np.round, accepts=REAL, doc="Nearest integer, halves to even.")
rint = nondifferentiable("rint", np.rint, accepts=FLOATING, doc="Nearest integer, halves to even.")


clip = elementwise(
    "clip",
    lambda x, low, high: np.maximum(np.minimum(x, high), low),
    (
        lambda out, x, low, high: cast_like(logical_and(greater_equal(x, low), less_equal(x, high)), x),
        lambda out, x, low, high: cast_like(less(x, low), x),
        lambda out, x, low, high: cast_like(greater(x, high), x),
    ),
    type="ClipByValue",
    args=("t", "clip_value_min", "clip_value_max"),
    accepts=REAL,
    selects=True,
    doc="""x limited to [low, high]. At both edges the derivative in x is 1.

    All three derivatives together, comparisons and products, cost some 5 times the op.
    """,
)
