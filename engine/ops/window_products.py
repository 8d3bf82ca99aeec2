"""Products of the windows of images and matrices, in C: laid out in small parts, or where they lie.

Both have the bits of the products that NumPy is asked for without C. Windows that are multiplied where they lie are
multiplied by loops of our own, which add up in order, as BLAS does for most matrices; that is tried once for matrices
of each size, and where the bits are others, windows are laid out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.ops.divided_products import (
    multiplied_outputs,
    products_of_columns,
    rows_and_columns_at_once,
    rows_at_once,
    widened,
)
from engine.ops.windows import CACHE, Span, Windows, geometry, images_at_once, in_c, takes_c
from engine.runtime.blas import blas_threads
from engine.runtime.buffer_pool import empty
from engine.runtime.cache import cached
from engine.runtime.tuning import TUNING

_SHORT_RUNS = TUNING.window_run, TUNING.window_run_strided
_LEAST = TUNING.window_proof
_STARTS = TUNING.window_starts


def has_long_runs(size: Sequence[int], channels: int, windows: Windows) -> bool:
    """Whether the rows of a window are long enough to be copied one by one."""
    return size[-1] * channels >= _SHORT_RUNS[windows.strides[-1] > 1]


def is_pointwise(size: Sequence[int], windows: Windows, along: Sequence[Span]) -> bool:
    """Whether each window is one point, and each point one window."""
    return math.prod(size) == max(windows.strides) == 1 and not any(s.before or s.behind for s in along)


def multiplied_laid_out(
    x: Any, filters: Any, points: Any, size: Sequence[int], windows: Windows, along: Sequence[Span], to_filters: bool
) -> bool:
    """Have the windows of images multiplied by filters, or by points for filters, some at a time; whether that is done.

    They are laid out in memory that the cache holds when they are multiplied. The products are those that `product` and
    `product_of_columns` ask of NumPy, one by one. Images have the shape ``(n, *space, channels)``, filters ``(size *
    channels, outputs)``, points ``(windows, outputs)``. If filters are wanted, the product is added to them.
    """
    if not takes_c(x, len(size)) or not (x.dtype == filters.dtype == points.dtype):
        return False
    (width, outputs), height = filters.shape, len(points)
    long = has_long_runs(size, x.shape[-1], windows) and not is_pointwise(size, windows, along)
    if not (long and width and outputs and height and filters.flags.c_contiguous and points.flags.c_contiguous):
        return False
    if multiplied_outputs(height, width, outputs, x.itemsize, to_filters) > outputs:
        return False
    step, columns = rows_at_once(height, width, outputs), width
    if to_filters:
        step, columns = rows_and_columns_at_once(height, width, outputs)
    rows, share = empty((step, width), x.dtype), empty((2 * to_filters, width, outputs), x.dtype)
    lies = geometry(len(x), x.shape[1:-1], x.shape[-1], size, windows, along)
    in_c.multiply(np.ascontiguousarray(x), filters, points, rows, share, lies, step, columns, to_filters, len(x))
    return True


def multiplied_straight(
    x: Any, filters: Any, points: Any, size: Sequence[int], windows: Windows, along: Sequence[Span], to_filters: bool
) -> bool:
    """The same, of all images, with windows that are multiplied where they lie: if that gives the same bits."""
    if not takes_c(x, len(size)) or not len(x) or x.size * filters.shape[-1] < _LEAST:
        return False
    if not (x.dtype == filters.dtype == points.dtype and filters.flags.c_contiguous and points.flags.c_contiguous):
        return False
    shapes = (x.shape, filters.shape, tuple(size), windows, tuple(along))
    each, calls = _straight(x.dtype.char, *shapes, to_filters, blas_threads())
    data = np.ascontiguousarray(x)
    for begin, end, lies, step, group, room in calls:
        space, share = empty((room,), x.dtype), empty((2 * to_filters, *filters.shape), x.dtype)
        some = points[begin * each : end * each]
        in_c.multiply(data[begin:end], filters, some, space, share, lies, step, 0, to_filters, group)
    return bool(calls)


@cached(1 << 10)
def _straight(
    char: str,
    shape: tuple[int, ...],
    filters: tuple[int, int],
    size: tuple[int, ...],
    windows: Windows,
    along: tuple[Span, ...],
    to_filters: bool,
    threads: int,
) -> tuple[int, list[Any]]:
    """The windows of an image, and how to multiply those of all; of none if the bits would be others.

    Images are dealt with in the groups that are laid out side by side otherwise.
    """
    (width, outputs), space, channels = filters, shape[1:-1], shape[-1]
    each, itemsize = math.prod([s.number for s in along]), np.dtype(char).itemsize
    group = min(images_at_once(each * width), shape[0])
    if threads > 1 or not width * outputs * each or each * width > CACHE or not in_c.straight():
        return each, []
    calls, whole = [], shape[0] - shape[0] % group
    pointwise = is_pointwise(size, windows, along)
    in_order = pointwise or has_long_runs(size, channels, windows)
    for begin, end, images in ((0, whole, group), (whole, shape[0], shape[0] - whole)):
        if begin == end:
            continue
        height = images * each
        wide = multiplied_outputs(height, width, outputs, itemsize, to_filters)
        step, columns = rows_at_once(height, width, wide), 0
        if to_filters:
            step, columns = rows_and_columns_at_once(height, width, wide)
        pieces = {min(step, height), height % step} - {0}
        # BLAS is as quick where there is nothing to lay out
        if (pointwise and to_filters and wide == outputs) or not all(
            _alike(char, n, width, outputs, wide, columns, in_order) for n in pieces
        ):
            return each, []
        lies = geometry(end - begin, space, channels, size, windows, along)
        room = images * _padded_size(lies) // (end - begin)
        calls.append((begin, end, lies, step if to_filters else _STARTS, images, room))
    return each, calls


def _padded_size(lies: Sequence[int]) -> int:
    """How many numbers images have with their padding; 0 if they have none."""
    dims = np.array(lies[1:-1]).reshape(-1, 6)
    dim, taps, stride, dilation, before, number = dims.T
    whole = np.maximum((number - 1) * stride + (taps - 1) * dilation + 1, before + dim)
    return lies[0] * lies[-1] * int(whole.prod()) if (whole > dim).any() else 0


@cached(1 << 10)
def _alike(char: str, height: int, width: int, outputs: int, wide: int, columns: int, in_order: bool) -> bool:
    """Whether C, where rows lie, multiplies them with the bits of NumPy: `columns` at a time, or if 0, the rows.

    NumPy is given so many columns of `outputs` as `wide` says.
    """
    rng = np.random.default_rng(height)
    rows, filters, points = [
        rng.uniform(-1, 1, shape).astype(char) for shape in ((height, width), (width, outputs), (height, outputs))
    ]
    lies = geometry(height, (1,), width, (1,), Windows((1,), "VALID", (1,)), (Span(0, 0, 1),))
    a = rows if in_order else np.asfortranarray(rows)
    if columns:
        expected, computed = products_of_columns(a, widened(points, wide), height, columns)[0], np.zeros_like(filters)
    else:
        expected, computed = np.matmul(a, widened(filters, wide)), np.empty_like(points)
    pair = (computed, points) if columns else (filters, computed)
    none, share = np.empty(0, char), np.empty((2 if columns else 0, width, outputs), char)
    in_c.multiply(rows, *pair, none, share, lies, height, 0, bool(columns), height)
    expected = np.ascontiguousarray(expected.reshape(len(computed), wide)[:, :outputs])
    return computed.tobytes() == expected.tobytes()
