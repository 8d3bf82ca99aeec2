"""Initial values for variables, for both front ends.

A front end derives its classes from these and sets ``source`` to its own random functions (``uniform``, ``normal`` and
``truncated_normal`` with TensorFlow's signatures).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from engine.core.dtypes import as_dtype, float16, float32, float64
from engine.core.operands import Operand
from engine.ops.compare import cast
from engine.ops.filling import eye, fill
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown


class Initializer(Shown):
    """Base: ``initializer(shape, dtype)`` gives the value.

    Attributes
    ----------
    source : object
        The front end's random functions.
    """

    source: ClassVar[Any] = None

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Operand:
        """A value of the given shape and dtype."""
        dims = tuple(int(d) for d in shape)
        return self.values(dims, as_dtype(dtype or getattr(self, "dtype", None) or float32))

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """The values that the class computes."""
        raise NotImplementedError(f"{type(self).__name__} must define `__call__(shape, dtype)`")

    def _take_seed(self, seed: Any) -> None:
        """Note the seed given, and the one that numbers are drawn with."""
        self.seed = self._own_seed = seed

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The initializer that `get_config` describes."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}


class Constant(Initializer):
    """A given value everywhere, or a given array of the right number of elements."""

    def __init__(self, value: Any = 0, dtype: Any = None, verify_shape: bool = False) -> None:
        self.value, self.dtype, self.verify_shape = value, dtype, verify_shape

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """The value broadcast, or the array reshaped."""
        array = np.asarray(self.value, dtype.numpy)
        if array.size == 1:
            return fill(shape, array.reshape(()))
        if array.size != math.prod(shape):
            array = self._filled(array, math.prod(shape))
        return array.reshape(shape)

    def _filled(self, array: np.ndarray, size: int) -> np.ndarray:
        """An array of `size` elements in place of one of another size."""
        raise InvalidArgumentError(
            f"{type(self).__name__}: argument `value` has {array.size} elements, but the shape asks for {size}"
        )


class Zeros(Constant):
    """Zeros."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__(0, dtype)


class Ones(Constant):
    """Ones."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__(1, dtype)


class RandomUniform(Initializer):
    """Uniform on [minval, maxval)."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None, dtype: Any = None) -> None:
        self.minval, self.maxval = minval, maxval
        self._take_seed(seed)
        self.dtype = dtype

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """Drawn from the front end's generator."""
        return self.source.uniform(shape, self.minval, self.maxval, dtype=dtype, seed=self._own_seed)


class RandomNormal(Initializer):
    """Normal with the given mean and standard deviation."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None, dtype: Any = None) -> None:
        self.mean, self.stddev = mean, stddev
        self._take_seed(seed)
        self.dtype = dtype

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """Drawn from the front end's generator."""
        return self.source.normal(shape, self.mean, self.stddev, dtype=dtype, seed=self._own_seed)


class TruncatedNormal(RandomNormal):
    """Normal, but values further than two standard deviations from the mean are drawn again."""

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """Drawn from the front end's generator."""
        return self.source.truncated_normal(shape, self.mean, self.stddev, dtype=dtype, seed=self._own_seed)


_TRUNCATED_STD = 0.87962566103423978
"""Standard deviation of a standard normal truncated at two: ``sqrt(1 - 4 phi(2) / (2 Phi(2) - 1))``."""


class VarianceScaling(Initializer):
    """Random values whose variance is `scale` over the number of a layer's inputs, outputs, or their mean.

    Parameters
    ----------
    scale : float
    mode : {"fan_in", "fan_out", "fan_avg"}
    distribution : {"truncated_normal", "normal", "untruncated_normal", "uniform"}
    seed : int, optional

    References
    ----------
    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010
    (scale 1, fan_avg, uniform). K. He et al., "Delving deep into rectifiers", 2015 (scale 2, fan_in).
    """

    _axes: tuple[Sequence[int], Sequence[int]] | None = None
    _whole: tuple[int, ...] | None = None

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = None,
    ) -> None:
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
        self._take_seed(seed)
        self.dtype = dtype

    def __call__(self, shape: Any, dtype: Any = None, *, partition_info: Any = None, **_: Any) -> Operand:
        """A value of the given shape and dtype; a part of a variable is scaled like the whole."""
        if partition_info is None:
            return super().__call__(shape, dtype)
        made = copy.copy(self)
        made._whole = tuple(partition_info.full_shape)
        return made(shape, dtype)

    def along(self, inputs: Sequence[int], outputs: Sequence[int]) -> Self:
        """The same, for weights that have these axes for inputs and outputs."""
        made = copy.copy(self)
        made._axes = inputs, outputs
        return made

    def spread(self, shape: tuple[int, ...]) -> float:
        """The bound of what is drawn for a shape, or its standard deviation before it is cut off."""
        whole = self._whole or shape
        fan_in, fan_out = (
            fans(whole) if self._axes is None else (math.prod(whole[i] for i in axes) for axes in self._axes)
        )
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            return math.sqrt(3 * variance)
        return math.sqrt(variance) / (1 if self.distribution == "untruncated_normal" else _TRUNCATED_STD)

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """Drawn from the front end's generator."""
        spread = self.spread(shape)
        if self.distribution == "uniform":
            return self.source.uniform(shape, -spread, spread, dtype=dtype, seed=self._own_seed)
        draw = self.source.normal if self.distribution == "untruncated_normal" else self.source.truncated_normal
        return draw(shape, 0.0, spread, dtype=dtype, seed=self._own_seed)


