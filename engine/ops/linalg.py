"""Products of matrices, vectors and tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.api import operands
from engine.aval import Aval, broadcast_shapes
from engine.batching import leading
from engine.dtypes import NUMERIC
from engine.errors import ShapeError
from engine.kinds import check_dtype, multilinear, same_dtype
from engine.structural import conj, sum_to_like

# ---- matmul ----------------------------------------------------------------------------------------------------------


def _transposed(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _matmul_kernel(a: Any, b: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("both arguments must have rank 2 or more")
    if transpose_a:
        a = _transposed(a)
    if transpose_b:
        b = _transposed(b)
    if a.ndim == b.ndim == 2:
        return np.matmul(a, b)
    if b.ndim == 2:
        return _fold_rows(a, b)
    if a.ndim == 2 and (transpose_b or b.shape[-1] == 1):
        return _transposed(_fold_rows(_transposed(b), a.T))
    return np.matmul(a, b)


def _fold_rows(a: Any, b: Any) -> Any:
    """A stack of matrices times one matrix, as one product: NumPy would loop over the stack."""
    *batch, n, k = a.shape
    if k != b.shape[0]:
        raise ValueError("inner dimensions differ")
    return np.matmul(a.reshape(math.prod(batch) * n, k), b).reshape(*batch, n, b.shape[1])


def _matmul_abstract(a: Aval, b: Aval, *, transpose_a: bool = False, transpose_b: bool = False) -> Aval:
    check_dtype("matmul", "a", a, NUMERIC)
    dtype = same_dtype("matmul", ("a", "b"), (a, b))
    for name, x in (("a", a), ("b", b)):
        if x.shape is not None and len(x.shape) < 2:
            raise ShapeError(f"matmul: argument `{name}` must have rank 2 or more, got {x}")
    if a.shape is None or b.shape is None:
        return Aval(None, dtype)
    n, k = a.shape[-2:][:: -1 if transpose_a else 1]
    k2, m = b.shape[-2:][:: -1 if transpose_b else 1]
    if k is not None and k2 is not None and k != k2:
        flags = [f for f, on in (("transpose_a", transpose_a), ("transpose_b", transpose_b)) if on]
        raise ShapeError(
            f"matmul: inner dimensions must agree, but a is {a} and b is {b}"
            + (f" with {' and '.join(flags)}" if flags else "")
            + f": {k} != {k2}"
        )
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    return Aval(None if batch is None else (*batch, n, m), dtype)


def _product(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    return matmul_op(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def _matmul_da(ct: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    grad = _product(b, ct, transpose_b, True) if transpose_a else _product(ct, b, False, not transpose_b)
    return sum_to_like(grad, a)


def _matmul_db(ct: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    grad = _product(ct, a, True, transpose_a) if transpose_b else _product(a, ct, not transpose_a, False)
    return sum_to_like(grad, b)


matmul_op = multilinear(
    "matmul_op",
    _matmul_kernel,
    (_matmul_da, _matmul_db),
    _matmul_abstract,
    leading(2, 2),
    type="MatMul",
    args=("a", "b"),
    doc="Product of (stacks of) matrices, either transposed first if its flag says so.",
)


@operands("a", "b")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Any:
    """Product of matrices, or of stacks of matrices whose leading dimensions are broadcast together.

    Parameters
    ----------
    a : value, shape (..., n, k)
    b : value, shape (..., k, m)
    transpose_a, transpose_b : bool
        Transpose the argument's last two dimensions first.
    adjoint_a, adjoint_b : bool
        Transpose and conjugate the argument first.

    Returns
    -------
    value, shape (..., n, m)

    Raises
    ------
    ShapeError
        If an argument has rank below 2, or the inner dimensions differ.

    Examples
    --------
    >>> matmul(np.array([[1., 2.]]), np.array([[3., 4.]]), transpose_b=True)
    array([[11.]])
    """
    for name, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transpose and adjoint:
            raise ShapeError(f"matmul: only one of transpose_{name} and adjoint_{name} may be True")
    return _product(
        conj(a) if adjoint_a else a, conj(b) if adjoint_b else b, transpose_a or adjoint_a, transpose_b or adjoint_b
    )
