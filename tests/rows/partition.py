"""Rows of `engine.ops.partition`."""

import numpy as np

from engine.ops import compare, partition, scatter, slicing
from tests.row import Row, fixed, integers, offered, real

PARTS = fixed([1, 0, 1, 2], np.int32)


def _reversed(x, n):
    return np.stack([np.concatenate([row[:k][::-1], row[k:]]) for row, k in zip(x, n, strict=True)])


ROWS = (
    Row(
        partition.nonzero_indices,
        (fixed([[True, False], [True, True]]),),
        dtypes=("bool",),
        oracle=np.argwhere,
        tf="where",
        order=0,
    ),
    Row(
        partition.partition_masks,
        (PARTS,),
        {"num": 3},
        dtypes=("int32",),
        oracle=lambda p: [p == 0, p == 1, p == 2],
        order=0,
    ),
    offered(
        slicing.boolean_mask_op,
        partition.dynamic_partition,
        (real(4, 2), PARTS),
        4,
        oracle=lambda x, p: [x[p == i] for i in range(4)],
    ),
    Row(partition.stitched_size, (fixed([4, 1], np.int32),), dtypes=("int32",), oracle=lambda i: np.array(5), order=0),
    Row(
        scatter.tensor_scatter_update_op,
        (fixed([[3, 0], [4, 1]], np.int32), fixed(2, np.int32), real(2, 2, 3), real(3)),
        call=lambda i, j, x, y: partition.dynamic_stitch([i, j], [x, y]),
        oracle=lambda i, j, x, y: np.stack([x[0, 1], x[1, 1], y, x[0, 0], x[1, 0]]),
        tf=lambda tf, i, j, x, y: tf.dynamic_stitch([i, j], [x, y]),
        label="dynamic_stitch",
    ),
    Row(
        partition.reverse_sequence_op,
        (real(3, 4, 2), integers(3, high=5)),
        {"axis": -2, "batch_axes": (-3,)},
        dtypes=("float32", "float64", "complex128"),
        oracle=_reversed,
        tf=lambda tf, x, n: tf.reverse_sequence(x, n, 1, 0),
    ),
    offered(partition.reverse_sequence_op, partition.reverse_sequence, (real(4, 3), integers(3, high=5)), 0, 1),
    Row(
        compare.less,
        (fixed([[1, 0], [3, 2]], np.int32),),
        call=lambda n: partition.sequence_mask(n),
        dtypes=("int32",),
        oracle=lambda n: n[..., None] > np.arange(3),
        tf="sequence_mask",
        order=0,
        label="sequence_mask",
    ),
    Row(
        compare.truncate,
        (fixed([1, 5], np.int64),),
        call=lambda n: partition.sequence_mask(n, 3, "float32"),
        dtypes=("int64",),
        oracle=lambda n: (n[:, None] > np.arange(3)).astype(np.float32),
        tf=lambda tf, n: tf.sequence_mask(n, 3, tf.float32),
        order=0,
        label="sequence_mask",
    ),
)
