"""Hessians on tapes of functions whose derivatives ask for more than the functions do: sizes, empty arrays, ties."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in, watching

TWO = np.array(2, np.int32)
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "segment_prod": (lambda x: tf.math.segment_prod(x, [0, 0, 2]), (3, 2)),
    "unsorted_segment_prod": (lambda x: tf.math.unsorted_segment_prod(x, [[2, 0], [0, -1]], 3), (2, 2, 2)),
    "segments by a tensor": (lambda x: tf.math.unsorted_segment_prod(x, [0, 1, 0], tf.constant(TWO)), (3,)),
    "tile by a tensor": (lambda x: tf.tile(x**2.0, [tf.constant(TWO)]), (3,)),
    "updates at equal indices": (lambda x: tf.tensor_scatter_nd_update(x**2.0, [[1], [1]], x[:2] ** 3.0), (3,)),
    "stitched twice": (lambda x: tf.dynamic_stitch([[0, 2], [2, 1]], [x[:2], x[2:]]) ** 2.0, (4, 2)),
    "rows of nothing": (lambda x: tf.zeros([0, 3], tf.float64) * x + x, (3,)),
    "sum of nothing": (lambda x: tf.reduce_sum(tf.zeros([0, 3], tf.float64) * x**2.0) + x, (3,)),
    "a power of nothing": (lambda x: tf.reduce_sum(tf.ones([0, 3], tf.float64) ** x), (3,)),
}


def by_gradients(fn: Callable[[Any], Any], x: np.ndarray, weights: Any) -> np.ndarray:
    """The Hessian of the weighted sum, each row a gradient of an element of the gradient."""
    tensor = tf.constant(x)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(tensor)
        elements = tf.unstack(
            tf.reshape(
                gradient_in(tensor, lambda: tf.reduce_sum(fn(tensor) * weights), unconnected_gradients="zero"), [-1]
            )
        )
    rows = [outer.gradient(e, tensor, unconnected_gradients="zero") for e in elements]
    return np.stack([np.reshape(row, -1) for row in rows])


@pytest.mark.parametrize("format", ["dense", "csr", "operator"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_gradients_of_gradients(name: str, format: str) -> None:
    fn, shape = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    for x in (rng.uniform(0.5, 1.5, shape), rng.uniform(0.5, 1.5, shape)):
        weights = rng.uniform(0.5, 1.5, np.shape(fn(tf.constant(x))))
        tensor = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = tf.reduce_sum(fn(tensor) * weights)
        found = tape.hessian(y, tensor, format=format)
        full = found @ np.eye(x.size) if format != "dense" else np.reshape(found, (x.size, x.size))
        np.testing.assert_allclose(full, by_gradients(fn, x, weights), rtol=1e-10, atol=1e-12)


def test_what_is_overwritten_has_no_gradient() -> None:
    """In reverse, forward, row by row and in a sparse Jacobian alike; TensorFlow gives it one in reverse."""
    x = tf.constant([1.0, 2.0, 3.0])
    tape, y = watching(x, lambda: tf.tensor_scatter_nd_update(tf.zeros([2]), [[1], [0], [1]], x**2.0), persistent=True)
    expected = np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 6.0]])
    np.testing.assert_array_equal(y, [4.0, 9.0])
    np.testing.assert_array_equal(tape.gradient(y, x), expected.sum(0))
    for mode in ("forward", "reverse", "auto"):
        np.testing.assert_array_equal(tape.jacobian(y, x, mode=mode), expected)
        np.testing.assert_array_equal(tape.jacobian(y, x, mode=mode, format="csr").toarray(), expected)


PENALIZED: dict[str, Callable[[Any], Any]] = {
    "tile": lambda x: tf.tile(x**2.0, [tf.constant(TWO)]),
    "pad": lambda x: tf.pad(x**2.0, [[tf.constant(TWO), 0]]),
    "slice": lambda x: (x**2.0)[tf.constant(TWO) :],
    "mask": lambda x: tf.boolean_mask(x**2.0, x > 0.0),
    "partition": lambda x: tf.dynamic_partition(x**2.0, [0, 1, 0, 1], 2)[0],
}


def penalty(fn: Callable[[Any], Any], x: Any) -> Any:
    """The squared length of the gradient of ``sum(fn(x) ** 2)``."""
    return tf.reduce_sum(tf.square(gradient_in(x, lambda: tf.reduce_sum(fn(x) ** 2.0))))


@pytest.mark.parametrize("name", PENALIZED)
def test_gradient_penalties(name: str) -> None:
    """Their gradients have values whose shapes follow from contents."""
    fn = PENALIZED[name]
    for numbers in ([1.0, 2.0, -3.0, 0.5], [-1.0, 2.0, 3.0, 0.5], [1.0, 2.0, -3.0, 0.5]):
        x = tf.constant(np.array(numbers))
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = penalty(fn, x)
            gradient = inner.gradient(y, x)
        expected = outer.jacobian(gradient, x)
        assert np.any(expected)
        np.testing.assert_allclose(inner.hessian(y, x), expected, rtol=1e-12)
        np.testing.assert_allclose(inner.hessian(y, x, format="csr").toarray(), expected, rtol=1e-12)
        np.testing.assert_allclose(inner.hessian_diag(y, x), np.diag(expected), rtol=1e-12)
