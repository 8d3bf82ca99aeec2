"""Short functions made of other ops, which TensorFlow has names for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.aval import format_shape, normalize_shape
from engine.core.dtypes import DType, as_dtype, int32
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of, shape_of_rank
from engine.ops.arithmetic import floordiv, maximum, minimum, mod
from engine.ops.checked import checked_op, shaped_op
from engine.ops.compare import cast, greater, greater_equal, where
from engine.ops.complexes import complex, imag, real
from engine.ops.decompose import svd
from engine.ops.extrema import reduce_max
from engine.ops.filling import range as range_
from engine.ops.joining import stack
from engine.ops.reduce import reduce_sum
from engine.ops.scatter import scatter_nd
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import broadcast_to, expand_dims, reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.stats import norm
from engine.runtime.errors import InvalidArgumentError, ShapeError


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


def _require_counted(numbers: Any) -> None:
    if np.any(numbers < 0):
        raise InvalidArgumentError(f"bincount: Input arr must be non-negative, got {numbers.min()}")


@operands("arr", alone=("weights",))
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = int32,
    axis: Any = None,
    binary_output: bool = False,
) -> Operand:
    """How often each number from 0 on occurs, or the sums of the weights of its occurrences.

    Parameters
    ----------
    arr : integer value
        Not negative.
    weights : value, optional
        Of the same shape; the result has its dtype.
    minlength, maxlength : int, optional
        How many numbers are counted at least and at most; by default up to the largest one.
    dtype : DType
        Of the result, without weights.
    axis : {None, 0, -1}
        -1: each row of a matrix is counted by itself.
    binary_output : bool
        Whether the result says only that a number occurs.

    Examples
    --------
    >>> bincount(np.array([1, 1, 3]), minlength=5)
    array([0, 2, 0, 1, 0], dtype=int32)
    """
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(f"bincount: argument `axis` must be None, 0 or -1, got {axis!r}")
    if binary_output and weights is not None:
        raise InvalidArgumentError("bincount: arguments `binary_output` and `weights` exclude each other")
    numbers = checked_op(cast(arr, "int64"), arr, check=_require_counted)
    size = maximum(cast(reduce_max(numbers), "int64") + np.int64(1), cast(np.int64(minlength or 0), "int64"))
    if maxlength is not None:
        size = minimum(size, cast(np.int64(maxlength), "int64"))
    left_out = greater_equal(numbers, size)
    lines = np.int64(1)
    if axis == -1 and len(shape_of(arr) or ()) == 2:
        lines = cast(shape_of_value(arr)[0], "int64")
        numbers = numbers + expand_dims(range_(lines), 1) * size
    ids = reshape(where(left_out, numbers * np.int64(0) - np.int64(1), numbers), [-1])
    ones = broadcast_to(as_dtype(dtype).as_numpy_dtype(1), shape_of_value(ids))
    counts = unsorted_segment_sum(ones if weights is None else reshape(weights, [-1]), ids, size * lines)
    counts = minimum(counts, as_dtype(dtype).as_numpy_dtype(1)) if binary_output else counts
    return counts if axis != -1 or len(shape_of(arr) or ()) != 2 else reshape(counts, stack([lines, size]))


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


@operands("value")
def saturate_cast(value: Any, dtype: Any) -> Operand:
    """`value` in another dtype; numbers that it has not become its smallest or its largest.

    Examples
    --------
    >>> saturate_cast(np.array([-3.7, 3.7, 300.0]), "uint8")
    array([  0,   3, 255], dtype=uint8)
    """
    wanted, kind = as_dtype(dtype), dtype_of(value)
    if kind.is_complex and not wanted.is_complex:
        value, kind = real(value), kind.real_dtype
    if wanted.is_complex:
        part = wanted.real_dtype
        if kind.is_complex and part.max < kind.real_dtype.max:
            return complex(saturate_cast(real(value), part), saturate_cast(imag(value), part))
        return cast(value if kind.is_complex else saturate_cast(value, part), wanted)
    if wanted.is_bool or kind.is_bool:
        return cast(value, wanted)
    low, high = _bounds_within(kind, wanted)
    return cast(minimum(maximum(value, low), high), wanted)


def _bounds_within(kind: DType, wanted: DType) -> tuple[Any, Any]:
    """The numbers of `kind` next to the bounds of `wanted`, and inside of both."""
    low, high = max(wanted.min, kind.min), min(wanted.max, kind.max)
    bounds = [kind.as_numpy_dtype(low), kind.as_numpy_dtype(high)]
    if kind.is_floating and float(bounds[1]) > high:  # rounding went beyond, as 2**31 does for the largest int32
        bounds[1] = np.nextafter(bounds[1], kind.as_numpy_dtype(0))
    return bounds[0], bounds[1]


def vectorized_map(
    tf: Any, fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` applied to each row of `elems`, the results stacked.

    Parameters
    ----------
    fn : callable
    elems : tensor or structure of tensors
        Of the same first dimension; one of 1 serves all rows.
    fallback_to_while_loop, warn
        Accepted for compatibility: it is `map_fn`.
    """
    leaves = [tf.convert_to_tensor(leaf) for leaf in nest.flatten(elems)]
    rows = [(shape_of(leaf) or (None,))[0] for leaf in leaves]
    longest = next((n for n in rows if n != 1), 1)
    leaves = [
        tf.repeat(leaf, tf.shape(leaves[rows.index(longest)])[0], axis=0) if n == 1 != longest else leaf
        for leaf, n in zip(leaves, rows, strict=True)
    ]
    return tf.map_fn(fn, nest.pack_sequence_as(elems, leaves))


@operands("indices", "dims")
def unravel_index(indices: Any, dims: Any) -> Operand:
    """The positions in an array of shape `dims` of elements counted row by row, one column each.

    Examples
    --------
    >>> unravel_index(np.array([5, 1]), np.array([2, 3]))
    array([[1, 0],
           [2, 1]])
    """
    positions, rest = [], indices
    for size in reversed([dims[i] for i in range(int(shape_of_rank("unravel_index", "dims", dims, 1)[0] or 0))]):
        positions.append(mod(rest, size))
        rest = floordiv(rest, size)
    return stack(positions[::-1])
