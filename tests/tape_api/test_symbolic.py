"""`gradients` and `hessians` inside of ``tf.function``; the numbers are what TensorFlow 2.21 gives."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in

x_value = np.float32([1.0, 2.0])


def three_calls(function: Any, *args: Any) -> Any:
    """The result of a recorded function; it is the same each time."""
    calls = [tf.nest.map_structure(np.asarray, function(*args)) for _ in range(3)]
    for other in calls[1:]:
        tf.nest.map_structure(np.testing.assert_array_equal, calls[0], other)
    return calls[0]


def test_of_arguments_of_what_is_computed_of_variables_and_of_constants() -> None:
    v, c = tf.Variable(3.0), tf.constant(2.0)

    @tf.function
    def slopes(x: Any) -> Any:
        w = x * 2.0
        own = tf.constant(5.0)
        return [
            *tf.gradients(w**2, [w, x]), *tf.gradients(v * v * x, [v, x]), *tf.gradients([c * x, own * own], [c, own]),
        ]  # fmt: skip

    found = three_calls(slopes, tf.constant(x_value))
    expected = [[4.0, 8.0], [8.0, 16.0], 18.0, [9.0, 9.0], 3.0, 10.0]
    np.testing.assert_equal(found, expected)
    assert "as a program" in slopes.explain()


def test_options() -> None:
    @tf.function
    def options(x: Any) -> Any:
        b = x * 2.0
        assert tf.gradients(tf.stop_gradient(x), [x]) == [None]
        return [
            *tf.gradients(x + b, [x, b], stop_gradients=[x, b]),
            *tf.gradients(x + b, [x, b]),
            *tf.gradients([x * 2.0, b], x, grad_ys=[tf.constant([5.0, 5.0]), None]),
            *tf.gradients(tf.stop_gradient(x), x, unconnected_gradients="zero"),
        ]

    found = three_calls(options, tf.constant(x_value))
    np.testing.assert_array_equal(found, np.array([1, 1, 3, 1, 12, 0])[:, None] * np.ones(2))


def test_second_order_and_hessians() -> None:
    @tf.function
    def second(x: Any) -> Any:
        (slope,) = tf.gradients(x**3, x)
        return tf.gradients(slope, x)[0], tf.hessians(tf.reduce_sum(x**3), x)[0], tf.hessians([x**3, x**2], [x])[0]

    twice, hessian, of_sum = three_calls(second, tf.constant(x_value))
    np.testing.assert_array_equal(twice, [6.0, 12.0])
    np.testing.assert_array_equal(hessian, np.diag([6.0, 12.0]))
    np.testing.assert_array_equal(of_sum, np.diag([8.0, 14.0]))


def test_tapes_around_the_function_and_functions_inside_it() -> None:
    @tf.function
    def slope(x: Any) -> Any:
        return tf.gradients(x**3, x)[0]

    @tf.function
    def outer(x: Any) -> Any:
        return tf.gradients(slope(x) * x, x)[0]

    x = tf.constant(x_value)
    for _ in range(3):
        np.testing.assert_array_equal(gradient_in(x, lambda: slope(x)), [6.0, 12.0])
    np.testing.assert_array_equal(three_calls(outer, x), 9 * x_value**2)


def _through_a_helper(y: Any, x: Any) -> Any:
    return tf.gradients(y, x)[0]


@pytest.mark.parametrize("derivative", [lambda y, x: tf.gradients(y, x)[0], _through_a_helper])
def test_a_function_that_runs_as_python(derivative: Any) -> None:
    square = tf.function(lambda x: x * x)
    square(tf.constant(x_value))

    @tf.function(autograph=False)
    def absolute(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            return derivative(square(x) * x, x)
        return derivative(-x, x)

    np.testing.assert_array_equal(three_calls(absolute, tf.constant(x_value)), 3 * x_value**2)
    np.testing.assert_array_equal(three_calls(absolute, tf.constant(-x_value)), [-1.0, -1.0])
    assert "as Python" in absolute.explain()


def test_a_step_of_training() -> None:
    w = tf.Variable([1.0, 1.0])

    @tf.function
    def step(x: Any) -> Any:
        loss = tf.reduce_sum((w * x - 1.0) ** 2)
        w.assign_sub(0.1 * tf.gradients(loss, w)[0])
        return loss

    losses = [float(step(tf.constant(x_value))) for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 1e-4


@pytest.mark.parametrize("name", ["gradients", "hessians"])
def test_elsewhere_a_tape_is_needed(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"tf.{name} is not supported when eager"):
        getattr(tf, name)(tf.constant(1.0), tf.constant(1.0))
    with pytest.raises(RuntimeError, match="Inside of a"):
        getattr(tf, name)(tf.constant(1.0), tf.constant(1.0))
