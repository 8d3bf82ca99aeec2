"""Functions of numbers that TensorFlow has names for: positions."""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand, operands
from engine.core.value import shape_of_rank
from engine.ops.arithmetic import floordiv, mod
from engine.ops.joining import stack


@operands("indices", "dims")
def unravel_index(indices: Any, dims: Any) -> Operand:
    """The positions in an array of shape `dims` of elements counted row by row, one column each.

    Examples
    --------
    >>> import numpy as np
    >>> unravel_index(np.array([5, 1]), np.array([2, 3]))
    array([[1, 0],
           [2, 1]])
    """
    positions, rest = [], indices
    for size in reversed([dims[i] for i in range(int(shape_of_rank("unravel_index", "dims", dims, 1)[0] or 0))]):
        positions.append(mod(rest, size))
        rest = floordiv(rest, size)
    return stack(positions[::-1])
