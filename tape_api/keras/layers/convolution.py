"""Layers that convolve."""

from __future__ import annotations

from typing import Any

from engine.core.tensor_shape import TensorShape
from tape_api.keras import activations, initializers
from tape_api.keras.layers.base import Layer
from tape_api.library import root as tf
from tape_api.variable import Variable


def several(layer: str, argument: str, given: Any, rank: int) -> tuple[int, ...]:
    """An argument that has a number per spatial dimension, or one for all."""
    values = (given,) * rank if isinstance(given, int) else tuple(given)
    if len(values) != rank or not all(isinstance(v, int) and v > 0 for v in values):
        raise ValueError(f"{layer}: argument `{argument}` must be a positive int or {rank} of them, got {given}")
    return values


def needs_channels_last(layer: str, data_format: str | None) -> None:
    """Raise unless the channels come last."""
    if data_format not in (None, "channels_last"):
        raise ValueError(f"{layer}: argument `data_format` must be 'channels_last', got {data_format!r}")


class _Convolution(Layer):
    """What the convolutional layers have in common: their arguments, the bias and the activation."""

    rank: int
    bias: Variable | None

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
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        kind = type(self).__name__
        needs_channels_last(kind, data_format)
        if not isinstance(filters, int) or filters <= 0 or filters % groups:
            raise ValueError(f"{kind}: argument `filters` must be a positive multiple of `groups`, got {filters}")
        if padding.lower() not in ("valid", "same", *(["causal"] if self.rank == 1 else [])):
            raise ValueError(f"{kind}: argument `padding` must be 'valid' or 'same', got {padding!r}")
        self.filters, self.groups = filters, groups
        self.kernel_size = several(kind, "kernel_size", kernel_size, self.rank)
        self.strides = several(kind, "strides", strides, self.rank)
        self.dilation_rate = several(kind, "dilation_rate", dilation_rate, self.rank)
        self.padding = padding.lower()
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self._kernel_options = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._bias_options = {"regularizer": bias_regularizer, "constraint": bias_constraint}

    def _channels(self, input_shape: Any) -> int:
        """The number of channels of the inputs, which must be known."""
        shape = TensorShape(input_shape)
        if shape.rank != self.rank + 2 or shape[-1] is None:
            raise ValueError(
                f"Input 0 of layer {self.name!r} is incompatible with the layer: expected an input of rank "
                f"{self.rank + 2} with a known number of channels, but received input with shape {shape}"
            )
        return int(shape[-1])

    def _add_kernel(self, channels: int, outputs: int, name: str = "kernel") -> Variable:
        return self.add_weight(
            shape=(*self.kernel_size, channels, outputs),
            initializer=self.kernel_initializer,
            name=name,
            **self._kernel_options,
        )

    def _add_bias(self) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape=(self.filters,), initializer=self.bias_initializer, name="bias", **self._bias_options
            )

    def _finish(self, out: Any) -> Any:
        return self.activation(out if self.bias is None else tf.nn.bias_add(out, self.bias))


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

    def call(self, inputs: Any) -> Any:
        """``activation(convolution(inputs, kernel) + bias)``."""
        padding = self.padding
        if padding == "causal":
            before = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            inputs, padding = tf.pad(inputs, [[0, 0], [before, 0], [0, 0]]), "valid"
        out = tf.nn.convolution(
            inputs, self.kernel, strides=self.strides, padding=padding.upper(), dilations=self.dilation_rate
        )
        return self._finish(out)


class Conv1D(_Conv):
    """Convolution in one dimension; arguments as in `Conv2D`, and ``padding="causal"``."""

    rank = 1


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
        Must be ``"channels_last"``.
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


class Conv3D(_Conv):
    """Convolution in three dimensions; arguments as in `Conv2D`."""

    rank = 3


class Conv2DTranspose(_Convolution):
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
        self.output_padding = (output_padding,) * 2 if isinstance(output_padding, int) else output_padding

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias."""
        self.kernel = self._add_kernel(self.filters, self._channels(input_shape))
        self._add_bias()

    def call(self, inputs: Any) -> Any:
        """``activation(transposed convolution(inputs, kernel) + bias)``."""
        known, computed = inputs.shape, tf.shape(inputs)
        given = [computed[i] if known[i] is None else known[i] for i in range(3)]
        out = tf.nn.conv2d_transpose(
            inputs,
            self.kernel,
            [given[0], self._size(0, given[1]), self._size(1, given[2]), self.filters],
            self.strides,
            self.padding.upper(),
            dilations=self.dilation_rate,
        )
        return self._finish(out)

    def _size(self, i: int, dim: Any) -> Any:
        """The size of spatial dimension i of the result."""
        extent, stride = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1, self.strides[i]
        if self.output_padding is None:
            return dim * stride + (max(extent - stride, 0) if self.padding == "valid" else 0)
        cut = 0 if self.padding == "valid" else extent // 2
        return (dim - 1) * stride + extent - 2 * cut + self.output_padding[i]


class SeparableConv2D(_Convolution):
    """A convolution of each channel, then one of single points that mixes the channels.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        As in `Conv2D`.
    depth_multiplier : int
        How many results the first convolution has per channel.
    activation, use_bias
        As in `Conv2D`.
    depthwise_initializer, pointwise_initializer : str or callable
    **kwargs
        The other arguments of `Conv2D`.
    """

    rank = 2
    depthwise_kernel: Variable
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
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(filters, kernel_size, strides, padding, data_format, dilation_rate),
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=depthwise_initializer,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.pointwise_initializer = initializers.get(pointwise_initializer)

    def build(self, input_shape: Any) -> None:
        """Make both kernels and the bias."""
        channels = self._channels(input_shape)
        self.depthwise_kernel = self._add_kernel(channels, self.depth_multiplier, "depthwise_kernel")
        self.pointwise_kernel = self.add_weight(
            shape=(1, 1, channels * self.depth_multiplier, self.filters),
            initializer=self.pointwise_initializer,
            name="pointwise_kernel",
        )
        self._add_bias()

    def call(self, inputs: Any) -> Any:
        """``activation(both convolutions + bias)``."""
        out = tf.nn.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            self.strides,
            self.padding.upper(),
            dilations=self.dilation_rate,
        )
        return self._finish(out)


__all__ = ["Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D", "SeparableConv2D"]
