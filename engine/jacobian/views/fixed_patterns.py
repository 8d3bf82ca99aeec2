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
    """The entries of sparse matrices, in the order in which they lie in one that has an entry in each place."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix
        self._places = _places(matrix)
        self._last: tuple[list[np.ndarray], np.ndarray, np.ndarray] | None = None
        self._triangles: dict[str, tuple[np.ndarray, FixedPattern]] = {}

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self._places)

    def is_of(self, matrix: Any) -> bool:
        """Whether a matrix has this pattern, and indices of this dtype."""
        mine, own = _structure(matrix), _structure(self._matrix)
        return mine[0].dtype == own[0].dtype == mine[1].dtype and _are_equal(mine, own)

    def with_data(self, data: np.ndarray, triangle: Triangle | None = None) -> Any:
        """The matrix with these entries, or its triangle: the caller's, who may change it."""
        if triangle is not None:
            kept, pattern = self._triangle(triangle)
            return pattern.with_data(data[kept])
        # SciPy has checked the structure once
        made = object.__new__(type(self._matrix))
        made.__dict__.update(self._matrix.__dict__)
        made.data = data
        if made.format == "coo":
            made.coords = tuple([c.copy() for c in made.coords])
        else:
            made.indices, made.indptr = made.indices.copy(), made.indptr.copy()
        return made

    def data_of(self, matrix: Any, name: str) -> np.ndarray:
        """The numbers of a matrix of the same format on the pattern, zeros where it has none.

        Raises
        ------
        InvalidArgumentError
            If it has numbers elsewhere.
        """
        structure = _structure(matrix)
        if _are_equal(structure, _structure(self._matrix)):
            return matrix.data
        last = self._last
        if last is None or not _are_equal(structure, last[0]):
            places = _places(matrix)
            at = np.minimum(np.searchsorted(self._places, places), max(self.nnz - 1, 0))
            inside = self._places[at] == places if self.nnz else np.zeros(len(at), bool)
            last = self._last = structure, at, inside
        _, at, inside = last
        # a plan may have entries that are zero at every point
        beside = matrix.data[~inside]
        if np.any((beside != 0) & (beside == beside)):
            raise InvalidArgumentError(
                f"for_scipy: {name} has entries outside of the pattern that was found first, with other arguments or "
                f"another state of what the function sees; make another function by for_scipy for these"
            )
        data = np.zeros(self.nnz, matrix.data.dtype)
        data[at[inside]] = matrix.data[inside]
        return data

    def _triangle(self, triangle: Triangle) -> tuple[np.ndarray, FixedPattern]:
        """Which entries lie in a triangle, and their pattern."""
        if triangle not in self._triangles:
            check_triangle(triangle, self._matrix.shape)
            rows, columns = self._matrix.tocoo().coords
            kept = np.flatnonzero(rows >= columns if triangle == "lower" else rows <= columns)
            part = triangle_of(self._matrix.copy(), triangle)
            self._triangles[triangle] = kept, FixedPattern(with_indices(part, _structure(self._matrix)[0].dtype))
        return self._triangles[triangle]


def _structure(matrix: Any) -> list[np.ndarray]:
    """The arrays that say where the entries of a matrix are."""
    return list(matrix.coords) if matrix.format == "coo" else [matrix.indices, matrix.indptr]


def _are_equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(a.shape == b.shape and bool((a == b).all()) for a, b in zip(one, other, strict=True))


def _places(matrix: Any) -> np.ndarray:
    """A number for each entry of a matrix, ascending in the order of the format."""
    if matrix.format == "coo":
        rows, columns = matrix.coords
        return rows.astype(np.int64) * matrix.shape[1] + columns
    long, short = matrix.shape[:: 1 if matrix.format == "csr" else -1]
    starts = np.repeat(np.arange(long, dtype=np.int64) * short, np.diff(matrix.indptr))
    return starts + matrix.indices
