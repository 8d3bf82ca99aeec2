"""Rows of `engine.ops.determinants`."""

import numpy as np

from engine.ops import determinants
from tests.row import Generator, Row, real
from tests.rows.solve import ALL, regular


def singular(n: int) -> Generator:
    """A matrix of rank n - 1."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        return (real(n, n - 1)(rng, dtype) @ real(n - 1, n)(rng, dtype)).astype(dtype)

    return make


ROWS = (
    Row(determinants.cofactor, (regular(2, 3, 3),), dtypes=ALL, oracle=lambda x: _cofactors(x)),
    Row(
        determinants.cofactor_change,
        (real(2, 3, 3), regular(2, 3, 3)),
        dtypes=ALL,
        oracle=lambda d, x: (_cofactors(x + d) - _cofactors(x - d)) / 2,
    ),
    Row(
        determinants.det_op,
        (real(2, 3, 3),),
        dtypes=ALL,
        oracle=np.linalg.det,
        tf="linalg.det",
        tf_value_only=("complex128",),  # its gradient lacks a conjugate
    ),
    Row(determinants.det_op, (real(1, 1),), label="size 1", oracle=np.linalg.det, tf="linalg.det"),
    Row(determinants.det_op, (singular(3),), dtypes=ALL, label="singular", oracle=lambda x: x[0, 0] * 0),
    Row(
        determinants.slogdet_op,
        (regular(2, 3, 3),),
        dtypes=("float32", "float64"),
        oracle=np.linalg.slogdet,
        tf="linalg.slogdet",
    ),
    Row(determinants.slogdet_op, (regular(3, 3),), dtypes=("complex64", "complex128"), label="complex"),
)


def _cofactors(x: np.ndarray) -> np.ndarray:
    """By their definition."""
    out = np.empty_like(x)
    for *stack, i, j in np.ndindex(x.shape):
        minor = np.delete(np.delete(x[tuple(stack)], i, 0), j, 1)
        out[(*stack, i, j)] = (-1) ** (i + j) * np.linalg.det(minor)
    return out
