"""Variables in parts: ``get_variable(partitioner=...)``, and the partitioners.

Each part is a variable of its own (``name/part_0``), which optimizers train and savers save; together they are used as
one tensor, joined along the axis that was split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import Shape, format_shape, is_known, normalize_shape
from engine.core.dtypes import DType, as_dtype, string
from engine.core.value import Value
from engine.ops.joining import concat
from engine.ops.shape import identity
from engine.runtime.errors import ShapeError
from graph_api.graph import get_default_graph
from graph_api.tensor import OVERLOADABLE_OPERATORS, GraphShape, Tensor
from graph_api.variable import Variable

Partitioner = Callable[..., Any]


def _known(shape: Any) -> list[int]:
    """The dimensions of a shape, all of which must be known."""
    dims = [d for d in GraphShape(shape).as_list() if d is not None]
    if len(dims) != GraphShape(shape).ndims:
        raise ValueError(f"shape is not fully defined: {GraphShape(shape)}")
    return dims


class PartitionInfo(NamedTuple):
    """The place of the part that an initializer makes: the whole's shape, and where the part begins."""

    full_shape: list[int]
    var_offset: list[int]


class PartitionedVariable:
    """Several variables that are used as one: rows (or columns, and so on) of one tensor.

    Attributes
    ----------
    name : str
    dtype : DType
    partitions : list of int
        How many parts there are along each axis; one of them alone may be more than 1.
    """

    def __init__(self, name: str, parts: Sequence[Variable], partitions: Sequence[int]) -> None:
        self.name, self.partitions, self._parts = name, list(partitions), list(parts)
        self.dtype = self._parts[0].dtype
        self._axis = next((i for i, n in enumerate(self.partitions) if n > 1), 0)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def in_parts(self) -> list[Variable]:
        """The parts, for functions that take a value in parts."""
        return list(self._parts)

    @property
    def shape(self) -> GraphShape:
        """The shape of the whole."""
        dims = _known(self._parts[0].shape)
        dims[self._axis] = sum(_known(part.shape)[self._axis] for part in self._parts)
        return GraphShape(dims)

    def get_shape(self) -> GraphShape:
        """The shape of the whole."""
        return self.shape

    def as_tensor(self) -> Tensor:
        """The whole."""
        graph = get_default_graph()
        with graph.name_scope(None), graph.name_scope(f"{self.name}/ConcatPartitions/"):
            parts = [part.read_value() for part in self._parts]
            return graph.operand(concat(parts, self._axis) if len(parts) > 1 else identity(parts[0]))

    as_value = as_tensor

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None) -> list[Tensor]:
        """Assignments to the parts, of a whole value or of a list of parts."""
        return self._each("assign", value)

    def assign_add(self, value: Any, use_locking: bool = False, name: str | None = None) -> list[Tensor]:
        """Additions to the parts."""
        return self._each("assign_add", value)

    def assign_sub(self, value: Any, use_locking: bool = False, name: str | None = None) -> list[Tensor]:
        """Subtractions from the parts."""
        return self._each("assign_sub", value)

    def _each(self, method: str, value: Any) -> list[Tensor]:
        pieces = [*value] if isinstance(value, (list, tuple, PartitionedVariable)) else self._split(value)
        if len(pieces) != len(self._parts):
            raise ShapeError(f"{method}: {self.name!r} has {len(self._parts)} parts, got {len(pieces)}")
        return [getattr(part, method)(piece) for part, piece in zip(self._parts, pieces, strict=True)]

    def _split(self, value: Any) -> list[Any]:
        found, begin = [], 0
        for part in self._parts:
            end = begin + _known(part.shape)[self._axis]
            found.append(value[(slice(None),) * self._axis + (slice(begin, end),)])
            begin = end
        return found

    def __repr__(self) -> str:
        described = f"shape={self.shape} dtype={self.dtype.name} partitions={self.partitions}"
        return f"<PartitionedVariable {self.name!r} {described}>"


def _forwarded(name: str) -> Callable[..., Any]:
    return lambda self, *others: getattr(self.as_tensor(), name)(*others)


for _name in OVERLOADABLE_OPERATORS:
    setattr(PartitionedVariable, _name, _forwarded(_name))


