"""Triangular factors of square matrices with rows exchanged, and what they solve.

References
----------
.. [1] S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions...", arXiv:1001.1654, 2010
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Aval
from engine.core.dtypes import as_dtype, int32, int64
from engine.core.expand_axes import expand_dims
from engine.core.kinds import of_matrices
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.value import Zero, aval_of
from engine.ops.compare import cast_like, equal
from engine.ops.creation import ones_like
from engine.ops.diagonal import diagonal, embed_diagonal
from engine.ops.lapack import scipy_linalg
from engine.ops.linalg import adjoint, matmul
from engine.ops.scan import cumsum
from engine.ops.solve import check_matrix, triangle, triangular_solve
from engine.runtime.errors import DTypeError, InvalidArgumentError


def _kernel(x: Any, *, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    flat = x.reshape(-1, *x.shape[-2:])
    factors, order = np.empty_like(flat), np.empty(flat.shape[:2], dtype.numpy)
    for matrix, factor, rows in zip(flat, factors, order, strict=True):
        if not matrix.size:
            continue
        factor[...], pivots = scipy_linalg.lu_factor(matrix, check_finite=False)
        if not np.all(np.diagonal(factor)):
            raise InvalidArgumentError("lu: Input is not invertible.")
        rows[...] = np.arange(len(rows))
        for i, j in enumerate(pivots):
            rows[[i, j]] = rows[[j, i]]
    return factors.reshape(x.shape), order.reshape(x.shape[:-1])


def _abstract(x: Aval, *, dtype: Any) -> tuple[Aval, Aval]:
    check_matrix("lu", x, square=True)
    return Aval(x.shape, x.dtype), Aval(None if x.shape is None else x.shape[:-1], dtype)


def _lower(packed: Any) -> Operand:
    return triangle(packed, lower=True, diagonal=0) + embed_diagonal(ones_like(diagonal(packed)), packed)


def _permutation(p: Any, like: Any) -> Operand:
    """The matrix that puts row ``p[i]`` in place i."""
    places = cumsum(ones_like(p), -1, exclusive=True)
    return cast_like(equal(expand_dims(p, (-1,)), expand_dims(places, (-2,))), like)


def _vjp(ct: Any, out: Any, x: Any, *, dtype: Any) -> Operand:
    """Section 3.4 of [1], transposed."""
    packed, p = out
    lower = _lower(packed)
    upper = triangle(packed, lower=False, diagonal=1)
    of_lower = matmul(lower, triangle(ct[0], lower=True, diagonal=0), adjoint_a=True)
    of_upper = matmul(triangle(ct[0], lower=False, diagonal=1), upper, adjoint_b=True)
    inner = triangle(of_lower, lower=True, diagonal=0) + triangle(of_upper, lower=False, diagonal=1)
    # inner @ adjoint(inverse(upper)), by the adjoint of a solution with `upper`
    right = adjoint(triangular_solve(upper, adjoint(inner), lower=False))
    return matmul(_permutation(p, x), triangular_solve(lower, right, lower=True, adjoint=True), transpose_a=True)


def _jvp(t: Any, out: Any, x: Any, *, dtype: Any) -> tuple[Any, Any]:
    packed, p = out
    lower, upper = _lower(packed), triangle(packed, lower=False, diagonal=1)
    left = triangular_solve(lower, matmul(_permutation(p, x), t), lower=True)
    inner = adjoint(triangular_solve(upper, adjoint(left), lower=False, adjoint=True))
    of_lower = matmul(lower, triangle(inner, lower=True, diagonal=0))
    return of_lower + matmul(triangle(inner, lower=False, diagonal=1), upper), Zero(aval_of(p))


lu_op = of_matrices(
    "lu_op",
    _kernel,
    _abstract,
    vjp=_vjp,
    jvp=_jvp,
    results=(2, 1),
    type="Lu",
    args=("input",),
    strict=False,
    layout=Layout.ANY,
    doc="Both triangular factors of matrices in one, and the order of the rows.",
)


class Lu(NamedTuple):
    """The result of `lu`."""

    lu: Any
    p: Any


@operands("input")
def lu(input: Any, output_idx_type: Any = int32) -> Lu:
    """Triangular factors: row ``p[i]`` of a matrix is row i of the product of the lower and the upper one.

    Parameters
    ----------
    input : value, shape (..., n, n)
    output_idx_type : {int32, int64}

    Returns
    -------
    lu : value, shape (..., n, n)
        The upper factor, and below its diagonal the lower one, on whose diagonal there are ones.
    p : integer value, shape (..., n)

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.

    Examples
    --------
    >>> [x.tolist() for x in lu(np.array([[2., 3.], [4., 2.]]))]
    [[[4.0, 2.0], [0.5, 2.0]], [1, 0]]
    """
    dtype = as_dtype(output_idx_type)
    if dtype not in (int32, int64):
        raise DTypeError(f"lu: argument `output_idx_type` must be int32 or int64, got {dtype.name}")
    return Lu(*lu_op(input, dtype=dtype))


@operands("lower_upper", "rhs", alone=("perm",))
def lu_solve(lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False) -> Operand:
    """Solve ``matrix @ x = rhs``, given what `lu` says of the matrix.

    Examples
    --------
    >>> lu_solve(*lu(np.array([[2., 3.], [4., 2.]])), np.array([[5.], [6.]])).tolist()
    [[1.0], [1.0]]
    """
    moved = matmul(_permutation(perm, rhs), rhs)
    return triangular_solve(lower_upper, triangular_solve(_lower(lower_upper), moved, lower=True), lower=False)


@operands("lower_upper", alone=("perm",))
def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False) -> Operand:
    """The matrix of which `lu` said this."""
    product = matmul(_lower(lower_upper), triangle(lower_upper, lower=False, diagonal=1))
    return matmul(_permutation(perm, product), product, transpose_a=True)


@operands("lower_upper", alone=("perm",))
def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False) -> Operand:
    """The inverse of the matrix of which `lu` said this."""
    one = embed_diagonal(ones_like(diagonal(lower_upper)), lower_upper)
    return lu_solve(lower_upper, perm, one)
