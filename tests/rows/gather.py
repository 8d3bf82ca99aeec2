"""Rows of `engine.ops.gather`."""

import numpy as np

from engine.ops import gather as g
from tests.row import Row, fixed, integers, real

REPEATED = integers(2, 3, high=4)


def _back_oracle(ct, like, indices):
    out = np.zeros(like.shape, ct.dtype)
    np.add.at(out, indices, ct)
    return out


ROWS = (
    Row(
        g.gather_op,
        (real(4, 5), REPEATED),
        {"axis": -2, "batch_dims": 0},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, i: x[i],
        tf="gather",
        label="first",
    ),
    Row(
        g.gather_op,
        (real(3, 4, 2), REPEATED),
        {"axis": -2, "batch_dims": 0},
        oracle=lambda x, i: x[:, i],
        tf=lambda tf, x, i: tf.gather(x, i, axis=1),
        label="middle",
    ),
    Row(
        g.gather_op,
        (real(2, 4, 3), REPEATED),
        {"axis": -2, "batch_dims": 1},
        oracle=lambda x, i: np.stack([x[b][i[b]] for b in range(2)]),
        tf=lambda tf, x, i: tf.gather(x, i, batch_dims=1),
        label="batch_dims",
    ),
    Row(
        g.gather_op,
        (real(2, 5, 4, 3), REPEATED),
        {"axis": -2, "batch_dims": 1},
        oracle=lambda x, i: np.stack([x[b][:, i[b]] for b in range(2)]),
        tf=lambda tf, x, i: tf.gather(x, i, axis=2, batch_dims=1),
        label="batch_dims-inner",
    ),
    Row(
        g.gather_op,
        (real(4, 3), fixed(2, np.int64)),
        {"axis": 0, "batch_dims": 0},
        oracle=lambda x, i: x[2],
        tf="gather",
        label="scalar",
    ),
    Row(
        g.gather_op,
        (real(4, 3), fixed(np.zeros((0,)), np.int32)),
        {"axis": -1, "batch_dims": 0},
        oracle=lambda x, i: x[:, :0],
        label="none",
    ),
    Row(
        g.gather_op,
        (real(30, 9), integers(300, high=30)),
        {"axis": 0, "batch_dims": 0},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, i: x[i],
        tf="gather",
        order=1,
        label="many",
    ),
    Row(
        g.gather_op,
        (real(3, 4), integers(3, 2, high=4)),
        call=g.gather,
        options={"axis": -1, "batch_dims": -1},
        oracle=lambda x, i: np.take_along_axis(x, i, 1),
        tf="gather",
        label="gather",
    ),
    Row(
        g.gather_back_op,
        (real(2, 3, 5), real(4, 5), REPEATED),
        {"axis": -2, "batch_dims": 0},
        wrt=(0,),
        dtypes=("float32", "float64", "complex128"),
        oracle=_back_oracle,
    ),
)
