"""Compiled walks of tapes that other tapes watch: the nodes and bits of the plain walk."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed.replay import COMPILE_AFTER, replayed
from engine.core.eager import EagerTensor
from engine.core.tape import Tape
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.runtime.errors import UnimplementedError
from tests.compiler.test_replay import EVERY, STEPS, Step, assert_as_walked, forget_walks, taped, values
from tests.op_table import NARROW, cases, two_of_each_op, with_derivatives
from tests.row import Row
from tests.support import assert_same_bits, differentiable, random_like
from tests.tapes import gradient_in, watching

__all__ = ["forget_walks"]


@cases(two_of_each_op(with_derivatives(NARROW)))
def test_rules_of_every_op_while_another_tape_records(row: Row, dtype: str) -> None:
    for step in range(COMPILE_AFTER + 2):
        arrays = row.arrays(dtype, seed=step)
        got = _twice(replayed, row, arrays, step)
    # before, it was the plain walk that answered
    assert_same_bits(got, _twice(_walk, row, arrays, step))


def _walk(nodes: Any, seeds: Any, sources: Any) -> list[Any]:
    return reverse(with_slopes(nodes), seeds, sources)


def _twice(walk: Callable[..., Any], row: Row, arrays: Any, step: int) -> list[Any]:
    """Cotangents by a recorded walk, and those by a walk back through it."""
    rng = np.random.default_rng(step)
    inputs = [EagerTensor(a) for a in arrays]
    sources = [inputs[i] for i in row.differentiable(arrays)]
    outer, inner = Tape(), Tape()
    for x in sources:
        outer.watch(x)
        inner.watch(x)
    outer.start()
    inner.start()
    outputs = differentiable(row.apply(*inputs))
    inner.stop()
    seeds = [(o, EagerTensor(random_like(rng, o))) for o in outputs]
    found = walk(inner.nodes, seeds, sources)
    outer.stop()
    through = [(g, random_like(rng, g)) for g in found if g is not None]
    try:
        found += _walk(outer.nodes, through, sources)
    except UnimplementedError:
        # a row that is checked to the second order has derivatives of it
        assert row.order < 2
    return [g for g in found if g is not None]


def second_order() -> Step:
    def step(i: int) -> Any:
        x = values(i, 3)
        with tf.GradientTape() as outer:
            outer.watch(x)
            g = gradient_in(x, lambda: tf.reduce_sum(tf.sin(x) * x**3))
        return [g, outer.gradient(g, x)]

    return step


def inner_gradient_as_a_factor() -> Step:
    def step(i: int) -> Any:
        x, w = values(i, 3), tf.Variable(values(i + 9, 3))
        with tf.GradientTape() as outer:
            penalty = tf.reduce_sum(gradient_in(x, lambda: tf.reduce_sum(tf.tanh(x * w))) ** 2)
        return outer.gradient(penalty, [w])

    return step


def rows_under_a_tape() -> Step:
    def step(i: int) -> Any:
        x = values(i, 5, 2)
        with tf.GradientTape() as outer:
            outer.watch(x)
            rows = taped(x, lambda x: tf.reduce_sum(tf.gather(x, [1, 3, 1]) ** 3))
            dense = tf.convert_to_tensor(rows) * x
        return [rows.values, rows.indices, outer.gradient(dense, x)]

    return step


@pytest.mark.parametrize("make", [second_order, inner_gradient_as_a_factor, rows_under_a_tape])
def test_tapes_in_tapes_are_both_replayed(make: Callable[[], Step], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_as_walked(make, monkeypatch, replays=2 * EVERY)


def test_a_recorded_replay_gives_tensors_of_its_own() -> None:
    # the gradient of a sum is a constant: two that are watched are two
    x, found = tf.constant([1.0, 2.0]), []
    for _ in range(STEPS):
        with tf.GradientTape(persistent=True) as outer:
            first, second = (taped(x, lambda x: tf.reduce_sum(x * 3.0)) for _ in range(2))
            outer.watch(first)
            y = first * first * second
        found.append((outer.gradient(y, first).numpy().tolist(), outer.gradient(y, second)))
    assert found == [([18.0, 18.0], None)] * STEPS


def test_a_function_in_a_recorded_walk_is_asked_each_time() -> None:
    factors = iter(range(1, 100))

    @tf.custom_gradient
    def f(x: Any) -> Any:
        factor = float(next(factors))
        return x * x, lambda ct: ct * factor * x

    def step(i: int) -> Any:
        x = tf.constant([2.0])
        outer, g = watching(x, lambda: taped(x, f))
        return g.numpy()[0], outer.gradient(g, x).numpy()[0]

    assert [step(i) for i in range(STEPS)] == [(2.0 * k, k) for k in range(1, STEPS + 1)]
