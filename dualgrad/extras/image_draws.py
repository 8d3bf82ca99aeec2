"""Random changes of images, made of a front end's own functions: its random numbers are drawn as it draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.core.value import shape_of
from engine.runtime.errors import InvalidArgumentError, ShapeError

Draw = Callable[..., Any]
"""``draw(shape, low, high, dtype)``: uniform numbers."""


def _by_front_end(tf: Any, seed: Any) -> Draw:
    """Draws of the front end's generator."""
    return lambda shape, low=0.0, high=1.0, dtype="float32": tf.random.uniform(shape, low, high, dtype, seed=seed)


def _by_seed(tf: Any, seed: Any) -> Draw:
    """Draws that follow from two numbers alone."""
    return lambda shape, low=0.0, high=1.0, dtype="float32": tf.random.stateless_uniform(shape, seed, low, high, dtype)


def _span(name: str, lower: float, upper: float) -> tuple[float, float]:
    if upper <= lower or lower < 0:
        raise InvalidArgumentError(f"{name}: 0 <= lower < upper must hold, got {lower} and {upper}")
    return lower, upper


def _spread(name: str, most: float) -> tuple[float, float]:
    if most < 0:
        raise InvalidArgumentError(f"{name}: argument `max_delta` must be at least 0, got {most}")
    return -most, most


def _flipped(tf: Any, image: Any, flip: Callable[[Any], Any], draw: Draw, name: str) -> Operand:
    image = tf.convert_to_tensor(image)
    shape = shape_of(image)
    if shape is None or len(shape) not in (3, 4):
        raise ShapeError(f"{name}: argument `image` must have rank 3 or 4, got shape {shape}")
    # as in TensorFlow one image is flipped by the lower half of numbers, each of several by the upper half
    chosen = draw([tf.shape(image)[0], 1, 1, 1]) > 0.5 if len(shape) == 4 else draw([]) < 0.5
    return tf.where(tf.broadcast_to(chosen, tf.shape(image)), flip(image), image)


def random_flip_left_right(tf: Any, image: Any, seed: Any = None) -> Operand:
    """Images whose columns are in reverse order, each with probability 1/2."""
    return _flipped(tf, image, tf.image.flip_left_right, _by_front_end(tf, seed), "random_flip_left_right")


def random_flip_up_down(tf: Any, image: Any, seed: Any = None) -> Operand:
    """Images whose rows are in reverse order, each with probability 1/2."""
    return _flipped(tf, image, tf.image.flip_up_down, _by_front_end(tf, seed), "random_flip_up_down")


def _brightened(tf: Any, image: Any, max_delta: float, draw: Draw) -> Operand:
    return tf.image.adjust_brightness(image, draw([], *_spread("random_brightness", max_delta)))


def _recolored(tf: Any, image: Any, max_delta: float, draw: Draw) -> Operand:
    if max_delta > 0.5:
        raise InvalidArgumentError(f"random_hue: argument `max_delta` must be at most 0.5, got {max_delta}")
    return tf.image.adjust_hue(image, draw([], *_spread("random_hue", max_delta)))


def random_brightness(tf: Any, image: Any, max_delta: float, seed: Any = None) -> Operand:
    """`adjust_brightness` by a number in [-max_delta, max_delta)."""
    return _brightened(tf, image, max_delta, _by_front_end(tf, seed))


def random_hue(tf: Any, image: Any, max_delta: float, seed: Any = None) -> Operand:
    """`adjust_hue` by a number in [-max_delta, max_delta)."""
    return _recolored(tf, image, max_delta, _by_front_end(tf, seed))


def random_contrast(tf: Any, image: Any, lower: float, upper: float, seed: Any = None) -> Operand:
    """`adjust_contrast` by a number in [lower, upper)."""
    return tf.image.adjust_contrast(image, _by_front_end(tf, seed)([], *_span("random_contrast", lower, upper)))


def random_saturation(tf: Any, image: Any, lower: float, upper: float, seed: Any = None) -> Operand:
    """`adjust_saturation` by a number in [lower, upper)."""
    return tf.image.adjust_saturation(image, _by_front_end(tf, seed)([], *_span("random_saturation", lower, upper)))


def stateless_random_flip_left_right(tf: Any, image: Any, seed: Any) -> Operand:
    """`random_flip_left_right`, whose choices follow from `seed`, two integers, alone."""
    return _flipped(tf, image, tf.image.flip_left_right, _by_seed(tf, seed), "stateless_random_flip_left_right")


def stateless_random_flip_up_down(tf: Any, image: Any, seed: Any) -> Operand:
    """`random_flip_up_down`, whose choices follow from `seed`, two integers, alone."""
    return _flipped(tf, image, tf.image.flip_up_down, _by_seed(tf, seed), "stateless_random_flip_up_down")


def stateless_random_brightness(tf: Any, image: Any, max_delta: float, seed: Any) -> Operand:
    """`random_brightness` by a number that follows from `seed`, two integers, alone."""
    return _brightened(tf, image, max_delta, _by_seed(tf, seed))


def stateless_random_hue(tf: Any, image: Any, max_delta: float, seed: Any) -> Operand:
    """`random_hue` by a number that follows from `seed`, two integers, alone."""
    return _recolored(tf, image, max_delta, _by_seed(tf, seed))


def stateless_random_contrast(tf: Any, image: Any, lower: float, upper: float, seed: Any) -> Operand:
    """`random_contrast` by a number that follows from `seed`, two integers, alone."""
    return tf.image.adjust_contrast(image, _by_seed(tf, seed)([], *_span("random_contrast", lower, upper)))


def stateless_random_saturation(tf: Any, image: Any, lower: float, upper: float, seed: Any = None) -> Operand:
    """`random_saturation` by a number that follows from `seed`, two integers, alone."""
    return tf.image.adjust_saturation(image, _by_seed(tf, seed)([], *_span("random_saturation", lower, upper)))


def stateless_random_crop(tf: Any, value: Any, size: Any, seed: Any, name: str | None = None) -> Operand:
    """`random_crop` from a place that follows from `seed`, two integers, alone."""
    return _part(tf, value, size, _by_seed(tf, seed))


def random_crop(tf: Any, value: Any, size: Any, seed: Any = None, name: str | None = None) -> Operand:
    """A part of `value` of the given size, from a random place.

    Raises
    ------
    InvalidArgumentError
        If `value` is not as large as that.
    """
    return _part(tf, value, size, _by_front_end(tf, seed))


def _part(tf: Any, value: Any, size: Any, draw: Draw) -> Operand:
    value = tf.convert_to_tensor(value)
    shape = shape_of(value)
    known = list(size) if isinstance(size, (list, tuple, np.ndarray)) else None
    if known is not None and shape is not None and len(known) == len(shape):
        for want, have in zip(known, shape, strict=True):
            if isinstance(want, (int, np.integer)) and have is not None and want > have:
                raise InvalidArgumentError(f"random_crop: no part of size {known} is in a value of shape {shape}")
    size = tf.cast(tf.convert_to_tensor(size), tf.int32)
    room = tf.shape(value) - size + 1
    start = draw(tf.shape(room), 0, 2**31 - 1, tf.int32) % room
    return tf.slice(value, start, size)
