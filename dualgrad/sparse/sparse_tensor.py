"""`SparseTensor`: where a tensor is not zero, and what it is there.

It consists of three tensors of its front end (`tf`), so that both modes share all of it: gradients come from the ops
that the functions of this package are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.core.aval import format_shape
from engine.core.composite import OfValues
from engine.core.dtypes import as_dtype, bool_, float32, int32
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.tensor_shape import TensorShape
from engine.core.value import aval_of, shape_of
from engine.ops.checked import checked_op
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.faces import Shown

_OF_VALUES = frozenset({"abs", "cast", "erf", "negative", "sign", "sqrt", "square", "tanh"})
_OF_SHAPE: dict[str, Callable[..., Any]] = {
    "shape": lambda tf, shape, out_type=int32: tf.cast(shape, out_type),
    "size": lambda tf, shape, out_type=int32: tf.cast(tf.reduce_prod(shape), out_type),
    "rank": lambda tf, shape: tf.size(shape),
}


class SparseTensorValue(NamedTuple):
    """The value that a session returns for a `SparseTensor`, and that may be fed for one.

    Attributes
    ----------
    indices : array, shape (n, rank)
    values : array, shape (n,)
    dense_shape : array, shape (rank,)
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensorSpec(Shown):
    """The shape and dtype of a sparse tensor, as `map_fn` takes them of what its function returns."""

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self.shape, self.dtype = TensorShape(shape), as_dtype(dtype)
        self.of_tables = self.dtype, bool_  # `SparseTensor.tables`


