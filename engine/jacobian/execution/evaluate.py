"""Carrying out a plan: batched walks, products, and putting the numbers where they belong.

Everything is made of ops. So it works on symbols of a graph (which get new nodes), on eager values and on plain arrays,
and can be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import engine.frontend.operators  # noqa: F401  (rules use Python's operators on values)
from engine.core.batching import Batched, batch_level, unbatch
from engine.core.op import Node
from engine.core.trace import Symbol
from engine.core.value import dtype_of
from engine.forward import forward
from engine.jacobian.coloring.symmetric import Mirrored, Transposed
from engine.jacobian.execution.decompression import Beside, Scattered, Stacked, Whole
from engine.jacobian.planning.direction import Pass
from engine.jacobian.planning.elimination import Chain, Product, Step
from engine.jacobian.planning.plan import Plan
from engine.jacobian.structure.path import Path, between
from engine.jacobian.structure.verification import checked_block
from engine.ops.compare import cast, where
from engine.ops.creation import identity_like, ones_like, zeros_like
from engine.ops.filling import one_hot
from engine.ops.joining import concat
from engine.ops.linalg import matmul
from engine.ops.selection import add_at_op, pick_op, place_op
from engine.ops.shape import reshape, transpose
from engine.reverse import reverse

_SMALL = 1 << 16
"""Elements of a block up to which an index for each is no burden."""


def evaluate(plan: Plan, path: Path) -> list[list[Any]]:
    """The blocks of the Jacobian, ``[target][source]``.

    Returns
    -------
    list of list
        Matrices of shape (target's size, source's size); for a `Scattered` block of a plan for sparse results the
        numbers alone, in CSR order. None for a block that is zero.
    """
    blocks = placed(plan, path, [joined(parts(plan, path, number)) for number in range(len(plan.passes))])
    note_contents(plan, path, blocks)
    return blocks


def note_contents(plan: Plan, path: Path, blocks: list[list[Any]]) -> None:
    """Tell the trace, if there is one, that the blocks are right only for the contents that the plan was made for."""
    results = [b for row in blocks for b in row if isinstance(b, Symbol)]
    known = [path.values[slot] for slot, array in plan.used.items() if array is not None]
    if results:
        results[0].trace.rely([x for x in known if isinstance(x, Symbol)], results)


def placed(plan: Plan, path: Path, results: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The blocks, from what each pass gives for each of the values it reads."""
    dtypes = [dtype_of(path.values[slot]).numpy for slot in path.sources]
    blocks = [
        [
            np.zeros(shape if not plan.options.values_only else 0, dtype)
            if block is not None and 0 in shape
            else None
            if block is None
            # a mirrored block comes from the derivatives with respect to another source
            else cast(_block(block, results, shape, plan.options.values_only, dtype), dtype)
            for block, shape, dtype in zip(row, shapes, dtypes, strict=True)
        ]
        for row, shapes in zip(plan.blocks, plan.shapes, strict=True)
    ]
    if plan.given is not None and blocks and blocks[0]:
        return [[checked_block(plan, path, blocks[0][0])]]
    return blocks


# ---- sweeps ----------------------------------------------------------------------------------------------------------


def parts(plan: Plan, path: Path, number: int) -> Iterator[list[Any]]:
    """The chunks of pass `number`, one after the other.

    Each is a list with a matrix of shape (seeds of the chunk, the value's size) per value read, of the sources' dtypes.
    """
    one, nodes = plan.passes[number], [path.nodes[k] for k in plan.kept]
    if one.count == 0:
        forward = one.direction == "forward"
        dtypes = [dtype_of(path.values[one.group.slot if forward else slot]).numpy for slot in one.reads]
        yield [np.zeros((0, path.size(slot)), dtype) for slot, dtype in zip(one.reads, dtypes, strict=True)]
        return
    if one.chain is not None:
        yield _chained(one.chain, one, path, nodes)
        return
    for found in _plainly(one, plan.chunks[number], path, nodes):
        forward = one.direction == "forward"
        yield [cast(m, dtype_of(path.values[one.group.slot])) for m in found] if forward else found


