"""Layers that convolve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dualgrad.keras import activations, initializers
from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import shape_of
from engine.core.variable import Variable


def several(layer: str, argument: str, given: Any, rank: int) -> tuple[int, ...]:
    """An argument that has a number per spatial dimension, or one for all."""
    values = (given,) * rank if isinstance(given, int) else tuple(given)
    if len(values) != rank or not all(isinstance(v, int) and v > 0 for v in values):
        raise ValueError(f"{layer}: argument `{argument}` must be a positive int or {rank} of them, got {given}")
    return values


def channels_are_first(layer: str, data_format: str | None) -> bool:
    """Whether the channels come before the spatial dimensions."""
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            f"{layer}: argument `data_format` must be 'channels_last' or 'channels_first', got {data_format!r}"
        )
    return data_format == "channels_first"


def format_of(rank: int, channels_first: bool) -> str:
    """The format as the engine's functions take it: ``"NHWC"``."""
    spatial = "DHW"[3 - rank :]
    return f"NC{spatial}" if channels_first else f"N{spatial}C"


class Spatial(Layer):
    """Base of layers of sequences, images or volumes, whose classes say of how many spatial dimensions."""

    rank: int

    def __init_subclass__(cls, rank: int | None = None, **more: Any) -> None:
        """Note the number of dimensions."""
        super().__init_subclass__(**more)
        if rank is not None:
            cls.rank = rank


class _Convolution(Spatial):
    """The base of the convolutional layers: their arguments, the bias and the activation."""

    bias: Variable | None
    _paddings: tuple[str, ...] = "valid", "same"

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        kind = type(self).__name__
        self.data_format = data_format or "channels_last"
        self._first = channels_are_first(kind, data_format)
        self._format = format_of(self.rank, self._first)
        if not isinstance(filters, int) or filters <= 0 or filters % groups:
            raise ValueError(f"{kind}: argument `filters` must be a positive multiple of `groups`, got {filters}")
        if padding.lower() not in self._paddings:
            allowed = " or ".join(map(repr, self._paddings))
            raise ValueError(f"{kind}: argument `padding` must be {allowed}, got {padding!r}")
        self.filters, self.groups = filters, groups
        self.kernel_size = several(kind, "kernel_size", kernel_size, self.rank)
        self.strides = several(kind, "strides", strides, self.rank)
        self.dilation_rate = several(kind, "dilation_rate", dilation_rate, self.rank)
        self.padding = padding.lower()
        self.activation = activations.get(self.host, activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(self.host, kernel_initializer)
        self.bias_initializer = initializers.get(self.host, bias_initializer)
        self._kernel_options = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._bias_options = {"regularizer": bias_regularizer, "constraint": bias_constraint}

    def _channels(self, input_shape: Any) -> int:
        """The number of channels of the inputs, which must be known."""
        shape = TensorShape(input_shape)
        axis = 1 if self._first else -1
        if shape.rank != self.rank + 2 or shape[axis] is None:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected an input of rank "
                f"{self.rank + 2} with a known number of channels, but received input with shape {shape}"
            )
        return int(shape[axis])

    def _add_kernel(self, channels: int, outputs: int) -> Variable:
        return self.add_weight(
            shape=(*self.kernel_size, channels, outputs),
            initializer=self.kernel_initializer,
            name="kernel",
            **self._kernel_options,
        )

    def _add_bias(self) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape=(self.filters,), initializer=self.bias_initializer, name="bias", **self._bias_options
            )

    def _finish(self, out: Any) -> Operand:
        bias = self.bias
        if bias is not None:
            out = self.host.named("BiasAdd", lambda x: tf.bias_add(x, bias, self._format), out)
        return out if self.activation is None else self.activation(out)


