"""Rows of `engine.ops.shape`."""

import numpy as np

from engine.core import expand_axes
from engine.core.dtypes import int32, int64
from engine.ops import shape
from tests.row import Row, case, fixed, real, rows

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(
        shape.shape_op,
        (real(3, 4),),
        {"out_type": int64},
        oracle=lambda x: np.array([3, 4]),
        tf=lambda tf, x: tf.shape(x, tf.int64),
    ),
    Row(shape.size_op, (real(3, 4),), {"out_type": int32}, oracle=np.size, tf="size"),
    Row(shape.rank_op, (real(3, 4),), oracle=np.ndim, tf="rank"),
    *rows(
        shape.reshape_op,
        case(real(3, 4), fixed([2, -1, 2], np.int32), dtypes=ALL, oracle=lambda x, s: x.reshape(2, 3, 2), tf="reshape"),
        case(
            real(3, 4),
            call=lambda x: shape.reshape(x, [shape.shape(x)[1], -1]),
            oracle=lambda x: x.reshape(4, 3),
            tf=lambda tf, x: tf.reshape(x, [tf.shape(x)[1], -1]),
            label="computed",
        ),
        case(real(1, 1), fixed(np.zeros(0), np.int32), oracle=lambda x, s: x[0, 0], tf="reshape", label="scalar"),
        case(real(0, 4), fixed([0, 2], np.int64), oracle=lambda x, s: x.reshape(0, 2), label="empty"),
        case(real(0, 2, 3), fixed([0, -1]), oracle=lambda x, s: x.reshape(0, 6), tf="reshape", label="empty batch"),
    ),
    *rows(
        expand_axes.squeeze_op,
        case(real(1, 3, 1), call=lambda x: shape.squeeze(x), oracle=np.squeeze, tf="squeeze", static=True, label="all"),
        case(real(1, 3, 1), call=shape.squeeze, args=([0, -1],), oracle=np.squeeze, tf="squeeze", label="squeeze"),
    ),
    Row(
        expand_axes.expand_dims_op,
        (real(2, 3),),
        call=shape.expand_dims,
        args=(1,),
        oracle=lambda x: x[:, None],
        tf="expand_dims",
        label="expand_dims",
    ),
    Row(
        shape.transpose_op,
        (real(2, 3, 4),),
        {"perm": (1, 2, 0)},
        dtypes=ALL,
        oracle=lambda x: x.transpose(1, 2, 0),
        tf=lambda tf, x: tf.transpose(x, [1, 2, 0]),
    ),
    Row(shape.transpose_op, (real(),), {"perm": ()}, oracle=lambda x: x, label="scalar"),
    *rows(
        shape.matrix_transpose_op,
        case(real(4, 2, 3), dtypes=ALL, oracle=lambda a: np.swapaxes(a, 1, 2)),
        case(
            real(2, 3, 4),
            call=shape.matrix_transpose,
            options={"conjugate": True},
            dtypes=("float64", "complex128"),
            oracle=lambda x: x.transpose(0, 2, 1).conj(),
            label="conjugate",
        ),
        tf="linalg.matrix_transpose",
    ),
    *rows(
        shape.broadcast_to_op,
        case(real(2, 1), fixed([4, 2, 3], np.int32), dtypes=ALL, oracle=lambda x, s: np.broadcast_to(x, (4, 2, 3))),
        case(real(), fixed([2, 0], np.int64), oracle=lambda x, s: np.zeros((2, 0)), label="empty"),
        tf="broadcast_to",
    ),
    Row(
        shape.broadcast_dynamic_shape,
        (fixed([3, 1], np.int32), fixed([2, 1, 4], np.int32)),
        dtypes=("int32",),
        oracle=lambda x, y: np.array([2, 3, 4]),
        tf="broadcast_dynamic_shape",
        order=0,
    ),
    Row(shape.identity, (real(2, 3),), dtypes=ALL, oracle=lambda x: x, tf="identity"),
    Row(shape.stop_gradient, (real(2, 3),), oracle=lambda x: x, tf="stop_gradient"),
)
