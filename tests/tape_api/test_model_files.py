"""Models and weights in HDF5 files and archives: they come back, and Keras's come too."""

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.runtime.errors import DataLossError, InvalidArgumentError
from tape_api import keras
from tape_api.files import optimizer_files, weight_files
from tape_api.keras import layers

X = np.linspace(-1.0, 1.0, 24).reshape(4, 6).astype(np.float32)


@pytest.fixture
def h5py() -> Any:
    return pytest.importorskip("h5py")


def scaled(keras: Any) -> Any:
    """A layer of the program's own, for either library."""

    @keras.utils.register_keras_serializable(package="tests")
    class Scaled(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, factor: float = 2.0, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.factor = factor

        def build(self, input_shape: Any) -> None:
            self.gain = self.add_weight(name="gain", shape=(input_shape[-1],), initializer="ones")

        def call(self, inputs: Any) -> Any:
            return inputs * self.gain * self.factor

        def get_config(self) -> Any:
            return {**super().get_config(), "factor": self.factor}

    return Scaled


Scaled = scaled(keras)


def stack() -> Any:
    model = keras.Sequential(
        [
            layers.Dense(5, "tanh", kernel_regularizer=keras.regularizers.L2(0.1), input_shape=(6,), name="first"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            Scaled(3.0),
            layers.Dense(2, kernel_constraint=keras.constraints.MaxNorm(3.0)),
        ]
    )
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(keras.optimizers.Adam(rate), keras.losses.Huber(delta=0.5), metrics=["mae"])
    return model


def branches() -> Any:
    a, b = keras.Input((6,), name="a"), keras.Input((3, 2), name="b")
    shared = layers.Dense(4, activation="relu", name="shared")
    both = layers.Concatenate()([shared(a), shared(layers.Reshape((6,))(b)), layers.Bidirectional(layers.GRU(2))(b)])
    unused = layers.Dense(1, name="without_gradient")(a)
    model = keras.Model([a, b], {"out": layers.Dense(2)(both), "more": unused}, name="branches")
    model.compile(keras.optimizers.RMSprop(0.01), {"out": "mse"})
    return model


def fed(model: Any) -> Any:
    return X if len(model.inputs) == 1 else [X, X.reshape(4, 3, 2)]


def outputs(model: Any) -> list[np.ndarray]:
    found = model.predict(fed(model), verbose=0)
    return [found[key] for key in sorted(found)] if isinstance(found, dict) else [found]


def trained(make: Any) -> Any:
    model = make()
    y = np.ones((4, 2), np.float32)
    model.fit(fed(model), y if make is stack else {"out": y}, epochs=2, verbose=0)
    return model


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("make", [stack, branches])
@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_a_model_comes_back(h5py: Any, tmp_path: Path, make: Any, name: str) -> None:
    model = trained(make)
    model.save(tmp_path / name)
    again = keras.models.load_model(tmp_path / name)
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    np.testing.assert_equal(outputs(again), outputs(model))
    assert type(again.optimizer) is type(model.optimizer)
    if name == "m.keras":  # the state of the optimizer comes too: both go on alike
        assert int(again.optimizer.iterations) == 2
        y = np.zeros((4, 2), np.float32)
        for one in (model, again):
            for layer in one.layers:  # what dropout draws next is no part of a file, as in Keras
                if getattr(layer, "_seeds", None) is not None:
                    layer._seeds.state.assign([1, 0])
            one.train_on_batch(fed(one), y if make is stack else {"out": y})
        np.testing.assert_equal(again.get_weights(), model.get_weights())


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("make", [stack, branches])
def test_a_model_as_json(make: Any) -> None:
    model = make()
    text = model.to_json()
    assert '"tape_api.' not in text
    again = keras.models.model_from_json(text)
    again.set_weights(model.get_weights())
    np.testing.assert_equal(outputs(again), outputs(model))


def test_arguments_of_losses_metrics_and_penalties() -> None:
    assert keras.losses.Huber(delta=0.5).get_config()["delta"] == 0.5
    assert keras.metrics.Mean(name="m").get_config()["name"] == "m"
    assert keras.regularizers.L1L2(l1=0.5).get_config() == {"l1": 0.5, "l2": 0.0}
    assert keras.constraints.MaxNorm(1.5).get_config() == {"max_value": 1.5, "axis": 0}
    again = keras.regularizers.get({"module": "tape_api.keras.regularizers", "class_name": "L2", "config": {"l2": 0.5}})
    assert float(again(tf.constant([2.0]))) == 2.0


@pytest.mark.parametrize("name", ["w.weights.h5", "w.h5"])
def test_weights_come_back_or_nothing_changes(h5py: Any, tmp_path: Path, name: str) -> None:
    class Net(keras.Model):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.blocks = [layers.Dense(width), keras.Sequential([layers.Dense(2)])]
            self.scale = Scaled()

        def call(self, inputs: Any) -> Any:
            return self.scale(self.blocks[1](self.blocks[0](inputs)))

    one, other, wrong = Net(3), Net(3), Net(4)
    for net in (one, other, wrong):
        net(X)
    path = tmp_path / name
    one.save_weights(path)
    other.load_weights(path)
    np.testing.assert_array_equal(other(X), one(X))
    before = wrong.get_weights()
    with pytest.raises(ValueError, match="has variables of shapes"):
        wrong.load_weights(path)
    np.testing.assert_equal(wrong.get_weights(), before)
    with pytest.warns(UserWarning, match="left as they are"):
        wrong.load_weights(path, skip_mismatch=True)
    with pytest.raises(FileExistsError):
        one.save_weights(path, overwrite=False)
    with pytest.raises(FileNotFoundError, match="absent"):
        one.load_weights(tmp_path / "absent.h5")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match="damaged"):
        one.load_weights(path)


def test_weights_by_the_names_of_layers(h5py: Any, tmp_path: Path) -> None:
    one = keras.Sequential([layers.Dense(3, input_shape=(6,), name="a"), layers.Dense(2, name="b")])
    other = keras.Sequential([layers.Dense(3, input_shape=(6,), name="a"), layers.Dense(4, name="c")])
    one.save_weights(tmp_path / "w.h5")
    kept = other.layers[1].get_weights()[0]
    other.load_weights(tmp_path / "w.h5", by_name=True)
    np.testing.assert_array_equal(other.layers[0].get_weights()[0], one.layers[0].get_weights()[0])
    np.testing.assert_array_equal(other.layers[1].get_weights()[0], kept)


def test_what_cannot_be_saved_or_read(h5py: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stack()
    with pytest.raises(ValueError, match=r"\.keras or \.h5"):
        model.save(tmp_path / "folder")
    a = keras.Input((6,))
    with pytest.raises(NotImplementedError, match="op 'tanh' between its layers"):
        keras.Model(a, tf.tanh(layers.Dense(2)(a))).save(tmp_path / "m.keras")
    model.save(tmp_path / "m.h5")
    model.save_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="holds weights, and no model"):
        keras.models.load_model(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="File not found"):
        keras.models.load_model(tmp_path / "none.keras")
    config = json.loads(model.to_json())
    config["config"]["layers"][1]["config"]["renorm"] = True
    with pytest.raises(ValueError, match="BatchNormalization does not take renorm=True"):
        keras.models.model_from_json(json.dumps(config))
    model.compile("sgd", lambda t, p: (t - p) ** 2)
    with pytest.warns(UserWarning, match="what `compile` was given is not saved"):
        model.save(tmp_path / "lambda.keras")
    assert keras.models.load_model(tmp_path / "lambda.keras").optimizer is None
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(NotImplementedError, match="pip install h5py"):
        model.save_weights(tmp_path / "w.weights.h5")


def test_checkpoints_of_whole_models(h5py: Any, tmp_path: Path) -> None:
    model = stack()
    keep = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras", monitor="loss")
    model.fit(X, np.ones((4, 2)), epochs=2, verbose=0, callbacks=[keep])
    np.testing.assert_array_equal(outputs(keras.models.load_model(tmp_path / "2.keras"))[0], outputs(model)[0])


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [stack, branches])
def test_keras_reads_ours_and_we_read_its(h5py: Any, tmp_path: Path, make: Any) -> None:
    theirs: Any = pytest.importorskip("keras", "3.5")

    scaled(theirs)
    model = trained(make)
    expected = outputs(model)
    for name in ("m.keras", "m.h5"):
        model.save(tmp_path / name)
        read = theirs.models.load_model(tmp_path / name)
        read.save(tmp_path / f"back-{name}")
        read.save_weights(tmp_path / "w.weights.h5")
        other = make()
        other.load_weights(tmp_path / "w.weights.h5")
        for one in (read, keras.models.load_model(tmp_path / f"back-{name}"), other):
            for found, value in zip(outputs(one), expected, strict=True):
                np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)


