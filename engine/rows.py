"""Are the rows of a batch independent? The check behind `batch_jacobian`.

A row-wise function keeps a tangent that lives in some rows of the source within the same rows of whatever is computed
from it. So random tangents in chosen sets of rows, pushed forward together, show whether rows are coupled, and where:
at the first node that spreads a tangent beyond its rows. The sets are "bit k of the row number is 0" and "... is 1",
for each k: any two rows differ in some bit, so ``2 log2(rows)`` tangents separate every pair. The values are random, so
a coupling is missed with probability zero; one whose derivative happens to be exactly zero at this point does no harm
and is not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.aval import format_shape
from engine.batching import Batched, batch_level, unbatch
from engine.eager import EagerTensor
from engine.errors import InvalidArgumentError
from engine.forward import forward
from engine.op import Node
from engine.tape import paused
from engine.value import dtype_of, known_shape, shape_of


def check_rows_independent(nodes: Sequence[Node], target: Any, source: Any) -> None:
    """Raise unless each row of `target` depends on the same row of `source` only.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) naming the op that couples rows.
    """
    shape = known_shape(source, "batch_jacobian")
    rows = shape[0]
    if not isinstance(target, EagerTensor) or not rows or rows < 2 or not dtype_of(target).is_differentiable:
        return
    outside = _outside(rows)
    random = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    inside = ~outside.reshape(outside.shape + (1,) * (len(shape) - 1))
    tangent = np.where(inside, random, 0.0).astype(dtype_of(source).numpy)
    values = [out for node in nodes for out in node.outputs]
    with paused(), batch_level() as level:
        found = forward(nodes, [(source, Batched(tangent, level))], [*values, target])
        tangents = [None if t is None else unbatch(t, level, len(outside)) for t in found]
    if not _spreads(tangents[-1], outside):
        return
    reached = dict(zip(map(id, values), tangents[:-1], strict=True))
    culprit = _culprit(nodes, reached, outside)
    raise InvalidArgumentError(
        f"batch_jacobian: the rows of the target are not independent: {_describe(culprit)} couples the {rows} rows of "
        f"the source. Use jacobian for the full derivative"
    )


def _outside(rows: int) -> np.ndarray:
    """Per tangent, the rows in which it must remain zero."""
    bits = np.arange(rows) >> np.arange((rows - 1).bit_length())[:, None] & 1
    return np.concatenate([bits, 1 - bits]).astype(bool)


def _spreads(tangents: Any, outside: np.ndarray) -> bool:
    """Whether one of the tangents has reached rows outside its own."""
    if tangents is None:
        return False
    array = tangents._array if isinstance(tangents, EagerTensor) else tangents
    return array.shape[:2] != outside.shape or bool(np.any(array[outside] != 0))


def _culprit(nodes: Sequence[Node], reached: dict[int, Any], outside: np.ndarray) -> Node:
    """The node to blame: the first that mixes rows, or the one before it that gave up the row axis."""
    rows = outside.shape[1]
    by_output = {id(out): node for node in nodes for out in node.outputs}
    for node in nodes:
        mixed = [out for out in node.outputs if _has_rows(out, rows) and _spreads(reached.get(id(out)), outside)]
        if not mixed:
            continue
        for x in node.inputs:
            if reached.get(id(x)) is not None and not _has_rows(x, rows):
                return _first_without_rows(by_output[id(x)], by_output, reached, rows)
        return node
    return next(node for node in reversed(nodes) if reached.get(id(node.outputs[0])) is not None)


def _has_rows(x: Any, rows: int) -> bool:
    shape = shape_of(x)
    return shape is not None and shape[:1] == (rows,)


def _first_without_rows(node: Node, by_output: dict[int, Node], reached: dict[int, Any], rows: int) -> Node:
    while True:
        for x in node.inputs:
            if reached.get(id(x)) is not None and not _has_rows(x, rows) and id(x) in by_output:
                node = by_output[id(x)]
                break
        else:
            return node


def _describe(node: Node) -> str:
    shapes = ", ".join(format_shape(shape_of(x)) for x in node.inputs)
    return f"the op `{node.op.name}` (operands of shape {shapes})"
