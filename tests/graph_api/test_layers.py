"""``tf.layers``: names, sharing and collections; the same numbers as in TensorFlow."""

import base64
import pickle
from typing import Any

import numpy as np
import pytest

import graph_api as tf
from tests.graph_api.layer_programs import PROGRAMS
from tests.graph_api.running import run
from tests.processes import printed


@pytest.fixture(scope="module")
def theirs() -> Any:
    """What the programs give with real TensorFlow."""
    pytest.importorskip("tf_keras")
    told = printed("-W", "ignore", "-m", "tests.graph_api.layer_programs")
    (line,) = [line for line in told.splitlines() if line.startswith("result:")]
    return pickle.loads(base64.b64decode(line.removeprefix("result:")))


@pytest.mark.peer
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_tensorflow(name: str, theirs: Any) -> None:
    ours, expected = PROGRAMS[name](tf), theirs[name]
    found, wanted = ours.pop("numbers"), expected.pop("numbers")
    assert ours == expected
    assert len(found) == len(wanted)
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5 * max(1, abs(b).max(initial=0)), err_msg=f"number {i}")


def names(variables: Any) -> list[str]:
    return [v.name for v in variables]


def test_variables_are_named_as_in_tensorflow() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.variable_scope("net"):
        h = tf.layers.dense(x, 4)
        y = tf.layers.dense(h, 1, name="value")
    z = tf.layers.dense(h, 2, use_bias=False)
    assert names(tf.global_variables()) == [
        "net/dense/kernel:0", "net/dense/bias:0", "net/value/kernel:0", "net/value/bias:0", "dense/kernel:0",
    ]  # fmt: skip
    assert (y.name, z.name) == ("net/value/BiasAdd:0", "dense/MatMul:0")
    assert tf.get_default_graph().get_tensor_by_name("net/dense/BiasAdd:0") is h


def test_sharing() -> None:
    x = tf.ones([2, 3])
    first = tf.layers.dense(x, 4, name="shared")
    second = tf.layers.dense(x, 4, name="shared", reuse=True)
    with tf.variable_scope("a"):
        tf.layers.dense(x, 2)
    with tf.variable_scope("a", reuse=True):
        tf.layers.dense(x, 2)
    assert len(tf.global_variables()) == 4
    a, b = run([first, second])
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"Variable shared/kernel already exists, disallowed"):
        tf.layers.dense(x, 4, name="shared")
    with pytest.raises(ValueError, match=r"Variable new/kernel does not exist"):
        tf.layers.dense(x, 4, name="new", reuse=True)
    with pytest.raises(ValueError, match=r"specified shape \(3, 5\) and found shape \(3, 4\)"):
        tf.layers.dense(x, 5, name="shared", reuse=tf.AUTO_REUSE)


def test_a_layer_shares_its_variables_with_itself() -> None:
    layer = tf.layers.Dense(2)
    with pytest.raises(ValueError, match="has not been used yet"):
        _ = layer.scope_name
    layer(tf.ones([1, 3]))
    layer(tf.ones([5, 3]))
    assert names(layer.trainable_weights) == ["dense/kernel:0", "dense/bias:0"] and layer.scope_name == "dense"
    assert len(tf.global_variables()) == 2


def test_a_layer_of_a_users_own() -> None:
    class Affine(tf.layers.Layer):  # type: ignore[misc, name-defined]
        def build(self, input_shape: Any) -> None:
            self.w = self.add_variable("w", shape=[int(input_shape[-1]), 2], initializer=tf.ones_initializer())
            self.built = True

        def call(self, inputs: Any) -> Any:
            return tf.matmul(inputs, self.w) + tf.get_variable("b", [2], initializer=tf.ones_initializer())

    y = Affine()(tf.ones([1, 3]))
    assert names(tf.global_variables()) == ["affine/w:0", "affine/b:0"]
    np.testing.assert_array_equal(run(y), [[4.0, 4.0]])


