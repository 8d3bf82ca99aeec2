"""Products of a constant sparse matrix of `scipy.sparse` with tensors: ``A @ x``, ``x @ A``.

In ``A @ x`` the sparse matrix is asked first, and asks the tensor for an array. It takes an array of rank 0 that holds
an object as "not an array", and leaves the product to the tensor (`engine.core.value.not_an_array`).

The product is a composition of ops, so the Jacobian has the matrix's pattern, and all modes follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import format_shape
from engine.core.operands import Operand
from engine.core.value import as_array, dtype_of, shape_of
from engine.ops.gather import gather
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import identity, matrix_transpose
from engine.runtime.errors import ShapeError
from engine.runtime.lazy_scipy import scipy


def sparse_matmul(matrix: Any, x: Any) -> Operand:
    """``matrix @ x``.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array, shape (m, n)
        A constant; its entries take the dtype of `x`.
    x : Value, shape (n,) or (n, k)

    Returns
    -------
    Value, shape (m,) or (m, k)
        Each row added up in the order of its columns.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    """
    shape = shape_of(x)
    length = None if shape is None else (*shape, None)[0]
    if len(matrix.shape) != 2 or shape is None or len(shape) not in (1, 2) or length not in (None, matrix.shape[1]):
        raise ShapeError(
            f"matmul: a sparse matrix of shape {format_shape(matrix.shape)} needs a vector or a matrix of "
            f"{matrix.shape[-1]} rows; got shape {format_shape(shape)}"
        )
    entries = scipy.sparse.csr_array(matrix)
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    entries = entries.tocoo()
    rows, columns = (np.asarray(i, np.int64) for i in entries.coords)
    data = as_array(entries.data, dtype_of(x), "matmul")
    # the identity: a gradient with respect to `x` itself is to be a tensor, not rows of one
    terms = gather(identity(x), columns, axis=0) * (data if len(shape) == 1 else data[:, None])
    return unsorted_segment_sum(terms, rows, matrix.shape[0])


def matmul_sparse(x: Any, matrix: Any) -> Operand:
    """``x @ matrix`` for a Value of shape (m,) or (k, m) and a sparse matrix of shape (m, n)."""
    if len(shape_of(x) or ()) == 2:
        return matrix_transpose(sparse_matmul(matrix.T, matrix_transpose(x)))
    return sparse_matmul(matrix.T, x)
