"""Rows of `engine.ops.lu`."""

from typing import Any

import numpy as np
import scipy.linalg

from engine.ops import lu
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")


def _inverse(x: Any) -> Any:
    return lu.lu_matrix_inverse(*lu.lu(x))


ROWS = (
    Row(
        lu.lu_op,
        (real(2, 3, 3),),
        call=lambda x: lu.lu(x)[0],
        dtypes=ALL,
        tol=100,
        oracle=lambda x: np.stack([scipy.linalg.lu_factor(m)[0] for m in x]),
        tf=lambda tf, x: tf.linalg.lu(x)[0],
        tf_value_only=ALL,
    ),
    Row(
        lu.lu_op,
        (real(3, 3), real(3, 2)),
        call=lambda x, b: lu.lu_solve(*lu.lu(x), b),
        label="solve",
        dtypes=ALL,
        tol=1000,
        oracle=np.linalg.solve,
        tf=lambda tf, x, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b),
        tf_value_only=ALL,
    ),
    Row(
        lu.lu_op,
        (real(2, 3, 3),),
        call=lambda x: lu.lu_reconstruct(*lu.lu(x)),
        label="reconstruct",
        dtypes=ALL,
        tol=100,
        oracle=lambda x: x,
    ),
    Row(lu.lu_op, (real(3, 3),), call=_inverse, label="inverse", dtypes=ALL, tol=1000, oracle=np.linalg.inv),
)
