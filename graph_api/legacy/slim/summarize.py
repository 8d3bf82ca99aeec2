"""Summaries of tensors: ``tf.contrib.layers.summarize_tensor`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualgrad.keras import functions as tf
from engine.core.operands import Operand
from graph_api.graph import get_default_graph
from graph_api.graph_keys import GraphKeys
from graph_api.summaries import histogram, scalar


def summarize_tensor(tensor: Any, tag: str | None = None) -> Operand:
    """A scalar summary of a scalar, a histogram of anything else."""
    name = tag or f"{tensor.op.name}_summary"
    return scalar(name, tensor) if tensor.shape.as_list() == [] else histogram(name, tensor)


def summarize_activation(op: Any) -> Operand:
    """A histogram of a tensor, and the fraction of zeros in the results of a relu."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        scalar(f"{op.op.name}/zeros", tf.zero_fraction(op))
    if op.op.type == "Relu6":
        above = tf.cast(op == 6.0, "float32")
        scalar(f"{op.op.name}/sixes", tf.reduce_mean(above))
    return histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """The summaries of some tensors."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """The summaries of the tensors of a collection."""
    return summarize_tensors(get_default_graph().get_collection(collection, name_filter), summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """The summaries of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


__all__ = [
    "summarize_activation", "summarize_activations", "summarize_collection", "summarize_tensor", "summarize_tensors",
]  # fmt: skip
