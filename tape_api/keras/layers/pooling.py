"""Layers that pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape_api.keras.layers.base import Layer
from tape_api.keras.layers.convolution import needs_channels_last, several
from tape_api.library import root as tf


class _Pooling(Layer):
    """What the layers that pool windows have in common."""

    rank: int

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        kind = type(self).__name__
        needs_channels_last(kind, data_format)
        self.pool_size = several(kind, "pool_size", pool_size, self.rank)
        self.strides = self.pool_size if strides is None else several(kind, "strides", strides, self.rank)
        self.padding = padding.lower()

    def _pool(self, function: Callable[..., Any], inputs: Any) -> Any:
        return function(inputs, self.pool_size, self.strides, self.padding.upper())


class MaxPooling1D(_Pooling):
    """The largest entry of each window of sequences; arguments as in `MaxPooling2D`."""

    rank = 1

    def call(self, inputs: Any) -> Any:
        """The largest entries."""
        return self._pool(tf.nn.max_pool1d, inputs)


class MaxPooling2D(_Pooling):
    """The largest entry of each window of images.

    Parameters
    ----------
    pool_size : int or 2 ints
    strides : int or 2 ints, optional
        By default `pool_size`: windows lie side by side.
    padding : str
        ``"valid"`` or ``"same"``.
    data_format : str, optional
        Must be ``"channels_last"``.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.MaxPooling2D()(tf.ones([1, 28, 28, 8])).shape
    TensorShape([1, 14, 14, 8])
    """

    rank = 2

    def call(self, inputs: Any) -> Any:
        """The largest entries."""
        return self._pool(tf.nn.max_pool2d, inputs)


class AveragePooling1D(_Pooling):
    """The mean of each window of sequences; arguments as in `MaxPooling2D`."""

    rank = 1

    def call(self, inputs: Any) -> Any:
        """The means."""
        return self._pool(tf.nn.avg_pool1d, inputs)


class AveragePooling2D(_Pooling):
    """The mean of each window of images; arguments as in `MaxPooling2D`."""

    rank = 2

    def call(self, inputs: Any) -> Any:
        """The means."""
        return self._pool(tf.nn.avg_pool2d, inputs)


class _GlobalPooling(Layer):
    """What the layers that pool all points have in common."""

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        needs_channels_last(type(self).__name__, data_format)
        self.keepdims = keepdims


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean over a sequence, per channel."""

    def call(self, inputs: Any) -> Any:
        """The means, of shape ``(batch, channels)``."""
        return tf.reduce_mean(inputs, axis=[1], keepdims=self.keepdims)


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean over all points of an image, per channel."""

    def call(self, inputs: Any) -> Any:
        """The means, of shape ``(batch, channels)``."""
        return tf.reduce_mean(inputs, axis=[1, 2], keepdims=self.keepdims)


class GlobalMaxPooling1D(_GlobalPooling):
    """The largest entry of a sequence, per channel."""

    def call(self, inputs: Any) -> Any:
        """The largest entries, of shape ``(batch, channels)``."""
        return tf.reduce_max(inputs, axis=[1], keepdims=self.keepdims)


class GlobalMaxPooling2D(_GlobalPooling):
    """The largest entry of an image, per channel."""

    def call(self, inputs: Any) -> Any:
        """The largest entries, of shape ``(batch, channels)``."""
        return tf.reduce_max(inputs, axis=[1, 2], keepdims=self.keepdims)


MaxPool1D, MaxPool2D = MaxPooling1D, MaxPooling2D
AvgPool1D, AvgPool2D = AveragePooling1D, AveragePooling2D

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AvgPool1D",
    "AvgPool2D",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPooling1D",
    "MaxPooling2D",
]
