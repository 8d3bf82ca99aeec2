"""Jacobians of recordings are planned and compiled once per structure; contents of indices are looked at each time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed.replay import structure_of
from engine.jacobian import plan_cache as recorded
from engine.jacobian.planning import plan as planning
from engine.runtime import elementary
from tests.tapes import gradient_in, watching

RNG = np.random.default_rng(0)


@contextmanager
def making(planned: int, compiled: int) -> Iterator[None]:
    """The block makes so many plans and programs."""
    before = planning.counters["planned"], recorded.counters["compiled"]
    yield
    assert planning.counters["planned"] - before[0] == planned
    assert recorded.counters["compiled"] - before[1] == compiled


def taken(method: str, x: np.ndarray, *arguments: Any, **options: Any) -> Any:
    tensor = tf.constant(x)
    tape, y = watching(tensor, lambda: tf.sin(tensor) * tf.reduce_sum(tensor**2.0, axis=1, keepdims=True))
    return getattr(tape, method)(y, tensor, *arguments, **options)


@pytest.mark.parametrize(
    ("method", "plans", "programs"),
    [("jacobian", 1, 1), ("hessian", 1, 1), ("hessian_diag", 1, 1), ("hvp", 0, 1), ("batch_jacobian", 0, 1)],
)
def test_a_second_call_plans_and_compiles_nothing(method: str, plans: int, programs: int) -> None:
    # a shape that no other test has
    shapes = {"jacobian": 11, "hessian": 12, "hessian_diag": 13, "hvp": 14, "batch_jacobian": 15}
    x = RNG.normal(size=(2, shapes[method]))
    further = [x] if method == "hvp" else []
    with making(plans, programs):
        first = taken(method, x, *further)
    with making(0, 0):
        again, other = taken(method, x, *further), taken(method, x + 1.0, *further)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_options_have_plans_of_their_own() -> None:
    x = RNG.normal(size=(2, 16))
    with making(3, 3):
        found = [taken("jacobian", x, **o).numpy() for o in ({}, {"mode": "forward"}, {"max_bytes": 30_000})]
    with making(0, 0):
        taken("jacobian", x, mode="forward")
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def gathered(x: Any, indices: Any) -> np.ndarray:
    tensor = tf.constant(x)
    return gradient_in(
        tensor, lambda: tf.gather(tf.sin(tensor), tf.constant(indices)) * tensor, method="jacobian"
    ).numpy()


def test_indices_that_change() -> None:
    x = RNG.normal(size=9)
    compiled = recorded.counters["compiled"]
    for _ in range(12):
        order = RNG.permutation(9)
        expected = np.diag(np.sin(x)[order])
        expected[np.arange(9), order] += np.cos(x)[order] * x
        np.testing.assert_allclose(gathered(x, order), expected, rtol=1e-13, atol=1e-15)
    # four plans for given contents, then one for any
    assert recorded.counters["compiled"] == compiled + 5
    with making(0, 0):
        gathered(x, RNG.permutation(9))


def test_plans_that_take_much_memory_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that say where entries belong take as much memory as the entries themselves."""
    for table in (planning._plans, recorded._compiled):
        table.clear()
        monkeypatch.setattr(table, "max_bytes", 300_000)
    for n in range(2000, 2010):
        with tf.GradientTape() as tape:
            x = tf.ones([n], tf.float64)
            tape.watch(x)
            y = x[1:] * x[:-1]
        tape.jacobian(y, x, format="csr")
    for table in (planning._plans, recorded._compiled):
        held = [one for kept in table.values() for one in kept]
        assert 1 <= len(held) < 10
        assert sum(one.nbytes for one in held) <= 300_000


def test_a_persistent_tape_is_looked_over_once_until_it_records_more() -> None:
    x, other = tf.constant(RNG.normal(size=17)), tf.constant(RNG.normal(size=17))
    tape = tf.GradientTape(persistent=True)
    with tape:
        tape.watch([x, other])
        y = tf.sin(x)
    seen = []
    for _ in range(3):
        np.testing.assert_array_equal(tape.jacobian(y, x), np.diag(elementary.cos(x.numpy())))
        # one beside the recording
        assert tape.jacobian(y, other) is None
        seen.append(structure_of(tape._tape.nodes))
    assert seen[0] is seen[1] is seen[2]
    assert len(seen[0].values) == 2
    with tape:
        z = y * other
    np.testing.assert_array_equal(tape.jacobian(z, x), np.diag(elementary.cos(x.numpy()) * other.numpy()))
    np.testing.assert_array_equal(tape.jacobian(z, other), np.diag(y.numpy()))
    assert len(structure_of(tape._tape.nodes).values) == 4
