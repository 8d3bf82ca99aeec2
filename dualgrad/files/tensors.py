"""Arrays as TensorFlow's messages hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dualgrad.files import limits
from dualgrad.files.protos import Dim, TensorProto, TensorShapeProto
from engine.core.dtypes import NUMBERS
from engine.core.value import as_array
from engine.runtime.errors import DataLossError, UnimplementedError

STRING = 7
_ELSEWHERE = {
    11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16", 20: "resource", 21: "variant",
}  # fmt: skip
OF_NAME = {name: number for number, name in NUMBERS.items()} | {"object": STRING}
"""DataType by the name of the dtype. Strings are arrays of objects, which are bytes."""
_FIELDS = {
    1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 5: "int_val", 6: "int_val", 7: "string_val",
    8: "scomplex_val", 9: "int64_val", 10: "bool_val", 17: "int_val", 18: "dcomplex_val", 19: "half_val",
    22: "uint32_val", 23: "uint64_val",
}  # fmt: skip


def dtype_name(number: int) -> str:
    """The name of a DataType."""
    if number > 100:
        number -= 100  # references
    return NUMBERS.get(number) or _ELSEWHERE.get(number) or f"DataType {number}"


def numpy_dtype(number: int) -> np.dtype:
    """The NumPy dtype that holds a DataType.

    Raises
    ------
    UnimplementedError
        If there is nothing of the kind in NumPy (``bfloat16``, quantized types).
    """
    if number > 100:
        number -= 100
    if number == STRING:
        return np.dtype(object)
    if number not in NUMBERS:
        raise UnimplementedError(
            f"a tensor of dtype {dtype_name(number)} cannot be read: NumPy has no such dtype; have TensorFlow cast it"
        )
    return np.dtype(NUMBERS[number])


def data_type(array: Any) -> int:
    """The DataType of an array.

    Raises
    ------
    TypeError
        If TensorFlow has none for it.
    """
    number = OF_NAME.get(array.dtype.name) or (STRING if array.dtype.kind in "SU" else None)
    if number is None:
        raise TypeError(f"an array of dtype {array.dtype} has no counterpart in TensorFlow's files")
    return number


def shape_proto(shape: Iterable[int | None] | None) -> TensorShapeProto:
    """A shape as a message; None for what is not known."""
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[Dim(size=-1 if d is None else d) for d in shape])


def shape_of(proto: TensorShapeProto) -> tuple[int, ...]:
    """The shape that a message stands for, which must be known."""
    shape = tuple([d.size for d in proto.dim])
    if proto.unknown_rank or any(d < 0 for d in shape):
        raise DataLossError(f"a tensor's shape is not known: {shape}")
    return shape


def as_bytes(array: np.ndarray) -> list[bytes]:
    """The elements of an array of strings, as bytes."""
    return [x if isinstance(x, bytes) else str(x).encode() for x in array.ravel().tolist()]


def tensor_proto(array: Any) -> TensorProto:
    """An array as a message.

    Examples
    --------
    >>> array_of(tensor_proto(np.array([1.5, 2.5])))
    array([1.5, 2.5])
    """
    array = np.asarray(array)
    number = data_type(array)
    made = TensorProto(dtype=number, tensor_shape=shape_proto(array.shape))
    if number == STRING:
        made.string_val.extend(as_bytes(array))
    else:
        made.tensor_content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
    return made


def as_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> TensorProto:
    """Python data or an array as a message, as ``tf.make_tensor_proto`` makes it.

    Parameters
    ----------
    values : array or Python data
        Floats are float32 and ints int32, as far as nothing else is said.
    dtype : DType, optional
    shape : shape, optional
        With one value, how often that stands there; of more values the last one stands in all places that are left.
    verify_shape, allow_broadcast : bool
        Whether `values` must have the shape, and whether they are broadcast to it.

    Raises
    ------
    TypeError, ValueError
        If the values do not fit the shape or the dtype.
    """
    array = np.asarray(as_array(values, dtype, "make_tensor_proto"))
    if shape is None:
        return _short_proto(array, array.shape)
    dims = tuple([int(d) for d in shape])
    if verify_shape and array.shape != dims:
        raise TypeError(f"make_tensor_proto: Expected Tensor's shape: {dims}, got {array.shape}")
    if allow_broadcast:
        return tensor_proto(np.broadcast_to(array, dims))
    if array.size == 1:
        return _short_proto(array, dims)
    missing = math.prod(dims) - array.size
    if missing < 0 or not array.size:
        raise ValueError(f"make_tensor_proto: {array.size} values do not fill the shape {dims}")
    limits.require_fill(missing * array.itemsize, f"a tensor of shape {dims}")
    return tensor_proto(np.pad(array.ravel(), (0, missing), mode="edge").reshape(dims))


def _short_proto(array: np.ndarray, dims: tuple[int, ...]) -> TensorProto:
    """An array as a message, a single number as one value that fills the shape."""
    if array.size != 1 or array.dtype.kind in "OSU":
        return tensor_proto(np.broadcast_to(array, dims) if array.size == 1 else array)
    number = data_type(array)
    made = TensorProto(dtype=number, tensor_shape=shape_proto(dims))
    value = array.ravel()
    parts = value.view(np.uint16) if value.dtype == np.float16 else value
    parts = parts.view(value.real.dtype) if value.dtype.kind == "c" else parts
    getattr(made, _FIELDS[number]).extend(parts.tolist())
    return made


def array_of(proto: TensorProto, number: int = 0, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The array that a message holds. Fewer values than elements mean that the last one is repeated.

    Parameters
    ----------
    proto : TensorProto
    number, shape : optional
        DataType and shape, where the message does not say them.

    Raises
    ------
    DataLossError
        If the values do not fit the shape.
    """
    number = number or proto.dtype
    dtype = numpy_dtype(number)
    dims = shape_of(proto.tensor_shape) if shape is None else shape
    count = math.prod(dims)
    if proto.tensor_content:
        if len(proto.tensor_content) != count * dtype.itemsize:
            raise DataLossError(f"{len(proto.tensor_content)} bytes for a tensor of dtype {dtype} and shape {dims}")
        return np.frombuffer(proto.tensor_content, dtype.newbyteorder("<")).astype(dtype).reshape(dims)
    values = _values(getattr(proto, _FIELDS[number % 100]), dtype)
    if len(values) > count or (count and not len(values) and number != STRING and proto.ListFields() == []):
        raise DataLossError(f"{len(values)} values for a tensor of dtype {dtype} and shape {dims}")
    if len(values) < count:
        limits.require_fill(count * dtype.itemsize, f"a tensor of dtype {dtype} and shape {dims}")
    full = np.empty(count, dtype)
    full[: len(values)] = values
    full[len(values) :] = values[-1] if len(values) else b"" if number == STRING else 0
    return full.reshape(dims)


def _values(held: Any, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "O":
        return np.fromiter(held, object, len(held))
    if dtype == np.float16:
        return np.asarray(held, np.uint16).view(np.float16)
    if dtype.kind == "c":
        return np.asarray(held, dtype.type(0).real.dtype).view(dtype)
    return np.asarray(held).astype(dtype)
