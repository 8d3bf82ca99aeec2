"""Rows of `engine.ops.linalg`."""

from typing import Any

import numpy as np

from engine.ops import diagonal, linalg, shape
from tests.row import Row, integers, real

ALL = ("float32", "float64", "complex128")


def _matmul(a: tuple[int, ...], b: tuple[int, ...], label: str, **flags: bool) -> Row:
    """A product of arrays of the given shapes."""

    def oracle(x: Any, y: Any) -> Any:
        x = np.swapaxes(x, -1, -2) if flags.get("transpose_a") or flags.get("adjoint_a") else x
        y = np.swapaxes(y, -1, -2) if flags.get("transpose_b") or flags.get("adjoint_b") else y
        return np.matmul(np.conj(x) if flags.get("adjoint_a") else x, np.conj(y) if flags.get("adjoint_b") else y)

    return Row(
        linalg.matmul_op,
        (real(*a), real(*b)),
        dtypes=ALL,
        label=label,
        call=lambda x, y: linalg.matmul(x, y, **flags),
        oracle=oracle,
        tf=lambda tf, x, y: tf.matmul(x, y, **flags),
    )


ROWS = (
    _matmul((2, 3), (3, 4), "plain"),
    Row(
        linalg.matmul_op,
        (integers(2, 3, low=-128, high=128, dtype=np.int8), integers(3, 4, low=-128, high=128, dtype=np.int8)),
        dtypes=("float32",),
        label="bytes",
        call=lambda x, y: linalg.matmul(x, y, output_type="int32"),
        oracle=lambda x, y: x.astype(int) @ y.astype(int),
        tf=lambda tf, x, y: tf.matmul(x, y, output_type=tf.int32),
        order=0,
    ),
    _matmul((3, 2), (3, 4), "ta", transpose_a=True),
    _matmul((2, 3), (4, 3), "tb", transpose_b=True),
    _matmul((3, 2), (4, 3), "tatb", transpose_a=True, transpose_b=True),
    _matmul((3, 2), (4, 3), "adjoint", adjoint_a=True, adjoint_b=True),
    _matmul((5, 2, 3), (3, 4), "stack of a"),
    _matmul((5, 3, 2), (4, 3), "stack of a, tatb", transpose_a=True, transpose_b=True),
    _matmul((5, 3, 2), (3, 1), "stack of a, ta, a vector", transpose_a=True),
    _matmul((5, 3, 2), (1, 3), "stack of a, tatb, a vector", transpose_a=True, transpose_b=True),
    _matmul((2, 3), (5, 3, 4), "stack of b"),
    _matmul((2, 3), (5, 3, 1), "stack of columns"),
    _matmul((3, 2), (6, 5, 4, 3), "stack of b, tatb", transpose_a=True, transpose_b=True),
    _matmul((5, 1, 2, 3), (6, 3, 4), "stacks broadcast"),
    _matmul((5, 2, 3), (5, 4, 3), "stacks, tb", transpose_b=True),
    _matmul((0, 3), (3, 4), "no rows"),
    _matmul((2, 2, 0), (0, 4), "nothing to sum"),
    _matmul((1, 1), (1, 1), "size 1"),
    Row(
        linalg.matmul_op,
        (real(4, 2, 3), real(4, 3)),
        dtypes=ALL,
        label="matvec",
        call=linalg.matvec,
        oracle=lambda a, b: np.einsum("bij,bj->bi", a, b),
        tf="linalg.matvec",
    ),
    Row(
        linalg.matmul_op,
        (real(3, 2), real(5, 3)),
        dtypes=ALL,
        label="matvec adjoint",
        call=linalg.matvec,
        options={"adjoint_a": True},
        oracle=lambda a, b: b @ np.conj(a),
        tf="linalg.matvec",
    ),
    Row(
        shape.matrix_transpose_op,
        (real(2, 3),),
        dtypes=ALL,
        label="adjoint",
        call=linalg.adjoint,
        oracle=lambda a: np.conj(a.T),
        tf="linalg.adjoint",
    ),
    Row(
        diagonal.diagonal,
        (real(2, 3, 4),),
        dtypes=ALL,
        label="trace",
        call=linalg.trace,
        oracle=lambda x: np.trace(x, 0, 1, 2),
        tf="linalg.trace",
    ),
    Row(linalg.cross_op, (real(4, 3), real(4, 3)), oracle=np.cross, tf="linalg.cross"),
    Row(linalg.cross_op, (real(3), real(2, 1, 3)), dtypes=ALL, label="broadcast", oracle=np.cross),
)
