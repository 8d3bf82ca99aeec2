"""Small convolutions as rows: their windows are copied side by side and multiplied, as the kernels do it.

A call of a kernel takes some 20 µs before it computes anything, so it matters where images are small; larger ones
are called. The matrices that are multiplied lie as those of the kernels, so that their products have the same bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.op import Op
from engine.executor.hidden import Hidden, Writer, actual_of, opaque_if
from engine.executor.loops import same_bits
from engine.executor.vocabulary import filled, matmul, write
from engine.ops.conv import conv_data_op, conv_filters_op, conv_op
from engine.ops.conv_kernels import MANY_CHANNELS, turned_windows, windows_as_rows
from engine.ops.divided_products import rows_at_once
from engine.ops.shape import as_dims
from engine.ops.window_products import is_pointwise
from engine.ops.windows import Span, Windows, core, patches, spans, taps
from engine.runtime.blas import one_thread

_MOST = 1 << 16
"""Numbers in windows side by side, up to which rows are quicker."""
_MOST_ADDED = 1 << 14
"""Numbers to be added up where windows lie, up to which rows are quicker."""
_LARGEST_CONSTANT = 1 << 16
"""Bytes of the windows of a constant that a table may hold."""


def _alike(op: Op, rows: Callable[..., Any], recorder: Writer, *operands: Any, windows: Windows, stack: int) -> Hidden:
    """Rows for a convolution, if they compute what its kernel does."""
    numbers = [x for x in operands if x.dtype.kind not in "iu"]
    opaque_if(
        stack or {x.dtype.char for x in numbers} not in ({"f"}, {"d"}) or not all(x.flags.c_contiguous for x in numbers)
    )
    with one_thread():
        # as the kernel does for so few numbers
        result: Any = rows(recorder, *[_dims(x) if x.dtype.kind in "iu" else x for x in operands], windows)
    opaque_if(not same_bits(result.actual, op.kernel(*map(actual_of, operands), windows=windows, stack=stack)))
    return result


def _dims(sizes: Any) -> tuple[int, ...]:
    opaque_if(isinstance(sizes, Hidden) and sizes.ref.root.kind != "constant")
    return as_dims(actual_of(sizes))


def _laid_out(recorder: Writer, x: Any, outputs: int, size: Sequence[int], windows: Windows, along: list[Span]) -> Any:
    """The windows of data as the matrix that the kernels multiply in one piece."""
    rank, channels = len(size), x.shape[-1]
    images, counts = math.prod(x.shape[: -rank - 1]), [s.number for s in along]
    height, width = images * math.prod(counts), math.prod(size) * channels
    opaque_if(not 0 < height * width <= _MOST or rows_at_once(height, width, outputs) < height)
    data = x.reshape(images, *x.shape[-rank - 1 :])
    expected = windows_as_rows(actual_of(data), size, windows, along)
    if not isinstance(data, Hidden):
        opaque_if(expected.nbytes > _LARGEST_CONSTANT)
        return expected
    if is_pointwise(size, windows, along):
        return data.reshape(height, width)  # type: ignore[attr-defined]
    if any(s.before or s.behind for s in along):
        inside = [slice(s.before, s.before + d) for d, s in zip(data.shape[1:-1], along, strict=True)]
        space = [s.before + d + s.behind for d, s in zip(data.shape[1:-1], along, strict=True)]
        whole = filled(recorder, (images, *space, channels), data.dtype)
        write(recorder, whole, (slice(None), *inside, slice(None)), data)
        data = whole
    shown: Any = recorder.view(data, patches(data.actual, size, windows, along))
    by_tap = not expected.flags.c_contiguous
    if by_tap:
        shown = shown.transpose(*range(1 + rank, 2 + 2 * rank), *range(1 + rank))
    laid: Any = recorder.copy(shown, np.array(shown.actual, order="C"))
    laid = laid.reshape(width, height).T if by_tap else laid.reshape(height, width)
    opaque_if(laid.strides != expected.strides)
    return laid


def _conv(recorder: Writer, x: Any, w: Any, windows: Windows) -> Hidden:
    rank, (*size, channels, outputs) = len(windows.strides), w.shape
    opaque_if(x.shape[-1] != channels)
    along = spans(f"conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    rows = _laid_out(recorder, x, outputs, size, windows, along)
    product: Any = matmul(recorder, rows, w.reshape(math.prod(size) * channels, outputs))
    return product.reshape(*x.shape[: -rank - 1], *[s.number for s in along], outputs)


def _filters(recorder: Writer, x: Any, wanted: tuple[int, ...], ct: Any, windows: Windows) -> Hidden:
    rank, (*size, channels, outputs) = len(windows.strides), wanted
    opaque_if(x.shape[-1] != channels)
    along = spans(f"conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    rows = _laid_out(recorder, x, outputs, size, windows, along)
    product = matmul(recorder, rows.T, ct.reshape(rows.shape[0], outputs))
    total: Any = recorder.ufunc(np.add, (np.zeros((), product.dtype), product))
    return total.reshape(*wanted)


def _data(recorder: Writer, wanted: tuple[int, ...], w: Any, ct: Any, windows: Windows) -> Hidden:
    rank, (*size, channels, outputs) = len(windows.strides), w.shape
    opaque_if(wanted[-1] != channels)
    space = wanted[-rank - 1 : -1]
    along = spans(f"conv{rank}d", space, size, windows)
    turned = turned_windows(windows, size, along, channels, outputs)
    if turned is not None:
        return _conv(recorder, ct, w[(slice(None, None, -1),) * rank].swapaxes(-1, -2), turned)
    images, height, width = math.prod(ct.shape[: -rank - 1]), ct.size // max(outputs, 1), math.prod(size) * channels
    opaque_if(not 0 < height * width <= _MOST_ADDED)
    points, matrix = ct.reshape(height, outputs), w.reshape(width, outputs)
    if is_pointwise(size, windows, along):
        product: Any = matmul(recorder, points, matrix.swapaxes(-1, -2))
        return product.reshape(*ct.shape[: -rank - 1], *wanted[-rank - 1 :])
    inner, every = [s.number for s in along], math.prod(size)
    many = channels >= MANY_CHANNELS
    if many:
        product = matmul(recorder, points, matrix.swapaxes(-1, -2))
        by_tap = np.moveaxis(product.reshape(images, *inner, every, channels), -2, 0)
    else:
        product = matmul(recorder, matrix, points.swapaxes(-1, -2))
        by_tap = product.reshape(every, channels * images, *inner, 1)
    padded = [s.before + d + s.behind for d, s in zip(space, along, strict=True)]
    lead, each = ((images,), channels) if many else ((channels * images,), 1)
    sums: Any = filled(recorder, (*lead, *padded, each), product.dtype)
    for share, key in zip(by_tap, taps(size, windows, along), strict=True):
        part = sums[key]
        part += share
    if not many:
        sums = np.moveaxis(sums.reshape(channels, images, *padded), 0, -1)
    result: Any = core(sums, space, along)
    result = recorder.copy(result, np.array(result.actual, order="C"))
    return result.reshape(*ct.shape[: -rank - 1], *wanted[-rank - 1 :])


CONVOLUTIONS: dict[Op, Callable[..., Any]] = {
    conv_op: functools.partial(_alike, conv_op, _conv),
    conv_data_op: functools.partial(_alike, conv_data_op, _data),
    conv_filters_op: functools.partial(_alike, conv_filters_op, _filters),
}
