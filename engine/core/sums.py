"""Sums over axes of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.operands import Array
from engine.runtime.blas import few_threads
from engine.runtime.cache import cached
from engine.runtime.tuning import TUNING

_LEAST = TUNING.sum_elements
"""Elements of one sum's rows from which on a product with ones is quicker. Not of the whole stack: whatever part of a
stack is summed, each sum is made in the same way."""
_MOST = TUNING.sum_rows
"""Rows in one product."""
_ONES = {np.dtype(t): np.ones(_MOST, t) for t in (np.float32, np.float64)}


def add_over(x: Any, axis: int | tuple[int, ...] | None, keepdims: bool = False, dtype: Any = None) -> Array:
    """The sum of an array over axes, in its own dtype (or the given one).

    NumPy adds up row after row, which costs several times the reading of the rows where they are short. A product with
    ones does not: such a sum over neighboring axes, but not the last, is left to BLAS, if the array is in C order.

    How an array lies in memory decides in which order it is added up, and so how the sum is rounded. Nothing is copied:
    programs see to it that arrays lie as they do without programs (`engine.compiler.ir.layout`).
    """
    if x.size >= _LEAST and axis is not None and dtype is None and x.dtype in _ONES and x.flags.c_contiguous:
        split = _split(x.shape, axis, keepdims)
        if split is not None:
            rows, shape = split
            return _added_rows(x.reshape(rows)).reshape(shape)
    return np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=dtype or x.dtype)  # type: ignore[call-overload]


@few_threads(lambda x: x.size, TUNING.one_thread)
def _added_rows(x: np.ndarray) -> np.ndarray:
    """The sums over axis 1 of three, by products with ones."""
    ones, (before, count, behind) = _ONES[x.dtype], x.shape
    if count <= _MOST:
        return np.matmul(ones[:count], x)
    whole = count - count % _MOST
    parts = np.matmul(ones, x[:, :whole].reshape(before, -1, _MOST, behind))
    out = np.add.reduce(parts, axis=1)
    return out + np.matmul(ones[: count - whole], x[:, whole:]) if whole < count else out


@cached(1 << 12)
def _split(
    shape: tuple[int, ...], axis: int | tuple[int, ...], keepdims: bool
) -> tuple[tuple[int, int, int], tuple[int, ...]] | None:
    """Sizes before, of and behind neighboring axes, and the shape of the sums.

    None if they are not neighbors, or nothing is behind them, or there is little to add.
    """
    axes = sorted([a % len(shape) for a in ((axis,) if isinstance(axis, int) else axis)])
    if not axes:
        return None
    first, after = axes[0], axes[-1] + 1
    before, count, behind = math.prod(shape[:first]), math.prod(shape[first:after]), math.prod(shape[after:])
    if after - first != len(axes) or count < 2 or behind < 2 or count * behind < _LEAST:
        return None
    return (before, count, behind), shape[:first] + (1,) * (len(axes) * keepdims) + shape[after:]
