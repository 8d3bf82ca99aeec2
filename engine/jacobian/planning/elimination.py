"""Cuts: values that everything on the way from sources to target goes through, and the order in which to multiply.

Between two cuts c and d lies a stretch of the path with a local Jacobian J(d, c). The Jacobian of the whole is their
product, and products may be bracketed freely: sweep through several stretches at once, multiply finished matrices, pull
a finished matrix back through a stretch, or push it forward. Which order is cheapest is found by dynamic programming,
as in U. Naumann, "Optimization of generalized Jacobian chain products without memory constraints" (arXiv:2003.05755).
A bottleneck 1000 -> 8 -> 1000 then costs 16 sweeps in place of 1000.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from engine.compiler.liveness import last_uses
from engine.core.op import Node
from engine.jacobian.planning.cost import flops, product_time, sweep_cost, with_seeds
from engine.jacobian.structure.path import Path, between
from engine.runtime.structs import struct

_MOST = 24
"""Cuts considered; of more, the smallest."""


@struct(frozen=True)
class Sweep:
    """One batched walk through the stretch between points `low` and `high` of a chain."""

    direction: str
    low: int
    high: int
    """Points: 0 are the sources, the last one is the target, the cuts are in between."""
    seeds: Step | None = None
    """The matrix that is pulled back or pushed forward; None for the identity."""


@struct(frozen=True)
class Product:
    """J(high, middle) times J(middle, low)."""

    left: Step
    right: Step


Step = Sweep | Product


@struct(frozen=True)
class Chain:
    """A bracketing."""

    cuts: tuple[int, ...]
    """Numbers of the values between."""
    step: Step
    """The sweep or product that gives the whole Jacobian."""
    time: float
    """Predicted, in seconds."""


def find_cuts(path: Path, nodes: Sequence[Node], sources: Sequence[int], target: int) -> list[tuple[int, int]]:
    """The values between that everything goes through: number and position (how many nodes come before it).

    Complex ones are left out: a matrix of gradients there is not one to multiply with.
    """
    last = last_uses([[path.slots[id(x)] for x in node.inputs] for node in nodes], [target])
    open_until = {slot: last[slot] for slot in sources if slot in last}
    cuts = []
    for i, node in enumerate(nodes):
        for out in node.outputs:
            slot = path.slots[id(out)]
            if last.get(slot, -1) > i:
                open_until[slot] = last[slot]
        open_until = {slot: end for slot, end in open_until.items() if end > i}
        if len(open_until) == 1 and target not in open_until:
            (slot,) = open_until
            if not path.values[slot].dtype.is_complex:
                cuts.append((slot, i + 1))
    return cuts


def plan_chain(
    path: Path, nodes: Sequence[Node], sources: Sequence[int], target: int, rows: int, directions: Sequence[str]
) -> Chain:
    """The cheapest order for a dense Jacobian of `rows` elements of one target, by sweeps in some directions."""
    columns = sum(path.size(s) for s in sources)
    cuts = _useful(path, find_cuts(path, nodes, sources, target), max(rows, columns))
    sizes = [columns, *[path.size(slot) for slot, _ in cuts], rows]
    positions = [0, *[position for _, position in cuts], len(nodes)]
    costs = [sweep_cost(node, path.live_inputs(node)) for node in nodes]
    stretches = [
        (sum([once for once, _ in costs[a:b]]), sum([per_seed for _, per_seed in costs[a:b]]))
        for a, b in itertools.pairwise(positions)
    ]
    best: dict[tuple[int, int], tuple[float, Step]] = {}

    def time_of(low: int, high: int, seeds: int) -> float:
        return sum([with_seeds(seeds, *cost) for cost in stretches[low:high]])

    for length in range(1, len(sizes)):
        for low in range(len(sizes) - length):
            high = low + length
            options: list[tuple[float, Step]] = []
            if "reverse" in directions:
                options.append((time_of(low, high, sizes[high]), Sweep("reverse", low, high)))
            if "forward" in directions:
                options.append((time_of(low, high, sizes[low]), Sweep("forward", low, high)))
            for middle in range(low + 1, high):
                left_time, left = best[middle, high]
                right_time, right = best[low, middle]
                product = product_time(sizes[high], sizes[middle], sizes[low])
                options.append((left_time + right_time + product, Product(left, right)))
                if "reverse" in directions:
                    pull = time_of(low, middle, sizes[high])
                    options.append((left_time + pull, Sweep("reverse", low, middle, left)))
                if "forward" in directions:
                    push = time_of(middle, high, sizes[low])
                    options.append((right_time + push, Sweep("forward", middle, high, right)))
            best[low, high] = min(options, key=lambda option: option[0])
    time, step = best[0, len(sizes) - 1]
    return Chain(tuple([slot for slot, _ in cuts]), step, time)


def chain_flops(path: Path, nodes: Sequence[Node], chain: Chain, sources: Sequence[int], target: int) -> float:
    """Floating point operations of a chain."""
    points = [[*sources], *[[cut] for cut in chain.cuts], [target]]
    sizes = [sum([path.size(slot) for slot in point]) for point in points]

    def ends(step: Step) -> tuple[int, int]:
        if isinstance(step, Product):
            return ends(step.right)[0], ends(step.left)[1]
        if step.seeds is None:
            return step.low, step.high
        return (step.low, ends(step.seeds)[1]) if step.direction == "reverse" else (ends(step.seeds)[0], step.high)

    def of(step: Step) -> float:
        low, high = ends(step)
        if isinstance(step, Product):
            return of(step.left) + of(step.right) + 2.0 * sizes[low] * sizes[ends(step.left)[0]] * sizes[high]
        start, end = ([path.values[slot] for slot in points[k]] for k in (step.low, step.high))
        seeds = sizes[high] if step.direction == "reverse" else sizes[low]
        return seeds * stretch_flops(path, nodes, start, end) + (0.0 if step.seeds is None else of(step.seeds))

    return of(chain.step)


def stretch_flops(path: Path, nodes: Sequence[Node], sources: Sequence[Any], targets: Sequence[Any]) -> float:
    """Floating point operations of one seed's way between values."""
    return sum([flops(node) * path.live_inputs(node) for node in between(nodes, sources, targets)])


def _useful(path: Path, cuts: list[tuple[int, int]], largest: int) -> list[tuple[int, int]]:
    """Cuts that may pay: smaller than one of the ends, and the smallest of their neighborhood."""
    sizes = [path.size(slot) for slot, _ in cuts]
    candidates = []
    for k, (size, cut) in enumerate(zip(sizes, cuts, strict=True)):
        before = sizes[k - 1] if k else largest
        after = sizes[k + 1] if k + 1 < len(sizes) else largest
        if size < largest and size < before and size <= after:
            candidates.append((size, cut))
    smallest = sorted(candidates, key=lambda item: item[0])[:_MOST]
    return sorted([cut for _, cut in smallest], key=lambda cut: cut[1])
