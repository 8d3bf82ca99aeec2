"""Making tensors of other things, and what a lifted function does with its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import engine.numpy_api.operators  # noqa: F401  (values get their operators)
from engine.core.aval import format_shape, normalize_shape
from engine.core.composite import Composite
from engine.core.dtypes import ANY, DType, as_dtype, float32
from engine.core.eager import EagerTensor, wrap
from engine.core.tensor_shape import TensorShape
from engine.core.value import Value
from engine.core.variable import Variable
from engine.ops.lift import as_operand, cast_data
from engine.ops.shape import broadcast_to, reshape
from engine.runtime.errors import DTypeError, ShapeError


def wrapped(x: Any) -> Any:
    """The result of a front-end function: arrays become tensors, also inside lists and tuples; the rest stays."""
    if isinstance(x, EagerTensor):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        return EagerTensor(x)
    if isinstance(x, Variable):
        return x.read_value()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[wrapped(item) for item in x])
    if isinstance(x, (list, tuple)):
        return type(x)(x if _EAGER.issuperset(map(type, x)) else [wrapped(item) for item in x])
    return x


_EAGER = frozenset({EagerTensor})


def finish(call: Callable[..., Any], name: str | None, /, *args: Any, **kwargs: Any) -> Any:
    """Run a lifted function's call. Eager tensors have no names."""
    out = call(*args, **kwargs)
    return out if type(out) is EagerTensor else wrapped(out)


_COPIED = frozenset(d.numpy for d in ANY)
"""Dtypes of arrays that are tensors as they are."""


def _as_requested(value: Any, dtype: DType | None, what: str) -> EagerTensor:
    """A tensor of `value`; NumPy data are cast to a dtype that is asked for, Python data must fit it."""
    if dtype is None and type(value) is np.ndarray and value.dtype in _COPIED:
        return wrap(np.array(value, order="C"))
    if (array := cast_data(value, dtype)) is not None:
        return EagerTensor(array)
    out = as_operand(value, dtype, what)
    tensor: EagerTensor = wrapped(out)
    if dtype is not None and tensor.dtype is not dtype:
        raise DTypeError(
            f"{what}: a tensor of dtype {dtype.name} was asked for, got one of dtype {tensor.dtype.name}; "
            f"cast it with tf.cast"
        )
    return tensor


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> EagerTensor:
    """A tensor of `value`.

    Parameters
    ----------
    value : tensor, variable, array, Python number, or nested list of these
        Arrays are copied. Lists may hold tensors, which are then packed (and differentiated through).
    dtype : DType, optional
        What it must be. Arrays are cast to it; Python numbers must fit; a tensor of another dtype is an error.
    dtype_hint : DType, optional
        What it should be, if `value` is convertible and `dtype` is not given.

    Returns
    -------
    Tensor
        `value` itself if it is one.

    Raises
    ------
    DTypeError
        (a ValueError and TypeError) if `value` does not fit the dtype.
    ValueError
        If `value` is None or ragged.

    Examples
    --------
    >>> convert_to_tensor([1, 2.5])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None and dtype_hint is not None and not isinstance(value, Value):
        try:
            return _as_requested(value, as_dtype(dtype_hint), "convert_to_tensor")
        except DTypeError:
            pass
    return _as_requested(value, wanted, "convert_to_tensor")


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """A tensor of `value`, a copy that later changes of `value` do not show in.

    Parameters
    ----------
    value : array, Python number, nested list of numbers, or tensor
        Python floats become float32, ints int32; arrays keep their dtype.
    dtype : DType, optional
        Arrays are cast to it; Python numbers must fit.
    shape : shape, optional
        Shape of the result; a single element is repeated.

    Raises
    ------
    DTypeError
        (a TypeError) if `value` does not fit `dtype`.
    ShapeError
        (a ValueError) if the number of elements does not fit `shape`.

    Examples
    --------
    >>> constant([1, 2, 3, 4], shape=(2, 2)).numpy()
    array([[1, 2], [3, 4]], dtype=int32)
    """
    tensor = _as_requested(value, None if dtype is None else as_dtype(dtype), "constant")
    if shape is None:
        return tensor
    dims = normalize_shape(shape)
    if tensor._shape == dims:
        return tensor
    have, want = tensor._array.size, int(np.prod(dims, dtype=np.int64))  # type: ignore[arg-type]
    if have == want:
        return reshape(tensor, dims)
    if have == 1:
        return broadcast_to(reshape(tensor, ()), dims)
    raise ShapeError(
        f"constant: argument `value` has {have} elements, which do not fit into `shape` {format_shape(dims)}"
    )


class _Tensors(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, EagerTensor) or getattr(type(x), "is_a_tensor", False)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, EagerTensor) or getattr(kind, "is_a_tensor", False)


if TYPE_CHECKING:
    Tensor = EagerTensor
else:

    class Tensor(EagerTensor, metaclass=_Tensors):
        """The type of tensors, for annotations and `isinstance`: of those that are there, and of those in functions."""

        __slots__ = ()


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor, dense or not, or a variable (and not, say, an array)."""
    return isinstance(x, (Value, Composite))


class TensorSpec:
    """A shape and a dtype, as ``input_signature`` of a function takes them."""

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A spec with the shape and dtype of another one."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, may be of this shape and dtype."""
        other = spec_or_tensor if hasattr(spec_or_tensor, "dtype") else convert_to_tensor(spec_or_tensor)
        return as_dtype(other.dtype) is self.dtype and self.shape.is_compatible_with(other.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
