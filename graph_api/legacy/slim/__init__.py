"""``tf.contrib.slim``: the layers of ``tf.contrib.layers``, `arg_scope`, and variables of models."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from engine.core.operands import Operand
from graph_api import loss_functions
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.legacy.slim import framework, layers
from graph_api.legacy.slim.framework import *  # noqa: F403
from graph_api.legacy.slim.framework import __all__ as _framework
from graph_api.legacy.slim.layers import *  # noqa: F403
from graph_api.legacy.slim.layers import __all__ as _layers


def _reversed(name: str, first: str, second: str) -> Callable[..., Any]:
    """A loss whose first two arguments stand in the order of ``slim.losses``."""
    loss = getattr(loss_functions, name)

    def call(*args: Any, **kwargs: Any) -> Operand:
        arguments = dict(zip((first, second), args, strict=False)) | kwargs
        return loss(**arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"As ``tf.losses.{name}``, with `{first}` before `{second}`."
    return call


losses = ModuleType("graph_api.slim.losses", "``tf.contrib.slim.losses``: predictions before labels.")
"""The losses, with predictions before labels."""
vars(losses).update(
    absolute_difference=_reversed("absolute_difference", "predictions", "labels"),
    add_loss=loss_functions.add_loss,
    get_losses=loss_functions.get_losses,
    get_regularization_losses=loss_functions.get_regularization_losses,
    get_total_loss=loss_functions.get_total_loss,
    log_loss=_reversed("log_loss", "predictions", "labels"),
    mean_squared_error=_reversed("mean_squared_error", "predictions", "labels"),
    sigmoid_cross_entropy=_reversed("sigmoid_cross_entropy", "logits", "multi_class_labels"),
    softmax_cross_entropy=_reversed("softmax_cross_entropy", "logits", "onehot_labels"),
    sparse_softmax_cross_entropy=_reversed("sparse_softmax_cross_entropy", "logits", "labels"),
)

__all__ = ["GraphKeys", "framework", "layers", "losses", *_framework, *_layers]  # noqa: PLE0604 - they are strings
