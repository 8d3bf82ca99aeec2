"""Colors are valid, few where the structure is known, found in linear time and memory, and give back the matrix."""

import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csr_array

from engine.jacobian.coloring import compression as module
from engine.jacobian.coloring import greedy
from engine.jacobian.coloring.compression import Coloring, color_columns, color_symmetric, readable_entries
from engine.jacobian.coloring.greedy import improve, sequential, star
from engine.jacobian.coloring.lattice import conflicts, entry_rows, lattice
from engine.runtime.errors import InvalidArgumentError


def recover_columns(pattern: csr_array, coloring: Coloring) -> np.ndarray:
    """For each stored entry, in order, its flat position among the products, an array of shape (colors, rows)."""
    return coloring.colors[pattern.indices].astype(np.intp) * pattern.shape[0] + entry_rows(pattern)


def recover_rows(pattern: csr_array, coloring: Coloring) -> np.ndarray:
    """For each stored entry, in order, its flat position among the products, an array of shape (colors, columns)."""
    return coloring.colors[entry_rows(pattern)].astype(np.intp) * pattern.shape[1] + pattern.indices


def recover_symmetric(pattern: csr_array, coloring: Coloring) -> np.ndarray:
    """The same of a symmetric pattern; the two entries of a mirrored pair have one position."""
    return recover_columns(pattern, coloring)[readable_entries(pattern, coloring)]


def pattern_of(rows: Any, columns: Any, shape: tuple[int, int]) -> csr_array:
    rows, columns = np.ravel(rows), np.ravel(columns)
    found = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    found.sum_duplicates()
    return csr_array(found)


def banded(n: int, *offsets: int) -> csr_array:
    return csr_array(sparse.diags_array([np.ones(n - abs(k)) for k in offsets], offsets=offsets, shape=(n, n)))


def brusselator(n: int, m: int, *, periodic: bool = True, fields_last: bool = False) -> csr_array:
    """Two fields on a grid, each with a five-point stencil, and with each other at the same point."""
    shape = (n, m, 2) if fields_last else (2, n, m)
    number = np.arange(2 * n * m).reshape(shape)
    number = np.moveaxis(number, -1, 0) if fields_last else number
    here, there = [number, number[:1], number[1:]], [number, number[1:], number[:1]]
    for axis in (1, 2):
        shifted = np.roll(number, 1, axis)
        inside = slice(None) if periodic else slice(1, None)
        a, b = (np.moveaxis(x, axis, 0)[inside] for x in (number, shifted))
        here += [a, b]
        there += [b, a]
    rows, columns = (np.concatenate([x.ravel() for x in side]) for side in (here, there))
    return pattern_of(rows, columns, (2 * n * m, 2 * n * m))


def arrowhead(n: int) -> csr_array:
    i, zero = np.arange(n), np.zeros(n, np.int64)
    return pattern_of([i, i, zero], [i, zero, i], (n, n))


def bordered(n: int, columns: int, rows: int) -> csr_array:
    """A diagonal with dense columns on its right and dense rows below."""
    upper = sparse.hstack([banded(n, 0), np.ones((n, columns))])
    return csr_array(sparse.vstack([upper, np.ones((rows, n + columns))]))


def half_a_row_below(pattern: csr_array) -> csr_array:
    columns = np.arange(0, pattern.shape[1], 2)
    return csr_array(sparse.vstack([pattern, pattern_of(0 * columns, columns, (1, pattern.shape[1]))]))


def bundle(cameras: int, points: int, observations: int) -> csr_array:
    """Two rows of 11 + 3 + 1 entries for each observation, and then one for each weight."""
    random = np.random.default_rng(0)
    camera = random.integers(cameras, size=(observations, 1)) * 11 + np.arange(11)
    point = cameras * 11 + random.integers(points, size=(observations, 1)) * 3 + np.arange(3)
    weight = cameras * 11 + points * 3 + np.arange(observations)[:, None]
    columns = np.repeat(np.concatenate([camera, point, weight], axis=1), 2, axis=0)
    rows = np.repeat(np.arange(2 * observations), 15)
    shape = 3 * observations, cameras * 11 + points * 3 + observations
    own = 2 * observations + np.arange(observations)
    return pattern_of(np.append(rows, own), np.append(columns, weight), shape)


