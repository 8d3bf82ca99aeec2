"""Distributions made of others: mixtures, several numbers as one event, and images under a bijector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graph_api as tf
from engine.core.tensor_shape import TensorShape
from graph_api.legacy.distributions.base import NOT_REPARAMETERIZED, Distribution
from graph_api.legacy.distributions.bijectors import Bijector, Exp
from graph_api.legacy.distributions.scalars import Normal
from graph_api.legacy.distributions.vectors import Categorical
from graph_api.tensor import Tensor


class _Made(Distribution):
    """A distribution whose shapes and dtype are those of another one."""

    def __init__(self, name: str | None, base: Distribution) -> None:
        self.name = name or type(self).__name__
        self.parameters = dict(base.parameters)
        self.dtype = base.dtype
        self.event_ndims = base.event_ndims
        self._base = base

    def _like(self) -> Any:
        return self._base._like()


class Independent(_Made):
    """The same numbers as those of a distribution, with some axes of its batch as axes of the event.

    Parameters
    ----------
    distribution
        Of numbers or vectors.
    reinterpreted_batch_ndims
        How many of the last axes of the batch; all but the first by default.
    """

    def __init__(self, distribution: Distribution, reinterpreted_batch_ndims: int | None = None,
                 validate_args: bool = False, name: str | None = None) -> None:  # fmt: skip
        super().__init__(name, distribution)
        rank = len(distribution.batch_shape)
        self._axes = max(rank - 1, 0) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        if not 0 <= self._axes <= rank:
            raise ValueError(f"Independent: `reinterpreted_batch_ndims` must be from 0 to {rank}, got {self._axes}")
        self.distribution = distribution
        self.event_ndims = distribution.event_ndims + self._axes
        self.reparameterization_type = distribution.reparameterization_type

    def _summed(self, x: Any) -> Tensor:
        return tf.reduce_sum(x, list(range(-self._axes, 0))) if self._axes else x

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str | None = None) -> Tensor:
        """Samples of the distribution."""
        return self.distribution.sample(sample_shape, seed)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density of whole events."""
        return self._summed(self.distribution.log_prob(value))

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return self._summed(self.distribution.entropy())

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.distribution.mean()

    def mode(self, name: str | None = None) -> Tensor:
        """The value of the highest density."""
        return self.distribution.mode()

    def variance(self, name: str | None = None) -> Tensor:
        """The variance of each number."""
        return self.distribution.variance()


class Mixture(_Made):
    """One of several distributions, chosen by a `Categorical` of the same batch."""

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(self, cat: Categorical, components: Sequence[Distribution], validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Mixture") -> None:  # fmt: skip
        if not isinstance(cat, Categorical) or not components:
            raise TypeError("Mixture: `cat` must be a Categorical, and `components` a list of distributions")
        super().__init__(name, components[0])
        self.cat, self.components = cat, list(components)
        self._shares = tf.nn.log_softmax(cat.logits)

    def _weighted(self, values: Sequence[Any]) -> Tensor:
        """The mean of one value of each component."""
        shares = tf.unstack(tf.exp(self._shares), num=len(self.components), axis=-1)
        wide = [s if not self.event_ndims else tf.expand_dims(s, -1) for s in shares]
        return tf.add_n([share * value for share, value in zip(wide, values, strict=True)])

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str | None = None) -> Tensor:
        """Samples; gradients do not pass through the choice."""
        seeds = [None if seed is None else seed + i for i in range(len(self.components) + 1)]
        drawn = tf.stack([c.sample(sample_shape, s) for c, s in zip(self.components, seeds[1:], strict=True)])
        mask = tf.one_hot(self.cat.sample(sample_shape, seeds[0]), len(self.components), axis=0, dtype=self.dtype)
        return tf.reduce_sum(drawn * (tf.expand_dims(mask, -1) if self.event_ndims else mask), 0)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        shares = tf.unstack(self._shares, num=len(self.components), axis=-1)
        parts = [share + c.log_prob(value) for share, c in zip(shares, self.components, strict=True)]
        return tf.reduce_logsumexp(tf.stack(parts, -1), -1)

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self._weighted([c.mean() for c in self.components])

    def variance(self, name: str | None = None) -> Tensor:
        """The variance: that within the components, and that of their means."""
        square = self._weighted([c.variance() + tf.square(c.mean()) for c in self.components])
        return square - tf.square(self.mean())