class SparseTensor(OfValues):
    """A tensor that is zero but for some elements.

    Parameters
    ----------
    indices : int64 value, shape (n, rank)
        Where each element stands. Most functions want them in row-major order (`sparse.reorder`).
    values : value, shape (n,)
    dense_shape : int64 value, shape (rank,)

    Raises
    ------
    ValueError
        If the three do not fit together.

    Examples
    --------
    >>> import tape_api as tf
    >>> x = tf.SparseTensor([[0, 1], [1, 2]], [3.0, 4.0], [2, 3])
    >>> tf.sparse.to_dense(x).numpy().tolist()
    [[0.0, 3.0, 0.0], [0.0, 0.0, 4.0]]
    """

    tf: Any
    """The front end whose tensors it consists of."""

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        tf = self.tf
        self.indices = tf.convert_to_tensor(indices, dtype=tf.int64, name="indices")
        self.values = tf.convert_to_tensor(values, name="values")
        self.dense_shape = tf.convert_to_tensor(dense_shape, dtype=tf.int64, name="dense_shape")
        self._static: Any = None
        self._check()

    def _check(self) -> None:
        parts = (("indices", self.indices, 2), ("values", self.values, 1), ("dense_shape", self.dense_shape, 1))
        shapes = [shape_of(x) for _, x, _ in parts]
        for (label, _, rank), shape in zip(parts, shapes, strict=True):
            if shape is not None and len(shape) != rank:
                raise ValueError(
                    f"SparseTensor: argument `{label}` must have rank {rank}, got shape {format_shape(shape)}"
                )
        indices, values, dense = (s or (None, None) for s in shapes)
        if None not in (indices[0], values[0]) and indices[0] != values[0]:
            raise ValueError(f"SparseTensor: there are {indices[0]} indices for {values[0]} values")
        if None not in (indices[1], dense[0]) and indices[1] != dense[0]:
            raise ValueError(f"SparseTensor: indices of {indices[1]} numbers for a shape of {dense[0]} dimensions")

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def dims(self) -> tuple[int | None, ...] | None:
        """Static shape, as far as it is known."""
        if self._static is not None:
            return self._static
        if isinstance(self.dense_shape, EagerTensor):
            return tuple(self.dense_shape.numpy().tolist())
        known = aval_of(self.dense_shape)
        if isinstance(known.value, tuple):
            return tuple(known.value)
        ranks = [(known.shape or (None,))[0], (shape_of(self.indices) or (None, None))[1]]
        rank = next((r for r in ranks if r is not None), None)
        return None if rank is None else (None,) * rank

    @property
    def shape(self) -> TensorShape:
        """Static shape, as the front end shows shapes."""
        return self.tf.TensorShape(self.dims)

    @property
    def rank(self) -> int:
        """The number of dimensions.

        Raises
        ------
        ValueError
            If it is not known.
        """
        dims = self.dims
        if dims is None:
            raise ValueError(f"{self!r}: its rank must be known; give sparse_placeholder a `shape`")
        return len(dims)

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Evaluate it in a session (by default the current one)."""
        session = session or self.tf.get_default_session()
        if session is None:
            raise ValueError("SparseTensor.eval: no default session is registered; use `with sess.as_default()`")
        return session.run(self, feed_dict)

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other values in the same places."""
        return self._like(self.indices, new_values, self.dense_shape)

    def _like(self, indices: Any, values: Any, dense_shape: Any) -> SparseTensor:
        return type(self)(indices, values, dense_shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """One with the contents of a `SparseTensorValue`."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return cls(*sparse_tensor_value.components())
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value!r}")
        return cls(*sparse_tensor_value)

    def components(self) -> list[Any]:
        """Indices, values, and the shape of the whole."""
        return [self.indices, self.values, self.dense_shape]

    def rebuilt(self, components: Sequence[Any]) -> SparseTensorValue:
        """The value that a session returns for it."""
        return SparseTensorValue(*components)

    def as_value(self) -> Operand:
        """It is none, and does not become one unasked."""
        raise TypeError(f"{self!r} is not a dense tensor: use sparse.to_dense, or a function of tf.sparse")

    def taken_by(self, name: str, function: Callable[..., Any], **kwargs: Any) -> Any:
        """``function(values, ...)`` in the same places, of functions that leave a zero a zero; what is asked of it."""
        if name in _OF_VALUES:
            return self.with_values(function(self.values, **kwargs))
        if name in _OF_SHAPE:
            return _OF_SHAPE[name](self.tf, self.dense_shape, **kwargs)
        return super().taken_by(name, function, **kwargs)

    def row(self, number: Any) -> SparseTensor:
        """The part at a place of the first dimension."""
        here = self.tf.equal(self.indices[:, 0], number)
        indices, values = [self.tf.boolean_mask(x, here) for x in (self.indices[:, 1:], self.values)]
        return self._like(indices, values, self.dense_shape[1:])

    def tables(self) -> tuple[Any, Any]:
        """The dense tensor, and where that holds an element of this one."""
        held = self.with_values(self.tf.ones_like(self.values, dtype=self.tf.bool))
        return self.tf.sparse.to_dense(self), self.tf.sparse.to_dense(held)

    @classmethod
    def of_tables(cls, dense: Any, held: Any) -> SparseTensor:
        """One with the elements of a dense tensor that it is said to hold."""
        indices = cls.tf.where(held)
        return cls(indices, cls.tf.gather_nd(dense, indices), cls.tf.shape(held, out_type=cls.tf.int64))

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices!s}, values={self.values!s}, dense_shape={self.dense_shape!s})"

    # ---- arithmetic with dense tensors -------------------------------------------------------------------------------

    def _with_dense(self, other: Any, join: Callable[[Any, Any], Any]) -> SparseTensor:
        tf = self.tf
        whole = tf.broadcast_to(tf.convert_to_tensor(other, dtype=self.dtype), self.dense_shape)
        return self.with_values(join(self.values, tf.gather_nd(whole, self.indices)))

    def __mul__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda x, y: x * y)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda x, y: x / y)

    __div__ = __truediv__

    # ---- checks ------------------------------------------------------------------------------------------------------

    def checked(self, ordered: bool = False) -> SparseTensor:
        """The same, once its indices are known to lie within its shape (and to ascend)."""
        check = check_ascending if ordered else check_bounds
        indices = checked_op(self.indices, self.indices, self.dense_shape, check=check)
        return self._like(indices, self.values, self.dense_shape)


def check_bounds(indices: Any, dense_shape: Any) -> None:
    """Raise InvalidArgumentError unless all indices lie within the shape."""
    outside = ((indices < 0) | (indices >= dense_shape)).any(axis=1)
    if outside.any():
        first = int(np.argmax(outside))
        raise InvalidArgumentError(
            f"indices[{first}] = {indices[first].tolist()} is out of bounds: need 0 <= index < {dense_shape.tolist()}"
        )


def check_ascending(indices: Any, dense_shape: Any) -> None:
    """The same, and that they are in row-major order without repetition."""
    check_bounds(indices, dense_shape)
    flat = linear(indices, dense_shape)
    wrong = flat[1:] <= flat[:-1]
    if wrong.any():
        first = int(np.argmax(wrong)) + 1
        how = "repeated" if flat[first] == flat[first - 1] else "out of order"
        raise InvalidArgumentError(
            f"indices[{first}] = {indices[first].tolist()} is {how}. Many sparse ops require sorted indices. "
            f"Use `tf.sparse.reorder` to create a correctly ordered copy."
        )


def linear(indices: Any, dense_shape: Any) -> np.ndarray:
    """Row-major numbers of the places."""
    flat = np.zeros(len(indices), np.int64)
    for column, size in zip(indices.T, dense_shape, strict=True):
        flat = flat * size + column
    return flat
