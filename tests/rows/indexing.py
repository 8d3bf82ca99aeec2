"""Rows of `engine.ops.indexing`."""

import numpy as np

from engine.ops import indexing
from engine.ops.indexing import OPERAND
from tests.row import Row, fixed, integers, real

FULL = (None, None, None)
MIXED = (-1, (None, None, -2), None, ..., (1, 3, None))
ONE, TWO, ANY = fixed(1, np.int32), fixed(-2, np.int64), integers(low=-2, high=2)


def _back(key):
    def oracle(ct, like, *_):
        out = np.zeros(like.shape, ct.dtype)
        out[key] = ct
        return out

    return oracle


ROWS = (
    Row(
        indexing.getitem_op,
        (real(3, 4, 2, 5),),
        {"spec": MIXED},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x: x[-1, ::-2, None, ..., 1:3],
        tf=lambda tf, x: x[-1, ::-2, None, ..., 1:3],
    ),
    Row(indexing.getitem_op, (real(3),), {"spec": (1,)}, oracle=lambda x: x[1], tf=lambda tf, x: x[1], label="int"),
    Row(indexing.getitem_op, (real(),), {"spec": ()}, oracle=lambda x: x, label="scalar"),
    Row(indexing.getitem_op, (real(3, 0),), {"spec": ((1, 7, None),)}, oracle=lambda x: x[1:7], label="empty"),
    Row(
        indexing.getitem_op,
        (real(3, 4, 5), ONE, TWO),
        {"spec": (OPERAND, (None, OPERAND, None))},
        oracle=lambda x, i, j: x[1, :-2],
        tf=lambda tf, x, i, j: x[i, : tf.cast(j, tf.int32)],
        label="operands",
    ),
    Row(
        indexing.getitem_op,
        (real(3, 4, 5, 2), ANY, ANY),
        {"spec": (OPERAND, FULL, None, ..., OPERAND)},
        oracle=lambda x, i, j: x[i, :, None, ..., j],
        tf=lambda tf, x, i, j: x[i, :, None, ..., j],
        label="two-ints",
    ),
    Row(
        indexing.getitem_op,
        (real(3, 4), integers(high=2)),
        {"spec": ((OPERAND, 2), (0, -1))},
        oracle=lambda x, i: x[i : i + 2],
        tf=lambda tf, x, i: tf.slice(x, [i, 0], [2, -1]),
        label="sized",
    ),
    Row(
        indexing.getitem_back_op,
        (real(2, 1, 2, 2), real(3, 4, 2, 5)),
        {"spec": MIXED},
        wrt=(0,),
        dtypes=("float32", "float64", "complex128"),
        oracle=_back(np.s_[-1, ::-2, None, ..., 1:3]),
    ),
    Row(
        indexing.getitem_back_op,
        (real(2, 5), real(3, 4, 5), ANY, integers(high=3)),
        {"spec": (OPERAND, (OPERAND, 2))},
        wrt=(0,),
        oracle=lambda ct, like, i, j: _back(np.s_[i, j : j + 2])(ct, like),
        label="operands",
    ),
    Row(
        indexing.wrap_negative,
        (fixed([-1, 2, 0, -3], np.int32), real(3, 2)),
        {"axis": -2},
        oracle=lambda i, x: np.array([2, 2, 0, 0]),
        order=0,
    ),
)
