"""Moments and norms: variance, standard deviation, Euclidean and other norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.aval import Aval
from engine.core.batching import axis_param
from engine.core.dtypes import INEXACT
from engine.core.expand_axes import expand_dims, squeeze
from engine.core.kinds import check_dtype, linear, real_elementwise
from engine.core.operands import Operand, operands
from engine.core.sparsity import along
from engine.core.structural import conj
from engine.core.sums import add_over
from engine.core.value import dtype_of, shape_of
from engine.ops.arithmetic import over_length, part_of
from engine.ops.axis_args import Axes, negative_axes, reduction_axes
from engine.ops.compare import cast, equal, where
from engine.ops.complexes import real
from engine.ops.creation import ones_like, zeros_like
from engine.ops.decompose import svd
from engine.ops.explog import pow, sqrt
from engine.ops.extrema import reduce_max_op
from engine.ops.reduce import mean_kernel, reduce_mean, reduce_sum_op, reduce_with, reduction
from engine.ops.shape import transpose_op
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, UnimplementedError


def _wide(x: Any) -> Any:
    """Half floats in single precision, in which their squares and sums of these do not overflow."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def _centered(x: Any, axis: Axes) -> np.ndarray:
    if x.size == 0:
        return x
    # Deviations from an element first: equal values then give exact zeros, and large ones lose no digits.
    reduced = negative_axes("center", axis, x.ndim)
    first = x[tuple([slice(1) if i - x.ndim in reduced else slice(None) for i in range(x.ndim)])]
    shifted = np.subtract(x, first)
    return np.subtract(shifted, mean_kernel(shifted, axis=axis, keepdims=True))


def _center_abstract(x: Aval, *, axis: Axes) -> Aval:
    check_dtype("center", "x", x, INEXACT)
    return Aval(x.shape, x.dtype)


center = linear(
    "center",
    lambda x, *, axis: _centered(_wide(x), axis).astype(x.dtype, copy=False),
    lambda ct, x, *, axis: center(ct, axis=axis),
    _center_abstract,
    axis_param,
    sparsity=along,
    doc="x less its mean over `axis` (negative): a projection, hence its own transpose.",
)


def _variance(x: Any, axis: Axes, keepdims: bool) -> Any:
    return mean_kernel(np.square(_centered(_wide(x), axis)), axis=axis, keepdims=keepdims)


length_sloped = real_elementwise(
    "length_sloped",
    lambda ct, x, r, slope: np.multiply(np.broadcast_arrays(ct, slope)[0], part_of.kernel(x, r)),
    (
        lambda out, ct, x, r, slope: part_of(x, r),
        lambda out, ct, x, r, slope: over_length(ct, r, slope),
        lambda out, ct, x, r, slope: -over_length(ct, r, slope) * part_of(x, r),
        None,
    ),
    args=("ct", "x", "r", "slope"),
    doc="""``ct * part_of(x, r)``, the gradient of a function of a norm r, if `ct` changes by `slope` with r.

    Of a smooth function `ct` is 0 where r is, and its quotient by r is `slope` there (`engine.derivatives.slopes`).
    """,
)
reduce_variance_op = reduction(
    "reduce_variance",
    lambda x, *, axis, keepdims: _variance(x, axis, keepdims).astype(x.dtype, copy=False),
    lambda out, x, axis: 2 * center(x, axis=axis),
    mean=True,
    type="Variance",
    module=__name__,
    doc="Mean squared deviation from the mean over axes.",
)
reduce_std_op = reduction(
    "reduce_std",
    lambda x, *, axis, keepdims: np.sqrt(_variance(x, axis, keepdims)).astype(x.dtype, copy=False),
    lambda out, x, axis: part_of(center(x, axis=axis), out),
    mean=True,
    kinked=True,
    type="StandardDeviation",
    module=__name__,
    doc="Square root of the variance over axes.",
)
reduce_euclidean_norm_op = reduction(
    "reduce_euclidean_norm",
    lambda x, *, axis, keepdims: np.sqrt(add_over(np.square(_wide(x)), axis, keepdims)).astype(x.dtype, copy=False),
    lambda out, x, axis: part_of(x, out),
    kinked=True,
    type="EuclideanNorm",
    module=__name__,
    doc="Square root of the sum of squares over axes.",
)


@operands("input_tensor")
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Mean squared deviation from the mean over axes (parameters as in `reduce_sum`); real also for complex values.

    Examples
    --------
    >>> float(reduce_variance(np.array([1.0, 2.0, 3.0, 4.0])))
    1.25
    """
    if dtype_of(input_tensor).is_complex:
        deviation = input_tensor - reduce_mean(input_tensor, axis, keepdims=True)
        return reduce_mean(real(deviation * conj(deviation)), axis, keepdims)
    return reduce_with(reduce_variance_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Square root of the variance over axes (parameters as in `reduce_sum`); real also for complex values.

    The derivative at equal values, where there is none, is 0.

    Examples
    --------
    >>> float(reduce_std(np.array([1.0, 3.0])))
    1.0
    """
    if dtype_of(input_tensor).is_complex:
        return sqrt(reduce_variance(input_tensor, axis, keepdims))
    return reduce_with(reduce_std_op, input_tensor, axis, keepdims)


