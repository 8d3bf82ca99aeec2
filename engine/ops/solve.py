"""Linear systems: inverses and solutions, of matrices in the last two axes.

The rules for inverse and solve are those collected by M. Giles, "An extended collection of matrix derivative results
for forward and reverse mode algorithmic differentiation" (2008), with adjoints for transposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.aval import Aval, broadcast_shapes, format_shape
from engine.core.batching import leading
from engine.core.dtypes import complex64, complex128, float16, float32, float64
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, general, linear, of_matrices, same_dtype
from engine.core.op import Layout, Op
from engine.core.operands import Operand, operands
from engine.core.sparsity import rowwise, scaled
from engine.core.structural import sum_to_like
from engine.core.value import dtype_of
from engine.ops import linalg
from engine.ops.compare import cast
from engine.ops.lapack import lapack, numpy_linalg
from engine.ops.linalg import matmul
from engine.ops.small_matrix import are_small, is_small, numbers_of
from engine.ops.small_product import MOST
from engine.runtime.errors import ShapeError

LAPACK = frozenset([float32, float64, complex64, complex128])
"""The dtypes for which there are decompositions."""


def finite(name: str, x: np.ndarray) -> np.ndarray:
    """`x`, if no element is infinite: LAPACK's singular values do not always come back from one (NaN they refuse)."""
    if np.isinf(x).any():
        raise np.linalg.LinAlgError(f"{name}: the matrix has infinite elements")
    return x


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
        if x.shape is None:
            return Aval(None, x.dtype)
        size = x.shape[-1] if x.shape[-2] is None else x.shape[-2]
        return Aval((*x.shape[:-2], size, size), x.dtype)

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


def scale_matrix(factor: Any, x: Any) -> Operand:
    """Matrices times one number each."""
    return expand_dims(factor, (-2, -1)) * x


# ---- triangles -------------------------------------------------------------------------------------------------------


def _triangle_kernel(x: Any, *, lower: bool, diagonal: float = 1.0) -> np.ndarray:
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

SINGULAR = "Singular matrix"


def fresh_if_small(otherwise: Layout, most: int = MOST) -> Callable[..., Layout]:
    """How results lie in memory: those for small matrices in C order."""
    return lambda avals, params: Layout.FRESH if are_small(avals, most) else otherwise


def known(numbers: Any, message: str = SINGULAR) -> np.ndarray:
    """Results of a function of small matrices, if there are any."""
    if numbers is None:
        raise np.linalg.LinAlgError(message)
    return numbers


inverse_op = of_matrices(
    "inverse_op",
    lambda x: known(numbers_of("small_inv", x)) if is_small(x) else numpy_linalg.inv(x),
    square_abstract("inv"),
    vjp=lambda ct, out, x: -matmul(out, matmul(ct, out, adjoint_b=True), adjoint_a=True),
    jvp=lambda t, out, x: -matmul(out, matmul(t, out)),
    results=(2,),
    type="MatrixInverse",
    args=("input",),
    layout=fresh_if_small(Layout.KEPT),
    doc="Inverse of square matrices.",
    scratch=4,
)


@operands("input")
def inv(input: Any, adjoint: bool = False) -> Operand:
    """Inverse of square matrices.

    Parameters
    ----------
    input : value, shape (..., n, n)
        Half floats are inverted in single precision.
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
    matrix = linalg.adjoint(input) if adjoint else input
    if dtype_of(matrix) is float16:
        return cast(inverse_op(cast(matrix, float32)), float16)
    return inverse_op(matrix)


def one_factorization(solve: Callable[[Any, Any], Any], matrix: Any, rhs: Any) -> np.ndarray:
    """Solve for a stack of right-hand sides with one matrix, as columns of one."""
    columns = np.moveaxis(rhs, -2, 0)
    return np.moveaxis(solve(matrix, columns.reshape(len(columns), -1)).reshape(columns.shape), 0, -2)


def _check_solve(matrix: Any, rhs: Any) -> None:
    if matrix.ndim < 2 or rhs.ndim < 2:
        raise ValueError("both arguments must have rank 2 or more")


def _solve_kernel(matrix: Any, rhs: Any, *, adjoint: bool = False) -> np.ndarray:
    _check_solve(matrix, rhs)
    if adjoint:
        matrix = np.conjugate(matrix).swapaxes(-1, -2)
    if is_small(matrix, rhs):
        return known(numbers_of("small_solve", matrix, rhs))
    if matrix.ndim == 2 and rhs.ndim > 2 and rhs.size:
        return one_factorization(numpy_linalg.solve, matrix, rhs)
    return numpy_linalg.solve(matrix, rhs)


def _solve_back(solve_again: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Reverse rules of a solve op: ``rhs`` gets the adjoint system's solution, ``matrix`` its product with `out`."""

    def to_rhs(ct: Any, matrix: Any, adjoint: bool, **params: Any) -> Operand:
        return solve_again(matrix, ct, adjoint=not adjoint, **params)

    def to_matrix(ct: Any, out: Any, matrix: Any, rhs: Any, *, adjoint: bool = False, **params: Any) -> Operand:
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
    def from_matrix(t: Any, out: Any, matrix: Any, rhs: Any, *, adjoint: bool = False, **params: Any) -> Operand:
        t = triangle(t, lower=params["lower"]) if "lower" in params else t
        return -solve_again(matrix, matmul(t, out, adjoint_a=adjoint), adjoint=adjoint, **params)

    def from_rhs(t: Any, out: Any, matrix: Any, rhs: Any, **params: Any) -> Operand:
        return solve_again(matrix, t, **params)

    return from_matrix, from_rhs


