"""Pooling: the largest entry of each window, or the mean.

The mean is a linear op, with its transpose beside it. The derivatives of the maximum first find out which tap of each
window is the largest (the first one if several are equal, as in TensorFlow); then they gather the entries at these taps
or place them there, two linear ops that are each other's transposes.

Data have the shape ``(*batch, *space, channels)``, as in `engine.ops.windows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import Batches, aligned, all_batched
from engine.core.dtypes import FLOATING, REAL, DType, as_dtype
from engine.core.kinds import check_dtype, general, linear, nondifferentiable
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.value import shape_of
from engine.ops import pool_kernels as kernels
from engine.ops.shape import shape, transpose
from engine.ops.window_sparsity import pooled, spread_over_windows
from engine.ops.windows import (
    Windows,
    counts,
    image_dims,
    is_channels_first,
    make_windows,
    over_images,
    resized,
    spatial,
)
from engine.runtime.errors import InvalidArgumentError, NotKnownYet
from engine.runtime.public_names import named

# ---- helpers ---------------------------------------------------------------------------------------------------------


def _pooled(
    name: str, argument: str, x: Aval, size: tuple[int, ...], windows: Windows
) -> tuple[int | None, ...] | None:
    """The shape of a value with one entry per window."""
    dims = image_dims(name, argument, x, len(size))
    if dims is None:
        return None
    batch, space, channels = dims
    return (*batch, *counts(name, space, size, windows), channels)


# ---- max -------------------------------------------------------------------------------------------------------------


def _max_abstract(x: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    check_dtype("max_pool", "input", x, REAL)
    return Aval(_pooled("max_pool", "input", x, size, windows), x.dtype)


_on_taps = aligned(2, 2)
largest_tap_op = nondifferentiable(
    "largest_tap_op",
    kernels.largest_tap,
    abstract=lambda x, largest, *, size, windows: Aval(largest.shape, kernels.tap_dtype(size)),
    batch=_on_taps,
    args=("input", "largest"),
    doc="Which tap of each window has the largest entry; the first of several equal ones.",
)
gather_taps_op = linear(
    "gather_taps_op",
    kernels.gather_taps,
    lambda ct, x, which, **params: scatter_taps_op(ct, which, shape(x), **params),
    lambda x, which, *, size, windows: Aval(which.shape, x.dtype),
    _on_taps,
    args=("input", "taps"),
    sparsity=pooled,
    doc="The entry at the given tap of each window.",
)
scatter_taps_op = linear(
    "scatter_taps_op",
    kernels.scatter_taps,
    lambda ct, x, which, sizes, **params: gather_taps_op(ct, which, **params),
    lambda ct, which, sizes, *, size, windows: resized("max_pool", ct, sizes, len(size)),
    _on_taps,
    type="MaxPoolGrad",
    args=("ct", "taps", "sizes"),
    sparsity=spread_over_windows,
    layout=Layout.ANY,
    doc="`ct` added up at the given tap of each window, in data of shape `sizes`; the transpose of `gather_taps_op`.",
)
max_pool_op = general(
    "max_pool_op",
    kernels.largest,
    _max_abstract,
    vjp=(lambda ct, out, x, **params: scatter_taps_op(ct, largest_tap_op(x, out, **params), shape(x), **params),),
    jvp=(lambda t, out, x, **params: gather_taps_op(t, largest_tap_op(x, out, **params), **params),),
    batch=over_images,
    selects=True,
    type="MaxPool",
    args=("input",),
    sparsity=pooled,
    doc="The largest entry of each window. The derivative goes to the first of several equal ones.",
)

# ---- where the maximum is --------------------------------------------------------------------------------------------


def _position_kernel(
    which: Any, x: Any, *, size: tuple[int, ...], windows: Windows, dtype: DType, batch: bool
) -> np.ndarray:
    rank = len(size)
    along = kernels.along("max_pool_with_argmax", x, size, windows)
    flat: Any = 0
    for i, tap in enumerate(np.unravel_index(which, size)):
        starts = np.arange(along[i].number) * windows.strides[i] - along[i].before
        at = tap * windows.dilations[i] + starts.reshape((-1,) + (1,) * (rank - i))
        flat = flat * x.shape[i - rank - 1] + at
    flat = flat * x.shape[-1] + np.arange(x.shape[-1])
    if batch:
        flat = flat + np.arange(len(x)).reshape((-1,) + (1,) * (x.ndim - 1)) * math.prod(x.shape[1:])
    return flat.astype(dtype.numpy)


def _position_batch(
    op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]
) -> Batches:
    if params["batch"]:
        raise InvalidArgumentError("max_pool_with_argmax: cannot be vectorized with include_batch_in_index=True")
    return all_batched(op, size, flags, inputs, params)


tap_position_op = nondifferentiable(
    "tap_position_op",
    _position_kernel,
    abstract=lambda which, x, *, dtype, **_: Aval(which.shape, dtype),
    batch=_position_batch,
    args=("taps", "input"),
    doc="The position of a tap of each window in the flattened image (or batch).",
)


class MaxPoolWithArgmax(NamedTuple):
    """The result of `max_pool_with_argmax`."""

    output: Any
    argmax: Any


@operands("input")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = "int64",
    include_batch_in_index: bool = False,
) -> MaxPoolWithArgmax:
    """As `max_pool2d`, and where the largest entries are.

    Returns
    -------
    output : value
    argmax : integer value of the same shape
        ``(row * width + column) * channels + channel`` in each image; plus the images before it with
        `include_batch_in_index`.

    Examples
    --------
    >>> x = np.array([3.0, 1.0, 4.0, 1.0]).reshape(1, 1, 4, 1)
    >>> largest, where = max_pool_with_argmax(x, [1, 2], [1, 2], "SAME")
    >>> largest.ravel(), where.ravel()
    (array([3., 4.]), array([0, 2]))
    """
    name = "max_pool_with_argmax"
    if is_channels_first(name, data_format, 2):
        raise InvalidArgumentError(f"{name}: argument `data_format` must be 'NHWC', got {data_format!r}")
    size, windows = spatial(name, "ksize", ksize, 2), make_windows(name, 2, strides, padding)
    largest = max_pool_op(input, size=size, windows=windows)
    which = largest_tap_op(input, largest, size=size, windows=windows)
    dtype, batch = as_dtype(output_dtype), include_batch_in_index
    where = tap_position_op(which, input, size=size, windows=windows, dtype=dtype, batch=batch)
    return MaxPoolWithArgmax(largest, where)


# ---- average ---------------------------------------------------------------------------------------------------------


def _average_abstract(x: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    check_dtype("avg_pool", "input", x, FLOATING)
    return Aval(_pooled("avg_pool", "input", x, size, windows), x.dtype)


def _average_back_abstract(ct: Aval, sizes: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    check_dtype("avg_pool", "ct", ct, FLOATING)
    return resized("avg_pool", ct, sizes, len(size))


avg_pool_op = linear(
    "avg_pool_op",
    kernels.average,
    lambda ct, x, **params: avg_pool_back_op(ct, shape(x), **params),
    _average_abstract,
    over_images,
    type="AvgPool",
    args=("input",),
    sparsity=pooled,
    doc="The mean of each window. Entries of the padding do not count.",
)
avg_pool_back_op = linear(
    "avg_pool_back_op",
    kernels.average_back,
    lambda ct, x, sizes, **params: avg_pool_op(ct, **params),
    _average_back_abstract,
    over_images,
    type="AvgPoolGrad",
    args=("ct", "sizes"),
    sparsity=spread_over_windows,
    keeps_nan=lambda params: (0,) if params["windows"].meet_data else (),
    doc="The transpose of `avg_pool_op`, for data of the shape `sizes`.",
)

# ---- functions -------------------------------------------------------------------------------------------------------


def _pool(
    name: str,
    op: Op,
    rank: int | None,
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any = None,
) -> Operand:
    if rank is None:
        dims = shape_of(input)
        if dims is None:
            raise NotKnownYet(f"{name}: the rank of `input` must be known; give it one with set_shape")
        rank = len(dims) - 2
    first = is_channels_first(name, data_format, rank)
    windows = make_windows(name, rank, strides, padding, first, dilations)
    x = transpose(input, [0, *range(2, rank + 2), 1]) if first else input
    y = op(x, size=spatial(name, "ksize", ksize, rank, first), windows=windows)
    return transpose(y, [0, rank + 1, *range(1, rank + 1)]) if first else y


@operands("input")
def max_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None) -> Operand:
    """The largest entry of each window, in as many dimensions as `input` has between batch and channels.

    Parameters
    ----------
    input : value, shape (batch, *space, channels)
    ksize, strides : int, or sequence of 1, n or n + 2 ints, for n spatial dimensions
        The size of the windows, and their steps. Those of batch and channels must be 1.
    padding : str or sequence of pairs
        ``"VALID"``, ``"SAME"`` or how many entries to add around each dimension. None of those is ever the largest.
    data_format : str, optional
        One that starts with ``"NC"`` if the channels come before the spatial dimensions.

    Returns
    -------
    value, shape (batch, *windows, channels)

    Notes
    -----
    The derivative goes to the first of several equal entries.

    Examples
    --------
    >>> max_pool(np.array([1.0, 3.0, 2.0]).reshape(1, 3, 1), 2, 1, "SAME").ravel()
    array([3., 3., 2.])
    """
    return _pool("max_pool", max_pool_op, None, input, ksize, strides, padding, data_format)


@operands("input")
def avg_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None) -> Operand:
    """The mean of each window, in as many dimensions as `input` has between batch and channels.

    Parameters are those of `max_pool`. Entries of the padding do not count.

    Examples
    --------
    >>> avg_pool(np.array([1.0, 3.0, 2.0]).reshape(1, 3, 1), 2, 1, "SAME").ravel()
    array([2. , 2.5, 2. ])
    """
    return _pool("avg_pool", avg_pool_op, None, input, ksize, strides, padding, data_format)


def _of_rank(op: Op, name: str, rank: int, doc: str, data_format: str) -> Callable[..., Operand]:
    default = data_format

    @operands("input")
    def pooled(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = default) -> Operand:
        return _pool(name, op, rank, input, ksize, strides, padding, data_format)

    return named(pooled, name, doc)


max_pool1d = _of_rank(max_pool_op, "max_pool1d", 1, "`max_pool` in one dimension.", "NWC")
max_pool2d = _of_rank(
    max_pool_op,
    "max_pool2d",
    2,
    """`max_pool` in two dimensions.

    Examples
    --------
    >>> max_pool2d(np.arange(16.0).reshape(1, 4, 4, 1), 2, 2, "VALID")[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """,
    "NHWC",
)
max_pool3d = _of_rank(max_pool_op, "max_pool3d", 3, "`max_pool` in three dimensions.", "NDHWC")
avg_pool1d = _of_rank(avg_pool_op, "avg_pool1d", 1, "`avg_pool` in one dimension.", "NWC")
avg_pool2d = _of_rank(avg_pool_op, "avg_pool2d", 2, "`avg_pool` in two dimensions.", "NHWC")
avg_pool3d = _of_rank(avg_pool_op, "avg_pool3d", 3, "`avg_pool` in three dimensions.", "NDHWC")


@operands("input")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
) -> Operand:
    """`max_pool` or `avg_pool`, as `pooling_type` says (``"MAX"`` or ``"AVG"``)."""
    ops = {"MAX": max_pool_op, "AVG": avg_pool_op}
    if pooling_type not in ops:
        raise InvalidArgumentError(f"pool: argument `pooling_type` must be 'MAX' or 'AVG', got {pooling_type!r}")
    return _pool("pool", ops[pooling_type], None, input, window_shape, strides, padding, data_format, dilations)
