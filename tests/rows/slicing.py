"""Rows of `engine.ops.slicing`."""

import numpy as np

from engine.ops import indexing, slicing
from tests.row import Row, fixed, real

MASK = fixed([[True, False, True], [False, False, True]])
ONE, TWO = fixed(1, np.int32), fixed(2, np.int32)


def _mask_back_oracle(ct, like, mask):
    out = np.zeros(like.shape, ct.dtype)
    out[:, mask] = ct
    return out


ROWS = (
    Row(slicing.boolean_mask_op, (real(2, 3, 4), MASK), oracle=lambda x, m: x[m], tf="boolean_mask"),
    Row(
        slicing.boolean_mask_op,
        (real(4, 2, 3), MASK),
        call=lambda x, m: slicing.boolean_mask(x, m, axis=-2),
        oracle=lambda x, m: x[:, m],
        tf=lambda tf, x, m: tf.boolean_mask(x, m, axis=1),
        static=True,
        label="axis",
    ),
    Row(
        slicing.boolean_mask_op,
        (real(2, 3), MASK),
        call=lambda x, m: slicing.getitem(x, m),
        oracle=lambda x, m: x[m],
        tf=lambda tf, x, m: x[m],
        label="getitem",
    ),
    Row(
        slicing.boolean_mask_back_op, (real(4, 3), real(4, 2, 3), MASK), {"axis": 1}, wrt=(0,), oracle=_mask_back_oracle
    ),
    Row(
        indexing.getitem_op,
        (real(4, 5, 3), ONE, TWO),
        call=lambda x, i, j: slicing.getitem(x, (i, slice(j, None, -1), ..., np.int64(0))),
        oracle=lambda x, i, j: x[1, 2::-1, ..., 0],
        tf=lambda tf, x, i, j: x[i, j::-1, ..., 0],
        label="getitem",
    ),
    Row(
        indexing.getitem_op,
        (real(4, 5), ONE, TWO),
        call=lambda x, i, j: slicing.slice(x, [i, 0], [2, j]),
        oracle=lambda x, i, j: x[1:3, :2],
        tf=lambda tf, x, i, j: tf.slice(x, [i, 0], [2, j]),
        label="slice",
    ),
    Row(
        indexing.getitem_op,
        (real(4, 5), fixed([1, 2], np.int32), fixed([2, -1], np.int32)),
        call=slicing.slice,
        oracle=lambda x, b, s: x[1:3, 2:],
        tf="slice",
        static=True,
        label="slice-vectors",
    ),
    Row(
        indexing.getitem_op,
        (real(4, 5, 3),),
        call=slicing.strided_slice,
        args=([1, 0, 3, 0], [0, 0, 0, 2], [-1, 1, 1, 2]),
        options={"end_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4},
        oracle=lambda x: x[1::-1, None, 3, 0:2:2],
        tf="strided_slice",
        label="strided_slice",
    ),
)
