"""Serialized examples as tensors: ``io.parse_single_example``, ``io.parse_example`` and ``io.decode_raw``."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualgrad.extras.ops.host import host_op, row_places
from dualgrad.files import columns
from dualgrad.files.protos import Example, Feature, Features
from engine.core.aval import Aval, normalize_shape
from engine.core.batching import elementwise_rule
from engine.core.dtypes import as_dtype, float32, int64, string
from engine.core.op import Op
from engine.core.operands import Operand
from engine.core.value import as_array
from engine.runtime.errors import DataLossError, DTypeError, InvalidArgumentError, UnimplementedError

_MANY = 8
"""So many examples are read at once."""
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


def _one_by_one(op: Op, size: int, flags: Any, inputs: Any, params: dict[str, Any]) -> Any:
    if params.pop("many", True) or not all(isinstance(f, FixedLenFeature) for f in params.get("features", (None,))):
        raise UnimplementedError(f"{op.title}: examples cannot be vectorized; parse them before")
    return op(*inputs, **params, many=True)


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


def _filled(values: Any, shape: Any, dtype: Any) -> np.ndarray:
    if dtype is not string:
        return np.array(values, dtype.numpy).reshape(shape)
    return np.fromiter(values, object, len(values)).reshape(shape)


Column = tuple[np.ndarray, Any]
"""How many values of a feature each example has (-1: none at all), and all of the values."""


def _columns(data: Sequence[bytes], features: Sequence[tuple[str, Any]]) -> list[Column]:
    def one_by_one() -> list[Column]:
        return columns_of([Example.FromString(x).features for x in data], features)

    def together() -> list[Column]:
        found = columns.Features(data)
        return [found.column(name, _LISTS[feature.dtype]) for name, feature in features]

    for way in (together, one_by_one) if len(data) >= _MANY else (one_by_one, together):
        with contextlib.suppress(DataLossError):  # names that nobody asks for need not be text, as in TensorFlow
            return way()
    return one_by_one()  # which says what is wrong


def columns_of(examples: Sequence[Features], features: Sequence[tuple[str, Any]]) -> list[Column]:
    """The values of features of examples that have been read."""
    known = [e.feature for e in examples]
    return [column([_values_of(k[n], n, f.dtype) if n in k else None for k in known]) for n, f in features]


def column(found: Sequence[Sequence[Any] | None]) -> Column:
    """The values of a feature of each example, None if it has none."""
    counts = np.array([-1 if values is None else len(values) for values in found], np.int64)
    return counts, [x for values in found for x in values or ()]


def assembled(name: str, feature: Any, counts: np.ndarray, values: Any, many: bool) -> list[np.ndarray]:
    """The arrays of a feature of all examples.

    Raises
    ------
    InvalidArgumentError
        If an example has none, or not as many values as it should.
    """
    dtype, there, count = feature.dtype, np.maximum(counts, 0), len(counts)
    if isinstance(feature, VarLenFeature):
        indices = row_places(there)
        shape = np.array([count, there.max(initial=0)], np.int64)
        return [indices if many else indices[:, 1:], _filled(values, (-1,), dtype), shape if many else shape[1:]]
    inner, default, missing = math.prod(feature.shape), feature.default_value, counts < 0
    varies = isinstance(feature, FixedLenSequenceFeature)
    if missing.any() and not (feature.allow_missing if varies else default is not None):
        raise InvalidArgumentError(
            f"Feature: {name} (data type: {dtype.name}) is required but could not be found."
        )  # fmt: skip
    wrong = there[~missing & ((there % inner != 0 if inner else True) if varies else there != inner)]
    if len(wrong) and varies:
        raise InvalidArgumentError(
            f"Key: {name}.  Number of values {wrong[0]} is no multiple of the number of elements {inner}"
        )
    if len(wrong):
        raise InvalidArgumentError(
            f"Key: {name}.  Can't parse serialized Example: number of {dtype.name} values != expected. "
            f"Values size: {wrong[0]} but output shape: {list(feature.shape)}"
        )
    steps = there // inner if varies else np.where(missing, 0, 1)
    given = _filled(values, (int(steps.sum()), *feature.shape), dtype)
    if not many and varies:
        return [given]
    place = np.arange(steps.max(initial=0) if varies else 1) < steps[:, None]
    out = given if place.all() else np.empty((*place.shape, *feature.shape), dtype.numpy)
    if out is not given:
        out[...] = as_array((b"" if dtype is string else 0) if default is None else default, dtype, "default_value")
        out[place] = given
    return [out.reshape((count,) * many + place.shape[1:] * varies + feature.shape)]


def leading(name: str, serialized: Aval, many: bool) -> tuple[int | None, ...]:
    """The first dimensions of what an op makes of serialized examples, if these are a vector, or else a scalar."""
    if serialized.dtype is not string:
        raise DTypeError(f"{name}: argument `serialized` must be of strings, got {serialized}")
    if serialized.shape is not None and len(serialized.shape) != int(many):
        raise InvalidArgumentError(
            f"{name}: argument `serialized` must be {'a vector' if many else 'a scalar'}, got {serialized}"
        )
    return () if not many else (None,) if serialized.shape is None else serialized.shape


def avals_of(feature: Any, lead: tuple[int | None, ...], steps: int = 0) -> list[Aval]:
    """Of the arrays of a feature, of each of so many steps."""
    if isinstance(feature, VarLenFeature):
        rank = 1 + len(lead) + steps
        return [Aval((None, rank), int64), Aval((None,), feature.dtype), Aval((rank,), int64)]
    more = (None,) if isinstance(feature, FixedLenSequenceFeature) else ()
    return [Aval((*lead, *more, *feature.shape), feature.dtype)]


def _parse_abstract(serialized: Aval, *, names: Any, features: Any, many: bool) -> tuple[Aval, ...]:
    lead = leading("parse_example", serialized, many)
    return tuple([aval for feature in features for aval in avals_of(feature, lead)])


@host_op("ParseExampleV2", _parse_abstract, args=("serialized",), batch=_one_by_one, multi=True)
def parse_examples(serialized: Any, *, names: Any, features: Any, many: bool) -> tuple[Any, ...]:
    """The features of serialized examples."""
    pairs = list(zip(names, features, strict=True))
    found = _columns(serialized.tolist() if many else [serialized[()]], pairs)
    return tuple([x for (n, f), held in zip(pairs, found, strict=True) for x in assembled(n, f, *held, many)])


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


def _decode_abstract(data: Aval, *, dtype: Any, little_endian: bool) -> Aval:
    return Aval(None if data.shape is None else (*data.shape, None), dtype)


@host_op("DecodeRaw", _decode_abstract, args=("bytes",), batch=elementwise_rule, of_strings=True)
def decode_raw_op(data: Any, *, dtype: Any, little_endian: bool) -> np.ndarray:
    """Strings as arrays of numbers, along a new last dimension."""
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


def decode_raw(
    tf: Any, input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None
) -> Operand:
    """Strings of equal length as arrays of numbers, along a new last dimension."""
    return decode_raw_op(tf.convert_to_tensor(input_bytes), dtype=as_dtype(out_type), little_endian=bool(little_endian))