@tf.keras.utils.register_keras_serializable("of_a_test")
class Pair(tf.keras.Model):
    """Layers as attributes, no `build`, and inputs in a dict."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.first, self.norm, self.last = (tf.keras.layers.Dense(3), tf.keras.layers.BatchNormalization(), [])
        self.last.append(tf.keras.layers.Dense(2))

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.last[0](self.norm(self.first(inputs["a"]) + self.first(inputs["b"]), training=training))


def test_a_model_with_its_own_call_comes_back(h5py: Any, tmp_path: Path) -> None:
    inputs = {"a": X, "b": 2 * X}
    model = Pair()
    model.compile("adam", "mse")
    model.fit(inputs, np.ones((len(X), 2)), verbose=0)
    model.save(tmp_path / "pair.keras")
    back = tf.keras.models.load_model(tmp_path / "pair.keras")
    np.testing.assert_array_equal(back(inputs), model(inputs))
    built = Pair()
    built.build({"a": (None, X.shape[1]), "b": (None, X.shape[1])})
    assert [w.shape for w in built.weights] == [w.shape for w in model.weights]


def test_a_file_that_asks_for_a_model_of_huge_inputs(h5py: Any, tmp_path: Path) -> None:
    model = Pair()
    model({"a": X, "b": X})
    model.save(tmp_path / "pair.keras")
    with zipfile.ZipFile(tmp_path / "pair.keras") as saved, zipfile.ZipFile(tmp_path / "huge.keras", "w") as huge:
        for name in saved.namelist():
            text = saved.read(name)
            huge.writestr(name, text.replace(b"[4,", b"[4000000000,") if name == "config.json" else text)
    with pytest.raises(DataLossError, match=r"inputs of shape \[4000000000"):
        tf.keras.models.load_model(tmp_path / "huge.keras")


def wide() -> Any:
    """A model of which a weight, and a slot, is large enough to be read into its place."""
    model = keras.Sequential([layers.Dense(128, input_shape=(256,)), layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(np.ones((2, 256), np.float32), np.ones((2, 2), np.float32), verbose=0)
    return model


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_weights_that_a_file_has_are_not_drawn(
    h5py: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path, model = tmp_path / f"m.{ending}", wide()
    model.save(path)

    with monkeypatch.context() as patched:
        patched.setattr("tape_api.random.stateless_uniform", None)
        loaded = keras.models.load_model(path)
        with pytest.raises(TypeError):
            layers.Dense(2).build((None, 3))
    found, expected = [[v.numpy() for v in [*m.weights, *m.optimizer.variables]] for m in (loaded, model)]
    np.testing.assert_equal(found, expected)
    assert len(found) == 14


@keras.utils.register_keras_serializable(package="tests")
class Hiding(layers.Layer):
    """A layer of a user's, of which one part is in no file, and one starts from what it looks at."""

    def build(self, input_shape: Any) -> None:
        self.held, self.start = SimpleNamespace(), self.add_weight(shape=(3, 3), initializer="glorot_uniform")
        self.first = float(self.start.numpy()[0, 0])
        self.held.dense = layers.Dense(4, kernel_initializer=keras.initializers.GlorotUniform(seed=3))
        self.held.dense.build(input_shape)

    def call(self, inputs: Any) -> Any:
        return self.held.dense(inputs)


