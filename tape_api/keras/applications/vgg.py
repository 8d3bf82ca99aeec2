"""VGG16 and VGG19.

References
----------
K. Simonyan, A. Zisserman, Very deep convolutional networks for large-scale image recognition, arXiv:1409.1556.
"""

from __future__ import annotations

from typing import Any

from tape_api.keras.applications.common import (
    check_weights,
    decode_predictions,
    finished,
    first,
    layers,
    pooled,
    shape_of_input,
)
from tape_api.keras.applications.common import preprocess_input as _preprocess

_WIDTHS = (64, 128, 256, 512, 512)
_FILES = {
    16: {
        True: ("vgg16/vgg16_weights_tf_dim_ordering_tf_kernels.h5", "64373286793e3c8b2b4e3219cbf3544b"),
        False: ("vgg16/vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5", "6d6bbae143d832006294945121d1f1fc"),
    },
    19: {
        True: ("vgg19/vgg19_weights_tf_dim_ordering_tf_kernels.h5", "cbe5617147190e668d6c5d5026f83318"),
        False: ("vgg19/vgg19_weights_tf_dim_ordering_tf_kernels_notop.h5", "253f8cb515780f3b799900260a226db6"),
    },
}


def _vgg(
    depths: tuple[int, ...], include_top: bool, weights: Any, input_tensor: Any, input_shape: Any, pooling: Any,
    classes: int, classifier_activation: Any, name: str,
) -> Any:  # fmt: skip
    check_weights(weights, include_top, classes)
    x = inputs = first(input_tensor, shape_of_input(input_shape, 224, 32, include_top, weights))
    for block, (width, depth) in enumerate(zip(_WIDTHS, depths, strict=True), 1):
        for i in range(1, depth + 1):
            x = layers.Conv2D(width, 3, activation="relu", padding="same", name=f"block{block}_conv{i}")(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = pooled(x, pooling)
    return finished(inputs, x, name, weights, _FILES[sum(depths) + 3], include_top)


def VGG16(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: Any = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "vgg16",
) -> Any:  # fmt: skip
    """The network of 16 layers with weights; see `VGG19`."""
    depths = (2, 2, 3, 3, 3)
    return _vgg(depths, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def VGG19(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: Any = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "vgg19",
) -> Any:  # fmt: skip
    """The network of 19 layers with weights.

    Parameters
    ----------
    include_top : bool
        Whether the layers that tell classes are there.
    weights : "imagenet", None or path
        Downloaded, new, or from a file.
    input_tensor : symbol, optional
    input_shape : tuple of int, optional
        Of one image.
    pooling : {None, "avg", "max"}
        Of the features, without `include_top`.
    classes : int
    classifier_activation : str or callable
    name : str

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If weights, shape and classes do not fit together.
    """
    depths = (2, 2, 4, 4, 4)
    return _vgg(depths, include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def preprocess_input(x: Any, data_format: Any = None) -> Any:
    """Pixels as VGG was trained with them: BGR, less the means of ImageNet."""
    return _preprocess(x, data_format, "caffe")


__all__ = ["VGG16", "VGG19", "decode_predictions", "preprocess_input"]
