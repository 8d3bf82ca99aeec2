"""Initializers, losses, metrics, utilities."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tape_api import keras
from tape_api.keras import layers


@pytest.fixture(autouse=True)
def _fresh_names() -> None:
    keras.backend.clear_session()


def as_lists(x: Any) -> Any:
    return [round(float(v), 5) for v in np.ravel(x)]


# ---- initializers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(keras.initializers.KNOWN) - {"constant", "Constant"}))
def test_initializers_make_what_they_are_asked_for(name: str) -> None:
    make = keras.initializers.get(name)
    x = make((3, 4))
    assert x.shape == (3, 4) and x.dtype == tf.float32
    assert make((2, 2), dtype=tf.float64).dtype == tf.float64
    assert "seed" not in make.get_config() or make.get_config()["seed"] is None


@pytest.mark.parametrize(
    ("name", "limit", "deviation"),
    [
        ("glorot_uniform", np.sqrt(6 / 700), np.sqrt(2 / 700)),
        ("glorot_normal", np.inf, np.sqrt(2 / 700)),
        ("he_uniform", np.sqrt(6 / 300), np.sqrt(2 / 300)),
        ("he_normal", np.inf, np.sqrt(2 / 300)),
        ("lecun_normal", np.inf, np.sqrt(1 / 300)),
        ("random_normal", np.inf, 0.05),
        ("random_uniform", 0.05, 0.1 / np.sqrt(12)),
        ("truncated_normal", 0.1, 0.05 * 0.8796),
    ],
)
def test_spread_of_initial_values(name: str, limit: float, deviation: float) -> None:
    tf.random.set_seed(0)
    x = keras.initializers.get(name)((300, 400)).numpy()
    assert abs(x).max() <= limit and abs(x.mean()) < 0.001
    assert x.std() == pytest.approx(deviation, rel=0.01)


def test_seeds_of_initializers() -> None:
    one = keras.initializers.GlorotUniform(seed=1)
    np.testing.assert_array_equal(one((2, 3)), one((2, 3)))
    assert not np.array_equal(one((2, 3)), keras.initializers.GlorotUniform(seed=2)((2, 3)))
    # one without a seed draws one when it is made, as in Keras 3
    free = keras.initializers.RandomNormal()
    np.testing.assert_array_equal(free((3,)), free((3,)))
    assert not np.array_equal(free((3,)), keras.initializers.RandomNormal()((3,)))
    tf.random.set_seed(3)
    first = keras.initializers.RandomNormal()((3,))
    tf.random.set_seed(3)
    np.testing.assert_array_equal(keras.initializers.RandomNormal()((3,)), first)


def test_constants_and_matrices() -> None:
    assert as_lists(tf.constant_initializer(3.0)((2,))) == [3, 3]
    assert as_lists(tf.zeros_initializer()((2,))) == [0, 0] and as_lists(tf.ones_initializer()([2])) == [1, 1]
    np.testing.assert_array_equal(keras.initializers.Identity(gain=2.0)((2, 3)), 2 * np.eye(2, 3))
    for shape in ((3, 5), (5, 3), (2, 2, 3)):
        q = keras.initializers.Orthogonal(seed=0)(shape).numpy().reshape(-1, shape[-1])
        small = q @ q.T if q.shape[0] < q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)


# ---- losses and metrics ----------------------------------------------------------------------------------------------


def test_losses_of_lists_and_their_dtypes() -> None:
    true, pred = [[0.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], [0.0, 3.0]]
    loss = keras.losses.MeanSquaredError
    assert as_lists(loss(reduction=keras.losses.Reduction.NONE)(true, pred)) == [0.5, 2.0]
    assert float(loss()(true, pred, sample_weight=[[2.0], [0.0]])) == 0.5
    assert loss()(np.array(true), tf.constant(pred)).dtype == tf.float32
    assert loss()(true, tf.constant(pred, tf.float64)).dtype == tf.float64


def test_a_missing_last_dimension() -> None:
    loss = keras.losses.MeanSquaredError()
    assert float(loss([1.0, 2.0], [[1.0], [2.0]])) == 0.0
    assert float(loss([[1.0], [2.0]], [1.0, 2.0])) == 0.0


def test_a_loss_of_ones_own() -> None:
    class Half(keras.losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1) / 2

    assert float(Half()(tf.constant([[2.0]]), tf.constant([[0.0]]))) == 1.0
    with pytest.raises(NotImplementedError, match="must define call"):
        keras.losses.Loss()([1.0], [1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: keras.losses.categorical_crossentropy([[1.0, 0.0]], [[0.5, 0.5, 0.0]]), "must have the same shape"),
        (lambda: keras.losses.sparse_categorical_crossentropy([0, 1], [[0.5, 0.5]]), "rank one more than the labels"),
        (lambda: keras.losses.mean_squared_error([1.0, 2.0], [1.0, 2.0, 3.0]), "Incompatible shapes"),
    ],
)
def test_labels_and_predictions_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_loss_names() -> None:
    assert keras.losses.get("mse") is keras.losses.mean_squared_error is tf.losses.MSE
    assert isinstance(keras.losses.get("SparseCategoricalCrossentropy"), keras.losses.SparseCategoricalCrossentropy)
    assert keras.losses.get(None) is None and keras.losses.get(abs) is abs


def test_a_metric_of_ones_own() -> None:
    class Largest(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="largest")
            self.most = self.add_weight("most")

        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            self.most.assign(tf.maximum(self.most, tf.reduce_max(values)))

        def result(self) -> Any:
            return self.most.read_value()

    largest = Largest()
    assert float(largest(tf.constant([1.0, 7.0]))) == 7.0 and float(largest(tf.constant([2.0]))) == 7.0
    largest.reset_state()
    assert float(largest.result()) == 0.0


def test_utils() -> None:
    assert keras.utils.to_categorical([[1], [0]]).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match=r"labels must be in \[0, 2\)"):
        keras.utils.to_categorical([2], num_classes=2)
    keras.utils.set_random_seed(1)
    first = tf.random.normal([2])
    keras.utils.set_random_seed(1)
    np.testing.assert_array_equal(tf.random.normal([2]), first)


@pytest.mark.parametrize("name", sorted(keras.activations.KNOWN))
def test_activations_have_gradients(name: str) -> None:
    x = tf.constant([[-2.5, -0.5, 0.5, 2.5, 7.0]], tf.float64)
    fn = keras.activations.get(name)
    (exact,), (numeric,) = tf.test.compute_gradient(fn, [x], delta=1e-5)
    np.testing.assert_allclose(exact, numeric, atol=1e-6 * max(1.0, abs(numeric).max()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Dense(3, "relu", kernel_regularizer=keras.regularizers.L2(0.1)),
        lambda: layers.SimpleRNN(3, return_sequences=True),
        lambda: layers.GRU(2, "relu", go_backwards=True),
        lambda: layers.RNN(layers.StackedRNNCells([layers.GRUCell(2), layers.LSTMCell(3)])),
        lambda: layers.Bidirectional(layers.LSTM(2), merge_mode="sum"),
        lambda: layers.TimeDistributed(layers.Dense(2)),
        lambda: layers.SeparableConv2D(2, 3, strides=2, depth_multiplier=3),
        lambda: layers.Conv2DTranspose(2, (3, 5), padding="same"),
        lambda: layers.MaxPooling2D(3, strides=1),
        lambda: layers.BatchNormalization(momentum=0.5),
        lambda: layers.Embedding(5, 2, mask_zero=True),
        lambda: layers.GaussianDropout(0.25),
        lambda: layers.PReLU(shared_axes=[1]),
        lambda: layers.ZeroPadding2D(((1, 2), (3, 4))),
        lambda: layers.MultiHeadAttention(2, 3, value_dim=4),
        lambda: layers.EinsumDense("ab,bc->ac", 3, bias_axes="c"),
        lambda: layers.Normalization(axis=None, mean=1.0, variance=2.0),
        lambda: keras.Input((3,))._input_layer,
    ],
)
def test_a_configuration_makes_an_equal_layer(make: Callable[[], Any]) -> None:
    layer = make()
    again = type(layer).from_config(layer.get_config())
    assert again is not layer and type(again) is type(layer)
    assert again.get_config() == layer.get_config() and again.name == layer.name


# ---- configurations, and what layers take ----------------------------------------------------------------------------


def test_parts_are_described_as_keras_does() -> None:
    k = keras
    assert k.regularizers.serialize(k.regularizers.L1L2(0.1)) == {
        "module": "keras.regularizers", "class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.0}, "registered_name": None,
    }  # fmt: skip
    assert k.initializers.serialize(k.initializers.Zeros())["config"] == {}
    assert k.initializers.serialize(k.initializers.RandomNormal())["module"] == "keras.initializers"
    assert k.constraints.serialize(k.constraints.MaxNorm(2))["config"] == {"max_value": 2, "axis": 0}
    assert [k.activations.serialize(f) for f in (k.activations.relu, k.activations.swish)] == ["relu", "silu"]

    def own(x: Any) -> Any:
        return x

    assert k.activations.serialize(own) == {
        "module": "builtins", "class_name": "function", "config": "own", "registered_name": "function",
    }  # fmt: skip
    assert k.activations.deserialize("own", {"own": own}) is own
    for part, made in ((k.regularizers, k.regularizers.L2(0.3)), (k.initializers, k.initializers.Constant(3))):
        again = part.deserialize(part.serialize(made))
        assert type(again) is type(made) and again.get_config() == made.get_config()
    with pytest.raises(ValueError, match="neither a name nor a `get_config`"):
        k.activations.serialize(lambda x: x)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"ndim": 3}, r"expected ndim=3, found ndim=2. Full shape received: \(2, 3\)"),
        ({"min_ndim": 3}, "expected min_ndim=3, found ndim=2"),
        ({"max_ndim": 1}, "expected max_ndim=1, found ndim=2"),
        ({"shape": (None, 4)}, r"expected shape=\(None, 4\), found shape=\(2, 3\)"),
        ({"axes": {-1: 4}}, "expected axis -1 of input shape to have value 4"),
        ({"dtype": "int32"}, "expected dtype=int32, found dtype=float32"),
    ],
)
def test_layers_refuse_what_their_spec_does_not_allow(spec: Any, words: str) -> None:
    class Same(layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="same")
            self.input_spec = layers.InputSpec(**spec)

        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(ValueError, match=f"Input 0 with name 'None' of layer 'same' is incompatible.*{words}"):
        Same()(np.zeros((2, 3), np.float32))


def test_specs_that_fit() -> None:
    layer = layers.Lambda(lambda x: x)
    layer.input_spec = [layers.InputSpec(ndim=2), layers.InputSpec(shape=(2, None))]
    x = np.zeros((2, 3), np.float32)
    assert len(layer([x, x])) == 2
    with pytest.raises(ValueError, match=r"expects 2 input\(s\), but it received 1 input"):
        layer(x)
    with pytest.raises(ValueError, match="Axis 5 is greater than the maximum allowed value: 1"):
        layers.InputSpec(axes={5: 1}, ndim=2)


def test_the_function_and_the_class_of_cosines_have_one_sign() -> None:
    y, x = np.array([[1.0, 1.0]], np.float32), np.array([[1.0, 0.0]], np.float32)
    for loss in (
        keras.losses.cosine_similarity,
        keras.losses.get("cosine_similarity"),
        keras.losses.CosineSimilarity(),
    ):
        assert float(tf.squeeze(loss(y, x))) == pytest.approx(-(0.5**0.5))
    assert float(keras.metrics.CosineSimilarity()(y, x)) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("labels", [[[1], [0]], [[True], [False]], [[1.0], [0.0]]])
def test_a_loss_of_a_programs_own_is_given_labels_of_its_dtype(labels: list[Any]) -> None:
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", lambda true, pred: tf.reduce_mean(tf.square(true - pred), axis=-1))
    loss = model.evaluate(np.array([[0.5], [1.0]], np.float32), np.array(labels), verbose=0)
    assert loss == pytest.approx((0.5**2 + 1.0) / 2)
