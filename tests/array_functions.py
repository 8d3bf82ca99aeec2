"""Checks of functions of one array that NumPy and SciPy have, too: beside them, beside differences, in a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api as tf1
import tape_api as tf

Function = Callable[[Any], Any]


def weights(shape: Any) -> np.ndarray:
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def eager(f: Function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and gradient of a weighted sum, both by the tape."""
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
        total = tf.reduce_sum(y * weights(y.shape.as_list()))
    assert isinstance(y, tf.Tensor) and y.dtype == tf.float64
    return y.numpy(), tape.gradient(total, t).numpy()


def assert_right(f: Function, x: np.ndarray, tolerance: float, in_a_graph: bool) -> None:
    """Values are those for arrays, gradients are difference quotients, a graph gives the same bits of both."""
    y, gradient = found = eager(f, x)
    np.testing.assert_allclose(y, f(x), rtol=tolerance, atol=tolerance)
    step, expected = 1e-6, np.zeros_like(x)
    weighted = weights(np.shape(y))
    for i in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[i] = step
        expected[i] = np.sum(weighted * (f(x + moved) - f(x - moved))) / (2 * step)
    np.testing.assert_allclose(gradient, expected, rtol=2e-6, atol=2e-7)
    if not in_a_graph:
        return
    with tf1.Graph().as_default(), tf1.Session() as session:
        p = tf1.placeholder(tf1.float64, x.shape)
        symbol = f(p)
        total = tf1.reduce_sum(symbol * weights(symbol.shape.as_list()))
        for got, wanted in zip(session.run([symbol, tf1.gradients(total, p)[0]], {p: x}), found, strict=True):
            assert np.asarray(got).tobytes() == wanted.tobytes()
