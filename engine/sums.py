"""Sums over axes of arrays."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

_LEAST = 1 << 7
"""Elements of one sum's rows from which on a product with ones is quicker. Not of the whole stack: whatever part of a
stack is summed, each sum is made in the same way."""
_ONES = {np.dtype(t): np.ones(1 << 12, t) for t in (np.float32, np.float64)}


def add_over(x: Any, axis: int | tuple[int, ...] | None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum of an array over axes, in its own dtype (or the given one).

    NumPy adds up row after row, which costs several times the reading of the rows where they are short. A product with
    ones does not: such a sum over neighbouring axes, but not the last, is left to BLAS.

    However an array lies in memory, it is added up as its copy is: rounding shall not depend on whether there was a
    product with ones, which makes a copy, and which programs leave out.
    """
    if not x.flags.c_contiguous and x.dtype.kind in "fc":
        x = np.ascontiguousarray(x)
    if axis is not None and x.size >= _LEAST and dtype is None and x.dtype in _ONES:
        split = _split(x.shape, axis, keepdims)
        if split is not None:
            rows, shape = split
            return np.matmul(_ones(rows[1], x.dtype), x.reshape(rows)).reshape(shape)
    return np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=dtype or x.dtype)  # type: ignore[call-overload]


def _ones(count: int, dtype: np.dtype) -> np.ndarray:
    ones = _ONES[dtype]
    return ones[:count] if count <= ones.size else np.ones(count, dtype)


@lru_cache(maxsize=1 << 12)
def _split(
    shape: tuple[int, ...], axis: int | tuple[int, ...], keepdims: bool
) -> tuple[tuple[int, int, int], tuple[int, ...]] | None:
    """Sizes before, of and behind neighbouring axes, and the shape of the sums.

    None if they are not neighbours, or nothing is behind them, or there is little to add.
    """
    axes = sorted([a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis)])
    if not axes:
        return None
    first, after = axes[0], axes[-1] + 1
    before, count, behind = math.prod(shape[:first]), math.prod(shape[first:after]), math.prod(shape[after:])
    if after - first != len(axes) or count < 2 or behind < 2 or count * behind < _LEAST:
        return None
    return (before, count, behind), shape[:first] + (1,) * (len(axes) * keepdims) + shape[after:]
