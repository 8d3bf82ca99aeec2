"""Recurrent layers whose products are convolutions: the states are images, lines or volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.cells import LSTMCell
from dualgrad.keras.layers.convolution import channels_are_first, format_of, several
from dualgrad.keras.layers.recurrent import LSTM
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape


class ConvLSTMCell(LSTMCell):
    """An `LSTMCell` with convolutions in place of products.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        Of the convolution of the inputs, as in `Conv2D`. That of the state has no strides, and keeps its size.
    *args, **kwargs
        The further arguments of `LSTMCell`.
    rank : int
        How many spatial dimensions there are.
    """

    _seeds_first = True
    state_dims: tuple[int, ...]

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        *args: Any,
        rank: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, *args, **kwargs)
        kind, self.rank, self.filters = f"ConvLSTM{rank}D", rank, filters
        self.kernel_size = several(kind, "kernel_size", kernel_size, rank)
        self.strides = several(kind, "strides", strides, rank)
        self.dilation_rate = several(kind, "dilation_rate", dilation_rate, rank)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{kind}: Specifying `strides > 1` is not compatible with `dilation_rate > 1`, got {strides=} and "
                f"{dilation_rate=}"
            )
        if padding.lower() not in ("valid", "same"):
            raise ValueError(f"{kind}: argument `padding` must be 'valid' or 'same', got {padding!r}")
        self.padding, self.data_format = padding.lower(), data_format or "channels_last"
        self._first = channels_are_first(kind, data_format)
        self._format = format_of(rank, self._first)

    def build(self, input_shape: Any) -> None:
        """Make the weights; the sizes of the images must be known."""
        dims: list[Any] = TensorShape(input_shape).as_list()[1:]
        if len(dims) != self.rank + 1 or None in dims:
            raise ValueError(
                f"layer {self.name!r}: inputs of {self.rank} spatial dimensions and channels, of known sizes, are "
                f"needed, got {input_shape}"
            )
        channels, spatial = (dims[0], dims[1:]) if self._first else (dims[-1], dims[:-1])
        self.kernel = self._add("kernel", (*self.kernel_size, channels, 4 * self.filters))
        self.recurrent_kernel = self._add("recurrent_kernel", (*self.kernel_size, self.filters, 4 * self.filters))
        self.bias = self._add_bias() if self.use_bias else None
        sizes = tuple(map(self._size, spatial, range(self.rank)))
        self.state_dims = (self.filters, *sizes) if self._first else (*sizes, self.filters)

    def _size(self, dim: int, i: int) -> int:
        """The size of a spatial dimension of the states."""
        extent = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1
        return -(-(dim if self.padding == "same" else dim - extent + 1) // self.strides[i])

    def masks(self, inputs: Any, state: Any, training: Any) -> tuple[Any, Any]:
        """Factors of inputs and state, another one for each of the gates; None for nothing."""

        def drawn(x: Any, rate: float) -> Any:
            if not rate or training is False:
                return None
            ones = tf.ones_like(x)
            choose: Callable[..., Any] = self.host.choose
            drop = self.host.dropout
            return [choose(training, lambda: drop(ones, rate, None, self._seeds), lambda: ones) for _ in range(4)]

        return drawn(inputs, self.dropout), drawn(state, self.recurrent_dropout)

    def _convolved(self, x: Any, kernel: Any, strides: Any, padding: str, rates: Any) -> Operand:
        if not isinstance(x, list):
            return tf.convolution(x, kernel, strides, padding, self._format, rates)
        parts = zip(x, tf.split(kernel, 4, self.rank + 1), strict=True)
        axis = 1 if self._first else self.rank + 1
        return tf.concat([tf.convolution(a, k, strides, padding, self._format, rates) for a, k in parts], axis)

    def advance(self, inputs: Any, hidden: Any, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The output, and output and content as the new states."""
        gates = self._convolved(inputs, self.kernel, self.strides, self.padding.upper(), self.dilation_rate)
        if self.bias is not None:
            gates = tf.bias_add(gates, self.bias, self._format)
        once = (1,) * self.rank
        gates = gates + self._convolved(hidden, self.recurrent_kernel, once, "SAME", once)
        i, f, c, o = tf.split(gates, 4, 1 if self._first else self.rank + 1)
        gate = self.recurrent_activation
        content = gate(f) * states[1] + gate(i) * self.activation(c)
        output = gate(o) * self.activation(content)
        return output, [output, content]


class _ConvLSTM(LSTM):
    """A `ConvLSTMCell` run over a sequence."""

    kind: type = ConvLSTMCell
    rank: int
    _not_taken = ("cell", "units", "rank", "unroll", "zero_output_for_mask", "implementation")

    def __init__(self, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(filters, kernel_size, *args, rank=self.rank, **kwargs)

    def _state_dims(self) -> list[tuple[int, ...]]:
        return [self.cell.state_dims] * 2

    @classmethod
    def _signatures(cls) -> list[Callable[..., Any]]:
        """The parameters of the layer, of the cell, and those of the loop."""
        _, *others = super()._signatures()
        return [cls.__init__, *others]


class ConvLSTM1D(_ConvLSTM):
    """As `ConvLSTM2D`, for sequences of lines, of shape (batch, steps, width, channels)."""

    rank = 1


class ConvLSTM2D(_ConvLSTM):
    """A long short-term memory of images, whose products are convolutions.

    Parameters
    ----------
    filters, kernel_size, strides, padding, data_format, dilation_rate
        Of the convolution of the inputs, as in `Conv2D`.
    *args, **kwargs
        The further arguments of `LSTM`.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)
    >>> layer(tf.ones([2, 5, 8, 8, 1])).shape
    TensorShape([2, 5, 8, 8, 4])
    """

    rank = 2


class ConvLSTM3D(_ConvLSTM):
    """As `ConvLSTM2D`, for sequences of volumes."""

    rank = 3


__all__ = ["ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"]
