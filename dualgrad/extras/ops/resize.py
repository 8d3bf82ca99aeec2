"""Images in other sizes, by the arithmetic of TensorFlow's kernels.

What a row or column of the result is made of depends on sizes alone. Nearest and bilinear gather rows and columns;
the other methods are products with matrices of weights. So everything is made of ops that have derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.dtypes import REAL, float32
from engine.core.kinds import check_dtype
from engine.core.operands import Operand, operands
from engine.core.value import aval_of, shape_of
from engine.ops.axis_args import static_axis
from engine.ops.compare import cast
from engine.ops.einsum import einsum
from engine.ops.gather import gather
from engine.ops.scipy_special import sinc
from engine.ops.shape import identity
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError

BILINEAR, NEAREST, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
_LANCZOS3, _LANCZOS5, _GAUSSIAN, _MITCHELL = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"
METHODS = (BILINEAR, NEAREST, BICUBIC, AREA, _LANCZOS3, _LANCZOS5, _GAUSSIAN, _MITCHELL)
_NUMBERED = (BILINEAR, NEAREST, BICUBIC, AREA)
"""TensorFlow 1's methods were numbers."""

_TABLE = 1024
"""TensorFlow takes bicubic weights from a table of so many steps."""

Centers = Callable[[np.ndarray, np.float32], np.ndarray]


def image_size(name: str, images: Any, wanted: tuple[int, int] | None = None) -> tuple[int, int]:
    """Height and width of images of shape (height, width, channels) or (batch, height, width, channels).

    `wanted` is the size that they will have.
    """
    shape = shape_of(images)
    if shape is None or None in shape[-3:-1]:
        after = None if shape is None or wanted is None else (*shape[:-3], *wanted, shape[-1])
        raise NotKnownYet(
            f"{name}: the size of the images must be known, got {aval_of(images)}; use set_shape", shape=after
        )
    if len(shape) not in (3, 4):
        raise ShapeError(f"{name}: argument `images` must have rank 3 or 4, got {aval_of(images)}")
    return int(shape[-3] or 0), int(shape[-2] or 0)


def _wanted_size(name: str, size: Any) -> tuple[int, int]:
    known = static_axis(name, size, "size")
    if isinstance(known, (list, tuple)):
        known = [static_axis(name, d, "size") for d in known]
    dims = [int(d) for d in np.ravel(known)]
    if len(dims) != 2 or min(dims) < 1:
        raise InvalidArgumentError(f"{name}: argument `size` must be a height and a width of at least 1, got {size!r}")
    return dims[0], dims[1]


def _scale(size: int, wanted: int, align_corners: bool) -> np.float32:
    if align_corners and wanted > 1:
        return np.float32(np.float32(size - 1) / np.float32(wanted - 1))
    return np.float32(np.float32(size) / np.float32(wanted))


def _at_corners(x: np.ndarray, scale: np.float32) -> np.ndarray:
    return x * scale


def _at_centers(x: np.ndarray, scale: np.float32) -> np.ndarray:
    return (x + np.float32(0.5)) * scale - np.float32(0.5)


def _places(wanted: int) -> np.ndarray:
    return np.arange(wanted, dtype=np.float32)


# ---- methods that gather ---------------------------------------------------------------------------------------------


