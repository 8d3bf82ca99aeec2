"""Every row of the op table: its Jacobian and its Hessian, planned and sparse, are what gradients give row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.op_table import ROWS
from tests.row import Row
from tests.support import differentiable

MOST = 150
"""Elements of a row's results, or of its sources; larger rows would take long, and tell nothing more."""


def small(row: Row) -> bool:
    if "float64" not in row.dtypes or row.op.stateful or not row.order:
        return False
    inputs = row.arrays("float64")
    sources = [inputs[i] for i in row.differentiable(inputs)]
    outputs = differentiable(row.apply(*inputs))
    sizes = [sum(int(np.size(x)) for x in side) for side in (sources, outputs)]
    return min(sizes) > 0 and max(sizes) <= MOST and not any(np.iscomplexobj(x) for x in (*sources, *outputs))


SMALL = [row for row in ROWS if small(row)]


def matrix(tape: Any, ys: Sequence[Any], xs: Sequence[Any]) -> np.ndarray:
    """The Jacobian of several values with respect to several others: each row is a gradient."""
    rows = []
    for y in ys:
        for seed in np.eye(np.size(y)).reshape(np.size(y), *np.shape(y)):
            found = tape.gradient(y, xs, output_gradients=seed, unconnected_gradients="zero")
            rows.append(np.concatenate([tf.convert_to_tensor(g).numpy().reshape(-1) for g in found]))
    return np.reshape(rows, (len(rows), sum(int(np.size(x)) for x in xs)))


def joined(blocks: Any) -> np.ndarray:
    return np.block([[block.toarray() for block in row] for row in blocks])


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.id)
def test_as_gradients(row: Row) -> None:
    inputs = row.arrays("float64")
    tensors = [tf.constant(x) for x in inputs]
    xs = [tensors[i] for i in row.differentiable(inputs)]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        ys = differentiable(row.apply(*tensors))
    assert_close(
        joined(outer.jacobian(ys, xs, format="csr", unconnected_gradients="zero")), matrix(outer, ys, xs), 1e-9
    )


@pytest.mark.parametrize("row", [row for row in SMALL if row.order > 1], ids=lambda row: row.id)
def test_hessians_as_gradients_of_gradients(row: Row) -> None:
    inputs = row.arrays("float64")
    tensors = [tf.constant(x) for x in inputs]
    xs = [tensors[i] for i in row.differentiable(inputs)]
    rng = np.random.default_rng(0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(xs)
            ys = differentiable(row.apply(*tensors))
            total = tf.add_n([tf.reduce_sum(y * rng.uniform(0.5, 1.5, np.shape(y))) for y in ys])
        first = [tf.convert_to_tensor(g) for g in inner.gradient(total, xs, unconnected_gradients="zero")]
    assert_close(joined(inner.hessian(total, xs, format="csr")), matrix(outer, first, xs), 1e-6)
