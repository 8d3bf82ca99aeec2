"""TensorFlow 1's spellings of convolutions, pools and blocks, beside TensorFlow where it is installed."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api

ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "conv2d": lambda tf, x, w: tf.nn.conv2d(x, w, TWOS, "SAME", True, "NHWC"),
    "conv2d-filter": lambda tf, x, w: tf.nn.conv2d(x, filter=w, strides=ONES, padding="VALID", use_cudnn_on_gpu=False),
    "conv1d": lambda tf, x, w: tf.nn.conv1d(value=x[0], filters=w[0], stride=2, padding="SAME"),
    "conv3d": lambda tf, x, w: tf.nn.conv3d(x[None], w[None], [1, 1, 1, 2, 1], "SAME"),
    "convolution": lambda tf, x, w: tf.nn.convolution(x, w, "VALID", None, [1, 2]),
    "atrous_conv2d": lambda tf, x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"),
    "conv2d_transpose": lambda tf, x, w: tf.nn.conv2d_transpose(
        x, tf.transpose(w, [0, 1, 3, 2]), tf.stack([tf.shape(x)[0], 12, 16, 3]), TWOS
    ),
    "conv2d_backprop_input": lambda tf, x, w: tf.nn.conv2d_backprop_input(
        [2, 6, 8, 4], filter=w, out_backprop=tf.nn.conv2d(x, w, ONES, "SAME"), strides=ONES, padding="SAME"
    ),
    "conv2d_backprop_filter": lambda tf, x, w: tf.nn.conv2d_backprop_filter(
        x, [2, 3, 4, 3], tf.nn.conv2d(x, w, ONES, "SAME"), ONES, "SAME"
    ),
    "depthwise_conv2d": lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, ONES, "SAME", [1, 1]),
    "depthwise_conv2d_native": lambda tf, x, w: tf.nn.depthwise_conv2d_native(x, w, TWOS, "SAME"),
    "separable_conv2d": lambda tf, x, w: tf.nn.separable_conv2d(x, w, tf.ones([1, 1, 12, 2]), ONES, "SAME"),
    "max_pool": lambda tf, x, w: tf.nn.max_pool(value=x, ksize=TWOS, strides=TWOS, padding="SAME"),
    "max_pool2d": lambda tf, x, w: tf.nn.max_pool2d(x, 3, 2, "SAME"),
    "max_pool_with_argmax": lambda tf, x, w: tf.nn.max_pool_with_argmax(x, TWOS, TWOS, "VALID", "NHWC", tf.int64),
    "avg_pool": lambda tf, x, w: tf.nn.avg_pool(x, TWOS, ONES, "SAME"),
    "pool": lambda tf, x, w: tf.nn.pool(x, [2, 2], "AVG", "VALID", [1, 2]),
    "extract_image_patches": lambda tf, x, w: tf.extract_image_patches(x, TWOS, TWOS, ONES, "VALID"),
    "depth_to_space": lambda tf, x, w: tf.depth_to_space(x, 2),
    "space_to_depth": lambda tf, x, w: tf.space_to_depth(x, block_size=2),
    "space_to_batch": lambda tf, x, w: tf.space_to_batch(x, [[0, 0], [0, 0]], 2),
    "batch_to_space": lambda tf, x, w: tf.batch_to_space(tf.tile(x, [2, 1, 1, 1]), [[0, 0], [1, 0]], 2),
    "space_to_batch_nd": lambda tf, x, w: tf.space_to_batch_nd(x, [2, 4], [[0, 0], [0, 0]]),
}


def evaluated(tf: Any, call: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """The values, and the gradients of their sum of squares."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = (tf.constant(rng.normal(size=shape).astype(np.float32)) for shape in ((2, 6, 8, 4), (2, 3, 4, 3)))
        out = call(tf, x, w)
        first = out[0] if isinstance(out, tuple) else out
        gradients = [g for g in tf.gradients(first * first, [x, w]) if g is not None]
        return list(session.run([*(out if isinstance(out, tuple) else [out]), *gradients]))


@pytest.mark.peer
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_agrees_with_tensorflow(call: Callable[[Any, Any, Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluated(pytest.importorskip("tensorflow").compat.v1, call)
    for ours, theirs in zip(evaluated(graph_api, call), expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_static_shape_is_the_shape(call: Callable[[Any, Any, Any], Any]) -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float32, [2, 6, 8, 4])
        out = call(graph_api, x, graph_api.ones([2, 3, 4, 3]))
        first = out[0] if isinstance(out, tuple) else out
        assert first.shape.is_compatible_with(session.run(first, {x: np.ones((2, 6, 8, 4))}).shape)
