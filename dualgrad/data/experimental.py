"""``tf.data.experimental``: what was tried out there first, and functions for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualgrad.data.combining import Sized
from dualgrad.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Options
from engine.core.operands import Operand

Change = Callable[[Any], Any]


def cardinality(dataset: Any) -> Operand:
    """The number of elements; see `Dataset.cardinality`."""
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
    """`map`, then `batch`."""
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Change:
    """`shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def unbatch() -> Change:
    """`unbatch`."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: int = 0) -> Change:
    """`enumerate`."""
    return lambda dataset: dataset.enumerate(start)


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Options",
    "assert_cardinality",
    "cardinality",
    "enumerate_dataset",
    "map_and_batch",
    "shuffle_and_repeat",
    "unbatch",
]
