"""Linear systems: inverses, solutions, determinants, of matrices in the last two axes.

The rules for inverse and solve are those collected by M. Giles, "An extended collection of matrix derivative results
for forward and reverse mode algorithmic differentiation" (2008), with adjoints for transposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from engine.core.aval import Aval, broadcast_shapes, format_shape
from engine.core.axes import expand_dims
from engine.core.batching import leading
from engine.core.dtypes import complex64, complex128, float32, float64
from engine.core.errors import ShapeError
from engine.core.kinds import check_dtype, general, linear, same_dtype
from engine.core.op import Layout
from engine.core.operands import operands
from engine.core.sparsity import rowwise, scaled
from engine.core.structural import conj, sum_to_like
from engine.core.value import dtype_of
from engine.ops import linalg
from engine.ops.complexes import complex_op, imag, real
from engine.ops.linalg import matmul, trace
from engine.ops.reduce import reduce_sum

LAPACK = frozenset([float32, float64, complex64, complex128])
"""The dtypes for which there are decompositions."""

# ---- abstract evaluation ---------------------------------------------------------------------------------------------


def check_matrix(name: str, x: Aval, argument: str = "input", square: bool = False) -> None:
    """Raise unless `x` may be a stack of (square) matrices of a dtype that LAPACK knows."""
    check_dtype(name, argument, x, LAPACK)
    if x.shape is None:
        return
    if len(x.shape) < 2:
        raise ShapeError(f"{name}: argument `{argument}` must have rank 2 or more, got {x}")
    n, m = x.shape[-2:]
    if square and n != m and n is not None and m is not None:
        raise ShapeError(f"{name}: argument `{argument}` must hold square matrices, got {x}")


def square_abstract(name: str) -> Callable[..., Aval]:
    """Abstract evaluation of a map from square matrices to square matrices."""

    def abstract(x: Aval, **_: Any) -> Aval:
        check_matrix(name, x, square=True)
        return Aval(x.shape, x.dtype)

    return abstract


def scalar_abstract(name: str) -> Callable[[Aval], Aval]:
    """Abstract evaluation of a map from square matrices to numbers."""

    def abstract(x: Aval) -> Aval:
        check_matrix(name, x, square=True)
        return Aval(None if x.shape is None else x.shape[:-2], x.dtype)

    return abstract


def _solve_abstract(name: str) -> Callable[..., Aval]:
    def abstract(matrix: Aval, rhs: Aval, **_: Any) -> Aval:
        check_matrix(name, matrix, "matrix", square=True)
        check_matrix(name, rhs, "rhs")
        dtype = same_dtype(name, ("matrix", "rhs"), (matrix, rhs))
        if matrix.shape is None or rhs.shape is None:
            return Aval(None, dtype)
        n, m = matrix.shape[-1], rhs.shape[-2]
        if n != m and n is not None and m is not None:
            shown = f"{format_shape(matrix.shape)} and {format_shape(rhs.shape)}"
            raise ShapeError(f"{name}: `matrix` and `rhs` must have as many rows, got shapes {shown}")
        stack = broadcast_shapes(name, matrix.shape[:-2], rhs.shape[:-2])
        return Aval(None if stack is None else (*stack, m if n is None else n, rhs.shape[-1]), dtype)

    return abstract


def scale_matrix(factor: Any, x: Any) -> Any:
    """Matrices times one number each."""
    return expand_dims(factor, (-2, -1)) * x


# ---- triangles -------------------------------------------------------------------------------------------------------


def _triangle_kernel(x: Any, *, lower: bool, diagonal: float = 1.0) -> Any:
    out = np.tril(x) if lower else np.triu(x)
    if diagonal != 1:
        along = np.arange(min(x.shape[-2:]))
        out[..., along, along] *= diagonal
    return out


def _triangle_abstract(x: Aval, *, lower: bool, diagonal: float = 1.0) -> Aval:
    check_matrix("triangle", x)
    return Aval(x.shape, x.dtype)


triangle = linear(
    "triangle",
    _triangle_kernel,
    lambda ct, x, **params: triangle(ct, **params),
    _triangle_abstract,
    leading(2),
    strict=False,
    args=("input",),
    sparsity=scaled(diagonal=1),
    doc="The lower or upper triangle of matrices, their main diagonal times a factor, zeros elsewhere.",
)

# ---- inverse, solve --------------------------------------------------------------------------------------------------

inverse_op = general(
    "inverse_op",
    np.linalg.inv,
    square_abstract("inv"),
    vjp=(lambda ct, out, x: -matmul(out, matmul(ct, out, adjoint_b=True), adjoint_a=True),),
    jvp=(lambda t, out, x: -matmul(out, matmul(t, out)),),
    batch=leading(2),
    type="MatrixInverse",
    args=("input",),
    sparsity=rowwise(2, results=(2,)),
    doc="Inverse of square matrices.",
)


@operands("input")
def inv(input: Any, adjoint: bool = False) -> Any:
    """Inverse of square matrices.

    Parameters
    ----------
    input : value, shape (..., n, n)
    adjoint : bool
        Invert the adjoint instead.

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.

    Examples
    --------
    >>> inv(np.array([[2., 0.], [0., 4.]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return inverse_op(linalg.adjoint(input) if adjoint else input)


def _one_factorisation(solve: Callable[[Any, Any], Any], matrix: Any, rhs: Any) -> Any:
    """Solve for a stack of right-hand sides with one matrix, as columns of one."""
    columns = np.moveaxis(rhs, -2, 0)
    return np.moveaxis(solve(matrix, columns.reshape(len(columns), -1)).reshape(columns.shape), 0, -2)


def _check_solve(matrix: Any, rhs: Any) -> None:
    if matrix.ndim < 2 or rhs.ndim < 2:
        raise ValueError("both arguments must have rank 2 or more")


def _solve_kernel(matrix: Any, rhs: Any, *, adjoint: bool = False) -> Any:
    _check_solve(matrix, rhs)
    if adjoint:
        matrix = np.conjugate(matrix).swapaxes(-1, -2)
    if matrix.ndim == 2 and rhs.ndim > 2 and rhs.size:
        return _one_factorisation(np.linalg.solve, matrix, rhs)
    return np.linalg.solve(matrix, rhs)


def _solve_back(solve_again: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Reverse rules of a solve op: ``rhs`` gets the adjoint system's solution, ``matrix`` its product with `out`."""

    def to_rhs(ct: Any, matrix: Any, adjoint: bool, **params: Any) -> Any:
        return solve_again(matrix, ct, adjoint=not adjoint, **params)

    def to_matrix(ct: Any, out: Any, matrix: Any, rhs: Any, *, adjoint: bool = False, **params: Any) -> Any:
        back = to_rhs(ct, matrix, adjoint, **params)
        grad = matmul(out, back, adjoint_b=True) if adjoint else matmul(back, out, adjoint_b=True)
        grad = triangle(grad, lower=params["lower"]) if "lower" in params else grad
        return -sum_to_like(grad, matrix)

    return (
        to_matrix,
        lambda ct, out, matrix, rhs, *, adjoint=False, **params: sum_to_like(
            to_rhs(ct, matrix, adjoint, **params), rhs
        ),
    )


def _solve_forward(solve_again: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def from_matrix(t: Any, out: Any, matrix: Any, rhs: Any, *, adjoint: bool = False, **params: Any) -> Any:
        t = triangle(t, lower=params["lower"]) if "lower" in params else t
        return -solve_again(matrix, matmul(t, out, adjoint_a=adjoint), adjoint=adjoint, **params)

    def from_rhs(t: Any, out: Any, matrix: Any, rhs: Any, **params: Any) -> Any:
        return solve_again(matrix, t, **params)

    return from_matrix, from_rhs


solve_op = general(
    "solve_op",
    _solve_kernel,
    _solve_abstract("solve"),
    vjp=_solve_back(lambda *x, **params: solve_op(*x, **params)),
    jvp=_solve_forward(lambda *x, **params: solve_op(*x, **params)),
    batch=leading(2, 2),
    type="MatrixSolve",
    args=("matrix", "rhs"),
    sparsity=rowwise(2, 2, results=(2,), pairs=((), ((-1, -1),))),
    layout=Layout.ANY,
    doc="Solutions x of ``matrix @ x = rhs``.",
)


@operands("matrix", "rhs")
def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """Solve ``matrix @ x = rhs``.

    Parameters
    ----------
    matrix : value, shape (..., n, n)
    rhs : value, shape (..., n, k)
    adjoint : bool
        Solve with the adjoint of `matrix` instead.

    Returns
    -------
    value, shape (..., n, k)

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.

    Examples
    --------
    >>> solve(np.array([[2., 0.], [0., 4.]]), np.array([[1.], [1.]]))
    array([[0.5 ],
           [0.25]])
    """
    return solve_op(matrix, rhs, adjoint=bool(adjoint))


def _triangular_solve_kernel(matrix: Any, rhs: Any, *, lower: bool, adjoint: bool = False) -> Any:
    _check_solve(matrix, rhs)
    if matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] != rhs.shape[-2]:
        raise ValueError("the numbers of rows differ")

    def one(a: Any, b: Any) -> Any:
        return scipy.linalg.solve_triangular(a, b, trans="C" if adjoint else "N", lower=lower, check_finite=False)

    stack = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    if 0 in stack or not rhs.size:
        return np.zeros(stack + rhs.shape[-2:], rhs.dtype)
    if matrix.ndim == 2:
        return one(matrix, rhs) if rhs.ndim == 2 else _one_factorisation(one, matrix, rhs)
    matrices = np.broadcast_to(matrix, stack + matrix.shape[-2:])
    sides = np.broadcast_to(rhs, stack + rhs.shape[-2:])
    return np.array([one(matrices[i], sides[i]) for i in np.ndindex(stack)]).reshape(sides.shape)


triangular_solve_op = general(
    "triangular_solve_op",
    _triangular_solve_kernel,
    _solve_abstract("triangular_solve"),
    vjp=_solve_back(lambda *x, **params: triangular_solve_op(*x, **params)),
    jvp=_solve_forward(lambda *x, **params: triangular_solve_op(*x, **params)),
    batch=leading(2, 2),
    type="MatrixTriangularSolve",
    args=("matrix", "rhs"),
    sparsity=rowwise(2, 2, results=(2,), pairs=((), ((-1, -1),))),
    layout=Layout.ANY,
    doc="""Solutions x of ``matrix @ x = rhs`` for triangular matrices, whose other triangle is not looked at.

    With few right sides the derivative in the matrix costs some 5 times the op: a whole matrix is written twice, which
    the op only reads half of.
    """,
)


@operands("matrix", "rhs")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """Solve ``matrix @ x = rhs`` with triangular matrices.

    Parameters
    ----------
    matrix : value, shape (..., n, n)
        Only the lower (else the upper) triangle is looked at.
    rhs : value, shape (..., n, k)
    lower : bool
    adjoint : bool
        Solve with the adjoint of the triangle instead.

    Raises
    ------
    InvalidArgumentError
        If there is a zero on a diagonal.

    Examples
    --------
    >>> triangular_solve(np.array([[2., 9.], [0., 4.]]), np.array([[1.], [1.]]))
    array([[0.5 ],
           [0.25]])
    """
    return triangular_solve_op(matrix, rhs, lower=bool(lower), adjoint=bool(adjoint))


@operands("chol", "rhs")
def cholesky_solve(chol: Any, rhs: Any) -> Any:
    """Solve ``A @ x = rhs``, given the Cholesky factor of A.

    Parameters
    ----------
    chol : value, shape (..., n, n)
        ``cholesky(A)``, lower triangular.
    rhs : value, shape (..., n, k)
    """
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)


# ---- determinants ----------------------------------------------------------------------------------------------------


def _cofactor_kernel(x: Any) -> Any:
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return _cofactor_by_svd(x)
    condition = np.linalg.norm(x, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    if not np.all(condition < np.finfo(x.dtype).eps ** -0.5):
        return _cofactor_by_svd(x)
    return np.linalg.det(x)[..., None, None] * inverse.swapaxes(-1, -2)


def _cofactor_by_svd(x: Any) -> Any:
    """Of ``U S V^H`` they are ``det(U) det(V^H) conj(U) C V^T``, C those of S: defined for singular matrices too."""
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1
    sign = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return sign * np.matmul(np.conjugate(u) * np.prod(others, axis=-1)[..., None, :], np.conjugate(vh))


def _cofactor_change(d: Any, c: Any, determinant: Any) -> Any:
    """``(<c, d> c - c d^T c) / det``: the change of the cofactors `c` when the matrix changes by `d`."""
    along = scale_matrix(reduce_sum(c * d, axis=(-2, -1)), c)
    across = matmul(c, matmul(d, c, transpose_a=True))
    return (along - across) / expand_dims(determinant, (-2, -1))


cofactor = general(
    "cofactor",
    _cofactor_kernel,
    square_abstract("cofactor"),
    vjp=(lambda ct, out, x: _cofactor_change(ct, conj(out), conj(det_op(x))),),
    jvp=(lambda t, out, x: _cofactor_change(t, out, det_op(x)),),
    batch=leading(2),
    args=("input",),
    sparsity=rowwise(2, results=(2,)),
    layout=Layout.ANY,
    doc="Cofactors, also of singular matrices (where only their own derivative is undefined, infinite or NaN).",
)
det_op = general(
    "det_op",
    np.linalg.det,
    scalar_abstract("det"),
    vjp=(lambda ct, out, x: scale_matrix(ct, conj(cofactor(x))),),
    jvp=(lambda t, out, x: reduce_sum(cofactor(x) * t, axis=(-2, -1)),),
    batch=leading(2),
    type="MatrixDeterminant",
    args=("input",),
    sparsity=rowwise(2, results=(0,)),
    doc="""Determinant. Its derivative are the cofactors (the transposed adjugate), also where it is zero.

    They cost some 6 times the op: an inverse is three times the arithmetic of the factorization.
    """,
)


@operands("input")
def det(input: Any) -> Any:
    """Determinant of square matrices.

    The gradient is the matrix of cofactors, also for singular matrices (where TensorFlow raises).

    Parameters
    ----------
    input : value, shape (..., n, n)

    Returns
    -------
    value, shape (...)

    Examples
    --------
    >>> float(det(np.array([[0., 1.], [1., 0.]])))
    -1.0
    """
    return det_op(input)


def _slogdet_kernel(x: Any) -> Any:
    sign, logarithm = np.linalg.slogdet(x)
    return sign, logarithm.astype(x.dtype)


def _slogdet_abstract(x: Aval) -> tuple[Aval, Aval]:
    out = scalar_abstract("slogdet")(x)
    return out, out


def _slogdet_vjp(ct: Any, out: Any, x: Any) -> Any:
    factor = ct[1]
    if dtype_of(x).is_complex:
        # The logarithm moves with the real part of tr(x^-1 dx), the sign turns with its imaginary part.
        factor = complex_op(real(ct[1]), imag(ct[0] * conj(out[0])))
    return scale_matrix(factor, linalg.adjoint(inverse_op(x)))


def _slogdet_jvp(t: Any, out: Any, x: Any) -> Any:
    change = trace(solve_op(x, t, adjoint=False))
    if not dtype_of(x).is_complex:
        return 0 * out[0], change
    size, turn = real(change), imag(change)
    return out[0] * complex_op(0 * turn, turn), complex_op(size, 0 * size)


slogdet_op = general(
    "slogdet_op",
    _slogdet_kernel,
    _slogdet_abstract,
    vjp=(_slogdet_vjp,),
    jvp=(_slogdet_jvp,),
    batch=leading(2),
    type="LogMatrixDeterminant",
    args=("input",),
    multi=True,
    sparsity=rowwise(2, results=(0, 0)),
    doc="""Sign and logarithm of the absolute value of the determinant.

    The derivative, an inverse, costs some 5 times the op: three times the arithmetic of the factorization, and more
    memory traffic.
    """,
)


@operands("input")
def slogdet(input: Any) -> tuple[Any, Any]:
    """Sign of the determinant and logarithm of its absolute value.

    Parameters
    ----------
    input : value, shape (..., n, n)

    Returns
    -------
    sign, log_abs_determinant : value, shape (...)
        Both have the dtype of `input` (a complex one's sign is ``det / abs(det)``).

    Examples
    --------
    >>> [float(x) for x in slogdet(np.array([[0., 1.], [1., 0.]]))]
    [-1.0, 0.0]
    """
    return slogdet_op(input)