@operands("input_tensor")
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Operand:
    """Square root of the sum of squares over axes (parameters as in `reduce_sum`; floats only).

    The derivative at 0, where there is none, is 0.

    Examples
    --------
    >>> float(reduce_euclidean_norm(np.array([3.0, 4.0])))
    5.0
    """
    return reduce_with(reduce_euclidean_norm_op, input_tensor, axis, keepdims)


@operands("tensor")
def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False) -> Operand:
    """Norm of vectors or matrices.

    Parameters
    ----------
    tensor : value, floating or complex
    ord : {"euclidean", "fro"} or positive number
        For vectors: p-norms (``np.inf`` is the largest magnitude). For matrices: "euclidean" and "fro" are the root of
        the sum of squares, 1 the largest column sum, ``np.inf`` the largest row sum.
    axis : int or pair of int, optional
        An int means vectors along that axis, a pair (rows, columns) matrices. By default all of `tensor` as one vector.
    keepdims : bool
        Keep the axes with size one.

    Raises
    ------
    InvalidArgumentError
        If `ord` is none of these.
    UnimplementedError
        For the 2-norm of matrices.

    Notes
    -----
    The derivative at 0, where there is none, is 0.

    Examples
    --------
    >>> float(norm(np.array([3.0, 4.0]))), float(norm(np.array([3.0, -4.0]), ord=1))
    (5.0, 7.0)
    """
    dtype = dtype_of(tensor)
    axes = reduction_axes("norm", tensor, axis)
    pair = axes if axis is not None and axes is not None and len(axes) == 2 else None
    if dtype.is_complex:
        # all but the spectral norm are norms of the moduli
        if pair is not None and ord == 2:
            return _matrix_norm(tensor, 2, pair, bool(keepdims))
        length = norm(abs(tensor), ord, axis, keepdims)
        # as TensorFlow has it, a sum of squares is complex
        return cast(length, dtype) if ord in ("euclidean", "fro", 2) else length
    if axis is not None and axes is not None and len(axes) > 2:
        raise InvalidArgumentError(f"norm: argument `axis` must be an integer or a pair of integers, got {axis!r}")
    if ord == "fro" and axis is not None and pair is None:
        raise InvalidArgumentError(f"norm: 'fro' is a norm of matrices: argument `axis` must be a pair, got {axis!r}")
    if ord in ("euclidean", "fro"):
        return reduce_euclidean_norm_op(tensor, axis=axes, keepdims=bool(keepdims))
    if not isinstance(ord, (int, float)) or ord <= 0:
        raise InvalidArgumentError(
            f"norm: 'ord' must be a supported norm: 'euclidean', 'fro' or a positive number, got {ord!r}"
        )
    if pair is not None:
        return _matrix_norm(tensor, ord, pair, bool(keepdims))
    return _vector_norm(tensor, ord, axes, bool(keepdims))


def _vector_norm(x: Any, p: float, axes: Axes, keepdims: bool) -> Operand:
    over = {"axis": axes, "keepdims": keepdims}
    if p == 1:
        return reduce_sum_op(abs(x), **over)
    if p == 2:
        return reduce_euclidean_norm_op(x, **over)
    if p == np.inf:
        return reduce_max_op(abs(x), **over)
    # not `**`, which is NumPy's where x is an array, and rounds differently
    power, root = (np.asarray(e, dtype_of(x).numpy) for e in (p, 1 / p))
    total = reduce_sum_op(pow(abs(x), power), **over)
    # a root has an infinite derivative at 0; the norm of a zero vector is taken as constant there
    vanishes = equal(total, zeros_like(total))
    length = pow(where(vanishes, ones_like(total), total), root)
    return where(vanishes, reduce_euclidean_norm_op(x, **over), length)


def _matrix_norm(x: Any, p: float, axes: tuple[int, ...], keepdims: bool) -> Operand:
    if p == 2:
        if shape_of(x) is None:
            raise NotKnownYet("norm: the 2-norm of matrices needs a tensor of known rank; give it one with set_shape")
        return _spectral_norm(x, axes, keepdims)
    if p not in (1, np.inf):
        raise UnimplementedError(f"norm: the {p}-norm of matrices is not implemented; those with ord 1, 2 and inf are")
    added, compared = axes if p == 1 else axes[::-1]
    largest = reduce_max_op(reduce_sum_op(abs(x), axis=(added,), keepdims=True), axis=(compared,), keepdims=True)
    return largest if keepdims else squeeze(largest, axes)


def _spectral_norm(x: Any, axes: tuple[int, ...], keepdims: bool) -> Operand:
    """The largest singular value of the matrices that two axes, counted from the end, make."""
    rank = len(shape_of(x) or ())
    matrices = transpose_op(x, perm=(*[a for a in range(rank) if a - rank not in axes], *[a % rank for a in axes]))
    largest = reduce_max_op(svd(matrices, compute_uv=False), axis=(-1,), keepdims=False)
    return expand_dims(largest, sorted(a % rank for a in axes)) if keepdims else largest
