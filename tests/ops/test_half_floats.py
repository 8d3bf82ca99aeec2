"""Half floats where there are more of them than they can count, or squares that they cannot hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in, watching

COUNT = 70_000
IDS = np.zeros(COUNT, np.int32)
MEANS: dict[str, Callable[[Any], Any]] = {
    "reduce_mean": tf.reduce_mean,
    "reduce_mean, one axis": lambda x: tf.reduce_mean(tf.reshape(x, [1, COUNT]), axis=1),
    "np.mean": np.mean,
    "moments": lambda x: tf.nn.moments(x, [0])[0],
    "avg_pool": lambda x: tf.nn.avg_pool2d(tf.reshape(x, [1, 250, 280, 1]), [250, 280], [250, 280], "VALID"),
    "segment_mean": lambda x: tf.math.segment_mean(x, IDS),
    "unsorted_segment_mean": lambda x: tf.math.unsorted_segment_mean(x, IDS, 1),
    "absolute difference": lambda x: tf.compat.v1.losses.absolute_difference(tf.zeros_like(x), x),
}
SPREADS: dict[str, Callable[[Any], Any]] = {
    "reduce_variance": tf.math.reduce_variance,
    "reduce_std": tf.math.reduce_std,
    "moments": lambda x: tf.nn.moments(x, [0])[1],
    "norm": tf.norm,
}


def value_and_gradient(fn: Callable[[Any], Any], x: Any) -> tuple[np.ndarray, np.ndarray]:
    tape, y = watching(x, lambda: fn(x))
    return y.numpy().astype(float), tape.gradient(y, x).numpy().astype(float)


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_of_many_has_a_gradient(name: str) -> None:
    value, gradient = value_and_gradient(MEANS[name], tf.constant(np.full(COUNT, 0.5), tf.float16))
    np.testing.assert_array_equal(value, 0.5)
    np.testing.assert_allclose(gradient, 1 / COUNT, rtol=1e-2)


@pytest.mark.parametrize("name", SPREADS)
def test_a_spread_of_many_has_a_gradient(name: str) -> None:
    numbers = np.random.default_rng(0).normal(size=COUNT).astype(np.float16)
    expected, slopes = value_and_gradient(SPREADS[name], tf.constant(numbers, tf.float64))
    value, gradient = value_and_gradient(SPREADS[name], tf.constant(numbers))
    np.testing.assert_allclose(value, expected, rtol=2e-3)
    np.testing.assert_allclose(gradient, slopes, rtol=2e-2, atol=1e-6)


@pytest.mark.parametrize("name", ["reduce_std", "norm"])
def test_squares_that_overflow_do_no_harm(name: str) -> None:
    numbers = np.array([300.0, -400.0])
    expected, slopes = value_and_gradient(SPREADS[name], tf.constant(numbers))
    value, gradient = value_and_gradient(SPREADS[name], tf.constant(numbers, tf.float16))
    np.testing.assert_allclose(value, expected, rtol=1e-3)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3)


def test_a_program_divides_as_the_tape_does() -> None:
    """What a pass knows of one number for all elements is divided in the same way."""
    x = tf.constant(np.full(COUNT, 0.5), tf.float16)
    _, gradient = value_and_gradient(tf.reduce_mean, x)

    @tf.function
    def compiled(x: Any) -> Any:
        return gradient_in(x, lambda: tf.reduce_mean(x))

    for _ in range(3):
        np.testing.assert_array_equal(compiled(x).numpy().astype(float), gradient)
