"""Sums over axes: the same as NumPy's, whichever way they are made."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core import sums
from engine.core.sums import add_over
from tests.support import assert_same_bits
from tests.tapes import watching

SHAPES = [(40, 30), (3, 200, 4), (7, 8, 9, 10), (1, 2000, 2), (2000, 2, 1), (2, 1, 600), (0, 5), (5, 0, 3)]


def every_axes(rank: int) -> list[tuple[int, ...]]:
    return [axes for count in range(rank + 1) for axes in itertools.combinations(range(rank), count)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int32])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_over_all_axes(shape: tuple[int, ...], dtype: type, keepdims: bool) -> None:
    # whole numbers are added without rounding, so that every order of adding gives the same
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(dtype)
    for axes in every_axes(len(shape)):
        want = x.sum(axis=axes, keepdims=keepdims, dtype=dtype)
        for same in (axes, tuple(a - len(shape) for a in axes)):
            got = add_over(x, same, keepdims)
            assert got.dtype == dtype and got.shape == want.shape
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(add_over(x, None, keepdims), x.sum(keepdims=keepdims, dtype=dtype))
    np.testing.assert_array_equal(add_over(x, 0, keepdims), x.sum(axis=0, keepdims=keepdims, dtype=dtype))


def test_what_is_not_contiguous() -> None:
    x = np.random.default_rng(0).integers(-50, 50, (60, 70)).astype(np.float64)
    for view in (x.T, x[::2], x[:, ::-1], np.broadcast_to(x[:, :1], (60, 70))):
        np.testing.assert_array_equal(add_over(view, 0), view.sum(axis=0))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "transposed behind": lambda x: x.transpose(0, 2, 1),
    "every other": lambda x: x[:, ::2, ::2],
    "reversed": lambda x: x[:, ::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


def most_memory(f: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and the most memory that it takes: the least of three, as others may allocate meanwhile."""
    f()
    taken = []
    for _ in range(3):
        tracemalloc.start()
        found = f()
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return found, min(taken)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("name", VIEWS)
def test_a_sum_of_a_view_takes_no_more_memory_than_numpy(name: str, dtype: type) -> None:
    view = VIEWS[name](np.ones((100, 200, 30), dtype))
    for axis in (0, 1, 2, (0, 1), (1, 2), None):
        want, least = most_memory(lambda axis=axis: view.sum(axis=axis))
        found, most = most_memory(lambda axis=axis: add_over(view, axis))
        assert most <= least + (1 << 12)
        np.testing.assert_array_equal(found, want)


def test_a_sum_of_many_rows_takes_no_memory_beyond_its_result() -> None:
    x = np.random.default_rng(0).integers(-50, 50, (100_003, 5)).astype(np.float32)
    found, most = most_memory(lambda: add_over(x, 0))
    assert most < 1 << 12
    np.testing.assert_array_equal(found, x.sum(0))


TURNED: dict[str, Any] = {
    "one number": lambda tf, x, w: tf.reduce_sum(tf.transpose(x) * tf.constant(np.full((40, 70), 0.1, np.float32))),
    "ones": lambda tf, x, w: tf.reduce_sum(tf.transpose(x) * tf.constant(np.ones((40, 70), np.float32)), 0),
    "a vector": lambda tf, x, w: tf.transpose(x) * w,
    "a column": lambda tf, x, w: tf.transpose(x) * tf.expand_dims(w[:40], 1),
}


@pytest.mark.parametrize("name", TURNED)
def test_sums_of_what_is_transposed_agree_in_both_modes(name: str) -> None:
    """Graphs leave out products with ones, which make copies in another order in memory."""
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in ((70, 40), (70,))]
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        fed = [graph_api.placeholder(graph_api.float32, v.shape) for v in given]
        y = TURNED[name](graph_api, *fed)
        wanted = [y, *[g for g in graph_api.gradients(y, fed) if g is not None]]
        in_graph = session.run(wanted, dict(zip(fed, given, strict=True)))
    xs = [tape_api.constant(v) for v in given]
    tape, y = watching(xs, lambda: TURNED[name](tape_api, *xs))
    on_tape = [y, *[g for g in tape.gradient(y, xs) if g is not None]]
    for a, b in zip(in_graph, on_tape, strict=True):
        np.testing.assert_array_equal(a, b.numpy())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_column(value: float) -> None:
    x = np.ones((50, 40))
    x[3, 5] = value
    np.testing.assert_array_equal(add_over(x, 0), x.sum(axis=0))


def test_infinite_numbers_of_both_signs() -> None:
    x = np.ones((50, 40))
    x[3, 5], x[4, 5] = np.inf, -np.inf
    assert np.isnan(add_over(x, 0)[5])


@pytest.mark.parametrize("shape", [(33, 17), (30, 4), (5, 25), (60, 2)])
def test_each_of_a_stack_is_added_up_in_the_same_order(shape: tuple[int, ...]) -> None:
    """Sweeps in chunks give the bits of one sweep."""
    x = np.random.default_rng(0).normal(size=(64, *shape))
    whole = add_over(x, 1)
    for first, last in ((0, 2), (5, 9), (63, 64)):
        np.testing.assert_array_equal(add_over(x[first:last], 1), whole[first:last])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_worse_than_row_after_row(dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(5000, 8)).astype(dtype)
    exact = x.astype(np.longdouble).sum(axis=0)
    bound = np.finfo(dtype).eps * 5000 * np.abs(x).sum(axis=0)
    assert np.all(np.abs(add_over(x, 0) - exact) <= bound)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", range(2, 10))
def test_short_rows_are_added_up_as_numpy_does(count: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also their signs of zero, infinities and NaN; by columns where there are many rows of up to seven elements."""
    rng = np.random.default_rng(count)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, 1e-45, 1e-17, 3.0])
    columns = []
    monkeypatch.setattr(sums, "_added_columns", lambda *x, of=sums._added_columns: columns.append(x) or of(*x))
    for x in (rng.normal(size=(40, 9, count)), rng.choice(special, (40, 9, count)), np.full((40, 9, count), -0.0)):
        for keepdims in (False, True):
            with np.errstate(invalid="ignore", over="ignore"):
                got, expected = add_over(x.astype(dtype), (-1,), keepdims), x.astype(dtype).sum(-1, keepdims=keepdims)
            assert_same_bits(got, expected)
            assert got.flags.c_contiguous
    assert len(columns) == (6 if count < 8 else 0)
