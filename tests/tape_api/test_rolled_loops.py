"""Loops over a range of Python's in functions that become one op: the same bits, and what stays as it is written."""
# ruff: noqa: N805
# Its programs are functions, which classes gather.

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from dualgrad.autograph import operators
from tape_api.autograph import HOST
from tape_api.control_flow import loops
from tests.tape_api.test_kept_loops import N, arrays, assert_same, derived, descent, weights

state = tf.Variable(0.0, dtype=tf.float64, trainable=False)
table = [0.1 * i for i in range(N)]
calls: list[int] = []
Program = Callable[..., Any]


def noted(y: Any) -> Any:
    calls.append(1)
    return y


class Rolled:
    """Programs whose loops become ops."""

    def recurrence(w, x, xs, u):
        y = x
        for i in range(N - 2):
            y = tf.tanh(tf.linalg.matvec(weights, y) * u + xs[i] * xs[i + 1] + xs[i + 2])
        return y

    def functions_around(w, x, xs, u):
        h, y = 0.1, x

        def slope(z):
            return tf.sin(z * u) + h * x

        for _ in range(N):
            k = slope(y)
            y = y + h * (k + slope(y + h * k)) / 2.0
        return y

    def two_variables_backwards(w, x, xs, u):
        q, p = x, u * x
        for i in range(N, 0, -1):
            p = p - 0.1 * tf.sin(q) * tf.cast(i, tf.float64)
            q = q + 0.1 * p * u
        return q, p

    def loops_inside(w, x, xs, u):
        y = x
        for i in range(N):
            z = y
            for _ in range(3):
                z = tf.sin(z) * u + y
            y = z * 0.3 + xs[i]
        return y

    def a_gradient_inside(w, x, xs, u):
        y = x
        for _ in range(N):
            (y,) = descent(x, u, y)
        return y

    def zeros_of_both_signs(w, x, xs, u):
        y = x * 0.0
        for i in range(N):
            y = tf.maximum(y, xs[i] * 0.0) * u - y * 0.5
        return y


class Written:
    """Programs whose loops stay as they are written."""

    def a_function_with_effects(w, x, xs, u):
        for _ in range(N):
            x = noted(x * u)
        return x

    def a_list_at_the_number(w, x, xs, u):
        for i in range(N):
            x = x * u + table[i]
        return x

    def the_first_step(w, x, xs, u):
        for i in range(N):
            if i == 0:
                x = x * 2.0
            x = x * u
        return x

    def a_number_as_text(w, x, xs, u):
        factors = {"k3": 0.5}
        for i in range(N):
            x = x * u * factors.get(f"k{i}", 1.5)
        return x

    def numbers_of_python(w, x, xs, u):
        t = 0.0
        for i in range(N):
            t = t + 0.1
            x = x * u + t * i
        return x

    def another_shape(w, x, xs, u):
        for _ in range(N):
            x = tf.concat([x, [u]], 0)
        return x

    def what_only_the_last_step_gives(w, x, xs, u):
        y = x
        for i in range(N):
            y = tf.sin(xs[i] * u)
        return y

    def nothing_is_left(w, x, xs, u):
        for _ in range(N):
            unused = tf.sin(x * u)  # noqa: F841
        return x * u

    def exchanged(w, x, xs, u):
        y = x * u
        for _ in range(N):
            x, y = y * 0.9, x * 0.8
        return x, y

    def assignments(w, x, xs, u):
        state.assign(0.0)
        for _ in range(N):
            x = x * u + state.assign_add(0.1)
        return x

    def a_counter_around(w, x, xs, u):
        count = 0

        def more(z):
            nonlocal count
            count += 1
            return z * u * count * 0.1

        for _ in range(N):
            x = more(x)
        return x * count


ROLLED, WRITTEN = [[f for f in vars(c).values() if callable(f)] for c in (Rolled, Written)]


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Short loops may become ops, too; which of those that were asked for did."""
    found: list[bool] = []
    rolled = loops.rolled
    monkeypatch.setattr(operators, "_MANY", 0)
    monkeypatch.setattr(operators, "_UNROLLED", 4)
    monkeypatch.setattr(HOST, "rolled", lambda *args: (r := rolled(*args), found.append(r is not None))[0], False)
    calls.clear()
    return found


def further(f: Program) -> Program:
    """A Jacobian, and the function of several vectors."""

    def run(w: Any, x: Any, *more: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nest.flatten(f(w, x, *more))[0]
        many = tf.vectorized_map(lambda x: f(w, x, *more), tf.stack([x, x * 0.5]))
        return [tape.jacobian(y, x)], tf.nest.flatten(many)

    return run


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [*ROLLED, *WRITTEN], ids=lambda f: f.__name__)
def test_numbers_and_effects_are_those_of_the_steps(f: Program, found: list[bool]) -> None:
    wanted, left = arrays(derived(f)), state.numpy()
    inside, outside = tf.function(derived(f)), derived(tf.function(f))
    for number, call in enumerate((inside, outside, inside, outside, outside)):
        calls.clear()
        assert_same(call, wanted, 1e-10)
        assert state.numpy() == left
        # when it is recorded, and where it runs as Python
        assert len(calls) in ((N,) if f is Written.a_function_with_effects and number < 2 else (0, N))
    assert any(found) is (f in ROLLED)
    for parts in zip(arrays(tf.function(further(f))), arrays(further(f)), strict=True):
        for a, b in zip(*parts, strict=True):
            assert (a is None) == (b is None)
            np.testing.assert_allclose(*(0.0 if x is None else x for x in (a, b)), 1e-10, atol=1e-12)


def test_a_first_call_does_not_grow_with_the_number_of_steps() -> None:
    for many in (100, 100_000):

        @tf.function
        def f(x: Any) -> Any:
            for _ in range(many):  # noqa: B023
                x = tf.sin(x) * 1.0001
            return x

        f(tf.constant([1.0]))
        (traced,) = f._known.values()
        assert len(traced._trace.nodes) < 10, f.explain()
