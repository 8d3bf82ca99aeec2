"""Ready-made networks, beside Keras's: numbers of weights, names, outputs of given weights. Figures are Keras 3's."""

from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import watching

NETS = tf.keras.applications


def filled(model: Any) -> Any:
    """The model with weights that anybody can make again, and what it gives for an image."""
    random = np.random.RandomState(0)
    model.set_weights(
        [
            random.rand(*w.shape) * 0.2 + 0.9
            if len(w.shape) == 1
            else random.randn(*w.shape) * np.sqrt(2 / np.prod(w.shape[:-1]))
            for w in model.weights
        ]
    )
    return np.asarray(model(random.rand(2, *model.input.shape[1:]).astype(np.float32)))


@pytest.mark.parametrize(
    ("kind", "more", "name", "layers", "weights", "first"),
    [
        ("MobileNet", {"input_shape": (32, 32, 3), "alpha": 0.25, "classes": 10}, "mobilenet_0.25_32", 91, 221114,
         [0.10150002, 0.09683265, 0.10046589]),
        ("MobileNetV2", {"input_shape": (33, 32, 3), "alpha": 0.35, "classes": 10}, "mobilenetv2_0.35_33", 156, 423018,
         [0.09936932, 0.11173766, 0.08852337]),
        ("VGG19", {"input_shape": (32, 32, 3), "include_top": False, "pooling": "avg"}, "vgg19", 23, 20024384,
         [7.7999973, 6.6747055, 5.0300846]),
    ],
)  # fmt: skip
def test_outputs_are_keras(kind: str, more: Any, name: str, layers: int, weights: int, first: list[float]) -> None:
    model = getattr(NETS, kind)(weights=None, **more)
    assert (model.name, len(model.layers), model.count_params()) == (name, layers, weights)
    np.testing.assert_allclose(filled(model).ravel()[:3], first, rtol=2e-5)


@pytest.mark.parametrize(
    ("kind", "size", "layers", "weights"), [("InceptionV3", 75, 313, 21823274), ("Xception", 71, 134, 20881970)]
)
def test_large_networks(kind: str, size: int, layers: int, weights: int) -> None:
    model = getattr(NETS, kind)(weights=None, input_shape=(size, size, 3), classes=10)
    assert (len(model.layers), model.count_params(), model.output_shape) == (layers, weights, (None, 10))


def test_gradients_reach_the_first_layer() -> None:
    model = NETS.MobileNetV2(weights=None, input_shape=(32, 32, 3), alpha=0.35, classes=3)
    tape, loss = watching((), lambda: tf.reduce_sum(tf.square(model(tf.ones([1, 32, 32, 3]), training=True))))
    assert all(g is not None for g in tape.gradient(loss, model.trainable_variables))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"weights": "nope"}, "The `weights` argument should be either `None`"),
        ({"classes": 10}, "`classes` should be 1000. Received classes=10"),
        ({"weights": None, "input_shape": (31, 32, 3)}, "Input size must be at least 32x32"),
        ({"weights": None, "input_shape": (32, 32)}, "must be a tuple of three integers"),
        ({"weights": None, "input_shape": (None, None, 3)}, "you should specify a static `input_shape`"),
        ({"input_shape": (32, 32, 3)}, r"`input_shape` should be \(224, 224, 3\)"),
        ({"input_shape": (32, 32, 1), "include_top": False}, "The input must have 3 channels"),
    ],
)
def test_what_does_not_fit_is_refused(more: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NETS.vgg19.VGG19(**more)
    with pytest.raises(ValueError, match="alpha can be one of"):
        NETS.MobileNet(alpha=0.3)


def test_pictures_are_prepared() -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    caffe = [[[[-101.939, -115.779, -123.68], [-98.939, -112.779, -120.68]]]]
    for given in (x, tf.constant(x), x.astype(np.uint8)):
        np.testing.assert_allclose(NETS.vgg19.preprocess_input(given), caffe, rtol=1e-6)
    np.testing.assert_allclose(NETS.mobilenet.preprocess_input(x), x / 127.5 - 1, rtol=1e-6)
    torch = NETS.imagenet_utils.preprocess_input(tf.constant(x), mode="torch")
    np.testing.assert_allclose(torch[0, 0, 0], [-2.117904, -2.0182073, -1.7695861], rtol=1e-5)
    with pytest.raises(ValueError, match="Expected mode to be one of"):
        NETS.imagenet_utils.preprocess_input(x, mode="q")
    with pytest.raises(ValueError, match="expects a batch of predictions"):
        NETS.vgg16.decode_predictions(np.ones((1, 10)))
