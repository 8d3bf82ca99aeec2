"""Layers that move elements about, and layers that add noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from dualgrad.extras.ops.resize import resize
from dualgrad.keras import functions as tf
from dualgrad.keras import initializers
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.layers.convolution import Spatial, channels_are_first, several
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import dtype_of, shape_of


class Permute(Layer):
    """The dimensions of each element of the batch in another order; the first is number 1."""

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != [*range(1, len(self.dims) + 1)]:
            raise ValueError(f"Permute: argument `dims` must be a permutation of 1 to {len(self.dims)}, got {dims}")

    def call(self, inputs: Any) -> Operand:
        """The inputs, transposed."""
        return tf.transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """Each element of the batch, a vector, repeated `n` times: shape ``(batch, n, features)``."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        self.n = n

    def call(self, inputs: Any) -> Operand:
        """The repeated vectors."""
        return tf.tile(tf.expand_dims(inputs, 1), [1, self.n, 1])


def _pairs(layer: str, argument: str, given: Any, rank: int) -> list[tuple[int, int]]:
    """How much at both ends of each dimension: a number for all, one for each, or a pair for each."""
    each = [given] * rank if isinstance(given, int) else list(given)
    if rank == 1 and len(each) == 2 and all(isinstance(v, int) for v in each):
        each = [tuple(each)]
    pairs = [(v, v) if isinstance(v, int) else tuple(v) for v in each]
    if len(pairs) != rank or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise ValueError(f"{layer}: argument `{argument}` must be an int, or {rank} ints or pairs of ints, got {given}")
    return pairs


class _Spatial(Spatial):
    """Layers with settings for each spatial dimension."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._first = channels_are_first(type(self).__name__, data_format)

    def _in_all(self, spatial: list[Any], rest: Any) -> list[Any]:
        """The setting for each dimension: `rest` for batch and channels."""
        return [rest, rest, *spatial] if self._first else [rest, *spatial, rest]


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _pairs(type(self).__name__, "padding", padding, self.rank)

    def call(self, inputs: Any) -> Operand:
        """The inputs with zeros around."""
        return tf.pad(inputs, self._in_all([list(p) for p in self.padding], [0, 0]))


class ZeroPadding1D(_ZeroPadding, rank=1):
    """Zeros before and after sequences."""


class ZeroPadding2D(_ZeroPadding, rank=2):
    """Zeros around images: `padding` is one int, one for each direction, or a pair for each."""


class ZeroPadding3D(_ZeroPadding, rank=3):
    """Zeros around volumes."""


class _Cropping(_Spatial):
    def __init__(self, cropping: Any = None, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        # of images nothing is cut by default, as in Keras
        cropping = (0 if self.rank == 2 else 1) if cropping is None else cropping
        self.cropping = _pairs(type(self).__name__, "cropping", cropping, self.rank)

    def call(self, inputs: Any) -> Operand:
        """The inner part of the inputs."""
        parts = [slice(a, -b if b else None) for a, b in self.cropping]
        return inputs[tuple(self._in_all(parts, slice(None)))]


class Cropping1D(_Cropping):
    """Sequences without their ends."""

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {"data_format": (None,)}
    rank = 1


class Cropping2D(_Cropping, rank=2):
    """Images without their margins: `cropping` is one int, one for each direction, or a pair for each."""


class Cropping3D(_Cropping, rank=3):
    """Volumes without their margins."""


class _UpSampling(_Spatial):
    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size = several(type(self).__name__, "size", size, self.rank)

    def call(self, inputs: Any) -> Operand:
        """The inputs, each point repeated."""
        for axis, count in enumerate(self._in_all(list(self.size), 1)):
            if count > 1:
                inputs = tf.repeat(inputs, count, axis=axis)
        return inputs


class UpSampling1D(_UpSampling):
    """Each step of a sequence repeated `size` times."""

    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {"data_format": (None,)}
    rank = 1

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer."""
        return super().get_config() | {"size": self.size[0]}


