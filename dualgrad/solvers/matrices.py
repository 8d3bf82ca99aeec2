"""Jacobians of closed functions as matrices made of ops, for what solves with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.closed.function import ClosedFunction, build
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.eager import EagerTensor
from engine.core.value import dtype_of, shape_of
from engine.ops.joining import concat
from engine.ops.shape import matrix_transpose, reshape


def pushed_along_units(closed: ClosedFunction, wanted: int, values: Sequence[Any], size: int, shape: Any) -> list[Any]:
    """The tangents of the results along each element of parameter `wanted`: one axis of them in front.

    Parameters
    ----------
    values : sequence of value
        Of all parameters.
    size, shape
        Of the parameter.
    """
    pushed = closed.pushforward([wanted], list(range(len(closed.results))))[0]
    with batch_level() as level:
        units = EagerTensor(np.eye(size, dtype=dtype_of(values[wanted]).numpy).reshape(size, *shape))
        found = pushed.inline(None, [*values, Batched(units, level, size)])
        return [unbatch(t, level, size) for t in found[len(closed.results) :]]


def length_of(x: Any) -> int:
    """The static length of a vector."""
    shape: Any = shape_of(x)
    return shape[0]


def jacobian_of(closed: ClosedFunction, values: Sequence[Any]) -> Any:
    """The matrix of the derivatives of the first result, a vector, with respect to the first parameter, a vector."""
    size = length_of(closed.parameters[0])
    (columns,) = pushed_along_units(closed, 0, values, size, (size,))
    return matrix_transpose(columns)


def compiled_blocks(closed: ClosedFunction, wanted: Sequence[int]) -> ClosedFunction:
    """The closed function of the parameters of one that gives its Jacobian with respect to some of them, as a matrix.

    The rows are all results flattened, the columns the parameters.
    """

    def make() -> ClosedFunction:
        avals = [p.aval for p in closed.parameters]

        def function(body: Any, values: Sequence[Any]) -> list[Any]:
            rows = []
            for i in wanted:
                shape: Any = avals[i].shape
                size = int(np.prod(shape, dtype=int))
                found = pushed_along_units(closed, i, values, size, shape)
                rows.append(concat([reshape(t, [size, -1]) for t in found], 1))
            return [matrix_transpose(rows[0] if len(rows) == 1 else concat(rows, 0))]

        return build(avals, function)

    return closed.derived(("blocks", tuple(wanted)), make)