def scattered(rows: int, columns: int, per_row: int, seed: int = 0) -> csr_array:
    random = np.random.default_rng(seed)
    return pattern_of(
        np.repeat(np.arange(rows), per_row), random.integers(columns, size=rows * per_row), (rows, columns)
    )


def symmetric(pattern: csr_array, diagonal: bool = True) -> csr_array:
    found = csr_array(pattern + pattern.T)
    if diagonal:
        found = csr_array(found + sparse.eye_array(pattern.shape[0]))
    return found


def longest(pattern: csr_array) -> int:
    return int(np.diff(pattern.indptr).max(initial=0))


def filled(pattern: csr_array) -> csr_array:
    """The pattern with random values."""
    values = np.random.default_rng(1).normal(size=pattern.nnz)
    return csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)


def seeds(coloring: Coloring) -> csr_array:
    """A row per color, with ones where it is."""
    there = np.flatnonzero(coloring.colors >= 0)
    return pattern_of(coloring.colors[there], there, (coloring.count, len(coloring.colors)))


def check_well_formed(coloring: Coloring) -> None:
    assert coloring.colors.dtype == np.int32
    assert coloring.method
    assert np.array_equal(np.unique(coloring.colors[coloring.colors >= 0]), np.arange(coloring.count))


def check_columns(pattern: csr_array) -> int:
    """The number of colors, once they are known to give back a matrix."""
    coloring = color_columns(pattern)
    check_well_formed(coloring)
    assert np.array_equal(coloring.colors < 0, np.bincount(pattern.indices, minlength=pattern.shape[1]) == 0)
    matrix = filled(pattern)
    products = (matrix @ seeds(coloring).T).T.toarray()
    where = recover_columns(pattern, coloring)
    assert where.dtype == np.intp
    assert np.array_equal(products.ravel()[where], matrix.data)
    return coloring.count


def check_rows(pattern: csr_array) -> int:
    coloring = color_columns(pattern.T.tocsr())
    check_well_formed(coloring)
    matrix = filled(pattern)
    products = (seeds(coloring) @ matrix).toarray()
    assert np.array_equal(products.ravel()[recover_rows(pattern, coloring)], matrix.data)
    return coloring.count


def check_symmetric(pattern: csr_array) -> int:
    coloring = color_symmetric(pattern)
    check_well_formed(coloring)
    matrix = filled(pattern)
    matrix = csr_array(matrix + matrix.T)
    products = (matrix @ seeds(coloring).T).T.toarray()
    where = recover_symmetric(pattern, coloring)
    assert np.array_equal(products.ravel()[where], matrix.data)
    places = csr_array((where + 1.0, pattern.indices, pattern.indptr), shape=pattern.shape)
    assert (places != places.T).nnz == 0, "both entries of a pair are read at one place"
    return coloring.count


# ---- any pattern -----------------------------------------------------------------------------------------------------


@st.composite
def patterns(draw: Any, square: bool = False) -> csr_array:
    rows = draw(st.integers(0, 9))
    columns = rows if square else draw(st.integers(0, 9))
    mask = draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    return csr_array(np.array(mask, np.bool_).reshape(rows, columns))


@given(patterns())
def test_columns_and_rows_of_any_pattern(pattern: csr_array) -> None:
    assert longest(pattern) <= check_columns(pattern) <= pattern.shape[1]
    assert longest(csr_array(pattern.T)) <= check_rows(pattern) <= pattern.shape[0]


@given(patterns(square=True), st.booleans())
def test_symmetric_of_any_pattern(pattern: csr_array, diagonal: bool) -> None:
    both = symmetric(pattern, diagonal)
    assert check_symmetric(both) <= color_columns(both).count


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 6), st.integers(0, 5), st.integers(0, 1000))
def test_larger_patterns_with_dense_rows(rows: int, columns: int, per_row: int, dense: int, seed: int) -> None:
    thin = scattered(rows, columns, per_row, seed)
    full = csr_array(np.random.default_rng(seed).random((dense, columns)) < 0.7)
    pattern = csr_array(sparse.vstack([thin, full]))
    check_columns(pattern)
    check_rows(pattern)
    check_symmetric(csr_array(pattern.T @ pattern))


