"""Odds and ends: ``tf.keras.utils``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from dualgrad.keras.configs import REGISTERED

T = TypeVar("T")


def to_categorical(x: Any, num_classes: int | None = None) -> np.ndarray:
    """Integers as one-hot rows, an array of floats.

    Examples
    --------
    >>> to_categorical([0, 2])
    array([[1., 0., 0.], [0., 0., 1.]])
    """
    labels = np.asarray(x, np.int64)
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    count = int(labels.max()) + 1 if num_classes is None else num_classes
    if labels.size and not 0 <= labels.min() <= labels.max() < count:
        raise ValueError(f"to_categorical: labels must be in [0, {count}), got {labels.min()} to {labels.max()}")
    return np.eye(count)[labels]


def set_random_seed(host: Any, seed: int) -> None:
    """Make everything random here, in Python and in NumPy reproducible."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    np.random.seed(seed)
    host.set_seed(seed)


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[T], T]:
    """Decorator for a class or function that models in files may name.

    Examples
    --------
    >>> @register_keras_serializable(package="mine")
    ... def double(x):
    ...     return 2 * x
    >>> REGISTERED.pop("mine>double")(1)
    2
    """

    def registered(x: T) -> T:
        REGISTERED[f"{package}>{name or getattr(x, '__name__', '')}"] = x
        return x

    return registered


def get_custom_objects() -> dict[str, Any]:
    """The classes and functions that models in files may name, to be changed in place."""
    return REGISTERED


@contextmanager
def custom_object_scope(objects: Mapping[str, Any]) -> Iterator[None]:
    """Let models in files name some more classes and functions inside a `with` block."""
    before = dict(REGISTERED)
    REGISTERED.update(objects)
    try:
        yield
    finally:
        REGISTERED.clear()
        REGISTERED.update(before)


CustomObjectScope = custom_object_scope

__all__ = [
    "CustomObjectScope", "custom_object_scope", "get_custom_objects", "register_keras_serializable",
    "set_random_seed", "to_categorical",
]  # fmt: skip
