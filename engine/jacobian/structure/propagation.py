"""Following a computation from sources to targets, or back: the patterns of what it makes, node by node.

Each node applies its op's sparsity rule (`engine.core.sparsity`) to the patterns of what it reads, or, on the way back,
of what it makes.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.op import Node
from engine.core.sparsity import GATHERS, Link, Links, Moves, Site, Sites, UnknownContentsError, every, numbers
from engine.core.value import dtype_of, known_shape
from engine.derivatives.reverse import live_path
from engine.jacobian.structure.pattern import Pattern, stacked


class TooFullError(Exception):
    """A pattern on the way has more entries than the caller has use for."""


def patterns(
    nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any], sites: Sites, most: float = math.inf
) -> list[list[Pattern]]:
    """Where the Jacobian of each target with respect to each source can be different from zero, ``[target][source]``.

    Nodes are in the order of execution; those that lie on no path from a source to a target may be among them. The
    patterns hold for the contents of index operands that the sites were given. No pattern on the way may have more than
    `most` entries.

    Raises
    ------
    ShapeError
        If the shape of a value on the way is not known; the message names the op.
    TooFullError
        If a pattern on the way has more entries than `most`.
    """
    wide, tall = ([math.prod(known_shape(x, "patterns")) for x in ends] for ends in (sources, targets))
    if sum(tall) < sum(wide):
        back = _followed_back(nodes, sources, _starts(targets, tall), sites, most)
        # one after the other: there may be no room for all of them twice
        turned = {key: {i: row.pop(i).transposed() for i in list(row)} for key, row in back.items()}
        return [
            [turned.get(id(x), {}).get(i) or Pattern.zero(rows, n) for x, n in zip(sources, wide, strict=True)]
            for i, rows in enumerate(tall)
        ]
    # what comes last is kept; the patterns on the way are let go
    unknown: Unknown = {}
    way = followed(nodes, _starts(sources, wide), targets, sites, unknown)
    last = deque((_not_too_full(row, most) for _, row in way), maxlen=len(targets))
    kept = [_not_too_full(_resolved(row, unknown), most) for row in last]
    return [
        [row.get(j) or Pattern.zero(rows, columns) for j, columns in enumerate(wide)]
        for rows, row in zip(tall, kept, strict=True)
    ]


def _not_too_full(row: Row, most: float) -> Row:
    if most < math.inf and any(pattern.nnz > most for pattern in row.values()):
        raise TooFullError
    return row


def _starts(ends: Sequence[Any], sizes: Sequence[int]) -> dict[int, Row]:
    """Each element of each end depends on itself."""
    starts: dict[int, Row] = {}
    for i, (x, size) in enumerate(zip(ends, sizes, strict=True)):
        starts.setdefault(id(x), {})[i] = Pattern.identity(size)
    return starts


def move_map(node: Node, sites: Sites) -> list[list[Any]] | None:
    """Where the elements of a node's results come from, ``[output][operand]``, if it only moves data.

    For each element of the output it is the number of the operand's element that it is a copy of, -1 if it is not one
    of this operand's; None for an operand without derivative. None altogether if the op does more than move data, or
    moves it as somebody says whose contents are not known.
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
    return numbers(link.labels) if link.out is None else link.out


Row = dict[int, Pattern]
"""The patterns of one value, by the number of the source."""
Unknown = dict[int, tuple[Any, Row]]
"""Moves by unknown indices, and the patterns of what they take; the numbers of their results, as sources, are < 0."""


def followed(
    nodes: Sequence[Node], starts: dict[int, Row], targets: Sequence[Any], sites: Sites, unknown: Unknown | None = None
) -> Iterator[tuple[Any, Row]]:
    """The patterns of all values on the way to some targets, in order, and then those of the targets.

    Values, given by identity, start with `starts`. `unknown` takes the moves by unknown indices; then rows have columns
    for their results too, by negative numbers.
    """
    path = _between(nodes, set(starts), targets)
    left = Counter(id(x) for node in path for x in node.inputs)
    left.update(id(y) for y in targets)
    known = dict(starts)
    for node in path:
        for out, row in zip(node.outputs, _step(node, known, sites, unknown), strict=True):
            if left[id(out)] and dtype_of(out).is_differentiable:
                known[id(out)] = {**row, **known.get(id(out), {})}
                yield out, known[id(out)]
        for x in node.inputs:
            left[id(x)] -= 1
            if not left[id(x)]:
                known.pop(id(x), None)
    for y in targets:
        yield y, known.get(id(y), {})


