"""Rows of `engine.ops.banded`."""

from typing import Any

import numpy as np
import scipy.linalg

from engine.ops.banded import banded_solve_op
from tests.row import Generator, Row, real


def diagonals(lower: int, upper: int, n: int) -> Generator:
    """Of a matrix whose diagonal outweighs the others."""
    make = real(lower + upper + 1, n)

    def made(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        ab = make(rng, dtype)
        ab[upper] += 6
        return ab

    return made


def _row(lower: int, upper: int, n: int, adjoint: bool) -> Row:
    def oracle(ab: Any, rhs: Any) -> Any:
        dense = sum(
            np.diag(ab[r, max(0, upper - r) : n + min(0, upper - r)], upper - r) for r in range(lower + upper + 1)
        )
        return scipy.linalg.solve(dense.conj().T if adjoint else dense, rhs)

    return Row(
        banded_solve_op,
        (diagonals(lower, upper, n), real(n, 2)),
        {"lower": lower, "upper": upper, "adjoint": adjoint},
        dtypes=("float64", "complex128"),
        oracle=oracle,
        label=f"{lower} {upper} {adjoint}",
        tol=10,
    )


ROWS = (_row(1, 1, 5, False), _row(2, 1, 5, True), _row(0, 2, 4, False), _row(1, 0, 4, True))
