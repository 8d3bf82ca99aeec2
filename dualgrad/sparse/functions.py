"""``tf.sparse``: functions of sparse tensors, written with those of the front end that a sparse tensor belongs to.

The derivative with respect to the values (and to dense operands) comes from the ops used here. Where elements are
grouped, a place is one number, counted in row-major order (`_flat`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualgrad.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from engine.core.arguments import normalize_axis
from engine.core.dtypes import as_dtype, float32, string
from engine.core.operands import Operand
from engine.ops.checked import checked_op
from engine.runtime.errors import InvalidArgumentError, ShapeError


def sparse(name: str, x: Any, cls: type[SparseTensor] | None = None) -> SparseTensor:
    """`x`, if it is sparse."""
    if isinstance(x, SparseTensorValue) and cls is not None:
        return cls.from_value(x)
    if not isinstance(x, SparseTensor):
        raise TypeError(f"{name}: input must be a SparseTensor, got {x!r} (tf.sparse.from_dense makes one of a tensor)")
    return x


def _flat(tf: Any, indices: Any, shape: Any) -> Operand:
    return tf.reduce_sum(indices * tf.math.cumprod(shape, exclusive=True, reverse=True), 1)


def _places(tf: Any, flat: Any, shape: Any) -> Operand:
    one = tf.ones_like(shape)
    strides = tf.maximum(tf.math.cumprod(shape, exclusive=True, reverse=True), one)
    return tf.math.floormod(tf.math.floordiv(tf.expand_dims(flat, 1), strides), tf.maximum(shape, one))


def _grouped(tf: Any, flat: Any) -> tuple[Any, Any, Any]:
    """The distinct numbers, ascending; for each element (in the given order) which one it has; their number."""
    distinct = tf.unique(tf.sort(flat))[0]
    return distinct, tf.searchsorted(distinct, flat), tf.size(distinct)


def _axes(sp: SparseTensor, name: str, axis: Any) -> tuple[list[int], list[int]]:
    """The axes named, and the others."""
    rank = sp.rank
    axes = range(rank) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    named = sorted({normalize_axis(name, int(a), rank) for a in axes})
    return named, [a for a in range(rank) if a not in named]


def _same_shapes(name: str, a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """`a`, once its shape is known to be that of `b`."""

    def check(x: Any, y: Any) -> None:
        if x.tolist() != y.tolist():
            raise InvalidArgumentError(f"{name}: the shapes of operands must be equal, got {x.tolist()}, {y.tolist()}")

    shape = checked_op(a.dense_shape, a.dense_shape, b.dense_shape, check=check)
    return type(a)(a.indices, a.values, shape)


def convert_to_tensor_or_sparse_tensor(tf: Any, value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A sparse tensor of a `SparseTensorValue`, a sparse tensor itself, of anything else a tensor."""
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        return sparse("convert_to_tensor_or_sparse_tensor", value, tf.SparseTensor)
    return tf.convert_to_tensor(value, dtype=dtype, name=name)


# ---- to and from dense tensors ---------------------------------------------------------------------------------------


