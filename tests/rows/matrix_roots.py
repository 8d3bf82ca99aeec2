"""Rows of `engine.ops.matrix_roots`."""

import numpy as np
import scipy.linalg

from engine.ops import matrix_roots as ops
from tests.row import Generator, Row, fixed, real


def _near(value: float, *shape: int) -> Generator:
    """Matrices with eigenvalues around a number."""
    make = real(*shape, low=-0.5, high=0.5)
    return lambda rng, dtype: make(rng, dtype) + np.asarray(value * np.eye(shape[-1]), dtype)


ROWS = (
    *[
        Row(getattr(ops, f"{name}_op"), inputs, oracle=oracle, dtypes=dtypes, tol=100, label=label)
        for name, oracle in {"sqrtm": scipy.linalg.sqrtm, "logm": scipy.linalg.logm}.items()
        for label, inputs, dtypes in (
            ("", (_near(3.0, 3, 3),), ("float64", "complex128")),
            ("equal eigenvalues", (fixed(2.0 * np.eye(2), np.float64),), ("float64",)),
        )
    ],
    *[
        Row(
            ops.polar_op,
            (inputs,),
            oracle=lambda x: scipy.linalg.polar(x)[0],
            dtypes=("float64", "complex128"),
            tol=100,
            label=label,
        )
        for label, inputs in {
            "square": _near(3.0, 3, 3),
            "tall": real(4, 2),
            "wide": real(2, 4),
            "equal singular values": fixed(np.array([[0.6, -0.8], [0.8, 0.6]])),
        }.items()
    ],
    Row(
        ops.sylvester_op,
        (_near(3.0, 3, 3), _near(2.0, 2, 2), real(3, 2)),
        oracle=scipy.linalg.solve_sylvester,
        dtypes=("float64", "complex128"),
        tol=100,
    ),
)
