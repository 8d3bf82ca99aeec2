"""Forms in which TensorFlow takes arguments and that legacy programs use."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
from engine.runtime.errors import UnimplementedError
from tests.graph_api.forms import FORMS, in_a_session, variable_that_grows
from tests.outputs import assert_agree, kept, plain


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_what_a_form_gives(form: Callable[[Any, Any], Any]) -> None:
    expected = kept("graph_api")[form.__name__]
    assert_agree(plain(in_a_session(graph_api, form)), expected, form.__name__, tolerance=1e-5)


def test_growing_gradient() -> None:
    """The derivative of a variable that grows, against differences."""

    def total(x: float, factor: float) -> float:
        y = np.array([x])
        for _ in range(3):
            y = np.concatenate([y, y * y * factor])
        return float(y.sum())

    _, by_x, by_factor = in_a_session(graph_api, variable_that_grows)
    step = 1e-6
    np.testing.assert_allclose(by_x, [(total(1 + step, 3) - total(1 - step, 3)) / 2 / step], rtol=1e-6)
    np.testing.assert_allclose(by_factor, (total(1, 3 + step) - total(1, 3 - step)) / 2 / step, rtol=1e-6)


def test_growing_twice() -> None:
    """There is no second derivative, and the message says so."""
    tf = graph_api
    x = tf.constant([1.0])
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.concat([y, y * y], 0)), (0, x), shapes)
    (g,) = tf.gradients(y, x)
    with pytest.raises(UnimplementedError, match="first derivatives only"):
        tf.gradients(g, x)


def test_python_function_twice() -> None:
    """A Python function has derivatives of any order; inside, functions compute at once."""
    tf = graph_api
    seen = []

    def f(a: Any, b: Any) -> Any:
        seen.append(float(tf.reduce_sum(a)))
        return a * tf.sin(b), tf.cast(b, tf.int32)

    a, b = tf.constant(2.0), tf.constant(0.5)
    y, n = tf.py_function(f, [a, b], [tf.float32, tf.int32])
    (by_b,) = tf.gradients(y, b)
    with tf.Session() as session:
        values = session.run([y, n, by_b, tf.gradients(by_b, b)[0], tf.gradients(by_b, a)[0]])
    np.testing.assert_allclose(values, [2 * np.sin(0.5), 0, 2 * np.cos(0.5), -2 * np.sin(0.5), np.cos(0.5)], rtol=1e-6)
    assert set(seen) == {2.0}
    with tf.Session() as session, pytest.raises(TypeError, match="`Tout` says int32"):
        session.run(tf.py_function(lambda x: x, [a], tf.int32))


def test_options() -> None:
    tf = graph_api
    with tf.Session() as session:
        metadata = tf.RunMetadata()
        assert session.run(tf.constant(1.0), options=tf.RunOptions(), run_metadata=metadata) == 1
        with pytest.warns(UserWarning, match="not traced"):
            session.run(tf.constant(1.0), options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
        with pytest.raises(UnimplementedError, match="timeout"):
            session.run(tf.constant(1.0), options=tf.RunOptions(timeout_in_ms=5))
        with pytest.raises(TypeError, match="RunOptions"):
            session.run(tf.constant(1.0), options={})
