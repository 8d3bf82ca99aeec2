"""Patterns behind moves: those of what is peeled (`engine.jacobian.structure.peeling`), from those of what is left.

A Jacobian is that of the nodes that are left, between two selections of zeros and ones. So its pattern is theirs with
other numbers for rows and columns, and need not be followed through all the nodes again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import Sites, nowhere
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import Pattern, stacked
from engine.jacobian.structure.peeling import IndexMap
from engine.jacobian.structure.propagation import patterns

Blocks = list[list[Pattern]]
"""By the values at the targets' end and at the sources' end, each once."""


def block_patterns(
    path: Path,
    sites: Sites,
    nodes: Sequence[Node],
    rows: Sequence[IndexMap],
    columns: Sequence[IndexMap],
    most: float = math.inf,
) -> Blocks:
    """The patterns of all values at one end of some nodes with respect to all at the other; `most` as of `patterns`."""
    targets, sources = ([path.values[slot] for slot in _slots(maps)] for maps in (rows, columns))
    return patterns(nodes, sources, targets, sites, most)


def behind_columns(
    path: Path, blocks: Blocks, columns: Sequence[IndexMap], sources: Sequence[IndexMap]
) -> Blocks | None:
    """The patterns with respect to `sources`, one a value, from those with respect to the values that are left.

    `columns` tells how these consist of elements of the sources. None if one of the patterns is dense: what was too
    full to be followed may not be so here.
    """
    if any(p.is_dense for row in blocks for p in row):
        return None
    places = {slot: k for k, slot in enumerate(_slots(columns))}
    found: Blocks = [[] for _ in blocks]
    for slot in _slots(sources):
        size = path.size(slot)
        (of,) = [m.of for m in sources if m.slot == slot][:1]
        parts = []
        for one in columns:
            if one.of == of:
                labels = nowhere(path.size(one.slot), size)
                inner, outer = one.indices(len(labels))
                labels[inner] = outer
                parts.append((places[one.slot], labels))
        for row, out in zip(blocks, found, strict=True):
            total = Pattern.zero(row[0].shape[0], size)
            for place, labels in parts:
                total = total.union(row[place].renumbered(labels, size))
            out.append(total)
    return found


def behind_rows(path: Path, blocks: Blocks, rows: Sequence[IndexMap]) -> Blocks | None:
    """The patterns of the targets, from those of the values that they consist of; None if there are sums among them."""
    places = {slot: k for k, slot in enumerate(_slots(rows))}
    starts = np.cumsum([0, *[row[0].shape[0] for row in blocks]]).tolist()
    stacks = [stacked([row[j] for row in blocks]) for j in range(len(blocks[0]))] if blocks else []
    found: dict[int, list[Pattern]] = {}
    for i, slot in enumerate(path.targets):
        numbers = nowhere(path.size(slot), starts[-1])
        count, parts = 0, []
        for one in rows:
            if one.of == i:
                inner, outer = one.indices(path.size(one.slot))
                numbers[outer] = np.add(inner, starts[places[one.slot]], dtype=numbers.dtype)
                count += len(outer)
                parts.append(blocks[places[one.slot]])
        if np.count_nonzero(numbers >= 0) < count:
            return None
        connected = [any(not part[j].is_zero for part in parts) for j in range(len(stacks))]
        zeros = [Pattern.zero(len(numbers), stack.shape[1]) for stack in stacks]
        mixed = zip(stacks, zeros, connected, strict=True)
        found.setdefault(slot, [stack.rows(numbers) if yes else zero for stack, zero, yes in mixed])
    return list(found.values())


def _slots(maps: Sequence[IndexMap]) -> list[int]:
    return list(dict.fromkeys([one.slot for one in maps]))
