"""Decompositions of matrices in the last two axes: Cholesky, eigenvalues, singular values, QR.

Eigenvectors and singular vectors are defined up to sign (phase), and not at all within a space of equal eigenvalues.
Derivatives are those of functions that do not depend on that choice. Between equal values they are zero for a function
of the vectors alone, and NaN for one that depends on the choice or on the values, too; second derivatives are NaN.

References
----------
.. [1] M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008
.. [2] I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, 2016
.. [3] S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions...", arXiv:1001.1654, 2010
.. [4] J. Townsend, "Differentiating the singular value decomposition", 2016
.. [5] Z.-Q. Wan, S.-X. Zhang, "Automatic differentiation for complex valued SVD", arXiv:1909.02659, 2019
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import leading
from engine.core.expand_axes import expand_dims
from engine.core.kinds import elementwise, linear, of_matrices
from engine.core.op import FROM_VJP, Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import GATHERS, SCATTERS
from engine.core.value import dtype_of, shape_of
from engine.ops.arithmetic import divide_no_nan
from engine.ops.compare import cast_like, equal, greater, less_equal, logical_and, logical_or, not_equal, where
from engine.ops.complexes import abs as absolute
from engine.ops.creation import ones_like, zeros_like
from engine.ops.diagonal import embed_diagonal
from engine.ops.extrema import reduce_max
from engine.ops.lapack import numpy_linalg
from engine.ops.linalg import adjoint, matmul
from engine.ops.small_matrix import is_small, numbers_of
from engine.ops.solve import check_matrix, finite, fresh_if_small, known, square_abstract, triangle, triangular_solve
from engine.ops.spectral import columns, largest, outside, singular, singular_part, spectral, spectral_part
from engine.runtime.errors import UnimplementedError


def _half_lower(x: Any) -> Operand:
    """The lower triangle with half the diagonal: ``_half_lower(x) + adjoint(_half_lower(x))`` is x, if Hermitian."""
    return triangle(x, lower=True, diagonal=0.5)


def _hermitian(x: Any) -> Operand:
    return x + adjoint(x)


def inverse_gaps(x: Any) -> Operand:
    """``1 / (x[j] - x[i])``, zero where they are equal up to rounding."""
    gaps, near = _gaps(x)
    return where(near, zeros_like(gaps), divide_no_nan(ones_like(gaps), gaps))


def _gaps(x: Any) -> tuple[Operand, Operand]:
    gaps, size = expand_dims(x, (-2,)) - expand_dims(x, (-1,)), largest(x)
    rounding = dtype_of(size).as_numpy_dtype(8 * np.finfo(dtype_of(size).numpy).eps)
    return gaps, less_equal(absolute(gaps), rounding * size)


once_differentiable = elementwise(
    "once_differentiable",
    lambda x, ends: x + np.zeros_like(ends),
    (lambda out, x, ends: where(not_equal(ends, zeros_like(ends)), np.nan * ones_like(out), ones_like(out)), None),
    args=("x", "ends"),
    strict=False,
    doc="The first operand; where the second is not 0, its derivative is NaN.",
)


def _turns(values: Any, of_values: Any, sides: Sequence[tuple[Any, Any]]) -> tuple[Operand, list[Operand]]:
    """Cotangents to add for turns of vectors of equal values; and the vectors, which have no derivatives then.

    Any small change of the matrix turns these vectors. A function that such a turn changes has no derivative: NaN. So
    it is for one that shows the values, too: its terms are the limit of a quotient of zeros; and so for all second
    derivatives. Else this is 0. `sides` are vectors and their cotangents: those of one side or two.
    """
    parts = [matmul(vectors, ct, adjoint_a=True) for vectors, ct in sides]
    size = sum(reduce_max(absolute(part), axis=(-2, -1), keepdims=True) for part in parts)
    least = dtype_of(size).as_numpy_dtype(np.finfo(dtype_of(size).numpy).eps ** 0.5) * size
    one = ones_like(parts[0])
    apart = equal(triangle(triangle(one, lower=True, diagonal=1.0), lower=False, diagonal=1.0), zeros_like(one))
    same = logical_and(_gaps(values)[1], apart)
    moved = not_equal(of_values, zeros_like(of_values))
    either = logical_or(expand_dims(moved, (-2,)), expand_dims(moved, (-1,)))
    shown = greater(sum(map(absolute, parts)), least)
    turned = greater(absolute(sum(map(_skew, parts))), least)
    unknown = logical_and(same, logical_or(turned, logical_and(either, shown)))
    known = where(logical_and(same, greater(size + zeros_like(absolute(one)), zeros_like(size))), one, zeros_like(one))
    ends = reduce_max(absolute(known), axis=(-2, -1), keepdims=True)
    return where(unknown, np.nan * one, zeros_like(one)), [
        once_differentiable(vectors, cast_like(ends, vectors)) for vectors, _ in sides
    ]


# ---- cholesky --------------------------------------------------------------------------------------------------------


def _cholesky_vjp(ct: Any, out: Any, x: Any) -> Operand:
    """Equation (9) of [2]; the gradient of a symmetric matrix is symmetric."""
    inner = _half_lower(matmul(out, ct, adjoint_a=True))
    left = triangular_solve(out, inner, lower=True, adjoint=True)
    return 0.5 * _hermitian(triangular_solve(out, adjoint(left), lower=True, adjoint=True))


def _cholesky_jvp(t: Any, out: Any, x: Any) -> Operand:
    left = triangular_solve(out, 0.5 * _hermitian(t), lower=True)
    return matmul(out, _half_lower(triangular_solve(out, adjoint(left), lower=True)))


NOT_DEFINITE = "Matrix is not positive definite"

cholesky_op = of_matrices(
    "cholesky_op",
    lambda x: known(numbers_of("small_cholesky", x), NOT_DEFINITE) if is_small(x) else numpy_linalg.cholesky(x),
    square_abstract("cholesky"),
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    results=(2,),
    type="Cholesky",
    args=("input",),
    layout=fresh_if_small(Layout.KEPT),
    doc="""Lower triangular factor of positive definite matrices.

    The derivative costs some 10 times as much: a product and two triangular solves with as many right sides as rows,
    six times the arithmetic of the factorization and more.
    """,
)


@operands("input")
def cholesky(input: Any) -> Operand:
    """Lower triangular L with ``L @ adjoint(L)`` equal to a positive definite matrix.

    Parameters
    ----------
    input : value, shape (..., n, n)
        Only the lower triangle is looked at. The gradient is symmetric.

    Raises
    ------
    InvalidArgumentError
        If a matrix is not positive definite.

    Examples
    --------
    >>> cholesky(np.array([[4., 2.], [2., 2.]]))
    array([[2., 0.],
           [1., 1.]])
    """
    return cholesky_op(input)


# ---- eigenvalues of Hermitian matrices -------------------------------------------------------------------------------


def _eigh_kernel(x: Any) -> tuple[np.ndarray, ...]:
    values, vectors = numpy_linalg.eigh(x)
    return values.astype(x.dtype), vectors


def _eigh_abstract(x: Aval) -> tuple[Aval, Aval]:
    check_matrix("eigh", x, square=True)
    return Aval(None if x.shape is None else x.shape[:-1], x.dtype), Aval(x.shape, x.dtype)


def _eigh_vjp(ct: Any, out: Any, x: Any) -> Operand:
    """Section 3.1 of [1]. Only the lower triangle of x is looked at, so only it has a gradient."""
    values, vectors = out
    turns, (shown,) = _turns(values, ct[0], [(vectors, ct[1])])
    inner = inverse_gaps(values) * matmul(shown, ct[1], adjoint_a=True) + turns
    total = spectral(ct[0], x, values, vectors) + matmul(shown, matmul(inner, shown, adjoint_b=True))
    return triangle(_hermitian(total), lower=True, diagonal=0.5)


def _eigh_jvp(t: Any, out: Any, x: Any) -> tuple[Operand, ...]:
    values, vectors = out
    whole = _hermitian(_half_lower(t))
    inner = matmul(vectors, matmul(whole, vectors), adjoint_a=True)
    return spectral_part(whole, x, values, vectors), matmul(vectors, inverse_gaps(values) * inner)


eigh_op = of_matrices(
    "eigh_op",
    _eigh_kernel,
    _eigh_abstract,
    vjp=_eigh_vjp,
    jvp=_eigh_jvp,
    results=(1, 2),
    type="SelfAdjointEigV2",
    args=("tensor",),
    doc="Eigenvalues, ascending, and eigenvectors of Hermitian matrices.",
)


def _eigvalsh_vjp(ct: Any, out: Any, x: Any) -> Operand:
    gradient = spectral(ct, x, out, eigh_op(x)[1])
    return triangle(_hermitian(gradient), lower=True, diagonal=0.5)


eigvalsh_op = of_matrices(
    "eigvalsh_op",
    lambda x: numpy_linalg.eigvalsh(x).astype(x.dtype),
    lambda x: _eigh_abstract(x)[0],
    vjp=_eigvalsh_vjp,
    jvp=lambda t, out, x: _eigh_jvp(t, eigh_op(x), x)[0],
    results=(1,),
    type="SelfAdjointEigV2",
    args=("tensor",),
    doc="""Eigenvalues of Hermitian matrices, ascending.

    The derivative costs some 4 times as much, as it needs the eigenvectors.
    """,
)


@operands("tensor")
def eigh(tensor: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    tensor : value, shape (..., n, n)
        Only the lower triangle is looked at, so only it has a gradient.

    Returns
    -------
    eigenvalues : value, shape (..., n)
        Ascending; of the dtype of `tensor`.
    eigenvectors : value, shape (..., n, n)
        In columns.

    Examples
    --------
    >>> eigh(np.array([[2., 0.], [0., 1.]]))[0]
    array([1., 2.])
    """
    return eigh_op(tensor)