def from_dense(tf: Any, tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a tensor that are not zero (empty, of strings)."""
    tensor = tf.convert_to_tensor(tensor)
    zero = tf.constant("" if tensor.dtype is string else 0, tensor.dtype)
    indices = tf.cast(tf.where(tf.not_equal(tensor, zero)), tf.int64)
    made: SparseTensor = tf.SparseTensor(indices, tf.gather_nd(tensor, indices), tf.cast(tf.shape(tensor), tf.int64))
    return made


def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Operand:
    """The whole tensor.

    Parameters
    ----------
    sp_input : SparseTensor
    default_value : scalar, optional
        What stands elsewhere; by default 0, or an empty string.
    validate_indices : bool
        Whether the indices must be in row-major order without repetition.
    name : str, optional

    Raises
    ------
    InvalidArgumentError
        If they are not, or lie outside the shape.
    """
    sp = sparse("to_dense", sp_input)
    tf = sp.tf
    sp = sp.checked(ordered=validate_indices)
    if default_value is None and sp.dtype is not string and validate_indices:
        return tf.scatter_nd(sp.indices, sp.values, sp.dense_shape)
    default = ("" if sp.dtype is string else 0) if default_value is None else default_value
    whole = tf.broadcast_to(tf.convert_to_tensor(default, dtype=sp.dtype), sp.dense_shape)
    return tf.tensor_scatter_nd_update(whole, sp.indices, sp.values)


def sparse_to_dense(
    tf: Any,
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Operand:
    """A tensor of `default_value`, but for given elements.

    Parameters
    ----------
    sparse_indices : integer value of rank 0, 1 or 2
    output_shape : integer vector
    sparse_values : scalar or vector
    default_value : scalar
    validate_indices : bool
        Whether the indices must be in row-major order without repetition.
    name : str, optional
    """
    indices = tf.cast(tf.convert_to_tensor(sparse_indices), tf.int64)
    rank = indices.shape.ndims
    if rank is None or rank > 2:
        raise ShapeError(f"sparse_to_dense: `sparse_indices` must have a known rank of at most 2, got {indices!r}")
    if rank < 2:
        indices = tf.reshape(indices, [-1, 1])
    values = tf.convert_to_tensor(sparse_values)
    if values.shape.ndims == 0:
        values = tf.broadcast_to(values, tf.shape(indices)[:1])
    made = tf.SparseTensor(indices, values, tf.cast(tf.convert_to_tensor(output_shape), tf.int64))
    return to_dense(made, default_value, validate_indices)


def eye(
    tf: Any, num_rows: int, num_columns: int | None = None, dtype: Any = float32, name: str | None = None
) -> SparseTensor:
    """The identity matrix."""
    columns = num_rows if num_columns is None else num_columns
    count = tf.range(tf.cast(min(num_rows, columns), tf.int64))
    ones = tf.ones([min(num_rows, columns)], as_dtype(dtype))
    made: SparseTensor = tf.SparseTensor(tf.stack([count, count], 1), ones, [num_rows, columns])
    return made


# ---- order and shape -------------------------------------------------------------------------------------------------


def _taken(sp: SparseTensor, order: Any, indices: Any = None, shape: Any = None) -> SparseTensor:
    tf = sp.tf
    indices = sp.indices if indices is None else indices
    shape = sp.dense_shape if shape is None else shape
    return type(sp)(tf.gather(indices, order), tf.gather(sp.values, order), shape)


def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same with its indices in row-major order."""
    sp = sparse("reorder", sp_input).checked()
    return _taken(sp, sp.tf.argsort(_flat(sp.tf, sp.indices, sp.dense_shape), stable=True))


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in another shape, one dimension of which may be -1."""
    sp = sparse("reshape", sp_input).checked()
    tf = sp.tf
    wanted = tf.cast(tf.convert_to_tensor(shape), tf.int64)
    whole, other = tf.reduce_prod(sp.dense_shape), tf.abs(tf.reduce_prod(wanted))
    inferred = tf.math.floordiv(whole, tf.maximum(other, tf.ones_like(other)))
    dims = tf.where(tf.equal(wanted, -1), tf.ones_like(wanted) * inferred, wanted)

    def check(new: Any, old: Any, given: Any) -> None:
        if (given < -1).any() or (given == -1).sum() > 1 or new.prod() != old.prod():
            raise InvalidArgumentError(
                f"sparse.reshape: a tensor of shape {old.tolist()} cannot take the shape {given.tolist()}"
            )

    dims = checked_op(dims, dims, sp.dense_shape, wanted, check=check)
    return type(sp)(_places(tf, _flat(tf, sp.indices, sp.dense_shape), dims), sp.values, dims)


def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The same with its dimensions in another order (by default reversed), in row-major order."""
    sp = sparse("transpose", sp_input)
    order = list(range(sp.rank))[::-1] if perm is None else [int(p) for p in perm]
    if sorted(order) != list(range(len(order) if sp.dims is None else sp.rank)):
        raise ShapeError(f"sparse.transpose: argument `perm` must be a permutation of all axes, got {order}")
    tf = sp.tf
    return reorder(type(sp)(tf.gather(sp.indices, order, axis=1), sp.values, tf.gather(sp.dense_shape, order)))


def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The same with a new dimension of size one (by default the last)."""
    sp = sparse("expand_dims", sp_input)
    tf = sp.tf
    at = normalize_axis("sparse.expand_dims", -1 if axis is None else int(axis), sp.rank + 1)
    zeros = tf.zeros_like(sp.indices[:, :1]) if sp.rank else tf.zeros([tf.size(sp.values), 1], tf.int64)
    indices = tf.concat([sp.indices[:, :at], zeros, sp.indices[:, at:]], 1)
    shape = tf.concat([sp.dense_shape[:at], tf.constant([1], tf.int64), sp.dense_shape[at:]], 0)
    return type(sp)(indices, sp.values, shape)


def concat(
    axis: Any, sp_inputs: Sequence[Any], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Several one after the other along an axis, in row-major order.

    With `expand_nonconcat_dims` the other dimensions become the largest; otherwise they must be equal.
    """
    parts = [sparse("concat", x) for x in sp_inputs]
    if not parts:
        raise ValueError("sparse.concat: argument `sp_inputs` must hold at least one SparseTensor")
    first, tf = parts[0], parts[0].tf
    along = normalize_axis("sparse.concat", int(axis), first.rank)
    shapes = tf.stack([p.dense_shape for p in parts])
    others = [a for a in range(first.rank) if a != along]

    def check(dims: Any) -> None:
        if (dims[:, others] != dims[:1, others]).any():
            raise InvalidArgumentError(f"sparse.concat: shapes must be equal but for axis {along}, got {dims.tolist()}")

    if not expand_nonconcat_dims:
        shapes = checked_op(shapes, shapes, check=check)
    places = tf.one_hot(along, first.rank, dtype=tf.int64)
    largest, total = tf.reduce_max(shapes, 0), tf.reduce_sum(shapes, 0)
    shape = tf.where(tf.equal(places, 1), total, largest)
    starts = tf.math.cumsum(shapes[:, along], exclusive=True)
    moved = [p.indices + places * starts[i] for i, p in enumerate(parts)]
    return reorder(type(first)(tf.concat(moved, 0), tf.concat([p.values for p in parts], 0), shape))


# ---- choice ----------------------------------------------------------------------------------------------------------


def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Those elements for which `to_retain` is true."""
    sp = sparse("retain", sp_input)
    keep = sp.tf.convert_to_tensor(to_retain)
    return _taken(sp, sp.tf.reshape(sp.tf.where(keep), [-1]))


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def add(a: Any, b: Any, threshold: Any = 0) -> Operand | SparseTensor:
    """The sum of two tensors at least one of which is sparse; dense if the other one is.

    Where both sparse ones have an element, the sum is left out if its absolute value is below `threshold`.
    """
    if not isinstance(a, SparseTensor):
        a, b = b, a
    a = sparse("add", a)
    tf = a.tf
    if not isinstance(b, SparseTensor):
        return tf.tensor_scatter_nd_add(tf.convert_to_tensor(b, dtype=a.dtype), a.indices, a.values)
    a = _same_shapes("sparse.add", a, b)
    distinct, at, count = _grouped(tf, tf.concat([_flat(tf, x.indices, a.dense_shape) for x in (a, b)], 0))
    left = tf.size(a.values)
    x = tf.math.unsorted_segment_sum(a.values, at[:left], count)
    y = tf.math.unsorted_segment_sum(b.values, at[left:], count)
    have = tf.math.unsorted_segment_sum(tf.ones_like(at), at, count)
    total = type(a)(_places(tf, distinct, a.dense_shape), x + y, a.dense_shape)
    if isinstance(threshold, (int, float)) and threshold == 0:
        return total
    size = tf.abs(total.values)
    return retain(total, tf.logical_or(tf.less(have, 2), tf.greater_equal(size, tf.cast(threshold, size.dtype))))


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Operand:
    """The product of matrices one of which is sparse.

    Parameters
    ----------
    sp_a, b : SparseTensor and dense matrix, in any order
    adjoint_a, adjoint_b : bool
        Whether to transpose (and conjugate) first.
    name : str, optional

    Returns
    -------
    tensor, shape (rows, columns)
    """
    if isinstance(b, SparseTensor):
        tf = b.tf
        dense = tf.convert_to_tensor(sp_a, dtype=b.dtype)
        return tf.linalg.adjoint(sparse_dense_matmul(b, dense, not adjoint_b, not adjoint_a))
    sp = sparse("sparse_dense_matmul", sp_a).checked()
    tf = sp.tf
    if len(sp.dims or (0, 0)) != 2:
        raise ShapeError(f"sparse_dense_matmul: argument `sp_a` must be a matrix, got shape {sp.shape}")
    dense = tf.convert_to_tensor(b, dtype=sp.dtype)
    dense = tf.linalg.adjoint(dense) if adjoint_b else dense
    out, inner = (1, 0) if adjoint_a else (0, 1)
    values = tf.math.conj(sp.values) if adjoint_a and sp.dtype.is_complex else sp.values

    def check(inner_size: Any, rows: Any) -> None:
        if int(inner_size) != int(rows[0]):
            raise InvalidArgumentError(
                f"sparse_dense_matmul: cannot multiply A and B because inner dimension does not match: "
                f"{int(inner_size)} vs. {int(rows[0])}"
            )

    shape = tf.shape(dense)
    columns = checked_op(sp.indices[:, inner], sp.dense_shape[inner], shape, check=check)
    terms = tf.expand_dims(values, 1) * tf.gather(tf.identity(dense), columns)
    return tf.math.unsorted_segment_sum(terms, sp.indices[:, out], sp.dense_shape[out])


def reduce_sum(sp_input: Any, axis: Any = None, keepdims: Any = None, name: str | None = None) -> Operand:
    """Sums along axes (by default all), as a dense tensor."""
    sp = sparse("reduce_sum", sp_input).checked()
    tf = sp.tf
    if axis is None and not keepdims:
        return tf.reduce_sum(sp.values)
    named, kept = _axes(sp, "sparse.reduce_sum", axis)
    if not kept:
        whole = tf.reduce_sum(sp.values)
        return tf.reshape(whole, [1] * sp.rank) if keepdims else whole
    sizes = tf.gather(sp.dense_shape, kept)
    flat = _flat(tf, tf.gather(sp.indices, kept, axis=1), sizes)
    total = tf.math.unsorted_segment_sum(sp.values, flat, tf.reduce_prod(sizes))
    one = tf.constant(1, tf.int64)
    dims = [one if a in named else sp.dense_shape[a] for a in range(sp.rank) if keepdims or a in kept]
    return tf.reshape(total, tf.stack(dims))


def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax along the last dimension, over the elements that there are."""
    sp = sparse("softmax", sp_input).checked()
    tf = sp.tf
    if sp.dims is not None and sp.rank < 2:
        raise ShapeError(f"sparse.softmax: argument `sp_input` must have rank 2 or more, got shape {sp.shape}")
    _, at, count = _grouped(tf, _flat(tf, sp.indices[:, :-1], sp.dense_shape[:-1]))
    top = tf.stop_gradient(tf.math.unsorted_segment_max(sp.values, at, count))
    powers = tf.exp(sp.values - tf.gather(top, at))
    return sp.with_values(powers / tf.gather(tf.math.unsorted_segment_sum(powers, at, count), at))


__all__ = [
    "add", "concat", "expand_dims", "reduce_sum", "reorder", "reshape", "retain", "softmax", "sparse_dense_matmul",
    "to_dense", "transpose",
]  # fmt: skip
