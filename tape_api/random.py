"""Random numbers: ``tf.random``.

The engine's random ops are pure functions of a seed and a counter. This module keeps the counters, by TensorFlow's
rules:

- after `set_seed` the same calls give the same numbers again;
- a call with ``seed=`` has a sequence of its own, which depends on both seeds only;
- with neither, numbers differ from one run of the program to the next.
"""

from __future__ import annotations

import secrets
from random import Random
from typing import Any

import numpy as np

from dualgrad.frontend import seeds
from engine.core.detach import effect
from engine.core.dtypes import float32, int64
from engine.core.eager import EagerTensor
from engine.core.tape import active
from engine.ops import dropout as dropouts
from engine.ops import random as sampling
from engine.ops.random import Draw
from engine.runtime.commit import Lock, exclusively
from tape_api.library import public
from tape_api.tensor import wrapped

_DEFAULT_SEED = 87654321
"""The global seed of calls that have a seed of their own, if `set_seed` was not called."""
_LIMIT = 2**63


class Draws:
    """Where the draws of calls come from: a seed, and a counter for each sequence.

    Parameters
    ----------
    seed : int, optional
        By default a new one every time.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._locks = (Lock(),)
        self.reset(seed)

    def reset(self, seed: int | None) -> None:
        """Start again with the given seed."""
        effect("it sets a seed")
        own = None if seed is None else int(seed)
        counters: dict[Any, int] = {}
        self.plain = Random(own)
        # all at once, for an interrupt may come at any time
        self._state = own, secrets.randbits(62), counters

    def _counted(self, key: Any) -> tuple[int | None, int, int]:
        """The seeds, and how many calls of that key there have been, this one included."""
        seed, fallback, counters = self._state
        count = counters[key] = counters.get(key, 0) + 1
        return seed, fallback, count

    def next(self, function: str, seed: Any = None) -> Draw:
        """The draw of one more call of `function` with the given seed (None if it has none)."""
        key = None if seed is None else (function, int(seed))
        own, fallback, count = exclusively(self._locks, self._counted, key)
        if key is None:
            pair = (fallback if own is None else own, -1)
        else:
            pair = (_DEFAULT_SEED if own is None else own, key[1])
        seeds = np.array([s % _LIMIT for s in pair], np.int64)
        draw = EagerTensor(seeds), EagerTensor(np.int64(count))
        if active.function is not None:
            active.function.draw(draw, _Again(self, function, seed))
        return draw

    def _taken_back(self, key: Any, count: int) -> None:
        counters = self._state[2]
        # another thread may have drawn meanwhile, or set the seed
        if counters.get(key) == count:
            counters[key] = count - 1

    def take_back(self, seed: Any, function: str, count: int) -> None:
        """Let the next call of `function` give what the call of number `count` gave, if that was the last one."""
        exclusively(self._locks, self._taken_back, None if seed is None else (function, int(seed)), count)


class _Again:
    """The draw of one more call, in a program (`engine.core.function_tape`)."""

    __slots__ = ("_draws", "_function", "_seed")

    def __init__(self, draws: Draws, function: str, seed: Any) -> None:
        self._draws, self._function, self._seed = draws, function, seed

    def __call__(self) -> list[Any]:
        return [x._array for x in self._draws.next(self._function, self._seed)]

    def take_back(self, arrays: list[Any]) -> None:
        """Undo a call that gave `arrays`, as Python draws again."""
        self._draws.take_back(self._seed, self._function, int(arrays[1]))


draws = Draws()
seeds.SET.append(lambda: draws._state[0])


def op_seeds(seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a data set that is shuffled, by TensorFlow's rules; None if there are none."""
    own = draws._state[0]
    if own is None:
        return (None, None) if seed is None else (_DEFAULT_SEED, int(seed))
    return own, draws.plain.randint(0, 2**31 - 1) if seed is None else int(seed)


