"""Tensors as serialized messages, and back: ``io.serialize_tensor``, ``io.parse_tensor``, and sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgrad.extras.ops.host import host_op
from dualgrad.files.protos import TensorProto
from dualgrad.files.tensors import array_of, data_type, dtype_name, tensor_proto
from dualgrad.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import as_dtype, string
from engine.core.operands import Operand
from engine.runtime.errors import DataLossError, DTypeError, InvalidArgumentError

_whole = refused("a message holds a whole tensor; serialize or parse one at a time")


@host_op("SerializeTensor", lambda x: Aval((), string), args=("tensor",), batch=_whole, strict=True)
def serialize_tensor_op(x: Any) -> np.ndarray:
    """A tensor as a message."""
    return np.array(tensor_proto(np.asarray(x)).SerializeToString(), object)


def _array(name: str, data: bytes, dtype: Any) -> np.ndarray:
    try:
        proto = TensorProto.FromString(data)
        if proto.dtype != data_type(np.empty(0, dtype.numpy)):
            raise InvalidArgumentError(
                f"{name}: Type mismatch between parsed tensor ({dtype_name(proto.dtype)}) and dtype ({dtype.name})"
            )
        return array_of(proto)
    except (DataLossError, TypeError) as error:
        raise InvalidArgumentError(f"{name}: Could not parse `serialized` as TensorProto: {error}") from None


def _parsed_abstract(data: Aval, *, out_type: Any) -> Aval:
    if data.shape not in (None, ()):
        raise InvalidArgumentError(f"parse_tensor: Expected `serialized` to be a scalar, got shape: {list(data.shape)}")
    return Aval(None, out_type)


@host_op("ParseTensor", _parsed_abstract, args=("serialized",), batch=_whole, of_strings=True)
def parse_tensor_op(data: Any, *, out_type: Any) -> np.ndarray:
    """The tensor in a message."""
    return _array("parse_tensor", data[()], out_type)


def serialize_tensor(tf: Any, tensor: Any, name: str | None = None) -> Operand:
    """A tensor as a serialized ``TensorProto``, a string scalar.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.io.parse_tensor(tf.io.serialize_tensor([[1.0, 2.0]]), tf.float32).numpy()
    array([[1., 2.]], dtype=float32)
    """
    return serialize_tensor_op(tf.convert_to_tensor(tensor))


def parse_tensor(tf: Any, serialized: Any, out_type: Any, name: str | None = None) -> Operand:
    """The tensor that `serialize_tensor` made a string of.

    Parameters
    ----------
    tf : module
    serialized : string scalar
    out_type : DType
        Of the tensor.

    Raises
    ------
    InvalidArgumentError
        If the string is no message, or the tensor has another dtype.
    """
    return parse_tensor_op(tf.convert_to_tensor(serialized), out_type=as_dtype(out_type))


def _sparse(tf: Any, sp_input: Any) -> SparseTensor:
    if isinstance(sp_input, SparseTensorValue):
        return tf.SparseTensor(*sp_input)
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return sp_input


def serialize_sparse(tf: Any, sp_input: Any, out_type: Any = string, name: str | None = None) -> Operand:
    """A sparse tensor as three strings: its indices, values and shape as messages.

    Parameters
    ----------
    tf : module
    sp_input : SparseTensor
    out_type : {string}
    name : str, optional

    Returns
    -------
    string tensor, shape (3,)

    Raises
    ------
    TypeError
        If the input is not sparse.
    """
    _only_strings("serialize_sparse", out_type)
    return tf.stack([serialize_tensor(tf, part) for part in _sparse(tf, sp_input).components()])


def _only_strings(name: str, out_type: Any) -> None:
    if as_dtype(out_type) is not string:
        raise DTypeError(f"{name}: argument `out_type` must be string, got {out_type!r}")
