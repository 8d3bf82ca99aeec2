"""Small matrices whose entries are vectors: what the pass `columns` makes of linear algebra, and of moves in matrices.

The entries of many matrices, one vector for each place, lie side by side in one block, through which the same functions
go as through arrays of matrices (`engine.ops.small_matrix`). So each vector is read and written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from engine.compiler.ir.instruction import Instruction
from engine.compiler.ir.kernels import instruction_op
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


class Place(NamedTuple):
    """Where the entries of matrices are among the rows of a block: at ``first + by_row * i + by_column * j``."""

    first: int
    by_row: int
    by_column: int
    rows: int
    columns: int


def in_stack(x: Any, place: Place | None) -> Any:
    """An array of matrices, or a view of rows of a block, as a function of small matrices takes it."""
    if place is None:
        return x
    shape, step = (x.shape[1], place.rows, place.columns), x.strides[0]
    strides = (x.strides[1], place.by_row * step, place.by_column * step)
    return as_strided(x[place.first :], shape, strides)


def _block_kernel(*operands: Any, function: str, places: tuple[Place | None, ...]) -> np.ndarray:
    results = call(function, *map(in_stack, operands, places))
    each = results if isinstance(results, tuple) else (results,)
    rows = [x[np.newaxis] if x.ndim == 1 else x.transpose(1, 2, 0).reshape(-1, len(x)) for x in each]
    return np.ascontiguousarray(np.concatenate(rows))


def _block_abstract(*operands: Aval, function: str, places: tuple[Place | None, ...]) -> Aval:
    shape, place, dtype = operands[-1].shape or (), places[-1], operands[-1].dtype
    length, numbers = (
        (shape[0], math.prod([d or 0 for d in shape[1:]])) if place is None else (shape[1], place.rows * place.columns)
    )
    if function == "small_det_parts":
        return Aval((2, length), float64)
    if function == "small_det":
        return Aval((1, length), dtype)
    return Aval((numbers if function.startswith("small_cofactor") else numbers + 1, length), dtype)


small_matrices = instruction_op(
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


refuse_failed = instruction_op(
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
    given: list[int | None] = [s if work.is_stack(s) else None for s in each.inputs]
    turned = False
    if op is triangular_solve_op:
        turned = params["lower"] == params["adjoint"]
        if turned or params["adjoint"]:
            both = as_lower(matrices[0], matrices[1], params["lower"], params["adjoint"])
            matrices, given = [*both], [None, None]
    elif params.get("adjoint"):
        matrices[0], given[0] = matrices[0].T, None
    operands = [_operand(work, *each) for each in zip(matrices, given, strict=True)]
    places = tuple([place for _, place in operands])
    made = work.new(
        small_matrices, tuple([s for s, _ in operands]), {"function": function.name, "places": places}, each.where
    )
    count = (work.avals[made].shape or (0,))[0]
    if op is slogdet_op:
        return _logarithm(work, each, _row(work, made, 0), _row(work, made, 1))
    if op is det_op:
        return [_row(work, made, 0)]
    if function.failure:
        count -= 1
        failed = work.new(square_op, (_row(work, made, count),), {}, each.where)
        shown = ", ".join([str(work.avals[s]) for s in each.inputs])
        message = f"{op.title}({shown}): {function.failure}"
        made = work.new(refuse_failed, (made, failed), {"message": message}, each.where)
    out: Grid = np.array([_row(work, made, k) for k in range(count)], object).reshape(matrices[-1].shape)
    return [out[::-1] if turned else out]


def _operand(work: Any, matrix: Grid, given: int | None) -> tuple[int, Place | None]:
    """Where the entries are: in an array of matrices, or in rows of a block, which is made if there is none."""
    if given is not None:
        return given, None
    vectors = tuple([work.vector(s) for s in matrix.ravel()])
    held = [work.rows.get(s, (None, 0)) for s in vectors]
    if held[0][0] is not None and len({block for block, _ in held}) == 1:
        place = _place(np.array([k for _, k in held]).reshape(matrix.shape))
        if place is not None:
            return held[0][0], place
    return _block(work, vectors), Place(0, matrix.shape[1], 1, *matrix.shape)


def _place(at: np.ndarray) -> Place | None:
    """Where entries are in a block, if their rows follow at equal distances."""
    first, (rows, columns) = int(at[0, 0]), at.shape
    by_row, by_column = int(at[-1, 0] - first) // max(rows - 1, 1), int(at[0, -1] - first) // max(columns - 1, 1)
    i, j = np.indices(at.shape)
    regular = np.array_equal(at, first + by_row * i + by_column * j)
    return Place(first, by_row, by_column, rows, columns) if regular else None


def _block(work: Any, vectors: tuple[int, ...]) -> int:
    """Vectors side by side, where whoever needs one of them later reads it, too."""
    key = small_matrices, vectors
    if key not in work.seen:
        n, length = len(vectors), work.length
        if all(s in work.constants for s in vectors):
            work.seen[key] = work.constant(np.array([work.constants[s] for s in vectors]))
        else:
            moves = [(k, slice(0, length, 1), slice(k * length, (k + 1) * length, 1)) for k in range(n)]
            of = Aval((n * length,), work.avals[vectors[0]].dtype)
            flat = work.new(slice_concat, vectors, {"aval": of, "moves": tuple(moves), "sums": ()})
            work.seen[key] = work.new(reshape_to, (flat,), {"shape": (n, length)})
            for k, s in enumerate(vectors):
                if s in work.computed and s not in work.rows:
                    work.later[s] = _row(work, work.seen[key], k)
                    work.rows[s] = work.seen[key], k
    block: int = work.seen[key]
    return block


def _row(work: Any, block: int, k: int) -> int:
    """A row of a block."""
    number: int = work.new(getitem_op, (block,), {"spec": (k, (None, None, None))})
    work.rows[number] = block, k
    return number


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
