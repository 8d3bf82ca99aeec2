"""Rows of `engine.ops.blocks`, which has no ops of its own."""

from collections.abc import Callable
from typing import Any

from engine.ops import blocks, shape
from tests.row import Row, real


def _row(label: str, dims: tuple[int, ...], call: Callable[..., Any], tf: Callable[..., Any]) -> Row:
    return Row(shape.reshape_op, (real(*dims),), label=label, call=call, tf=tf)


ROWS = (
    _row(
        "depth_to_space", (2, 2, 3, 8), lambda x: blocks.depth_to_space(x, 2), lambda tf, x: tf.nn.depth_to_space(x, 2)
    ),
    _row(
        "depth_to_space-channels first",
        (2, 8, 2, 3),
        lambda x: blocks.depth_to_space(x, 2, "NCHW"),
        lambda tf, x: tf.transpose(tf.nn.depth_to_space(tf.transpose(x, [0, 2, 3, 1]), 2), [0, 3, 1, 2]),
    ),
    _row(
        "space_to_depth", (2, 4, 6, 2), lambda x: blocks.space_to_depth(x, 2), lambda tf, x: tf.nn.space_to_depth(x, 2)
    ),
    _row(
        "space_to_batch_nd",
        (2, 3, 5, 2),
        lambda x: blocks.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 1]]),
        lambda tf, x: tf.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 1]]),
    ),
    _row(
        "batch_to_space_nd",
        (6, 2, 2, 2),
        lambda x: blocks.batch_to_space_nd(x, [2, 3], [[1, 0], [0, 1]]),
        lambda tf, x: tf.batch_to_space(x, [2, 3], [[1, 0], [0, 1]]),
    ),
    _row(
        "space_to_batch",
        (1, 4, 2, 1),
        lambda x: blocks.space_to_batch(x, [[0, 0], [1, 1]], 2),
        lambda tf, x: tf.space_to_batch(x, [2, 2], [[0, 0], [1, 1]]),
    ),
    _row(
        "batch_to_space",
        (8, 2, 3, 1),
        lambda x: blocks.batch_to_space(x, [[0, 0], [1, 1]], 2),
        lambda tf, x: tf.batch_to_space(x, [2, 2], [[0, 0], [1, 1]]),
    ),
)
