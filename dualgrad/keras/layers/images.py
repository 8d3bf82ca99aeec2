"""Layers that resize, crop and vary images: `Resizing`, `RandomFlip`, `RandomRotation`, ...

Those that vary are on by default, and off where ``training=False`` is handed on to them. They draw as Keras 3 does.
"""

from __future__ import annotations

import math
from typing import Any

from dualgrad.extras.ops.resize import resize
from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of

_FILLS = ("reflect", "wrap", "constant", "nearest")
_INTERPOLATIONS = ("nearest", "bilinear")


class _OfImages(Layer):
    """The base: one image or a batch of them, channels last."""

    def _check_format(self, data_format: Any) -> None:
        if data_format not in (None, "channels_last"):
            raise NotImplementedError(
                f"{type(self).__name__}: `data_format` must be 'channels_last', got {data_format!r}: transpose images"
            )

    def _batch(self, images: Any) -> tuple[Any, bool]:
        """The images as a batch, and whether they were one already."""
        rank = len(shape_of(images) or ())
        if rank not in (3, 4):
            raise ValueError(f"layer {self.name!r}: expected an image (rank 3) or a batch (rank 4), got rank {rank}")
        images = tf.cast(images, self._dtype)
        return (images, True) if rank == 4 else (tf.expand_dims(images, 0), False)

    def _size(self, images: Any) -> tuple[int, int]:
        dims = shape_of(images) or ()
        if None in dims[-3:-1]:
            raise ValueError(f"layer {self.name!r}: height and width of the images must be known, got shape {dims}")
        return int(dims[-3]), int(dims[-2])  # type: ignore[arg-type]


def _cropped(images: Any, top: Any, left: Any, height: int, width: int) -> Operand:
    return images[..., top : top + height, left : left + width, :]


def _middle(size: tuple[int, int], height: int, width: int) -> tuple[int, int, int, int]:
    """The largest part in the middle with another ratio of height to width: where it begins, and its size."""
    crop_height = max(min(size[0], int(size[1] * height / width)), 1)
    crop_width = max(min(size[1], int(size[0] * width / height)), 1)
    return int((size[0] - crop_height) / 2), int((size[1] - crop_width) / 2), crop_height, crop_width


class Resizing(_OfImages):
    """Images in another size.

    Parameters
    ----------
    height, width : int
    interpolation : str
        As in ``tf.image.resize``.
    crop_to_aspect_ratio : bool
        Whether a part with the new ratio of height to width is taken first, from the middle.
    antialias : bool

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.keras.layers.Resizing(2, 3)(tf.ones([5, 8, 8, 1])).shape
    TensorShape([5, 2, 3, 1])
    """

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._check_format(data_format)
        if pad_to_aspect_ratio:
            raise NotImplementedError(
                "Resizing: argument `pad_to_aspect_ratio` is not supported: use tf.image.resize_with_pad"
            )
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio, self.antialias = crop_to_aspect_ratio, antialias

    def call(self, inputs: Any, training: Any = True) -> Operand:
        """The images, resized."""
        if self.crop_to_aspect_ratio:
            inputs = _cropped(inputs, *_middle(self._size(inputs), self.height, self.width))
        resized = resize(inputs, [self.height, self.width], self.interpolation, antialias=self.antialias)
        return tf.cast(resized, self._dtype)


