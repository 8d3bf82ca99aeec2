"""Ops with many operands are differentiated in time that grows as their number does."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.tapes import watching

COUNT = 400
JOINS = {
    "concat": lambda tf, xs: tf.concat(xs, 0),
    "concat, last axis": lambda tf, xs: tf.concat([x[None] for x in xs], -1)[0],
    "stack": lambda tf, xs: tf.reshape(tf.stack(xs), [-1]),
    "stack, last axis": lambda tf, xs: tf.reshape(tf.transpose(tf.stack(xs, -1)), [-1]),
    "add_n": lambda tf, xs: tf.add_n(xs),
}


def weights(join: str) -> np.ndarray:
    return np.arange(2.0 if join == "add_n" else 2.0 * COUNT)


def loss(tf: Any, join: str, xs: Any) -> Any:
    return tf.reduce_sum(JOINS[join](tf, xs) ** 2 * weights(join))


def expected(join: str, values: np.ndarray) -> np.ndarray:
    if join == "add_n":
        return np.broadcast_to(2 * values.sum(0) * weights(join), values.shape)
    return 2 * values * weights(join).reshape(values.shape)


@pytest.mark.parametrize("join", JOINS)
def test_gradients_in_both_modes(join: str) -> None:
    values = np.random.default_rng(0).normal(size=(COUNT, 2))
    xs = [tape_api.constant(v) for v in values]
    tape, y = watching(xs, lambda: loss(tape_api, join, xs), persistent=True)
    found = np.stack([g.numpy() for g in tape.gradient(y, xs)])
    np.testing.assert_allclose(found, expected(join, values), rtol=1e-12)
    tangent = float(tape.jvp(y, xs, xs))
    np.testing.assert_allclose(tangent, np.sum(expected(join, values) * values), rtol=1e-12)
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        symbols = [graph_api.constant(v) for v in values]
        again = session.run(graph_api.gradients(loss(graph_api, join, symbols), symbols))
    np.testing.assert_array_equal(np.stack(again), found)


@pytest.mark.parametrize("join", JOINS)
def test_a_gradient_has_few_operands_for_each(join: str) -> None:
    with graph_api.Graph().as_default() as graph:
        xs = [graph_api.placeholder(graph_api.float64, [2]) for _ in range(COUNT)]
        y = loss(graph_api, join, xs)
        before = len(graph.nodes)
        graph_api.gradients(y, xs)
        # a node for each that takes all of them would make COUNT ** 2
        assert sum(len(node.inputs) for node in graph.nodes[before:]) < 10 * COUNT


def test_parts_of_unknown_size() -> None:
    values = [np.ones(k % 3 + 1) for k in range(40)]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        xs = [graph_api.placeholder(graph_api.float64, [None]) for _ in values]
        whole = graph_api.concat(xs, 0)
        gradients = graph_api.gradients(graph_api.reduce_sum(graph_api.cumsum(whole)), xs)
        found = session.run(gradients, dict(zip(xs, values, strict=True)))
    size = sum(v.size for v in values)
    np.testing.assert_array_equal(np.concatenate(found), np.arange(size, 0, -1.0))
