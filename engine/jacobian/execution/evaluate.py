"""Carrying out a plan: batched walks, products, and putting the numbers where they belong.

Everything is made of ops. So it works on symbols of a graph (which get new nodes), on eager values and on plain arrays,
and can be differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import engine.numpy_api.operators  # noqa: F401  (rules use Python's operators on values)
from engine.core.batching import batch_level, unbatch
from engine.core.op import Node
from engine.core.operands import Operand
from engine.core.sparsity import Sites, counts_up
from engine.core.trace import Symbol
from engine.core.value import dtype_of, known_shape
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.jacobian.execution.decompression import Beside, Mirrored, Result, Scattered, Stacked, Transposed, Whole
from engine.jacobian.execution.waiting import LOOKED_AT, Waiting, Walk
from engine.jacobian.planning.direction import PlannedSweep
from engine.jacobian.planning.elimination import Chain, Product, Step
from engine.jacobian.planning.plan import Plan
from engine.jacobian.structure.path import Path, between
from engine.jacobian.structure.pattern import Pattern
from engine.jacobian.structure.propagation import followed
from engine.ops.compare import cast, where
from engine.ops.creation import identity_like, ones_like, zeros_like
from engine.ops.filling import one_hot
from engine.ops.joining import concat
from engine.ops.linalg import matmul
from engine.ops.selection import add_at_op, flat_gather_op, flat_scatter_op
from engine.ops.shape import reshape, transpose
from engine.runtime.tuning import TUNING

_TABLE = 1 << 20
"""Elements of a table of zeros that is looked at."""
_SMALL = TUNING.index_elements


def evaluate(plan: Plan, path: Path) -> list[list[Any]]:
    """The blocks of the Jacobian, ``[target][source]``: matrices, and None for one that is zero.

    For a `Scattered` block of a plan for sparse results it is the numbers alone, in CSR order.
    """
    blocks = placed(plan, path, [swept(plan, path, number) for number in range(len(plan.sweeps))])
    note_contents(plan, path, blocks)
    return blocks


def note_contents(plan: Plan, path: Path, blocks: list[list[Any]]) -> None:
    """Tell the trace, if there is one, that the blocks are right only for the contents that the plan was made for."""
    results = [b for row in blocks for b in row if isinstance(b, Symbol)]
    known = [path.values[slot] for slot, array in plan.used.items() if array is not None]
    if results:
        results[0].trace.rely([x for x in known if isinstance(x, Symbol)], results)


def placed(plan: Plan, path: Path, results: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The blocks, from what each sweep gives for each of the values it reads."""
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
    if plan.pattern_to_verify is not None and blocks and blocks[0]:
        from engine.jacobian.structure.verification import checked_block

        return [[checked_block(plan, path, blocks[0][0])]]
    return blocks


# ---- sweeps ----------------------------------------------------------------------------------------------------------


def swept(plan: Plan, path: Path, number: int) -> Sequence[Any]:
    """Sweep number `number`: per value read a matrix of shape (seeds, the value's size), of the sources' dtypes."""
    one, nodes = plan.sweeps[number], [path.merged.nodes[k] for k in plan.kept]
    if one.count == 0:
        forward = one.direction == "forward"
        dtypes = [dtype_of(path.values[one.group.slot if forward else slot]).numpy for slot in one.reads]
        return [np.zeros((0, path.size(slot)), dtype) for slot, dtype in zip(one.reads, dtypes, strict=True)]
    if one.chain is not None:
        return _chained(one.chain, one, path, nodes)
    ends = ends_of(one, path)
    if plan.chunks[number] < one.count:
        from engine.jacobian.execution.chunks import in_chunks

        return in_chunks(nodes, ends, rows_for(one), one.count, plan.chunks[number])
    return rows_for(one, Walk(partial(_there, plan, one, path)))(nodes, ends, 0, one.count)


