"""``tf.contrib.layers.optimize_loss``: an optimizer, clipping and a schedule in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optim
from dualgrad.keras import functions as tf
from engine.core.operands import Operand
from engine.core.value import Value
from graph_api import sampling
from graph_api.convert import convert_to_tensor
from graph_api.graph import get_default_graph
from graph_api.graph_keys import GraphKeys
from graph_api.scopes import variable_scope
from graph_api.training import get_global_step
from optim.optimizer import Optimizer

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": optim.AdagradOptimizer,
    "Adam": optim.AdamOptimizer,
    "Ftrl": optim.FtrlOptimizer,
    "Momentum": lambda learning_rate: optim.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": optim.RMSPropOptimizer,
    "SGD": optim.GradientDescentOptimizer,
}


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Operand:
    """A step of an optimizer, as a tensor: the loss, computed before it.

    Parameters
    ----------
    loss : scalar tensor
    global_step : Variable, optional
        By default the graph's, if it has one.
    learning_rate : float or tensor
    optimizer : str, class, function of the learning rate, or optimizer
        A name: Adagrad, Adam, Ftrl, Momentum, RMSProp or SGD.
    gradient_noise_scale : float, optional
        Standard deviation of noise that is added to the gradients.
    gradient_multipliers : dict of Variable (or name) to float, optional
    clip_gradients : float or callable, optional
        A bound of the norm of all gradients, or a function of the list of pairs.
    learning_rate_decay_fn : callable, optional
        ``learning_rate_decay_fn(learning_rate, global_step)``.
    update_ops : list of operation, optional
        What is to run before; by default the collection UPDATE_OPS.
    variables : list of Variable, optional
        By default the trainable ones.
    name : str, optional
    summaries : list, optional
        Must be empty or None: write summaries with ``tf.summary``.
    colocate_gradients_with_ops
        Accepted for compatibility: there is one device.
    increment_global_step : bool

    Raises
    ------
    ValueError
        If the optimizer is not known.
    """
    if summaries:
        raise NotImplementedError("optimize_loss: `summaries` is not supported; write summaries with tf.summary")
    graph = get_default_graph()
    with variable_scope(name, "OptimizeLoss", [loss]):
        step = get_global_step() if global_step is None else global_step
        before = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        with graph.control_dependencies(before):
            value = tf.identity(convert_to_tensor(loss))
        rate = learning_rate if learning_rate is None else convert_to_tensor(learning_rate)
        if learning_rate_decay_fn is not None:
            if step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn")
            rate = learning_rate_decay_fn(rate, step)
        chosen = _optimizer(optimizer, rate)
        wanted = graph.trainable_variables() if variables is None else list(variables)
        pairs = [(g, v) for g, v in chosen.compute_gradients(value, wanted) if g is not None]
        pairs = _changed(pairs, gradient_noise_scale, gradient_multipliers, clip_gradients)
        done = chosen.apply_gradients(pairs, global_step=step if increment_global_step else None, name="train")
        with graph.control_dependencies([done]):
            return tf.identity(value)


def _optimizer(given: Any, rate: Any) -> Optimizer:
    if isinstance(given, str):
        if given not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {given}."
            )
        given = OPTIMIZER_CLS_NAMES[given]
    if isinstance(given, optim.Optimizer):
        return given
    if not callable(given):
        raise ValueError(
            f"Unrecognized optimizer: should be string, subclass of Optimizer, or callable. Got {given!r}."
        )
    optimizer = given() if rate is None else given(rate)
    if not isinstance(optimizer, optim.Optimizer):
        raise ValueError(f"Optimizer from callable should be an Optimizer, got {optimizer!r}")
    return optimizer


def _changed(pairs: list[Any], noise: Any, multipliers: Any, clip: Any) -> list[Any]:
    """Gradients with noise, multiplied and clipped, as asked."""
    if noise is not None:
        pairs = [(g + noise * sampling.truncated_normal(tf.shape(g), dtype=g.dtype), v) for g, v in pairs]
    if multipliers is not None:
        if not multipliers:
            raise ValueError("gradient_multipliers is an empty dict; it must not be")
        factors = [multipliers.get(v, multipliers.get(v.name, multipliers.get(v.op.name))) for _, v in pairs]
        pairs = [(g if m is None else g * m, v) for (g, v), m in zip(pairs, factors, strict=True)]
    if isinstance(clip, (int, float, Value)):
        clipped, _ = optim.clip_by_global_norm([g for g, _ in pairs], clip)
        return list(zip(clipped, [v for _, v in pairs], strict=True))
    if callable(clip):
        return list(clip(pairs))
    if clip is not None:
        raise ValueError(f"Unknown type {type(clip).__name__} for clip_gradients")
    return pairs


__all__ = ["OPTIMIZER_CLS_NAMES", "optimize_loss"]
