"""Indices, shifts and masks that ops compute from constants are known to plans, in both modes alike."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core.trace import known_value
from tests.tapes import gradient_in

N = 200
NEXT = (np.arange(N) + 1) % N
FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "roll": (lambda tf, x: (tf.roll(x, 1, 0) - x) ** 4.0, 3 * N),
    "np.roll": (lambda tf, x: (np.roll(x, 1) - x) ** 4.0, 3 * N),
    "gather_nd": (lambda tf, x: (tf.gather_nd(x, NEXT[:, None]) - x) ** 4.0, 3 * N),
    "gather": (lambda tf, x: (tf.gather(x, NEXT) - x) ** 4.0, 3 * N),
    "repeat": (lambda tf, x: (tf.repeat(x, 2)[1:-1] - tf.repeat(x, 2)[2:]) ** 4.0, 3 * N - 2),
    "boolean_mask": (lambda tf, x: tf.boolean_mask(x, np.arange(N) % 2 == 0) ** 4.0, N // 2),
    "dynamic_partition": (lambda tf, x: tf.dynamic_partition(x, np.arange(N) % 2, 2)[0] ** 4.0, N // 2),
    "computed shift": (lambda tf, x: (tf.roll(x, tf.constant(3) - 2, 0) - x) ** 4.0, 3 * N),
    "computed mask": (lambda tf, x: tf.boolean_mask(x, tf.range(N) % 2 > 0) ** 4.0, N // 2),
}


def on_tape(fn: Callable[[Any, Any], Any], x: Any) -> Any:
    return gradient_in(x, lambda: tape_api.reduce_sum(fn(tape_api, x)), method="hessian", format="csr")


def in_graph(fn: Callable[[Any, Any], Any], point: np.ndarray, shape: Any) -> Any:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, shape)
        y = graph_api.reduce_sum(fn(graph_api, x))
        return session.run(graph_api.hessian(y, x, format="csr"), {x: point})


@pytest.mark.parametrize("tape_first", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians_have_the_entries_that_they_need_in_both_modes(name: str, tape_first: bool) -> None:
    fn, entries = FUNCTIONS[name]
    point = np.random.default_rng(0).uniform(1.0, 2.0, N)
    runs = [lambda: on_tape(fn, tape_api.constant(point)), lambda: in_graph(fn, point, [N])]
    found = [run() for run in (runs if tape_first else runs[::-1])]
    assert [matrix.nnz for matrix in found] == [entries] * 2
    np.testing.assert_array_equal(found[0].toarray(), found[1].toarray())


@pytest.mark.parametrize("name", ["roll", "gather_nd", "boolean_mask"])
def test_entries_where_shapes_are_not_known(name: str) -> None:
    fn, entries = FUNCTIONS[name]
    assert in_graph(fn, np.linspace(1.0, 2.0, N), [None]).nnz == entries


def test_a_plan_that_did_not_know_contents_is_not_used_where_they_are_known() -> None:
    def second(shift: Any) -> Any:
        x = graph_api.placeholder(graph_api.float64, [N])
        y = graph_api.reduce_sum((graph_api.roll(x, shift, 0) - x) ** 4.0)
        return graph_api.hessian(y, x, format="csr")

    for shapes in ([None, 1], [1, None], [1, 2]):
        with graph_api.Graph().as_default():
            found = [second(graph_api.placeholder(graph_api.int32, []) if s is None else s) for s in shapes]
            assert [f.nnz for f in found] == [N * N if s is None else 3 * N for s in shapes]


def test_what_a_plan_relies_on_cannot_be_fed() -> None:
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.placeholder(graph_api.float64, [4])
        one = graph_api.constant(1)
        shift = one + 1
        found = graph_api.jacobian(graph_api.roll(x**2.0, shift, 0), x)
        point = np.arange(4.0)
        expected = np.roll(np.diag(2 * point), 2, 0)
        np.testing.assert_array_equal(session.run(found, {x: point}), expected)
        for fed in (one, shift):
            with pytest.raises(ValueError, match="cannot be fed"):
                session.run(found, {x: point, fed: 3})


def test_known_value() -> None:
    with graph_api.Graph().as_default():
        x = graph_api.placeholder(graph_api.float32, [3, 5])
        given = graph_api.placeholder(graph_api.int32, [])
        assert known_value(given + 1) is None
        assert known_value(graph_api.random_uniform([], 0, 9, graph_api.int32)) is None
        assert known_value(x) is None
        np.testing.assert_array_equal(known_value(graph_api.shape(x)[1] * [1, 2]), [5, 10])
        np.testing.assert_array_equal(known_value(-graph_api.constant(np.arange(3)) > -1), [True, False, False])
        chain = graph_api.constant(0)
        for _ in range(3000):
            chain = chain + 1
        assert known_value(chain) == 3000