@operands("tensor")
def eigvalsh(tensor: Any) -> Operand:
    """Eigenvalues of Hermitian matrices, ascending (see `eigh`).

    Examples
    --------
    >>> eigvalsh(np.array([[2., 0.], [0., 1.]]))
    array([1., 2.])
    """
    return eigvalsh_op(tensor)


# ---- singular values -------------------------------------------------------------------------------------------------


def _svd_kernel(x: Any, *, full_matrices: bool = False) -> tuple[np.ndarray, ...]:
    u, s, vh = numpy_linalg.svd(finite("svd", x), full_matrices=full_matrices)
    return s, u, np.conjugate(vh).swapaxes(-1, -2)


def _svd_abstract(x: Aval, *, full_matrices: bool = False) -> tuple[Aval, Aval, Aval]:
    check_matrix("svd", x, "tensor")
    if x.shape is None:
        return Aval(None, x.dtype.real_dtype), Aval(None, x.dtype), Aval(None, x.dtype)
    *stack, n, m = x.shape
    k = _smaller(n, m)
    of_u, of_v = ((n, n), (m, m)) if full_matrices else ((n, k), (m, k))
    return Aval((*stack, k), x.dtype.real_dtype), Aval((*stack, *of_u), x.dtype), Aval((*stack, *of_v), x.dtype)