@given(patterns())
def test_every_search_gives_a_valid_coloring(pattern: csr_array) -> None:
    bound = longest(pattern)
    assume(bound)
    rows_of = csr_array(pattern.T)
    for first in (np.arange(pattern.shape[1]), sequential(rows_of, np.arange(pattern.shape[1])[::-1])):
        better = improve(rows_of, first, bound, 1e6)
        with mock.patch.object(greedy, "in_c", None):
            assert np.array_equal(improve(rows_of, first, bound, 1e6), better)
            in_python = sequential(rows_of, np.argsort(first))
        assert np.array_equal(sequential(rows_of, np.argsort(first)), in_python)
        assert not [*conflicts(pattern, first, int(first.max()) + 1)]
        assert not [*conflicts(pattern, better, int(better.max()) + 1)]
        assert better.max() <= first.max()
    found = lattice(pattern, bound, 2 * bound + 2)
    assert found is None or not [*conflicts(pattern, *found)]


@given(patterns(square=True))
def test_star_colorings(pattern: csr_array) -> None:
    graph = module._without_diagonal(symmetric(pattern))
    colors = star(graph, np.arange(graph.shape[0]))
    neighbors = [set(graph.indices[a:b].tolist()) for a, b in zip(graph.indptr, graph.indptr[1:], strict=False)]
    for a in range(len(neighbors)):
        for b in neighbors[a]:
            assert colors[a] != colors[b]
            for c in neighbors[b] - {a}:
                for d in neighbors[c] - {a, b}:
                    assert len({colors[x].item() for x in (a, b, c, d)}) > 2


# ---- known structure -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: banded(2000, 0), 1, id="diagonal"),
        pytest.param(lambda: banded(2000, -1, 0, 1), 3, id="tridiagonal"),
        pytest.param(lambda: banded(2000, -1, 1), 2, id="tridiagonal without its diagonal"),
        pytest.param(lambda: banded(2000, -2, -1, 0, 1, 2), 5, id="pentadiagonal"),
        pytest.param(lambda: csr_array(np.ones((30, 40))), 40, id="dense"),
        pytest.param(lambda: csr_array(sparse.block_diag([sparse.coo_array(np.ones((5, 7)))] * 100)), 7, id="blocks"),
        pytest.param(lambda: csr_array(sparse.kron(sparse.eye_array(9), np.ones((4, 3)))), 3, id="blocks by kron"),
        pytest.param(lambda: bundle(5, 200, 1000), 15, id="bundle adjustment"),
        pytest.param(lambda: brusselator(20, 30, periodic=False), 6, id="Brusselator, no-flux"),
        pytest.param(lambda: brusselator(32, 32), 8, id="Brusselator"),
        pytest.param(lambda: brusselator(32, 32, fields_last=True), 8, id="Brusselator, fields last"),
        pytest.param(lambda: brusselator(30, 30), 6, id="Brusselator, a multiple of 6"),
        pytest.param(lambda: scattered(2000, 2000, 1), 1, id="one entry a row"),
    ],
)
def test_known_structures_take_the_fewest_colors(make: Callable[[], csr_array], expected: int) -> None:
    assert check_columns(make()) == expected


def test_formulas_are_tried_before_searches() -> None:
    blocks = csr_array(sparse.block_diag([sparse.coo_array(np.ones((5, 7)))] * 100))
    assert color_columns(banded(2000, -2, -1, 0, 1, 2)).method == "cyclic"
    assert color_columns(blocks).method == "positions in a row"


@pytest.mark.parametrize(
    ("make", "most"),
    [
        pytest.param(lambda: brusselator(25, 25), 10, id="Brusselator of an odd size"),
        pytest.param(lambda: scattered(1000, 1000, 5), 11, id="random"),
        pytest.param(lambda: scattered(3000, 1000, 2), 10, id="tall"),
        pytest.param(lambda: scattered(1000, 3000, 10), 20, id="wide"),
        pytest.param(lambda: scattered(50_000, 50_000, 5), 13, id="random, large"),
        pytest.param(lambda: scattered(300, 300, 30), 300, id="nearly dense"),
    ],
)
def test_irregular_patterns_take_few_colors(make: Callable[[], csr_array], most: int) -> None:
    pattern = make()
    assert check_columns(pattern) <= most
    assert check_rows(pattern) > 0


