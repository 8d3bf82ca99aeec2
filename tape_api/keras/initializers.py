"""Initial values of weights: ``tf.keras.initializers``.

An initializer is called with a shape. One with a seed gives the same numbers each time; one without draws new ones,
which `tape_api.random.set_seed` makes reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from engine.dtypes import as_dtype
from engine.eager import EagerTensor
from tape_api import random, tensor
from tape_api.keras.backend import floatx
from tape_api.keras.lookup import by_name
from tape_api.library import root as tf


class Initializer:
    """Base of the initializers. A subclass defines `__call__`."""

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(shape, dtype)")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {key.lstrip("_"): value for key, value in vars(self).items()}


def _filled(shape: Any, value: float, dtype: Any) -> Any:
    return EagerTensor(np.full(tuple(shape), value, as_dtype(dtype or floatx()).numpy))


class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return _filled(shape, 0, dtype)


class Ones(Initializer):
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return _filled(shape, 1, dtype)


class Constant(Initializer):
    """A given value: a number, or an array of the shape that will be asked for."""

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return tensor.constant(np.asarray(self.value), as_dtype(dtype or floatx()), shape)


class Identity(Initializer):
    """`gain` times the identity matrix."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape, which must have rank 2."""
        rows, columns = _matrix_shape(shape, "Identity")
        return tensor.constant(self.gain * np.eye(rows, columns), as_dtype(dtype or floatx()))


def _matrix_shape(shape: Any, name: str) -> tuple[int, int]:
    dims = tuple(shape)
    if len(dims) != 2:
        raise ValueError(f"{name}: the shape must have rank 2, got {dims}")
    return dims


class _Random(Initializer):
    """Base of the random ones: numbers of a named distribution, from a seed or from the global sequence."""

    def __init__(self, seed: Any) -> None:
        self.seed = seed

    def _draw(self, distribution: str, shape: Any, *parameters: float, dtype: Any) -> Any:
        wanted = as_dtype(dtype or floatx())
        if self.seed is None:
            return getattr(random, distribution)(tuple(shape), *parameters, dtype=wanted)
        seed = [int(self.seed), 0]
        return getattr(random, f"stateless_{distribution}")(tuple(shape), seed, *parameters, dtype=wanted)


class RandomNormal(_Random):
    """Normally distributed."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return self._draw("normal", shape, self.mean, self.stddev, dtype=dtype)


class TruncatedNormal(_Random):
    """Normally distributed, no further than two standard deviations from the mean."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return self._draw("truncated_normal", shape, self.mean, self.stddev, dtype=dtype)


class RandomUniform(_Random):
    """Uniform in [minval, maxval)."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None) -> None:
        super().__init__(seed)
        self.minval, self.maxval = minval, maxval

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        return self._draw("uniform", shape, self.minval, self.maxval, dtype=dtype)


class Orthogonal(_Random):
    """A random matrix with orthonormal rows or columns, times `gain`."""

    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape, of rank 2 or more (all but the last dimension count as rows)."""
        dims = tuple(shape)
        if len(dims) < 2:
            raise ValueError(f"Orthogonal: the shape must have rank 2 or more, got {dims}")
        rows, columns = math.prod(dims[:-1]), dims[-1]
        q, r = tf.linalg.qr(self._draw("normal", (max(rows, columns), min(rows, columns)), dtype=dtype))
        # the signs make the decomposition unique, and so the matrix uniformly distributed
        q *= tf.sign(tf.linalg.diag_part(r))
        return self.gain * tf.reshape(tf.transpose(q) if rows < columns else q, dims)


class VarianceScaling(_Random):
    """Random numbers whose variance is ``scale / n``, where n counts a layer's inputs, outputs, or their mean.

    Parameters
    ----------
    scale : float
    mode : {"fan_in", "fan_out", "fan_avg"}
        What n is.
    distribution : {"truncated_normal", "untruncated_normal", "uniform"}
    seed : int, optional
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: Any = None
    ) -> None:
        super().__init__(seed)
        if scale <= 0:
            raise ValueError(f"Argument `scale` must be positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode!r}; it must be 'fan_in', 'fan_out' or 'fan_avg'")
        if distribution not in ("normal", "truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(
                f"Invalid `distribution` argument: {distribution!r}; it must be 'uniform', 'truncated_normal' or "
                f"'untruncated_normal'"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        """A tensor of the given shape."""
        inputs, outputs = fans(tuple(shape))
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return self._draw("uniform", shape, -limit, limit, dtype=dtype)
        if self.distribution == "untruncated_normal":
            return self._draw("normal", shape, 0.0, math.sqrt(variance), dtype=dtype)
        # the constant is the standard deviation of a standard normal variable cut off at two
        return self._draw("truncated_normal", shape, 0.0, math.sqrt(variance) / 0.87962566103423978, dtype=dtype)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a layer with weights of this shape connects."""
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    receptive = math.prod(shape[:-2])
    return shape[-2] * receptive, shape[-1] * receptive


class _NamedScaling(VarianceScaling):
    """Base of the cases of `VarianceScaling` that have names of their own."""

    case: ClassVar[tuple[float, str, str]]

    def __init__(self, seed: Any = None) -> None:
        super().__init__(*self.case, seed)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {"seed": self.seed}


class GlorotUniform(_NamedScaling):
    """Uniform, of variance 2 over the sum of inputs and outputs."""

    case = (1.0, "fan_avg", "uniform")


class GlorotNormal(_NamedScaling):
    """Truncated normal, of variance 2 over the sum of inputs and outputs."""

    case = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_NamedScaling):
    """Uniform, of variance 2 over the number of inputs."""

    case = (2.0, "fan_in", "uniform")


class HeNormal(_NamedScaling):
    """Truncated normal, of variance 2 over the number of inputs."""

    case = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_NamedScaling):
    """Uniform, of variance 1 over the number of inputs."""

    case = (1.0, "fan_in", "uniform")


class LecunNormal(_NamedScaling):
    """Truncated normal, of variance 1 over the number of inputs."""

    case = (1.0, "fan_in", "truncated_normal")


zeros, ones, constant, identity = Zeros, Ones, Constant, Identity
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
orthogonal, variance_scaling = Orthogonal, VarianceScaling
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
he_uniform, he_normal = HeUniform, HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal

KNOWN = {
    "zeros": Zeros,
    "zero": Zeros,
    "ones": Ones,
    "one": Ones,
    "constant": Constant,
    "identity": Identity,
    "normal": RandomNormal,
    "random_normal": RandomNormal,
    "uniform": RandomUniform,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
    "orthogonal": Orthogonal,
    "variance_scaling": VarianceScaling,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "lecun_uniform": LecunUniform,
    "lecun_normal": LecunNormal,
}
KNOWN.update({kind.__name__: kind for kind in list(KNOWN.values())})


def get(identifier: Any) -> Any:
    """The initializer that `identifier` stands for: a name, a class, an instance or a function of a shape."""
    return None if identifier is None else by_name(KNOWN, identifier, "initializer")