def in_parts(
    name: str, shape: Any, dtype: DType, initializer: Any, partitioner: Partitioner, make: Callable[..., Variable]
) -> PartitionedVariable:
    """The variable of that name in the parts that a partitioner asks for; ``make(name, shape, initializer)`` gives one.

    Raises
    ------
    ValueError
        If the shape is not known, or the partitioner returns anything but one number for each axis, one of which alone
        is more than 1.
    """
    is_value = initializer is not None and not (callable(initializer) and not isinstance(initializer, Value))
    whole = normalize_shape(initializer.shape if is_value and hasattr(initializer, "shape") else shape)
    if is_value and not isinstance(initializer, Value):
        initializer = np.asarray(initializer)
        whole = initializer.shape
    if whole is None or not is_known(whole):
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}."
        )
    if not whole:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {format_shape(whole)}")
    counts = _counts(partitioner, whole, dtype)
    axis = next((i for i, n in enumerate(counts) if n > 1), 0)
    parts, begin = [], 0
    for i in range(counts[axis]):
        size = whole[axis] // counts[axis] + (i < whole[axis] % counts[axis])
        cut: Any = initializer
        if is_value:
            cut = initializer[(slice(None),) * axis + (slice(begin, begin + size),)]
        elif initializer is not None:
            offset = [begin if k == axis else 0 for k in range(len(whole))]
            cut = _part_of(initializer, PartitionInfo(list(whole), offset))
        parts.append(make(f"{name}/part_{i}", None if is_value else (*whole[:axis], size, *whole[axis + 1 :]), cut))
        begin += size
    return PartitionedVariable(name, parts, counts)


def _counts(partitioner: Partitioner, shape: Shape, dtype: DType) -> list[int]:
    """How many parts a partitioner wants along each axis."""
    found = partitioner(shape=GraphShape(shape), dtype=dtype)
    if not isinstance(found, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {found!r}")
    if len(found) != len(shape or ()):
        raise ValueError(f"Partitioner returned a partition list that does not match shape: {found} vs. {shape}")
    counts = [int(n) for n in found]
    if min(counts) < 1:
        raise ValueError(f"Partitioner returned zero partitions for some axes: {found}")
    if sum(n > 1 for n in counts) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {found}")
    return counts


def _part_of(initializer: Any, info: PartitionInfo) -> Callable[..., Any]:
    """The initializer of one part; one that asks for it is told which."""
    made = initializer() if isinstance(initializer, type) else initializer
    code = getattr(made, "__code__", None) or getattr(type(made).__call__, "__code__", None)
    asks = code is not None and "partition_info" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return lambda shape, dtype: made(shape, dtype=dtype, **({"partition_info": info} if asks else {}))


# ---- partitioners ----------------------------------------------------------------------------------------------------


def _along(shape: Any, axis: int, count: int) -> list[int]:
    dims = _known(shape)
    return [max(1, min(count, n)) if i == axis % len(dims) else 1 for i, n in enumerate(dims)]


def _bytes(shape: Any, dtype: Any, of_a_string: int) -> tuple[int, int]:
    """How many elements there are, and how many bytes one of them has."""
    size = of_a_string if as_dtype(dtype) is string else as_dtype(dtype).size
    return math.prod(_known(shape)), size


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that asks for a number of parts along an axis, or for as many as there are rows.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    >>> [part.name for part in v], [part.shape.as_list() for part in v], v.shape.as_list()
    (['v/part_0:0', 'v/part_1:0'], [[3, 2], [2, 2]], [5, 2])
    """
    return lambda shape, **_: _along(shape, axis, num_shards)


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner that asks for as few parts as have no more than `max_shard_bytes` each, and at most `max_shards`.

    Raises
    ------
    ValueError
        If a number is below 1.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(f"max_shard_bytes and bytes_per_string_element must be positive, got {max_shard_bytes}")
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        count, size = _bytes(shape, dtype, bytes_per_string_element)
        rows = _known(shape)[axis]
        row = count // max(rows, 1) * size
        each = max(1, max_shard_bytes // max(row, 1))
        wanted = math.ceil(rows / each)
        return _along(shape, axis, wanted if max_shards is None else min(wanted, max_shards))

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """A partitioner that asks for as many parts, at most `max_partitions`, as have `min_slice_size` bytes or more."""

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        count, size = _bytes(shape, dtype, bytes_per_string_element)
        return _along(shape, axis, max(1, min(max_partitions, math.ceil(count * size / min_slice_size))))

    return partitioner
