"""Batch normalization as TensorFlow 1's kernels had it: with the statistics beside the result."""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import float16, float32
from engine.core.operands import Operand, operands
from engine.core.value import dtype_of, shape_of
from engine.ops.arithmetic import maximum
from engine.ops.compare import cast
from engine.ops.layers import batch_normalization
from engine.ops.reduce import reduce_mean
from engine.ops.shape import reshape
from engine.ops.shape import size as size_of_value
from engine.ops.stats import reduce_variance
from engine.ops.windows import is_channels_first
from engine.runtime.errors import InvalidArgumentError

SMALLEST_EPSILON = 1.001e-5
"""Least number that `fused_batch_norm` adds to variances: cuDNN wants it, so all of TensorFlow's kernels add it."""


@operands("x", alone=("scale", "offset", "mean", "variance"))
def fused_batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any = None, variance: Any = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, exponential_avg_factor: float = 1.0,
) -> tuple[Operand, Operand, Operand]:  # fmt: skip
    """Images normalized channel by channel, and the statistics that a program keeps.

    Parameters
    ----------
    x : value, shape (batch, height, width, channels)
        Or with one axis more, or with the channels second. Half floats are computed in single precision.
    scale, offset : value, shape (channels,)
    mean, variance : value, shape (channels,), optional
        The statistics to normalize by, unless `is_training`; then what is averaged with those of the batch, if
        `exponential_avg_factor` is not 1.
    epsilon : float
        Added to the variance; at least 1.001e-5.
    data_format : str
    is_training : bool
    exponential_avg_factor : float
        The share of the batch in the statistics that are returned.

    Returns
    -------
    y, mean, variance : value
        `variance` is that of a sample (divided by the number of elements less 1).

    Examples
    --------
    >>> import numpy as np
    >>> x, one = np.array([1.0, 3.0]).reshape(2, 1, 1, 1), np.ones(1)
    >>> [v.ravel().tolist() for v in fused_batch_norm(x, one, one - 1, epsilon=3.0)]
    [[-0.5, 0.5], [2.0], [2.0]]
    """
    rank = len(shape_of(x) or (None,) * 4)
    first = is_channels_first("fused_batch_norm", data_format)
    axes = [i for i in range(rank) if i != (1 if first else rank - 1)]
    wide = cast(x, float32) if dtype_of(x) is float16 else x
    if is_training:
        center, spread = reduce_mean(wide, axes), reduce_variance(wide, axes)
    elif mean is None or variance is None:
        raise InvalidArgumentError("fused_batch_norm: `mean` and `variance` must be given unless `is_training`")
    else:
        center, spread = mean, variance
    fitting = [-1, *[1] * (rank - 2)] if first else [-1]
    fit = [reshape(v, fitting) for v in (center, spread, offset, scale)]
    y = cast(batch_normalization(wide, fit[0], fit[1], fit[2], fit[3], max(epsilon, SMALLEST_EPSILON)), dtype_of(x))
    if is_training:
        count = cast(size_of_value(wide), dtype_of(wide)) / cast(size_of_value(center), dtype_of(wide))
        spread = spread * (count / maximum(count - dtype_of(wide).as_numpy_dtype(1), dtype_of(wide).as_numpy_dtype(1)))
        if exponential_avg_factor != 1.0 and mean is not None and variance is not None:
            share = dtype_of(wide).as_numpy_dtype(exponential_avg_factor)
            center, spread = mean + (center - mean) * share, variance + (spread - variance) * share
    return y, center, spread
