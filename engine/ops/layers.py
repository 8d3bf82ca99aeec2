"""Operations of layers around their activations: normalization, biases; and two measures of what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.core.aval import Aval, compatible, format_shape
from engine.core.batching import all_batched
from engine.core.dtypes import FLOATING, INTEGER, as_dtype, bool_, float16, float32, int32
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, nondifferentiable
from engine.core.operands import Operand, operands
from engine.core.value import as_array, aval_of, dtype_of, shape_of
from engine.ops.arithmetic import add, floordiv, maximum, mod, square, squared_difference
from engine.ops.axis_args import static_int
from engine.ops.compare import cast, equal, less, where
from engine.ops.complexes import imag, real
from engine.ops.creation import zeros_like
from engine.ops.explog import rsqrt, sqrt
from engine.ops.filling import range as range_
from engine.ops.gather import gather
from engine.ops.joining import concat
from engine.ops.partition import dynamic_partition, dynamic_stitch
from engine.ops.reduce import add_n, reduce_mean, reduce_sum
from engine.ops.shape import reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.shape import size as size_of_value
from engine.ops.stats import reduce_variance
from engine.runtime.errors import InvalidArgumentError, NotKnownYet, ShapeError


@operands("t")
def l2_loss(t: Any) -> Operand:
    """Half the sum of squares.

    Examples
    --------
    >>> float(l2_loss(np.array([3.0, 4.0])))
    12.5
    """
    check_dtype("l2_loss", "t", aval_of(t), FLOATING)
    return 0.5 * reduce_sum(square(t))


@operands("x")
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12) -> Operand:
    """`x` scaled to Euclidean norm 1 along `axis` (all axes by default).

    Squared norms below `epsilon` count as `epsilon`.

    Examples
    --------
    >>> l2_normalize(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    complex_ = dtype_of(x).is_complex
    total = reduce_sum(square(real(x)) + square(imag(x)) if complex_ else square(x), axis, keepdims=True)
    scale = rsqrt(maximum(total, as_array(epsilon, dtype_of(total), "l2_normalize: argument `epsilon`")))
    return x * (cast(scale, dtype_of(x)) if complex_ else scale)


@operands("x")
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False) -> tuple[Any, Any]:
    """Mean and variance over `axes`.

    Parameters
    ----------
    x : value, numeric
        Half floats are accumulated in single precision; means of integers are integers.
    axes : int or sequence of int
    shift : ignored
        Kept for TensorFlow's signature, which ignores it too.
    keepdims : bool

    Returns
    -------
    mean, variance : value

    Examples
    --------
    >>> moments(np.array([1.0, 3.0]), [0])
    (np.float64(2.0), np.float64(1.0))
    """
    dtype = dtype_of(x)
    if dtype.is_integer:
        mean = reduce_mean(x, axes, keepdims=True)
        variance = reduce_mean(squared_difference(x, mean), axes, keepdims)
        return reduce_mean(x, axes, keepdims), variance
    wide = cast(x, float32) if dtype is float16 else x
    mean, variance = reduce_mean(wide, axes, keepdims), reduce_variance(wide, axes, keepdims)
    return cast(mean, dtype), cast(variance, dtype)


