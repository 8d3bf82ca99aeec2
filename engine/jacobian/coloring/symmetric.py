"""Hessians are symmetric to the bit: of two entries that mirror each other the one below the diagonal is used twice.

In exact arithmetic both are equal. In floating point a forward sweep over a reverse walk adds them up in different
orders.
"""

from __future__ import annotations

import numpy as np

from engine.core.sparsity import numbers
from engine.jacobian.execution.decompression import Block, Dense, Scattered
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import replace, struct


@struct(frozen=True)
class Transposed:
    """The dense block of source and target exchanged."""

    block: Dense


@struct(frozen=True)
class Mirrored:
    """A dense block on the diagonal, its upper triangle taken from the lower one."""

    block: Dense


def symmetrized(blocks: list[list[Block]], shapes: list[list[tuple[int, int]]]) -> list[list[object]]:
    """The blocks of a symmetric matrix: those above the diagonal follow from those below."""
    size = len(blocks)
    return [
        [
            _mirrored(blocks[i][i]) if i == j else blocks[i][j] if i > j else _transposed(blocks[j][i], shapes[j][i])
            for j in range(size)
        ]
        for i in range(size)
    ]


def _mirrored(block: Block) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Mirrored(block)
    rows, kind = np.repeat(numbers(len(block.indptr) - 1), np.diff(block.indptr)), block.indptr.dtype

    def kept(which: np.ndarray) -> sparse.csr_array:
        """The numbers of some entries."""
        ends = np.append(kind.type(0), np.cumsum(which, dtype=kind))[block.indptr]
        return sparse.csr_array((np.flatnonzero(which).astype(kind), block.indices[which], ends), shape=block.shape)

    # the pattern is the lower triangle's, too: what has no mirror image there is zero but for rounding
    lower, upper = kept(rows >= block.indices), kept(rows > block.indices).T.tocsr()
    del rows
    whole = sparse.hstack([lower, upper], format="csr")
    del lower, upper
    size, indices = block.shape[1], whole.indices
    np.subtract(indices, indices.dtype.type(size), out=indices, where=indices >= size)
    return replace(block.reordered(whole.data), indices=indices, indptr=whole.indptr)


def _transposed(block: Block, shape: tuple[int, int]) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Transposed(block)
    entries = sparse.csr_array((np.arange(block.nnz), block.indices, block.indptr), shape=shape)
    turned = entries.T.tocsr()
    moved = block.reordered(turned.data)
    return replace(moved, indices=turned.indices, indptr=turned.indptr, shape=shape[::-1])
