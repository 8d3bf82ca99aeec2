"""Pooling: the largest entry of each window, or the mean.

The mean is a linear op, with its transpose beside it. The derivatives of the maximum first find out which tap of each
window is the largest (the first one if several are equal, as in TensorFlow); then they pick the entries at these taps
or place them there, two linear ops that are each other's transposes.

Data have the shape ``(*batch, *space, channels)``, as in `engine.ops.windows`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.aval import Aval
from engine.batching import materialize
from engine.dtypes import FLOATING, REAL, DType, as_dtype, int32, uint8
from engine.errors import InvalidArgumentError, ShapeError
from engine.kinds import check_dtype, general, linear, nondifferentiable
from engine.op import Op
from engine.operands import operands
from engine.ops.shape import as_dims, shape, transpose
from engine.ops.window_sparsity import pooled, spread_over_windows
from engine.ops.windows import (
    Span,
    Windows,
    blank,
    check_rank,
    core,
    counts,
    image_dims,
    is_channels_first,
    make_windows,
    over_images,
    padded,
    resized,
    spans,
    spatial,
    taps,
)
from engine.value import shape_of

# ---- helpers ---------------------------------------------------------------------------------------------------------


def _along(name: str, x: Any, size: tuple[int, ...], windows: Windows) -> list[Span]:
    check_rank(x, len(size))
    return spans(name, x.shape[-1 - len(size) : -1], size, windows)


def _pooled(name: str, argument: str, x: Aval, size: tuple[int, ...], windows: Windows) -> Any:
    """The shape of a value with one entry per window."""
    dims = image_dims(name, argument, x, len(size))
    if dims is None:
        return None
    batch, space, channels = dims
    return (*batch, *counts(name, space, size, windows), channels)


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _along_one(i: int, size: Sequence[int], windows: Windows, span: Span) -> list[tuple[Any, ...]]:
    """For each tap along spatial dimension i, the key of its entries, all other dimensions left whole."""
    behind = (slice(None),) * (len(size) - i)
    stride, dilation = windows.strides[i], windows.dilations[i]
    return [
        (..., slice(tap * dilation, tap * dilation + span.number * stride, stride), *behind) for tap in range(size[i])
    ]


def _reduced(x: Any, ufunc: Any, fill: Any, size: Sequence[int], windows: Windows, along: Sequence[Span]) -> Any:
    """Each window reduced by a ufunc, one dimension after the other; `fill` is the result for no entries at all."""
    for i, span in enumerate(along):
        x = _reduced_along(x, ufunc, fill, len(size) - i, size[i], windows.strides[i], windows.dilations[i], span)
    return np.ascontiguousarray(x)


def _reduced_along(
    x: Any, ufunc: Any, fill: Any, behind: int, size: int, stride: int, dilation: int, span: Span
) -> Any:
    """Windows along the dimension with `behind` ones behind it. Taps in the padding are left out instead of added."""
    dim, rest = x.shape[-1 - behind], (slice(None),) * behind
    # for each tap, its entries and the windows they belong to: all windows, or some
    whole: list[tuple[Any, Any]] = []
    cut: list[tuple[Any, Any]] = []
    for tap in range(size):
        offset = tap * dilation - span.before
        first, end = max(0, -(offset // stride)), min(span.number, (dim - 1 - offset) // stride + 1)
        if first < end:
            entries = (..., slice(offset + first * stride, offset + (end - 1) * stride + 1, stride), *rest)
            inside = (first, end) == (0, span.number)
            (whole if inside else cut).append((entries, (..., slice(first, end), *rest)))
    if not whole:
        total = np.full((*x.shape[: -1 - behind], span.number, *x.shape[-behind:]), fill, x.dtype)
    elif len(whole) == 1:
        total = x[whole[0][0]].copy() if cut else x[whole[0][0]]
    else:
        total = ufunc(x[whole[0][0]], x[whole[1][0]])
    for entries, windows in whole[2:] + cut:
        ufunc(total[windows], x[entries], out=total[windows])
    return total


# ---- max -------------------------------------------------------------------------------------------------------------


def _max_kernel(x: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    return _reduced(x, np.maximum, _lowest(x.dtype), size, windows, _along("max_pool", x, size, windows))


def _max_abstract(x: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    check_dtype("max_pool", "input", x, REAL)
    return Aval(_pooled("max_pool", "input", x, size, windows), x.dtype)


def _tap_dtype(size: tuple[int, ...]) -> DType:
    """The dtype of numbers of taps: small ones are compared faster."""
    return uint8 if math.prod(size) < 256 else int32


def _largest_tap_kernel(x: Any, largest: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    along = _along("max_pool", x, size, windows)
    data = padded(x, along, _lowest(x.dtype))
    # a tap of the padding must not win, not even where all entries are -inf
    outside = None if data is x else padded(np.zeros((*x.shape[-1 - len(size) : -1], 1), bool), along, True)
    # the number of the first tap that is not less than the largest entry is the number of taps before it
    which, still = np.zeros(largest.shape, _tap_dtype(size).numpy), np.ones(largest.shape, bool)
    for key in taps(size, windows, along):
        less = data[key] < largest
        if outside is not None:
            less |= outside[key]
        still &= less
        which += still.view(np.uint8)
    return which


def _largest_tap_abstract(x: Aval, largest: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    return Aval(largest.shape, _tap_dtype(size))


def _pick_kernel(x: Any, which: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    along = _along("max_pool", x, size, windows)
    data = padded(x, along)
    out, zero = np.zeros(which.shape, x.dtype), x.dtype.type(0)
    for i, key in enumerate(taps(size, windows, along)):
        out += np.where(which == i, data[key], zero)
    return out


def _pick_abstract(x: Aval, which: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    return Aval(which.shape, x.dtype)


def _place_kernel(ct: Any, which: Any, sizes: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    *space, channels = as_dims(sizes)[-1 - len(size) :]
    along = spans("max_pool", space, size, windows)
    out, zero = blank(ct.shape[: -1 - len(size)], space, channels, along, ct.dtype), ct.dtype.type(0)
    for i, key in enumerate(taps(size, windows, along)):
        out[key] += np.where(which == i, ct, zero)
    return core(out, space, along)


def _place_abstract(ct: Aval, which: Aval, sizes: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    return resized("max_pool", ct, sizes, len(size))


def _aligned(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Batch rule of ops on data and taps: both need the batch dimension."""
    if any(flags[2:]):
        raise ShapeError(f"{op.name}: a shape-like argument must not differ between batch elements")
    both = [x if flag else materialize(x, size) for x, flag in zip(inputs[:2], flags[:2], strict=True)]
    return op(*both, *inputs[2:], **params)