def test_weights_that_a_file_lacks_are_drawn(h5py: Any, tmp_path: Path) -> None:
    path, model = tmp_path / "m.keras", keras.Sequential([keras.Input((6,)), Hiding()])
    model.save(path)
    layer = keras.models.load_model(path).layers[-1]
    kernel = layer.held.dense.kernel.numpy()
    assert np.all(kernel) and kernel.tobytes() == model.layers[-1].held.dense.kernel.numpy().tobytes()
    assert layer.first != 0


@pytest.mark.parametrize("compressed", [False, True])
def test_members_of_an_archive_are_read_where_they_lie(h5py: Any, tmp_path: Path, compressed: bool) -> None:
    path, model = tmp_path / "m.keras", wide()
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name in sorted(held):
            archive.writestr(name, held[name])
    data = path.read_bytes()
    path.write_bytes(b"what stands before an archive" + data)
    np.testing.assert_equal(keras.models.load_model(path).get_weights(), model.get_weights())
    damaged = bytearray(data)
    damaged[data.index(b"model.weights.h5") + 3000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DataLossError, match=r"m\.keras: .*"):
        keras.models.load_model(path)


def a_model_of(module: str, layers: list[Any], ends: list[Any]) -> Any:
    """What a text describes: an input, and layers of a name, a class, a configuration and calls."""
    layers = [("in", "InputLayer", {"batch_shape": [None, 3], "dtype": "float32"}, []), *layers]
    described = [
        {"module": module if calls else "keras", "class_name": kind, "name": name, "config": {"name": name, **config},
         "inbound_nodes": calls} for name, kind, config, calls in layers
    ]  # fmt: skip
    config = {"name": "m", "layers": described, "input_layers": ends[0], "output_layers": ends[1]}
    return keras.models.model_from_json(json.dumps({"module": "keras", "class_name": "Functional", "config": config}))


