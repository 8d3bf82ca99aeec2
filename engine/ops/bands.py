"""Several neighboring diagonals of matrices, laid out as the rows of smaller matrices.

Row i holds diagonal ``high - i``. Shorter diagonals leave places empty at one end, as the alignment says
(``"RIGHT_LEFT"``: those above the main diagonal end at the right, those below it begin at the left).
`engine.ops.diagonal` has the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import leading, like_first
from engine.core.kinds import linear
from engine.core.sparsity import MOVES
from engine.runtime.errors import InvalidArgumentError, ShapeError

ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def longest(sides: Sequence[int | None], low: int, high: int, empty: bool = False) -> int | None:
    """How many entries the longest of some diagonals of a matrix of the given size has; there must be such diagonals.

    Where they may be `empty`, those next to the matrix have none.
    """
    rows, columns = sides
    if rows is None or columns is None:
        return None
    for offset in (low, high):
        if offset and not -rows - empty < offset < columns + empty:
            raise InvalidArgumentError(f"diagonal: argument `k` must be in ({-rows}, {columns}), got {offset}")
    return min(rows + min(high, 0), columns - max(low, 0))


def _places(sides: Sequence[int], low: int, high: int, align: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Indices of the entries of some diagonals: where they are laid out, and where in the matrix."""
    width = longest(sides, low, high) or 0
    offsets = np.arange(high, low - 1, -1)[:, None]
    above, below = np.maximum(offsets, 0), np.maximum(-offsets, 0)
    counts = np.minimum(sides[0] - below, sides[1] - above)
    at_right = np.where(offsets > 0, align.startswith("RIGHT"), align.endswith("RIGHT"))
    along = np.arange(width) - np.where(at_right, width - counts, 0)
    laid_out = np.nonzero((along >= 0) & (along < counts))
    return laid_out, ((along + below)[laid_out], (along + above)[laid_out])


def _take_kernel(x: Any, *, low: int, high: int, align: str) -> np.ndarray:
    laid_out, inside = _places(x.shape[-2:], low, high, align)
    out = np.zeros((*x.shape[:-2], high - low + 1, longest(x.shape[-2:], low, high)), x.dtype)
    out[..., *laid_out] = x[..., *inside]
    return out


def _take_abstract(x: Aval, *, low: int, high: int, align: str) -> Aval:
    if x.shape is None:
        return Aval(None, x.dtype)
    if len(x.shape) < 2:
        raise ShapeError(f"diag_part: argument `input` must have rank 2 or more, got {x}")
    return Aval((*x.shape[:-2], high - low + 1, longest(x.shape[-2:], low, high)), x.dtype)


def _put_kernel(d: Any, ref: Any, *, low: int, high: int, align: str) -> np.ndarray:
    sides = ref.shape[-2:]
    _check_layout(d.shape, sides, low, high)
    laid_out, inside = _places(sides, low, high, align)
    out = np.zeros((*d.shape[:-2], *sides), d.dtype)
    out[..., *inside] = d[..., *laid_out]
    return out


def _put_abstract(d: Aval, ref: Aval, *, low: int, high: int, align: str) -> Aval:
    if d.shape is None or ref.shape is None:
        return Aval(None, d.dtype)
    _check_layout(d.shape, ref.shape[-2:], low, high)
    return Aval((*d.shape[:-2], *ref.shape[-2:]), d.dtype)


def _check_layout(shape: Sequence[int | None], sides: Sequence[int | None], low: int, high: int) -> None:
    expected = (high - low + 1, longest(sides, low, high))
    fits = len(shape) > 1 and all(a == b or None in (a, b) for a, b in zip(shape[-2:], expected, strict=True))
    if not fits:
        raise ShapeError(
            f"diag: argument `diagonal` must have a shape that ends in {expected} for diagonals {low} to {high} of "
            f"matrices of shape {tuple(sides)}, got {shape}"
        )


take_band = linear(
    "take_band",
    _take_kernel,
    lambda ct, x, **params: put_band(ct, x, **params),
    _take_abstract,
    leading(2),
    type="MatrixDiagPartV3",
    args=("input",),
    sparsity=MOVES,
    doc="Diagonals `low` to `high` of matrices, laid out as rows; zeros in the empty places.",
)
put_band = linear(
    "put_band",
    _put_kernel,
    lambda ct, d, ref, **params: take_band(ct, **params),
    _put_abstract,
    like_first,
    type="MatrixDiagV3",
    args=("diagonal", "ref"),
    sparsity=MOVES,
    doc="Matrices of ref's size with the given diagonals, zeros elsewhere: the transpose of `take_band`.",
)
