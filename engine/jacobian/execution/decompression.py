"""Where the numbers of the sweeps' results belong in the blocks of the Jacobian.

Worked out once, when the plan is made. A block is one of

- `Whole`: a result of one sweep, as it is;
- `Stacked`: whole results below one another;
- `Beside`: these, beside one another;
- `Scattered`: single numbers out of one or more results.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.core.sparsity import counts_up, nowhere, numbers
from engine.jacobian.planning.direction import Group, PlannedSweep
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.peeling import IndexMap
from engine.runtime.lazy_scipy import sparse

_STRETCH = 128
"""Entries in a row's stretch, on average, from which on they are put in their places stretch by stretch."""


@dataclass(frozen=True)
class Result:
    """The result of a sweep for one of the values it reads, or that times -1."""

    number: int
    read: int
    negated: bool = False


@dataclass(frozen=True)
class Whole:
    """A result as it is: seeds are rows (of a reverse sweep) or columns (of a forward sweep)."""

    result: Result
    forward: bool


@dataclass(frozen=True)
class Stacked:
    """Blocks of rows below one another; None for rows of zeros."""

    parts: tuple[tuple[Whole | None, int], ...]


@dataclass(frozen=True)
class Beside:
    """Blocks of columns beside one another; None for columns of zeros."""

    parts: tuple[tuple[Whole | Stacked | None, int], ...]


@dataclass(frozen=True, eq=False)
class Scattered:
    """Numbers out of the flattened, joined results, in the order of a CSR matrix."""

    results: tuple[Result, ...]
    positions: np.ndarray
    """Where the number of each entry stands in the joined results."""
    indices: np.ndarray
    indptr: np.ndarray
    """Columns and row pointers, as in `scipy.sparse.csr_array`."""
    shape: tuple[int, int]
    """Of the block."""
    more: tuple[np.ndarray, np.ndarray] | None = None
    """Where further numbers stand that are to be added, in ascending order, and to which entry each: numbers which
    lie together are added together."""

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.indices)

    @property
    def further(self) -> int:
        """Number of those that are added to entries."""
        return 0 if self.more is None else len(self.more[0])

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(a.nbytes for a in (self.positions, self.indices, self.indptr, *(self.more or ())))

    @functools.cached_property
    def _like(self) -> sparse.csr_array:
        """A matrix of this structure, which SciPy has checked."""
        return sparse.csr_array((self.indices, self.indices, self.indptr), shape=self.shape)

    def matrix(self, values: np.ndarray) -> sparse.csr_array:
        """The block with these entries. The caller may change it: `eliminate_zeros` moves indices, say."""
        like = self._like
        copied = object.__new__(type(like))
        copied.__dict__.update(like.__dict__)
        copied.data, copied.indices, copied.indptr = values, self.indices.copy(), self.indptr.copy()
        return copied

    def reordered(self, order: np.ndarray) -> Scattered:
        """The block with its entries in another order, each as often as it is named."""
        more = self.more
        if more is not None:
            of, left = [], numbers(len(order))
            while len(left):
                place = nowhere(self.nnz, len(order))
                place[order[left[::-1]]] = left[::-1]
                to = place[more[1]]
                of.append((more[0][to >= 0], to[to >= 0]))
                # those that are named once more
                left = left[place[order[left]] != left]
            more = _ascending(*map(np.concatenate, zip(*of, strict=True)))
        return replace(self, positions=self.positions[order], more=more)


Dense = Whole | Stacked | Beside
Block = Dense | Scattered | None


