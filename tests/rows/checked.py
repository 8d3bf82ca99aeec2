"""Rows of `engine.ops.checked`."""

from typing import Any

import numpy as np

from engine.ops.checked import checked_op, finite_op, shaped_op
from tests.row import Row, integers, real


def _positive(*witnesses: Any) -> None:
    """Every witness is a vector of numbers that are not negative."""
    assert all(np.ndim(w) == 1 and (w >= 0).all() for w in witnesses)


ROWS = (
    Row(
        shaped_op,
        (real(2, 3),),
        {"shape": (None, 3), "message": "x"},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, **_: x,
        tf=lambda tf, x, **_: tf.ensure_shape(x, [None, 3]),
    ),
    Row(
        finite_op,
        (real(2, 3),),
        {"message": "x"},
        oracle=lambda x, **_: x,
        tf=lambda tf, x, **_: tf.debugging.check_numerics(x, "x"),
    ),
    Row(checked_op, (real(2, 3),), {"check": _positive}, oracle=lambda x, **_: x, label="alone"),
    Row(
        checked_op,
        (real(2, 3), integers(4, high=3), integers(2, high=3)),
        {"check": _positive},
        dtypes=("float32", "float64", "complex128"),
        oracle=lambda x, *_, **__: x,
    ),
)
