"""Systems of equations whose matrices are given by their diagonals, as TensorFlow has them.

TensorFlow keeps row i of the matrix at column i of the diagonals; LAPACK, whose solver this is
(`engine.ops.banded`), keeps column j at column j. So diagonals are shifted.
"""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import DType
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of, shape_of_rank
from engine.ops.banded import banded_solve_op
from engine.ops.complexes import conj
from engine.ops.diagonal import matrix_diag_part as diag_part
from engine.ops.joining import stack
from engine.ops.lift import as_operand
from engine.ops.rearrange import pad
from engine.ops.shape import expand_dims, matrix_transpose, squeeze
from engine.runtime.errors import InvalidArgumentError


def _shifted(x: Any, distance: int, axis: int = -1) -> Any:
    """`x` moved along an axis (the last, or that before), with zeros where nothing comes from."""
    if not distance:
        return x
    rank = len(shape_of(x) or ())
    fill = [[0, 0] for _ in range(rank)]
    fill[axis] = [max(distance, 0), max(-distance, 0)]
    kept = slice(None, -distance) if distance > 0 else slice(-distance, None)
    wide = pad(x, fill)
    return wide[..., kept] if axis == -1 else wide[..., kept, :]


def _three(name: str, diagonals: Any, diagonals_format: str, dtype: DType) -> tuple[Any, Any, Any]:
    """The superdiagonal, the diagonal and the subdiagonal: each ``[..., m]``, row i at column i."""
    label = f"{name}: argument `diagonals`"
    if diagonals_format != "sequence":
        diagonals = as_operand(diagonals, dtype, label)
    if diagonals_format == "compact":
        shape_of_rank(name, "diagonals", diagonals, 2)
        return diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    if diagonals_format == "sequence":
        above, main, below = (as_operand(d, dtype, label) for d in diagonals)
        shorter = [(shape_of(d) or (None,))[-1] != (shape_of(main) or (None,))[-1] for d in (above, below)]
        outer = [[0, 0]] * (len(shape_of_rank(name, "diagonals", main)) - 1)
        above = pad(above, [*outer, [0, 1]]) if shorter[0] else above
        below = pad(below, [*outer, [1, 0]]) if shorter[1] else below
        return above, main, below
    if diagonals_format == "matrix":
        shape_of_rank(name, "diagonals", diagonals, 2)
        outer = [[0, 0]] * (len(shape_of(diagonals) or ()) - 2)
        above, below = diag_part(diagonals, k=1), diag_part(diagonals, k=-1)
        return pad(above, [*outer, [0, 1]]), diag_part(diagonals), pad(below, [*outer, [1, 0]])
    raise InvalidArgumentError(
        f"{name}: argument `diagonals_format` must be 'compact', 'sequence' or 'matrix', got {diagonals_format!r}"
    )


def _solved(bands: Any, rhs: Any, **widths: Any) -> Operand:
    """Solutions for LAPACK's diagonals, of vectors where `rhs` has one axis less than they."""
    vectors = len(shape_of(rhs) or ()) < len(shape_of(bands) or ())
    solution = banded_solve_op(bands, expand_dims(rhs, -1) if vectors else rhs, **widths)
    return squeeze(solution, -1) if vectors else solution


@operands("rhs")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Operand:
    """Solutions x of ``A @ x = rhs``, where A has three diagonals.

    Parameters
    ----------
    diagonals
        "compact": ``[..., 3, m]``, the superdiagonal (its last element is not read), the diagonal, the subdiagonal (its
        first element is not read). "sequence": these three as a list; the outer ones may have m - 1 elements.
        "matrix": ``[..., m, m]``, of which the three diagonals are read.
    rhs
        ``[..., m]``, or ``[..., m, k]``, or with `transpose_rhs` ``[..., k, m]``.
    partial_pivoting, perturb_singular
        For signatures alike: rows are always exchanged for the largest pivot, and singular matrices raise.

    Examples
    --------
    >>> import numpy as np
    >>> tridiagonal_solve(np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]]), np.array([3.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    if perturb_singular:
        raise InvalidArgumentError("tridiagonal_solve: argument `perturb_singular` must be False: no pivot is changed")
    above, main, below = _three("tridiagonal_solve", diagonals, diagonals_format, dtype_of(rhs))
    if len(shape_of_rank("tridiagonal_solve", "rhs", rhs)) > len(shape_of(main) or ()) and transpose_rhs:
        rhs = matrix_transpose(rhs)
    bands = stack([_shifted(above, 1), main, _shifted(below, -1)], -2)
    return _solved(bands, conj(rhs) if conjugate_rhs else rhs, lower=1, upper=1, adjoint=False)
