"""Costs of sweeps, as predicted from shapes.

A node costs its calls into NumPy, and its arithmetic and memory traffic once per seed. Only the constants' ratios
matter (`engine.runtime.tuning`), and only for choosing between plans.
"""

from __future__ import annotations

import math

from engine.core.op import Node
from engine.core.value import aval_of
from engine.runtime.tuning import TUNING

CALL = TUNING.call
"""Seconds per kernel call."""
ELEMENT = TUNING.element
"""Seconds per element of an elementwise result: memory traffic."""
FLOP = TUNING.flop
"""Seconds per floating point operation of a contraction."""
GATHER = TUNING.pick
"""Seconds to gather one number from a sweep's result and put it where it belongs."""


def size_of(x: object) -> int:
    """Number of elements; 1 where a dimension is not known."""
    shape = aval_of(x).shape
    return math.prod([d or 0 for d in shape]) if shape else 1


def flops(node: Node) -> float:
    """Floating point operations of one application."""
    out = sum(size_of(x) for x in node.outputs)
    if _is_contraction(node):
        # (m, k) times (k, n): sizes mk, kn, mn have the product (mkn)**2
        return 2.0 * math.sqrt(float(out) * size_of(node.inputs[0]) * size_of(node.inputs[1]))
    if node.op.elementwise:
        return float(out)
    return float(max([out, *[size_of(x) for x in node.inputs]]))


def _is_contraction(node: Node) -> bool:
    return node.op.kind == "multilinear" and len(node.inputs) == 2


def traffic(node: Node) -> int:
    """Elements that one seed's walk through the node reads and writes anew."""
    return sum(size_of(x) for x in node.outputs) + max([size_of(x) for x in node.inputs], default=0)


def sweep_time(node: Node, seeds: int, live: int = 1) -> float:
    """Seconds to push `seeds` tangents forward through a node, or to pull cotangents back: see `sweep_cost`."""
    return with_seeds(seeds, *sweep_cost(node, live))


def with_seeds(seeds: int, once: float, per_seed: float) -> float:
    """Seconds for `seeds` seeds, from what takes time once and for each seed.

    What takes time once are calls, and a single seed has no axis that NumPy must broadcast along in each.
    """
    return once * (0.5 if seeds == 1 else 1.0) + seeds * per_seed


def sweep_cost(node: Node, live: int) -> tuple[float, float]:
    """Seconds that a sweep through a node takes in any case, and for each seed.

    Each of the `live` operands has or gets a derivative: that takes a product of its own, and all but the first are
    added to something.
    """
    product, move = seed_times(node)
    return 2 * live * CALL, live * product + (2 * live - 1) * move


def seed_times(node: Node) -> tuple[float, float]:
    """Seconds that each seed takes: the arithmetic of a product; the traffic of a product, or of a sum."""
    return flops(node) * FLOP if _is_contraction(node) else 0.0, 0.5 * traffic(node) * ELEMENT


def product_time(rows: int, inner: int, columns: int) -> float:
    """Seconds to multiply two matrices."""
    return 2 * CALL + 2.0 * rows * inner * columns * FLOP + rows * columns * ELEMENT
