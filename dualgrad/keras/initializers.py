"""Initial values of weights: ``tf.keras.initializers``.

An initializer is called with a shape. One with a seed gives the same numbers each time; one without draws new ones,
which the front end's global seed makes reproducible. What each computes is in `dualgrad.frontend.initializers`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dualgrad.frontend import initializers
from dualgrad.keras.host import Bound
from dualgrad.keras.lookup import by_name, described
from dualgrad.keras.settings import floatx
from engine.core.dtypes import as_dtype
from engine.core.operands import Operand


class Initializer(Bound, initializers.Initializer):
    """Base of the initializers. A subclass defines `__call__`."""

    @property
    def source(self) -> Any:
        """The front end's random numbers."""
        return self.host.source

    def _take_seed(self, seed: Any) -> None:
        self.seed, self._own_seed = seed, self.host.own_seed(seed)

    def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Operand:
        """A tensor of the given shape."""
        return self.host.tensor(self.values(tuple(shape), as_dtype(dtype or getattr(self, "dtype", None) or floatx())))

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer."""
        return {key: value for key, value in super().get_config().items() if key != "dtype"}


class Zeros(Initializer, initializers.Zeros):
    """Zeros."""

    def get_config(self) -> dict[str, Any]:
        """No arguments."""
        return {}


class Ones(Initializer, initializers.Ones):
    """Ones."""

    def get_config(self) -> dict[str, Any]:
        """No arguments."""
        return {}


class Constant(Initializer, initializers.Constant):
    """A given value: a number, or an array of the shape that will be asked for."""


class Identity(Initializer, initializers.Identity):
    """`gain` times the identity matrix."""


class RandomNormal(Initializer, initializers.RandomNormal):
    """Normally distributed."""


class TruncatedNormal(Initializer, initializers.TruncatedNormal):
    """Normally distributed, no further than two standard deviations from the mean."""


class RandomUniform(Initializer, initializers.RandomUniform):
    """Uniform in [minval, maxval)."""


class VarianceScaling(Initializer, initializers.VarianceScaling):
    """Random numbers whose variance is ``scale / n``, where n counts a layer's inputs, outputs, or their mean."""


class GlorotUniform(Initializer, initializers.GlorotUniform):
    """Uniform, of variance 2 over the sum of inputs and outputs."""


class GlorotNormal(Initializer, initializers.GlorotNormal):
    """Truncated normal, of variance 2 over the sum of inputs and outputs."""


class HeUniform(Initializer, initializers.HeUniform):
    """Uniform, of variance 2 over the number of inputs."""


class HeNormal(Initializer, initializers.HeNormal):
    """Truncated normal, of variance 2 over the number of inputs."""


class LecunUniform(Initializer, initializers.LecunUniform):
    """Uniform, of variance 1 over the number of inputs."""


class LecunNormal(Initializer, initializers.LecunNormal):
    """Truncated normal, of variance 1 over the number of inputs."""


class Orthogonal(Initializer, initializers.Orthogonal):
    """A random matrix with orthonormal rows or columns, times `gain`."""


zeros, ones, constant, identity = Zeros, Ones, Constant, Identity
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
orthogonal, variance_scaling = Orthogonal, VarianceScaling
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
he_uniform, he_normal = HeUniform, HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal

_CLASSES: tuple[type, ...] = (
    Zeros, Ones, Constant, Identity, RandomNormal, RandomUniform, TruncatedNormal, Orthogonal, VarianceScaling,
    GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal,
)  # fmt: skip
KNOWN = {re.sub(r"\B[A-Z]", r"_\g<0>", kind.__name__).lower(): kind for kind in _CLASSES}
KNOWN |= {kind.__name__: kind for kind in _CLASSES}
KNOWN |= {"zero": Zeros, "one": Ones, "normal": RandomNormal, "uniform": RandomUniform}


def get(host: Any, identifier: Any) -> Any:
    """The initializer that `identifier` stands for: a name, a class, an instance or a function of a shape."""
    return None if identifier is None else by_name(host, KNOWN, identifier, "initializer")


def serialize(initializer: Any) -> dict[str, Any]:
    """An initializer as plain data: its module, class and arguments."""
    return described("initializers", initializer)


def deserialize(host: Any, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The initializer that `serialize` has described; `custom_objects` are a program's own, by name."""
    return by_name(host, {**KNOWN, **(custom_objects or {})}, config, "initializer")
