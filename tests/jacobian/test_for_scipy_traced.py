"""Functions for SciPy that are traced: where they may be, and that nobody can tell but by the time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tape_api as tf

STEPS = 60
SETTINGS = {"scale": 1.0}


def steps(x: Any) -> Any:
    s = x[0]
    for _ in range(STEPS):
        s = s * tf.cos(x[1]) + tf.sin(s) * 0.1
    return s


def is_traced(p: Any) -> bool:
    return any(not isinstance(x, str) for x in p.evaluations._programs.values())


def points(p: Any, count: int = 4) -> None:
    for i in range(count):
        p.fun(p.x0 + 0.1 * i)


def test_a_long_function_is_traced_and_gives_the_same_bits() -> None:
    p = tf.for_scipy(steps, np.ones(2))
    found = []
    for _ in range(4):
        at = np.array([0.3, 0.4])
        p.fun(at + 1.0)
        found.append([np.asarray(v) for v in (p.fun(at), p.jac(at), p.hess(at), p.hessp(at, at))])
        p.weighted_hess(at, [2.0])
    assert is_traced(p)
    for later in found[1:]:
        np.testing.assert_equal(found[0], later)
    assert p.jac_sparsity().toarray().tolist() == [[1, 1]]


def test_arguments_have_programs_of_their_own() -> None:
    p = tf.for_scipy(lambda x, a, n=1, *, b=0.0: steps(x) * a * n + b, np.ones(2))
    for i in range(5):
        at = np.array([0.3, 0.1 * i])
        expected = float(steps(tf.constant(at)))
        assert p.fun(at, 2.0) == pytest.approx(2 * expected)
        assert p.fun(at, 3.0, n=2, b=1.0) == pytest.approx(6 * expected + 1)
        np.testing.assert_allclose(p.jac(at, np.array(4.0)), 4 * tf.for_scipy(steps, at).jac(at))
    assert is_traced(p)


def test_variables_are_read_and_changes_are_seen() -> None:
    v = tf.Variable(1.0, dtype=tf.float64)
    weights = np.ones(2)

    def function(x: Any) -> Any:
        return steps(x) * v * SETTINGS["scale"] * weights[0]

    p = tf.for_scipy(function, np.ones(2))
    points(p)
    assert is_traced(p)
    at = np.array([0.3, 0.4])
    base, slope = p.fun(at), p.jac(at)
    try:
        for change in range(3):
            if change == 0:
                v.assign(2.0)
            elif change == 1:
                SETTINGS["scale"] = 2.0
            else:
                weights[0] = 2.0
            for _ in range(3):
                assert p.fun(at) == pytest.approx(2 ** (change + 1) * base)
                np.testing.assert_allclose(p.jac(at), 2 ** (change + 1) * slope)
    finally:
        SETTINGS["scale"] = 1.0


def drawing(x: Any) -> Any:
    return steps(x) + random.random()


def drawing_arrays(x: Any) -> Any:
    return steps(x) + np.random.default_rng(0).random()


def looking(x: Any) -> Any:
    return steps(x) if x[0] > 0 else -steps(x)


class Model:
    scale = 1.0

    def __call__(self, x: Any) -> Any:
        return steps(x) * self.scale


class Counter:
    runs = 0


def assigning(x: Any) -> Any:
    Counter.runs += 1
    return steps(x)


CALLS: list[int] = []


def appending(x: Any) -> Any:
    CALLS.append(1)
    return steps(x)


@pytest.mark.parametrize("function", [drawing, drawing_arrays, looking, Model(), assigning, appending])
def test_where_python_might_do_something_else_it_runs(function: Any) -> None:
    p = tf.for_scipy(function, np.ones(2))
    points(p)
    assert not is_traced(p)


def test_gradients_of_the_users_own_are_kept() -> None:
    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return tf.identity(x), lambda ct: 3.0 * ct

    p = tf.for_scipy(lambda x: steps(tripled(x)), np.ones(2))
    points(p)
    at = np.array([0.3, 0.4])
    np.testing.assert_allclose(p.jac(at), 3 * tf.for_scipy(steps, at).jac(at))


def _counted(x: Any, **limit: Any) -> Any:
    step = lambda i, y: (i + 1, y * 1.01 + 0.01 * y**2)  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda i, y: i < 30, step, (0, x), **limit)[1])


def _until(x: Any, **limit: Any) -> Any:
    step = lambda y: y * 1.01 + 0.01 * y[::-1] * y  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, step, [x], **limit)[0])


@pytest.mark.parametrize("limit", [{}, {"max_bytes": 3_000}])
@pytest.mark.parametrize("format", ["dense", "csc"])
@pytest.mark.parametrize("loop", [_counted, _until])
def test_hessians_of_loops_of_any_number_of_steps(loop: Any, format: Any, limit: Any) -> None:
    in_function = tf.function(lambda x: loop(x, **limit))
    for function in (lambda x: loop(x, **limit), lambda x: in_function(x)):
        p = tf.for_scipy(function, np.linspace(0.1, 1.0, 4), format=format)
        for scale in (1.0, 2.0, 0.5):
            at = p.x0 * scale
            expected = tf.transforms.hessian(loop)(at).numpy()
            for found in (p.hess(at), p.weighted_hess(at, [1.0])):
                found = found.toarray() if format == "csc" else found
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_short_functions_stay_python() -> None:
    p = tf.for_scipy(lambda x: tf.reduce_sum(x**2), np.ones(2))
    points(p)
    assert not is_traced(p)
