"""Sums over axes of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.operands import Array
from engine.runtime.cache import cached
from engine.runtime.extension import extension
from engine.runtime.tuning import TUNING

_LEAST = TUNING.sum_elements
_MOST = TUNING.sum_rows
_SHORT, _PAYS = 8, 256
"""Elements of a row from which on NumPy adds up several at a time; rows from which on columns are added faster."""
_TYPES = {np.dtype(t) for t in (np.float32, np.float64)}
_in_c: Any = extension("engine.core._eager")[0]


def add_over(x: Any, axis: int | tuple[int, ...] | None, keepdims: bool = False, dtype: Any = None) -> Array:
    """The sum of an array over axes, in its own dtype (or the given one).

    Many rows of an array in C order, along neighboring axes but not the last, are added up in blocks: each one row
    after the other, then the sums of the blocks. The extension does what NumPy does, which takes several times as long.
    NumPy adds up a short row one element after the other, which columns do for all rows at once: 20 times as fast.

    How an array lies in memory decides in which order it is added up, and so how the sum is rounded. Nothing is copied:
    programs see to it that arrays lie as they do without programs (`engine.compiler.ir.layout`).
    """
    if x.size >= _LEAST and axis is not None and dtype is None and x.dtype in _TYPES and x.flags.c_contiguous:
        if axis in (-1, (-1,)) and 1 < x.shape[-1] < _SHORT and x.size >= _PAYS * x.shape[-1] and type(x) is np.ndarray:
            return _added_columns(x, keepdims)
        split = _split(x.shape, axis, keepdims)
        if split is not None:
            rows, shape = split
            return _added_rows(x.reshape(rows)).reshape(shape)
    return np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=dtype or x.dtype)  # type: ignore[call-overload]


def _added_columns(x: np.ndarray, keepdims: bool) -> np.ndarray:
    """The sums over the last axis."""
    out = np.add(x[..., 0], x[..., 1])
    for k in range(2, x.shape[-1]):
        np.add(out, x[..., k], out=out)
    # NumPy starts at 0, so that nothing is -0
    np.add(out, 0, out=out)
    return out[..., None] if keepdims else out


def _added_rows(x: Any) -> np.ndarray:
    """The sums over axis 1 of three."""
    if not isinstance(x, np.ndarray):
        # what stands for an array while a program is observed
        return x.added_rows(_MOST)
    before, count, behind = x.shape
    if _in_c is None:
        return _added_by_numpy(x)
    if count <= _MOST:
        out = np.zeros((before, behind), x.dtype)
        _in_c.add_rows(x, out)
        return out
    states = np.zeros((before, 2 + 2 * behind), x.dtype)
    states[:, :2] = _MOST
    _in_c.add_rows(x, states)
    return states[:, 2 + behind :] + states[:, 2 : 2 + behind]


def _added_by_numpy(x: np.ndarray) -> np.ndarray:
    before, count, behind = x.shape
    last = (count - 1) % _MOST + 1
    out = np.add.reduce(x[:, count - last :], axis=1)
    if last == count:
        return out
    return np.add.reduce(np.add.reduce(x[:, :-last].reshape(before, -1, _MOST, behind), axis=2), axis=1) + out


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
