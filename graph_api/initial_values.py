"""Initializers under TensorFlow 1's names."""

from __future__ import annotations

from typing import Any, ClassVar

from engine import initializers
from engine.initializers import Initializer
from graph_api import sampling


class zeros_initializer(initializers.Zeros):
    """Zeros."""


class ones_initializer(initializers.Ones):
    """Ones."""


class constant_initializer(initializers.Constant):
    """A given value everywhere, or a given array of the right number of elements."""


class identity_initializer(initializers.Identity):
    """A multiple of the identity matrix."""


class random_uniform_initializer(initializers.RandomUniform):
    """Uniform on [minval, maxval)."""

    source: ClassVar[Any] = sampling

    def __init__(self, minval: float = 0.0, maxval: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(minval, maxval, seed, dtype)


class random_normal_initializer(initializers.RandomNormal):
    """Normal with the given mean and standard deviation."""

    source: ClassVar[Any] = sampling

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(mean, stddev, seed, dtype)


class truncated_normal_initializer(initializers.TruncatedNormal):
    """Normal, but values further than two standard deviations from the mean are drawn again."""

    source: ClassVar[Any] = sampling

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(mean, stddev, seed, dtype)


class variance_scaling_initializer(initializers.VarianceScaling):
    """Random values whose variance is scaled by the number of inputs or outputs."""

    source: ClassVar[Any] = sampling


class glorot_uniform_initializer(variance_scaling_initializer):
    """Uniform, scaled by the mean of the numbers of inputs and outputs (Glorot and Bengio, 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """Truncated normal, scaled by the mean of the numbers of inputs and outputs (Glorot and Bengio, 2010)."""

    def __init__(self, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class he_normal_initializer(variance_scaling_initializer):
    """Truncated normal, scaled for rectifiers (He et al., 2015)."""

    def __init__(self, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed, dtype)


class he_uniform_initializer(variance_scaling_initializer):
    """Uniform, scaled for rectifiers (He et al., 2015)."""

    def __init__(self, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed, dtype)


__all__ = [
    "Initializer", "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "he_normal_initializer", "he_uniform_initializer", "identity_initializer", "ones_initializer",
    "random_normal_initializer", "random_uniform_initializer", "truncated_normal_initializer",
    "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip
