"""How much memory sweeps take, as predicted from shapes, and how many seeds fit into what the caller allows."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from typing import Any

from engine.compiler.liveness import last_uses
from engine.core.aval import format_shape
from engine.core.dtypes import DType
from engine.core.op import Node
from engine.core.value import aval_of, dtype_of, shape_of
from engine.derivatives.linearity import has_users_rule
from engine.jacobian.execution.decompression import Beside, Mirrored, Scattered, Stacked, Transposed, Whole
from engine.jacobian.planning.direction import PlannedSweep
from engine.jacobian.planning.elimination import Product, Step
from engine.jacobian.structure.path import Path
from engine.jacobian.structure.pattern import SMALL
from engine.runtime.errors import ResourceExhaustedError
from engine.runtime.tuning import TUNING

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container may take."""
_PLACES = 4
"""Bytes that say where an entry of a sparse matrix stands."""
SWEEP_BYTES = TUNING.sweep_bytes
"""How much memory one sweep may take, unless the caller says otherwise."""
_COPIES = 3
"""Copies of the operands themselves, for ops that need scratch: transposed, and those that LAPACK overwrites."""
_PLANNING = 64
"""Bytes for each entry of a sparse pattern, at the fullest, while the plan is made. Small patterns do not count."""


def chunks_for(
    path: Path,
    nodes: Sequence[Node],
    sweeps: Sequence[PlannedSweep],
    blocks: Sequence[Sequence[Any]],
    shapes: Sequence[Sequence[tuple[int, int]]],
    values_only: bool,
    max_bytes: int | None,
) -> tuple[list[int], int]:
    """How many seeds to sweep at once in each sweep, and the bytes that everything takes at its fullest.

    The blocks and their shapes are those of the plan; they are the numbers of sparse matrices if `values_only`.
    `max_bytes` is the caller's limit for all.
    """
    # results of sweeps, and where their numbers belong
    scattered = [block for row in blocks for block in row if isinstance(block, Scattered)]
    held = held_bytes(path, sweeps) + sum(block.nbytes for block in scattered) + _own_bytes(path, nodes)
    placing = sum(
        _placing(path, block, shape, source, values_only)
        for row, of in zip(blocks, shapes, strict=True)
        for block, shape, source in zip(row, of, path.sources, strict=True)
    )
    entries = sum(block.nnz + block.further for block in scattered)
    chunks, most = [], max(held + placing, _PLANNING * entries if entries > SMALL else 0)
    for one in sweeps:
        per_seed = max(1, seed_bytes(path, nodes, one))
        chunk = one.count
        # seeds that share elements may become constants of the program
        kept = 0 if one.colors is None else chunk * _bytes(path, one.group.slot)
        budget = _budget(nodes, values_only) if max_bytes is None else max(max_bytes - held, 0)
        room = budget if max_bytes is None else min(budget, max(budget - placing, 0) + chunk * per_seed)
        if not one.chain and chunk * per_seed + kept > room:
            # the seeds of a chunk, and its rows before they are put with the others, have memory of their own
            per_seed += sum(_bytes(path, slot) for slot in (one.group.slot, *one.reads))
            chunk = max(1, min(one.count - 1, budget // per_seed))
            kept = 0
        chunks.append(chunk)
        held += kept
        sweep = chain_bytes(path, nodes, one) if one.chain else chunk * per_seed
        most = max(most, sweep + held, placing + held)
    return chunks, most


def _budget(nodes: Sequence[Node], values_only: bool) -> int:
    """How much memory one sweep may take if the caller says nothing.

    Sparse results want little of it. Few seeds at a time are quicker, too, but may give other bits in contractions.
    """
    few = values_only and not any(n.op.kind == "multilinear" or has_users_rule(n.op) for n in nodes)
    return TUNING.sparse_sweep_bytes if few else SWEEP_BYTES


def check_room(path: Path, entries: Sequence[Sequence[int]], values_only: bool, symmetric: bool) -> None:
    """Raise ResourceExhaustedError, before it is there, if the result alone is larger than this machine's memory.

    ``entries[target][source]`` is how many entries of a block can be different from zero; blocks are the numbers of
    sparse matrices if `values_only`.
    """
    name = "hessian" if symmetric else "jacobian"
    items = [path.values[slot].dtype.numpy.itemsize for slot in path.sources]
    sizes = [[path.size(target) * path.size(source) for source in path.sources] for target in path.targets]
    dense, sparse = (
        sum(count * (item + more) for row in of for count, item in zip(row, items, strict=True))
        for of, more in ((sizes, 0), (entries, _PLACES))
    )
    size, room = sparse if values_only else dense, memory()
    if size <= room:
        return
    shapes = " + ".join(
        f"{path.size(target)} x {path.size(source)}" for target in path.targets for source in path.sources
    )
    way_out = f"Its entries that can be different from zero take {readable(sparse)} with format='csr'. "
    kind = "sparse" if values_only else "dense"
    raise ResourceExhaustedError(
        f"{name}: the {kind} result, {shapes}, takes {readable(size)}, and this machine "
        f"has {readable(room)}. {way_out if sparse < room else ''}format='operator' multiplies without the matrix, and "
        f"vjp, jvp and hvp give single products"
    )


def check_batch_room(shape: Sequence[int], dtype: DType) -> None:
    """Raise ResourceExhaustedError, before it is there, if a batch Jacobian is larger than this machine's memory."""
    size, room = math.prod(shape) * dtype.size, memory()
    if size > room:
        raise ResourceExhaustedError(
            f"batch_jacobian: the result, of shape {format_shape(tuple(shape))}, takes {readable(size)}, and this "
            f"machine has {readable(room)}. jacobian with format='csr' or format='operator' holds less; vjp and jvp "
            f"give products"
        )


def held_bytes(path: Path, sweeps: Sequence[PlannedSweep]) -> int:
    """The bytes that the results of sweeps take, which are fewer than a plan takes."""
    return sum(one.count * sum(_bytes(path, slot) for slot in one.reads) for one in sweeps)


def _own_bytes(path: Path, nodes: Sequence[Node]) -> int:
    """The bytes of one node's derivative for any number of seeds: copies of matrices that it factorizes."""
    most = 0.0
    for node in nodes:
        if isinstance(node.op.scratch, (int, float)):
            known = [slot for slot in [path.slots[id(x)] for x in node.inputs] if aval_of(path.values[slot]).is_static]
            most = max(most, min(node.op.scratch, _COPIES) * sum(_bytes(path, slot) for slot in known))
    return round(most)


def seed_bytes(path: Path, nodes: Sequence[Node], one: PlannedSweep) -> int:
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
        meeting = [slot for slot in before if slot in reached]
        if meeting:
            reached.update(after)
            taken.append((meeting, after, node))
    last = last_uses([takes for takes, _, _ in taken])
    alive = {slot: _bytes(path, slot) for slot in starts}
    held = most = sum(alive.values())
    for i, (takes, makes, node) in enumerate(taken):
        sizes = {slot: _bytes(path, slot) for slot in makes}
        # what comes from several operands, or adds to what is there already, is made beside it
        twice = {slot for slot in makes if slot in alive or makes.count(slot) > 1}
        extra = sum(size for slot, size in sizes.items() if slot in twice or (direction == "forward" and takes[1:]))
        scratch = node.op.scratch
        factor = scratch([shape_of(x) for x in node.inputs]) if callable(scratch) else scratch or 0
        extra += round(factor * sum(_bytes(path, s) for s in set(takes)))
        held += sum([size for slot, size in sizes.items() if slot not in alive])
        alive.update(sizes)
        most = max(most, held + extra)
        for slot in set(takes):
            if last[slot] == i and slot not in ends and (direction == "forward" or slot not in makes):
                held -= alive.pop(slot, 0)
    # in the end, what was not chosen is made zero beside what was computed (`engine.derivatives.strong_zeros`)
    mixed = direction == "reverse" and any(node.op.kind == "multilinear" for _, _, node in taken)
    return most + max([alive.get(slot, 0) for slot in ends], default=0) * mixed


def chain_bytes(path: Path, nodes: Sequence[Node], one: PlannedSweep) -> int:
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
    return path.size(slot) * dtype_of(path.values[slot]).size


def _placing(path: Path, block: Any, shape: tuple[int, int], source: int, values_only: bool) -> int:
    """The bytes that it takes to put a block together, besides the sweeps' results."""
    item = path.values[source].dtype.numpy.itemsize
    if isinstance(block, Scattered):
        # entries, and their places: in a matrix of the caller's, or in an array of the program's
        places = block.indices.nbytes + block.indptr.nbytes if values_only else 8 * block.nnz
        return item * (block.nnz + block.further + (0 if values_only else shape[0] * shape[1])) + places
    if isinstance(block, (Stacked, Beside)):
        return shape[0] * shape[1] * item
    if isinstance(block, Mirrored):
        return 2 * shape[0] * shape[1] * item
    assert block is None or isinstance(block, (Whole, Transposed))
    return 0


def readable(size: float) -> str:
    """A number of bytes, with three digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


@functools.cache
def memory() -> float:
    """Bytes of memory that this process can have; infinite where the system does not say."""
    try:
        limit: float = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        limit = math.inf
    for path in _LIMITS:
        try:
            with open(path) as file:
                limit = min(limit, int(file.read()))
        except (OSError, ValueError):
            # there is no such file, or it says "max"
            continue
    return limit if limit > 0 else math.inf