def set_seed(seed: int) -> None:
    """Start all sequences of random numbers again, with `seed` as the global seed.

    Examples
    --------
    >>> set_seed(1)
    >>> a, b = uniform([2]), uniform([2])
    >>> set_seed(1)
    >>> bool((uniform([2]) == a).numpy().all()), bool((uniform([2]) == a).numpy().all())
    (True, False)
    """
    draws.reset(seed)


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Uniform random numbers in [minval, maxval), by default [0, 1).

    Parameters
    ----------
    shape : sequence of int, or integer vector
    minval, maxval : number or tensor
        For integers `maxval` must be given.
    dtype : DType
        Floating, int32 or int64.
    seed : int, optional
        Of a sequence of this call's own.
    """
    return wrapped(sampling.uniform(shape, minval, maxval, dtype, draw=draws.next("uniform", seed)))


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Normally distributed random numbers; `mean` and `stddev` are broadcast against `shape`."""
    return wrapped(sampling.normal(shape, mean, stddev, dtype, draw=draws.next("normal", seed)))


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Normally distributed random numbers no further than two standard deviations from the mean."""
    return wrapped(sampling.truncated_normal(shape, mean, stddev, dtype, draw=draws.next("truncated_normal", seed)))


def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Gamma-distributed random numbers (`shape` of them per pair of parameters), differentiable in the parameters."""
    return wrapped(sampling.gamma(shape, alpha, beta, dtype, draw=draws.next("gamma", seed)))


def poisson(shape: Any, lam: Any, dtype: Any = float32, seed: Any = None, name: str | None = None) -> EagerTensor:
    """Counts of the Poisson distribution, `shape` of them for each rate in `lam`."""
    return wrapped(sampling.poisson(shape, lam, dtype, draw=draws.next("poisson", seed)))


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Classes drawn with the given log-probabilities: int64 of shape (rows, num_samples)."""
    return wrapped(sampling.categorical(logits, num_samples, dtype, draw=draws.next("categorical", seed)))


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> EagerTensor:
    """The rows of `value` in random order; differentiable."""
    return wrapped(sampling.shuffle(value, draw=draws.next("shuffle", seed)))


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> EagerTensor:
    """Each element of `x` set to 0 with probability `rate`, the others divided by ``1 - rate`` (``tf.nn.dropout``)."""
    return wrapped(dropouts.dropout(x, rate, noise_shape, draw=draws.next("dropout", seed)))


stateless_uniform = public(sampling.stateless_uniform, "stateless_uniform")
stateless_normal = public(sampling.stateless_normal, "stateless_normal")
stateless_truncated_normal = public(sampling.stateless_truncated_normal, "stateless_truncated_normal")
stateless_gamma = public(sampling.stateless_gamma, "stateless_gamma")
stateless_poisson = public(sampling.stateless_poisson, "stateless_poisson")
stateless_categorical = public(sampling.stateless_categorical, "stateless_categorical")


class Generator:
    """A source of random numbers with a state of its own. Make one with `from_seed`.

    Examples
    --------
    >>> a, b = Generator.from_seed(1), Generator.from_seed(1)
    >>> bool((a.normal([3]) == b.normal([3])).numpy().all())
    True
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """A generator that gives the same numbers for the same seed."""
        return cls(Draws(seed))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator that gives other numbers every time."""
        return cls(Draws())

    def reset_from_seed(self, seed: int) -> None:
        """Start again with the given seed."""
        self._draws.reset(seed)

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Uniform random numbers in [minval, maxval)."""
        return wrapped(sampling.uniform(shape, minval, maxval, dtype, draw=self._draws.next("uniform")))

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Normally distributed random numbers."""
        return wrapped(sampling.normal(shape, mean, stddev, dtype, draw=self._draws.next("normal")))

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Normally distributed random numbers no further than two standard deviations from the mean."""
        return wrapped(sampling.truncated_normal(shape, mean, stddev, dtype, draw=self._draws.next("truncated_normal")))

    def split(self, count: int = 1) -> list[Generator]:
        """Generators that are independent of this one and of each other."""
        seeds = wrapped(sampling.uniform([count], 0, 2**62, int64, draw=self._draws.next("split"))).numpy()
        return [Generator.from_seed(int(s)) for s in seeds]
