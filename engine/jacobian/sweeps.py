"""Which sweeps to make: every block that is not zero must be reached, at least cost.

A block is reached in reverse from its target or forward from its source. Targets and sources are the two sides of a
bipartite graph, its edges are the blocks that are not zero; a choice of sweeps is a vertex cover. Rows of a target that
have no column in common (in any of the sources swept for) share a seed, and so do columns of a source (Curtis, Powell
and Reid, "On the estimation of sparse Jacobian matrices", 1974): see `engine.jacobian.coloring`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from engine.jacobian.chain import Chain, Sweep, plan_chain
from engine.jacobian.coloring import color_columns, color_rows
from engine.jacobian.cost import sweep_time
from engine.jacobian.path import Path
from engine.jacobian.pattern import Pattern
from engine.op import Node

_BRUTE_FORCE = 8
"""Ends of one side whose subsets are all tried."""


@dataclass(frozen=True)
class Ways:
    """Which sweeps may be made: in what `mode` ("auto", "forward", "reverse"), and whether as products over `cuts`."""

    mode: str = "auto"
    cuts: bool = True


@dataclass(frozen=True, eq=False)
class Group:
    """Elements of one value that are seeded together.

    Attributes
    ----------
    slot : int
        The value's number on the path.
    index : array of int, or None
        Which elements; None: all.
    """

    slot: int
    index: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Pass:
    """One sweep of the plan: from the elements of one group to all of `reads`.

    Attributes
    ----------
    direction : "reverse" or "forward"
    group : Group
        Where it starts.
    reads : tuple of int
        Numbers of the values at the other end.
    colors : array of int, or None
        Per element of the group its seed; None: a seed of its own for each.
    count : int
        Number of seeds.
    chain : Chain or None
        How to multiply over cuts, for a dense reverse pass.
    time : float
        Predicted, in seconds.
    """

    direction: str
    group: Group
    reads: tuple[int, ...]
    colors: np.ndarray | None
    count: int
    chain: Chain | None = None
    time: float = 0.0


class Cover:
    """The choice of passes for given ends.

    Parameters
    ----------
    path : Path
    nodes : sequence of Node
        Those between the ends.
    targets, sources : sequence of Group
    patterns : list of list of Pattern
        ``patterns[i][j]``: of target group i with respect to source group j.
    ways : Ways
    """

    def __init__(
        self,
        path: Path,
        nodes: Sequence[Node],
        targets: Sequence[Group],
        sources: Sequence[Group],
        patterns: list[list[Pattern]],
        ways: Ways,
    ) -> None:
        self.path, self.nodes = path, nodes
        self.targets, self.sources, self.patterns = targets, sources, patterns
        self._seeds: dict[Any, tuple[np.ndarray | None, int]] = {}
        self._near: dict[tuple[str, int], list[tuple[Node, tuple[int, int]]]] = {}
        chosen = self._chosen(ways.mode)
        self.passes = [self._with_cuts(p, ways.mode) for p in chosen] if ways.cuts else chosen

    # ---- the choice --------------------------------------------------------------------------------------------------

    def _chosen(self, mode: str) -> list[Pass]:
        rows, columns = range(len(self.targets)), range(len(self.sources))
        touched = [i for i in rows if any(not p.is_zero for p in self.patterns[i])]
        if mode == "reverse":
            choices: Iterable[Sequence[int]] = [touched]
        elif mode == "forward":
            choices = [()]
        elif len(touched) <= _BRUTE_FORCE:
            choices = itertools.chain.from_iterable(itertools.combinations(touched, n) for n in range(len(touched) + 1))
        elif len(columns) <= _BRUTE_FORCE:
            subsets = (set(c) for n in range(len(columns) + 1) for c in itertools.combinations(columns, n))
            choices = [
                [i for i in touched if any(not self.patterns[i][j].is_zero for j in columns if j not in forward)]
                for forward in subsets
            ]
        else:
            choices = [touched, ()]
        best: list[Pass] | None = None
        for reverse in choices:
            passes = self._passes(reverse)
            if best is None or _total(passes) < _total(best):
                best = passes
        assert best is not None
        return best

    def _passes(self, reverse: Sequence[int]) -> list[Pass]:
        """The passes if these targets are swept in reverse, and forward passes do the rest."""
        rest = [i for i in range(len(self.targets)) if i not in set(reverse)]
        passes = [self._pass("reverse", i, range(len(self.sources))) for i in reverse]
        for j in range(len(self.sources)):
            reached = [i for i in rest if not self.patterns[i][j].is_zero]
            if reached:
                passes.append(self._pass("forward", j, reached))
        return passes

    def _pass(self, direction: str, end: int, others: Iterable[int]) -> Pass:
        if direction == "reverse":
            group, far = self.targets[end], self.sources
            reached = [j for j in others if not self.patterns[end][j].is_zero]
        else:
            group, far = self.sources[end], self.targets
            reached = list(others)
        key = direction, end, tuple(reached)
        if key not in self._seeds:
            self._seeds[key] = self._colored(direction, end, reached)
        colors, count = self._seeds[key]
        seconds = sum(sweep_time(node, count, *counts) for node, counts in self._near_nodes(direction, end))
        reads = tuple(dict.fromkeys(far[k].slot for k in reached))
        return Pass(direction, group, reads, colors, count, time=seconds)

    def _colored(self, direction: str, end: int, reached: Sequence[int]) -> tuple[np.ndarray | None, int]:
        """The seeds' colours and their number."""
        if direction == "reverse":
            group, found = self.targets[end], [self.patterns[end][j] for j in reached]
        else:
            group, found = self.sources[end], [self.patterns[i][end] for i in reached]
        size = self.path.size(group.slot) if group.index is None else len(group.index)
        if any(p.is_dense for p in found) or size <= 1:
            return None, size
        if direction == "reverse":
            coloring = color_rows(sparse.csr_array(sparse.hstack([p.to_csr() for p in found], format="csr")))
        else:
            coloring = color_columns(sparse.csr_array(sparse.vstack([p.to_csr() for p in found], format="csr")))
        return (None, size) if coloring.count >= size else (coloring.colors, coloring.count)

    def _near_nodes(self, direction: str, end: int) -> list[tuple[Node, tuple[int, int]]]:
        """The nodes that a sweep from this end visits, each with its products and sums (`sweep_time`)."""
        key = direction, end
        if key not in self._near:
            slots = self.path.slots
            group = (self.targets if direction == "reverse" else self.sources)[end]
            reached = {group.slot}
            live = reached
            if direction == "reverse":
                live = self.path.reached(self.nodes, [g.slot for g in self.sources])
            near = []
            for node in reversed(self.nodes) if direction == "reverse" else self.nodes:
                inputs, outputs = ([slots[id(x)] for x in side] for side in (node.inputs, node.outputs))
                here, there = (outputs, inputs) if direction == "reverse" else (inputs, outputs)
                if reached.isdisjoint(here):
                    continue
                taken = [s for s in inputs if s in live]
                # backwards, what other nodes have pulled to an operand is added to; forwards, its operands' products
                fresh = set(taken) - reached if direction == "reverse" else taken[:1]
                near.append((node, (len(taken), len(taken) - len(fresh))))
                reached.update(there)
            self._near[key] = near
        return self._near[key]

    # ---- cuts --------------------------------------------------------------------------------------------------------

    def _with_cuts(self, one: Pass, mode: str) -> Pass:
        """A dense pass between one target and its sources, with the cheapest bracketing over the cuts between."""
        if one.colors is not None or one.count < 2:
            return one
        if one.direction == "reverse":
            target, sources = one.group, one.reads
        elif len(one.reads) == 1:
            target, sources = Group(one.reads[0]), (one.group.slot,)
        else:
            return one
        if any(g.slot in (target.slot, *sources) and g.index is not None for g in (*self.targets, *self.sources)):
            return one
        near = {id(n) for n, _ in self._near_nodes("reverse", self._number(self.targets, target.slot))}
        nodes = [n for n in self.nodes if id(n) in near]
        directions = ("reverse", "forward") if mode == "auto" else (mode,)
        if any(self.path.values[s].dtype.is_complex for s in (target.slot, *sources)):
            return one
        chain = plan_chain(self.path, nodes, sources, target.slot, self.path.size(target.slot), directions)
        if chain.time >= one.time or (isinstance(chain.step, Sweep) and chain.step.seeds is None):
            return one
        return Pass("reverse", target, sources, None, self.path.size(target.slot), chain, chain.time)

    @staticmethod
    def _number(groups: Sequence[Group], slot: int) -> int:
        return next(i for i, group in enumerate(groups) if group.slot == slot)


def _total(passes: Sequence[Pass]) -> float:
    return sum(p.time for p in passes)
