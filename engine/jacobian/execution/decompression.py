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
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.core.eager import forget_memory
from engine.core.sparsity import counts_up, nowhere, numbers
from engine.jacobian.planning.direction import Group, PlannedSweep
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern, grouped, ranges
from engine.jacobian.structure.peeling import IndexMap
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import struct

_AT_ONCE = 1 << 17
"""Entries that are put in order at a time: they lie in the processor's caches."""


@struct(frozen=True)
class Result:
    """The result of a sweep for one of the values it reads, or that times -1."""

    number: int
    read: int
    negated: bool = False


@struct(frozen=True)
class Whole:
    """A result as it is: seeds are rows (of a reverse sweep) or columns (of a forward sweep)."""

    result: Result
    forward: bool


@struct(frozen=True)
class Stacked:
    """Blocks of rows below one another; None for rows of zeros."""

    parts: tuple[tuple[Whole | None, int], ...]


@struct(frozen=True)
class Beside:
    """Blocks of columns beside one another; None for columns of zeros."""

    parts: tuple[tuple[Whole | Stacked | None, int], ...]


@struct(frozen=True, eq=False)
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
        """A matrix of this structure, which SciPy has checked. What the first sweeps have left makes room for it."""
        forget_memory(self.nbytes)
        return sparse.csr_array((self.indices, self.indices, self.indptr), shape=self.shape)

    def matrix(self, values: np.ndarray) -> sparse.csr_array:
        """The block with these entries. The caller may change it: `eliminate_zeros` moves indices, say."""
        like = self._like
        copied = object.__new__(type(like))
        copied.__dict__.update(like.__dict__)
        copied.data, copied.indices, copied.indptr = values, self.indices.copy(), self.indptr.copy()
        return copied

    def reordered(self, matrix: sparse.csr_array) -> Scattered:
        """The block with its entries, each once or twice, where their numbers stand in a matrix."""
        more, order = self.more, matrix.data
        if more is not None:
            to, places = numbers(len(order)), nowhere(2 * self.nnz, len(order)).reshape(-1, 2)
            places[order, 0], places[order[::-1], 1] = to, to[::-1]
            places[places[:, 0] == places[:, 1], 0] = -1
            # NumPy takes eight times as long to index such short rows
            added = np.take(places, more[1], axis=0).ravel()
            there = added >= 0
            more = np.repeat(more[0], 2)[there], added[there]
        return Scattered(self.results, self.positions[order], matrix.indices, matrix.indptr, matrix.shape, more)


Dense = Whole | Stacked | Beside
Block = Dense | Scattered | None


@struct(eq=False)
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

    def block(self, i: int, j: int, sparse_only: bool, mirrored: bool) -> Block:
        """The block of target i and source j; None if it is zero, or `mirrored` from the other side of the diagonal.

        On the diagonal these are numbers that are scattered below.
        """
        rows = [p for p in self.rows if p.of == i]
        columns = [p for p in self.columns if p.of == j]
        shape = self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j])
        if 0 in shape and self.path.targets[i] in self.path.live:
            return _in_csr_order([], [], shape, 0, False)
        if mirrored and i < j:
            return None
        if all(self.patterns[t][s].is_zero for t, _ in self._groups(rows) for s, _ in self._columns(columns)):
            return None
        return (None if sparse_only else self._whole_columns(rows, columns, i, j)) or self._scattered(
            rows, columns, i, j, mirrored and i == j
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

    def _scattered(
        self, rows: Sequence[IndexMap], columns: Sequence[IndexMap], i: int, j: int, lower: bool
    ) -> Scattered:
        results: list[Result] = []
        starts: list[int] = []
        end = entries = 0
        shape = (self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j]))
        found = [(s, c, _members(c, self.path.size(c.slot))) for s, c in self._columns(columns)]
        pieces: list[_Piece] = []
        for t, part in self._groups(rows):
            for s, column, members in found:
                if self.patterns[t][s].is_zero:
                    continue
                number, one = self._sweep_of(t, s)
                read = self.sources[s].slot if one.direction == "reverse" else self.targets[t].slot
                signs = [x.sign for x in (part, column) if x.sign is not None]
                apart = len(signs) > 1 and max([x.max() for x in signs]) != min([x.min() for x in signs])
                negations = (False, True) if apart else (False,)
                signed = [Result(number, one.reads.index(read), negated) for negated in negations]
                for result in signed:
                    if result not in results:
                        results.append(result)
                        starts.append(end)
                        end += one.count * self.path.size(read)
                pieces.append(self._piece(t, s, part, members, one, [starts[results.index(r)] for r in signed]))
                entries += self.patterns[t][s].nnz
        del found
        return _in_csr_order(results, pieces, shape, entries, lower)

    def _groups(self, rows: Sequence[IndexMap]) -> Iterator[tuple[int, IndexMap]]:
        return ((t, part) for part in rows for t, group in enumerate(self.targets) if group.slot == part.slot)

    def _columns(self, columns: Sequence[IndexMap]) -> Iterator[tuple[int, IndexMap]]:
        return ((s, part) for part in columns for s, group in enumerate(self.sources) if group.slot == part.slot)

    def _piece(
        self, t: int, s: int, part: IndexMap, members: _Members, one: PlannedSweep, starts: Sequence[int]
    ) -> _Piece:
        """The entries of two groups within two parts.

        `starts` says where the pass's result begins among all numbers, and where that times -1 does.
        """
        target, source, pattern = self.targets[t], self.sources[s], self.patterns[t][s]
        sizes = self.path.size(target.slot), self.path.size(source.slot)
        rows, outer, sign = _rows_within(target, part, sizes[0])
        kind = numbers(1, self._numbers).dtype

        def entries(which: slice | np.ndarray) -> Entries:
            of = which if rows is None else rows[which]
            chosen, in_source = pattern.entries(of)
            in_target = _taken(of, chosen)
            row = in_target if target.index is None else target.index[in_target]
            col = in_source if source.index is None else source.index[in_source]
            # the numbers that a seed gives are those of the other end
            seed, size, number = (
                (in_target, sizes[1], col) if one.direction == "reverse" else (in_source, sizes[0], row)
            )
            position = number.astype(kind)
            position += kind.type(starts[0])
            if one.count > 1:
                seed = (seed if one.colors is None else one.colors[seed]).astype(kind)
                seed *= kind.type(size)
                position += seed
            each, place, other = members(col)
            if each is not None:
                chosen, position = chosen[each], position[each]
            at = _taken(which, chosen)
            if len(starts) > 1:
                assert sign is not None, "a number is negated only for parts with signs"
                position[sign[at] != other] += kind.type(starts[1] - starts[0])
            return at if outer is None else outer[at], place, position

        return _Piece(entries, pattern.shape[0] if rows is None else len(rows), outer)


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
    place = nowhere(size, size)
    place[group.index] = numbers(len(group.index))
    rows = place[inner]
    return rows[rows >= 0], outer[rows >= 0], None if part.sign is None else part.sign[rows >= 0]


