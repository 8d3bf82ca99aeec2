"""Jacobians by processes of this machine: large arrays go through a file in memory, of which nothing is left over."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from engine.runtime import shared_file
from engine.runtime.shared_file import Packed, Room
from tests.tapes import gradient_in

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs files in memory"),
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


def files() -> int:
    """How many files in memory of ours this process holds, open or mapped."""
    gc.collect()
    found = {os.readlink(p) for p in Path("/proc/self/fd").iterdir() if p.is_symlink()}
    mapped = {line.split(None, 5)[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    return sum("memfd:dualgrad" in name for name in found | mapped)


def pool_of(method: str = "fork", kind: type[ProcessPoolExecutor] = ProcessPoolExecutor) -> ProcessPoolExecutor:
    return kind(2, mp_context=multiprocessing.get_context(method))


@pytest.fixture(autouse=True)
def no_file_kept() -> Iterator[None]:
    while shared_file._free:
        shared_file._free.pop()[0].close()
    yield
    assert files() == len(shared_file._free) <= 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of what this process writes to files."""
    sizes: list[int] = []
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, raw, at: sizes.append(len(raw)) or real(file, raw, at))
    return sizes


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_same_bits(method: str) -> None:
    with pool_of(method) as pool:
        for x in POINTS:
            np.testing.assert_array_equal(jacobian(x, executor=pool), expected(x))
        assert max(pool.submit(files).result() for _ in range(4)) == 0, "workers keep nothing"


def test_each_constant_is_written_once_in_a_call(written: list[int]) -> None:
    with pool_of() as pool:
        jacobian(POINTS[0], executor=pool)
        # two matrices in C order, and the one that is a view of another backwards
        assert 3 * WEIGHTS.nbytes <= sum(written) < 3.5 * WEIGHTS.nbytes


def test_results_stay_when_the_file_is_used_again() -> None:
    with pool_of() as pool:
        found = [jacobian(x, executor=pool) for x in POINTS]
    for x, result in zip(POINTS, found, strict=True):
        np.testing.assert_array_equal(result, expected(x))
    assert len(shared_file._free) == 1


def test_large_files_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_file, "_KEPT", 1000)
    with pool_of() as pool:
        np.testing.assert_array_equal(jacobian(POINTS[0], executor=pool), expected(POINTS[0]))
    assert files() == 0


def test_calls_of_several_threads_at_once() -> None:
    with pool_of() as pool, ThreadPoolExecutor(3) as threads:
        jacobian(POINTS[0], executor=pool)
        found = list(threads.map(lambda k: jacobian(POINTS[k % 6], executor=pool), range(24)))
    for k in range(24):
        np.testing.assert_array_equal(found[k], expected(POINTS[k % 6]))


def test_threads_that_end_at_once_leave_one_file_at_most() -> None:
    def use(_: int) -> None:
        with shared_file.shared_file():
            pass

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(use, range(3000)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("writes", [0, 1, 4])
def test_without_memory_for_it_the_pipe_is_taken(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    left = writes

    def full(file: int, raw: Any, at: int) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left -= 1
        # half of it, as if the rest came to the end
        return real(file, raw[: len(raw) // 2 + 1], at)

    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", full)
    # forked workers have no memory either
    with pool_of() as pool:
        np.testing.assert_array_equal(jacobian(POINTS[0], executor=pool), expected(POINTS[0]))


def refused(name: str) -> int:
    raise OSError(errno.ENOSYS, "Function not implemented")


def test_without_such_files_the_pipe_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "memfd_create", refused)
    with pool_of() as pool:
        np.testing.assert_array_equal(jacobian(POINTS[0], executor=pool), expected(POINTS[0]))
    assert files() == 0


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
def test_nothing_is_left_after_an_error(method: str, instead: Any, error: Any) -> None:
    with pool_of(method, Spoilt) as pool:
        pool.instead = instead
        with pytest.raises(error):
            jacobian(POINTS[0], executor=pool)
        assert files() == 0
        pool.instead = None
        np.testing.assert_array_equal(jacobian(POINTS[1], executor=pool), expected(POINTS[1]))
        assert max(pool.submit(files).result() for _ in range(4)) == 0


def test_a_dead_worker_is_told_and_a_new_pool_works() -> None:
    with pool_of(kind=Spoilt) as pool:
        pool.instead = dies
        with pytest.raises(BrokenProcessPool, match="terminated abruptly"):
            jacobian(POINTS[0], executor=pool)
    assert files() == 0
    with pool_of() as pool:
        np.testing.assert_array_equal(jacobian(POINTS[1], executor=pool), expected(POINTS[1]))


def test_a_task_of_a_call_that_is_over_touches_nothing() -> None:
    context = shared_file.shared_file()
    room = context.__enter__()
    assert room is not None
    packed, results = room.pack(np.ones(5000)), room.part(100_000)
    error = ZeroDivisionError()
    assert not context.__exit__(type(error), error, None), "the error goes on"
    with shared_file.shared_file() as other:
        assert other is not None
        assert other.path == packed.path, "the number is used again"
        later = other.pack(np.zeros(5000))
        with pytest.raises(FileNotFoundError, match="closed"):
            packed.load()
        with pytest.raises(FileNotFoundError, match="closed"):
            results.pack(np.ones(5000))
        assert not later.load().any()


# ---- packing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4000.0).reshape(40, 100),
        np.asfortranarray(np.arange(4000.0).reshape(40, 100)),
        np.arange(8000.0).reshape(80, 100)[:, ::2],
        np.arange(5000, dtype=np.int8),
        np.array(["words"] * 900, dtype=object),
        np.zeros((0, 3)),
        np.array(2.0),
    ],
)
def test_arrays_come_as_they_were(array: np.ndarray) -> None:
    with shared_file.shared_file() as room:
        assert room is not None
        packed: Packed = pickle.loads(pickle.dumps(room.pack([array, "beside", array])))
        first, beside, second = packed.load()
        assert first is second
        assert beside == "beside"
        np.testing.assert_array_equal(first, array)
        assert (first.dtype, first.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
        del first, second


def test_what_does_not_fit_stays_in_the_pickle() -> None:
    with shared_file.shared_file() as room:
        assert room is not None
        given: Room = pickle.loads(pickle.dumps(room.part(50_000)))
        packed = given.pack([np.full(5000, 1.0), np.full(5000, 2.0)])
        assert [size for _, size in packed.places] == [40_000]
        after = room.pack(np.full(5000, 3.0))
        assert [found[0] for found in packed.load()] == [1.0, 2.0]
        assert after.load()[0] == 3.0
