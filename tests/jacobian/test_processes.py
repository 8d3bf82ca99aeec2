"""Jacobians by processes of this machine: the same bits, each constant sent once, and whole pools after errors."""

import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs forks"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]
RNG = np.random.default_rng(3)
N = 90
WEIGHTS = RNG.normal(size=(2 * N, 3 * N))[::2, ::3] / 8
"""With gaps between its elements."""
POINTS = RNG.normal(size=(6, N))


def layers(x: Any) -> Any:
    for w in (tf.constant(WEIGHTS), tf.constant(WEIGHTS.T), tf.constant(WEIGHTS[::-1])):
        x = tf.tanh(tf.linalg.matvec(w, x)) * tf.reduce_sum(x)
    return x


def jacobian(x: Any, **options: Any) -> np.ndarray:
    c = tf.constant(x)
    return gradient_in(c, lambda: layers(c), method="jacobian", **options).numpy()


def expected(x: Any) -> np.ndarray:
    """The same chunks in one process."""
    c = tf.constant(x)
    return gradient_in(c, lambda: layers(c), method="jacobian_plan").in_chunks(2)(x)


def pool_of(method: str = "fork", kind: type[ProcessPoolExecutor] = ProcessPoolExecutor) -> ProcessPoolExecutor:
    return kind(2, mp_context=multiprocessing.get_context(method))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_same_bits(method: str) -> None:
    with pool_of(method) as pool:
        for x in POINTS:
            np.testing.assert_array_equal(jacobian(x, executor=pool), expected(x))


def test_calls_of_several_threads_at_once() -> None:
    with pool_of() as pool, ThreadPoolExecutor(3) as threads:
        jacobian(POINTS[0], executor=pool)
        found = list(threads.map(lambda k: jacobian(POINTS[k % 6], executor=pool), range(24)))
    for k in range(24):
        np.testing.assert_array_equal(found[k], expected(POINTS[k % 6]))


# ---- however a call ends ---------------------------------------------------------------------------------------------


def fails(*_: Any) -> None:
    raise ValueError("something in the worker")


def dies(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Spoilt(ProcessPoolExecutor):
    """Its workers do something else with each second task."""

    instead: Any = None
    submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        if self.submitted % 2 or self.instead is None:
            return super().submit(fn, *args, **kwargs)
        if self.instead is KeyboardInterrupt:
            raise KeyboardInterrupt
        return super().submit(self.instead, *args, **kwargs)


@pytest.mark.parametrize(
    ("method", "instead", "error"),
    [("fork", fails, ValueError), ("spawn", fails, ValueError), ("fork", KeyboardInterrupt, KeyboardInterrupt)],
)
def test_a_pool_works_after_an_error(method: str, instead: Any, error: Any) -> None:
    with pool_of(method, Spoilt) as pool:
        pool.instead = instead
        with pytest.raises(error):
            jacobian(POINTS[0], executor=pool)
        pool.instead = None
        np.testing.assert_array_equal(jacobian(POINTS[1], executor=pool), expected(POINTS[1]))


def test_a_dead_worker_is_told_and_a_new_pool_works() -> None:
    with pool_of(kind=Spoilt) as pool:
        pool.instead = dies
        with pytest.raises(BrokenProcessPool, match="terminated abruptly"):
            jacobian(POINTS[0], executor=pool)
    with pool_of() as pool:
        np.testing.assert_array_equal(jacobian(POINTS[1], executor=pool), expected(POINTS[1]))
