"""Small matrices whose entries are vectors: what the pass `columns` makes of linear algebra, and of moves in matrices.

The entries of many matrices, one vector for each place, lie side by side in one block, through which the same functions
go as through arrays of matrices (`engine.ops.small_matrix`). So each vector is read and written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
from engine.compiler.passes.index_maps import whole_shape
from engine.compiler.passes.slice_concat import slice_concat
from engine.core.aval import Aval
from engine.core.dtypes import float64
from engine.core.op import Layout, Op
from engine.core.structural import has_nan, reshape_to
from engine.ops.arithmetic import add, multiply, real_abs, sign, square_op
from engine.ops.compare import cast_op
from engine.ops.decompose import NOT_DEFINITE, cholesky_op
from engine.ops.determinants import LOG_2, cofactor, cofactor_change, det_op, slogdet_op
from engine.ops.diagonal import band_op, diagonal, embed_diagonal, matrix_diag_op, set_diag_op
from engine.ops.explog import log
from engine.ops.indexing import getitem_op
from engine.ops.small_matrix import MOST_COFACTORS, are_small, call
from engine.ops.small_product import MOST
from engine.ops.solve import SINGULAR, ZERO, as_lower, inverse_op, solve_op, triangle, triangular_solve_op
from engine.runtime.errors import InvalidArgumentError

Grid = Any

# ---- instructions ----------------------------------------------------------------------------------------------------


def as_matrices(block: Any) -> Any:
    """A block, whose last axis is long, as a stack of matrices."""
    return block.transpose(2, 0, 1)


def _block_kernel(*blocks: Any, function: str) -> np.ndarray:
    results = call(function, *map(as_matrices, blocks))
    each = results if isinstance(results, tuple) else (results,)
    rows = [x[np.newaxis] if x.ndim == 1 else x.transpose(1, 2, 0).reshape(-1, len(x)) for x in each]
    return np.ascontiguousarray(np.concatenate(rows))


def _block_abstract(*blocks: Aval, function: str) -> Aval:
    rows, columns, length = blocks[-1].shape or ()
    assert rows is not None and columns is not None
    numbers, dtype = rows * columns, blocks[-1].dtype
    if function == "small_det_parts":
        return Aval((2, length), float64)
    if function == "small_det":
        return Aval((1, length), dtype)
    return Aval((numbers if function.startswith("small_cofactor") else numbers + 1, length), dtype)


block_op = instruction_op(
    "small_matrices",
    __name__,
    _block_kernel,
    _block_abstract,
    "What a function of small matrices gives, a row for each number; the last row may say where it fails.",
    flops=lambda operands, results, params: 8 * (results[0].size or 0),
)


def _refuse_kernel(x: Any, failed: Any, *, message: str) -> Any:
    if has_nan(failed):
        raise InvalidArgumentError(message)
    return x


refuse_op = instruction_op(
    "refuse_failed",
    __name__,
    _refuse_kernel,
    lambda x, failed, *, message: Aval(x.shape, x.dtype),
    "A block, unless a vector says that there are no such numbers.",
    shares=(0,),
    layout=Layout.VIEW,
)

# ---- linear algebra --------------------------------------------------------------------------------------------------


class _Function(NamedTuple):
    """How an op is a function of small matrices: its name, for how many rows there is one, and what a failure is."""

    name: str
    most: int = MOST
    failure: str = ""


_FUNCTIONS: dict[Op, _Function] = {
    inverse_op: _Function("small_inv", failure=SINGULAR),
    solve_op: _Function("small_solve", failure=SINGULAR),
    triangular_solve_op: _Function("small_lower_solve", failure=ZERO),
    cholesky_op: _Function("small_cholesky", failure=NOT_DEFINITE),
    det_op: _Function("small_det"),
    slogdet_op: _Function("small_det_parts"),
    cofactor: _Function("small_cofactors", MOST_COFACTORS),
    cofactor_change: _Function("small_cofactor_change", MOST_COFACTORS),
}
ALGEBRA = frozenset(_FUNCTIONS)
"""The ops that compute something of small matrices."""


def way_of_algebra(work: Any, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
    """How linear algebra is done with grids, if it can be."""
    if not are_small([work.avals[s] for s in each.inputs], _FUNCTIONS[each.op].most):
        return None
    if not all(map(work.fits, (*each.inputs, *each.outputs))):
        return None
    axes = {work.axis(s) for s in each.inputs} - {None}
    if len(axes) != 1 or max(axes) > -3 or None in [work.axis(s) for s in each.outputs]:
        return None
    return lambda each: _algebra(work, each)


def _algebra(work: Any, each: Instruction) -> list[Grid]:
    grids = [work.grid(s) for s in each.inputs]
    batch = np.broadcast_shapes(*[g.shape[:-2] for g in grids])
    spread: list[Grid] = [np.broadcast_to(g, batch + g.shape[-2:]) for g in grids]
    out: list[Grid] = [np.empty(work.shape(s), object) for s in each.outputs]
    for at in np.ndindex(*batch):
        results = _of_matrices(work, each, [g[at] for g in spread])
        for grid, result in zip(out, results, strict=True):
            grid[at] = result
    return out


def _of_matrices(work: Any, each: Instruction, matrices: list[Grid]) -> Sequence[Grid]:
    """The results for matrices of vectors."""
    op, params = each.op, each.params
    function = _FUNCTIONS[op]
    turned = False
    if op is triangular_solve_op:
        matrices[:] = as_lower(*matrices, params["lower"], params["adjoint"])
        turned = params["lower"] == params["adjoint"]
    elif params.get("adjoint"):
        matrices[0] = matrices[0].T
    made = work.new(block_op, tuple([_block(work, x) for x in matrices]), {"function": function.name}, each.where)
    count = (work.avals[made].shape or (0,))[0]

    def row(of: int, k: int) -> int:
        number: int = work.new(getitem_op, (of,), {"spec": (k, (None, None, None))})
        return number

    if op is slogdet_op:
        return _logarithm(work, each, row(made, 0), row(made, 1))
    if op is det_op:
        return [row(made, 0)]
    if function.failure:
        count -= 1
        failed = work.new(square_op, (row(made, count),), {}, each.where)
        shown = ", ".join([str(work.avals[s]) for s in each.inputs])
        message = f"{op.title}({shown}): {function.failure}"
        made = work.new(refuse_op, (made, failed), {"message": message}, each.where)
    out: Grid = np.array([row(made, k) for k in range(count)], object).reshape(matrices[-1].shape)
    return [out[::-1] if turned else out]


def _block(work: Any, matrix: Grid) -> int:
    """The entries side by side."""
    vectors = tuple([work.vector(s) for s in matrix.ravel()])
    key = block_op, matrix.shape, vectors
    if key not in work.seen:
        n, length = len(vectors), work.length
        moves = [(k, slice(0, length, 1), slice(k * length, (k + 1) * length, 1)) for k in range(n)]
        of = Aval((n * length,), work.avals[vectors[0]].dtype)
        flat = work.new(slice_concat, vectors, {"aval": of, "moves": tuple(moves), "sums": ()})
        work.seen[key] = work.new(reshape_to, (flat,), {"shape": (*matrix.shape, length)})
    block: int = work.seen[key]
    return block


def _logarithm(work: Any, each: Instruction, number: int, exponent: int) -> list[int]:
    """The sign and the logarithm of a determinant, as the kernel of `slogdet` makes them."""

    def of(op: Op, *operands: int) -> int:
        made: int = work.one(op, operands, {}, each.where)
        return made

    size = of(log, of(real_abs, number))
    logarithm = of(add, size, of(multiply, exponent, work.constant(np.asarray(LOG_2))))
    both, dtype = (of(sign, number), logarithm), work.avals[each.outputs[0]].dtype
    return [s if dtype is float64 else work.new(cast_op, (s,), {"dtype": dtype}, each.where) for s in both]


# ---- moves -----------------------------------------------------------------------------------------------------------

_CORES: dict[Op, tuple[int, ...]] = {
    diagonal: (2, 1),
    embed_diagonal: (1, 2, 2),
    matrix_diag_op: (1, 2),
    set_diag_op: (2, 1, 2),
    band_op: (2, 2),
    triangle: (2, 2),
}
"""Ops that move entries of matrices: how many axes they look at, of each operand and of the result."""
MOVES = frozenset(_CORES)


def way_of_moves(work: Any, each: Instruction) -> Callable[[Instruction], list[Grid]] | None:
    """How entries are moved, if the long axis is none of those of matrices."""
    values = (*each.inputs, *each.outputs)
    if not all(work.avals[s].is_static for s in values) or not work.fits(each.outputs[0]):
        return None
    given = [s for k, s in enumerate(each.inputs) if k not in each.op.references]
    axes = [(work.axis(s), core) for s, core in zip(values, _CORES[each.op], strict=True)]
    if not all(map(work.fits, given)) or work.axis(each.outputs[0]) is None:
        return None
    return (lambda each: _moved(work, each)) if all(a is None or a < -core for a, core in axes) else None


def _moved(work: Any, each: Instruction) -> list[Grid]:
    """The op applied to numbers that stand for entries, 0 for a zero."""
    (s,), factor = each.outputs, each.params.get("diagonal", 1)
    entries = [work.constant(np.zeros((), work.avals[s].dtype.numpy))]
    operands: list[Any] = []
    for k, x in enumerate(each.inputs):
        shape = work.shape(x)
        if k in each.op.references:
            operands.append(np.broadcast_to(0, shape))
            continue
        grid = work.grid(x)
        operands.append(np.arange(len(entries), len(entries) + grid.size).reshape(shape))
        entries += grid.ravel().tolist()
    params = {**each.params, "diagonal": 1} if each.op is triangle else each.params
    labels = np.asarray(each.op.kernel(*operands, **params))
    out: Grid = np.array(entries, object)[labels].reshape(work.shape(s))
    if factor != 1:
        number = work.constant(np.asarray(factor, work.avals[s].dtype.numpy))
        for at in np.ndindex(*out.shape):
            if at[-1] == at[-2]:
                out[at] = work.one(multiply, (out[at], number), {}, each.where)
    return [out]
