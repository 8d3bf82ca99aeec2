"""Callbacks of `fit`."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api as g
import tape_api as tf
from dualgrad.files.tensors import array_of

CALLBACKS = tf.keras.callbacks
X = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
Y = 3 * X + 1


def model(rate: float = 0.1) -> Any:
    made = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), kernel_initializer="zeros")])
    made.compile(tf.keras.optimizers.SGD(rate), "mse")
    return made


def fit(made: Any, *callbacks: Any, epochs: int = 6, **more: Any) -> Any:
    return made.fit(X, Y, epochs=epochs, verbose=0, shuffle=False, callbacks=list(callbacks), **more)


def test_the_order_of_events() -> None:
    events: list[Any] = []

    class Listener(CALLBACKS.Callback):  # type: ignore[misc, name-defined]
        def on_train_begin(self, logs: Any = None) -> None:
            events.append(("begin", self.params["epochs"], self.model is net))

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            events.append(("epoch", epoch))

        def on_batch_end(self, batch: int, logs: Any = None) -> None:
            events.append(("batch", batch, sorted(logs)))

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            events.append(("end", epoch, sorted(logs)))

    net = model()
    history = fit(net, Listener(), epochs=1, validation_split=0.5, batch_size=10)
    assert events == [
        ("begin", 1, True), ("epoch", 0), ("batch", 0, ["loss"]), ("batch", 1, ["loss"]),
        ("end", 0, ["loss", "val_loss"]),
    ]  # fmt: skip
    assert sorted(history.history) == ["loss", "val_loss"] and net.history is history


def test_early_stopping_goes_back_to_the_best_weights() -> None:
    net, values = model(), iter([5.0, 3.0, 4.0, 3.5, 1.0])
    seen: list[Any] = []

    class Given(CALLBACKS.Callback):  # type: ignore[misc, name-defined]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            logs["val_loss"] = next(values)
            seen.append(self.model.get_weights())

    stop = CALLBACKS.EarlyStopping(patience=2, restore_best_weights=True)
    history = fit(net, Given(), stop)
    assert history.epoch == [0, 1, 2, 3] and (stop.stopped_epoch, stop.best_epoch, stop.best) == (3, 1, 3.0)
    np.testing.assert_equal(net.get_weights(), seen[1])


def test_learning_rates() -> None:
    net = model()
    history = fit(net, CALLBACKS.LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else rate), epochs=3)
    np.testing.assert_allclose(history.history["learning_rate"], [0.1, 0.05, 0.025], rtol=1e-6)
    flat = model()
    nothing = CALLBACKS.LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(flat=1.0))
    plateau = CALLBACKS.ReduceLROnPlateau("flat", factor=0.5, patience=2, min_lr=0.03)
    fit(flat, nothing, plateau, epochs=7)
    assert float(flat.optimizer.learning_rate) == pytest.approx(0.03)


def test_terminating_and_logging(tmp_path: Path, capsys: Any) -> None:
    net = model(1e30)
    history = fit(net, CALLBACKS.TerminateOnNaN())
    assert len(history.epoch) == 1 and "Invalid loss, terminating training" in capsys.readouterr().out
    file = tmp_path / "log.csv"
    fit(model(), CALLBACKS.CSVLogger(file), epochs=2)
    fit(model(), CALLBACKS.CSVLogger(file, append=True), epochs=1)
    rows = list(csv.reader(file.read_text().splitlines()))
    assert rows[0] == ["epoch", "loss", "val_loss"] and [row[0] for row in rows[1:]] == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: fit(model(), "callback"), TypeError, "must hold keras.callbacks.Callback, got 'callback'"),
        (lambda: CALLBACKS.ReduceLROnPlateau(factor=2.0), ValueError, "does not support a factor >= 1.0"),
        (lambda: CALLBACKS.EarlyStopping(mode="least"), ValueError, "must be 'auto', 'min' or 'max'"),
        (lambda: CALLBACKS.LambdaCallback(on_nothing=print), ValueError, "there is no method on_nothing"),
        (lambda: model().fit(iter([]), validation_split=0.5), ValueError, "`validation_split` must be in"),
    ],
)
def test_mistakes(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_number_that_is_not_there_is_reported() -> None:
    with pytest.warns(UserWarning, match="there is no metric `val_loss`; available are loss"):
        fit(model(), CALLBACKS.EarlyStopping(), epochs=1)


def test_models_in_graphs_say_how_to_be_trained() -> None:
    with g.Graph().as_default():
        net = g.keras.Sequential([g.keras.layers.Dense(1, input_shape=(1,))])
        net.compile("sgd", "mse")
        with pytest.raises(NotImplementedError, match="minimize a loss of the model's outputs"):
            net.fit(X, Y)


def test_weights_are_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = CALLBACKS.ModelCheckpoint(tmp_path / "w-{epoch:02d}", save_weights_only=True, verbose=1)
    options = {"monitor": "loss", "save_best_only": True, "save_weights_only": True}
    best = CALLBACKS.ModelCheckpoint(tmp_path / "best", **options)
    never = CALLBACKS.ModelCheckpoint(tmp_path / "never", **options, initial_value_threshold=0.0)
    steps = CALLBACKS.ModelCheckpoint(tmp_path / "step", save_weights_only=True, save_freq=3)
    seen = []
    net = model()
    fit(
        net,
        every,
        best,
        never,
        steps,
        CALLBACKS.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((logs["loss"], net.get_weights()))),
        epochs=3,
    )
    assert capsys.readouterr().out.count("saving model to") == 3
    for epoch, (_, weights) in enumerate(seen):
        again = model()
        again.load_weights(str(tmp_path / f"w-{epoch + 1:02d}"))
        np.testing.assert_equal(again.get_weights(), weights)
    loss, weights = min(seen, key=lambda one: one[0])
    again = model()
    again.load_weights(str(tmp_path / "best"))
    np.testing.assert_array_equal(again.get_weights()[0], weights[0])
    assert best.best == loss
    assert not (tmp_path / "never.index").exists()
    assert (tmp_path / "step.index").exists()


def test_what_a_model_checkpoint_refuses(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="save_weights_only"):
        CALLBACKS.ModelCheckpoint(tmp_path / "w")
    with pytest.raises(ValueError, match="save_freq"):
        CALLBACKS.ModelCheckpoint(tmp_path / "w", save_weights_only=True, save_freq=0)
    with pytest.raises(KeyError, match="asks for 'gain'"):
        fit(model(), CALLBACKS.ModelCheckpoint(str(tmp_path / "{gain}"), save_weights_only=True))
    with g.Graph().as_default(), pytest.raises(NotImplementedError, match=r"train\.Saver"):
        g.keras.callbacks.ModelCheckpoint(tmp_path / "w", save_weights_only=True).set_model(g.keras.Sequential())


def written(keras: Any, folder: Path) -> dict[tuple[str, int, str], Any]:
    """What the callback of one Keras writes: by folder, step and tag."""
    made = keras.Sequential(
        [keras.layers.Input((1,)), keras.layers.Dense(1, kernel_initializer="zeros", name="line")], name="s"
    )
    made.compile(keras.optimizers.SGD(0.1), "mse")
    boards = [
        keras.callbacks.TensorBoard(str(folder / "epochs"), histogram_freq=2, write_graph=False),
        keras.callbacks.TensorBoard(str(folder / "steps"), update_freq=2, write_graph=False),
    ]
    fit(made, *boards, epochs=3, batch_size=10, validation_data=(X, Y))
    found: dict[tuple[str, int, str], Any] = {}
    for file in sorted(folder.glob("*/*/*")):
        for event in g.train.summary_iterator(file):
            for value in event.summary.value:
                where = str(file.parent.relative_to(folder))
                found[where, event.step, value.tag] = array_of(value.tensor)
    return found


def test_trainings_are_written_for_tensorboard(tmp_path: Path) -> None:
    found = written(tf.keras, tmp_path)
    (last,) = [value for key, value in found.items() if key == ("epochs/train", 2, "epoch_loss")]
    (validated,) = [value for key, value in found.items() if key == ("epochs/validation", 2, "epoch_loss")]
    assert 0.0 < validated < last < found["epochs/train", 0, "epoch_loss"]
    for asked in ({"write_images": True}, {"profile_batch": (2, 4)}):
        with pytest.raises(NotImplementedError, match=next(iter(asked))):
            CALLBACKS.TensorBoard(tmp_path, **asked)


@pytest.mark.peer
def test_the_board_is_that_of_keras(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras", "3.5")
    ours, theirs = written(tf.keras, tmp_path / "ours"), written(keras, tmp_path / "theirs")
    assert sorted(ours) == sorted(theirs)
    for key, value in theirs.items():
        np.testing.assert_allclose(ours[key], value, rtol=1e-4, atol=1e-6, err_msg=str(key))


# ---- backups ---------------------------------------------------------------------------------------------------------


class _Stop(tf.keras.callbacks.Callback):
    def __init__(self, event: str, at: int) -> None:
        self.left = at
        setattr(self, event, self.count)

    def count(self, number: int, logs: Any = None) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def _small_model() -> Any:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.Adam(0.1), "mse")
    return model


@pytest.mark.parametrize("double", [False, True])
def test_training_goes_on_where_it_was_cut_off(tmp_path: Any, double: bool) -> None:
    x = np.arange(8, dtype=np.float32).reshape(8, 1) / 8
    data = {"x": x, "y": 2 * x, "epochs": 4, "batch_size": 4, "verbose": 0, "shuffle": False}
    whole = _small_model()
    history = whole.fit(**data)
    backup = tmp_path / "backup"
    callbacks = [tf.keras.callbacks.BackupAndRestore(backup, double_checkpoint=double), _Stop("on_epoch_begin", 3)]
    with pytest.raises(KeyboardInterrupt):
        _small_model().fit(**data, callbacks=callbacks)
    assert len(list(backup.glob("*.index"))) == 1 + double
    again = _small_model()
    second = again.fit(**data, callbacks=[tf.keras.callbacks.BackupAndRestore(backup)])
    assert second.epoch == [3] and second.history["loss"] == history.history["loss"][3:]
    np.testing.assert_equal(again.get_weights(), whole.get_weights())
    assert not backup.exists()


def test_backups_between_steps(tmp_path: Any) -> None:
    x = np.arange(8, dtype=np.float32).reshape(8, 1) / 8
    data = {"x": x, "y": 2 * x, "epochs": 2, "batch_size": 2, "verbose": 0, "shuffle": False}
    backup = tf.keras.callbacks.BackupAndRestore(tmp_path, save_freq=1, delete_checkpoint=False)
    with pytest.raises(KeyboardInterrupt):
        _small_model().fit(**data, callbacks=[backup, _Stop("on_train_batch_begin", 3)])
    steps: list[int] = []
    count = tf.keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: steps.append(batch))
    model = _small_model()
    model.fit(**data, callbacks=[backup, count])
    assert steps == [0, 1, 2, 3] * 2 and int(model.optimizer.iterations) == 11
    (tmp_path / "training_metadata.json").write_text("{}")
    with pytest.raises(tf.errors.DataLossError, match="is not the note of a backup"):
        _small_model().fit(**data, callbacks=[backup])
    with pytest.raises(ValueError, match="Empty `backup_dir`"):
        tf.keras.callbacks.BackupAndRestore("")
    with pytest.raises(ValueError, match="Invalid value for argument `save_freq`"):
        tf.keras.callbacks.BackupAndRestore(tmp_path, save_freq="x")


def test_a_given_bar_is_the_one_of_fit(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones((4, 1), np.float32)
    for verbose in (0, 1):
        _small_model().fit(x, x, verbose=verbose, callbacks=[tf.keras.callbacks.ProgbarLogger()])
        assert capsys.readouterr().out.count("Epoch 1/1") == verbose
