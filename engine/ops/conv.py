"""Convolutions in any number of spatial dimensions, and their transposes.

A convolution is linear in the data and in the filters. Three ops hold each other's derivatives, so that they are closed
under differentiation to every order:

====================  ==========================================  =================================
op                    operands                                    result
====================  ==========================================  =================================
``conv_op``           data, filters                               a convolution ``y``
``conv_data_op``      shape of the data, filters, something as y  something as the data
``conv_filters_op``   data, shape of the filters, as y            something as the filters
====================  ==========================================  =================================

Three more do so for depthwise convolutions, in which each channel has filters of its own.

Data have the shape ``(*stack, *batch, *space, channels)``, filters ``(*stack, *size, channels, outputs)``. The first
`stack` dimensions of all operands broadcast, which is how filters that differ between batch elements are vectorized.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.aval import Shape
from engine.core.expand_axes import expand_dims
from engine.core.kinds import general
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.structural import sum_to_like
from engine.core.value import shape_of
from engine.ops.conv_kernels import (
    conv_data_kernel,
    conv_filters_kernel,
    conv_kernel,
    depthwise_data_kernel,
    depthwise_filters_kernel,
    depthwise_kernel,
)
from engine.ops.conv_shapes import data_abstract, filters_abstract, forward_abstract
from engine.ops.gather import gather
from engine.ops.shape import shape, shape_operand, transpose
from engine.ops.window_sparsity import convolution_rule
from engine.ops.windows import Windows, is_channels_first, make_windows
from engine.runtime.errors import NotKnownYet, ShapeError
from engine.runtime.public_names import named

# ---- the ops ---------------------------------------------------------------------------------------------------------


def _batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
    """If only data differ between batch elements, they are more images; else all operands are stacked."""
    roles = dict(zip(op.args, flags, strict=True))
    if roles.get("sizes"):
        raise ShapeError(f"{op.title}: a shape-like argument must not differ between batch elements")
    if not params["stack"] and not roles.get("filters") and "filters" in roles:
        return op(*inputs, **params)
    stacked = [
        x if flag or arg == "sizes" else expand_dims(x, (0,))
        for x, flag, arg in zip(inputs, flags, op.args, strict=True)
    ]
    return op(*stacked, **{**params, "stack": params["stack"] + 1})


def _scratch(shapes: Sequence[Shape]) -> float:
    """Rules lay the data out once for each element of a window."""
    windows = [shape[:-2] for shape in shapes if shape is not None and len(shape) > 2]
    return 4 + min([math.prod([d or 1 for d in window]) for window in windows], default=0)


def _of_windows(params: dict[str, Any]) -> tuple[int, ...]:
    """The position of cotangents, if each of their windows meets the data."""
    return (2,) if params["windows"].meet_data else ()


def _convolution(
    name: str, type: str, titles: Sequence[str], depthwise: bool, kernels: Sequence[Callable[..., Any]], doc: str
) -> tuple[Op, Op, Op]:
    """A convolution, and its transposes in the data and in the filters; `titles`: what errors call the three.

    Each computes one of data (0), filters (1) and result (2), linear in the other two; in the place of data or filters
    it has their shape. Its transpose in an operand computes that one, with the cotangent in the place of what it made.
    """
    ops: dict[int, Op] = {}

    def vjp(made: int, i: int) -> Callable[..., Any]:
        def rule(ct: Any, out: Any, *inputs: Any, windows: Windows, stack: int) -> Operand:
            # the convolution itself is not told the shape of what it makes
            places = [*inputs[:made], ct, *inputs[made + 1 :]][: 2 if i == 2 else 3]
            if i < 2:
                places[i] = shape(inputs[i])
            grad = ops[i](*places, windows=windows, stack=stack)
            return sum_to_like(grad, inputs[i]) if stack else grad

        return rule

    def jvp(made: int, i: int) -> Callable[..., Any]:
        return lambda t, out, *inputs, **params: ops[made](*inputs[:i], t, *inputs[i + 1 :], **params)

    back = f"The transpose of `{name}_op` in the {{0}}, which have the shape `sizes`."
    for made, suffix, of, args, abstract, says in (
        (2, "", "", ("input", "filters"), forward_abstract, doc),
        (0, "_data", "BackpropInput", ("sizes", "filters", "ct"), data_abstract, back.format("data")),
        (1, "_filters", "BackpropFilter", ("input", "sizes", "ct"), filters_abstract, back.format("filters")),
    ):
        number = len(ops)
        ops[made] = general(
            f"{name}{suffix}_op",
            kernels[number],
            functools.partial(abstract, name=titles[number], depthwise=depthwise),
            vjp=tuple(None if i == made else vjp(made, i) for i in range(len(args))),
            jvp=tuple(None if i == made else jvp(made, i) for i in range(len(args))),
            batch=_batch,
            type=type + of,
            strict=made != 0,
            args=args,
            sparsity=convolution_rule(made, depthwise),
            keeps_nan=_of_windows if "ct" in args else lambda params: (),
            scratch=_scratch,
            doc=says,
        )
    return ops[2], ops[0], ops[1]


conv_op, conv_data_op, conv_filters_op = _convolution(
    "conv",
    "Conv2D",
    ("conv{}d", "conv{}d_transpose", "conv{}d_backprop_filter"),
    False,
    (conv_kernel, conv_data_kernel, conv_filters_kernel),
    "Sums of data over windows, weighted by filters.",
)
depthwise_op, depthwise_data_op, depthwise_filters_op = _convolution(
    "depthwise",
    "DepthwiseConv2dNative",
    ("depthwise_conv{}d",) * 3,
    True,
    (depthwise_kernel, depthwise_data_kernel, depthwise_filters_kernel),
    "Sums of data over windows, weighted by filters of each channel's own.",
)


# ---- convolutions ----------------------------------------------------------------------------------------------------


def _channels_last(x: Any, rank: int, channels_first: bool) -> Operand:
    return transpose(x, [0, *range(2, rank + 2), 1]) if channels_first else x


def _as_given(y: Any, rank: int, channels_first: bool) -> Operand:
    return transpose(y, [0, rank + 1, *range(1, rank + 1)]) if channels_first else y


def _convolve(
    name: str, rank: int, input: Any, filters: Any, strides: Any, padding: Any, data_format: str | None, dilations: Any,
    op: Any = conv_op,
) -> Operand:  # fmt: skip
    first = is_channels_first(name, data_format, rank)
    windows = make_windows(name, rank, strides, padding, first, dilations)
    return _as_given(op(_channels_last(input, rank, first), filters, windows=windows, stack=0), rank, first)


@operands("input", "filters")
def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = None
) -> Operand:
    """Two-dimensional convolution (a correlation: filters are not mirrored).

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
        There may be more than one batch dimension.
    filters : value, shape (rows, columns, channels, outputs)
        With a fraction 1/k of the input's channels, it is a convolution in k groups of channels.
    strides, dilations : int, or sequence of 1, 2 or 4 ints
        The steps of the windows, and the distance between their taps. Those of batch and channels must be 1.
    padding : str or sequence of 4 pairs
        ``"VALID"``: windows lie inside the input. ``"SAME"``: zeros are added, so that with stride 1 the size stays.
        ``[[0, 0], [top, bottom], [left, right], [0, 0]]``: so many zeros are added.
    data_format : str
        ``"NHWC"``, or ``"NCHW"`` if the channels of input and result come before the spatial dimensions.

    Returns
    -------
    value, shape (batch, height, width, outputs)

    Raises
    ------
    ShapeError
        If a rank is wrong, the numbers of channels differ or no window fits.

    Examples
    --------
    >>> conv2d(np.ones((1, 3, 3, 1)), np.ones((2, 2, 1, 1)), 1, "SAME")[0, :, :, 0]
    array([[4., 4., 2.],
           [4., 4., 2.],
           [2., 2., 1.]])
    """
    return _convolve("conv2d", 2, input, filters, strides, padding, data_format, dilations)


@operands("input", "filters")
def conv1d(
    input: Any, filters: Any, stride: Any, padding: Any, data_format: str = "NWC", dilations: Any = None
) -> Operand:
    """One-dimensional convolution: as `conv2d`, of shapes (batch, width, channels) and (columns, channels, outputs).

    Examples
    --------
    >>> conv1d(np.arange(4.0).reshape(1, 4, 1), np.array([1.0, 2.0]).reshape(2, 1, 1), 1, "VALID").ravel()
    array([2., 5., 8.])
    """
    return _convolve("conv1d", 1, input, filters, stride, padding, data_format, dilations)


@operands("input", "filters")
def conv3d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NDHWC", dilations: Any = None
) -> Operand:
    """Three-dimensional convolution: as `conv2d` with a dimension `depth` before `height`."""
    return _convolve("conv3d", 3, input, filters, strides, padding, data_format, dilations)


@operands("input", "filters")
def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
) -> Operand:
    """Convolution in as many dimensions as the filters have beside channels and outputs; see `conv2d`."""
    shape_of_filters = shape_of(filters)
    if shape_of_filters is None:
        raise NotKnownYet("convolution: the rank of `filters` must be known; give it one with set_shape")
    rank = len(shape_of_filters) - 2
    return _convolve("convolution", rank, input, filters, strides, padding, data_format, dilations)


@operands("value", "filters")
def atrous_conv2d(value: Any, filters: Any, rate: int, padding: Any) -> Operand:
    """`conv2d` with `rate` as the distance between neighboring taps, in steps of one."""
    return _convolve("atrous_conv2d", 2, value, filters, 1, padding, "NHWC", rate)


# ---- transposed convolutions -----------------------------------------------------------------------------------------


def _convolve_back(
    name: str,
    rank: int,
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    op: Any = conv_data_op,
) -> Operand:
    first = is_channels_first(name, data_format, rank)
    windows = make_windows(name, rank, strides, padding, first, dilations)
    sizes = shape_operand(output_shape)
    if first:
        sizes = gather(sizes, np.array([0, *range(2, rank + 2), 1]))
    y = op(sizes, filters, _channels_last(input, rank, first), windows=windows, stack=0)
    return _as_given(y, rank, first)


def _transpose_of(rank: int, data_format: str, doc: str) -> Callable[..., Operand]:
    name, default = f"conv{rank}d_transpose", data_format

    @operands("input", "filters")
    def transposed(
        input: Any,
        filters: Any,
        output_shape: Any,
        strides: Any,
        padding: Any = "SAME",
        data_format: str = default,
        dilations: Any = None,
    ) -> Operand:
        return _convolve_back(name, rank, input, filters, output_shape, strides, padding, data_format, dilations)

    return named(transposed, name, doc)


conv1d_transpose = _transpose_of(1, "NWC", "The transpose of `conv1d`; see `conv2d_transpose`.")
conv2d_transpose = _transpose_of(
    2,
    "NHWC",
    """The transpose of `conv2d`, often called deconvolution.

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
        Of the shape that a convolution of the result would have.
    filters : value, shape (rows, columns, outputs, channels)
    output_shape : integer vector
        The shape of the result: of all that would be convolved to the input's shape, the one that is meant.
    strides, padding, data_format, dilations
        Those of the convolution.

    Returns
    -------
    value, shape `output_shape`

    Examples
    --------
    >>> conv2d_transpose(np.ones((1, 1, 2, 1)), np.ones((1, 3, 1, 1)), [1, 1, 5, 1], [1, 2], "VALID").ravel()
    array([1., 1., 2., 1., 1.])
    """,
)
conv3d_transpose = _transpose_of(3, "NDHWC", "The transpose of `conv3d`; see `conv2d_transpose`.")


@operands("filters", "out_backprop")
def conv2d_backprop_input(
    input_sizes: Any,
    filters: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
) -> Operand:
    """The gradient of `conv2d` with respect to an input of the shape `input_sizes`."""
    return _convolve_back(
        "conv2d_backprop_input", 2, out_backprop, filters, input_sizes, strides, padding, data_format, dilations
    )


def _gradient_of_filters(name: str, op: Any) -> Callable[..., Operand]:
    @operands("input", "out_backprop")
    def gradient(
        input: Any,
        filter_sizes: Any,
        out_backprop: Any,
        strides: Any,
        padding: Any,
        data_format: str = "NHWC",
        dilations: Any = None,
    ) -> Operand:
        first = is_channels_first(f"{name}_backprop_filter", data_format, 2)
        windows = make_windows(f"{name}_backprop_filter", 2, strides, padding, first, dilations)
        x, ct = _channels_last(input, 2, first), _channels_last(out_backprop, 2, first)
        return op(x, shape_operand(filter_sizes), ct, windows=windows, stack=0)

    doc = f"The gradient of `{name}` with respect to filters of the shape `filter_sizes`."
    return named(gradient, f"{name}_backprop_filter", doc)


conv2d_backprop_filter = _gradient_of_filters("conv2d", conv_filters_op)
depthwise_conv2d_backprop_filter = _gradient_of_filters("depthwise_conv2d", depthwise_filters_op)

# ---- depthwise convolutions ------------------------------------------------------------------------------------------


@operands("input", "filter")
def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str | None = None, dilations: Any = None
) -> Operand:
    """Convolution of each channel with filters of its own.

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
    filter : value, shape (rows, columns, channels, multiplier)
    strides, padding, data_format, dilations
        As in `conv2d`.

    Returns
    -------
    value, shape (batch, height, width, channels * multiplier)
        The results of channel 0 come first.
    """
    return _convolve("depthwise_conv2d", 2, input, filter, strides, padding, data_format, dilations, depthwise_op)


@operands("filter", "out_backprop")
def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
) -> Operand:
    """The gradient of `depthwise_conv2d` with respect to an input of the shape `input_sizes`."""
    name, moves = "depthwise_conv2d_backprop_input", (strides, padding, data_format, dilations)
    return _convolve_back(name, 2, out_backprop, filter, input_sizes, *moves, op=depthwise_data_op)


@operands("value", "filters")
def atrous_conv2d_transpose(value: Any, filters: Any, output_shape: Any, rate: int, padding: str) -> Operand:
    """The transpose of `atrous_conv2d`; see `conv2d_transpose`."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, "NHWC", rate)


@operands("input", "depthwise_filter", "pointwise_filter")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
) -> Operand:
    """A depthwise convolution, then one of single points that mixes the channels.

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
    depthwise_filter : value, shape (rows, columns, channels, multiplier)
    pointwise_filter : value, shape (1, 1, channels * multiplier, outputs)
    strides, padding, data_format, dilations
        Those of the depthwise convolution.
    """
    y = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(y, pointwise_filter, 1, "VALID", data_format or "NHWC")