largest_tap_op = nondifferentiable(
    "largest_tap_op",
    _largest_tap_kernel,
    abstract=_largest_tap_abstract,
    batch=_aligned,
    args=("input", "largest"),
    doc="Which tap of each window has the largest entry; the first of several equal ones.",
)
pick_taps_op = linear(
    "pick_taps_op",
    _pick_kernel,
    lambda ct, x, which, **params: place_taps_op(ct, which, shape(x), **params),
    _pick_abstract,
    _aligned,
    args=("input", "taps"),
    sparsity=pooled,
    doc="The entry at the given tap of each window.",
)
place_taps_op = linear(
    "place_taps_op",
    _place_kernel,
    lambda ct, x, which, sizes, **params: pick_taps_op(ct, which, **params),
    _place_abstract,
    _aligned,
    type="MaxPoolGrad",
    args=("ct", "taps", "sizes"),
    sparsity=spread_over_windows,
    doc="`ct` added up at the given tap of each window, in data of the shape `sizes`: the transpose of `pick_taps_op`.",
)
max_pool_op = general(
    "max_pool_op",
    _max_kernel,
    _max_abstract,
    vjp=(lambda ct, out, x, **params: place_taps_op(ct, largest_tap_op(x, out, **params), shape(x), **params),),
    jvp=(lambda t, out, x, **params: pick_taps_op(t, largest_tap_op(x, out, **params), **params),),
    batch=over_images,
    type="MaxPool",
    args=("input",),
    sparsity=pooled,
    doc="""The largest entry of each window. The derivative goes to the first of several equal ones.

    It costs some 5 times the op, as it visits every tap of the windows, where the op goes along one dimension after the
    other: it finds out which tap is the largest, and writes an array of the size of the data.
    """,
)

