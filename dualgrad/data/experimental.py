"""``tf.data.experimental``: what was tried out there first, and functions for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.data.combining import Sized
from dualgrad.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Options
from engine.core.operands import Operand

Change = Callable[[Any], Any]


def cardinality(dataset: Any) -> Operand:
    """The number of elements; see `Dataset.cardinality`.

    Parameters
    ----------
    dataset : Dataset
    """
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: int) -> Change:
    """Says how many elements there are, which is checked."""
    return lambda dataset: dataset._then(Sized(dataset._stage, int(expected_cardinality)))


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Change:
    """`map`, then `batch`.

    Parameters
    ----------
    map_func : callable
    batch_size : int
    num_parallel_batches, num_parallel_calls
        Have no effect.
    drop_remainder : bool
    """
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Change:
    """`shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Change:
    """`interleave`, in the order that is the same each time."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def batch_and_drop_remainder(batch_size: Any) -> Change:
    """`batch` without what is left over."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def ignore_errors() -> Change:
    """`ignore_errors`."""
    return lambda dataset: dataset.ignore_errors()


def unbatch() -> Change:
    """`unbatch`."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: int = 0) -> Change:
    """`enumerate`."""
    return lambda dataset: dataset.enumerate(start)


__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Options", "assert_cardinality",
    "batch_and_drop_remainder", "cardinality", "enumerate_dataset", "ignore_errors", "map_and_batch",
    "parallel_interleave", "shuffle_and_repeat", "unbatch",
]  # fmt: skip
