"""Layers that normalize: `BatchNormalization`, `LayerNormalization`."""

from __future__ import annotations

from typing import Any

from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable


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

    _hands_masks_on = True

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
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
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

    def call(self, inputs: Any, training: bool = False) -> Operand:
        """The inputs, normalized by the batch while training, else by the moving averages."""
        dims = shape_of(inputs) or ()
        rank = len(dims)
        axis = self.axis % rank
        others = [a for a in range(rank) if a != axis]
        by_batch = training if self.trainable else False
        moving = self.moving_mean, self.moving_variance
        mean, variance = self.host.choose(
            by_batch, lambda: tuple(tf.moments(inputs, axes=others)), lambda: tuple(map(tf.identity, moving))
        )
        if by_batch is not False:
            # TensorFlow 1's kernel for images lets the average follow the unbiased variance
            unbiased = self.host.unbiased_images and rank == 4 and axis in (1, 3)
            followed = variance * self._correction(inputs, axis) if unbiased else variance
            self._move(by_batch, list(zip(moving, (mean, followed), strict=True)))
        shape: list[int | None] = [1] * rank
        shape[axis] = dims[axis]
        mean, variance, beta, gamma = (
            None if x is None else tf.reshape(x, shape) for x in (mean, variance, self.beta, self.gamma)
        )
        return tf.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)

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
    """Scales each element of the batch to mean 0 and variance 1 along an axis, then by learned factors.

    Parameters
    ----------
    axis : int
        The last one, -1.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether there is a learned offset (beta) and factor (gamma).
    beta_initializer, gamma_initializer
        Of the weights.
    """

    _hands_masks_on = True

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if axis != -1:
            raise ValueError(f"LayerNormalization: only axis=-1 is supported, got {axis}")
        self.axis, self.epsilon = axis, epsilon
        self._initializers = {
            "gamma": gamma_initializer if scale else None,
            "beta": beta_initializer if center else None,
        }
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the learned weights."""
        size = _size(self, input_shape, -1)
        for name, initializer in self._initializers.items():
            if initializer is not None:
                setattr(self, name, self.add_weight(shape=(size,), initializer=initializer, name=name))

    def call(self, inputs: Any) -> Operand:
        """The inputs, normalized."""
        mean, variance = tf.moments(inputs, axes=[-1], keepdims=True)
        return tf.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)


__all__ = ["BatchNormalization", "LayerNormalization"]
