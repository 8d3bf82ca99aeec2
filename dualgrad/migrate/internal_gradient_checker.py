"""TensorFlow's ``gradient_checker_v2``: the derivatives of a function beside finite differences, in either API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from dualgrad.migrate.internal_tools import enabled


def compute_gradient(f: Callable[..., Any], x: Sequence[Any], delta: float | None = None) -> tuple[Any, Any]:
    """Jacobians of a function by its derivatives, and by finite differences.

    Parameters
    ----------
    f : callable
        ``f(*x)`` is one tensor.
    x : sequence of tensor or array
    delta : float, optional
        The step of the differences, by default 1/1024.

    Returns
    -------
    tuple of two tuples of array
        Per argument a Jacobian of shape ``(size of f(*x), size of the argument)``.

    Raises
    ------
    ValueError
        If `x` is no list or tuple.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"`x` must be a list or tuple of values convertible to a Tensor, got {type(x).__name__}")
    tf = import_module("tensorflow")
    if enabled():
        exact, numeric = tf.test.compute_gradient(f, x, delta)
        return exact, numeric
    arguments = [tf.convert_to_tensor(value) for value in x]
    y = f(*arguments)
    with tf.Session(graph=y.graph) as session:
        values, shape = session.run(arguments), session.run(y).shape
        pairs = [
            tf.test.compute_gradient(a, value.shape, y, shape, x_init_value=value, delta=delta or 1 / 1024)
            for a, value in zip(arguments, values, strict=True)
        ]
    # there rows are the elements of the argument
    return tuple([np.transpose(exact) for exact, _ in pairs]), tuple([np.transpose(numeric) for _, numeric in pairs])


def max_error(grad1: Sequence[Any], grad2: Sequence[Any]) -> float:
    """The largest difference of two lists of Jacobians, 0.0 of empty ones."""
    differences = [np.abs(np.subtract(a, b)).max(initial=0.0) for a, b in zip(grad1, grad2, strict=True)]
    return float(max(differences, default=0.0))
