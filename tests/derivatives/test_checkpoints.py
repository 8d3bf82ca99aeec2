"""Gradients of loops within a memory limit: the schedule, the same bits in all modes, the memory."""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.control.checkpoints import cut
from engine.runtime.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError
from tests.processes import printed

RNG = np.random.default_rng(3)
LIMITS: tuple[dict[str, Any], ...] = ({}, {"max_bytes": 3_000})
X, W, ROWS = np.linspace(0.1, 1.0, 5), RNG.normal(size=(5, 5)) * 0.3, RNG.normal(size=(37, 5))


@functools.cache
def fewest(steps: int, states: int) -> int:
    """By trying every cut."""
    if steps <= states + 1:
        return steps - 1
    if states == 1:
        return steps * (steps - 1) // 2
    return min(k + fewest(steps - k, states - 1) + fewest(k, states) for k in range(1, steps))


def by_cuts(steps: int, states: int) -> int:
    at = cut(steps, states)
    return at + by_cuts(steps - at, max(states - 1, 1)) + by_cuts(at, states) if at else steps - 1


def test_the_schedule_runs_the_fewest_steps() -> None:
    for states in range(1, 8):
        for steps in range(1, 70):
            assert fewest(steps, states) == by_cuts(steps, states), (steps, states)
    assert by_cuts(20_000, 624) / 20_000 < 2


def _while(tf: Any, x: Any, w: Any, rows: Any, **limit: Any) -> list[Any]:
    def step(i: Any, y: Any, z: Any) -> Any:
        return i + 1, y + 0.1 * tf.sin(tf.linalg.matvec(w, y)) * x, z * 0.9 + tf.exp(-y)

    return [*tf.while_loop(lambda i, y, z: i < 40, step, (0, x, x * x), **limit)[1:], tf.reduce_sum(rows)]


def _until(tf: Any, x: Any, w: Any, rows: Any, **limit: Any) -> list[Any]:
    step = lambda y: y * 1.05 + tf.maximum(y, x) * 0.01  # noqa: E731
    (y,) = tf.nest.flatten(tf.while_loop(lambda y: tf.reduce_sum(y) < 50.0, step, [x], **limit))
    return [y, tf.reduce_sum(w) + tf.reduce_sum(rows)]


def _scan(tf: Any, x: Any, w: Any, rows: Any, **limit: Any) -> list[Any]:
    step = lambda s, e: (tf.tanh(tf.linalg.matvec(w, s[0]) + e[0] * x), s[1] * 0.5 + e[1])  # noqa: E731
    y, z = tf.scan(step, (rows, rows**2), initializer=(x, x), **limit)
    return [y[-1], z[3], tf.reduce_sum(y, 0)]


def _reversed(tf: Any, x: Any, w: Any, rows: Any, **limit: Any) -> list[Any]:
    return [tf.scan(lambda s, e: tf.tanh(tf.linalg.matvec(w, s) + e * x), rows, reverse=True, **limit)]


def _folds(tf: Any, x: Any, w: Any, rows: Any, **limit: Any) -> list[Any]:
    step = lambda s, e: tf.tanh(tf.linalg.matvec(w, s) + e)  # noqa: E731
    return [tf.foldl(step, rows, initializer=x, **limit), tf.foldr(step, rows, **limit)]


LOOPS = (_while, _until, _scan, _reversed, _folds)


def on_tape(loop: Callable[..., Any]) -> list[np.ndarray]:
    given = [tf.constant(a) for a in (X, W, ROWS)]
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = sum(tf.reduce_sum(v**2) for v in loop(*given))
    return [g.numpy() for g in tape.gradient(y, given)]


def in_graph(loop: Callable[..., Any]) -> list[np.ndarray]:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        given = [graph_api.placeholder(graph_api.float64, a.shape) for a in (X, W, ROWS)]
        y = sum(graph_api.reduce_sum(v**2) for v in loop(*given))
        gradients = graph_api.gradients(y, given)
        for _ in range(3):
            found = session.run(gradients, dict(zip(given, (X, W, ROWS), strict=True)))
    return found


@pytest.mark.parametrize("max_bytes", [800, 3_000, 1_000_000])
@pytest.mark.parametrize("loop", LOOPS)
def test_same_bits_in_all_modes(loop: Callable[..., Any], max_bytes: int) -> None:
    expected = on_tape(functools.partial(loop, tf))
    limited = functools.partial(loop, tf, max_bytes=max_bytes)
    function = tf.function(lambda *given: limited(*given))
    every = [on_tape(limited), *[on_tape(function) for _ in range(3)]]
    every.append(in_graph(functools.partial(loop, graph_api, max_bytes=max_bytes)))
    for found in every:
        np.testing.assert_equal(expected, found)


