"""Rows of `dualgrad.extras.ops.isotonic`."""

from __future__ import annotations

import numpy as np

from dualgrad.extras.ops import isotonic
from tests.row import Row, distinct, fixed

ROWS = (
    Row(
        isotonic.isotonic_segments_op,
        (fixed([[3.0, 1.0, 2.0, 2.0, 0.0], [1.0, 2.0, 3.0, 3.0, 3.0]]),),
        {"decreasing": True},
        oracle=lambda x: np.array([[0, 1, 1, 1, 2], [0, 0, 0, 0, 0]], np.int32),
        tf=lambda tf, x: tf.nn.isotonic_regression(x)[1],
        order=0,
    ),
    Row(
        isotonic.isotonic_segments_op,
        (distinct(3, 6),),
        call=lambda x: isotonic.isotonic_regression(x, decreasing=False)[0],
        tf=lambda tf, x: tf.nn.isotonic_regression(x, decreasing=False)[0],
        label="rising",
    ),
    Row(
        isotonic.isotonic_segments_op,
        (distinct(4, 2),),
        call=lambda x: isotonic.isotonic_regression(x, axis=0)[0],
        tf=lambda tf, x: tf.nn.isotonic_regression(x, axis=0)[0],
        label="along the first axis",
    ),
)
