"""Short functions made of other ops, in both modes and beside TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import ShapeError
from tests.peers import Call, both_modes, close, on_tape

RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(3, 4)).astype(np.float32), RNG.uniform(1, 2, (3, 4)).astype(np.float32)
RANKS = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]], np.float32)

CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "scalar_mul": (lambda tf, x: tf.scalar_mul(2.5, x), (X,)),
    "polyval": (lambda tf, x, w: tf.math.polyval([w, tf.ones_like(w), x], x), (X, W)),
    "normalize": (lambda tf, x: tf.linalg.normalize(x, axis=1), (X,)),
    "normalize-1": (lambda tf, x: tf.linalg.normalize(x, ord=1, axis=0), (X,)),
}
VALUES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "matrix_rank": (lambda tf, x: tf.linalg.matrix_rank(x), (RANKS,)),
    "confusion": (lambda tf: tf.math.confusion_matrix([0, 2, 2], [0, 1, 2]), ()),
    "confusion-weighted": (
        lambda tf: tf.math.confusion_matrix([0, 2], [0, 1], 4, weights=[0.5, 2.0], dtype=tf.float32), ()
    ),
    "average": (lambda tf, x: tf.nn.compute_average_loss(x, sample_weight=x, global_batch_size=7), (X,)),
    "average-own": (lambda tf, x: tf.nn.compute_average_loss(x[:, 0]), (X,)),
    "scaled": (lambda tf, x: tf.nn.scale_regularization_loss(x), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_both_modes(name: str) -> None:
    both_modes(*CALLS[name])


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CALLS, *VALUES])
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    call, arrays = (CALLS | VALUES)[name]
    differentiate = name in CALLS
    close(on_tape(tape_api, call, arrays, differentiate), on_tape(tensorflow, call, arrays, differentiate))


def test_ensure_shape() -> None:
    tf = graph_api
    x = tf.placeholder(tf.float32)
    y = tf.ensure_shape(x, [None, 4])
    assert y.shape.as_list() == [None, 4]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.gradients(y * y, x)[0], {x: X}), 2 * X)
        with pytest.raises(ShapeError, match="has not the shape"):
            session.run(y, {x: X.T})
    with pytest.raises(ShapeError, match="has not the shape"):
        tf.ensure_shape(tf.constant(X), [3])
    with pytest.raises(ShapeError, match="rank 0"):
        tape_api.scalar_mul(X, X)