CASES: dict[str, Callable[..., Any]] = {
    "LSTM": lambda **k: tf.keras.layers.LSTM(4, **k),
    "GRU": lambda **k: tf.keras.layers.GRU(4, return_sequences=True, go_backwards=True, **k),
    "cells": lambda **k: tf.keras.layers.RNN([tf.keras.layers.LSTMCell(3), tf.keras.layers.GRUCell(2)], **k),
    "Bidirectional": lambda **k: tf.keras.layers.Bidirectional(tf.keras.layers.SimpleRNN(3, **k)),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_recurrent_layers(name: str, masked: bool) -> None:
    x = tf.constant(RNG.normal(size=(2, 30, 3)).astype(np.float32))
    mask = np.arange(30) < np.array([[20], [30]]) if masked else None
    found: list[list[np.ndarray]] = []
    for limit in LIMITS:
        layer = CASES[name](**limit)
        layer(x)
        draws = np.random.default_rng(5)
        layer.set_weights([draws.normal(size=w.shape).astype(np.float32) * 0.3 for w in layer.get_weights()])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x, mask=mask) ** 2)
        found.append([g.numpy() for g in tape.gradient(y, layer.trainable_variables)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_layers_keep_the_limit_in_their_configuration() -> None:
    layer = tf.keras.layers.LSTM(4, max_bytes=1_000)
    assert tf.keras.layers.LSTM.from_config(layer.get_config()).max_bytes == 1_000
    assert "max_bytes" not in tf.keras.layers.LSTM(4).get_config()


@pytest.mark.parametrize("lengths", [None, [20, 30]])
def test_dynamic_rnn(lengths: Any) -> None:
    found = []
    for limit in LIMITS:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            cell = graph_api.nn.rnn_cell.LSTMCell(
                3, initializer=graph_api.random_uniform_initializer(-0.3, 0.3, seed=1)
            )
            rows = np.linspace(-1, 1, 120).reshape(2, 30, 2).astype(np.float32)
            outputs, state = graph_api.nn.dynamic_rnn(cell, rows, lengths, dtype=graph_api.float32, **limit)
            loss = graph_api.reduce_sum(outputs**2) + graph_api.reduce_sum(state.c)
            gradients = graph_api.gradients(loss, graph_api.trainable_variables())
            session.run(graph_api.global_variables_initializer())
            found.append(session.run(gradients))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_derivatives() -> None:
    def loss(x: Any, **limit: Any) -> Any:
        return tf.reduce_sum(_while(tf, x, W, ROWS, **limit)[0] ** 2)

    limited = functools.partial(loss, max_bytes=5_000)
    t = tf.transforms
    np.testing.assert_array_equal(t.hessian(loss)(X), t.hessian(limited)(X))
    np.testing.assert_array_equal(t.jacfwd(loss)(X), t.jacfwd(limited)(X))
    np.testing.assert_array_equal(t.hvp(loss, (X,), (X,))[0], t.hvp(limited, (X,), (X,))[0])
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(t.vmap(t.grad(loss))(rows), t.vmap(t.grad(limited))(rows), rtol=1e-13)
    p, q = (tf.for_scipy(f, X) for f in (loss, limited))
    np.testing.assert_array_equal(p.jac(X), q.jac(X))
    # what is too much for all seeds at once takes them in parts
    parts = functools.partial(loss, max_bytes=2_000)
    np.testing.assert_allclose(t.hessian(loss)(X), t.hessian(parts)(X), rtol=1e-13)
    with pytest.raises(ResourceExhaustedError, match="2 states, take 1280 bytes"):
        t.hessian(functools.partial(loss, max_bytes=1_000))(X)


def second(tf: Any, loss: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Gradients of a function of gradients."""
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as inner:
            inner.watch(given)
            y = loss(*given)
        found = inner.gradient(y, given, unconnected_gradients="zero")
        total = sum(tf.reduce_sum(tf.sin(g)) for g in found)
    return outer.gradient(total, given, unconnected_gradients="zero")


@pytest.mark.parametrize("max_bytes", [18_000, 1_000_000])
@pytest.mark.parametrize("loop", LOOPS)
def test_gradients_of_gradients_have_the_same_bits(loop: Callable[..., Any], max_bytes: int) -> None:
    def every(**limit: Any) -> list[list[np.ndarray]]:
        loss = lambda *given: sum(tf.reduce_sum(v**2) for v in loop(tf, *given, **limit))  # noqa: E731
        given = [tf.constant(a) for a in (X, W, ROWS)]
        function = tf.function(lambda *given: second(tf, loss, given))
        found = [second(tf, tf.function(loss), given), function(*given), function(*given)]
        if limit:
            found.append(second(tf, loss, given))
        found = [[g.numpy() for g in each] for each in found]
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            fed = [graph_api.placeholder(graph_api.float64, a.shape) for a in (X, W, ROWS)]
            y = sum(graph_api.reduce_sum(v**2) for v in loop(graph_api, *fed, **limit))
            first = [g for g in graph_api.gradients(y, fed) if g is not None]
            total = sum(graph_api.reduce_sum(graph_api.sin(g)) for g in first)
            wanted = graph_api.gradients(total, fed[: 2 + (loop not in (_while, _until))])
            wanted = [g for g in wanted if g is not None]
            found.append(session.run(wanted, dict(zip(fed, (X, W, ROWS), strict=True))))
        return found

    *expected, in_graph = every()
    *found, in_limited_graph = every(max_bytes=max_bytes)
    for each in found:
        for a, b in zip(expected[0], each, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(in_graph, in_limited_graph, strict=True):
        np.testing.assert_array_equal(a, b)


def test_third_derivatives() -> None:
    def loss(x: Any, **limit: Any) -> Any:
        step = lambda i, y: (i + 1, y + 0.1 * tf.sin(y) * x)  # noqa: E731
        return tf.reduce_sum(tf.while_loop(lambda i, y: i < 30, step, (0, x), **limit)[1])

    t = tf.transforms
    found = []
    for limit in ({}, {"max_bytes": 40_000}):
        first = t.grad(tf.function(functools.partial(loss, **limit)))
        second = t.grad(lambda x, first=first: tf.reduce_sum(first(x) ** 2))
        found.append(t.grad(lambda x, second=second: tf.reduce_sum(second(x) * X))(X).numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_variables_arrays_and_state() -> None:
    found = []
    for limit in (LIMITS[0], {"max_bytes": 30_000}):
        v, count = tf.Variable(X), tf.Variable(0.0, trainable=False)

        def step(i: Any, y: Any, kept: Any, v: Any = v, count: Any = count) -> Any:
            count.assign_add(1.0)
            return i + 1, y * v * tf.cast(count, tf.float64) / 10, kept.write(i, y)

        with tf.GradientTape() as tape:
            start = (0, v, tf.TensorArray(tf.float64, 30))
            _, y, kept = tf.while_loop(lambda i, *_: i < 30, step, start, **limit)
            total = tf.reduce_sum(y) + tf.reduce_sum(kept.stack())
        found.append((tape.gradient(total, v).numpy(), count.numpy()))
    (a, m), (b, n) = found
    np.testing.assert_array_equal(a, b)
    assert m == n == 30.0


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, True, "1"])
def test_what_is_no_limit_is_refused(max_bytes: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="`max_bytes` must be a positive integer or None"):
        _while(tf, X, W, ROWS, max_bytes=max_bytes)
    with graph_api.Graph().as_default(), pytest.raises(InvalidArgumentError, match="`max_bytes` must be"):
        _scan(graph_api, graph_api.constant(X), W, ROWS, max_bytes=max_bytes)


def test_limits_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(ResourceExhaustedError, match="2 states, take"):
        on_tape(functools.partial(_while, tf, max_bytes=100))
    branches = lambda y: y * 2.0 if float(y[0]) < 1 else y * 3.0  # noqa: E731
    with pytest.raises(UnimplementedError, match="recorded once, for all iterations"):
        tf.while_loop(lambda y: tf.reduce_sum(y) < 50.0, branches, [tf.constant(X)], max_bytes=10_000)
    growing = tf.function(
        lambda x: tf.while_loop(
            lambda y: tf.size(y) < 50, lambda y: tf.concat([y, y], 0), [x], [tf.TensorShape([None])], max_bytes=10_000
        )
    )
    with pytest.raises(UnimplementedError, match="no `max_bytes`"):
        tf.transforms.grad(lambda x: tf.reduce_sum(growing(x)[0]))(X)


def test_the_plan_says_what_is_kept() -> None:
    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(_while(tf, x, W, ROWS, max_bytes=3_000)[0])
        return tape.gradient(y, x)

    for _ in range(2):
        slope(tf.constant(X))
    assert "of 40 states kept" in slope.explain()
    assert "steps computed again" in slope.explain()


MEMORY = """
import resource, sys, tracemalloc
import numpy as np, tape_api as tf

most, steps = int(sys.argv[1]), int(sys.argv[4])
step = lambda i, y: (i + 1, y + 1e-4 * tf.sin(y) * y)
loss = tf.function(lambda x: tf.reduce_sum(tf.while_loop(lambda i, y: i < steps, step, (0, x), max_bytes=most)[1] ** 2))
first = tf.transforms.grad(loss)
slope = first if sys.argv[2] == "first" else tf.transforms.grad(lambda x: tf.reduce_sum(tf.sin(first(x))))
small, x = np.linspace(0.1, 1.0, 3), np.linspace(0.1, 1.0, 1000)
slope(small), slope(x)
if sys.argv[3] == "traced":
    tracemalloc.start()
    slope(x)
    print(tracemalloc.get_traced_memory()[1])
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.parametrize(("max_bytes", "order", "steps"), [(1_000_000, "first", 500), (1_500_000, "second", 120)])
def test_memory(max_bytes: int, order: str, steps: int) -> None:
    # what the native executor allocates is not traced; besides the states, a step without C has some arrays of its own
    used = printed("-c", MEMORY, max_bytes, order, "traced", steps, DUALGRAD_NATIVE="0")
    assert int(used) < 1.1 * max_bytes


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems count other things")
def test_memory_that_the_native_executor_takes() -> None:
    least, most = [int(printed("-c", MEMORY, limit, "first", "whole", 3000)) for limit in (1_000_000, 6_000_000)]
    # stretches of many lengths do not pile up in the pool
    assert most - least < 25_000_000