@dataclass(eq=False)
class Decompression:
    """The blocks for given ends and sweeps.

    Targets and sources consist of index maps `rows` and `columns`; the patterns are those of their groups.
    """

    path: Path
    rows: Sequence[IndexMap]
    columns: Sequence[IndexMap]
    targets: Sequence[Group]
    sources: Sequence[Group]
    patterns: list[list[Pattern]]
    sweeps: Sequence[PlannedSweep]

    @property
    def _numbers(self) -> int:
        """Those that all sweeps give."""
        return 2 * sum([one.count * self.path.size(slot) for one in self.sweeps for slot in one.reads])

    def block(self, i: int, j: int, sparse_only: bool) -> Block:
        """The block of target i and source j; None if it is zero."""
        rows = [p for p in self.rows if p.of == i]
        columns = [p for p in self.columns if p.of == j]
        shape = self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j])
        if 0 in shape and self.path.targets[i] in self.path.live:
            return _in_csr_order([], [(numbers(0), numbers(0), numbers(0))], shape)
        if all(self.patterns[t][s].is_zero for t, _ in self._groups(rows) for s, _ in self._columns(columns)):
            return None
        return (None if sparse_only else self._whole_columns(rows, columns, i, j)) or self._scattered(
            rows, columns, i, j
        )

    # ---- whole results -----------------------------------------------------------------------------------------------

    def _whole_columns(self, rows: Sequence[IndexMap], columns: Sequence[IndexMap], i: int, j: int) -> Dense | None:
        """The block as whole results, if it is that."""
        ordered = self._in_sequence(columns, self.path.sources[j])
        if ordered is None or any(part.inner is not None for part in ordered):
            return None
        parts: list[tuple[Whole | Stacked | None, int]] = []
        for part in ordered:
            sources = [s for s, g in enumerate(self.sources) if g.slot == part.slot]
            if len(sources) != 1 or self.sources[sources[0]].index is not None:
                return None
            zero = all(self.patterns[t][sources[0]].is_zero for t, _ in self._groups(rows))
            block = None if zero else self._stacked(rows, sources[0], i)
            if block is None and not zero:
                return None
            parts.append((block, self.path.size(part.slot)))
        return parts[0][0] if len(parts) == 1 else Beside(tuple(parts))

    def _stacked(self, rows: Sequence[IndexMap], source: int, i: int) -> Whole | Stacked | None:
        """The columns of one value as whole results."""
        ordered = self._in_sequence(rows, self.path.targets[i])
        if ordered is None:
            return None
        parts: list[tuple[Whole | None, int]] = []
        for part in ordered:
            held = [(t, g) for t, g in enumerate(self.targets) if g.slot == part.slot]
            if len(held) != 1:
                return None
            t, group = held[0]
            block = None
            if not self.patterns[t][source].is_zero:
                same = part.inner is group.index or (
                    part.inner is not None and group.index is not None and np.array_equal(part.inner, group.index)
                )
                block = self._whole(t, source) if same else None
                if block is None:
                    return None
            parts.append((block, part.length(self.path.size(part.slot))))
        return parts[0][0] if len(parts) == 1 else Stacked(tuple(parts))

    def _in_sequence(self, parts: Sequence[IndexMap], slot: int) -> list[IndexMap] | None:
        """The parts in the order in which one follows the other in a target or source; None if they do not."""
        start, ordered = 0, []
        for part in sorted(parts, key=lambda p: 0 if p.outer is None else int(p.outer[0]) if len(p.outer) else 0):
            length = part.length(self.path.size(part.slot))
            if part.outer is None:
                follows = start == 0 or not length
            else:
                follows = np.array_equal(part.outer, np.arange(start, start + length))
            if not follows:
                return None
            ordered.append(part)
            start += length
        return ordered if start == self.path.size(slot) else None

    def _whole(self, t: int, s: int) -> Whole | None:
        """The result for two groups, if each row or column has a seed of its own."""
        number, one = self._sweep_of(t, s)
        if one.colors is not None or (one.direction == "forward" and self.targets[t].index is not None):
            return None
        read = self.sources[s].slot if one.direction == "reverse" else self.targets[t].slot
        return Whole(Result(number, one.reads.index(read)), one.direction == "forward")

    def _sweep_of(self, t: int, s: int) -> tuple[int, PlannedSweep]:
        """The pass that gives the block of two groups."""
        target, source = self.targets[t], self.sources[s]
        for direction, start, end in (("reverse", target, source), ("forward", source, target)):
            for number, one in enumerate(self.sweeps):
                starts = one.group.slot == start.slot and one.group.index is start.index
                if one.direction == direction and starts and end.slot in one.reads:
                    return number, one
        raise AssertionError("a block that is not zero is not reached by any pass")

    # ---- single numbers ----------------------------------------------------------------------------------------------

    def _scattered(self, rows: Sequence[IndexMap], columns: Sequence[IndexMap], i: int, j: int) -> Scattered:
        results: list[Result] = []
        starts: list[int] = []
        end = 0
        shape = (self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j]))
        pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for t, part in self._groups(rows):
            for s, column in self._columns(columns):
                if self.patterns[t][s].is_zero:
                    continue
                number, one = self._sweep_of(t, s)
                read = self.sources[s].slot if one.direction == "reverse" else self.targets[t].slot
                row, col, position, negated = self._entries(t, s, part, column, one)
                signs = (False,) if negated is None or not negated.any() else (False, True)
                signed = [Result(number, one.reads.index(read), sign) for sign in signs]
                for result in signed:
                    if result not in results:
                        results.append(result)
                        starts.append(end)
                        end += one.count * self.path.size(read)
                first, last = starts[results.index(signed[0])], starts[results.index(signed[-1])]
                if first:
                    position += first
                if last != first:
                    position[negated] += last - first
                pieces.append((row, col, position))
        return _in_csr_order(results, pieces, shape)

    def _groups(self, rows: Sequence[IndexMap]) -> Iterator[tuple[int, IndexMap]]:
        return ((t, part) for part in rows for t, group in enumerate(self.targets) if group.slot == part.slot)

    def _columns(self, columns: Sequence[IndexMap]) -> Iterator[tuple[int, IndexMap]]:
        return ((s, part) for part in columns for s, group in enumerate(self.sources) if group.slot == part.slot)

    def _entries(
        self, t: int, s: int, part: IndexMap, column: IndexMap, one: PlannedSweep
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Row, column and position in the pass's result of every entry of two groups within two parts.

        And which of them are to be subtracted; None for none.
        """
        target, source = self.targets[t], self.sources[s]
        sizes = self.path.size(target.slot), self.path.size(source.slot)
        rows, outer, sign = _rows_within(target, part, sizes[0])
        chosen, in_source = _entries_of(self.patterns[t][s], rows)
        in_target = chosen if rows is None else rows[chosen]
        outer_row = chosen if outer is None else outer[chosen]
        row = in_target if target.index is None else target.index[in_target]
        col = in_source if source.index is None else source.index[in_source]
        # the numbers that a seed gives are those of the other end
        seed, size, number = (in_target, sizes[1], col) if one.direction == "reverse" else (in_source, sizes[0], row)
        position = number.astype(numbers(1, self._numbers).dtype)
        if one.count > 1:
            seed = (seed if one.colors is None else one.colors[seed]).astype(position.dtype)
            seed *= size
            position += seed
        if column.inner is None:
            assert sign is None
            return outer_row, col if column.outer is None else column.outer[col], position, None
        if sign is not None and column.sign is not None:
            each, which = members(column.inner, sizes[1], col)
            _, place_of = column.indices(sizes[1])
            negated = sign[chosen[each]] != column.sign[which]
            return outer_row[each], place_of[which], position[each], negated
        inner, place_of = column.indices(sizes[1])
        place = nowhere(sizes[1], self.path.size(self.path.sources[column.of]))
        place[inner] = place_of
        outer_col = place[col]
        if len(inner) == sizes[1]:
            return outer_row, outer_col, position, None
        kept = outer_col >= 0
        return outer_row[kept], outer_col[kept], position[kept], None


def _rows_within(
    group: Group, part: IndexMap, size: int
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Which rows of the group's pattern are in the part, and of what target they are; None for all, in order.

    And the signs of the part, for these rows.
    """
    if group.index is part.inner:
        return None, part.outer, part.sign
    inner, outer = part.indices(size)
    if group.index is None:
        return inner, outer, part.sign
    place = np.full(size, -1)
    place[group.index] = np.arange(len(group.index))
    rows = place[inner]
    return rows[rows >= 0], outer[rows >= 0], None if part.sign is None else part.sign[rows >= 0]


def members(index: np.ndarray, size: int, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of the numbers `wanted`, below `size`, where it stands in `index`: which of them, and the position."""
    order, counts = np.argsort(index, kind="stable"), np.bincount(index, minlength=size)
    starts = np.cumsum(counts) - counts
    return np.repeat(np.arange(len(wanted)), counts[wanted]), order[_ranges(starts[wanted], counts[wanted])]


def _entries_of(pattern: Pattern, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The entries of the given rows: which of them, and the column."""
    if rows is None:
        return pattern.entries()
    matrix = pattern.to_csr()
    counts = np.diff(matrix.indptr)[rows]
    return np.repeat(np.arange(len(rows)), counts), matrix.indices[_ranges(matrix.indptr[:-1][rows], counts)]


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """``starts[i], starts[i] + 1, ...`` (counts[i] of them), for each i in turn."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)


def _ascending(numbers: np.ndarray, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(numbers, kind="stable")
    return numbers[order], entries[order]


Pieces = list[tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Row, column, and position of entries."""
Placed = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int], tuple[np.ndarray, np.ndarray] | None]
"""The arrays and the shape of a `Scattered`."""


