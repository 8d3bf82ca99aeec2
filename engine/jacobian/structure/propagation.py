"""Following a computation from sources to targets: the patterns of what it makes, node by node.

Each node applies its op's sparsity rule (`engine.core.sparsity`) to the patterns of what it reads.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import Link, Links, Moves, Site, Sites, UnknownContentsError, every
from engine.core.value import dtype_of, known_shape
from engine.jacobian.structure.pattern import Pattern, stacked
from engine.reverse import live_path


def patterns(
    nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any], sites: Sites
) -> list[list[Pattern]]:
    """Where the Jacobian of each target with respect to each source can be different from zero.

    Parameters
    ----------
    nodes : sequence of Node
        In the order of execution. Those that lie on no path from a source to a target may be among them.
    sources, targets : sequence of Value
    sites : Sites
        Of the nodes. The patterns hold for the contents of index operands that it was given.

    Returns
    -------
    list of list of Pattern
        ``[target][source]``.

    Raises
    ------
    ShapeError
        If the shape of a value on the way is not known; the message names the op.
    """
    sizes = [_size(x, "patterns") for x in sources]
    starts: dict[int, Row] = {}
    for j, x in enumerate(sources):
        starts.setdefault(id(x), {})[j] = Pattern.identity(sizes[j])
    # what comes last is kept; the patterns on the way are let go
    found = deque(followed(nodes, starts, targets, sites), maxlen=len(targets))
    return [
        [row.get(j) or Pattern.zero(_size(y, "patterns"), size) for j, size in enumerate(sizes)] for y, row in found
    ]


def move_map(node: Node, sites: Sites) -> list[list[Any]] | None:
    """Where the elements of a node's results come from, if it only moves data.

    Returns
    -------
    list of list of (integer vector or None), or None
        ``[output][operand]``: for each element of the output, the number of the operand's element that it is a copy of,
        -1 if it is not one of this operand's. None for an operand without derivative. None altogether if the op does
        more than move data, or moves it as somebody says whose contents are not known.
    """
    if not node.op.moves:
        return None
    site = sites(node)
    try:
        links = [site.links(i) if site.carries(i) else None for i in range(len(node.inputs))]
    except UnknownContentsError:
        return None
    return [[None if of is None else _source_of(of[k][0]) for of in links] for k in range(len(node.outputs))]


def _source_of(link: Link) -> np.ndarray:
    return np.arange(link.labels) if link.out is None else link.out


Row = dict[int, Pattern]
"""The patterns of one value, by the number of the source."""


def followed(
    nodes: Sequence[Node], starts: dict[int, Row], targets: Sequence[Any], sites: Sites
) -> Iterator[tuple[Any, Row]]:
    """The patterns of all values on the way to some targets, in order, and then those of the targets.

    Parameters
    ----------
    starts : dict
        What values, given by identity, start with.
    """
    path = _between(nodes, set(starts), targets)
    left = Counter(id(x) for node in path for x in node.inputs)
    left.update(id(y) for y in targets)
    known = dict(starts)
    for node in path:
        for out, row in zip(node.outputs, _step(node, known, sites), strict=True):
            if left[id(out)] and dtype_of(out).is_differentiable:
                known[id(out)] = {**row, **known.get(id(out), {})}
                yield out, known[id(out)]
        for x in node.inputs:
            left[id(x)] -= 1
            if not left[id(x)]:
                known.pop(id(x), None)
    for y in targets:
        yield y, known.get(id(y), {})


def _between(nodes: Sequence[Node], sources: set[int], targets: Iterable[Any]) -> list[Node]:
    """The nodes on a path from a source to a target."""
    reached, _ = live_path(nodes, sources, set())
    needed = {id(y) for y in targets}
    path = []
    for node in reversed(reached):
        if any(id(out) in needed for out in node.outputs):
            path.append(node)
            needed.update([id(x) for x in node.inputs])
    return path[::-1]


def _step(node: Node, known: dict[int, Row], sites: Sites) -> list[Row]:
    """What a node makes of the patterns of its operands, per output."""
    site = sites(node)
    live = [i for i, x in enumerate(node.inputs) if known.get(id(x)) and site.carries(i)]
    given = [known[id(node.inputs[i])] for i in live]
    columns = {j: pattern.shape[1] for row in given for j, pattern in row.items()}
    try:
        if len(live) > 1 and node.op.moves:
            return _gathered(site, known, columns)
        links = [site.links(i) for i in live]
    except UnknownContentsError:
        links = [every(site, i) for i in live]
    return [_linked(given, [of[k] for of in links], columns) for k in range(len(node.outputs))]


def _gathered(site: Site, known: dict[int, Row], columns: dict[int, int]) -> list[Row]:
    """What a move makes of the patterns of several operands: the rows of all of them, in another order."""
    rule = site.node.op.sparsity
    assert isinstance(rule, Moves)
    carriers = [(known.get(id(x), {}), site.size(i)) for i, x in enumerate(site.node.inputs) if site.carries(i)]
    stacks = {
        j: stacked([row.get(j) or Pattern.zero(size, count) for row, size in carriers]) for j, count in columns.items()
    }
    return [{j: stack.rows(numbers) for j, stack in stacks.items()} for numbers in rule.numbers(site)]


def _linked(given: list[Row], links: list[Links], columns: dict[int, int]) -> Row:
    """The patterns of one output, from those of the operands and their links to it."""
    found: Row = {}
    for j in columns:
        parts = [(row[j], link) for row, of in zip(given, links, strict=True) if j in row for link in of]
        if len(parts) > 1:
            # dense ones first, since nothing can be added to them
            parts.sort(key=lambda part: not part[0].is_dense)
        for pattern, link in parts:
            if j not in found:
                found[j] = pattern.through(link)
            elif not found[j].is_dense:
                found[j] = found[j].union(pattern.through(link))
    return found


def _size(x: Any, what: str) -> int:
    return math.prod(known_shape(x, what))
