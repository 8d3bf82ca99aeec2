"""What `fit` and its like tell callbacks, and what they say of names that there are not."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tape_api import keras
from tape_api.keras import layers


def test_callbacks_are_told_of_batches_of_evaluations_and_predictions() -> None:
    events: list[Any] = []

    class Log(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            events.append((self.params, logs))

        def on_train_end(self, logs: Any = None) -> None:
            events.append(sorted(logs))

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            events.append(("test", batch, sorted(logs)))

        def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
            events.append(("predict", batch, logs["outputs"].shape))

    x, y = np.ones((3, 2), np.float32), np.ones(3, np.float32)
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(x, y, batch_size=2, validation_data=(x, y), verbose=0, callbacks=[Log()])
    model.predict(x, batch_size=2, callbacks=Log())
    assert events == [
        ({"verbose": 0, "epochs": 1, "steps": 2}, {}),
        ("test", 0, ["loss", "mae"]),
        ("test", 1, ["loss", "mae"]),
        ["loss", "mae", "val_loss", "val_mae"],
        ("predict", 0, (2, 1)),
        ("predict", 1, (1, 1)),
    ]


def test_what_is_given_for_outputs_that_there_are_not() -> None:
    given = keras.Input((2,), name="given")
    model = keras.Model(given, [layers.Dense(1, name="a")(given), layers.Dense(1, name="b")(given)])
    assert (model.input_names, model.output_names) == (["given"], ["a", "b"])
    x = np.ones((3, 2), np.float32)
    model.compile("sgd", {"a": "mse", "c": "mse"})
    with pytest.raises(ValueError, match=r"`loss`: there are no outputs \['c'\]; the model has \['a', 'b'\]"):
        model.fit(x, [x[:, :1], x[:, :1]], verbose=0)
    model.compile("sgd", ["mse", "mse"])
    with pytest.raises(ValueError, match="no labels for the output 'b', which has a loss"):
        model.fit(x, {"a": x[:, :1]}, verbose=0)
    with pytest.raises(ValueError, match=r"there are no inputs \['given'\], got \['taken'\]"):
        model({"taken": x})
    with pytest.raises(ValueError, match="metric identifier: 'exactness'"):
        model.compile("sgd", "mse", metrics=["exactness"])


def test_losses_of_layers_in_a_model_that_its_first_batch_builds() -> None:
    class Penalty(layers.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_loss(3.0 * tf.reduce_mean(inputs))
            return inputs

    model = keras.Sequential([layers.Dense(2, kernel_initializer="ones"), Penalty()])
    model.compile("sgd", "mse")
    x = np.ones((4, 3), np.float32)
    assert model.fit(x, np.full((4, 2), 3.0), verbose=0).history["loss"] == [9.0]
    assert len(model.losses) == 1


def test_losses_that_are_symbols_of_the_model() -> None:
    inputs = keras.Input((3,))
    hidden = layers.Dense(2, kernel_initializer="ones")(inputs)
    scale = layers.Dense(2, kernel_initializer="ones", use_bias=False, name="scale")(inputs)
    model = keras.Model(inputs, layers.Dense(3, kernel_initializer="zeros")(hidden))
    model.add_loss(tf.reduce_mean(hidden + 2.0 * scale))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = np.ones((4, 3), np.float32)
    assert [layer.name for layer in model.layers if layer.name == "scale"] == ["scale"]
    assert model.evaluate(x, np.zeros((4, 3)), verbose=0) == 9.0
    model.fit(x, np.zeros((4, 3)), verbose=0)
    np.testing.assert_allclose(model.get_layer("scale").get_weights()[0], 0.9, rtol=1e-6)
    whole = keras.Model(inputs, model(inputs))
    whole(x)
    assert len(whole.losses) == 1


def test_batches_of_a_sequence_of_the_programs_own() -> None:
    told = []

    class Rows(keras.utils.Sequence):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            told.append(index)
            return np.full((2, 1), float(index)), np.zeros((2, 1))

        def on_epoch_end(self) -> None:
            told.append("end")

    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(Rows(), epochs=2, shuffle=False, verbose=0)
    assert told == [0, 1, 2, "end"] * 2
    told.clear()
    model.fit(Rows(), epochs=1, verbose=0)
    assert sorted(told[:3]) == [0, 1, 2]
    assert model.predict(Rows(), verbose=0).shape == (6, 1)
    with pytest.raises(NotImplementedError, match="must define __len__"):
        model.fit(keras.utils.Sequence())


def test_averages_of_weights_count_at_the_end_of_fit() -> None:
    keras = tf.keras
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5)
    model.compile(optimizer, "mse")
    model.fit(np.ones((4, 2)), np.zeros((4, 1)), batch_size=2, epochs=2, shuffle=False, verbose=0)
    averages = [average.numpy() for _, name, average in optimizer.kept_slots() if name == "average"]
    np.testing.assert_equal(model.get_weights(), averages)


def test_older_train_steps_feed_the_mean_of_the_loss() -> None:
    class Older(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.layers.Dense(1, kernel_initializer="ones")

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            x, y = data
            predictions = self(x, training=True)
            self.compiled_loss(y, predictions, regularization_losses=self.losses)
            self.compiled_metrics.update_state(y, predictions)
            return {m.name: m.result() for m in self.metrics}

    model = Older()
    model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(np.ones((4, 2)), np.zeros((4, 1)), verbose=0).history
    assert history["loss"] == [4.0] and history["mae"] == [2.0]


def mixed_model() -> Any:
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        inputs = keras.Input((4,))
        x = layers.BatchNormalization()(layers.Dense(8, activation="relu")(inputs))
        return keras.Model(inputs, layers.Dense(1, dtype="float32")(x))
    finally:
        keras.mixed_precision.set_global_policy(None)


def test_layers_compute_in_float16_and_keep_weights_in_float32() -> None:
    model = mixed_model()
    assert model.layers[1].output.dtype == tf.float16 and model.output.dtype == tf.float32
    assert {w.dtype for w in model.weights} == {tf.float32}
    assert model.layers[1].compute_dtype == "float16" and model.layers[1].get_config()["dtype"] == "mixed_float16"
    model.compile("sgd", "mse")
    assert isinstance(model.optimizer, keras.mixed_precision.LossScaleOptimizer)
    before = model.get_weights()
    history = model.fit(np.ones((8, 4)), np.ones((8, 1)), epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert model.optimizer.dynamic_scale.numpy() == 2.0**15 and model.optimizer.iterations.numpy() == 3
    assert all(isinstance(w, tf.Variable) for w in model.weights) and len(before) == len(model.get_weights())


def test_a_step_is_left_out_where_a_gradient_is_not_finite() -> None:
    w = tf.Variable([1.0])
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(1.0), dynamic_growth_steps=2)
    optimizer.build([w])
    optimizer.apply([tf.constant([np.inf])], [w])
    assert w.numpy() == 1 and optimizer.dynamic_scale.numpy() == 2.0**14 and optimizer.iterations.numpy() == 0
    for _ in range(2):
        optimizer.apply([tf.constant([2.0**14])], [w])
    assert w.numpy() == -1 and optimizer.dynamic_scale.numpy() == 2.0**15


# ---- what is given beside data ---------------------------------------------------------------------------------------

X, Y = np.arange(16, dtype="f4").reshape(8, 2) / 8, np.arange(8, dtype="f4").reshape(8, 1) / 8
W = np.arange(8, dtype="f4")


class Halves(keras.utils.Sequence):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        return X[4 * i : 4 * i + 4], Y[4 * i : 4 * i + 4]


SOURCES = {
    "data set": lambda: tf.data.Dataset.from_tensor_slices((X, Y)).batch(4),
    "Sequence": Halves,
    "generator": lambda: ((X[i : i + 4], Y[i : i + 4]) for i in (0, 4)),
}


def sums(**how: Any) -> Any:
    """A model that adds up its inputs, and does not learn."""
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.0), "mse", **how)
    return model


@pytest.mark.parametrize("kind", SOURCES)
def test_labels_and_weights_beside_batches_are_refused(kind: str) -> None:
    for method in ("fit", "evaluate"):
        for beside in ({"sample_weight": W}, {"y": Y}):
            with pytest.raises(ValueError, match=f"{method}: argument `{next(iter(beside))}` must be left out beside"):
                getattr(sums(), method)(SOURCES[kind](), verbose=0, **beside)
    with pytest.raises(ValueError, match="validation_data: argument `y`"):
        sums().fit(X, Y, validation_data=(SOURCES[kind](), Y), verbose=0)
    if kind == "generator":
        with pytest.raises(ValueError, match="`class_weight` must be left out beside a generator"):
            sums().fit(SOURCES[kind](), class_weight={0: 1.0}, verbose=0)
    assert sums().evaluate(SOURCES[kind](), verbose=0) == pytest.approx(2.8046875)


def test_data_without_samples_are_refused() -> None:
    for part in (0.999, 0.9, -0.5, 1.0):
        with pytest.raises(ValueError, match="validation_split"):
            sums().fit(X, Y, validation_split=part, verbose=0)
    with pytest.raises(ValueError, match="1 samples cannot be split in two"):
        sums().fit(X[:1], Y[:1], validation_split=0.5, verbose=0)
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    for nothing in (iter(()), data.take(0).batch(2), data.batch(16, drop_remainder=True)):
        for method in ("fit", "evaluate"):
            with pytest.raises(ValueError, match=f"{method}: the data have no batch"):
                getattr(sums(), method)(nothing, verbose=0)
        with pytest.raises(ValueError, match="predict: the data have no batch"):
            sums().predict(nothing, verbose=0)
    with pytest.raises(ValueError, match="fit: the data have no batch"):
        sums().fit(X[:0], Y[:0], verbose=0)


def test_data_that_end_after_some_epochs_only_warn() -> None:
    with pytest.warns(UserWarning, match="ran out of data"):
        history = sums().fit(SOURCES["generator"](), epochs=3, verbose=0).history
    assert len(history["loss"]) == 1


def test_steps_say_how_many_rows_a_batch_has() -> None:
    counts: list[int] = []
    model = sums(run_eagerly=True)
    model.test_step = lambda data: counts.append(len(data[0])) or {"loss": 0.0}
    model.evaluate(X, Y, steps=3, verbose=0)
    model.evaluate(X, Y, steps=2, batch_size=2, verbose=0)
    model.evaluate(X, Y, steps=0, verbose=0)
    assert counts == [3, 3, 2, 2, 2, 8]
    with pytest.raises(ValueError, match="must not be negative"):
        model.evaluate(X, Y, steps=-1, verbose=0)
    assert sums().evaluate(X, Y, steps=2, batch_size=2, verbose=0) == pytest.approx(0.6484375)


def test_classes_are_the_nearest_whole_numbers() -> None:
    assert sums().fit(X, Y, class_weight={0: 1.0, 1: 2.0}, verbose=0).history["loss"] == pytest.approx([4.955078125])
    with pytest.raises(ValueError, match="labels of one output"):
        sums().fit(X, [Y, Y], class_weight={0: 1.0}, verbose=0)
    with pytest.raises(ValueError, match="must be one-hot"):
        sums().fit(X, np.array([[0, 2]] * 8), class_weight={0: 1.0}, verbose=0)


def test_evaluations_after_some_epochs() -> None:
    for how in ({"validation_freq": 2}, {"validation_freq": [1, 3]}, {"validation_split": 0.5, "validation_freq": 3}):
        history = sums().fit(X, Y, validation_data=[X, Y, W], epochs=3, verbose=0, **how).history
        count = {2: 1, 3: 1}.get(how["validation_freq"], 2) if isinstance(how["validation_freq"], int) else 2
        assert history["loss"] == pytest.approx([2.8046875] * 3)
        assert history["val_loss"] == pytest.approx([15.4765625] * count)


def test_weights_of_samples_are_in_the_structure_of_labels() -> None:
    inputs = keras.Input((2,))
    outputs = {name: layers.Dense(1, name=name)(inputs) for name in "ab"}
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="structure"):
        model.fit(X, {"a": Y, "b": Y}, sample_weight={"a": W}, verbose=0)
