"""Colors of images: spaces, brightness, contrast; and measures of how alike images are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad.extras.ops.images import as_floats, channels_of, convert_image_dtype, rank_of
from engine.core.dtypes import float16, float32
from engine.core.operands import Operand, operands
from engine.core.value import aval_of, dtype_of, shape_of
from engine.ops.arithmetic import clip, maximum, mod, squared_difference
from engine.ops.compare import cast, equal, less, where
from engine.ops.complexes import abs as absolute
from engine.ops.conv import depthwise_conv2d
from engine.ops.creation import ones_like, zeros_like
from engine.ops.einsum import tensordot
from engine.ops.explog import log, pow, sqrt
from engine.ops.extrema import reduce_max, reduce_min
from engine.ops.joining import concat, stack
from engine.ops.rearrange import pad, tile
from engine.ops.reduce import reduce_mean, reduce_sum
from engine.ops.shape import expand_dims, reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.stats import reduce_std
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError

_GRAY = (0.2989, 0.5870, 0.1140)
"""Weights of red, green and blue (ITU-R BT.601)."""


# ---- color spaces ---------------------------------------------------------------------------------------------------


@operands("images")
def rgb_to_grayscale(images: Any) -> Operand:
    """Images of one channel, the brightness of their colors, in the same dtype.

    Examples
    --------
    >>> rgb_to_grayscale(np.array([[[1.0, 0.0, 0.0]]], np.float32)).ravel()
    array([0.2989], dtype=float32)
    """
    floats = as_floats(images)
    weights = np.asarray(_GRAY, dtype_of(floats).numpy)
    gray = tensordot(floats, weights, [[-1], [-1]])
    return convert_image_dtype(expand_dims(gray, -1), dtype_of(images))


@operands("images")
def grayscale_to_rgb(images: Any) -> Operand:
    """Images whose three channels are all that of the given ones."""
    rank = len(shape_of(images) or ())
    if not rank:
        raise ShapeError(f"grayscale_to_rgb: a grayscale image has at least rank 2, got {aval_of(images)}")
    return tile(images, [1] * (rank - 1) + [3])


@operands("images")
def rgb_to_hsv(images: Any) -> Operand:
    """Hue, saturation and value of colors, all from 0 to 1.

    Examples
    --------
    >>> rgb_to_hsv(np.array([0.5, 0.0, 0.0]))
    array([0. , 1. , 0.5])
    """
    r, g, b = channels_of(images, "rgb_to_hsv")
    value, least = reduce_max(images, -1), reduce_min(images, -1)
    spread = value - least
    flat = equal(spread, zeros_like(spread))
    dark = equal(value, zeros_like(value))
    saturation = where(dark, zeros_like(value), spread / where(dark, ones_like(value), value))
    unit = 1 / (6 * where(flat, ones_like(spread), spread))
    # of channels that are equal the first counts
    sides = where(equal(g, value), unit * (b - r) + 2 / 6, unit * (r - g) + 4 / 6)
    hue = where(equal(r, value), unit * (g - b), sides)
    hue = where(flat, zeros_like(hue), where(less(hue, zeros_like(hue)), hue + 1, hue))
    return stack([hue, saturation, value], -1)


@operands("images")
def hsv_to_rgb(images: Any) -> Operand:
    """Colors of given hue, saturation and value, all from 0 to 1."""
    h, s, v = channels_of(images, "hsv_to_rgb")
    number = dtype_of(images).as_numpy_dtype
    zero, one = number(0), number(1)
    turn = h * 6
    shares = [
        clip(absolute(turn - 3) - 1, zero, one),
        clip(2 - absolute(turn - 2), zero, one),
        clip(2 - absolute(turn - 4), zero, one),
    ]
    return stack([(1 - s + s * share) * v for share in shares], -1)


# ---- adjustments -----------------------------------------------------------------------------------------------------


@operands("image")
def adjust_brightness(image: Any, delta: Any) -> Operand:
    """Images with `delta` added to pixels, which count from 0 to 1 here whatever their dtype."""
    floats = as_floats(image)
    return convert_image_dtype(floats + _number(delta, floats), dtype_of(image), saturate=True)


def _number(x: Any, like: Any) -> Operand:
    """A number or scalar value in the dtype of another."""
    return cast(x, dtype_of(like)) if hasattr(x, "dtype") else dtype_of(like).as_numpy_dtype(x)


@operands("images")
def adjust_contrast(images: Any, contrast_factor: Any) -> Operand:
    """Images with the distance of pixels from the mean of their channel multiplied by a factor."""
    if len(shape_of(images) or (0, 0, 0)) < 3:
        raise ShapeError(f"adjust_contrast: argument `images` must have at least rank 3, got {aval_of(images)}")
    floats = as_floats(images)
    mean = reduce_mean(floats, [-3, -2], keepdims=True)
    return convert_image_dtype(
        (floats - mean) * _number(contrast_factor, floats) + mean, dtype_of(images), saturate=True
    )


@operands("image")
def adjust_gamma(image: Any, gamma: Any = 1.0, gain: Any = 1.0) -> Operand:
    """``gain * image ** gamma``, of pixels that count from 0 to 1 whatever their dtype."""
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise InvalidArgumentError(f"adjust_gamma: argument `gamma` must be at least 0, got {gamma}")
    floats = as_floats(image)
    adjusted = _number(gain, floats) * pow(floats, _number(gamma, floats))
    return convert_image_dtype(adjusted, dtype_of(image), saturate=True)


def _in_hsv(image: Any, change: Any) -> Operand:
    floats = as_floats(image)
    hsv = rgb_to_hsv(floats)
    h, s, v = (hsv[..., i] for i in range(3))
    h, s = change(h, s)
    return convert_image_dtype(hsv_to_rgb(stack([h, s, v], -1)), dtype_of(image), saturate=True)


@operands("image")
def adjust_hue(image: Any, delta: Any) -> Operand:
    """Images whose hues are turned by a fraction of the circle."""
    return _in_hsv(image, lambda h, s: (mod(h + _number(delta, h), ones_like(h)), s))


@operands("image")
def adjust_saturation(image: Any, saturation_factor: Any) -> Operand:
    """Images whose saturation is multiplied by a factor (and limited to 1)."""
    number = dtype_of(as_floats(image)).as_numpy_dtype
    return _in_hsv(image, lambda h, s: (h, clip(s * _number(saturation_factor, s), number(0), number(1))))


@operands("image")
def per_image_standardization(image: Any) -> Operand:
    """Each image less its mean, divided by its standard deviation (but by no less than that of one bright pixel)."""
    image = image if dtype_of(image) in (float16, float32) else cast(image, float32)
    axes = [-3, -2, -1]
    pixels = reduce_sum(ones_like(image), axes, keepdims=True)
    deviation = maximum(reduce_std(image, axes, keepdims=True), 1 / sqrt(pixels))
    return (image - reduce_mean(image, axes, keepdims=True)) / deviation


# ---- measures --------------------------------------------------------------------------------------------------------


@operands("images")
def total_variation(images: Any) -> Operand:
    """The sum of the absolute differences of neighboring pixels: one number, or one for each image of a batch.

    Examples
    --------
    >>> float(total_variation(np.array([[[1.0], [3.0]], [[2.0], [7.0]]])))
    12.0
    """
    rank_of("total_variation", images, "images")
    down = absolute(images[..., 1:, :, :] - images[..., :-1, :, :])
    right = absolute(images[..., :, 1:, :] - images[..., :, :-1, :])
    return reduce_sum(down, [-3, -2, -1]) + reduce_sum(right, [-3, -2, -1])


@operands("a", "b")
def psnr(a: Any, b: Any, max_val: float) -> Operand:
    """Peak signal-to-noise ratio of images, in decibels; `max_val` is the distance of white from black."""
    largest = convert_image_dtype(dtype_of(a).as_numpy_dtype(max_val), float32)
    error = squared_difference(convert_image_dtype(a, float32), convert_image_dtype(b, float32))
    return 20 * math.log(float(largest)) / math.log(10) - np.float32(10 / math.log(10)) * log(
        reduce_mean(error, [-3, -2, -1])
    )


def _gaussian_window(size: int, sigma: float) -> np.ndarray:
    at = np.arange(size, dtype=np.float32) - (size - 1) / 2
    window = elementary.exp(-0.5 * np.square(at) / np.float32(sigma) ** 2)
    window = window[:, None] * window
    return (window / window.sum()).astype(np.float32)


@operands("img1", "img2")
def ssim(
    img1: Any, img2: Any, max_val: float, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
    k2: float = 0.03, return_index_map: bool = False,
) -> Operand:  # fmt: skip
    """Structural similarity of images: 1 for equal ones.

    Parameters
    ----------
    img1, img2 : value, shape (..., height, width, channels)
    max_val : float
        The distance of white from black.
    filter_size, filter_sigma
        Of the Gaussian window over which means are taken.
    k1, k2 : float
        How small means and variances are kept away from 0, as fractions of `max_val`.
    return_index_map : bool
        Return the similarity at each place, not the mean.

    References
    ----------
    Wang, Bovik, Sheikh and Simoncelli (2004), *Image quality assessment: from error visibility to structural
    similarity*, IEEE Transactions on Image Processing 13.
    """
    largest = float(convert_image_dtype(dtype_of(img1).as_numpy_dtype(max_val), float32))
    x, y = convert_image_dtype(img1, float32), convert_image_dtype(img2, float32)
    shape = shape_of(x)
    if shape is None or len(shape) < 3 or shape[-1] is None:
        error = NotKnownYet if shape is None or len(shape) > 2 else ShapeError
        raise error(f"ssim: images must have rank 3 or more and a known number of channels, got {aval_of(img1)}")
    window = np.tile(_gaussian_window(filter_size, filter_sigma)[:, :, None, None], (1, 1, shape[-1], 1))

    def mean(z: Any) -> Operand:
        flat = reshape(z, concat([np.array([-1], np.int32), shape_of_value(z)[-3:]], 0))
        out = depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(out, concat([shape_of_value(z)[:-3], shape_of_value(out)[1:]], 0))

    c1, c2 = np.float32((k1 * largest) ** 2), np.float32((k2 * largest) ** 2)
    mean_x, mean_y = mean(x), mean(y)
    product, squares = mean_x * mean_y * 2, mean_x * mean_x + mean_y * mean_y
    luminance = (product + c1) / (squares + c1)
    structure = (mean(x * y) * 2 - product + c2) / (mean(x * x + y * y) - squares + c2)
    similarity = reduce_mean(luminance * structure, -1)
    return similarity if return_index_map else reduce_mean(similarity, [-2, -1])


_SOBEL = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)


@operands("image")
def sobel_edges(image: Any) -> Operand:
    """Vertical and horizontal slopes at each pixel, by Sobel's filters.

    Parameters
    ----------
    image : value, shape (batch, height, width, channels)

    Returns
    -------
    value, shape (batch, height, width, channels, 2)
    """
    shape = shape_of(image)
    if shape is None or len(shape) != 4 or shape[-1] is None:
        error = NotKnownYet if shape is None or len(shape) == 4 else ShapeError
        raise error(f"sobel_edges: argument `image` must have rank 4 and known channels, got {aval_of(image)}")
    kernels = np.tile(np.stack([_SOBEL, _SOBEL.T], -1)[:, :, None, :], (1, 1, shape[-1], 1))
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    slopes = depthwise_conv2d(padded, kernels.astype(dtype_of(image).numpy), strides=[1, 1, 1, 1], padding="VALID")
    return reshape(slopes, concat([shape_of_value(image), np.array([2], np.int32)], 0))
