"""InceptionV3 and Xception.

References
----------
C. Szegedy et al., Rethinking the Inception architecture for computer vision, arXiv:1512.00567. F. Chollet, Xception:
deep learning with depthwise separable convolutions, arXiv:1610.02357.
"""

from __future__ import annotations

from typing import Any

from tape_api.keras.applications.common import (
    check_weights,
    classified,
    decode_predictions,
    finished,
    first,
    layers,
    normal,
    shape_of_input,
)
from tape_api.keras.applications.common import preprocess_input as _preprocess

_FILES = {
    "inception": {
        True: ("inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels.h5", "9a0d58056eeedaa3f26cb7ebd46da564"),
        False: (
            *("inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5",),
            *("bcbd6486424b2319ff4ef7d526e38f63",),
        ),
    },
    "xception": {
        True: ("xception/xception_weights_tf_dim_ordering_tf_kernels.h5", "0a58e3b7378bc2990ea3b43d5981f1f6"),
        False: ("xception/xception_weights_tf_dim_ordering_tf_kernels_notop.h5", "b0042744bf5b25fce3cb969f33bebb97"),
    },
}


def _conv(x: Any, width: int, rows: int, columns: int, padding: str = "same", strides: int = 1) -> Any:
    x = layers.Conv2D(width, (rows, columns), strides=strides, padding=padding, use_bias=False)(x)
    return layers.Activation("relu")(normal(x, scale=False))


def _chain(x: Any, *steps: tuple[Any, ...]) -> Any:
    for step in steps:
        x = _conv(x, *step)
    return x


def _averaged(x: Any, width: int) -> Any:
    return _conv(layers.AveragePooling2D(3, strides=1, padding="same")(x), width, 1, 1)


def _joined(branches: list[Any], name: str | None = None) -> Any:
    return layers.Concatenate(axis=3, name=name)(branches)


def _fives(x: Any, width: int, name: str) -> Any:
    """Branches of 1, 5 and two times 3 pixels."""
    branches = [_conv(x, 64, 1, 1), _chain(x, (48, 1, 1), (64, 5, 5)), _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3))]
    return _joined([*branches, _averaged(x, width)], name)


def _sevens(x: Any, width: int, name: str) -> Any:
    """Branches of 1, 7 and two times 7 pixels, in rows and columns apart."""
    once = ((width, 1, 1), (width, 1, 7), (192, 7, 1))
    twice = ((width, 1, 1), (width, 7, 1), (width, 1, 7), (width, 7, 1), (192, 1, 7))
    return _joined([_conv(x, 192, 1, 1), _chain(x, *once), _chain(x, *twice), _averaged(x, 192)], name)


def _wide(x: Any, number: int) -> Any:
    """Branches that end in rows and columns beside each other."""
    one = _conv(x, 320, 1, 1)
    three = _conv(x, 384, 1, 1)
    three = _joined([_conv(three, 384, 1, 3), _conv(three, 384, 3, 1)], f"mixed9_{number}")
    double = _chain(x, (448, 1, 1), (384, 3, 3))
    double = _joined([_conv(double, 384, 1, 3), _conv(double, 384, 3, 1)])
    return _joined([one, three, double, _averaged(x, 192)], f"mixed{9 + number}")


def InceptionV3(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: Any = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "inception_v3",
) -> Any:  # fmt: skip
    """A network of several branches beside each other; see `VGG19` for the arguments."""
    check_weights(weights, include_top, classes)
    x = inputs = first(input_tensor, shape_of_input(input_shape, 299, 75, include_top, weights))
    x = _chain(x, (32, 3, 3, "valid", 2), (32, 3, 3, "valid"), (64, 3, 3))
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = _chain(x, (80, 1, 1, "valid"), (192, 3, 3, "valid"))
    x = layers.MaxPooling2D(3, strides=2)(x)
    for i, width in enumerate((32, 64, 64)):
        x = _fives(x, width, f"mixed{i}")
    narrow = _conv(x, 384, 3, 3, "valid", 2), _chain(x, (64, 1, 1), (96, 3, 3), (96, 3, 3, "valid", 2))
    x = _joined([*narrow, layers.MaxPooling2D(3, strides=2)(x)], "mixed3")
    for i, width in enumerate((128, 160, 160, 192), 4):
        x = _sevens(x, width, f"mixed{i}")
    narrow = (
        _chain(x, (192, 1, 1), (320, 3, 3, "valid", 2)),
        _chain(x, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3, "valid", 2)),
    )
    x = _joined([*narrow, layers.MaxPooling2D(3, strides=2)(x)], "mixed8")
    for i in range(2):
        x = _wide(x, i)
    x = classified(x, include_top, pooling, classes, classifier_activation)
    return finished(inputs, x, name, weights, _FILES["inception"], include_top)


def _separable(x: Any, width: int, name: str, before: bool = True, after: bool = False) -> Any:
    """A separable convolution with its normalization, and an activation before or behind."""
    if before:
        x = layers.Activation("relu", name=f"{name}_act")(x)
    x = layers.SeparableConv2D(width, 3, padding="same", use_bias=False, name=name)(x)
    x = normal(x, f"{name}_bn")
    return layers.Activation("relu", name=f"{name}_act")(x) if after else x


def _shrunk(x: Any, block: int, widths: tuple[int, int]) -> Any:
    """Two separable convolutions and a pool, beside a convolution of one pixel."""
    beside = normal(layers.Conv2D(widths[1], 1, strides=2, padding="same", use_bias=False)(x))
    x = _separable(x, widths[0], f"block{block}_sepconv1", before=block > 2)
    x = _separable(x, widths[1], f"block{block}_sepconv2")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return layers.add([x, beside])


def Xception(
    include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
    pooling: Any = None, classes: int = 1000, classifier_activation: Any = "softmax", name: str = "xception",
) -> Any:  # fmt: skip
    """A network of separable convolutions with residuals; see `VGG19` for the arguments."""
    check_weights(weights, include_top, classes)
    x = inputs = first(input_tensor, shape_of_input(input_shape, 299, 71, include_top, weights))
    for i, (width, strides) in enumerate(((32, 2), (64, 1)), 1):
        x = layers.Conv2D(width, 3, strides=strides, use_bias=False, name=f"block1_conv{i}")(x)
        x = layers.Activation("relu", name=f"block1_conv{i}_act")(normal(x, f"block1_conv{i}_bn"))
    for block, width in ((2, 128), (3, 256), (4, 728)):
        x = _shrunk(x, block, (width, width))
    for block in range(5, 13):
        before = x
        for i in (1, 2, 3):
            x = _separable(x, 728, f"block{block}_sepconv{i}")
        x = layers.add([x, before])
    x = _shrunk(x, 13, (728, 1024))
    for i, width in enumerate((1536, 2048), 1):
        x = _separable(x, width, f"block14_sepconv{i}", before=False, after=True)
    x = classified(x, include_top, pooling, classes, classifier_activation)
    return finished(inputs, x, name, weights, _FILES["xception"], include_top)


def preprocess_input(x: Any, data_format: Any = None) -> Any:
    """Pixels as these networks were trained with them: from -1 to 1."""
    return _preprocess(x, data_format, "tf")


__all__ = ["InceptionV3", "Xception", "decode_predictions", "preprocess_input"]
