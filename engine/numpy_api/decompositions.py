"""NumPy's decompositions of matrices, with the names that their results have (see `engine.numpy_api.functions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand, operands
from engine.core.value import dtype_of
from engine.numpy_api.functions import Row, length, not_taken_if, rank_of
from engine.ops import complexes, decompose, determinants, eig, linalg, matrix_functions, solve

# ---- results with names ----------------------------------------------------------------------------------------------

_ONE: Any = np.eye(1)
_named: dict[Any, Callable[..., Any]] = {
    function: type(function(_ONE))
    for function in (np.linalg.slogdet, np.linalg.eigh, np.linalg.eig, np.linalg.svd, np.linalg.qr)
}
"""The named tuples that NumPy's functions give."""


def _real(x: Any) -> Any:
    """Of complex values the real part, where NumPy's are real numbers and ours have the dtype of the matrix."""
    return complexes.real(x) if dtype_of(x).is_complex else x


@operands("a")
def _slogdet(a: Any) -> Any:
    sign, logarithm = determinants.slogdet(a)
    return _named[np.linalg.slogdet](sign, _real(logarithm))


def _lower(a: Any, UPLO: str) -> Any:
    """Ours look at the lower triangle."""
    return a if UPLO in ("L", "l") else linalg.adjoint(a)


@operands("a")
def _eigh(a: Any, UPLO: str = "L") -> Any:
    values, vectors = decompose.eigh(_lower(a, UPLO))
    return _named[np.linalg.eigh](_real(values), vectors)


@operands("a")
def _eigvalsh(a: Any, UPLO: str = "L") -> Operand:
    return _real(decompose.eigvalsh(_lower(a, UPLO)))


@operands("a")
def _cholesky(a: Any, *, upper: bool = False) -> Operand:
    return linalg.adjoint(decompose.cholesky(linalg.adjoint(a))) if upper else decompose.cholesky(a)


def _hermitian_svd(a: Any) -> tuple[Any, Any, Any]:
    """Of the eigenvalues, by size, with their signs on one side, as NumPy has it."""
    not_taken_if(rank_of(a) != 2)
    values, vectors = _eigh(a)
    order = np.argsort(-np.abs(values), axis=-1)
    signs = np.take_along_axis(np.sign(values), order, axis=-1)
    vectors = np.take_along_axis(vectors, np.expand_dims(order, -2), axis=-1)
    singular = np.take_along_axis(np.abs(values), order, axis=-1)
    return vectors, singular, linalg.adjoint(vectors * signs)


@operands("a")
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian and compute_uv:
        return _named[np.linalg.svd](*_hermitian_svd(a))
    if not compute_uv:
        return np.sort(np.abs(_eigvalsh(a)))[..., ::-1] if hermitian else decompose.svd(a, compute_uv=False)
    s, u, v = decompose.svd(a, full_matrices)
    return _named[np.linalg.svd](u, s, linalg.adjoint(v))


@operands("a")
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return decompose.qr(a, False)[1]
    not_taken_if(mode not in ("reduced", "complete"))
    return _named[np.linalg.qr](*decompose.qr(a, mode == "complete"))


@operands("a")
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Operand:
    limit = rtol if rcond is None else rcond
    if not hermitian:
        return matrix_functions.pinv(a, limit)
    limit = length(a, -1) * float(np.finfo(dtype_of(a).numpy).eps) if limit is None else limit
    lower = solve.triangle(a, lower=True, diagonal=0.5)
    return matrix_functions.pinv(lower + linalg.adjoint(lower), limit)


DECOMPOSITIONS: dict[Any, Row] = {
    np.linalg.slogdet: (_slogdet, "tf.linalg.slogdet"),
    np.linalg.eigh: (_eigh, "tf.linalg.eigh"),
    np.linalg.eigvalsh: (_eigvalsh, "tf.linalg.eigvalsh"),
    np.linalg.eig: (operands("a")(lambda a: _named[np.linalg.eig](*eig.eig(a))), "tf.linalg.eig"),
    np.linalg.eigvals: (eig.eigvals, "tf.linalg.eigvals"),
    np.linalg.cholesky: (_cholesky, "tf.linalg.cholesky"),
    np.linalg.svd: (_svd, "tf.linalg.svd"),
    np.linalg.qr: (_qr, "tf.linalg.qr"),
    np.linalg.pinv: (_pinv, "tf.linalg.pinv"),
}
"""As `engine.numpy_api.functions.RECORDED`."""
