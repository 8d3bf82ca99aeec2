"""Distributions of single numbers."""

from __future__ import annotations

import math
from typing import Any

import graph_api as tf
from graph_api.control_flow.flow import with_dependencies
from graph_api.graphs.tensor import Tensor
from graph_api.legacy.distributions.base import NOT_REPARAMETERIZED, Distribution, RegisterKL, floats, positive

log, lgamma, digamma = tf.math.log, tf.math.lgamma, tf.math.digamma


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Normal") -> None:  # fmt: skip
        self.loc, scale = floats(loc, scale)
        (self.scale,) = positive(validate_args, scale)
        super().__init__(name, loc=self.loc, scale=self.scale)

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        return self.loc + self.scale * tf.random.normal(self._each(shape), dtype=self.dtype, seed=seed)

    def _z(self, value: Any) -> Tensor:
        return (value - self.loc) / self.scale

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        return -0.5 * tf.square(self._z(value)) - (0.5 * math.log(2 * math.pi) + log(self.scale))

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The probability of less than `value`."""
        return 0.5 * tf.math.erfc(-self._z(value) / math.sqrt(2))

    def quantile(self, value: Any, name: str | None = None) -> Tensor:
        """The inverse of `cdf`."""
        return self.loc + self.scale * tf.math.ndtri(value)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return 0.5 * math.log(2 * math.pi) + 0.5 + log(self.scale * tf.ones_like(self.loc))

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.loc * tf.ones_like(self.scale)

    mode = mean

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        return tf.square(self.scale * tf.ones_like(self.loc))

    def stddev(self, name: str | None = None) -> Tensor:
        """The standard deviation."""
        return self.scale * tf.ones_like(self.loc)


class Uniform(Distribution):
    """The uniform distribution on ``[low, high)``."""

    def __init__(self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Uniform") -> None:  # fmt: skip
        self.low, self.high = floats(low, high)
        if validate_args:
            order = tf.assert_less(self.low, self.high, message="not defined when low >= high")
            self.low = with_dependencies([order], self.low)
        super().__init__(name, low=self.low, high=self.high)

    def range(self, name: str | None = None) -> Tensor:
        """``high - low``."""
        return self.high - self.low

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        return self.low + self.range() * tf.random.uniform(self._each(shape), dtype=self.dtype, seed=seed)

    def prob(self, value: Any, name: str | None = None) -> Tensor:
        """The density."""
        value = tf.convert_to_tensor(value)
        inside = tf.cast(tf.logical_and(value >= self.low, value < self.high), self.dtype)
        return inside / self.range()

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        return log(self.prob(value))

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The probability of less than `value`."""
        return tf.clip_by_value((value - self.low) / self.range(), 0.0, 1.0)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return log(self.range())

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return (self.low + self.high) / 2

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        return tf.square(self.range()) / 12


class Gamma(Distribution):
    """The gamma distribution."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Gamma") -> None:  # fmt: skip
        self.concentration, self.rate = positive(validate_args, *floats(concentration, rate))
        super().__init__(name, concentration=self.concentration, rate=self.rate)

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        return tf.random.gamma(shape, self.concentration, self.rate, self.dtype, seed=seed)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        a, b = self.concentration, self.rate
        return (a - 1) * log(value) - b * value - (lgamma(a) - a * log(b))

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The probability of less than `value`."""
        return tf.math.igamma(self.concentration, self.rate * value)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        a = self.concentration
        return a - log(self.rate) + lgamma(a) + (1 - a) * digamma(a)

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        return self.concentration / tf.square(self.rate)


class Exponential(Gamma):
    """The exponential distribution."""

    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Exponential") -> None:  # fmt: skip
        (rate,) = floats(rate)
        super().__init__(tf.ones_like(rate), rate, validate_args, name=name)


