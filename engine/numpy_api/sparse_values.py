"""Sparse matrices whose entries are values: ``csr_array((t, (rows, columns)), shape)`` of a tensor `t`.

SciPy's hold arrays. A matrix of SciPy's that is made of values, or is multiplied by one, is a `SparseValues`: the
places of the entries are fixed, the entries carry derivatives. It has the products and sums that SciPy's have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.core.operands import Operand
from engine.core.value import Value, dtype_of
from engine.numpy_api.functions import NotTaken, as_asked, constant, length, rank_of
from engine.ops import gather, segment
from engine.ops import shape as shapes
from engine.ops.lift import as_operand
from engine.runtime.errors import DTypeError, ShapeError
from engine.runtime.lazy_scipy import scipy


class SparseValues:
    """A sparse matrix with values for entries.

    Parameters
    ----------
    data : value, shape (nnz,)
    places : pair of int array, shape (nnz,)
        The rows and the columns of the entries; those at one place are added up.
    shape : tuple of int

    Examples
    --------
    >>> from engine.core.eager import EagerTensor
    >>> a = SparseValues(EagerTensor(np.array([2.0, 3.0])), ([0, 1], [1, 0]), (2, 2))
    >>> (a @ np.array([1.0, 10.0])).numpy(), a.T.toarray().numpy().tolist()
    (array([20.,  3.]), [[0.0, 3.0], [2.0, 0.0]])
    """

    __array_ufunc__ = None  # arrays leave their operators to it
    ndim = 2

    def __init__(self, data: Any, places: Any, shape: Any) -> None:
        # the identity: a gradient with respect to the entries themselves is to be a tensor, not rows of one
        self.data: Any = shapes.identity(data)
        self.rows, self.columns = (np.asarray(i, np.int64) for i in places)
        self.shape = (int(shape[0]), int(shape[1]))

    @classmethod
    def of(cls, matrix: Any, like: Any) -> SparseValues:
        """A matrix of SciPy's, its entries in the dtype of `like`."""
        if isinstance(matrix, SparseValues):
            return matrix
        entries = scipy.sparse.coo_array(matrix)
        return cls(constant(entries.data, like), entries.coords, matrix.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return dtype_of(self.data)

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.rows)

    @property
    def T(self) -> SparseValues:
        """The transpose."""
        return SparseValues(self.data, (self.columns, self.rows), self.shape[::-1])

    def transpose(self) -> SparseValues:
        """The transpose."""
        return self.T

    def __repr__(self) -> str:
        return f"<sparse {self.shape[0]} x {self.shape[1]} of {self.nnz} values of {self.dtype.name}>"

    def tocsr(self, copy: bool = False) -> SparseValues:
        """The matrix itself: there is one format of values."""
        return self

    tocsc = tocoo = copy = tocsr

    # ---- products ----------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseValues) or scipy.sparse.issparse(other):
            return self._times_sparse(SparseValues.of(other, self.data))
        other = as_operand(other, self.dtype, "matmul")
        if rank_of(other) not in (1, 2) or length(other, 0) != self.shape[1]:
            raise ShapeError(
                f"matmul: a sparse matrix of shape {self.shape} needs a vector or a matrix of {self.shape[1]} rows"
            )
        weights = self.data if rank_of(other) == 1 else np.expand_dims(self.data, -1)
        terms = weights * gather.gather(shapes.identity(other), self.columns, axis=0)
        return segment.unsorted_segment_sum(terms, self.rows, self.shape[0])

    def __rmatmul__(self, other: Any) -> Any:
        if scipy.sparse.issparse(other):
            return SparseValues.of(other, self.data) @ self
        other = as_operand(other, self.dtype, "matmul")
        return np.transpose(self.T @ np.transpose(other))

    dot = __matmul__

    def _times_sparse(self, other: SparseValues) -> SparseValues:
        """Each entry times those of the row that it meets."""
        if self.shape[1] != other.shape[0]:
            raise ShapeError(f"matmul: sparse matrices of shapes {self.shape} and {other.shape} do not fit")
        order = np.argsort(other.rows, kind="stable")
        starts = np.searchsorted(other.rows[order], np.arange(other.shape[0] + 1))
        counts = np.diff(starts)[self.columns]
        mine = np.repeat(np.arange(self.nnz), counts)
        within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        theirs = order[starts[self.columns][mine] + within]
        data = gather.gather(self.data, mine) * gather.gather(other.data, theirs)
        return SparseValues(data, (self.rows[mine], other.columns[theirs]), (self.shape[0], other.shape[1])).summed()

    def summed(self) -> SparseValues:
        """The same matrix with at most one entry at each place, row by row."""
        places, which = np.unique(self.rows * self.shape[1] + self.columns, return_inverse=True)
        data = segment.unsorted_segment_sum(self.data, which.ravel(), len(places))
        return SparseValues(data, np.divmod(places, self.shape[1]), self.shape)

    # ---- element by element ------------------------------------------------------------------------------------------

    def multiply(self, other: Any) -> SparseValues:
        """The product with a number, or with a dense matrix or vector element by element."""
        other = as_operand(other, self.dtype, "multiply")
        if rank_of(other):
            whole: Any = np.broadcast_to(other, self.shape)
            other = gather.gather(np.reshape(whole, [-1]), self.rows * self.shape[1] + self.columns)
        return SparseValues(self.data * other, (self.rows, self.columns), self.shape)

    __mul__ = __rmul__ = multiply

    def __truediv__(self, other: Any) -> SparseValues:
        return self.multiply(1.0 / as_operand(other, self.dtype, "truediv"))

    def __neg__(self) -> SparseValues:
        return SparseValues(-self.data, (self.rows, self.columns), self.shape)

    def __add__(self, other: Any) -> Any:
        if not (isinstance(other, SparseValues) or scipy.sparse.issparse(other)):
            return self.toarray() + other
        other = SparseValues.of(other, self.data)
        if other.shape != self.shape:
            raise ShapeError(f"add: sparse matrices of shapes {self.shape} and {other.shape} do not fit")
        both = (self, other)
        places = np.concatenate([m.rows for m in both]), np.concatenate([m.columns for m in both])
        return SparseValues(np.concatenate([m.data for m in both]), places, self.shape).summed()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    # ---- what is in it -----------------------------------------------------------------------------------------------

    def toarray(self) -> Operand:
        """The dense matrix."""
        flat = segment.unsorted_segment_sum(
            self.data, self.rows * self.shape[1] + self.columns, self.shape[0] * self.shape[1]
        )
        return np.reshape(flat, self.shape)

    todense = toarray

    def diagonal(self) -> Operand:
        """The diagonal."""
        on = np.flatnonzero(self.rows == self.columns)
        return segment.unsorted_segment_sum(gather.gather(self.data, on), self.rows[on], min(self.shape))

    def sum(self, axis: int | None = None) -> Operand:
        """The sum of all entries, or of those of each column (`axis` 0) or row (1)."""
        if axis is None:
            return np.sum(self.data)
        along = self.rows if axis in (1, -1) else self.columns
        return segment.unsorted_segment_sum(self.data, along, self.shape[0 if axis in (1, -1) else 1])


