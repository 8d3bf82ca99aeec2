"""A graph as a person thinks of it: scopes, gradients and the step of an optimizer are one box each.

Constants, reads and whatever makes the first values of variables are left out. Scopes are opened as long as the picture
stays small.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.core.op import Node
from engine.explain.picture import GRADIENTS, Picture

ENOUGH = 8
"""A scope is opened if the picture has at most so many boxes then."""
KINDS = ("scope", "gradients", "update")
"""The kinds of boxes, in the order in which they follow each other."""
_INITIAL = re.compile(r"(^|/)Initializer(/|$)")
_HIDDEN = {"Const"}
_READ, _ASSIGN, _VARIABLE = "ReadVariableOp", "AssignVariableOp", "VarHandleOp"


def folded(nodes: Sequence[Node]) -> Picture:
    """The picture of all nodes of a graph."""
    graph = _Folding(nodes)
    keys = graph.keys()
    # a step may hold a variable that was made before everything else
    order = sorted(dict.fromkeys(key for key in keys if key is not None), key=lambda key: KINDS.index(key[0]))
    number = {key: i for i, key in enumerate(order)}
    picture = Picture([("", graph.text(key, keys), key[0] != "scope") for key in order])
    edges: dict[tuple[int, int], None] = {}
    for i, node in enumerate(nodes):
        for x in node.inputs:
            a = graph.producer.get(id(x))
            start, end = None if a is None else keys[a], keys[i]
            if start is not None and end is not None and start != end:
                edges[number[start], number[end]] = None
    picture.edges = [(a, b, False) for a, b in edges]
    return picture


class _Folding:
    """Facts about each node of a graph, by its number."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.names = [str(getattr(node, "name", "")) for node in nodes]
        self.producer = {id(out): i for i, node in enumerate(nodes) for out in node.outputs}
        self.inputs = [[self.producer[id(x)] for x in node.inputs if id(x) in self.producer] for node in nodes]
        number = {id(node): i for i, node in enumerate(nodes)}
        self.after = [[number[id(c)] for c in getattr(node, "control_inputs", ()) if id(c) in number] for node in nodes]
        self.users: list[list[int]] = [[] for _ in nodes]
        for i, (taken, after) in enumerate(zip(self.inputs, self.after, strict=True)):
            for a in (*taken, *after):
                self.users[a].append(i)
        self.hidden = self._hidden()
        self.gradient = [GRADIENTS.search(name) for name in self.names]
        self.update = self._update()

    def _hidden(self) -> list[bool]:
        """Constants, and all that only gives variables their first values."""
        named = zip(self.nodes, self.names, strict=True)
        hidden = [node.op.type in _HIDDEN or bool(_INITIAL.search(name)) for node, name in named]
        for i, node in enumerate(self.nodes):
            first = self.inputs[i][:1]
            is_first = node.op.type == _ASSIGN and bool(first) and self.names[i] == f"{self.names[first[0]]}/Assign"
            is_only_those = node.op.type == "NoOp" and all(hidden[c] for c in self.after[i])
            hidden[i] = hidden[i] or is_first or is_only_those
        return hidden

    def _update(self) -> list[bool]:
        """Find the step of an optimizer: what depends on gradients, and what nothing else needs."""
        update = [False] * len(self.nodes)
        for i in range(len(self.nodes)):
            if not self.hidden[i] and not self.gradient[i]:
                update[i] = any(update[a] or self.gradient[a] for a in self.inputs[i])
                update[i] = update[i] or any(update[c] for c in self.after[i])
        # a variable may be assigned to further down than where it is made
        for i in reversed(range(len(self.nodes))):
            users = [u for u in self.users[i] if not self.hidden[u]]
            if not self.hidden[i] and not self.gradient[i] and self.nodes[i].op.type != "Placeholder" and users:
                update[i] = update[i] or all(update[u] for u in users)
        return update

    def keys(self) -> list[tuple[str, str] | None]:
        """Of each node the box that it is in; None for those that are left out."""
        keys: list[tuple[str, str] | None] = [None] * len(self.nodes)
        plain = []
        for i, name in enumerate(self.names):
            if self.hidden[i]:
                continue
            if self.gradient[i]:
                found: Any = self.gradient[i]
                keys[i] = "gradients", name[: found.end()].rstrip("/")
            elif self.update[i]:
                keys[i] = "update", ""
            elif self.nodes[i].op.type != _READ:
                plain.append(i)
        for i, scope in self._scopes(plain).items():
            keys[i] = "scope", scope
        for i, node in enumerate(self.nodes):
            # a read is its variable
            if node.op.type == _READ and keys[i] is None and not self.hidden[i] and self.inputs[i]:
                keys[i] = keys[self.inputs[i][0]]
        return keys

    def _scopes(self, plain: list[int]) -> dict[int, str]:
        """Of these nodes the scopes that they are folded into, which are opened while there are few."""
        inside: dict[str, list[int]] = {}
        for i in plain:
            parts = self.names[i].split("/")
            for depth in range(1, len(parts) + 1):
                inside.setdefault("/".join(parts[:depth]), []).append(i)

        def beneath(scope: str) -> list[str]:
            parts = {"/".join(self.names[i].split("/")[: scope.count("/") + 2]) for i in inside[scope]}
            return sorted(parts - {scope}) + ([f"{scope}/"] if scope in parts else [])

        boxes = sorted({scope for scope in inside if "/" not in scope})
        while True:
            # all of a level, or none; the op that has the name of a scope stays with it
            inner = {s: beneath(s) for s in boxes if len(inside[s]) > 1 and all(b in inside for b in beneath(s))}
            opened = [b for s in boxes for b in inner.get(s, [s])]
            if not inner or len(opened) > ENOUGH:
                break
            boxes = opened
        return {i: scope for scope in boxes for i in inside[scope]}

    def text(self, key: tuple[str, str], keys: list[tuple[str, str] | None]) -> str:
        """The text in a box."""
        kind, name = key
        members = [i for i, k in enumerate(keys) if k == key and self.nodes[i].op.type != _READ]
        if kind == "update":
            steps = [i for i in members if self.nodes[i].op.type == "NoOp"]
            name = self.names[max(steps, key=lambda i: len(self.after[i]))] if steps else "update"
        if len(members) == 1 and kind == "scope":
            op = self.nodes[members[0]].op
            said = "variable" if op.type == _VARIABLE else op.type
            return said if said == name else f"{name}\n{said}"
        return f"{name}\n{len(members)} ops"
