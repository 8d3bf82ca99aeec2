"""Hessians with few seeds: an entry is read at either of its two places, wherever it stands alone.

Columns that meet in a row cannot share a sweep if their entries there are to be told apart, unless these are read from
the sweeps of that row (T. F. Coleman and J. J. Moré, "Estimation of sparse Hessian matrices and graph coloring
problems", 1984). So one variable that all others meet, which makes n sweeps of an arrowhead's n columns, makes two. The
sources of a Hessian are colored together and swept one by one: what a sweep from one of them leaves out is found by
those from others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from engine.jacobian.coloring.compression import Coloring, color_symmetric, readable_entries, same
from engine.jacobian.coloring.lattice import entry_rows
from engine.jacobian.execution.decompression import Block, Result, Scattered
from engine.jacobian.planning.bounds import STAR, may_be_mirrored
from engine.jacobian.planning.cost import GATHER
from engine.jacobian.planning.direction import Group, PlannedSweep
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import struct


@struct(frozen=True, eq=False)
class Symmetric:
    """Forward sweeps that give each entry of a Hessian, or its mirror image, and the blocks made of them."""

    sweeps: list[PlannedSweep]
    blocks: list[list[Block]]
    time: float


def symmetric_plan(
    path: Path, patterns: Sequence[Sequence[Pattern]], seconds: Callable[[int, int], float], best: float
) -> Symmetric | None:
    """The sweeps by a symmetric coloring; None if they are no better than what takes `best` seconds.

    The path leads from sources to as many gradients; ``seconds(j, seeds)`` is how long a forward sweep from source j
    takes.
    """
    sizes = [path.size(slot) for slot in path.sources]
    if len(set(path.sources)) < len(sizes) or 0 in sizes or all(p.is_dense for row in patterns for p in row):
        return None
    gathering = GATHER * sum(p.nnz for row in patterns for p in row)
    if gathering + sum(seconds(j, 1) for j in range(len(sizes))) >= best:
        return None
    if not may_be_mirrored(patterns):
        return None
    whole = sparse.csr_array(sparse.block_array([[p.to_csr() for p in row] for row in patterns], format="csr"))
    whole.sort_indices()
    if not same(whole, whole.T.tocsr()):
        return None
    coloring = color_symmetric(whole, STAR)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    colors = [_own_colors(coloring, slice(*ends)) for ends in itertools.pairwise(starts)]
    seeds = [int(own.max(initial=-1)) + 1 for own in colors]
    time = gathering + sum(seconds(j, count) for j, count in enumerate(seeds) if count)
    return _Reading(path, whole, coloring, starts, colors, seeds).plan(seconds, time) if time < best else None


def _own_colors(coloring: Coloring, part: slice) -> np.ndarray:
    """The colors of some columns, numbered anew."""
    own = coloring.colors[part]
    used, numbers = np.unique(own, return_inverse=True)
    return (numbers - int(used[0] < 0)).astype(np.int32)


class _Reading:
    """Where each entry is read."""

    def __init__(
        self,
        path: Path,
        whole: sparse.csr_array,
        coloring: Coloring,
        starts: np.ndarray,
        colors: list[np.ndarray],
        counts: list[int],
    ) -> None:
        self.path, self.starts, self.colors, self.counts = path, starts, colors, counts
        self.rows, self.columns = entry_rows(whole), whole.indices
        read = readable_entries(whole, coloring)
        self.read_rows, self.read_columns = self.rows[read], self.columns[read]
        # the numbers of the sources that rows and columns belong to
        of = np.repeat(np.arange(len(counts)), np.diff(starts))
        self.target, self.source = of[self.rows], of[self.columns]
        self.from_target, self.from_source = of[self.read_rows], of[self.read_columns]

    def plan(self, seconds: Callable[[int, int], float], time: float) -> Symmetric:
        """The sweeps, each of which reads only what is needed, and the blocks."""
        sweeps: list[PlannedSweep] = []
        number: dict[int, int] = {}
        for j, count in enumerate(self.counts):
            needed = np.unique(self.from_target[self.from_source == j])
            if len(needed):
                number[j] = len(sweeps)
                reads = tuple(dict.fromkeys(self.path.targets[i] for i in needed.tolist()))
                colors = None if count == len(self.colors[j]) else self.colors[j]
                group = Group(self.path.sources[j])
                sweeps.append(PlannedSweep("forward", group, reads, colors, count, time=seconds(j, count)))
        ends = range(len(self.counts))
        return Symmetric(sweeps, [[self._block(i, j, sweeps, number) for j in ends] for i in ends], time)

    def _block(self, i: int, j: int, sweeps: Sequence[PlannedSweep], number: dict[int, int]) -> Block:
        """The block of gradient i and source j."""
        here = np.flatnonzero((self.target == i) & (self.source == j))
        if not len(here):
            return None
        shape = tuple([len(self.colors[k]) for k in (i, j)])
        positions, results, start = np.zeros(len(here), np.intp), [], 0
        for target, source in dict.fromkeys(((i, j), (j, i))):
            mine = np.flatnonzero((self.from_target[here] == target) & (self.from_source[here] == source))
            if len(mine):
                one, size = sweeps[number[source]], len(self.colors[target])
                entries = here[mine]
                column = self.read_columns[entries] - self.starts[source]
                seed = column if one.colors is None else one.colors[column]
                positions[mine] = seed.astype(np.intp) * size + (self.read_rows[entries] - self.starts[target]) + start
                results.append(Result(number[source], one.reads.index(self.path.targets[target])))
                start += one.count * size
        counts = np.bincount(self.rows[here] - self.starts[i], minlength=shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        indices = (self.columns[here] - self.starts[j]).astype(np.int32)
        return Scattered(tuple(results), positions, indices, indptr, (shape[0], shape[1]))
