"""The gradients of kernels by their own names, against those that `gradients` makes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from dualgrad.migrate.hook import find
from graph_api.legacy import kernel_gradients as kernels

X = np.array([[-3.0, -0.5, 0.25, 2.0, 7.0]], np.float32)


@pytest.mark.parametrize(
    ("function", "gradient", "by_outputs"),
    [
        (tf.nn.relu, kernels.relu_grad, False),
        (tf.nn.relu, kernels.relu_grad, True),
        (tf.nn.relu6, kernels.relu6_grad, False),
        (tf.nn.leaky_relu, kernels.leaky_relu_grad, False),
        (tf.nn.elu, kernels.elu_grad, True),
        (tf.nn.selu, kernels.selu_grad, True),
        (tf.nn.softplus, kernels.softplus_grad, False),
        (tf.nn.softsign, kernels.softsign_grad, False),
    ],
)
def test_gradients_of_activations(function: Callable[..., Any], gradient: Callable[..., Any], by_outputs: bool) -> None:
    x, g = tf.constant(X), tf.constant(X * 0.5 + 3.0)
    y = function(x)
    got, expected = tf.Session().run([gradient(g, y if by_outputs else x), tf.gradients(y, x, g)[0]])
    np.testing.assert_allclose(got, expected, rtol=2e-6)


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (tf.sigmoid, kernels.sigmoid_grad),
        (tf.tanh, kernels.tanh_grad),
        (tf.sqrt, kernels.sqrt_grad),
        (tf.rsqrt, kernels.rsqrt_grad),
        (tf.reciprocal, kernels.inv_grad),
    ],
)
def test_gradients_of_functions_by_their_values(function: Callable[..., Any], gradient: Callable[..., Any]) -> None:
    x, g = tf.constant(np.abs(X)), tf.constant(X * 0.5 + 3.0)
    y = function(x)
    got, expected = tf.Session().run([gradient(y, g), tf.gradients(y, x, g)[0]])
    # a value near 1 has lost digits of 1 less the value, and the argument is not known to these gradients
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=5e-7)


def test_gradients_of_pools_and_biases() -> None:
    images = np.random.RandomState(0).randn(2, 4, 4, 3).astype(np.float32)
    x, b = tf.constant(images), tf.zeros([3])
    y, z, biased = tf.nn.max_pool(x, 2, 2, "VALID"), tf.nn.avg_pool(x, 2, 2, "SAME"), tf.nn.bias_add(x, b)
    g = tf.constant(images[:, :2, :2] + 1.0)
    pairs = [
        (kernels.max_pool_grad(x, y, g, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), tf.gradients(y, x, g)[0]),
        (kernels.avg_pool_grad(x.shape.as_list(), g, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), tf.gradients(z, x, g)[0]),
        (kernels.bias_add_grad(x), tf.gradients(biased, b, x)[0]),
    ]
    for got, expected in tf.Session().run(pairs):
        np.testing.assert_array_equal(got, expected)


def test_registered_gradients_may_use_them() -> None:
    @tf.RegisterGradient("KernelsGuided")
    def guided(op: Any, grad: Any) -> Any:
        return tf.where(grad > 0, kernels.relu_grad(grad, op.outputs[0]), tf.zeros_like(grad))

    x = tf.constant(X)
    with tf.get_default_graph().gradient_override_map({"Relu": "KernelsGuided"}):
        y = tf.nn.relu(x)
    g = tf.constant([[1.0, 1.0, -1.0, 1.0, 1.0]])
    assert tf.Session().run(tf.gradients(y, x, g)[0]).tolist() == [[0.0, 0.0, 0.0, 1.0, 1.0]]


def test_old_names_of_generated_modules() -> None:
    """Until TensorFlow 1.7 they began with an underscore."""
    from dualgrad.migrate.hook import find

    module = find("python.ops.gen_nn_ops", "1")
    for name in ("relu_grad", "max_pool_grad", "avg_pool_grad", "max_pool"):
        assert f"_{name}" in dir(module)
        assert getattr(module, f"_{name}") is getattr(module, name)
    assert "_relu" not in dir(find("python.ops.nn_ops", "1"))


def test_registered_gradients_by_the_types_of_operations() -> None:
    nn_grad, math_grad = find("python.ops.nn_grad", "1"), find("python.ops.math_grad", "1")
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant([[-1.0, 2.0]]), tf.constant([[3.0], [4.0]])
        product, rectified = tf.matmul(x, w), tf.nn.relu(x)
        of_x, of_w = math_grad._MatMulGrad(product.op, tf.ones([1, 1]))
        of_relu = nn_grad._ReluGrad(rectified.op, 5 * tf.ones([1, 2]))
        values = session.run([of_x, of_w, of_relu])
        with pytest.raises(ValueError, match="must be of type Tanh, got Relu"):
            nn_grad._TanhGrad(rectified.op, x)
    assert [v.tolist() for v in values] == [[[3, 4]], [[-1], [2]], [[0, 5]]]
    with pytest.raises(AttributeError, match="NothingGrad"):
        _ = nn_grad._NothingGrad
