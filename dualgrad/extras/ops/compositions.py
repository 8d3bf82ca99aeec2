"""Short functions made of other ops, which TensorFlow has names for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.aval import format_shape, normalize_shape
from engine.core.dtypes import as_dtype, int32
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of
from engine.ops.checked import shaped_op
from engine.ops.compare import cast, greater
from engine.ops.decompose import svd
from engine.ops.extrema import reduce_max
from engine.ops.joining import stack
from engine.ops.reduce import reduce_sum
from engine.ops.scatter import scatter_nd
from engine.ops.shape import broadcast_to, reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.stats import norm
from engine.runtime.errors import ShapeError


@operands("scalar", "x")
def scalar_mul(scalar: Any, x: Any) -> Operand:
    """``scalar * x``.

    Raises
    ------
    ShapeError
        If `scalar` has another rank than 0.
    """
    if (shape_of(scalar) or ()) != ():
        raise ShapeError(f"scalar_mul: argument `scalar` must have rank 0, got shape {format_shape(shape_of(scalar))}")
    return scalar * x


@operands("*coeffs", "x")
def polyval(coeffs: Sequence[Any], x: Any) -> Operand:
    """The polynomial of the given coefficients, that of the highest power first, at `x`.

    Examples
    --------
    >>> polyval([np.array(2.0), np.array(1.0)], np.array([1.0, 3.0]))
    array([3., 7.])
    """
    total = x - x if not coeffs else coeffs[0]
    for c in coeffs[1:]:
        total = total * x + c
    return total


@operands("tensor")
def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None) -> tuple[Any, Any]:
    """`tensor` divided by its `norm` along axes, and that norm, whose axes stay with size one.

    Examples
    --------
    >>> [v.tolist() for v in normalize(np.array([3.0, 4.0]))]
    [[0.6, 0.8], [5.0]]
    """
    length = norm(tensor, ord, axis, keepdims=True)
    return tensor / length, length


@operands("a")
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False) -> Operand:
    """How many singular values of matrices exceed `tol`; by default what rounding makes of 0.

    Examples
    --------
    >>> int(matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    values = svd(a, compute_uv=False)
    if tol is None:
        size = max(int(d or 0) for d in (shape_of(a) or (0,))[-2:])
        eps = np.finfo(dtype_of(values).numpy).eps
        tol = reduce_max(values, -1, keepdims=True) * dtype_of(values).as_numpy_dtype(eps * size)
    return reduce_sum(cast(greater(values, tol), int32), -1)


@operands("labels", "predictions", alone=("weights",))
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = int32
) -> Operand:
    """How often each class (row) was predicted as each class (column).

    Examples
    --------
    >>> confusion_matrix(np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    truth, said = (cast(reshape(x, [-1]), "int64") for x in (labels, predictions))
    if num_classes is None:
        num_classes = reduce_max(stack([reduce_max(truth), reduce_max(said)])) + np.int64(1)
    wanted = as_dtype(dtype)
    ones = broadcast_to(wanted.as_numpy_dtype(1), shape_of_value(truth))
    counts = ones if weights is None else cast(reshape(weights, [-1]), wanted)
    count = cast(num_classes if hasattr(num_classes, "dtype") else np.int64(num_classes), "int64")
    return scatter_nd(stack([truth, said], 1), counts, stack([count, count]))


@operands("per_example_loss", alone=("sample_weight",))
def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Operand:
    """The (weighted) sum of losses divided by the size of the batch."""
    dtype = dtype_of(per_example_loss)
    weighted = per_example_loss if sample_weight is None else per_example_loss * cast(sample_weight, dtype)
    size = shape_of_value(per_example_loss)[0] if global_batch_size is None else global_batch_size
    return reduce_sum(weighted) / (cast(size, dtype) if hasattr(size, "dtype") else dtype.as_numpy_dtype(size))


@operands("regularization_loss")
def scale_regularization_loss(regularization_loss: Any) -> Operand:
    """The sum of losses: there is one replica, among which to divide it."""
    return reduce_sum(regularization_loss)


@operands("x")
def ensure_shape(x: Any, shape: Any) -> Operand:
    """`x`, of which is then known that it has such a shape; examined when the graph runs where it is not known.

    Raises
    ------
    ShapeError
        If it has not.
    """
    return shaped_op(x, shape=normalize_shape(shape), message="ensure_shape: the value has not the shape")
