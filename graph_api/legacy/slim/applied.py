"""Common parts of the layers of ``tf.contrib.layers``: names and collections of variables, what follows a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.core.operands import Operand
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import variable_scope
from graph_api.initial_values import ones_initializer, zeros_initializer

ZEROS, ONES = zeros_initializer(), ones_initializer()

_RENAMES = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


def collections_of(given: Any, name: str) -> list[str]:
    """The collections of a variable: those asked for, and those of the variables of models."""
    found = given.get(name, ()) if isinstance(given, Mapping) else given or ()
    named = [found] if isinstance(found, str) else [*found]
    return [*named, GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]


def collected(output: Any, collections: Any) -> Operand:
    """The output, noted in collections."""
    if collections is not None:
        get_default_graph().add_to_collections(collections, output)
    return output


def apply(
    kind: Any, inputs: Any, scope: Any, reuse: Any, collections: Any, arguments: Mapping[str, Any],
    call: Mapping[str, Any] | None = None, renames: Mapping[str, str] = _RENAMES,
) -> Operand:  # fmt: skip
    """A layer of ``tf.layers`` made in a scope and applied."""
    layer = kind(**arguments, _scope=scope, _reuse=reuse)
    layer._renames = renames
    names = ("weights", "biases", "depthwise_weights", "pointwise_weights", *_MOVED)
    layer._collections = {name: collections_of(collections, name) for name in names}
    return layer.apply(inputs, **(call or {}))


_MOVED = ("beta", "gamma", "moving_mean", "moving_variance")


def finished(outputs: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any, collections: Any) -> Operand:
    """Apply what comes behind a layer: a normalizer, an activation; the result is noted in collections."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collected(outputs, collections)


def weighted(
    kind: Any, default: str, given: Mapping[str, Any], weights: Sequence[str] = ("kernel",), **own: Any
) -> Operand:
    """A layer with weights, made and applied.

    Parameters
    ----------
    kind : class
        Of ``tf.layers``.
    default : str
        The scope's name if none is given.
    given : dict
        The arguments that all functions for such layers have, by name; those of convolutions have more in common.
    weights : sequence of str
        What the layer calls its weights.
    **own
        What only this layer takes, or takes in another way.
    """
    arguments = {
        "use_bias": given["normalizer_fn"] is None and given["biases_initializer"] is not None,
        "bias_initializer": given["biases_initializer"],
        "bias_regularizer": given["biases_regularizer"],
        "trainable": given["trainable"],
    }
    for name in weights:
        arguments[f"{name}_initializer"] = given["weights_initializer"]
        arguments[f"{name}_regularizer"] = given["weights_regularizer"]
    if "kernel_size" in given:
        names = {"filters": "num_outputs", "kernel_size": "kernel_size", "strides": "stride", "padding": "padding"}
        arguments |= {ours: given[name] for ours, name in names.items()}
        arguments["data_format"] = channels(given["data_format"])
    with variable_scope(given["scope"], default, [given["inputs"]], reuse=given["reuse"]) as opened:
        collections = given["variables_collections"]
        outputs = apply(kind, given["inputs"], opened, given["reuse"], collections, {**arguments, **own})
        normalizer, params, activation = (given[n] for n in ("normalizer_fn", "normalizer_params", "activation_fn"))
        return finished(outputs, normalizer, params, activation, given["outputs_collections"])


def channels(data_format: str | None) -> str:
    """TensorFlow 1's ``"NHWC"`` as the layers take it."""
    return "channels_first" if (data_format or "N").startswith("NC") else "channels_last"
