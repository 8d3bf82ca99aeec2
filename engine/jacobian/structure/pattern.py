"""Patterns: where a Jacobian can be different from zero.

A `Pattern` has a row per element of a target and a column per element of a source, both in C order. It comes from the
structure of a computation (`engine.jacobian.structure.propagation`), so it holds for every input of the same shapes,
given the same indices.

What keeps this cheap is the choice of form. A matrix in which each row depends on one column at most is a vector, and
moving data about or scaling it only indexes that vector; the identity is not even stored. A matrix that is full, or too
full for sparsity to be of use, is a word. And a small matrix is a table of bools, on which NumPy needs a microsecond
where a sparse matrix takes SciPy a hundred. So is one that stands again and again on the diagonal, as where each row of
a batch is computed alike: it takes no more, however many rows there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.sparsity import Labels, Link, nowhere, numbers
from engine.runtime.lazy_scipy import sparse
from engine.runtime.tuning import TUNING

SMALL = TUNING.exact_entries
"""Patterns of so few entries are kept exactly: they cost nothing."""
FULLEST = TUNING.fullest
"""Larger ones become dense when more than 1 in so many entries is set.

Coloring such a pattern would save little (with 1 in 3 set, at most two thirds of the sweeps), and following it through
a computation would cost about as much as the dense Jacobian itself.
"""
TABLE = TUNING.table_elements
"""Elements of a matrix up to which it is written out."""


class Pattern:
    """Where a matrix can be different from zero. Make one with `zero`, `dense`, `identity`, `map` or `csr`.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns.
    form : str
        ``"zero"``; ``"dense"``; ``"map"``: row i has at most one entry, in column ``index[i]``; ``"csr"``.
    """

    __slots__ = ("_csr", "_index", "_table", "_times", "form", "shape")

    def __init__(
        self, form: str, shape: tuple[int, int], index: Any = None, csr: Any = None, table: Any = None, times: int = 1
    ) -> None:
        self.form = form
        self.shape = shape
        self._index = index
        self._csr = csr
        self._table, self._times = table, times

    # ---- making one ----------------------------------------------------------------------------------------------

    @classmethod
    def zero(cls, rows: int, columns: int) -> Pattern:
        """No entry."""
        return cls("zero", (rows, columns))

    @classmethod
    def dense(cls, rows: int, columns: int) -> Pattern:
        """Every entry."""
        return cls("dense" if rows and columns else "zero", (rows, columns))

    @classmethod
    def identity(cls, size: int) -> Pattern:
        """The diagonal of a square matrix."""
        return cls("map", (size, size))

    @classmethod
    def map(cls, index: Any, columns: int) -> Pattern:
        """At most one entry per row: `index` has the column of each row, -1 for none."""
        if columns == 1 and index.min(initial=0) == 0:
            return cls.dense(len(index), columns)
        return cls("map", (len(index), columns), index=index)

    @classmethod
    def csr(cls, matrix: Any) -> Pattern:
        """The entries of a sparse matrix without duplicates, its columns ascending in each row."""
        rows, columns = matrix.shape
        if matrix.nnz == 0:
            return cls.zero(rows, columns)
        if too_full(matrix.nnz, rows, columns):
            return cls.dense(rows, columns)
        if matrix.nnz <= rows and (lengths := np.diff(matrix.indptr)).max() == 1:
            index = nowhere(rows, columns)
            index[lengths == 1] = matrix.indices
            return cls.map(index, columns)
        return cls("csr", (rows, columns), csr=matrix)

    @classmethod
    def table(cls, there: np.ndarray, times: int = 1) -> Pattern:
        """The entries of a small matrix of bools that are true, which stands on the diagonal so many times."""
        rows, columns = (times * size for size in there.shape)
        entries = times * int(np.count_nonzero(there))
        if entries == 0:
            return cls.zero(rows, columns)
        if too_full(entries, rows, columns):
            return cls.dense(rows, columns)
        if entries <= rows and (lengths := np.count_nonzero(there, axis=1)).max() == 1:
            return cls.map(_repeated(np.where(lengths, there.argmax(axis=1), -1), times, there.shape[1]), columns)
        return cls("csr", (rows, columns), table=there, times=times)

    # ---- what it is ----------------------------------------------------------------------------------------------

    @property
    def is_zero(self) -> bool:
        """Whether there is no entry."""
        return self.form == "zero"

    @property
    def is_dense(self) -> bool:
        """Whether every entry is set (or so many that all are taken to be)."""
        return self.form == "dense"

    @property
    def is_identity(self) -> bool:
        """Whether it is known to be the diagonal of a square matrix."""
        return self.form == "map" and self._index is None

    @property
    def index(self) -> np.ndarray:
        """Of a map, the column of each row; -1 where there is none."""
        assert self.form == "map"
        return numbers(self.shape[0]) if self._index is None else self._index

    @property
    def nnz(self) -> int:
        """The number of entries."""
        if self.form == "map":
            return self.shape[0] if self._index is None else int(np.count_nonzero(self._index >= 0))
        if self.form == "csr":
            return int(self._csr.nnz if self._table is None else self._times * np.count_nonzero(self._table))
        return self.shape[0] * self.shape[1] if self.is_dense else 0

    def counts(self, axis: int) -> np.ndarray:
        """The number of entries of each row (axis 0) or column (axis 1)."""
        rows, columns = self.shape
        if self._table is not None:
            return np.tile(np.count_nonzero(self._table, axis=1 - axis), self._times)
        if self.form == "csr":
            return np.diff(self._csr.indptr) if axis == 0 else _occurrences(self._csr.indices, columns)
        if self.form != "map":
            return np.broadcast_to(np.intp(self.shape[1 - axis] if self.is_dense else 0), self.shape[axis : axis + 1])
        if self.is_identity:
            return np.broadcast_to(np.intp(1), (rows,))
        there = self.index >= 0
        return there.astype(np.intp) if axis == 0 else np.bincount(self.index[there], minlength=columns)

    def to_csr(self) -> sparse.csr_array:
        """As a `scipy.sparse.csr_array` of bools, its columns ascending in each row."""
        if self.form == "csr" and self._table is None:
            return self._csr
        return _csr(self.entries()[1], self.counts(0), self.shape)

    def to_table(self) -> np.ndarray:
        """As a matrix of bools."""
        if self._table is not None and self._times == 1:
            return self._table
        table = np.full(self.shape, self.is_dense)
        if self.form in ("map", "csr"):
            table[self.entries()] = True
        return table

    def entries(self, of: slice | np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The row and the column of each entry. Of rows in a slice, or with some numbers: which of these it is."""
        count, width = self.shape
        if self._table is not None and of is None:
            ends = zip(np.nonzero(self._table), self._table.shape, strict=True)
            rows, columns = (_repeated(index, self._times, size) for index, size in ends)
            return rows, columns
        of = slice(0, count) if of is None else of
        count = of.stop - of.start if isinstance(of, slice) else len(of)
        given = numbers(count, of.start) if isinstance(of, slice) else of
        if self.form == "map":
            index = given if self._index is None else self._index[of]
            there = index >= 0
            rows = numbers(count)
            return (rows, index) if there.all() else (rows[there], index[there])
        if self.form != "csr":
            width *= self.is_dense
            return np.repeat(numbers(count), width), np.tile(numbers(width), count)
        if self._table is not None:
            block, row = np.divmod(given, len(self._table))
            which, place = np.nonzero(self._table[row])
            return which, place + block[which] * self._table.shape[1]
        chosen = self._csr[of]
        return np.repeat(numbers(count), np.diff(chosen.indptr)), chosen.indices

    def __repr__(self) -> str:
        return f"<Pattern {self.shape[0]} x {self.shape[1]} {self.form}, {self.nnz} entries>"

    # ---- making another of it ------------------------------------------------------------------------------------

    def transposed(self) -> Pattern:
        """Rows and columns exchanged."""
        if self.form in ("zero", "dense") or self.is_identity:
            return Pattern(self.form, self.shape[::-1])
        if self._table is not None:
            return Pattern.table(self._table.T, self._times)
        for times, (table,) in repetitions([self]):
            return Pattern.table(table.T, times)
        return Pattern.csr(self.to_csr().T.tocsr())

    def union(self, other: Pattern) -> Pattern:
        """The entries that are set in either."""
        assert self.shape == other.shape
        if other is self or other.is_zero or self.is_dense:
            return self
        if self.is_zero or other.is_dense:
            return other
        if self.form == other.form == "map":
            merged = _union_of_maps(self, other)
            if merged is not None:
                return merged
        if self.shape[0] * self.shape[1] <= TABLE:
            return Pattern.table(self.to_table() | other.to_table())
        for times, (one, another) in repetitions([self, other]):
            return Pattern.table(one | another, times)
        a, b = self.to_csr(), other.to_csr()
        if a.nnz == b.nnz and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices):
            # as of two numbers of a row that depend on the same elements
            return self
        return Pattern.csr(a + b)

    def rows(self, index: Labels) -> Pattern:
        """The rows with the given numbers, one after the other; an empty one for -1. None stands for all, in order."""
        if index is None or self.is_identity:
            return self if index is None else Pattern.map(index, self.shape[1])
        count, columns = len(index), self.shape[1]
        if self.is_zero or not self.shape[0]:
            return Pattern.zero(count, columns)
        holes = count > 0 and int(index.min()) < 0
        if self.is_dense and not holes:
            return Pattern.dense(count, columns)
        if self.form == "map":
            rows = self.index[index]
            return Pattern.map(np.where(index < 0, -1, rows) if holes else rows, columns)
        if max(count, self.shape[0]) * columns <= TABLE:
            table = self.to_table()[index]
            return Pattern.table(table & (index >= 0)[:, None] if holes else table)
        return self._rows_of_csr(index)

    def _rows_of_csr(self, index: Any) -> Pattern:
        shape = len(index), self.shape[1]
        # one more row, empty, which -1 refers to
        lengths = np.append(self.counts(0), 0)[index]
        if too_full(int(lengths.sum()), *shape):
            return Pattern.dense(*shape)
        if self._csr is not None:
            whole = self._csr
            ends, taller = np.append(whole.indptr, whole.indptr[-1]), (self.shape[0] + 1, self.shape[1])
            return Pattern.csr(sparse.csr_array((whole.data, whole.indices, ends), shape=taller)[index])
        for times, (table,) in repetitions([self], len(index)):
            first = _first_of(index, times, len(table))
            if first is not None:
                return Pattern.table(table[first] & (first >= 0)[:, None], times)
        return Pattern.csr(_csr(self.entries(index[index >= 0])[1], lengths, shape))

    def merged(self, labels: Labels, count: int) -> Pattern:
        """The union of the rows of each label, for the labels from 0 to ``count - 1``; rows labeled -1 are left out.

        None stands for each row's own number.
        """
        if labels is None or self.is_zero:
            return self if labels is None else Pattern.zero(count, self.shape[1])
        if self.is_identity and count == 1 and labels.min(initial=0) >= 0:
            return Pattern.dense(1, self.shape[1])
        if self.is_dense:
            there = np.zeros(count, bool)
            there[labels[labels >= 0]] = True
            return Pattern.dense(count, self.shape[1]) if there.all() else _block(there, self.shape[1])
        if self.form == "map":
            one = self._merged_map(labels, count)
            if one is not None:
                return one
        if count * self.shape[1] <= TABLE:
            return self._merged_in_table(labels, count)
        for times, (table,) in repetitions([self], count):
            first = _first_of(labels, times, count // times)
            if first is not None:
                return Pattern.table(Pattern.table(table).merged(first, count // times).to_table(), times)
        ends, order = grouped(labels + 1, count + 1)  # rows that are left out come first
        whole = self.to_csr()[order[ends[1] :]]
        ends = whole.indptr[ends[1:] - ends[1]]
        matrix = sparse.csr_array((whole.data, whole.indices, ends), shape=(count, self.shape[1]))
        matrix.sum_duplicates()
        return Pattern.csr(matrix)

    def _merged_in_table(self, labels: Any, count: int) -> Pattern:
        rows, columns = self.entries()
        merged = labels[rows]
        table = np.zeros((count, self.shape[1]), bool)
        table[merged[merged >= 0], columns[merged >= 0]] = True
        return Pattern.table(table)

    def _merged_map(self, labels: Any, count: int) -> Pattern | None:
        """The merged map if it is one again: if all rows of a label have the same column."""
        index = self.index
        if min(labels.min(initial=0), index.min(initial=0)) < 0:
            there = (labels >= 0) & (index >= 0)
            labels, index = labels[there], index[there]
        merged = nowhere(count, self.shape[1])
        # most that are not show that soon
        for some in slice(1 << 12), slice(None):
            merged[labels[some]] = index[some]
            if not np.array_equal(merged[labels[some]], index[some]):
                return None
        return Pattern.map(merged, self.shape[1])

    def _block(self, times: int) -> np.ndarray | None:
        """The matrix that stands on the diagonal so many times, and all entries are in; None if none does."""
        rows, columns = (size // times for size in self.shape)
        if self._table is not None:
            return np.kron(np.eye(self._times // times, dtype=bool), self._table)
        index = numbers(rows) if self.is_identity else np.full(rows, -1)
        if self.form == "map" and not self.is_identity:
            found = _first_of(self._index, times, columns)
            if found is None or found.max(initial=-1) >= columns:
                return None
            index = found
        elif self.form not in ("map", "zero"):
            return None
        block = np.zeros((rows, columns), bool)
        block[np.flatnonzero(index >= 0), index[index >= 0]] = True
        return block

    def through(self, link: Link) -> Pattern:
        """The pattern of an op's result, from the one of its operand and the link between the two."""
        return self.merged(link.operand, link.labels).rows(link.out)


def repetitions(patterns: Sequence[Pattern], *lengths: int) -> Iterator[tuple[int, list[np.ndarray]]]:
    """How often small matrices stand on the diagonals of all patterns, and these, which hold all entries.

    The smallest come first. `lengths` are divided into as many parts.
    """
    if any(p.is_dense or (p.form == "csr" and p._table is None) for p in patterns):
        return
    most = math.gcd(*lengths, *[n for p in patterns for n in (p.shape if p._table is None else (p._times,))])
    area = max([p.shape[0] * p.shape[1] for p in patterns])
    for size in range(1, most // 2 + 1):
        times = most // size
        if area // times**2 > TABLE:
            break
        if most % size == 0:
            found = [p._block(times) for p in patterns]
            blocks = [b for b in found if b is not None]
            if len(blocks) == len(patterns):
                yield times, blocks


def ranges(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``starts[i], starts[i] + 1, ...`` (counts[i] of them), for each i in turn: each number's i, and the number."""
    which = np.repeat(numbers(len(counts)), counts)
    ends = np.cumsum(counts)
    return which, numbers(len(which)) + (starts - (ends - counts))[which]


def grouped(keys: np.ndarray, count: int, values: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Where each key below `count` starts and ends among all keys in order, and the values of the keys in this order.

    Of equal keys it is the order in which they are given. Without `values` they are 0, 1, 2...: a stable argsort.
    """
    values, width = (numbers(len(keys)), len(keys)) if values is None else (values, 1 + int(values.max(initial=0)))
    keys = keys.astype(numbers(1, max(count, width)).dtype, copy=False)
    places = sparse.coo_array((np.ones(len(keys), bool), (keys, values)), shape=(count, width))
    # or SciPy would join those that have one value
    places.has_canonical_format = True
    whole = places.tocsr()
    return whole.indptr, whole.indices


def _repeated(first: np.ndarray, times: int, step: int) -> np.ndarray:
    """The numbers again and again, each time so much higher; what is -1 stays that."""
    if times == 1:
        return first
    kind = numbers(1, times * step).dtype
    whole = first.astype(kind) + np.multiply(numbers(times), step, dtype=kind)[:, None]
    if first.min(initial=0) < 0:
        whole[:, first < 0] = -1
    return whole.ravel()


def _first_of(index: np.ndarray, times: int, step: int) -> np.ndarray | None:
    """The first so many of some numbers, if the others are `_repeated` of them; else None."""
    length = len(index) // times
    first = index[:length]
    # most that are not so show that soon
    for count in (min(3, times), times):
        before = index[: (count - 1) * length]
        expected = before + step
        if first.min(initial=0) < 0:
            expected[before < 0] = -1
        if not np.array_equal(index[length : count * length], expected):
            return None
    return first


def too_full(entries: int, rows: int, columns: int) -> bool:
    """Whether a pattern of so many entries is taken to be dense."""
    size = rows * columns
    return entries == size or (size > SMALL and entries > size // FULLEST)


def stacked(patterns: list[Pattern]) -> Pattern:
    """The rows of several patterns with as many columns, one below the other."""
    columns = patterns[0].shape[1]
    rows = sum(p.shape[0] for p in patterns)
    if len(patterns) == 1:
        return patterns[0]
    if all(p.is_dense for p in patterns):
        return Pattern.dense(rows, columns)
    if columns == 1 or all(p.form in ("map", "zero") for p in patterns):
        parts = [p.index if p.form == "map" else nowhere(p.shape[0], columns) + (not p.is_zero) for p in patterns]
        return Pattern.map(np.concatenate(parts), columns)
    if rows * columns <= TABLE:
        return Pattern.table(np.concatenate([p.to_table() for p in patterns]))
    if too_full(sum(p.nnz for p in patterns), rows, columns):
        return Pattern.dense(rows, columns)
    return Pattern.csr(sparse.vstack([p.to_csr() for p in patterns], format="csr"))


def counts(patterns: Sequence[Pattern], axis: int) -> np.ndarray:
    """The number of entries of each row (axis 0) or column (axis 1) of several patterns together."""
    there = [p for p in patterns if not p.is_zero]
    if all(p.is_identity for p in there):
        return np.broadcast_to(np.intp(len(there)), patterns[0].shape[axis : axis + 1])
    return np.asarray(sum(p.counts(axis) for p in there))


def _occurrences(index: np.ndarray, count: int) -> np.ndarray:
    """How often each number below `count` occurs; NumPy makes wide integers of those that it counts at a time."""
    step, times = max(count, 1 << 18), np.zeros(count, np.intp)
    for first in range(0, len(index), step):
        times += np.bincount(index[first : first + step], minlength=count)
    return times


def _csr(indices: Any, lengths: Any, shape: tuple[int, int]) -> sparse.csr_array:
    ends = np.zeros(shape[0] + 1, numbers(1, max(len(indices), *shape)).dtype)
    np.cumsum(lengths, out=ends[1:])
    return sparse.csr_array((np.ones(len(indices), bool), indices, ends), shape=shape)


def _block(there: Any, columns: int) -> Pattern:
    """Full rows where `there` is true, empty ones elsewhere."""
    return Pattern.dense(1, columns).rows(np.where(there, 0, -1))


def _union_of_maps(a: Pattern, b: Pattern) -> Pattern | None:
    """The union of two maps if it is one again."""
    if a.is_identity and b.is_identity:
        return a
    first, second = a.index, b.index
    differ = (first != second) & (first >= 0) & (second >= 0)
    if differ.any():
        return None
    return Pattern.map(np.maximum(first, second), a.shape[1])
