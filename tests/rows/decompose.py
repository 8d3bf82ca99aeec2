"""Rows of `engine.ops.decompose`. Vectors are compared through functions that do not depend on their sign."""

from typing import Any

import numpy as np

from engine.ops import decompose
from engine.ops.einsum import diagonal
from engine.ops.linalg import adjoint, matmul
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")


def _projected(vectors: Any, x: Any) -> Any:
    """Something that depends on the vectors but not on their signs and phases."""
    return diagonal(matmul(vectors, matmul(x, vectors), adjoint_a=True))


def _by_svd(x: Any, weights: Any) -> tuple[Any, ...]:
    s, u, v = decompose.svd(x)
    return s, diagonal(matmul(u, matmul(weights, v), adjoint_a=True))


def _tf_by_svd(tf: Any, x: Any, weights: Any) -> tuple[Any, ...]:
    s, u, v = tf.linalg.svd(x)
    return s, tf.linalg.diag_part(tf.matmul(u, tf.matmul(weights, v), adjoint_a=True))


def _by_qr(x: Any) -> tuple[Any, ...]:
    q, r = decompose.qr(x)
    return diagonal(q) * diagonal(r), matmul(q, r * r), r * r


ROWS = (
    Row(
        decompose.once_differentiable,
        (real(3, 4), real(4)),
        wrt=(0,),
        call=lambda x, ends: decompose.once_differentiable(x, 0.0 * ends),
        oracle=lambda x, ends: x + 0.0 * ends,
        dtypes=ALL,
    ),
    Row(
        decompose.cholesky_op,
        (real(2, 3, 3),),
        dtypes=ALL,
        tol=10,
        call=lambda x: decompose.cholesky(matmul(x, x, adjoint_b=True)),
        oracle=lambda x: np.linalg.cholesky(x @ np.conj(x).swapaxes(-1, -2)),
        tf=lambda tf, x: tf.linalg.cholesky(tf.matmul(x, x, adjoint_b=True)),
    ),
    Row(decompose.cholesky_op, (real(1, 1, low=1, high=2),), label="size 1", oracle=np.sqrt, tf="linalg.cholesky"),
    Row(
        decompose.eigh_op,
        (real(2, 3, 3), real(2, 3, 3)),
        dtypes=ALL,
        tol=10,
        call=lambda x, weights: _projected(decompose.eigh(x + adjoint(x))[1], weights),
        tf=lambda tf, x, w: tf.linalg.diag_part(
            tf.matmul(
                tf.linalg.eigh(x + tf.linalg.adjoint(x))[1],
                tf.matmul(w, tf.linalg.eigh(x + tf.linalg.adjoint(x))[1]),
                adjoint_a=True,
            )
        ),
    ),
    Row(
        decompose.eigh_op,
        (real(3, 3),),
        dtypes=ALL,
        label="values",
        tol=10,
        call=lambda x: decompose.eigh(x)[0],
        oracle=np.linalg.eigvalsh,
        tf=lambda tf, x: tf.linalg.eigh(x)[0],
    ),
    Row(decompose.eigvalsh_op, (real(2, 3, 3),), dtypes=ALL, tol=10, oracle=np.linalg.eigvalsh, tf="linalg.eigvalsh"),
    Row(
        decompose.svd_op, (real(2, 4, 3), real(2, 4, 3)), dtypes=ALL, label="tall", tol=10, call=_by_svd, tf=_tf_by_svd
    ),
    Row(decompose.svd_op, (real(3, 4), real(3, 4)), dtypes=ALL, label="wide", tol=10, call=_by_svd, tf=_tf_by_svd),
    Row(decompose.svd_op, (real(3, 3), real(3, 3)), dtypes=ALL, label="square", tol=10, call=_by_svd, tf=_tf_by_svd),
    Row(
        decompose.singular_values_op,
        (real(2, 4, 3),),
        dtypes=ALL,
        tol=10,
        oracle=lambda x: np.linalg.svd(x, compute_uv=False),
        tf=lambda tf, x: tf.linalg.svd(x, compute_uv=False),
    ),
    Row(decompose.qr_op, (real(2, 4, 3),), dtypes=ALL, label="tall", tol=10, call=_by_qr, reorders=True),
    Row(decompose.qr_op, (real(3, 5),), dtypes=ALL, label="wide", tol=10, call=_by_qr),
    Row(
        decompose.qr_op,
        (real(3, 3),),
        dtypes=("float32", "float64"),
        label="square",
        tol=10,
        reorders=True,
        call=_by_qr,
        tf=lambda tf, x: (
            tf.linalg.diag_part(tf.linalg.qr(x)[0]) * tf.linalg.diag_part(tf.linalg.qr(x)[1]),
            tf.matmul(tf.linalg.qr(x)[0], tf.linalg.qr(x)[1] ** 2),
            tf.linalg.qr(x)[1] ** 2,
        ),
    ),
    Row(decompose.leading_columns, (real(2, 3, 5),), dtypes=ALL, oracle=lambda x: x[..., :3]),
    Row(decompose.leading_columns, (real(3, 2),), label="tall", oracle=lambda x: x),
    Row(decompose.embed_leading_columns, (real(2, 3, 3), real(3, 4)), wrt=(0,), dtypes=ALL),
)
