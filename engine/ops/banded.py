"""Systems of equations with banded matrices, given by their diagonals as SciPy and LAPACK have them.

Row ``upper + i - j`` of the diagonals holds at column j the element (i, j) of the matrix. Rules work on diagonals only,
so that a derivative takes memory and time in proportion to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import leading
from engine.core.kinds import general, same_dtype
from engine.core.operands import Operand
from engine.core.sparsity import rowwise
from engine.core.structural import conj
from engine.core.value import shape_of
from engine.ops.joining import stack
from engine.ops.lapack import scipy_linalg
from engine.ops.rearrange import pad
from engine.ops.reduce import add_n, reduce_sum
from engine.ops.slicing import getitem
from engine.runtime.errors import ShapeError


def _adjoint_band(ab: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """The diagonals of the adjoint matrix."""
    out, n = np.zeros_like(ab), ab.shape[-1]
    for r in range(lower + upper + 1):
        shift = r - upper  # of the columns: at[l + i - j, j] is ab[u + j - i, i]
        start, stop = max(0, -shift), n - max(0, shift)
        out[lower + upper - r, start + shift : stop + shift] = ab[r, start:stop]
    return out.conj()


def _kernel(ab: Any, rhs: Any, *, lower: int, upper: int, adjoint: bool) -> np.ndarray:
    lead = np.broadcast_shapes(ab.shape[:-2], rhs.shape[:-2])
    bands, sides = np.broadcast_to(ab, lead + ab.shape[-2:]), np.broadcast_to(rhs, lead + rhs.shape[-2:])
    widths = (upper, lower) if adjoint else (lower, upper)
    solutions = [
        scipy_linalg.solve_banded(widths, _adjoint_band(bands[i], lower, upper) if adjoint else bands[i], sides[i])
        for i in np.ndindex(lead)
    ]
    return np.array(solutions, rhs.dtype).reshape(sides.shape)


def _abstract(ab: Aval, rhs: Aval, *, lower: int, upper: int, adjoint: bool) -> Aval:
    same_dtype("solve_banded", ("ab", "b"), (ab, rhs))
    if ab.shape is None or rhs.shape is None:
        return Aval(rhs.shape, rhs.dtype)
    if len(ab.shape) < 2 or len(rhs.shape) < 2 or ab.shape[-2] not in (None, lower + upper + 1):
        raise ShapeError(
            f"solve_banded: argument `ab` must have {lower + upper + 1} rows, one for each diagonal, got {ab}"
        )
    if None not in (ab.shape[-1], rhs.shape[-2]) and ab.shape[-1] != rhs.shape[-2]:
        raise ShapeError(
            f"solve_banded: arguments `ab` and `b` must agree in the number of unknowns, got {ab} and {rhs}"
        )
    return Aval(rhs.shape, rhs.dtype)


def _rows_around(x: Any, before: int, after: int) -> Operand:
    # of a rank that is not known SciPy takes matrices only
    return pad(x, [[0, 0]] * (len(shape_of(x) or (0, 0)) - 2) + [[before, after], [0, 0]])


def _rows(x: Any, start: int, surplus: int) -> Operand:
    """All rows of x but so many, from one on."""
    return getitem(x, (..., slice(start, start - surplus or None), slice(None)))


def _band_of_product(left: Any, right: Any, lower: int, upper: int) -> Operand:
    """The diagonals of ``left @ adjoint(right)``."""
    padded, right, surplus = _rows_around(left, upper, lower), conj(right), lower + upper
    return stack([reduce_sum(_rows(padded, r, surplus) * right, -1) for r in range(surplus + 1)], -2)


def _times(ab: Any, x: Any, lower: int, upper: int, adjoint: bool) -> Operand:
    """The matrix of these diagonals, or its adjoint, times x."""
    count = lower + upper + 1
    rows = [getitem(ab, (..., r, slice(None), None)) for r in range(count)]
    if adjoint:
        padded = _rows_around(x, upper, lower)
        return add_n([conj(row) * _rows(padded, r, count - 1) for r, row in enumerate(rows)])
    whole = add_n([_rows_around(row * x, r, count - 1 - r) for r, row in enumerate(rows)])
    return _rows(whole, upper, count - 1)


def _ab_vjp(ct: Any, out: Any, ab: Any, rhs: Any, *, lower: int, upper: int, adjoint: bool) -> Operand:
    back = banded_solve_op(ab, ct, lower=lower, upper=upper, adjoint=not adjoint)
    left, right = (out, back) if adjoint else (back, out)
    return -_band_of_product(left, right, lower, upper)


def _ab_jvp(t: Any, out: Any, ab: Any, rhs: Any, *, lower: int, upper: int, adjoint: bool) -> Operand:
    params: Any = {"lower": lower, "upper": upper, "adjoint": adjoint}
    return -banded_solve_op(ab, _times(t, out, **params), **params)


banded_solve_op = general(
    "banded_solve_op",
    _kernel,
    _abstract,
    vjp=(
        _ab_vjp,
        lambda ct, out, ab, rhs, *, adjoint, **widths: banded_solve_op(ab, ct, adjoint=not adjoint, **widths),
    ),
    jvp=(_ab_jvp, lambda t, out, ab, rhs, **params: banded_solve_op(ab, t, **params)),
    batch=leading(2, 2),
    strict=False,
    refuses=True,
    args=("ab", "rhs"),
    sparsity=rowwise(2, 2, results=(2,), pairs=((), ((-1, -1),))),
    doc="Solutions x of ``a @ x = rhs`` for matrices given by `lower` + 1 + `upper` diagonals.",
)
