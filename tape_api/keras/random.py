"""Random numbers by Keras 3's rules: ``tf.keras.random``. A seed is an integer, or a generator of seeds, or drawn."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.settings import floatx
from tape_api import random
from tape_api.keras_host import host
from tape_api.keras_seeds import SeedGenerator, drawn_seed, global_seeds
from tape_api.library import root as tf


def _seed(seed: Any) -> Any:
    return drawn_seed(global_seeds() if seed is None else seed)


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Normally distributed numbers."""
    return random.stateless_normal(shape, _seed(seed), mean, stddev, dtype=dtype or floatx())


def uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers in [minval, maxval)."""
    return random.stateless_uniform(shape, _seed(seed), minval, maxval, dtype=dtype or floatx())


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Normally distributed numbers no further than two standard deviations from the mean."""
    return random.stateless_truncated_normal(shape, _seed(seed), mean, stddev, dtype=dtype or floatx())


def randint(shape: Any, minval: int, maxval: int, dtype: Any = "int32", seed: Any = None) -> Any:
    """Integers in [minval, maxval)."""
    wide = dtype if dtype in ("int32", "int64", tf.int32, tf.int64) else "int64"
    return tf.cast(random.stateless_uniform(shape, _seed(seed), minval, maxval, dtype=wide), dtype)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Any:
    """Classes drawn by their logits, so many for each row."""
    return tf.cast(random.stateless_categorical(logits, num_samples, _seed(seed)), dtype)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Each element set to 0 with probability `rate`, the others divided by ``1 - rate``."""
    if rate in (0, 1):
        return tf.zeros_like(inputs) if rate else tf.convert_to_tensor(inputs)
    return host.dropout(tf.convert_to_tensor(inputs), rate, noise_shape, global_seeds() if seed is None else seed)


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    """The entries along an axis in random order."""
    order = tf.argsort(random.stateless_uniform([tf.shape(x)[axis]], _seed(seed)))
    return tf.gather(x, order, axis=axis)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers of the gamma distribution."""
    return random.stateless_gamma(shape, _seed(seed), alpha, dtype=dtype or floatx())


__all__ = [
    "SeedGenerator",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]
