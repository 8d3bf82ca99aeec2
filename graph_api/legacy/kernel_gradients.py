"""``tensorflow.python.ops.gen_nn_ops`` and ``gen_math_ops``: the gradients of kernels, for registered gradients."""

from __future__ import annotations

from typing import Any

import graph_api as tf
from engine.core.operands import Operand
from engine.ops.nn import SELU_SCALE, SELU_SCALE_ALPHA
from graph_api.derivatives.gradients import gradients as _gradients


def relu_grad(gradients: Any, features: Any, name: str | None = None) -> Operand:
    """The gradient of `relu`; `features` may be its inputs or its outputs.

    Examples
    --------
    >>> import graph_api as tf
    >>> tf.Session().run(relu_grad(tf.constant([5.0, 6.0]), tf.constant([-1.0, 2.0])))
    array([0., 6.], dtype=float32)
    """
    return tf.where_v2(features > 0, gradients, tf.zeros_like(gradients), name=name)


def relu6_grad(gradients: Any, features: Any, name: str | None = None) -> Operand:
    """The gradient of `relu6`; `features` may be its inputs or its outputs."""
    inside = tf.logical_and(features > 0, features < 6)
    return tf.where_v2(inside, gradients, tf.zeros_like(gradients), name=name)


def leaky_relu_grad(gradients: Any, features: Any, alpha: float = 0.2, name: str | None = None) -> Operand:
    """The gradient of `leaky_relu`."""
    return tf.where_v2(features > 0, gradients, alpha * gradients, name=name)


def elu_grad(gradients: Any, outputs: Any, name: str | None = None) -> Operand:
    """The gradient of `elu`, by its outputs."""
    return tf.where_v2(outputs < 0, (outputs + 1) * gradients, gradients, name=name)


def selu_grad(gradients: Any, outputs: Any, name: str | None = None) -> Operand:
    """The gradient of `selu`, by its outputs."""
    below = (outputs + SELU_SCALE_ALPHA) * gradients
    return tf.where_v2(outputs < 0, below, SELU_SCALE * gradients, name=name)


def softplus_grad(gradients: Any, features: Any, name: str | None = None) -> Operand:
    """The gradient of `softplus`."""
    return tf.multiply(gradients, tf.sigmoid(features), name=name)


def softsign_grad(gradients: Any, features: Any, name: str | None = None) -> Operand:
    """The gradient of `softsign`."""
    return tf.divide(gradients, tf.square(1 + tf.abs(features)), name=name)


def sigmoid_grad(y: Any, dy: Any, name: str | None = None) -> Operand:
    """The gradient of `sigmoid`, by its outputs."""
    return tf.multiply(dy, y * (1 - y), name=name)


def tanh_grad(y: Any, dy: Any, name: str | None = None) -> Operand:
    """The gradient of `tanh`, by its outputs."""
    return tf.multiply(dy, 1 - y * y, name=name)


def sqrt_grad(y: Any, dy: Any, name: str | None = None) -> Operand:
    """The gradient of `sqrt`, by its outputs."""
    return tf.divide(dy * 0.5, y, name=name)


def rsqrt_grad(y: Any, dy: Any, name: str | None = None) -> Operand:
    """The gradient of `rsqrt`, by its outputs."""
    return tf.multiply(dy * -0.5, y * y * y, name=name)


def reciprocal_grad(y: Any, dy: Any, name: str | None = None) -> Operand:
    """The gradient of `reciprocal`, by its outputs."""
    return tf.multiply(-dy, y * y, name=name)


def bias_add_grad(out_backprop: Any, data_format: str = "NHWC", name: str | None = None) -> Operand:
    """The gradient of `bias_add` by the bias."""
    axes = list(range(len(tf.convert_to_tensor(out_backprop).shape.as_list())))
    del axes[1 if data_format == "NCHW" else -1]
    return tf.reduce_sum(out_backprop, axis=axes, name=name)


def max_pool_grad(
    orig_input: Any,
    orig_output: Any,
    grad: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    explicit_paddings: Any = (),
    data_format: str = "NHWC",
    name: str | None = None,
) -> Operand:
    """The gradient of `max_pool` by its input; `orig_output` is computed again."""
    window = list(explicit_paddings) if padding == "EXPLICIT" else padding
    pooled = tf.nn.max_pool(orig_input, ksize, strides, window, data_format)
    return tf.identity(_gradients(pooled, orig_input, grad)[0], name=name)


def avg_pool_grad(
    orig_input_shape: Any,
    grad: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Operand:
    """The gradient of `avg_pool` by its input, which it does not depend on."""
    images = tf.zeros(orig_input_shape, tf.convert_to_tensor(grad).dtype)
    pooled = tf.nn.avg_pool(images, ksize, strides, padding, data_format)
    return tf.identity(_gradients(pooled, images, grad)[0], name=name)


inv_grad = reciprocal_grad
