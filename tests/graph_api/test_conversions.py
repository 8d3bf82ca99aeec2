"""Classes of a program's own in place of tensors, and attributes of its own on what graphs consist of."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from graph_api.graphs.defaults import fetched_as
from graph_api.legacy.conversions import register_session_run_conversion_functions


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph
    fetched_as.clear()


def stochastic() -> Any:
    """As Edward writes them: a class that stands for a tensor, with its operators."""

    class Stochastic:
        def __init__(self, value: Any) -> None:
            self._value = value

        def value(self) -> Any:
            return self._value

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        operator = getattr(tf.Tensor, name)
        setattr(Stochastic, name, lambda a, *args, operator=operator: operator(a.value(), *args))
    tf.register_tensor_conversion_function(Stochastic, lambda s, dtype=None, name=None, as_ref=False: s.value())
    register_session_run_conversion_functions(
        Stochastic,
        fetch_function=lambda s: ([s.value()], lambda values: values[0]),
        feed_function=lambda s, fed: [(s.value(), fed)],
    )
    return Stochastic


def test_objects_that_become_tensors() -> None:
    kind = stochastic()
    x = kind(tf.placeholder_with_default([1.0, 2.0], [2]))
    y = tf.reduce_sum(tf.square(x) * x + 2.0 * x - x[0])
    (slope,) = tf.gradients(y, x.value())
    with tf.Session() as sess:
        assert sess.run(y) == 13.0
        assert sess.run(tf.constant([1.0, 1.0]) + x).tolist() == [2.0, 3.0]
        assert sess.run(x).tolist() == [1.0, 2.0]
        got = sess.run({"x": x, "both": [x, y], "slope": slope})
        assert got["x"].tolist() == got["both"][0].tolist() == [1.0, 2.0] and got["both"][1] == 13.0
        assert sess.run([y, slope], {x: [0.0, 1.0]})[1].tolist() == [0.0, 5.0]


def test_conversion_functions_in_their_order() -> None:
    class Own:
        pass

    def tell(what: Any) -> Any:
        return lambda value, dtype=None, name=None, as_ref=False: what

    tf.register_tensor_conversion_function(Own, tell(3.0))
    tf.register_tensor_conversion_function(Own, tell(NotImplemented), priority=1)
    tf.register_tensor_conversion_function(Own, lambda *_, **__: tf.constant(5.0), priority=50)
    assert tf.Session().run(tf.identity(Own())) == 5.0


@pytest.mark.parametrize(
    ("kind", "function", "said"),
    [(int, len, "fixed"), (np.ndarray, len, "fixed"), (3, len, "must be a class"), (int, 3, "must be callable")],
)
def test_what_cannot_be_registered(kind: Any, function: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        tf.register_tensor_conversion_function(kind, function)


def test_a_class_is_fetched_in_one_way() -> None:
    kind = stochastic()
    with pytest.raises(ValueError, match="already been registered"):
        register_session_run_conversion_functions(kind, lambda x: x)

    class Unfed:
        pass

    register_session_run_conversion_functions(Unfed, lambda _: ([tf.constant(1.0)], lambda values: values))
    with tf.Session() as sess, pytest.raises(TypeError, match="without a `feed_function`"):
        sess.run(tf.constant(2.0), {Unfed(): 3.0})


def test_attributes_of_a_programs_own() -> None:
    v, x = tf.Variable(1.0), tf.constant(2.0)
    for thing in (v, x, x.op):
        thing.lr_scale = 0.5
        assert thing.lr_scale == 0.5
    assert tf.trainable_variables()[0].lr_scale == 0.5


def test_names_that_programs_ask_for() -> None:
    v = tf.Variable(1.0)
    average = tf.train.ExponentialMovingAverage(0.9)
    average.apply([v])
    assert tf.moving_average_variables() == [v]
    assert tf.losses.Reduction.SUM_OVER_NONZERO_WEIGHTS == tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS
    rows = [[1.0, 2.0, 4.0]], [[2.0, 2.0, 2.0]]
    loss = tf.losses.mean_pairwise_squared_error(*map(tf.constant, rows))
    spread = tf.losses.cosine_distance(*map(tf.constant, rows), dim=1)
    x = tf.constant(3.0)
    again = tf.contrib.layers.recompute_grad(lambda x: x * x * v)(x)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        # ((2 - 1) - 0) ** 2 and its like, each pair twice, over 3 * 2 ordered pairs
        assert sess.run(loss) == pytest.approx(2 * (1 + 4 + 9) / 6)
        assert sess.run(spread) == pytest.approx(1 - 14.0)
        assert sess.run(tf.parallel_stack([x, 2.0 * x])).tolist() == [3.0, 6.0]
        assert sess.run(tf.gradients(again, [x, v])) == [6.0, 9.0]
    assert tf.losses.get_losses() == [loss, spread]
