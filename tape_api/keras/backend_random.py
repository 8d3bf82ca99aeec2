"""The random functions of ``tf.keras.backend``. A seed that is not given is drawn by NumPy, as in Keras."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.keras.settings import floatx
from tape_api import random
from tape_api.library import root as tf


def _seed(seed: Any) -> Any:
    return np.random.randint(10_000_000) if seed is None else seed


def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Normally distributed numbers."""
    return random.normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))


def random_uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers in [minval, maxval)."""
    return random.uniform(shape, minval, maxval, dtype=dtype or floatx(), seed=_seed(seed))


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Normally distributed numbers no further than two standard deviations from the mean."""
    return random.truncated_normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))


def random_bernoulli(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Ones with probability `p`, else zeros."""
    dtype = dtype or floatx()
    return tf.cast(random.uniform(shape, dtype=dtype, seed=_seed(seed)) <= p, dtype)


__all__ = ["random_bernoulli", "random_normal", "random_uniform", "truncated_normal"]
