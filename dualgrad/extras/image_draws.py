"""Random changes of images, made of a front end's own functions: its random numbers are drawn as it draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.core.value import shape_of
from engine.runtime.errors import InvalidArgumentError, ShapeError


def _one(tf: Any, low: float, high: float, seed: Any) -> Operand:
    return tf.random.uniform([], low, high, seed=seed)


def _span(name: str, lower: float, upper: float) -> tuple[float, float]:
    if upper <= lower or lower < 0:
        raise InvalidArgumentError(f"{name}: 0 <= lower < upper must hold, got {lower} and {upper}")
    return lower, upper


def _spread(name: str, most: float) -> tuple[float, float]:
    if most < 0:
        raise InvalidArgumentError(f"{name}: argument `max_delta` must be at least 0, got {most}")
    return -most, most


def _flipped(tf: Any, image: Any, flip: Callable[[Any], Any], seed: Any, name: str) -> Operand:
    image = tf.convert_to_tensor(image)
    shape = shape_of(image)
    if shape is None or len(shape) not in (3, 4):
        raise ShapeError(f"{name}: argument `image` must have rank 3 or 4, got shape {shape}")
    chosen = tf.random.uniform([tf.shape(image)[0], 1, 1, 1] if len(shape) == 4 else [], seed=seed)
    return tf.where(tf.broadcast_to(chosen < 0.5, tf.shape(image)), flip(image), image)


def random_flip_left_right(tf: Any, image: Any, seed: Any = None) -> Operand:
    """Images whose columns are in reverse order, each with probability 1/2."""
    return _flipped(tf, image, tf.image.flip_left_right, seed, "random_flip_left_right")


def random_flip_up_down(tf: Any, image: Any, seed: Any = None) -> Operand:
    """Images whose rows are in reverse order, each with probability 1/2."""
    return _flipped(tf, image, tf.image.flip_up_down, seed, "random_flip_up_down")


def random_brightness(tf: Any, image: Any, max_delta: float, seed: Any = None) -> Operand:
    """`adjust_brightness` by a number in [-max_delta, max_delta)."""
    return tf.image.adjust_brightness(image, _one(tf, *_spread("random_brightness", max_delta), seed))


def random_hue(tf: Any, image: Any, max_delta: float, seed: Any = None) -> Operand:
    """`adjust_hue` by a number in [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise InvalidArgumentError(f"random_hue: argument `max_delta` must be at most 0.5, got {max_delta}")
    return tf.image.adjust_hue(image, _one(tf, *_spread("random_hue", max_delta), seed))


def random_contrast(tf: Any, image: Any, lower: float, upper: float, seed: Any = None) -> Operand:
    """`adjust_contrast` by a number in [lower, upper)."""
    return tf.image.adjust_contrast(image, _one(tf, *_span("random_contrast", lower, upper), seed))


def random_saturation(tf: Any, image: Any, lower: float, upper: float, seed: Any = None) -> Operand:
    """`adjust_saturation` by a number in [lower, upper)."""
    return tf.image.adjust_saturation(image, _one(tf, *_span("random_saturation", lower, upper), seed))


def random_crop(tf: Any, value: Any, size: Any, seed: Any = None, name: str | None = None) -> Operand:
    """A part of `value` of the given size, from a random place.

    Raises
    ------
    InvalidArgumentError
        If `value` is not as large as that.
    """
    value = tf.convert_to_tensor(value)
    shape = shape_of(value)
    known = list(np.ravel(size)) if isinstance(size, (list, tuple, np.ndarray)) else None
    if known is not None and shape is not None and len(known) == len(shape):
        for want, have in zip(known, shape, strict=True):
            if isinstance(want, (int, np.integer)) and have is not None and want > have:
                raise InvalidArgumentError(f"random_crop: no part of size {known} is in a value of shape {shape}")
    size = tf.cast(tf.convert_to_tensor(size), tf.int32)
    room = tf.shape(value) - size + 1
    start = tf.random.uniform(tf.shape(room), 0, 2**31 - 1, tf.int32, seed=seed) % room
    return tf.slice(value, start, size)
