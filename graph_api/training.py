"""``tf.train`` beside optimizers: schedules, averages, and the global step."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from engine.core.dtypes import int64
from engine.core.operands import Operand
from engine.core.value import Value, known_shape
from engine.core.variable import Variable as EngineVariable
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import get_variable
from graph_api.graphs.variable import Variable
from graph_api.initial_values import zeros_initializer
from optim import ExponentialMovingAverage as VariableAverages
from optim import schedules


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
    steps: list[Any] = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    return steps[0] if steps else None


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The global step variable, made if need be."""
    existing = get_global_step(graph)
    return create_global_step(graph) if existing is None else existing


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number of steps done, as a Python int."""
    return int(sess.run(global_step_tensor))


class ExponentialMovingAverage(VariableAverages):
    """`optim.ExponentialMovingAverage`, of tensors of the graph too: their averages start from zeros."""

    _averages_of = Value

    @functools.cached_property
    def _of_tensors(self) -> dict[int, tuple[Any, Variable]]:
        return {}

    def _average_of(self, x: Any) -> EngineVariable:
        """That of a tensor starts from zeros."""
        if isinstance(x, Variable):
            get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, x)
            return super()._average_of(x)
        if id(x) not in self._of_tensors:
            shape = known_shape(x, "ExponentialMovingAverage.apply")
            with x.graph.as_default(), x.graph.name_scope(f"{x.op.name}/"):
                average = Variable(lambda: zeros_initializer()(shape, x.dtype), trainable=False, name=self.name)
            self._of_tensors[id(x)] = (x, average)
        return self._of_tensors[id(x)][1]

    def average(self, var: Any) -> Any:
        """The variable that holds the average of a variable or tensor, None if there is none."""
        return super().average(var) if isinstance(var, Variable) else self._of_tensors.get(id(var), (None, None))[1]

    def _averaged_by_default(self) -> list[Any]:
        graph = get_default_graph()
        names = (GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES)
        return [v for name in names for v in graph.get_collection(name)]


def _of_numbers(schedule: Callable[..., Any]) -> Callable[..., Any]:
    """A schedule that gives a tensor also for a step that is a number."""
    signature = inspect.signature(schedule)

    @functools.wraps(schedule)
    def at(*args: Any, **kwargs: Any) -> Operand:
        bound = signature.bind(*args, **kwargs)
        for name in ("global_step", "x"):
            step = bound.arguments.get(name)
            if step is not None and not isinstance(step, Value):
                bound.arguments[name] = convert_to_tensor(step)
        return schedule(*bound.args, **bound.kwargs)

    return at


cosine_decay = _of_numbers(schedules.cosine_decay)
cosine_decay_restarts = _of_numbers(schedules.cosine_decay_restarts)
exponential_decay = _of_numbers(schedules.exponential_decay)
inverse_time_decay = _of_numbers(schedules.inverse_time_decay)
linear_cosine_decay = _of_numbers(schedules.linear_cosine_decay)
natural_exp_decay = _of_numbers(schedules.natural_exp_decay)
piecewise_constant = _of_numbers(schedules.piecewise_constant)
polynomial_decay = _of_numbers(schedules.polynomial_decay)

__all__ = [
    "ExponentialMovingAverage",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
]
