"""Layers of ``tf.contrib.layers`` that normalize."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualgrad.keras import functions as tf
from engine.core.operands import Operand
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable
from graph_api.convert import convert_to_tensor
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import get_variable, variable_scope
from graph_api.legacy import layers as plain
from graph_api.legacy.slim.applied import ONES, ZEROS, apply, channels, collections_of, finished
from graph_api.legacy.slim.arg_scope import add_arg_scope


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Operand:
    """Each feature scaled to mean 0 and variance 1 over the batch, then by learned factors.

    Parameters
    ----------
    inputs : tensor
    decay : float
        How slowly the moving averages follow, which are used when not training.
    center, scale : bool
        Whether there is a learned offset (beta) and factor (gamma).
    epsilon : float
        Added to the variance.
    activation_fn : callable, optional
    param_initializers, param_regularizers : dict, optional
        By the name of the variable.
    updates_collections : str, list or None
        Where the operations go that move the averages; None: they run before the result.
    is_training : bool or bool tensor
    reuse, variables_collections, outputs_collections, trainable, scope
        As in `fully_connected`; the default scope is ``"BatchNorm"``.
    fused : bool, optional
        Which of TensorFlow's implementations to follow: the one for images (None or True) keeps an average of the
        unbiased variance.
    data_format : str
    batch_weights, zero_debias_moving_mean, renorm, renorm_clipping, renorm_decay, adjustment
        Not supported; must have their defaults.
    """
    if batch_weights is not None or zero_debias_moving_mean or renorm or adjustment is not None:
        raise NotImplementedError(
            "batch_norm: `batch_weights`, `zero_debias_moving_mean`, `renorm` and `adjustment` are not supported"
        )
    starts, penalties = dict(param_initializers or {}), dict(param_regularizers or {})
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as opened:
        arguments = {
            "axis": 1 if channels(data_format) == "channels_first" else -1,
            "momentum": decay,
            "epsilon": epsilon,
            "center": center,
            "scale": scale,
            "beta_initializer": starts.get("beta", ZEROS),
            "gamma_initializer": starts.get("gamma", ONES),
            "moving_mean_initializer": starts.get("moving_mean", ZEROS),
            "moving_variance_initializer": starts.get("moving_variance", ONES),
            "beta_regularizer": penalties.get("beta"),
            "gamma_regularizer": penalties.get("gamma"),
            "trainable": trainable,
            "fused": fused,
        }
        graph = get_default_graph()
        before = len(graph.get_collection(GraphKeys.UPDATE_OPS))
        call = {"training": is_training}
        outputs = apply(plain.BatchNormalization, inputs, opened, reuse, variables_collections, arguments, call, {})
        outputs = _with_updates(outputs, graph.get_collection_ref(GraphKeys.UPDATE_OPS), before, updates_collections)
        return finished(outputs, None, None, activation_fn, outputs_collections)


def _with_updates(outputs: Any, noted: list[Any], before: int, collections: Any) -> Operand:
    """Move the updates that a layer has noted to where they belong; the outputs wait for them if that is nowhere."""
    new = noted[before:]
    del noted[before:]
    graph = get_default_graph()
    if collections is None:
        with graph.control_dependencies(new):
            return tf.identity(outputs)
    for update in new:
        graph.add_to_collections(collections, update)
    return outputs


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Operand:
    """Each element of the batch scaled to mean 0 and variance 1, then by learned factors.

    Parameters
    ----------
    inputs : tensor
    center, scale : bool
        Whether there is a learned offset (beta) and factor (gamma).
    activation_fn : callable, optional
    begin_norm_axis : int
        Means are taken over this dimension and those behind it.
    begin_params_axis : int
        The factors have this dimension and those behind it.
    reuse, variables_collections, outputs_collections, trainable, scope
        As in `fully_connected`; the default scope is ``"LayerNorm"``.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse):
        x = convert_to_tensor(inputs)
        shape = shape_of(x)
        if shape is None:
            raise ValueError(f"Inputs {x.name} has undefined rank.")
        first = begin_norm_axis % len(shape)
        dims = shape[begin_params_axis % len(shape) :]
        if None in dims:
            raise ValueError(f"Inputs {x.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {shape}")

        def made(name: str, start: Any) -> Variable:
            where = collections_of(variables_collections, name)
            return get_variable(name, dims, dtype_of(x), start, trainable=trainable, collections=where)

        beta = made("beta", ZEROS) if center else None
        gamma = made("gamma", ONES) if scale else None
        mean, variance = tf.moments(x, [*range(first, len(shape))], keepdims=True)
        outputs = tf.batch_normalization(x, mean, variance, beta, gamma, 1e-12)
        return finished(outputs, None, None, activation_fn, outputs_collections)


__all__ = ["batch_norm", "layer_norm"]
