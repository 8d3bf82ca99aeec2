"""Functions for SciPy that are traced: where they may be, and that nobody can tell but by the time."""

import random
import threading
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
    return any(not isinstance(x, (str, int)) for x in p.evaluations._programs.values())


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


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_short_functions_are_traced_once_they_are_called_often(wrap: Any) -> None:
    scales, v = [np.array(1.0)], tf.Variable(1.0, dtype=tf.float64)

    def bumps(x: Any, a: float = 1.0) -> Any:
        return tf.reduce_sum(tf.sin(x) ** 2 * v * a) * scales[0]

    p, q = (tf.for_scipy(wrap(bumps), np.ones(2)) for _ in range(2))
    rng = np.random.default_rng(0)
    points(p)
    assert not is_traced(p)
    for i in range(60):
        x = rng.normal(size=2)
        q.evaluations._programs.clear()
        for args in ((), (2.0,)):
            a, b = ([r.fun(x, *args), r.fun_and_jac(x, *args), r.hess(x, *args)] for r in (p, q))
            assert a[0] == b[0] == a[1][0] == b[1][0]
            np.testing.assert_array_equal(a[1][1], b[1][1])
            np.testing.assert_array_equal(a[2], b[2])
            # what is handed out is the caller's
            a[1][1][:] = np.nan
        if i == 45:
            v.assign(3.0)
    assert is_traced(p) and not is_traced(q)
    if wrap is not tf.function:
        scales[0] = np.array(2.0)
    x = np.array([0.3, 0.5])
    np.testing.assert_allclose(p.fun(x), 3.0 * scales[0] * np.sum(np.sin(x) ** 2), rtol=1e-14)
    np.testing.assert_allclose(p.jac(x), 3.0 * scales[0] * np.sin(2 * x), rtol=1e-13)
    w = np.array([0.3, 0.5])
    g = p.jac(w)
    w[:] = 7.0
    np.testing.assert_allclose(p.jac([0.3, 0.5]), g)


def test_views_of_a_program_are_at_points_of_their_own() -> None:
    p = tf.for_scipy(lambda x: tf.reduce_sum(x**3), np.ones(2))
    points(p, 40)
    q, x, y = p.like(format="csr"), np.array([1.0, 2.0]), np.array([3.0, 5.0])
    threads = []
    for _ in range(3):
        assert p.fun(x) == 9.0 and q.fun(y) == 152.0
        np.testing.assert_array_equal(p.jac(x), 3 * x**2)
        np.testing.assert_array_equal(q.jac(y).toarray()[0], 3 * y**2)
        np.testing.assert_array_equal(q.hess(y).toarray(), np.diag(6 * y))
        run = threading.Thread(target=lambda: threads.append((p.fun(2 * x), p.jac(2 * x))))
        p.fun(x)
        run.start()
        run.join()
        np.testing.assert_array_equal(p.jac(x), 3 * x**2)
        assert threads[-1][0] == 72.0 and threads[-1][1].tolist() == [12.0, 48.0]
