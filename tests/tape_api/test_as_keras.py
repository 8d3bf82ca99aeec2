"""What Keras 3 does besides computing: which seeds layers draw, in which order data come, what `fit` hands on."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api

X = np.random.default_rng(0).random((2, 4, 6)).astype(np.float32)
IM = np.random.default_rng(1).random((3, 8, 7, 3)).astype(np.float32)
TEXTS = ["Hello world, this is TensorFlow", "the quick brown fox", "hello the world the fox"]

Case = tuple[Callable[[Any], Any], Any]

DRAWING: dict[str, Case] = {
    "Dense": (lambda L: L.Dense(3), X),
    "MultiHeadAttention": (lambda L: Twice(L.MultiHeadAttention(2, 3, dropout=0.3)), X),
    "Attention": (lambda L: Listed(L.Attention(dropout=0.3)), X),
    "Bidirectional": (lambda L: L.Bidirectional(L.GRU(3)), X),
    "SimpleRNN": (lambda L: L.SimpleRNN(3, dropout=0.3), X),
    "LSTM": (lambda L: L.LSTM(3, dropout=0.3, recurrent_dropout=0.4, return_sequences=True), X),
    "GRU": (lambda L: L.GRU(3, dropout=0.3, recurrent_dropout=0.4), X),
    "GRU, reset before": (lambda L: L.GRU(3, recurrent_dropout=0.4, reset_after=False), X),
    "RNN": (lambda L: L.RNN([L.LSTMCell(3), L.GRUCell(2)]), X),
    "DepthwiseConv1D": (lambda L: L.DepthwiseConv1D(2), X),
    "SeparableConv1D": (lambda L: L.SeparableConv1D(3, 2), X),
    "GaussianNoise": (lambda L: L.GaussianNoise(0.3), X),
    "Resizing": (lambda L: L.Resizing(4, 5), IM),
    "Resizing, cropped": (lambda L: L.Resizing(5, 5, crop_to_aspect_ratio=True), IM),
    "UpSampling2D": (lambda L: L.UpSampling2D((2, 3), interpolation="bilinear"), IM),
    "RandomFlip": (lambda L: L.RandomFlip(), IM),
    "RandomTranslation": (lambda L: L.RandomTranslation(0.9, (-0.2, 0.8), fill_mode="wrap", seed=3), IM),
    "RandomRotation": (lambda L: L.RandomRotation(0.4, fill_mode="constant", fill_value=0.3), IM),
    "RandomRotation, nearest": (lambda L: L.RandomRotation(0.4, fill_mode="nearest", interpolation="nearest"), IM),
}


class Twice:
    """A layer of two arguments called with one."""

    def __init__(self, layer: Any) -> None:
        self.layer, self.weights = layer, ()

    def __call__(self, x: Any, training: bool) -> Any:
        return self.layer(x, x, training=training)


class Listed(Twice):
    """A layer of a list."""

    def __call__(self, x: Any, training: bool) -> Any:
        return self.layer([x, x], training=training)


def drawn(tf: Any, case: Case) -> list[np.ndarray]:
    """What two calls give, and numbers drawn behind them."""
    make, x = case
    tf.keras.utils.set_random_seed(7)
    layer = make(tf.keras.layers)
    outputs = [layer(x, training=True).numpy(), layer(x, training=True).numpy()] if draws(case) else [layer(x).numpy()]
    later = tf.keras.layers.Dense(2)
    return [*outputs, later(x).numpy(), tf.random.uniform([2]).numpy()]


def draws(case: Case) -> bool:
    layer = case[0](tape_api.keras.layers)
    return isinstance(layer, Twice) or "training" in inspect.signature(layer.call).parameters


@pytest.mark.peer
@pytest.mark.parametrize("name", DRAWING)
def test_layers_draw_as_keras(name: str) -> None:
    theirs = drawn(pytest.importorskip("tensorflow"), DRAWING[name])
    for a, b in zip(drawn(tape_api, DRAWING[name]), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", DRAWING)
def test_what_varies_images_does_nothing_outside_of_training(name: str) -> None:
    layer = DRAWING[name][0](tape_api.keras.layers)
    if name.startswith("Random"):
        np.testing.assert_array_equal(layer(IM, training=False), IM)
        symbol = tape_api.keras.Input((8, 7, 3))
        assert layer(symbol).shape[0] is None


WORDS: dict[str, Callable[[Any], Any]] = {
    "given": lambda L: L.TextVectorization(vocabulary=["a", "fox", "the"], output_sequence_length=4),
    "multi_hot": lambda L: L.TextVectorization(output_mode="multi_hot", ngrams=2),
    "tf_idf": lambda L: L.TextVectorization(output_mode="tf_idf", max_tokens=6, pad_to_max_tokens=True),
    "count": lambda L: L.TextVectorization(output_mode="count", split="character", standardize="lower"),
    "int": lambda L: L.TextVectorization(max_tokens=7),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", WORDS)
def test_texts_as_keras(name: str) -> None:
    def run(tf: Any) -> tuple[list[str], np.ndarray]:
        layer = WORDS[name](tf.keras.layers)
        if name != "given":
            layer.adapt(TEXTS)
        return [str(word) for word in layer.get_vocabulary()], layer([*TEXTS, "an owl"]).numpy()

    ours, theirs = run(tape_api), run(pytest.importorskip("tensorflow"))
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)


def test_words_and_back() -> None:
    layers = tape_api.keras.layers
    lookup = layers.StringLookup()
    lookup.adapt(["a", "b", "b", "c", "c", "c"])
    assert lookup.get_vocabulary() == ["[UNK]", "c", "b", "a"]
    ids = lookup([["a", "z"], ["c", "b"]])
    np.testing.assert_array_equal(ids, [[3, 0], [1, 2]])
    back = layers.StringLookup(vocabulary=lookup.get_vocabulary(), invert=True)
    assert back(ids).numpy().tolist() == [[b"a", b"[UNK]"], [b"c", b"b"]]
    again = layers.StringLookup.from_config(lookup.get_config())
    np.testing.assert_array_equal(again(["b"]), [2])
    with pytest.raises(ValueError, match="is not in the vocabulary"):
        layers.StringLookup(vocabulary=["a"], num_oov_indices=0)(["b"])
    with pytest.raises(RuntimeError, match="has no vocabulary"):
        layers.StringLookup()(["b"])
    with pytest.raises(ValueError, match="more than once"):
        layers.StringLookup(vocabulary=["a", "a"])
    with pytest.raises(NotImplementedError, match="`sparse` must be false"):
        layers.StringLookup(vocabulary=["a"], sparse=True)
    lookup.set_vocabulary(["c", "a", "b"])  # the table is that of the last tokens
    assert lookup(["b"]).numpy().tolist() == [3]


def seen(tf: Any, make: Callable[[Any], Any], **how: Any) -> list[list[float]]:
    """The rows that each step of `fit` gets."""
    found: list[list[float]] = []

    class Recorder(tf.keras.Model):  # type: ignore[misc,name-defined]
        def call(self, x: Any) -> Any:
            return x

        def train_step(self, data: Any) -> dict[str, Any]:
            found.append(np.ravel(data[0]).tolist())
            return {"loss": tf.constant(0.0)}

        def test_step(self, data: Any) -> dict[str, Any]:
            found.append((100 + np.ravel(data[0])).tolist())
            return {"loss": tf.constant(0.0)}

    tf.keras.utils.set_random_seed(3)
    model = Recorder()
    model.compile("sgd", "mse", run_eagerly=True)
    data = make(tf)
    if how.pop("evaluated", False):
        how["validation_data"] = data
    model.fit(data, verbose=0, **how)
    return found


def rows(tf: Any) -> Any:
    x = np.arange(12.0, dtype=np.float32)[:, None]
    return tf.data.Dataset.from_tensor_slices((x, x)).shuffle(12).batch(4)


DATA: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "finite": (rows, {"epochs": 3}),
    "some steps": (rows, {"epochs": 3, "steps_per_epoch": 2}),
    "for ever": (lambda tf: rows(tf).repeat(), {"epochs": 3, "steps_per_epoch": 2}),
    "evaluated": (rows, {"epochs": 3, "evaluated": True}),
    "evaluated in part": (rows, {"epochs": 3, "evaluated": True, "validation_steps": 2}),
    "of unknown length": (lambda tf: rows(tf).filter(lambda a, b: True), {"epochs": 2}),
}


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DATA)
def test_data_come_in_the_order_of_keras(name: str) -> None:
    make, how = DATA[name]
    assert seen(tape_api, make, **how) == seen(pytest.importorskip("tensorflow"), make, **how)


def test_a_model_whose_call_takes_no_training_is_not_told() -> None:
    """So it is in Keras 3: its dropout does nothing in `fit`."""
    tf = tape_api
    told: list[Any] = []

    class Inner(tf.keras.layers.Layer):  # type: ignore[misc,name-defined]
        def call(self, x: Any, training: bool = False) -> Any:
            told.append(bool(training))
            return x

    class Silent(tf.keras.Model):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(self.inner(x))

    class Told(Silent):
        def call(self, x: Any, training: bool = False) -> Any:
            return self.dense(self.inner(x))

    for kind, expected in ((Silent, False), (Told, True)):
        told.clear()
        model = kind()
        model.compile("sgd", "mse", run_eagerly=True)
        model.train_on_batch(np.ones((2, 3)), np.ones((2, 1)))
        assert told == [expected]


def test_initializers_of_tensorflow_draw_anew() -> None:
    tf = tape_api
    tf.random.set_seed(0)
    start = tf.random_normal_initializer()
    assert not np.array_equal(start([3]), start([3]))
    seeded = tf.random_uniform_initializer(seed=3)
    np.testing.assert_array_equal(seeded([3]), seeded([3]))


def test_keras_random_goes_on_with_its_seeds() -> None:
    keras = tape_api.keras
    seeds = keras.random.SeedGenerator(3)
    first, second = keras.random.normal((2,), seed=seeds), keras.random.normal((2,), seed=seeds)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(keras.random.normal((2,), seed=3), first)
    keras.utils.set_random_seed(0)
    one = keras.random.uniform((2,)).numpy()
    keras.utils.set_random_seed(0)
    np.testing.assert_array_equal(keras.random.uniform((2,)), one)


OPS: dict[str, Callable[[Any], Any]] = {
    "mean of integers": lambda o: o.mean(np.array([1, 2, 4])),
    "dtypes meet": lambda o: o.add(np.array([1, 2]), np.array([0.5, 1.0], np.float32)),
    "where": lambda o: o.where(np.array([True, False]), 1.0, np.array([2.0, 3.0], np.float32)),
    "split": lambda o: o.split(np.arange(6.0), [2, 3])[2],
    "take": lambda o: o.take(np.arange(6.0).reshape(2, 3), [-1, 0], axis=1),
    "take_along_axis": lambda o: o.take_along_axis(np.arange(6.0).reshape(2, 3), np.array([[2], [0]]), axis=1),
    "argmax": lambda o: o.argmax(np.arange(6.0).reshape(2, 3), axis=1, keepdims=True),
    "slice_update": lambda o: o.slice_update(np.zeros((3, 3)), [1, 0], np.ones((2, 2))),
    "scan": lambda o: o.scan(lambda c, x: (c + x, c * x), np.float64(1.0), np.arange(3.0))[1],
    "fori_loop": lambda o: o.fori_loop(0, 4, lambda i, v: v * 2.0, np.float32(1.0)),
    "one_hot": lambda o: o.one_hot(np.array([0, 2]), 3),
    "norm": lambda o: o.norm(np.arange(4.0), axis=0),
    "tril": lambda o: o.tril(np.ones((3, 3))),
    "linspace": lambda o: o.linspace(0.0, 1.0, 5, endpoint=False),
    "cumsum": lambda o: o.cumsum(np.arange(6).reshape(2, 3), axis=1),
    "softmax": lambda o: o.softmax(np.array([1.0, 2.0], np.float32)),
    "dot": lambda o: o.dot(np.ones((2, 3)), np.arange(3.0)),
    "divide": lambda o: o.divide(np.array([1, 2]), np.array([2, 2])),
    "bincount": lambda o: o.bincount(np.array([1, 1, 3]), minlength=5),
    "normalize": lambda o: o.normalize(np.array([[3.0, 4.0]]), axis=-1),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", OPS)
def test_ops_as_keras(name: str) -> None:
    theirs = np.asarray(OPS[name](pytest.importorskip("tensorflow").keras.ops))
    ours = np.asarray(OPS[name](tape_api.keras.ops))
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_ops_between_layers() -> None:
    keras = tape_api.keras
    inputs = keras.Input((3,))
    x = keras.ops.squeeze(keras.layers.Dense(1, kernel_initializer="ones")(inputs), axis=1)
    model = keras.Model(inputs, keras.ops.exp(x))
    np.testing.assert_allclose(model(np.ones((2, 3))), np.exp([3.0, 3.0]), rtol=1e-6)


def test_a_functional_model_of_its_configuration() -> None:
    keras = tape_api.keras
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    model = keras.Model([a, b], {"y": keras.layers.Dense(1)(keras.layers.concatenate([a, b]))})
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    x = [np.ones((2, 2)), np.ones((2, 3))]
    np.testing.assert_array_equal(again(x)["y"], model(x)["y"])


def test_an_activation_may_be_taken_away() -> None:
    keras = tape_api.keras
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, activation="softmax")])
    model.layers[-1].activation = None
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    for m in (model, other):
        np.testing.assert_allclose(m(np.eye(2)), model.get_weights()[0], rtol=1e-6)


LABELS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], np.float32)
GUESSES = np.array([[0.8, 0.3, 0.6], [0.1, 0.7, 0.45], [0.35, 0.9, 0.2], [0.5, 0.15, 0.4]], np.float32)
MEASURES: dict[str, Callable[[Any], Any]] = {
    "focal": lambda k: k.losses.BinaryFocalCrossentropy(label_smoothing=0.1),
    "focal, balanced": lambda k: k.losses.BinaryFocalCrossentropy(True, from_logits=True),
    "focal of classes": lambda k: k.losses.CategoricalFocalCrossentropy(gamma=1.5),
    "focal of classes, logits": lambda k: k.losses.CategoricalFocalCrossentropy(from_logits=True),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", MEASURES)
def test_losses_and_metrics_as_keras(name: str) -> None:
    def run(tf: Any) -> list[np.ndarray]:
        one = MEASURES[name](tf.keras)
        return [one(LABELS, GUESSES).numpy(), one(LABELS, GUESSES, sample_weight=[1.0, 2.0, 0.5, 1.0]).numpy()]

    ours, theirs = run(tape_api), run(pytest.importorskip("tensorflow"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


FOLDERS: dict[str, dict[str, Any]] = {
    "shuffled": {"seed": 3},
    "categorical": {"shuffle": False, "label_mode": "categorical"},
    "training": {"validation_split": 0.2, "subset": "training", "seed": 5},
    "validation": {"validation_split": 0.2, "subset": "validation", "seed": 5},
    "grayscale": {"color_mode": "grayscale", "labels": None, "shuffle": False},
}


def images_of(tf: Any, folder: str, **how: Any) -> list[np.ndarray]:
    """The batches, one array after the other."""
    tf.keras.utils.set_random_seed(1)
    data = tf.keras.utils.image_dataset_from_directory(folder, image_size=(4, 5), batch_size=4, verbose=False, **how)
    return [part.numpy() for batch in data for part in (batch if isinstance(batch, tuple) else [batch])]


def in_folders(where: Any) -> str:
    """Five pictures of each of three classes."""
    numbers = np.random.RandomState(0)
    for name in ("cat", "dog", "owl"):
        (where / name).mkdir()
        for i in range(5):
            picture = numbers.randint(0, 255, (6, 7, 3)).astype(np.uint8)
            (where / name / f"{i}.png").write_bytes(tape_api.io.encode_png(picture).numpy())
    return str(where)


@pytest.mark.peer
@pytest.mark.parametrize("name", FOLDERS)
def test_images_of_folders_as_keras(name: str, tmp_path: Any) -> None:
    pytest.importorskip("PIL")
    theirs = images_of(pytest.importorskip("tensorflow"), in_folders(tmp_path), **FOLDERS[name])
    for a, b in zip(images_of(tape_api, str(tmp_path), **FOLDERS[name]), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_images_of_folders(tmp_path: Any) -> None:
    pytest.importorskip("PIL")
    read = tape_api.keras.utils.image_dataset_from_directory
    one, other = read(in_folders(tmp_path), validation_split=0.4, subset="both", seed=1, batch_size=None, verbose=False)
    assert one.class_names == ["cat", "dog", "owl"] and len(one.file_paths) == 9 and len(list(other)) == 6
    image, label = next(iter(one))
    assert image.shape == (256, 256, 3) and label.dtype == tape_api.int32
    with pytest.raises(ValueError, match="needs two classes"):
        read(str(tmp_path), label_mode="binary", verbose=False)


def test_a_model_as_text_for_graphviz(tmp_path: Any) -> None:
    keras = tape_api.keras
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(1, name="b")])
    keras.utils.plot_model(model, tmp_path / "m.dot", show_shapes=True)
    text = (tmp_path / "m.dot").read_text()
    assert '"a" -> "b"' in text and "(None, 3)" in text
    with pytest.raises(ImportError, match=r"ends in \.dot"):
        keras.utils.plot_model(model)


def test_the_release_whose_names_these_are() -> None:
    assert tape_api.__version__ == tape_api.version.VERSION
