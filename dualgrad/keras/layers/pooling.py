"""Layers that pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.convolution import Spatial, channels_are_first, format_of, several
from engine.core.operands import Operand
from engine.core.value import dtype_of


class _Pooling(Spatial):
    """The base of the layers that pool windows."""

    _starts_built = True

    function: str

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
        self.data_format = data_format or "channels_last"
        self._format = format_of(self.rank, channels_are_first(kind, data_format))
        self.pool_size = several(kind, "pool_size", pool_size, self.rank)
        self.strides = self.pool_size if strides is None else several(kind, "strides", strides, self.rank)
        if padding.lower() not in ("valid", "same"):
            raise ValueError(f"{kind}: argument `padding` must be 'valid' or 'same', got {padding!r}")
        self.padding = padding.lower()

    def call(self, inputs: Any) -> Operand:
        """The largest entries, or the means."""
        pool: Callable[..., Any] = getattr(tf, f"{self.function}{self.rank}d")
        return pool(inputs, self.pool_size, self.strides, self.padding.upper(), self._format)


class _MaxPooling(_Pooling):
    function = "max_pool"


class _AveragePooling(_Pooling):
    function = "avg_pool"


class MaxPooling1D(_MaxPooling, rank=1):
    """The largest entry of each window of sequences; arguments as in `MaxPooling2D`."""


class MaxPooling2D(_MaxPooling):
    """The largest entry of each window of images.

    Parameters
    ----------
    pool_size : int or 2 ints
    strides : int or 2 ints, optional
        By default `pool_size`: windows lie side by side.
    padding : str
        ``"valid"`` or ``"same"``.
    data_format : str, optional
        ``"channels_last"``, or ``"channels_first"``.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.MaxPooling2D()(tf.ones([1, 28, 28, 8])).shape
    TensorShape([1, 14, 14, 8])
    """

    rank = 2


class MaxPooling3D(_MaxPooling, rank=3):
    """The largest entry of each window of volumes; arguments as in `MaxPooling2D`."""


class AveragePooling1D(_AveragePooling, rank=1):
    """The mean of each window of sequences; arguments as in `MaxPooling2D`."""


class AveragePooling2D(_AveragePooling, rank=2):
    """The mean of each window of images; arguments as in `MaxPooling2D`."""


class AveragePooling3D(_AveragePooling, rank=3):
    """The mean of each window of volumes; arguments as in `MaxPooling2D`."""


class _GlobalPooling(Spatial):
    """The base of the layers that pool all points."""

    _starts_built = True

    function: str

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        first = channels_are_first(type(self).__name__, data_format)
        self._axes = [*range(2, self.rank + 2)] if first else [*range(1, self.rank + 1)]
        self.keepdims = keepdims

    def call(self, inputs: Any) -> Operand:
        """The largest entries or the means, of shape ``(batch, channels)``."""
        reduce: Callable[..., Any] = getattr(tf, self.function)
        return reduce(inputs, axis=self._axes, keepdims=self.keepdims)


class _GlobalAveragePooling(_GlobalPooling):
    function = "reduce_mean"


class _GlobalMaxPooling(_GlobalPooling):
    function = "reduce_max"


class GlobalAveragePooling1D(_GlobalAveragePooling, rank=1):
    """The mean over a sequence, per channel: over the steps that count, if it has a mask."""

    def call(self, inputs: Any, mask: Any = None) -> Operand:
        """The means, of shape ``(batch, channels)``."""
        if mask is None:
            return super().call(inputs)
        on = tf.expand_dims(tf.cast(mask, "bool"), 3 - self._axes[0])
        weights = tf.cast(on, dtype_of(inputs))
        total = tf.reduce_sum(tf.where(on, inputs, tf.zeros_like(inputs)), axis=self._axes, keepdims=self.keepdims)
        return total / tf.reduce_sum(weights, axis=self._axes, keepdims=self.keepdims)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: there are no steps any more."""


class GlobalAveragePooling2D(_GlobalAveragePooling, rank=2):
    """The mean over all points of an image, per channel."""


class GlobalAveragePooling3D(_GlobalAveragePooling, rank=3):
    """The mean over all points of a volume, per channel."""


class GlobalMaxPooling1D(_GlobalMaxPooling, rank=1):
    """The largest entry of a sequence, per channel."""


class GlobalMaxPooling2D(_GlobalMaxPooling, rank=2):
    """The largest entry of an image, per channel."""


class GlobalMaxPooling3D(_GlobalMaxPooling, rank=3):
    """The largest entry of a volume, per channel."""


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = (
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
)
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
