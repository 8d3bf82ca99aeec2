"""Normal distributions of vectors whose elements depend on each other."""

from __future__ import annotations

import math
from typing import Any

import graph_api as tf
from graph_api.legacy.distributions.base import Distribution, RegisterKL, floats
from graph_api.tensor import Tensor


def _times(matrix: Any, vector: Any) -> Tensor:
    """The product of matrices and vectors, whose leading axes are broadcast."""
    return tf.reduce_sum(matrix * tf.expand_dims(vector, -2), -1)


class MultivariateNormalTriL(Distribution):
    """Vectors ``loc + scale_tril @ z``, where z is standard normal.

    Parameters
    ----------
    loc
        ``[..., k]``; zeros by default.
    scale_tril
        ``[..., k, k]``, a lower triangle with a diagonal other than 0; what stands above the diagonal is not read.
    """

    event_ndims = 1

    def __init__(self, loc: Any = None, scale_tril: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "MultivariateNormalTriL") -> None:  # fmt: skip
        if scale_tril is None:
            raise ValueError(f"{type(self).__name__}: give `scale_tril`, a lower triangle")
        (scale,) = floats(scale_tril)
        self._tril = tf.linalg.band_part(scale, -1, 0)
        self.loc = tf.zeros_like(scale[..., 0]) if loc is None else tf.convert_to_tensor(loc, dtype=scale.dtype)
        super().__init__(name, loc=self.loc, scale_tril=self._tril)

    def _like(self) -> Any:
        return tf.zeros_like(self.loc) + tf.zeros_like(self._tril[..., 0])

    def _sample(self, shape: Any, seed: Any) -> Tensor:
        return self.loc + _times(self._tril, tf.random.normal(shape, dtype=self.dtype, seed=seed))

    def _log_volume(self) -> Tensor:
        return tf.reduce_sum(tf.math.log(tf.abs(tf.linalg.diag_part(self._tril))), -1)

    def _whitened(self, value: Any) -> Tensor:
        """The vectors z that belong to values."""
        moved = tf.expand_dims(tf.convert_to_tensor(value, dtype=self.dtype) - self.loc, -1)
        whole = tf.broadcast_dynamic_shape(tf.shape(self._tril)[:-2], tf.shape(moved)[:-2])
        scale = tf.broadcast_to(self._tril, tf.concat([whole, tf.shape(self._tril)[-2:]], 0))
        moved = tf.broadcast_to(moved, tf.concat([whole, tf.shape(moved)[-2:]], 0))
        return tf.squeeze(tf.linalg.triangular_solve(scale, moved), -1)

    def log_prob(self, value: Any, name: str | None = None) -> Tensor:
        """The logarithm of the density of vectors."""
        z = self._whitened(value)
        size = tf.cast(tf.shape(self._tril)[-1], self.dtype)
        return -0.5 * (tf.reduce_sum(tf.square(z), -1) + size * math.log(2 * math.pi)) - self._log_volume()

    def entropy(self, name: str | None = None) -> Tensor:
        """The entropy in nats."""
        size = tf.cast(tf.shape(self._tril)[-1], self.dtype)
        return 0.5 * size * (1 + math.log(2 * math.pi)) + self._log_volume() + tf.zeros_like(self._like()[..., 0])

    def mean(self, name: str | None = None) -> Tensor:
        """The mean."""
        return self.loc + self._like()

    mode = mean

    def covariance(self, name: str | None = None) -> Tensor:
        """The matrices of covariances."""
        return tf.matmul(self._tril, self._tril, transpose_b=True)

    def variance(self, name: str | None = None) -> Tensor:
        """The variance of each element."""
        return tf.reduce_sum(tf.square(self._tril), -1) + self._like()


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Vectors of a given matrix of covariances, ``[..., k, k]``, symmetric and positive definite."""

    def __init__(self, loc: Any = None, covariance_matrix: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "MultivariateNormalFullCovariance") -> None:  # fmt: skip
        if covariance_matrix is None:
            raise ValueError("MultivariateNormalFullCovariance: give `covariance_matrix`")
        (covariance,) = floats(covariance_matrix)
        super().__init__(loc, tf.linalg.cholesky(covariance), name=name)


@RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
def _triangles(a: Any, b: Any) -> Tensor:
    ratio = tf.linalg.triangular_solve(b._tril, a._tril)
    size = tf.cast(tf.shape(a._tril)[-1], a.dtype)
    spread = tf.reduce_sum(tf.square(ratio), [-2, -1]) + tf.reduce_sum(tf.square(b._whitened(a.loc)), -1)
    return b._log_volume() - a._log_volume() + 0.5 * (spread - size)
