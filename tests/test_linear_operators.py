"""``tf.linalg.LinearOperator*`` beside NumPy on their dense matrices, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.runtime.errors import InvalidArgumentError

DRAWS = np.random.default_rng(7)
GOOD, OTHER = DRAWS.normal(size=(2, 3, 3)) + 4 * np.eye(3), DRAWS.normal(size=(2, 2)) + 4 * np.eye(2)
DEFINITE = GOOD @ GOOD.transpose(0, 2, 1) + np.eye(3)
LONG, SHORT = DRAWS.uniform(1, 2, size=(2, 3)), DRAWS.uniform(1, 2, size=3)
COMPLEX = DRAWS.normal(size=4) + 1j * DRAWS.normal(size=4)
THIN, SMALL = DRAWS.normal(size=(3, 2)), DRAWS.uniform(1, 2, size=2)


def _with_eigenvalues(spectrum: np.ndarray) -> np.ndarray:
    axes = tuple(range(spectrum.ndim))
    unit = np.eye(spectrum.size).reshape(-1, *spectrum.shape)
    changed = np.fft.ifftn(spectrum * np.fft.fftn(unit, axes=[a + 1 for a in axes]), axes=[a + 1 for a in axes])
    return changed.reshape(spectrum.size, -1).T


OPERATORS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "FullMatrix": (lambda op: op.LinearOperatorFullMatrix(GOOD), GOOD),
    "definite": (
        lambda op: op.LinearOperatorFullMatrix(DEFINITE, is_self_adjoint=True, is_positive_definite=True),
        DEFINITE,
    ),
    "LowerTriangular": (lambda op: op.LinearOperatorLowerTriangular(GOOD), np.tril(GOOD)),
    "Diag": (lambda op: op.LinearOperatorDiag(LONG), LONG[..., None] * np.eye(3)),
    "complex Diag": (lambda op: op.LinearOperatorDiag(COMPLEX), np.diag(COMPLEX)),
    "Identity": (lambda op: op.LinearOperatorIdentity(3, [2], "float64"), np.stack([np.eye(3)] * 2)),
    "ScaledIdentity": (lambda op: op.LinearOperatorScaledIdentity(3, SMALL), SMALL[:, None, None] * np.eye(3)),
    "Tridiag": (
        lambda op: op.LinearOperatorTridiag([LONG, 4 * LONG, LONG], "sequence"),
        np.stack([np.diag(4 * r) + np.diag(r[:-1], 1) + np.diag(r[1:], -1) for r in LONG]),
    ),
    "Toeplitz": (
        lambda op: op.LinearOperatorToeplitz([5.0, 1.0, 2.0], [5.0, 3.0, 4.0]),
        np.array([[5, 3, 4], [1, 5, 3], [2, 1, 5]], np.float32),
    ),
    "Circulant": (lambda op: op.LinearOperatorCirculant(COMPLEX, "complex128"), _with_eigenvalues(COMPLEX)),
    "real Circulant": (
        lambda op: op.LinearOperatorCirculant(np.array([6.0, 4.0, 1.0, 4.0]), "float64"),
        _with_eigenvalues(np.array([6.0, 4.0, 1.0, 4.0])).real,
    ),
    "Circulant2D": (
        lambda op: op.LinearOperatorCirculant2D(COMPLEX.reshape(2, 2), "complex128"),
        _with_eigenvalues(COMPLEX.reshape(2, 2)),
    ),
    "Circulant3D": (
        lambda op: op.LinearOperatorCirculant3D(COMPLEX.reshape(2, 1, 2), "complex128"),
        _with_eigenvalues(COMPLEX.reshape(2, 1, 2)),
    ),
    "Householder": (
        lambda op: op.LinearOperatorHouseholder(SHORT),
        np.eye(3) - 2 * np.outer(SHORT, SHORT) / (SHORT @ SHORT),
    ),
    "Permutation": (lambda op: op.LinearOperatorPermutation([2, 0, 1], "float64"), np.eye(3)[[2, 0, 1]]),
    "Composition": (
        lambda op: op.LinearOperatorFullMatrix(GOOD) @ op.LinearOperatorDiag(SHORT),
        GOOD * SHORT,
    ),
    "product of diagonals": (
        lambda op: op.LinearOperatorDiag(LONG) @ op.LinearOperatorDiag(SHORT),
        (LONG * SHORT)[..., None] * np.eye(3),
    ),
    "Adjoint": (lambda op: op.LinearOperatorFullMatrix(GOOD).adjoint(), GOOD.transpose(0, 2, 1)),
    "Inversion": (lambda op: op.LinearOperatorFullMatrix(GOOD).inverse(), np.linalg.inv(GOOD)),
    "Kronecker": (
        lambda op: op.LinearOperatorKronecker([op.LinearOperatorFullMatrix(GOOD), op.LinearOperatorFullMatrix(OTHER)]),
        np.stack([np.kron(g, OTHER) for g in GOOD]),
    ),
    "BlockDiag": (
        lambda op: op.LinearOperatorBlockDiag([op.LinearOperatorFullMatrix(GOOD), op.LinearOperatorDiag(SMALL)]),
        np.stack([np.block([[g, np.zeros((3, 2))], [np.zeros((2, 3)), np.diag(SMALL)]]) for g in GOOD]),
    ),
    "BlockLowerTriangular": (
        lambda op: op.LinearOperatorBlockLowerTriangular(
            [
                [op.LinearOperatorFullMatrix(GOOD)],
                [op.LinearOperatorFullMatrix(THIN.T), op.LinearOperatorFullMatrix(OTHER)],
            ]
        ),
        np.stack([np.block([[g, np.zeros((3, 2))], [THIN.T, OTHER]]) for g in GOOD]),
    ),
    "LowRankUpdate": (
        lambda op: op.LinearOperatorLowRankUpdate(op.LinearOperatorDiag(LONG), THIN, SMALL),
        LONG[..., None] * np.eye(3) + THIN * SMALL @ THIN.T,
    ),
    "adjoint of LowRankUpdate": (
        lambda op: op.LinearOperatorLowRankUpdate(op.LinearOperatorDiag(LONG), THIN, SMALL, 2 * THIN).adjoint(),
        LONG[..., None] * np.eye(3) + 2 * THIN * SMALL @ THIN.T,
    ),
}


def _asked(operator: Any, x: np.ndarray) -> dict[str, Any]:
    return {
        "dense": operator.to_dense(),
        "matmul": operator.matmul(x),
        "matmul adjoint": operator.matmul(x, adjoint=True),
        "matmul adjoint_arg": operator.matmul(x.swapaxes(-1, -2).conj(), adjoint_arg=True),
        "matvec": operator.matvec(x[..., 0]),
        "solve": operator.solve(x),
        "solve adjoint": operator.solve(x, adjoint=True),
        "solvevec": operator.solvevec(x[..., 0]),
        "determinant": operator.determinant(),
        "log_abs_determinant": operator.log_abs_determinant(),
        "trace": operator.trace(),
        "diag_part": operator.diag_part(),
        "add_to_tensor": operator.add_to_tensor(np.ones_like(x[..., :1] * x[..., :1].swapaxes(-1, -2))),
        "inverse": operator.inverse().to_dense(),
        "adjoint": operator.adjoint().to_dense(),
        "shape": operator.shape_tensor(),
    }


def _expected(dense: np.ndarray, x: np.ndarray) -> dict[str, Any]:
    adjoint = dense.swapaxes(-1, -2).conj()
    return {
        "dense": dense,
        "matmul": dense @ x,
        "matmul adjoint": adjoint @ x,
        "matmul adjoint_arg": dense @ x,
        "matvec": (dense @ x)[..., 0],
        "solve": np.linalg.inv(dense) @ x,
        "solve adjoint": np.linalg.inv(adjoint) @ x,
        "solvevec": (np.linalg.inv(dense) @ x)[..., 0],
        "determinant": np.linalg.det(dense),
        "log_abs_determinant": np.log(np.abs(np.linalg.det(dense))),
        "trace": np.trace(dense, axis1=-2, axis2=-1),
        "diag_part": np.diagonal(dense, axis1=-2, axis2=-1),
        "add_to_tensor": dense + 1,
        "inverse": np.linalg.inv(dense),
        "adjoint": adjoint,
        "shape": dense.shape,
    }


@pytest.mark.parametrize("key", OPERATORS)
def test_as_the_dense_matrix(key: str) -> None:
    make, dense = OPERATORS[key]
    x = (np.ones((*dense.shape[:-1], 2)) + 0.5 * DRAWS.normal(size=(*dense.shape[:-1], 2))).astype(dense.dtype)
    eager = {name: np.asarray(value) for name, value in _asked(make(tape_api.linalg), x).items()}
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        operator = make(graph_api.linalg)
        assert isinstance(operator, graph_api.linalg.LinearOperator)
        assert tuple(operator.shape.as_list()) == dense.shape
        built = session.run(_asked(operator, x))
    for name, value in _expected(dense, x).items():
        np.testing.assert_allclose(eager[name], value, 1e-5, 1e-6, err_msg=name)
        np.testing.assert_allclose(built[name], eager[name], 1e-6, 1e-6, err_msg=name)


def test_gradients_of_solutions_and_determinants_are_those_of_the_dense_matrix() -> None:
    tf = tape_api
    diagonal, thin, small = tf.constant(LONG), tf.constant(THIN), tf.constant(SMALL)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([diagonal, thin, small])
        operator = tf.linalg.LinearOperatorLowRankUpdate(tf.linalg.LinearOperatorDiag(diagonal), thin, small)
        dense = tf.linalg.diag(diagonal) + tf.linalg.matmul(thin * small, thin, transpose_b=True)
        clever = tf.reduce_sum(operator.solve(np.ones((3, 1))) ** 2) + tf.reduce_sum(operator.log_abs_determinant())
        plain = tf.reduce_sum(tf.linalg.solve(dense, np.ones((2, 3, 1))) ** 2) + tf.reduce_sum(
            tf.linalg.slogdet(dense)[1]
        )
    for one, other in zip(*(tape.gradient(y, [diagonal, thin, small]) for y in (clever, plain)), strict=True):
        np.testing.assert_allclose(one, other, 1e-9)


def test_a_class_of_ones_own_says_what_it_multiplies_by() -> None:
    tf = tape_api

    class Doubling(tf.linalg.LinearOperator):
        def __init__(self, size: int) -> None:
            self._size = size
            super().__init__("float32", is_square=True)

        def _shape(self) -> Any:
            return tf.TensorShape([self._size, self._size])

        def _shape_tensor(self) -> Any:
            return tf.constant([self._size, self._size])

        def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
            return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)

    operator = Doubling(2)
    assert isinstance(operator, tf.linalg.LinearOperator)
    assert not isinstance(operator, tf.linalg.LinearOperatorDiag)
    assert operator.solvevec([2.0, 4.0]).numpy().tolist() == [1, 2]
    assert float(operator.determinant()) == 4
    assert (operator @ operator).to_dense().numpy().tolist() == [[4, 0], [0, 4]]


def test_blocks_are_multiplied_by_lists() -> None:
    op = tape_api.linalg
    operator = op.LinearOperatorBlockDiag([op.LinearOperatorFullMatrix(OTHER), op.LinearOperatorDiag(SMALL)])
    parts = [tape_api.constant(np.ones((2, 1))), tape_api.constant(np.ones((2, 1)))]
    first, second = operator.matmul(parts)
    np.testing.assert_allclose(first, OTHER @ np.ones((2, 1)))
    np.testing.assert_allclose(operator.solve([first, second])[1], np.ones((2, 1)))


def test_refusals() -> None:
    op = tape_api.linalg
    with pytest.raises(ValueError, match="always non-singular"):
        op.LinearOperatorFullMatrix(np.eye(2), is_positive_definite=True, is_non_singular=False)
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        op.LinearOperatorFullMatrix([1.0, 2.0])
    with pytest.raises(NotImplementedError, match="must be square"):
        op.LinearOperatorFullMatrix(np.ones((2, 3))).solve(np.ones((2, 1)))
    with pytest.raises(ValueError, match="Cholesky"):
        op.LinearOperatorFullMatrix(np.eye(2)).cholesky()
    with pytest.raises(NotImplementedError, match="is_self_adjoint=True"):
        op.LinearOperatorFullMatrix(np.eye(2)).eigvals()
    with pytest.raises(TypeError, match="same dtype"):
        op.LinearOperatorComposition([op.LinearOperatorIdentity(2), op.LinearOperatorIdentity(2, dtype="float64")])
    with pytest.raises(ValueError, match="cannot be multiplied"):
        op.LinearOperatorComposition([op.LinearOperatorIdentity(2), op.LinearOperatorIdentity(3)])
    with pytest.raises(InvalidArgumentError, match="no permutation"):
        op.LinearOperatorPermutation([0, 0])
    with pytest.raises(TypeError, match="expected float32, got float64"):
        op.LinearOperatorIdentity(2).matmul(np.eye(2))
    with pytest.raises(InvalidArgumentError, match="Singular"):
        op.LinearOperatorFullMatrix(np.ones((2, 2))).assert_non_singular()
