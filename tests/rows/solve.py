"""Rows of `engine.ops.solve`."""

import numpy as np
import scipy.linalg

from engine.ops import solve
from tests.row import Generator, Row, real

ALL = ("float32", "float64", "complex128")


def regular(*shape: int) -> Generator:
    """Square matrices far from singular."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        return (real(*shape)(rng, dtype) + 5 * np.eye(shape[-1])).astype(dtype)

    return make


ROWS = (
    Row(solve.inverse_op, (regular(3, 3),), dtypes=ALL, oracle=np.linalg.inv, tf="linalg.inv"),
    Row(
        solve.inverse_op,
        (regular(2, 3, 3),),
        dtypes=ALL,
        label="adjoint",
        call=solve.inv,
        options={"adjoint": True},
        tf="linalg.inv",
    ),
    Row(solve.solve_op, (regular(3, 3), real(3, 2)), dtypes=ALL, oracle=np.linalg.solve, tf="linalg.solve"),
    Row(
        solve.solve_op,
        (regular(4, 3, 3), real(4, 3, 2)),
        {"adjoint": True},
        dtypes=ALL,
        label="adjoint",
        tf=lambda tf, a, b: tf.linalg.solve(a, b, adjoint=True),
    ),
    Row(solve.solve_op, (regular(3, 3), real(4, 3, 2)), dtypes=ALL, label="one matrix", oracle=np.linalg.solve),
    Row(solve.solve_op, (regular(4, 3, 3), real(3, 1)), label="one right side", oracle=np.linalg.solve),
    Row(solve.solve_op, (regular(1, 1), real(1, 1)), label="size 1", oracle=np.linalg.solve),
    Row(solve.solve_op, (regular(3, 3), real(3, 0)), label="size 0", oracle=np.linalg.solve),
    Row(
        solve.triangular_solve_op,
        (regular(3, 3), real(3, 2)),
        {"lower": True},
        dtypes=ALL,
        oracle=lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
        tf="linalg.triangular_solve",
    ),
    Row(
        solve.triangular_solve_op,
        (regular(4, 3, 3), real(4, 3, 2)),
        dtypes=ALL,
        label="upper adjoint",
        call=solve.triangular_solve,
        options={"lower": False, "adjoint": True},
        tf="linalg.triangular_solve",
    ),
    Row(
        solve.triangular_solve_op,
        (regular(3, 3), real(4, 3, 2)),
        {"lower": False, "adjoint": False},
        label="one matrix",
        tf=lambda tf, a, b: tf.linalg.triangular_solve(a, b, lower=False),
    ),
    Row(solve.triangular_solve_op, (regular(3, 3), real(3, 0)), {"lower": True}, label="size 0"),
    Row(
        solve.triangular_solve_op,
        (regular(3, 3), real(3, 2)),
        label="cholesky_solve",
        call=solve.cholesky_solve,
        tf="linalg.cholesky_solve",
    ),
    Row(solve.triangle, (real(2, 3, 4),), {"lower": True}, dtypes=ALL, oracle=np.tril),
    Row(
        solve.triangle,
        (real(3, 2),),
        {"lower": False, "diagonal": 0.5},
        dtypes=ALL,
        label="half diagonal",
        oracle=lambda x: (np.triu(x) + np.triu(x, 1)) / 2,
    ),
)
