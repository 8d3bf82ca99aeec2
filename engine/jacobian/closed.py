"""Custom gradients on a path, closed: what the user's rule takes of the graph around it becomes an operand.

A rule is a Python function. It may use tensors of the graph that it was written in, and cannot be pickled. A path that
is copied into another trace, or sent elsewhere, has nodes in place of it.
"""

from __future__ import annotations

from engine.custom import closed_call, custom_call
from engine.jacobian.path import Path
from engine.op import Node
from engine.subtrace import Region
from engine.tape import paused
from engine.trace import Symbol
from engine.value import Zero
from engine.variable import read_variable


def with_closed_rules(path: Path) -> Path:
    """The path with `closed_call` in place of `custom_call` where it is one of symbols."""
    if not any(node.op is custom_call and isinstance(node.outputs[0], Symbol) for node in path.nodes):
        return path
    nodes = [_closed(node) if node.op is custom_call else node for node in path.nodes]
    return Path(nodes, [path.values[k] for k in path.sources], [path.values[k] for k in path.targets])


def _closed(node: Node) -> Node:
    """A `custom_call` as a `closed_call`. The user's rule is applied once, to cotangents that are not known yet."""
    count, rule = node.params["count"], node.params["rule"]
    trace = node.outputs[0].trace
    first = len(trace.nodes)
    cts = tuple([trace.placeholder(out.aval) for out in node.outputs])
    with paused():
        found = {i: rule(i, cts, x) for i, x in enumerate(node.inputs[:count]) if x.dtype.is_differentiable}
    found = {i: trace.operand(ct) for i, ct in found.items() if not isinstance(ct, Zero)}
    region = Region(trace.nodes[first:], cts, list(found.values()), (), lambda _: ())
    captured, handles = list(region.captured.values()), list(region.handles.values())
    pull = region.closed(captured, handles, (), lambda _: "")
    taken = (*node.inputs, *captured, *[read_variable(handle) for handle in handles])
    params = {"count": count, "results": len(cts), "given": tuple(found), "pull": pull}
    return Node(closed_call, taken, params, node.outputs)
