"""TensorFlow 1's Adam against its formulas, with powers of the betas that are kept."""

from collections.abc import Callable
from typing import Any

import numpy as np

import graph_api
import optim
import tape_api

START = np.array([[1.0, -2.0], [0.5, 3.0]])
STEPS = 6


def gradient(k: int) -> np.ndarray:
    return np.random.default_rng(k).standard_normal(START.shape)


def on_tape(make: Callable[[], Any], dtype: str = "float64") -> list[np.ndarray]:
    w, optimizer, values = tape_api.Variable(START, dtype=dtype), make(), []
    for k in range(STEPS):
        optimizer.apply_gradients([(tape_api.constant(gradient(k).astype(dtype)), w)])
        values.append(w.numpy())
    return values


def in_graph(make: Callable[[], Any], dtype: str = "float64") -> list[np.ndarray]:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        w, feed = tf.Variable(START, dtype=dtype), tf.placeholder(dtype, START.shape)
        train = make().apply_gradients([(feed, w)])
        session.run(tf.global_variables_initializer())
        return [(session.run(train, {feed: gradient(k)}), session.run(w))[1] for k in range(STEPS)]


def f32(x: float) -> float:
    return float(np.float32(x))


def powers(beta: float, exact: bool = False) -> list[float]:
    """β, β² ... as float32 products, or exactly."""
    if exact:
        return [float(np.float32(beta)) ** k for k in range(1, STEPS + 2)]
    found = [np.float32(beta)]
    for _ in range(STEPS):
        found.append(found[-1] * np.float32(beta))
    return [float(x) for x in found]


def adam(rate: float = 0.1, b1: float = 0.9, b2: float = 0.999, exact: bool = False) -> list[np.ndarray]:
    rate, eps, p1, p2, b1, b2 = f32(rate), f32(1e-8), powers(b1, exact), powers(b2, exact), f32(b1), f32(b2)
    w, m, v, values = START, 0.0 * START, 0.0 * START, []
    for k in range(STEPS):
        g = gradient(k)
        m, v = m + (g - m) * (1 - b1), v + (g * g - v) * (1 - b2)
        w = w - m * (rate * np.sqrt(1 - p2[k]) / (1 - p1[k])) / (np.sqrt(v) + eps)
        values.append(w)
    return values


def make() -> Any:
    return optim.AdamOptimizer(0.1)


def test_adam_follows_its_formulas_in_both_modes() -> None:
    tape, graph = on_tape(make), in_graph(make)
    for t, g, e in zip(tape, graph, adam(), strict=True):
        np.testing.assert_allclose(t, e, rtol=1e-13)
        assert t.tobytes() == g.tobytes()


def test_single_precision_stays_near() -> None:
    for t, e in zip(on_tape(make, "float32"), adam(), strict=True):
        assert t.dtype == np.float32
        np.testing.assert_allclose(t, e, rtol=2e-5)


def test_rows_of_all_are_the_whole() -> None:
    w, optimizer = tape_api.Variable(START), make()
    for k in range(STEPS):
        rows = tape_api.IndexedSlices(tape_api.constant(gradient(k)), tape_api.constant([0, 1]))
        optimizer.apply_gradients([(rows, w)])
    np.testing.assert_allclose(w.numpy(), adam()[-1], rtol=1e-13)


def test_exact_powers_are_there_for_double_precision() -> None:
    def ended(**options: Any) -> np.ndarray:
        return on_tape(lambda: optim.AdamOptimizer(0.1, **options))[-1]

    exact = adam(exact=True)[-1]
    np.testing.assert_allclose(ended(power_dtype="float64"), exact, rtol=1e-12)
    assert abs(ended() / exact - 1).max() > 1e-9
