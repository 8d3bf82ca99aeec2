"""Which values of a step its loop saves for the reverse walk, and which ones are computed again.

The walk back through a loop starts from the carries that a step began with, and computes what else it needs of the step
once more. That takes as long as the step. So values that it needs, and that are made by products of matrices, by
exponentials and the like, are saved: a read in place of a computation, and the same number. What follows from saved
values by arithmetic and by moving elements is computed again, and so is what would take too much memory: more than the
carries, where nobody knows how many steps there will be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from engine.closed.function import ClosedFunction
from engine.core.op import Layout, Node
from engine.core.trace import needed_nodes
from engine.runtime.tuning import TUNING

_MOST, _MOST_ELEMENTWISE = TUNING.saved_bytes, TUNING.saved_elementwise_bytes


def values_of(body: ClosedFunction) -> list[Any]:
    """The values that its nodes compute, without constants, in the order in which loops number them."""
    nodes = needed_nodes(body.nodes, body.results, {id(p) for p in body.parameters})
    return [out for node in nodes if node.inputs for out in node.outputs]


def are_alike(body: ClosedFunction, other: ClosedFunction) -> bool:
    """Whether the values of two functions are numbered in the same way."""
    return [x.node.op for x in values_of(body)] == [x.node.op for x in values_of(other)]


def worth_saving(
    back: ClosedFunction, forward: set[int], rows: Sequence[Any], steps: int | None, carries: Sequence[Any]
) -> list[Any]:
    """Values that a reverse walk computes anew of the step, which had better be saved.

    `forward` are the identities of those that the step computes, `rows` parameters of the walk that are rows of
    sequences and lie in C order, `carries` what is saved otherwise. If nobody knows the number of steps, values may
    take as much memory as these.
    """
    chosen = _chosen(back, forward, rows, False)
    if steps is None:
        most = min(_bytes(carries), _MOST) if all(x.aval.is_static for x in carries) else 0
        chosen = chosen if _bytes(chosen) <= most else _chosen(back, forward, rows, True)
        return chosen if _bytes(chosen) <= most else []
    if _bytes(chosen) * steps > _MOST_ELEMENTWISE:
        chosen = _chosen(back, forward, rows, True)
    return chosen if _bytes(chosen) * steps <= _MOST else []


def _bytes(values: Sequence[Any]) -> int:
    return sum(math.prod(x.aval.shape) * x.aval.dtype.size for x in values)


def _chosen(back: ClosedFunction, forward: set[int], rows: Sequence[Any], mixing: bool) -> list[Any]:
    """The values, in the order in which they are computed; if `mixing`, for products of matrices and the like alone."""
    ahead = [node for node in back.nodes if node.outputs and id(node.outputs[0]) in forward]
    rest = [node for node in back.nodes if not node.outputs or id(node.outputs[0]) not in forward]
    needed = {id(x) for x in (*back.results, *[x for node in rest for x in node.inputs])}
    for node in reversed(ahead):
        # what cannot be saved itself needs its operands
        if not needed.isdisjoint(map(id, node.outputs)) and not _can_be_saved(node):
            needed.update(map(id, node.inputs))
    chosen: list[Any] = []
    costly: set[int] = set()
    in_order = set(map(id, rows))
    for node in ahead:
        if _is_in_order(node, in_order):
            in_order.add(id(node.outputs[0]))
        if not (_is_costly(node, mixing) or any(id(x) in costly for x in node.inputs)):
            continue
        x = node.outputs[0]
        if id(x) in needed and _can_be_saved(node) and (len(x.aval.shape) < 2 or id(x) in in_order):
            chosen.append(x)
        else:
            costly.update(map(id, node.outputs))
    return chosen


def _is_costly(node: Node, mixing: bool) -> bool:
    op = node.op
    if op.elementwise:
        return not (mixing or op.rounds_correctly)
    return not op.routes


def _can_be_saved(node: Node) -> bool:
    """Whether its result is a new array of numbers, of a known size."""
    x = node.outputs[0]
    return not node.op.multi and node.op.shares == () and x.aval.is_static and x.dtype.is_differentiable


def _is_in_order(node: Node, in_order: set[int]) -> bool:
    """Whether a value lies in C order, as a saved one does: sums of it are rounded accordingly."""
    op, operands = node.op, node.inputs
    layout = op.layout([x.aval for x in operands], node.params) if callable(op.layout) else op.layout
    if layout is Layout.FRESH:
        return True
    alike = layout in (Layout.LIKE, Layout.KEPT)
    return alike and all(id(x) in in_order or len(x.aval.shape or "..") < 2 for x in operands)
