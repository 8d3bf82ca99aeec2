"""What training does as Keras 3.15: callbacks, odd data, options of optimizers. The numbers are Keras's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tape_api import keras

NAN, INF = float("nan"), float("inf")
X, Y = np.arange(24.0).reshape(8, 3) / 24, np.arange(8.0).reshape(8, 1) / 8


def model(*optimizer: Any, **options: Any) -> Any:
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])
    made.compile(*(optimizer or ("sgd",)), "mse", **options)
    return made


@pytest.mark.parametrize(
    ("mode", "losses", "best"),
    [
        ("min", (NAN, 3.0, 2.0), [NAN, NAN, NAN]),
        ("min", (INF, 3.0, NAN, 2.0), [INF, 3.0, 3.0, 2.0]),
        ("max", (-INF, 3.0, 2.0), [-INF, 3.0, 3.0]),
        ("max", (NAN, 3.0), [NAN, NAN]),
        ("min", (-INF, 3.0), [-INF, -INF]),
        ("auto", (NAN, 3.0), [NAN, NAN]),
    ],
)
def test_the_first_number_is_the_best_so_far(mode: str, losses: Any, best: Any, tmp_path: Path) -> None:
    callbacks = keras.callbacks
    watching = [
        callbacks.EarlyStopping("loss", mode=mode, patience=9),
        callbacks.ModelCheckpoint(tmp_path / "{epoch}.weights.h5", "loss", mode=mode, save_best_only=True,
                                  save_weights_only=True),
        callbacks.ReduceLROnPlateau("loss", mode=mode),
    ]  # fmt: skip
    seen = []
    for callback in watching:
        callback.set_model(model())
        callback.on_train_begin()
        for epoch, loss in enumerate(losses):
            callback.on_epoch_begin(epoch)
            callback.on_epoch_end(epoch, {"loss": loss})
            seen.append(callback.best)
    np.testing.assert_array_equal(seen, best * 3)
    improved = [i + 1 for i, b in enumerate(best) if i == 0 or not (b == best[i - 1] or np.isnan(b))]
    assert sorted(int(p.name.split(".")[0]) for p in tmp_path.iterdir()) == improved


def test_auto_asks_the_metric_which_way_is_better() -> None:
    watching = keras.callbacks.EarlyStopping("val_p", patience=1)
    trained = model(metrics=[keras.metrics.Precision(name="p")])
    trained.fit(X, Y > 0.5, verbose=0, epochs=2, validation_data=(X, Y > 0.5), callbacks=watching)
    watching.on_train_begin()
    for epoch, value in enumerate((0.5, 0.7, 0.6)):
        watching.on_epoch_end(epoch, {"val_p": value})
    assert watching.best == 0.7


def test_a_log_has_columns_for_evaluations_to_come(tmp_path: Path) -> None:
    model().fit(X, Y, epochs=3, validation_data=[X, Y], validation_freq=2, verbose=0,
                callbacks=[keras.callbacks.CSVLogger(tmp_path / "log")])  # fmt: skip
    head, *rows = [line.split(",") for line in (tmp_path / "log").read_text().splitlines()]
    assert head == ["epoch", "loss", "val_loss"] and [row[2] == "NA" for row in rows] == [True, False, True]


def test_names_of_files_have_the_number_of_the_step(tmp_path: Path) -> None:
    name = tmp_path / "{epoch}-{batch}.weights.h5"
    for every, batches, files in ((2, 1, "1-2 1-4 2-2 2-4"), (3, 1, "1-3 2-2"), (3, 2, "1-4 2-4")):
        saved = keras.callbacks.ModelCheckpoint(name, save_freq=every, save_weights_only=True)
        model(steps_per_execution=batches).fit(X, Y, epochs=2, batch_size=2, verbose=0, callbacks=[saved])
        assert sorted(p.name.split(".")[0] for p in tmp_path.iterdir()) == files.split(), every
        for path in tmp_path.iterdir():
            path.unlink()


class Told(keras.callbacks.Callback):
    """Notes batches, and stops."""

    def __init__(self, stops: str = "") -> None:
        super().__init__()
        self.stops, self.seen = stops, []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.seen.append(batch)

    on_test_batch_begin = on_predict_batch_begin = on_train_batch_begin

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen.append(batch)
        if self.stops:
            setattr(self.model, self.stops, True)

    on_test_batch_end = on_predict_batch_end = on_train_batch_end


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_batches_that_run_together_are_told_of_together(method: str) -> None:
    told, net = Told(), model(steps_per_execution=3)
    labels = () if method == "predict" else (Y,)
    getattr(net, method)(X, *labels, batch_size=2, verbose=0, callbacks=[told])
    assert told.seen == [0, 2, 3, 5]
    if method == "fit":
        assert int(net.optimizer.iterations) == 4


def test_evaluations_and_predictions_stop_when_asked() -> None:
    net = model()
    first = net.evaluate(X[:2], Y[:2], verbose=0)
    assert net.evaluate(X, Y, batch_size=2, verbose=0, callbacks=[Told("stop_evaluating")]) == first
    assert len(net.predict(X, batch_size=2, verbose=0, callbacks=[Told("stop_predicting")])) == 2
    assert len(net.predict(X, batch_size=2, verbose=0)) == 8 and net.evaluate(X, Y, verbose=0) != first


def test_data_in_lists_and_data_without_rows() -> None:
    nets = [model(), model()]
    histories = [
        nets[0].fit(X, Y, shuffle=False, verbose=0, validation_data=(X, Y), validation_freq=[1, 3], epochs=3).history,
        nets[1]
        .fit([X], [Y], shuffle=False, verbose=0, validation_data=[X, Y], validation_freq=[1, 3], epochs=3)
        .history,
    ]
    assert histories[0] == histories[1] and len(histories[0]["val_loss"]) == 2
    assert nets[0].train_on_batch(X, Y) == nets[1].train_on_batch([X], [Y])
    with pytest.warns(UserWarning, match="no rows"):
        assert nets[0].evaluate(X[:0], Y[:0], verbose=0) == []
    dense = keras.layers.Dense(1, activity_regularizer="l2")
    dense(X[:0])
    assert dense.losses[0].numpy() == 0


def test_models_with_nothing_to_train_fit() -> None:
    frozen = model()
    frozen.trainable = False
    frozen.compile("adam", "mse")
    assert frozen.fit(X, Y, verbose=0).history["loss"][0] > 0 and int(frozen.optimizer.iterations) == 0
    scaling = keras.Sequential([keras.Input((1,)), keras.layers.Rescaling(2.0)])
    scaling.compile("adam", "mse")
    np.testing.assert_allclose(scaling.fit(Y, Y, verbose=0).history["loss"], [np.mean(Y * Y)], rtol=1e-6)


def test_a_frozen_model_inside_another_keeps_its_statistics() -> None:
    base = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.BatchNormalization()])
    base.trainable = False
    assert not base.layers[1].trainable
    inputs = keras.Input((3,))
    net = keras.Model(inputs, keras.layers.Dense(1)(base(inputs)))
    net.compile("sgd", "mse")
    before = base.get_weights()
    net.fit(X, Y, verbose=0)
    assert all((a == b).all() for a, b in zip(before, base.get_weights(), strict=True))
    base.trainable = True
    assert base.layers[0].trainable and len(base.trainable_weights) == 4


# ---- optimizers ------------------------------------------------------------------------------------------------------


def steps(optimizer: Any, gradients: Any, *values: Any) -> list[Any]:
    variables = [tf.Variable(value) for value in values]
    for gradient in gradients:
        optimizer.apply_gradients(
            [(gradient if callable(gradient) else gradient * tf.ones_like(v), v) for v in variables]
        )
    return [v.numpy() for v in variables]


def test_the_count_of_steps_is_assigned_before_the_first() -> None:
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    for make in (lambda: keras.optimizers.Adam(0.1), lambda: keras.optimizers.SGD(rate)):
        later, again = make(), make()
        later.iterations.assign(7)
        moved = steps(later, [0.3], [1.0, 2.0])
        again.build([tf.Variable([1.0, 2.0])])
        again.iterations.assign(7)
        np.testing.assert_array_equal(moved, steps(again, [0.3], [1.0, 2.0]))
        assert int(later.iterations) == 8


def test_losses_are_scaled_and_gradients_scaled_back() -> None:
    plain, scaled = (model(keras.optimizers.Adam(0.1, loss_scale_factor=f)) for f in (None, 64.0))
    first, second = (net.fit(X, Y, epochs=3, verbose=0, shuffle=False).history for net in (plain, scaled))
    assert first == second
    optimizer = keras.optimizers.SGD(0.5, loss_scale_factor=4.0)
    assert optimizer.scale_loss(tf.constant(2.0)).numpy() == 8 and steps(optimizer, [4.0], 1.0) == [0.5]


@pytest.mark.parametrize("by", ["names", "variables"])
@pytest.mark.parametrize("count", [1, 12])  # a step of many kinds is compiled
def test_some_variables_do_not_decay(by: str, count: int) -> None:
    plain, decaying = model(keras.optimizers.SGD(0.1)), model(keras.optimizers.SGD(0.1, weight_decay=0.5))
    both = {"names": {"var_names": ["kernel", "bias"]}, "variables": {"var_list": decaying.weights}}[by]
    decaying.optimizer.exclude_from_weight_decay(**both)
    for net in (plain, decaying):
        net.fit(X, Y, epochs=count, batch_size=2, shuffle=False, verbose=0)
    np.testing.assert_array_equal(plain.get_weights()[0], decaying.get_weights()[0])
    half = model(keras.optimizers.SGD(0.1, weight_decay=0.5))
    half.optimizer.exclude_from_weight_decay(var_names=["^bias$"])
    half.train_on_batch(X, Y)
    one, whole = model(keras.optimizers.SGD(0.1)), model(keras.optimizers.SGD(0.1, weight_decay=0.5))
    one.train_on_batch(X, Y)
    whole.train_on_batch(X, Y)
    np.testing.assert_allclose(half.get_weights()[0], whole.get_weights()[0], rtol=1e-6)
    assert (half.get_weights()[1] == one.get_weights()[1]).all() and (
        half.get_weights()[0] < one.get_weights()[0]
    ).all()


def test_averages_come_back_behind_a_scaled_loss() -> None:
    inner = [keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5) for _ in range(2)]
    plain, scaled = model(inner[0]), model(keras.optimizers.LossScaleOptimizer(inner[1]))
    for net in (plain, scaled):
        net.fit(X, Y, epochs=2, batch_size=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(plain.get_weights()[0], scaled.get_weights()[0], rtol=1e-6)


# ---- layers and losses -----------------------------------------------------------------------------------------------


L = keras.layers


@pytest.mark.parametrize(
    ("layer", "shape", "wanted"),
    [
        (L.Dense(4), (None, 5, 3), (None, 5, 4)),
        (L.Conv2D(4, 3, strides=2), (None, None, 9, 3), (None, None, 4, 4)),
        (L.Conv2DTranspose(4, 3, strides=2, output_padding=1, padding="same"), (None, 5, None, 3), (None, 10, None, 4)),
        (L.LSTM(4, return_sequences=True), (None, None, 3), (None, None, 4)),
        (L.Bidirectional(L.GRU(4)), (None, 5, 3), (None, 8)),
        (L.Concatenate(1), [(None, 3, 2), (None, None, 2)], (None, None, 2)),
        (L.Flatten(), (None, None, 3), (None, None)),
        (L.Embedding(5, 2), (None, 7), (None, 7, 2)),
        (keras.Sequential([keras.Input((3,)), L.Dense(2)]), (5, 3), (5, 2)),
    ],
)
def test_shapes_of_outputs_are_told_without_building(layer: Any, shape: Any, wanted: Any) -> None:
    before = layer.built
    assert layer.compute_output_shape(shape) == wanted and layer.built == before


def test_layers_without_weights_are_built_from_the_start() -> None:
    early = [L.Dropout(0.1), L.Activation("relu"), L.Softmax(), L.MaxPooling2D(), L.Masking(), L.GaussianNoise(0.1)]
    late = [L.Dense(2), L.Flatten(), L.Add(), L.LSTM(2), keras.Sequential([L.Dense(2)])]
    assert [x.built for x in early] == [True] * 6 and not any(x.built for x in late)


def test_a_mean_by_the_weights_and_labels_of_own_losses() -> None:
    kinds = []

    class Own(keras.losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            kinds.append(y_true.dtype.name)
            return tf.reduce_mean(tf.square(y_true - y_pred), -1)

    weights = np.array([1.0, 3.0])
    got = Own(reduction="mean_with_sample_weight")(
        np.array([[1], [2]]), tf.constant([[0.0], [0.0]]), sample_weight=weights
    )
    assert got.numpy() == (1 + 4 * 3) / 4 and kinds == ["float32"]


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_scale_of_losses_is_kept_in_files(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    make = keras.optimizers.LossScaleOptimizer
    net = model(make(keras.optimizers.Adam(0.1), initial_scale=128.0, dynamic_growth_steps=3))
    net.fit(X, Y, epochs=4, verbose=0, shuffle=False)
    net.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    assert again.optimizer.get_config() == net.optimizer.get_config()
    assert float(again.optimizer.dynamic_scale) == 256
    for one in (net, again):
        one.fit(X, Y, epochs=3, verbose=0, shuffle=False)
    np.testing.assert_array_equal(net.get_weights()[0], again.get_weights()[0])


def test_weights_in_several_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    for number, layer in enumerate(("dense", "dense_1")):
        with h5py.File(tmp_path / f"w_{number}.weights.h5", "w") as file:
            file[f"layers/{layer}/vars/0"] = np.full((3, 2) if number == 0 else (2, 1), number + 1.0)
            file[f"layers/{layer}/vars/1"] = np.full(2 - number, 5.0)
    places = {f"/layers/{name}/vars": [f"w_{i}.weights.h5"] for i, name in enumerate(("dense", "dense_1"))}
    (tmp_path / "w.weights.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    net = keras.Sequential([keras.Input((3,)), L.Dense(2), L.Dense(1)])
    net.load_weights(tmp_path / "w.weights.json")
    assert [float(w.sum()) for w in net.get_weights()] == [6, 10, 4, 5]
    (tmp_path / "w.weights.json").write_text(json.dumps({"weight_map": {"/layers/dense/vars": "../w_0.weights.h5"}}))
    with pytest.raises(tf.errors.DataLossError, match="no name of a file beside"):
        net.load_weights(tmp_path / "w.weights.json")


def test_configurations_of_keras_2() -> None:
    dense = {"class_name": "Dense", "config": {"units": 4, "batch_input_shape": [None, 3]}}
    norm = {"class_name": "BatchNormalization", "config": {"axis": [1]}}
    listed = keras.models.model_from_json(json.dumps({"class_name": "Sequential", "config": [dense, norm]}))
    assert listed(X).shape == (8, 4) and listed.layers[1].axis == 1
    words = {"class_name": "Embedding", "config": {"input_dim": 9, "output_dim": 2, "input_length": 7}}
    keras.models.model_from_json(json.dumps({"class_name": "Sequential", "config": {"layers": [words]}}))


def test_layers_of_a_model_of_ones_own_lie_where_keras_looks(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.out, self.stack = L.Dense(2), L.Dense(1), [L.Dense(2)]

        def call(self, inputs: Any) -> Any:
            return self.out(self.stack[0](self.first(inputs)))

    net = Own()
    net(X)
    net.save_weights(tmp_path / "w.weights.h5")
    with h5py.File(tmp_path / "w.weights.h5") as file:
        assert set(file["layers"]) == {"dense_1", "dense_2"} and "first" in file and "out" not in file