class _Conv(_Convolution):
    """A convolution in `rank` dimensions."""

    kernel: Variable

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError(f"layer {self.name!r}: {channels} channels cannot be divided into {self.groups} groups")
        self.kernel = self._add_kernel(channels // self.groups, self.filters)
        self._add_bias()

    def call(self, inputs: Any) -> Operand:
        """``activation(convolution(inputs, kernel) + bias)``."""
        padding = self.padding
        if padding == "causal":
            before = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            margins = [[0, 0], [0, 0], [before, 0]] if self._first else [[0, 0], [before, 0], [0, 0]]
            inputs, padding = tf.pad(inputs, margins), "valid"
        out = tf.convolution(inputs, self.kernel, self.strides, padding.upper(), self._format, self.dilation_rate)
        return self._finish(out)


class Conv1D(_Conv):
    """Convolution in one dimension; arguments as in `Conv2D`, and ``padding="causal"``."""

    rank = 1
    _paddings = "valid", "same", "causal"


class Conv2D(_Conv):
    """Convolution of images.

    Parameters
    ----------
    filters : int
        The number of outputs.
    kernel_size : int or 2 ints
    strides, dilation_rate : int or 2 ints
    padding : str
        ``"valid"`` or ``"same"``.
    data_format : str, optional
        ``"channels_last"``, or ``"channels_first"``.
    groups : int
        Into how many groups the channels are divided; each has filters of its own.
    activation : str or callable, optional
    use_bias : bool
    kernel_initializer, bias_initializer : str or callable
    kernel_regularizer, bias_regularizer : str or callable, optional
    kernel_constraint, bias_constraint : callable, optional
    **kwargs
        Those of `Layer`.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")
    >>> layer(tf.ones([1, 28, 28, 1])).shape
    TensorShape([1, 14, 14, 8])
    """

    rank = 2


class Conv3D(_Conv, rank=3):
    """Convolution in three dimensions; arguments as in `Conv2D`."""


class _ConvTranspose(_Convolution):
    """The transpose of a convolution in `rank` dimensions."""

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {"groups": (1,)}

    kernel: Variable

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation=activation, **kwargs
        )
        self.output_padding = (output_padding,) * self.rank if isinstance(output_padding, int) else output_padding
        if any(p >= stride for p, stride in zip(self.output_padding or (), self.strides, strict=False)):
            raise ValueError(
                f"{type(self).__name__}: argument `output_padding` must be less than `strides`, "
                f"got {self.output_padding} and {self.strides}"
            )

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        self.kernel = self._add_kernel(self.filters, self._channels(input_shape))
        self._add_bias()

    def call(self, inputs: Any) -> Operand:
        """``activation(transposed convolution(inputs, kernel) + bias)``."""
        known, computed = TensorShape(shape_of(inputs)), tf.shape(inputs)
        dims = [computed[i] if known[i] is None else known[i] for i in range(self.rank + 2)]
        spatial = dims[2:] if self._first else dims[1:-1]
        sizes = [self._size(i, dim) for i, dim in enumerate(spatial)]
        shape = [dims[0], self.filters, *sizes] if self._first else [dims[0], *sizes, self.filters]
        transposed = (tf.conv1d_transpose, tf.conv2d_transpose, tf.conv3d_transpose)[self.rank - 1]
        padding = self.padding.upper()
        out = transposed(inputs, self.kernel, shape, self.strides, padding, self._format, self.dilation_rate)
        return self._finish(out)

    def _size(self, i: int, dim: Any) -> int:
        """The size of spatial dimension i of the result."""
        extent, stride = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1, self.strides[i]
        if self.output_padding is None:
            return dim * stride + (max(extent - stride, 0) if self.padding == "valid" else 0)
        cut = 0 if self.padding == "valid" else extent // 2
        return (dim - 1) * stride + extent - 2 * cut + self.output_padding[i]


class Conv1DTranspose(_ConvTranspose, rank=1):
    """The transpose of a convolution in one dimension; arguments as in `Conv2DTranspose`."""


class Conv2DTranspose(_ConvTranspose):
    """The transpose of a convolution, which makes images larger.

    Parameters
    ----------
    filters, kernel_size, strides, padding
        As in `Conv2D`.
    output_padding : int or 2 ints, optional
        How many rows and columns the result has more than it needs.
    **kwargs
        The other arguments of `Conv2D`.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")(tf.ones([1, 7, 7, 8])).shape
    TensorShape([1, 14, 14, 4])
    """

    rank = 2


class Conv3DTranspose(_ConvTranspose, rank=3):
    """The transpose of a convolution in three dimensions; arguments as in `Conv2DTranspose`."""


class _Depthwise(_Convolution):
    """Layers that convolve each channel with filters of its own, as images or as sequences (images of one row)."""

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "groups": (1,), "kernel_initializer": ("glorot_uniform", "zeros"), "kernel_regularizer": (None,),
        "kernel_constraint": (None,),
    }  # fmt: skip

    depthwise_kernel: Variable
    depth_multiplier: int

    def _add_depthwise(self, channels: int, **options: Any) -> None:
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight(shape=shape, name="depthwise_kernel", **options)

    def _apart(self, inputs: Any) -> Operand:
        """The depthwise convolution, of inputs that are images with the channels last."""
        kernel: Any = self.depthwise_kernel
        if self.rank == 1:
            kernel = tf.expand_dims(kernel, 0)
        steps = self.strides * 2 if self.rank == 1 else self.strides
        rates = (1, *self.dilation_rate) if self.rank == 1 else self.dilation_rate
        return tf.depthwise_conv2d(inputs, kernel, steps, self.padding.upper(), dilations=rates)

    def _as_images(self, inputs: Any) -> Operand:
        if self._first:
            inputs = tf.transpose(inputs, [0, *range(2, self.rank + 2), 1])
        return tf.expand_dims(inputs, 1) if self.rank == 1 else inputs

    def _as_given(self, out: Any) -> Operand:
        if self.rank == 1:
            out = tf.squeeze(out, [1])
        return tf.transpose(out, [0, self.rank + 1, *range(1, self.rank + 1)]) if self._first else out


