"""Isotonic regression: the monotonic sequence next to a given one."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.arguments import normalize_axis
from engine.core.aval import Aval
from engine.core.batching import leading
from engine.core.dtypes import REAL, float16, float32, float64, int8, int16, int32
from engine.core.expand_axes import expand_dims
from engine.core.kinds import check_dtype, nondifferentiable
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of_rank
from engine.ops.compare import cast
from engine.ops.filling import range as range_
from engine.ops.gather import gather
from engine.ops.segment import unsorted_segment_mean
from engine.ops.shape import reshape, transpose
from engine.ops.shape import shape as shape_of_value
from engine.runtime.errors import ShapeError


def _pooled(y: np.ndarray, decreasing: bool) -> list[int]:
    """How many neighbors each segment of the solution has: the pool adjacent violators algorithm [1].

    References
    ----------
    .. [1] M. J. Best and N. Chakravarti, "Active set algorithms for isotonic regression", Math. Programming 47 (1990).
    """
    sums: list[float] = []
    counts: list[int] = []
    for value in (y if decreasing else -y).tolist():
        sums.append(value)
        counts.append(1)
        while len(sums) > 1 and sums[-2] * counts[-1] <= sums[-1] * counts[-2]:
            last, many = sums.pop(), counts.pop()
            sums[-1] += last
            counts[-1] += many
    return counts


def _segments_kernel(x: Any, *, decreasing: bool) -> np.ndarray:
    rows = x.reshape(-1, x.shape[-1]).astype(np.float64)
    found = [np.repeat(np.arange(len(c), dtype=np.int32), c) for c in (_pooled(row, decreasing) for row in rows)]
    return np.array(found, np.int32).reshape(x.shape)


def _segments_abstract(x: Aval, *, decreasing: bool) -> Aval:
    check_dtype("isotonic_regression", "inputs", x, REAL)
    if x.shape is not None and not x.shape:
        raise ShapeError("isotonic_regression: argument `inputs` must have rank 1 or more, got a scalar")
    return Aval(x.shape, int32)


isotonic_segments_op = nondifferentiable(
    "isotonic_segments_op",
    _segments_kernel,
    abstract=_segments_abstract,
    batch=leading(1),
    strict=False,
    type="IsotonicRegression",
    args=("inputs",),
    doc="For each element of each row, the segment on which the nearest monotonic sequence is constant.",
)


@operands("inputs")
def isotonic_regression(inputs: Any, decreasing: bool = True, axis: int = -1) -> tuple[Operand, Operand]:
    """The monotonic sequences of the least squared distance from given ones.

    Parameters
    ----------
    inputs : real value, shape (..., n, ...)
    decreasing : bool
        Whether the result falls, or else rises.
    axis : int

    Returns
    -------
    output : value
        Of the shape of `inputs`; integers become floats, int32 becomes float64. The derivative of a segment's mean goes
        to its elements in equal parts.
    segments : int32 value
        The segments on which `output` is constant, counted from 0.

    Examples
    --------
    >>> [v.tolist() for v in isotonic_regression(np.array([3.0, 1.0, 2.0, 0.0]))]
    [[3.0, 1.5, 1.5, 0.0], [0, 1, 1, 2]]
    """
    rank = len(shape_of_rank("isotonic_regression", "inputs", inputs, 1))
    at = normalize_axis("isotonic_regression", axis, rank)
    kind = dtype_of(inputs)
    values = inputs if kind.is_floating else cast(inputs, {int8: float16, int16: float32}.get(kind, float64))
    order = [*[i for i in range(rank) if i != at], at]
    last = transpose(values, order)
    segments = isotonic_segments_op(last, decreasing=bool(decreasing))
    size = shape_of_value(last)
    rows = reshape(segments, [-1, size[-1]])
    count = shape_of_value(rows)[0]
    ids = reshape(rows + expand_dims(range_(count), [1]) * size[-1], [-1])
    means = unsorted_segment_mean(reshape(last, [-1]), ids, count * size[-1])
    back = [order.index(i) for i in range(rank)]
    return transpose(reshape(gather(means, ids), size), back), transpose(segments, back)
