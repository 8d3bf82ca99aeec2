"""Eigenvalues and eigenvectors of matrices that need not be Hermitian: complex in general.

Eigenvectors have length 1 and are defined up to their phase; derivatives are those of functions that do not depend on
it. Between equal eigenvalues they are taken to be zero. Those of eigenvalues are NaN where a matrix is defective, or
where equal ones would have to part (see `engine.ops.spectral`).

References
----------
.. [1] C. Boeddeker et al., "On the computation of complex-valued gradients...", arXiv:1701.00392, 2017, section 4.5
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import leading
from engine.core.dtypes import DType, complex64, complex128, float32, float64
from engine.core.kinds import general, of_matrices
from engine.core.op import FROM_VJP
from engine.core.operands import Operand, operands
from engine.core.sparsity import rowwise
from engine.core.structural import conj, sum_to_like
from engine.core.value import dtype_of
from engine.ops.compare import cast_like, greater, less_equal, logical_and
from engine.ops.complexes import real
from engine.ops.decompose import eigh, eigvalsh, inverse_gaps
from engine.ops.diagonal import diagonal, matrix_diag
from engine.ops.lapack import numpy_linalg
from engine.ops.linalg import adjoint, matmul
from engine.ops.slicing import boolean_mask
from engine.ops.solve import check_matrix, solve_op
from engine.ops.spectral import columns, divided, of_values
from engine.runtime.errors import InvalidArgumentError

_COMPLEX: dict[DType, DType] = {float32: complex64, float64: complex128, complex64: complex64, complex128: complex128}


def _abstract(x: Aval) -> tuple[Aval, Aval]:
    check_matrix("eig", x, square=True)
    dtype = _COMPLEX[x.dtype]
    return Aval(None if x.shape is None else x.shape[:-1], dtype), Aval(x.shape, dtype)


def _kernel(x: Any) -> tuple[np.ndarray, ...]:
    values, vectors = numpy_linalg.eig(x)
    dtype = np.result_type(x.dtype, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


def _basis_kernel(values: Any, vectors: Any) -> np.ndarray:
    tolerance, on = np.finfo(vectors.dtype).eps ** 0.25, np.arange(values.shape[-1])
    gaps = np.abs(values[..., None] - values[..., None, :])
    gaps[..., on, on] = np.inf
    close = gaps.min((-2, -1), initial=np.inf) <= tolerance * np.abs(values).max(-1, initial=0.0)
    if close.any():
        least = numpy_linalg.svd(vectors, compute_uv=False).min(-1)
        return np.where((close & (least < 10 * tolerance**2))[..., None, None], np.nan, vectors)
    return vectors.copy()


basis = general(
    "basis",
    _basis_kernel,
    lambda values, vectors: vectors,
    vjp=(None, lambda ct, out, values, vectors: ct),
    jvp=(None, lambda t, out, values, vectors: t),
    batch=leading(1, 2),
    args=("values", "vectors"),
    sparsity=rowwise(1, 2, results=(2,)),
    doc="""The eigenvectors of matrices, NaN of those that have no basis of these.

    Of such a matrix, which is called defective, eigenvalues and vectors coincide, but for roots of rounding errors.
    """,
)


def _inside(x: Any, vectors: Any) -> Operand:
    """A matrix in the basis of eigenvectors."""
    return solve_op(vectors, matmul(cast_like(x, vectors), vectors))


def _outside(x: Any, vectors: Any) -> Operand:
    """The inverse of `_inside`."""
    return adjoint(solve_op(vectors, adjoint(matmul(vectors, x)), adjoint=True))


def _change(d: Any, ct: Any, values: Any, vectors: Any) -> Operand:
    """The adjoint of how ``V diag(conj(ct)) V^-1`` changes with the matrix in the direction `d`."""
    return adjoint(_outside(divided(conj(ct), values, (), -1) * _inside(d, vectors), vectors))


def _of_eigenvalues_kernel(ct: Any, x: Any, values: Any, vectors: Any) -> np.ndarray:
    turned = np.conjugate(vectors).swapaxes(-1, -2)
    return numpy_linalg.solve(turned, ct[..., None] * turned)


def _as(x: Any, like: Any) -> Operand:
    """`x` as a cotangent of `like`: its real part, if that is real."""
    return sum_to_like(x if dtype_of(like).is_complex else real(x), like)


_EIGEN = ("x", "values", "vectors")
of_eigenvalues = of_values(
    "of_eigenvalues",
    _of_eigenvalues_kernel,
    (
        lambda d, out, ct, *rest: sum_to_like(eigenvalue_part(d, *rest), ct),
        lambda d, out, ct, x, values, vectors: _as(_change(d, ct, values, vectors), x),
    ),
    (
        lambda t, out, ct, *rest: of_eigenvalues(t, *rest),
        lambda t, out, ct, x, values, vectors: _change(t, ct, values, vectors),
    ),
    ("ct", *_EIGEN),
    2,
    "``V^-H diag(ct) V^H``, a function of `x`, whose eigenvalues and eigenvectors V are given.",
    __name__,
)
eigenvalue_part = of_values(
    "eigenvalue_part",
    lambda d, x, values, vectors: np.diagonal(numpy_linalg.solve(vectors, np.matmul(d, vectors)), 0, -2, -1).copy(),
    (
        lambda ct, out, d, *rest: _as(of_eigenvalues(ct, *rest), d),
        lambda ct, out, d, x, values, vectors: _as(_change(d, ct, values, vectors), x),
    ),
    FROM_VJP,
    ("d", *_EIGEN),
    1,
    "How the eigenvalues of matrices `x` change with them in the directions `d`.",
    __name__,
)


def _vjp(ct: Any, out: Any, x: Any) -> Operand:
    values, vectors = out[0], basis(*out)
    overlap = matmul(vectors, ct[1], adjoint_a=True)
    lengths = columns(matmul(vectors, vectors, adjoint_a=True), real(diagonal(overlap)))
    inner = conj(inverse_gaps(values)) * (overlap - lengths)
    of_vectors = solve_op(vectors, matmul(inner, vectors, adjoint_b=True), adjoint=True)
    return _as(of_vectors + of_eigenvalues(ct[0], x, values, vectors), x)


eig_op = of_matrices(
    "eig_op",
    _kernel,
    _abstract,
    vjp=_vjp,
    jvp=FROM_VJP,
    results=(1, 2),
    type="Eig",
    args=("tensor",),
    doc="Eigenvalues and eigenvectors of square matrices.",
)


def _eigvals_vjp(ct: Any, out: Any, x: Any) -> Operand:
    values, vectors = eig_op(x)
    return _as(of_eigenvalues(ct, x, values, basis(values, vectors)), x)


def _eigvals_jvp(t: Any, out: Any, x: Any) -> Operand:
    values, vectors = eig_op(x)
    return eigenvalue_part(cast_like(t, vectors), x, values, basis(values, vectors))


eigvals_op = of_matrices(
    "eigvals_op",
    lambda x: numpy_linalg.eigvals(x).astype(np.result_type(x.dtype, np.complex64)),
    lambda x: _abstract(x)[0],
    vjp=_eigvals_vjp,
    jvp=_eigvals_jvp,
    results=(1,),
    type="Eig",
    args=("tensor",),
    doc="Eigenvalues of square matrices.",
)


@operands("tensor")
def eig(tensor: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    tensor : value, shape (..., n, n)

    Returns
    -------
    eigenvalues : complex value, shape (..., n)
        In no particular order.
    eigenvectors : complex value, shape (..., n, n)
        In columns, of length 1.

    Examples
    --------
    >>> eig(np.array([[0., 1.], [-1., 0.]]))[0]
    array([0.+1.j, 0.-1.j])
    """
    return eig_op(tensor)


