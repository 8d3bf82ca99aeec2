"""Cross entropies of logits and labels: ops of their own, with exact derivatives in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, Shape, broadcast_shapes, compatible, format_shape, merge_shapes
from engine.core.batching import all_batched, elementwise_rule, shift_axes
from engine.core.dtypes import FLOATING, INTEGER
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, general, real_elementwise, same_dtype
from engine.core.operands import Operand, operands
from engine.core.sparsity import ELEMENTWISE, Links, Site, paired, rowwise
from engine.core.structural import broadcast_like, scale, sum_to_like
from engine.core.value import dtype_of, shape_of
from engine.ops.axis_args import reduced_shape, single_axis
from engine.ops.compare import cast
from engine.ops.creation import ones_like
from engine.ops.nn import below_largest, log_softmax_op, sigmoid, softmax_op, softplus, softplus_kernel
from engine.ops.reduce import balanced, reduce_sum_op
from engine.runtime import elementary
from engine.runtime.errors import InvalidArgumentError, ShapeError

# ---- softmax cross entropy -------------------------------------------------------------------------------------------


def _softmax_xent_kernel(labels: Any, logits: Any, *, axis: int) -> np.ndarray:
    below = below_largest(logits, axis)
    log_total = elementary.log(np.add.reduce(elementary.exp(below), axis=axis, keepdims=True))
    return np.add.reduce(labels * (log_total - below), axis=axis)


def _softmax_xent_abstract(labels: Aval, logits: Aval, *, axis: int) -> Aval:
    name = "softmax_cross_entropy_with_logits"
    check_dtype(name, "logits", logits, FLOATING)
    dtype = same_dtype(name, ("labels", "logits"), (labels, logits))
    shape = broadcast_shapes(name, labels.shape, logits.shape)
    if shape is not None and not shape:
        raise ShapeError(f"{name}: arguments `labels` and `logits` must have at least one dimension, got scalars")
    if shape is not None:
        normalize_axis(name, axis, len(shape))
    return Aval(reduced_shape(shape, (axis,), False), dtype)


def _slope_in_logits(labels: Any, logits: Any, axis: int) -> Operand:
    # the labels need not sum to 1
    shares = softmax_op(logits, axis=axis)
    slope = shares * reduce_sum_op(labels, axis=(axis,), keepdims=True) - labels
    return balanced(slope, shares, axis=(axis,), back=False)


class _Pull:
    """The reverse rule of one operand: its row's cotangent times ``slope(labels, logits, axis)``."""

    def __init__(self, slope: Callable[..., Any], i: int) -> None:
        self._slope, self._i = slope, i

    def __call__(self, ct: Any, out: Any, *inputs: Any, axis: int = -1) -> Operand:
        return sum_to_like(scale(expand_dims(ct, (axis,)), self._slope(*inputs, axis)), inputs[self._i])

    def reach(self, mask: Any, out: Any, *inputs: Any, axis: int = -1) -> Operand:
        """The elements that a mask of the cotangent reaches: whole rows."""
        row = ones_like(self._slope(*inputs, axis))
        return sum_to_like(expand_dims(mask, (axis,)) * row, inputs[self._i])


class _Push:
    """The forward rule of one operand: the sum of its row's tangents times ``slope(labels, logits, axis)``."""

    def __init__(self, slope: Callable[..., Any]) -> None:
        self._slope = slope

    def __call__(self, t: Any, out: Any, *inputs: Any, axis: int = -1) -> Operand:
        products = scale(t, self._slope(*inputs, axis))
        return broadcast_like(reduce_sum_op(products, axis=(axis,), keepdims=False), out)

    def reach(self, mask: Any, out: Any, *inputs: Any, axis: int = -1) -> Operand:
        """The elements that a mask of the tangent reaches: those of rows of which any is in it."""
        return broadcast_like(reduce_sum_op(mask, axis=(axis,), keepdims=False), out)


def _slope_in_labels(labels: Any, logits: Any, axis: int) -> Operand:
    return -log_softmax_op(logits, axis=axis)


def _softmax_xent_sparsity(site: Site, i: int) -> Sequence[Links]:
    shape, (out,) = site.shapes[i], site.results
    rank, axis = len(out) + 1, site.params["axis"] % (len(out) + 1)
    # operands of unequal rank are aligned at the end
    places = [(at, at - rank + len(shape)) for at in range(rank - len(shape), rank) if at != axis]
    return [[paired(shape, out, [(at - (at > axis), b) for at, b in places])]]