def _smaller(n: int | None, m: int | None) -> int | None:
    return None if n is None or m is None else min(n, m)


def _skew(x: Any) -> Operand:
    return x - adjoint(x)


def _svd_vjp(ct: Any, out: Any, x: Any, *, full_matrices: bool = False) -> Operand:
    """The formula of [4] and [5], its quotients by differences of squares as partial fractions."""
    if full_matrices and (shape_of(x) or (None, 0))[-1] != (shape_of(x) or (None, 0))[-2]:
        raise UnimplementedError(
            f"svd: with full_matrices=True only square matrices have a gradient, got {shape_of(x)}"
        )
    s, u, v = out
    of_s, of_u, of_v = ct
    inverse = divide_no_nan(ones_like(s), s)
    turns, shown = _turns(s, of_s, [(u, of_u), (v, of_v)])
    of_values = singular(of_s, x, s, u, v)
    u, v = shown
    of_left, of_right = (_skew(matmul(x, of_x, adjoint_a=True)) for x, of_x in ((u, of_u), (v, of_v)))
    sums = expand_dims(s, (-2,)) + expand_dims(s, (-1,))
    # what turns both sides alike needs differences, what turns them against each other, and phases of both, sums
    apart = cast_like(divide_no_nan(ones_like(sums), sums), u)
    inner = 0.5 * (cast_like(inverse_gaps(s), u) * (of_left + of_right) + apart * (of_left - of_right))
    within = matmul(u, matmul(inner + turns, v, adjoint_b=True))
    left = matmul(columns(outside(u, of_u), inverse), v, adjoint_b=True)
    right = matmul(u, columns(outside(v, of_v), inverse), adjoint_b=True)
    return of_values + within + left + right


