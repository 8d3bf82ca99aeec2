"""Jacobians of recordings are planned and compiled once per structure; contents of indices are looked at each time."""

from __future__ import annotations

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


def test_indices_computed_from_the_source() -> None:
    x = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.5, 7.0])
    for k in range(7):
        tensor = tf.constant(np.roll(x, k))
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = tf.sort(tensor**2.0)
        order = np.argsort(np.roll(x, k))
        expected = np.zeros((7, 7))
        expected[np.arange(7), order] = 2 * np.roll(x, k)[order]
        np.testing.assert_array_equal(tape.jacobian(y, tensor), expected)


def test_a_custom_gradient_is_planned_each_time() -> None:
    @tf.custom_gradient
    def cubed(x: Any) -> Any:
        return x**3.0, lambda dy: dy * 3.0 * x**2.0

    for value in (2.0, 3.0):
        x = tf.constant([value, 1.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cubed(x)
        np.testing.assert_allclose(tape.jacobian(y, x), np.diag([3 * value**2, 3.0]))


def test_a_closure_that_changes_is_seen() -> None:
    factors = iter((2.0, 5.0))

    def scaled(x: Any) -> Any:
        factor = next(factors)

        @tf.custom_gradient
        def own(x: Any) -> Any:
            return x * factor, lambda dy: dy * factor

        return own(x)

    for factor in (2.0, 5.0):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        np.testing.assert_array_equal(tape.jacobian(y, x), np.diag([factor] * 2))


def test_shapes_given_as_values() -> None:
    """What a shape operand holds belongs to the structure."""
    for rows in (2, 3, 6):
        x = tf.constant(np.arange(6.0))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(x**2.0, [rows, -1]), axis=1)
        expected = np.repeat(np.eye(rows), 6 // rows, axis=1) * 2 * np.arange(6.0)
        np.testing.assert_array_equal(tape.jacobian(y, x), expected)


def test_a_persistent_tape_gives_many() -> None:
    x = tf.constant(RNG.normal(size=(3, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.exp(x)
        z = y * x
    first = tape.jacobian(z, x)
    np.testing.assert_array_equal(first, tape.jacobian(z, x))
    np.testing.assert_allclose(tape.jacobian(z, y).numpy().reshape(6, 6), np.diag(x.numpy().ravel()))
    np.testing.assert_allclose(tape.hessian(z, x).numpy().reshape(6, 6), np.diag((np.exp(x) * (2 + x)).numpy().ravel()))


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


def test_what_stands_beside_a_recording_is_part_of_its_structure() -> None:
    """Nothing is recorded of a value that is both source and target."""
    for n in (3, 5):
        x = tf.constant(np.ones(n))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
        np.testing.assert_array_equal(tape.jacobian(x, x), np.eye(n))
        np.testing.assert_array_equal(tape.jacobian(x, x, format="csr").toarray(), np.eye(n))
