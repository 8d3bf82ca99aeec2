"""Initializers under TensorFlow 1's names; what each computes is in `dualgrad.frontend.initializers`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from dualgrad.frontend import initializers
from dualgrad.frontend.initializers import Initializer
from engine.core.operands import Operand
from graph_api import sampling


class _Drawn(Initializer):
    """Base of those that draw the graph's random numbers."""

    source: ClassVar[Any] = sampling


class zeros_initializer(initializers.Zeros):
    """Zeros."""


class ones_initializer(initializers.Ones):
    """Ones."""


class constant_initializer(initializers.Constant):
    """A given value everywhere, or a given array, whose last element fills what it leaves unless `verify_shape`."""

    def _filled(self, array: np.ndarray, size: int) -> np.ndarray:
        if self.verify_shape or not 0 < array.size < size:
            return super()._filled(array, size)
        flat = array.ravel()
        return np.concatenate([flat, np.full(size - flat.size, flat[-1], flat.dtype)])


class identity_initializer(initializers.Identity):
    """A multiple of the identity matrix."""


class random_uniform_initializer(_Drawn, initializers.RandomUniform):
    """Uniform on [minval, maxval)."""

    def __init__(self, minval: float = 0.0, maxval: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(minval, maxval, seed, dtype)


class random_normal_initializer(_Drawn, initializers.RandomNormal):
    """Normal with the given mean and standard deviation."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(mean, stddev, seed, dtype)


class truncated_normal_initializer(_Drawn, initializers.TruncatedNormal):
    """Normal, but values further than two standard deviations from the mean are drawn again."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(mean, stddev, seed, dtype)


class variance_scaling_initializer(_Drawn, initializers.VarianceScaling):
    """Random values whose variance is scaled by the number of inputs or outputs."""


class uniform_unit_scaling_initializer(_Drawn):
    """Uniform, so that a product with it keeps the scale of its input (Sussillo and Abbott, 2014).

    The bound is ``factor * sqrt(3 / inputs)``, where the inputs are all axes but the last.
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        self.factor, self.dtype = factor, dtype
        self._take_seed(seed)

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """The values that the class computes."""
        bound = math.sqrt(3.0 / max(1, math.prod(shape[:-1]))) * self.factor
        return self.source.uniform(shape, -bound, bound, dtype, seed=self.seed)


class glorot_uniform_initializer(_Drawn, initializers.GlorotUniform):
    """Uniform, scaled by the mean of the numbers of inputs and outputs (Glorot and Bengio, 2010)."""


class glorot_normal_initializer(_Drawn, initializers.GlorotNormal):
    """Truncated normal, scaled by the mean of the numbers of inputs and outputs (Glorot and Bengio, 2010)."""


class he_normal_initializer(_Drawn, initializers.HeNormal):
    """Truncated normal, scaled for rectifiers (He et al., 2015)."""


class he_uniform_initializer(_Drawn, initializers.HeUniform):
    """Uniform, scaled for rectifiers (He et al., 2015)."""


class lecun_normal_initializer(_Drawn, initializers.LecunNormal):
    """Truncated normal, of variance 1 over the number of inputs."""


class lecun_uniform_initializer(_Drawn, initializers.LecunUniform):
    """Uniform, of variance 1 over the number of inputs."""


class orthogonal_initializer(_Drawn, initializers.Orthogonal):
    """A random matrix with orthonormal rows or columns, times `gain`."""


__all__ = [
    "Initializer", "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "he_normal_initializer", "he_uniform_initializer", "identity_initializer", "lecun_normal_initializer",
    "lecun_uniform_initializer", "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
    "random_uniform_initializer", "truncated_normal_initializer", "uniform_unit_scaling_initializer",
    "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip
