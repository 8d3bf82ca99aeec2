"""TensorFlow 1's eager mode: gradients of functions, iterators, networks, layers. Figures are TensorFlow's."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf

tfe = tf.contrib.eager


def lists(x: Any) -> Any:
    return [None if g is None else g.numpy().tolist() for g in x]


def test_gradients_by_the_variables_that_are_read() -> None:
    w, b, n = tf.Variable(3.0), tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    value, pairs = tfe.implicit_value_and_gradients(lambda x: w * x * n + b)(2.0)
    assert (
        value.numpy() == 13.0
        and lists([g for g, _ in pairs]) == [4.0, 1.0]
        and [v is w for _, v in pairs] == [True, False]
    )
    both = tfe.implicit_gradients(lambda x: (w * x, b * 2.0))(2.0)
    assert lists([g for g, _ in both]) == [2.0, 2.0]
    assert [v is b for _, v in tfe.implicit_gradients(lambda x: tf.stop_gradient(w) * x + b)(2.0)] == [True]
    tf.train.GradientDescentOptimizer(0.1).apply_gradients(both)
    assert round(float(w), 6) == 2.8
    with pytest.raises(ValueError, match="No trainable variables were accessed"):
        tfe.implicit_gradients(lambda x: x)(2.0)
    with pytest.raises(ValueError, match="Cannot differentiate a function that returns None"):
        tfe.implicit_gradients(lambda x: None)(2.0)


def test_gradients_by_arguments() -> None:
    def g(x: Any, y: Any) -> Any:
        return x * x * y

    value, gradients = tfe.value_and_gradients_function(g)(2.0, 3.0)
    assert value.numpy() == 12.0 and lists(gradients) == [12.0, 4.0]
    assert lists(tfe.gradients_function(g, params=[1])(2.0, 3.0)) == [4.0]
    assert lists(tfe.gradients_function(g, params=["y"])(2.0, 3.0)) == [4.0]
    assert lists(tfe.gradients_function(g)(2.0, 3.0, dy=10.0)) == [120.0, 40.0]
    assert lists(tfe.gradients_function(lambda x, y: x)(2.0, 3.0)) == [1.0, None]
    assert lists(tfe.gradients_function(lambda x: tfe.gradients_function(lambda y: y**3)(x)[0])(2.0)) == [12.0]
    assert lists(tfe.gradients_function(lambda v: v * v)(tf.Variable(3.0))) == [6.0]
    with pytest.raises(ValueError, match="there is no parameter 'z'"):
        tfe.gradients_function(g, params=["z"])(2.0, 3.0)
    with pytest.raises(ValueError, match="cannot receive keyword arguments"):
        tfe.gradients_function(g)(2.0, y=3.0)


def test_iterators_and_networks() -> None:
    iterator = tfe.Iterator(tf.data.Dataset.range(3))
    assert iterator.next().numpy() == 0 and [int(x) for x in iterator] == [1, 2]
    with pytest.raises(TypeError, match=r"must be a tf\.data\.Dataset"):
        tfe.Iterator([1])

    class Net(tfe.Network):
        def __init__(self) -> None:
            super().__init__(name="net")
            for units in (3, 1):
                self.track_layer(tf.layers.Dense(units, activation=tf.nn.relu))

        def call(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    assert net(tf.ones([2, 4])).shape == (2, 1) and len(net.variables) == 4
    with pytest.raises(TypeError, match=r"not a tf\.layers\.Layer"):
        net.track_layer(tf.nn.relu)
    assert tfe.Sequential([lambda x: x * 2.0])(tf.ones([1])).numpy() == [2.0]


def test_layers_of_that_time() -> None:
    x = tf.ones([1, 8, 8, 3])
    assert tf.layers.conv2d(x, 4, 3, 1, "valid", "channels_last", 1, tf.nn.relu).numpy().min() >= 0
    assert tf.layers.conv2d_transpose(x, 4, 3, strides=2, padding="same").shape == (1, 16, 16, 4)
    assert tf.layers.max_pooling2d(x, 2, 2).shape == (1, 4, 4, 3) and tf.layers.flatten(x).shape == (1, 192)
    np.testing.assert_array_equal(tf.layers.dropout(x, 0.5), x)
    assert (np.asarray(tf.layers.dropout(x, 0.5, training=True)) == 0).any()
    layer = tf.compat.v1.layers.Dense(2, kernel_initializer="ones")
    assert layer(tf.ones([1, 3])).numpy().tolist() == [[3.0, 3.0]] and tf.layers.dense(tf.ones([1, 3]), 2).shape == (
        1,
        2,
    )
    with pytest.raises(ValueError, match="argument `reuse` is not supported in eager mode"):
        tf.layers.dense(tf.ones([1, 3]), 2, reuse=True)


def test_products_with_jacobians() -> None:
    from tape_api.legacy.contrib_eager import make_vjp

    value, vjp = make_vjp(lambda x, y: x * x * y, params=["x"])(tf.constant(3.0), 2.0)
    assert value.numpy() == 18.0
    assert [[g.numpy() for g in vjp(dy)] for dy in (None, 2.0)] == [[12.0], [24.0]]


def test_shapes_and_dtypes_of_a_concrete_function() -> None:
    concrete = tf.function(lambda x: {"a": x, "b": tf.argmax(x)}).get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete.output_dtypes == {"a": tf.float32, "b": tf.int64}
    assert {name: s.as_list() for name, s in concrete.output_shapes.items()} == {"a": [2], "b": []}
