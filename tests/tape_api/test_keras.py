"""Layers and models."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tape_api import keras
from tape_api.keras import layers
from tests.tapes import watching

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _fresh_names() -> None:
    keras.backend.clear_session()


def as_lists(x: Any) -> Any:
    return [round(float(v), 5) for v in np.ravel(x)]


# ---- layers ----------------------------------------------------------------------------------------------------------


def test_dense() -> None:
    layer = layers.Dense(2, kernel_initializer=keras.initializers.Constant([[1.0, 2.0], [3.0, 4.0]]))
    assert not layer.built and layer.weights == []
    x = np.array([[1.0, -1.0]])
    np.testing.assert_array_equal(layer(x), [[-2.0, -2.0]])
    assert layer.built and layer(x).dtype == tf.float32
    assert [v.name for v in layer.trainable_variables] == ["dense/kernel:0", "dense/bias:0"]
    assert layer.kernel.shape == (2, 2) and layer.bias.shape == (2,)
    np.testing.assert_array_equal(layer([[1, -1]]), [[-2.0, -2.0]])
    assert layer(tf.ones([3, 4, 2])).shape == (3, 4, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.Dense(0), "`units`, expected a positive integer"),
        (lambda: layers.Dense(2.5), "`units`, expected a positive integer"),
        (lambda: layers.Dense(2, activation="nonsense"), "activation function identifier: 'nonsense'; known are elu"),
        (lambda: layers.Dense(2, kernel_initializer="nonsense"), "initializer identifier: 'nonsense'"),
        (lambda: layers.Dense(2, nonsense=1), "Unrecognized keyword arguments passed to Dense: {'nonsense': 1}"),
        (lambda: layers.Dropout(1.5), "`rate` must be a float between 0 and 1"),
        (lambda: layers.Dense(2)(tf.ones([3])), "rank 2 or more"),
        (lambda: layers.InputLayer(), "`shape` must be given"),
        (lambda: keras.losses.MeanSquaredError(reduction="nonsense"), "`reduction` must be one of"),
        (lambda: keras.losses.get("nonsense"), "loss identifier"),
        (lambda: keras.metrics.get("nonsense"), "metric identifier"),
        (lambda: keras.initializers.VarianceScaling(mode="nonsense"), "Invalid `mode`"),
        (lambda: keras.initializers.VarianceScaling(scale=-1), "`scale` must be positive"),
        (lambda: keras.backend.set_floatx("int32"), "must be floating"),
    ],
)
def test_mistakes(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_inputs_that_do_not_fit_the_kernel() -> None:
    layer = layers.Dense(2)
    layer(tf.ones([1, 3]))
    with pytest.raises(ValueError, match=r"Input 0 of layer 'dense' .* axis -1 has value 3, but received .* \(1, 4\)"):
        layer(tf.ones([1, 4]))


def test_dropout_acts_while_training_only() -> None:
    x = tf.ones([1, 1000])
    layer = layers.Dropout(0.25, seed=1)
    np.testing.assert_array_equal(layer(x), x)
    np.testing.assert_array_equal(layer(x, training=False), x)
    y = layer(x, training=True).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)} and abs(y.mean() - 1) < 0.1
    assert not np.any(layers.Dropout(1.0)(x, training=True))


def test_weights_of_batch_normalization() -> None:
    layer = layers.BatchNormalization()
    layer(tf.ones([2, 5]))
    names = ["gamma", "beta", "moving_mean", "moving_variance"]
    assert [v.name.split("/")[1][:-2] for v in layer.weights] == names
    assert [v.name.split("/")[1][:-2] for v in layer.trainable_weights] == names[:2]


class Scale(layers.Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.offset = tf.Variable([1.0], name="offset")
        self.inner = [layers.Dense(1), {"d": layers.Dense(2, name="deep")}]

    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight("factor", shape=[int(input_shape[-1])], initializer="ones")
        self.steps = self.add_weight(shape=(), dtype=tf.int64, trainable=False, name="steps")

    def call(self, inputs: Any, training: bool = False) -> Any:
        if training:
            self.add_loss(tf.reduce_sum(inputs))
        y = inputs * self.factor + self.offset
        return self.inner[0](y) + self.inner[1]["d"](y)


def test_layers_of_ones_own() -> None:
    layer = Scale()
    assert layer(tf.ones([2, 3])).shape == (2, 2)
    names = [v.name for v in layer.weights]
    assert names[:3] == ["scale/factor:0", "scale/steps:0", "offset:0"]
    assert {n.split("/")[0] for n in names[3:]} == {"dense", "deep"}
    assert len(layer.trainable_variables) == 6 and len(layer.non_trainable_variables) == 1
    assert layer.losses == []
    layer(tf.ones([2, 3]), training=True)
    assert [float(x) for x in layer.losses] == [6.0]
    layer(tf.ones([2, 3]), training=True)
    assert len(layer.losses) == 1
    assert layer.get_config() == {"name": "scale", "trainable": True, "dtype": "float32"}


def test_a_frozen_layer_trains_nothing() -> None:
    model = keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.Dense(1)])
    model.layers[0].trainable = False
    assert [v.name for v in model.trainable_variables] == ["dense_1/kernel:0", "dense_1/bias:0"]
    assert [v.name for v in model.non_trainable_variables] == ["dense/kernel:0", "dense/bias:0"]
    model.trainable = False
    assert model.trainable_variables == [] and len(model.weights) == 4


def test_a_layer_without_super_init() -> None:
    class Broken(layers.Layer):
        def __init__(self) -> None:
            pass

        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(RuntimeError, match=r"you forgot to call `super\(\).__init__\(\)`"):
        Broken()(tf.ones([1, 1]))
    with pytest.raises(NotImplementedError, match="Layer Layer does not have a `call"):
        layers.Layer()(tf.ones([1]))


def test_floating_inputs_are_cast_and_differentiated_through() -> None:
    layer = layers.Dense(1, kernel_initializer="ones")
    x = tf.constant([[1.0, 2.0]], tf.float64)
    tape, y = watching(x, lambda: layer(x))
    g = tape.gradient(y, x)
    assert y.dtype == tf.float32 and g.dtype == tf.float64 and as_lists(g) == [1, 1]


def test_floatx() -> None:
    keras.backend.set_floatx("float64")
    try:
        layer = layers.Dense(1)
        assert layer(np.ones((1, 2), np.float32)).dtype == tf.float64 and keras.backend.floatx() == "float64"
    finally:
        keras.backend.set_floatx("float32")


# ---- models ----------------------------------------------------------------------------------------------------------


def test_sequential_built_lazily_and_at_once() -> None:
    lazy = keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(1)])
    assert lazy.trainable_variables == [] and not lazy.built
    assert lazy(np.ones((5, 2))).shape == (5, 1) and len(lazy.trainable_variables) == 4
    for first in (
        [layers.Dense(3, input_shape=(2,))],
        [layers.Dense(3, input_dim=2)],
        [layers.InputLayer(input_shape=(2,)), layers.Dense(3)],
        [keras.Input(shape=(2,)), layers.Dense(3)],
        [keras.Input((2,), batch_size=7), layers.Dense(3)],
    ):
        model = keras.Sequential(first)
        model.add(layers.Dropout(0.5))
        model.add(layers.Dense(1))
        assert [v.shape.as_list() for v in model.trainable_variables] == [[2, 3], [3], [3, 1], [1]]
        assert model.built and not isinstance(model.layers[0], layers.InputLayer)
    given = keras.Sequential([layers.Lambda(lambda x: x)])
    assert given(np.ones((5, 1), int)).dtype is tf.float32 and given(np.ones((5, 1, 1))).shape == (5, 1)
    late = keras.Sequential([layers.Flatten(), layers.Dense(4)])
    late.build((None, 3, 2))
    assert late.weights[0].shape == (6, 4)


def test_sequential_edits() -> None:
    model = keras.Sequential(name="net")
    model.add(layers.Dense(3, input_shape=(2,), name="a"))
    model.add(layers.Dense(1, name="b"))
    model.pop()
    assert [layer.name for layer in model.layers] == ["a"] and model.name == "net"
    assert model.get_layer("a") is model.layers[0] and model.get_layer(index=0).name == "a"
    with pytest.raises(ValueError, match=r"No such layer: 'b'. Existing layers are: \['a'\]"):
        model.get_layer("b")
    with pytest.raises(ValueError, match=r"Only instances of `keras.Layer` can be added"):
        model.add(3)
    model.pop()
    with pytest.raises(ValueError, match="no layers in the model"):
        model.pop()


def test_weights_in_and_out() -> None:
    model = keras.Sequential([layers.Dense(3, input_shape=(2,)), layers.Dense(1)])
    weights = model.get_weights()
    assert [w.shape for w in weights] == [(2, 3), (3,), (3, 1), (1,)]
    model.set_weights([w + 1 for w in weights])
    np.testing.assert_array_equal(model.weights[0], weights[0] + 1)
    with pytest.raises(ValueError, match="weight list of length 1, but the layer was expecting 4"):
        model.set_weights(weights[:1])
    with pytest.raises(ValueError, match=r"'dense_1/bias:0' has shape \(1,\), .* shape \(2,\)"):
        model.set_weights([np.zeros_like(weights[0]), *weights[1:3], np.ones(2)])
    np.testing.assert_array_equal(model.weights[0], weights[0] + 1)
    twin = copy.deepcopy(model)
    twin.set_weights(weights)
    np.testing.assert_array_equal(model.weights[0], weights[0] + 1)


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    model = keras.Sequential([layers.Flatten(input_shape=(4, 2)), layers.Dense(3), layers.BatchNormalization()])
    model.summary()
    out = capsys.readouterr().out
    assert "flatten (Flatten)" in out and "(None, 8)" in out and "dense (Dense)" in out
    assert "Total params: 39\n" in out and "Trainable params: 33\n" in out and "Non-trainable params: 6\n" in out
    lines: list[str] = []
    keras.Sequential([layers.Dense(3)]).summary(print_fn=lines.append)
    assert lines[-1] == "Non-trainable params: 0"


def test_subclassed_model() -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.Dense(4, activation="tanh")
            self.drop = layers.Dropout(0.5)
            self.last = layers.Dense(1)

        def call(self, inputs: Any, training: bool = False) -> Any:
            return self.last(self.drop(self.first(inputs), training=training))

    net = Net()
    x = RNG.standard_normal((6, 3))
    assert net(x).shape == (6, 1)
    assert [v.shape.as_list() for v in net.trainable_variables] == [[3, 4], [4], [4, 1], [1]]
    assert [layer.name for layer in net.layers] == ["dense", "dropout", "dense_1"] and net.name == "net"
    np.testing.assert_array_equal(net(x), net(x, training=False))
    assert not np.array_equal(net(x, training=True), net(x))


def test_training_reaches_the_layers_inside() -> None:
    model = keras.Sequential([keras.Sequential([layers.Dropout(0.5)])])
    x = tf.ones([1, 100])
    np.testing.assert_array_equal(model(x), x)
    assert not np.array_equal(model(x, training=True), x)


def test_functional_model() -> None:
    x, z = keras.Input(shape=(3,)), keras.Input(shape=(2,), dtype="float64")
    shared = layers.Dense(4, activation="tanh")
    drop = layers.Dropout(0.5)
    joined = layers.Concatenate()([shared(x), shared(x * 2.0), layers.Dense(4)(z)])
    out = layers.Dense(1, name="out")(drop(joined))
    model = keras.Model(inputs=[x, z], outputs={"y": out, "sum": tf.reduce_sum(joined, axis=1)}, name="net")
    a, b = RNG.standard_normal((5, 3)).astype(np.float32), RNG.standard_normal((5, 2))
    found = model([a, b])
    assert found["y"].shape == (5, 1) and model.name == "net"
    names = ["input_layer", "input_layer_1", "dense", "dense_1", "concatenate", "dropout", "out"]
    assert [layer.name for layer in model.layers] == names
    k, c = shared.kernel.numpy(), model.get_layer("dense_1").kernel.numpy()
    total = np.tanh(a @ k).sum(axis=1) + np.tanh(2 * a @ k).sum(axis=1) + (b @ c).sum(axis=1)
    np.testing.assert_allclose(found["sum"], total, rtol=1e-4)
    tape, loss = watching((), lambda: tf.reduce_sum(model([a, b])["y"] ** 2.0))
    assert len(model.trainable_variables) == 6
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))
    assert not np.array_equal(model([a, b], training=True)["y"], model([a, b])["y"])
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert lines[-3] == f"Total params: {3 * 4 + 4 + 2 * 4 + 4 + 12 + 1}"


def test_models_within_models() -> None:
    x = keras.Input((3,))
    inner = keras.Model(x, layers.Dense(2)(x))
    y = keras.Input((3,))
    outer = keras.Sequential([keras.Input((3,)), inner, layers.Dense(1)])
    both = keras.Model(y, outer(y) + tf.reduce_sum(inner(y)))
    assert both(tf.ones([4, 3])).shape == (4, 1) and len(both.trainable_variables) == 4
    both.compile("adam", "mse")
    first, *_, last = both.fit(np.ones((8, 3)), np.ones((8, 1)), epochs=5, verbose=0).history["loss"]
    assert last < first


def test_functional_mistakes() -> None:
    x, z = keras.Input((3,)), keras.Input((3,))
    assert repr(x) == "<KerasTensor shape=(None, 3), dtype=float32>"
    with pytest.raises(
        ValueError, match=r"depend on <KerasTensor shape=\(None, 3\), dtype=float32>, which is not among"
    ):
        keras.Model(x, layers.Add()([x, z]))
    with pytest.raises(ValueError, match=r"must come from keras\.Input"):
        keras.Model(inputs=x, outputs=3)
    model = keras.Model(x, x * 2.0)
    with pytest.raises(ValueError, match="takes 1 inputs, got 2"):
        model([tf.ones([1, 3]), tf.ones([1, 3])])
    with pytest.raises(ValueError, match=r"must have shape \(None, 3\), got \(1, 4\)"):
        model(tf.ones([1, 4]))
    with pytest.raises(NotImplementedError, match="symbolic"):
        np.asarray(x)


def test_compile_fit_evaluate_predict(capsys: pytest.CaptureFixture[str]) -> None:
    tf.random.set_seed(0)
    x = RNG.standard_normal((200, 4)).astype(np.float32)
    y = (x.sum(axis=1) > 0).astype(np.int64)
    model = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(2)])
    with pytest.raises(ValueError, match=r"call `compile\(\)` before"):
        model.fit(x, y)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss=loss, metrics=["accuracy"])
    history = model.fit(x, y, epochs=10, batch_size=20, validation_data=(x, y))
    assert set(history.history) == {"loss", "accuracy", "val_loss", "val_accuracy"} and history.epoch == list(range(10))
    assert history.history["loss"][-1] < history.history["loss"][0] / 2
    assert capsys.readouterr().out.startswith("Epoch 1/10 - accuracy: ")
    found = model.evaluate(x, y, verbose=0)
    assert found[1] > 0.95 and model.evaluate(x, y, verbose=0, return_dict=True)["accuracy"] == found[1]
    predictions = model.predict(x)
    assert predictions.shape == (200, 2) and np.mean(predictions.argmax(axis=1) == y) == pytest.approx(found[1])
    batches = [(x[:50], y[:50]), (x[50:], y[50:])]
    assert len(model.fit(batches, epochs=2, verbose=0).epoch) == 2
    with pytest.raises(NotImplementedError, match="workers"):
        model.fit(x, y, workers=2)
    with pytest.raises(ValueError, match="does not go together with `sample_weight`"):
        model.fit(x, y, class_weight={0: 1.0}, sample_weight=np.ones(200))
    with pytest.raises(TypeError, match="unknown arguments"):
        model.compile("sgd", loss, metric=["accuracy"])
    with pytest.raises(ValueError, match="as many rows, got 200 and 3"):
        model.fit(x, y[:3])


def test_fit_says_when_an_iterator_runs_out_of_data() -> None:
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    batch = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
    with pytest.warns(UserWarning, match="ran out of data before epoch 2 of 3"):
        history = model.fit((batch for _ in range(3)), epochs=3, verbose=0)
    assert history.epoch == [0] and len(history.history["loss"]) == 1
    again = model.fit([batch, batch], epochs=3, verbose=0)
    assert again.epoch == [0, 1, 2] and model.optimizer.iterations.numpy() == 9


def _rows(array: bool) -> Any:
    """Six batches of one row, each of which tells its number by its loss."""
    x, y = np.arange(1.0, 7.0, dtype=np.float32)[:, None], np.zeros((6, 1), np.float32)
    return (x, y) if array else [(x[i : i + 1], y[i : i + 1]) for i in range(6)]


@pytest.mark.parametrize(
    ("data", "steps", "expected"),
    [
        (lambda: (iter(_rows(False)),), 3, [[1, 2, 3], [4, 5, 6]]),
        (lambda: ((batch for batch in _rows(False)),), 3, [[1, 2, 3], [4, 5, 6]]),
        (lambda: (itertools.cycle(_rows(False)),), 4, [[1, 2, 3, 4], [5, 6, 1, 2], [3, 4, 5, 6]]),
        (lambda: (_rows(False),), 4, [[1, 2, 3, 4], [5, 6], [1, 2, 3, 4]]),
        (lambda: (_rows(False),), 7, [[1, 2, 3, 4, 5, 6]] * 2),
        (lambda: _rows(True), 3, [[1, 2, 3], [4, 5, 6], [1, 2, 3]]),
        (lambda: _rows(True), None, [[1, 2, 3, 4, 5, 6]] * 2),
    ],
)
def test_an_epoch_of_some_steps_goes_on_where_the_last_one_ended(
    data: Callable[[], Any], steps: Any, expected: list[Any]
) -> None:
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", use_bias=False)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    seen: list[list[int]] = []

    class Listener(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.append([])
            self.total = 0.0

        def on_train_batch_end(self, batch: int, logs: Any) -> None:
            # the mean so far, as Keras reports it
            now, self.total = logs["loss"] * (batch + 1) - self.total, logs["loss"] * (batch + 1)
            seen[-1].append(round(now**0.5))

    how = {"epochs": len(expected), "steps_per_epoch": steps, "batch_size": 1, "shuffle": False}
    model.fit(*data(), verbose=0, callbacks=[Listener()], **how)
    assert seen == expected


def test_fit_leaves_a_generator_open() -> None:
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    rows = (batch for batch in _rows(False))
    model.fit(rows, steps_per_epoch=2, verbose=0)
    assert next(rows)[0].item() == 3.0


def test_what_fit_reports_is_the_mean_over_rows_and_weights_count() -> None:
    x, y = np.arange(1.0, 6.0, dtype=np.float32)[:, None], np.zeros((5, 1), np.float32)
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", use_bias=False)])
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"], weighted_metrics=["mse"])
    how: dict[str, Any] = {"batch_size": 2, "shuffle": False, "verbose": 0}
    assert model.fit(x, y, **how).history["loss"] == [11.0]
    weight = np.array([0, 0, 1, 1, 2], np.float32)
    assert model.fit(x, y, sample_weight=weight, **how).history["loss"] == [15.0]
    assert model.fit(x, np.eye(5)[:, 4:], class_weight={1: 0.0}, **how).history["loss"] == [6.0]
    assert model.train_on_batch(x, y)[0] == 11.0 and model.test_on_batch(x, y, return_dict=True)["loss"] == 11.0
    assert model.train_on_batch(x, y, sample_weight=weight)[1:] == [3.0, 18.75]
    np.testing.assert_array_equal(model.predict_on_batch(x), x)
    model.compile("sgd", ["mse", "mse"])
    with pytest.raises(ValueError, match="`loss`: 2 were given for 1 outputs"):
        model.fit(x, [y], **how)
    with pytest.raises(ValueError, match="1 `loss_weights` for 2 losses"):
        model.compile("sgd", ["mse", "mse"], loss_weights=[1.0])
    model.compile("sgd")
    with pytest.raises(ValueError, match="No loss to compute"):
        model.fit(x, y, **how)


def test_statistics_of_a_batch_are_those_of_what_counts() -> None:
    x = np.array([[[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]], [[3.0, 6.0], [0.0, 0.0], [0.0, 0.0]]], np.float32)
    norm = layers.BatchNormalization(momentum=0.0, epsilon=1e-9)
    out = keras.Sequential([layers.Masking(), norm])(x, training=True)
    np.testing.assert_allclose(norm.moving_mean, [2.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(norm.moving_variance, [2 / 3, 8 / 3], rtol=1e-6)
    np.testing.assert_allclose(out[0, :, 0], np.array([-1.0, 0.0, -2.0]) / np.sqrt(2 / 3), rtol=1e-5, atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one dimension less than the inputs"):
        norm(x, training=True, mask=np.ones((2, 3, 2), bool))


def test_ignored_classes_are_no_part_of_a_mean() -> None:
    labels = np.array([0, -1, 1, -1])
    shares = tf.constant([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8], [0.9, 0.1]])
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
    with tf.GradientTape() as tape:
        tape.watch(shares)
        value = loss(labels, shares)
    np.testing.assert_allclose(value, -np.log([0.6, 0.8]).mean(), rtol=1e-6)
    gradient = tape.gradient(value, shares).numpy()
    np.testing.assert_allclose(gradient[[1, 3]], 0.0)
    weighted = loss(labels, shares, sample_weight=[1.0, 5.0, 3.0, 5.0])
    np.testing.assert_allclose(weighted, (-np.log(0.6) - 3 * np.log(0.8)) / 2, rtol=1e-6)
    total = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1, reduction="sum")(labels, shares)
    np.testing.assert_allclose(total, -np.log([0.6, 0.8]).sum(), rtol=1e-6)
    model = keras.Sequential([layers.Lambda(lambda x: x)])
    model.compile("sgd", loss)
    assert model.evaluate(shares, labels, verbose=0) == pytest.approx(-np.log([0.6, 0.8]).mean(), rel=1e-6)