class _Varied(_OfImages):
    """The base of those that draw."""

    def __init__(self, seed: int | None = None, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._check_format(data_format)
        self.seed = seed
        self._seeds = self.host.seeds(seed)

    def _uniform(self, shape: Any, low: float, high: float) -> Operand:
        return self.host.source.uniform(shape, low, high, dtype="float32", seed=self._seeds)

    def call(self, inputs: Any, training: Any = True) -> Operand:
        """The images, changed while training."""
        images = tf.cast(inputs, self._dtype)
        return self.host.choose(training, lambda: self._varied_of(images), lambda: images)

    def _varied_of(self, images: Any) -> Operand:
        batch, is_batch = self._batch(images)
        found = self._varied(batch)
        return found if is_batch else tf.squeeze(found, axis=0)

    def _varied(self, images: Any) -> Operand:
        raise NotImplementedError

    def _bounds(self, name: str, factor: Any, least: float, most: float = 1.0) -> tuple[float, float]:
        """The two ends of a range: those given, or minus and plus a number."""
        given = isinstance(factor, (tuple, list))
        ends = sorted(factor) if given and len(factor) == 2 else [-abs(factor), abs(factor)] if not given else []
        if not ends or ends[0] < least or ends[1] > most:
            raise ValueError(
                f"{type(self).__name__}: `{name}` must be a number or two in [{least}, {most}], got {factor!r}"
            )
        return float(ends[0]), float(ends[1])


class RandomFlip(_Varied):
    """Images turned left to right, upside down, or both, half of the time.

    Parameters
    ----------
    mode : {"horizontal_and_vertical", "horizontal", "vertical"}
    seed : int, optional
    """

    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(seed, **kwargs)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"RandomFlip: unknown `mode` {mode!r}")
        self.mode = mode

    def _varied(self, images: Any) -> Operand:
        turned = self._uniform(tf.stack([tf.shape(images)[0], 1, 1, 1]), 0.0, 1.0) <= 0.5
        for name, axis in (("horizontal", -2), ("vertical", -3)):
            if name in self.mode:
                images = tf.where(turned, tf.reverse(images, [axis]), images)
        return images


class _Moved(_Varied):
    """The base of those that take each point of the result from another place."""

    def _take(self, fill_mode: str, interpolation: str, fill_value: float) -> None:
        if fill_mode not in _FILLS or interpolation not in _INTERPOLATIONS:
            raise NotImplementedError(
                f"{type(self).__name__}: `fill_mode` must be one of {_FILLS}, `interpolation` of {_INTERPOLATIONS}, "
                f"got {fill_mode!r} and {interpolation!r}"
            )
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    def _moved(self, images: Any, matrix: Any) -> Operand:
        return transformed(images, matrix, self.interpolation, self.fill_mode, self.fill_value)


class RandomRotation(_Moved):
    """Images turned by a random angle.

    Parameters
    ----------
    factor : float or pair of float
        Of a full turn: from minus to plus it, or from one to the other.
    fill_mode : {"reflect", "wrap", "constant", "nearest"}
        What is beyond the edges.
    interpolation : {"bilinear", "nearest"}
    seed : int, optional
    fill_value : float
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, **kwargs)
        self._take(fill_mode, interpolation, fill_value)
        self.factor = self._bounds("factor", factor, -1.0)

    def _varied(self, images: Any) -> Operand:
        low, high = (360.0 * x for x in self.factor)
        angle = self._uniform(tf.reshape(tf.shape(images)[0], [1]), low, high) * (math.pi / 180.0)
        cos, sin = tf.cos(angle), tf.sin(angle)
        x, y = _centers(images)
        return self._moved(images, [cos, -sin, x - x * cos - y * -sin, sin, cos, y - x * sin - y * cos])


def _centers(images: Any) -> list[Any]:
    """Half of the largest indices, in x and y."""
    return [0.5 * (tf.cast(tf.shape(images)[i], "float32") - 1.0) for i in (2, 1)]


class RandomTranslation(_Moved):
    """Images moved.

    Parameters
    ----------
    height_factor, width_factor : float or pair of float
        Of the height and the width.
    fill_mode, interpolation, seed, fill_value
        As in `RandomRotation`.
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(seed, **kwargs)
        self._take(fill_mode, interpolation, fill_value)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._heights = self._bounds("height_factor", height_factor, -1.0)
        self._widths = self._bounds("width_factor", width_factor, -1.0)

    def _varied(self, images: Any) -> Operand:
        sizes = tf.shape(images)
        count = tf.reshape(sizes[0], [1])
        down = self._uniform(count, *self._heights) * tf.cast(sizes[1], "float32")
        across = self._uniform(count, *self._widths) * tf.cast(sizes[2], "float32")
        one, none = tf.ones_like(down), tf.zeros_like(down)
        return self._moved(images, [one, none, -across, none, one, -down])