@operands("tensor")
def eigvals(tensor: Any) -> Operand:
    """Eigenvalues of square matrices (see `eig`).

    Examples
    --------
    >>> eigvals(np.array([[0., 1.], [-1., 0.]]))
    array([0.+1.j, 0.-1.j])
    """
    return eigvals_op(tensor)


@operands("alpha", "beta")
def eigh_tridiagonal(
    alpha: Any, beta: Any, eigvals_only: bool = True, select: str = "a", select_range: Any = None, tol: Any = None
) -> Operand | tuple[Operand, Operand]:
    """Eigenvalues, and eigenvectors if asked for, of Hermitian matrices that have three diagonals.

    Parameters
    ----------
    alpha : value, shape (..., n)
        The diagonal.
    beta : value, shape (..., n - 1)
        The diagonal above; the one below is its conjugate.
    eigvals_only : bool
    select : {"a", "i", "v"}
        All of them; those with the numbers `select_range` (first and last, counted from 0); those in the interval
        `select_range`, without its lower end (of one matrix).
    select_range : (int, int) or (float, float)
    tol : optional
        Has no effect: they are as exact as those of `eigh`.

    Examples
    --------
    >>> eigh_tridiagonal(np.array([2., 2.]), np.array([1.]))
    array([1., 3.])
    """
    matrix = matrix_diag(alpha) + matrix_diag(conj(beta), k=-1)
    values, vectors = (eigvalsh(matrix), None) if eigvals_only else eigh(matrix)
    values = real(values)
    if select not in ("a", "i", "v") or (select != "a" and (select_range is None or len(select_range) != 2)):
        raise InvalidArgumentError(
            f"eigh_tridiagonal: argument `select` must be 'a', or 'i' or 'v' with a `select_range` of two numbers, got "
            f"{select!r} and {select_range!r}"
        )
    if select == "i":
        first, last = (int(i) for i in select_range)
        values = values[..., first : last + 1]
        vectors = None if vectors is None else vectors[..., first : last + 1]
    elif select == "v":
        low, high = (dtype_of(values).as_numpy_dtype(v) for v in select_range)
        inside = logical_and(greater(values, low), less_equal(values, high))
        values = boolean_mask(values, inside)
        vectors = None if vectors is None else boolean_mask(vectors, inside, axis=1)
    return values if vectors is None else (values, vectors)
