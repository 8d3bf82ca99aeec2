"""Linear algebra of small matrices, in one order: determinants, inverses, systems, triangular factors, cofactors.

LAPACK takes a quarter of a microsecond and more for each matrix, most of it to find out what to do. Here each operation
goes through many matrices side by side: in C (``runtime/small_matrix.h``) or, where there is none, in NumPy, with the
same bits. Rows are exchanged as in LAPACK, and all is computed in double precision: results are as accurate as
LAPACK's, a determinant more so, since it is a product of pivots and not the exponential of a sum of logarithms.

Cofactors of matrices of up to three rows are sums of products of entries. So they, and all their derivatives, are
defined for singular matrices, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.structural import has_nan
from engine.ops.small_product import MOST, in_c

MOST_COFACTORS = 3
"""The largest dimension of a matrix whose cofactors are written out."""

Entries = list[list[Any]]


def is_small(matrix: Any, other: Any = None, most: int = MOST) -> bool:
    """Whether arrays, or what stands for them, hold small square matrices, and right sides of such."""
    char, shape = matrix.dtype.char, matrix.shape
    if char not in "fd" or len(shape) < 2 or not 0 < shape[-1] == shape[-2] <= most or 0 in shape:
        return False
    if other is None:
        return True
    sides = other.shape
    return len(sides) >= 2 and sides[-2] == shape[-1] and 0 not in sides and other.dtype.char == char


def are_small(avals: Sequence[Aval], most: int = MOST) -> bool:
    """`is_small` of what is known of one or two values."""
    if not all(a.is_static for a in avals):
        return False
    first, *others = [SimpleNamespace(dtype=a.dtype.numpy, shape=a.shape) for a in avals]
    return is_small(first, others[0] if others else None, most)


def _entries(x: Any) -> Entries:
    return [[x[..., i, j].astype(np.float64) for j in range(x.shape[-1])] for i in range(x.shape[-2])]


def _together(entries: Entries, dtype: np.dtype) -> Any:
    rows = [np.stack(np.broadcast_arrays(*row), -1) for row in entries]
    return np.stack(np.broadcast_arrays(*rows), -2).astype(dtype)


def _exchanged(x: Any, y: Any, where: Any) -> tuple[Any, Any]:
    return np.where(where, y, x), np.where(where, x, y)


def _factored(a: Entries) -> tuple[Entries, Entries, Any]:
    """Upper triangular factors in place of `a`; multipliers of rows when these were subtracted; exchanges before."""
    n = len(a)
    multipliers: Entries = [[None] * n for _ in a]
    exchanges: Entries = [[None] * n for _ in a]
    odd: Any = False
    for k in range(n):
        for i in range(k + 1, n):
            # also where one is NaN
            larger = ~(np.abs(a[i][k]) <= np.abs(a[k][k]))
            exchanges[i][k], odd = larger, odd ^ larger
            for j in range(k, n):
                a[k][j], a[i][j] = _exchanged(a[k][j], a[i][j], larger)
        pivot = np.where(a[k][k] == 0, 1.0, a[k][k])
        for i in range(k + 1, n):
            multipliers[i][k] = a[i][k] / pivot
            for j in range(k + 1, n):
                a[i][j] = a[i][j] - multipliers[i][k] * a[k][j]
    return multipliers, exchanges, odd


def _substituted(a: Entries, multipliers: Entries, exchanges: Entries, b: list[Any], reciprocals: Any = None) -> None:
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            b[k], b[i] = _exchanged(b[k], b[i], exchanges[i][k])
        for i in range(k + 1, n):
            b[i] = b[i] - multipliers[i][k] * b[k]
    for j in reversed(range(n)):
        b[j] = b[j] / a[j][j] if reciprocals is None else b[j] * reciprocals[j]
        for i in range(j):
            b[i] = b[i] - a[i][j] * b[j]


def _failed(where: Any, dtype: np.dtype) -> Any:
    return np.where(where, np.nan, 0.0).astype(dtype)


def _no_pivots(a: Entries, dtype: np.dtype) -> Any:
    return _failed(np.logical_or.reduce([a[k][k] == 0 for k in range(len(a))]), dtype)


def _det(x: Any) -> Any:
    number, exponent = _det_parts(x)
    return np.ldexp(number, exponent.astype(np.int32)).astype(x.dtype)


def _det_parts(x: Any) -> tuple[Any, Any]:
    a = _entries(x)
    _, _, odd = _factored(a)
    pivots = [a[k][k] for k in range(len(a))]
    limits = np.finfo(np.float64)
    product, odd_sizes = pivots[0], np.zeros(pivots[0].shape, bool)
    for pivot in pivots[1:]:
        product = product * pivot
        odd_sizes = odd_sizes | ~((np.abs(product) >= limits.smallest_normal) & (np.abs(product) <= limits.max))
    number, exponent = np.ones_like(product), np.zeros_like(product)
    for pivot in pivots:
        mantissa, power = np.frexp(pivot)
        number = number * mantissa
        exponent = exponent + np.where((number == 0) | ~(np.abs(number) <= 1), 0, power)
    number, exponent = np.where(odd_sizes, number, product), np.where(odd_sizes, exponent, 0.0)
    return np.where(odd, -number, number) + 0, exponent


def _inv(x: Any) -> tuple[Any, Any]:
    a = _entries(x)
    multipliers, exchanges, _ = _factored(a)
    reciprocals = [1 / a[k][k] for k in range(len(a))]
    columns = []
    for j in range(len(a)):
        b = [np.float64(k == j) for k in range(len(a))]
        _substituted(a, multipliers, exchanges, b, reciprocals)
        columns.append(b)
    return _together([list(row) for row in zip(*columns, strict=True)], x.dtype), _no_pivots(a, x.dtype)


def _rows(x: Any) -> list[Any]:
    return [x[..., k, :].astype(np.float64) for k in range(x.shape[-2])]


def _of_rows(rows: list[Any], dtype: np.dtype) -> Any:
    return np.stack(np.broadcast_arrays(*rows), -2).astype(dtype)


def _solve(matrix: Any, rhs: Any) -> tuple[Any, Any]:
    a, b = _entries(matrix[..., np.newaxis, :, :]), _rows(rhs)
    multipliers, exchanges, _ = _factored(a)
    _substituted(a, multipliers, exchanges, b)
    return _of_rows(b, rhs.dtype), _no_pivots(a, rhs.dtype)[..., 0]


def _lower_solve(matrix: Any, rhs: Any) -> tuple[Any, Any]:
    a, b = _entries(matrix[..., np.newaxis, :, :]), _rows(rhs)
    for j in range(len(a)):
        b[j] = b[j] / a[j][j]
        for k in range(j + 1, len(a)):
            b[k] = b[k] - a[k][j] * b[j]
    return _of_rows(b, rhs.dtype), _no_pivots(a, rhs.dtype)[..., 0]


def _cholesky(x: Any) -> tuple[Any, Any]:
    a, n = _entries(x), x.shape[-1]
    failed: Any = False
    for j in range(n):
        for k in range(j):
            a[k][j] = np.float64(0)
        # NaN is let pass
        failed = failed | (a[j][j] <= 0)
        a[j][j] = np.sqrt(a[j][j])
        for k in range(j + 1, n):
            a[k][j] = a[k][j] / a[j][j]
        for k in range(j + 1, n):
            for i in range(k, n):
                a[i][k] = a[i][k] - a[i][j] * a[k][j]
    return _together(a, x.dtype), _failed(failed, x.dtype)


def _others(i: int, n: int) -> tuple[int, int]:
    return (i + 1) % n, (i + 2) % n


def cofactor_entries(x: Any) -> Any:
    """Cofactors, entry by entry, as an array of objects; `x` is indexed by row and column."""
    n = len(x)
    out: Any = np.empty((n, n), object)
    for r, c in np.ndindex(n, n):
        (p, q), (s, t) = _others(r, n), _others(c, n)
        if n == 2:
            out[r, c] = x[p][s] if r == c else -x[p][s]
        else:
            out[r, c] = x[p][s] * x[q][t] - x[p][t] * x[q][s]
    return out


def change_entries(d: Any, x: Any) -> Any:
    """How cofactors of `x` change with `d`, likewise."""
    n = len(x)
    if n == 2:
        return cofactor_entries(d)
    out: Any = np.empty((n, n), object)
    for r, c in np.ndindex(n, n):
        (p, q), (s, t) = _others(r, n), _others(c, n)
        out[r, c] = (d[p][s] * x[q][t] + x[p][s] * d[q][t]) - (d[p][t] * x[q][s] + x[p][t] * d[q][s])
    return out


def _cofactors(x: Any) -> Any:
    return np.ones_like(x) if x.shape[-1] == 1 else _together(cofactor_entries(_entries(x)).tolist(), x.dtype)


def _cofactor_change(d: Any, x: Any) -> Any:
    d, x = np.broadcast_arrays(d, x)
    return (
        np.zeros_like(x) if x.shape[-1] == 1 else _together(change_entries(_entries(d), _entries(x)).tolist(), x.dtype)
    )


def _ordered(name: str, in_numpy: Any) -> Any:
    def function(*operands: Any, order: Any) -> Any:
        with np.errstate(all="ignore"):
            results = in_numpy(*operands)
        if isinstance(results, tuple):
            return tuple([np.asarray(x, order=order)[()] for x in results])
        return np.asarray(results, order=order)[()]

    function.__name__ = name
    return function


_IN_NUMPY = {
    "small_det": _det,
    "small_det_parts": _det_parts,
    "small_inv": _inv,
    "small_solve": _solve,
    "small_lower_solve": _lower_solve,
    "small_cholesky": _cholesky,
    "small_cofactors": _cofactors,
    "small_cofactor_change": _cofactor_change,
}
FUNCTIONS: dict[str, Any] = {
    name: _ordered(name, function) if in_c is None else getattr(in_c, name) for name, function in _IN_NUMPY.items()
}
"""By name: a gufunc, if there is one, or the function in NumPy.

``small_det_parts`` gives a number and the exponent of the power of two that it is to be multiplied by. What may fail
gives numbers, and NaN for each matrix that is singular or not positive definite, 0 for others.
"""


def call(name: str, *operands: Any) -> Any:
    """Results of a function, in C order; it tells of no floating-point errors."""
    return FUNCTIONS[name](*operands, order="C")


def numbers_of(name: str, *operands: Any) -> Any:
    """Results of a function that may fail; None if it has failed for a matrix."""
    out, failed = FUNCTIONS[name](*operands, order="C")
    if isinstance(failed, np.ndarray):
        return None if has_nan(failed) else out
    if isinstance(failed, np.generic):
        return None if failed != failed else out
    # what stands for an array lets rows look
    return None if failed.holds_nan() else out
