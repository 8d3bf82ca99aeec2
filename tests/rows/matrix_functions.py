"""Rows of `engine.ops.matrix_functions`."""

from typing import Any

import numpy as np
import scipy.linalg

from engine.ops import matrix_functions
from engine.ops.decompose import cholesky_op
from engine.ops.linalg import matmul
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")


def _lstsq(rows: int, columns: int, label: str, **options: Any) -> Row:
    tf_options = {"fast": True, **options}
    return Row(
        matrix_functions.pinv_op if options.get("fast") is False else cholesky_op,
        (real(2, rows, columns), real(2, rows, 2)),
        label=f"lstsq {label}",
        tol=100,
        call=lambda a, b: matrix_functions.lstsq(a, b, **options),
        tf=lambda tf, a, b: tf.linalg.lstsq(a, b, **tf_options),
    )


ROWS = (
    Row(matrix_functions.pinv_op, (real(2, 4, 3),), tol=100, oracle=np.linalg.pinv, tf="linalg.pinv"),
    Row(matrix_functions.pinv_op, (real(3, 2),), dtypes=ALL[2:], label="complex", tol=100, oracle=np.linalg.pinv),
    Row(matrix_functions.pinv_op, (real(2, 4),), dtypes=ALL, label="wide", tol=100, oracle=np.linalg.pinv),
    _lstsq(4, 3, "tall"),
    _lstsq(3, 4, "wide", l2_regularizer=0.1),
    _lstsq(4, 2, "regularized", l2_regularizer=0.5),
    Row(
        matrix_functions.pinv_op,
        (real(4, 3), real(4, 2)),
        label="lstsq slow",
        tol=100,
        call=lambda a, b: matrix_functions.lstsq(a, b, fast=False),
        oracle=lambda a, b: np.linalg.lstsq(a, b)[0],
    ),
    Row(
        cholesky_op,
        (real(2, 3, 3),),
        dtypes=ALL,
        label="logdet",
        tol=100,
        call=lambda x: matrix_functions.logdet(matmul(x, x, adjoint_b=True)),
        tf=lambda tf, x: tf.linalg.logdet(tf.matmul(x, x, adjoint_b=True)),
    ),
    Row(matrix_functions.expm_op, (real(2, 3, 3),), dtypes=ALL, tol=10, oracle=scipy.linalg.expm, tf="linalg.expm"),
    Row(matrix_functions.expm_op, (real(0, 0),), label="size 0"),
    Row(matrix_functions.block, (real(2, 4, 4),), {"row": 0, "column": 1}, oracle=lambda x: x[:, :2, 2:]),
    Row(matrix_functions.embed_block, (real(3, 3),), {"row": 1, "column": 0}),
)