def _plainly(one: Pass, chunk: int, path: Path, nodes: Sequence[Node]) -> Iterator[list[Any]]:
    """The chunks of a pass without products over cuts. What a forward walk finds has the dtype of its end."""
    reads = [path.values[slot] for slot in one.reads]
    start = path.values[one.group.slot]
    walk = walk_from(one.direction, nodes, start, reads)
    if one.count == 1 and one.group.index is None:
        # one seed of ones needs no batch
        found = walk(ones_like(start))
        yield [reshape(_filled(g, x), (1, path.size(slot))) for g, x, slot in zip(found, reads, one.reads, strict=True)]
        return
    for first in range(0, one.count, chunk):
        count = min(chunk, one.count - first)
        yield _batched(walk, _seeds(one, path, first, count), count, path, one.reads)


def joined(chunks: Iterable[Sequence[Any]]) -> list[Any]:
    """Chunks put together: matrices of shape (seeds, the value's size)."""
    return [same[0] if len(same) == 1 else concat(list(same), 0) for same in zip(*chunks, strict=True)]


def walk_from(direction: str, nodes: Sequence[Node], start: Any, ends: Sequence[Any]) -> Callable[[Any], list[Any]]:
    """The function from a cotangent (or tangent) at `start` to those at `ends`; None where there is none."""
    if direction == "reverse":
        through = between(nodes, ends, [start])
        return lambda seed: reverse(through, [(start, seed)], ends)
    onward = between(nodes, [start], ends)
    return lambda seed: forward(onward, [(start, seed)], ends)


def _batched(walk: Callable[[Any], list[Any]], seeds: Any, count: int, path: Path, slots: Sequence[int]) -> list[Any]:
    """A walk for many seeds at once: matrices of shape (seeds, size)."""
    with batch_level() as level:
        found = walk(Batched(seeds, level))
        stacked = [
            np.zeros((count, *path.shape(slot)), path.values[slot].dtype.numpy)
            if g is None
            else unbatch(g, level, count)
            for g, slot in zip(found, slots, strict=True)
        ]
    return [reshape(g, (count, path.size(slot))) for g, slot in zip(stacked, slots, strict=True)]


def _seeds(one: Pass, path: Path, first: int, count: int) -> Any:
    """Seeds number `first` and following: each has ones at the elements of its colour."""
    slot = one.group.slot
    start, size = path.values[slot], path.size(slot)
    if one.group.index is None and one.colors is None:
        return identity_like(start, first=first, count=count)
    index = np.arange(size) if one.group.index is None else one.group.index
    color = np.full(size, -1)
    color[index] = np.arange(len(index)) if one.colors is None else one.colors
    color -= first
    return reshape(
        one_hot(constant_beside(start, color), count, dtype=dtype_of(start), axis=0), (count, *path.shape(slot))
    )


def constant_beside(value: Any, array: np.ndarray) -> Any:
    """A constant of the value's trace, if it has one: what is computed from it is computed when the program runs."""
    return value.trace.operand(array) if isinstance(value, Symbol) else array


def _filled(g: Any, x: Any) -> Any:
    return zeros_like(x) if g is None else g


# ---- products over cuts ----------------------------------------------------------------------------------------------


def _chained(chain: Chain, one: Pass, path: Path, nodes: Sequence[Node]) -> list[Any]:
    """The dense Jacobian of one target by the chain's bracketing: per source a matrix with a row per element."""
    points = [one.reads, *[(cut,) for cut in chain.cuts], (one.group.slot,)]

    def matrices(step: Step) -> list[tuple[Any, bool]]:
        """Per value at the lower point a matrix of its dtype, and whether it is transposed."""
        if isinstance(step, Product):
            ((left, flipped),) = matrices(step.left)
            return [
                (matmul(cast(left, dtype_of(right)), right, transpose_a=flipped, transpose_b=other), False)
                for right, other in matrices(step.right)
            ]
        low, high = points[step.low], points[step.high]
        if step.direction == "reverse":
            return [(m, False) for m in _pulled(step, low, high[0])]
        return [(m, True) for m in _pushed(step, low, high[0])]

    def _pulled(step: Any, low: Sequence[int], high: int) -> list[Any]:
        walk = walk_from("reverse", nodes, path.values[high], [path.values[s] for s in low])
        if step.seeds is None:
            seeds, count = _identity(path, high), path.size(high)
        else:
            ((matrix, flipped),) = matrices(step.seeds)
            matrix = transpose(matrix) if flipped else matrix
            count = path.size(one.group.slot)
            seeds = reshape(matrix, (count, *path.shape(high)))
        return _batched(walk, seeds, count, path, low)

    def _pushed(step: Any, low: Sequence[int], high: int) -> list[Any]:
        if step.seeds is None:
            found = []
            for slot in low:
                walk = walk_from("forward", nodes, path.values[slot], [path.values[high]])
                (pushed,) = _batched(walk, _identity(path, slot), path.size(slot), path, [high])
                found.append(cast(pushed, dtype_of(path.values[slot])))
            return found
        walk = walk_from("forward", nodes, path.values[low[0]], [path.values[high]])
        found = []
        for matrix, flipped in matrices(step.seeds):
            columns = cast(matrix if flipped else transpose(matrix), dtype_of(path.values[low[0]]))
            count = columns.shape[0]
            (pushed,) = _batched(walk, reshape(columns, (count, *path.shape(low[0]))), count, path, [high])
            found.append(cast(pushed, dtype_of(matrix)))
        return found

    return [transpose(m) if flipped else m for m, flipped in matrices(chain.step)]


