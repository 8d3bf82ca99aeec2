"""Which sweeps to make: every block that is not zero must be reached, at least cost.

A block is reached in reverse from its target or forward from its source. Targets and sources are the two sides of a
bipartite graph, its edges are the blocks that are not zero; a choice of sweeps is a vertex cover. Rows of a target that
have no column in common (in any of the sources swept for) share a seed, and so do columns of a source (Curtis, Powell
and Reid, "On the estimation of sparse Jacobian matrices", 1974): see `engine.jacobian.coloring.compression`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from engine.core.op import Node
from engine.jacobian.coloring.compression import color_columns
from engine.jacobian.planning.cost import CALL, seed_times, with_seeds
from engine.jacobian.planning.elimination import Chain, Sweep, chain_flops, plan_chain, stretch_flops
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import TABLE, Pattern, counts, repetitions
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import struct

BRUTE_FORCE = 8
"""Ends of one side whose subsets are all tried."""


@struct(frozen=True)
class Ways:
    """Which sweeps may be made: in what `mode` ("auto", "forward", "reverse"), and whether as products over `cuts`.

    With `single_rows` each element of a target is swept from by itself, whatever the patterns. An entry that is
    `mirrored` may be read from the sweep of its column or of its row.
    """

    mode: str = "auto"
    cuts: bool = True
    single_rows: bool = False
    mirrored: bool = False


@struct(frozen=True, eq=False)
class Group:
    """Elements of one value that are seeded together."""

    slot: int
    """The value's number on the path."""
    index: np.ndarray | None = None
    """Which elements; None: all."""


@struct(frozen=True, eq=False)
class PlannedSweep:
    """One sweep of the plan: from the elements of one group to all of `reads`."""

    direction: str
    group: Group
    """Where it starts."""
    reads: tuple[int, ...]
    """Numbers of the values at the other end."""
    colors: np.ndarray | None
    """Per element of the group its seed; None: a seed of its own for each."""
    count: int
    """Number of seeds."""
    chain: Chain | None = None
    """How to multiply over cuts, for a dense reverse sweep."""
    time: float = 0.0
    """Predicted, in seconds."""

    def flops(self, path: Path, nodes: Sequence[Node]) -> float:
        """Floating point operations on a path of which these nodes are left."""
        if self.chain is not None:
            return chain_flops(path, nodes, self.chain, self.reads, self.group.slot)
        start, ends = [path.values[self.group.slot]], [path.values[slot] for slot in self.reads]
        sources, targets = (ends, start) if self.direction == "reverse" else (start, ends)
        return self.count * stretch_flops(path, nodes, sources, targets)


class _Possible(NamedTuple):
    """A sweep that may be made, not yet colored: from group number `end` to those of the other side in `reached`."""

    direction: str
    end: int
    reached: tuple[int, ...]


class _Step(NamedTuple):
    """A node, the numbers of what it takes and makes, and its `seed_times` (`engine.jacobian.planning.cost`)."""

    node: Node
    inputs: list[int]
    outputs: list[int]
    product: float
    move: float