def in_a_row(*ops: Any) -> Any:
    """A model of ops of Keras between its layers: of a class, a configuration and further arguments."""
    layers: list[Any] = []
    for i, (kind, config, *more) in enumerate(ops):
        place = {"class_name": "__keras_tensor__", "config": {"keras_history": [layers[-1][0] if i else "in", 0, 0]}}
        layers.append((f"op{i}", kind, config, [{"args": [place, *more], "kwargs": {"mask": None}}]))
    return a_model_of("keras.src.ops.numpy", layers, [["in", 0, 0], [layers[-1][0], 0, 0]])


def test_ops_between_layers() -> None:
    part = [{"class_name": "__ellipsis__", "config": {}}]
    part += [{"class_name": "__slice__", "config": {"start": 1, "stop": None, "step": None}}]
    table = {"class_name": "__numpy__", "config": {"value": [[1.0, 2.0]], "dtype": "float32"}}
    model = in_a_row(
        ("Sum", {"axis": 0, "keepdims": True, "dtype": None}), ("Multiply", {}, 2.0), ("GetItem", {}, part),
        ("Add", {}, table), ("Tile", {"repeats": [2, 1]}), ("Reshape", {"newshape": [-1]}),
    )  # fmt: skip
    np.testing.assert_array_equal(model(np.arange(6, dtype="f").reshape(2, 3)), 2 * [11.0, 16.0])
    huge = ("OneHot", {"num_classes": 10**9}), "op OneHot counts further"
    for op, words in ((("Hypot", {}, 1.0), "ops.hypot"), (("Cross", {"axisa": -1}, 1.0), "axisa=-1"), huge):
        with pytest.raises(InvalidArgumentError, match=words):
            in_a_row(op)


def test_keras_2_counts_the_call_that_made_a_model_and_knows_no_list_of_one() -> None:
    scale = {"layers": [{"class_name": "Rescaling", "config": {"scale": 3.0}}]}
    inner = ("inner", "Sequential", scale, [[["in", 0, 0, {}]], [["inner", 1, 0, {}]]])
    model = a_model_of("keras", [inner], [[["in", 0, 0]], [["inner", 2, 0]]])
    np.testing.assert_array_equal(model(np.ones((2, 3))), np.full((2, 3), 9.0))
    dense = ("d", "Dense", {"units": 2, "activation": "celu"}, [[["in", 0, 0, {}]]])
    with pytest.raises(InvalidArgumentError, match="celu"):
        a_model_of("keras", [dense], [["in", 0, 0], ["d", 0, 0]])


@pytest.mark.parametrize("name", ["Nadam", "Adam", "SGD"])
def test_states_of_optimizers_with_what_keras_leaves_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape_api.files.optimizer_files.hdf5.numbers", lambda array: array)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    inner = getattr(keras.optimizers, name)(0.1)
    model.compile(keras.optimizers.LossScaleOptimizer(inner), "mse")
    for _ in range(3):
        model.train_on_batch(np.ones((4, 3)), np.ones((4, 2)))
    variables = {id(v): v.numpy() for v in optimizer_files.kept(model.optimizer)}
    stored = optimizer_files.arrays(model.optimizer)
    assert len(stored) == len(variables) + 2 - (name == "Nadam")
    older = stored[4:5] + (stored[6:] or [w.numpy() for w in model.weights])  # Keras 2: no rate, no scale
    for given, count in ((stored, len(variables)), (older, len(variables) - 3)):
        planned = optimizer_files.planned(model.optimizer, given)
        assert len(planned) == count
        for variable, value in planned:
            np.testing.assert_array_equal(value, variables[id(variable)])


class Group(dict[str, Any]):
    """The group of a file that Keras 2 has written."""

    attrs: dict[str, Any]


@pytest.mark.parametrize(("name", "more"), [("RMSprop", {"momentum": 0.9, "centered": True}), ("Nadam", {})])
def test_states_by_slots_as_keras_2_wrote_them(name: str, more: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape_api.files.optimizer_files.hdf5.numbers", lambda array: array)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(getattr(keras.optimizers, name)(0.1, **more), "mse", ["mae"])
    model.train_on_batch(np.ones((4, 3)), np.ones((4, 2)))
    assert len(model.metrics) == 2
    group, kept = Group({"o/iter:0": np.int64(7)}), model.optimizer.kept_slots()
    group |= {"o/momentum_cache:0": np.float32(0.5)} if name == "Nadam" else {}
    for slot in ("rms", "momentum", "mg", "m", "v"):
        group |= {f"o/{v.name}/{slot}:0": 2.0 * held.numpy() for v, s, held in kept if s == slot}
    group.attrs = {"weight_names": list(group)}
    planned = {id(variable): value for variable, value in weight_files._planned_older_optimizer(group, model)}
    assert planned.pop(id(model.optimizer.iterations)) == 7
    for _, _, held in kept:
        np.testing.assert_array_equal(planned.pop(id(held)), 2.0 * held.numpy())
    assert [float(x) for x in planned.values()] == ([0.5] if name == "Nadam" else [])
