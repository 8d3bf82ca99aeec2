"""Assigning to some rows of a variable: what updates by `IndexedSlices` and TensorFlow's ``scatter_*`` have in common.

Variables of either front end derive from `AssignsRows` and say in `assign_rows` how rows are replaced: at a cost that
depends on the rows alone, wherever nobody else holds the whole value. Everything else is computed on the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import add, mul, truediv
from typing import Any

from engine.core.aval import compatible
from engine.core.operands import Operand
from engine.core.tape import unrecorded
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable
from engine.ops.filling import range as range_
from engine.ops.gather import gather
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.joining import concat
from engine.ops.lift import as_operand
from engine.ops.scatter import (
    gather_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from engine.ops.shape import broadcast_to, expand_dims, reshape
from engine.ops.shape import shape as shape_of_value
from engine.ops.shape import size as size_of_value
from engine.ops.slicing import getitem
from engine.runtime.commit import exclusively
from engine.runtime.errors import DTypeError, ShapeError
from engine.runtime.public_names import methods_of, named


def rows_at(variable: Any, indices: Any, updates: Any) -> IndexedSlices:
    """Rows for a variable; `indices` may have any rank, with which the shape of `updates` starts. A number is for all.

    Updates must be of the variable's dtype, and one row per index.
    """
    name = f"scatter into variable {variable.name!r}"
    values = as_operand(updates, variable.dtype, f"{name}: argument `updates`")
    at = as_operand(indices, None, f"{name}: argument `indices`")
    if dtype_of(values) is not variable.dtype:
        raise DTypeError(f"{name}: `updates` must be {variable.dtype.name}, got {dtype_of(values).name}")
    if shape_of(values) == ():
        values = broadcast_to(values, concat([shape_of_value(at), shape_of_value(variable)[1:]], 0))
    rank, have, whole = shape_of(at), shape_of(values), shape_of(variable)
    if rank is not None and whole is not None and not compatible(have, rank + whole[1:]):
        raise ShapeError(f"{name}: `updates` must have shape {rank + whole[1:]}, got {have}")
    rows = IndexedSlices.flat(values, at, like=variable)
    if rows is None:
        raise ShapeError(f"{name}: the shapes of `indices` and of the variable must be known")
    return rows


def replaced(whole: Any, rows: IndexedSlices) -> Operand:
    """`whole` with other rows at some indices, as a value of its own."""
    return tensor_scatter_nd_update(whole, expand_dims(rows.indices, -1), rows.values)


def with_part(whole: Any, key: Any, value: Any) -> Operand:
    """`whole` with another value, broadcast, where ``whole[key]`` stands."""
    dims = shape_of_value(whole)
    places = reshape(range_(size_of_value(whole)), dims)[key]
    updates = reshape(broadcast_to(value, shape_of_value(places)), [-1])
    flat = tensor_scatter_nd_update(reshape(whole, [-1]), reshape(places, [-1, 1]), updates)
    return reshape(flat, dims)


@methods_of("Variable")
class AssignsRows(Variable):
    """A variable with TensorFlow's methods that change some of its rows or entries."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> AssignsRows:
        """A part of the value; ``variable[key].assign(...)`` changes it in the variable."""
        part: Any = getitem(self, key)
        if hasattr(part, "__dict__"):
            part.assign = functools.partial(self._assign_part, key)
        return part

    def _assign_part(self, key: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Operand:
        def changed() -> Operand:
            return with_part(self.read_value(), key, as_operand(value, self.dtype))

        return exclusively(self.locks, lambda: self.assign(unrecorded(changed), name=name))

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Operand:
        """Replace rows. Of repeated indices the last counts."""
        return self.assign_rows(sparse_delta, name or "ScatterUpdate")

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Add to rows. Repeated indices add up."""
        return exclusively(self.locks, self._rows_changed, add, sparse_delta, name or "ScatterAdd")

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Subtract from rows. Repeated indices add up."""
        return self.scatter_add(sparse_delta.with_values(-sparse_delta.values), name=name or "ScatterSub")

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Multiply rows. Of repeated indices all count."""
        return exclusively(self.locks, self._rows_changed, mul, sparse_delta, name or "ScatterMul")

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Divide rows, of a variable of floats. Of repeated indices all count."""
        if self.dtype.is_integer:
            raise DTypeError(
                f"scatter_div into variable {self.name!r}: integers are not divided, got {self.dtype.name}"
            )
        return exclusively(self.locks, self._rows_changed, truediv, sparse_delta, name or "ScatterDiv")

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Make rows the larger of themselves and the given ones."""
        return self._scattered(tensor_scatter_nd_max, expand_dims(sparse_delta.indices, -1), sparse_delta.values, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Operand:
        """Make rows the smaller of themselves and the given ones."""
        return self._scattered(tensor_scatter_nd_min, expand_dims(sparse_delta.indices, -1), sparse_delta.values, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Operand:
        """Replace the entries at index vectors; see `tensor_scatter_nd_update`."""
        return self._scattered(tensor_scatter_nd_update, indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Operand:
        """Add to the entries at index vectors."""
        return self._scattered(tensor_scatter_nd_add, indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Operand:
        """Subtract from the entries at index vectors."""
        return self._scattered(tensor_scatter_nd_sub, indices, updates, name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Operand:
        """The rows at `indices`."""
        return gather(self.read_value(), as_operand(indices))

    def gather_nd(self, indices: Any, name: str | None = None) -> Operand:
        """The entries at index vectors."""
        return gather_nd(self.read_value(), as_operand(indices))

    def _rows_changed(self, change: Callable[[Any, Any], Any], delta: IndexedSlices, name: str) -> Operand:
        """Replace rows by what an operator makes of them and `delta`."""

        def changed() -> IndexedSlices:
            distinct = delta.summed() if change is add else delta.multiplied()
            return distinct.with_values(change(self.sparse_read(distinct.indices), distinct.values))

        return self.assign_rows(unrecorded(changed), name)

    def _scattered(self, change: Any, indices: Any, updates: Any, name: str | None) -> Operand:
        def changed() -> Operand:
            return change(self.read_value(), as_operand(indices), as_operand(updates, self.dtype))

        return exclusively(self.locks, lambda: self.assign(unrecorded(changed), name=name))


# ---- TensorFlow 1's functions ----------------------------------------------------------------------------------------


def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Operand:
    """Replace rows of a variable: ``ref[indices] = updates``.

    Parameters
    ----------
    ref : Variable
    indices : integer value
        Of any rank. Of repeated indices the last counts.
    updates : value, shape ``indices.shape + ref.shape[1:]``
    use_locking
        Accepted for compatibility.
    name : str, optional

    Returns
    -------
    Variable or tensor
        As the variable's `assign` returns it.
    """
    return ref.scatter_update(rows_at(ref, indices, updates), name=name)


def _of_rows(method: str, doc: str) -> Callable[..., Operand]:
    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Operand:
        return getattr(ref, method)(rows_at(ref, indices, updates), name=name)

    return named(scatter, method, doc)


scatter_add = _of_rows("scatter_add", "Add to rows of a variable (see `scatter_update`); repeated indices add up.")
scatter_sub = _of_rows(
    "scatter_sub", "Subtract from rows of a variable (see `scatter_update`); repeated indices add up."
)
scatter_mul = _of_rows(
    "scatter_mul", "Multiply rows of a variable (see `scatter_update`); of repeated indices all count."
)
scatter_div = _of_rows(
    "scatter_div", "Divide rows of a variable of floats (see `scatter_update`); of repeated indices all count."
)
scatter_max = _of_rows(
    "scatter_max", "Make rows of a variable the larger of themselves and `updates` (see `scatter_update`)."
)
scatter_min = _of_rows(
    "scatter_min", "Make rows of a variable the smaller of themselves and `updates` (see `scatter_update`)."
)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Operand:
    """Replace entries of a variable at index vectors."""
    return ref.scatter_nd_update(indices, updates, name)


def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Operand:
    """Add to the entries of a variable at index vectors."""
    return ref.scatter_nd_add(indices, updates, name)


def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Operand:
    """Subtract from the entries of a variable at index vectors."""
    return ref.scatter_nd_sub(indices, updates, name)