class DirectionAssignment:
    """The choice of sweeps for given ends.

    Looking for colors is what takes longest. How few there can be is known beforehand, from the longest row or column.
    So choices are looked at in the order of what they cost at the least, until that is more than the best one costs.

    ``patterns[i][j]`` is of target group i with respect to source group j. The sweeps take `least` seconds, 0 where
    products over cuts may make them cheaper, and `fewest` seeds, at the least.
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
        self.ways = ways
        slots = path.slots
        self._steps = [
            _Step(n, [slots[id(x)] for x in n.inputs], [slots[id(x)] for x in n.outputs], *seed_times(n)) for n in nodes
        ]
        self._from_sources = path.reached(nodes, [g.slot for g in sources])
        self._costs: dict[tuple[str, tuple[int, ...]], tuple[float, float]] = {}
        self._longest: dict[tuple[str, int, int], int] = {}
        self._colors: dict[_Possible, tuple[np.ndarray | None, int]] = {}
        self._reads = [tuple([j for j, p in enumerate(row) if not p.is_zero]) for row in patterns]
        self._reaches = [[i for i, reads in enumerate(self._reads) if j in reads] for j in range(len(sources))]
        self._choices = [self._possible(reverse) for reverse in self._reversed()]
        self._least = self._bounds()
        may_cut = ways.cuts and any(p.is_dense for row in patterns for p in row)
        self.least = 0.0 if may_cut else min(self._least)
        cheapest = self._choices[self._least.index(min(self._least))]
        self.fewest = sum([self._fewest(sweep) for sweep in cheapest])

    def sweeps(self) -> list[PlannedSweep]:
        """The cheapest sweeps."""
        best: list[PlannedSweep] | None = None
        for k in sorted(range(len(self._choices)), key=self._least.__getitem__):
            if best is not None and self._bound(self._choices[k], _total(best)) >= _total(best):
                continue
            sweeps = [self._planned(sweep) for sweep in self._choices[k]]
            if best is None or _total(sweeps) < _total(best):
                best = sweeps
        assert best is not None
        return [self._with_cuts(p) for p in best] if self.ways.cuts else best

    def seconds(self, direction: str, ends: Sequence[int], seeds: int) -> float:
        """How long a sweep from some targets or sources takes, given by number, to all that they lead to."""
        key = direction, tuple(ends)
        if key not in self._costs:
            near = self._near(direction, ends)
            once = sum([products + sums + 1 for _, products, sums in near]) * CALL
            per_seed = sum([products * step.product + (products + sums) * step.move for step, products, sums in near])
            self._costs[key] = once, per_seed
        return with_seeds(seeds, *self._costs[key])

    def fewest_in_reverse(self, target: int) -> int:
        """The seeds that a reverse sweep from a target takes at the least."""
        return self._fewest(_Possible("reverse", target, self._reads[target]))

    # ---- the choices -------------------------------------------------------------------------------------------------

    def _reversed(self) -> Iterable[Sequence[int]]:
        """Which targets may be swept in reverse, while forward sweeps do the rest."""
        columns = range(len(self.sources))
        touched = [i for i, reads in enumerate(self._reads) if reads]
        if self.ways.mode == "reverse":
            return [touched]
        if self.ways.mode == "forward":
            return [()]
        if len(touched) <= BRUTE_FORCE:
            return itertools.chain.from_iterable(itertools.combinations(touched, n) for n in range(len(touched) + 1))
        if len(columns) <= BRUTE_FORCE:
            subsets = (set(c) for n in range(len(columns) + 1) for c in itertools.combinations(columns, n))
            return [[i for i in touched if not forward.issuperset(self._reads[i])] for forward in subsets]
        return [touched, ()]

    def _possible(self, reverse: Sequence[int]) -> list[_Possible]:
        rest = set(range(len(self.targets))).difference(reverse)
        sweeps = [_Possible("reverse", i, self._reads[i]) for i in reverse]
        for j, targets in enumerate(self._reaches):
            reached = tuple([i for i in targets if i in rest])
            if reached:
                sweeps.append(_Possible("forward", j, reached))
        return sweeps

    def _group(self, sweep: _Possible) -> Group:
        return (self.targets if sweep.direction == "reverse" else self.sources)[sweep.end]

    def _size(self, sweep: _Possible) -> int:
        group = self._group(sweep)
        return self.path.size(group.slot) if group.index is None else len(group.index)

    def _found(self, sweep: _Possible) -> list[Pattern]:
        """The patterns of what a sweep gives."""
        if sweep.direction == "reverse":
            return [self.patterns[sweep.end][j] for j in sweep.reached]
        return [self.patterns[i][sweep.end] for i in sweep.reached]

    # ---- what they cost ----------------------------------------------------------------------------------------------

    def _seconds(self, sweep: _Possible, seeds: int) -> float:
        return self.seconds(sweep.direction, (sweep.end,), seeds)

    def _bounds(self) -> list[float]:
        """Seconds that each choice takes at the least; of one that is not the cheapest, more than that one takes."""
        bounds = [0.0] * len(self._choices)
        least = math.inf
        for k in sorted(range(len(bounds)), key=lambda k: len(self._choices[k])):
            bounds[k] = self._bound(self._choices[k], least)
            least = min(least, bounds[k])
        return bounds

    def _bound(self, sweeps: Sequence[_Possible], limit: float) -> float:
        """Seconds that sweeps take at the least, or of so many of them that it is more than a limit."""
        bound = 0.0
        for sweep in sweeps:
            bound += self._seconds(sweep, self._fewest(sweep))
            if bound > limit:
                break
        return bound

    def _fewest(self, sweep: _Possible) -> int:
        """The seeds that a sweep takes at the least: elements that are met in one place need one each."""
        size, patterns = self._size(sweep), self._found(sweep)
        if size <= 1 or any(p.is_dense for p in patterns):
            return size
        longest = 1
        for other, pattern in zip(sweep.reached, patterns, strict=True):
            key = sweep.direction, sweep.end, other
            if key not in self._longest:
                self._longest[key] = int(pattern.counts(sweep.direction == "reverse").max(initial=0))
            longest = max(longest, self._longest[key])
        return longest

    def _planned(self, sweep: _Possible) -> PlannedSweep:
        if sweep not in self._colors:
            self._colors[sweep] = self._colored(sweep)
        colors, count = self._colors[sweep]
        far = self.sources if sweep.direction == "reverse" else self.targets
        reads = tuple(dict.fromkeys(far[k].slot for k in sweep.reached))
        return PlannedSweep(sweep.direction, self._group(sweep), reads, colors, count, time=self._seconds(sweep, count))

    def _colored(self, sweep: _Possible) -> tuple[np.ndarray | None, int]:
        """The seeds' colors and their number."""
        size, fewest = self._size(sweep), self._fewest(sweep)
        if fewest >= size:
            return None, size
        patterns = self._found(sweep)
        along = int(sweep.direction == "forward")
        if fewest == 1:
            return np.minimum(counts(patterns, along), 1).astype(np.int32) - np.int32(1), 1
        if sweep.direction == "reverse":
            patterns = [p.transposed() for p in patterns]
        # blocks that have no row in common take the same colors
        repeated = sum([p.nnz for p in patterns]) > TABLE and next(repetitions(patterns), None)
        times, blocks = repeated or (1, [])
        patterns = [Pattern.table(b) for b in blocks] or patterns
        matrices = [p.to_csr() for p in patterns]
        whole = matrices[0] if len(matrices) == 1 else sparse.vstack(matrices, format="csr")
        # their transposes take as much memory
        del patterns, matrices
        coloring = color_columns(whole)
        return (None, size) if coloring.count >= size else (np.tile(coloring.colors, times), coloring.count)

    def _near(self, direction: str, ends: Sequence[int]) -> list[tuple[_Step, int, int]]:
        """The steps that a sweep from these ends makes, each with its products and sums (`cost.py`)."""
        groups = self.targets if direction == "reverse" else self.sources
        reached = {groups[end].slot for end in ends}
        live = self._from_sources if direction == "reverse" else reached
        near = []
        for step in reversed(self._steps) if direction == "reverse" else self._steps:
            here, there = (step.outputs, step.inputs) if direction == "reverse" else (step.inputs, step.outputs)
            if reached.isdisjoint(here):
                continue
            taken = [s for s in step.inputs if s in live]
            # backwards, what other nodes have pulled to an operand is added to; forwards, its operands' products
            fresh = set(taken) - reached if direction == "reverse" else taken[:1]
            near.append((step, len(taken), len(taken) - len(fresh)))
            reached.update(there)
        return near

    # ---- cuts --------------------------------------------------------------------------------------------------------

    def _with_cuts(self, one: PlannedSweep) -> PlannedSweep:
        """A dense sweep between one target and its sources, with the cheapest bracketing over the cuts between."""
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
        nodes = [step.node for step, *_ in self._near("reverse", [self._number(self.targets, target.slot)])][::-1]
        directions = ("reverse", "forward") if self.ways.mode == "auto" else (self.ways.mode,)
        if any(self.path.values[s].dtype.is_complex for s in (target.slot, *sources)):
            return one
        chain = plan_chain(self.path, nodes, sources, target.slot, self.path.size(target.slot), directions)
        if chain.time >= one.time or (isinstance(chain.step, Sweep) and chain.step.seeds is None):
            return one
        return PlannedSweep("reverse", target, sources, None, self.path.size(target.slot), chain, chain.time)

    @staticmethod
    def _number(groups: Sequence[Group], slot: int) -> int:
        return next(i for i, group in enumerate(groups) if group.slot == slot)


def _total(sweeps: Sequence[PlannedSweep]) -> float:
    return sum(p.time for p in sweeps)
