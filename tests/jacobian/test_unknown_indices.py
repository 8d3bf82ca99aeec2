"""Diagonals of Hessians of losses on rows that are gathered by indices which only a run knows."""

from __future__ import annotations

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
    for _ in range(2):
        fed = {c: rng.normal(size=(rows, columns)), **{k: rng.integers(0, rows, count) for k in (i, j)}}
        with tf.Session() as session:
            found, entries, full = session.run([tf.hessian_diag(y, c), sparse, tf.hessians(y, c)[0]], fed)
        dense = full.reshape(rows * columns, rows * columns)
        np.testing.assert_allclose(entries.toarray(), dense, atol=1e-9)
        np.testing.assert_allclose(found.ravel(), np.diagonal(dense), atol=1e-9)
