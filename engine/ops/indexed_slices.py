"""`IndexedSlices`: a gradient that is zero but for some rows.

The cotangent of a gather has one row per index. Where such a cotangent goes straight to a source, it stays in that
form: rows, and where they belong. Contributions of several gathers are put one after the other; repeated indices add up
when somebody asks for the whole (`dense`), in the order in which they stand. Everything that takes a tensor takes an
`IndexedSlices` and makes it dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import is_known
from engine.core.composite import OfValues
from engine.core.dtypes import int32, int64
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value, dtype_of, known_shape, shape_of
from engine.core.variable import Variable
from engine.ops.arithmetic import negative
from engine.ops.compare import cast
from engine.ops.filling import zeros
from engine.ops.gather import gather_back_op
from engine.ops.joining import concat
from engine.ops.segment import unsorted_segment_prod, unsorted_segment_sum
from engine.ops.shape import reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.shape import size as size_of_value
from engine.ops.sorting import unique


class IndexedSlicesValue(NamedTuple):
    """The value that a session returns for an `IndexedSlices`."""

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices(OfValues):
    """Rows of a tensor that is zero elsewhere.

    Parameters
    ----------
    values : value, shape (n, ...)
    indices : integer value, shape (n,)
        Row i of `values` belongs to row ``indices[i]``. Repeated indices add up.
    dense_shape : shape or integer vector, optional
        Of the whole tensor.
    like : value, optional
        A value of the whole tensor's shape, in place of `dense_shape`.
    """

    __slots__ = ("_dense_shape", "_is_summed", "_like", "indices", "values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None, like: Any = None) -> None:
        self.values = values
        self.indices = indices
        self._like = zeros(dense_shape, dtype_of(values)) if like is None and dense_shape is not None else like
        self._dense_shape: Any = dense_shape if isinstance(dense_shape, Value) else None
        self._is_summed = False

    @classmethod
    def flat(cls, values: Any, indices: Any, *, like: Any) -> IndexedSlices | None:
        """The same from indices of any rank; None if the shapes are not known well enough to flatten them."""
        rank, inner = shape_of(indices), shape_of(like)
        if isinstance(like, (EagerTensor, np.ndarray)):
            like = stand_in(like)
        if rank is not None and len(rank) == 1:
            return cls(values, indices, like=like)
        if inner is None or None in inner[1:]:
            return None
        # where a row has no elements, their number does not tell how many rows there are
        count = math.prod(rank) if is_known(rank) else -1
        return cls(reshape(values, (count, *inner[1:])), reshape(indices, (count,)), like=like)

    @property
    def dense_shape(self) -> Operand | None:
        """Shape of the whole tensor, as an integer vector; None if it is not known."""
        if self._dense_shape is None and self._like is not None:
            # kept: each run of a session that fetches it must find the same node
            self._dense_shape = shape_of_value(self._like)
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """Static shape of the whole tensor."""
        return TensorShape(None if self._like is None else shape_of(self._like))

    def dense(self) -> Operand:
        """The whole tensor.

        Raises
        ------
        ValueError
            If its shape is not known.
        """
        if self._like is None:
            raise ValueError("IndexedSlices: `dense_shape` must be known to make it dense")
        return gather_back_op(self.values, self._like, self.indices, axis=0, batch_dims=0)

    as_value = dense

    def __neg__(self) -> IndexedSlices:
        return self.with_values(negative(self.values))

    def plus(self, other: IndexedSlices) -> IndexedSlices:
        """The sum, as the rows of both one after the other."""
        a, b = self.indices, other.indices
        if dtype_of(a) is not dtype_of(b):
            a, b = cast(a, int64), cast(b, int64)
        return IndexedSlices(concat([self.values, other.values], 0), concat([a, b], 0), like=self._like)

    def summed(self) -> IndexedSlices:
        """The same with distinct indices: each row is the sum of the rows that had its index, in their order."""
        return self if self._is_summed else self._joined(unsorted_segment_sum)

    def multiplied(self) -> IndexedSlices:
        """The same with distinct indices: each row is the product of the rows that had its index."""
        return self._joined(unsorted_segment_prod)

    def _joined(self, join: Callable[..., Any]) -> IndexedSlices:
        indices, positions = unique(self.indices)
        values = join(self.values, positions, size_of_value(indices, int32))
        joined = IndexedSlices(values, indices, like=self._like)
        joined._is_summed = True
        return joined

    def with_values(self, values: Any, like: Any = None) -> IndexedSlices:
        """Other rows at the same indices, of a tensor of the same shape or of that of another value."""
        slices = IndexedSlices(values, self.indices, like=self._like if like is None else like)
        slices._is_summed = self._is_summed
        return slices

    def map(self, function: Any) -> IndexedSlices:
        """`function` applied to rows, indices and reference."""
        return IndexedSlices(function(self.values), function(self.indices), like=function(self._like))

    def components(self) -> list[Any]:
        """Rows, indices, and the shape of the whole (None if it is not known)."""
        return [self.values, self.indices, self.dense_shape]

    def rebuilt(self, components: Sequence[Any]) -> IndexedSlicesValue:
        """The value that a session returns for it."""
        return IndexedSlicesValue(*components)

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self.values!r}, indices={self.indices!r}, shape={self.shape})"


def stand_in(x: Any) -> np.ndarray:
    """Zeros of the shape and dtype of an eager value or array that take no memory, and keep nothing alive."""
    x = x.read_value() if isinstance(x, Variable) else x
    return np.broadcast_to(dtype_of(x).numpy.type(0), known_shape(x, "stand_in"))
