"""Descriptions of plans: what `print(plan)` shows.

    Jacobian of 1 target, 1 source
      reverse from v5 (Mul, shape (99998,)): 1 seed (1 color)
      block [0][0] 99998 x 100000: 299994 entries, each put in its place
      why: sources peeled
      candidates: as it is: 3 seeds, sources peeled: 1 seed

The values of the function are numbered: v0, v1... are the sources, then come the results of its ops. A line per sweep
says where it starts, in which direction it goes, and how many seeds are swept at once; elements of one color share a
seed, since the numbers that belong to them meet nowhere. A line per block says how the sweeps' results become the
block. A cut is a small value that everything on the way goes through: the Jacobians on its two sides are multiplied,
each swept in its own direction. Peeled ops at either end only move data (slices, reshapes, joins); they are not swept
through, but say where numbers belong. In a partial compression, rows or columns that are much fuller than the
others have sweeps of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.jacobian.execution.decompression import Beside, Block, Mirrored, Scattered, Stacked, Transposed, Whole
from engine.jacobian.planning.direction import PlannedSweep
from engine.jacobian.planning.elimination import Product, Step
from engine.jacobian.planning.memory_limit import readable
from engine.jacobian.structure.path import Path

Names = Mapping[int, str]
"""The names of the values that a plan speaks of."""


def names_of(path: Path, sweeps: Iterable[PlannedSweep]) -> dict[int, str]:
    """The names of all values at which sweeps start, and at which they are cut."""
    made_by = {path.slots[id(out)]: node for node in path.nodes for out in node.outputs}
    names = {}
    for one in sweeps:
        for slot in (one.group.slot, *(one.chain.cuts if one.chain else ())):
            what = f"source {path.sources.index(slot)}" if slot in path.sources else "constant"
            if slot in made_by:
                what = made_by[slot].op.type
            names[slot] = f"v{slot} ({what}, shape {path.shape(slot)})"
    return names


def describe_sweep(one: PlannedSweep, chunk: int, names: Names) -> str:
    """A sweep: where it starts, and with what."""
    name = names.get(one.group.slot, f"v{one.group.slot}")
    if one.chain is not None:
        cuts = " and ".join(names.get(cut, f"v{cut}") for cut in one.chain.cuts)
        return f"{name} by the sources, cut at {cuts}: {_bracketing(one)}"
    how = "one per element" if one.colors is None else count(one.count, "color")
    parts = f", {-(-one.count // chunk)} chunks of {chunk}" if chunk < one.count else ""
    return f"{one.direction} from {name}: {count(one.count, 'seed')} ({how}){parts}"


def _bracketing(one: PlannedSweep) -> str:
    """A product over cuts; what a sweep starts from, if not from unit vectors, stands behind it."""
    assert one.chain is not None
    points = ["sources", *[f"v{cut}" for cut in one.chain.cuts], f"v{one.group.slot}"]

    def text(step: Step) -> str:
        if isinstance(step, Product):
            return f"({text(step.left)} @ {text(step.right)})"
        ends = (points[step.low], points[step.high])
        way = " to ".join(ends if step.direction == "forward" else ends[::-1])
        return f"[{step.direction}, {way}{'' if step.seeds is None else f', of {text(step.seeds)}'}]"

    return text(one.chain.step)


def describe_block(block: Block) -> str:
    """How a block is made of the results of sweeps."""
    if block is None:
        return "zero"
    if isinstance(block, Scattered):
        return f"{count(block.nnz, 'entry', 'entries')}, each put in its place"
    if isinstance(block, Whole):
        return "the result of a sweep"
    if isinstance(block, (Stacked, Beside)):
        where = "below" if isinstance(block, Stacked) else "beside"
        return f"results of sweeps, {where} one another"
    if isinstance(block, (Mirrored, Transposed)):
        what = "mirrored at the diagonal" if isinstance(block, Mirrored) else "transposed"
        return f"{describe_block(block.block)}, {what}"
    return type(block).__name__


def describe_fact(name: str, value: Any) -> str:
    """A line of the costs."""
    if name == "bytes":
        return f"bytes: {value} ({readable(value)}; results and the largest sweep)"
    return f"{name}: {value:.3g}" if isinstance(value, float) else f"{name}: {value}"


def count(number: int, what: str, several: str | None = None) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"
