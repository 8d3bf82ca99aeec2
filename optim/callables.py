"""Callables that users give: a loss, its variables, hyperparameters."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.closed.replay import replayed
from engine.core import nest
from engine.core.detach import effect
from engine.core.value import Value
from engine.transforms.gradient_tape import GradientTape
from optim.schedules import LearningRateSchedule


class _DeferringTape(GradientTape):
    """A tape whose gradients may be products that are still to be computed."""

    _replayed = staticmethod(partial(replayed, deferred=True))


def recorded_gradients(
    loss: Any, var_list: Any, grad_loss: Any, aggregation_method: Any, deferred: bool
) -> list[tuple[Any, Any]]:
    """Gradients of what a callable computes with respect to variables, by default those that it used.

    They may be `deferred`: to be computed when they are applied.
    """
    known = var_list is not None and (isinstance(var_list, Value) or not callable(var_list))
    with (_DeferringTape if deferred else GradientTape)(watch_accessed_variables=not known) as tape:
        if known:
            tape.watch(flat(var_list))
        value = loss()
    variables = list(tape.watched_variables()) if var_list is None else flat(var_list)
    gradients = tape.gradient(value, variables, grad_loss, aggregation_method=aggregation_method)
    return list(zip(gradients, variables, strict=True))


def flat(var_list: Any) -> list[Any]:
    """The variables of a structure, or of the one that a callable returns."""
    if callable(var_list) and not isinstance(var_list, Value):
        var_list = var_list()
    return nest.flatten(var_list if isinstance(var_list, (Value, list, tuple, dict)) else list(var_list))


def evaluated(hyperparameter: Any, step: Any) -> Any:
    """Evaluate a hyperparameter: a schedule at `step`, another callable without arguments; anything else is itself."""
    if isinstance(hyperparameter, LearningRateSchedule):
        return hyperparameter(step)
    if callable(hyperparameter) and not isinstance(hyperparameter, Value):
        effect("Python computes a hyperparameter")
        return hyperparameter()
    return hyperparameter
