"""Windows that slide over the spatial dimensions of a value: what convolutions and pools have in common.

Data are laid out as ``(*batch, *space, channels)`` with any number of spatial dimensions. A window has a size per
spatial dimension; `Windows` says how it moves. Its entries are called *taps*. There are two ways to visit all windows:
`patches` lays them side by side, `taps` visits one tap of all windows at a time.

`extract_patches_op` and its transpose make the windows a value of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.core.arguments import as_ints
from engine.core.aval import Aval
from engine.core.batching import aligned
from engine.core.dtypes import INTEGER
from engine.core.kinds import check_dtype, linear
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import MOVES, collected
from engine.ops.axis_args import static_axis
from engine.ops.shape import as_dims, known_dims, shape
from engine.runtime.cache import cached
from engine.runtime.errors import InvalidArgumentError, ShapeError
from engine.runtime.extension import extension
from engine.runtime.tuning import TUNING

Dims = tuple[int | None, ...]

CACHE = TUNING.window_numbers
"""How many numbers a kernel lays side by side at a time, so that they stay in the processor's cache."""
_MOST_TAPS = 1 << 20
"""Entries of a window that is larger than the data by more than padding makes sense of."""
PASSES = TUNING.window_passes
"""Work that goes over each number several times is done on parts so many times smaller."""

in_c: Any = extension("engine.ops._windows")[0]
"""The extension that moves windows in C, with the same bits as NumPy; None where it is not there."""
_RANK = 3
"""The spatial dimensions that it knows."""

# ---- where windows lie -----------------------------------------------------------------------------------------------


class Windows(NamedTuple):
    """How windows move over the spatial dimensions."""

    strides: tuple[int, ...]
    padding: str | tuple[tuple[int, int], ...]
    """``"SAME"`` (as many windows as steps), ``"VALID"`` (those that fit), or how many entries to add at the ends."""
    dilations: tuple[int, ...]
    """The distance between neighboring taps."""

    @property
    def meet_data(self) -> bool:
        """Whether none of them lies in the padding alone, whatever the data's size."""
        return isinstance(self.padding, str) and max(self.dilations, default=1) == 1


class Span(NamedTuple):
    """Windows along one dimension."""

    before: int
    behind: int
    number: int


def spans(name: str, dims: Sequence[int], size: Sequence[int], windows: Windows) -> list[Span]:
    """How many entries to add at both ends of each spatial dimension, and how many windows there are then.

    A window that is larger than a padded dimension is refused.
    """
    return list(_spans(name, tuple(dims), tuple(size), windows))


@cached(1 << 10)
def _spans(name: str, dims: Sequence[int], size: Sequence[int], windows: Windows) -> tuple[Span, ...]:
    most = max(_MOST_TAPS, 4 * math.prod(dims))
    if math.prod(size) > most:
        raise InvalidArgumentError(
            f"{name}: a window of {' x '.join(map(str, size))} entries is larger than what {most} entries cover, for "
            f"data of {' x '.join(map(str, dims))}; a window no larger than twice the data finds the same"
        )
    pairs = enumerate(zip(dims, size, strict=True))
    return tuple([_span(name, i, dim, taps, windows) for i, (dim, taps) in pairs])


