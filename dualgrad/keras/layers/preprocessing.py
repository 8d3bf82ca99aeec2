"""Layers that bring data into shape: `Normalization`, `Rescaling`, `Identity`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.settings import epsilon
from engine.core import nest
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, unmasked


class Rescaling(Layer):
    """``inputs * scale + offset``."""

    _hands_masks_on = True

    def __init__(self, scale: Any, offset: Any = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Operand:
        """The inputs, scaled and moved."""
        scale, offset = (self.host.tensor(x, self._dtype) for x in (self.scale, self.offset))
        return tf.cast(inputs, self._dtype) * scale + offset


class Normalization(Layer):
    """``(inputs - mean) / sqrt(variance)``, with numbers that are given, or that `adapt` finds in data.

    Parameters
    ----------
    axis : int, sequence of int or None
        The dimensions that have a mean and a variance for each entry; None: one for all.
    mean, variance : float or array, optional
        Both or none.
    invert : bool
        Whether to compute ``inputs * sqrt(variance) + mean``.

    Examples
    --------
    >>> import numpy as np, tape_api as tf
    >>> layer = tf.keras.layers.Normalization(axis=None)
    >>> layer.adapt(np.array([1.0, 3.0]))
    >>> layer([5.0]).numpy()
    array([3.], dtype=float32)
    """

    _hands_masks_on = True

    def __init__(
        self, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if (mean is None) != (variance is None):
            raise ValueError(
                f"When setting values directly, both `mean` and `variance` must be set. Received: {mean=}, {variance=}"
            )
        self.axis = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.input_mean, self.input_variance, self.invert = mean, variance, invert

    def build(self, input_shape: Any) -> None:
        """Make what `adapt` will set."""
        dims = TensorShape(input_shape).as_list()
        kept = sorted(a % len(dims) for a in self.axis)
        if any(dims[a] is None for a in kept):
            raise ValueError(f"All `axis` values to be kept must have a known shape. Got axis={self.axis}, {dims}")
        self._kept_axes, shape = kept, tuple(dims[a] for a in kept)
        self._wide = [d if a in kept else 1 for a, d in enumerate(dims)]
        if self.input_mean is None:
            self.adapt_mean = self.add_weight(name="mean", shape=shape, initializer="zeros", trainable=False)
            self.adapt_variance = self.add_weight(name="variance", shape=shape, initializer="ones", trainable=False)
            self.count = self.add_weight(name="count", shape=(), initializer="zeros", dtype="int32", trainable=False)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Find mean and variance: of an array, or of the batches of a data set."""
        if self.input_mean is not None:
            raise ValueError("Cannot `adapt` a Normalization layer that is initialized with static `mean`, `variance`")
        is_array = isinstance(data, (np.ndarray, list, tuple, Value))
        parts: Iterable[Any] = [data] if is_array else data
        batches = [unmasked(x, "adapt") for i, x in enumerate(parts) if steps is None or i < steps]
        first = batches[0]
        if not self.built:
            self.build(first.shape if not is_array or not first.ndim else (None, *first.shape[1:]))
        axes = tuple(a for a in range(first.ndim) if a not in self._kept_axes)
        whole = batches if is_array else [np.concatenate(batches)]
        mean, variance = whole[0].mean(axes, dtype=np.float64), whole[0].var(axes, dtype=np.float64)
        self.host.set_values([self.adapt_mean, self.adapt_variance], [mean, variance])

    def _known(self, given: Any, adapted: str) -> Operand:
        if not self.built:
            raise AttributeError(f"Normalization {self.name!r} has no mean and variance before it is built")
        if given is None:
            return tf.reshape(self.host.tensor(getattr(self, adapted)), self._wide)
        shape = [self._wide[a] for a in self._kept_axes]
        return tf.reshape(self.host.tensor(np.broadcast_to(np.asarray(given, self.dtype), shape)), self._wide)

    @property
    def mean(self) -> Operand:
        """The mean that is subtracted, with the rank of the inputs."""
        return self._known(self.input_mean, "adapt_mean")

    @property
    def variance(self) -> Operand:
        """The square of what is divided by, with the rank of the inputs."""
        return self._known(self.input_variance, "adapt_variance")

    def call(self, inputs: Any) -> Operand:
        """The inputs, normalized."""
        scale, x = tf.maximum(tf.sqrt(self.variance), epsilon()), tf.cast(inputs, self._dtype)
        return self.mean + x * scale if self.invert else (x - self.mean) / scale


class Identity(Layer):
    """Its inputs."""

    _hands_masks_on = True

    def call(self, inputs: Any) -> Any:
        """The inputs."""
        return nest.map_structure(lambda x: x, inputs)