def _followed_back(
    nodes: Sequence[Node], sources: Sequence[Any], starts: dict[int, Row], sites: Sites, most: float
) -> dict[int, Row]:
    """The transposed patterns of the sources, by identity; rows are numbered by target, here and in `starts`."""
    ends = {id(x) for x in sources}
    path = _between(nodes, ends, [out for node in nodes for out in node.outputs if id(out) in starts])
    reached = ends | {id(out) for node in path for out in node.outputs}
    known = dict(starts)
    for node in reversed(path):
        rows = [known.get(id(out), {}) if id(out) in ends else known.pop(id(out), {}) for out in node.outputs]
        columns = {i: pattern.shape[1] for row in rows for i, pattern in row.items()}
        site = sites(node)
        for i, x in enumerate(node.inputs):
            if id(x) in reached and site.carries(i):
                try:
                    links = site.links(i)
                except UnknownContentsError:
                    links = every(site, i)
                row = _not_too_full(_linked(rows, [[link.reversed for link in of] for of in links], columns), most)
                before = known.setdefault(id(x), {})
                known[id(x)] = {**before, **{t: p.union(before[t]) if t in before else p for t, p in row.items()}}
    return known


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


def _step(node: Node, known: dict[int, Row], sites: Sites, unknown: Unknown | None) -> list[Row]:
    """The patterns of a node's outputs, from those of its operands."""
    site = sites(node)
    live = [i for i, x in enumerate(node.inputs) if known.get(id(x)) and site.carries(i)]
    rows = [known[id(node.inputs[i])] for i in live]
    columns = {j: pattern.shape[1] for row in rows for j, pattern in row.items()}
    try:
        if len(live) > 1 and node.op.moves:
            return _gathered(site, known, columns)
        links = [site.links(i) for i in live]
    except UnknownContentsError:
        if unknown is not None and live == [0] and len(node.outputs) == 1:
            return [_by_unknown_indices(site, rows[0], unknown)]
        links = [every(site, i) for i in live]
    return [_linked(rows, [of[k] for of in links], columns) for k in range(len(node.outputs))]


def _by_unknown_indices(site: Site, row: Row, unknown: Unknown) -> Row:
    """The patterns of what an op with indices of unknown contents makes of its first operand.

    A move G, whose rows have one entry each, starts columns of its own. Where its transpose follows upon a diagonal D,
    the product G' D G is diagonal, whatever the indices are.
    """
    op = site.node.op
    if op.moves and op.sparsity is GATHERS:
        number = min(unknown, default=0) - 1
        unknown[number] = (site.move(op.kernel, site.shapes[0]), row)
        return {number: Pattern.identity(math.prod(site.results[0]))}
    undone = getattr(op.sparsity, "undoes", None)
    move = undone and site.move(undone, site.results[0])
    back = [j for j, p in row.items() if j in unknown and move == unknown[j][0] and _is_diagonal(p)]
    parts = [unknown[j][1] for j in back]
    rest = _resolved({j: p for j, p in row.items() if j not in back}, unknown)
    links = every(site, 0)[0]
    return _united([*parts, _linked([rest], [links], {j: p.shape[1] for j, p in rest.items()})])


def _is_diagonal(pattern: Pattern) -> bool:
    if pattern.is_identity or pattern.form != "map":
        return pattern.is_identity or pattern.is_zero
    return bool(((pattern.index == np.arange(pattern.shape[0])) | (pattern.index < 0)).all())


def _united(rows: Iterable[Row]) -> Row:
    whole: Row = {}
    for row in rows:
        whole.update({j: whole[j].union(p) if j in whole else p for j, p in row.items()})
    return whole


def _resolved(row: Row, unknown: Unknown) -> Row:
    """The patterns by source alone: every element that comes of a move may come from anywhere in what it takes."""
    while (number := min(row, default=0)) < 0:
        there = np.where(row[number].counts(0) > 0, 0, -1)
        taken = unknown[number][1]
        merged = {j: p.merged(np.zeros(p.shape[0], np.int64), 1).rows(there) for j, p in taken.items()}
        row = _united([{j: p for j, p in row.items() if j != number}, merged])
    return row


def _gathered(site: Site, known: dict[int, Row], columns: dict[int, int]) -> list[Row]:
    """The pattern of a move's result, from those of several operands: the rows of all of them, in another order."""
    rule = site.node.op.sparsity
    assert isinstance(rule, Moves)
    carriers = [(known.get(id(x), {}), site.size(i)) for i, x in enumerate(site.node.inputs) if site.carries(i)]
    stacks = {
        j: stacked([row.get(j) or Pattern.zero(size, count) for row, size in carriers]) for j, count in columns.items()
    }
    return [{j: stack.rows(numbers) for j, stack in stacks.items()} for numbers in rule.numbers(site)]


def _linked(given: list[Row], links: list[Links], columns: dict[int, int]) -> Row:
    """The patterns of one output, from those of the operands and their links to it."""
    linked: Row = {}
    for j in columns:
        parts = [(row[j], link) for row, of in zip(given, links, strict=True) if j in row for link in of]
        if len(parts) > 1:
            # dense ones first, since nothing can be added to them
            parts.sort(key=lambda part: not part[0].is_dense)
        for pattern, link in parts:
            if j not in linked:
                linked[j] = pattern.through(link)
            elif not linked[j].is_dense:
                linked[j] = linked[j].union(pattern.through(link))
    return linked
