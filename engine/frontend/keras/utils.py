"""Odds and ends: ``tf.keras.utils``."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    """Make everything random here reproducible."""
    host.set_seed(seed)
