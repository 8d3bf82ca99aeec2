"""`gradients`: derivatives as new tensors of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.unconnected import UnconnectedGradients
from engine.derivatives.reverse import require_one_number
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.collector import uncollected
from engine.runtime.errors import InvalidArgumentError
from engine.transforms.symbolic import as_list
from engine.transforms.symbolic import gradients as symbolic_gradients
from graph_api.graphs.graph import Graph


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
    *,
    strict: bool = False,
) -> list[Any]:
    """Derivatives of ``sum(ys)`` with respect to each of `xs`, as new tensors.

    In the body of a loop they lead through its elements to what these are rows of: a Jacobian is
    ``map_fn(lambda v: gradients(v, x)[0], y)``. What an iteration takes from the one before counts as given.

    Parameters
    ----------
    ys : tensor or list of tensors
        Summed over all elements of all of them. For the derivative of each element see `jacobian`.
    xs : tensor, variable, or list of these
        Any tensors of the graph, not only placeholders and variables.
    grad_ys : tensor or list of (tensor or None), optional
        Weights of the elements of `ys`, in place of ones.
    name : str
        Scope of the new operations.
    colocate_gradients_with_ops : bool
        Whether new operations say that they are where what they are derivatives of is (`Operation.device`,
        `Operation.colocation_groups`). All are computed on one device nevertheless.
    gate_gradients : bool
        Has nothing to do: a run computes all results of a gradient rule before any of them is used, and nothing that it
        reads changes meanwhile.
    aggregation_method : int, optional
        An `AggregationMethod`: in which order the contributions of several uses of a value are added up.
    stop_gradients : tensor or list of tensors, optional
        Tensors to treat as constants: partial instead of total derivatives.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to return for an x that no y depends on.
    strict : bool
        Whether to raise, rather than sum, if `ys` is not one number and there are no `grad_ys`.

    Returns
    -------
    list
        A tensor per x, of its shape and dtype, or None where no derivative leads from any y to it; ``tf.explain(y, x)``
        says why.

    Raises
    ------
    ValueError
        If the number or a shape of `grad_ys` does not fit, or `aggregation_method` is unknown, or `strict` is given
        and there is more than one number to differentiate.
    TypeError
        If something is not a tensor, or a dtype of `grad_ys` does not fit.
    UnimplementedError
        In the body of a loop, if what it carries starts with something that depends on one of `xs`.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     (g,) = tf.gradients([x**2, x**3], x)
    ...     print(sess.run(g, {x: 2.0}))
    16.0
    """
    check_one_graph([x for values in (ys, xs, grad_ys, stop_gradients) for x in as_list(values)])
    if strict and grad_ys is None:
        require_one_number("gradients", as_list(ys), "tf.jacobian")
    graph = graph_of(ys, "ys")
    with graph.name_scope(name):
        values = ys, xs, grad_ys, stop_gradients, unconnected_gradients, aggregation_method
        before, graph.colocating = graph.colocating, colocate_gradients_with_ops
        try:
            derivatives = uncollected(symbolic_gradients, *values)
        finally:
            graph.colocating = before
        for rows in derivatives:
            if isinstance(rows, IndexedSlices):
                rows.components()  # its shape becomes a node now: a run must not add any, a finalized graph cannot
        return derivatives


def graph_of(x: Any, argument: str) -> Graph:
    """The graph of the first tensor among `x`, or a TypeError."""
    for one in as_list(x):
        graph = getattr(one, "graph", None)
        if isinstance(graph, Graph):
            return graph
    raise TypeError(f"argument `{argument}` must hold tensors or variables of a graph, got {x!r}")


def check_one_graph(values: Sequence[Any]) -> None:
    """Raise unless all tensors and variables among `values` belong to one graph, and may be used here."""
    held = [x for x in values if isinstance(getattr(x, "graph", None), Graph)]
    for x in held[1:]:
        if x.graph is not held[0].graph:
            raise InvalidArgumentError(f"{x!r} must be from the same graph as {held[0]!r}")
    for x in held[:1]:
        x.graph.require_in_reach("gradients", held)
