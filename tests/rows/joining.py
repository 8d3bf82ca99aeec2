"""Rows of `engine.ops.joining`."""

import numpy as np

from engine.ops import joining
from tests.row import Row, case, fixed, integers, real, rows

ALL = ("float32", "float64", "complex128")

ROWS = (
    Row(
        joining.concat_op,
        (real(2, 3), real(2, 1), real(2, 0), real(2, 2)),
        {"axis": -1},
        dtypes=ALL,
        oracle=lambda *v: np.concatenate(v, 1),
        tf=lambda tf, *v: tf.concat(v, 1),
    ),
    Row(
        joining.concat_op,
        (real(2, 3), real(4, 3)),
        call=lambda x, y: joining.concat([x, y], 0),
        oracle=lambda *v: np.concatenate(v, 0),
        tf=lambda tf, *v: tf.concat(v, 0),
        label="concat",
    ),
    Row(joining.concat_op, (real(3),), {"axis": 0}, oracle=lambda x: x, label="one"),
    Row(
        joining.concat_piece,
        (real(3, 5), real(3, 2), real(3, 3)),
        {"axis": -1, "position": 1},
        wrt=(0,),
        dtypes=ALL,
        oracle=lambda ct, *v: ct[:, 2:],
    ),
    Row(
        joining.concat_place,
        (real(3, 2), real(3, 1), real(3, 2), real(3, 3)),
        {"axis": -1, "position": 1},
        wrt=(0,),
        oracle=lambda t, *v: np.pad(t, ((0, 0), (1, 3))),
    ),
    Row(
        joining.split_op,
        (real(4, 6),),
        {"split": 3, "axis": -1},
        dtypes=ALL,
        oracle=lambda x: np.split(x, 3, 1),
        tf=lambda tf, x: tf.split(x, 3, 1),
    ),
    Row(
        joining.split_op,
        (real(4, 2),),
        call=joining.split,
        args=([1, -1, 0],),
        oracle=lambda x: [x[:1], x[1:], x[:0]],
        tf="split",
        label="sizes",
    ),
    Row(
        joining.split_op,
        (real(2, 4), fixed([1, 3], np.int32)),
        call=lambda x, sizes: joining.split(x, sizes, -1, num=2),
        oracle=lambda x, sizes: [x[:, :1], x[:, 1:]],
        tf=lambda tf, x, sizes: tf.split(x, sizes, -1),
        label="split",
    ),
    *rows(
        joining.stack_op,
        case(
            real(2, 3),
            real(2, 3),
            real(2, 3),
            params={"axis": -2},
            dtypes=ALL,
            oracle=lambda *v: np.stack(v, 1),
            tf=lambda tf, *v: tf.stack(v, 1),
        ),
        case(real(), real(), call=lambda x, y: joining.stack([x, y]), tf=lambda tf, *v: tf.stack(v), label="scalars"),
        case(integers(high=9), integers(high=9), params={"axis": 0}, dtypes=("int32",), order=0, label="ints"),
        oracle=lambda *v: np.stack(v),
    ),
    *rows(
        joining.unstack_op,
        case(
            real(2, 3),
            params={"num": 3, "axis": -1},
            dtypes=ALL,
            oracle=lambda x: list(x.T),
            tf=lambda tf, x: tf.unstack(x, axis=1),
        ),
        case(real(3), call=lambda x: joining.unstack(x, num=3), oracle=list, tf="unstack", label="scalars"),
    ),
)
