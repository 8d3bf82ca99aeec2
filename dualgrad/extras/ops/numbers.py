"""Functions of numbers that TensorFlow has names for: quotients without NaN, order, positions, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import as_dtype, int32
from engine.core.operands import Operand, operands
from engine.core.value import shape_of_rank
from engine.ops.arithmetic import floor, floordiv, maximum, minimum, mod
from engine.ops.checked import checked_op
from engine.ops.compare import cast
from engine.ops.creation import ones_like
from engine.ops.joining import stack
from engine.ops.segment import unsorted_segment_sum
from engine.ops.shape import reshape
from engine.runtime.errors import InvalidArgumentError


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


def _require_bins(ends: Any, count: Any) -> None:
    if not ends[0] < ends[1]:
        raise InvalidArgumentError(
            f"histogram_fixed_width: argument `value_range` should satisfy value_range[0] < value_range[1], got {ends}"
        )
    if count <= 0:
        raise InvalidArgumentError(f"histogram_fixed_width: argument `nbins` must be > 0, got {count}")


@operands("values", "value_range")
def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32) -> Operand:
    """The number of the bin, of equal bins in a range, in which each value lies; the outer bins take what is outside.

    Examples
    --------
    >>> histogram_fixed_width_bins(np.array([-1.0, 0.0, 1.5, 2.0, 5.0]), np.array([0.0, 5.0]), nbins=5)
    array([0, 0, 1, 2, 4], dtype=int32)
    """
    bins = nbins if hasattr(nbins, "dtype") else np.int32(nbins)
    value_range = checked_op(cast(value_range, "float64"), value_range, bins, check=_require_bins)
    low, high, count = value_range[0], value_range[1], cast(bins, "float64")
    scaled = floor(count * (cast(values, "float64") - low) / (high - low))
    return cast(minimum(maximum(scaled, np.float64(0)), count - np.float64(1)), as_dtype(dtype))


@operands("values", "value_range")
def histogram_fixed_width(values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32) -> Operand:
    """How many values lie in each of equal bins in a range; the outer bins take what is outside.

    Examples
    --------
    >>> histogram_fixed_width(np.array([-1.0, 0.0, 1.5, 2.0, 5.0]), np.array([0.0, 5.0]), nbins=5)
    array([2, 1, 1, 0, 1], dtype=int32)
    """
    bins = reshape(histogram_fixed_width_bins(values, value_range, nbins), [-1])
    return unsorted_segment_sum(cast(ones_like(bins), as_dtype(dtype)), bins, nbins)
