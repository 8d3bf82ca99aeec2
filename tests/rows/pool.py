"""Rows of `engine.ops.pool`."""

from typing import Any

import numpy as np

from engine.ops import pool
from engine.ops.windows import Windows
from tests.row import Row, distinct, fixed, integers, offered, real

ALL = ("float32", "float64")
TIES = fixed(np.array([1.0, 1.0, 0.0, 1.0, 2.0, 2.0, 2.0, 0.0]).reshape(1, 2, 4, 1))
LOWEST = fixed(np.full((1, 2, 3, 1), -np.inf))
SAME = {"size": (2, 3), "windows": Windows((1, 2), "SAME", (1, 1))}
DILATED: dict[str, Any] = {"options": {"dilations": [2, 1]}, "tf": "nn.pool", "tf_value_only": ("float64",)}
INTEGERS: dict[str, Any] = {"tf": "nn.max_pool2d", "label": "integers", "order": 0, "dtypes": ("float32",)}
PADDED = [[0, 0], [1, 0], [1, 2], [0, 0]]


def _both(
    x: tuple[int, ...], label: str, ksize: Any, strides: Any, padding: Any, dims: int = 2, dtypes: Any = ALL
) -> tuple[Row, Row]:
    def one(name: str, op: Any, values: Any) -> Row:
        call = getattr(pool, name)
        return Row(
            op,
            (values(*x),),
            label=label,
            dtypes=dtypes,
            call=lambda x: call(x, ksize, strides, padding),
            tf=lambda tf, x: getattr(tf.nn, name)(x, ksize, strides, padding),
        )

    return one(f"max_pool{dims}d", pool.max_pool_op, distinct), one(f"avg_pool{dims}d", pool.avg_pool_op, real)


ROWS = (
    Row(
        pool.max_pool_op,
        (distinct(2, 3, 5, 2),),
        SAME,
        tf=lambda tf, x: tf.nn.max_pool2d(x, [2, 3], [1, 2], "SAME"),
        order=3,
    ),
    *_both((2, 4, 6, 2), "halves", 2, 2, "VALID"),
    *_both((1, 5, 5, 2), "left over", 2, 2, "VALID"),
    *_both((1, 5, 5, 2), "overlapping", [1, 3, 2, 1], [1, 1, 1, 1], "SAME"),
    *_both((1, 5, 5, 2), "gaps", 1, 2, "SAME"),
    *_both((0, 4, 4, 2), "no images", 2, 2, "VALID"),
    *_both((1, 1, 1, 1), "size 1", 2, 1, "SAME"),
    *_both((2, 7, 2), "1d", 3, 2, "SAME", dims=1),
    *_both((1, 3, 4, 2, 2), "3d", 2, [1, 1, 2, 2, 1], "SAME", dims=3, dtypes=("float32",)),
    Row(
        pool.max_pool_op, (distinct(1, 3, 4, 2, 2),), label="3d-double", call=lambda x: pool.max_pool3d(x, 2, 2, "SAME")
    ),
    Row(pool.avg_pool_op, (real(1, 3, 4, 2, 2),), label="3d-double", call=lambda x: pool.avg_pool3d(x, 2, 2, "SAME")),
    offered(pool.max_pool_op, pool.max_pool2d, (integers(2, 4, 4, 2, low=-9, high=9),), 2, 2, "SAME", **INTEGERS),
    offered(
        pool.max_pool_op,
        pool.max_pool2d,
        (distinct(1, 3, 4, 2),),
        3,
        2,
        PADDED,
        label="explicit padding",
        tf="nn.max_pool2d",
    ),
    Row(
        pool.max_pool_op,
        (distinct(2, 2, 4, 6),),
        label="channels first",
        call=lambda x: pool.max_pool(x, [1, 1, 2, 2], [1, 1, 2, 3], "VALID", "NCHW"),
        tf=lambda tf, x: tf.transpose(tf.nn.max_pool(tf.transpose(x, [0, 2, 3, 1]), 2, [2, 3], "VALID"), [0, 3, 1, 2]),
    ),
    offered(pool.max_pool_op, pool.pool, (distinct(1, 6, 5, 2),), [2, 2], "MAX", **DILATED),
    Row(
        pool.largest_tap_op,
        (TIES, fixed(np.array([2.0, 2.0]).reshape(1, 1, 2, 1))),
        {"size": (2, 2), "windows": Windows((2, 2), "VALID", (1, 1))},
        oracle=lambda x, y: np.array([2, 2]).reshape(1, 1, 2, 1),
        label="ties",
    ),
    Row(
        pool.largest_tap_op,
        (LOWEST, LOWEST),
        {"size": (2, 2), "windows": Windows((1, 1), ((1, 0), (1, 0)), (1, 1))},
        oracle=lambda x, y: np.array([3, 2, 2, 1, 0, 0]).reshape(1, 2, 3, 1),
        label="-inf",
    ),
    Row(pool.gather_taps_op, (real(2, 3, 5, 2), integers(2, 3, 3, 2, high=6)), SAME, dtypes=(*ALL, "complex128")),
    Row(
        pool.scatter_taps_op,
        (real(2, 3, 3, 2), integers(2, 3, 3, 2, high=6), fixed([2, 3, 5, 2], np.int32)),
        SAME,
        dtypes=(*ALL, "complex128"),
    ),
    *[
        Row(
            pool.tap_position_op,
            (distinct(2, 3, 5, 2),),
            label=f"{padding}-{batch}",
            call=lambda x, padding=padding, batch=batch: pool.max_pool_with_argmax(
                x, [2, 3], [1, 2], padding, include_batch_in_index=batch
            ),
            wrt=(),
            order=0,
            tf=lambda tf, x, padding=padding, batch=batch: tf.nn.max_pool_with_argmax(
                x, [2, 3], [1, 2], padding, include_batch_in_index=batch
            ),
        )
        for padding, batch in (("VALID", False), ("SAME", False))
    ],
    Row(pool.avg_pool_op, (real(2, 3, 5, 2),), SAME, tf=lambda tf, x: tf.nn.avg_pool2d(x, [2, 3], [1, 2], "SAME")),
    offered(pool.avg_pool_op, pool.avg_pool, (real(2, 6, 2),), 2, 2, "VALID", static=True, tf="nn.avg_pool"),
    Row(pool.avg_pool_back_op, (real(2, 3, 3, 2), fixed([2, 3, 5, 2], np.int32)), SAME),
)
