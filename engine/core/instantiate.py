"""Nodes, again, with other values in place of theirs: whoever copies all of some nodes calls `instantiate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.core.op import Node
from engine.core.trace import Trace

Make = Callable[[Node, tuple[Any, ...]], Sequence[Any]]
"""``make(node, operands)``: what stands for the outputs of a node."""


def applied(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
    """The results of the node's op on other operands, wherever these live."""
    result = node.op(*operands, **node.params)
    return result if node.op.multi else (result,)


def in_trace(trace: Trace) -> Make:
    """A maker of nodes of a trace: the op is applied there, also to operands that are plain arrays."""

    def make(node: Node, operands: tuple[Any, ...]) -> Sequence[Any]:
        result = trace.apply(node.op, operands, node.params)
        return result if node.op.multi else (result,)

    return make


def like(trace: Trace) -> Make:
    """A maker of nodes of a trace whose outputs are known to be as those of the originals."""
    return lambda node, operands: trace.append(node.op, operands, node.params, [out.aval for out in node.outputs])


def instantiate(
    nodes: Iterable[Node], values: dict[Any, Any], make: Make = applied, key: Callable[[Any], Any] = id
) -> dict[Any, Any]:
    """Go through nodes in order, with other values in place of theirs.

    `values` has what stands for the values that the nodes take from outside, by ``id`` or another `key`; what stands
    for their outputs is added, and it is the result. ``make(node, operands)`` gives that; by default it applies the
    node's op.
    """
    for node in nodes:
        made = make(node, tuple([values[key(x)] for x in node.inputs]))
        for out, result in zip(node.outputs, made, strict=True):
            values[key(out)] = result
    return values


def renamed(nodes: Iterable[Node], values: dict[int, Any]) -> list[Node]:
    """The nodes on values that are there already, for operands and outputs alike."""
    return [
        Node(n.op, tuple([values[id(x)] for x in n.inputs]), n.params, tuple([values[id(x)] for x in n.outputs]))
        for n in nodes
    ]