def _solver(name: str, kernel: Callable[..., Any], type: str, doc: str) -> Op:
    """An op that solves systems; its derivatives solve others, with itself."""
    op: Op = general(
        f"{name}_op",
        kernel,
        _solve_abstract(name),
        vjp=_solve_back(lambda *x, **params: op(*x, **params)),
        jvp=_solve_forward(lambda *x, **params: op(*x, **params)),
        batch=leading(2, 2),
        type=type,
        args=("matrix", "rhs"),
        refuses=True,
        sparsity=rowwise(2, 2, results=(2,), pairs=((), ((-1, -1),))),
        layout=fresh_if_small(Layout.ANY),
        doc=doc,
        scratch=4,
    )
    return op


solve_op = _solver("solve", _solve_kernel, "MatrixSolve", "Solutions x of ``matrix @ x = rhs``.")


@operands("matrix", "rhs")
def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Operand:
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


def _one_triangular(a: Any, b: Any, lower: bool, adjoint: bool) -> np.ndarray:
    """By LAPACK's function itself: what SciPy does around it takes many times as long for small systems."""
    function = getattr(lapack, f"{_LETTERS[a.dtype]}trtrs")
    if adjoint and a.dtype.kind == "c":
        solution, info = function(a, b, lower=lower, trans=2)
    else:
        # what is in C's order is the transpose in Fortran's: nothing is copied
        solution, info = function(a.T, b, lower=not lower, trans=0 if adjoint else 1)
    if info:
        raise np.linalg.LinAlgError(f"{ZERO}, at {info - 1}")
    return solution


ZERO = "singular matrix: there is a zero on its diagonal"


def as_lower(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> tuple[Any, Any]:
    """A triangular system of real numbers as one of lower triangles: with all in reverse, if it has upper ones."""
    if adjoint:
        matrix = matrix.swapaxes(-1, -2)
    return (matrix, rhs) if lower != adjoint else (matrix[..., ::-1, ::-1], rhs[..., ::-1, :])


_LETTERS = {float32.numpy: "s", float64.numpy: "d", complex64.numpy: "c", complex128.numpy: "z"}
"""LAPACK's letters for dtypes."""


def _triangular_solve_kernel(matrix: Any, rhs: Any, *, lower: bool, adjoint: bool = False) -> np.ndarray:
    _check_solve(matrix, rhs)
    if matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] != rhs.shape[-2]:
        raise ValueError("the numbers of rows differ")

    if is_small(matrix, rhs):
        solution = numbers_of("small_lower_solve", *as_lower(matrix, rhs, lower, adjoint))
        if solution is None:
            zero = np.argwhere(np.diagonal(matrix, axis1=-2, axis2=-1) == 0)[0, -1]
            raise np.linalg.LinAlgError(f"{ZERO}, at {zero}")
        return solution if lower != adjoint else solution[..., ::-1, :].copy()

    def one(a: Any, b: Any) -> np.ndarray:
        return _one_triangular(a, b, lower, adjoint)

    stack = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    if 0 in stack or not rhs.size:
        return np.zeros(stack + rhs.shape[-2:], rhs.dtype)
    if matrix.ndim == 2:
        return one(matrix, rhs) if rhs.ndim == 2 else one_factorization(one, matrix, rhs)
    matrices = np.broadcast_to(matrix, stack + matrix.shape[-2:])
    sides = np.broadcast_to(rhs, stack + rhs.shape[-2:])
    return np.array([one(matrices[i], sides[i]) for i in np.ndindex(stack)]).reshape(sides.shape)


triangular_solve_op = _solver(
    "triangular_solve",
    _triangular_solve_kernel,
    "MatrixTriangularSolve",
    """Solutions x of ``matrix @ x = rhs`` for triangular matrices, whose other triangle is not looked at.

    With few right sides the derivative in the matrix costs some 5 times the op: a whole matrix is written twice, which
    the op only reads half of.
    """,
)


@operands("matrix", "rhs")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Operand:
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
def cholesky_solve(chol: Any, rhs: Any) -> Operand:
    """Solve ``A @ x = rhs``, given the Cholesky factor of A.

    Parameters
    ----------
    chol : value, shape (..., n, n)
        ``cholesky(A)``, lower triangular.
    rhs : value, shape (..., n, k)
    """
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)
