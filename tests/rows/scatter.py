"""Rows of `engine.ops.scatter`."""

from typing import Any

import numpy as np

from engine.ops import arithmetic, scatter
from tests.row import Row, distinct, fixed, integers, offered, real

PAIRS = integers(5, 2, high=3)
DISTINCT = fixed([[3], [0]], np.int32)
TWICE = fixed([[1], [0], [1]], np.int64)


def _changed(ufunc: Any) -> Any:
    def oracle(x, i, u):
        out = x.copy()
        ufunc.at(out, i[:, 0], u)
        return out

    return oracle


def _updated(x, i, u):
    out = x.copy()
    out[i[:, 0]] = u
    return out


def _scattered(u, i, shape):
    out = np.zeros(shape, u.dtype)
    np.add.at(out, tuple(i.T), u)
    return out


ROWS = (
    Row(
        scatter.gather_nd_op,
        (real(3, 4, 2), PAIRS),
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, i: x[i[:, 0], i[:, 1]],
        tf="gather_nd",
    ),
    Row(
        scatter.gather_nd_op,
        (real(2, 3, 4), integers(2, 5, 1, high=3)),
        call=scatter.gather_nd,
        options={"batch_dims": 1},
        oracle=lambda x, i: np.stack([x[b][i[b, :, 0]] for b in range(2)]),
        tf="gather_nd",
        label="batch_dims",
    ),
    Row(scatter.gather_nd_op, (real(3, 4), fixed([2, 1], np.int32)), oracle=lambda x, i: x[2, 1], label="one"),
    Row(
        scatter.scatter_nd_op,
        (real(5, 2), PAIRS, fixed([3, 4, 2], np.int32)),
        dtypes=("float32", "float64", "complex128"),
        oracle=_scattered,
        tf=lambda tf, u, i, s: tf.scatter_nd(i, u, s),
    ),
    offered(scatter.scatter_nd_op, scatter.scatter_nd, (fixed(np.zeros((0, 1)), np.int32), real(0, 2)), [3, 2]),
    Row(
        scatter.tensor_scatter_update_op,
        (real(4, 2), DISTINCT, real(2, 2)),
        oracle=_updated,
        tf="tensor_scatter_nd_update",
    ),
    # TensorFlow gives the updates that are lost a gradient too
    Row(scatter.tensor_scatter_update_op, (real(4, 2), TWICE, real(3, 2)), oracle=_updated, label="twice"),
    Row(
        scatter.gather_last_op,
        (real(3, 2), TWICE),
        oracle=lambda x, i: np.stack([0 * x[0], x[0], x[1]]),
        dtypes=("float32", "float64", "complex128"),
    ),
    Row(
        scatter.gather_last_op,
        (real(2, 3, 4), fixed([[[1], [1]], [[0], [1]]], np.int32)),
        {"batch_dims": 1},
        oracle=lambda x, i: np.stack([[0 * x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]]),
        label="batch_dims",
    ),
    Row(
        scatter.tensor_scatter_max_op,
        (distinct(3, 2), TWICE, distinct(3, 2)),
        oracle=_changed(np.maximum),
        tf="tensor_scatter_nd_max",
        order=1,
    ),
    Row(
        scatter.tensor_scatter_min_op,
        (distinct(3), TWICE, distinct(3)),
        oracle=_changed(np.minimum),
        tf="tensor_scatter_nd_min",
        order=1,
    ),
    offered(arithmetic.add, scatter.tensor_scatter_nd_add, (real(3, 2), TWICE, real(3, 2)), oracle=_changed(np.add)),
    offered(
        arithmetic.add, scatter.tensor_scatter_nd_sub, (real(3, 2), TWICE, real(3, 2)), oracle=_changed(np.subtract)
    ),
)
