"""Rows of `engine.ops.layers`."""

import numpy as np

from engine.ops import arithmetic, complexes, explog, layers, reduce, stats
from tests.row import Row, fixed, positive, real

HALF = ("float16", "float32", "float64")

ROWS = (
    Row(
        reduce.reduce_sum_op,
        (real(3, 4),),
        call=layers.l2_loss,
        oracle=lambda x: (x * x).sum() / 2,
        tf="nn.l2_loss",
        label="l2_loss",
    ),
    Row(explog.rsqrt, (real(3, 4),), call=layers.l2_normalize, args=(1,), tf="nn.l2_normalize", label="l2_normalize"),
    Row(
        complexes.real_op,
        (real(3, 4),),
        call=layers.l2_normalize,
        args=(1,),
        dtypes=("complex64", "complex128"),
        oracle=lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
        tf="nn.l2_normalize",
        label="l2_normalize of complex",
    ),
    Row(
        stats.reduce_variance_op,
        (real(3, 4),),
        dtypes=HALF,
        call=layers.moments,
        args=([0],),
        tf="nn.moments",
        label="moments",
    ),
    Row(
        explog.rsqrt,
        (real(3, 4), real(4), positive(4), real(4), real(4)),
        call=layers.batch_normalization,
        wrt=(0, 1, 2, 3, 4),
        tf=lambda tf, *x: tf.nn.batch_normalization(*x, 0.001),
        label="batch_normalization",
    ),
    Row(
        arithmetic.add,
        (real(3, 4), real(4)),
        call=layers.bias_add,
        wrt=(0, 1),
        oracle=np.add,
        tf="nn.bias_add",
        label="bias_add",
    ),
    Row(
        arithmetic.add,
        (real(2, 3, 4), real(3)),
        call=lambda x, b: layers.bias_add(x, b, data_format="NCW"),
        wrt=(0, 1),
        oracle=lambda x, b: x + b[:, None],
        label="bias_add-channels-first",
    ),
    Row(
        reduce.reduce_mean_op,
        (fixed([0.0, 1.0, 2.0, 0.0], np.float64),),
        call=layers.zero_fraction,
        oracle=lambda x: np.float32(0.5),
        tf="nn.zero_fraction",
        order=0,
        label="zero_fraction",
    ),
    Row(
        layers.in_top_k_op,
        (fixed([0, 2, 1, -1]), fixed([[1.0, 1, 0], [3, 2, 1], [2, 2, 3], [1, 2, 3]], np.float32)),
        {"k": 1},
        oracle=lambda t, p: np.array([True, False, False, False]),
        tf=lambda tf, t, p: tf.math.in_top_k(t, p, 1),
        order=0,
    ),
)