def _there(plan: Plan, one: PlannedSweep, path: Path, nodes: Sequence[Node]) -> dict[int, Callable[[], np.ndarray]]:
    """Where the tangents that products take can be different from zero, a row for each seed of a sweep forward.

    It holds for the contents that the plan holds for.
    """
    start = path.values[one.group.slot]
    size, colors = path.size(one.group.slot), _colors(one, start)
    taken = [x for node in nodes if node.op in LOOKED_AT for x in node.inputs]
    wanted = set(map(id, taken))

    def table(pattern: Pattern) -> np.ndarray:
        by_seed = np.zeros((one.count, pattern.shape[0]), bool)
        np.logical_or.at(by_seed, colors[colors >= 0], pattern.to_table().T[colors >= 0])
        return by_seed

    sites = Sites(lambda x: plan.used.get(path.slots.get(id(x), -1)))
    return {
        id(value): partial(table, row[0])
        for value, row in followed(nodes, {id(start): {0: Pattern.identity(size)}}, taken, sites)
        if id(value) in wanted and 0 in row and row[0].shape[0] * size <= _TABLE
    }


def ends_of(one: PlannedSweep, path: Path) -> list[Any]:
    """Where a sweep starts, and what it reads."""
    return [path.values[slot] for slot in (one.group.slot, *one.reads)]


def rows_for(
    one: PlannedSweep, way: Walk | None = None
) -> Callable[[Sequence[Node], Sequence[Any], Any, int], list[Any]]:
    """``rows_of(nodes, ends, first, count)``: what `count` seeds of a sweep give, from number `first` on."""

    def rows_of(nodes: Sequence[Node], ends: Sequence[Any], first: Any, count: int) -> list[Any]:
        start, *reads = ends
        walk = walk_from(one.direction, nodes, start, reads)
        if one.count == 1 and one.group.index is None:
            # one seed of ones needs no batch
            derivatives = walk(ones_like(start))
            pairs = zip(derivatives, reads, strict=True)
            rows = [reshape(zeros_like(x) if g is None else g, (1, _size(x))) for g, x in pairs]
        else:
            rows = _batched(walk, _seeds(one, start, first, count), count, reads, way)
        # what a forward walk finds has the dtype of its end
        return [cast(m, dtype_of(start)) for m in rows] if one.direction == "forward" else rows

    return rows_of


def walk_from(direction: str, nodes: Sequence[Node], start: Any, ends: Sequence[Any]) -> Callable[[Any], list[Any]]:
    """The function from a cotangent (or tangent) at `start` to those at `ends`; None where there is none."""
    if direction == "reverse":
        through = between(nodes, ends, [start])

        def pulled(seed: Any) -> list[Any]:
            visit = seed.walk.reverse(through, ends) if isinstance(seed, Waiting) else iter
            return reverse(through, [(start, seed)], ends, visit=visit)

        return pulled
    onward = between(nodes, [start], ends)

    def pushed(seed: Any) -> list[Any]:
        if not isinstance(seed, Waiting):
            return forward(onward, [(start, seed)], ends)
        return forward(onward, [(start, seed)], ends, visit=seed.walk.forward(onward, ends), found=seed.walk.found)

    return pushed


def _batched(
    walk: Callable[[Any], list[Any]], seeds: Any, count: int, ends: Sequence[Any], way: Walk | None = None
) -> list[Any]:
    """A walk for many seeds at once: matrices of shape (seeds, size)."""
    with batch_level() as level:
        derivatives = walk(Waiting(seeds, level, count, way))
        stacked = [
            np.zeros((count, *_shape(x)), dtype_of(x).numpy) if g is None else unbatch(g, level, count)
            for g, x in zip(derivatives, ends, strict=True)
        ]
    return [reshape(g, (count, _size(x))) for g, x in zip(stacked, ends, strict=True)]


def _seeds(one: PlannedSweep, start: Any, first: Any, count: int) -> Operand:
    """Seeds number `first` and following: each has ones at the elements of its color."""
    if one.group.index is None and one.colors is None and isinstance(first, int):
        return identity_like(start, first=first, count=count)
    color = _colors(one, start)
    numbers = constant_beside(start, color - first) if isinstance(first, int) else constant_beside(start, color) - first
    return reshape(one_hot(numbers, count, dtype=dtype_of(start), axis=0), (count, *_shape(start)))


def _colors(one: PlannedSweep, start: Any) -> np.ndarray:
    """By element the number of its seed; -1 if it has none."""
    index = np.arange(_size(start)) if one.group.index is None else one.group.index
    color = np.full(_size(start), -1)
    color[index] = np.arange(len(index)) if one.colors is None else one.colors
    return color


def _shape(x: Any) -> tuple[int, ...]:
    return known_shape(x, "jacobian")


def _size(x: Any) -> int:
    return math.prod(_shape(x))


