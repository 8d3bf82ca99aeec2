"""Where the numbers of the sweeps' results belong in the blocks of the Jacobian.

Worked out once, when the plan is made. A block is one of

- `Whole`: a result of one pass, as it is;
- `Stacked`: whole results below one another;
- `Beside`: these, beside one another;
- `Scattered`: single numbers out of one or more results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.jacobian.ends import Part
from engine.jacobian.path import Path
from engine.jacobian.pattern import Pattern
from engine.jacobian.sweeps import Group, Pass


@dataclass(frozen=True)
class Result:
    """What a pass gives for one of the values it reads."""

    number: int
    read: int


@dataclass(frozen=True)
class Whole:
    """A result as it is: seeds are rows (of a reverse pass) or columns (of a forward pass)."""

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
    """Numbers out of the flattened, joined results, in the order of a CSR matrix.

    Attributes
    ----------
    results : tuple of Result
    positions : array of int
        Where each number stands in the joined results.
    segments : array of int, or None
        If several numbers add up to one entry: which entry each belongs to, in ascending order.
    indices, indptr : array of int
        Columns and row pointers, as in `scipy.sparse.csr_array`.
    order : array of int, or None
        If entries are to be reordered, after adding up: which entry stands at each place.
    """

    results: tuple[Result, ...]
    positions: np.ndarray
    segments: np.ndarray | None
    indices: np.ndarray
    indptr: np.ndarray
    order: np.ndarray | None = None

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.indices)


Dense = Whole | Stacked | Beside
Block = Dense | Scattered | None


class Layout:
    """The blocks for given ends and passes.

    Parameters
    ----------
    rows, columns : sequence of Part
        What targets and sources consist of.
    targets, sources : sequence of Group
    patterns : list of list of Pattern
        Of the groups.
    passes : sequence of Pass
    """

    def __init__(
        self,
        path: Path,
        rows: Sequence[Part],
        columns: Sequence[Part],
        targets: Sequence[Group],
        sources: Sequence[Group],
        patterns: list[list[Pattern]],
        passes: Sequence[Pass],
    ) -> None:
        self.path, self.rows, self.columns = path, rows, columns
        self.targets, self.sources, self.patterns, self.passes = targets, sources, patterns, passes

    def block(self, i: int, j: int, sparse_only: bool) -> Block:
        """The block of target i and source j; None if it is zero."""
        rows = [p for p in self.rows if p.of == i]
        columns = [p for p in self.columns if p.of == j]
        shape = self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j])
        if 0 in shape and self.path.targets[i] in self.path.live:
            return _in_csr_order([], [], shape)
        if all(self.patterns[t][s].is_zero for t, _ in self._groups(rows) for s, _ in self._columns(columns)):
            return None
        return (None if sparse_only else self._whole_columns(rows, columns, i, j)) or self._scattered(
            rows, columns, i, j
        )

    # ---- whole results -----------------------------------------------------------------------------------------------

    def _whole_columns(self, rows: Sequence[Part], columns: Sequence[Part], i: int, j: int) -> Dense | None:
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
            found = None if zero else self._stacked(rows, sources[0], i)
            if found is None and not zero:
                return None
            parts.append((found, self.path.size(part.slot)))
        return parts[0][0] if len(parts) == 1 else Beside(tuple(parts))

    def _stacked(self, rows: Sequence[Part], source: int, i: int) -> Whole | Stacked | None:
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
            found = None
            if not self.patterns[t][source].is_zero:
                same = part.inner is group.index or (
                    part.inner is not None and group.index is not None and np.array_equal(part.inner, group.index)
                )
                found = self._whole(t, source) if same else None
                if found is None:
                    return None
            parts.append((found, part.length(self.path.size(part.slot))))
        return parts[0][0] if len(parts) == 1 else Stacked(tuple(parts))

    def _in_sequence(self, parts: Sequence[Part], slot: int) -> list[Part] | None:
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
        number, one = self._pass_of(t, s)
        if one.colors is not None or (one.direction == "forward" and self.targets[t].index is not None):
            return None
        read = self.sources[s].slot if one.direction == "reverse" else self.targets[t].slot
        return Whole(Result(number, one.reads.index(read)), one.direction == "forward")

    def _pass_of(self, t: int, s: int) -> tuple[int, Pass]:
        """The pass that gives the block of two groups."""
        target, source = self.targets[t], self.sources[s]
        for direction, start, end in (("reverse", target, source), ("forward", source, target)):
            for number, one in enumerate(self.passes):
                starts = one.group.slot == start.slot and one.group.index is start.index
                if one.direction == direction and starts and end.slot in one.reads:
                    return number, one
        raise AssertionError("a block that is not zero is not reached by any pass")

    # ---- single numbers ----------------------------------------------------------------------------------------------

    def _scattered(self, rows: Sequence[Part], columns: Sequence[Part], i: int, j: int) -> Scattered:
        results: list[Result] = []
        starts: list[int] = []
        end = 0
        triples: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for t, part in self._groups(rows):
            for s, column in self._columns(columns):
                if self.patterns[t][s].is_zero:
                    continue
                number, one = self._pass_of(t, s)
                read = self.sources[s].slot if one.direction == "reverse" else self.targets[t].slot
                result = Result(number, one.reads.index(read))
                if result not in results:
                    results.append(result)
                    starts.append(end)
                    end += one.count * self.path.size(read)
                row, col, position = self._entries(t, s, part, column, one)
                triples.append((row, col, position + starts[results.index(result)]))
        shape = (self.path.size(self.path.targets[i]), self.path.size(self.path.sources[j]))
        return _in_csr_order(results, triples, shape)

    def _groups(self, rows: Sequence[Part]) -> Iterator[tuple[int, Part]]:
        return ((t, part) for part in rows for t, group in enumerate(self.targets) if group.slot == part.slot)

    def _columns(self, columns: Sequence[Part]) -> Iterator[tuple[int, Part]]:
        return ((s, part) for part in columns for s, group in enumerate(self.sources) if group.slot == part.slot)

    def _entries(
        self, t: int, s: int, part: Part, column: Part, one: Pass
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and position in the pass's result of every entry of two groups within two parts."""
        target, source = self.targets[t], self.sources[s]
        pattern = self.patterns[t][s].to_csr()
        sizes = self.path.size(target.slot), self.path.size(source.slot)
        # rows of the part that the group holds, as rows of the pattern
        inner, outer = part.indices(sizes[0])
        rows = inner
        if target.index is not None:
            place = np.full(sizes[0], -1)
            place[target.index] = np.arange(len(target.index))
            rows = place[inner]
            outer, rows = outer[rows >= 0], rows[rows >= 0]
        counts = np.diff(pattern.indptr)[rows]
        within = _ranges(pattern.indptr[:-1][rows], counts)
        row_in_pattern, col_in_pattern = np.repeat(rows, counts), pattern.indices[within].astype(np.intp)
        outer_row = np.repeat(outer, counts)
        col = col_in_pattern if source.index is None else source.index[col_in_pattern]
        row = row_in_pattern if target.index is None else target.index[row_in_pattern]
        if one.direction == "reverse":
            seed = row_in_pattern if one.colors is None else one.colors[row_in_pattern].astype(np.intp)
            position = seed * sizes[1] + col
        else:
            seed = col_in_pattern if one.colors is None else one.colors[col_in_pattern].astype(np.intp)
            position = seed * sizes[0] + row
        if column.inner is None and column.outer is None:
            return outer_row, col, position
        place = np.full(sizes[1], -1)
        place[column.indices(sizes[1])[0]] = column.indices(sizes[1])[1]
        outer_col = place[col]
        kept = outer_col >= 0
        return outer_row[kept], outer_col[kept], position[kept]


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """``starts[i], starts[i] + 1, ...`` (counts[i] of them), for each i in turn."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)


def _in_csr_order(
    results: Sequence[Result], triples: Sequence[tuple[Any, Any, Any]], shape: tuple[int, int]
) -> Scattered:
    nothing = np.zeros(0, np.intp)
    row, col, position = (np.concatenate([nothing, *[t[k] for t in triples]]) for k in range(3))
    flat = row.astype(np.int64) * shape[1] + col
    if len(flat) > 1 and not bool((flat[1:] > flat[:-1]).all()):
        order = np.argsort(flat, kind="stable")
        flat, position = flat[order], position[order]
    new = np.ones(len(flat), dtype=bool)
    new[1:] = flat[1:] != flat[:-1]
    segments = None if new.all() else np.cumsum(new) - 1
    entries = flat[new]
    rows, indices = np.divmod(entries, shape[1]) if shape[1] else (entries, entries)
    kind = np.int32 if max(shape[1], len(entries)) < 2**31 else np.int64
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(kind)
    return Scattered(tuple(results), position.astype(np.intp), segments, indices.astype(kind), indptr)
