"""Functions of matrices: pseudo-inverse, least squares, logarithm of the determinant, exponential.

References
----------
.. [1] G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems...", 1973
.. [2] N. J. Higham, *Functions of Matrices*, 2008, section 3.2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import leading
from engine.core.kinds import linear, of_matrices
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, SCATTERS
from engine.core.value import shape_of
from engine.ops.axis_args import static_axis
from engine.ops.complexes import real
from engine.ops.creation import ones_like
from engine.ops.decompose import cholesky_op
from engine.ops.diagonal import diagonal, embed_diagonal
from engine.ops.explog import log
from engine.ops.lapack import numpy_linalg, scipy_linalg
from engine.ops.linalg import adjoint, matmul
from engine.ops.reduce import reduce_sum
from engine.ops.solve import check_matrix, cholesky_solve, finite, square_abstract
from engine.runtime.errors import NotKnownYet

# ---- pseudo-inverse, least squares -----------------------------------------------------------------------------------


def _pinv_kernel(x: Any, *, rcond: Any = None) -> np.ndarray:
    if rcond is None:
        rcond = 10 * max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
    return numpy_linalg.pinv(finite("pinv", x), rcond)


def _pinv_abstract(x: Aval, *, rcond: Any = None) -> Aval:
    check_matrix("pinv", x, "a")
    return Aval(None if x.shape is None else (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


def _pinv_change(t: Any, p: Any, x: Any) -> Operand:
    """Equation (4.12) of [1]: the change of the pseudo-inverse `p` when x changes by the *adjoint* of t.

    The same formula with p and t for their adjoints is the adjoint of this map, so it serves both modes.
    """
    first = matmul(p, matmul(t, p, adjoint_a=True))
    left = matmul(p, matmul(p, t, adjoint_a=True))
    right = matmul(t, matmul(p, p, adjoint_a=True))
    return left - matmul(left, matmul(x, p)) + right - matmul(p, matmul(x, right)) - first


pinv_op = of_matrices(
    "pinv_op",
    _pinv_kernel,
    _pinv_abstract,
    vjp=lambda ct, out, x, *, rcond=None: _pinv_change(adjoint(ct), adjoint(out), adjoint(x)),
    jvp=lambda t, out, x, *, rcond=None: _pinv_change(adjoint(t), out, x),
    results=(2,),
    args=("a",),
    doc="Moore-Penrose pseudo-inverse.",
)


def _numbers(nest: Any) -> Any:
    """Floats in nested tuples, which a parameter of an op may be."""
    if isinstance(nest, (list, tuple)):
        return tuple([_numbers(item) for item in nest])
    return float(nest)


@operands("a")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False) -> Operand:
    """Moore-Penrose pseudo-inverse.

    Parameters
    ----------
    a : value, shape (..., n, m)
    rcond : float or nest of float, optional
        Singular values below `rcond` times the largest count as zero, of all matrices or of each; by default
        ``10 * max(n, m) * eps``.
    validate_args : bool
        Has no effect: arguments are always checked.

    Returns
    -------
    value, shape (..., m, n)
        Its gradient holds where the rank does not change.

    Examples
    --------
    >>> pinv(np.array([[2.], [0.]]))
    array([[0.5, 0. ]])
    """
    return pinv_op(a, rcond=None if rcond is None else _numbers(static_axis("pinv", rcond, "rcond")))


@operands("matrix", "rhs")
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True) -> Operand:
    """Least-squares solutions of ``matrix @ x = rhs``.

    Parameters
    ----------
    matrix : value, shape (..., n, m)
    rhs : value, shape (..., n, k)
    l2_regularizer : float
        Minimize ``|matrix @ x - rhs|**2 + l2_regularizer * |x|**2``. Used only if `fast`.
    fast : bool
        Solve the normal equations by Cholesky decomposition; the matrices must have full rank. Otherwise use the
        pseudo-inverse, which gives the solution of smallest norm also for matrices of lower rank.

    Returns
    -------
    value, shape (..., m, k)

    Examples
    --------
    >>> lstsq(np.array([[1.], [1.]]), np.array([[1.], [3.]]))
    array([[2.]])
    """
    if not fast:
        return matmul(pinv(matrix), rhs)
    rows, columns = (shape_of(matrix) or (None, None))[-2:]
    if rows is None or columns is None:
        raise NotKnownYet("lstsq: the shape of `matrix` must be known; give it with set_shape, or use fast=False")
    tall = rows >= columns
    normal = matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    if l2_regularizer:
        normal = normal + embed_diagonal(l2_regularizer * ones_like(diagonal(normal)), normal)
    if tall:
        return cholesky_solve(cholesky_op(normal), matmul(matrix, rhs, adjoint_a=True))
    return matmul(matrix, cholesky_solve(cholesky_op(normal), rhs), adjoint_a=True)


@operands("matrix")
def logdet(matrix: Any) -> Operand:
    """Logarithm of the determinant of positive definite matrices.

    Examples
    --------
    >>> float(logdet(np.eye(3)))
    0.0
    """
    return 2.0 * reduce_sum(log(real(diagonal(cholesky_op(matrix)))), axis=-1)


# ---- matrix exponential ----------------------------------------------------------------------------------------------


def _halves(n: int, row: int, column: int) -> tuple[Any, ...]:
    """The index of a block of 2n x 2n matrices."""
    return ..., slice(row * n, (row + 1) * n), slice(column * n, (column + 1) * n)


def _embed_block_kernel(x: Any, *, row: int, column: int) -> np.ndarray:
    n = x.shape[-1]
    out = np.zeros((*x.shape[:-2], 2 * n, 2 * n), x.dtype)
    out[_halves(n, row, column)] = x
    return out


def _block_abstract(x: Aval, double: bool) -> Aval:
    if x.shape is None:
        return x
    n, m = [None if d is None else 2 * d if double else d // 2 for d in x.shape[-2:]]
    return Aval((*x.shape[:-2], n, m), x.dtype)


block = linear(
    "block",
    lambda x, *, row, column: x[_halves(x.shape[-1] // 2, row, column)],
    lambda ct, x, **at: embed_block(ct, **at),
    lambda x, **at: _block_abstract(x, double=False),
    leading(2),
    args=("input",),
    sparsity=GATHERS,
    layout=Layout.PART,
    doc="One of the four quarters of square matrices of even size.",
)
embed_block = linear(
    "embed_block",
    _embed_block_kernel,
    lambda ct, x, **at: block(ct, **at),
    lambda x, **at: _block_abstract(x, double=True),
    leading(2),
    strict=False,
    args=("input",),
    sparsity=SCATTERS,
    doc="Matrices of twice the size, zero but for one quarter: the transpose of `block`.",
)


def _expm_change(t: Any, x: Any) -> Operand:
    """The change of ``expm(x)`` along t: the upper right block of ``expm([[x, t], [0, x]])``, see [2]."""
    diagonal_blocks = embed_block(x, row=0, column=0) + embed_block(x, row=1, column=1)
    return block(expm_op(diagonal_blocks + embed_block(t, row=0, column=1)), row=0, column=1)


expm_op = of_matrices(
    "expm_op",
    lambda x: scipy_linalg.expm(x) if x.size else x.copy(),
    square_abstract("expm"),
    vjp=lambda ct, out, x: _expm_change(ct, adjoint(x)),
    jvp=lambda t, out, x: _expm_change(t, x),
    results=(2,),
    strict=False,
    type="MatrixExponential",
    args=("input",),
    doc="""Matrix exponential.

    The derivative costs some 6 times as much: it is a block of the exponential of a matrix twice as large.
    """,
)


@operands("input")
def expm(input: Any) -> Operand:
    """Matrix exponential of square matrices.

    Parameters
    ----------
    input : value, shape (..., n, n)

    Examples
    --------
    >>> expm(np.array([[0., 1.], [0., 0.]]))
    array([[1., 1.],
           [0., 1.]])
    """
    return expm_op(input)
