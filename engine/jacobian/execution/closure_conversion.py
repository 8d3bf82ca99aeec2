"""Custom gradients on a path, closed: what the user's rule takes of the graph around it becomes an operand.

A rule is a Python function. It may use tensors of the graph that it was written in, and cannot be pickled. A path that
is copied into another trace, or sent elsewhere, has nodes in place of it.
"""

from __future__ import annotations

from engine.closed.capture import closed_rule, in_order
from engine.core.trace import Symbol
from engine.derivatives.custom import custom_call
from engine.jacobian.structure.path import Path


def with_closed_rules(path: Path) -> Path:
    """The path with `closed_call` in place of `custom_call` where it is one of symbols."""
    if not any(node.op is custom_call and isinstance(node.outputs[0], Symbol) for node in path.nodes):
        return path
    nodes = in_order([closed_rule(node)[-1] if node.op is custom_call else node for node in path.nodes])
    return Path(nodes, [path.values[k] for k in path.sources], [path.values[k] for k in path.targets])
