"""Arguments and results of functions as messages: numbers, texts, specs, and lists, tuples and dicts of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dualgrad.files import object_protos as protos
from dualgrad.files.object_protos import StructuredValue
from dualgrad.files.tensors import OF_NAME, array_of, dtype_name, shape_proto
from engine.core.dtypes import DType, as_dtype
from engine.core.tensor_shape import TensorShape
from engine.runtime.errors import DataLossError
from tape_api.tensor import TensorSpec


class NotRead:
    """Stands for what has no counterpart here: equal to nothing, so that no argument fits it.

    Parameters
    ----------
    what : str
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<{self.what}>"


def encoded(value: Any) -> StructuredValue:
    """A structure as a message.

    Raises
    ------
    TypeError
        If it holds something that files do not keep.
    """
    if value is None:
        return StructuredValue(none_value=protos.NoneValue())
    if isinstance(value, (bool, np.bool_)):
        return StructuredValue(bool_value=bool(value))
    if isinstance(value, (int, np.integer)):
        return StructuredValue(int64_value=int(value))
    if isinstance(value, (float, np.floating)):
        return StructuredValue(float64_value=float(value))
    if isinstance(value, str):
        return StructuredValue(string_value=value)
    if isinstance(value, TensorSpec):
        dims = value.shape.as_tuple() if value.shape.rank is not None else None
        spec = protos.TensorSpecProto(name=value.name or "", shape=shape_proto(dims), dtype=OF_NAME[value.dtype.name])
        return StructuredValue(tensor_spec_value=spec)
    if isinstance(value, DType):
        return StructuredValue(tensor_dtype_value=OF_NAME[value.name])
    if isinstance(value, TensorShape):
        return StructuredValue(tensor_shape_value=shape_proto(value.as_tuple() if value.rank is not None else None))
    return _encoded_parts(value)


def _encoded_parts(value: Any) -> StructuredValue:
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a dict whose keys are no texts: {value!r}")
        return StructuredValue(dict_value=protos.DictValue(fields={key: encoded(x) for key, x in value.items()}))
    if hasattr(value, "_fields"):
        pairs = [protos.PairValue(key=name, value=encoded(getattr(value, name))) for name in value._fields]
        named = protos.NamedTupleValue(name=type(value).__name__, values=pairs)
        return StructuredValue(named_tuple_value=named)
    if isinstance(value, list):
        return StructuredValue(list_value=protos.ListValue(values=list(map(encoded, value))))
    if isinstance(value, tuple):
        return StructuredValue(tuple_value=protos.TupleValue(values=list(map(encoded, value))))
    raise TypeError(f"{value!r} is no number, text, tensor, or list, tuple or dict of these")


def decoded(message: StructuredValue) -> Any:
    """The structure that a message stands for. A named tuple becomes a dict.

    Raises
    ------
    DataLossError
        If it is none.
    """
    kind = message.WhichOneof("kind")
    if kind is None or kind == "none_value":
        return None
    value = getattr(message, kind)
    if kind in ("float64_value", "int64_value", "string_value", "bool_value"):
        return value
    if kind == "tensor_spec_value":
        return _spec(value)
    if kind == "tensor_shape_value":
        return TensorShape(_dims(value))
    if kind == "tensor_dtype_value":
        return _dtype(value)
    if kind in ("list_value", "tuple_value"):
        items = [decoded(x) for x in value.values]
        return items if kind == "list_value" else tuple(items)
    if kind == "dict_value":
        return {key: decoded(x) for key, x in value.fields.items()}
    if kind == "named_tuple_value":
        return {pair.key: decoded(pair.value) for pair in value.values}
    if kind == "numpy_value":
        return array_of(value)
    if kind == "type_spec_value":
        return NotRead(value.type_spec_class_name or f"spec {value.type_spec_class}")
    raise DataLossError(f"a structure holds a {kind}")


def _dims(proto: Any) -> tuple[int | None, ...] | None:
    return None if proto.unknown_rank else tuple([None if d.size < 0 else d.size for d in proto.dim])


def _dtype(number: int) -> Any:
    name = dtype_name(number)
    try:
        return as_dtype(name)
    except TypeError:
        return NotRead(name)


def _spec(proto: protos.TensorSpecProto) -> Any:
    dtype = _dtype(proto.dtype)
    if isinstance(dtype, NotRead):
        return dtype
    return TensorSpec(_dims(proto.shape), dtype, proto.name or None)
