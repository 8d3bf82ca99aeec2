"""Determinants of matrices in the last two axes, and their cofactors, which are the derivatives.

All are defined for singular matrices, where formulas with an inverse are not: by the singular values. First and second
derivatives follow from the terms of first and second order of ``det(S + E)`` for a diagonal S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import leading
from engine.core.kinds import general, of_matrices, same_dtype
from engine.core.op import Layout
from engine.core.operands import Operand, operands
from engine.core.sparsity import rowwise
from engine.core.structural import conj, sum_to_like
from engine.core.value import dtype_of
from engine.ops import linalg
from engine.ops.complexes import complex_op, imag, real
from engine.ops.lapack import numpy_linalg
from engine.ops.linalg import matmul, trace
from engine.ops.reduce import reduce_sum
from engine.ops.small_matrix import MOST_COFACTORS, call, is_small
from engine.ops.solve import (
    check_matrix,
    finite,
    fresh_if_small,
    inverse_op,
    scalar_abstract,
    scale_matrix,
    solve_op,
    square_abstract,
)
from engine.runtime import elementary


def _norm(x: Any) -> Any:
    """The root of the sum of all squares of each matrix."""
    return np.sqrt(np.add.reduce(np.square(np.abs(x)), axis=(-2, -1)))


def conditions(x: Any) -> tuple[Any, Any]:
    """How far matrices are from singular ones, and their inverses.

    Raises
    ------
    LinAlgError
        If one is singular.
    """
    inverse = inverse_op.kernel(x)
    return np.multiply(_norm(x), _norm(inverse)), inverse


def _condition(x: Any) -> tuple[Any, Any]:
    """`conditions`; infinite, and None, if one is singular."""
    try:
        return conditions(x)
    except np.linalg.LinAlgError:
        return np.inf, None


def largest_condition(dtype: Any) -> float:
    """Up to where cofactors are computed from an inverse."""
    return float(np.finfo(dtype).eps ** -0.5)


def _cofactor_kernel(x: Any) -> np.ndarray:
    if is_small(x, most=MOST_COFACTORS):
        return call("small_cofactors", x)
    condition, inverse = _condition(x)
    if not np.all(condition < largest_condition(x.dtype)):
        return _cofactor_by_svd(x)
    return cofactors_of(x, inverse)


def cofactors_of(x: Any, inverse: Any) -> Any:
    """Cofactors of matrices whose inverses are known, for kernels."""
    return det_op.kernel(x)[..., None, None] * inverse.swapaxes(-1, -2)


def _cofactor_by_svd(x: Any) -> np.ndarray:
    """Of ``U S V^H`` they are ``det(U) det(V^H) conj(U) C V^T``, C those of S: defined for singular matrices too."""
    u, s, vh = numpy_linalg.svd(finite("det", x))
    n = s.shape[-1]
    others = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
    others[..., np.arange(n), np.arange(n)] = 1
    sign = (numpy_linalg.det(u) * numpy_linalg.det(vh))[..., None, None]
    return sign * np.matmul(np.conjugate(u) * np.prod(others, axis=-1)[..., None, :], np.conjugate(vh))


def _change_kernel(d: Any, x: Any) -> np.ndarray:
    if is_small(x, d, most=MOST_COFACTORS):
        return call("small_cofactor_change", d, x)
    condition, inverse = _condition(x)
    if not np.all(condition < np.finfo(x.dtype).eps ** -0.25):
        return _change_by_svd(d, x)
    determinant = numpy_linalg.det(x)[..., None, None]
    relative = np.matmul(inverse, d)
    along = np.trace(relative, axis1=-2, axis2=-1)[..., None, None] * inverse
    return determinant * (along - np.matmul(relative, inverse)).swapaxes(-1, -2)


def _change_by_svd(d: Any, x: Any) -> np.ndarray:
    """With ``E = U^H d V`` the second order is a sum of ``E[i, i] E[j, j] - E[i, j] E[j, i]``, times all other s[k]."""
    u, s, vh = numpy_linalg.svd(finite("det", x))
    pairs = _without_pairs(s)
    e = np.matmul(np.conjugate(u).swapaxes(-1, -2), np.matmul(d, np.conjugate(vh).swapaxes(-1, -2)))
    changed = -e.swapaxes(-1, -2) * pairs
    diagonal = np.arange(s.shape[-1])
    changed[..., diagonal, diagonal] = np.matmul(pairs, np.diagonal(e, axis1=-2, axis2=-1)[..., None])[..., 0]
    sign = (numpy_linalg.det(u) * numpy_linalg.det(vh))[..., None, None]
    return sign * np.matmul(np.matmul(np.conjugate(u), changed), np.conjugate(vh))


def _without_pairs(s: Any) -> np.ndarray:
    """For each pair of different numbers the product of all others, 0 on the diagonal."""
    n = s.shape[-1]
    products = np.zeros((*s.shape, n), s.dtype)
    ones = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.multiply.accumulate(np.concatenate([ones, s], axis=-1), axis=-1)
    after = np.multiply.accumulate(np.concatenate([ones, s[..., ::-1]], axis=-1), axis=-1)[..., ::-1]
    for i in range(n - 1):
        between = np.multiply.accumulate(np.concatenate([ones, s[..., i + 1 : n - 1]], axis=-1), axis=-1)
        products[..., i, i + 1 :] = before[..., i : i + 1] * between * after[..., i + 2 :]
    return products + products.swapaxes(-1, -2)


def _third(d: Any, e: Any, x: Any) -> Operand:
    """How the determinant changes in the third order along `d` and `e`: a matrix, symmetric in the two.

    The derivative of ``(<c, d> <c, e> - <e, c d^T c>) / det x`` by x, where c are the cofactors.
    """
    c, determinant = cofactor(x), det_op(x)
    on_d, on_e = (reduce_sum(c * v, axis=(-2, -1)) for v in (d, e))
    across = [matmul(a, matmul(c, b, transpose_a=True)) for a, b in ((d, e), (e, d))]
    total = on_d * on_e - reduce_sum(c * across[0], axis=(-2, -1))
    by_cofactors = scale_matrix(on_e, d) + scale_matrix(on_d, e) - across[0] - across[1]
    return scale_matrix(1 / determinant, cofactor_change(by_cofactors, x) - scale_matrix(total / determinant, c))


def _change_abstract(d: Aval, x: Aval) -> Aval:
    check_matrix("cofactor_change", x, square=True)
    return Aval(
        broadcast_shapes("cofactor_change", d.shape, x.shape), same_dtype("cofactor_change", ("d", "x"), (d, x))
    )


cofactor_change = general(
    "cofactor_change",
    _change_kernel,
    _change_abstract,
    vjp=(
        lambda ct, out, d, x: sum_to_like(cofactor_change(ct, conj(x)), d),
        lambda ct, out, d, x: sum_to_like(_third(ct, conj(d), conj(x)), x),
    ),
    jvp=(lambda t, out, d, x: cofactor_change(t, x), lambda t, out, d, x: _third(d, t, x)),
    batch=leading(2, 2),
    args=("d", "x"),
    refuses=True,
    sparsity=rowwise(2, 2, results=(2,)),
    layout=fresh_if_small(Layout.ANY, MOST_COFACTORS),
    doc="""The change of the cofactors of `x` when it changes by `d`, also for singular matrices.

    Where these are singular, its own derivative by `x` is undefined, infinite or NaN.
    """,
    scratch=6,
)
cofactor = of_matrices(
    "cofactor",
    _cofactor_kernel,
    square_abstract("cofactor"),
    vjp=lambda ct, out, x: cofactor_change(ct, conj(x)),
    jvp=lambda t, out, x: cofactor_change(t, x),
    results=(2,),
    args=("input",),
    layout=fresh_if_small(Layout.ANY, MOST_COFACTORS),
    doc="Cofactors, also of singular matrices.",
    scratch=4,
)


def _with_nan(out: Any, x: Any) -> Any:
    """The results, but NaN for a matrix that holds a NaN: beside a column of zeros LAPACK does not meet it."""
    return np.where(np.logical_or.reduce(np.not_equal(x, x), axis=(-2, -1)), np.asarray(np.nan, out.dtype), out)[()]


@np.errstate(all="ignore")
def _det_kernel(x: Any) -> Any:
    return call("small_det", x) if is_small(x) else _with_nan(numpy_linalg.det(x), x)


det_op = of_matrices(
    "det_op",
    _det_kernel,
    scalar_abstract("det"),
    vjp=lambda ct, out, x: scale_matrix(ct, conj(cofactor(x))),
    jvp=lambda t, out, x: reduce_sum(cofactor(x) * t, axis=(-2, -1)),
    results=(0,),
    type="MatrixDeterminant",
    args=("input",),
    layout=fresh_if_small(Layout.KEPT),
    doc="""Determinant. Its derivative are the cofactors (the transposed adjugate), also where it is zero.

    They cost some 6 times the op: an inverse is three times the arithmetic of the factorization.
    """,
    scratch=4,
)


@operands("input")
def det(input: Any) -> Operand:
    """Determinant of square matrices.

    The gradient is the matrix of cofactors, also for singular matrices (where TensorFlow raises). Second derivatives
    are right there too; third ones are undefined.

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


