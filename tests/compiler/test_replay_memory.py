"""Compiled reverse walks: threads, and what is kept in memory."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.closed import replay
from engine.closed.replay import COMPILE_AFTER, counters
from tests.compiler.test_replay import STEPS, forget_walks, taped, values
from tests.support import at_once

__all__ = ["forget_walks"]


def test_threads_share_compiled_walks() -> None:
    failures: list[Any] = []

    def work(number: int) -> None:
        for i in range(60):
            x = values(i + 100 * number, 2 + i % 3)
            got = taped(x, lambda x: tf.reduce_sum(tf.sin(x) * x))
            a = x.numpy()
            if not np.allclose(got, np.cos(a) * a + np.sin(a), rtol=1e-5):
                failures.append((number, i))

    at_once(work, range(4))
    assert not failures


def test_a_walk_leaves_nothing_to_the_collector_of_cycles() -> None:
    gc.disable()
    try:
        x = values(1, 4)
        taped(x, lambda x: tf.reduce_sum(tf.nn.relu(x[:, None] * x) @ tf.nn.relu(x[:, None])))
        given = weakref.ref(x)
        del x
        assert given() is None
    finally:
        gc.enable()


def test_nothing_of_a_recording_is_kept_alive() -> None:
    kept: list[Any] = []

    def step() -> None:
        big = tf.constant(np.ones(1000, np.float32))

        @tf.custom_gradient
        def f(x: Any) -> Any:
            return x * 1.0, lambda upstream: upstream * big[0]

        x = tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * big * big)
            z = f(x)
        for _ in range(STEPS):
            tape.gradient(y, x)
            tape.gradient([y, z], x)
        kept.extend([weakref.ref(big), weakref.ref(x), weakref.ref(y)])

    for _ in range(3):
        step()
    gc.collect()
    assert [r() for r in kept] == [None] * len(kept)


def test_large_constants_are_not_kept() -> None:
    x = values(0, 1 << 14)
    for _ in range(STEPS):
        taped(x, lambda x: tf.reduce_sum(tf.where(x > 0, x, tf.sin(x))) + tf.reduce_sum(tf.split(x, 2)[0]))
    (compiled,) = replay._compiled.values()
    # what is repeated lies in memory once
    held = [c.nbytes if all(c.strides) else c.itemsize for c in compiled.program.constants.values()]
    assert sum(held) < 1 << 13


def test_tables_are_bounded_and_a_full_one_does_not_harm() -> None:
    taped_square = lambda n: taped(values(0, n), lambda x: x * x)  # noqa: E731
    for n in range(1, replay._CAPACITY + 50):
        taped_square(n)
    assert len(replay._walks) == replay._CAPACITY
    for n in range(1, 50):
        for _ in range(COMPILE_AFTER + 1):
            taped_square(n)
    compiled, before = len(replay._compiled), counters["replayed"]
    assert compiled == 49
    for n in range(1, 50):
        taped_square(n)
    assert counters["replayed"] - before == 49
    assert len(replay._walks) == replay._CAPACITY


def test_compiled_walks_give_way_to_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (replay._compiled, replay._walks):
        monkeypatch.setattr(table, "capacity", 3)
    for n in (1, 2, 3, 4, 1):
        for _ in range(STEPS):
            np.testing.assert_array_equal(taped(values(n, n), lambda x: x * x), 2 * values(n, n).numpy())
    assert len(replay._compiled) == 3
    assert len(replay._walks) == 3
