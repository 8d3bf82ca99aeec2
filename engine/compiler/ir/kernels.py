"""Ops that only lowering and its passes make: products with diagonal matrices, `number_like`.

They exist in programs only, where all derivatives and batches have been taken. So they have no rules for either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from engine.core.aval import Aval
from engine.core.kinds import nondifferentiable
from engine.core.op import Layout, Op


def _no_batch(op: Op, *_: Any) -> NoReturn:
    raise NotImplementedError(f"{op.name} exists in compiled programs only")


def instruction_op(
    name: str, module: str, kernel: Callable[..., Any], abstract: Callable[..., Any], doc: str, **facts: Any
) -> Op:
    """An op that exists in programs only, and moves data to a result of its own unless it says otherwise."""
    known: dict[str, Any] = {"type": name, "module": module, "args": (), "doc": doc}
    known |= {"layout": Layout.FRESH, "shares": (), "flops": lambda *_: 0}
    return nondifferentiable(name, kernel, abstract=abstract, batch=_no_batch, **{**known, **facts})


def _matrix_abstract(matrix: Aval, *_: Aval, transpose: bool) -> Aval:
    return Aval(matrix.shape[::-1] if matrix.shape and transpose else matrix.shape, matrix.dtype)


def _diagonal_product_kernel(matrix: Any, diagonal: Any, *, transpose: bool) -> np.ndarray:
    out = np.multiply(diagonal, matrix.T if transpose else matrix, order="C")
    return np.add(out, 0, out)


identity_product = instruction_op(
    "identity_product",
    __name__,
    lambda matrix, *, transpose: np.add(matrix.T if transpose else matrix, 0, order="C"),
    _matrix_abstract,
    "A matrix (transposed), as multiplying it by the identity gives it: in the order of rows in memory.",
    keeps_nan=(0,),
)
diagonal_product = instruction_op(
    "diagonal_product",
    __name__,
    _diagonal_product_kernel,
    _matrix_abstract,
    "A matrix (transposed) times a diagonal matrix, of which a row or column of its rank is given.",
    keeps_nan=(0, 1),
    flops=lambda operands, results, params: results[0].size or 0,
)


number_like = instruction_op(
    "number_like",
    __name__,
    lambda like, *, number: np.full(like.shape, number, like.dtype),
    lambda like, *, number: Aval(like.shape, like.dtype),
    "One number, in the shape and dtype of another value, in C order as the results of elementwise ops on it are.",
    args=("like",),
    from_avals=True,
    fill=lambda *, number: number,
)