# ---- where the maximum is --------------------------------------------------------------------------------------------


def _position_kernel(which: Any, x: Any, *, size: tuple[int, ...], windows: Windows, dtype: DType, batch: bool) -> Any:
    rank = len(size)
    along = _along("max_pool_with_argmax", x, size, windows)
    flat: Any = 0
    for i, tap in enumerate(np.unravel_index(which, size)):
        starts = np.arange(along[i].number) * windows.strides[i] - along[i].before
        at = tap * windows.dilations[i] + starts.reshape((-1,) + (1,) * (rank - i))
        flat = flat * x.shape[i - rank - 1] + at
    flat = flat * x.shape[-1] + np.arange(x.shape[-1])
    if batch:
        flat = flat + np.arange(len(x)).reshape((-1,) + (1,) * (x.ndim - 1)) * math.prod(x.shape[1:])
    return flat.astype(dtype.numpy)


def _position_batch(op: Op, size: int, flags: tuple[bool, ...], inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if params["batch"]:
        raise InvalidArgumentError("max_pool_with_argmax: cannot be vectorised with include_batch_in_index=True")
    return op(*[x if flag else materialize(x, size) for x, flag in zip(inputs, flags, strict=True)], **params)


tap_position_op = nondifferentiable(
    "tap_position_op",
    _position_kernel,
    abstract=lambda which, x, *, dtype, **_: Aval(which.shape, dtype),
    batch=_position_batch,
    args=("taps", "input"),
    doc="The position of a tap of each window in the flattened image (or batch).",
)


@operands("input")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = "int64",
    include_batch_in_index: bool = False,
) -> tuple[Any, Any]:
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
    return largest, tap_position_op(which, input, size=size, windows=windows, dtype=dtype, batch=batch)


# ---- average ---------------------------------------------------------------------------------------------------------


def _per_window(space: Sequence[int], size: Sequence[int], windows: Windows, along: Sequence[Span], dtype: Any) -> Any:
    """How many entries each window has: those of the padding do not count."""
    total: Any = np.ones(1, dtype)
    for i, (dim, taps_, s) in enumerate(zip(space, size, along, strict=True)):
        at = np.arange(s.number)[:, None] * windows.strides[i] + np.arange(taps_) * windows.dilations[i] - s.before
        inside = np.count_nonzero((at >= 0) & (at < dim), axis=1).astype(dtype)
        total = total * inside.reshape((-1,) + (1,) * (len(size) - i))
    return np.maximum(total, 1)