def fans(shape: tuple[int, ...]) -> tuple[float, float]:
    """Number of inputs and outputs of a layer with weights of the given shape."""
    if len(shape) < 2:
        return (float(shape[0]),) * 2 if shape else (1.0, 1.0)
    receptive = math.prod(shape[:-2])
    return float(shape[-2] * receptive), float(shape[-1] * receptive)


class NamedScaling(VarianceScaling):
    """Base of the cases of `VarianceScaling` that have names of their own."""

    case: ClassVar[tuple[float, str, str]]

    def __init__(self, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(*self.case, seed, dtype)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The initializer that `get_config` describes."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"seed": self.seed, "dtype": self.dtype}


class GlorotUniform(NamedScaling):
    """Uniform, of variance 2 over the sum of inputs and outputs."""

    case = (1.0, "fan_avg", "uniform")


class GlorotNormal(NamedScaling):
    """Truncated normal, of variance 2 over the sum of inputs and outputs."""

    case = (1.0, "fan_avg", "truncated_normal")


class HeUniform(NamedScaling):
    """Uniform, of variance 2 over the number of inputs."""

    case = (2.0, "fan_in", "uniform")


class HeNormal(NamedScaling):
    """Truncated normal, of variance 2 over the number of inputs."""

    case = (2.0, "fan_in", "truncated_normal")


class LecunUniform(NamedScaling):
    """Uniform, of variance 1 over the number of inputs."""

    case = (1.0, "fan_in", "uniform")


class LecunNormal(NamedScaling):
    """Truncated normal, of variance 1 over the number of inputs."""

    case = (1.0, "fan_in", "truncated_normal")


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, times `gain`."""

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = None) -> None:
        self.gain, self.dtype = gain, dtype
        self._take_seed(seed)

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """A matrix reshaped: all but the last dimension count as rows."""
        from engine.ops.complexes import sign
        from engine.ops.decompose import qr
        from engine.ops.diagonal import matrix_diag_part
        from engine.ops.shape import matrix_transpose, reshape

        if len(shape) < 2:
            raise ValueError(f"{type(self).__name__}: the shape must have rank 2 or more, got {shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = self.source.normal((max(rows, columns), min(rows, columns)), dtype=dtype, seed=self._own_seed)
        q, r = qr(cast(drawn, float32) if as_dtype(dtype) is float16 else drawn)
        # the signs make the decomposition unique, and so the matrix uniformly distributed
        q = cast(q * sign(matrix_diag_part(r)), dtype)
        return as_dtype(dtype).as_numpy_dtype(self.gain) * reshape(matrix_transpose(q) if rows < columns else q, shape)


class Identity(Initializer):
    """A multiple of the identity matrix."""

    def __init__(self, gain: float = 1.0, dtype: Any = None) -> None:
        self.gain, self.dtype = gain, dtype

    def values(self, shape: tuple[int, ...], dtype: Any) -> Operand:
        """The matrix."""
        if len(shape) != 2:
            raise ValueError(f"Identity: the shape must have rank 2, got {shape}")
        return cast(np.float64(self.gain) * eye(*shape, dtype=float64), dtype)


# ---- TensorFlow 1 ----------------------------------------------------------------------------------------------------


class UnitUniform(RandomUniform):
    """Uniform on [minval, maxval), by default on [0, 1)."""

    def __init__(
        self, minval: float = 0.0, maxval: float | None = None, seed: int | None = None, dtype: Any = None
    ) -> None:
        super().__init__(minval, 1.0 if maxval is None else maxval, seed, dtype)


class UnitNormal(RandomNormal):
    """Normal with the given mean and standard deviation, by default 0 and 1."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: Any = None) -> None:
        super().__init__(mean, stddev, seed, dtype)


class UnitTruncatedNormal(UnitNormal, TruncatedNormal):
    """Normal, but values further than two standard deviations (by default 1) from the mean are drawn again."""


def version1(module: str, source: Any) -> Callable[[str, type[Initializer]], Any]:
    """A maker of classes under TensorFlow 1's names, for a module, which draw from a front end's random functions."""

    def made(name: str, kind: type[Initializer]) -> Any:
        return type(name, (kind,), {"__doc__": kind.__doc__, "__module__": module, "source": source})

    return made
