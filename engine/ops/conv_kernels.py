"""The kernels of convolutions (`engine.ops.conv` says what the operands are).

Convolutions over all channels lay the windows of some images at a time side by side (im2col) and multiply matrices; how
many at a time is chosen so that they stay in the processor's cache. Depthwise ones visit one tap of all windows at a
time, again some images at a time.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.ops.divided_products import product, product_of_columns
from engine.ops.shape import as_dims
from engine.ops.window_products import has_long_runs, is_pointwise, multiplied_laid_out, multiplied_straight
from engine.ops.windows import (
    LINE,
    PASSES,
    Span,
    Windows,
    blank,
    blocks,
    compact,
    core,
    geometry,
    images_at_once,
    in_c,
    in_lines,
    padded,
    parts,
    patches,
    spans,
    takes_c,
    taps,
    without_buffers,
)
from engine.runtime.blas import few_threads, multiplies_in_place
from engine.runtime.buffer_pool import empty
from engine.runtime.tuning import TUNING

MANY_CHANNELS = TUNING.conv_channels
"""Where each pixel has fewer, pixels rather than channels lie beside each other when taps are added up."""
_FULL = 16
"""Channels that fill a register."""
_MORE_OUTPUTS = TUNING.conv_outputs

# ---- what the kernels share ------------------------------------------------------------------------------------------


def _images(x: Any, stack: int, rank: int) -> np.ndarray:
    """Data with one batch dimension behind the stacked ones."""
    batch = x.shape[stack : -rank - 1]
    return x if len(batch) == 1 else x.reshape(*x.shape[:stack], math.prod(batch), *x.shape[-rank - 1 :])


def _points(x: Any) -> np.ndarray:
    """The contents of windows as the rows of a matrix."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _check_ranks(data: Sequence[int], filters: Sequence[int], stack: int, rank: int) -> None:
    """Raise unless the shapes have the dimensions they need; abstract evaluation then says it better."""
    if len(data) < stack + rank + 2 or len(filters) < rank + 2:
        raise ValueError(f"data and filters must have rank {rank + 2}")
    if data[-1] != filters[-2]:
        raise ValueError(f"data have {data[-1]} channels, filters {filters[-2]}")


def _groups(data: Sequence[int], filters: Sequence[int]) -> int:
    """In how many groups of channels data are convolved, if filters have a fraction of the channels."""
    channels, each = data[-1], filters[-2] if len(filters) > 1 else 0
    return channels // each if each and channels % each == 0 else 1


def _check_result(ct: Any, along: Sequence[Span], outputs: int) -> None:
    expected = (*[s.number for s in along], outputs)
    if ct.shape[-len(expected) :] != expected:
        raise ValueError(f"the result of this convolution ends in {expected}, not in {ct.shape[-len(expected) :]}")


def windows_as_rows(x: Any, size: Sequence[int], windows: Windows, along: Sequence[Span]) -> np.ndarray:
    """The windows of images of shape ``(*stack, n, *space, channels)`` as rows of a matrix, one matrix per stack."""
    rank, channels = len(size), x.shape[-1]
    lead, images = x.shape[: -rank - 2], x.shape[-rank - 2]
    height, width = images * math.prod([s.number for s in along]), math.prod(size) * channels
    if is_pointwise(size, windows, along):
        return x.reshape(*lead, height, width)
    flat = x.reshape(math.prod(lead) * images, *x.shape[-rank - 1 :])
    wide = lead or has_long_runs(size, channels, windows)
    if wide and takes_c(flat, rank):
        out = empty((*lead, height, width), x.dtype)
        lies = geometry(len(flat), flat.shape[1:-1], channels, size, windows, along)
        in_c.lay_out(np.ascontiguousarray(flat), out, lies, False)
        return out
    if wide:
        flat = padded(flat, along)
        # along one dimension rows that overlap may be a view, which is multiplied by another routine, with other bits
        return np.ascontiguousarray(patches(flat, size, windows, along).reshape(*lead, height, width))
    # A window's rows are short but an image's are long: copy those, and multiply by the transpose.
    planes = np.ascontiguousarray(np.moveaxis(flat, -1, 0))
    if takes_c(flat, rank):
        out = empty((width, height), x.dtype)
        lies = geometry(channels * images, flat.shape[1:-1], 1, size, windows, along)
        in_c.lay_out(planes, out, lies, True)
        return out.T
    taps_first = (*range(1 + rank, 2 + 2 * rank), *range(1 + rank))
    by_tap = patches(padded(np.moveaxis(planes, 0, -1), along), size, windows, along).transpose(taps_first)
    return np.ascontiguousarray(by_tap).reshape(width, height).T


