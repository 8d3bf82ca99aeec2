"""Whether the rows of a batch are independent, by structure.

Each element of the source is labeled with its row, and the labels are followed to the target. Rows are independent if
no element of the target depends on another row than its own. The patterns have a column per row of the source only, and
as long as nothing couples rows they are vectors, so this costs little more than moving the data once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import Sites
from engine.core.value import known_shape, shape_of
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import followed


def coupling(nodes: Sequence[Node], source: Any, target: Any, contents: Callable[[Any], Any]) -> Node | None:
    """The node to blame if a row of the target depends on another row of the source than its own, by structure.

    Both have shapes ``(b, ...)`` with the same b; None if rows are certainly independent.
    """
    shape = known_shape(source, "batch_jacobian")
    rows = shape[0]
    start = Pattern.map(np.repeat(np.arange(rows), math.prod(shape[1:])), rows)
    reached, spread = set(), set()
    for value, row in followed(nodes, {id(source): {0: start}}, [target], Sites(contents)):
        if 0 not in row:
            continue
        reached.add(id(value))
        if _spreads(row[0], shape_of(value), rows):
            spread.add(id(value))
    return culprit(nodes, rows, reached, lambda value: id(value) in spread) if id(target) in spread else None


def _spreads(pattern: Pattern, shape: Any, rows: int) -> bool:
    """Whether elements depend on other rows than their own (also if they have none)."""
    if pattern.is_zero or rows == 0:
        return False
    if pattern.form != "map" or shape[:1] != (rows,):
        return rows > 1
    index = pattern.index.reshape(rows, -1)
    return bool(((index != np.arange(rows)[:, None]) & (index >= 0)).any())


def culprit(nodes: Sequence[Node], rows: int, reached: Container[int], spreads: Callable[[Any], bool]) -> Node:
    """The node to blame: the first that mixes rows, or the one before it that gave up the row axis.

    `reached` are the identities of the values that depend on the source; `spreads` says whether a value of so many rows
    depends on other rows than its own.
    """
    by_output = {id(out): node for node in nodes for out in node.outputs}
    for node in nodes:
        if any(_has_rows(out, rows) and spreads(out) for out in node.outputs):
            for x in node.inputs:
                if id(x) in reached and id(x) in by_output and not _has_rows(x, rows):
                    return _first_without_rows(by_output[id(x)], by_output, reached, rows)
            return node
    return next(node for node in reversed(nodes) if id(node.outputs[0]) in reached)


def _has_rows(x: Any, rows: int) -> bool:
    shape = shape_of(x)
    return shape is not None and shape[:1] == (rows,)


def _first_without_rows(node: Node, by_output: dict[int, Node], reached: Container[int], rows: int) -> Node:
    while True:
        for x in node.inputs:
            if id(x) in reached and not _has_rows(x, rows) and id(x) in by_output:
                node = by_output[id(x)]
                break
        else:
            return node
