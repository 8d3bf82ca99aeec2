"""Hessians are symmetric to the bit: of two entries that mirror each other the one below the diagonal is used twice.

In exact arithmetic both are equal. In floating point a forward sweep over a reverse walk adds them up in different
orders.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from engine.core.sparsity import numbers
from engine.jacobian.coloring.lattice import entry_rows
from engine.jacobian.execution.decompression import Block, Dense, Scattered
from engine.runtime.lazy_scipy import sparse


@dataclass(frozen=True)
class Transposed:
    """The dense block of source and target exchanged."""

    block: Dense


@dataclass(frozen=True)
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
    # the pattern is the lower triangle's, too: what has no mirror image there is zero but for rounding
    entries = numbers(block.nnz, 1)
    lower = sparse.csr_array((entries, block.indices, block.indptr), shape=block.shape)
    upper = lower.copy()
    upper.data *= entry_rows(lower) > lower.indices
    upper.eliminate_zeros()
    whole = lower + upper.T.tocsr()
    del lower, upper
    whole.data -= 1
    return dataclasses.replace(block.reordered(whole.data), indices=whole.indices, indptr=whole.indptr)


def _transposed(block: Block, shape: tuple[int, int]) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Transposed(block)
    entries = sparse.csr_array((np.arange(block.nnz), block.indices, block.indptr), shape=shape)
    turned = entries.T.tocsr()
    moved = block.reordered(turned.data)
    return dataclasses.replace(moved, indices=turned.indices, indptr=turned.indptr, shape=shape[::-1])
