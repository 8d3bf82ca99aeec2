"""Are the rows of a batch independent? The check behind `batch_jacobian`.

Most functions show by their structure that they are (`engine.jacobian.rows`), and that is the end of it. Where the
structure cannot tell, for an op says nothing of its sparsity or couplings cancel, numbers decide.

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
from engine.jacobian.rows import coupling, culprit
from engine.op import Node
from engine.tape import paused
from engine.trace import constant_value
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
    if coupling(nodes, source, target, constant_value) is None:
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
    reached = {id(value): t for value, t in zip(values, tangents[:-1], strict=True) if t is not None}
    node = culprit(nodes, rows, reached, lambda value: _spreads(reached.get(id(value)), outside))
    raise InvalidArgumentError(
        f"batch_jacobian: the rows of the target are not independent: {_describe(node)} couples the {rows} rows of "
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


def _describe(node: Node) -> str:
    shapes = ", ".join(format_shape(shape_of(x)) for x in node.inputs)
    return f"the op `{node.op.name}` (operands of shape {shapes})"