def _identity(path: Path, slot: int) -> Any:
    return identity_like(path.values[slot], first=0, count=path.size(slot))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _block(block: Any, results: Sequence[Sequence[Any]], shape: tuple[int, int], values_only: bool, dtype: Any) -> Any:
    if isinstance(block, Whole):
        return _whole(block, results)
    if isinstance(block, Transposed):
        return transpose(_block(block.block, results, shape[::-1], values_only, dtype))
    if isinstance(block, Mirrored):
        full = _block(block.block, results, shape, values_only, dtype)
        return where(np.tri(shape[0], dtype=bool), full, transpose(full))
    if isinstance(block, (Stacked, Beside)):
        axis = int(isinstance(block, Beside))
        sizes = [(shape[0], count) if axis else (count, shape[1]) for _, count in block.parts]
        parts = [
            np.zeros(size, dtype) if part is None else cast(_block(part, results, size, values_only, dtype), dtype)
            for (part, _), size in zip(block.parts, sizes, strict=True)
        ]
        return concat(parts, axis)
    if values_only:
        return _entries(block, results)
    return reshape(_among_zeros(block, results), shape)


def _whole(block: Whole, results: Sequence[Sequence[Any]]) -> Any:
    found = results[block.result.number][block.result.read]
    return transpose(found) if block.forward else found


def _among_zeros(block: Scattered, results: Sequence[Sequence[Any]]) -> Any:
    """All numbers of a scattered block, row by row."""
    rows, columns = block.shape
    size = rows * columns
    if block.nnz == size:
        return _entries(block, results)
    flat = np.repeat(np.arange(rows, dtype=np.intp) * columns, np.diff(block.indptr)) + block.indices
    if size > _SMALL or 2 * block.nnz < size or block.more is not None:
        return place_op(_entries(block, results), flat, size=size, distinct=True)
    # quicker than putting most of the numbers into zeros: picking all, with a zero among them
    joined = _numbers(block, results)
    count = joined.shape[0]
    positions = np.full(size, count)
    positions[flat] = block.positions
    with_zero = concat([joined, np.zeros(1, dtype_of(joined).numpy)], 0)
    return pick_op(with_zero, positions, size=count + 1, distinct=False)


def _numbers(block: Scattered, results: Sequence[Sequence[Any]]) -> Any:
    """All numbers that a scattered block is picked from."""
    flat = [reshape(results[r.number][r.read], (-1,)) for r in block.results]
    return flat[0] if len(flat) == 1 else concat(flat, 0)


def _entries(block: Scattered, results: Sequence[Sequence[Any]]) -> Any:
    """The numbers of a scattered block, in CSR order."""
    joined = _numbers(block, results)
    values = _picked(joined, block.positions)
    if block.more is None:
        return values
    numbers, entries = block.more
    distinct = _distinct(entries, block.nnz)
    return add_at_op(values, _picked(joined, numbers), entries, size=block.nnz, distinct=distinct)


def _picked(joined: Any, positions: np.ndarray) -> Any:
    size = joined.shape[0]
    if len(positions) == size and bool((positions == np.arange(size)).all()):
        return joined
    return pick_op(joined, positions, size=size, distinct=_distinct(positions, size))


def _distinct(positions: np.ndarray, size: int) -> bool:
    return int(np.bincount(positions, minlength=1).max(initial=0)) <= 1 if size else True
