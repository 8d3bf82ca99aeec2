"""Seeds of layers and initializers, by Keras 3's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.keras.layers.base import is_symbolic
from engine.core.dtypes import int32
from engine.ops.compare import cast
from engine.runtime.faces import Shown
from tape_api import random
from tape_api.tensor import convert_to_tensor
from tape_api.variable import Variable

_LIMIT = 2**31 - 2
"""Keras draws with the remainders of its seeds."""


class SeedGenerator(Shown):
    """Seeds for functions of a seed, another one each time.

    Parameters
    ----------
    seed : int, optional
        By default drawn (`tape_api.random.default_seed`).
    """

    def __init__(self, seed: int | None = None) -> None:
        start = random.default_seed() if seed is None else seed
        if isinstance(start, bool) or not isinstance(start, (int, np.integer)):
            raise ValueError(f"SeedGenerator: argument `seed` must be an integer, got {start!r}")
        self.state = Variable(np.array([start, 0], np.int64), trainable=False, name="seed_generator_state")

    def next(self, ordered: bool = True) -> Any:
        """The next seed: two integers."""
        seed = convert_to_tensor(self.state)
        if is_symbolic():
            return seed  # a call for the sake of the shapes
        self.state.assign(seed + np.array([0, 1], np.int64))
        return seed


_global: list[Any] = [None, None]


def global_seeds() -> SeedGenerator:
    """The generator for calls without a seed: one for the program, made anew when a seed is set."""
    state = random.draws.state
    if _global[0] is not state:
        _global[:] = state, SeedGenerator()
    return _global[1]


def drawn_seed(seed: Any) -> Any:
    """The two integers for one call with an integer as its seed, or with a `SeedGenerator`."""
    if isinstance(seed, SeedGenerator):
        return cast(seed.next() % np.int64(_LIMIT), int32)
    return np.array([int(seed) % _LIMIT, 0], np.int32)
