"""Vectors put together slice by slice: the numbers are those that picking gives, to the bit."""

import pickle
from typing import Any

import numpy as np
import pytest

from engine.compiler.passes import slice_concat
from engine.ops import shape
from engine.ops.joining import concat
from engine.ops.selection import add_at_op, flat_gather_op
from tests.compiler.test_program import lowered, names
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits

N = 1000
RNG = np.random.default_rng(0)
DIAGONALS = [RNG.normal(size=n) for n in (N, N - 1, N - 1)]
BAND = np.sort(np.concatenate([np.arange(N) * N + np.arange(N), *[np.arange(N - 1) * (N + 1) + k for k in (1, N)]]))


def in_rows() -> Any:
    """Where the entries of a tridiagonal matrix stand in its diagonals, joined: main, upper, lower."""
    rows, columns = np.divmod(BAND, N)
    return np.where(rows == columns, rows, np.where(columns > rows, N + rows, 2 * N - 1 + columns))


def picked(positions: Any) -> Any:
    def f(*parts: Any) -> Any:
        joined = concat(list(parts), 0)
        distinct = len(np.unique(positions)) == len(positions)
        return flat_gather_op(joined, positions, size=sum(len(d) for d in DIAGONALS), distinct=distinct)

    return f


def check(f: Any, by_slices: bool, *arrays: Any) -> Any:
    program, plain = lowered(f, arrays), lowered(f, arrays, ALWAYS)
    assert ("slice_concat" in names(program)) == by_slices
    assert_same_bits(program(*arrays), plain(*arrays))
    assert_same_bits(pickle.loads(pickle.dumps(program))(*arrays), plain(*arrays))
    return program


def test_a_banded_matrix() -> None:
    program = check(picked(in_rows()), True, *DIAGONALS)
    assert names(program) == ["slice_concat"]


def test_what_is_used_twice() -> None:
    """A symmetric matrix whose upper diagonal is the lower one."""
    rows, columns = np.divmod(BAND, N)
    positions = np.where(rows == columns, rows, N + np.minimum(rows, columns))
    assert names(check(picked(positions), True, *DIAGONALS)) == ["slice_concat"]


def test_what_is_added() -> None:
    positions = in_rows()
    entries = np.flatnonzero(positions < N)[1:]

    def f(*parts: Any) -> Any:
        found = picked(positions)(*parts)
        more = flat_gather_op(concat(list(parts), 0), np.arange(N - 1) + N, size=3 * N - 2, distinct=True)
        return [add_at_op(found, more, entries, size=3 * N - 2, distinct=True), found]

    program = check(lambda *parts: f(*parts)[0], True, *DIAGONALS)
    assert names(program) == ["slice_concat"] and program.instructions[0].params["sums"]
    # what is added to what others need too is not added in place
    assert "add_at_op" in names(check(f, True, *DIAGONALS))


@pytest.mark.parametrize("entries", [np.arange(N - 1), np.r_[0 : N // 2, 0 : N // 2 - 1]], ids=["distinct", "twice"])
def test_what_is_added_from_elsewhere_or_in_another_order(entries: Any) -> None:
    """From other vectors, or several numbers to one: they are added up before."""

    def f(*parts: Any) -> Any:
        distinct = len(set(entries)) == N - 1
        joined = concat(list(parts[::-1] if distinct else parts), 0)
        more = flat_gather_op(joined, np.arange(N - 1) + 1, size=3 * N - 2, distinct=True)
        return add_at_op(picked(in_rows())(*parts), more, entries, size=3 * N - 2, distinct=distinct)

    assert "add_at_op" in names(check(f, True, *DIAGONALS))


def test_numbers_of_several_vectors_that_are_added_to_one_place() -> None:
    """In the order in which they stand, by slices too; a vector may be added twice to the same places."""
    positions = in_rows()
    rows = [np.flatnonzero(positions == k)[0] for k in range(N - 1)]
    numbers, entries = np.r_[0 : N - 1, N : 2 * N - 1, 2 * N - 1 : 3 * N - 2], np.tile(rows, 3)
    numbers, entries = np.repeat(numbers, 2), np.repeat(entries, 2)

    def f(*parts: Any) -> Any:
        more = flat_gather_op(concat(list(parts), 0), numbers, size=3 * N - 2, distinct=False)
        return add_at_op(picked(positions)(*parts), more, entries, size=3 * N - 2, distinct=False)

    program = check(f, True, *DIAGONALS)
    assert names(program) == ["slice_concat"]
    expected = np.concatenate(DIAGONALS)[positions]
    for number, entry in zip(np.concatenate(DIAGONALS)[numbers], entries, strict=True):
        expected[entry] += number
    assert_same_bits(program(*DIAGONALS), [expected])


def test_a_vector_that_goes_to_two_places_in_turn() -> None:
    """As in a symmetric matrix with two diagonals further out, row by row."""
    rows, columns = np.divmod(np.flatnonzero(np.eye(N, k=2) + np.eye(N, k=-2) + np.eye(N)), N)
    positions = np.where(rows == columns, rows, N + np.minimum(rows, columns))
    assert names(check(picked(positions), True, *DIAGONALS)) == ["slice_concat"]


def test_sums_that_are_added() -> None:
    """What is a sum itself is not taken for its first part."""
    positions, size = in_rows(), 3 * N - 2

    def f(*parts: Any) -> Any:
        more = flat_gather_op(concat(list(parts), 0), np.arange(N - 1) + N, size=size, distinct=True)
        inner = add_at_op(picked(positions)(*parts), more, np.arange(N - 1), size=size, distinct=True)
        return add_at_op(picked(np.arange(size))(*parts), inner, np.arange(size), size=size, distinct=True)

    check(f, True, *DIAGONALS)


@pytest.mark.parametrize(
    "positions",
    [RNG.permutation(3 * N - 2), np.arange(3 * N - 2)[::-1], np.zeros(3 * N - 2, int), in_rows()[:1000]],
    ids=["no order", "backward", "one number", "few numbers"],
)
def test_what_is_no_slice_is_picked(positions: Any) -> None:
    check(picked(positions), False, *DIAGONALS)


@pytest.mark.parametrize("seed", range(20))
def test_slices_found_among_others(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arithmetic progressions of any steps, one after the other or in turn, and single numbers between them."""
    monkeypatch.setattr(slice_concat, "_LEAST", 1)
    monkeypatch.setattr(slice_concat, "_LONG", 1)
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(slice_concat, "_AT_ONCE", int(rng.integers(2, 40)))
    pieces = []
    for _ in range(rng.integers(1, 7)):
        step, count = rng.integers(1, 4), rng.integers(1, 40)
        pieces.append(rng.integers(0, 3 * N - 2 - step * count) + step * np.arange(count))
    order = np.argsort(np.concatenate([np.arange(len(p)) for p in pieces]), kind="stable")
    together = np.concatenate(pieces)
    check(picked(together), True, *DIAGONALS)
    program = lowered(picked(together[order]), DIAGONALS)
    assert_same_bits(program(*DIAGONALS), [np.concatenate(DIAGONALS)[together[order]]])


def test_a_single_vector_and_other_layouts() -> None:
    x = RNG.normal(size=(60, 80))
    f = lambda x: flat_gather_op(shape.reshape(x, (-1,)), np.arange(0, 4800, 2), size=4800, distinct=True)  # noqa: E731
    program = check(f, True, x)
    for other in (np.asfortranarray(x), x[::-1], np.broadcast_to(x[:1], x.shape)):
        assert_same_bits(program(other), [other.ravel()[::2]])
