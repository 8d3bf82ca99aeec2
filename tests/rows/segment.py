"""Rows of `engine.ops.segment`."""

from typing import Any

import numpy as np

from engine.ops import segment
from tests.row import Row, distinct, fixed, real

ALL = ("float32", "float64", "complex128")
ANY_ORDER = fixed([2, 0, -1, 2, 0], np.int32)
FAR = fixed([2, 0, -40_000, 2, 0], np.int32)
ASCENDING = fixed([0, 0, 2, 2, 2], np.int32)
FOUR = fixed(4, np.int32)


def _every_other(how: str, ids: Any) -> Row:
    return Row(
        getattr(segment, f"unsorted_segment_{how}_op"),
        (distinct(5, 2), ids, fixed(3, np.int32)),
        call=lambda x, i, n: getattr(segment, f"unsorted_segment_{how}")(x, i, n)[::2],
        tf=lambda tf, x, i, n: getattr(tf.math, f"unsorted_segment_{how}")(x, i, n)[::2],
    )


ROWS = (
    Row(segment.unsegment, (real(3, 2), ANY_ORDER), dtypes=ALL, oracle=lambda x, i: np.where(i[:, None] < 0, 0, x[i])),
    Row(
        segment.segment_sum_like,
        (real(5, 2), ANY_ORDER, real(3, 2)),
        dtypes=ALL,
        wrt=(0,),
        oracle=lambda x, i, ref: np.stack([x[i == k].sum(0) for k in range(3)]),
    ),
    Row(
        segment.unsorted_segment_sum_op,
        (real(5, 2), ANY_ORDER, FOUR),
        dtypes=ALL,
        oracle=lambda x, i, n: np.stack([x[i == k].sum(0) for k in range(4)]),
        tf="math.unsorted_segment_sum",
    ),
    Row(
        segment.unsorted_segment_sum_op,
        (real(2, 3, 2), fixed([[0, 1, 1], [2, 0, -1]])),
        call=segment.unsorted_segment_sum,
        args=(3,),
        tf="math.unsorted_segment_sum",
        label="matrix of ids",
    ),
    Row(
        segment.unsorted_segment_sum_op,
        (real(5),),
        call=lambda x: segment.unsorted_segment_mean(x, np.array([2, 0, -1, 2, 0]), 4),
        tf=lambda tf, x: tf.math.unsorted_segment_mean(x, [2, 0, -1, 2, 0], 4),
        label="mean",
    ),
    Row(
        segment.unsorted_segment_sum_op,
        (real(5, 2),),
        call=lambda x: segment.unsorted_segment_sqrt_n(x, np.array([2, 0, -1, 2, 0]), 4),
        tf=lambda tf, x: tf.math.unsorted_segment_sqrt_n(x, [2, 0, -1, 2, 0], 4),
        label="sqrt_n",
    ),
    _every_other("max", ANY_ORDER),
    _every_other("min", FAR),
    Row(
        segment.unsorted_segment_prod_op,
        (real(5, 2), ANY_ORDER, FOUR),
        oracle=lambda x, i, n: np.stack([x[i == k].prod(0) for k in range(4)]),
        tf="math.unsorted_segment_prod",
    ),
    Row(
        segment.unsorted_segment_prod_op,
        (fixed([0.0, 2.0, 3.0, 0.0, 0.0, 5.0], np.float64), fixed([0, 0, 0, 1, 1, 1], np.int32), fixed(2, np.int32)),
        dtypes=("float64",),
        tf="math.unsorted_segment_prod",
        label="zeros",
    ),
    Row(
        segment.segment_sum_op,
        (real(5, 2), ASCENDING),
        dtypes=ALL,
        oracle=lambda x, i: np.stack([x[i == k].sum(0) for k in range(3)]),
        tf="math.segment_sum",
    ),
    Row(
        segment.segment_sum_op, (real(5, 2), ASCENDING), call=segment.segment_mean, tf="math.segment_mean", label="mean"
    ),
    Row(segment.segment_max_op, (distinct(5, 2), ASCENDING), tf="math.segment_max"),
    Row(segment.segment_min_op, (distinct(5, 2), ASCENDING), tf="math.segment_min"),
    Row(segment.segment_prod_op, (real(5, 2), ASCENDING), tf="math.segment_prod"),
)
