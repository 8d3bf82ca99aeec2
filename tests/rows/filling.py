"""Rows of `engine.ops.filling`."""

import numpy as np

from engine.ops import compare, filling, shape
from tests.row import Row, case, fixed, real, rows

INDICES = fixed([[0, -1, 2], [1, 3, 2]], np.int32)


def _one_hot(indices, depth=3):
    return (indices[..., None] == np.arange(depth)).astype(np.float32)


ROWS = (
    *rows(
        filling.range_op,
        case(
            fixed(7, np.int32),
            fixed(-2, np.int32),
            fixed(-3, np.int32),
            dtypes=("int32",),
            oracle=lambda a, b, c: np.arange(7, -2, -3),
            tf="range",
        ),
        case(fixed(0.5), fixed(2.0), fixed(0.25), tf="range", label="float"),
        case(
            fixed(0.5, np.float16),
            fixed(2.0, np.float16),
            fixed(0.25, np.float16),
            call=filling.range,
            dtypes=("float16",),
            label="half",
        ),
        oracle=lambda a, b, c: np.arange(0.5, 2, 0.25),
        order=0,
    ),
    Row(
        shape.fill_op,
        (fixed([2, 3], np.int32), real()),
        call=filling.fill,
        oracle=lambda d, v: np.full((2, 3), v),
        tf="fill",
        label="fill",
    ),
    Row(
        shape.fill_op,
        (real(2, 3),),
        call=lambda x: x * filling.ones([2, 1], x.dtype) + filling.zeros(shape.shape(x), x.dtype),
        oracle=lambda x: x,
        tf=lambda tf, x: x * tf.ones([2, 1], x.dtype) + tf.zeros(tf.shape(x), x.dtype),
        label="zeros",
    ),
    Row(
        compare.select,
        (real(2, 1), real(3)),
        call=filling.linspace,
        args=(4,),
        oracle=lambda a, b: np.linspace(*np.broadcast_arrays(a, b), 4),
        tf="linspace",
        static=True,
        tol=2,
        label="linspace",
    ),
    Row(
        compare.select,
        (real(2), real(2)),
        call=filling.linspace,
        args=(3,),
        options={"axis": -1},
        oracle=lambda a, b: np.linspace(a, b, 3, axis=-1),
        tf="linspace",
        static=True,
        label="linspace-axis",
    ),
    *rows(
        compare.truncate,
        case(
            fixed(2, np.int32),
            fixed(3, np.int32),
            call=filling.eye,
            options={"batch_shape": [2]},
            oracle=lambda n, m: np.stack([np.eye(2, 3, dtype=np.float32)] * 2),
            tf="eye",
            label="eye",
        ),
        case(INDICES, call=filling.one_hot, args=(3,), oracle=_one_hot, tf="one_hot", label="one_hot"),
        case(
            INDICES,
            fixed(3, np.int32),
            call=lambda i, depth: filling.one_hot(i, depth, axis=1, dtype="int64"),
            oracle=lambda i, depth: np.swapaxes(_one_hot(i), 1, 2).astype(np.int64),
            tf=lambda tf, i, depth: tf.one_hot(i, depth, axis=1, dtype=tf.int64),
            label="one_hot-axis",
        ),
        dtypes=("int32",),
        order=0,
    ),
    Row(
        compare.select,
        (INDICES, real(), real()),
        call=lambda i, on, off: filling.one_hot(i, 3, on, off),
        oracle=lambda i, on, off: np.where(_one_hot(i) > 0, on, off),
        label="one_hot",
    ),
)
