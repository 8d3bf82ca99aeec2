"""Every row of the op table: its Jacobian and its Hessian, planned and sparse, are what gradients give row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.op_table import ROWS, cases, two_of_each_op
from tests.row import Row
from tests.support import differentiable
from tests.tapes import watching

MOST = 150
"""Elements of a row's results, or of its sources; larger rows would take long, and tell nothing more."""
LOOKED_AT = 5
"""Rows of a Jacobian."""


def small(row: Row) -> bool:
    if "float64" not in row.dtypes or row.op.stateful or not row.order:
        return False
    inputs = row.arrays("float64")
    sources = [inputs[i] for i in row.differentiable(inputs)]
    outputs = differentiable(row.apply(*inputs))
    sizes = [sum(int(np.size(x)) for x in side) for side in (sources, outputs)]
    return min(sizes) > 0 and max(sizes) <= MOST and not any(np.iscomplexobj(x) for x in (*sources, *outputs))


SMALL = [row for row in ROWS if small(row)]


def assert_close(blocks: Any, tape: Any, ys: Sequence[Any], xs: Sequence[Any], tolerance: float) -> None:
    """Rows of a Jacobian, of which so many are looked at, are gradients."""
    whole = np.block([[block.toarray() for block in row] for row in blocks])
    places = [(y, i) for y in ys for i in range(np.size(y))]
    assert len(places) == len(whole)
    looked = np.unique(np.linspace(0, len(places) - 1, LOOKED_AT).astype(int))
    rows = []
    for y, i in (places[k] for k in looked):
        seed = np.zeros(np.shape(y))
        seed.flat[i] = 1.0
        found = tape.gradient(y, xs, output_gradients=seed, unconnected_gradients="zero")
        rows.append(np.concatenate([tf.convert_to_tensor(g).numpy().reshape(-1) for g in found]))
    found, expected = whole[looked], np.array(rows)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.id)
def test_as_gradients(row: Row) -> None:
    inputs = row.arrays("float64")
    tensors = [tf.constant(x) for x in inputs]
    xs = [tensors[i] for i in row.differentiable(inputs)]
    outer, ys = watching(xs, lambda: differentiable(row.apply(*tensors)), persistent=True)
    assert_close(outer.jacobian(ys, xs, format="csr", unconnected_gradients="zero"), outer, ys, xs, 1e-9)


@cases(two_of_each_op((row, "float64") for row in SMALL if row.order > 1))
def test_hessians_as_gradients_of_gradients(row: Row, dtype: str) -> None:
    inputs = row.arrays(dtype)
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
    assert_close(inner.hessian(total, xs, format="csr"), outer, first, xs, 1e-6)
