"""Where the path from a source to a target ends: one walk forwards from the source, one backwards from the target.

Forwards go two sets: the values that depend on the source *differentiably* (by operands that carry a derivative, in
nodes that the tape recorded), and those that depend on it at all. Backwards goes the set of values that the target is
computed from. An edge that leads from the first set to a value of the third, but does not carry, is a break.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.core.op import Node
from engine.explain.evidence import Evidence


class Break(NamedTuple):
    """An edge that does not carry: operand `operand` of `node`."""

    node: Node
    operand: int


@dataclass
class Search:
    """The result of the two walks."""

    evidence: Evidence
    source: Any
    target: Any
    live: set[int] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)
    needed: set[int] = field(default_factory=set)
    feeds: set[int] = field(default_factory=set)
    """``id`` of the values that depend on the source differentiably, that depend on it at all, that the target is
    computed from, and that it is computed from differentiably."""
    breaks: list[Break] = field(default_factory=list)
    """Where the path ends, in the order of execution; of a connected target, where another path ends."""
    made: dict[int, Node] = field(default_factory=dict)
    """``id(value) -> the node`` that computed it."""
    came: dict[int, Break] = field(default_factory=dict)
    """``id(value) -> (node, operand)``: by which operand a value was first reached."""

    @property
    def is_connected(self) -> bool:
        """Whether a derivative leads from the source to the target."""
        return id(self.target) in self.live and id(self.target) not in self.evidence.stop - {id(self.source)}

    def path(self, end: Any, carrying: bool = True) -> list[Node]:
        """The nodes of a way from the source to a value."""
        nodes: list[Node] = []
        while id(end) in self.came and end is not self.source:
            node, operand = self.came[id(end)]
            if nodes and nodes[-1] is node:
                break
            nodes.append(node)
            end = node.inputs[operand]
        return nodes[::-1]

    def leaves(self) -> Iterable[Any]:
        """The values that the target is computed from and that nothing known has computed."""
        seen: dict[int, Any] = {}
        for node in self.evidence.nodes:
            if any(id(out) in self.needed for out in node.outputs):
                seen.update({id(x): x for x in node.inputs if id(x) not in self.made})
        if id(self.target) not in self.made:
            seen[id(self.target)] = self.target
        return seen.values()


def search(evidence: Evidence, target: Any, source: Any) -> Search:
    """Look for the ways from a source to a target."""
    walks = Search(evidence, source, target)
    _backwards(walks)
    _forwards(walks)
    return walks


def _backwards(walks: Search) -> None:
    walks.needed.add(id(walks.target))
    walks.feeds.add(id(walks.target))
    for node in reversed(walks.evidence.nodes):
        walks.made.update({id(out): node for out in node.outputs})
        if any(id(out) in walks.needed for out in node.outputs):
            walks.needed.update(map(id, node.inputs))
        if any(id(out) in walks.feeds for out in node.outputs):
            walks.feeds.update([id(x) for i, x in enumerate(node.inputs) if node.carries(i)])


def _forwards(walks: Search) -> None:
    evidence, source = walks.evidence, walks.source
    live, reached = walks.live, walks.reached
    reached.add(id(source))
    if evidence.is_tracked(source):
        live.add(id(source))
    for node in evidence.nodes:
        touched = [i for i, x in enumerate(node.inputs) if id(x) in reached]
        if not touched:
            continue
        open_ = evidence.recorded(node) and evidence.since(node, source)
        carrying = [i for i in touched if id(node.inputs[i]) in live and open_ and node.carries(i)]
        kept = [out for out in node.outputs if carrying and id(out) not in evidence.stop]
        by = Break(node, (carrying or touched)[0])
        if any(id(out) in walks.needed for out in node.outputs):
            # where one operand carries, another that does not is an index, a condition or the like
            walks.breaks += [Break(node, i) for i in touched if not kept and id(node.inputs[i]) in live]
        for out in node.outputs:
            walks.came.setdefault(id(out), by)
            reached.add(id(out))
        for out in kept:
            if id(out) not in live:
                walks.came[id(out)] = by
            live.add(id(out))