svd_op = of_matrices(
    "svd_op",
    _svd_kernel,
    _svd_abstract,
    vjp=_svd_vjp,
    jvp=FROM_VJP,
    results=(1, 2, 2),
    type="Svd",
    args=("tensor",),
    layout=Layout.ANY,
    doc="Singular values, left and right singular vectors.",
)


def _singular_values_vjp(ct: Any, out: Any, x: Any) -> Operand:
    _, u, v = svd_op(x, full_matrices=False)
    return singular(ct, x, out, u, v)


def _singular_values_jvp(t: Any, out: Any, x: Any) -> Operand:
    _, u, v = svd_op(x, full_matrices=False)
    return singular_part(t, x, out, u, v)


singular_values_op = of_matrices(
    "singular_values_op",
    lambda x: numpy_linalg.svd(finite("svd", x), compute_uv=False),
    lambda x: _svd_abstract(x)[0],
    vjp=_singular_values_vjp,
    jvp=_singular_values_jvp,
    results=(1,),
    type="Svd",
    args=("tensor",),
    doc="Singular values of matrices, descending.",
)


@operands("tensor")
def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True) -> tuple[Any, Any, Any] | Any:
    """Singular value decomposition: ``tensor = u @ diag(s) @ adjoint(v)``.

    Parameters
    ----------
    tensor : value, shape (..., n, m)
    full_matrices : bool
        Return square `u` and `v` (differentiable only if ``n == m``).
    compute_uv : bool
        Return the vectors too.

    Returns
    -------
    s : value, shape (..., k)
        Real, descending; ``k = min(n, m)``.
    u : value, shape (..., n, k)
        Only if `compute_uv`.
    v : value, shape (..., m, k)
        Only if `compute_uv`.

    Examples
    --------
    >>> svd(np.array([[3., 0.], [0., -4.]]), compute_uv=False)
    array([4., 3.])
    """
    return svd_op(tensor, full_matrices=bool(full_matrices)) if compute_uv else singular_values_op(tensor)


# ---- qr --------------------------------------------------------------------------------------------------------------


def _qr_kernel(x: Any, *, full_matrices: bool = False) -> tuple[np.ndarray, ...]:
    q, r = numpy_linalg.qr(x, mode="complete" if full_matrices else "reduced")
    return q, r


def _qr_abstract(x: Aval, *, full_matrices: bool = False) -> tuple[Aval, Aval]:
    check_matrix("qr", x)
    if x.shape is None:
        return x, x
    *stack, n, m = x.shape
    k = n if full_matrices else _smaller(n, m)
    return Aval((*stack, n, k), x.dtype), Aval((*stack, k, m), x.dtype)


