"""Layers that convolve and pool, beside Keras where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import watching

IMAGES = (2, 7, 6, 4)
SEQUENCES = (2, 7, 4)

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Conv1D": (lambda layers: layers.Conv1D(3, 2, strides=2, activation="tanh"), SEQUENCES),
    "Conv1D-causal": (lambda layers: layers.Conv1D(3, 2, padding="causal", dilation_rate=2), SEQUENCES),
    "Conv2D": (lambda layers: layers.Conv2D(3, (3, 2), activation="relu"), IMAGES),
    "Conv2D-same": (lambda layers: layers.Conv2D(3, 3, strides=(2, 1), padding="same", use_bias=False), IMAGES),
    "Conv2D-dilated": (lambda layers: layers.Conv2D(3, 2, dilation_rate=(2, 3)), IMAGES),
    "Conv3D": (lambda layers: layers.Conv3D(2, 2), (1, 3, 4, 3, 2)),
    "Conv2DTranspose": (lambda layers: layers.Conv2DTranspose(3, (3, 2), strides=2), IMAGES),
    "Conv2DTranspose-same": (lambda layers: layers.Conv2DTranspose(3, 3, strides=(2, 1), padding="same"), IMAGES),
    "Conv2DTranspose-wide stride": (lambda layers: layers.Conv2DTranspose(3, 2, strides=3), IMAGES),
    "Conv2DTranspose-output padding": (
        lambda layers: layers.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1),
        IMAGES,
    ),
    "SeparableConv2D": (lambda layers: layers.SeparableConv2D(3, 2, depth_multiplier=2, padding="same"), IMAGES),
    "MaxPooling1D": (lambda layers: layers.MaxPooling1D(3, 2, "same"), SEQUENCES),
    "MaxPooling2D": (lambda layers: layers.MaxPooling2D(), IMAGES),
    "MaxPooling2D-strides": (lambda layers: layers.MaxPool2D((3, 2), 1, padding="same"), IMAGES),
    "AveragePooling1D": (lambda layers: layers.AveragePooling1D(2), SEQUENCES),
    "AveragePooling2D": (lambda layers: layers.AveragePooling2D((2, 3), padding="same"), IMAGES),
    "GlobalAveragePooling1D": (lambda layers: layers.GlobalAveragePooling1D(), SEQUENCES),
    "GlobalAveragePooling2D": (lambda layers: layers.GlobalAveragePooling2D(keepdims=True), IMAGES),
    "GlobalMaxPooling1D": (lambda layers: layers.GlobalMaxPooling1D(), SEQUENCES),
    "GlobalMaxPooling2D": (lambda layers: layers.GlobalMaxPooling2D(), IMAGES),
}
every_layer = pytest.mark.parametrize(("make", "shape"), LAYERS.values(), ids=LAYERS)


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.peer
@every_layer
def test_agrees_with_keras(make: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = make(pytest.importorskip("tensorflow").keras.layers)
        x = data(*shape)
        theirs(x)
    ours = make(tf.keras.layers)
    ours(x)
    assert [w.shape.as_list() for w in ours.weights] == [list(w.shape) for w in theirs.weights]
    weights = [data(*w.shape) for w in ours.weights]
    ours.set_weights(weights)
    theirs.set_weights(weights)
    np.testing.assert_allclose(ours(x).numpy(), theirs(x).numpy(), rtol=1e-4, atol=1e-5)


@every_layer
def test_learns_in_a_model(make: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Input(shape[1:]), make(tf.keras.layers), tf.keras.layers.Flatten()])
    x = tf.constant(data(*shape))
    tape, loss = watching(x, lambda: tf.reduce_sum(model(x) ** 2))
    gradients = tape.gradient(loss, [x, *model.trainable_variables])
    assert [g.shape for g in gradients] == [x.shape, *(v.shape for v in model.trainable_variables)]
    assert all(np.any(g.numpy()) for g in gradients)


def test_groups_have_filters_of_their_own() -> None:
    x, layer = tf.constant(data(*IMAGES)), tf.keras.layers.Conv2D(4, 2, groups=2)
    whole = layer(x).numpy()
    half = tf.nn.conv2d(x[..., :2], layer.kernel[..., :2], 1, "VALID").numpy()
    np.testing.assert_allclose(whole[..., :2], half, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.keras.layers.Conv2D(0, 3), "Conv2D: argument `filters` must be a positive multiple of `groups`"),
        (lambda: tf.keras.layers.Conv2D(2, (3, 3, 3)), "Conv2D: argument `kernel_size` must be a positive int or 2"),
        (lambda: tf.keras.layers.Conv2D(2, 3, padding="full"), "Conv2D: argument `padding` must be 'valid' or 'same'"),
        (lambda: tf.keras.layers.Conv2D(2, 3, data_format="NCHW"), "must be 'channels_last' or"),
        (lambda: tf.keras.layers.Conv2D(2, 3)(data(2, 7, 4)), "expected an input of rank 4"),
        (
            lambda: tf.keras.layers.Conv2D(2, 3, groups=2)(data(2, 7, 7, 3)),
            "3 channels cannot be divided into 2 groups",
        ),
        (lambda: tf.keras.layers.MaxPooling2D(0), "MaxPooling2D: argument `pool_size` must be a positive int or 2"),
    ],
)
def test_errors_name_layer_and_argument(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
