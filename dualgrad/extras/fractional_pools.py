"""Fractional pooling, and operations on images that are taken apart into blocks.

B. Graham, "Fractional max-pooling", 2014: windows are so drawn that their number along an axis is any fraction of the
size. The draws are those of the front end; where windows begin is no function of anything, so nothing is differentiated
through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.arguments import as_ints
from engine.core.trace import constant_value
from engine.core.value import shape_of_rank
from engine.runtime.errors import InvalidArgumentError, NotKnownYet


def _starts(tf: Any, size: int, count: int, pseudo_random: bool, seed: int | None) -> Any:
    """Where windows begin, and the end of the last one: ``count + 1`` numbers from 0 to `size`."""
    step = size // count
    if pseudo_random:
        alpha = size / count
        highest = min((step + 2) / alpha - 1, (size + 1 - step) / alpha - (count - 1))
        drawn = tf.random.uniform([], dtype=tf.float64, seed=seed) * highest
        inner = tf.cast(tf.math.ceil(alpha * (tf.range(1.0, count, dtype=tf.float64) + drawn)), tf.int64) - 1
        zero, end = tf.zeros([1], tf.int64), tf.fill([1], tf.constant(size, tf.int64))
        return tf.concat([zero, inner, end], 0)
    longer = size % count
    widths = tf.random.shuffle(tf.constant([step + 1] * longer + [step] * (count - longer), tf.int64), seed=seed)
    return tf.concat([tf.zeros([1], tf.int64), tf.cumsum(widths)], 0)


def _windows(tf: Any, x: Any, starts: Any, axis: int, size: int, longest: int, overlapping: bool) -> tuple[Any, Any]:
    """Elements along an axis as two, of windows and of places in each; which places lie in their window."""
    at = starts[:-1, None] + tf.range(tf.constant(longest, tf.int64))
    ends = starts[1:, None] + (1 if overlapping else 0)
    inside = tf.logical_and(at < ends, at < size)
    return tf.gather(x, tf.minimum(at, size - 1), axis=axis), inside


def _fractional(
    tf: Any, name: str, value: Any, pooling_ratio: Any, pseudo_random: bool, overlapping: bool, seed: Any
) -> tuple[Any, Any, Any, Any]:
    """Elements by window (``[batch, rows, columns, channels, places]``), which ones count, where windows begin."""
    value = tf.convert_to_tensor(value)
    shape = shape_of_rank(name, "value", value, 4)
    ratios = [float(r) for r in (pooling_ratio if isinstance(pooling_ratio, (list, tuple)) else [pooling_ratio])]
    ratios = {1: [1.0, *ratios, *ratios, 1.0], 2: [1.0, *ratios, 1.0]}.get(len(ratios), ratios)
    if len(ratios) != 4 or min(ratios) < 1 or ratios[0] != 1 or ratios[3] != 1:
        raise InvalidArgumentError(
            f"{name}: argument `pooling_ratio` must hold numbers of at least 1, those of batch and channels 1, got "
            f"{pooling_ratio}"
        )
    if None in shape[1:3]:
        raise NotKnownYet(f"{name}: height and width of `value` must be known, got shape {shape}")
    sizes = [int(size or 0) for size in shape[1:3]]
    counts = [int(size / ratio) for size, ratio in zip(sizes, ratios[1:3], strict=True)]
    if min(counts) < 1:
        raise InvalidArgumentError(f"{name}: argument `pooling_ratio` leaves no window: {pooling_ratio} of {sizes}")
    starts = [_starts(tf, s, c, pseudo_random, seed or None) for s, c in zip(sizes, counts, strict=True)]
    longest = [size // count + 1 + overlapping for size, count in zip(sizes, counts, strict=True)]
    x, rows = _windows(tf, value, starts[0], 1, sizes[0], longest[0], overlapping)
    x, columns = _windows(tf, x, starts[1], 3, sizes[1], longest[1], overlapping)
    batch, channels = tf.shape(value)[0], tf.shape(value)[3]
    # from [batch, rows, place, columns, place, channels]
    by_window = tf.transpose(x, [0, 1, 3, 5, 2, 4])
    inside = tf.logical_and(rows[:, None, :, None], columns[None, :, None, :])
    places = longest[0] * longest[1]
    flat = tf.reshape(by_window, [batch, counts[0], counts[1], channels, places])
    return flat, tf.reshape(inside, [1, counts[0], counts[1], 1, places]), starts[0], starts[1]


def _max(tf: Any, name: str, *given: Any) -> tuple[Any, Any, Any]:
    x, inside, rows, columns = _fractional(tf, name, *given)
    counted = tf.where(tf.broadcast_to(inside, tf.shape(x)), x, tf.fill(tf.shape(x), tf.constant(x.dtype.min, x.dtype)))
    # as in TensorFlow the first of several equal ones has the derivative
    largest = tf.gather(counted, tf.argmax(counted, -1)[..., None], axis=4, batch_dims=4)[..., 0]
    return largest, rows, columns


def _avg(tf: Any, name: str, *given: Any) -> tuple[Any, Any, Any]:
    x, inside, rows, columns = _fractional(tf, name, *given)
    counted = tf.where(tf.broadcast_to(inside, tf.shape(x)), x, tf.zeros_like(x))
    return tf.reduce_sum(counted, -1) / tf.reduce_sum(tf.cast(inside, x.dtype), -1), rows, columns


def fractional_max_pool(
    tf: Any, value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False, seed: Any = 0,
    name: str | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The largest elements of windows that are drawn.

    Parameters
    ----------
    value : tensor, shape (batch, height, width, channels)
    pooling_ratio : float or sequence of float
        How many elements there are for each window along height and width, 1 or more; of four numbers the outer ones
        are 1.
    pseudo_random : bool
        Whether windows of one and two elements follow each other evenly, or in an order that is shuffled.
    overlapping : bool
        Whether each window has the first element of the next one, too.
    seed : int
        0 for other windows each time.

    Returns
    -------
    output : tensor, shape (batch, rows, columns, channels)
    row_pooling_sequence, col_pooling_sequence : int64 tensor
        Where windows begin; last, where they end.

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.reshape(tf.range(25.0), [1, 5, 5, 1])
    >>> y, rows, columns = tf.nn.fractional_max_pool(x, 1.5, pseudo_random=True, seed=3)
    >>> y.shape, rows.shape
    (TensorShape([1, 3, 3, 1]), TensorShape([4]))
    """
    return _max(tf, "fractional_max_pool", value, pooling_ratio, pseudo_random, overlapping, seed)


