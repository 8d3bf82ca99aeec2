"""Files of each layer that Keras writes and we read, and the other way round."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as t
from engine.core import nest

R = np.random.RandomState(0)
X, IM = R.rand(2, 4, 6).astype("f"), R.rand(2, 8, 8, 3).astype("f")
V, F = R.rand(2, 4, 4, 4, 2).astype("f"), R.rand(2, 6).astype("f")
IDS = R.randint(0, 5, (2, 4))
S = np.array([["a fox"], ["the"]], object)
Make = Callable[[Any, Any], Any]


def seq(*parts: Callable[[Any], Any]) -> Make:
    """Layers one after the other; a part gives one, or several in a list."""
    return lambda k, x: k.Sequential([
        k.Input(x.shape[1:], dtype=x.dtype.name), *nest.flatten([part(k.layers) for part in parts])
    ])  # fmt: skip


def two(part: Callable[[Any], Any]) -> Make:
    def make(k: Any, x: Any) -> Any:
        i = k.Input(x.shape[1:])
        return k.Model(i, part(k.layers)(i, i))

    return make


def lst(part: Callable[[Any], Any], dtype: str | None = None) -> Make:
    def make(k: Any, x: Any) -> Any:
        i = k.Input(x.shape[1:], dtype=dtype)
        return k.Model(i, part(k.layers)([i, i]))

    return make


def merged(k: Any, x: Any) -> Any:
    i = k.Input(x.shape[1:])
    L = k.layers
    kinds = (L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Subtract)
    return k.Model(i, L.Concatenate()([*[kind()([i, i]) for kind in kinds], L.Dot(axes=1)([i, i])]))


def text(k: Any, x: Any) -> Any:
    words = k.layers.TextVectorization(vocabulary=["a", "fox"], output_sequence_length=3)
    return k.Sequential([k.Input((1,), dtype="string"), words, k.layers.Embedding(5, 3)])


def word(k: Any, x: Any) -> Any:
    return k.Sequential([k.Input((1,), dtype="string"), k.layers.StringLookup(vocabulary=["a", "fox"])])


CASES: dict[str, tuple[Make, Any]] = {
    "Dense": (seq(lambda L: L.Dense(3, activation="relu", kernel_regularizer="l2")), F),
    "EinsumDense": (seq(lambda L: L.EinsumDense("abc,cd->abd", output_shape=(None, 3), bias_axes="d")), X),
    "Embedding": (seq(lambda L: L.Embedding(5, 3)), IDS),
    "MHA": (two(lambda L: L.MultiHeadAttention(2, 3)), X),
    "MHAd": (two(lambda L: L.MultiHeadAttention(2, 3, value_dim=4, dropout=0.1, output_shape=5)), X),
    "Attention": (lst(lambda L: L.Attention(use_scale=True)), X),
    "AttentionC": (lst(lambda L: L.Attention(score_mode="concat")), X),
    "Additive": (lst(lambda L: L.AdditiveAttention()), X),
    "LSTM": (seq(lambda L: L.LSTM(3, return_sequences=True), lambda L: L.LSTM(2)), X),
    "GRU": (seq(lambda L: L.GRU(3)), X),
    "GRUb": (seq(lambda L: L.GRU(3, reset_after=False, dropout=0.1)), X),
    "SimpleRNN": (seq(lambda L: L.SimpleRNN(3)), X),
    "RNN": (seq(lambda L: L.RNN([L.LSTMCell(3), L.GRUCell(2)])), X),
    "RNN1": (seq(lambda L: L.RNN(L.GRUCell(2))), X),
    "Bi": (seq(lambda L: L.Bidirectional(L.GRU(3))), X),
    "Bi2": (
        seq(
            lambda L: L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="sum"),
            lambda L: L.Bidirectional(L.LSTM(2), backward_layer=L.LSTM(2, go_backwards=True, activation="relu")),
        ),
        X,
    ),
    "TD": (seq(lambda L: L.TimeDistributed(L.Dense(2))), X),
    "Conv1D": (seq(lambda L: L.Conv1D(3, 2, padding="causal")), X),
    "Conv2D": (seq(lambda L: L.Conv2D(3, 2, strides=2)), IM),
    "Conv3D": (seq(lambda L: L.Conv3D(3, 2)), V),
    "CT1": (seq(lambda L: L.Conv1DTranspose(3, 2)), X),
    "CT2": (seq(lambda L: L.Conv2DTranspose(3, 2)), IM),
    "CT3": (seq(lambda L: L.Conv3DTranspose(3, 2)), V),
    "DW1": (seq(lambda L: L.DepthwiseConv1D(2, depth_multiplier=2)), X),
    "DW": (seq(lambda L: L.DepthwiseConv2D(2)), IM),
    "Sep1": (seq(lambda L: L.SeparableConv1D(3, 2)), X),
    "Sep2": (seq(lambda L: L.SeparableConv2D(3, 2)), IM),
    "BN": (seq(lambda L: L.BatchNormalization()), IM),
    "LN": (seq(lambda L: L.LayerNormalization()), X),
    "Norm": (seq(lambda L: L.Normalization(mean=0.5, variance=2.0)), F),
    "Resc": (seq(lambda L: L.Rescaling(0.5, offset=-1)), IM),
    "Resize": (seq(lambda L: L.Resizing(4, 5)), IM),
    "Rand": (seq(lambda L: [L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomTranslation(0.1, 0.1)]), IM),
    "Up": (seq(lambda L: [L.UpSampling2D(2, interpolation="bilinear"), L.ZeroPadding2D(1), L.Cropping2D(2)]), IM),
    "Up1": (
        seq(
            lambda L: [L.UpSampling1D(2), L.ZeroPadding1D(1), L.Cropping1D(1), L.Permute((2, 1))],
            lambda L: [L.Flatten(), L.RepeatVector(2), L.Reshape((-1, 2))],
        ),
        X,
    ),
    "Pool": (seq(lambda L: [L.MaxPooling2D(2), L.AveragePooling2D(2), L.GlobalAveragePooling2D()]), IM),
    "Pool1": (seq(lambda L: L.MaxPooling1D(2), lambda L: L.GlobalMaxPooling1D()), X),
    "Pool3": (seq(lambda L: L.AveragePooling3D(2), lambda L: L.GlobalMaxPooling3D()), V),
    "Act": (
        seq(
            lambda L: [L.Activation("gelu"), L.ReLU(max_value=3.0), L.LeakyReLU(0.1)],
            lambda L: [L.ELU(0.5), L.PReLU(), L.Softmax()],
        ),
        F,
    ),
    "Drop": (
        seq(
            lambda L: [L.Dropout(0.2), L.SpatialDropout1D(0.2), L.GaussianNoise(0.1)],
            lambda L: [L.GaussianDropout(0.1), L.Masking(), L.Identity()],
        ),
        X,
    ),
    "Merge": (merged, F),
    "Text": (text, S),
    "Words": (word, S),
}


def out(model: Any, tf: Any, x: Any) -> np.ndarray:
    return np.asarray(model(tf.constant(x.tolist()) if x.dtype == object else x, training=False))


def written_and_read(name: str, one: Any, other: Any, path: str) -> None:
    make, x = CASES[name]
    model = make(one.keras, x)
    if name != "Norm":
        weights = model.get_weights()
        model.set_weights([np.asarray(R.rand(*w.shape), w.dtype) if w.dtype.kind == "f" else w for w in weights])
    if path.endswith(".weights.h5"):
        model.save_weights(path)
        read = make(other.keras, x)
        read.load_weights(path)
    else:
        model.save(path)
        read = other.keras.models.load_model(path)
    np.testing.assert_allclose(out(read, other, x), out(model, one, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_our_own_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    for end in (".keras", ".h5", ".weights.h5"):
        written_and_read(name, t, t, str(tmp_path / f"m{end}"))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", [".keras", ".h5", ".weights.h5"])
@pytest.mark.parametrize("name", CASES)
def test_files_of_keras(name: str, end: str, tmp_path: Path) -> None:
    theirs = pytest.importorskip("tensorflow")
    written_and_read(name, t, theirs, str(tmp_path / f"ours{end}"))
    if (name, end) != ("Rand", ".h5"):  # Keras does not write it
        written_and_read(name, theirs, t, str(tmp_path / f"theirs{end}"))


@pytest.mark.peer
@pytest.mark.parametrize("axis", [-1, 1, (1, 2)])
def test_layer_normalization_along_axes(axis: Any) -> None:
    theirs = pytest.importorskip("tensorflow").keras.layers.LayerNormalization(axis=axis)(X)
    np.testing.assert_allclose(t.keras.layers.LayerNormalization(axis=axis)(X), theirs, rtol=1e-4, atol=1e-5)


def test_the_size_that_is_left_is_found_for_an_unknown_batch() -> None:
    keras = t.keras
    model = keras.Sequential([keras.Input((4, 6)), keras.layers.Reshape((-1, 3)), keras.layers.Dense(2)])
    assert model.output_shape == (None, 8, 2) and model(X).shape == (2, 8, 2)
