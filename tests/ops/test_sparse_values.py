"""Sparse matrices of SciPy's that are made of tensors, or multiplied by them: SciPy's numbers, and derivatives."""

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import graph_api as tf1
import tape_api as tf
from engine.numpy_api import manners
from engine.numpy_api.sparse_values import SparseValues
from engine.runtime.errors import ShapeError
from tests.tapes import watching

Function = Callable[[Any, Any], Any]
A = ss.random_array((5, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
ROW, COLUMN = A.tocoo().coords
ENTRIES = A.data
X, Y, M = np.arange(4.0) + 1, np.arange(5.0) + 1, np.arange(8.0).reshape(4, 2)


@pytest.fixture(autouse=True)
def switched_on() -> Iterator[None]:
    tf.experimental.numpy.experimental_enable_numpy_behavior()
    try:
        yield
    finally:
        manners.enable(False)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "csr_array": lambda d: ss.csr_array((d, A.indices, A.indptr), shape=A.shape),
    "csc_array": lambda d: ss.csc_array((d, (ROW, COLUMN)), shape=A.shape),
    "coo_array": lambda d: ss.coo_array((d, (ROW, COLUMN)), A.shape),
    "csr_matrix": lambda d: ss.csr_matrix((d, (ROW, COLUMN)), shape=A.shape),
    "csc_matrix": lambda d: ss.csc_matrix((d, (ROW, COLUMN)), shape=A.shape),
    "coo_matrix": lambda d: ss.coo_matrix((d, (ROW, COLUMN)), shape=A.shape),
    "diags": lambda d: ss.diags([d[:4], d[4:8], 2.0], [0, -1, 2], shape=(5, 4)),
    "diags_array": lambda d: ss.diags_array([d[:4], d[4:8], [2.0]], offsets=[0, -1, 2], shape=(5, 4)),
    "a multiple": lambda d: A * d[0] / (d[1] + 1.0),
    "twice the same place": lambda d: ss.coo_array((d, (ROW // 2, COLUMN)), shape=A.shape),
}
USES: dict[str, Function] = {
    "times a vector": lambda b, x: b @ x,
    "a vector times it": lambda b, x: Y @ b * x,
    "times a matrix": lambda b, x: b @ M,
    "a matrix times it": lambda b, x: np.outer(X, Y) @ b,
    "transposed": lambda b, x: b.T @ Y - b.transpose().dot(Y) * x,
    "times a sparse matrix": lambda b, x: (b @ A.T).toarray(),
    "a sparse matrix times it": lambda b, x: (A.T @ b).toarray(),
    "times itself": lambda b, x: (b.T @ b).tocsr().toarray(),
    "sums": lambda b, x: (-b + A - 2.0 * b).toarray() + (A - b).sum(),
    "with a dense matrix": lambda b, x: b.multiply(np.outer(Y, X)).toarray(),
    "its diagonal": lambda b, x: b.diagonal(),
}


def slopes(f: Callable[[np.ndarray], Any], at: np.ndarray) -> np.ndarray:
    return np.array([(f(at + e) - f(at - e)) / 2e-6 for e in 1e-6 * np.eye(at.size)])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKERS)
def test_entries_have_derivatives(make: str, use: str) -> None:
    def total(d: Any, x: Any = X) -> Any:
        y = USES[use](MAKERS[make](d), x)
        return np.sum(y * y * np.cos(np.arange(np.size(y)).reshape(np.shape(y))))

    assert float(total(tf.constant(ENTRIES))) == pytest.approx(total(ENTRIES), rel=1e-12)
    np.testing.assert_allclose(tf.transforms.grad(total)(ENTRIES), slopes(total, ENTRIES), rtol=1e-6, atol=1e-6)
    second = tf.transforms.hvp(total, (ENTRIES,), (np.ones_like(ENTRIES),))[0]
    gradient = tf.transforms.grad(total)
    moved = (np.asarray(gradient(ENTRIES + 1e-6)) - np.asarray(gradient(ENTRIES - 1e-6))) / 2e-6
    np.testing.assert_allclose(second, moved, rtol=1e-5, atol=1e-5)
    if use == "times a vector":
        at = tf.transforms.grad(total, 1)(ENTRIES, X)
        np.testing.assert_allclose(at, slopes(lambda x: total(ENTRIES, x), X), rtol=1e-6)


def test_in_a_graph() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        d, x = tf1.placeholder(tf1.float64, [A.nnz]), tf1.placeholder(tf1.float64, [4])
        y = MAKERS["csr_array"](d) @ x
        found = session.run([y, tf1.gradients(y, d)[0]], {d: ENTRIES, x: X})
    np.testing.assert_allclose(found[0], A @ X, rtol=1e-14)
    np.testing.assert_array_equal(found[1], X[COLUMN])


def test_constant_matrices_beside_tensors() -> None:
    matrix, t = ss.csr_matrix(A), tf.constant(X)
    tape, found = watching(
        t,
        lambda: {
            "product": matrix * t,
            "array": (A * t).toarray(),
            "sum": (A + tf.ones([5, 4], tf.float64) * t),
            "scaled": (matrix * t[0] @ X),
        },
        persistent=True,
    )
    np.testing.assert_allclose(found["product"], A @ X)
    np.testing.assert_allclose(found["array"], A.toarray() * X)
    np.testing.assert_allclose(found["sum"], A.toarray() + X)
    np.testing.assert_allclose(found["scaled"], A @ X)
    np.testing.assert_allclose(tape.gradient(found["array"], t), A.sum(axis=0))
    np.testing.assert_allclose(tape.gradient(found["scaled"], t), [(A @ X).sum(), 0, 0, 0])


def test_scipys_own_stay_as_they_are() -> None:
    for make in MAKERS.values():
        own = make(ENTRIES)
        assert ss.issparse(own)
        assert (pickle.loads(pickle.dumps(own)) != own).nnz == 0
        assert (own.copy() != own).nnz == 0
    assert isinstance(ss.csr_array(A), ss.csr_array)
    assert ss.csr_array((3, 4)).shape == (3, 4)
    assert ss.kron(A, A).shape == (25, 16)


def test_errors_and_looks() -> None:
    b = MAKERS["csr_array"](tf.constant(ENTRIES))
    assert isinstance(b, SparseValues)
    assert repr(b) == "<sparse 5 x 4 of 10 values of float64>"
    assert (b.shape, b.nnz, b.ndim, b.dtype) == ((5, 4), 10, 2, tf.float64)
    for wrong in (lambda: b @ Y, lambda: b @ b, lambda: b + b.T):
        with pytest.raises(ShapeError, match="sparse"):
            wrong()
    with pytest.raises(ValueError, match="offset 1 needs 3 elements"):
        ss.diags([tf.constant(X)], [1], shape=(4, 4))
    assert ss.coo_array((tf.constant(ENTRIES), (ROW, COLUMN))).shape == (5, 4)
    assert ss.diags(tf.constant(X), 1).shape == (5, 5)
    np.testing.assert_allclose(b.sum(axis=0), A.sum(axis=0))
    np.testing.assert_allclose(b.sum(axis=1), A.sum(axis=1))
