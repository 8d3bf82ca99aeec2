"""Tensors as serialized messages, and back: ``io.serialize_tensor``, ``io.parse_tensor``, and sparse ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dualgrad.files.protos import TensorProto
from dualgrad.files.tensors import array_of, data_type, dtype_name, tensor_proto
from dualgrad.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from engine.core.aval import Aval
from engine.core.batching import refused
from engine.core.dtypes import as_dtype, int64, string
from engine.core.kinds import nondifferentiable
from engine.core.operands import Operand
from engine.runtime.errors import DataLossError, DTypeError, InvalidArgumentError

_whole = refused("a message holds a whole tensor; serialize or parse one at a time")


def _serialized(x: Any) -> np.ndarray:
    return np.array(tensor_proto(np.asarray(x)).SerializeToString(), object)


serialize_tensor_op = nondifferentiable(
    "serialize_tensor_op",
    _serialized,
    abstract=lambda x: Aval((), string),
    batch=_whole,
    type="SerializeTensor",
    args=("tensor",),
    doc="A tensor as a message.",
)


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


def _parsed(data: Any, *, out_type: Any) -> np.ndarray:
    return _array("parse_tensor", data[()], out_type)


def _parsed_abstract(data: Aval, *, out_type: Any) -> Aval:
    _strings("parse_tensor", data)
    if data.shape not in (None, ()):
        raise InvalidArgumentError(f"parse_tensor: Expected `serialized` to be a scalar, got shape: {list(data.shape)}")
    return Aval(None, out_type)


def _strings(name: str, data: Aval) -> None:
    if data.dtype is not string:
        raise DTypeError(f"{name}: argument `serialized` must be of strings, got {data}")


parse_tensor_op = nondifferentiable(
    "parse_tensor_op",
    _parsed,
    abstract=_parsed_abstract,
    batch=_whole,
    type="ParseTensor",
    args=("serialized",),
    strict=False,
    doc="The tensor in a message.",
)


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


def _rows(indices: Any, values: Any, shape: Any) -> np.ndarray:
    if len(shape) < 2:
        raise InvalidArgumentError(f"serialize_many_sparse: Rank of input SparseTensor should be > 1, got {len(shape)}")
    if (np.diff(indices[:, 0]) < 0).any() or (indices[:, 0] >= shape[0]).any():
        raise InvalidArgumentError(
            "serialize_many_sparse: the indices must ascend and lie within the shape: sparse.reorder"
        )
    ends = np.searchsorted(indices[:, 0], np.arange(shape[0] + 1))
    parts = [(indices[a:b, 1:], values[a:b], shape[1:]) for a, b in itertools.pairwise(ends)]
    out = np.empty((len(parts), 3), object)
    for row, part in zip(out, parts, strict=True):
        row[:] = [tensor_proto(x).SerializeToString() for x in part]
    return out


serialize_many_sparse_op = nondifferentiable(
    "serialize_many_sparse_op",
    _rows,
    abstract=lambda indices, values, shape: Aval((None, 3), string),
    batch=_whole,
    type="SerializeManySparse",
    args=("indices", "values", "dense_shape"),
    doc="The rows of a sparse tensor as messages.",
)


def serialize_many_sparse(tf: Any, sp_input: Any, out_type: Any = string, name: str | None = None) -> Operand:
    """The entries of a sparse tensor along its first dimension, each as `serialize_sparse` gives it: shape (n, 3)."""
    _only_strings("serialize_many_sparse", out_type)
    return serialize_many_sparse_op(*_sparse(tf, sp_input).components())


def _joined(data: Any, *, dtype: Any) -> tuple[np.ndarray, ...]:
    if data.ndim != 2 or data.shape[1] != 3:
        raise InvalidArgumentError(
            f"deserialize_many_sparse: Serialized sparse should have shape (n, 3), got {data.shape}"
        )
    name = "deserialize_many_sparse"
    rows = [[_array(name, x, d) for x, d in zip(row, (int64, dtype, int64), strict=True)] for row in data.tolist()]
    for indices, values, shape in rows:
        fits = indices.ndim == 2 and values.shape == indices.shape[:1] and shape.shape == indices.shape[1:]
        if not fits or len(shape) != len(rows[0][2]):
            raise InvalidArgumentError(f"{name}: indices, values and shape of a sparse tensor do not fit together")
    rank = len(rows[0][2]) if rows else 0
    places = [np.insert(indices, 0, i, axis=1) for i, (indices, _, _) in enumerate(rows)]
    return (
        np.concatenate([np.zeros((0, rank + 1), np.int64), *places]),
        np.concatenate([np.empty(0, dtype.numpy), *[values for _, values, _ in rows]]),
        np.array([len(rows), *np.max([shape for _, _, shape in rows], axis=0, initial=0)], np.int64),
    )


def _joined_abstract(data: Aval, *, dtype: Any) -> tuple[Aval, ...]:
    _strings("deserialize_many_sparse", data)
    return Aval((None, None), int64), Aval((None,), dtype), Aval((None,), int64)


deserialize_many_sparse_op = nondifferentiable(
    "deserialize_many_sparse_op",
    _joined,
    abstract=_joined_abstract,
    batch=_whole,
    type="DeserializeManySparse",
    args=("serialized_sparse",),
    multi=True,
    strict=False,
    doc="One sparse tensor of the messages of several.",
)


def deserialize_many_sparse(
    tf: Any, serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """One sparse tensor of several serialized ones, along a new first dimension, as large as the largest.

    Parameters
    ----------
    tf : module
    serialized_sparse : string tensor, shape (n, 3)
    dtype : DType
        Of the values.
    rank : int, optional
        Of each of them.
    name : str, optional

    Raises
    ------
    InvalidArgumentError
        If a string is no message, or what it says does not fit.
    """
    indices, values, shape = deserialize_many_sparse_op(tf.convert_to_tensor(serialized_sparse), dtype=as_dtype(dtype))
    if rank is not None:
        indices, shape = tf.ensure_shape(indices, [None, rank + 1]), tf.ensure_shape(shape, [rank + 1])
    return tf.SparseTensor(indices, values, shape)