softmax_cross_entropy_op = general(
    "softmax_cross_entropy_op",
    _softmax_xent_kernel,
    _softmax_xent_abstract,
    vjp=(_Pull(_slope_in_labels, 0), _Pull(_slope_in_logits, 1)),
    jvp=(_Push(_slope_in_labels), _Push(_slope_in_logits)),
    batch=lambda op, size, flags, inputs, params: elementwise_rule(
        op, size, flags, inputs, {"axis": shift_axes(params["axis"])}
    ),
    type="SoftmaxCrossEntropyWithLogits",
    args=("labels", "logits"),
    sparsity=_softmax_xent_sparsity,
    doc="Cross entropy of the labels and the softmax of the logits.",
)


@operands("logits", "labels")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1) -> Operand:
    """Cross entropy of the labels and the softmax of the logits, without overflow.

    Parameters
    ----------
    labels : value
        A probability per class along `axis`; cast to the dtype of `logits`.
    logits : floating value
    axis : int
        The axis of the classes.

    Returns
    -------
    value
        One loss per row: the shape without `axis`. Differentiable in both arguments, also if labels do not sum to 1.

    Examples
    --------
    >>> softmax_cross_entropy_with_logits(np.array([[0.0, 1.0]]), np.array([[1000.0, 0.0]]))
    array([1000.])
    """
    at = single_axis("softmax_cross_entropy_with_logits", logits, -1 if axis is None else axis)
    return softmax_cross_entropy_op(cast(labels, dtype_of(logits)), logits, axis=at)


# ---- sparse softmax cross entropy ------------------------------------------------------------------------------------


_SPARSE = "sparse_softmax_cross_entropy_with_logits"