def _in_csr_order(results: Sequence[Result], pieces: Pieces, shape: tuple[int, int]) -> Scattered:
    """A scatter of numbers that stand at each position to a row and a column."""
    # those further left first: then nothing is left to be sorted, mostly
    pieces.sort(key=lambda piece: int(piece[1][0]) - int(piece[0][0]) if len(piece[0]) else 0)
    return Scattered(tuple(results), *(_interleaved(pieces, shape) or _sorted(pieces, shape)))


def _sorted(pieces: Pieces, shape: tuple[int, int]) -> Placed:
    """Any entries."""
    row, column, position = (of[0] if len(of) == 1 else np.concatenate(of) for of in zip(*pieces, strict=True))
    pieces.clear()
    kind = numbers(1, max(len(row), *shape)).dtype
    entries = sparse.coo_array((position, tuple([x.astype(kind, copy=False) for x in (row, column)])), shape=shape)
    # or SciPy would add up the positions of entries that fall together
    entries.has_canonical_format = True
    del row, column, position
    whole = entries.tocsr()
    del entries
    whole.sort_indices()
    position, ends = whole.data, whole.indptr
    if whole.has_canonical_format:
        return position, whole.indices, ends, shape, None
    # some entries are sums
    new = np.append(True, whole.indices[1:] != whole.indices[:-1])
    new[ends[:-1][np.diff(ends) > 0]] = True
    columns, number = whole.indices[new], np.cumsum(new, dtype=kind)
    del whole
    ends, number = np.where(ends > 0, number[ends - 1], kind.type(0)), number[~new] - kind.type(1)
    further, position = position[~new], position[new]
    del new
    return position, columns, ends, shape, _ascending(further, number)


