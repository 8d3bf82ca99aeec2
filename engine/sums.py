"""Sums over axes of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LEAST = 1 << 7
"""Elements of one sum's rows from which on a product with ones is quicker. Not of the whole stack: whatever part of a
stack is summed, each sum is made in the same way."""
_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


def add_over(x: Any, axis: int | tuple[int, ...] | None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum of an array over axes, in its own dtype (or the given one).

    NumPy adds up row after row, which costs several times the reading of the rows where they are short. A product with
    ones does not: such a sum over neighbouring axes, but not the last, is left to BLAS.
    """
    if axis is not None and x.size >= _LEAST and dtype is None and x.dtype in _KINDS and x.flags.c_contiguous:
        split = _split(x.shape, axis)
        if split is not None:
            rows, first, after = split
            total = np.matmul(np.ones(rows[1], x.dtype), x.reshape(rows))
            return total.reshape(x.shape[:first] + (1,) * ((after - first) * keepdims) + x.shape[after:])
    return np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=dtype or x.dtype)  # type: ignore[call-overload]


def _split(shape: tuple[int, ...], axis: int | tuple[int, ...]) -> tuple[tuple[int, int, int], int, int] | None:
    """Sizes before, of and behind neighbouring axes, the first of these and the first behind them.

    None if they are not neighbours, or nothing is behind them, or there is little to add.
    """
    axes = sorted([a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis)])
    if not axes:
        return None
    first, after = axes[0], axes[-1] + 1
    before, count, behind = math.prod(shape[:first]), math.prod(shape[first:after]), math.prod(shape[after:])
    if after - first != len(axes) or count < 2 or behind < 2 or count * behind < _LEAST:
        return None
    return (before, count, behind), first, after
