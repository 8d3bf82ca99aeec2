"""Looking through sums: what is a function of differences of the sources is swept from these.

In an energy of pairs ``x[i] - x[j]`` each element of x meets all others, and no two can share a seed. But each
difference meets few others. In an energy of neighbors, ``x[edges[0]]`` and ``x[edges[1]]``, a seed is shared by those
that have no neighbor in common, which makes as many seeds as someone has neighbors of neighbors; an edge has two ends.
So sums, differences and moves are taken off both ends of a path, as moves alone are by
`peeling`. Their Jacobians have entries 1 and -1, so each number in between is added to, or subtracted from, a few
entries of the result (partial separability: A. Griewank and Ph. L. Toint, "On the unconstrained optimization of
partially separable functions", 1982).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import Link, Sites, UnknownContentsError, numbers
from engine.jacobian.structure.path import Path, between
from engine.jacobian.structure.peeling import MOST, IndexMap
from engine.ops.arithmetic import add, negative, subtract
from engine.ops.reduce import reduce_sum_op
from engine.runtime.lazy_scipy import sparse
from engine.runtime.tuning import TUNING

_COEFFICIENTS = {add: (1, 1), subtract: (1, -1), negative: (-1,), reduce_sum_op: (1,)}
"""The factors of the elements of each operand where ops add them up; they are 1 where an op says so (`Op.adds`)."""
_ENTRIES = TUNING.coefficient_entries


class Summed(NamedTuple):
    """Index maps with signs for targets and sources, and the nodes between."""

    rows: list[IndexMap]
    columns: list[IndexMap]
    nodes: list[Node]


def peel_sums(path: Path, sites: Sites, at_targets: bool = True) -> Summed | None:
    """The path without sums at its ends; None if there are none, or if none are of the sources, unless `at_targets`.

    Sources must be different from one another and not made of one another, and all ends real, of one dtype.
    """
    if not path.starts_at_sources:
        return None
    dtypes = {path.values[slot].dtype for slot in (*path.sources, *path.targets)}
    if len(set(path.sources)) < len(path.sources) or len(dtypes) > 1 or next(iter(dtypes)).is_complex:
        return None
    if not _has_sums(path, at_targets):
        return None
    peel = _Peel(path, sites)
    made, taken = peel.from_sources()
    ends = peel.from_targets(made)
    moved = all(matrix.nnz <= matrix.shape[0] for matrix in made.values())
    if moved and sum([matrix.nnz for matrix in ends.values()]) <= sum(map(path.size, path.targets)):
        return None
    rest = [node for node in path.nodes if id(node) not in taken]
    nodes = between(rest, [path.values[slot] for slot in made], [path.values[slot] for slot in ends])
    used = {path.slots[id(x)] for node in nodes for x in node.inputs} | set(ends)
    rows = [x for slot, matrix in ends.items() for x in _maps(path, path.targets, slot, matrix)]
    columns = [x for slot, matrix in made.items() if slot in used for x in _maps(path, path.sources, slot, matrix)]
    return Summed(rows, columns, nodes) if len(rows) + len(columns) <= MOST else None


def _has_sums(path: Path, at_targets: bool) -> bool:
    """Whether sources may be added up, or what targets are may be a sum; no matrix is made to find out."""
    moved = set(path.sources)
    for node in path.nodes:
        if at_targets and node.op.adds and not node.op.moves:
            return True
        operands = {path.slots[id(x)] for x in node.inputs} & path.live
        if operands <= moved and (node.op.moves or node.op in _COEFFICIENTS):
            if not node.op.moves and (len(operands) > 1 or node.op.kind == "linear"):
                return True
            moved.update([path.slots[id(out)] for out in node.outputs])
    return False


class _Peel:
    """Matrices of coefficients, by number of the value."""

    def __init__(self, path: Path, sites: Sites) -> None:
        self.path, self.sites = path, sites
        self.dtype = path.values[path.sources[0]].dtype

    def from_sources(self) -> tuple[dict[int, sparse.csr_array], set[int]]:
        """Which sums of elements of the sources, one source after the other, values are; and the nodes that add them.

        What is no such sum is left out.
        """
        path = self.path
        sizes = [path.size(slot) for slot in path.sources]
        everything = sparse.eye_array(sum(sizes), dtype=np.int32, format="csr")
        starts = list(itertools.accumulate(sizes, initial=0))
        matrices = {
            slot: everything[a:b] for slot, (a, b) in zip(path.sources, itertools.pairwise(starts), strict=True)
        }
        taken = set()
        for node in path.nodes:
            operands = self._operands(node)
            if operands is None or any(slot not in matrices for _, slot, _ in operands):
                continue
            for k, out in enumerate(node.outputs):
                matrices[path.slots[id(out)]] = _total(
                    [c * _through(links[k], matrices[s]) for c, s, links in operands]
                )
            if any(matrices[path.slots[id(out)]].nnz > _ENTRIES for out in node.outputs):
                for out in node.outputs:
                    del matrices[path.slots[id(out)]]
                continue
            taken.add(id(node))
        return matrices, taken

    def from_targets(self, made: dict[int, sparse.csr_array]) -> dict[int, sparse.csr_array]:
        """Of which values the targets, one after the other, are sums, up to those that are `made` of the sources."""
        path = self.path
        sizes = [path.size(slot) for slot in path.targets]
        everything = sparse.eye_array(sum(sizes), dtype=np.int32, format="csr")
        matrices: dict[int, sparse.csr_array] = {}
        for slot, (a, b) in zip(path.targets, itertools.pairwise(itertools.accumulate(sizes, initial=0)), strict=True):
            if slot in path.live:
                part = everything[a:b]
                matrices[slot] = matrices[slot] + part if slot in matrices else part
        behind = self._behind(set(made))
        for node in reversed(path.nodes):
            outs = [path.slots[id(out)] for out in node.outputs]
            operands = self._operands(node) if id(node) in behind and any(slot in matrices for slot in outs) else None
            if operands is None:
                continue
            parts = [
                (slot, c * _through(links[k].reversed, matrices[out]))
                for c, slot, links in operands
                for k, out in enumerate(outs)
                if out in matrices
            ]
            if any(part.nnz > _ENTRIES for _, part in parts):
                continue
            for out in outs:
                matrices.pop(out, None)
            for slot, part in parts:
                matrices[slot] = _total([matrices[slot], part] if slot in matrices else [part])
        for matrix in matrices.values():
            matrix.sort_indices()
        return matrices

    def _behind(self, made: set[int]) -> set[int]:
        """The nodes, by identity, behind which it is worth to look from the targets.

        The parts of a sum that are no sums themselves are better swept together.
        """
        worth: set[int] = set()
        slots: set[int] = set()
        for node in self.path.nodes:
            outs = [self.path.slots[id(out)] for out in node.outputs]
            operands = None if made.intersection(outs) else self._operands(node)
            if operands is None:
                continue
            if len(operands) == 1 or any(slot in slots for _, slot, _ in operands):
                worth.add(id(node))
                slots.update(outs)
        return worth

    def _operands(self, node: Node) -> list[tuple[int, int, list[Link]]] | None:
        """Per operand on the path its coefficient, its number, and its link to each output; None if it is no sum."""
        if node.op.adds:
            coefficients: Sequence[int] = (1,) * len(node.inputs)
        elif node.op in _COEFFICIENTS:
            coefficients = _COEFFICIENTS[node.op]
        else:
            return None
        if any(out.dtype is not self.dtype for out in node.outputs):
            return None
        site, operands = self.sites(node), []
        for i, x in enumerate(node.inputs):
            slot = self.path.slots[id(x)]
            if slot in self.path.live and site.carries(i):
                try:
                    links = site.links(i)
                except UnknownContentsError:
                    return None
                if any(len(of) != 1 or (of[0].out is not None and of[0].operand is not None) for of in links):
                    return None
                operands.append((coefficients[i], slot, [of[0] for of in links]))
        # twice the same is a multiple, not a sum
        return operands if 0 < len(operands) == len({slot for _, slot, _ in operands}) else None


def _through(link: Link, matrix: sparse.csr_array) -> sparse.csr_array:
    """The rows of a matrix that belong to an operand's elements moved to where these are, or are added, in a result."""
    count = matrix.shape[0]
    if link.operand is not None:
        there = np.flatnonzero(link.operand >= 0)
        at = link.operand[there], there
        return sparse.csr_array((np.ones(len(there), np.int32), at), shape=(link.labels, count)) @ matrix
    # as products do, this turns entries round: it is the order in which they are added up. The last row is for -1
    ends = np.append(matrix.nnz - np.flip(matrix.indptr), matrix.nnz)
    turned = np.flip(matrix.data).copy(), np.flip(matrix.indices).copy(), ends.astype(matrix.indices.dtype)
    rows = sparse.csr_array(turned, shape=(count + 1, matrix.shape[1]))
    return rows[count - 1 - (numbers(count) if link.out is None else link.out)]


def _total(parts: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """The sum of matrices, without the entries that cancel."""
    summed = sparse.csr_array(sum(parts[1:], parts[0]))
    summed.eliminate_zeros()
    return summed


def _maps(path: Path, ends: Sequence[int], slot: int, matrix: sparse.csr_array) -> list[IndexMap]:
    """A matrix of coefficients, of a value's elements by those of all `ends`, as an index map for each end."""
    entries = sparse.csr_array(matrix).tocoo()
    inner, places = (np.repeat(x, abs(entries.data)) for x in entries.coords)
    sign = np.sign(np.repeat(entries.data, abs(entries.data))).astype(np.int8)
    maps, start = [], 0
    for of, end in enumerate(ends):
        here = np.flatnonzero((places >= start) & (places < start + path.size(end)))
        if len(here):
            maps.append(IndexMap(slot, of, inner[here], places[here] - start, sign[here]))
        start += path.size(end)
    return maps
