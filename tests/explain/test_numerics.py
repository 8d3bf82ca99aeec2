"""Checks that numbers are finite name op and line, forwards and backwards."""

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import graph_api
import tape_api as tf
from engine.core.tape import active
from engine.runtime.errors import InvalidArgumentError


@pytest.fixture
def _checking() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()
    assert active.tapes == ()


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.mark.usefixtures("_checking")
def test_every_op_is_looked_at_forwards() -> None:
    x = tf.constant([4.0, 0.0])
    y = tf.sqrt(x)
    here = line() + 2
    with pytest.raises(InvalidArgumentError) as error:
        1.0 / y
    assert f"test_numerics.py, line {here}) : Tensor had Inf values, the first Inf at (1,)" in str(error.value)
    assert str(error.value).startswith(("divide (", "reciprocal ("))


@pytest.mark.usefixtures("_checking")
def test_the_op_whose_gradient_it_is_is_named_with_its_line() -> None:
    v = tf.Variable([0.0, 4.0])
    with tf.GradientTape() as tape:
        here = line() + 1
        root = tf.sqrt(v)
        y = tf.reduce_sum(root)
    with pytest.raises(InvalidArgumentError, match="Tensor had Inf values") as error:
        tape.gradient(y, v)
    assert f"in the gradient of sqrt, tests/explain/test_numerics.py, line {here} (asked for at " in str(error.value)


@pytest.mark.usefixtures("_checking")
def test_ops_without_derivative_and_calls_twice() -> None:
    tf.debugging.enable_check_numerics()
    x = tf.constant([1.0, np.inf])
    with pytest.raises(InvalidArgumentError, match=r"^floor \("):
        tf.floor(x)
    with pytest.raises(InvalidArgumentError, match=r"^matmul \(.*operand|^matmul \("):
        tf.matmul(tf.ones([2, 2]), tf.constant([[np.nan, 0.0], [0.0, 0.0]]))


def test_afterwards_nothing_is_looked_at() -> None:
    assert np.isnan(tf.math.log(tf.constant(-1.0)).numpy())


def test_one_tensor_and_its_gradient() -> None:
    x = tf.constant([0.0, 1.0])
    for _ in range(4):  # the last ones by a compiled walk
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sqrt(tf.debugging.check_numerics(x, "here"))
        with pytest.raises(InvalidArgumentError, match=r"detected in gradient. here : Tensor had Inf values"):
            tape.gradient(y, x)


def test_one_tensor_of_a_graph_and_its_gradient() -> None:
    g = graph_api
    with g.Graph().as_default(), g.Session() as session:
        x = g.placeholder(g.float32, [2])
        checked = g.check_numerics(x, "here")
        gradient = g.gradients(g.sqrt(checked), x)[0]
        assert checked.op.type == "CheckNumerics"
        with pytest.raises(InvalidArgumentError, match="here : Tensor had NaN values"):
            session.run(checked, {x: [np.nan, 0.0]})
        with pytest.raises(InvalidArgumentError, match=r"detected in gradient. here : Tensor had Inf"):
            session.run(gradient, {x: [0.0, 1.0]})
        assert session.run(gradient, {x: [1.0, 4.0]}).tolist() == [0.5, 0.25]
        assert g.verify_tensor_all_finite(x, "m").op.type == "CheckNumerics"
        with pytest.raises(ValueError, match="must be given"):
            g.verify_tensor_all_finite(x)


def test_all_tensors_of_a_graph() -> None:
    g = graph_api
    with g.Graph().as_default(), g.Session() as session:
        v = g.Variable([1.0, 2.0])
        x = g.placeholder(g.float32, [2])
        here = line() + 1
        logs = g.log(x, name="logs")
        g.reduce_sum(logs * v)
        v.assign([0.0, 0.0])
        check = g.add_check_numerics_ops()
        session.run(g.global_variables_initializer())
        session.run(check, {x: [1.0, 2.0]})
        assert session.run(v).tolist() == [1.0, 2.0], "checking must not assign"
        with pytest.raises(InvalidArgumentError) as error:
            session.run(check, {x: [1.0, -1.0]})
    assert str(error.value).startswith("logs:0 (")
    assert f"test_numerics.py, line {here}) : Tensor had NaN values, the first NaN at (1,)" in str(error.value)
