"""Moving blocks of an image into its channels or into the batch, and back: reshapes and transposes.

`depth_to_space` and its like take ``data_format``; the others split any dimensions behind the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_ints
from engine.core.operands import Operand, operands
from engine.core.trace import constant_value
from engine.core.value import shape_of
from engine.ops.arithmetic import floordiv, multiply
from engine.ops.axis_args import static_int
from engine.ops.rearrange import pad
from engine.ops.shape import reshape, shape, transpose
from engine.ops.slicing import getitem
from engine.ops.windows import is_channels_first
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError


def _dims(name: str, x: Any) -> list[Any]:
    """The dimensions: ints where they are known, scalars that a graph computes where not."""
    known = shape_of(x)
    if known is None:
        raise NotKnownYet(f"{name}: the rank of the input must be known; give it one with set_shape")
    computed = shape(x) if None in known else None
    return [getitem(computed, i) if dim is None else dim for i, dim in enumerate(known)]


def _times(dim: Any, factor: int) -> int | None:
    return dim * factor if isinstance(dim, int) else multiply(dim, factor)


def _divided(name: str, dim: Any, factor: int) -> int | None:
    if not isinstance(dim, int):
        return floordiv(dim, factor)
    if dim % factor:
        raise ShapeError(f"{name}: a dimension of {dim} cannot be divided into blocks of {factor}")
    return dim // factor


def _static(name: str, argument: str, x: Any) -> np.ndarray:
    """An argument that must be known while a graph is built, as an array."""
    known = constant_value(x) if not isinstance(x, (int, list, tuple)) else np.asarray(x)
    if known is None:
        raise InvalidArgumentError(f"{name}: argument `{argument}` must be known while the graph is built")
    return np.asarray(known)


# ---- into the channels and back --------------------------------------------------------------------------------------


def _image(name: str, x: Any, block_size: int, data_format: str) -> tuple[Any, list[Any], bool]:
    """The image with its channels last, its dimensions, and whether they were first."""
    if block_size < 2:
        raise InvalidArgumentError(f"{name}: argument `block_size` must be 2 or more, got {block_size}")
    first = is_channels_first(name, data_format, 2)
    x = transpose(x, [0, 2, 3, 1]) if first else x
    dims = _dims(name, x)
    if len(dims) != 4:
        raise ShapeError(f"{name}: argument `input` must have rank 4, got {len(dims)}")
    return x, dims, first


@operands("input")
def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC") -> Operand:
    """The channels of each point spread over a block of points.

    Parameters
    ----------
    input : value, shape (batch, height, width, channels)
    block_size : int
        The blocks' height and width.
    data_format : str
        ``"NHWC"`` or ``"NCHW"``.

    Returns
    -------
    value, shape (batch, height * block_size, width * block_size, channels / block_size ** 2)

    Examples
    --------
    >>> depth_to_space(np.arange(4.0).reshape(1, 1, 1, 4), 2)[0, :, :, 0]
    array([[0., 1.],
           [2., 3.]])
    """
    name = "depth_to_space"
    b = static_int(name, "block_size", block_size, 2)
    x, (n, height, width, channels), first = _image(name, input, b, data_format)
    depth = _divided(name, channels, b * b)
    spread = transpose(reshape(x, [n, height, width, b, b, depth]), [0, 1, 3, 2, 4, 5])
    y = reshape(spread, [n, _times(height, b), _times(width, b), depth])
    return transpose(y, [0, 3, 1, 2]) if first else y


@operands("input")
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC") -> Operand:
    """Blocks of points gathered into the channels of one: the inverse of `depth_to_space`.

    Examples
    --------
    >>> space_to_depth(np.arange(4.0).reshape(1, 2, 2, 1), 2)[0, 0, 0]
    array([0., 1., 2., 3.])
    """
    name = "space_to_depth"
    b = static_int(name, "block_size", block_size, 2)
    x, (n, height, width, channels), first = _image(name, input, b, data_format)
    rows, columns = _divided(name, height, b), _divided(name, width, b)
    blocks = transpose(reshape(x, [n, rows, b, columns, b, channels]), [0, 1, 3, 2, 4, 5])
    y = reshape(blocks, [n, rows, columns, _times(channels, b * b)])
    return transpose(y, [0, 3, 1, 2]) if first else y


# ---- into the batch and back -----------------------------------------------------------------------------------------


def _block_dims(name: str, x: Any, block_shape: Any, pairs: Any, argument: str) -> tuple[list[int], Any]:
    """The sizes of the blocks, and a pair of numbers for each blocked dimension."""
    blocks = list(as_ints(name, "block_shape", _static(name, "block_shape", block_shape).ravel(), 1))
    known = _static(name, argument, pairs)
    as_ints(name, argument, known.ravel(), 0)
    dims = shape_of(x)
    if known.shape != (len(blocks), 2) or (dims is not None and len(dims) <= len(blocks)):
        raise ShapeError(
            f"{name}: `block_shape` {blocks} needs as many dimensions behind the first of the input, of shape {dims}, "
            f"and pairs in `{argument}`, of shape {known.shape}"
        )
    return blocks, known.tolist()


@operands("input")
def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any) -> Operand:
    """Each dimension behind the first divided into blocks, whose points become elements of the batch.

    Parameters
    ----------
    input : value, shape (batch, *space, *rest)
    block_shape : integer vector, shape (n,)
        The size of the blocks in the first n dimensions of `space`.
    paddings : integer matrix, shape (n, 2)
        How many zeros to add before and behind each of these dimensions first.

    Returns
    -------
    value, shape (batch * prod(block_shape), *(padded space / block_shape), *rest)

    Examples
    --------
    >>> space_to_batch_nd(np.arange(4.0).reshape(1, 4), [2], [[0, 0]])
    array([[0., 2.],
           [1., 3.]])
    """
    name = "space_to_batch_nd"
    blocks, pairs = _block_dims(name, input, block_shape, paddings, "paddings")
    n, *dims = _dims(name, input)
    if np.any(pairs):
        input = pad(input, [[0, 0], *pairs, *[[0, 0]] * (len(dims) - len(blocks))])
        n, *dims = _dims(name, input)
    space, rest = dims[: len(blocks)], dims[len(blocks) :]
    outer = [_divided(name, dim, b) for dim, b in zip(space, blocks, strict=True)]
    split = reshape(input, [n, *_interleaved(outer, blocks), *rest])
    count = len(blocks)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *_behind(count, rest)]
    return reshape(transpose(split, order), [_times(n, int(np.prod(blocks))), *outer, *rest])


@operands("input")
def batch_to_space_nd(input: Any, block_shape: Any, crops: Any) -> Operand:
    """The inverse of `space_to_batch_nd`, with `crops` entries cut off at both ends of each dimension at last.

    Examples
    --------
    >>> batch_to_space_nd(np.array([[0.0, 2.0], [1.0, 3.0]]), [2], [[0, 1]])
    array([[0., 1., 2.]])
    """
    name = "batch_to_space_nd"
    blocks, pairs = _block_dims(name, input, block_shape, crops, "crops")
    n, *dims = _dims(name, input)
    count = len(blocks)
    outer, rest = dims[:count], dims[count:]
    batch = _divided(name, n, int(np.prod(blocks)))
    split = reshape(input, [*blocks, batch, *outer, *rest])
    order = [count, *_interleaved(range(count + 1, 2 * count + 1), range(count)), *_behind(count, rest)]
    joined = [_times(dim, b) for dim, b in zip(outer, blocks, strict=True)]
    whole = reshape(transpose(split, order), [batch, *joined, *rest])
    if not np.any(pairs):
        return whole
    for size, (begin, end) in zip(joined, pairs, strict=True):
        if isinstance(size, int) and begin + end > size:
            raise ShapeError(f"{name}: argument `crops` takes {begin} and {end} entries off a dimension of {size}")
    return getitem(whole, (slice(None), *[slice(begin, -end or None) for begin, end in pairs]))


def _interleaved(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [item for pair in zip(first, second, strict=True) for item in pair]


def _behind(count: int, rest: Sequence[Any]) -> range:
    """The dimensions that are not divided into blocks, once the others are split."""
    return range(2 * count + 1, 2 * count + 1 + len(rest))


@operands("input")
def space_to_batch(input: Any, paddings: Any, block_size: int) -> Operand:
    """`space_to_batch_nd` for images and square blocks (TensorFlow 1)."""
    return space_to_batch_nd(input, [block_size, block_size], paddings)


@operands("input")
def batch_to_space(input: Any, crops: Any, block_size: int) -> Operand:
    """`batch_to_space_nd` for images and square blocks (TensorFlow 1)."""
    return batch_to_space_nd(input, [block_size, block_size], crops)