def _wide(x: Any) -> Any:
    """Half precision is summed in single precision."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _average_kernel(x: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    along = _along("avg_pool", x, size, windows)
    sums = _reduced(_wide(x), np.add, 0, size, windows, along)
    entries = _per_window(x.shape[-1 - len(size) : -1], size, windows, along, sums.dtype)
    return (sums / entries).astype(x.dtype, copy=False)


def _average_abstract(x: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    check_dtype("avg_pool", "input", x, FLOATING)
    return Aval(_pooled("avg_pool", "input", x, size, windows), x.dtype)


def _average_back_kernel(ct: Any, sizes: Any, *, size: tuple[int, ...], windows: Windows) -> Any:
    space = as_dims(sizes)[-1 - len(size) : -1]
    along = spans("avg_pool", space, size, windows)
    wide = _wide(ct)
    out = wide / _per_window(space, size, windows, along, wide.dtype)
    for i, (dim, s) in enumerate(zip(space, along, strict=True)):
        at = out.ndim - 1 - len(size) + i
        spread = np.zeros((*out.shape[:at], dim + s.before + s.behind, *out.shape[at + 1 :]), out.dtype)
        for key in _along_one(i, size, windows, s):
            spread[key] += out
        out = spread
    return core(out, space, along).astype(ct.dtype, copy=False)


def _average_back_abstract(ct: Aval, sizes: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    return resized("avg_pool", ct, sizes, len(size))


avg_pool_op = linear(
    "avg_pool_op",
    _average_kernel,
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
    _average_back_kernel,
    lambda ct, x, sizes, **params: avg_pool_op(ct, **params),
    _average_back_abstract,
    over_images,
    type="AvgPoolGrad",
    args=("ct", "sizes"),
    sparsity=spread_over_windows,
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
) -> Any:
    if rank is None:
        given = shape_of(input)
        if given is None:
            raise ShapeError(f"{name}: the rank of `input` must be known; give it one with set_shape")
        rank = len(given) - 2
    first = is_channels_first(name, data_format, rank)
    windows = make_windows(name, rank, strides, padding, first, dilations)
    x = transpose(input, [0, *range(2, rank + 2), 1]) if first else input
    y = op(x, size=spatial(name, "ksize", ksize, rank, first), windows=windows)
    return transpose(y, [0, rank + 1, *range(1, rank + 1)]) if first else y


@operands("input")
def max_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None) -> Any:
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
def max_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC") -> Any:
    """`max_pool` in one dimension."""
    return _pool("max_pool1d", max_pool_op, 1, input, ksize, strides, padding, data_format)


@operands("input")
def max_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC") -> Any:
    """`max_pool` in two dimensions.

    Examples
    --------
    >>> max_pool2d(np.arange(16.0).reshape(1, 4, 4, 1), 2, 2, "VALID")[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    return _pool("max_pool2d", max_pool_op, 2, input, ksize, strides, padding, data_format)


@operands("input")
def max_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC") -> Any:
    """`max_pool` in three dimensions."""
    return _pool("max_pool3d", max_pool_op, 3, input, ksize, strides, padding, data_format)


@operands("input")
def avg_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None) -> Any:
    """The mean of each window, in as many dimensions as `input` has between batch and channels.

    Parameters are those of `max_pool`. Entries of the padding do not count.

    Examples
    --------
    >>> avg_pool(np.array([1.0, 3.0, 2.0]).reshape(1, 3, 1), 2, 1, "SAME").ravel()
    array([2. , 2.5, 2. ])
    """
    return _pool("avg_pool", avg_pool_op, None, input, ksize, strides, padding, data_format)


@operands("input")
def avg_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC") -> Any:
    """`avg_pool` in one dimension."""
    return _pool("avg_pool1d", avg_pool_op, 1, input, ksize, strides, padding, data_format)


@operands("input")
def avg_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC") -> Any:
    """`avg_pool` in two dimensions."""
    return _pool("avg_pool2d", avg_pool_op, 2, input, ksize, strides, padding, data_format)


@operands("input")
def avg_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC") -> Any:
    """`avg_pool` in three dimensions."""
    return _pool("avg_pool3d", avg_pool_op, 3, input, ksize, strides, padding, data_format)


@operands("input")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """`max_pool` or `avg_pool`, as `pooling_type` says (``"MAX"`` or ``"AVG"``)."""
    ops = {"MAX": max_pool_op, "AVG": avg_pool_op}
    if pooling_type not in ops:
        raise InvalidArgumentError(f"pool: argument `pooling_type` must be 'MAX' or 'AVG', got {pooling_type!r}")
    return _pool("pool", ops[pooling_type], None, input, window_shape, strides, padding, data_format, dilations)