def _interleaved(pieces: Pieces, shape: tuple[int, int]) -> Placed | None:
    """Entries whose rows and columns go on by equal steps, over long stretches; None if some do not.

    The rows of all have one step. A line is so many rows: a stretch has an entry in each of its lines.
    """
    pieces = [piece for piece in pieces if len(piece[0])]
    steps = {1 if counts_up(row) else int(np.diff(row).min()) for row, _, _ in pieces if len(row) > 1}
    if len(steps) != 1 or min(steps) < 1:
        return None
    (step,) = steps
    entries = sum([len(row) for row, _, _ in pieces])
    changes: dict[int, dict[int, int | None]] = {0: {}, -(-shape[0] // step): {}}
    most = entries // _STRETCH
    for k, (row, column, _) in enumerate(pieces):
        starts = _stretches(row, column, step)
        most -= len(starts)
        if most < 0 or (row[starts] % step != row[0] % step).any():
            return None
        for a, b in itertools.pairwise([*starts, len(row)]):
            first = int(row[a]) // step
            changes.setdefault(first, {})[k] = a - first
            changes.setdefault(first + b - a, {}).setdefault(k, None)
    kind = numbers(1, max(entries, shape[1])).dtype
    places, columns = np.empty(entries, pieces[0][2].dtype), np.empty(entries, kind)
    more: list[tuple[np.ndarray, np.ndarray]] = []
    counts, lengths, base = [], [], 0
    offsets: dict[int, int | None] = {}
    for first, last in itertools.pairwise(sorted(changes)):
        offsets.update(changes[first])
        count, here = last - first, []
        for k, at in offsets.items():
            if at is not None:
                row, column, position = pieces[k]
                of = slice(first + at, last + at)
                here.append((int(row[0]) % step, int(column[of][0]), int(column[of][-1]), k, of))
        here.sort(key=lambda piece: piece[:4])
        width = len({piece[:2] for piece in here})
        block, place = (whole[base : base + width * count].reshape(count, width) for whole in (columns, places))
        n, before, per_row = -1, (-1, 0, 0), [0] * step
        for residue, left, right, k, of in here:
            _, column, position = pieces[k]
            if (residue, left, right) == before:
                more.append((position[of], np.arange(base + n, base + width * count, width, dtype=kind)))
                continue
            if residue == before[0] and (left <= before[1] or right <= before[2]):
                return None
            n += 1
            block[:, n], place[:, n] = column[of], position[of]
            per_row[residue] += 1
            before = residue, left, right
        counts.append(per_row)
        lengths.append(count)
        base += width * count
    ends = np.append(kind.type(0), np.cumsum(np.repeat(np.array(counts, kind), lengths, axis=0), dtype=kind))
    further = _ascending(*map(np.concatenate, zip(*more, strict=True))) if more else None
    columns, places = (whole[:base] if base == entries else whole[:base].copy() for whole in (columns, places))
    return places, columns, ends[: shape[0] + 1], shape, further


def _stretches(row: np.ndarray, column: np.ndarray, step: int) -> list[int]:
    """At which entries stretches start in which rows go on by a step, and columns by theirs."""
    jumps = np.zeros(len(row) - 1, bool)
    if not counts_up(row):
        jumps |= row[1:] - row[:-1] != step
    if len(column) > 1 and not counts_up(column):
        steps = column[1:] - column[:-1]
        jumps |= steps != np.median(steps[:: len(steps) // 9 + 1])
    return [0, *(np.flatnonzero(jumps) + 1).tolist()]