# ---- what makes them -------------------------------------------------------------------------------------------------


def made(theirs: Callable[..., Any], arg1: Any, shape: Any = None, dtype: Any = None) -> SparseValues:
    """The matrix that a class of SciPy's makes of ``(data, (rows, columns))`` or ``(data, indices, indptr)``."""
    data, *places = arg1
    try:
        data = as_asked(data, dtype)
    except NotTaken:
        name = theirs.__name__
        raise DTypeError(f"{name}: argument `dtype` must be complex, like the entries, got {dtype!r}") from None
    if len(places) == 1:
        places = [np.asarray(i) for i in places[0]]
        sizes = [int(i.max(initial=-1)) + 1 for i in places] if shape is None else shape
        return SparseValues(data, places, sizes)
    # SciPy finds the places and checks them
    counted = theirs((np.arange(length(data, 0)), *places), shape=shape).tocoo()
    order = np.argsort(counted.data)
    return SparseValues(data, [i[order] for i in counted.coords], counted.shape)


def diagonals(diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None) -> Any:
    """The matrix that ``scipy.sparse.diags`` makes of diagonals, values among them."""
    if np.ndim(offsets) == 0 and not isinstance(diagonals, (list, tuple)):
        diagonals = [diagonals]
    lines, offsets = [as_operand(d) for d in diagonals], np.ravel(offsets).tolist()
    like = next(d for d in lines if isinstance(d, Value))
    lines = [np.reshape(d if isinstance(d, Value) else constant(d, like), [-1]) for d in lines]
    if len(lines) != len(offsets):
        raise ValueError(f"scipy.sparse.diags: got {len(lines)} diagonals and {len(offsets)} offsets")
    if shape is None:
        n = length(lines[0], 0) + abs(offsets[0])
        shape = (n, n)
    data, rows, columns = [], [], []
    for line, k in zip(lines, offsets, strict=True):
        count = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if length(line, 0) not in (1, count):
            raise ValueError(f"scipy.sparse.diags: the diagonal of offset {k} needs {count} elements")
        data.append(np.broadcast_to(line, [count]))
        rows.append(np.arange(count) - min(k, 0))
        columns.append(np.arange(count) + max(k, 0))
    return SparseValues(np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)), shape)
