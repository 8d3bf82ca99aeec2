"""SavedModels of objects, functions and Keras models: what is saved is what is loaded, here and in TensorFlow."""

import gc
import inspect
import json
import os
import textwrap
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from dualgrad.files.graph_protos import MetaGraphDef, SavedModel
from engine.runtime.errors import DataLossError, NotFoundError, UnimplementedError
from tests.processes import printed
from tests.tapes import watching

VECTOR = tf.TensorSpec([None], tf.float32, name="x")


class Part(tf.Module):  # type: ignore[misc]
    def __init__(self, value: float = 0.5) -> None:
        super().__init__()
        self.k = tf.Variable(value, name="k")

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        return x * self.k


class Whole(tf.Module):  # type: ignore[misc]
    """Functions of all kinds: with effects, choices, loops, gradients, Python arguments, structures."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.n = tf.Variable(0, trainable=False, name="n")
        self.parts = [tf.Variable(2.0), {"a": tf.Variable(3.0)}]
        self.part, self.pair = Part(), (Part(2.0), tf.Variable(1.0))

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def f(self, x: Any) -> Any:
        before = self.n + 0
        self.n.assign_add(1)
        y = tf.matmul(x, self.w)
        self.n.assign_add(2)
        return {"y": y, "s": tf.reduce_sum(x), "before": before, "after": self.n + 0}

    @tf.function
    def g(self, x: Any, training: bool = False) -> Any:
        if training:
            x = x * 2
        i = tf.constant(0)
        while i < 3:
            x = x + self.parts[0]
            i += 1
        if tf.reduce_sum(x) > 0:
            x = tf.sin(x)
        return x

    @tf.function(input_signature=[VECTOR])
    def scanned(self, x: Any) -> Any:
        return tf.scan(lambda s, r: s * self.w[0, 1] + tf.sin(r), x, tf.constant(0.0))

    @tf.function(input_signature=[VECTOR])
    def slope(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.scan(lambda s, r: s * self.w[0, 1] + tf.sin(r), x, tf.constant(0.0)))
        return tape.gradient(y, self.w)

    @tf.function(input_signature=[tf.TensorSpec([2, 2]), tf.TensorSpec([])])
    def step(self, x: Any, rate: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, self.w) - 1) ** 2)
        self.w.assign_sub(rate * tape.gradient(loss, self.w))
        return loss

    @tf.function(input_signature=[{"a": tf.TensorSpec([]), "b": [tf.TensorSpec([])]}])
    def nested(self, d: Any) -> Any:
        return d["a"] * 2, [d["b"][0], None]


X = [[1.0, 2.0], [3.0, 1.0]]

USE = """
def used(tf, m):
    x = tf.constant([[1.0, 2.0], [3.0, 1.0]])
    found = {}
    def note(name, value):
        found[name] = [None if v is None else np.asarray(v).tolist() for v in tf.nest.flatten(value)]
    note("f", m.f(x)); note("n", m.n); note("f again", m.f(x[:1]))
    with tf.GradientTape() as tape:
        y = m.g(tf.constant(1.0))
    note("g", y); note("dg", tape.gradient(y, m.parts[0]))
    note("g training", m.g(tf.constant(1.0), training=True)); note("g of two", m.g(tf.constant([1.0, 2.0]), True))
    v = tf.constant([1.0, 2.0, 3.0])
    note("scanned", m.scanned(v)); note("slope", m.slope(v))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(m.scanned(v))
    note("dscanned", tape.gradient(y, m.w))
    note("steps", [m.step(x, tf.constant(0.1)) for _ in range(3)]); note("w", m.w)
    note("nested", m.nested({"a": tf.constant(1.0), "b": [tf.constant(2.0)]}))
    note("part", m.part(v)); note("pair", [m.pair[0](v), m.pair[1]])
    note("inner", m.parts[1]["a"])
    return found
