"""Rows of `engine.ops.extrema`."""

from typing import Any

import numpy as np

from engine.core.dtypes import int32, int64
from engine.ops import extrema
from tests.row import Row, distinct, real

ALL = ("float32", "float64", "complex128")
LAST = {"axis": (-1,), "keepdims": False}
KEPT = {"axis": (-2, -1), "keepdims": True}
FIRST = {"axis": (-3,), "keepdims": False}

NAN = np.array(
    [[np.nan, 2, 1], [3, np.nan, 1], [1, 2, np.nan], [np.nan, -np.inf, np.nan], [np.inf, np.nan, 0], [np.nan] * 3]
)


def _place(name: str, oracle: Any, axis: int = -1, dtype: Any = int64, of: Any = None) -> Row:
    return Row(
        getattr(extrema, f"{name}_op"),
        (real(3, 4) if of is None else lambda rng, dtype: of.astype(dtype),),
        {"axis": axis, "output_type": dtype},
        oracle=oracle,
        tf=lambda tf, x: getattr(tf, name)(x, axis, dtype.name),
        order=0,
        label="" if of is None else "NaN",
    )


ROWS = (
    Row(
        extrema.reduce_max_op,
        (distinct(3, 4),),
        LAST,
        oracle=lambda x: x.max(-1),
        tf=lambda tf, x: tf.reduce_max(x, -1),
    ),
    Row(
        extrema.reduce_max_op,
        (distinct(2, 3, 4),),
        KEPT,
        oracle=lambda x: x.max((1, 2), keepdims=True),
        tf=lambda tf, x: tf.reduce_max(x, (1, 2), True),
        label="axes",
    ),
    Row(
        extrema.reduce_max_op,
        (real(0, 3),),
        call=extrema.reduce_max,
        args=(0,),
        oracle=lambda x: np.full(3, -np.inf),
        tf="reduce_max",
        order=0,
        label="empty",
    ),
    Row(
        extrema.reduce_min_op,
        (distinct(2, 3, 4),),
        FIRST,
        oracle=lambda x: x.min(0),
        tf=lambda tf, x: tf.reduce_min(x, 0),
    ),
    _place("argmax", lambda x: x.argmax(-1)),
    _place("argmin", lambda x: x.argmin(0), -2, int32),
    _place("argmax", lambda x: np.array([1, 0, 1, 0, 0, 0]), of=NAN),
    _place("argmin", lambda x: np.array([2, 2, 0, 1, 2, 0]), of=NAN),
)