class MixtureSameFamily(Mixture):
    """A mixture whose components are the last axis of one distribution's batch."""

    def __init__(self, mixture_distribution: Categorical, components_distribution: Distribution,
                 validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MixtureSameFamily") -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise TypeError("MixtureSameFamily: `mixture_distribution` must be a Categorical")
        _Made.__init__(self, name, components_distribution)
        self.mixture_distribution, self.components_distribution = mixture_distribution, components_distribution
        self._shares = tf.nn.log_softmax(mixture_distribution.logits)
        self._axis = -1 - self.event_ndims

    def _like(self) -> Any:
        return tf.reduce_sum(self.components_distribution._like(), self._axis)

    def _spread(self, x: Any) -> Tensor:
        """Weights of components beside the axes of an event."""
        return tf.expand_dims(x, -1) if self.event_ndims else x

    def _weighted(self, values: Any) -> Tensor:
        return tf.reduce_sum(self._spread(tf.exp(self._shares)) * values, self._axis)

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str | None = None) -> Tensor:
        """Samples; gradients do not pass through the choice."""
        drawn = self.components_distribution.sample(sample_shape, None if seed is None else seed + 1)
        chosen = self.mixture_distribution.sample(sample_shape, seed)
        mask = tf.one_hot(chosen, tf.shape(self._shares)[-1], dtype=self.dtype)
        mask = tf.reshape(mask, tf.shape(drawn)[: tf.rank(drawn) - self.event_ndims])
        return tf.reduce_sum(drawn * self._spread(mask), self._axis)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        value = tf.expand_dims(tf.convert_to_tensor(value, dtype=self.dtype), self._axis)
        return tf.reduce_logsumexp(self._shares + self.components_distribution.log_prob(value), -1)

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self._weighted(self.components_distribution.mean())

    def variance(self, name: str | None = None) -> Tensor:
        """The variance: that within the components, and that of their means."""
        within = self.components_distribution
        return self._weighted(within.variance() + tf.square(within.mean())) - tf.square(self.mean())


class TransformedDistribution(_Made):
    """Samples of a distribution, mapped by a bijector.

    The density is that of the sample which was there before, times how much the bijector's inverse stretches.
    """

    def __init__(self, distribution: Distribution, bijector: Bijector, validate_args: bool = False,
                 name: str | None = None, event_shape: Any = None, batch_shape: Any = None) -> None:  # fmt: skip
        if event_shape is not None or batch_shape is not None:
            raise NotImplementedError(
                f"{type(self).__name__}: `event_shape` and `batch_shape` are not supported; give a distribution of the "
                "whole shape, for instance Independent(Normal(tf.zeros(shape), 1.0))"
            )
        super().__init__(name, distribution)
        self.distribution, self.bijector = distribution, bijector
        self.event_ndims = max(distribution.event_ndims, bijector.event_ndims)
        self.reparameterization_type = distribution.reparameterization_type

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one sample for one set of parameters."""
        shape = self._like().shape
        return shape[len(shape) - self.event_ndims :]

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str | None = None) -> Tensor:
        """Samples: of the shape asked for, followed by that of the parameters."""
        return self.bijector.forward(self.distribution.sample(sample_shape, seed))

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        x = self.bijector.inverse(value)
        before = self.distribution.log_prob(x)
        more = self.event_ndims - self.distribution.event_ndims
        if more:
            before = tf.reduce_sum(before, list(range(-more, 0)))
        return before + self.bijector.inverse_log_det_jacobian(value, self.event_ndims)

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The probability of less than `value`, for bijectors of numbers that increase."""
        if self.event_ndims:
            raise NotImplementedError(f"{type(self).__name__}: there is no cdf of vectors")
        return self.distribution.cdf(self.bijector.inverse(value))


class LogNormal(TransformedDistribution):
    """Numbers whose logarithm is normal."""

    def __init__(self, loc: Any = None, scale: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "LogNormal") -> None:  # fmt: skip
        normal = Normal(loc, scale)
        super().__init__(normal, Exp(), name=name)
        self.loc, self.scale = normal.loc, normal.scale

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return tf.exp(self.distribution.mean() + 0.5 * self.distribution.variance())

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        spread = self.distribution.variance()
        return tf.math.expm1(spread) * tf.exp(2 * self.distribution.mean() + spread)

    def mode(self, name: str | None = None) -> Tensor:
        """The value of the highest density."""
        return tf.exp(self.distribution.mean() - self.distribution.variance())

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return self.distribution.mean() + self.distribution.entropy()