LOG_2 = elementary.log(2.0)


@np.errstate(all="ignore")
def _slogdet_kernel(x: Any) -> tuple[Operand, ...]:
    if is_small(x):
        number, exponent = call("small_det_parts", x)
        logarithm = np.add(elementary.log(np.abs(number)), np.multiply(exponent, LOG_2))
        return np.sign(number).astype(x.dtype), logarithm.astype(x.dtype)
    sign, logarithm = numpy_linalg.slogdet(x)
    return _with_nan(sign, x), _with_nan(logarithm.astype(x.dtype), x)


def _slogdet_vjp(ct: Any, out: Any, x: Any) -> Operand:
    factor = ct[1]
    if dtype_of(x).is_complex:
        # The logarithm moves with the real part of tr(x^-1 dx), the sign turns with its imaginary part.
        factor = complex_op(real(ct[1]), imag(ct[0] * conj(out[0])))
    return scale_matrix(factor, linalg.adjoint(inverse_op(x)))


def _slogdet_jvp(t: Any, out: Any, x: Any) -> tuple[Operand, ...]:
    change = trace(solve_op(x, t, adjoint=False))
    if not dtype_of(x).is_complex:
        return 0 * out[0], change
    size, turn = real(change), imag(change)
    return out[0] * complex_op(0 * turn, turn), complex_op(size, 0 * size)


slogdet_op = of_matrices(
    "slogdet_op",
    _slogdet_kernel,
    lambda x: (scalar_abstract("slogdet")(x),) * 2,
    vjp=_slogdet_vjp,
    jvp=_slogdet_jvp,
    results=(0, 0),
    type="LogMatrixDeterminant",
    args=("input",),
    layout=fresh_if_small(Layout.KEPT),
    doc="""Sign and logarithm of the absolute value of the determinant.

    The derivative, an inverse, costs some 5 times the op: three times the arithmetic of the factorization, and more
    memory traffic.
    """,
    scratch=4,
)


class LogMatrixDeterminant(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    log_abs_determinant: Any


@operands("input")
def slogdet(input: Any) -> LogMatrixDeterminant:
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
    return LogMatrixDeterminant(*slogdet_op(input))
