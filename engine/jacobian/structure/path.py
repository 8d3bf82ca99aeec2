"""The way from sources to targets: the nodes between them, numbered, so that equal ways are recognized.

A plan speaks of values by number. Two recordings of one function, or a recording and a graph, get the same numbers and
the same key; so they share one plan.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from engine.closed.capture import closed_rule, in_order
from engine.compiler.ir.instruction import is_stateful
from engine.core.detach import shown
from engine.core.eager import EagerTensor
from engine.core.op import Node, distinct
from engine.core.trace import Symbol, constant_value, known_value
from engine.core.value import Value, aval_of, dtype_of, known_shape
from engine.core.variable import read_variable
from engine.derivatives.custom import custom_call
from engine.derivatives.linearity import has_users_rule
from engine.derivatives.reverse import live_path
from engine.ops.shape import identity


class Path:
    """The nodes that lead from sources to targets, by number; values of `stop` count as constants.

    Nodes are given in the order of execution, others may be among them (`recorded`); ``known(value)`` is the array that
    a value holds, or None, by default what recordings and constants hold. `values` are the sources first, then what the
    nodes take and make, in order, and ``slots[id(value)]`` are their numbers. `sources` and `targets` are numbers, too;
    so are those in `live` of the sources and of everything computed from them.

    `key` is equal for paths of equal structure, shapes and dtypes; None if something on it cannot be compared (a
    function among the parameters). `used` has the contents, by number, of values whose contents somebody looked at (the
    indices of a gather); None if they are not known.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        sources: Sequence[Any],
        targets: Sequence[Any],
        stop: Sequence[Any] = (),
        known: Callable[[Any], np.ndarray | None] | None = None,
    ) -> None:
        self._known = known or contents_of
        self._merged: Path | None = None
        self.values: list[Any] = []
        self.slots: dict[int, int] = {}
        self.used: dict[int, np.ndarray | None] = {}
        self.sources = [self.number(x) for x in sources]
        self.recorded = nodes
        self.nodes, targets = _read_once(between(nodes, sources, targets, stop), targets)
        parts: list[Any] = [_described(x) for x in self.values]
        comparable = True
        for node in self.nodes:
            parts.append(node.op)
            for x in node.inputs:
                if id(x) not in self.slots:
                    self.number(x)
                    parts.append(_described(x))
                parts.append(self.slots[id(x)])
            try:
                parts += [(name, distinct(value)) for name, value in node.params.items()]
            except TypeError:
                comparable = False
            for out in node.outputs:
                self.number(out)
                parts.append(_described(out))
        self.targets = [self.number(y) for y in targets]
        self.live = {self.slots[id(out)] for node in self.nodes for out in node.outputs} | set(self.sources)
        parts += [tuple(self.sources), tuple(self.targets), *[_described(y) for y in targets]]
        self.key = tuple(parts) if comparable else None

    @property
    def merged(self) -> Path:
        """The path with equal nodes as one, whose values have the same numbers: what is planned and swept.

        Who writes an expression twice gets two nodes for it, and a Jacobian in more parts. Nodes are merged that take
        only what lies on the path: graphs and tapes hold constants in different ways. A source stays what it is, as
        a derivative with respect to it is not one with respect to what equals it, and so does what is read of a
        variable, which may be updated in between (`PathCopy` writes reads as `identity`).
        """
        if self._merged is None:
            self._merged = self._with_merged_nodes()
        return self._merged

    def _with_merged_nodes(self) -> Path:
        slots, nodes, sources = self.slots.copy(), [], set(self.sources)
        first: dict[Any, list[int]] = {}
        for node in self.nodes:
            inputs = tuple([slots[id(x)] for x in node.inputs])
            outputs = [self.slots[id(x)] for x in node.outputs]
            # a rule that is not linear gives another sum for two uses than for one of their sum
            apart = node.op in (read_variable, identity) or has_users_rule(node.op)
            fixed = not is_stateful(node.op, node.params) and not apart
            if fixed and self.live.issuperset(inputs) and sources.isdisjoint(outputs):
                with contextlib.suppress(TypeError):
                    params = tuple([(name, distinct(value)) for name, value in node.params.items()])
                    kept = first.setdefault((node.op, inputs, params), outputs)
                    if kept is not outputs:
                        slots.update(zip(map(id, node.outputs), kept, strict=True))
                        continue
            operands = tuple([self.values[slot] for slot in inputs])
            same = all(x is y for x, y in zip(operands, node.inputs, strict=True))
            nodes.append(node if same else Node(node.op, operands, node.params, node.outputs))
        if len(nodes) == len(self.nodes):
            return self
        merged = copy.copy(self)
        merged.nodes, merged.slots = nodes, slots
        merged.targets = [slots[id(self.values[slot])] for slot in self.targets]
        merged._merged = merged
        return merged

    def number(self, value: Any) -> int:
        """The number of a value, a new one if it has none."""
        slot = self.slots.setdefault(id(value), len(self.values))
        if slot == len(self.values):
            self.values.append(value)
        return slot

    def reached(self, nodes: Iterable[Node], starts: Iterable[int]) -> set[int]:
        """Numbers of the values that `nodes` compute from those with the numbers `starts`, and these."""
        live = set(starts)
        for node in nodes:
            if any(self.slots[id(x)] in live for x in node.inputs):
                live.update([self.slots[id(out)] for out in node.outputs])
        return live

    @property
    def connected_ends(self) -> list[int]:
        """Numbers of the sources that lead to some target, and of the targets that some source leads to."""
        used = {self.slots[id(x)] for node in self.nodes for x in node.inputs} | set(self.targets)
        return [s for s in self.sources if s in used] + [t for t in self.targets if t in self.live]

    @property
    def starts_at_sources(self) -> bool:
        """Whether no source is computed from another."""
        return {self.slots[id(out)] for node in self.nodes for out in node.outputs}.isdisjoint(self.sources)

    @property
    def is_of_any_point(self) -> bool:
        """Whether what is known of its values is so at every point, not only where they were recorded."""
        return self._known is not contents_of

    def live_inputs(self, node: Node) -> int:
        """How many operands of a node lie on the path."""
        return sum(self.slots[id(x)] in self.live for x in node.inputs)

    def contents(self, value: Any) -> np.ndarray | None:
        """The array that a value is known to hold, or None. Remembered in `used`."""
        slot = self.slots.get(id(value))
        if slot in self.used:
            return self.used[slot]
        array = known_value(value, self._known)
        if slot is not None:
            self.used[slot] = array
        return array

    def size(self, slot: int) -> int:
        """Number of elements of a value."""
        return math.prod(self.shape(slot))

    def shape(self, slot: int) -> tuple[int, ...]:
        """Shape of a value, which must be known."""
        return known_shape(self.values[slot], "jacobian")

    def holds(self, used: dict[int, np.ndarray | None]) -> bool:
        """Whether the values with these numbers have these contents, and nothing is known where nothing was."""
        return all(_equal(self.contents(self.values[slot]), array) for slot, array in used.items())