def constant_beside(value: Any, array: np.ndarray) -> Operand:
    """A constant of the value's trace, if it has one: what is computed from it is computed when the program runs."""
    return value.trace.operand(array) if isinstance(value, Symbol) else array


# ---- products over cuts ----------------------------------------------------------------------------------------------


def _chained(chain: Chain, one: PlannedSweep, path: Path, nodes: Sequence[Node]) -> list[Any]:
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
        return _batched(walk, seeds, count, [path.values[s] for s in low])

    def _pushed(step: Any, low: Sequence[int], high: int) -> list[Any]:
        if step.seeds is None:
            products = []
            for slot in low:
                walk = walk_from("forward", nodes, path.values[slot], [path.values[high]])
                (pushed,) = _batched(walk, _identity(path, slot), path.size(slot), [path.values[high]])
                products.append(cast(pushed, dtype_of(path.values[slot])))
            return products
        walk = walk_from("forward", nodes, path.values[low[0]], [path.values[high]])
        products = []
        for matrix, flipped in matrices(step.seeds):
            columns = cast(matrix if flipped else transpose(matrix), dtype_of(path.values[low[0]]))
            count = columns.shape[0]
            seeds = reshape(columns, (count, *path.shape(low[0])))
            (pushed,) = _batched(walk, seeds, count, [path.values[high]])
            products.append(cast(pushed, dtype_of(matrix)))
        return products

    return [transpose(m) if flipped else m for m, flipped in matrices(chain.step)]


def _identity(path: Path, slot: int) -> Operand:
    return identity_like(path.values[slot], first=0, count=path.size(slot))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _block(
    block: Any, results: Sequence[Sequence[Any]], shape: tuple[int, int], values_only: bool, dtype: Any
) -> Operand:
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


def _whole(block: Whole, results: Sequence[Sequence[Any]]) -> Operand:
    matrix = results[block.result.number][block.result.read]
    return transpose(matrix) if block.forward else matrix


def _among_zeros(block: Scattered, results: Sequence[Sequence[Any]]) -> Operand:
    """All numbers of a scattered block, row by row."""
    rows, columns = block.shape
    size = rows * columns
    if block.nnz == size:
        return _entries(block, results)
    flat = np.repeat(np.arange(rows, dtype=np.intp) * columns, np.diff(block.indptr)) + block.indices
    if size > _SMALL or 2 * block.nnz < size or block.more is not None:
        return flat_scatter_op(_entries(block, results), flat, size=size, distinct=True)
    # quicker than putting most of the numbers into zeros: gathering all, with a zero among them
    joined = _numbers(block, results)
    count = joined.shape[0]
    positions = np.full(size, count)
    positions[flat] = block.positions
    with_zero = concat([joined, np.zeros(1, dtype_of(joined).numpy)], 0)
    return flat_gather_op(with_zero, positions, size=count + 1, distinct=False)


def _numbers(block: Scattered, results: Sequence[Sequence[Any]]) -> Operand:
    """All numbers that a scattered block is gathered from."""
    number = block.results[0].number
    whole = getattr(results[number], "joined", None)
    if whole is not None and block.results == tuple([Result(number, k) for k in range(len(results[number]))]):
        return whole
    parts = [(reshape(results[r.number][r.read], (-1,)), r.negated) for r in block.results]
    flat = [-x if negated else x for x, negated in parts]
    return flat[0] if len(flat) == 1 else concat(flat, 0)


def _entries(block: Scattered, results: Sequence[Sequence[Any]]) -> Operand:
    """The numbers of a scattered block, in CSR order."""
    joined = _numbers(block, results)
    values = _gathered(joined, block.positions)
    if block.more is None:
        return values
    numbers, entries = block.more
    distinct = _distinct(entries, block.nnz)
    return add_at_op(values, _gathered(joined, numbers), entries, size=block.nnz, distinct=distinct)


def _gathered(joined: Any, positions: np.ndarray) -> Operand:
    size = joined.shape[0]
    if len(positions) == size and counts_up(positions):
        return joined
    return flat_gather_op(joined, positions, size=size, distinct=_distinct(positions, size))


def _distinct(positions: np.ndarray, size: int) -> bool:
    met = np.zeros(size, bool)
    for first in range(0, len(positions), _SMALL):
        met[positions[first : first + _SMALL]] = True
    return int(np.count_nonzero(met)) == len(positions)