# ---- where points come from ------------------------------------------------------------------------------------------


def transformed(images: Any, matrix: Any, interpolation: str, fill_mode: str, fill_value: float) -> Operand:
    """Images whose points (x, y) are taken from (a₀ x + a₁ y + a₂, b₀ x + b₁ y + b₂).

    Parameters
    ----------
    images : value, shape (batch, height, width, channels)
    matrix : list of six values, shape (batch,)
    interpolation : {"bilinear", "nearest"}
    fill_mode : {"reflect", "wrap", "constant", "nearest"}
    fill_value : float
    """
    sizes = tf.shape(images)
    height, width = sizes[1], sizes[2]
    x = tf.reshape(tf.cast(tf.range(width), "float32"), tf.stack([1, 1, width]))
    y = tf.reshape(tf.cast(tf.range(height), "float32"), tf.stack([1, height, 1]))
    a, b, c, d, e, f = (tf.reshape(m, [-1, 1, 1]) for m in matrix)
    across = _folded(a * x + b * y + c, tf.cast(width, "float32"), fill_mode)
    down = _folded(d * x + e * y + f, tf.cast(height, "float32"), fill_mode)
    flat = tf.reshape(images, tf.stack([sizes[0], height * width, sizes[3]]))

    def read(row: Any, column: Any) -> Operand:
        """The points at whole coordinates; the fill value outside."""
        i, j = tf.cast(row, "int32"), tf.cast(column, "int32")
        inside = tf.logical_and(tf.logical_and(i >= 0, i < height), tf.logical_and(j >= 0, j < width))
        at = tf.where(inside, i * width + j, tf.zeros_like(i))
        found = tf.gather(flat, at, axis=1, batch_dims=1)
        return tf.where(tf.expand_dims(inside, -1), found, tf.zeros_like(found) + fill_value)

    if interpolation == "nearest":
        return read(*(tf.sign(p) * tf.floor(tf.abs(p) + 0.5) for p in (down, across)))
    top, left = tf.floor(down), tf.floor(across)

    def weight(p: Any) -> Operand:
        return tf.cast(tf.expand_dims(p, -1), dtype_of(images))

    to_right, to_left = weight(left + 1.0 - across), weight(across - left)
    above = to_right * read(top, left) + to_left * read(top, left + 1.0)
    below = to_right * read(top + 1.0, left) + to_left * read(top + 1.0, left + 1.0)
    return weight(top + 1.0 - down) * above + weight(down - top) * below


def _folded(p: Any, size: Any, fill_mode: str) -> Operand:
    """Coordinates beyond the edges brought back."""
    if fill_mode == "constant":
        return p
    last = size - 1.0
    if fill_mode == "reflect":
        twice = 2.0 * size
        low = tf.where(p < -twice, p + twice * _whole(-p / twice), p)
        low = tf.where(low < -size, low + twice, -low - 1.0)
        high = p - twice * _whole(p / twice)
        high = tf.where(high >= size, twice - high - 1.0, high)
        p = tf.where(p < 0.0, low, tf.where(p > last, high, p))
    elif fill_mode == "wrap":
        # TensorFlow divides by the largest index here
        low = p + size * (_whole(-p / last) + 1.0)
        high = p - size * _whole(p / last)
        p = tf.where(p < 0.0, low, tf.where(p > last, high, p))
    return tf.minimum(tf.maximum(p, 0.0), last)


def _whole(p: Any) -> Operand:
    return tf.cast(tf.cast(p, "int32"), "float32")


__all__ = [ "RandomFlip", "RandomRotation",
    "RandomTranslation", "Resizing",
]  # fmt: skip
