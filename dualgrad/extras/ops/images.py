"""Images: crops, paddings, flips, and the dtypes that pixels are given in.

Images have shape (height, width, channels) or (batch, height, width, channels).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dualgrad.extras.ops.compositions import saturate_cast
from dualgrad.extras.ops.resize import image_size, method_named, resized
from engine.core.dtypes import as_dtype, float16, float32
from engine.core.operands import Operand, operands
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.arithmetic import ceil, clip, floor, floordiv
from engine.ops.axis_args import static_int
from engine.ops.compare import cast, greater_equal, less_equal, logical_and, where
from engine.ops.creation import zeros_like
from engine.ops.gather import gather
from engine.ops.joining import stack
from engine.ops.rearrange import pad, reverse
from engine.ops.scatter import gather_nd
from engine.ops.shape import expand_dims, identity, transpose
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError

# ---- dtypes of pixels ------------------------------------------------------------------------------------------------


@operands("image")
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False) -> Operand:
    """Pixels in another dtype: floats in [0, 1], integers from 0 to their dtype's largest number.

    Parameters
    ----------
    image : value
    dtype : DType
    saturate : bool
        Whether to limit what lies outside the range of `dtype`, rather than to wrap it around.

    Examples
    --------
    >>> convert_image_dtype(np.array([0, 255], np.uint8), "float32")
    array([0., 1.], dtype=float32)
    """
    old, new = dtype_of(image), as_dtype(dtype)
    to = saturate_cast if saturate else cast
    if old is new:
        return identity(image)
    if old.is_integer and new.is_integer:
        if old.max > new.max:
            return to(floordiv(image, old.as_numpy_dtype((int(old.max) + 1) // (int(new.max) + 1))), new)
        return to(image, new) * new.as_numpy_dtype((int(new.max) + 1) // (int(old.max) + 1))
    if old.is_integer:
        return cast(image, new) * new.as_numpy_dtype(1.0 / int(old.max))
    if new.is_floating:
        return cast(image, new)
    return to(image * old.as_numpy_dtype(int(new.max) + 0.5), new)


def as_floats(image: Any) -> Operand:
    """Pixels in single or half precision, in which functions of colors compute."""
    return image if dtype_of(image) in (float16, float32) else convert_image_dtype(image, float32)


# ---- flips -----------------------------------------------------------------------------------------------------------


def rank_of(name: str, image: Any, argument: str = "image") -> int:
    """3 for an image, 4 for a batch of images."""
    shape = shape_of(image)
    if shape is None or len(shape) not in (3, 4):
        error = NotKnownYet if shape is None else ShapeError
        raise error(f"{name}: argument `{argument}` must have rank 3 or 4, got {aval_of(image)}; use set_shape")
    return len(shape)


@operands("image")
def flip_left_right(image: Any) -> Operand:
    """Images with their columns in reverse order."""
    rank_of("flip_left_right", image)
    return reverse(image, [-2])


@operands("image")
def flip_up_down(image: Any) -> Operand:
    """Images with their rows in reverse order."""
    rank_of("flip_up_down", image)
    return reverse(image, [-3])


@operands("image")
def transpose_image(image: Any) -> Operand:
    """Images with rows and columns exchanged."""
    return transpose(image, [1, 0, 2] if rank_of("transpose", image) == 3 else [0, 2, 1, 3])


@operands("image")
def rot90(image: Any, k: Any = 1) -> Operand:
    """Images rotated by `k` quarter turns, against the clock.

    Examples
    --------
    >>> rot90(np.array([[[1], [2]]]))[..., 0]
    array([[2],
           [1]])
    """
    turns = static_int("rot90", "k", k) % 4
    if turns == 0:
        return identity(image)
    if turns == 2:
        return flip_left_right(flip_up_down(image))
    return flip_up_down(transpose_image(image)) if turns == 1 else transpose_image(flip_up_down(image))


# ---- crops and paddings ----------------------------------------------------------------------------------------------


def _box(name: str, **given: Any) -> list[int]:
    return [static_int(name, key, value) for key, value in given.items()]


def _within(name: str, image: Any) -> tuple[int, int]:
    rank_of(name, image)
    return image_size(name, image)


@operands("image")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Operand:
    """The part of images of the given size that begins at the given row and column.

    Raises
    ------
    InvalidArgumentError
        If it does not lie in the image.

    Examples
    --------
    >>> crop_to_bounding_box(np.arange(6).reshape(2, 3, 1), 0, 1, 2, 2)[..., 0]
    array([[1, 2],
           [4, 5]])
    """
    name = "crop_to_bounding_box"
    height, width = _within(name, image)
    y, x, rows, columns = _box(name, offset_height=offset_height, offset_width=offset_width,
                               target_height=target_height, target_width=target_width)  # fmt: skip
    if min(y, x) < 0 or min(rows, columns) < 1 or y + rows > height or x + columns > width:
        raise InvalidArgumentError(
            f"{name}: {rows} rows from {y} on and {columns} columns from {x} on do not lie in images of {height} rows "
            f"and {width} columns"
        )
    return image[..., y : y + rows, x : x + columns, :]


@operands("image")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Operand:
    """Images of the given size, black but for the image, which begins at the given row and column.

    Raises
    ------
    InvalidArgumentError
        If the image does not fit.
    """
    name = "pad_to_bounding_box"
    height, width = _within(name, image)
    y, x, rows, columns = _box(name, offset_height=offset_height, offset_width=offset_width,
                               target_height=target_height, target_width=target_width)  # fmt: skip
    below, right = rows - y - height, columns - x - width
    if min(y, x, below, right) < 0:
        raise InvalidArgumentError(
            f"{name}: images of {height} rows and {width} columns do not fit at ({y}, {x}) into {rows} rows and "
            f"{columns} columns"
        )
    edges = [[y, below], [x, right], [0, 0]]
    return pad(image, edges if rank_of(name, image) == 3 else [[0, 0], *edges])


@operands("image")
def central_crop(image: Any, central_fraction: float) -> Operand:
    """The middle of images, of a fraction of their height and width."""
    if not 0 < central_fraction <= 1:
        raise InvalidArgumentError(f"central_crop: `central_fraction` must be in (0, 1], got {central_fraction!r}")
    if central_fraction == 1:
        return image
    height, width = _within("central_crop", image)
    y, x = int((height - height * central_fraction) / 2), int((width - width * central_fraction) / 2)
    return crop_to_bounding_box(image, y, x, height - 2 * y, width - 2 * x)


@operands("image")
def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Operand:
    """Images of the given size: cropped, or padded with zeros, evenly on both sides."""
    name = "resize_with_crop_or_pad"
    height, width = _within(name, image)
    rows, columns = _box(name, target_height=target_height, target_width=target_width)
    if min(rows, columns) < 1:
        raise InvalidArgumentError(f"{name}: the target must have at least one row and column, got {rows}, {columns}")
    down, right = rows - height, columns - width
    cropped = crop_to_bounding_box(
        image, max(-down // 2, 0), max(-right // 2, 0), min(rows, height), min(columns, width)
    )
    return pad_to_bounding_box(cropped, max(down // 2, 0), max(right // 2, 0), rows, columns)


def _with_pad(name: str, image: Any, height: Any, width: Any, *how: Any) -> Operand:
    rows, columns = _box(name, target_height=height, target_width=width)
    old = image_size(name, image)
    ratio = max(old[0] / rows, old[1] / columns)
    inner = [n / ratio for n in old]
    small = resized(name, image, [int(n) for n in inner], *how)
    y, x = (max(int((n - m) / 2), 0) for n, m in zip((rows, columns), inner, strict=True))
    return pad_to_bounding_box(small, y, x, rows, columns)


@operands("image")
def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = "bilinear", antialias: bool = False
) -> Operand:
    """Images as large as fits into the given size without distortion, padded with zeros (see `resize`)."""
    chosen = method_named("resize_with_pad", method)
    smooth = antialias and chosen not in ("nearest", "area")
    return _with_pad("resize_with_pad", image, target_height, target_width, chosen, False, chosen != "area", smooth)


@operands("image")
def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = 0, align_corners: bool = False
) -> Operand:
    """Images as large as fits into the given size without distortion, padded with zeros (see `resize_images`)."""
    chosen = method_named("resize_image_with_pad", method)
    return _with_pad("resize_image_with_pad", image, target_height, target_width, chosen, bool(align_corners), False)


def _sampled(box: Any, low: int, size: int, count: int) -> Operand:
    """Where the rows (or columns) of crops lie in an image of `size` rows: shape (boxes, count)."""
    start, end = box[:, low], box[:, low + 2]
    last = np.float32(size - 1)
    if count == 1:
        return expand_dims(0.5 * (start + end) * last, 1)
    step = (end - start) * last / np.float32(count - 1)
    return expand_dims(start * last, 1) + expand_dims(step, 1) * np.arange(count, dtype=np.float32)


@operands("boxes", alone=("image", "box_indices"))
def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: float = 0.0
) -> Operand:
    """Parts of images, each in one size.

    Parameters
    ----------
    image : value, shape (batch, height, width, channels)
    boxes : floating value, shape (boxes, 4)
        Top, left, bottom and right, from 0 to 1.
    box_indices : integer value, shape (boxes,)
        The image that each box is a part of.
    crop_size : pair of int
    method : "bilinear" or "nearest"
    extrapolation_value : float
        Of pixels outside of the image.

    Returns
    -------
    value of dtype float32, shape (boxes, *crop_size, channels)
        Differentiable in image and boxes.
    """
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f'crop_and_resize: `method` must be "bilinear" or "nearest", got {method!r}')
    height, width = image_size("crop_and_resize", image)
    rows, columns = (static_int("crop_and_resize", "crop_size", n, 1) for n in crop_size)
    y, x = _sampled(boxes, 0, height, rows), _sampled(boxes, 1, width, columns)
    y, x = expand_dims(y, 2) + zeros_like(expand_dims(x, 1)), expand_dims(x, 1) + zeros_like(expand_dims(y, 2))
    inside = logical_and(
        logical_and(greater_equal(y, zeros_like(y)), less_equal(y, np.float32(height - 1))),
        logical_and(greater_equal(x, zeros_like(x)), less_equal(x, np.float32(width - 1))),
    )
    which = cast(expand_dims(expand_dims(box_indices, -1), -1), "int32") + cast(zeros_like(y), "int32")

    def pixels(row: Any, column: Any) -> Operand:
        places = [cast(clip(p, np.float32(0), np.float32(n - 1)), "int32")
                  for p, n in ((row, height), (column, width))]  # fmt: skip
        return cast(gather_nd(image, stack([which, *places], -1)), float32)

    if method == "nearest":
        samples = pixels(floor(2 * y) - floor(y), floor(2 * x) - floor(x))  # a half is rounded up
    else:
        down, right = expand_dims(y - floor(y), -1), expand_dims(x - floor(x), -1)
        upper, lower = (
            left + (pixels(row, ceil(x)) - left) * right
            for row in (floor(y), ceil(y))
            for left in [pixels(row, floor(x))]
        )
        samples = upper + (lower - upper) * down
    outside = np.asarray(extrapolation_value, np.float32) + zeros_like(samples)
    return where(expand_dims(inside, -1), samples, outside)


def channels_of(image: Any, what: str) -> Sequence[Any]:
    """The channels, which must be three."""
    shape = shape_of(image)
    if shape is not None and (not shape or shape[-1] not in (3, None)):
        raise ShapeError(f"{what}: the last dimension must be 3 channels, got {aval_of(image)}")
    return [gather(image, np.int32(i), axis=-1) for i in range(3)]
