"""Unit axes: leaves out axes of size one, of which programs with vectors are full, where they make no difference.

`matmul` takes matrices. So a program gives a vector an axis of size one before the product and drops it afterwards. For
BLAS the product of a vector and a matrix is the call that multiplies a row and a matrix. An elementwise op may work on
the vector itself; then the reshapes before and behind it cancel.
"""

from __future__ import annotations

import math
from typing import Any

from engine.core.aval import broadcast_shapes, is_known
from engine.core.op import Op
from engine.core.structural import reshape_to
from engine.core.value import known_shape
from engine.ops.linalg import FEW, matmul_op
from engine.program.kernels import vector_product
from engine.program.layout import Order
from engine.program.traced_value import TracedValue


def without_unit_axes(op: Op, inputs: list[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """An op's result without axes of size one on the way, or None."""
    if op is matmul_op:
        return _by_vector(*inputs, **params)
    return _elementwise(op, inputs, params) if op.elementwise else None


def _elementwise(op: Op, inputs: list[TracedValue], params: dict[str, Any]) -> TracedValue | None:
    """The op on what its operands are reshapes of, reshaped."""
    shapes = [known_shape(x, op.name) for x in inputs]
    if shapes.count(shapes[0]) == len(shapes) and not any(x.is_reshaped for x in inputs):
        return None
    full = broadcast_shapes(op.name, *shapes)
    if not is_known(full):
        return None
    bare = {x.before_reshape.aval.shape for x, shape in zip(inputs, shapes, strict=True) if shape == full}
    if len(bare) != 1 or full in bare:
        return _of_one_rank(op, inputs, params, full)
    (wanted,) = bare
    if wanted is None or len(wanted) >= len(full):
        return None
    operands = []
    for x, shape in zip(inputs, shapes, strict=True):
        kept = _without_leading_ones(shape)
        if shape == full:
            operands.append(x.before_reshape)
        elif full[len(full) - len(kept) :] == wanted[len(wanted) - len(kept) :] and len(kept) <= len(wanted):
            operands.append(x if len(shape) <= len(wanted) else reshape_to(x, shape=kept))
        else:
            return None
    return reshape_to(op(*operands, **params), shape=full)


def _of_one_rank(
    op: Op, inputs: list[TracedValue], params: dict[str, Any], full: tuple[int, ...]
) -> TracedValue | None:
    """The op on operands that are all of the result's shape: NumPy need not broadcast those that lack ones only."""
    avals = [x.aval for x in inputs]
    size = math.prod(full)
    if all(aval.shape == full or aval.size != size for aval in avals):
        return None
    return op(
        *[reshape_to(x, shape=full) if a.size == size else x for x, a in zip(inputs, avals, strict=True)], **params
    )


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, d in enumerate(shape) if d != 1), len(shape))
    return shape[first:]


def _by_vector(
    a: TracedValue, b: TracedValue, *, transpose_a: bool = False, transpose_b: bool = False
) -> TracedValue | None:
    """A product of matrices by that of a vector and a matrix, or None."""
    rows = _vector(a, 1 if transpose_a else 0)
    if rows is not None:
        return _product(rows, b, transpose_b, as_row=True)
    columns = _vector(b, 0 if transpose_b else 1)
    return None if columns is None else _product(columns, a, not transpose_a, as_row=False)


def _vector(x: TracedValue, axis: int) -> TracedValue | None:
    """The vector that `x` is, with an axis of size one in addition."""
    shape, given = x.aval.shape or (), x.before_reshape
    if len(shape) != 2 or shape[axis] != 1 or not x.dtype.is_differentiable:
        return None
    return given if given.aval.ndim == 1 else None


def _product(vector: TracedValue, matrix: TracedValue, transpose: bool, as_row: bool) -> TracedValue | None:
    shape = known_shape(matrix, "matmul")
    size = shape[0 if transpose else 1]
    if len(shape) != 2 or size > FEW:
        return None
    if vector.order is not Order.CONTIGUOUS or matrix.order is not Order.CONTIGUOUS:
        # NumPy copies what BLAS cannot read, in an order that depends on the number of axes
        return None
    return reshape_to(vector_product(vector, matrix, transpose=transpose), shape=(1, size) if as_row else (size, 1))