def _in_single(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes half precision in single precision, in which matrix products are fast."""

    @functools.wraps(kernel)
    def wrapped(*operands: Any, **params: Any) -> np.ndarray:
        if all(x.dtype != np.float16 for x in operands):
            return kernel(*operands, **params)
        wide = [x.astype(np.float32) if x.dtype == np.float16 else x for x in operands]
        return kernel(*wide, **params).astype(np.float16)

    return wrapped


def _by_few_threads(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel computed with one thread of BLAS unless it takes long: each of its many products is small."""

    def taken(first: Any, second: Any, ct: Any = None, **_: Any) -> int:
        """How many multiplications there are, at most: all taps of all filters, for each pixel."""
        filters = as_dims(second) if second.dtype.kind in "iu" else second.shape
        return math.prod((first if ct is None else ct).shape[:-1]) * math.prod(filters)

    return few_threads(taken, TUNING.one_thread_conv)(kernel)


# ---- kernels: all channels into each output --------------------------------------------------------------------------


@_in_single
@_by_few_threads
def conv_kernel(x: Any, w: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """A convolution."""
    rank = len(windows.strides)
    if (groups := _groups(x.shape, w.shape)) > 1:
        pairs = zip(np.split(x, groups, -1), np.split(w, groups, -1), strict=True)
        return np.concatenate([conv_kernel(a, b, windows=windows, stack=stack) for a, b in pairs], -1)
    _check_ranks(x.shape, w.shape, stack, rank)
    *size, channels, outputs = w.shape[stack:]
    along = spans(f"conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    inner = tuple([s.number for s in along])
    images = _images(x, stack, rank)
    matrix = w.reshape(*w.shape[:stack], math.prod(size) * channels, outputs)
    lead = np.broadcast_shapes(x.shape[:stack], w.shape[:stack])
    out = empty((*lead, images.shape[stack], *inner, outputs), x.dtype)
    if not stack and multiplied_straight(images, matrix, _points(out), size, windows, along, False):
        return out.reshape(*x.shape[: -rank - 1], *inner, outputs)
    every, each = (slice(None),) * stack, math.prod(x.shape[:stack]) * matrix.shape[-2]
    for block in blocks(images.shape[stack], images.shape[stack + 1 : -1], size, windows, along, each):
        some, target = images[(*every, block.images, block.reads)], out[(*every, block.images, block.windows)]
        points = target if stack else target.reshape(math.prod(target.shape[:-1]), outputs)
        arguments = (some, matrix, points, size, windows, block.along, False)
        if not stack and (multiplied_straight(*arguments) or multiplied_laid_out(*arguments)):
            continue
        rows = windows_as_rows(some, size, windows, block.along)
        if stack:
            target[...] = np.matmul(rows, matrix).reshape(target.shape)
        else:
            product(rows, matrix, points)
        # the next ones are laid out where these were, in memory that the cache holds
        del rows
    return out.reshape(*lead, *x.shape[stack : -rank - 1], *inner, outputs)


@_in_single
@_by_few_threads
def conv_data_kernel(sizes: Any, w: Any, ct: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """Its transpose in the data."""
    rank = len(windows.strides)
    wanted, size = as_dims(sizes), w.shape[stack:-2]
    if (groups := _groups(wanted, w.shape)) > 1:
        each = np.array([*wanted[:-1], w.shape[-2]])
        pairs = zip(np.split(w, groups, -1), np.split(ct, groups, -1), strict=True)
        return np.concatenate([conv_data_kernel(each, a, b, windows=windows, stack=stack) for a, b in pairs], -1)
    batch, space, channels = ct.shape[stack : -rank - 1], wanted[-rank - 1 : -1], wanted[-1]
    _check_ranks((*batch, *wanted) if stack else wanted, w.shape, 0, rank)
    along = spans(f"conv{rank}d", space, size, windows)
    _check_result(ct, along, w.shape[-1])
    _check_batch(batch, wanted[: -rank - 1])
    turned = turned_windows(windows, size, along, channels, w.shape[-1])
    if turned is not None:
        reverse = (slice(None),) * stack + (slice(None, None, -1),) * rank
        return conv_kernel(ct, w[reverse].swapaxes(-1, -2), windows=turned, stack=stack)
    images, inner = _images(ct, stack, rank), tuple([s.number for s in along])
    lead = np.broadcast_shapes(ct.shape[:stack], w.shape[:stack])
    out = empty((*lead, images.shape[stack], *space, channels), ct.dtype)
    every = (slice(None),) * stack
    for part in parts(images.shape[stack], math.prod(lead + inner + size) * channels):
        some = images[(*every, part)]
        count = some.shape[stack]
        points = some.reshape(*ct.shape[:stack], count * math.prod(inner), w.shape[-1])
        if is_pointwise(size, windows, along):
            target = np.matmul(points, w.reshape(*w.shape[:stack], channels, w.shape[-1]).swapaxes(-1, -2))
            out[(*every, part)] = target.reshape(*lead, count, *space, channels)
        else:
            _overlay(points, w, out[(*every, part)], stack, windows, along)
    return out.reshape(*lead, *batch, *space, channels)


def _overlay(points: Any, w: Any, target: Any, stack: int, windows: Windows, along: Sequence[Span]) -> None:
    """Put products of points and filters, added up where the taps lie, into images.

    Points are the rows of a matrix. Of many channels a point's taps are the rows of the product, so that channels lie
    beside each other; of few channels its columns, so that points do.
    """
    rank, lead = len(along), np.broadcast_shapes(points.shape[:-2], w.shape[:stack])
    *size, channels, outputs = w.shape[stack:]
    count, space = target.shape[-rank - 2], target.shape[-rank - 1 : -1]
    inner, many = tuple([s.number for s in along]), channels >= MANY_CHANNELS
    matrix = w.reshape(*w.shape[:stack], math.prod(size) * channels, outputs)
    a, b = (points, matrix.swapaxes(-1, -2)) if many else (matrix, points.swapaxes(-1, -2))
    products = np.matmul(a, b, out=empty((*lead, a.shape[-2], b.shape[-1]), points.dtype))
    images, each = (count, channels) if many else (channels * count, 1)
    if not stack and takes_c(products, rank):
        sums = target if many else empty((images, *space, each), products.dtype)
        in_c.overlay(products, sums, geometry(images, space, each, size, windows, along), many)
    else:
        padded_sums = blank((*lead, images), space, each, along, products.dtype)
        every_tap = (math.prod(size),)
        order = (images, *inner, *every_tap) if many else (*every_tap, images, *inner)
        by_tap = products.reshape(*lead, *order, each)
        by_tap = np.moveaxis(by_tap, -2 if many else len(lead), 0)
        for share, key in zip(by_tap, taps(size, windows, along), strict=True):
            padded_sums[key] += compact(share) if many and each < LINE else share
        sums = core(padded_sums, space, along)
    if sums is not target:
        target[...] = sums if many else np.moveaxis(sums.reshape(*lead, channels, count, *space), len(lead), -1)


def turned_windows(
    windows: Windows, size: Sequence[int], along: Sequence[Span], channels: int, outputs: int
) -> Windows | None:
    """The windows of the convolution with mirrored filters that is the transpose in the data, if it is quicker.

    It is one for steps of one. It lays windows of outputs side by side, which must be fewer than the products that it
    saves; or multiplies them where they lie.
    """
    most = channels * (_MORE_OUTPUTS if multiplies_in_place() and channels >= _FULL else 1)
    if max(windows.strides) > 1 or not all(s.number for s in along) or is_pointwise(size, windows, along):
        return None
    reach = [(taps - 1) * dilation for taps, dilation in zip(size, windows.dilations, strict=True)]
    padding = tuple([(r - s.before, r - s.behind) for r, s in zip(reach, along, strict=True)])
    return windows._replace(padding=padding) if min(map(min, padding)) >= 0 and outputs <= most else None


def _check_batch(batch: Sequence[int], wanted: Sequence[int]) -> None:
    """Raise unless the batch is as large as the wanted shape says (as far as both go: batching adds dimensions)."""
    both = min(len(batch), len(wanted))
    if tuple(batch[len(batch) - both :]) != tuple(wanted[len(wanted) - both :]):
        raise ValueError(f"the batch has the dimensions {tuple(batch)}, but {tuple(wanted)} are wanted")


@_in_single
@_by_few_threads
def conv_filters_kernel(x: Any, sizes: Any, ct: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """Its transpose in the filters."""
    rank = len(windows.strides)
    wanted = as_dims(sizes)[-rank - 2 :]
    if (groups := _groups(x.shape, wanted)) > 1:
        each = np.array([*wanted[:-1], wanted[-1] // groups])
        pairs = zip(np.split(x, groups, -1), np.split(ct, groups, -1), strict=True)
        return np.concatenate([conv_filters_kernel(a, each, b, windows=windows, stack=stack) for a, b in pairs], -1)
    _check_ranks(x.shape, wanted, stack, rank)
    *size, channels, outputs = wanted
    along = spans(f"conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    _check_result(ct, along, outputs)
    images, results = _images(x, stack, rank), _images(ct, stack, rank)
    if images.shape[stack] != results.shape[stack]:
        raise ValueError("data and result differ in their batch dimensions")
    width = math.prod(size) * channels
    lead = np.broadcast_shapes(x.shape[:stack], ct.shape[:stack])
    out = np.zeros((*lead, width, outputs), x.dtype)
    if not stack and multiplied_straight(images, out, _points(results), size, windows, along, True):
        return out.reshape(*size, channels, outputs)
    every, each = (slice(None),) * stack, math.prod(x.shape[:stack]) * width
    for block in blocks(images.shape[stack], images.shape[stack + 1 : -1], size, windows, along, each):
        some, points = images[(*every, block.images, block.reads)], results[(*every, block.images, block.windows)]
        points = points.reshape(*ct.shape[:stack], math.prod(points.shape[stack:-1]), outputs)
        arguments = (some, out, points, size, windows, block.along, True)
        if not stack and (multiplied_straight(*arguments) or multiplied_laid_out(*arguments)):
            continue
        rows = windows_as_rows(some, size, windows, block.along)
        out += np.matmul(rows.swapaxes(-1, -2), points) if stack else product_of_columns(rows, points)
        del rows
    return out.reshape(*lead, *size, channels, outputs)


# ---- kernels: each channel on its own --------------------------------------------------------------------------------


_FORWARD, _TO_DATA, _TO_FILTERS = range(3)
"""The results that `in_c.depthwise` may add products up to."""


def _tap_weights(w: Any, stack: int, width: int) -> np.ndarray:
    """For each tap, its weights for a line of `width` pixels, to go with data of one batch dimension.

    They have the shape (taps, *stack, 1, ..., 1, width, channels * multiplier).
    """
    rank = w.ndim - stack - 2
    count = math.prod(w.shape[stack:-2])
    flat = w.reshape(*w.shape[:stack], count, *(1,) * (rank + 1), w.shape[-2] * w.shape[-1])
    lines = np.broadcast_to(flat, (*flat.shape[:-2], width, flat.shape[-1]))
    return np.ascontiguousarray(np.moveaxis(lines, stack, 0))


def _repeated(x: Any, times: int) -> np.ndarray:
    return x if times == 1 else np.repeat(x, times, axis=-1)


def _added_in_order(x: Any, axis: int) -> np.ndarray:
    """Sums along an axis, of one entry after the other: of single numbers NumPy would add up pairs."""
    if x.shape[axis] and math.prod(x.shape[axis + 1 :]) == 1:
        return np.take(np.add.accumulate(x, axis), -1, axis)
    return np.add.reduce(x, axis)


def _add_shares(x: Any, out: Any) -> None:
    """Add up what each channel gets from its filters."""
    if x is not out:
        shares = np.moveaxis(x.reshape(*out.shape, x.shape[-1] // max(1, out.shape[-1])), -1, 0)
        out[...] = shares[0] if len(shares) else 0
        for share in shares[1:]:
            out += share


@_in_single
def depthwise_kernel(x: Any, w: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """A depthwise convolution."""
    rank = len(windows.strides)
    _check_ranks(x.shape, w.shape, stack, rank)
    *size, channels, multiplier = w.shape[stack:]
    along = spans(f"depthwise_conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    inner = tuple([s.number for s in along])
    images, weights = _images(x, stack, rank), _tap_weights(w, stack, inner[-1])
    lead = np.broadcast_shapes(x.shape[:stack], w.shape[:stack])
    out = empty((*lead, images.shape[stack], *inner, channels * multiplier), x.dtype)
    if not stack and takes_c(images, rank) and w.dtype == x.dtype:
        lies = geometry(len(images), images.shape[1:-1], channels * multiplier, size, windows, along)
        data = np.ascontiguousarray(_repeated(images, multiplier))
        in_c.depthwise(data, out, weights, lies, _FORWARD, 1)
        return out.reshape(*x.shape[: -rank - 1], *inner, channels * multiplier)
    out[...] = 0
    every = (slice(None),) * stack
    for part in parts(images.shape[stack], math.prod(lead + inner) * channels * multiplier * PASSES):
        some = padded(_repeated(images[(*every, part)], multiplier), along)
        target = out[(*every, part)]
        with without_buffers():
            for weight, key in zip(weights, taps(size, windows, along), strict=True):
                target += in_lines(some[key], windows.strides[-1]) * weight
    return out.reshape(*lead, *x.shape[stack : -rank - 1], *inner, channels * multiplier)


@_in_single
def depthwise_data_kernel(sizes: Any, w: Any, ct: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """Its transpose in the data."""
    rank = len(windows.strides)
    wanted, size, multiplier = as_dims(sizes), w.shape[stack:-2], w.shape[-1]
    batch, space, channels = ct.shape[stack : -rank - 1], wanted[-rank - 1 : -1], wanted[-1]
    _check_ranks((*batch, *wanted) if stack else wanted, w.shape, 0, rank)
    along = spans(f"depthwise_conv{rank}d", space, size, windows)
    _check_result(ct, along, channels * multiplier)
    _check_batch(batch, wanted[: -rank - 1])
    images, weights = _images(ct, stack, rank), _tap_weights(w, stack, along[-1].number)
    lead = np.broadcast_shapes(ct.shape[:stack], w.shape[:stack])
    out = empty((*lead, images.shape[stack], *space, channels), ct.dtype)
    if not stack and takes_c(images, rank) and w.dtype == ct.dtype:
        sums = out if multiplier == 1 else empty((*out.shape[:-1], channels * multiplier), ct.dtype)
        lies = geometry(len(images), space, channels * multiplier, size, windows, along)
        in_c.depthwise(sums, np.ascontiguousarray(images), weights, lies, _TO_DATA, 1)
        _add_shares(sums, out)
        return out.reshape(*batch, *space, channels)
    every = (slice(None),) * stack
    short = windows.strides[-1] > 1 and channels * multiplier < LINE
    for part in parts(images.shape[stack], math.prod(lead + space) * channels * multiplier * PASSES):
        some, target = images[(*every, part)], out[(*every, part)]
        sums = blank(target.shape[: stack + 1], space, channels * multiplier, along, ct.dtype)
        with contextlib.nullcontext() if short else without_buffers():
            for weight, key in zip(weights, taps(size, windows, along), strict=True):
                sums[key] += some * weight
        _add_shares(core(sums, space, along), target)
    return out.reshape(*lead, *batch, *space, channels)


@_in_single
def depthwise_filters_kernel(x: Any, sizes: Any, ct: Any, *, windows: Windows, stack: int) -> np.ndarray:
    """Its transpose in the filters."""
    rank = len(windows.strides)
    wanted = as_dims(sizes)[-rank - 2 :]
    _check_ranks(x.shape, wanted, stack, rank)
    *size, channels, multiplier = wanted
    along = spans(f"depthwise_conv{rank}d", x.shape[-rank - 1 : -1], size, windows)
    _check_result(ct, along, channels * multiplier)
    images, results = _images(x, stack, rank), _images(ct, stack, rank)
    if images.shape[stack] != results.shape[stack]:
        raise ValueError("data and result differ in their batch dimensions")
    lead = np.broadcast_shapes(x.shape[:stack], ct.shape[:stack])
    out = np.zeros((math.prod(size), *lead, channels * multiplier), x.dtype)
    every, each = (slice(None),) * stack, math.prod((*lead, *ct.shape[-rank - 1 :])) * PASSES
    if not stack and takes_c(images, rank) and ct.dtype == x.dtype:
        lies = geometry(len(images), images.shape[1:-1], channels * multiplier, size, windows, along)
        data = np.ascontiguousarray(_repeated(images, multiplier))
        in_c.depthwise(data, np.ascontiguousarray(results), out, lies, _TO_FILTERS, images_at_once(each))
        return out.reshape(wanted)
    for part in parts(images.shape[stack], each):
        some, points = padded(_repeated(images[(*every, part)], multiplier), along), results[(*every, part)]
        with without_buffers():
            for i, key in enumerate(taps(size, windows, along)):
                products = in_lines(some[key], windows.strides[-1]) * points
                lines = products.reshape(*lead, math.prod(products.shape[stack:-2]), *products.shape[-2:])
                out[i] += _added_in_order(_added_in_order(lines, stack), stack)
    return np.moveaxis(out, 0, stack).reshape(*lead, *wanted)
