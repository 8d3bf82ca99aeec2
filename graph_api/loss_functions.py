"""``tf.losses``: losses that note themselves in a collection, and that collection."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dualgrad.extras.ops import losses
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.ops.lift import lift
from engine.ops.reduce import add_n
from graph_api.convert import finish
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.tensor import Tensor

Reduction = losses.Reduction


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Note a loss in a collection."""
    if loss_collection is not None:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses noted so far."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The regularization losses of the variables made so far."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularization losses."""
    losses = get_regularization_losses(scope)
    return finish(lambda: add_n(losses) if losses else np.float32(0), name)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Operand:
    """The sum of the losses noted so far, and of the regularization losses.

    Raises
    ------
    ValueError
        If there are none.
    """
    losses = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    if not losses:
        raise ValueError("get_total_loss: no losses have been added")
    return finish(lambda: add_n(losses), name)


_SCOPES = {
    "compute_weighted_loss": "weighted_loss", "cosine_distance": "cosine_distance_loss",
    "sigmoid_cross_entropy": "sigmoid_cross_entropy_loss", "softmax_cross_entropy": "softmax_cross_entropy_loss",
    "sparse_softmax_cross_entropy": "sparse_softmax_cross_entropy_loss",
}  # fmt: skip
"""Where a loss has another name in graphs than its function."""


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss with TensorFlow 1's `scope` and `loss_collection`."""
    lifted = lift(function, finish, wrap=EagerTensor)
    parameters = [p for n, p in inspect.signature(function).parameters.items() if n != "reduction"]
    names = [p.name for p in parameters]
    # TensorFlow 1 puts `scope` and `loss_collection` before `reduction`
    own = {"scope": None, "loss_collection": GraphKeys.LOSSES, "reduction": Reduction.SUM_BY_NONZERO_WEIGHTS}
    own |= {"dim": None} if "axis" in names else {}  # `axis` before TensorFlow 1.5
    scope = _SCOPES.get(function.__name__, function.__name__)

    @functools.wraps(lifted)
    def loss(*args: Any, **kwargs: Any) -> Operand:
        arguments = dict(zip([*names, *own], args, strict=False)) | kwargs
        if "dim" in own and arguments.get("dim") is not None:
            arguments["axis"] = arguments.pop("dim")
        collection = arguments.pop("loss_collection", own["loss_collection"])
        with get_default_graph().name_scope(arguments.pop("scope", None) or scope):
            result = lifted(name="value", **arguments)
        add_loss(result, collection)
        return result

    added = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=x) for n, x in own.items()]
    loss.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
    return loss


absolute_difference = _noting(losses.absolute_difference)
compute_weighted_loss = _noting(losses.compute_weighted_loss)
cosine_distance = _noting(losses.cosine_distance)
hinge_loss = _noting(losses.hinge_loss)
huber_loss = _noting(losses.huber_loss)
log_loss = _noting(losses.log_loss)
mean_pairwise_squared_error = _noting(losses.mean_pairwise_squared_error)
mean_squared_error = _noting(losses.mean_squared_error)
sigmoid_cross_entropy = _noting(losses.sigmoid_cross_entropy)
softmax_cross_entropy = _noting(losses.softmax_cross_entropy)
sparse_softmax_cross_entropy = _noting(losses.sparse_softmax_cross_entropy)

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
    "get_regularization_loss", "get_regularization_losses", "get_total_loss", "hinge_loss", "huber_loss", "log_loss",
    "mean_pairwise_squared_error", "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]  # fmt: skip