def test_batch_normalization_moves_its_averages_by_update_ops() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    training = tf.placeholder_with_default(False, [])
    y = tf.layers.batch_normalization(x, momentum=0.5, training=training)
    data = np.array([[0.0, 2.0], [4.0, 6.0]], np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.identity(y)
        np.testing.assert_allclose(session.run(train, {x: data, training: True}), [[-1, -1], [1, 1]], atol=1e-3)
        mean, variance = session.run(tf.global_variables()[2:])
        np.testing.assert_allclose(mean, [1, 2])
        np.testing.assert_allclose(variance, [2.5, 2.5])
        session.run(train, {x: data})
        np.testing.assert_array_equal(session.run(tf.global_variables()[2]), mean)
        np.testing.assert_allclose(session.run(y, {x: data}), (data - mean) / np.sqrt(variance + 1e-3), rtol=1e-5)


def test_channels_may_come_first() -> None:
    im = tf.constant(np.random.default_rng(0).normal(size=(2, 6, 6, 3)), tf.float32)
    start = tf.constant_initializer(np.random.default_rng(1).normal(size=(3, 3, 3, 4)))
    last = tf.layers.conv2d(im, 4, 3, kernel_initializer=start, name="a")
    turned = tf.transpose(im, [0, 3, 1, 2])
    first = tf.layers.conv2d(turned, 4, 3, kernel_initializer=start, data_format="channels_first", name="b")
    pools = tf.layers.max_pooling2d(last, 2, 2), tf.layers.max_pooling2d(first, 2, 2, data_format="channels_first")
    flat = tf.layers.flatten(pools[0]), tf.layers.flatten(pools[1], data_format="channels_first")
    a, b, c, d = run([*pools, *flat])
    np.testing.assert_allclose(a, b.transpose(0, 2, 3, 1), rtol=1e-5)
    np.testing.assert_allclose(c, d, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: tf.layers.dense(x), TypeError, "missing a required argument: 'units'"),
        (lambda x: tf.layers.dense(x, 2, nonsense=1), TypeError, "unexpected keyword argument 'nonsense'"),
        (lambda x: tf.layers.dense(x, 0), ValueError, "expected a positive integer"),
        (lambda x: tf.layers.dense(tf.placeholder(tf.float32), 2), ValueError, "last dimension of the inputs must be"),
        (lambda x: tf.layers.conv2d(x, 2, 3), ValueError, "expected an input of rank 4"),
        (lambda x: tf.layers.max_pooling2d(x, 2), TypeError, "missing a required argument: 'strides'"),
        (lambda x: tf.layers.batch_normalization(x, renorm=True), NotImplementedError, "argument `renorm` is not"),
    ],
)
def test_mistakes(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call(tf.ones([2, 3]))


def test_second_derivatives_through_layers() -> None:
    x = tf.placeholder(tf.float64, [1, 2])
    y = tf.layers.dense(tf.layers.dense(x, 3, tf.tanh), 1)
    (g,) = tf.gradients(y, x)
    (h,) = tf.gradients(g[0, 0], x)
    point, step = np.array([[0.3, -0.2]]), np.array([[1e-5, 0.0]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        numeric = (session.run(g, {x: point + step}) - session.run(g, {x: point - step}))[0] / 2e-5
        np.testing.assert_allclose(session.run(h, {x: point})[0], numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("fused", [None, True, False])
@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 3, 4)])
@pytest.mark.parametrize("slim", [False, True])
def test_averages_follow_the_unbiased_variance_of_images_unless_not_fused(
    fused: bool | None, shape: tuple[int, ...], slim: bool
) -> None:
    x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        if slim:
            tf.contrib.slim.batch_norm(tf.constant(x), decay=0.1, fused=fused)
        else:
            tf.layers.batch_normalization(tf.constant(x), training=True, momentum=0.1, fused=fused)
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        (moving,) = [v for v in tf.global_variables() if "moving_variance" in v.name]
        number = x.size // 4
        factor = number / (number - 1) if len(shape) == 4 and fused is not False else 1.0
        expected = 0.1 + 0.9 * factor * x.reshape(-1, 4).var(0)
        np.testing.assert_allclose(session.run(moving), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_weights_have_the_dtype_of_what_comes_in(dtype: str) -> None:
    x = tf.constant(np.ones((2, 4, 4, 3), dtype))
    flat = tf.layers.flatten(x)
    state = tf.nn.rnn_cell.GRUCell(3)
    made = [
        tf.layers.dense(flat, 3), tf.layers.conv2d(x, 2, 2), tf.layers.separable_conv2d(x, 2, 2),
        tf.layers.batch_normalization(x, training=dtype == "float64"), state(flat, state.zero_state(2, dtype))[0],
    ]  # fmt: skip
    assert {y.dtype.name for y in made} == {dtype}
    wide = {v.dtype.base_dtype.name for v in tf.global_variables() if "batch_normalization" in v.name}
    assert wide == {"float64" if dtype == "float64" else "float32"}
    assert {v.dtype.base_dtype.name for v in tf.global_variables() if "batch_normalization" not in v.name} == {dtype}


def test_a_fed_rate_of_dropout_leaves_shapes_known() -> None:
    x, keep = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32)
    dropped = [
        tf.nn.dropout(x, keep, seed=3), tf.nn.dropout(x, rate=1 - keep, seed=3),
        tf.layers.dropout(x, 1 - keep, training=True, seed=3),
    ]  # fmt: skip
    assert [y.shape.as_list() for y in dropped] == [[None, 5]] * 3
    assert tf.layers.dense(dropped[0], 2).shape.as_list() == [None, 2]
    with tf.Session() as session:
        for y in dropped:
            np.testing.assert_array_equal(session.run(y, {x: np.ones((4, 5)), keep: 1.0}), np.ones((4, 5)))
            assert set(session.run(y, {x: np.ones((4, 5)), keep: 0.5}).ravel().tolist()) == {0.0, 2.0}
