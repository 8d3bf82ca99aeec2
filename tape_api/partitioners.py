"""How many parts a variable would be split into: ``distribute.experimental.partitioners``."""

from __future__ import annotations

from typing import Any

from engine.core.dtypes import as_dtype, string
from engine.core.tensor_shape import TensorShape
from engine.runtime.faces import Shown


def _along(shape: Any, axis: int, parts: int) -> list[int]:
    found = [1] * len(TensorShape(shape).as_list())
    found[axis] = parts
    return found


def _known(shape: Any) -> list[int]:
    dims = TensorShape(shape).as_list()
    if any(d is None for d in dims):
        raise ValueError(f"the shape of a variable that is split must be known, got {dims}")
    return [int(d) for d in dims if d is not None]


class Partitioner(Shown):
    """Base of the partitioners: called with a shape and a dtype, they give the number of parts along each axis."""

    def __call__(self, shape: Any, dtype: Any, axis: int = 0) -> list[int]:
        """The number of parts along each axis."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")


class FixedShardsPartitioner(Partitioner):
    """A given number of parts, or as many as there are rows.

    Examples
    --------
    >>> FixedShardsPartitioner(2)((10, 3), "float32")
    [2, 1]
    """

    def __init__(self, num_shards: int) -> None:
        self._num_shards = num_shards

    def __call__(self, shape: Any, dtype: Any, axis: int = 0) -> list[int]:
        """The number of parts along each axis."""
        return _along(shape, axis, min(self._num_shards, _known(shape)[axis]))


class MinSizePartitioner(Partitioner):
    """As many parts as there may be, none of them smaller than a number of bytes.

    Parameters
    ----------
    min_shard_bytes, max_shards, bytes_per_string : int
        At least 1.

    Raises
    ------
    ValueError
        If one of them is not.
    """

    def __init__(self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16) -> None:
        given = {"min_shard_bytes": min_shard_bytes, "max_shards": max_shards, "bytes_per_string": bytes_per_string}
        for name, value in given.items():
            if value < 1:
                raise ValueError(f"Argument `{name}` must be positive. Received: {value}")
        self._min, self._max, self._string = min_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape: Any, dtype: Any, axis: int = 0) -> list[int]:
        """The number of parts along each axis."""
        dims = _known(shape)
        whole = _bytes(dims, dtype, self._string)
        return _along(shape, axis, max(1, min(whole // self._min, self._max, dims[axis])))


class MaxSizePartitioner(Partitioner):
    """As few parts as there may be, none of them larger than a number of bytes.

    Parameters
    ----------
    max_shard_bytes : int
    max_shards : int, optional
        At most so many, even if they are larger then.
    bytes_per_string : int

    Raises
    ------
    ValueError
        If one of them is less than 1.
    """

    def __init__(self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16) -> None:
        given = {"max_shard_bytes": max_shard_bytes, "max_shards": max_shards, "bytes_per_string": bytes_per_string}
        for name, value in given.items():
            if value is not None and value < 1:
                raise ValueError(f"Argument `{name}` must be positive. Received: {value}")
        self._bytes, self._max, self._string = max_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape: Any, dtype: Any, axis: int = 0) -> list[int]:
        """The number of parts along each axis."""
        dims = _known(shape)
        row = _bytes(dims, dtype, self._string) // max(dims[axis], 1)
        rows = max(1, self._bytes // max(row, 1))
        parts = -(-dims[axis] // rows)
        return _along(shape, axis, min(parts, dims[axis], *([] if self._max is None else [self._max])))


def _bytes(dims: list[int], dtype: Any, of_string: int) -> int:
    size = of_string if as_dtype(dtype) is string else as_dtype(dtype).size
    for d in dims:
        size *= d
    return size


__all__ = ["FixedShardsPartitioner", "MaxSizePartitioner", "MinSizePartitioner", "Partitioner"]
