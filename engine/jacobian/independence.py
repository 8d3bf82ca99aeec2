"""Are the rows of a batch independent? The check behind `batch_jacobian`.

Most functions show by their structure that they are (`engine.jacobian.structure.row_independence`), and that is the end
of it. Where the structure cannot tell, for an op says nothing of its sparsity or couplings cancel, numbers decide.

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

from engine.core.aval import format_shape
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.eager import EagerTensor
from engine.core.instantiate import renamed
from engine.core.op import Node
from engine.core.operands import Operand
from engine.core.tape import paused
from engine.core.trace import Symbol, Trace, known_value
from engine.core.value import Value, aval_of, dtype_of, known_shape, shape_of
from engine.derivatives.forward import forward
from engine.derivatives.linearity import not_linear
from engine.jacobian.structure.path import contents_of
from engine.jacobian.structure.row_independence import coupling, culprit
from engine.ops.checked import checked_op
from engine.runtime.errors import InvalidArgumentError


def check_rows_by_numbers(nodes: Sequence[Node], target: Any, source: Any) -> None:
    """Raise unless each row of `target` depends on the same row of `source` only; the error names the op to blame."""
    rows = known_shape(source, "batch_jacobian")[0]
    if not rows or rows < 2:
        return
    with paused():
        values, tangents = _pushed(nodes, target, source)
    if values:
        RowsCheck(nodes, values, rows)(*tangents)


def checked_rows(x: Any, nodes: Sequence[Node], target: Any, source: Any) -> Operand:
    """`x`, to be handed on only if each row of `target` depends on the same row of `source` only.

    Where structure tells, nothing is left to be checked; else the numbers decide whenever `x` is computed.
    """
    rows = known_shape(source, "batch_jacobian")[0]
    used: list[Any] = []

    def contents(value: Any) -> np.ndarray | None:
        array = known_value(value, contents_of)
        if array is not None:
            used.append(value)
        return array

    if rows < 2 or not_linear(nodes) is not None or coupling(nodes, source, target, contents) is None:
        if isinstance(x, Symbol):
            x.trace.rely([value for value in used if isinstance(value, Symbol)], [x])
        return x
    values, tangents = _pushed(nodes, target, source)
    return checked_op(x, *tangents, check=RowsCheck(nodes, values, rows)) if values else x


def zero_beside(blocks: Any) -> None:
    """Raise if a block of the Jacobian, ``blocks[row of target, row of source]``, is not zero where the rows differ."""
    apart = ~np.eye(len(blocks), dtype=bool)
    if np.any(blocks[apart] != 0):
        raise InvalidArgumentError(
            f"batch_jacobian: the rows of the target are not independent: a gradient rule that is not linear in the "
            f"cotangent couples the {len(blocks)} rows of the source. Use jacobian for the full derivative"
        )


class RowsCheck:
    """Raises if tangents of `values`, the target being the last one, have left their rows. It can be pickled."""

    def __init__(self, nodes: Sequence[Node], values: Sequence[Any], rows: int) -> None:
        trace, of = Trace(), {}
        for x in [x for node in nodes for x in (*node.inputs, *node.outputs)]:
            if id(x) not in of:
                of[id(x)] = trace.placeholder(aval_of(x if isinstance(x, Value) else np.asarray(x)))
        self.nodes = renamed([Node(n.op, n.inputs, {}, n.outputs) for n in nodes], of)
        self.values = [of[id(x)] for x in values]
        self.rows = rows

    def __call__(self, *tangents: Any) -> None:
        """Check the tangents."""
        outside = _outside(self.rows)
        if not _spreads(tangents[-1], outside):
            return
        reached = {id(value): t for value, t in zip(self.values, tangents, strict=True)}
        node = culprit(self.nodes, self.rows, reached, lambda value: _spreads(reached.get(id(value)), outside))
        raise InvalidArgumentError(
            f"batch_jacobian: the rows of the target are not independent: {_describe(node)} couples the {self.rows} "
            f"rows of the source. Use jacobian for the full derivative"
        )


def _pushed(nodes: Sequence[Node], target: Any, source: Any) -> tuple[list[Any], list[Any]]:
    """The values that depend on `source`, the target being the last one, and their tangents; nothing if it does not."""
    shape = known_shape(source, "batch_jacobian")
    outside = _outside(shape[0])
    random = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    inside = ~outside.reshape(outside.shape + (1,) * (len(shape) - 1))
    tangent = np.where(inside, random, 0.0).astype(dtype_of(source).numpy)
    values = [out for node in nodes for out in node.outputs if out is not target] + [target]
    with batch_level() as level:
        pushed = forward(nodes, [(source, Batched(tangent, level))], values)
        tangents = [None if t is None else unbatch(t, level, len(outside)) for t in pushed]
    if tangents[-1] is None:
        return [], []
    return [v for v, t in zip(values, tangents, strict=True) if t is not None], [t for t in tangents if t is not None]


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
    return f"the op `{node.op.title}` (operands of shape {shapes})"