class Beta(Distribution):
    """The beta distribution."""

    def __init__(self, concentration1: Any = 1.0, concentration0: Any = 1.0, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Beta") -> None:  # fmt: skip
        both = positive(validate_args, *floats(concentration1, concentration0))
        self.concentration1, self.concentration0 = both
        super().__init__(name, concentration1=self.concentration1, concentration0=self.concentration0)

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both."""
        return self.concentration1 + self.concentration0

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        ones = tf.ones_like(self.total_concentration)
        x = tf.random.gamma(shape, self.concentration1 * ones, dtype=self.dtype, seed=seed)
        other = None if seed is None else seed + 1
        return x / (x + tf.random.gamma(shape, self.concentration0 * ones, dtype=self.dtype, seed=other))

    def _normalizer(self) -> Tensor:
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self.total_concentration)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density."""
        a, b = self.concentration1, self.concentration0
        return tf.math.xlogy(a - 1, value) + (b - 1) * tf.math.log1p(-value) - self._normalizer()

    def cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The probability of less than `value`."""
        return tf.math.betainc(self.concentration1, self.concentration0, value)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return self._normalizer() - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (total - 2) * digamma(total)

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.concentration1 / self.total_concentration

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        return self.mean() * (1 - self.mean()) / (1 + self.total_concentration)


class Bernoulli(Distribution):
    """Truth values, given by logits or probabilities."""

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Bernoulli") -> None:  # fmt: skip
        if (logits is None) == (probs is None):
            raise ValueError("Bernoulli: give either `logits` or `probs`")
        (parameter,) = floats(probs if logits is None else logits)
        if validate_args and logits is None:
            bounds = [tf.assert_non_negative(parameter), tf.assert_less_equal(parameter, 1.0)]
            parameter = with_dependencies(bounds, parameter)
        self.logits = parameter if probs is None else log(parameter) - tf.math.log1p(-parameter)
        self.probs = tf.sigmoid(parameter) if probs is None else parameter
        super().__init__(name, probs=self.probs)
        self.dtype = tf.as_dtype(tf.int32 if dtype is None else dtype)

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        return tf.cast(tf.random.uniform(self._each(shape), dtype=self.probs.dtype, seed=seed) < self.probs, self.dtype)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the probability."""
        value = tf.cast(tf.convert_to_tensor(value), self.logits.dtype)
        both = tf.zeros_like(value) + tf.zeros_like(self.logits)
        return -tf.nn.sigmoid_cross_entropy_with_logits(labels=value + both, logits=self.logits + both)

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        return -self.logits * (self.probs - 1) + tf.nn.softplus(-self.logits)

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.probs

    def mode(self, name: str | None = None) -> Tensor:
        """The likelier value."""
        return tf.cast(self.probs > 0.5, self.dtype)

    def variance(self, name: str | None = None) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)


@RegisterKL(Normal, Normal)
def _normals(a: Any, b: Any) -> Tensor:
    ratio = tf.square(a.scale / b.scale)
    return tf.square(a.loc - b.loc) / (2 * tf.square(b.scale)) + 0.5 * (ratio - 1 - log(ratio))


@RegisterKL(Bernoulli, Bernoulli)
def _bernoullis(a: Any, b: Any) -> Tensor:
    first = tf.nn.softplus(-b.logits) - tf.nn.softplus(-a.logits)
    second = tf.nn.softplus(b.logits) - tf.nn.softplus(a.logits)
    return first * a.probs + second * (1 - a.probs)


@RegisterKL(Gamma, Gamma)
def _gammas(a: Any, b: Any) -> Tensor:
    p, q = a.concentration, b.concentration
    logs = q * (log(a.rate) - log(b.rate)) + p * (b.rate / a.rate - 1)
    return (p - q) * digamma(p) + lgamma(q) - lgamma(p) + logs


@RegisterKL(Beta, Beta)
def _betas(a: Any, b: Any) -> Tensor:
    pairs = ((a.concentration1, b.concentration1), (a.concentration0, b.concentration0))
    own = sum((digamma(p) * (p - q) for p, q in pairs), start=0.0)
    totals = (b.total_concentration - a.total_concentration) * digamma(a.total_concentration)
    return b._normalizer() - a._normalizer() + own + totals
