"""Colorings given by a formula: exact or nearly so on structured patterns, and found in a few passes over the entries.

Two formulas catch most patterns that programs have. A column's *position* within its rows: residuals built from the
same operands in the same order (bundle adjustment, blocks on a diagonal). And a *lattice*: the column number, or its
digits on a grid, weighted and taken modulo the number of colors (bands, stencils on grids of any dimension, periodic
or not, several fields to a point). Perfect colorings of infinite grids are of this form, see Goldfarb and Toint,
"Optimal estimation of Jacobian and Hessian matrices that arise in finite difference calculations", Math. Comp. 43
(1984). Nobody says what the grid is: its strides are looked for among the distances between entries of a row.

A formula is proposed from a sample of rows and then checked on all of them; rows that contradict it join the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from engine.core.sparsity import numbers
from engine.jacobian.structure.pattern import ranges
from engine.runtime.lazy_scipy import sparse

SAMPLE = 128  # rows from which a lattice is proposed
PAIRS = 20_000  # pairs of entries looked at, at most
STRIDES = 5  # candidates for the strides of a grid
SEARCH = 4096  # weights tried per grid and number of colors
IRREGULAR = 64  # distances, of which more than half are met only once, and no lattice is looked for
AT_ONCE = 1 << 16  # entries that are looked at together
REPAIRS = 12  # rows that contradict a proposal may join the sample so many times


def entry_rows(pattern: sparse.csr_array) -> np.ndarray:
    """The row of each stored entry."""
    return np.repeat(numbers(pattern.shape[0]), np.diff(pattern.indptr))


def conflicts(pattern: sparse.csr_array, colors: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """The rows in which two columns have the same color, ascending, some rows at a time."""
    for first, lengths, columns in _parts(pattern):
        rows, keys = len(lengths), np.repeat(np.arange(0, count * len(lengths), count), lengths)
        keys += colors[columns]
        if rows * count <= 8 * len(keys) + 2**16:
            seen = np.zeros(rows * count, np.bool_)
            seen[keys] = True
            if np.count_nonzero(seen) < len(keys):
                yield first + np.flatnonzero(np.count_nonzero(seen.reshape(rows, count), axis=1) < lengths)
        else:
            keys.sort()  # a table would be larger than the pattern: rows of very different lengths
            again = keys[1:][keys[1:] == keys[:-1]]
            if len(again):
                yield first + np.unique(again // count)


def positions(pattern: sparse.csr_array) -> np.ndarray:
    """Color each column by the last position at which it stands in a row; not always valid."""
    colors = np.zeros(pattern.shape[1], np.intp)
    for _, lengths, columns in _parts(pattern):
        place = np.arange(len(columns)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        # NumPy takes seventy times as long where the dtypes differ
        np.maximum.at(colors, columns.astype(np.intp), place)
    return colors


def _parts(pattern: sparse.csr_array) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Some rows after the other, which the processor's caches hold: the first, how long they are, their columns."""
    rows, ends = pattern.shape[0], pattern.indptr
    step = 1 + AT_ONCE * rows // (pattern.nnz + 1)
    for first in range(0, rows, step):
        part = ends[first : first + step + 1]
        yield first, np.diff(part), pattern.indices[part[0] : part[-1]]


def lattice(pattern: sparse.csr_array, low: int, high: int) -> tuple[np.ndarray, int] | None:
    """A valid coloring ``(sum of weight * digit) mod count`` with the smallest `count` in ``[low, high)``, if any."""
    columns = pattern.shape[1]
    pairs = _pairs(pattern, _sample(pattern))
    grids = list(_grids(pairs, columns))
    steps = [_steps(pairs, strides, columns) for strides in grids]
    repairs = REPAIRS
    for count in range(low, high):
        for i, strides in enumerate(grids):
            while (weights := _weights(steps[i], count)) is not None:
                colors = (weights @ _digits(np.arange(columns), strides)) % count
                parts = list(conflicts(pattern, colors, count))
                if not parts:
                    return colors, count
                if not repairs:
                    return None
                repairs, wrong = repairs - 1, np.concatenate(parts)
                pairs = np.concatenate([pairs, _pairs(pattern, wrong[:: len(wrong) // SAMPLE + 1])], axis=1)
                steps = [_steps(pairs, strides, columns) for strides in grids]
    return None


def _sample(pattern: sparse.csr_array) -> np.ndarray:
    """Rows from all over the pattern."""
    rows = np.flatnonzero(np.diff(pattern.indptr) > 1)
    if len(rows) <= SAMPLE:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))


def _pairs(pattern: sparse.csr_array, rows: np.ndarray) -> np.ndarray:
    """Pairs of columns, the larger second, that share one of `rows`: shape (2, pairs); none where there are many."""
    lengths = np.diff(pattern.indptr)[rows].astype(np.int64)
    if np.sum(lengths * (lengths - 1)) > 2 * PAIRS:
        return np.empty((2, 0), np.int64)
    first, second = [], []
    starts = pattern.indptr[rows]
    for lag in range(1, int(lengths.max(initial=0))):
        enough = lengths > lag
        begin = ranges(starts[enough], lengths[enough] - lag)[1]
        first.append(pattern.indices[begin])
        second.append(pattern.indices[begin + lag])
    if not first:
        return np.empty((2, 0), np.int64)
    return np.stack([np.concatenate(first), np.concatenate(second)]).astype(np.int64)


def _grids(pairs: np.ndarray, columns: int) -> Iterator[tuple[int, ...]]:
    """The strides, ascending, of grids that the columns may lie on: ``()`` for a line. Nothing if rows are random."""
    distances, counts = np.unique(pairs[1] - pairs[0], return_counts=True)
    if len(distances) > max(IRREGULAR, pairs.shape[1] // 2) or not pairs.size:
        return
    fits = (distances > 1) & (distances < columns) & (columns % distances == 0)
    frequent = np.argsort(-counts[fits], kind="stable")[:STRIDES]
    candidates = sorted(distances[fits][frequent].tolist())
    for rank in range(4):
        for strides in combinations(candidates, rank):
            if all(b % a == 0 for a, b in pairwise(strides)):
                yield strides


def _digits(columns: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The coordinates of columns on a grid: shape (coordinates, columns)."""
    digits = []
    for stride in reversed(strides):
        quotient = columns // stride
        digits.append(quotient)
        columns = columns - quotient * stride
    return np.stack([*digits, columns])


def _steps(pairs: np.ndarray, strides: tuple[int, ...], columns: int) -> np.ndarray:
    """The different steps on a grid between columns that share a row: shape (steps, coordinates)."""
    steps = _digits(pairs[1], strides) - _digits(pairs[0], strides)
    ends = _digits(np.array([columns]), strides)  # on the first axis, and below for the others
    ends[1:, 0] = [b // a for a, b in zip((1, *strides), strides, strict=False)][::-1]
    _, kept = np.unique(np.ravel_multi_index(tuple(steps + ends), tuple(2 * ends[:, 0] + 1)), return_index=True)
    return steps[:, kept].T


def _weights(steps: np.ndarray, count: int) -> np.ndarray | None:
    """Weights under which no step is a multiple of `count`, if there are any."""
    rank = steps.shape[1]
    if count**rank > SEARCH:
        return None
    weights = np.indices((count,) * rank).reshape(rank, -1).T
    for part in np.array_split(steps, len(steps) // 16 + 1):
        weights = weights[np.all(weights @ part.T % count != 0, axis=1)]
        if not len(weights):
            return None
    return weights[0]