def between(
    nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any], stop: Sequence[Any] = ()
) -> list[Node]:
    """The nodes on a path from a source to a target that does not go through one of `stop`."""
    path, live = live_path(nodes, {id(x) for x in sources}, {id(x) for x in stop})
    needed = {id(y) for y in targets}
    kept = []
    for node in reversed(path):
        if any(id(out) in needed for out in node.outputs):
            kept.append(node)
            needed.update([id(x) for x in node.inputs if id(x) in live])
    return kept[::-1]


def _read_once(nodes: list[Node], targets: Sequence[Any]) -> tuple[list[Node], Sequence[Any]]:
    """The nodes and targets with one read in place of several of a variable that has not changed: as a graph has it."""
    first: dict[Any, Any] = {}
    same: dict[int, Any] = {}
    for node in nodes:
        if node.op is read_variable and type(out := node.outputs[0]) is EagerTensor:
            kept = first.setdefault((id(node.inputs[0]), id(out._array)), out)
            if kept is not out:
                same[id(out)] = kept
    if not same:
        return nodes, targets
    renamed = [
        Node(n.op, tuple([same.get(id(x), x) for x in n.inputs]), n.params, n.outputs)
        for n in nodes
        if id(n.outputs[0]) not in same
    ]
    return renamed, [same.get(id(y), y) for y in targets]


def is_connected(nodes: Sequence[Node], source: Any, target: Any) -> bool:
    """Whether a path leads from a source to a target, by which a gradient is not None."""
    return target is source or bool(between(nodes, [source], [target]))


def _described(x: Any) -> tuple[Any, ...]:
    """The part of the key that describes a value: not its contents."""
    if not isinstance(x, (Value, np.ndarray, np.generic)):
        # a shape, given as Python numbers; what it did shows in the shape of the result
        return ("integers", np.shape(x))
    aval = aval_of(x)
    return ("integers", aval.shape) if aval.dtype.is_integer else (aval.shape, aval.dtype)


def contents_of(x: Any) -> np.ndarray | None:
    """The array that a value is known to hold, or None."""
    if isinstance(x, EagerTensor):
        shown(x)
        return x._array
    contents = constant_value(x)
    return None if contents is None else np.asarray(contents)


def contents_besides(recorded: Sequence[Node], sources: Sequence[Any] = ()) -> Callable[[Any], np.ndarray | None]:
    """The contents that a plan for other points may know: not computed in the recording, or told by shapes alone."""
    computed = set(map(id, sources))
    for node in recorded:
        # what is a source has derivatives
        fixed = all(id(x) not in computed and not dtype_of(x).is_differentiable for x in node.inputs)
        if not (node.op.from_avals or (fixed and not node.op.stateful)):
            computed.update([id(out) for out in node.outputs])
    return lambda x: None if id(x) in computed else contents_of(x)


def _equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and a.shape == b.shape and bool(np.array_equal(a, b)))


def with_closed_rules(path: Path) -> Path:
    """The path with `closed_call` in place of `custom_call` where it is one of symbols.

    A rule of the user's takes tensors of the graph around it, which become operands, and cannot be pickled.
    """
    if not any(node.op is custom_call and isinstance(node.outputs[0], Symbol) for node in path.nodes):
        return path
    nodes = in_order([closed_rule(node)[-1] if node.op is custom_call else node for node in path.nodes])
    return Path(nodes, [path.values[k] for k in path.sources], [path.values[k] for k in path.targets])
