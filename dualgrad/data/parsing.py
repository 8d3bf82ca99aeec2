"""Serialized examples as tensors: ``io.parse_single_example``, ``io.parse_example`` and ``io.decode_raw``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgrad.files.protos import Example, Feature, Features
from engine.core.aval import Aval, normalize_shape
from engine.core.batching import refused
from engine.core.dtypes import as_dtype, float32, int64, string
from engine.core.kinds import nondifferentiable
from engine.core.operands import Operand
from engine.core.value import as_array
from engine.runtime.errors import DTypeError, InvalidArgumentError, UnimplementedError

_LISTS = {string: "bytes_list", float32: "float_list", int64: "int64_list"}


class FixedLenFeature(NamedTuple):
    """A feature with as many values in each example.

    Attributes
    ----------
    shape : shape
    dtype : DType
        float32, int64 or string.
    default_value : optional
        For examples without the feature, which are an error otherwise.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values, along a first dimension; of several examples, padded to the longest."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, as a sparse tensor.

    Attributes
    ----------
    dtype : DType
        float32, int64 or string.
    """

    dtype: Any


_one_by_one = refused("examples cannot be vectorized; parse them before")


def _values(example: Features, name: str, dtype: Any) -> list[Any] | None:
    """The values of a feature, None if there is none."""
    known = example.feature
    return _values_of(known[name], name, dtype) if name in known else None


def _values_of(feature: Feature, name: str, dtype: Any) -> list[Any] | None:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _LISTS[dtype]:
        raise InvalidArgumentError(
            f"Key: {name}.  Data types don't match. Data type: {kind.removesuffix('_list')} but expected type: "
            f"{dtype.name}"
        )
    return list(getattr(feature, kind).value)


def _filled(values: Sequence[Any], shape: Any, dtype: Any) -> np.ndarray:
    if dtype is not string:
        return np.asarray(values, dtype.numpy).reshape(shape)
    out = np.empty(len(values), object)
    out[:] = list(values)
    return out.reshape(shape)


def _parsed(data: bytes, features: Sequence[tuple[str, Any]]) -> list[np.ndarray]:
    return _parsed_features(Example.FromString(data).features, features)


def _parsed_features(example: Features, features: Sequence[tuple[str, Any]]) -> list[np.ndarray]:
    arrays = []
    for name, feature in features:
        values = _values(example, name, feature.dtype)
        if isinstance(feature, VarLenFeature):
            arrays.append(_filled(values or [], (-1,), feature.dtype))
            continue
        inner = math.prod(feature.shape)
        if isinstance(feature, FixedLenSequenceFeature):
            if values is None and not feature.allow_missing:
                raise _missing(name, feature)
            values = values or []
            if inner == 0 or len(values) % inner:
                raise InvalidArgumentError(
                    f"Key: {name}.  Number of values {len(values)} is no multiple of the number of elements {inner}"
                )
            arrays.append(_filled(values, (len(values) // inner, *feature.shape), feature.dtype))
            continue
        if values is None:
            if feature.default_value is None:
                raise _missing(name, feature)
            whole = np.broadcast_to(as_array(feature.default_value, feature.dtype, name), feature.shape)
            arrays.append(np.array(whole))
            continue
        if len(values) != inner:
            raise InvalidArgumentError(
                f"Key: {name}.  Can't parse serialized Example: number of {feature.dtype.name} values != expected. "
                f"Values size: {len(values)} but output shape: {list(feature.shape)}"
            )
        arrays.append(_filled(values, feature.shape, feature.dtype))
    return arrays


def _missing(name: str, feature: Any) -> Exception:
    return InvalidArgumentError(
        f"Feature: {name} (data type: {feature.dtype.name}) is required but could not be found."
    )  # fmt: skip


def _parse_kernel(serialized: Any, *, names: Any, features: Any, many: bool) -> tuple[Any, ...]:
    pairs = list(zip(names, features, strict=True))
    rows = [_parsed(data, pairs) for data in (serialized.tolist() if many else [serialized[()]])]
    joined = [_joined([row[i] for row in rows], feature, many) for i, feature in enumerate(features)]
    return tuple([array for arrays in joined for array in arrays])


def _joined(parts: Sequence[np.ndarray], feature: Any, many: bool) -> list[np.ndarray]:
    """The arrays of a feature of all examples."""
    if isinstance(feature, VarLenFeature):
        lengths = [len(part) for part in parts]
        places = [np.stack([np.full(n, row), np.arange(n)], 1) for row, n in enumerate(lengths)]
        indices = np.concatenate([np.zeros((0, 2), np.int64), *places])
        shape = np.array([len(parts), max(lengths, default=0)], np.int64)
        values = np.concatenate([_filled([], (0,), feature.dtype), *parts])
        return [indices if many else indices[:, 1:], values, shape if many else shape[1:]]
    if not many:
        return [parts[0]]
    if not isinstance(feature, FixedLenSequenceFeature):
        return [np.stack(parts) if parts else _filled([], (0, *feature.shape), feature.dtype)]
    default = feature.default_value
    if default is None:
        default = b"" if feature.dtype is string else 0
    out = np.empty((len(parts), max(map(len, parts), default=0), *feature.shape), feature.dtype.numpy)
    out[...] = as_array(default, feature.dtype, "default_value")
    for row, part in zip(out, parts, strict=True):
        row[: len(part)] = part
    return [out]


def _parse_abstract(serialized: Aval, *, names: Any, features: Any, many: bool) -> tuple[Aval, ...]:
    if serialized.dtype is not string:
        raise DTypeError(f"parse_example: argument `serialized` must be of strings, got {serialized}")
    rank = None if serialized.shape is None else len(serialized.shape)
    if rank not in (None, int(many)):
        raise InvalidArgumentError(
            f"parse_example: argument `serialized` must be {'a vector' if many else 'a scalar'}, got {serialized}"
        )
    lead = () if not many else (None,) if serialized.shape is None else serialized.shape

    def of(feature: Any) -> list[Aval]:
        if isinstance(feature, VarLenFeature):
            rank = 1 + many
            return [Aval((None, rank), int64), Aval((None,), feature.dtype), Aval((rank,), int64)]
        more = (None,) if isinstance(feature, FixedLenSequenceFeature) else ()
        return [Aval((*lead, *more, *feature.shape), feature.dtype)]

    return tuple([aval for feature in features for aval in of(feature)])


parse_examples = nondifferentiable(
    "parse_examples",
    _parse_kernel,
    abstract=_parse_abstract,
    batch=_one_by_one,
    type="ParseExampleV2",
    args=("serialized",),
    multi=True,
    strict=False,
    doc="The features of serialized examples.",
)


def _checked(features: Any, many: bool) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    if not isinstance(features, Mapping) or not features:
        raise ValueError("Missing features: parse_example needs a dict of names to features")
    names = tuple(sorted(features))
    made: list[Any] = []
    for name in names:
        feature = features[name]
        if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature)):
            raise UnimplementedError(
                f"parse_example: feature {name!r} is a {type(feature).__name__}; use FixedLenFeature, "
                f"FixedLenSequenceFeature or VarLenFeature"
            )
        if many and isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(
                f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True, of feature {name!r}"
            )
        dtype = as_dtype(feature.dtype)
        if dtype not in _LISTS:
            raise DTypeError(f"parse_example: feature {name!r} must be float32, int64 or string, got {dtype.name}")
        if isinstance(feature, VarLenFeature):
            made.append(VarLenFeature(dtype))
            continue
        shape = normalize_shape(feature.shape) or ()
        if None in shape:
            raise ValueError(f"First dimension of shape for feature {name} unknown. Consider FixedLenSequenceFeature.")
        made.append(feature._replace(shape=shape, dtype=dtype))
    return names, tuple(made)


def _features(tf: Any, serialized: Any, features: Any, many: bool) -> dict[str, Any]:
    names, made = _checked(features, many)
    outputs = iter(parse_examples(tf.convert_to_tensor(serialized), names=names, features=made, many=many))
    return {
        name: tf.SparseTensor(next(outputs), next(outputs), next(outputs))
        if isinstance(f, VarLenFeature)
        else next(outputs)
        for name, f in zip(names, made, strict=True)
    }


def parse_single_example(
    tf: Any, serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one serialized `Example`.

    Parameters
    ----------
    tf : module
    serialized : scalar string
    features : dict of str to FixedLenFeature, FixedLenSequenceFeature or VarLenFeature
    example_names, name : optional
        Accepted for compatibility.

    Returns
    -------
    dict of str to tensor

    Raises
    ------
    InvalidArgumentError
        If a feature is missing, or of another kind or number of values.
    """
    return _features(tf, serialized, features, False)


