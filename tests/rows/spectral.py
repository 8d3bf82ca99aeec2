"""Rows for `engine.ops.spectral`. Where values coincide, see tests/ops/test_spectral.py."""

from typing import Any

import numpy as np

from engine.ops import decompose, spectral
from engine.ops.creation import zeros_like
from tests.row import Row, real

ALL = ("float32", "float64", "complex64", "complex128")


def _of_eigenvalues(x: Any) -> Any:
    values, vectors = decompose.eigh_op(x)
    return spectral.spectral(values * values, x, values, vectors)


def _of_eigenvalues_sloped(x: Any) -> Any:
    values, vectors = decompose.eigh_op(x)
    return spectral.spectral_sloped(values * values, x, values, vectors, zeros_like(values))


def _weighted(ct: Any, x: Any) -> Any:
    return spectral.spectral(ct, x, *decompose.eigh_op(x))


def _weighted_sloped(ct: Any, x: Any) -> Any:
    return spectral.spectral_sloped(ct, x, *decompose.eigh_op(x), zeros_like(ct))


def _of_singular_values(ct: Any, x: Any) -> Any:
    s, u, v = decompose.svd_op(x, full_matrices=False)
    return spectral.singular(ct, x, s, u, v)


def _of_singular_values_sloped(ct: Any, x: Any) -> Any:
    s, u, v = decompose.svd_op(x, full_matrices=False)
    return spectral.singular_sloped(ct, x, s, u, v, zeros_like(s))


def _directions(d: Any, x: Any) -> Any:
    return spectral.spectral_part(d, x, *decompose.eigh_op(x))


def _directions_of_singular(d: Any, x: Any) -> Any:
    return spectral.singular_part(d, x, *decompose.svd_op(x, full_matrices=False))


def _diagonal(d: Any, x: Any) -> Any:
    vectors = np.linalg.eigh(x)[1]
    return np.diagonal(np.swapaxes(vectors, -1, -2) @ d @ vectors, 0, -2, -1)


def _diagonal_of_singular(d: Any, x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return np.diagonal(np.swapaxes(u, -1, -2) @ d @ np.swapaxes(vh, -1, -2), 0, -2, -1)


def _square(x: Any) -> Any:
    lower = np.tril(x, -1)
    hermitian = lower + np.conj(lower).swapaxes(-1, -2) + np.real(np.diagonal(x, 0, -2, -1))[..., None] * np.eye(3)
    return hermitian @ hermitian


ROWS = (
    Row(spectral.spectral, (real(2, 3, 3),), dtypes=ALL, tol=20, call=_of_eigenvalues, oracle=_square),
    Row(spectral.spectral_sloped, (real(3, 3),), dtypes=ALL, tol=20, call=_of_eigenvalues_sloped, oracle=_square),
    Row(spectral.spectral, (real(2, 3), real(2, 3, 3)), tol=20, label="weighted", call=_weighted),
    Row(spectral.spectral_sloped, (real(3), real(3, 3)), tol=20, label="weighted", call=_weighted_sloped),
    Row(spectral.spectral_part, (real(2, 3, 3), real(2, 3, 3)), tol=100, call=_directions, oracle=_diagonal),
    Row(
        spectral.singular_part,
        (real(2, 4, 3), real(2, 4, 3)),
        tol=100,
        call=_directions_of_singular,
        oracle=_diagonal_of_singular,
    ),
    Row(spectral.singular, (real(2, 3), real(2, 4, 3)), tol=20, label="tall", call=_of_singular_values),
    Row(spectral.singular, (real(3), real(3, 4)), tol=20, label="wide", call=_of_singular_values),
    Row(spectral.singular_sloped, (real(3), real(3, 3)), tol=20, call=_of_singular_values_sloped),
)
