"""Functions that the tests of `for_scipy` share, in both modes."""

from typing import Any

import numpy as np

import graph_api
import tape_api as tf
from engine.jacobian.views.for_scipy import SciPyFunction

POINTS = 60


def rosenbrock(x: Any, lib: Any) -> Any:
    return lib.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def both(function: Any, x0: Any, **options: Any) -> list[SciPyFunction]:
    """The function in tape and in graph mode."""
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float64, np.shape(x0))
        in_graph = graph_api.for_scipy(function(x, graph_api), x, x0, session=graph_api.Session(), **options)
    return [tf.for_scipy(lambda x: function(x, tf), x0, **options), in_graph]


def bratu(u: Any, lib: Any, strength: float = 1.0) -> Any:
    """``u'' + strength exp(u) = 0`` with zeros at both ends, by central differences."""
    inner = lib.pad(u, [[1, 1]])
    return (inner[2:] - 2.0 * u + inner[:-2]) * (POINTS + 1) ** 2 + strength * lib.exp(u)


def bratu_jacobian(u: np.ndarray) -> np.ndarray:
    h2 = (POINTS + 1) ** 2
    return np.diag(np.exp(u) - 2 * h2) + h2 * (np.eye(len(u), k=1) + np.eye(len(u), k=-1))
