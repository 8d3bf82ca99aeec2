"""Hessians are symmetric to the bit: of two entries that mirror each other the one below the diagonal is used twice.

In exact arithmetic both are equal. In floating point a forward sweep over a reverse walk adds them up in different
orders.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

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
    rows, size = _rows(block), len(block.indptr) - 1
    lower = np.flatnonzero(rows >= block.indices)
    numbers = np.concatenate([lower, lower[rows[lower] > block.indices[lower]]])
    rows, columns = rows[numbers], block.indices[numbers].astype(np.int64)
    # the pattern is the lower triangle's, too: what has no mirror image there is zero but for rounding
    rows[len(lower) :], columns[len(lower) :] = columns[len(lower) :], rows[len(lower) :].copy()
    order = np.argsort(rows * size + columns, kind="stable")
    ends = np.cumsum(np.bincount(rows + 1, minlength=size + 1)).astype(block.indptr.dtype)
    indices = columns[order].astype(block.indices.dtype)
    return dataclasses.replace(block.reordered(numbers[order]), indices=indices, indptr=ends)


def _transposed(block: Block, shape: tuple[int, int]) -> object:
    if not isinstance(block, Scattered):
        return None if block is None else Transposed(block)
    entries = sparse.csr_array((np.arange(block.nnz), block.indices, block.indptr), shape=shape)
    turned = sparse.csr_array(entries.T.tocsr())
    turned.sort_indices()
    moved = block.reordered(turned.data)
    return dataclasses.replace(moved, indices=turned.indices, indptr=turned.indptr, shape=shape[::-1])


def _rows(block: Scattered) -> np.ndarray:
    return np.repeat(np.arange(len(block.indptr) - 1, dtype=np.int64), np.diff(block.indptr))
