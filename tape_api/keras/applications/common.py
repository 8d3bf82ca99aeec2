"""Parts that ready-made networks share: their inputs, their last layers, and where their weights are."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.keras.downloads import get_file
from dualgrad.keras.settings import floatx
from engine.core.value import Value
from tape_api import keras
from tape_api.library import root as tf

layers: Any = keras.layers
_HOST = "https://storage.googleapis.com/tensorflow/keras-applications/"
_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"


def check_weights(weights: Any, include_top: bool, classes: int) -> None:
    """See that weights are None, "imagenet" or a file, and that the classes are those of ImageNet if they must be.

    Raises
    ------
    ValueError
        If not.
    """
    if weights not in ("imagenet", None) and not os.path.exists(weights):
        raise ValueError(
            f"The `weights` argument should be either `None` (random initialization), 'imagenet' (pre-training on "
            f"ImageNet), or the path to the weights file to be loaded. Received: weights={weights}"
        )
    if weights == "imagenet" and include_top and classes != 1000:
        raise ValueError(
            f"If using `weights='imagenet'` with `include_top=True`, `classes` should be 1000. Received "
            f"classes={classes}"
        )


def shape_of_input(shape: Any, default: int, least: int, needs_size: bool, weights: Any) -> tuple[int | None, ...]:
    """The shape of an image that a network takes.

    Raises
    ------
    ValueError
        If the one that is asked for is none.
    """
    given = None if shape is None else tuple(shape)
    if given is not None and len(given) != 3:
        raise ValueError("`input_shape` must be a tuple of three integers.")
    usual = (default, default, given[-1] if given is not None and weights != "imagenet" else 3)
    if weights == "imagenet" and needs_size:
        if given is not None and given != usual:
            raise ValueError(
                f"When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be {usual}. "
                f"Received: input_shape={given}"
            )
        return usual
    if given is None:
        return usual if needs_size else (None, None, 3)
    if given[-1] != 3 and weights == "imagenet":
        raise ValueError(f"The input must have 3 channels; Received `input_shape={given}`")
    if any(d is not None and d < least for d in given[:2]):
        raise ValueError(f"Input size must be at least {least}x{least}; Received: input_shape={given}")
    if needs_size and None in given:
        raise ValueError(
            f"If `include_top` is True, you should specify a static `input_shape`. Received: input_shape={given}"
        )
    return given


def first(input_tensor: Any, shape: Sequence[int | None]) -> Any:
    """The symbol that a network begins with."""
    if input_tensor is None:
        return keras.Input(shape=shape)
    return input_tensor if hasattr(input_tensor, "call") else keras.Input(shape=shape, tensor=input_tensor)


def pooled(x: Any, pooling: Any) -> Any:
    """The last features: all of them, their means, or their maxima."""
    if pooling == "avg":
        return layers.GlobalAveragePooling2D()(x)
    return layers.GlobalMaxPooling2D()(x) if pooling == "max" else x


def classified(x: Any, top: bool, pooling: Any, classes: int, activation: Any) -> Any:
    """Probabilities of classes from the means of the last features; without the `top` these features, `pooled`."""
    if not top:
        return pooled(x, pooling)
    x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
    return layers.Dense(classes, activation=activation, name="predictions")(x)


def finished(inputs: Any, outputs: Any, name: str, weights: Any, files: dict[bool, tuple[str, str]], top: bool) -> Any:
    """The model, with its weights: None, those of a file, or those learned from ImageNet, which are downloaded."""
    model = keras.Model(inputs, outputs, name=name)
    if weights == "imagenet":
        place, checksum = files[top]
        name = place.rpartition("/")[2]
        model.load_weights(get_file(name, _HOST + place, cache_subdir="models", file_hash=checksum or None))
    elif weights is not None:
        model.load_weights(weights)
    return model


def normal(x: Any, name: str | None = None, **more: Any) -> Any:
    """Batch normalization."""
    return layers.BatchNormalization(name=name, **more)(x)


def preprocess_input(x: Any, data_format: Any = None, mode: str = "caffe") -> Any:
    """Pixels from 0 to 255 as networks were trained with them.

    Parameters
    ----------
    x : array or tensor, shape (..., height, width, 3)
        RGB.
    data_format : {None, "channels_last"}
    mode : {"caffe", "tf", "torch"}
        BGR, less the means of ImageNet; from -1 to 1; or from 0 to 1, less the means and over the deviations.

    Returns
    -------
    array or tensor like `x`, of floats

    Raises
    ------
    ValueError
        If there is no such mode or format.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}")
    if data_format not in (None, "channels_last"):
        raise ValueError(
            f"Expected data_format to be one of `channels_last`. Received: data_format={data_format}: here channels "
            f"are last"
        )
    is_value = isinstance(x, Value) or hasattr(x, "call")
    if is_value:
        x = x if x.dtype.is_floating else tf.cast(x, floatx())
    else:
        x = np.asarray(x)
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(floatx())
    if mode == "tf":
        return x / 127.5 - 1.0
    means = [103.939, 116.779, 123.68] if mode == "caffe" else [0.485, 0.456, 0.406]
    x = x[..., ::-1] if mode == "caffe" else x / 255.0
    x = x - np.asarray(means, x.dtype.as_numpy_dtype if is_value else x.dtype)
    deviations = np.asarray([0.229, 0.224, 0.225], x.dtype.as_numpy_dtype if is_value else x.dtype)
    return x if mode == "caffe" else x / deviations


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """The most probable classes of ImageNet, by name. Their names are downloaded once.

    Parameters
    ----------
    preds : array, shape (n, 1000)
    top : int

    Returns
    -------
    list of list of (class, description, probability)

    Raises
    ------
    ValueError
        If the array has another shape.
    """
    array = np.asarray(preds)
    if array.ndim != 2 or array.shape[1] != 1000:
        raise ValueError(
            f"`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). Found "
            f"array with shape: {array.shape}"
        )
    checksum = "c2c37ea517e94d9795004a39431a14cb"
    path = get_file("imagenet_class_index.json", _CLASSES, cache_subdir="models", file_hash=checksum)
    with open(path, encoding="utf-8") as file:
        names = json.load(file)
    order = np.argsort(array, axis=1, kind="stable")[:, : -top - 1 : -1]
    return [[(*names[str(i)], row[i]) for i in places] for row, places in zip(array, order, strict=True)]