def test_dense_rows_do_not_spoil_the_rest() -> None:
    n = 100_000
    pattern = half_a_row_below(scattered(n, n, 4))
    coloring = color_columns(pattern)
    assert not [*conflicts(pattern, coloring.colors, coloring.count)]
    assert coloring.count <= n // 2 + 16
    assert coloring.method == "dense rows apart"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: arrowhead(500), 2, id="arrowhead"),
        pytest.param(lambda: banded(500, -1, 0, 1), 3, id="tridiagonal"),
        pytest.param(lambda: csr_array(sparse.block_diag([sparse.coo_array(np.ones((6, 6)))] * 20)), 6, id="blocks"),
        pytest.param(lambda: csr_array(np.ones((50, 50))), 50, id="dense"),
        pytest.param(lambda: csr_array(np.array([[0, 1], [1, 0]])), 1, id="a pair"),
    ],
)
def test_symmetric_structures(make: Callable[[], csr_array], expected: int) -> None:
    assert check_symmetric(make()) == expected


def test_a_symmetric_coloring_saves_sweeps() -> None:
    pattern = symmetric(scattered(1000, 1000, 3))
    assert check_symmetric(pattern) < color_columns(pattern).count


def test_an_asymmetric_pattern_is_refused() -> None:
    for pattern in (csr_array(np.ones((2, 3))), csr_array(np.array([[1, 1], [0, 1]]))):
        with pytest.raises(InvalidArgumentError, match="expected a symmetric pattern"):
            color_symmetric(pattern)


def test_a_coloring_of_another_pattern_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="not one of this pattern"):
        recover_symmetric(csr_array(np.ones((3, 3))), Coloring(np.zeros(3, np.int32), 1, "none"))


# ---- edges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4), (1, 1)])
def test_nothing_needs_no_sweep(shape: tuple[int, int]) -> None:
    empty = csr_array(shape)
    assert check_columns(empty) == 0
    assert check_rows(empty) == 0
    assert color_columns(empty).colors.tolist() == [-1] * shape[1]
    if shape[0] == shape[1]:
        assert check_symmetric(empty) == 0


def test_one_entry() -> None:
    one = csr_array(np.ones((1, 1)))
    assert (check_columns(one), check_rows(one), check_symmetric(one)) == (1, 1, 1)


def test_columns_without_entries_take_part_in_no_sweep() -> None:
    assert color_columns(csr_array(np.array([[0, 1, 0, 1], [0, 0, 0, 0]]))).colors.tolist() == [-1, 0, -1, 1]


def test_stored_zeros_count_and_entries_may_come_in_any_order() -> None:
    pattern = csr_array((np.zeros(4), np.array([2, 0, 1, 2]), np.array([0, 2, 4])), shape=(2, 3))
    coloring = color_columns(pattern)
    assert coloring.count == 2
    assert pattern.indices.tolist() == [2, 0, 1, 2], "the pattern is left as it was"
    matrix = np.array([[5.0, 0.0, 6.0], [0.0, 7.0, 8.0]])
    products = (matrix @ seeds(coloring).T.toarray()).T
    assert products.ravel()[recover_columns(pattern, coloring)].tolist() == [6.0, 5.0, 7.0, 8.0]


def test_the_same_pattern_gets_the_same_colors() -> None:
    pattern = scattered(60_000, 60_000, 4)
    assert np.array_equal(color_columns(pattern).colors, color_columns(pattern.copy()).colors)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda n: banded(n, -1, 0, 1), id="tridiagonal"),
        pytest.param(lambda n: brusselator(n // 400, 200), id="Brusselator"),
        pytest.param(lambda n: scattered(n, n, 3), id="random"),
        pytest.param(arrowhead, id="arrowhead"),
        pytest.param(lambda n: bordered(n, 0, 1)[:, : n - 1], id="dense row"),
        pytest.param(lambda n: half_a_row_below(scattered(n, n, 2)), id="random and a dense row"),
    ],
)
def test_memory_is_proportional_to_the_entries(make: Callable[[int], csr_array]) -> None:
    pattern = make(200_000)
    pattern.sum_duplicates()
    tracemalloc.start()
    color_columns(pattern)
    color_columns(pattern.T.tocsr())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * (pattern.nnz + sum(pattern.shape))
