"""Products of a matrix and a vector that was given as a row or a column.

`matmul` takes matrices, so programs that have vectors give them an axis of size one and take it away again. For BLAS it
is the same call either way.
"""

from __future__ import annotations

from typing import Any

from engine.op import Op
from engine.ops.linalg import FEW, matmul_op
from engine.program.kernels import vector_product
from engine.program.slots import Slot
from engine.structural import reshape_to
from engine.value import known_shape


def by_vector(op: Op, inputs: list[Slot], params: dict[str, Any]) -> Any:
    """A product of matrices by that of a vector and a matrix, or None."""
    if op is not matmul_op:
        return None
    a, b = inputs
    transpose_a, transpose_b = params["transpose_a"], params["transpose_b"]
    rows = _vector(a, 1 if transpose_a else 0)
    if rows is not None:
        return _product(rows, b, transpose_b, as_row=True)
    columns = _vector(b, 0 if transpose_b else 1)
    return None if columns is None else _product(columns, a, not transpose_a, as_row=False)


def _vector(x: Slot, axis: int) -> Slot | None:
    """The vector that `x` is, with an axis of size one in addition."""
    shape, given = x.aval.shape or (), x.unshaped
    if len(shape) != 2 or shape[axis] != 1 or not x.dtype.is_differentiable:
        return None
    return given if given.aval.ndim == 1 else None


def _product(vector: Slot, matrix: Slot, transpose: bool, as_row: bool) -> Any:
    shape = known_shape(matrix, "matmul")
    size = shape[0 if transpose else 1]
    if len(shape) != 2 or size > FEW:
        return None
    return reshape_to(vector_product(vector, matrix, transpose=transpose), shape=(1, size) if as_row else (size, 1))
