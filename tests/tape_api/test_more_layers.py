"""Layers by a table: on tapes, in graphs and in Keras they give the same values and gradients for the same weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as g
import tape_api as t

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 5, 3)).astype(np.float32)
IM = RNG.normal(size=(2, 4, 6, 3)).astype(np.float32)
VOLUME = IM[..., None]
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool)

Case = tuple[Callable[[Any], Any], Any, dict[str, Any]]

CASES: dict[str, Case] = {
    "LSTM": (lambda L: L.LSTM(4), X, {}),
    "LSTM backwards, with states": (
        lambda L: L.LSTM(4, return_sequences=True, return_state=True, go_backwards=True), X, {},
    ),
    "LSTM with a mask": (lambda L: L.LSTM(4, return_sequences=True), X, {"mask": MASK}),
    "GRU": (lambda L: L.GRU(4, return_sequences=True), X, {}),
    "GRU, reset before": (lambda L: L.GRU(4, reset_after=False), X, {}),
    "GRU with a mask": (lambda L: L.GRU(4), X, {"mask": MASK}),
    "SimpleRNN": (lambda L: L.SimpleRNN(4, activation="relu"), X, {}),
    "Bidirectional": (lambda L: L.Bidirectional(L.LSTM(3, return_sequences=True)), X, {}),
    "Bidirectional, summed": (lambda L: L.Bidirectional(L.GRU(3), merge_mode="sum"), X, {}),
    "RNN of two cells": (lambda L: L.RNN([L.LSTMCell(3), L.GRUCell(2)]), X, {}),
    "TimeDistributed": (lambda L: L.TimeDistributed(L.Dense(2)), X, {}),
    "PReLU": (lambda L: L.PReLU(shared_axes=[1]), X, {}),
    "Dot of matrices": (lambda L: L.Dot(axes=(2, 2)), [X, 2 * X], {}),
    "Conv1DTranspose": (lambda L: L.Conv1DTranspose(2, 3, strides=2), X, {}),
    "DepthwiseConv2D": (lambda L: L.DepthwiseConv2D(3, depth_multiplier=2), IM, {}),
    "Conv3DTranspose": (lambda L: L.Conv3DTranspose(2, 2, strides=2), VOLUME, {}),
    "Conv1D, causal": (lambda L: L.Conv1D(3, 2, padding="causal", dilation_rate=2), X, {}),
    "Conv2D": (lambda L: L.Conv2D(3, (3, 2), activation="relu"), IM, {}),
    "Conv2D, same": (lambda L: L.Conv2D(3, 3, strides=(2, 1), padding="same", use_bias=False), IM, {}),
    "Conv2DTranspose": (lambda L: L.Conv2DTranspose(3, (3, 2), strides=2), IM, {}),
    "Conv2DTranspose, same": (lambda L: L.Conv2DTranspose(3, 3, strides=(2, 1), padding="same"), IM, {}),
    "Conv2DTranspose, wide strides": (lambda L: L.Conv2DTranspose(3, 2, strides=3), IM, {}),
    "Conv2DTranspose, output padding": (
        lambda L: L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1), IM, {},
    ),
    "SeparableConv2D": (lambda L: L.SeparableConv2D(3, 2, depth_multiplier=2, padding="same"), IM, {}),
    "MaxPool2D with strides": (lambda L: L.MaxPool2D((3, 2), 1, padding="same"), IM, {}),
    "AveragePooling2D": (lambda L: L.AveragePooling2D((2, 3), padding="same"), IM, {}),
    "GlobalAveragePooling2D": (lambda L: L.GlobalAveragePooling2D(keepdims=True), IM, {}),
}  # fmt: skip


def weights_for(layer: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [(rng.normal(size=w.shape) * 0.4).astype(np.float32) for w in layer.get_weights()]


def as_list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def on_tape(tf: Any, case: Case) -> list[np.ndarray]:
    """The outputs, and the gradients of their squares with respect to inputs and weights."""
    make, data, call = case
    layer = make(tf.keras.layers)
    inputs = [tf.constant(d) for d in data] if isinstance(data, list) else tf.constant(data)
    layer(inputs, **call)
    layer.set_weights(weights_for(layer))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = as_list(layer(inputs, **call))
        loss = sum(tf.reduce_sum(y**2) for y in outputs)
    weights = [getattr(w, "value", w) if tf is not t else w for w in layer.trainable_weights]
    found = tape.gradient(loss, [*as_list(inputs), *weights])
    return [np.asarray(y) for y in (*outputs, *found)]


def in_graph(case: Case) -> list[np.ndarray]:
    """The same in a graph."""
    make, data, call = case
    with g.Graph().as_default(), g.Session():
        layer = make(g.keras.layers)
        given = as_list(data)
        inputs = [g.placeholder(g.float32, [None, *d.shape[1:]]) for d in given]
        outputs = as_list(layer(inputs if isinstance(data, list) else inputs[0], **call))
        layer.set_weights(weights_for(layer))
        loss = g.add_n([g.reduce_sum(y**2) for y in outputs])
        gradients = g.gradients(loss, [*inputs, *layer.trainable_weights])
        feeds = dict(zip(inputs, given, strict=True))
        return list(g.keras.backend.get_session().run([*outputs, *gradients], feeds))


@pytest.mark.parametrize("name", CASES)
def test_graphs_and_tapes_agree(name: str) -> None:
    ours, others = on_tape(t, CASES[name]), in_graph(CASES[name])
    assert len(ours) == len(others)
    for a, b in zip(ours, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert np.any(a)


@pytest.mark.parametrize("name", [name for name, (*_, call) in CASES.items() if not call])
def test_models_know_what_shape_a_layer_gives(name: str) -> None:
    make, data, _ = CASES[name]
    given = [t.keras.Input(d.shape[1:]) for d in as_list(data)]
    outputs = as_list(make(t.keras.layers)(given if isinstance(data, list) else given[0]))
    found = as_list(t.keras.Model(given, outputs)(data))
    assert [y.shape[1:] for y in outputs] == [y.shape[1:] for y in found]


def test_states_are_handed_on() -> None:
    layer = t.keras.layers.LSTM(3, return_sequences=True, return_state=True)
    whole, *last = layer(X)
    first, *state = layer(X[:, :2])
    second, *end = layer(X[:, 2:], initial_state=state)
    np.testing.assert_allclose(np.concatenate([first, second], 1), whole, rtol=1e-5, atol=1e-6)
    for a, b in zip(end, last, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_dropout_of_cells_is_the_same_in_all_steps() -> None:
    t.random.set_seed(0)
    layer = t.keras.layers.SimpleRNN(
        3, dropout=0.5, activation="linear", kernel_initializer="ones", recurrent_initializer="zeros",
        return_sequences=True,
    )  # fmt: skip
    y = layer(np.ones((4, 6, 8), np.float32), training=True).numpy()
    assert (y == y[:, :1]).all() and len(np.unique(y[:, 0, 0])) > 1
    assert (layer(np.ones((4, 6, 8), np.float32)).numpy() == 8).all()


def test_noise_while_training_only() -> None:
    x = np.ones((100, 20), np.float32)
    for layer in (t.keras.layers.GaussianNoise(0.5, seed=1), t.keras.layers.GaussianDropout(0.2, seed=1)):
        np.testing.assert_array_equal(layer(x), x)
        y = layer(x, training=True).numpy()
        assert 0.45 < y.std() < 0.55 and abs(y.mean() - 1) < 0.05
    channels = t.keras.layers.SpatialDropout1D(0.5)(np.ones((8, 5, 6), np.float32), training=True).numpy()
    assert (channels == channels[:, :1]).all() and {0.0, 2.0} == set(channels.ravel())


def test_functions_that_merge() -> None:
    layers = t.keras.layers
    np.testing.assert_allclose(layers.add([X, X]), 2 * X)
    assert layers.concatenate([X, X], axis=1).shape == (2, 10, 3)
    inputs = t.keras.Input((3,))
    model = t.keras.Model(inputs, layers.multiply([inputs, layers.Dense(3)(inputs)]))
    assert model(np.ones((2, 3), np.float32)).shape == (2, 3)


def test_recurrent_models_by_shape() -> None:
    model = t.keras.Sequential([t.keras.Input((None, 3)), t.keras.layers.GRU(4), t.keras.layers.Dense(1)])
    assert model(X).shape == (2, 1) and [v.shape.as_list() for v in model.weights][:2] == [[3, 12], [4, 12]]


BACKEND: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sum": (lambda k: k.sum(X, axis=1), X.sum(1)),
    "mean": (lambda k: k.mean(X), X.mean()),
    "var": (lambda k: k.var(X), X.var()),
    "max": (lambda k: k.max(X, axis=-1, keepdims=True), X.max(-1, keepdims=True)),
    "min": (lambda k: k.min(X), X.min()),
    "square": (lambda k: k.square(X), X**2),
    "transpose": (lambda k: k.transpose(X[0]), X[0].T),
    "dot": (lambda k: k.dot(X[0], X[0].T), X[0] @ X[0].T),
    "shape": (lambda k: k.shape(X), X.shape),
    "exp": (lambda k: k.exp(k.clip(X, -1.0, 1.5)), np.exp(np.clip(X, -1.0, 1.5))),
    "argmax": (lambda k: k.argmax(X), X.argmax(-1)),
    "maximum": (lambda k: k.maximum(X, 0.0), np.maximum(X, 0)),
    "batch_flatten": (lambda k: k.batch_flatten(X), X.reshape(2, 15)),
    "reshape": (lambda k: k.reshape(k.expand_dims(X), [30]), X.ravel()),
    "cast": (lambda k: k.cast(k.greater(X, 0.0), "float32"), X > 0),
    "softmax": (lambda k: k.sum(k.softmax(X), -1), np.ones((2, 5))),
}


def test_functions_of_the_backend() -> None:
    for tf in (t, g):
        with g.Graph().as_default(), g.Session() as session:
            k = tf.keras.backend
            found = [call(k) for call, _ in BACKEND.values()]
            values = session.run(found) if tf is g else found
            for name, value, (_, expected) in zip(BACKEND, values, BACKEND.values(), strict=True):
                np.testing.assert_allclose(value, expected, rtol=1e-5, err_msg=name)
            assert k.int_shape(tf.constant(X)) == (2, 5, 3) and k.get_value(0.5) == 0.5
            v = tf.Variable(np.float32([1.0, 2.0]))
            k.set_value(v, np.array([4.0, 5.0]))
            assert k.get_value(v).tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda L: L.LSTM(0), ValueError, "expected a positive integer"),
        (lambda L: L.LSTM(2, stateful=True).build((None, 3, 2)), ValueError, "the batch size must be static"),
        (lambda L: L.Bidirectional(L.Dense(2)), ValueError, "must be an RNN"),
        (lambda L: L.Bidirectional(L.GRU(2), merge_mode="both"), ValueError, "Invalid merge mode"),
        (lambda L: L.LSTM(2)(X, initial_state=[np.zeros((2, 2))]), ValueError, "expected 2 states, got 1"),
        (lambda L: L.Permute((1, 3)), ValueError, "permutation of 1 to 2"),
        (lambda L: L.Subtract()([X, X, X]), ValueError, "exactly 2 inputs"),
        (lambda L: L.Add()(X), ValueError, "must be called on a list"),
        (lambda L: L.ZeroPadding2D((1, 2, 3)), ValueError, "must be an int, or 2 ints or pairs"),
        (lambda L: L.Conv2D(0, 3), ValueError, "Conv2D: argument `filters` must be a positive multiple of `groups`"),
        (lambda L: L.Conv2D(2, (3, 3, 3)), ValueError, "Conv2D: argument `kernel_size` must be a positive int or 2"),
        (lambda L: L.Conv2D(2, 3, padding="full"), ValueError, "Conv2D: argument `padding` must be 'valid' or 'same'"),
        (lambda L: L.Conv2D(2, 3, data_format="NCHW"), ValueError, "must be 'channels_last' or"),
        (lambda L: L.Conv2D(2, 3)(X), ValueError, "expected an input of rank 4"),
        (lambda L: L.Conv2D(2, 3, groups=2)(IM), ValueError, "3 channels cannot be divided into 2 groups"),
        (lambda L: L.MaxPooling2D(0), ValueError, "MaxPooling2D: argument `pool_size` must be a positive int or 2"),
    ],
)
def test_mistakes(call: Callable[[Any], Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        call(t.keras.layers)


def test_states_to_begin_with() -> None:
    gru = t.keras.layers.GRU(3, return_sequences=True)
    whole = gru(X)
    np.testing.assert_array_equal(gru(X, initial_state=gru.get_initial_state(2)), whole)
    assert [s.shape.as_list() for s in t.keras.layers.LSTM(4).get_initial_state(5)] == [[5, 4], [5, 4]]
