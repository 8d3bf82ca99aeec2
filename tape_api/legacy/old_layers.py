"""``tf.layers`` of TensorFlow 1 in its eager mode: Keras's layers with the arguments of that time.

A function makes a new layer in each call, as TensorFlow's did in eager mode: a program that trains keeps the objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.runtime.public_names import named
from tape_api import keras

_layers: Any = keras.layers
AveragePooling1D, AveragePooling2D, AveragePooling3D = (getattr(_layers, f"AveragePooling{n}D") for n in (1, 2, 3))
MaxPooling1D, MaxPooling2D, MaxPooling3D = (getattr(_layers, f"MaxPooling{n}D") for n in (1, 2, 3))
BatchNormalization, Dense, Dropout = _layers.BatchNormalization, _layers.Dense, _layers.Dropout
Flatten, InputSpec, Layer = _layers.Flatten, _layers.InputSpec, _layers.Layer


def _convolution(kind: Any) -> Any:
    """A convolution whose arguments have no `groups` yet."""

    class Convolution(kind):  # type: ignore[misc]
        def __init__(
            self, filters: Any, kernel_size: Any, strides: Any = 1, padding: Any = "valid",
            data_format: Any = "channels_last", dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
            kernel_initializer: Any = None, **more: Any,
        ) -> None:  # fmt: skip
            super().__init__(
                filters, kernel_size, strides=strides, padding=padding, data_format=data_format,
                dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                kernel_initializer=kernel_initializer, **more,
            )  # fmt: skip

    return named(Convolution, kind.__name__, kind.__doc__)


def _transposed(kind: Any) -> Any:
    """A transposed convolution whose arguments have no `output_padding` yet."""

    class Transposed(kind):  # type: ignore[misc]
        def __init__(
            self, filters: Any, kernel_size: Any, strides: Any = 1, padding: Any = "valid",
            data_format: Any = "channels_last", activation: Any = None, use_bias: bool = True,
            kernel_initializer: Any = None, **more: Any,
        ) -> None:  # fmt: skip
            super().__init__(
                filters, kernel_size, strides=strides, padding=padding, data_format=data_format, activation=activation,
                use_bias=use_bias, kernel_initializer=kernel_initializer, **more,
            )  # fmt: skip

    return named(Transposed, kind.__name__, kind.__doc__)


Conv1D, Conv2D, Conv3D = (_convolution(getattr(_layers, f"Conv{n}D")) for n in (1, 2, 3))
Conv2DTranspose = _transposed(_layers.Conv2DTranspose)


def _called(kind: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that makes a layer and calls it."""

    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        training = {key: kwargs.pop(key) for key in ("training",) if key in kwargs}
        for old in ("reuse", "fused", "renorm"):
            if kwargs.pop(old, None) not in (None, False):
                raise ValueError(
                    f"{name}: argument `{old}` is not supported in eager mode: keep a layer object, and call it again"
                )
        return kind(*args, **kwargs)(inputs, **training)

    return named(call, name, f"Make a new layer `{kind.__name__}` of the other arguments, and call it with the inputs.")


dense, flatten, dropout = _called(Dense, "dense"), _called(Flatten, "flatten"), _called(Dropout, "dropout")
conv1d, conv2d, conv3d = _called(Conv1D, "conv1d"), _called(Conv2D, "conv2d"), _called(Conv3D, "conv3d")
conv2d_transpose = _called(Conv2DTranspose, "conv2d_transpose")
max_pooling1d, average_pooling1d = (
    _called(MaxPooling1D, "max_pooling1d"),
    _called(AveragePooling1D, "average_pooling1d"),
)
max_pooling2d, average_pooling2d = (
    _called(MaxPooling2D, "max_pooling2d"),
    _called(AveragePooling2D, "average_pooling2d"),
)
max_pooling3d, average_pooling3d = (
    _called(MaxPooling3D, "max_pooling3d"),
    _called(AveragePooling3D, "average_pooling3d"),
)
batch_normalization = _called(BatchNormalization, "batch_normalization")

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Dense", "Dropout", "Flatten", "InputSpec", "Layer", "MaxPooling1D", "MaxPooling2D",
    "MaxPooling3D", "average_pooling1d", "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d",
    "conv2d", "conv2d_transpose", "conv3d", "dense", "dropout", "flatten", "max_pooling1d", "max_pooling2d",
    "max_pooling3d",
]  # fmt: skip
