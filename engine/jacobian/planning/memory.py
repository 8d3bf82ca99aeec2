"""How much memory sweeps take, as predicted from shapes, and how many seeds fit into what the caller allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from engine.core.op import Node
from engine.core.value import shape_of
from engine.jacobian.coloring.symmetric import Mirrored, Transposed
from engine.jacobian.execution.decompression import Beside, Scattered, Stacked, Whole
from engine.jacobian.planning.direction import Pass
from engine.jacobian.planning.elimination import Product, Step
from engine.jacobian.structure.path import Path

SWEEP_BYTES = 1 << 28
"""How much memory one sweep may take, unless the caller says otherwise."""
_LEAN = ("elementwise", "linear", "multilinear")
"""Kinds of ops whose rules make nothing as large as a derivative besides its result."""
_SCRATCH = {"engine.ops.decompose": 8, "engine.ops.solve": 4, "engine.ops.matrix_functions": 8}
"""What the rules of a module's ops make besides, in derivatives of a result; 2 for others that are not lean."""
_CONV = "engine.ops.conv"


def chunks_for(
    path: Path,
    nodes: Sequence[Node],
    passes: Sequence[Pass],
    blocks: Sequence[Sequence[Any]],
    shapes: Sequence[Sequence[tuple[int, int]]],
    values_only: bool,
    max_bytes: int | None,
) -> tuple[list[int], int]:
    """How many seeds to sweep at once in each pass, and the bytes that everything takes at its fullest.

    Parameters
    ----------
    nodes : sequence of Node
        Those that are swept through.
    blocks, shapes : list of list
        Of the plan.
    values_only : bool
        Whether blocks are the numbers of sparse matrices.
    max_bytes : int, optional
        The caller's limit for all.
    """
    held = sum(one.count * sum(_bytes(path, slot) for slot in one.reads) for one in passes)
    budget = SWEEP_BYTES if max_bytes is None else max(max_bytes - held, 0)
    chunks, most = (
        [],
        held
        + sum(
            _placing(path, block, shape, source, values_only)
            for row, of in zip(blocks, shapes, strict=True)
            for block, shape, source in zip(row, of, path.sources, strict=True)
        ),
    )
    for one in passes:
        per_seed = max(1, seed_bytes(path, nodes, one))
        chunk = one.count if one.chain else max(1, min(one.count, budget // per_seed))
        chunks.append(chunk)
        sweep = chain_bytes(path, nodes, one) if one.chain else chunk * per_seed
        most = max(most, sweep + held)
    return chunks, most


def seed_bytes(path: Path, nodes: Sequence[Node], one: Pass) -> int:
    """Memory of one seed's walk at its fullest: the derivatives that are still to be used, and a node's own."""
    starts, ends = ({one.group.slot}, set(one.reads))
    return walk_bytes(path, nodes, one.direction, starts, ends)


def walk_bytes(path: Path, nodes: Sequence[Node], direction: str, starts: set[int], ends: set[int]) -> int:
    """The same for a walk from some values to others."""
    steps = [([path.slots[id(x)] for x in n.inputs], [path.slots[id(x)] for x in n.outputs], n) for n in nodes]
    if direction == "reverse":
        live = path.reached(nodes, ends)
        steps = [
            ([s for s in outputs if s in live], [s for s in inputs if s in live], n)
            for inputs, outputs, n in steps[::-1]
        ]
    # from here on each step takes derivatives and makes derivatives
    reached = set(starts)
    taken = []
    for before, after, node in steps:
        found = [slot for slot in before if slot in reached]
        if found:
            reached.update(after)
            taken.append((found, after, node))
    last = {slot: i for i, (takes, _, _) in enumerate(taken) for slot in takes}
    alive = {slot: _bytes(path, slot) for slot in starts}
    held = most = sum(alive.values())
    for i, (takes, makes, node) in enumerate(taken):
        sizes = {slot: _bytes(path, slot) for slot in makes}
        # what comes from several operands, or adds to what is there already, is made beside it
        twice = {slot for slot in makes if slot in alive or makes.count(slot) > 1}
        extra = sum(size for slot, size in sizes.items() if slot in twice or (direction == "forward" and takes[1:]))
        extra += _scratch(node) * sum(_bytes(path, s) for s in set(takes))
        held += sum([size for slot, size in sizes.items() if slot not in alive])
        alive.update(sizes)
        most = max(most, held + extra)
        for slot in set(takes):
            if last[slot] == i and slot not in ends and (direction == "forward" or slot not in makes):
                held -= alive.pop(slot, 0)
    return most


def _scratch(node: Node) -> int:
    """What an op's rules make besides, in derivatives of its result."""
    if node.op.module == _CONV:
        # the data are laid out once for each element of a window
        windows = (shape_of(x) for x in node.inputs if len(shape_of(x) or ()) > 2)
        return 4 + min([math.prod([d or 1 for d in shape[:-2]]) for shape in windows if shape], default=0)
    return _SCRATCH.get(node.op.module, 2 * (node.op.kind not in _LEAN))


def chain_bytes(path: Path, nodes: Sequence[Node], one: Pass) -> int:
    """Memory of products over cuts at its fullest."""
    assert one.chain is not None
    points = [set(one.reads), *[{cut} for cut in one.chain.cuts], {one.group.slot}]

    def matrix(low: int, high: int) -> int:
        return sum(path.size(s) for s in points[high]) * sum(_bytes(path, s) for s in points[low])

    def of(step: Step) -> tuple[int, int, int]:
        """The most that a step takes, and the points between which its result lies."""
        if isinstance(step, Product):
            (left, middle, high), (right, low, _) = of(step.left), of(step.right)
            kept = matrix(middle, high)
            return max(left, kept + right, kept + matrix(low, middle) + matrix(low, high)), low, high
        reverse = step.direction == "reverse"
        most, low, high = (0, step.low, step.high) if step.seeds is None else of(step.seeds)
        low, high = (step.low, high) if reverse else (low, step.high)
        starts, ends = points[step.high if reverse else step.low], points[step.low if reverse else step.high]
        seeds = sum(path.size(s) for s in points[high if reverse else low])
        return max(most, seeds * walk_bytes(path, nodes, step.direction, starts, ends)), low, high

    return of(one.chain.step)[0]


def _bytes(path: Path, slot: int) -> int:
    return path.size(slot) * path.values[slot].dtype.numpy.itemsize


def _placing(path: Path, block: Any, shape: tuple[int, int], source: int, values_only: bool) -> int:
    """What it takes to put a block together, besides the sweeps' results."""
    item = path.values[source].dtype.numpy.itemsize
    if isinstance(block, Scattered):
        return item * (block.nnz + (0 if values_only else shape[0] * shape[1]))
    if isinstance(block, (Stacked, Beside)):
        return shape[0] * shape[1] * item
    if isinstance(block, Mirrored):
        return 2 * shape[0] * shape[1] * item
    assert block is None or isinstance(block, (Whole, Transposed))
    return 0
