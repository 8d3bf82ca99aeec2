"""``tf.contrib``: layers, slim and framework, compared with the same built from ``tf.layers`` and ops.

``tf.contrib`` is no part of TensorFlow 2, so there is nothing to compare with but what it was made of.
"""

from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.running import run

RNG = np.random.default_rng(0)
LAYERS, SLIM = tf.contrib.layers, tf.contrib.slim


def names(variables: Any) -> list[str]:
    return [v.name for v in variables]


def test_fully_connected() -> None:
    x = tf.constant(RNG.normal(size=(2, 3)), tf.float32)
    with tf.variable_scope("net"):
        h = LAYERS.fully_connected(x, 4, weights_regularizer=LAYERS.l2_regularizer(0.5))
        y = LAYERS.fully_connected(h, 1, activation_fn=None, biases_initializer=None, scope="out")
    assert names(tf.trainable_variables()) == [
        "net/fully_connected/weights:0", "net/fully_connected/biases:0", "net/out/weights:0",
    ]  # fmt: skip
    assert names(tf.contrib.framework.get_model_variables("net/out")) == ["net/out/weights:0"]
    assert h.name == "net/fully_connected/Relu:0" and y.name == "net/out/MatMul:0"
    w, b, v = tf.trainable_variables()
    expected = tf.matmul(tf.nn.relu(tf.matmul(x, w) + b), v)
    (penalty,) = tf.losses.get_regularization_losses()
    found, wanted, p, q = run([y, expected, penalty, 0.5 * tf.nn.l2_loss(w)])
    np.testing.assert_array_equal(found, wanted)
    assert p == q


def test_convolutions_and_pools() -> None:
    im = tf.constant(RNG.normal(size=(2, 8, 8, 3)), tf.float32)
    a = LAYERS.conv2d(im, 4, [3, 3], stride=2, normalizer_fn=LAYERS.batch_norm, scope="c")
    b = LAYERS.conv2d_transpose(LAYERS.max_pool2d(a, 2), 5, 3, stride=2)
    unknown = tf.placeholder(tf.float32, [None, 4, 4, 3])
    assert tf.nn.conv2d_transpose(unknown, im[0, :3, :3, None], [2, 8, 8, 1], [1, 2, 2, 1]).shape == (2, 8, 8, 1)
    chances = LAYERS.softmax(tf.constant([[[0.0, 0.0], [1.0, 1.0]]]), scope="chances")
    assert chances.op.name.startswith("chances/")
    np.testing.assert_array_equal(*run([chances, tf.fill([1, 2, 2], 0.5)]))
    c = LAYERS.flatten(LAYERS.avg_pool2d(LAYERS.separable_conv2d(b, 2, 3), [2, 2]))
    assert names(tf.trainable_variables()) == [
        "c/weights:0", "c/BatchNorm/beta:0", "Conv2d_transpose/weights:0", "Conv2d_transpose/biases:0",
        "SeparableConv2d/depthwise_weights:0", "SeparableConv2d/pointwise_weights:0", "SeparableConv2d/biases:0",
    ]  # fmt: skip
    assert c.shape.as_list() == [2, 8] and len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    w, beta = tf.trainable_variables()[:2]
    plain = tf.nn.conv2d(im, w, [1, 2, 2, 1], "SAME")
    mean, variance = tf.nn.moments(plain, [0, 1, 2])
    expected = tf.nn.relu(tf.nn.batch_normalization(plain, mean, variance, beta, None, 1e-3))
    found, wanted = run([a, expected])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="expects input with rank 4"):
        LAYERS.conv2d(tf.zeros([2, 3]), 4, 3)


def test_updates_of_batch_norm_in_place() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = LAYERS.batch_norm(x, decay=0.5, updates_collections=None)
    still = LAYERS.batch_norm(x, is_training=False, reuse=True, scope="BatchNorm")
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    data = np.array([[0.0, 2.0], [4.0, 6.0]], np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y, {x: data})
        mean, variance = session.run(tf.contrib.framework.get_variables(suffix="moving_mean")), 2.5
        np.testing.assert_allclose(mean[0], [1, 2])
        np.testing.assert_allclose(session.run(still, {x: data}), (data - [1, 2]) / np.sqrt(variance + 1e-3), rtol=1e-5)


def test_layer_norm_against_numpy() -> None:
    data = RNG.normal(size=(3, 4, 5))
    y = LAYERS.layer_norm(tf.constant(data))
    assert names(tf.trainable_variables()) == ["LayerNorm/beta:0", "LayerNorm/gamma:0"]
    flat = data.reshape(3, -1)
    expected = (flat - flat.mean(1, keepdims=True)) / flat.std(1, keepdims=True)
    np.testing.assert_allclose(run(y), expected.reshape(data.shape), rtol=1e-6)


