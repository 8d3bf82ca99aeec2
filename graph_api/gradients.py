"""`gradients`, `jacobian` and `hessians`: derivatives as new tensors of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import nest
from engine.batching import Batched, batch_level, unbatch
from engine.gradient_tape import UnconnectedGradients, as_policy, identity_seeds
from engine.indexed_slices import IndexedSlices
from engine.ops.shape import reshape
from engine.symbolic import as_list
from engine.symbolic import gradients as symbolic_gradients
from engine.value import known_shape
from graph_api.graph import Graph


class AggregationMethod:
    """How summands of a gradient are added. Here always in the order of the walk; the names are kept for programs."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


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
) -> list[Any]:
    """Derivatives of ``sum(ys)`` with respect to each of `xs`, as new tensors.

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
    colocate_gradients_with_ops, gate_gradients : bool
        Accepted for compatibility: there is one device, and results do not depend on the order of execution.
    aggregation_method : int, optional
        One of `AggregationMethod`; the sum is the same.
    stop_gradients : tensor or list of tensors, optional
        Tensors to treat as constants: partial instead of total derivatives.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to return for an x that no y depends on.

    Returns
    -------
    list
        A tensor per x, of its shape and dtype, or None.

    Raises
    ------
    ValueError
        If the number or a shape of `grad_ys` does not fit, or `aggregation_method` is unknown.
    TypeError
        If something is not a tensor, or a dtype of `grad_ys` does not fit.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32)
    ...     (g,) = tf.gradients([x**2, x**3], x)
    ...     print(sess.run(g, {x: 2.0}))
    16.0
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(
            f"gradients: argument `aggregation_method` must be an AggregationMethod, got {aggregation_method!r}"
        )
    with _graph_of(ys, "ys").name_scope(name):
        return symbolic_gradients(ys, xs, grad_ys, stop_gradients, unconnected_gradients)


def _graph_of(x: Any, argument: str) -> Graph:
    for one in as_list(x):
        graph = getattr(one, "graph", None)
        if isinstance(graph, Graph):
            return graph
    raise TypeError(f"argument `{argument}` must hold tensors or variables of a graph, got {x!r}")


def jacobian(
    ys: Any,
    xs: Any,
    name: str = "jacobian",
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> Any:
    """The derivative of every element of `ys` with respect to every element of each of `xs`, as new tensors.

    All rows are computed at once: one reverse walk carries a batch of cotangents, the rows of the identity matrix.

    Parameters
    ----------
    ys : tensor, or structure of tensors
        Of known shapes. A structure gives a structure of Jacobians.
    xs : tensor, variable, or structure of these
        Of known shapes.
    name : str
        Scope of the new operations.
    stop_gradients : tensor or list of tensors, optional
        Tensors to treat as constants.
    unconnected_gradients : UnconnectedGradients or str
        ``"none"`` or ``"zero"``: what to return for an x that a y does not depend on.

    Returns
    -------
    structure like `xs` (for each y)
        Of shape ``y.shape + x.shape``.

    Raises
    ------
    ValueError
        If a shape is not known.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2])
    ...     print(sess.run(tf.jacobian(tf.stack([x[0] * x[1], x[1]]), x), {x: [3.0, 5.0]}))
    [[5. 3.]
     [0. 1.]]
    """
    policy = as_policy(unconnected_gradients)
    flat = nest.flatten(xs)
    ys = nest.map_structure(lambda y: y.as_value() if isinstance(y, IndexedSlices) else y, ys)
    with _graph_of(nest.flatten(ys), "ys").name_scope(name):
        blocks = [_rows(y, flat, stop_gradients, policy) for y in nest.flatten(ys)]
    return nest.pack_sequence_as(ys, [nest.pack_sequence_as(xs, block) for block in blocks])


def _rows(y: Any, xs: list[Any], stop_gradients: Any, policy: UnconnectedGradients) -> list[Any]:
    """The Jacobians of one target: its gradient with the rows of the identity as a batch of cotangents."""
    shape = known_shape(y, "jacobian")
    seed = identity_seeds(shape, y.dtype)
    with batch_level() as level:
        found = symbolic_gradients(y, xs, Batched(seed, level), stop_gradients)
        stacked = [None if g is None else unbatch(g, level, len(seed)) for g in found]
    wanted = [shape + known_shape(x, "jacobian") for x in xs]
    results = [None if g is None else reshape(g, s) for g, s in zip(stacked, wanted, strict=True)]
    if policy is UnconnectedGradients.NONE:
        return results
    zeros = [np.zeros(s, x.dtype.numpy) for s, x in zip(wanted, xs, strict=True)]
    return [y.graph.constant(z) if r is None else r for r, z in zip(results, zeros, strict=True)]


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Second derivatives of ``sum(ys)`` with respect to each of `xs` (the diagonal blocks).

    Parameters
    ----------
    ys : tensor or list of tensors
    xs : tensor, variable, or list of these
        Of known shapes.
    name, colocate_gradients_with_ops, gate_gradients, aggregation_method
        As in `gradients`.

    Returns
    -------
    list
        One tensor per x, of shape ``x.shape + x.shape``.
    """
    with _graph_of(ys, "ys").name_scope(name):
        first = gradients(ys, xs, aggregation_method=aggregation_method)
        pairs = zip(first, as_list(xs), strict=True)
        return [None if g is None else jacobian(g, x, unconnected_gradients="zero") for g, x in pairs]