leading_columns = linear(
    "leading_columns",
    lambda x: x[..., : x.shape[-2]],
    lambda ct, x: embed_leading_columns(ct, x),
    lambda x: Aval(None if x.shape is None else (*x.shape[:-1], _smaller(*x.shape[-2:])), x.dtype),
    leading(2),
    args=("input",),
    sparsity=GATHERS,
    layout=Layout.PART,
    doc="The first columns of matrices, at most as many as there are rows.",
)


def _embed_columns_kernel(x: Any, ref: Any) -> np.ndarray:
    out = np.zeros((*x.shape[:-1], ref.shape[-1]), x.dtype)
    out[..., : x.shape[-1]] = x
    return out


embed_leading_columns = linear(
    "embed_leading_columns",
    _embed_columns_kernel,
    lambda ct, x, ref: leading_columns(ct),
    lambda x, ref: Aval(None if x.shape is None or ref.shape is None else (*x.shape[:-1], ref.shape[-1]), x.dtype),
    embed_diagonal.batch,
    args=("x", "ref"),
    sparsity=SCATTERS,
    doc="Matrices with zero columns appended, as many columns as `ref` has: the transpose of `leading_columns`.",
)


def _qr_deep_vjp(of_q: Any, of_r: Any, q: Any, r: Any) -> Operand:
    """Section 3.2 of [3], for at least as many rows as columns. The diagonal of r is real."""
    inner = _hermitian(_half_lower(matmul(r, of_r, adjoint_b=True) - matmul(of_q, q, adjoint_a=True)))
    return adjoint(triangular_solve(r, adjoint(of_q + matmul(q, inner)), lower=False))


def _qr_vjp(ct: Any, out: Any, x: Any, *, full_matrices: bool = False) -> Operand:
    """A wide matrix is ``[x1, x2]`` with x1 square: ``q, r1 = qr(x1)`` and ``r2 = adjoint(q) @ x2``.

    The formula for wide matrices holds for others too, so it serves where the shape is not known.
    """
    (of_q, of_r), (q, r) = ct, out
    rows, columns = (shape_of(x) or (None, None))[-2:]
    if rows is None or columns is None:
        rows, columns = 0, 1  # as if wide
    if full_matrices and rows > columns:
        raise UnimplementedError(f"qr: with full_matrices=True tall matrices have no gradient, got {shape_of(x)}")
    if rows >= columns:
        return _qr_deep_vjp(of_q, of_r, q, r)
    from_r = matmul(q, of_r)
    square_r, of_square_r = leading_columns(r), leading_columns(of_r)
    of_q = of_q + matmul(x, of_r, adjoint_b=True) - matmul(leading_columns(x), of_square_r, adjoint_b=True)
    first = _qr_deep_vjp(of_q, of_square_r, q, square_r) - leading_columns(from_r)
    return from_r + embed_leading_columns(first, x)


qr_op = of_matrices(
    "qr_op",
    _qr_kernel,
    _qr_abstract,
    vjp=_qr_vjp,
    jvp=FROM_VJP,
    results=(2, 2),
    type="Qr",
    args=("input",),
    doc="Orthogonal (unitary) q and upper triangular r with ``q @ r`` equal to a matrix.",
)


class Qr(NamedTuple):
    """The result of `qr`."""

    q: Any
    r: Any


@operands("input")
def qr(input: Any, full_matrices: bool = False) -> Qr:
    """QR decomposition: ``input = q @ r`` with orthonormal columns in q, and r upper triangular.

    Parameters
    ----------
    input : value, shape (..., n, m)
        Its first ``k = min(n, m)`` columns must be independent for a gradient.
    full_matrices : bool
        Return a square `q` (then tall matrices have no gradient).

    Returns
    -------
    q : value, shape (..., n, k)
    r : value, shape (..., k, m)

    Examples
    --------
    >>> q, r = qr(np.array([[0., 2.], [3., 0.]]))
    >>> np.abs(r)
    array([[3., 0.],
           [0., 2.]])
    """
    return Qr(*qr_op(input, full_matrices=bool(full_matrices)))
