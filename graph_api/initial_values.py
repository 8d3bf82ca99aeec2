"""Initializers under TensorFlow 1's names; what each computes is in `dualgrad.frontend.initializers`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from dualgrad.frontend import initializers
from dualgrad.frontend.initializers import Initializer
from engine.core.operands import Operand
from graph_api import sampling

_made = initializers.version1(__name__, sampling)
zeros_initializer = _made("zeros_initializer", initializers.Zeros)
ones_initializer = _made("ones_initializer", initializers.Ones)
identity_initializer = _made("identity_initializer", initializers.Identity)
random_uniform_initializer = _made("random_uniform_initializer", initializers.UnitUniform)
random_normal_initializer = _made("random_normal_initializer", initializers.UnitNormal)
truncated_normal_initializer = _made("truncated_normal_initializer", initializers.UnitTruncatedNormal)
variance_scaling_initializer = _made("variance_scaling_initializer", initializers.VarianceScaling)
glorot_uniform_initializer = _made("glorot_uniform_initializer", initializers.GlorotUniform)
glorot_normal_initializer = _made("glorot_normal_initializer", initializers.GlorotNormal)
he_normal_initializer = _made("he_normal_initializer", initializers.HeNormal)
he_uniform_initializer = _made("he_uniform_initializer", initializers.HeUniform)
lecun_normal_initializer = _made("lecun_normal_initializer", initializers.LecunNormal)
lecun_uniform_initializer = _made("lecun_uniform_initializer", initializers.LecunUniform)
orthogonal_initializer = _made("orthogonal_initializer", initializers.Orthogonal)


class constant_initializer(initializers.Constant):
    """A given value everywhere, or a given array, whose last element fills what it leaves unless `verify_shape`."""

    def _filled(self, array: np.ndarray, size: int) -> np.ndarray:
        if self.verify_shape or not 0 < array.size < size:
            return super()._filled(array, size)
        flat = array.ravel()
        return np.concatenate([flat, np.full(size - flat.size, flat[-1], flat.dtype)])


class uniform_unit_scaling_initializer(Initializer):
    """Uniform, so that a product with it keeps the scale of its input (Sussillo and Abbott, 2014).

    The bound is ``factor * sqrt(3 / inputs)``, where the inputs are all axes but the last.
    """

    source: ClassVar[Any] = sampling

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        self.factor, self.dtype = factor, dtype
        self._take_seed(seed)

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """The values that the class computes."""
        bound = math.sqrt(3.0 / max(1, math.prod(shape[:-1]))) * self.factor
        return self.source.uniform(shape, -bound, bound, dtype, seed=self.seed)


__all__ = [
    "Initializer", "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "he_normal_initializer", "he_uniform_initializer", "identity_initializer", "lecun_normal_initializer",
    "lecun_uniform_initializer", "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
    "random_uniform_initializer", "truncated_normal_initializer", "uniform_unit_scaling_initializer",
    "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip
