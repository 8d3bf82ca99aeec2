"""Diagonals of Hessians of losses on rows that are gathered by indices which only a run knows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api as tf

LOSSES: dict[str, tuple[Callable[..., Any], bool]] = {
    "rows": (lambda c, i, j: tf.reduce_sum(tf.exp(tf.gather(c, i))), True),
    "two gathers": (lambda c, i, j: tf.reduce_sum(tf.gather(c, i) ** 3) + tf.reduce_sum(tf.gather(c, j) ** 4), False),
    "behind ops": (lambda c, i, j: tf.reduce_sum(tf.exp(tf.gather(tf.sin(c), i))) + tf.reduce_sum(c**4), True),
    "columns": (lambda c, i, j: tf.reduce_sum(tf.gather(c, i * 0, axis=1) ** 3), True),
    "products": (lambda c, i, j: tf.reduce_sum(tf.gather(c, i) ** 2 * tf.gather(c, j) ** 2), False),
    "other indices": (lambda c, i, j: tf.reduce_sum(tf.gather(c, i) * tf.gather(tf.sin(c), j)), False),
    "reversed": (lambda c, i, j: tf.reduce_sum(tf.gather(c, i) ** 2 * tf.gather(c, i)[::-1] ** 2), False),
    "coupled before": (lambda c, i, j: tf.reduce_sum(tf.gather(tf.cumsum(c, 0) ** 2, i) ** 2), False),
    "coupled between": (lambda c, i, j: tf.reduce_sum(tf.exp(tf.cumsum(tf.gather(c, i), 0))), False),
}


@pytest.mark.parametrize("shape", [(4, 3, 10), (1, 1, 5), (3, 2, 1), (5, 2, 0), (1, 3, 3)])
@pytest.mark.parametrize("name", LOSSES)
def test_the_diagonal_is_that_of_the_dense_hessian(name: str, shape: tuple[int, int, int]) -> None:
    rows, columns, count = shape
    loss, diagonal = LOSSES[name]
    rng = np.random.default_rng(0)
    c = tf.placeholder(tf.float64, [rows, columns])
    i, j = (tf.placeholder(tf.int64, [count]) for _ in range(2))
    y = loss(c, i, j)
    sparse = tf.hessian(y, c, format="csr")
    if diagonal:
        assert sparse.nnz <= rows * columns
    gradient = tf.convert_to_tensor(tf.gradients(y, c)[0])
    for _ in range(2):
        fed = {c: rng.normal(size=(rows, columns)), **{k: rng.integers(0, rows, count) for k in (i, j)}}
        with tf.Session() as session:
            found, entries = session.run([tf.hessian_diag(y, c), sparse], fed)
            dense = by_differences(lambda at: session.run(gradient, {**fed, c: at}), fed[c])  # noqa: B023
        np.testing.assert_allclose(entries.toarray(), dense, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.ravel(), np.diagonal(dense), rtol=1e-5, atol=1e-5)


def by_differences(gradient: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    """The Hessian by differences of a gradient, which knows nothing of patterns."""
    steps = 1e-5 * np.eye(at.size).reshape(-1, *at.shape)
    return np.stack([(np.asarray(gradient(at + h)) - gradient(at - h)).ravel() / 2e-5 for h in steps])