def test_stack_repeat_and_embeddings() -> None:
    x = tf.ones([2, 3])
    LAYERS.stack(x, LAYERS.fully_connected, [4, 5], scope="fc")
    LAYERS.repeat(x, 2, LAYERS.fully_connected, 3)
    ids = tf.constant([[0, 2]])
    rows = LAYERS.embed_sequence(ids, 3, 4)
    assert names(tf.trainable_variables()) == [
        "fc/fc_1/weights:0", "fc/fc_1/biases:0", "fc/fc_2/weights:0", "fc/fc_2/biases:0",
        "Repeat/fully_connected_1/weights:0", "Repeat/fully_connected_1/biases:0",
        "Repeat/fully_connected_2/weights:0", "Repeat/fully_connected_2/biases:0", "EmbedSequence/embeddings:0",
    ]  # fmt: skip
    found, table, hot = run([rows, tf.trainable_variables()[-1], LAYERS.one_hot_encoding([1], 3)])
    np.testing.assert_array_equal(found[0], table[[0, 2]])
    np.testing.assert_array_equal(hot, [[0, 1, 0]])


def test_initial_values() -> None:
    def spread(make: Any) -> tuple[float, float]:
        x = run(make([300, 400]))
        return float(x.std()), float(abs(x).max())

    assert spread(LAYERS.xavier_initializer()) == pytest.approx((np.sqrt(2 / 700), np.sqrt(6 / 700)), rel=0.01)
    normal = spread(LAYERS.variance_scaling_initializer())
    assert normal[0] == pytest.approx(np.sqrt(2.6 / 300) * 0.8796, rel=0.01) and normal[1] < 2 * np.sqrt(2.6 / 300)
    with pytest.raises(TypeError, match="Unknown mode"):
        LAYERS.variance_scaling_initializer(mode="fan_in")


def test_penalties() -> None:
    w = tf.Variable([3.0, -4.0])
    both = LAYERS.l1_l2_regularizer(0.5, 2.0)
    total = LAYERS.apply_regularization(LAYERS.l2_regularizer(1.0), [w, w])
    assert run([LAYERS.l1_regularizer(0.5)(w), both(w), total]) == [3.5, 28.5, 25.0]
    assert tf.losses.get_regularization_losses() == [total] and LAYERS.l1_regularizer(0.0)(w) is None
    for scale, message in ((1, "cannot be an integer"), (-1.0, "less than 0")):
        with pytest.raises(ValueError, match=message):
            LAYERS.l2_regularizer(scale)


def test_arg_scope_gives_defaults() -> None:
    x = tf.ones([1, 8, 8, 1])
    with SLIM.arg_scope([SLIM.conv2d, SLIM.fully_connected], activation_fn=tf.nn.tanh, biases_initializer=None):
        with SLIM.arg_scope([SLIM.conv2d], padding="VALID") as inner:
            y = SLIM.conv2d(x, 2, 3)
        z = SLIM.fully_connected(SLIM.flatten(y), 3)
        plain = SLIM.conv2d(x, 2, 3, activation_fn=None)
    assert y.op.type == z.op.type == "Tanh" and y.shape.as_list() == [1, 6, 6, 2] and plain.op.type == "Conv2D"
    assert len(tf.trainable_variables()) == 3
    with SLIM.arg_scope(inner):
        assert SLIM.conv2d(x, 2, 3).shape.as_list() == [1, 6, 6, 2]
    assert SLIM.conv2d(x, 2, 3).op.type == "Relu"
    with pytest.raises(ValueError, match="is not decorated with @add_arg_scope"), SLIM.arg_scope([tf.nn.relu], a=1):
        pass
    assert "activation_fn" in SLIM.arg_scoped_arguments(SLIM.fully_connected)


def test_variables_of_models() -> None:
    framework = tf.contrib.framework
    with tf.variable_scope("a"):
        w = framework.model_variable("w", [2], initializer=tf.zeros_initializer())
        framework.variable("v", [1], collections=["mine"])
    framework.local_variable(1.0, name="l")
    assert names(framework.get_variables("a")) == ["a/w:0", "a/v:0"] and framework.get_model_variables() == [w]
    assert names(tf.get_collection("mine")) == ["a/v:0"] and names(framework.get_local_variables()) == ["l:0"]
    assert framework.get_variables_by_name("w") == [w] and framework.get_unique_variable("a/w") is w
    assert names(framework.get_variables_to_restore(exclude=["a/v"])) == ["a/w:0"]
    assert framework.filter_variables(framework.get_variables(), ["w$"]) == [w]
    set_values = framework.assign_from_values_fn({"a/w": [3.0, 4.0]})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        set_values(session)
        np.testing.assert_array_equal(session.run(w), [3.0, 4.0])
    with pytest.raises(ValueError, match=r"variable a/w has shape \(2,\), the value \(3,\)"):
        framework.assign_from_values({"a/w": [1.0, 2.0, 3.0]})


def test_losses_of_slim_have_predictions_first() -> None:
    logits, labels = tf.constant([[1.0, 2.0]]), tf.constant([[0.0, 1.0]])
    a = SLIM.losses.softmax_cross_entropy(logits, labels)
    b = tf.losses.softmax_cross_entropy(labels, logits)
    found = run([a, b, SLIM.losses.get_total_loss()])
    assert found[0] == found[1] and found[2] == pytest.approx(2 * found[0])


def test_summaries_of_activations() -> None:
    y = LAYERS.fully_connected(tf.ones([2, 3]), 4)
    LAYERS.summarize_activation(y)
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 2
    assert len(run(tf.summary.merge_all())) > 100