def _members(part: IndexMap, size: int) -> _Members:
    """Where elements of a value of `size` elements stand in a source, each as often as it does.

    The function gives which of them are there (None: all of them), where, and with what signs.
    """
    inner, outer = part.indices(size)
    if part.inner is None:
        return lambda wanted: (None, wanted if part.outer is None else outer[wanted], part.sign)
    if part.sign is None and (inner[1:] > inner[:-1]).all():
        place = nowhere(size, int(outer.max(initial=0)) + 1)
        place[inner] = outer

        def member(wanted: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, None]:
            to = place[wanted]
            there = to >= 0
            return (None, to, None) if there.all() else (np.flatnonzero(there), to[there], None)

        return member
    ends, order = grouped(inner, size)
    counts, outer, signs = np.diff(ends), outer[order], None if part.sign is None else part.sign[order]

    def members(wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        each, place = ranges(ends[wanted], counts[wanted])
        return each, outer[place], None if signs is None else signs[place]

    return members


def _taken(array: slice | np.ndarray, index: np.ndarray) -> np.ndarray:
    """The elements of an array, or of the numbers in a slice, at an index."""
    if isinstance(array, slice):
        return index + index.dtype.type(array.start) if array.start else index
    return array if len(index) == len(array) and counts_up(index) else array[index]


Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Row, column, and position."""
_Members = Callable[[np.ndarray], tuple[np.ndarray | None, np.ndarray, np.ndarray | None]]


class _Piece:
    """``entries(which)``: those of some of `count` rows, which are the block's rows `outer`; None: 0, 1, 2..."""

    def __init__(self, entries: Callable[[slice | np.ndarray], Entries], count: int, outer: np.ndarray | None) -> None:
        self.entries, self._count, self._ends, self._order = entries, count, outer, None
        if outer is not None and (outer[1:] < outer[:-1]).any():
            self._order = grouped(outer, int(outer.max()) + 1)[1]
            self._ends = outer[self._order]

    def between(self, first: int, last: int) -> Entries:
        """The entries of some of the block's rows."""
        if self._ends is None:
            return self.entries(slice(min(first, self._count), min(last, self._count)))
        a, b = np.searchsorted(self._ends, np.array([first, last], self._ends.dtype)).tolist()
        return self.entries(slice(a, b) if self._order is None else self._order[a:b])

    def shift(self) -> int:
        """How far the first entry lies right of the diagonal."""
        first, last = 0, 1
        while first < self._count:
            row, column, _ = self.entries(slice(first, min(last, self._count)))
            if len(row):
                return int(column[0]) - int(row[0])
            first, last = last, 4 * last
        return 0


def _in_csr_order(
    results: Sequence[Result], pieces: list[_Piece], shape: tuple[int, int], entries: int, lower: bool
) -> Scattered:
    """A scatter of numbers that stand at each position to a row and a column, of which there are about so many.

    Those right of the diagonal are left out if it is the `lower` triangle.
    """
    # those further left first: then nothing is left to be sorted, mostly
    pieces.sort(key=_Piece.shift)
    position, column = np.empty(entries, np.int32), np.empty(entries, np.int32)
    ends, more, count, added = [np.zeros(1, np.int32)], (np.empty(0, np.int32), np.empty(0, np.int32)), 0, 0
    step = max(1, _AT_ONCE * shape[0] // max(entries, 1))
    for first in range(0, shape[0], step):
        rows = min(step, shape[0] - first)
        found = [piece.between(first, first + rows) for piece in pieces]
        if lower:
            found = [(of[0][kept], of[1][kept], of[2][kept]) for of in found for kept in [of[0] >= of[1]]]
        places, columns, here, further = _ordered([of for of in found if len(of[0])], first, rows, shape[1])
        if further is not None:
            to = further[1] + numbers(1, count + len(columns)).dtype.type(count)
            more = _appended(more[0], added, further[0]), _appended(more[1], added, to)
            added += len(to)
        position, column = _appended(position, count, places), _appended(column, count, columns)
        count += len(columns)
        ends.append(here + numbers(1, count).dtype.type(count - len(columns)))
    pieces.clear()
    kind = numbers(1, max(count, *shape)).dtype
    for whole in position, column:
        whole.resize(count, refcheck=False)
    return Scattered(
        tuple(results),
        position,
        column.astype(kind, copy=False),
        np.concatenate(ends).astype(kind, copy=False),
        shape,
        _ascending(*[whole[:added] for whole in more]) if added else None,
    )


def _ascending(position: np.ndarray, entry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and entries in the order of the positions; of one position as they are given."""
    ordered = grouped(position, 1 + int(position.max()), entry)[1]
    return np.sort(position), ordered


def _appended(whole: np.ndarray, count: int, part: np.ndarray) -> np.ndarray:
    """An array, of which the first elements are in use, with a part behind these; a larger one if need be."""
    if part.dtype.itemsize > whole.itemsize:
        whole = whole.astype(part.dtype)
    if count + len(part) > len(whole):
        whole.resize(count + count // 4 + len(part), refcheck=False)
    whole[count : count + len(part)] = part
    return whole


def _ordered(
    pieces: list[Entries], first: int, rows: int, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Positions and columns of the entries of some rows, where these end, and positions of what is added to which."""
    if pieces and all(len(row) == rows and row[0] == first and counts_up(row - row[0]) for row, _, _ in pieces):
        by_column = sorted(pieces, key=lambda piece: int(piece[1][0]))
        if all(bool((a[1] < b[1]).all()) for a, b in itertools.pairwise(by_column)):
            # an entry of each in every row
            places, indices = (np.stack([piece[k] for piece in by_column], axis=1).ravel() for k in (2, 1))
            return places, indices, numbers(rows, 1) * np.int32(len(pieces)), None
    row, column, position = map(np.concatenate, zip(*(pieces or [(numbers(0),) * 3]), strict=True))
    kind = numbers(1, max(len(row), rows, columns)).dtype
    entries = sparse.coo_array((position, ((row - first).astype(kind), column.astype(kind))), shape=(rows, columns))
    # or SciPy would add up the positions of entries that fall together
    entries.has_canonical_format = True
    whole = entries.tocsr()
    whole.sort_indices()
    places, indices, ends = whole.data, whole.indices, whole.indptr
    if whole.has_canonical_format:
        return places, indices, ends[1:], None
    # some entries are sums
    new = np.append(True, indices[1:] != indices[:-1])
    new[ends[:-1][np.diff(ends) > 0]] = True
    number = np.cumsum(new, dtype=kind)
    more = places[~new], number[~new] - kind.type(1)
    return places[new], indices[new], np.where(ends > 0, number[ends - 1], kind.type(0))[1:], more


@struct(frozen=True)
class Transposed:
    """The dense block of source and target exchanged."""

    block: Dense


@struct(frozen=True)
class Mirrored:
    """A dense block on the diagonal, its upper triangle taken from the lower one."""

    block: Dense


def symmetrized(blocks: list[list[Block]], shapes: list[list[tuple[int, int]]]) -> list[list[object]]:
    """The blocks of a symmetric matrix: those above the diagonal follow from those below."""
    size = len(blocks)
    return [
        [
            _mirrored(blocks[i][i]) if i == j else blocks[i][j] if i > j else _transposed(blocks[j][i], shapes[j][i])
            for j in range(size)
        ]
        for i in range(size)
    ]


def _mirrored(block: Block) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Mirrored(block)
    # the pattern is the lower triangle's, too: what has no mirror image there is zero but for rounding
    entries = numbers(block.nnz, 1)
    lower = sparse.csr_array((entries, block.indices, block.indptr), shape=block.shape)
    whole = lower + sparse.tril(lower, -1).T.tocsr()
    del lower
    whole.data -= 1
    return block.reordered(whole)


def _transposed(block: Block, shape: tuple[int, int]) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Transposed(block)
    entries = sparse.csr_array((np.arange(block.nnz), block.indices, block.indptr), shape=shape)
    return block.reordered(entries.T.tocsr())
