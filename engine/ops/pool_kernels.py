"""The kernels of pooling (`engine.ops.pool` says what the operands are).

The largest entries and the sums are found along one dimension after the other, in blocks that stay in the processor's
cache, so that the data are read once and the results written once. `_Reads` says what a result needs along a
dimension; the transpose of a sum is a sum too, with other reads.

Where the lines of an operand are short, as with few channels and steps of two, its pixels are moved together first (see
`engine.ops.windows`).
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.dtypes import DType, int32, uint8
from engine.ops.shape import as_dims
from engine.ops.windows import (
    LINE,
    PASSES,
    Span,
    Windows,
    blank,
    check_rank,
    compact,
    core,
    geometry,
    in_c,
    in_lines,
    move,
    padded,
    parts,
    spans,
    takes_c,
    taps,
    without_buffers,
)
from engine.runtime.buffer_pool import empty
from engine.runtime.cache import cached
from engine.runtime.tuning import TUNING

_BLOCK = TUNING.pool_numbers

_FEW = 1 << 14
"""Up to so many numbers, what follows from the shapes of data is kept."""

# ---- sums and extrema ------------------------------------------------------------------------------------------------


class _Reads(NamedTuple):
    """Of the results ``begin, begin + every, ...`` along a dimension, the i-th reads ``offset + i * stride``."""

    begin: int
    every: int
    offsets: tuple[int, ...]
    stride: int


def _of_windows(i: int, size: Sequence[int], windows: Windows, span: Span) -> list[_Reads]:
    """The data that windows read along dimension i."""
    stride, dilation = windows.strides[i], windows.dilations[i]
    return [_Reads(0, 1, tuple([tap * dilation - span.before for tap in range(size[i])]), stride)]


def _of_data(i: int, size: Sequence[int], windows: Windows, span: Span) -> list[_Reads]:
    """The transpose: the windows that have a place of the data, which differ by the place's remainder."""
    stride, dilation = windows.strides[i], windows.dilations[i]
    reads = []
    for begin in range(stride):
        steps = [divmod(begin + span.before - tap * dilation, stride) for tap in reversed(range(size[i]))]
        reads.append(_Reads(begin, stride, tuple([offset for offset, rest in steps if rest == 0]), 1))
    return reads


