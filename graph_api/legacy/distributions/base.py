"""The base of the distributions, and the Kullback-Leibler divergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graph_api as tf
from engine.core.tensor_shape import TensorShape
from engine.runtime.faces import Shown
from graph_api.control_flow.flow import with_dependencies
from graph_api.graphs.tensor import Tensor

FULLY_REPARAMETERIZED = "FULLY_REPARAMETERIZED"
NOT_REPARAMETERIZED = "NOT_REPARAMETERIZED"

_divergences: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
"""The formulas of `kl_divergence` for two classes."""


def floats(*values: Any) -> list[Any]:
    """Parameters as tensors of one floating dtype."""
    known = next((v.dtype for v in values if hasattr(v, "dtype")), tf.float32)
    return [tf.convert_to_tensor(v, dtype=None if hasattr(v, "dtype") else known) for v in values]


def positive(validate_args: bool, *values: Tensor) -> list[Tensor]:
    """The parameters, guarded against what is not positive if asked for."""
    return [with_dependencies([tf.assert_positive(v)], v) if validate_args else v for v in values]


class Distribution:
    """Base of the distributions: what follows from `log_prob` and `_sample`."""

    reparameterization_type = FULLY_REPARAMETERIZED
    event_ndims = 0

    def __init__(self, name: str | None = None, **parameters: Any) -> None:
        self.name = name or type(self).__name__
        self.parameters = parameters
        first = next(iter(parameters.values()))
        self.dtype = first.dtype

    # what each distribution defines, as far as it has it
    _sample: Any
    log_prob: Any
    cdf: Any
    mean: Any
    mode: Any
    variance: Any
    entropy: Any

    def _like(self) -> Any:
        """Zeros of the shape of the parameters, broadcast together."""
        return sum((tf.zeros_like(p) for p in self.parameters.values()), start=0.0)

    def batch_shape_tensor(self, name: str | None = None) -> Tensor:
        """The shape of the parameters."""
        shape = tf.shape(self._like())
        return shape[: -self.event_ndims] if self.event_ndims else shape

    def event_shape_tensor(self, name: str | None = None) -> Tensor:
        """The shape of one sample for one set of parameters."""
        return tf.shape(self._like())[-self.event_ndims :] if self.event_ndims else tf.zeros([0], tf.int32)

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the parameters."""
        return self._like().shape[: -self.event_ndims or None]

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one sample for one set of parameters."""
        shape = self._like().shape
        return shape[-self.event_ndims :] if self.event_ndims else shape[:0]

    def sample(self, sample_shape: Any = (), seed: Any = None, name: str | None = None) -> Tensor:
        """Samples: of the shape asked for, followed by that of the parameters."""
        return self._sample(tf.reshape(tf.convert_to_tensor(sample_shape, dtype=tf.int32), [-1]), seed)

    def _each(self, shape: Any) -> Tensor:
        """The shape of samples that are drawn element by element."""
        return tf.concat([shape, tf.shape(self._like())], 0)

    def prob(self, value: Any, name: str | None = None) -> Tensor:
        """The density (or probability) of values."""
        return tf.exp(self.log_prob(value))

    def log_cdf(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of `cdf`."""
        return tf.math.log(self.cdf(value))

    def survival_function(self, value: Any, name: str | None = None) -> Tensor:
        """``1 - cdf(value)``."""
        return 1 - self.cdf(value)

    def log_survival_function(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of `survival_function`."""
        return tf.math.log(self.survival_function(value))

    def stddev(self, name: str | None = None) -> Tensor:
        """The standard deviation."""
        return tf.sqrt(self.variance())

    def is_scalar_batch(self, name: str | None = None) -> Tensor:
        """Whether there is one set of parameters."""
        return tf.equal(tf.size(self.batch_shape_tensor()), 0)

    def is_scalar_event(self, name: str | None = None) -> Tensor:
        """Whether a sample for one set of parameters is one number."""
        return tf.equal(tf.size(self.event_shape_tensor()), 0)

    def kl_divergence(self, other: Any, name: str | None = None) -> Tensor:
        """See the function `kl_divergence`."""
        return kl_divergence(self, other)

    def cross_entropy(self, other: Any, name: str | None = None) -> Tensor:
        """``entropy() + kl_divergence(other)``."""
        return self.entropy() + kl_divergence(self, other)

    def __repr__(self) -> str:
        return f"tf.distributions.{type(self).__name__}({self.name!r}, batch_shape={self.batch_shape})"


def kl_divergence(distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True,
                  name: str | None = None) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence of `distribution_b` from `distribution_a`.

    Raises
    ------
    NotImplementedError
        If there is no formula for the two (`RegisterKL` adds one).
    """
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _divergences:
                return _divergences[a, b](distribution_a, distribution_b)
    raise NotImplementedError(
        f"kl_divergence: there is no formula for {type(distribution_a).__name__} and "
        f"{type(distribution_b).__name__}; add one with RegisterKL"
    )


class RegisterKL(Shown):
    """Decorator: the formula of `kl_divergence` for two classes."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._pair = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Note the formula."""
        _divergences[self._pair] = kl_fn
        return kl_fn
