"""Layers that normalize: `BatchNormalization`, `LayerNormalization`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.settings import epsilon
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable
from engine.runtime.errors import ShapeError


def _size(layer: Layer, input_shape: Any, axis: int) -> int:
    """The number of features, which must be known."""
    shape = TensorShape(input_shape)
    if shape.rank is None or shape[axis] is None:
        raise ValueError(f"layer {layer.name!r}: dimension {axis} of the inputs must be known, got shape {shape}")
    return int(shape[axis])


class BatchNormalization(Layer):
    """Scales each feature to mean 0 and variance 1 over the batch, then by learned factors.

    Parameters
    ----------
    axis : int
        Which dimension holds the features.
    momentum : float
        How slowly the moving averages follow, which are used when not training.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether there is a learned offset (beta) and factor (gamma).
    beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer
        Of the weights.
    """

    _computes_wide = True
    _hands_masks_on = True

    fused: bool | None = None
    moving_mean: Variable
    moving_variance: Variable

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # files of Keras 2 have a list of one
        (self.axis,) = axis if isinstance(axis, (list, tuple)) else (axis,)
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self._initializers = {
            "gamma": gamma_initializer if scale else None,
            "beta": beta_initializer if center else None,
            "moving_mean": moving_mean_initializer,
            "moving_variance": moving_variance_initializer,
        }
        self._options: dict[str, dict[str, Any]] = {
            "gamma": {"regularizer": gamma_regularizer, "constraint": gamma_constraint},
            "beta": {"regularizer": beta_regularizer, "constraint": beta_constraint},
        }
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the learned weights and the moving averages."""
        size = _size(self, input_shape, self.axis)
        for name, initializer in self._initializers.items():
            if initializer is not None:
                options = {"trainable": not name.startswith("moving"), **self._options.get(name, {})}
                weight = self.add_weight(shape=(size,), initializer=initializer, name=name, **options)
                setattr(self, name, weight)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Operand:
        """The inputs, normalized by the batch (by what counts of it) while training, else by the moving averages."""
        inputs = self._numbers(inputs)
        dims = shape_of(inputs) or ()
        rank = len(dims)
        axis = self.axis % rank
        others = [a for a in range(rank) if a != axis]
        by_batch = False if training is None or not self.trainable else training
        moving = self.moving_mean, self.moving_variance
        kept = (lambda: moving) if by_batch is False else (lambda: tuple(map(tf.identity, moving)))
        mean, variance = self.host.choose(by_batch, lambda: self._moments(inputs, others, mask), kept)
        if by_batch is not False:
            # TensorFlow 1's kernel for images lets the average follow the unbiased variance
            unbiased = self.host.unbiased_images and self.fused is not False and rank == 4 and axis in (1, 3)
            followed = variance * self._correction(inputs, axis) if unbiased else variance
            self._move(by_batch, list(zip(moving, (mean, followed), strict=True)))
        parts = [mean, variance, self.beta, self.gamma]
        if axis != rank - 1:
            shape = [dims[a] if a == axis else 1 for a in range(rank)]
            parts = [None if x is None else tf.reshape(x, shape) for x in parts]
        return tf.batch_normalization(inputs, *parts, self.epsilon)

    def _moments(self, inputs: Any, axes: list[int], mask: Any) -> tuple[Operand, Operand]:
        if mask is None or not self.host.eager:  # TensorFlow 1's counts all
            return tuple(tf.moments(inputs, axes=axes))
        shapes = shape_of(mask), shape_of(inputs)
        if len(shapes[0] or ()) != len(shapes[1] or ()) - 1:
            raise ShapeError(f"layer {self.name!r}: a mask has one dimension less than the inputs, got {shapes}")
        counts = tf.broadcast_to(tf.expand_dims(tf.cast(mask, "bool"), -1), tf.shape(inputs))
        nothing = tf.zeros_like(inputs)
        count = tf.reduce_sum(tf.cast(counts, dtype_of(inputs)), axis=axes, keepdims=True) + epsilon()
        mean = tf.reduce_sum(tf.where(counts, inputs, nothing), axis=axes, keepdims=True) / count
        square = tf.where(counts, tf.square(inputs - mean), nothing)
        variance = tf.reduce_sum(square, axis=axes, keepdims=True) / count
        return tf.reshape(mean, [-1]), tf.reshape(variance, [-1])

    @staticmethod
    def _correction(inputs: Any, axis: int) -> Operand:
        """``n / (n - 1)`` for the number of elements that a feature has in the batch."""
        count = tf.cast(tf.size(inputs) // tf.shape(inputs)[axis], dtype_of(inputs))
        return count / tf.maximum(count - 1, 1)

    def _move(self, by_batch: Any, pairs: list[tuple[Any, Any]]) -> None:
        """Let the moving averages follow the batch; not at all if it turns out that they were used themselves."""

        def moved() -> list[Any]:
            new = [a * self.momentum + x * (1 - self.momentum) for a, x in pairs]
            return new if by_batch is True else [tf.where(by_batch, x, a) for x, (a, _) in zip(new, pairs, strict=True)]

        self.host.update(self, [a for a, _ in pairs], moved)


class LayerNormalization(Layer):
    """Scales each element of the batch to mean 0 and variance 1 along some axes, then by learned factors.

    Parameters
    ----------
    axis : int or sequence of int
        The last one by default.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether there is a learned offset (beta) and factor (gamma).
    beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint
        Of the weights.
    """

    _computes_wide = True
    _hands_masks_on = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon = list(axis) if isinstance(axis, (list, tuple)) else axis, epsilon
        self._options = {
            "gamma": (scale, gamma_initializer, gamma_regularizer, gamma_constraint),
            "beta": (center, beta_initializer, beta_regularizer, beta_constraint),
        }
        self.gamma: Any = None
        self.beta: Any = None

    def _axes(self, rank: int) -> list[int]:
        return sorted(a % rank for a in (self.axis if isinstance(self.axis, list) else [self.axis]))

    def build(self, input_shape: Any) -> None:
        """Make the learned weights."""
        axes = self._axes(TensorShape(input_shape).rank or 1)
        _add_factors(self, self._options, tuple(_size(self, input_shape, a) for a in axes))

    def call(self, inputs: Any) -> Operand:
        """The inputs, normalized."""
        inputs = self._numbers(inputs)
        rank = len(shape_of(inputs) or ())
        axes = self._axes(rank)
        mean, variance = tf.moments(inputs, axes=axes, keepdims=True)
        factors = [self.beta, self.gamma]
        if axes != [rank - 1]:
            dims = [shape_of(inputs)[a] if a in axes else 1 for a in range(rank)]  # type: ignore[index]
            factors = [None if x is None else tf.reshape(x, dims) for x in factors]
        return tf.batch_normalization(inputs, mean, variance, *factors, self.epsilon)


def _add_factors(layer: Layer, options: Mapping[str, tuple[Any, ...]], shape: tuple[int, ...]) -> None:
    """Make the learned numbers of a layer."""
    for name, (wanted, initializer, regularizer, constraint) in options.items():
        if wanted:
            made = layer.add_weight(
                shape=shape, name=name, initializer=initializer, regularizer=regularizer, constraint=constraint
            )
            setattr(layer, name, made)
