"""How much memory Jacobians take: what plans predict, and what `max_bytes` allows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as g
from engine.core.errors import InvalidArgumentError
from engine.runtime import buffer_pool
from tests.jacobian.both import Function, least_memory, on_tape

N = 400
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(N, N)) / 20 for _ in range(2)]
FILTERS = RNG.normal(size=(3, 3, 4, 4)) / 4


def layers(tf: Any, x: Any) -> Any:
    for w in WEIGHTS:
        x = tf.tanh(tf.linalg.matvec(w, x))
    return x


def elementwise_between(tf: Any, x: Any) -> Any:
    x = tf.linalg.matvec(WEIGHTS[0], x)
    for _ in range(5):
        x = tf.sin(x) * tf.cos(x) + x
    return tf.linalg.matvec(WEIGHTS[1], x)


def attention(tf: Any, x: Any) -> Any:
    rows = tf.reshape(x, (20, 20))
    return tf.nn.softmax(tf.matmul(rows, tf.transpose(rows)))


def inverse(tf: Any, x: Any) -> Any:
    return tf.linalg.inv(tf.reshape(x, (20, 20)) + 30 * np.eye(20))


def running(tf: Any, x: Any) -> Any:
    return tf.cumsum(tf.sin(x)) * tf.reduce_sum(x * x)


def convolution(tf: Any, x: Any) -> Any:
    image = tf.reshape(x, (1, 10, 10, 4))
    for _ in range(3):
        image = tf.tanh(tf.nn.conv2d(image, FILTERS, strides=[1, 1, 1, 1], padding="SAME"))
    return image


every_function = pytest.mark.parametrize(
    "fn", [layers, elementwise_between, attention, inverse, running, convolution], ids=lambda fn: fn.__name__
)


def compiled(fn: Function, x: np.ndarray, **options: Any) -> Callable[[], Any]:
    """The Jacobian in a graph, compiled, ready to be run; what it keeps from run to run is not there yet."""
    with g.Graph().as_default():
        given = g.placeholder(x.dtype, x.shape)
        jacobian = g.jacobian(fn(g, given), given, **options)
        session = g.Session()
    run = lambda: session.run(jacobian, {given: x})  # noqa: E731
    run()
    buffer_pool.forget()
    return run


def peak_of(run: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes allocated at once during a call, and its result."""
    tracemalloc.start()
    try:
        result = run()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@every_function
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("share", [1.5, 2.0])
def test_a_limit_is_kept(fn: Function, mode: str, share: float) -> None:
    x = RNG.normal(size=N)
    whole = compiled(fn, x, mode=mode)()
    limit = int(share * whole.nbytes)
    peak, found = peak_of(compiled(fn, x, mode=mode, max_bytes=limit))
    # what Python and the function itself take is not part of the limit
    assert peak < 1.1 * limit + 100_000
    np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fn", [layers, elementwise_between, running], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_plans_predict_the_memory(fn: Function, mode: str) -> None:
    x = RNG.normal(size=N)
    with g.Graph().as_default():
        given = g.placeholder(x.dtype, x.shape)
        plan = g.jacobian_plan(fn(g, given), given, mode=mode).plan
    peak, _ = peak_of(compiled(fn, x, mode=mode))
    assert 0.6 < peak / plan.facts["bytes"] < 1.3


def test_large_seeds_are_not_kept_in_chunks_either() -> None:
    x = RNG.normal(size=1500)
    w = RNG.normal(size=(1500, 1500)) / 40
    tracemalloc.start()
    try:
        run = compiled(lambda tf, x: tf.linalg.matvec(w, tf.sin(x) * tf.reduce_sum(x)), x, max_bytes=30_000_000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the weights and the result of the last run, at most
    assert kept < 1.2 * 8 * 1500**2, run


@pytest.mark.parametrize("options", [{}, {"format": "csr"}, {"mode": "forward"}])
def test_less_than_one_seed_takes_is_refused(options: dict[str, Any]) -> None:
    x = RNG.normal(size=N)
    least = least_memory(layers, x, **options)
    assert least > x.size**2 * 8
    with pytest.raises(InvalidArgumentError, match=r"one seed at a time; got 1000\. A sparse"):
        on_tape(layers, x, max_bytes=1000, **options)
    on_tape(layers, x, max_bytes=least, **options)


def test_products_over_cuts_keep_a_limit_too() -> None:
    narrow = [RNG.normal(size=(4, N)), RNG.normal(size=(N, 4))]
    fn = lambda tf, x: tf.linalg.matvec(narrow[1], tf.tanh(tf.linalg.matvec(narrow[0], tf.sin(x))))  # noqa: E731
    x = RNG.normal(size=N)
    limit = int(1.02 * 8 * N**2)
    free, bound = (on_tape(fn, x, method="jacobian_plan", **o).plan for o in ({}, {"max_bytes": limit}))
    assert free.passes[0].chain is not None
    assert bound.facts["bytes"] <= limit < free.facts["bytes"] or bound.passes[0].chain is not None
    np.testing.assert_allclose(on_tape(fn, x, max_bytes=limit)[0], on_tape(fn, x)[0], rtol=1e-12, atol=1e-14)