def parse_example(
    tf: Any, serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of several serialized examples, stacked; see `parse_single_example`."""
    return _features(tf, serialized, features, True)


def _decode_kernel(data: Any, *, dtype: Any, little_endian: bool) -> np.ndarray:
    items = data.ravel().tolist()
    lengths = {len(x) for x in items}
    if len(lengths) > 1:
        raise InvalidArgumentError(f"decode_raw: the strings must have equal lengths, got {sorted(lengths)}")
    size = dtype.numpy.itemsize
    if items and lengths.pop() % size:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {len(items[0])} that is not a multiple of {size}, the size of {dtype.name}"
        )
    order = "<" if little_endian else ">"
    array = np.frombuffer(b"".join(items), dtype.numpy.newbyteorder(order)).astype(dtype.numpy)
    return array.reshape((*data.shape, -1) if items else (*data.shape, 0))


def _decode_abstract(data: Aval, *, dtype: Any, little_endian: bool) -> Aval:
    if data.dtype is not string:
        raise DTypeError(f"decode_raw: argument `bytes` must be of strings, got {data}")
    return Aval(None if data.shape is None else (*data.shape, None), dtype)


decode_raw_op = nondifferentiable(
    "decode_raw_op",
    _decode_kernel,
    abstract=_decode_abstract,
    batch=_one_by_one,
    type="DecodeRaw",
    args=("bytes",),
    strict=False,
    doc="Strings as arrays of numbers, along a new last dimension.",
)


def decode_raw(
    tf: Any, input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None
) -> Operand:
    """Strings of equal length as arrays of numbers, along a new last dimension."""
    return decode_raw_op(tf.convert_to_tensor(input_bytes), dtype=as_dtype(out_type), little_endian=bool(little_endian))
