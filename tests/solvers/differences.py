"""Finite differences, beside which derivatives of solvers are held."""

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> np.ndarray:
    """The Jacobian by central differences, the shape of the result in front."""
    x = np.asarray(x, np.float64)
    columns = []
    for e in np.eye(x.size):
        move = step * e.reshape(x.shape)
        columns.append((np.asarray(function(x + move)) - np.asarray(function(x - move))) / (2 * step))
    return np.stack(columns, -1).reshape((*columns[0].shape, *x.shape))