@operands("x", "mean", "variance", "offset", "scale")
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any = None, scale: Any = None, variance_epsilon: float = 0.001
) -> Operand:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``, all broadcast together.

    Parameters
    ----------
    x, mean, variance : value, floating
    offset, scale : value or None
        None leaves them out.
    variance_epsilon : float
    """
    factor = rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    # statistics of half floats are often kept in single precision
    return x * cast(factor, dtype_of(x)) + cast(shift, dtype_of(x))


@operands("value", "bias")
def bias_add(value: Any, bias: Any, data_format: str | None = None) -> Operand:
    """Add a bias per channel.

    Parameters
    ----------
    value : value
    bias : value of shape (channels,)
    data_format : str, optional
        "NHWC" and its like: channels last (the default). "NCHW" and its like: channels are axis 1.

    Raises
    ------
    ShapeError
        If the bias is not a vector with one entry per channel.

    Examples
    --------
    >>> bias_add(np.zeros((2, 3)), np.array([1.0, 2.0, 3.0]))
    array([[1., 2., 3.],
           [1., 2., 3.]])
    """
    shape, width = shape_of(value), shape_of(bias)
    channels_first = data_format is not None and data_format.startswith("NC")
    if data_format is not None and not data_format.startswith("N"):
        raise InvalidArgumentError(
            f"bias_add: argument `data_format` must be like 'NHWC' or 'NCHW', got {data_format!r}"
        )
    if shape is None and channels_first:
        raise NotKnownYet("bias_add: the rank of `value` must be known if channels are axis 1; set it with set_shape")
    if shape is not None:
        at = 1 if channels_first else len(shape) - 1
        if len(shape) <= at or not compatible(shape[at : at + 1], width):
            raise ShapeError(
                f"bias_add: argument `bias` must be a vector with one entry per channel of `value`; "
                f"got shapes {format_shape(width)} and {format_shape(shape)}"
            )
        bias = expand_dims(bias, range(at + 1 - len(shape), 0))
    return add(value, bias)


# ---- measures --------------------------------------------------------------------------------------------------------


@operands("value")
def zero_fraction(value: Any, dtype: Any = float32) -> Operand:
    """The fraction of elements that are 0, as `dtype`.

    Examples
    --------
    >>> float(zero_fraction(np.array([0.0, 1.0, 2.0, 0.0])))
    0.5
    """
    return reduce_mean(cast(equal(value, zeros_like(value)), as_dtype(dtype)))


def _in_top_k_kernel(targets: Any, predictions: Any, *, k: int) -> np.ndarray:
    classes = predictions.shape[-1]
    valid = (targets >= 0) & (targets < classes)
    index = np.where(valid, targets, 0)[..., None]
    chosen = np.take_along_axis(predictions, index, -1) if classes else np.zeros(index.shape, predictions.dtype)
    higher = np.add.reduce(predictions > chosen, axis=-1, dtype=np.int64)
    # a row with an infinity or NaN has no ranking
    return valid & np.isfinite(predictions).all(-1) & (higher < k)


def _in_top_k_abstract(targets: Aval, predictions: Aval, *, k: int) -> Aval:
    check_dtype("in_top_k", "targets", targets, INTEGER)
    check_dtype("in_top_k", "predictions", predictions, FLOATING)
    rows = None if predictions.shape is None else predictions.shape[:-1]
    if predictions.shape == () or not compatible(targets.shape, rows):
        raise ShapeError(
            f"in_top_k: argument `targets` must have one entry per row of `predictions`; "
            f"got {targets} and {predictions}"
        )
    return Aval(targets.shape if rows is None else rows, bool_)


in_top_k_op = nondifferentiable(
    "in_top_k_op",
    _in_top_k_kernel,
    abstract=_in_top_k_abstract,
    batch=all_batched,
    strict=False,
    type="InTopKV2",
    args=("targets", "predictions"),
    doc="Whether each target is among the k highest predictions of its row.",
)


@operands("predictions", alone=("targets",))
def in_top_k(targets: Any, predictions: Any, k: Any) -> Operand:
    """Whether each target is among the `k` highest predictions of its row.

    A class outside the row never is, and none is in a row with an infinity or NaN.

    Parameters
    ----------
    targets : integer value of shape (rows,)
    predictions : floating value of shape (rows, classes)
    k : int
        Ties with the k-th highest count as being among them.

    Examples
    --------
    >>> in_top_k(np.array([0, 1]), np.array([[0.1, 0.9], [0.2, 0.8]]), 1)
    array([False,  True])
    """
    return in_top_k_op(targets, predictions, k=static_int("in_top_k", "k", k))


@operands("*params", alone=("ids",))
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, partition_strategy: str = "div") -> Operand:
    """Rows of an embedding matrix, by number.

    Parameters
    ----------
    params : value, shape (rows, ...), or a list of such values, one after the other
    ids : integer value
        In [0, rows).
    max_norm : number, optional
        Rows longer than this are scaled down to it.
    partition_strategy : "div" or "mod"
        Where row i of several `params` is: "div": in order, the first ones with one row more where they do not divide
        evenly. "mod": in ``params[i % n]``.

    Returns
    -------
    value, shape ``ids.shape + params.shape[1:]``

    Raises
    ------
    InvalidArgumentError
        If `partition_strategy` is neither.

    Examples
    --------
    >>> embedding_lookup(np.array([[1, 2], [3, 4], [5, 6]]), np.array([2, 0]))
    array([[5, 6], [1, 2]])
    """
    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    rows = gather(parts[0], ids) if len(parts) == 1 else _from_partitions(parts, ids, partition_strategy)
    if max_norm is None:
        return rows
    axes = tuple(range(-len(shape_of(parts[0]) or ()) + 1, 0))
    length = sqrt(reduce_sum(square(rows), axes, keepdims=True))
    limit = as_array(max_norm, dtype_of(rows), "embedding_lookup: argument `max_norm`")
    return rows * (limit / maximum(length, limit))


def _from_partitions(parts: Sequence[Any], ids: Any, strategy: str) -> Operand:
    """Rows of a matrix that is given in several parts."""
    if strategy not in ("div", "mod"):
        raise InvalidArgumentError(f'embedding_lookup: `partition_strategy` must be "div" or "mod", got {strategy!r}')
    number = dtype_of(ids).as_numpy_dtype
    count, flat = number(len(parts)), reshape(ids, [-1])
    if strategy == "mod":
        part, inner = mod(flat, count), floordiv(flat, count)
    else:
        total = add_n([cast(shape_of_value(p)[0], number) for p in parts])
        each, extras = floordiv(total, count), mod(total, count)
        few, behind = maximum(each, number(1)), flat - extras
        part = maximum(floordiv(flat, each + number(1)), floordiv(behind, few))
        inner = where(less(part, extras), mod(flat, each + number(1)), mod(behind, few))
    part = cast(part, int32)
    places = dynamic_partition(range_(size_of_value(flat)), part, len(parts))
    rows = [gather(p, i) for p, i in zip(parts, dynamic_partition(inner, part, len(parts)), strict=True)]
    return reshape(dynamic_stitch(places, rows), concat([shape_of_value(ids), shape_of_value(parts[0])[1:]], 0))