"""
exec(USE, {"np": np}, SCOPE := {})
used: Any = SCOPE["used"]


def called() -> Whole:
    """The object, with all functions called that have no signature."""
    whole = Whole()
    for x, training in ((1.0, False), (1.0, True), ([1.0, 2.0], True)):
        whole.g(tf.constant(x), training=training)
    return whole


def save_whole(folder: Path) -> None:
    whole = called()
    other = whole.g.get_concrete_function(tf.TensorSpec([]))
    tf.saved_model.save(whole, folder, {"serving_default": whole.f, "other": other})


def close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert len(found[name]) == len(values), name
        for a, b in zip(found[name], values, strict=True):
            assert (a is None) == (b is None), name
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_is_loaded_does_what_was_saved(tmp_path: Path) -> None:
    save_whole(tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    close(used(tf, loaded), used(tf, called()))
    assert [loaded.w.trainable, loaded.n.trainable] == [True, False]
    assert sorted(loaded.signatures) == ["other", "serving_default"]
    found = tf.saved_model.load(tmp_path / "m").signatures["serving_default"](x=tf.constant(X))
    assert {k: v.shape.as_list() for k, v in found.items()} == {"after": [], "before": [], "s": [], "y": [2, 2]}


def test_loaded_functions_run_inside_of_functions_and_tapes(tmp_path: Path) -> None:
    save_whole(tmp_path / "m")
    m = tf.saved_model.load(tmp_path / "m")

    @tf.function
    def twice(x: Any) -> Any:
        return m.g(m.g(x))

    x = tf.constant(1.0)
    for _ in range(3):
        tape, (y, z) = watching(x, lambda: (twice(x), m.g(m.g(x))), persistent=True)
        assert y.numpy() == z.numpy()
        assert tape.gradient(y, x).numpy() == tape.gradient(z, x).numpy() != 0
    assert "runs as a program" in twice.explain()


def test_saving_twice_gives_the_same(tmp_path: Path) -> None:
    class Doubled(tf.Module):  # type: ignore[misc]
        @tf.function
        def __call__(self, x: Any) -> Any:
            return 2 * x

    doubled = Doubled()
    doubled(tf.constant([1.0, 2.0]))
    doubled(tf.constant([3.0, 4.0]))
    for name in "ab":
        tf.saved_model.save(doubled, tmp_path / name)
    assert (tmp_path / "a" / "saved_model.pb").read_bytes() == (tmp_path / "b" / "saved_model.pb").read_bytes()
    assert list(tf.saved_model.load(tmp_path / "a").signatures) == ["serving_default"]


def test_what_is_loaded_is_saved_again(tmp_path: Path) -> None:
    save_whole(tmp_path / "m")
    tf.saved_model.save(tf.saved_model.load(tmp_path / "m"), tmp_path / "again")
    close(used(tf, tf.saved_model.load(tmp_path / "again")), used(tf, called()))


def test_calls_that_nothing_was_saved_for(tmp_path: Path) -> None:
    save_whole(tmp_path / "m")
    m = tf.saved_model.load(tmp_path / "m")
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        m.g(tf.constant([[1.0]]))
    with pytest.raises(TypeError, match="missing a required argument"):
        m.g()
    signature = m.signatures["serving_default"]
    with pytest.raises(TypeError, match="takes the tensors x; missing x"):
        signature()
    with pytest.raises(TypeError, match=r"argument `x` must be like TensorSpec\(shape=\(None, 2\)"):
        signature(x=tf.constant([1.0]))


def test_defaults_and_keywords(tmp_path: Path) -> None:
    class Scaled(tf.Module):  # type: ignore[misc]
        @tf.function
        def __call__(self, x: Any, *, by: float = 2.0, how: str = "up") -> Any:
            return x * by if how == "up" else x / by

    scaled = Scaled()
    for more in ({}, {"by": 3.0}, {"how": "down"}):
        scaled(tf.constant(6.0), **more)
    tf.saved_model.save(scaled, tmp_path / "m")
    m = tf.saved_model.load(tmp_path / "m")
    assert [float(m(6.0)), float(m(6.0, by=3.0)), float(m(6.0, how="down"))] == [12.0, 18.0, 3.0]
    with pytest.raises(ValueError, match="was saved for"):
        m(6.0, by=4.0)
    assert "serving_default" not in m.signatures


# ---- what cannot be saved --------------------------------------------------------------------------------------------


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    elsewhere = tf.Variable(1.0, name="elsewhere")

    class Odd(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[VECTOR])
        def free(self, x: Any) -> Any:
            return x * elsewhere

    class Python(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([])])
        def f(self, x: Any) -> Any:
            return x * float(x)

    with pytest.raises(ValueError, match="'elsewhere:0', which the object does not hold"):
        tf.saved_model.save(Odd(), tmp_path / "m")
    with pytest.raises(ValueError, match="f is no program, it runs as Python"):
        tf.saved_model.save(Python(), tmp_path / "m")
    with pytest.raises(ValueError, match="must be an object that holds variables"):
        tf.saved_model.save(3, tmp_path / "m")
    with pytest.raises(ValueError, match=r"'serving_default' must be a tf\.function with an `input_signature`"):
        tf.saved_model.save(Part(), tmp_path / "m", signatures=lambda x: x)
    with pytest.raises(ValueError, match=r"not inside of a tf\.function"):
        tf.function(lambda: tf.saved_model.save(Part(), tmp_path / "m"))()
    assert not (tmp_path / "m").exists()


def test_arguments_that_no_file_keeps(tmp_path: Path) -> None:
    class Called(tf.Module):  # type: ignore[misc]
        @tf.function
        def f(self, x: Any, how: Any) -> Any:
            return how(x)

    class How:
        def __call__(self, x: Any) -> Any:
            return x + 1

    called, how = Called(), How()
    called.f(tf.constant(1.0), how)
    alive = weakref.ref(how)
    with pytest.raises(ValueError, match="f was called with a How, which no file keeps"):
        tf.saved_model.save(called, tmp_path / "m")
    del how
    gc.collect()
    assert alive() is None


def test_gradients_of_the_program_stay_behind(tmp_path: Path) -> None:
    @tf.custom_gradient
    def halved(x: Any) -> Any:
        return x / 2, lambda dy: 100 * dy

    class Halved(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([])])
        def __call__(this, x: Any) -> Any:  # noqa: N805 - another name than self
            return halved(x)

    tf.saved_model.save(Halved(), tmp_path / "m")
    m, x = tf.saved_model.load(tmp_path / "m"), tf.constant(3.0)
    tape, y = watching(x, lambda: m(x))
    assert y.numpy() == 1.5
    with pytest.raises(UnimplementedError, match="has a gradient of the program's own at 'IdentityN'"):
        tape.gradient(y, x)


def test_ops_that_tensorflow_has_not_are_told(tmp_path: Path) -> None:
    class Roots(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([2, 2])])
        def f(self, x: Any) -> Any:
            return tf.linalg.expm(x)

    with pytest.warns(
        UserWarning, match=r"TensorFlow cannot, as it has no ops for Dualgrad>\S+ \(in __inference_f_0\)"
    ):
        tf.saved_model.save(Roots(), tmp_path / "m")
    x = tf.constant(X)
    assert np.array_equal(tf.saved_model.load(tmp_path / "m").f(x), tf.linalg.expm(x))


# ---- what cannot be loaded -------------------------------------------------------------------------------------------


def changed(folder: Path, change: Any) -> None:
    """Change the graph of a saved model."""
    path = folder / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    change(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString())


def test_unknown_ops_are_named_when_a_function_is_called(tmp_path: Path) -> None:
    tf.saved_model.save(Part(), tmp_path / "m")

    def rename(meta: MetaGraphDef) -> None:
        for function in meta.graph_def.library.function:
            for node in function.node_def:
                node.op = "LookupTableFindV2" if node.op == "Mul" else node.op

    changed(tmp_path / "m", rename)
    m = tf.saved_model.load(tmp_path / "m")
    assert m.k.numpy() == 0.5
    with pytest.raises(UnimplementedError, match=r"needs what is not known here: LookupTableFindV2 \(1 x, 'Mul'\)"):
        m(tf.constant([1.0]))


def test_damaged_models(tmp_path: Path) -> None:
    def edge(meta: MetaGraphDef) -> None:
        meta.object_graph_def.nodes[0].children[0].node_id = 99

    def capture(meta: MetaGraphDef) -> None:
        next(iter(meta.object_graph_def.concrete_functions.values())).bound_inputs[0] = 77

    def unnamed(meta: MetaGraphDef) -> None:
        meta.graph_def.library.function.clear()

    for change in (edge, capture, unnamed):
        tf.saved_model.save(Part(), tmp_path / change.__name__)
        changed(tmp_path / change.__name__, change)
        with pytest.raises(DataLossError, match=change.__name__):
            tf.saved_model.load(tmp_path / change.__name__)(tf.constant([1.0]))
    with pytest.raises(NotFoundError, match="does not exist"):
        tf.saved_model.load(tmp_path / "nothing")
    tf.saved_model.save(Part(), tmp_path / "m")
    with pytest.raises(RuntimeError, match=r"tags \['train'\] could not be found"):
        tf.saved_model.load(tmp_path / "m", tags="train")
    os.remove(tmp_path / "m" / "variables" / "variables.index")
    with pytest.raises(NotFoundError, match="the variables of the saved model are missing"):
        tf.saved_model.load(tmp_path / "m")


def test_an_asset_lies_in_the_folder(tmp_path: Path) -> None:
    tf.saved_model.save(Part(), tmp_path / "m")

    def outside(meta: MetaGraphDef) -> None:
        meta.asset_file_def.add(filename="../../secret")
        node = meta.object_graph_def.nodes.add()
        node.asset.asset_file_def_index = 0
        node.asset.CopyFrom(type(node.asset)(asset_file_def_index=0))
        node._made.discard("asset")
        meta.object_graph_def.nodes[0].children.add(node_id=len(meta.object_graph_def.nodes) - 1, local_name="file")

    changed(tmp_path / "m", outside)
    with pytest.raises(DataLossError, match="no name of a file in the folder"):
        tf.saved_model.load(tmp_path / "m")


def test_graphs_of_tensorflow_1_are_loaded_by_graph_api(tmp_path: Path) -> None:
    folder = str(tmp_path / "m")
    with graph_api.Graph().as_default(), graph_api.Session() as sess:
        x = graph_api.placeholder(graph_api.float32, name="x")
        y = graph_api.multiply(x, graph_api.Variable(3.0, name="w"), name="y")
        sess.run(graph_api.global_variables_initializer())
        graph_api.saved_model.simple_save(sess, folder, {"x": x}, {"y": y})
    with pytest.raises(UnimplementedError, match="a model of TensorFlow 1"):
        tf.saved_model.load(folder)


# ---- Keras -----------------------------------------------------------------------------------------------------------

MODELS = """
def models(K):
    L = K.layers
    words, rows = K.Input((6,)), K.Input((6, 4))
    read = L.GRU(3)(L.LSTM(5, return_sequences=True)(L.Embedding(10, 4)(words)))
    looked = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(rows, rows) + rows)
    pictures = [
        L.Input((8, 8, 3)), L.Conv2D(4, 3, activation="relu"), L.BatchNormalization(), L.MaxPooling2D(),
        L.Dropout(0.3), L.Flatten(), L.Dense(5, activation="softmax"),
    ]
    lines = [L.Input((8, 2)), L.Conv1D(3, 3, activation="swish"), L.MaxPooling1D(), L.GlobalAveragePooling1D()]
    wide = [
        L.Input((8, 8, 2)), L.SeparableConv2D(4, 3, padding="same"), L.UpSampling2D(2),
        L.Conv2DTranspose(2, 3, strides=2, padding="same"), L.AveragePooling2D(2), L.GlobalMaxPooling2D(),
    ]
    return {
        "pictures": K.Sequential(pictures),
        "words": K.Model(words, read),
        "rows": K.Model(rows, L.Dense(1)(L.GlobalAveragePooling1D()(looked))),
        "both ways": K.Sequential([L.Input((6, 4)), L.Bidirectional(L.LSTM(3)), L.Dense(2, activation="gelu")]),
        "lines": K.Sequential(lines),
        "wide": K.Sequential(wide),
    }