def fractional_avg_pool(
    tf: Any, value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False, seed: Any = 0,
    name: str | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The means of windows that are drawn; parameters and results as those of `fractional_max_pool`."""
    return _avg(tf, "fractional_avg_pool", value, pooling_ratio, pseudo_random, overlapping, seed)


def old_fractional_max_pool(
    tf: Any, value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
    deterministic: bool = False, seed: Any = 0, seed2: Any = 0, name: str | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """`fractional_max_pool` with TensorFlow 1's arguments."""
    return _max(tf, "fractional_max_pool", value, pooling_ratio, pseudo_random, overlapping, seed or seed2)


def old_fractional_avg_pool(
    tf: Any, value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
    deterministic: bool = False, seed: Any = 0, seed2: Any = 0, name: str | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """`fractional_avg_pool` with TensorFlow 1's arguments."""
    return _avg(tf, "fractional_avg_pool", value, pooling_ratio, pseudo_random, overlapping, seed or seed2)


# ---- blocks ----------------------------------------------------------------------------------------------------------


def required_space_to_batch_paddings(
    tf: Any, input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Paddings for `space_to_batch`, so that blocks fit, and crops for `batch_to_space`.

    Returns
    -------
    paddings, crops : int32 tensor, shape (number of axes, 2)

    Examples
    --------
    >>> import tape_api as tf
    >>> [t.numpy().tolist() for t in tf.required_space_to_batch_paddings([5], [2])]
    [[[0, 1]], [[0, 1]]]
    """
    given = [input_shape, block_shape, np.zeros([1, 2], np.int32) if base_paddings is None else base_paddings]
    given = [tf.cast(tf.convert_to_tensor(x), tf.int32) for x in given]
    known = [constant_value(x) for x in given]
    if None in [None if x is None else 0 for x in known]:
        size, block, base = given
        before, behind = base[:, 0], base[:, 1]
        extra = tf.math.floormod(block - tf.math.floormod(size + before + behind, block), block)
        zero = tf.zeros_like(extra)
        return tf.stack([before + zero, behind + extra], 1), tf.stack([zero, extra], 1)
    paddings, crops = _paddings(*known)
    return tf.constant(paddings), tf.constant(crops)


def _paddings(size: Any, block: Any, base: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same of arrays."""
    size, block, base = (np.asarray(x, np.int32) for x in (size, block, base))
    extra = (-(size + base[:, 0] + base[:, 1]) % block).astype(np.int32)
    return base + np.stack([0 * extra, extra], 1), np.stack([0 * extra, extra], 1)


def with_space_to_batch(
    tf: Any, input: Any, dilation_rate: Any, padding: str, op: Callable[[Any, Any, str], Any],
    filter_shape: Any = None, spatial_dims: Sequence[int] | None = None, data_format: str | None = None,
) -> Any:  # fmt: skip
    """`op` on blocks of its input, so that its windows reach over gaps of ``dilation_rate - 1`` elements.

    Parameters
    ----------
    input : tensor
    dilation_rate : sequence of int
        One for each axis that is divided.
    padding : str
        ``"VALID"`` or ``"SAME"``; for the latter `filter_shape` is needed.
    op : callable
        ``op(blocks, number of axes, padding)`` returns a tensor.
    filter_shape : sequence of int, optional
    spatial_dims : sequence of int, optional
        Which axes are divided, by default those behind the first.
    data_format : str, optional
        One that begins with "NC" has the channels before the axes.
    """
    x, rates = tf.convert_to_tensor(input), as_ints("with_space_to_batch", "dilation_rate", list(dilation_rate), 1)
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    axes = list(spatial_dims) if spatial_dims is not None else list(range(first, first + len(rates)))
    if axes != sorted(set(axes)) or min(axes) < 1 or len(axes) != len(rates):
        raise ValueError(
            f"with_space_to_batch: `spatial_dims` must be rising, of at least 1, one per rate, got {spatial_dims}"
        )
    if set(rates) == {1}:
        return op(x, len(rates), padding)
    base: Any = [[0, 0]] * len(rates)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("with_space_to_batch: `filter_shape` must be given for padding 'SAME'")
        taps = as_ints("with_space_to_batch", "filter_shape", list(filter_shape))[: len(rates)]
        widths = [(tap - 1) * rate for tap, rate in zip(taps, rates, strict=True)]
        base = [[width // 2, width - width // 2] for width in widths]
    elif padding != "VALID":
        raise ValueError(f"with_space_to_batch: `padding` must be 'SAME' or 'VALID', got {padding!r}")
    shape = shape_of_rank("with_space_to_batch", "input", x, max(axes) + 1)
    sizes = [shape[axis] for axis in axes]
    if None in sizes:
        raise NotKnownYet(f"with_space_to_batch: the axes {axes} of `input` must be known, got shape {shape}")
    paddings, crops = _paddings(sizes, rates, base)
    divided = range(1, max(axes) + 1)
    blocks = [rates[axes.index(axis)] if axis in axes else 1 for axis in divided]

    def spread(rows: np.ndarray) -> list[list[int]]:
        return [rows[axes.index(axis)].tolist() if axis in axes else [0, 0] for axis in divided]

    apart = tf.space_to_batch_nd(x, blocks, spread(paddings))
    return tf.compat.v1.batch_to_space_nd(op(apart, len(rates), "VALID"), blocks, spread(crops))
