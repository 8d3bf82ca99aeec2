"""Peeling: ops that only move data, at either end of a path, are taken off before anything is swept.

The local Jacobian of such an op is a selection of zeros and ones. So it only says where in the result a row or column
belongs. ``stack([f(x), g(x)])`` becomes two targets, each with a sweep of its own through its own part of the path;
``u[1:] - u[:-1]`` becomes a function of two sources, each elementwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import Sites, counts_up, numbers
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import grouped
from engine.jacobian.structure.propagation import move_map
from engine.ops.arithmetic import add
from engine.runtime.structs import struct

MOST = 64
"""Index maps that a target or source may fall into; more are left together."""


@struct(frozen=True, eq=False)
class IndexMap:
    """Elements of one value of a path that are elements of a target or of a source."""

    slot: int
    """The value's number on the path."""
    of: int
    """Which target or source."""
    inner: np.ndarray | None = None
    outer: np.ndarray | None = None
    """Element ``inner[k]`` of the value is element ``outer[k]`` of the target or source. `inner` None: all elements of
    the value, in order. `outer` None: 0, 1, 2..."""
    sign: np.ndarray | None = None
    """1 where that element is added to the other, -1 where it is subtracted (`sums`): any number of elements of the
    value may then be in one of a target, and be made of several of a source. None: it is the element."""

    def indices(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """`inner` and `outer` as arrays, for a value of `size` elements."""
        inner = numbers(size) if self.inner is None else self.inner
        return inner, numbers(len(inner)) if self.outer is None else self.outer

    def length(self, size: int) -> int:
        """How many elements there are, of a value of `size` elements."""
        return size if self.inner is None else len(self.inner)


def unpeeled(path: Path) -> tuple[list[IndexMap], list[IndexMap]]:
    """Targets and sources as they are."""
    return (
        [IndexMap(slot, i) for i, slot in enumerate(path.targets)],
        [IndexMap(slot, j) for j, slot in enumerate(path.sources)],
    )


def peel_targets(path: Path, sites: Sites) -> list[IndexMap]:
    """The index maps of which the targets consist. An element may be the sum of elements of several values."""
    makers = _Makers(path, sites)
    finished: list[IndexMap] = []
    for i, target in enumerate(path.targets):
        pending = [IndexMap(target, i)]
        done: list[IndexMap] = []
        while pending:
            index_map = pending.pop()
            moved = makers.moved(index_map.slot) or makers.added(index_map.slot)
            if moved is None or len(pending) + len(done) + len(moved) > MOST:
                done.append(index_map)
                continue
            inner, outer = index_map.indices(path.size(index_map.slot))
            for slot, index in reversed(moved):
                positions = index[inner]
                kept = positions >= 0
                everything = bool(kept.all())
                pending.append(
                    IndexMap(
                        slot, i, positions if everything else positions[kept], outer if everything else outer[kept]
                    )
                )
        finished += [_simplified(path, index_map, True) for index_map in _merged(done)]
    return finished


class _Makers:
    """The nodes that make the values of a path, where it is more than a source."""

    def __init__(self, path: Path, sites: Sites) -> None:
        self.path, self.sites = path, sites
        made = {path.slots[id(out)]: (node, k) for node in path.nodes for k, out in enumerate(node.outputs)}
        self.by = {slot: made[slot] for slot in made.keys() - set(path.sources)}

    def moved(self, slot: int) -> list[tuple[int, np.ndarray]] | None:
        """Where the elements of a value come from: per operand its number and the map; None if it is more than that."""
        return _moved(self.path, self.sites, *self.by[slot]) if slot in self.by else None

    def added(self, slot: int) -> list[tuple[int, np.ndarray]] | None:
        """The operands of a sum, if they have zeros in different places: what gradients of slices are added up to.

        The parts of another sum are better swept together.
        """
        if slot not in self.by or self.by[slot][0].op is not add:
            return None
        operands = [self.path.slots[id(x)] for x in self.by[slot][0].inputs]
        live = [x for x in operands if x in self.path.live]
        if any(self.path.shape(x) != self.path.shape(slot) for x in live):
            return None
        everything = numbers(self.path.size(slot))
        return [(x, everything) for x in live] if all(map(self._has_zeros, live)) else None

    def _has_zeros(self, slot: int) -> bool:
        """Whether a value is put together with zeros, or the sum of what is."""
        if slot in self.by and self.by[slot][0].op is add:
            return True
        return any(bool((index < 0).any()) for _, index in self.moved(slot) or ())


def peel_sources(
    path: Path, sites: Sites, rows: Sequence[IndexMap], depth: int | None = None
) -> tuple[list[IndexMap], Sequence[Node]]:
    """The values that stand behind moves of the sources, and the nodes that are left.

    A node is taken off if it only moves data, and everything it takes is a source. What it makes becomes a source
    itself; those that it takes remain sources if others take them too, or if they are among `rows`, which
    targets consist of. The derivative with respect to a source is then the sum over all that stands for it. With a
    `depth`, only the outermost so many moves are looked behind.
    """
    first, nodes = unpeeled(path)[1], path.nodes
    wanted = {index_map.slot for index_map in rows}
    # one value may be several sources
    columns: dict[int, list[IndexMap]] = {}
    for index_map in first:
        columns.setdefault(index_map.slot, []).append(index_map)
    for _ in itertools.count() if depth is None else range(depth):
        taken = _removable(path, sites, nodes, set(columns))
        if not taken:
            break
        nodes = [node for node in nodes if id(node) not in taken]
        for node, moved in taken.values():
            for out, maps in zip(node.outputs, moved, strict=True):
                slot = path.slots[id(out)]
                # what is made may be a source as well
                columns[slot] = [*columns.get(slot, ()), *_behind(path, columns, slot, maps)]
        used = {path.slots[id(x)] for node in nodes for x in node.inputs} | wanted
        columns = {slot: maps for slot, maps in columns.items() if slot in used}
        if len(columns) > MOST:
            return first, path.nodes
    return [_simplified(path, index_map, False) for maps in columns.values() for index_map in maps], nodes


def _removable(
    path: Path, sites: Sites, nodes: Sequence[Node], frontier: set[int]
) -> dict[int, tuple[Node, list[Any]]]:
    """The nodes to take off, by identity, each with the maps of its outputs.

    A source that another one leads to has to stay in its place until what leads to it is taken off.
    """
    made = {path.slots[id(out)] for node in nodes for out in node.outputs}
    live, frontier = frontier | made, frontier - made
    removable: dict[int, tuple[Node, list[Any]]] = {}
    for node in nodes:
        if node.op.moves and {path.slots[id(x)] for x in node.inputs} & live <= frontier:
            moved = [_moved(path, sites, node, k) for k in range(len(node.outputs))]
            if None not in moved:
                removable[id(node)] = node, moved
    return removable


def _moved(path: Path, sites: Sites, node: Node, output: int) -> list[tuple[int, np.ndarray]] | None:
    """Where an output's elements come from: per operand its number and the map; None if it is more than a move."""
    maps = move_map(node, sites)
    if maps is None:
        return None
    maps_by_slot = [(path.slots[id(x)], m) for x, m in zip(node.inputs, maps[output], strict=True) if m is not None]
    return [(slot, m) for slot, m in maps_by_slot if slot in path.live]


def _behind(
    path: Path, columns: dict[int, list[IndexMap]], made: int, moved: list[tuple[int, np.ndarray]]
) -> list[IndexMap]:
    """How a value, number `made`, consists of elements of sources: an index map for each source."""
    maps: dict[int, list[IndexMap]] = {}
    for slot, index in moved:
        here = numbers(len(index))
        if index.min(initial=0) < 0:
            here = np.flatnonzero(index >= 0).astype(here.dtype)
            index = index[here]
        for index_map in columns[slot]:
            positions = index
            if index_map.inner is not None or index_map.outer is not None:
                inner, outer = index_map.indices(path.size(slot))
                position = np.full(path.size(slot), -1, outer.dtype)
                position[inner] = outer
                positions = position[positions]
            whole = positions is index or bool(positions.min(initial=0) >= 0)
            kept = slice(None) if whole else positions >= 0
            maps.setdefault(index_map.of, []).append(
                IndexMap(made, index_map.of, here if whole else here[kept], positions[kept])
            )
    return [_joined(group) for group in maps.values()]


def _merged(maps: Sequence[IndexMap]) -> list[IndexMap]:
    """The index maps of one value put together."""
    groups: dict[int, list[IndexMap]] = {}
    for index_map in maps:
        groups.setdefault(index_map.slot, []).append(index_map)
    return [_joined(group) for group in groups.values()]


def _joined(maps: Sequence[IndexMap]) -> IndexMap:
    if len(maps) == 1:
        return maps[0]
    joined: Callable[[str], np.ndarray] = lambda name: np.concatenate([getattr(p, name) for p in maps])  # noqa: E731
    return IndexMap(maps[0].slot, maps[0].of, joined("inner"), joined("outer"))


def _simplified(path: Path, index_map: IndexMap, rows: bool) -> IndexMap:
    """None in place of what is all and in order."""
    if index_map.inner is None or index_map.outer is None:
        return index_map
    inner, outer = index_map.inner, index_map.outer
    by = outer if rows else inner
    if not counts_up(by) and (by[1:] < by[:-1]).any():
        order = grouped(by, int(by.max()) + 1)[1]
        inner, outer = inner[order], outer[order]
    all_inner = len(inner) == path.size(index_map.slot) and counts_up(inner)
    return IndexMap(index_map.slot, index_map.of, None if all_inner else inner, None if counts_up(outer) else outer)
