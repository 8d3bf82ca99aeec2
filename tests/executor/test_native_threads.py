"""Threads that share large steps of programs: the same bits with any number of them, and nobody waits for ever."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine import executor
from engine.executor import extension
from tests.robustness.test_shipping import in_forks

pytestmark = pytest.mark.skipif(not executor.status().active, reason=str(executor.status()))

rng = np.random.default_rng(0)
X, ROWS, MEANS = rng.normal(size=20_000), rng.normal(size=(5000, 4)), rng.normal(size=(3, 4))
STEADY = 6
"""Calls of a function, of which the last ones run its table."""


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads share what goes through a hundred numbers."""
    yield lambda count: extension.executor.use_threads(count, 100.0)
    extension.share(0)


def chain(x: Any) -> Any:
    return tf.nn.gelu(x) * tf.tanh(x) / (1.0 + x * x)


def mixture(means: Any) -> Any:
    """Sums of all tiles."""
    d = ROWS[:, None] - means
    return tf.reduce_sum(tf.reduce_logsumexp(-tf.reduce_sum(d * d, -1), -1))


PROGRAMS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "one operation": (tf.exp, X),
    "every other element": (lambda x: tf.exp(x[::2]) - x[1::2], X),
    "sums of tiles": (tf.transforms.grad(mixture), MEANS),
    "sums that go on": (lambda x: tf.cumsum(tf.reshape(x, [100, -1]), 0), X),
    "gathered": (lambda x: tf.gather(x, np.arange(20_000)[::-1] // 2), X),
    "scattered": (tf.transforms.grad(lambda x: tf.reduce_sum(tf.gather(x, np.arange(40_000) // 7) ** 2)), X),
    "small products": (lambda x: x @ tf.exp(x), X.reshape(-1, 2, 2)),
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


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads cannot be counted here")
def test_large_steps_are_shared(threads: Callable[[int], None]) -> None:
    """A thread for each beside the one that asks; they stay."""
    threads(4)
    compiled = tf.function(chain)
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
    expected = tf.function(chain)(X).numpy()
    wrong: list[int] = []

    def work(k: int) -> None:
        compiled = tf.function(chain)
        wrong.extend([k for _ in range(30) if compiled(X).numpy().tobytes() != expected.tobytes()])

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
    compiled = tf.function(chain)
    expected = [compiled(X).numpy() for _ in range(STEADY)][-1]

    def child(i: int) -> bool:
        again = tf.function(lambda x: chain(x) + i)
        same = compiled(X).numpy().tobytes() == expected.tobytes()
        return same and all(again(X).shape == X.shape for _ in range(STEADY))

    in_forks(100, lambda: compiled(X), child)
