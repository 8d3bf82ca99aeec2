"""Dilation and erosion of images, channel by channel: the largest sum, the least difference over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import FLOATING
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype
from engine.core.operands import Operand, operands
from engine.core.value import aval_of, shape_of_rank
from engine.ops.extrema import argmax
from engine.ops.gather import gather
from engine.ops.rearrange import pad, reverse
from engine.ops.shape import reshape, transpose
from engine.ops.shape import shape as shape_of_value
from engine.ops.windows import extract_patches_op, make_windows
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError


def _largest_sums(name: str, input: Any, filters: Any, strides: Any, rates: Any, padding: Any) -> Operand:
    check_dtype(name, "input", aval_of(input), FLOATING)
    shape: Any = shape_of_rank(name, "input", input, 4)
    taps: Any = shape_of_rank(name, "filters", filters, 3)
    if len(shape) != 4 or len(taps) != 3 or (None not in (shape[3], taps[2]) and shape[3] != taps[2]):
        raise ShapeError(
            f"{name}: `input` must have shape (batch, height, width, channels) and `filters` (height, width, the same "
            f"channels), got {shape} and {taps}"
        )
    if None in (*shape[1:], *taps):
        raise NotKnownYet(f"{name}: the shapes of images and filters must be known, got {shape} and {taps}")
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"{name}: argument `padding` must be 'SAME' or 'VALID', got {padding!r}")
    windows = make_windows(name, 2, strides, padding, dilations=rates)
    if padding == "SAME":
        around = [[0, 0]]
        for size, tap, stride, rate in zip(shape[1:3], taps[:2], windows.strides, windows.dilations, strict=True):
            lacking = max((-(-size // stride) - 1) * stride + (tap - 1) * rate + 1 - size, 0)
            around.append([lacking // 2, lacking - lacking // 2])
        input = pad(input, [*around, [0, 0]], constant_values=-np.inf)
        windows = windows._replace(padding="VALID")
    patches = extract_patches_op(input, size=taps[:2], windows=windows)
    outer = shape_of_value(patches)[:3]
    count, channels = taps[0] * taps[1], taps[2]
    sums = reshape(patches, [outer[0], outer[1], outer[2], count, channels]) + reshape(filters, [count, channels])
    # as in TensorFlow the first of several equal ones has the derivative
    sums = transpose(sums, [0, 1, 2, 4, 3])
    return gather(sums, expand_dims(argmax(sums, -1), [-1]), axis=4, batch_dims=4)[..., 0]


@operands("input", "filters")
def dilation2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: Any = "NHWC", dilations: Any = (1, 1, 1, 1)
) -> Operand:
    """The largest sum of image and filter over windows, channel by channel.

    Parameters
    ----------
    input : floating value, shape (batch, height, width, channels)
    filters : value, shape (rows, columns, channels)
    strides, dilations : sequence of 4 ints
        The steps of windows, and the distance between taps: ``(1, rows, columns, 1)``.
    padding : str
        ``"VALID"`` or ``"SAME"``; what lies outside is never the largest.
    data_format : str
        Only "NHWC".

    Returns
    -------
    value, shape (batch, rows, columns, channels)
        The derivative goes to the first of several equal sums.

    Examples
    --------
    >>> image, flat = np.array([1.0, 3.0, 2.0]).reshape(1, 1, 3, 1), np.zeros((1, 2, 1))
    >>> dilation2d(image, flat, [1, 1, 1, 1], "SAME").ravel()
    array([3., 3., 2.])
    """
    if data_format != "NHWC":
        raise InvalidArgumentError(f"dilation2d: argument `data_format` must be 'NHWC', got {data_format!r}")
    return _largest_sums("dilation2d", input, filters, strides, dilations, padding)


@operands("value", "filters")
def erosion2d(
    value: Any, filters: Any, strides: Any, padding: Any, data_format: Any = "NHWC", dilations: Any = (1, 1, 1, 1)
) -> Operand:
    """The least difference of image and filter over windows, channel by channel (parameters as in `dilation2d`).

    Examples
    --------
    >>> image, flat = np.array([1.0, 3.0, 2.0]).reshape(1, 1, 3, 1), np.zeros((1, 2, 1))
    >>> erosion2d(image, flat, [1, 1, 1, 1], "SAME").ravel()
    array([1., 2., 2.])
    """
    if data_format != "NHWC":
        raise InvalidArgumentError(f"erosion2d: argument `data_format` must be 'NHWC', got {data_format!r}")
    return -_largest_sums("erosion2d", -value, reverse(filters, [0, 1]), strides, dilations, padding)


@operands("input", "filter")
def old_dilation2d(
    input: Any, filter: Any = None, strides: Any = None, rates: Any = None, padding: Any = None, filters: Any = None,
    dilations: Any = None,
) -> Operand:  # fmt: skip
    """`dilation2d` with TensorFlow 1's arguments."""
    return _largest_sums(
        "dilation2d", input, filters if filter is None else filter, strides, rates or dilations, padding
    )


@operands("value", "kernel")
def old_erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any) -> Operand:
    """`erosion2d` with TensorFlow 1's arguments."""
    return -_largest_sums("erosion2d", -value, reverse(kernel, [0, 1]), strides, rates, padding)
