"""Threads that share large steps of programs: the same bits with any number of them, and nobody waits for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine import executor
from engine.executor import extension
from tests.test_shipping import in_forks

pytestmark = pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))

rng = np.random.default_rng(0)
X, ROWS, SQUARE = rng.normal(size=20_000), rng.normal(size=(5000, 4)), rng.normal(size=(150, 150))
MEANS = rng.normal(size=(3, 4))
STEADY = 6
"""Calls of a function, of which the last ones run its table."""


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads share what goes through a hundred numbers."""
    yield lambda count: extension.executor.use_threads(count, 100.0)
    extension.share(0)


def mixture(means: Any) -> Any:
    d = ROWS[:, None] - means
    return tf.reduce_sum(tf.reduce_logsumexp(-tf.reduce_sum(d * d, -1), -1))


def largest(x: Any) -> Any:
    return tf.reduce_sum(tf.reduce_max(x, 0) * tf.reduce_max(tf.where(x > 0.5, x * x, tf.sin(x)), 1))


PROGRAMS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "a chain": (lambda x: tf.nn.gelu(x) * tf.tanh(x) / (1.0 + x * x), X),
    "one operation": (tf.exp, X),
    "every other element": (lambda x: tf.exp(x[::2]) - x[1::2], X),
    "transposed": (lambda x: tf.transpose(tf.exp(x)) * x, SQUARE),
    "a gradient with sums": (tf.transforms.grad(mixture), MEANS),
    "a gradient of selections": (tf.transforms.grad(largest), SQUARE),
    "sums of columns": (lambda x: tf.reduce_sum(tf.exp(x) * x, 0), ROWS),
    "sums of rows": (lambda x: tf.reduce_sum(tf.exp(x) * x, 1), SQUARE),
    "sums that go on": (lambda x: tf.cumsum(tf.exp(x) * x, 0), SQUARE),
    "gathered": (lambda x: tf.gather(tf.exp(x), np.arange(20_000)[::-1] // 2) * x, X),
    "scattered": (tf.transforms.grad(lambda x: tf.reduce_sum(tf.gather(tf.sin(x), np.arange(40_000) // 7) ** 2)), X),
    "small products": (lambda x: tf.reshape(x, [-1, 2, 2]) @ tf.reshape(tf.exp(x), [-1, 2, 2]), ROWS),
    "a Hessian": (
        tf.transforms.hessian(lambda x: tf.reduce_logsumexp(x) + tf.reduce_sum(tf.sin(x) ** 2)),
        X[:60],
    ),
    "whole numbers": (lambda x: tf.cast(x * 100.0, tf.int64) // 7, X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_threads_gives_the_same_bits(name: str, threads: Callable[[int], None]) -> None:
    function, x = PROGRAMS[name]
    found = []
    for count in (1, 2, 7):
        threads(count)
        compiled = tf.function(function)
        found += [compiled(x).numpy() for _ in range(STEADY)]
    assert all(each.tobytes() == found[0].tobytes() for each in found)


def test_large_steps_are_shared(threads: Callable[[int], None]) -> None:
    """A thread for each beside the one that asks; they stay."""
    if not os.path.exists("/proc/self/task"):
        pytest.skip("threads cannot be counted here")
    threads(4)
    compiled = tf.function(PROGRAMS["a chain"][0])
    for _ in range(STEADY):
        compiled(X)
    assert len(os.listdir("/proc/self/task")) >= 4


def test_what_goes_wrong_in_another_thread_is_noticed(threads: Callable[[int], None]) -> None:
    threads(4)
    compiled = tf.function(lambda x: tf.sqrt(1.0 / x) * tf.exp(x))
    for _ in range(STEADY):
        compiled(X * X + 1.0)
    bad = X * X + 1.0
    bad[-1] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(bad)
    assert compiled(bad).numpy()[-1] == np.inf


def test_programs_of_several_threads(threads: Callable[[int], None]) -> None:
    """One has the others' help, the rest do without."""
    threads(3)
    function, x = PROGRAMS["a chain"]
    expected = tf.function(function)(x).numpy()
    wrong: list[int] = []

    def work(k: int) -> None:
        compiled = tf.function(function)
        wrong.extend([k for _ in range(30) if compiled(x).numpy().tobytes() != expected.tobytes()])

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forks_while_steps_are_shared(threads: Callable[[int], None]) -> None:
    threads(3)
    compiled = tf.function(PROGRAMS["a chain"][0])
    expected = [compiled(X).numpy() for _ in range(STEADY)][-1]

    def child(i: int) -> bool:
        again = tf.function(lambda x: PROGRAMS["a chain"][0](x) + i)
        same = compiled(X).numpy().tobytes() == expected.tobytes()
        return same and all(again(X).shape == X.shape for _ in range(STEADY))

    in_forks(100, lambda: compiled(X), child)


def test_the_setting_of_tensorflow(threads: Callable[[int], None]) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    assert tf.config.threading.get_intra_op_parallelism_threads() == 1
    tf.config.threading.set_intra_op_parallelism_threads(0)
