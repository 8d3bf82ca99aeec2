"""Checks of a graph that numbers are finite: of one tensor, and of all."""

from __future__ import annotations

from typing import Any

import graph_api as tf
from engine.core.variable import assign_variable, variable_handle
from engine.ops import checked
from graph_api.control_flow.flow import no_op, stateful_op
from graph_api.graphs.graph import get_default_graph
from graph_api.graphs.tensor import Operation, Tensor


def _require_finite(array: Any, *, message: str) -> tuple[()]:
    checked.finite_op.kernel(array, message=message)
    return ()


require_finite = stateful_op(
    "require_finite",
    _require_finite,
    abstract=lambda _, message: (),
    type="CheckNumerics",
    args=("tensor",),
    multi=True,
    doc="Raises if an element is not finite, also if nobody needs the tensor.",
)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """`tensor`; when it is computed, or a gradient passes here, all elements must be finite.

    Raises
    ------
    InvalidArgumentError
        When the graph runs, if there are infinities or NaNs.
    """
    x = tf.convert_to_tensor(tensor)
    return x.graph.apply(checked.finite_op, (x,), {"message": message}, name=name or "CheckNumerics")


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """`t` (also called `x`), as `check_numerics`; the error begins with `msg` (also called `message`)."""
    tensor, text = t if x is None else x, msg if message is None else message
    if tensor is None or text is None:
        raise ValueError("verify_tensor_all_finite: arguments `t` and `msg` (or `x` and `message`) must be given")
    return check_numerics(tensor, text, name or "VerifyFinite")


assert_all_finite = verify_tensor_all_finite


def add_check_numerics_ops() -> Operation:
    """An operation that looks at all floating tensors of the default graph, in the order in which they were made.

    Returns
    -------
    operation
        Running it raises InvalidArgumentError at the first tensor that holds an infinity or a NaN, and names it, with
        the line of the program. What assigns to variables, and what waits for that, is left out, so that checking
        changes nothing. All placeholders must be fed.
    """
    graph = get_default_graph()
    effects: set[int] = set()
    last: list[Any] = []
    for node in graph.get_operations():
        above = [*node.control_inputs, *[x.node for x in node.inputs]]
        if node.op is assign_variable or any(id(n) in effects for n in above):
            effects.add(id(node))
            continue
        for out in node.outputs:
            if out.dtype.is_floating and node.op is not variable_handle:
                file, line = node.where
                params = {"message": f"{out.name} ({file}, line {line})"}
                with graph.control_dependencies(last or None):
                    last = [graph.apply_for_effect(require_finite, (out,), params, "CheckNumerics")]
    return graph.group(last, "group_deps") if last else no_op()


__all__ = ["add_check_numerics_ops", "assert_all_finite", "check_numerics", "verify_tensor_all_finite"]