class UpSampling2D(_UpSampling, rank=2):
    """Each point of an image repeated `size` times in both directions, or images resized by another `interpolation`."""

    def __init__(
        self, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Operand:
        """The images, larger."""
        if self.interpolation == "nearest":
            return super().call(inputs)
        if self._first:
            turned = tf.transpose(inputs, [0, 2, 3, 1])
            return tf.transpose(self._resized(turned), [0, 3, 1, 2])
        return self._resized(inputs)

    def _resized(self, images: Any) -> Operand:
        new = tf.shape(images)[1:3] * np.asarray(self.size, np.int32)
        known = [None if d is None else d * n for d, n in zip((shape_of(images) or ())[1:3], self.size, strict=True)]
        size = new if None in known else known
        return tf.cast(resize(images, size, self.interpolation), dtype_of(images))


class UpSampling3D(_UpSampling, rank=3):
    """Each point of a volume repeated `size` times in all directions."""


# ---- noise -----------------------------------------------------------------------------------------------------------


class GaussianNoise(Layer):
    """While training, adds normal noise of the given standard deviation."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev, self.seed = stddev, seed
        self._seeds = self.host.seeds(seed) if stddev > 0 else None

    def call(self, inputs: Any, training: Any = False) -> Operand:
        """The inputs, with noise while training."""
        return self.host.choose(training, lambda: inputs + self._noise(inputs, 0.0, self.stddev), lambda: inputs)

    def _noise(self, like: Any, mean: float, stddev: float) -> Operand:
        known = shape_of(like)
        shape = tf.shape(like) if known is None or None in known else known
        return self.host.noise(shape, mean, stddev, dtype_of(like), self._seeds)


class GaussianDropout(GaussianNoise):
    """While training, multiplies by normal noise of mean 1 and variance ``rate / (1 - rate)``."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"GaussianDropout: argument `rate` must be in [0, 1), got {rate}")
        super().__init__((rate / (1 - rate)) ** 0.5, seed, **kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: Any = False) -> Operand:
        """The inputs, times noise while training."""
        return self.host.choose(training, lambda: inputs * self._noise(inputs, 1.0, self.stddev), lambda: inputs)


class _SpatialDropout(_Spatial):
    _hands_masks_on = True
    _not_keras: ClassVar[Mapping[str, tuple[Any, ...]]] = {"trainable": (True,), "data_format": (None,)}

    def __init__(self, rate: float, seed: int | None = None, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.rate, self.seed = rate, seed
        self._seeds = self.host.seeds(seed) if rate > 0 else None

    def call(self, inputs: Any, training: Any = False) -> Operand:
        """The inputs, with some channels left out while training."""
        size = tf.shape(inputs)
        noise = [size[0], size[1], *[1] * self.rank] if self._first else [size[0], *[1] * self.rank, size[-1]]

        def dropped() -> Operand:
            return self.host.dropout(inputs, self.rate, tf.stack(noise), self._seeds)

        return self.host.choose(training, dropped, lambda: inputs)


class SpatialDropout1D(_SpatialDropout, rank=1):
    """`Dropout` of whole channels of sequences."""

    _starts_built = True


class SpatialDropout2D(_SpatialDropout, rank=2):
    """`Dropout` of whole channels of images."""


class SpatialDropout3D(_SpatialDropout, rank=3):
    """`Dropout` of whole channels of volumes."""


# ---- activations with parameters -------------------------------------------------------------------------------------


class ELU(Layer):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""

    _starts_built = True
    _hands_masks_on = True

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Operand:
        """The activation of the inputs."""
        return tf.elu(inputs) if self.alpha == 1 else tf.where(inputs > 0, inputs, self.alpha * tf.elu(inputs))


class PReLU(Layer):
    """``x`` above 0, ``alpha * x`` below, with a learned `alpha` for each feature.

    Parameters
    ----------
    alpha_initializer, alpha_regularizer, alpha_constraint
        Of the slopes.
    shared_axes : list of int, optional
        Dimensions along which one slope is shared.
    """

    _hands_masks_on = True

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(self.host, alpha_initializer)
        self._options = {"regularizer": alpha_regularizer, "constraint": alpha_constraint}
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else list(shared_axes or ())

    def build(self, input_shape: Any) -> None:
        """Make the slopes."""
        dims = TensorShape(input_shape).as_list()[1:]
        shape = [1 if i in self.shared_axes else d for i, d in enumerate(dims, 1)]
        self.alpha = self.add_weight(shape=shape, name="alpha", initializer=self.alpha_initializer, **self._options)

    def call(self, inputs: Any) -> Operand:
        """The activation of the inputs."""
        return tf.relu(inputs) - self.alpha * tf.relu(-inputs)