def given(name, shape):
    draw = np.random.default_rng(0)
    dims = [2 if d is None else d for d in shape]
    return draw.integers(0, 10, dims).astype("f") if name == "words" else draw.normal(size=dims).astype("f")
"""
exec(MODELS, {"np": np}, SCOPE)


def numbers_of(tf: Any, f: Any, variables: Any, x: Any) -> list[np.ndarray]:
    """What a function gives, and the gradients by variables."""
    with tf.GradientTape() as tape:
        y = f(tf.constant(x))
        y = next(iter(y.values())) if isinstance(y, dict) else y
        loss = tf.reduce_sum(y * y)
    return [y.numpy(), *[tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, list(variables))]]


@pytest.mark.parametrize("name", SCOPE["models"](tf.keras))
def test_models_are_exported(tmp_path: Path, name: str) -> None:
    model = SCOPE["models"](tf.keras)[name]
    x = SCOPE["given"](name, model.input_shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.export(tmp_path / "m", verbose=False)
        tf.saved_model.save(model, tmp_path / "object")
    expected = numbers_of(tf, model, model.trainable_variables, x)
    m, other = tf.saved_model.load(tmp_path / "m"), tf.saved_model.load(tmp_path / "object")
    signature = other.signatures["serving_default"]
    for found in (
        numbers_of(tf, m.serve, m.trainable_variables, x),
        [next(iter(signature(tf.constant(x)).values())).numpy()],
    ):
        for a, b in zip(found, expected, strict=False):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert len(m.variables) == len(model.variables)


def test_a_model_that_was_called_knows_its_inputs(tmp_path: Path) -> None:
    class Mine(tf.keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = tf.keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            return tf.nn.relu(self.inner(x))

    mine = Mine()
    with pytest.raises(ValueError, match="does not know its inputs"):
        mine.export(tmp_path / "m")
    x = tf.constant(X)
    expected = mine(x)
    mine.export(tmp_path / "m", verbose=False)
    m = tf.saved_model.load(tmp_path / "m")
    assert np.allclose(m.serve(x), expected)
    assert m.serve(tf.constant([*X, *X])).shape == (4, 2)


def test_a_layer_of_a_saved_model_is_trained(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(3)])
    model.export(tmp_path / "m", verbose=False)
    layer = tf.keras.layers.TFSMLayer(tmp_path / "m")
    x = tf.constant(X)
    assert np.allclose(layer(x), model(x))
    assert len(layer.trainable_weights) == 2
    whole = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])
    before = layer.get_weights()
    whole.compile("sgd", "mse")
    whole.fit(x, tf.ones([2, 1]), epochs=1, verbose=0)
    assert not np.array_equal(before[0], layer.get_weights()[0])
    with pytest.raises(ValueError, match="'other' is neither a function of the loaded object nor a signature"):
        tf.keras.layers.TFSMLayer(tmp_path / "m", call_endpoint="other")
    with pytest.raises(ValueError, match=r"File format not supported.*TFSMLayer"):
        tf.keras.models.load_model(tmp_path / "m")


# ---- TensorFlow ------------------------------------------------------------------------------------------------------


def in_tensorflow(folder: Path, text: str) -> None:
    """Run a program with TensorFlow, which looks at its file."""
    pytest.importorskip("tensorflow")
    program = folder / "program.py"
    program.write_text("import json\nimport numpy as np\nimport tensorflow as tf\n" + text)
    printed("-u", program, TF_CPP_MIN_LOG_LEVEL="3")


@pytest.mark.peer
def test_tensorflow_runs_what_is_saved(tmp_path: Path) -> None:
    save_whole(tmp_path / "m")
    report = tmp_path / "found.json"
    loaded = f"tf.saved_model.load({str(tmp_path / 'm')!r})"
    in_tensorflow(tmp_path, f"{USE}\njson.dump(used(tf, {loaded}), open({str(report)!r}, 'w'))")
    close(json.loads(report.read_text()), used(tf, called()))


@pytest.mark.peer
def test_tensorflow_1_runs_signatures(tmp_path: Path) -> None:
    tf.saved_model.save(Part(3.0), tmp_path / "m")
    in_tensorflow(
        tmp_path,
        f"""