class _DepthwiseConv(_Depthwise):
    """A convolution of each channel with filters of its own, and nothing else."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        depthwise_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        options = {"use_bias": use_bias, "bias_initializer": bias_initializer, "activation": activation}
        kwargs["kernel_initializer"] = "zeros"  # of no kernel: another one would draw a seed
        super().__init__(1, kernel_size, strides, padding, data_format, dilation_rate, **options, **kwargs)
        self.depth_multiplier = depth_multiplier
        self._depthwise_options = {
            "initializer": initializers.get(self.host, depthwise_initializer),
            "regularizer": depthwise_regularizer,
            "constraint": depthwise_constraint,
        }

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        channels = self._channels(input_shape)
        self.filters = channels * self.depth_multiplier
        self._add_depthwise(channels, **self._depthwise_options)
        self._add_bias()

    def call(self, inputs: Any) -> Operand:
        """``activation(depthwise convolution + bias)``."""
        return self._finish(self._as_given(self._apart(self._as_images(inputs))))


class DepthwiseConv1D(_DepthwiseConv, rank=1):
    """As `DepthwiseConv2D`, for sequences."""


class DepthwiseConv2D(_DepthwiseConv, rank=2):
    """Convolution of each channel with filters of its own.

    Parameters
    ----------
    kernel_size, strides, padding : see `Conv2D`
    depth_multiplier : int
        How many results there are per channel.
    depthwise_initializer, depthwise_regularizer, depthwise_constraint
        Of the filters.
    **kwargs
        The other arguments of `Conv2D`.
    """


class _SeparableConv(_Depthwise):
    """A convolution of each channel, then one of single points that mixes the channels."""

    pointwise_kernel: Variable

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(filters, kernel_size, strides, padding, data_format, dilation_rate),
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs | {"kernel_initializer": "zeros"},  # of no kernel: another one would draw a seed
        )
        self.depth_multiplier = depth_multiplier
        self._depthwise_options = {
            "initializer": initializers.get(self.host, depthwise_initializer),
            "regularizer": depthwise_regularizer,
            "constraint": depthwise_constraint,
        }
        self._pointwise_options = {
            "initializer": initializers.get(self.host, pointwise_initializer),
            "regularizer": pointwise_regularizer,
            "constraint": pointwise_constraint,
        }

    def build(self, input_shape: Any) -> None:
        """Make both kernels and the bias."""
        channels = self._channels(input_shape)
        self._add_depthwise(channels, **self._depthwise_options)
        shape = (*[1] * self.rank, channels * self.depth_multiplier, self.filters)
        self.pointwise_kernel = self.add_weight(shape=shape, name="pointwise_kernel", **self._pointwise_options)
        self._add_bias()

    def call(self, inputs: Any) -> Operand:
        """``activation(both convolutions + bias)``."""
        kernel: Any = tf.expand_dims(self.pointwise_kernel, 0) if self.rank == 1 else self.pointwise_kernel
        mixed = tf.conv2d(self._apart(self._as_images(inputs)), kernel, 1, "VALID")
        return self._finish(self._as_given(mixed))


class SeparableConv1D(_SeparableConv, rank=1):
    """As `SeparableConv2D`, for sequences."""


class SeparableConv2D(_SeparableConv, rank=2):
    """A convolution of each channel, then one of single points that mixes the channels.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        As in `Conv2D`.
    depth_multiplier : int
        How many results the first convolution has per channel.
    activation, use_bias
        As in `Conv2D`.
    depthwise_initializer, pointwise_initializer, bias_initializer : str or callable
    depthwise_regularizer, pointwise_regularizer, bias_regularizer : str or callable, optional
    **kwargs
        The other arguments of `Conv2D`.
    """


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution1DTranspose, Convolution2DTranspose, Convolution3DTranspose = (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
)
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D

__all__ = [
    "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Convolution1D",
    "Convolution1DTranspose", "Convolution2D", "Convolution2DTranspose", "Convolution3D", "Convolution3DTranspose",
    "DepthwiseConv1D", "DepthwiseConv2D",
    "SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D",
]  # fmt: skip
