"""Rows of `engine.ops.eig`. Vectors are compared through functions that do not depend on their phase."""

from typing import Any

import numpy as np

from engine.core.expand_axes import expand_dims
from engine.ops import eig
from engine.ops.complexes import abs as magnitude
from engine.ops.complexes import complex_op
from engine.ops.complexes import real as real_part
from engine.ops.reduce import reduce_sum
from tests.row import Row, real

ALL = ("float32", "float64", "complex128")
APART = np.diag([1.0, 5.0, -6.0])


def _apart(x: Any) -> Any:
    """Matrices whose eigenvalues lie apart."""
    return x + APART.astype(x.dtype.name if hasattr(x.dtype, "name") else x.dtype)


def _powers(values: Any) -> Any:
    """Something that does not depend on the order of the values."""
    return reduce_sum(values * values, -1), reduce_sum(values * values * values, -1)


def _sizes(x: Any) -> Any:
    """Something that depends on the vectors but not on their phases and order."""
    values, vectors = eig.eig(_apart(x))
    return reduce_sum(magnitude(vectors) * expand_dims(magnitude(values), (-2,)), -1)


def _tf_sizes(tf: Any, x: Any) -> Any:
    values, vectors = tf.linalg.eig(x + tf.constant(APART, x.dtype))
    return tf.reduce_sum(tf.abs(vectors) * tf.abs(values)[..., None, :], -1)


def _tf_powers(tf: Any, x: Any) -> Any:
    values = tf.linalg.eigvals(x + tf.constant(APART, x.dtype))
    return tf.reduce_sum(values**2, -1), tf.reduce_sum(values**3, -1)


def _of_eigenvalues(ct: Any, x: Any) -> Any:
    """Something of it that is real."""
    values, vectors = eig.eig_op(_apart(x))
    return real_part(eig.of_eigenvalues(complex_op(ct, ct), _apart(x), values, vectors))


def _directions(d: Any, x: Any) -> Any:
    """Something that does not depend on the order of the values."""
    values, vectors = eig.eig_op(_apart(x))
    return reduce_sum(real_part(values * eig.eigenvalue_part(complex_op(d, d), _apart(x), values, vectors)), -1)


def _sums(x: Any) -> Any:
    values = np.linalg.eigvals(_apart(x)).astype(np.result_type(x, np.complex64))
    return np.sum(values**2, -1), np.sum(values**3, -1)


ROWS = (
    Row(
        eig.eigvals_op,
        (real(2, 3, 3),),
        call=lambda x: _powers(eig.eigvals(_apart(x))),
        dtypes=ALL,
        tol=100,
        oracle=_sums,
        tf=_tf_powers,
    ),
    Row(eig.eigvals_op, (real(1, 1),), label="size 1", oracle=lambda x: x[0].astype(np.result_type(x, np.complex64))),
    Row(eig.of_eigenvalues, (real(2, 3), real(2, 3, 3)), call=_of_eigenvalues, tol=100),
    Row(
        eig.eigenvalue_part,
        (real(2, 3, 3), real(2, 3, 3)),
        call=_directions,
        oracle=lambda d, x: np.trace(np.matmul(_apart(x), d), axis1=-2, axis2=-1),
        tol=100,
    ),
    Row(
        eig.basis,
        (real(2, 3, 3),),
        call=lambda x: magnitude(eig.basis(*eig.eig_op(_apart(x)))),
        oracle=lambda x: np.abs(np.linalg.eig(_apart(x))[1]),
        tol=100,
    ),
    Row(eig.eig_op, (real(2, 3, 3),), call=_sizes, dtypes=ALL, tol=100, tf=_tf_sizes),
    Row(
        eig.eigvals_op,
        (real(4), real(3)),
        call=lambda a, b: eig.eigh_tridiagonal(a, b),
        label="tridiagonal",
        tol=100,
        oracle=lambda a, b: np.linalg.eigvalsh(np.diag(a) + np.diag(b, 1) + np.diag(b, -1)),
    ),
    Row(
        eig.eig_op,
        (real(4), real(3)),
        call=lambda a, b: magnitude(eig.eigh_tridiagonal(a, b, eigvals_only=False)[1]),
        label="tridiagonal",
        tol=100,
        oracle=lambda a, b: np.abs(np.linalg.eigh(np.diag(a) + np.diag(b, 1) + np.diag(b, -1))[1]),
    ),
)
