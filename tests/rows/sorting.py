"""Rows of `engine.ops.sorting`."""

import numpy as np

from engine.core.dtypes import int32, int64
from engine.ops import gather, sorting
from tests.row import Row, distinct, fixed, integers, offered

TIES = fixed([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, -1.0, 0.0]])

ROWS = (
    Row(
        sorting.argsort_op,
        (TIES,),
        {"axis": -1, "descending": True},
        oracle=lambda x: np.array([[0, 2, 3, 1], [0, 1, 3, 2]]),
        tf=lambda tf, x: tf.argsort(x, direction="DESCENDING", stable=True),
        order=0,
    ),
    offered(sorting.argsort_op, sorting.argsort, (distinct(3, 4),), 0, oracle=lambda x: np.argsort(x, 0), order=0),
    Row(
        sorting.invert_permutation_op,
        (fixed(np.array([2, 0, 3, 1])),),
        oracle=np.argsort,
        tf="math.invert_permutation",
        order=0,
    ),
    Row(
        sorting.top_k_indices,
        (TIES,),
        {"k": 2},
        oracle=lambda x: np.array([[0, 2], [0, 1]]),
        tf=lambda tf, x: tf.math.top_k(x, 2)[1],
        order=0,
    ),
    Row(gather.gather_op, (distinct(3, 4),), call=lambda x: sorting.sort(x), oracle=np.sort, tf="sort", label="up"),
    offered(gather.gather_op, sorting.sort, (distinct(3, 4, 2),), 1, "DESCENDING", oracle=lambda x: -np.sort(-x, 1)),
    Row(
        gather.gather_op,
        (distinct(2, 4),),
        call=lambda x: sorting.top_k(x, 3),
        tf=lambda tf, x: tuple(tf.math.top_k(x, 3)),
        label="top_k",
    ),
    Row(
        sorting.top_k_indices,
        (TIES,),
        call=lambda x: sorting.top_k(x, 2, index_type="int64")[1],
        oracle=lambda x: np.array([[0, 2], [0, 1]]),
        tf=lambda tf, x: tf.math.top_k(x, 2, index_type=tf.int64)[1],
        order=0,
        label="index_type",
    ),
    Row(
        sorting.searchsorted_op,
        (fixed([[1.0, 3.0, 3.0], [0.0, 1.0, 2.0]]), fixed([[3.0, 4.0], [-1.0, 1.0]])),
        {"side": "right", "out_type": int64},
        oracle=lambda s, v: np.array([[3, 3], [0, 2]]),
        tf=lambda tf, s, v: tf.searchsorted(s, v, "right", tf.int64),
        order=0,
    ),
    Row(
        sorting.searchsorted_op,
        (fixed([1.0, 3.0, 3.0]), fixed([[3.0, 4.0], [-1.0, 1.0]])),
        call=sorting.searchsorted,
        oracle=np.searchsorted,
        order=0,
        label="vector",
    ),
    Row(
        sorting.unique_op,
        (fixed([4, 1, 4, 2, 1], np.int32),),
        {"out_idx": int32},
        dtypes=("int32",),
        oracle=lambda x: (np.array([4, 1, 2]), np.array([0, 1, 0, 2, 1]), np.array([2, 2, 1])),
        tf=lambda tf, x: tuple(tf.unique_with_counts(x)),
        order=0,
    ),
    Row(
        sorting.unique_op,
        (integers(9, high=4),),
        call=lambda x: sorting.unique(x, "int64"),
        dtypes=("int32",),
        tf=lambda tf, x: tuple(tf.unique(x, tf.int64)),
        order=0,
        label="unique",
    ),
)
