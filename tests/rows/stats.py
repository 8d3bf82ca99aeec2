"""Rows of `engine.ops.stats`."""

import numpy as np

from engine.ops import stats
from tests.row import Row, distinct, fixed, positive, real

LAST = {"axis": (-1,), "keepdims": False}
KEPT = {"axis": (-3, -1), "keepdims": True}

ROWS = (
    Row(
        stats.center,
        (real(3, 4),),
        {"axis": (-1,)},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x: x - x.mean(-1, keepdims=True),
    ),
    Row(
        stats.length_sloped,
        (real(2, 3), real(2, 3), positive(2, 3), real(2, 3)),
        wrt=(0, 1, 2),
        oracle=lambda ct, x, r, slope: ct * (x / r),
    ),
    Row(
        stats.reduce_variance_op,
        (real(3, 4),),
        LAST,
        oracle=lambda x: x.var(-1),
        tf=lambda tf, x: tf.math.reduce_variance(x, -1),
    ),
    Row(
        stats.reduce_std_op,
        (real(2, 3, 4),),
        KEPT,
        oracle=lambda x: x.std((0, 2), keepdims=True),
        tf=lambda tf, x: tf.math.reduce_std(x, (0, 2), True),
    ),
    Row(
        stats.reduce_euclidean_norm_op,
        (real(2, 3, 4),),
        KEPT,
        oracle=lambda x: np.sqrt((x * x).sum((0, 2), keepdims=True)),
        tf=lambda tf, x: tf.math.reduce_euclidean_norm(x, (0, 2), True),
    ),
    Row(
        stats.reduce_euclidean_norm_op,
        (real(3, 4),),
        call=stats.norm,
        options={"axis": 1, "keepdims": True},
        oracle=lambda x: np.linalg.norm(x, axis=1, keepdims=True),
        tf="norm",
        label="norm",
    ),
    Row(
        stats.reduce_euclidean_norm_op,
        (positive(3, 4),),
        call=stats.norm,
        args=(3,),
        options={"axis": 0},
        oracle=lambda x: np.linalg.norm(x, 3, axis=0),
        tf="norm",
        label="norm-3",
    ),
    Row(
        stats.reduce_euclidean_norm_op,
        (distinct(2, 3),),
        call=stats.norm,
        args=(np.inf,),
        options={"axis": (0, 1)},
        oracle=lambda x: np.linalg.norm(x, np.inf),
        tf="norm",
        label="norm-inf-of-matrix",
    ),
    Row(
        stats.reduce_euclidean_norm_op,
        (fixed([3 + 4j, 1 - 2j], np.complex128),),
        dtypes=("complex128",),
        call=stats.norm,
        oracle=lambda x: np.complex128(np.linalg.norm(x)),
        tf="norm",
        order=0,
        label="norm-complex",
    ),
)
