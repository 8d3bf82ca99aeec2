"""Products of tall matrices, some rows or columns at a time: so few that BLAS is quickest."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.runtime.blas import blas_threads, multiplies_in_place
from engine.runtime.tuning import TUNING

_SMALL_PRODUCT = TUNING.product_small
_LEAST_ROWS = TUNING.product_rows
_FEW_ROWS = TUNING.product_rows_in_place
_AT_ONCE = TUNING.product_whole
_SUMMED = TUNING.product_sum_least, TUNING.product_sum_most
_LEAST_COLUMNS = TUNING.product_columns
_MANY_OUTPUTS = TUNING.product_outputs

_REGISTER = 64
"""Bytes of a register of a processor that does so."""
_FEWEST = TUNING.product_unfilled


def product(a: Any, b: Any, out: Any) -> None:
    """Put the product of two matrices into `out`, made of so many rows at a time as are quickest."""
    if (wide := multiplied_outputs(len(a), a.shape[1], b.shape[1], b.itemsize, False)) > b.shape[1]:
        products = np.empty((len(a), wide), out.dtype)
        product(a, widened(b, wide), products)
        out[...] = products[:, : b.shape[1]]
        return
    step = rows_at_once(len(a), a.shape[1], b.shape[1])
    whole = len(a) - len(a) % step
    np.matmul(_stacked(a[:whole], step), b, out=_stacked(out[:whole], step))
    if whole < len(a):
        np.matmul(a[whole:], b, out=out[whole:])


def product_of_columns(a: Any, b: Any) -> np.ndarray:
    """The product of the transpose of a matrix and a matrix, added up from products of some rows and columns."""
    if not a.size or not b.size:
        return np.matmul(a.T, b)
    if (wide := multiplied_outputs(len(a), a.shape[1], b.shape[1], b.itemsize, True)) > b.shape[1]:
        return product_of_columns(a, widened(b, wide))[:, : b.shape[1]]
    step, columns = rows_and_columns_at_once(len(a), a.shape[1], b.shape[1])
    whole = len(a) - len(a) % step
    total = np.add.reduce(products_of_columns(a[:whole], b[:whole], step, columns), axis=0)
    if whole < len(a):
        total += products_of_columns(a[whole:], b[whole:], len(a) - whole, columns)[0]
    return total.reshape(a.shape[1], b.shape[1])


def products_of_columns(a: Any, b: Any, step: int, columns: int) -> np.ndarray:
    """For each `step` rows, and so many columns of `a`, their product: an array of four dimensions."""
    parts = a.reshape(len(a) // step, step, a.shape[1] // columns, columns)
    return np.matmul(parts.transpose(0, 2, 3, 1), _stacked(b, step)[:, None])


def multiplied_outputs(height: int, width: int, outputs: int, itemsize: int, of_columns: bool) -> int:
    """How many columns the second matrix should have, with zeros behind it.

    Where BLAS takes matrices as they lie, the columns that do not fill half of a register are multiplied in another
    order, and slowly; but if there are no others, this is the quickest way to multiply rows.
    """
    lanes, few = _REGISTER // itemsize, outputs % (_REGISTER // itemsize)
    if not multiplies_in_place() or blas_threads() > 1 or height * width <= _AT_ONCE:
        return outputs
    if outputs <= (_FEWEST if of_columns else lanes // 2):
        return outputs
    return outputs - few + lanes if 0 < few <= lanes // 2 else outputs


def widened(matrix: Any, outputs: int) -> np.ndarray:
    """A matrix with columns of zeros behind it."""
    wide = np.zeros((len(matrix), outputs), matrix.dtype)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def rows_at_once(height: int, width: int, outputs: int) -> int:
    """How many rows of a matrix to multiply at a time by another one."""
    most = _SMALL_PRODUCT // max(1, width * outputs)
    in_place = multiplies_in_place()
    least = _FEW_ROWS if in_place else _LEAST_ROWS
    if height <= most or most < least or height * width <= _AT_ONCE or blas_threads() > 1:
        return max(1, height)
    return _in_fours(most) if in_place else -(-height // -(-height // most))


def _in_fours(rows: int) -> int:
    """A multiple of four, which registers hold, or what is less."""
    return rows // 4 * 4 or rows


def rows_and_columns_at_once(height: int, width: int, outputs: int) -> tuple[int, int]:
    """How many rows and columns of a matrix to multiply at a time, transposed, by another one."""
    if not multiplies_in_place() or height * width <= _AT_ONCE or blas_threads() > 1:
        return rows_at_once(height, width, outputs), width
    if outputs > _MANY_OUTPUTS:
        return height, width
    most = _SMALL_PRODUCT // (_SUMMED[0] * outputs)
    # as many as registers hold, or what else there is
    fitting = [n for n in range(_LEAST_COLUMNS, most + 1) if width % n == 0]
    fitting = [n for n in fitting if n % _LEAST_COLUMNS == 0] or fitting
    if not fitting and width > most:
        return height, width
    columns = width if width <= most else fitting[-1]
    return min(_in_fours(_SMALL_PRODUCT // (columns * outputs)), _SUMMED[1], height), columns


def _stacked(matrix: Any, step: int) -> np.ndarray:
    return matrix.reshape(len(matrix) // step, step, matrix.shape[1])
