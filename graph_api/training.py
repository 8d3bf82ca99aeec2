"""``tf.train``: optimizers, schedules, averages, and the global step."""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import int64
from graph_api.graph import Graph, GraphKeys, get_default_graph
from graph_api.initial_values import zeros_initializer
from graph_api.scopes import get_variable
from graph_api.variable import Variable
from optim import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    ExponentialMovingAverage,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
    RMSPropOptimizer,
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)  # fmt: skip


def create_global_step(graph: Graph | None = None) -> Variable:
    """A new global step variable.

    Raises
    ------
    ValueError
        If the graph has one already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            "global_step", [], int64, zeros_initializer(), trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )  # fmt: skip


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The global step variable, or None."""
    found: list[Any] = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    return found[0] if found else None


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The global step variable, made if need be."""
    existing = get_global_step(graph)
    return create_global_step(graph) if existing is None else existing


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps done, as a Python int."""
    return int(sess.run(global_step_tensor))


piecewise_constant_decay = piecewise_constant

__all__ = [
    "AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer", "ExponentialMovingAverage", "FtrlOptimizer",
    "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer", "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer", "RMSPropOptimizer", "cosine_decay", "create_global_step", "exponential_decay",
    "get_global_step", "get_or_create_global_step", "global_step", "inverse_time_decay", "natural_exp_decay",
    "piecewise_constant", "piecewise_constant_decay", "polynomial_decay",
]  # fmt: skip