def _nearest(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    scale = _scale(size, wanted, align_corners)
    at = (_places(wanted) + np.float32(0.5)) * scale if half_pixel else _places(wanted) * scale
    index = np.floor(2 * at) - np.floor(at) if align_corners else np.floor(at)
    return np.clip(index, 0, size - 1).astype(np.int32)


def _interpolated(images: Any, size: int, wanted: int, axis: int, scale: np.float32, centers: Centers) -> Operand:
    """Linear interpolation along an axis, counted from the end."""
    at = centers(_places(wanted), scale)
    below = np.floor(at)
    lower = gather(images, np.clip(below, 0, size - 1).astype(np.int32), axis=axis)
    upper = gather(images, np.clip(np.ceil(at), 0, size - 1).astype(np.int32), axis=axis)
    share = (at - below).reshape(-1, *[1] * (-1 - axis))
    return lower + (upper - lower) * share


# ---- methods that take means of many ---------------------------------------------------------------------------------


def _area_weights(size: int, wanted: int, scale: np.float32) -> np.ndarray:
    """The part of each row or column that lies in each one of the result."""
    weights = np.zeros((wanted, size), np.float32)
    for i in range(wanted):
        start, end = np.float32(i) * scale, np.float32(i + 1) * scale
        for j in range(math.floor(start), math.ceil(end)):
            weights[i, min(max(j, 0), size - 1)] += np.minimum(j + 1, end) - np.maximum(j, start)
    return weights / scale if scale else np.ones_like(weights)


def _bicubic_table(a: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights at distances in [0, 1] and in [1, 2]."""
    x = np.arange(_TABLE + 1) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    return near.astype(np.float32), (((a * x - 5 * a) * x + 8 * a) * x - 4 * a).astype(np.float32)


def _bicubic_weights(size: int, wanted: int, scale: np.float32, centers: Centers) -> np.ndarray:
    keys = centers is _at_centers
    near, far = _bicubic_table(-0.5 if keys else -0.75)
    at = centers(_places(wanted), scale)
    below = np.floor(at).astype(np.int64)
    step = np.rint((at - below) * _TABLE).astype(np.int64)
    weights = np.zeros((wanted, size), np.float32)
    rows = np.arange(wanted)
    for offset, share in ((-1, far[step]), (0, near[step]), (1, near[_TABLE - step]), (2, far[_TABLE - step])):
        index = np.clip(below + offset, 0, size - 1)
        # with centers, what lies outside the image does not count; else the edge is repeated
        np.add.at(weights, (rows, index), np.where(index == below + offset, share, 0) if keys else share)
    total = weights.sum(1, keepdims=True)
    return weights / np.where(np.abs(total) > 1e-30, total, 1) if keys else weights


def _lanczos(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.where(x > radius, 0, sinc(x) * sinc(x / radius))


def _keys(x: np.ndarray) -> np.ndarray:
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, (1.5 * x - 2.5) * x * x + 1))


def _mitchell(x: np.ndarray) -> np.ndarray:
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, (7 / 6 * x - 2) * x * x + 8 / 9))


_KERNELS: dict[str, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    BILINEAR: (1.0, lambda x: np.maximum(0, 1 - x)),
    BICUBIC: (2.0, _keys),
    _LANCZOS3: (3.0, _lanczos(3.0)),
    _LANCZOS5: (5.0, _lanczos(5.0)),
    # three standard deviations wide
    _GAUSSIAN: (1.5, lambda x: np.where(x >= 1.5, 0, elementary.exp(-2 * x * x))),
    _MITCHELL: (2.0, _mitchell),
}
"""Radius and shape of the kernels of the methods that may look further than their neighbors."""


def _kernel_weights(size: int, wanted: int, method: str, antialias: bool) -> np.ndarray:
    radius, kernel = _KERNELS[method]
    # in single precision throughout, which decides what lies on the edge of a kernel
    one, half = np.float32(1), np.float32(0.5)
    inverse = one / (np.float32(wanted) / np.float32(size))
    widened = max(inverse, one) if antialias else one
    centers = (_places(wanted) + half) * inverse
    distance = np.abs(_places(size) + half - centers[:, None])
    inside = distance <= np.float32(radius) * widened
    weights = np.where(inside, kernel(distance * (one / widened)), 0)
    total = weights.sum(1, keepdims=True)
    return (weights / np.where(np.abs(total) > 1e-30, total, 1)).astype(np.float32)


def _weighted(images: Any, rows: np.ndarray, columns: np.ndarray) -> Operand:
    """Images times a matrix of weights from each side."""
    return einsum("iy,...yxc,jx->...ijc", rows, images, columns)


# ---- public functions ------------------------------------------------------------------------------------------------


def resized(
    name: str, images: Any, size: Any, method: str, align_corners: bool, half_pixel: bool, antialias: bool = False
) -> Operand:
    """Images in another size. The result is float32, unless the method is "nearest"."""
    new_height, new_width = wanted = _wanted_size(name, size)
    height, width = image_size(name, images, wanted)
    if align_corners and half_pixel:
        raise InvalidArgumentError(f"{name}: `align_corners` and `half_pixel_centers` exclude each other")
    if method == NEAREST:
        rows = gather(images, _nearest(height, new_height, align_corners, half_pixel), axis=-3)
        return gather(rows, _nearest(width, new_width, align_corners, half_pixel), axis=-2)
    check_dtype(name, "images", aval_of(images), REAL)
    images = cast(images, float32)
    scales = _scale(height, new_height, align_corners), _scale(width, new_width, align_corners)
    centers = _at_centers if half_pixel else _at_corners
    if method == AREA:
        return _weighted(
            images, _area_weights(height, new_height, scales[0]), _area_weights(width, new_width, scales[1])
        )
    if antialias or method not in (BILINEAR, BICUBIC):
        kernels = [_kernel_weights(*pair, method, antialias) for pair in ((height, new_height), (width, new_width))]
        return _weighted(images, *kernels)
    if method == BICUBIC:
        rows = _bicubic_weights(height, new_height, scales[0], centers)
        return _weighted(images, rows, _bicubic_weights(width, new_width, scales[1], centers))
    across = _interpolated(images, width, new_width, -2, scales[1], centers)
    return _interpolated(across, height, new_height, -3, scales[0], centers)


def method_named(name: str, method: Any) -> str:
    """The name of a method, which TensorFlow 1 may give as a number."""
    method_name = _NUMBERED[method] if type(method) is int and 0 <= method < len(_NUMBERED) else method
    if method_name not in METHODS:
        raise InvalidArgumentError(f"{name}: argument `method` must be one of {', '.join(METHODS)}, got {method!r}")
    return str(method_name)


def same_ratio(name: str, images: Any, size: Any) -> tuple[int, int]:
    """The largest size within `size` that keeps the ratio of height and width."""
    height, width = image_size(name, images)
    new_height, new_width = _wanted_size(name, size)
    scale = np.minimum(np.float32(new_height) / np.float32(height), np.float32(new_width) / np.float32(width))
    return int(np.round(np.float32(height) * scale)), int(np.round(np.float32(width) * scale))


@operands("images")
def resize(
    images: Any, size: Any, method: Any = BILINEAR, preserve_aspect_ratio: bool = False, antialias: bool = False
) -> Operand:
    """Images in another size (TensorFlow 2: pixels are taken at their centers).

    Parameters
    ----------
    images : value, shape (height, width, channels) or (batch, height, width, channels)
    size : pair of int, or integer vector
        New height and width.
    method : str
        "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
    preserve_aspect_ratio : bool
        Keep the ratio of height and width: the result is as large as fits into `size`.
    antialias : bool
        Take means over larger parts when an image shrinks.

    Returns
    -------
    value
        float32, unless the method is "nearest".

    Raises
    ------
    InvalidArgumentError
        If the method is none of these, or a size is below 1.
    ShapeError
        If `images` have neither rank 3 nor 4.

    Examples
    --------
    >>> resize(np.array([[[0.0], [2.0]]]), [1, 4]).ravel()
    array([0. , 0.5, 1.5, 2. ], dtype=float32)
    """
    chosen = method_named("resize", method)
    wanted = same_ratio("resize", images, size) if preserve_aspect_ratio else size
    smooth = antialias and chosen not in (NEAREST, AREA)
    return resized("resize", images, wanted, chosen, False, chosen != AREA, smooth)


@operands("images")
def resize_images(
    images: Any, size: Any, method: Any = BILINEAR, align_corners: bool = False, preserve_aspect_ratio: bool = False
) -> Operand:
    """Images in another size (TensorFlow 1: pixels are taken at their corners).

    Images that have the size already are returned as they are. Other parameters are those of `resize`; `method` may
    be 0 to 3 for "bilinear", "nearest", "bicubic" and "area".

    Examples
    --------
    >>> resize_images(np.array([[[0.0], [2.0]]]), [1, 4]).ravel()
    array([0., 1., 2., 2.], dtype=float32)
    """
    wanted = _wanted_size("resize_images", same_ratio("resize_images", images, size) if preserve_aspect_ratio else size)
    if wanted == image_size("resize_images", images, wanted):
        return identity(images)
    return resized("resize_images", images, wanted, method_named("resize_images", method), bool(align_corners), False)


def _one_method(method: str) -> Callable[..., Any]:
    @operands("images")
    def function(images: Any, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> Operand:
        return resized(f"resize_{method}", images, size, method, bool(align_corners), bool(half_pixel_centers))

    function.__name__ = function.__qualname__ = f"resize_{method}"
    function.__doc__ = (
        f"Images in another size, by the method {method!r} (see `resize`).\n\n    Pixels are taken at their corners, "
        f"or at their centers with `half_pixel_centers`; with `align_corners` the\n    corners of the images are "
        f"corners of the results.\n    "
    )
    return function


resize_bilinear = _one_method(BILINEAR)
resize_nearest_neighbor = _one_method(NEAREST)
resize_bicubic = _one_method(BICUBIC)


@operands("images")
def resize_area(images: Any, size: Any, align_corners: bool = False) -> Operand:
    """Images in another size: each pixel is the mean of the part of the image that it covers."""
    return resized("resize_area", images, size, AREA, bool(align_corners), False)
