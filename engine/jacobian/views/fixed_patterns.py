"""Sparse matrices of one pattern: their entries are in the same order at every point, zeros written out."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from engine.core.sparsity import Sites
from engine.core.value import aval_of
from engine.jacobian.second import second_path
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import patterns
from engine.runtime.errors import InvalidArgumentError

Triangle = Literal["lower", "upper"]
"""The part of a square matrix that is wanted, the diagonal with it."""


def patterns_of(path: Path) -> list[list[Pattern]]:
    """Where the Jacobians along a path can be different from zero."""
    sources, targets = ([path.values[slot] for slot in side] for side in (path.sources, path.targets))
    if not all(aval_of(x).is_static for x in path.values):
        return [[Pattern.dense(path.size(t), path.size(s)) for s in path.sources] for t in path.targets]
    return patterns(path.nodes, sources, targets, Sites(path.contents))


def hessian_patterns_of(path: Path) -> list[list[Pattern]]:
    """Where the Hessian of any weighted sum of the targets can be different from zero."""
    found = patterns_of(second_path(path))
    return [[p.union(found[j][i].transposed()) for j, p in enumerate(row)] for i, row in enumerate(found)]


def with_indices(matrix: Any, dtype: np.dtype) -> Any:
    """A sparse matrix, its indices of the dtype; of int64 where they do not fit."""
    needed = np.dtype(np.int64 if max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max else dtype)
    if matrix.format == "coo":
        matrix.coords = tuple([c.astype(needed, copy=False) for c in matrix.coords])
    else:
        matrix.indices = matrix.indices.astype(needed, copy=False)
        matrix.indptr = matrix.indptr.astype(needed, copy=False)
    return matrix


def triangle_of(matrix: Any, triangle: Triangle | None) -> Any:
    """The part of a matrix, dense or sparse, that is wanted: all of it for None."""
    if triangle is None:
        return matrix
    check_triangle(triangle, matrix.shape)
    if isinstance(matrix, LinearOperator):
        raise InvalidArgumentError("for_scipy: `triangle`: an operator has no triangles; choose another `format`")
    if isinstance(matrix, np.ndarray):
        return (np.tril if triangle == "lower" else np.triu)(matrix)
    return (sparse.tril if triangle == "lower" else sparse.triu)(matrix, format=matrix.format)


def check_triangle(triangle: Any, shape: tuple[int, ...]) -> None:
    """Raise unless a triangle is one, and there is one of a matrix of that shape."""
    if triangle not in ("lower", "upper"):
        raise InvalidArgumentError(f"for_scipy: `triangle` must be 'lower', 'upper' or None; got {triangle!r}")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidArgumentError(f"for_scipy: `triangle`: only square matrices have triangles; got shape {shape}")


class FixedPattern:
    """The entries of sparse matrices, in the order in which they lie.

    Parameters
    ----------
    matrix : sparse array
        With an entry in each place, in its final format and with its final indices.
    """

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix
        self._places = _places(matrix)
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._triangles: dict[str, tuple[np.ndarray, FixedPattern]] = {}

    def with_data(self, data: np.ndarray) -> Any:
        """The matrix with these entries, which the caller may change."""
        made = self._matrix.copy()
        made.data = data
        return made

    def ones(self) -> Any:
        """The pattern itself."""
        return self._matrix.copy()

    def filled(self, matrix: Any, name: str) -> Any:
        """The numbers of a matrix of the same format on the pattern, zeros where it has none.

        Raises
        ------
        InvalidArgumentError
            If it has numbers elsewhere.
        """
        places = _places(matrix)
        if np.array_equal(places, self._places):
            return self.with_data(matrix.data)
        last = self._last
        if last is None or not np.array_equal(last[0], places):
            at = np.minimum(np.searchsorted(self._places, places), max(len(self._places) - 1, 0))
            last = self._last = places, at, self._places[at] == places if len(self._places) else np.zeros_like(at, bool)
        _, at, inside = last
        # a plan may have entries that are zero at every point
        beside = matrix.data[~inside]
        if np.any((beside != 0) & (beside == beside)):
            raise InvalidArgumentError(
                f"for_scipy: {name} has entries outside of the pattern that was found first, with other arguments or "
                f"another state of what the function sees; make another function by for_scipy for these"
            )
        data = np.zeros(len(self._places), matrix.data.dtype)
        data[at[inside]] = matrix.data[inside]
        return self.with_data(data)

    def part(self, matrix: Any, triangle: Triangle | None) -> Any:
        """The triangle of a matrix on the pattern that is wanted: all of it for None."""
        if triangle is None:
            return matrix
        check_triangle(triangle, matrix.shape)
        if triangle not in self._triangles:
            rows, columns = self._matrix.tocoo().coords
            kept = rows >= columns if triangle == "lower" else rows <= columns
            mine = triangle_of(self.ones(), triangle)
            self._triangles[triangle] = kept, FixedPattern(with_indices(mine, _index_dtype(self._matrix)))
        kept, pattern = self._triangles[triangle]
        return pattern.with_data(matrix.data[kept])


def _index_dtype(matrix: Any) -> np.dtype:
    return (matrix.coords[0] if matrix.format == "coo" else matrix.indices).dtype


def _places(matrix: Any) -> np.ndarray:
    """A number for each entry of a matrix, ascending in the order of the format."""
    if matrix.format == "coo":
        rows, columns = matrix.coords
        return rows.astype(np.int64) * matrix.shape[1] + columns
    long, short = matrix.shape[:: 1 if matrix.format == "csr" else -1]
    starts = np.repeat(np.arange(long, dtype=np.int64) * short, np.diff(matrix.indptr))
    return starts + matrix.indices
