"""``tf.sets``: the last dimension of tensors, dense or sparse, as sets of numbers or strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from dualgrad.sparse.sparse_tensor import SparseTensor
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import int8, int16, int32, int64, string, uint8, uint16
from engine.core.operands import Operand
from engine.core.value import dtype_of
from engine.runtime.errors import InvalidArgumentError

_DTYPES = (int8, int16, int32, int64, uint8, uint16, string)
_HOW = {"union": lambda x, y: x | y, "intersection": lambda x, y: x & y, "difference": lambda x, y: x - y}
_no_batch = refused("sets have no common size; use one call for all of them")


def _sets(indices: Any, values: Any, shape: Any, *, ordered: bool) -> dict[tuple[int, ...], set[Any]]:
    """The sets by the place of the row that each is, of rows that have elements."""
    if len(shape) < 2:
        raise InvalidArgumentError(f"Shape {shape.tolist()} has rank {len(shape)} < 2")
    places = list(map(tuple, indices.tolist()))
    if ordered and (places != sorted(places) or (indices < 0).any() or (indices >= shape).any()):
        raise InvalidArgumentError("the indices of a sparse set must ascend and lie within its shape: sparse.reorder")
    found: dict[tuple[int, ...], set[Any]] = {}
    for place, value in zip(places, values.tolist(), strict=True):
        found.setdefault(place[:-1], set()).add(value)
    return found


def _abstract(*avals: Aval, how: str, ordered: bool) -> tuple[Aval, ...]:
    rank = None if avals[2].shape is None else avals[2].shape[0]
    return Aval((None, rank), int64), Aval((None,), avals[1].dtype), Aval((rank,), int64)


@host_op(
    "SparseToSparseSetOperation",
    _abstract,
    args=("a_indices", "a_values", "a_shape", "b_indices", "b_values", "b_shape"),
    batch=_no_batch,
    multi=True,
    strict=True,
)
def set_operation_op(*parts: Any, how: str, ordered: bool) -> tuple[np.ndarray, ...]:
    """The rows of two sparse tensors combined as sets."""
    a, b = (_sets(*three, ordered=ordered) for three in (parts[:3], parts[3:]))
    lead, other = parts[2][:-1].tolist(), parts[5][:-1].tolist()
    if lead != other:
        raise InvalidArgumentError(f"Mismatched shapes {lead} vs {other}")
    rows = {place: sorted(_HOW[how](a.get(place, set()), b.get(place, set()))) for place in sorted({*a, *b})}
    indices = [(*place, i) for place, row in rows.items() for i in range(len(row))]
    values = np.empty(len(indices), parts[1].dtype)
    values[:] = [x for row in rows.values() for x in row]
    shape = [*lead, max(map(len, rows.values()), default=0)]
    return np.array(indices, np.int64).reshape(-1, len(shape)), values, np.array(shape, np.int64)


def _as_sparse(tf: Any, label: str, x: Any) -> SparseTensor:
    if not isinstance(x, SparseTensor):
        x = tf.convert_to_tensor(x)
        places = tf.cast(tf.where(tf.fill(tf.shape(x), True)), tf.int64)
        x = tf.SparseTensor(places, tf.reshape(x, [-1]), tf.cast(tf.shape(x), tf.int64))
    dtype = dtype_of(x.values)
    if dtype not in _DTYPES:
        names = ", ".join(d.name for d in _DTYPES)
        raise TypeError(f"'{label}' has invalid dtype `{dtype.name}` not in supported dtypes: {names}")
    return x


def _operation(tf: Any, how: str, a: Any, b: Any, ordered: bool) -> SparseTensor:
    left, right = _as_sparse(tf, "a", a), _as_sparse(tf, "b", b)
    if left.dtype is not right.dtype:
        raise TypeError(f"Types don't match, {left.dtype.name} vs {right.dtype.name}.")
    parts = set_operation_op(*left.components(), *right.components(), how=how, ordered=bool(ordered))
    return tf.SparseTensor(*parts)


def union(tf: Any, a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Elements of either of two sets.

    Parameters
    ----------
    tf : module
    a, b : tensor or SparseTensor of integers or strings, shapes (..., n) and (..., m)
        Their last dimension holds sets; the others are the same in both.
    validate_indices : bool
        Whether it is checked that indices of sparse tensors ascend.

    Returns
    -------
    SparseTensor, shape (..., size of the largest set)
        The elements of each set, ascending.

    Raises
    ------
    InvalidArgumentError
        If a rank is less than 2, or the shapes do not match.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.sets.union([[1, 2]], [[2, 5]]).values.numpy()
    array([1, 2, 5], dtype=int32)
    """
    return _operation(tf, "union", a, b, validate_indices)


def intersection(tf: Any, a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Elements of both of two sets; see `union`."""
    return _operation(tf, "intersection", a, b, validate_indices)


def difference(tf: Any, a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Elements of the first set that are not in the second, or the other way round without `aminusb`; see `union`."""
    if not aminusb:
        a, b = b, a
    return _operation(tf, "difference", a, b, validate_indices)


def _size_abstract(indices: Aval, values: Aval, shape: Aval, *, ordered: bool) -> Aval:
    rank = None if shape.shape is None else shape.shape[0]
    return Aval(None if rank is None else (None,) * (rank - 1), int32)


@host_op("SetSize", _size_abstract, args=("set_indices", "set_values", "set_shape"), batch=_no_batch, strict=True)
def set_size_op(indices: Any, values: Any, shape: Any, *, ordered: bool) -> np.ndarray:
    """How many elements the rows of a sparse tensor have as sets."""
    out = np.zeros(shape[:-1].tolist(), np.int32)
    for place, found in _sets(indices, values, shape, ordered=ordered).items():
        out[place] = len(found)
    return out


def size(tf: Any, a: Any, validate_indices: bool = True) -> Operand:
    """How many elements each set has, an int32 tensor of the shape of `a` but its last dimension.

    Raises
    ------
    TypeError
        If `a` is not sparse.
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return set_size_op(*_as_sparse(tf, "a", a).components(), ordered=bool(validate_indices))
