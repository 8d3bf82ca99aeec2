"""Rows of `engine.ops.arithmetic`."""

import numpy as np

from engine.ops import arithmetic
from tests.row import Row, case, distinct, fixed, integers, positive, real, rows

COMPLEX = ("float32", "float64", "complex64", "complex128")
NUMERIC = (*COMPLEX, "int32")
EMPTY = (real(0, 3), real(3))


def _truediv(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.true_divide(x, y)


ROWS = (
    Row(arithmetic.nextafter, (real(3, 4), real(4)), oracle=np.nextafter, tf="math.nextafter"),
    # sums
    Row(arithmetic.add, (real(3, 4), real(4)), dtypes=NUMERIC, oracle=np.add, tf="add"),
    Row(arithmetic.add, (real(2, 1, 4), real(3, 1)), label="both broadcast", tf=lambda tf, x, y: x + y),
    Row(arithmetic.add, (real(), real(2, 3)), label="scalar", tf=lambda tf, x, y: x + y),
    Row(arithmetic.add, (real(1, 3), real(0, 3)), label="empty", tf=lambda tf, x, y: x + y),
    Row(arithmetic.add, (real(3),), label="x + x", call=lambda x: arithmetic.add(x, x), tf=lambda tf, x: x + x),
    Row(arithmetic.subtract, (real(4), real(3, 4)), dtypes=NUMERIC, oracle=np.subtract, tf="subtract"),
    Row(arithmetic.subtract, (real(3, 1), real(1, 4)), label="both broadcast", tf=lambda tf, x, y: x - y),
    Row(arithmetic.negative, (real(3, 4),), dtypes=NUMERIC, oracle=np.negative, tf="negative"),
    # products
    Row(arithmetic.multiply, (real(3, 4), real(4)), dtypes=NUMERIC, oracle=np.multiply, tf=lambda tf, x, y: x * y),
    Row(arithmetic.multiply, (real(2, 1, 4), real(3, 1)), label="both broadcast", tf=lambda tf, x, y: x * y),
    Row(arithmetic.multiply, (real(), real()), label="scalars", tf=lambda tf, x, y: x * y),
    Row(arithmetic.multiply, EMPTY, label="empty", tf=lambda tf, x, y: x * y),
    Row(
        arithmetic.multiply,
        (real(3),),
        label="x * x",
        dtypes=COMPLEX,
        call=lambda x: arithmetic.multiply(x, x),
        tf=lambda tf, x: x * x,
    ),
    Row(arithmetic.square_op, (real(3, 4),), dtypes=("float32", "float64", "int32"), oracle=np.square, tf="square"),
    Row(
        arithmetic.multiply,
        (real(3, 4),),
        call=arithmetic.square,
        dtypes=("complex128",),
        oracle=np.square,
        tf="square",
        label="square",
    ),
    Row(
        arithmetic.squared_difference_op,
        (real(3, 4), real(4)),
        oracle=lambda x, y: (x - y) ** 2,
        tf="math.squared_difference",
    ),
    Row(
        arithmetic.multiply,
        (real(3), real(3)),
        call=arithmetic.squared_difference,
        dtypes=("complex128",),
        oracle=lambda x, y: np.abs(x - y) ** 2,
        tf="math.squared_difference",
        # TensorFlow's gradient is 2 ct (x - y), which leaves the conjugate out
        tf_value_only=("complex128",),
        label="squared_difference",
    ),
    # quotients
    Row(arithmetic.divide, (real(3, 4), positive(4)), dtypes=COMPLEX, oracle=_truediv, tf=lambda tf, x, y: x / y),
    Row(arithmetic.divide, (real(4), positive(3, 1)), label="both broadcast", tf=lambda tf, x, y: x / y),
    Row(arithmetic.divide, (real(3, 4), positive()), label="by a scalar", tf=lambda tf, x, y: x / y),
    Row(
        arithmetic.divide,
        (integers(3, low=-5, high=5), fixed([2, 3, -4], np.int32)),
        dtypes=("int32",),
        label="integers",
        call=arithmetic.truediv,
        oracle=_truediv,
        tf=lambda tf, x, y: x / y,
    ),
    Row(
        arithmetic.divide,
        (fixed([7, -7], np.int8), fixed([2, 3], np.int8)),
        dtypes=("int8",),
        label="small integers",
        call=arithmetic.truediv,
        oracle=lambda x, y: np.true_divide(x, y, dtype=np.float32),
        tf=lambda tf, x, y: x / y,
    ),
    Row(arithmetic.reciprocal, (positive(3, 4),), dtypes=COMPLEX, oracle=np.reciprocal, tf="math.reciprocal"),
    *rows(
        arithmetic.divide_no_nan,
        case(real(2, 3), fixed([2.0, 0.5, -1.5]), dtypes=COMPLEX, oracle=_truediv),
        case(
            real(2, 3),
            fixed([2.0, 0.0, -1.5]),
            wrt=(0,),
            label="by zero",
            oracle=lambda x, y: np.divide(x, y, out=np.zeros_like(x), where=y != 0),
        ),
        tf="math.divide_no_nan",
    ),
    Row(
        arithmetic.multiply_no_nan,
        (real(2, 3), fixed([2.0, 0.5, -1.5])),
        dtypes=COMPLEX,
        oracle=np.multiply,
        tf="math.multiply_no_nan",
        tf_value_only=("complex64", "complex128"),  # TensorFlow's gradient does not conjugate
    ),
    Row(
        arithmetic.multiply_no_nan,
        (fixed([np.inf, np.nan, 3.0]), fixed([0.0, 0.0, 2.0])),
        wrt=(),
        label="by zero",
        oracle=lambda x, y: np.array([0.0, 0.0, 6.0], x.dtype),
        tf="math.multiply_no_nan",
    ),
    Row(arithmetic.part_of, (real(2, 3), fixed([2.0, 0.5, -1.5])), dtypes=COMPLEX, oracle=_truediv),
    # remainders
    *rows(
        arithmetic.mod,
        case(fixed([[5.0, -5.0], [0.3, -7.1]]), fixed([2.1, 3.4]), oracle=np.mod, tf="math.floormod"),
        case(positive(3), fixed([[-0.3], [0.7]]), label="broadcast"),
        case(integers(5, low=-9, high=9), fixed(4, np.int32), dtypes=("int32",), label="integers", oracle=np.mod),
        tf=lambda tf, x, y: x % y,
    ),
    *rows(
        arithmetic.floordiv,
        case(real(3, 4), positive(4)),
        case(integers(5, low=-9, high=9), fixed(4, np.int32), dtypes=("int32",), label="integers"),
        oracle=np.floor_divide,
        tf=lambda tf, x, y: x // y,
    ),
    *rows(
        arithmetic.truncatemod,
        # TensorFlow has no gradient for it
        case(fixed([[5.0, -5.0], [0.3, -7.1]]), fixed([2.1, -3.4]), tf_value_only=("float32", "float64")),
        case(integers(5, low=-9, high=9), fixed([[4], [-4]], np.int32), dtypes=("int32",), label="integers"),
        oracle=np.fmod,
        tf="truncatemod",
    ),
    Row(arithmetic.truncatediv, (real(3, 4), positive(4)), oracle=lambda x, y: np.trunc(x / y)),
    Row(
        arithmetic.truncatediv,
        (integers(5, low=-9, high=9), fixed([[4], [-4]], np.int32)),
        dtypes=("int32",),
        label="integers",
        oracle=lambda x, y: np.trunc(x / y),
        tf="truncatediv",
    ),
    # extrema
    *rows(
        arithmetic.maximum,
        case(distinct(3, 4), real(4)),
        case(integers(4, low=-5, high=5), integers(3, 1, low=-5, high=5), dtypes=("int32",), label="integers"),
        oracle=np.maximum,
        tf="maximum",
    ),
    Row(arithmetic.maximum, EMPTY, label="empty", tf="maximum"),
    Row(arithmetic.minimum, (real(4), distinct(3, 4)), oracle=np.minimum, tf="minimum"),
    *rows(
        arithmetic.clip,
        case(distinct(3, 4), fixed(-0.9), fixed([0.5, 0.9, 1.2, 0.2])),
        case(integers(5, low=-9, high=9), fixed(-2, np.int32), fixed(3, np.int32), dtypes=("int32",), label="integers"),
        oracle=np.clip,
        tf="clip_by_value",
    ),
    # sign and rounding
    Row(arithmetic.sign, (real(3, 4),), oracle=np.sign, tf="sign"),
    Row(arithmetic.sign, (integers(5, low=-2, high=3),), dtypes=("int32",), label="integers", oracle=np.sign),
    Row(
        arithmetic.sign_sloped,
        (real(3, 4), real(3, 4), real(3, 4)),
        wrt=(0, 1),
        oracle=lambda ct, x, slope: ct * np.sign(x),
    ),
    Row(arithmetic.real_abs, (real(3, 4),), oracle=np.abs, tf="abs"),
    Row(arithmetic.real_abs, (integers(5, low=-9, high=9),), dtypes=("int32",), label="integers", oracle=np.abs),
    Row(arithmetic.floor, (real(3, 4),), oracle=np.floor, tf="floor"),
    Row(arithmetic.ceil, (real(3, 4),), oracle=np.ceil, tf="math.ceil"),
    Row(arithmetic.round, (fixed([0.5, 1.5, 2.5, -0.5, 2.4, -1.6]),), oracle=np.round, tf="round"),
    Row(arithmetic.round, (integers(4, high=9),), dtypes=("int32",), label="integers", tf="round"),
    Row(arithmetic.rint, (fixed([0.5, 1.5, -2.5, 2.4]),), oracle=np.rint, tf="math.rint"),
)
