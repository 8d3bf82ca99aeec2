"""Rows of `engine.ops.creation`."""

import numpy as np

from engine.core.dtypes import int32
from engine.ops import creation
from tests.row import Row, real

DTYPES = ("float32", "float64", "complex128", "int32", "bool")

ROWS = (
    Row(creation.zeros_like, (real(3, 4),), dtypes=DTYPES, oracle=np.zeros_like, tf="zeros_like"),
    Row(creation.ones_like, (real(3, 4),), dtypes=DTYPES, oracle=np.ones_like, tf="ones_like"),
    Row(
        creation.ones_like,
        (real(2, 0),),
        {"dtype": int32},
        label="other dtype",
        oracle=lambda x: np.ones((2, 0), np.int32),
        tf=lambda tf, x: tf.ones_like(x, tf.int32),
    ),
    Row(
        creation.identity_like,
        (real(2, 3),),
        {"first": 1, "count": 4},
        oracle=lambda x: np.eye(4, 6, 1, dtype=x.dtype).reshape(4, 2, 3),
    ),
    Row(creation.identity_like, (real(0, 3),), {"first": 0, "count": 0}, label="empty", oracle=lambda x: x[None][:0]),
)
