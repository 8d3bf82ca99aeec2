"""Patterns through choices and loops: as tight in a function as on a tape, never too small, whatever is chosen."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.control import sparsity

N = 12
ZERO = tf.zeros([1], tf.float64)


def spread(y: Any) -> Any:
    """Each element with its neighbors."""
    return y * y + tf.concat([y[1:], ZERO], 0) + tf.concat([ZERO, y[:-1]], 0)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "map_fn": (lambda x: tf.map_fn(lambda r: tf.reduce_sum(r) * r, tf.reshape(x, [4, 3])), 36),
    "map_fn with what it captures": (lambda x: tf.map_fn(lambda v: v * x[0], x), 23),
    "map_fn of places": (lambda x: tf.map_fn(lambda i: x[i] * x[i + 1], tf.range(N - 1), tf.float64), 11 * 12),
    "vectorized_map": (lambda x: tf.vectorized_map(lambda r: tf.reduce_sum(r) * r, tf.reshape(x, [4, 3])), 36),
    "scan": (lambda x: tf.scan(lambda s, v: 0.5 * s + v * v, x), 78),
    "scan backwards": (lambda x: tf.scan(lambda s, v: 0.5 * s + v * v, x, reverse=True), 78),
    "scan with a start": (lambda x: tf.scan(lambda s, v: s * v, x, initializer=x[3]), 81),
    "foldl": (lambda x: tf.foldl(lambda s, r: s * r, tf.reshape(x, [4, 3])), 12),
    "foldr": (lambda x: tf.foldr(lambda s, r: s + r[::-1] * s, tf.reshape(x, [4, 3])), 12),
    "cond": (lambda x: tf.cond(x[0] > 0.0, lambda: x**2, lambda: tf.sin(x)), 12),
    "cond of other places": (lambda x: tf.cond(x[0] > 0.0, lambda: x**2, lambda: x[::-1]), 24),
    "case": (lambda x: tf.case([(x[0] > 0.5, lambda: x), (x[1] > 0.0, lambda: x[::-1])], default=lambda: x[0] + x), 34),
    "switch_case": (lambda x: tf.switch_case(tf.cast(x[0] > 0.0, tf.int32), [lambda: x, lambda: tf.roll(x, 1, 0)]), 24),
    "while_loop of a count": (
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, spread(y)), (0, x))[1],
        72,
    ),
    "while_loop of no count": (
        lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 30.0, lambda y: (y * y + tf.exp(y) + 1.0,), (x,))[0],
        12,
    ),
    "while_loop that spreads": (
        lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 30.0, lambda y: (tf.exp(spread(y)) + 1.0,), (x,))[0],
        144,
    ),
    "while_loop with halves": (
        lambda x: tf.while_loop(
            lambda y, z: tf.reduce_sum(y) < 30.0, lambda y, z: (y + z + 1.0, z * x[:6]), (x[:6], x[6:])
        )[0],
        12,
    ),
    "a choice in each step": (lambda x: tf.map_fn(lambda v: tf.cond(v > 0.0, lambda: v * x[0], lambda: v), x), 23),
    "a loop in a choice": (lambda x: tf.cond(x[0] > 0.0, lambda: tf.scan(lambda s, v: s * v, x), lambda: x), 78),
    "masks by a choice": (lambda x: tf.where(tf.cond(x[0] > 0.0, lambda: x > 0.5, lambda: x < 0.0), x, x[::-1]), 24),
}


def pattern(f: Any, at: np.ndarray) -> np.ndarray:
    return tf.for_scipy(f, at, format="csr").jac_sparsity().toarray() != 0


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("in_function", [False, True])
def test_how_tight_a_pattern_is(name: str, in_function: bool) -> None:
    f, entries = FUNCTIONS[name]
    rng = np.random.default_rng(1)
    found = pattern(tf.function(f) if in_function else f, 0.1 * rng.normal(size=N))
    if name == "map_fn of places" and not in_function:
        entries = 22  # each step has its own place there
    assert np.count_nonzero(found) == entries
    for scale in (0.1, 1.0):
        for _ in range(5):
            slope = np.asarray(tf.transforms.jacrev(f)(scale * rng.normal(size=N))).reshape(-1, N)
            assert not ((slope != 0) & ~found).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_in_functions_are_those_of_the_tape(name: str) -> None:
    f, _ = FUNCTIONS[name]
    rng = np.random.default_rng(2)
    compiled = tf.function(f)
    compiled(tf.constant(rng.normal(size=N)))
    for _ in range(4):
        x = tf.constant(0.5 * rng.normal(size=N))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = f(x), compiled(x)
        expected = np.asarray(tape.jacobian(y, x)).reshape(-1, N)
        for mode in ("forward", "reverse", "auto"):
            found = tape.jacobian(z, x, format="csr", mode=mode)
            np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("steps", [1, 3, 7])
@pytest.mark.parametrize("backwards", [False, True])
def test_steps_of_any_number_hold_what_steps_written_out_hold(
    steps: int, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scanned(x: Any) -> Any:
        step = lambda s, r: tf.stack([r[0] * s[1], s[1] + r[2], s[0] * x[0]])  # noqa: E731
        return tf.scan(step, tf.reshape(x, [steps, 3]), x[:3], reverse=backwards)

    at = np.random.default_rng(3).normal(size=3 * steps)
    exact = pattern(tf.function(scanned), at)
    monkeypatch.setattr(sparsity, "_MOST_NODES", 0)
    closed = pattern(tf.function(scanned), at)
    assert not (exact & ~closed).any()


def test_a_scan_of_no_rows_takes_its_start_alone() -> None:
    def f(x: Any) -> Any:
        return tf.foldl(lambda s, r: s * r + x, tf.reshape(x, [N, 1])[:0] * tf.ones([1, N], tf.float64), initializer=x)

    assert np.array_equal(pattern(tf.function(f), np.ones(N)), np.eye(N, dtype=bool))


def test_second_derivatives_of_loops_in_graphs() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [6])
        rows = graph_api.map_fn(lambda r: graph_api.reduce_prod(r) ** 2, graph_api.reshape(x, [3, 2]))
        hessian = graph_api.hessian(graph_api.reduce_sum(rows), x, format="csr")
        at = np.arange(1.0, 7.0)
        found = session.run(hessian, {x: at})
    assert found.nnz <= 12
    expected = np.zeros((6, 6))
    for i in (0, 2, 4):
        a, b = at[i], at[i + 1]
        expected[i : i + 2, i : i + 2] = [[2 * b * b, 4 * a * b], [4 * a * b, 2 * a * a]]
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-13)
