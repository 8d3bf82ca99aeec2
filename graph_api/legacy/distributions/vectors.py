"""Distributions of vectors: of numbers, classes, counts and probabilities."""

from __future__ import annotations

from typing import Any

import graph_api as tf
from graph_api.control_flow.flow import with_dependencies
from graph_api.graphs.tensor import Tensor
from graph_api.legacy.distributions.base import NOT_REPARAMETERIZED, Distribution, RegisterKL, floats, positive
from graph_api.legacy.distributions.scalars import Normal

log, lgamma, digamma = tf.math.log, tf.math.lgamma, tf.math.digamma


def _total(x: Any) -> Tensor:
    """The sum along the last axis."""
    return tf.reduce_sum(x, -1)


def _lbeta(x: Any) -> Tensor:
    """The logarithm of the beta function of vectors."""
    return _total(lgamma(x)) - lgamma(_total(x))


class MultivariateNormalDiag(Normal):
    """Independent normal distributions, whose last axis is one event."""

    event_ndims = 1

    def __init__(self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
                 validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalDiag") -> None:  # fmt: skip
        if loc is None and scale_diag is None:
            raise ValueError("MultivariateNormalDiag: give `loc` or `scale_diag`")
        parameter = loc if loc is not None else scale_diag
        scale = tf.ones_like(parameter) if scale_diag is None else scale_diag
        if scale_identity_multiplier is not None:
            factor = tf.expand_dims(tf.convert_to_tensor(scale_identity_multiplier), -1)
            scale = factor * tf.ones_like(parameter) if scale_diag is None else scale + factor
        super().__init__(tf.zeros_like(parameter) if loc is None else loc, scale, validate_args, name=name)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density of vectors."""
        return tf.reduce_sum(super().log_prob(value), -1)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return tf.reduce_sum(super().entropy(), -1)

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """Not implemented.

        Raises
        ------
        NotImplementedError
        """
        raise NotImplementedError("MultivariateNormalDiag: there is no cdf")


class Categorical(Distribution):
    """Classes, given by logits or probabilities along the last axis."""

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Categorical") -> None:  # fmt: skip
        if (logits is None) == (probs is None):
            raise ValueError("Categorical: give either `logits` or `probs`")
        (parameter,) = floats(probs if logits is None else logits)
        if validate_args and logits is None:
            sums = tf.debugging.assert_near(_total(parameter), tf.ones_like(_total(parameter)))
            parameter = with_dependencies([tf.assert_non_negative(parameter), sums], parameter)
        self.logits = parameter if probs is None else log(parameter)
        self.probs = tf.nn.softmax(parameter) if probs is None else parameter
        super().__init__(name, probs=self.probs)
        self.dtype = tf.as_dtype(tf.int32 if dtype is None else dtype)

    def _like(self) -> Tensor:
        return tf.zeros_like(self.logits[..., 0])

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        return tf.shape(self.logits)[-1]

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        rows = tf.reshape(self.logits, tf.stack([-1, self.event_size]))
        drawn = tf.random.categorical(rows, tf.reduce_prod(shape), seed=seed)
        drawn = tf.reshape(tf.transpose(drawn), tf.concat([shape, tf.shape(self.logits)[:-1]], 0))
        return tf.cast(drawn, self.dtype)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the probability of classes."""
        value = tf.cast(tf.convert_to_tensor(value), tf.int32)
        one_hot = tf.one_hot(value, self.event_size, dtype=self.logits.dtype)
        return tf.reduce_sum(one_hot * tf.nn.log_softmax(self.logits), -1)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return -tf.reduce_sum(tf.nn.log_softmax(self.logits) * tf.nn.softmax(self.logits), -1)

    def mode(self, name: str | None = None) -> Tensor:
        """The likeliest class."""
        return tf.cast(tf.argmax(self.logits, -1), self.dtype)


class Dirichlet(Distribution):
    """The Dirichlet distribution, of probabilities along the last axis."""

    event_ndims = 1

    def __init__(self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Dirichlet") -> None:  # fmt: skip
        (self.concentration,) = positive(validate_args, *floats(concentration))
        self.allow_nan_stats = allow_nan_stats
        super().__init__(name, concentration=self.concentration)

    @property
    def total_concentration(self) -> Tensor:
        """The sum along the last axis."""
        return _total(self.concentration)

    def _mean(self) -> Tensor:
        return self.concentration / tf.expand_dims(self.total_concentration, -1)

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        drawn = tf.random.gamma(shape, self.concentration, dtype=self.dtype, seed=seed)
        return drawn / tf.expand_dims(_total(drawn), -1)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        return _total(tf.math.xlogy(self.concentration - 1, value)) - _lbeta(self.concentration)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        c, size = self.concentration, tf.cast(tf.shape(self.concentration)[-1], self.dtype)
        own = (self.total_concentration - size) * digamma(self.total_concentration)
        return _lbeta(c) + own - _total((c - 1) * digamma(c))

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self._mean()

    def mode(self, name: str | None = None) -> Tensor:
        """The likeliest vector; NaN, or an error unless `allow_nan_stats`, where a concentration is not above 1."""
        c, size = self.concentration, tf.cast(tf.shape(self.concentration)[-1], self.dtype)
        mode = (c - 1) / tf.expand_dims(self.total_concentration - size, -1)
        if not self.allow_nan_stats:
            return with_dependencies([tf.assert_greater(c, 1.0, message="Mode undefined")], mode)
        above = tf.reduce_all(c > 1, -1, keepdims=True)
        return tf.where(tf.logical_and(above, c > 1), mode, tf.zeros_like(c) + float("nan"))

    def variance(self, name: str | None = None) -> Tensor:
        """The variance of each element."""
        mean = self._mean()
        return mean * (1 - mean) / tf.expand_dims(1 + self.total_concentration, -1)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _vectors(a: Any, b: Any) -> Tensor:
    return _total(Normal(a.loc, a.scale).kl_divergence(Normal(b.loc, b.scale)))


@RegisterKL(Categorical, Categorical)
def _categoricals(a: Any, b: Any) -> Tensor:
    difference = tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)
    return tf.reduce_sum(tf.nn.softmax(a.logits) * difference, -1)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlets(a: Any, b: Any) -> Tensor:
    slopes = digamma(a.concentration) - tf.expand_dims(digamma(a.total_concentration), -1)
    own = _total((a.concentration - b.concentration) * slopes)
    return own - _lbeta(a.concentration) + _lbeta(b.concentration)
