"""``tf.function`` in graphs: inlined calls, whose effects have an order."""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.running import run


def _run(fetches: Any) -> Any:
    return run(fetches)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_gradients_lead_through_a_call_and_into_it() -> None:
    x = tf.constant(3.0)
    inside = tf.function(lambda: tf.gradients(x**2, x)[0])
    y = tf.function(lambda v: v * inside())(x)
    assert _run([y, tf.gradients(y, x)[0]]) == [18.0, 12.0]


def test_effects_happen_in_the_order_of_the_lines() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def changed() -> Any:
        v.assign(2.0)
        between = v.read_value()
        v.assign_add(3.0)
        return between, v.read_value()

    assert _run(changed()) == (2.0, 5.0)


def test_effects_of_branches_and_loops_happen_unasked() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def counted(n: Any) -> Any:
        total = 0.0
        for _ in tf.range(n):
            v.assign_add(1.0)
            total += v
        if n > 2:
            v.assign(100.0)
        return total

    y = counted(tf.constant(3))
    with tf.control_dependencies([y]):
        after = v.read_value()
    assert _run([y, after]) == [6.0, 100.0]


def test_a_call_that_returns_nothing_is_an_operation_with_the_effects() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def moved() -> None:
        v.assign_add(1.0)

    with tf.Session() as session:
        step = moved()
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v) == 1.0


def test_assertions_are_made() -> None:
    @tf.function
    def positive(x: Any) -> Any:
        tf.debugging.assert_greater(x, 0.0)
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(positive(tf.constant(-1.0)))


def test_signature_opens_shapes_and_is_checked() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def f(m: Any) -> Any:
        assert m.shape.ndims is None
        return tf.transpose(m)

    np.testing.assert_array_equal(_run(f([[1.0, 2.0]])), [[1.0], [2.0]])
    with pytest.raises(TypeError, match="by its input_signature"):
        f(tf.constant(1))
    with pytest.raises(TypeError, match="takes 1 arguments"):
        f()
    with pytest.raises(TypeError, match="input_signature must be either"):
        tf.function(lambda x: x, input_signature=1)


def test_methods_keep_their_variables() -> None:
    class Scaled:
        v: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(2.0)
            return {"y": self.v * x, "nothing": None}

    f = Scaled()
    found = [f(tf.constant(1.0)), f(np.float32(3.0))]
    assert _run([r["y"] for r in found]) == [2.0, 6.0]
    assert found[0]["nothing"] is None


def test_a_result_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="must return tensors"):
        tf.function(lambda: object())()
