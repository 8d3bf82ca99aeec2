"""Rows of `engine.ops.compare`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core import dtypes
from engine.core.op import Op
from engine.ops import compare
from tests.row import Row, booleans, case, fixed, integers, real, rows

SPECIAL = fixed([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan])


def _comparison(op: Op, oracle: Callable[..., Any]) -> tuple[Row, ...]:
    """Integers, so that some are equal; floats broadcast; NaN and infinities."""
    tf_ = lambda tf, x, y: getattr(tf.math, op.name)(x, y)  # noqa: E731
    return (
        Row(op, (integers(4, 5, high=3), integers(5, high=3)), dtypes=("int32",), oracle=oracle, tf=tf_),
        Row(op, (real(3, 1), real(4)), oracle=oracle, tf=tf_, label="floats"),
        Row(op, (SPECIAL, fixed([[0.0], [np.inf], [np.nan]])), oracle=oracle, tf=tf_, label="special values"),
    )


def _logical(op: Op, oracle: Callable[..., Any]) -> Row:
    return Row(
        op,
        (booleans(4, 5), booleans(5)),
        dtypes=("bool",),
        oracle=oracle,
        tf=lambda tf, x, y: getattr(tf.math, op.name)(x, y),
    )


def _bitwise(op: Op, oracle: Callable[..., Any]) -> Row:
    return Row(
        op,
        (integers(4, 5, high=99), integers(4, 1, high=99)),
        dtypes=("int32",),
        oracle=oracle,
        tf=lambda tf, x, y: getattr(tf.bitwise, op.name)(x, tf.broadcast_to(y, x.shape)),
    )


def _shift(op: Any, oracle: Any) -> Row:
    return Row(
        op,
        (fixed([-7, 3, 12, -1], np.int32), fixed([1, 0, 40, -2], np.int32)),
        dtypes=("int32",),
        oracle=lambda x, y: oracle(x, np.clip(y, 0, 31)),
        tf=lambda tf, x, y: getattr(tf.bitwise, op.title)(x, y),
    )


def _classify(op: Op, oracle: Callable[..., Any]) -> Row:
    return Row(op, (SPECIAL,), oracle=oracle, tf=lambda tf, x: getattr(tf.math, op.name)(x))


def _cast(op: Op, make: Any, have: str, to: dtypes.DType) -> Row:
    """NumPy's conversion is the reference; complex to real means the real part."""

    def oracle(x: Any) -> Any:
        return (x.real if x.dtype.kind == "c" and to.numpy.kind != "c" else x).astype(to.numpy)

    return Row(
        op,
        (make,),
        {"dtype": to},
        dtypes=(have,),
        label=f"{have} to {to.name}",
        oracle=oracle,
        tf=lambda tf, x: tf.cast(x, to.name),
        # a result in single precision has that much fewer digits
        tol=1e4 if to is dtypes.float32 else 1.0,
    )


ROWS = (
    *_comparison(compare.equal, np.equal),
    *_comparison(compare.not_equal, np.not_equal),
    *_comparison(compare.less, np.less),
    *_comparison(compare.less_equal, np.less_equal),
    *_comparison(compare.greater, np.greater),
    *_comparison(compare.greater_equal, np.greater_equal),
    Row(compare.equal, (booleans(4), booleans(4)), dtypes=("bool",), label="booleans", oracle=np.equal),
    Row(compare.not_equal, (real(3), real(3)), dtypes=("complex128",), label="complex", oracle=np.not_equal),
    _logical(compare.logical_and, np.logical_and),
    _logical(compare.logical_or, np.logical_or),
    _logical(compare.logical_xor, np.logical_xor),
    Row(compare.logical_not, (booleans(5),), dtypes=("bool",), oracle=np.logical_not, tf=lambda tf, x: ~x),
    _bitwise(compare.bitwise_and, np.bitwise_and),
    _bitwise(compare.bitwise_or, np.bitwise_or),
    _bitwise(compare.bitwise_xor, np.bitwise_xor),
    *rows(
        compare.bitcast_op,
        case(fixed(np.array([1.5, -2.0, 0.0]), np.float32), args=("int32",), oracle=lambda x: x.view(np.int32)),
        case(
            fixed([[1.5, -2.0]], np.float32),
            args=("uint8",),
            oracle=lambda x: x.view(np.uint8).reshape(1, 2, 4),
            label="smaller",
        ),
        case(
            fixed([[1, 2], [3, 4]], np.int32), args=("int64",), oracle=lambda x: x.view(np.int64)[:, 0], label="larger"
        ),
        call=compare.bitcast,
        dtypes=("float32",),
        tf="bitcast",
        order=0,
    ),
    _shift(compare.left_shift, np.left_shift),
    _shift(compare.right_shift, np.right_shift),
    Row(compare.bitwise_not, (integers(5, high=9),), dtypes=("int32",), oracle=np.invert, tf=lambda tf, x: ~x),
    _classify(compare.is_nan, np.isnan),
    _classify(compare.is_inf, np.isinf),
    _classify(compare.is_finite, np.isfinite),
    # choice
    *rows(
        compare.select,
        case(booleans(3, 4), real(3, 4), real(4), dtypes=("float32", "float64", "complex128", "int32")),
        case(booleans(4), real(3, 1), real(), label="all broadcast"),
        case(booleans(2, 3, 1), real(3, 4), real(4), label="condition has most dimensions", call=compare.where),
        oracle=np.where,
        tf="where",
    ),
    Row(compare.true_indices, (booleans(3, 4),), order=0, oracle=np.argwhere, tf="where"),
    Row(compare.select, (booleans(0, 3), real(3), real(1, 3)), label="empty", oracle=np.where),
    *rows(
        compare.keep_chosen,
        case(real(2, 3), fixed(np.ones((2, 3))), params={"fixed": True}, oracle=lambda x, chosen: x),
        case(real(2, 3), fixed(np.eye(2, 3)), params={"fixed": False}, label="not chosen", oracle=lambda x, chosen: x),
        case(
            SPECIAL,
            fixed([0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
            params={"fixed": True},
            label="special values",
            order=0,
            oracle=lambda x, chosen: np.where(np.isnan(x), 0, x),
        ),
    ),
    # conversion
    _cast(compare.cast_op, real(3, 4), "float32", dtypes.float64),
    _cast(compare.cast_op, real(3, 4), "float64", dtypes.complex128),
    _cast(compare.cast_op, real(3, 4), "complex128", dtypes.float64),
    _cast(compare.cast_op, real(3, 4), "float64", dtypes.float32),
    _cast(compare.truncate, real(3, 4), "float64", dtypes.int32),
    _cast(compare.truncate, real(3, 4), "float64", dtypes.bool_),
    _cast(compare.truncate, integers(3, 4, high=9), "int32", dtypes.float32),
    _cast(compare.truncate, booleans(3, 4), "bool", dtypes.float32),
    _cast(compare.truncate, integers(3, low=-9, high=9), "int32", dtypes.uint8),
)
