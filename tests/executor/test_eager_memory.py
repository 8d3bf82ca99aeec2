"""Memory of eager results is used again, and nobody can tell (`engine/core/_eager_memory.h`)."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import tape_api as tf
from engine.closed.function import build
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.core.eager import in_c, in_own_memory
from engine.ops.trig import sin
from engine.runtime import elementary
from tests.executor.test_eager_in_c import needs_c
from tests.support import at_once
from tests.tapes import gradient_in

pytestmark = needs_c
OURS, NUMPYS = "dualgrad", "default_allocator"
SIZES = (1, 7, 8, 9, 128, 129, 1000, 4096, 4097, 40_000, 200_000)


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    before = in_c.setup_memory(1 << 26)
    yield
    in_c.setup_memory(before)


def _doubled(x: Any) -> Any:
    for _ in range(10):
        # a loop is looked for when it has been asked for often
        y = x + x
    return y._array


@pytest.mark.parametrize("size", SIZES)
def test_results_are_ordinary_arrays(size: int) -> None:
    x = np.arange(1.0, 1.0 + size)
    y = _doubled(tf.constant(x))
    np.testing.assert_array_equal(y, 2 * x, strict=True)
    plain = x + x
    assert y.base is None
    assert (y.strides, str(y.flags)) == (plain.strides, str(plain.flags))
    assert get_handler_name(y) == (OURS if y.size <= 4096 or y.nbytes >= 1 << 14 else NUMPYS)


@pytest.mark.parametrize("shape", [(), (3, 1), (2, 3, 4), (1, 1)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    y, plain = _doubled(tf.constant(x)), x + x
    assert type(y) is type(plain)
    np.testing.assert_array_equal(y, plain, strict=True)
    assert str(y.flags) == str(plain.flags)


@pytest.mark.parametrize("size", [4, 1000, 200_000])
def test_what_nobody_uses_is_used_again(size: int) -> None:
    x = tf.constant(np.ones(size))
    first = _doubled(x)
    place = first.ctypes.data
    del first
    assert place in {y._array.ctypes.data for y in [x + x for _ in range(3)]}


def test_what_is_in_use_is_not() -> None:
    rng = np.random.default_rng(0)
    held: dict[int, tuple[np.ndarray, float]] = {}
    for i in range(2000):
        number = float(i)
        held[int(rng.integers(60))] = _doubled(tf.constant(np.full(SIZES[rng.integers(9)], number))), 2 * number
        if i % 7 == 0:
            in_c.setup_memory(int(rng.integers(1 << 17)))
    for array, number in held.values():
        np.testing.assert_array_equal(array, number)


def test_views_keep_what_they_show() -> None:
    x = tf.constant(np.arange(1000.0))
    view = _doubled(x)[5:9]
    others = [_doubled(x * 3.0) for _ in range(20)]
    assert others
    np.testing.assert_array_equal(view, [10, 12, 14, 16])


def test_resizing_and_growing() -> None:
    y = _doubled(tf.constant(np.arange(5000.0)))
    y.resize(9000, refcheck=False)
    np.testing.assert_array_equal(y, np.r_[2 * np.arange(5000.0), np.zeros(4000)])
    y.resize(10, refcheck=False)
    np.testing.assert_array_equal(y, 2 * np.arange(10.0))


def test_other_arrays_lie_where_numpy_puts_them() -> None:
    large = tf.constant(np.ones((200, 200)))
    assert get_handler_name((large @ large)._array) == OURS
    assert get_handler_name(np.empty(10)) == NUMPYS
    assert get_handler_name() == NUMPYS
    with pytest.raises(ValueError, match="matmul"):
        large @ tf.constant(np.ones((3, 200)))
    assert get_handler_name() == NUMPYS


def test_a_program_that_runs_the_first_times_uses_it() -> None:
    body = build([Aval((50_000,), float64)], lambda _, values: [sin(values[0]) * values[0]])
    x = np.linspace(0.0, 1.0, 50_000)
    for _ in range(2):
        (y,) = body.run(x)
        np.testing.assert_array_equal(y, elementary.sin(x) * x)
        assert get_handler_name(y) == OURS
    assert get_handler_name() == NUMPYS


def test_what_a_call_raises_leaves_numpy_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        in_own_memory(divmod, 1, 0)
    assert get_handler_name() == NUMPYS
    with pytest.raises(TypeError, match="takes a function"):
        in_own_memory()


def test_zeros_are_zeros_in_memory_that_was_used() -> None:
    x = tf.constant(np.full(50_000, 7.0))
    _doubled(x)
    np.testing.assert_array_equal(tf.zeros_like(x), np.zeros(50_000))


def test_memory_is_counted() -> None:
    x = tf.constant(np.ones(100_000))
    _doubled(x)
    tracemalloc.start()
    try:
        held = [_doubled(x) for _ in range(5)]
        assert 5 * x._array.nbytes <= tracemalloc.get_traced_memory()[0] < 6 * x._array.nbytes
        small = _doubled(tf.constant(np.ones(4000)))
        assert 5 * x._array.nbytes + small.nbytes <= tracemalloc.get_traced_memory()[0]
        del held, small
        assert tracemalloc.get_traced_memory()[0] < x._array.nbytes
    finally:
        tracemalloc.stop()


def test_threads() -> None:
    wrong = []

    def work(number: float) -> None:
        x = tf.constant(np.full(6000, number))
        for _ in range(100):
            found = gradient_in(x, lambda: tf.reduce_sum(x * x * x)).numpy()
            wrong.extend([number] * (not np.array_equal(found, np.full(6000, 3 * number**2))))

    at_once(work, map(float, range(1, 5)))
    assert not wrong
