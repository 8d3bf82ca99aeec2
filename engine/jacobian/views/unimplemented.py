"""Derivatives that are not implemented: where a path that ends there would count as zero, that is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core.op import Node
from engine.core.tape import Tape
from engine.derivatives.reverse import live_path
from engine.runtime.errors import UnimplementedError


def check_all_implemented(nodes: Tape | Sequence[Node], sources: Sequence[Any], targets: Sequence[Any]) -> None:
    """Raise where a path from a source to a target ends at a derivative that is not implemented, which is not zero.

    Raises
    ------
    UnimplementedError
    """
    if isinstance(nodes, Tape):
        used = {*nodes.nodes.log[::4], *[node.op for _, node in nodes.nondifferentiable.values()]}
        if not any(op.smooth for op in used):
            return
        nodes = nodes.everything()
    _, live = live_path(nodes, {id(x) for x in sources}, set())
    feeds = {id(y) for y in targets}
    for node in reversed(nodes):
        if feeds.isdisjoint(map(id, node.outputs)):
            continue
        for i, x in enumerate(node.inputs):
            if node.carries(i):
                feeds.add(id(x))
            elif i in node.op.smooth and id(x) in live:
                raise UnimplementedError(
                    f"for_scipy: the function depends on its point by the operand `{node.op.args[i]}` of "
                    f"{node.op.title}, and the derivative in it is not implemented. Keep that operand constant, or "
                    f"give the function a derivative of your own (tf.primitive)"
                )
