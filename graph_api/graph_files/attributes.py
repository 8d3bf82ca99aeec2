"""Attributes of nodes as Python values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualgrad.files.graph_protos import AttrValue
from dualgrad.files.protos import TensorProto, TensorShapeProto
from dualgrad.files.tensors import array_of, dtype_name, numpy_dtype
from engine.core.dtypes import DType, as_dtype
from engine.runtime.errors import DataLossError, ResourceExhaustedError

LARGEST = 1 << 31
"""Bytes of one constant: a message of protocol buffers holds no more either."""


def shape_from(proto: TensorShapeProto) -> tuple[int | None, ...] | None:
    """A shape, as far as it is known."""
    return None if proto.unknown_rank else tuple([None if d.size < 0 else d.size for d in proto.dim])


def array_from(proto: TensorProto) -> np.ndarray:
    """The array of a constant.

    Raises
    ------
    DataLossError
        If its contents do not fit its shape.
    ResourceExhaustedError
        If it says that it is larger than any file could hold.
    """
    dims = [d.size for d in proto.tensor_shape.dim]
    if any(d < 0 for d in dims) or len(dims) > 32:
        raise DataLossError(f"a constant has the shape {dims}")
    size = math.prod(dims) * numpy_dtype(proto.dtype).itemsize
    if size > LARGEST:
        raise ResourceExhaustedError(f"a constant of shape {dims} would take {size} bytes, of which no file holds all")
    return array_of(proto)


def value_of(attribute: AttrValue) -> Any:
    """An attribute as a Python value: text, numbers, dtypes, shapes as tuples, arrays, functions by name."""
    kind = attribute.WhichOneof("value")
    if kind is None:
        return None
    if kind == "list":
        return [_one(f.name, v) for f, values in attribute.list.ListFields() for v in values]
    return _one(kind, getattr(attribute, kind))


def _one(kind: str, value: Any) -> Any:
    if kind == "s":
        return value.decode(errors="replace")
    if kind == "type":
        return dtype_from(value)
    if kind == "shape":
        return shape_from(value)
    if kind == "tensor":
        return array_from(value)
    return value


def dtype_from(number: int) -> DType | str:
    """A dtype; its name, if it is one of those that stand for no numbers."""
    name = dtype_name(number)
    return name if name in ("resource", "variant") else as_dtype(name)