v1 = tf.compat.v1
with v1.Graph().as_default(), v1.Session() as sess:
    meta = v1.saved_model.load(sess, ["serve"], {str(tmp_path / "m")!r})
    signature = meta.signature_def["serving_default"]
    out = sess.run(signature.outputs["output_0"].name, {{signature.inputs["x"].name: [1.0, 2.0]}})
assert out.tolist() == [3.0, 6.0], out
""",
    )


@pytest.mark.peer
def test_what_tensorflow_saves_is_run(tmp_path: Path) -> None:
    report = tmp_path / "found.json"
    classes = "\n".join(textwrap.dedent(inspect.getsource(c)) for c in (Part, Whole))
    names = "from typing import Any\nVECTOR = tf.TensorSpec([None], tf.float32, name='x')\n"
    made = f"{names}{classes}\n{inspect.getsource(called)}"
    in_tensorflow(
        tmp_path,
        f"{USE}\n{made}\nm = called()\n"
        f"tf.saved_model.save(m, {str(tmp_path / 'm')!r}, {{'serving_default': m.scanned}})\n"
        f"json.dump(used(tf, called()), open({str(report)!r}, 'w'))",
    )
    m = tf.saved_model.load(tmp_path / "m")
    x = tf.constant([1.0, 2.0])
    assert np.allclose(m.signatures["serving_default"](x)["output_0"], called().scanned(x))
    with pytest.raises(UnimplementedError, match="EmptyTensorList"):
        m.slope(x)  # the gradient of a loop, by TensorFlow
    m.slope = called().slope
    close(used(tf, m), json.loads(report.read_text()))


@pytest.mark.peer
@pytest.mark.parametrize("ours", [True, False])
def test_models_go_both_ways(tmp_path: Path, ours: bool) -> None:
    reading = f"""
{MODELS}
def numbers_of(f, variables, x):
    with tf.GradientTape() as tape:
        y = f(tf.constant(x))
        loss = tf.reduce_sum(y * y)
    return [y.numpy(), *[tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, list(variables))]]

for name, model in models(tf.keras).items():
    folder = {str(tmp_path)!r} + "/" + name
    x = given(name, model.input_shape)
    if {ours}:
        m = tf.saved_model.load(folder)
        found = numbers_of(m.serve, m.trainable_variables, x)
    else:
        model.export(folder, verbose=False)
        found = numbers_of(model, model.trainable_variables, x)
    np.savez(folder + ".npz", *found)
"""
    models = SCOPE["models"](tf.keras)
    if ours:
        for name, model in models.items():
            model.export(tmp_path / name, verbose=False)
    in_tensorflow(tmp_path, reading)
    for name, model in models.items():
        x = SCOPE["given"](name, model.input_shape)
        if ours:
            expected = numbers_of(tf, model, model.trainable_variables, x)
        else:
            m = tf.saved_model.load(tmp_path / name)
            expected = numbers_of(tf, m.serve, m.trainable_variables, x)
        with np.load(tmp_path / f"{name}.npz") as found:
            for i, value in enumerate(expected):
                np.testing.assert_allclose(found[f"arr_{i}"], value, rtol=2e-4, atol=2e-5, err_msg=name)