def _rows_and_labels(x: Any, labels: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """`x` as a matrix, the label of each of its rows, and the shape of the rows."""
    classes = x.shape[-1]
    if labels.shape != x.shape[:-1]:
        raise IndexError(f"{labels.shape}, {x.shape}")  # the abstract evaluation says it in full
    outside = (labels < 0) | (labels >= classes)
    if outside.any():
        raise InvalidArgumentError(
            f"{_SPARSE}: argument `labels` must be in [0, {classes}), got {np.asarray(labels)[outside].ravel()[0]}"
        )
    return x.reshape(labels.size, classes), labels.ravel(), labels.shape


def _less_one_hot_kernel(p: Any, labels: Any) -> np.ndarray:
    matrix, flat, rows = _rows_and_labels(p, labels)
    out = matrix.copy()
    out[np.arange(len(flat)), flat] -= 1
    return out.reshape(*rows, p.shape[-1])


def _rows_abstract(name: str, labels: Aval, logits: Aval) -> Shape:
    """The shape of the rows, after checking that there is one integer label for each."""
    check_dtype(name, "labels", labels, INTEGER)
    check_dtype(name, "logits", logits, FLOATING)
    if logits.shape is None:
        return labels.shape
    if not logits.shape:
        raise ShapeError(f"{name}: argument `logits` must have at least one dimension, got a scalar")
    if not compatible(labels.shape, logits.shape[:-1]):
        raise ShapeError(
            f"{name}: `labels.shape` must equal `logits.shape` except for the last dimension; "
            f"got {format_shape(labels.shape)} and {format_shape(logits.shape)}"
        )
    return merge_shapes(labels.shape, logits.shape[:-1])


def _less_one_hot_abstract(p: Aval, labels: Aval) -> Aval:
    rows = _rows_abstract("less_one_hot", labels, p)
    return Aval(None if rows is None or p.shape is None else (*rows, p.shape[-1]), p.dtype)


less_one_hot = general(
    "less_one_hot",
    _less_one_hot_kernel,
    _less_one_hot_abstract,
    vjp=(lambda ct, out, p, labels: sum_to_like(ct, p), None),
    jvp=(lambda t, out, p, labels: broadcast_like(t, out), None),
    batch=all_batched,
    args=("p", "labels"),
    sparsity=ELEMENTWISE,
    doc="p less 1 at each row's label.",
)


def _sparse_xent_kernel(labels: Any, logits: Any) -> Operand:
    below = below_largest(logits, -1)
    matrix, flat, rows = _rows_and_labels(below, labels)
    return entropy_of(below, matrix[np.arange(len(flat)), flat].reshape(rows))


def entropy_of(below: Any, chosen: Any) -> Operand:
    """The cross entropy of rows of logits less the largest of each, for kernels; `chosen` are those of the labels."""
    return np.subtract(elementary.log(np.add.reduce(elementary.exp(below), axis=-1)), chosen)


def _sparse_slope(labels: Any, logits: Any, axis: int) -> Operand:
    shares = softmax_op(logits, axis=axis)
    return balanced(less_one_hot(shares, labels), shares, axis=(axis,), back=False)


sparse_softmax_cross_entropy_op = general(
    "sparse_softmax_cross_entropy_op",
    _sparse_xent_kernel,
    lambda labels, logits: Aval(_rows_abstract(_SPARSE, labels, logits), logits.dtype),
    vjp=(None, _Pull(_sparse_slope, 1)),
    jvp=(None, _Push(_sparse_slope)),
    batch=all_batched,
    type="SparseSoftmaxCrossEntropyWithLogits",
    args=("labels", "logits"),
    sparsity=rowwise(0, 1, results=(0,)),
    doc="Cross entropy of one label per row and the softmax of the logits.",
)


@operands("logits", alone=("labels",))
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Operand:
    """Cross entropy of one label per row and the softmax of the logits, without overflow.

    Parameters
    ----------
    labels : integer value
        The class of each row: the shape of `logits` without its last axis.
    logits : floating value
        Classes along the last axis.

    Raises
    ------
    ShapeError
        If there is not one label per row.
    InvalidArgumentError
        If a label is not in ``[0, classes)``.

    Examples
    --------
    >>> sparse_softmax_cross_entropy_with_logits(np.array([1]), np.array([[1000.0, 0.0]]))
    array([1000.])
    """
    return sparse_softmax_cross_entropy_op(labels, logits)


# ---- sigmoid cross entropy -------------------------------------------------------------------------------------------


def _sigmoid_xent_kernel(labels: Any, logits: Any) -> Operand:
    # in this order nothing cancels: softplus(logits) - logits * labels would lose the digits of a small loss
    tail = softplus_kernel(np.negative(np.absolute(logits)))
    return (np.maximum(logits, 0) - logits * labels) + tail


sigmoid_cross_entropy_op = real_elementwise(
    "sigmoid_cross_entropy_op",
    _sigmoid_xent_kernel,
    (lambda out, z, x: -x, lambda out, z, x: sigmoid(x) - z),
    type="SigmoidCrossEntropyWithLogits",
    args=("labels", "logits"),
    doc="Cross entropy of the labels and the sigmoid of the logits, elementwise.",
)


def check_same_shape(name: str, first: str, x: Any, second: str, y: Any) -> None:
    """Raise unless two operands have one shape, as far as it is known."""
    if not compatible(shape_of(x), shape_of(y)):
        raise ShapeError(
            f"{name}: arguments `{first}` and `{second}` must have the same shape, "
            f"got {format_shape(shape_of(x))} and {format_shape(shape_of(y))}"
        )


@operands("logits", "labels")
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Operand:
    """Cross entropy of the labels and the sigmoid of the logits, elementwise and without overflow.

    Examples
    --------
    >>> sigmoid_cross_entropy_with_logits(np.array([0.0, 1.0]), np.array([1000.0, 1000.0]))
    array([1000.,    0.])
    """
    check_same_shape("sigmoid_cross_entropy_with_logits", "labels", labels, "logits", logits)
    return sigmoid_cross_entropy_op(labels, logits)


@operands("logits", "labels", "pos_weight")
def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any) -> Operand:
    """`sigmoid_cross_entropy_with_logits` with the losses of positive labels multiplied by `pos_weight`.

    Examples
    --------
    >>> weighted_cross_entropy_with_logits(np.array([0.0, 1.0]), np.array([1000.0, -1000.0]), 3.0)
    array([1000., 3000.])
    """
    check_same_shape("weighted_cross_entropy_with_logits", "labels", labels, "logits", logits)
    return (1 - labels) * logits + (1 + (pos_weight - 1) * labels) * softplus(-logits)