def _reduced(
    x: Any, reads: Sequence[list[_Reads]], numbers: Sequence[int], ufunc: Any, fill: Any, before: Any, behind: Any
) -> np.ndarray:
    """The results of a ufunc for the entries that each of them reads; `fill` if there are none.

    Data have the shape ``(*batch, *space, channels)``; `reads` are for each spatial dimension, `numbers` are those of
    the result. The data are divided by `before`, and the result by `behind`.
    """
    rank = len(numbers)
    lead, space, channels = x.shape[: -1 - rank], x.shape[-1 - rank : -1], x.shape[-1]
    images = _images(x, rank)
    out = empty((len(images), *numbers, channels), x.dtype)
    each = channels * max(math.prod(space), math.prod(numbers))
    some, rows = max(1, _BLOCK // max(1, each)), max(1, min(numbers[0], numbers[0] * _BLOCK // max(1, each)))
    if out.size and takes_c(images) and ufunc in (np.maximum, np.add):
        data = images if before is None else images / before
        tables = tuple([_read_table(*each) for each in zip(map(tuple, reads), space, numbers, strict=True)])
        in_c.reduce(data, out, len(images), channels, tables, ufunc is np.maximum, fill)
        if behind is not None:
            np.divide(out, behind, out=out)
        return out.reshape(*lead, *numbers, channels)
    with without_buffers():
        for i in range(0, len(images) if out.size else 0, some):
            data = images[i : i + some] if before is None else images[i : i + some] / before
            for j in range(0, numbers[0], rows):
                result = out[i : i + some, j : j + rows]
                _reduce_block(data, result, j, reads, ufunc, fill)
                if behind is not None:
                    np.divide(result, behind[j : j + rows], out=result)
    return out.reshape(*lead, *numbers, channels)


@cached(1 << 8)
def _read_table(kinds: tuple[Any, ...], dim: int, number: int) -> tuple[int, np.ndarray, np.ndarray]:
    entries: list[list[int]] = [[] for _ in range(number)]
    for begin, every, offsets, stride in kinds:
        for i, result in enumerate(range(begin, number, every)):
            entries[result] = [at for at in [offset + i * stride for offset in offsets] if 0 <= at < dim]
    starts = np.cumsum([0, *map(len, entries)], dtype=np.intp)
    return dim, starts, np.array([at for each in entries for at in each], np.intp)


def _reduce_block(x: Any, out: Any, first: int, reads: Sequence[list[_Reads]], ufunc: Any, fill: Any) -> None:
    """Along one dimension after the other; `out` begins with result `first` along the first one."""
    rank = len(reads)
    for i in range(rank):
        last = i == rank - 1
        made = out if last else np.empty((*out.shape[: 2 + i], *x.shape[2 + i :]), x.dtype)
        for kind in reads[i]:
            _reduce_along(x, made, 0 if i else first, rank - i, kind, ufunc, fill)
        x = made


def _reduce_along(x: Any, out: Any, first: int, behind: int, reads: _Reads, ufunc: Any, fill: Any) -> None:
    """Along the dimension with `behind` ones behind it."""
    rest = (slice(None),) * behind
    skipped = max(0, -((reads.begin - first) // reads.every))
    out = out[(..., slice(reads.begin + skipped * reads.every - first, None, reads.every), *rest)]
    offsets = [offset + skipped * reads.stride for offset in reads.offsets]
    pixels = math.prod(x.shape[-behind:])
    for begin, end, inside in _runs(offsets, reads.stride, x.shape[-1 - behind], out.shape[-1 - behind]):
        width = (end - begin - 1) * reads.stride + 1
        entries = [x[(..., slice(offset, offset + width, reads.stride), *rest)] for offset in inside]
        read = pixels * (end - begin) if reads.stride == 1 else pixels
        written = pixels * (end - begin) if reads.every == 1 else pixels
        _combine(entries, out[(..., slice(begin, end), *rest)], ufunc, fill, read >= LINE, written >= LINE)


def _runs(offsets: Sequence[int], stride: int, dim: int, number: int) -> Iterator[tuple[int, int, list[int]]]:
    """Neighboring results that read the same offsets, and these, from the first of the results on.

    They are all of them in the middle, and fewer near the ends, where an offset points into the padding.
    """
    reach = [(-(offset // stride), (dim - 1 - offset) // stride + 1) for offset in offsets]
    ends = {0, number} | {min(max(end, 0), number) for pair in reach for end in pair}
    for begin, end in itertools.pairwise(sorted(ends)):
        inside = [o + begin * stride for o, (a, b) in zip(offsets, reach, strict=True) if a <= begin and end <= b]
        yield begin, end, inside


def _combine(entries: list[Any], out: Any, ufunc: Any, fill: Any, long_reads: bool, long_writes: bool) -> None:
    """Put what a ufunc makes of several arrays into `out`; the flags tell where the lines of memory are long."""
    if not entries:
        out[...] = fill
    elif len(entries) == 1:
        move(entries[0], out)
    else:
        total = out if long_writes or out.flags.c_contiguous else np.empty(out.shape, out.dtype)
        lines = entries if long_reads else map(compact, entries)
        following = iter(lines)
        ufunc(next(following), next(following), out=total)
        for other in following:
            ufunc(total, other, out=total)
        if total is not out:
            move(total, out)


# ---- max -------------------------------------------------------------------------------------------------------------


def along(name: str, x: Any, size: tuple[int, ...], windows: Windows) -> list[Span]:
    """The windows over each spatial dimension of data."""
    check_rank(x, len(size))
    return spans(name, x.shape[-1 - len(size) : -1], size, windows)


def _lowest(dtype: Any) -> float | int:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def largest(x: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """The largest entry of each window."""
    places = along("max_pool", x, size, windows)
    reads = [_of_windows(i, size, windows, span) for i, span in enumerate(places)]
    out = _reduced(x, reads, [s.number for s in places], np.maximum, _lowest(x.dtype), None, None)
    if x.dtype.kind == "f":
        # of a zero and a negative one NumPy takes either
        out += x.dtype.type(0)
    return out


def tap_dtype(size: tuple[int, ...]) -> DType:
    """The dtype of numbers of taps: small ones are compared faster."""
    return uint8 if math.prod(size) < 256 else int32


def largest_tap(x: Any, maximum: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """Which tap of each window has the largest entry."""
    places, lowest = along("max_pool", x, size, windows), _lowest(x.dtype)
    images, largest_ones = _images(x, len(size)), _images(maximum, len(size))
    which = empty(largest_ones.shape, tap_dtype(size).numpy)
    if which.size and which.dtype == np.uint8 and takes_c(images, len(size)) and x.dtype == maximum.dtype:
        lies = geometry(len(images), images.shape[1:-1], images.shape[-1], size, windows, places)
        in_c.largest_tap(images, largest_ones, which, lies)
        return which.reshape(maximum.shape)
    which[...] = 0
    # a tap of the padding must not win, not even where all entries are -inf
    inside = np.zeros((1, *x.shape[-1 - len(size) : -1], 1), bool)
    with without_buffers():
        for part in parts(len(images) if which.size else 0, math.prod(images.shape[1:]) * PASSES):
            wanted = largest_ones[part]
            outside = None if (wanted > lowest).all() else padded(inside, places, True)
            _count_less(padded(images[part], places, lowest), outside, wanted, which[part], size, windows, places)
    return which.reshape(maximum.shape)


def _count_less(
    data: Any, outside: Any, maximum: Any, which: Any, size: tuple[int, ...], windows: Windows, along: Sequence[Span]
) -> None:
    """Add the number of the first tap that is not less than the largest entry: how many are, one after the other."""
    still = np.ones(maximum.shape, bool)
    # if all the others are less, it is the last one
    for key in itertools.islice(taps(size, windows, along), math.prod(size) - 1):
        less = np.less(in_lines(data[key], windows.strides[-1]), maximum)
        if outside is not None:
            less |= outside[key]
        still &= less
        which += still.view(np.uint8)


def gather_taps(x: Any, which: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """The entry at the given tap of each window."""
    places = along("max_pool", x, size, windows)
    data, out = padded(x, places), np.zeros(which.shape, x.dtype)
    for i, key in enumerate(taps(size, windows, places)):
        out += _only(which == i, np.ascontiguousarray(data[key]))
    return out


def _only(wanted: Any, x: Any) -> np.ndarray:
    """`x` where it is wanted, else 0: by its bits, as `np.where` branches, and what is wanted is hard to guess."""
    if x.dtype.kind == "c":
        return np.where(wanted, x, x.dtype.type(0))
    bits = np.dtype(f"i{x.itemsize}")
    mask = np.negative(wanted.view(np.int8)).astype(bits)
    mask &= x.view(bits)
    return mask.view(x.dtype)


def scatter_taps(ct: Any, which: Any, sizes: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """`ct` added up at the given tap of each window, in data of the shape `sizes`."""
    *space, channels = as_dims(sizes)[-1 - len(size) :]
    places = spans("max_pool", space, size, windows)
    points, numbers = _images(ct, len(size)), _images(which, len(size))
    if which.dtype == np.uint8 and takes_c(points, len(size)):
        placed = empty((*ct.shape[: -1 - len(size)], *space, channels), ct.dtype)
        in_c.place(points, numbers, placed, geometry(len(points), space, channels, size, windows, places))
        return placed
    out = blank(points.shape[:1], space, channels, places, ct.dtype)
    long = windows.strides[-1] == 1 or channels >= LINE
    with without_buffers() if long else contextlib.nullcontext():
        for part in parts(len(points) if out.size else 0, math.prod(out.shape[1:]) * PASSES):
            _add_at_taps(points[part], numbers[part], out[part], size, windows, places)
    return core(out, space, places).reshape(*ct.shape[: -1 - len(size)], *space, channels)


def _add_at_taps(
    ct: Any, which: Any, sums: Any, size: tuple[int, ...], windows: Windows, along: Sequence[Span]
) -> None:
    """Add `ct` to zeros, tap by tap, or just put it there where windows do not overlap."""
    apart = all((t - 1) * d < s for t, d, s in zip(size, windows.dilations, windows.strides, strict=True))
    for i, key in enumerate(taps(size, windows, along)):
        share = _only(which == i, ct)
        if apart:
            move(share, sums[key])
        else:
            sums[key] += share


def _images(x: Any, rank: int) -> np.ndarray:
    """Data with one batch dimension, in the usual order in memory."""
    return np.ascontiguousarray(x).reshape(math.prod(x.shape[: -1 - rank]), *x.shape[-1 - rank :])


# ---- average ---------------------------------------------------------------------------------------------------------


def _per_window(
    dims: Sequence[int], size: Sequence[int], windows: Windows, along: Sequence[Span], dtype: Any
) -> np.ndarray:
    """How many entries each window has in data of shape ``(*space, channels)``: those of the padding do not count."""
    count = _kept_counts if math.prod(dims) <= _FEW else _counted
    return count(tuple(dims), tuple(size), windows, tuple(along), dtype)


def _counted(
    dims: Sequence[int], size: Sequence[int], windows: Windows, along: Sequence[Span], dtype: Any
) -> np.ndarray:
    rank = len(size)
    total: Any = np.ones((*[s.number for s in along], dims[-1]), dtype)
    for i, (dim, taps_, s) in enumerate(zip(dims[:-1], size, along, strict=True)):
        at = np.arange(s.number)[:, None] * windows.strides[i] + np.arange(taps_) * windows.dilations[i] - s.before
        inside = np.count_nonzero((at >= 0) & (at < dim), axis=1).astype(dtype)
        total *= np.maximum(inside, 1).reshape((-1,) + (1,) * (rank - i))
    total.flags.writeable = False
    return total


_kept_counts = cached(1 << 6)(_counted)


def _wide(x: Any) -> np.ndarray:
    """Half precision is summed in single precision."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def average(x: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """The mean of each window."""
    places, data = along("avg_pool", x, size, windows), _wide(x)
    reads = [_of_windows(i, size, windows, span) for i, span in enumerate(places)]
    count = _per_window(x.shape[-1 - len(size) :], size, windows, places, data.dtype)
    return _reduced(data, reads, [s.number for s in places], np.add, 0, None, count).astype(x.dtype, copy=False)


def average_back(ct: Any, sizes: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """A share of `ct` for every entry of a window, added up in data of the shape `sizes`."""
    dims, wide = as_dims(sizes)[-1 - len(size) :], _wide(ct)
    places = spans("avg_pool", dims[:-1], size, windows)
    reads = [_of_data(i, size, windows, span) for i, span in enumerate(places)]
    count = _per_window(dims, size, windows, places, wide.dtype)
    return _reduced(wide, reads, dims[:-1], np.add, 0, count, None).astype(ct.dtype, copy=False)