def _span(name: str, i: int, dim: int, taps: int, windows: Windows) -> Span:
    stride, extent = windows.strides[i], (taps - 1) * windows.dilations[i] + 1
    if taps < 1:
        raise ShapeError(f"{name}: a window must cover one entry at least; along spatial dimension {i} it covers none")
    if windows.padding == "SAME":
        count = -(-dim // stride)
        added = max((count - 1) * stride + extent - dim, 0)
        return Span(added // 2, added - added // 2, count)
    before, behind = (0, 0) if isinstance(windows.padding, str) else windows.padding[i]
    count = (dim + before + behind - extent) // stride + 1
    if count < 1:
        raise ShapeError(
            f"{name}: spatial dimension {i} has {dim + before + behind} entries (padding included), "
            f"a window covers {extent}: none fits"
        )
    return Span(int(before), int(behind), count)


def counts(name: str, dims: Dims, size: Dims, windows: Windows) -> Dims:
    """How many windows there are along each spatial dimension, as far as is known."""
    return tuple([
        None if None in (dim, taps) else _span(name, i, dim, taps, windows).number  # type: ignore[arg-type]
        for i, (dim, taps) in enumerate(zip(dims, size, strict=True))
    ])  # fmt: skip


def takes_c(x: np.ndarray, rank: int = 1) -> bool:
    """Whether what is done with data of this dtype and rank can be done in C."""
    return in_c is not None and rank <= _RANK and x.dtype.char in "fd"


def geometry(
    images: int, space: Sequence[int], channels: int, size: Sequence[int], windows: Windows, along: Sequence[Span]
) -> tuple[int, ...]:
    """How windows lie, as `in_c` wants to know it."""
    return _geometry(images, tuple(space), channels, tuple(size), windows, tuple(along))


@cached(1 << 10)
def _geometry(
    images: int, space: Sequence[int], channels: int, size: Sequence[int], windows: Windows, along: Sequence[Span]
) -> tuple[int, ...]:
    numbers = [images, *(1, 1, 1, 1, 0, 1) * (_RANK - len(space))]
    for each in zip(space, size, windows.strides, windows.dilations, along, strict=True):
        dim, taps_, stride, dilation, span = each
        numbers += (dim, taps_, stride, dilation, span.before, span.number)
    return *numbers, channels


def padded(x: Any, along: Sequence[Span], value: Any = 0) -> np.ndarray:
    """`x` with the entries that the spans ask for added around its spatial dimensions."""
    if not any(s.before or s.behind for s in along):
        return x
    space = x.shape[-1 - len(along) : -1]
    dims = [d + s.before + s.behind for d, s in zip(space, along, strict=True)]
    out = np.full((*x.shape[: -1 - len(along)], *dims, x.shape[-1]), value, x.dtype)
    core(out, space, along)[...] = x
    return out


def core(x: Any, space: Sequence[int], along: Sequence[Span]) -> np.ndarray:
    """The part of a padded array that was there before."""
    return x[(..., *[slice(s.before, s.before + d) for d, s in zip(space, along, strict=True)], slice(None))]


def blank(lead: Sequence[int], space: Sequence[int], channels: int, along: Sequence[Span], dtype: Any) -> np.ndarray:
    """Zeros for data of these dimensions and their padding."""
    dims = [d + s.before + s.behind for d, s in zip(space, along, strict=True)]
    return np.zeros((*lead, *dims, channels), dtype)


def taps(size: Sequence[int], windows: Windows, along: Sequence[Span]) -> Iterator[tuple[Any, ...]]:
    """For each tap in row-major order, the key of its entries, one per window, in padded data."""
    for at in np.ndindex(*size):
        parts = [
            slice(tap * dilation, tap * dilation + s.number * stride, stride)
            for tap, dilation, stride, s in zip(at, windows.dilations, windows.strides, along, strict=True)
        ]
        yield (..., *parts, slice(None))


def patches(x: Any, size: Sequence[int], windows: Windows, along: Sequence[Span]) -> np.ndarray:
    """A view of the windows of padded data: of ``(n, *space, channels)`` one of ``(n, *counts, *size, channels)``."""
    moves = [step * stride for step, stride in zip(x.strides[1:-1], windows.strides, strict=True)]
    steps = [step * dilation for step, dilation in zip(x.strides[1:-1], windows.dilations, strict=True)]
    dims = (len(x), *[s.number for s in along], *size, x.shape[-1])
    return as_strided(x, dims, (x.strides[0], *moves, *steps, x.strides[-1]), writeable=False)


def images_at_once(each: int) -> int:
    """How many images to deal with at a time, if each needs so many numbers."""
    return max(1, CACHE // max(1, each))


def parts(images: int, each: int) -> Iterator[slice]:
    """Images to deal with at a time, if each needs so many numbers."""
    step = images_at_once(each)
    return (slice(begin, min(begin + step, images)) for begin in range(0, images, step))


class Block(NamedTuple):
    """Windows to deal with at a time: of some images, or some along the first spatial dimension of one image."""

    images: slice
    windows: slice
    reads: slice
    """The entries along that dimension that they read."""
    along: Sequence[Span]


def blocks(
    images: int, space: Sequence[int], size: Sequence[int], windows: Windows, along: Sequence[Span], each: int
) -> Iterator[Block]:
    """All windows of some images, if each window needs so many numbers."""
    (first, *rest), stride = along, windows.strides[0]
    line, extent = each * math.prod([s.number for s in rest]), (size[0] - 1) * windows.dilations[0] + 1
    if line * first.number <= CACHE or max(first.before, first.behind) >= extent:
        for part in parts(images, line * first.number):
            yield Block(part, slice(0, first.number), slice(0, space[0]), along)
        return
    count = -(-first.number // max(1, CACHE // line))
    ends = [first.number * i // count for i in range(count + 1)]
    for image in range(images):
        for begin, end in itertools.pairwise(ends):
            start, stop = begin * stride - first.before, (end - 1) * stride + extent - first.before
            span = Span(max(-start, 0), max(stop - space[0], 0), end - begin)
            reads = slice(max(start, 0), min(stop, space[0]))
            yield Block(slice(image, image + 1), slice(begin, end), reads, [span, *rest])


# ---- lines of memory -------------------------------------------------------------------------------------------------
#
# NumPy's elementwise functions are fast along lines of numbers that lie beside each other in memory. In a view of
# neighboring pixels such a line goes over the pixels; if some are left out, each pixel is a line of its own.

LINE = TUNING.window_line
"""So many numbers beside each other make a line that is worth a loop of its own."""


@contextlib.contextmanager
def without_buffers() -> Iterator[None]:
    """Have NumPy compute where the operands are, for operands of the same dtype.

    It copies operands into buffers otherwise, unless their lines are about a quarter as long as these or longer, which
    makes it three times slower for lines of some hundred numbers (and faster for lines of a dozen). No result depends
    on it.
    """
    with np.errstate():  # what is set within is undone behind it
        np.setbufsize(16)
        yield


def compact(x: Any) -> np.ndarray:
    """A copy whose pixels lie together."""
    out = np.empty(x.shape, x.dtype)
    move(x, out)
    return out


def in_lines(x: Any, stride: int) -> np.ndarray:
    """Pixels that are `stride` apart in memory, moved together if that is better."""
    return x if stride == 1 or x.shape[-1] >= LINE else compact(x)


def move(x: Any, out: Any) -> None:
    """Copy pixel by pixel, which is faster than number by number."""
    pixel = np.dtype((np.void, x.itemsize * x.shape[-1]))
    np.copyto(out.view(pixel), x.view(pixel))


# ---- arguments -------------------------------------------------------------------------------------------------------


def make_windows(
    name: str, rank: int, strides: Any, padding: Any, channels_first: bool = False, dilations: Any = None
) -> Windows:
    """Windows over `rank` spatial dimensions, as the arguments that users give describe them."""
    return Windows(
        spatial(name, "strides", strides, rank, channels_first),
        _padding(name, padding, rank, channels_first),
        spatial(name, "dilations", dilations, rank, channels_first),
    )


def spatial(name: str, argument: str, given: Any, rank: int, channels_first: bool = False) -> tuple[int, ...]:
    """The entries of an argument that belong to spatial dimensions: of an int, or of 1, `rank` or ``rank + 2`` ints.

    In the last case those of batch and channels must be 1. None means 1.
    """
    values = [1] if given is None else list(as_ints(name, argument, static_axis(name, given, argument)))
    if len(values) == rank + 2:
        outer = (values[0], values[1 if channels_first else -1])
        values = _inner(values, channels_first)
        if outer != (1, 1):
            raise InvalidArgumentError(f"{name}: argument `{argument}` must be 1 for batch and channels, got {given}")
    if len(values) not in (1, rank) or min(values) < 1:
        raise InvalidArgumentError(
            f"{name}: argument `{argument}` must be a positive number, or one per spatial dimension ({rank}) or "
            f"dimension ({rank + 2}), got {given}"
        )
    return tuple(values * rank if len(values) == 1 else values)


def _inner(values: list[Any], channels_first: bool) -> list[Any]:
    return values[2:] if channels_first else values[1:-1]


def _padding(name: str, given: Any, rank: int, channels_first: bool) -> str | tuple[tuple[int, int], ...]:
    if isinstance(given, str) and given.upper() in ("SAME", "VALID"):
        return given.upper()
    if not isinstance(given, (list, tuple, np.ndarray)) or np.shape(given) != (rank + 2, 2) or np.min(given) < 0:
        raise InvalidArgumentError(
            f"{name}: argument `padding` must be 'SAME', 'VALID' or a pair of numbers for each of {rank + 2} "
            f"dimensions, got {given!r}"
        )
    inner = [as_ints(name, "padding", pair) for pair in _inner(list(given), channels_first)]
    return tuple([(before, behind) for before, behind in inner])


def is_channels_first(name: str, data_format: str | None, rank: int | None = None) -> bool:
    """Whether a data format (``"NHWC"``, ``"NCW"``...) puts the channels before the spatial dimensions."""
    if data_format is None:
        return False
    upper = data_format.upper()
    if upper[:1] != "N" or "C" not in (upper[1:2], upper[-1:]) or (rank is not None and len(upper) != rank + 2):
        raise InvalidArgumentError(f"{name}: argument `data_format` {data_format!r} is not one of N...C and NC...")
    return upper[1] == "C"


# ---- windows as a value ----------------------------------------------------------------------------------------------

over_images = aligned(0, 1)
"""Batch rule of ops that treat all images alike, however many leading dimensions tell them apart."""


def image_dims(name: str, argument: str, x: Aval, rank: int) -> tuple[Dims, Dims, int | None] | None:
    """The batch, spatial and channel dimensions of data, or None if the rank is not known; too few are refused."""
    if x.shape is None:
        return None
    if len(x.shape) < rank + 2:
        raise ShapeError(f"{name}: argument `{argument}` must have rank {rank + 2}, got {x}")
    return x.shape[: -1 - rank], x.shape[-1 - rank : -1], x.shape[-1]


def check_rank(x: Any, rank: int) -> None:
    """Raise in a kernel; abstract evaluation then says it better."""
    if x.ndim < rank + 2:
        raise ValueError(f"the data must have rank {rank + 2}")


def _patches_kernel(x: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    check_rank(x, len(size))
    space, channels = x.shape[-1 - len(size) : -1], x.shape[-1]
    along = spans("extract_patches", space, size, windows)
    flat = padded(x.reshape(-1 if x.size else math.prod(x.shape[: -1 - len(size)]), *space, channels), along)
    lead = (*x.shape[: -1 - len(size)], *[s.number for s in along])
    return patches(flat, size, windows, along).reshape(*lead, math.prod(size) * channels)


def _patches_abstract(x: Aval, *, size: tuple[int, ...], windows: Windows) -> Aval:
    dims = image_dims("extract_patches", "images", x, len(size))
    if dims is None:
        return x
    batch, space, channels = dims
    inner = counts("extract_patches", space, size, windows)
    return Aval((*batch, *inner, None if channels is None else channels * math.prod(size)), x.dtype)


def tap_numbers(shape: tuple[int, ...], size: tuple[int, ...], windows: Windows) -> np.ndarray:
    """For each tap of a window, and each entry of what windows give of data of this shape: which element it reads.

    The result has the shape (taps, entries). Elements are counted in C order; -1 is one of the padding.
    """
    numbers = np.arange(1, 1 + math.prod(shape)).reshape(shape)
    read = _patches_kernel(numbers, size=size, windows=windows)
    per_tap = read.reshape(math.prod(read.shape[:-1]), math.prod(size), shape[-1]).swapaxes(0, 1)
    return per_tap.reshape(math.prod(size), -1) - 1


def _overlay_kernel(ct: Any, sizes: Any, *, size: tuple[int, ...], windows: Windows) -> np.ndarray:
    *space, channels = as_dims(sizes)[-1 - len(size) :]
    along = spans("extract_patches", space, size, windows)
    lead = ct.shape[: -1 - len(size)]
    parts = ct.reshape(*ct.shape[:-1], math.prod(size), channels)
    out = blank(lead, space, channels, along, ct.dtype)
    for i, key in enumerate(taps(size, windows, along)):
        out[key] += parts[..., i, :]
    return core(out, space, along)


def resized(name: str, x: Aval, sizes: Aval, rank: int) -> Aval:
    """The batch of `x`, and the spatial dimensions and channels in the integer vector `sizes`."""
    check_dtype(name, "sizes", sizes, INTEGER)
    dims = known_dims(sizes)
    if x.shape is None:
        return Aval(None if dims is None else (None,) * len(dims), x.dtype)
    return Aval((*x.shape[: -1 - rank], *((None,) * (rank + 1) if dims is None else dims[-1 - rank :])), x.dtype)


extract_patches_op = linear(
    "extract_patches_op",
    _patches_kernel,
    lambda ct, x, **params: overlay_patches_op(ct, shape(x), **params),
    _patches_abstract,
    over_images,
    type="ExtractImagePatches",
    args=("images",),
    sparsity=MOVES,
    doc="The windows of images, each laid out in the channels.",
)
overlay_patches_op = linear(
    "overlay_patches_op",
    _overlay_kernel,
    lambda ct, x, sizes, **params: extract_patches_op(ct, **params),
    lambda ct, sizes, *, size, windows: resized("overlay_patches", ct, sizes, len(size)),
    over_images,
    args=("ct", "sizes"),
    sparsity=collected(lambda out, ct, sizes, **params: _patches_kernel(out, **params)),
    layout=Layout.ANY,
    doc="Windows added up where they lie in images of the shape `sizes`: the transpose of `extract_patches_op`.",
)


@operands("images")
def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: Any) -> Operand:
    """The windows of images, each laid out in the channels.

    Parameters
    ----------
    images : value, shape (batch, height, width, channels)
    sizes, strides, rates : sequence of 4 ints
        The window's size, its steps, and the distance between neighboring taps: ``(1, rows, columns, 1)``.
    padding : str
        ``"VALID"`` or ``"SAME"``.

    Returns
    -------
    value, shape (batch, rows, columns, prod(sizes) * channels)

    Examples
    --------
    >>> extract_patches(np.arange(6.0).reshape(1, 2, 3, 1), [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")[0, 0]
    array([[0., 1., 3., 4.],
           [1., 2., 4., 5.]])
    """
    name = "extract_patches"
    windows = make_windows(name, 2, strides, padding, dilations=rates)
    return extract_patches_op(images, size=spatial(name, "sizes", sizes, 2), windows=windows)
