"""Layers that normalise: `BatchNormalization`, `LayerNormalization`."""

from __future__ import annotations

from typing import Any

from engine.core.tensor_shape import TensorShape
from optim.state import step
from tape_api.keras.layers.base import Layer
from tape_api.library import root as tf
from tape_api.variable import Variable


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
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the learned weights and the moving averages."""
        size = TensorShape(input_shape)[self.axis]
        for name, initializer in self._initializers.items():
            if initializer is not None:
                trained = not name.startswith("moving")
                weight = self.add_weight(shape=(size,), initializer=initializer, name=name, trainable=trained)
                setattr(self, name, weight)

    def call(self, inputs: Any, training: bool = False) -> Any:
        """The inputs, normalised by the batch while training, else by the moving averages."""
        rank = len(inputs.shape)
        axis = self.axis % rank
        others = [a for a in range(rank) if a != axis]
        if training and self.trainable:
            mean, variance = tf.nn.moments(inputs, axes=others)
            pairs = ((self.moving_mean, mean), (self.moving_variance, variance))
            step([a for a, _ in pairs], lambda: [a * self.momentum + x * (1 - self.momentum) for a, x in pairs])
        else:
            mean, variance = tf.identity(self.moving_mean), tf.identity(self.moving_variance)
        shape = [1] * rank
        shape[axis] = inputs.shape[axis]
        mean, variance, beta, gamma = (
            None if x is None else tf.reshape(x, shape) for x in (mean, variance, self.beta, self.gamma)
        )
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)


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
        size = TensorShape(input_shape)[-1]
        for name, initializer in self._initializers.items():
            if initializer is not None:
                setattr(self, name, self.add_weight(shape=(size,), initializer=initializer, name=name))

    def call(self, inputs: Any) -> Any:
        """The inputs, normalised."""
        mean, variance = tf.nn.moments(inputs, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)
