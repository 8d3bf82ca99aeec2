"""A sparsity pattern of the caller's is not taken on trust: a probing product finds entries that it misses.

Sweeps share seeds where the pattern says that they may. If it misses an entry, that number is lost, or ends up in
another entry's place, and nothing shows it. So the Jacobian is multiplied with random vectors twice: by a walk, which
knows of no pattern, and with the entries that were found. Where the two differ, an entry is missing.

Three vectors are used. The differences in a row, seen as a vector, point along the column of the three vectors that
belongs to the missing entry, and so give its name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.core.batching import Batched, batch_level, unbatch
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.derivatives.forward import forward
from engine.derivatives.reverse import reverse
from engine.jacobian.planning.plan import Plan
from engine.jacobian.structure.path import Path
from engine.ops.checked import checked_op
from engine.ops.compare import cast
from engine.ops.shape import reshape
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.lazy_scipy import sparse
from engine.runtime.structs import struct

_VECTORS = 3
_MOST = 32
"""Rows with a difference that are looked at for the name of an entry."""
_GROWTH = 2000
"""Rounding may have grown so much on the way; what is missing must be larger than that to be seen."""


def checked_block(plan: Plan, path: Path, block: Any) -> Operand | None:
    """The block of the only target and source, as a value that raises if the pattern given for it misses an entry.

    It is a matrix, or the entries of the pattern in CSR order; None if the pattern is empty.
    """
    if 0 in plan.pattern_to_verify.shape:
        return block
    (target,), (source,) = ([path.values[slot] for slot in side] for side in (path.targets, path.sources))
    # a row is a gradient, which of complex numbers is not what a forward walk multiplies with
    direction = "reverse" if dtype_of(target).is_complex or dtype_of(source).is_complex else "forward"
    start, end = (target, source) if direction == "reverse" else (source, target)
    shape = path.shape(path.slots[id(start)])
    vectors = np.random.default_rng(0).uniform(0.5, 1.5, (_VECTORS, math.prod(shape))).astype(dtype_of(start).numpy)
    seeds = vectors.reshape(_VECTORS, *shape)
    with batch_level() as level:
        walk = reverse if direction == "reverse" else forward
        (derivative,) = walk(path.nodes, [(start, Batched(seeds, level))], [end])
        if derivative is None:
            return block
        products = cast(reshape(unbatch(derivative, level, _VECTORS), (_VECTORS, -1)), dtype_of(source))
    if block is None:
        block = np.zeros(0 if plan.options.values_only else plan.pattern_to_verify.shape, dtype_of(source).numpy)
    colors = next((p.colors for p in plan.sweeps if p.direction == direction), None)
    inexact = [dtype_of(x).numpy for x in path.values if dtype_of(x).is_differentiable]
    check = PatternCheck(
        plan.pattern_to_verify, colors, direction == "reverse", max(float(np.finfo(d).eps) for d in inexact)
    )
    return checked_op(block, block, products, vectors, check=check)


@struct(frozen=True, eq=False)
class PatternCheck:
    """Raises if products with random vectors are not those of the entries found."""

    pattern: Any
    """The pattern given."""
    colors: np.ndarray | None
    """Which columns (if `backwards`, rows) shared a seed."""
    backwards: bool
    """Whether the vectors are multiplied with from the left."""
    eps: float
    """The coarsest rounding on the way."""

    def __call__(self, block: Any, products: Any, vectors: Any) -> None:
        """Check a matrix, or the entries in CSR order, against the products with the vectors."""
        pattern = self.pattern
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)) if block.ndim == 2 else None
        entries = block if rows is None else block[rows, pattern.indices]
        wide = np.result_type(entries.dtype, np.float32)
        matrix = sparse.csr_array((entries.astype(wide, copy=False), pattern.indices, pattern.indptr), pattern.shape)
        if self.backwards:
            matrix = sparse.csr_array(matrix.T.tocsr())
        # what is not finite tells nothing
        with np.errstate(all="ignore"):
            products_wide, vectors = products.astype(wide, copy=False), vectors.astype(wide, copy=False)
            wrong = products_wide - (matrix @ vectors.T).T
            slack = max(self.eps ** (2 / 3), min(_GROWTH * self.eps, 0.1))
            if not (np.abs(wrong) > slack * np.abs(products_wide)).any():
                return
            # rounding: relative to the row, and a little relative to the largest, since numbers may cancel
            size = abs(matrix) @ vectors[0]
            allowed = slack * size + 32 * self.eps * np.max(size, initial=0, where=np.isfinite(size))
            bad = np.flatnonzero((np.abs(wrong) > allowed).any(axis=0))
        if len(bad):
            self._complain(matrix, vectors, wrong[:, bad], bad, allowed[bad])

    def _complain(self, matrix: Any, vectors: Any, wrong: Any, bad: np.ndarray, allowed: np.ndarray) -> None:
        """Name an entry that explains the differences in its row alone; else the row."""
        best: tuple[float, int, int] | None = None
        for k in range(min(len(bad), _MOST)):
            column, misfit = self._candidate(matrix, vectors, wrong[:, k], int(bad[k]))
            within = 16 * allowed[k] / np.linalg.norm(wrong[:, k])
            if misfit <= within and (best is None or misfit < best[0]):
                best = misfit, int(bad[k]), column
        if best is None:
            what = f"entries in {'column' if self.backwards else 'row'} {bad[0]}"
        else:
            what = f"the entry {best[:0:-1] if self.backwards else best[1:]}"
        more = f" ({len(bad)} {'columns' if self.backwards else 'rows'} do not fit)" if len(bad) > 1 else ""
        raise InvalidArgumentError(
            f"jacobian: the pattern given as argument `sparsity` misses {what}, where the derivative is not "
            f"zero{more}. Rows are elements of the target, columns those of the source, in C order"
        )

    def _candidate(self, matrix: Any, vectors: Any, wrong: np.ndarray, row: int) -> tuple[int, float]:
        """The column outside the pattern that explains a row's differences best, and the sine of the angle left."""
        there = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        directions = vectors
        if self.colors is not None:
            # what is missing was added to the entry whose seed it shares
            shared = np.full(int(self.colors.max()) + 1, -1)
            shared[self.colors[there]] = there
            place = shared[self.colors]
            directions = vectors - np.where(place >= 0, vectors[:, place], 0)
        lengths = np.linalg.norm(directions, axis=0) * np.linalg.norm(wrong)
        cosine = np.abs(wrong.conj() @ directions) / np.where(lengths > 0, lengths, 1)
        cosine[there] = 0
        if not cosine.any():
            return 0, math.inf
        column = int(np.argmax(cosine))
        along = directions[:, column] / np.linalg.norm(directions[:, column])
        rest = wrong - along * (along @ wrong)
        return column, float(np.linalg.norm(rest) / np.linalg.norm(wrong))
