"""Serialized examples that are sequences: ``io.parse_single_sequence_example``, ``io.parse_sequence_example``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dualgrad.data.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    assembled,
    avals_of,
    column,
    columns_of,
    leading,
)
from dualgrad.data.parsing import _checked as checked
from dualgrad.data.parsing import _filled as filled
from dualgrad.data.parsing import _one_by_one as one_by_one
from dualgrad.data.parsing import _values_of as values_of
from dualgrad.extras.ops.host import host_op
from dualgrad.files.protos import SequenceExample
from engine.core.aval import Aval
from engine.core.dtypes import int64
from engine.runtime.errors import DataLossError, InvalidArgumentError


def _sequence(example: SequenceExample, name: str, feature: Any) -> list[Any]:
    """The values of a list of features: by step, if their number may differ, else one after the other."""
    known = example.feature_lists.feature_list
    varies = isinstance(feature, VarLenFeature)
    if name not in known and not varies and not feature.allow_missing:
        raise InvalidArgumentError(
            f"Name: <unknown>, Feature list '{name}' is required but could not be found.  Did you mean to include it "
            f"in feature_list_dense_missing_assumed_empty?"
        )
    steps = [values_of(f, name, feature.dtype) or [] for f in known[name].feature] if name in known else []
    if varies:
        return steps
    inner = math.prod(feature.shape)
    for i, values in enumerate(steps):
        if len(values) != inner:
            raise InvalidArgumentError(
                f"Name: <unknown>, Key: {name}, Index: {i}.  Number of {feature.dtype.name} values != expected. "
                f"values size: {len(values)} but output shape: {list(feature.shape)}"
            )
    return [x for values in steps for x in values]


def _sparse(examples: Sequence[Any], feature: Any, many: bool) -> list[np.ndarray]:
    """The indices, values and shape of lists whose steps have different numbers of values."""
    places = [(i, t, j) for i, steps in enumerate(examples) for t, row in enumerate(steps) for j in range(len(row))]
    indices = np.array(places, np.int64).reshape(-1, 3)
    values = filled([x for steps in examples for row in steps for x in row], (-1,), feature.dtype)
    width = max((len(row) for steps in examples for row in steps), default=0)
    shape = np.array([len(examples), max(map(len, examples), default=0), width], np.int64)
    return [indices if many else indices[:, 1:], values, shape if many else shape[1:]]


def _abstract(serialized: Aval, *, context: Any, lists: Any, many: bool) -> tuple[Aval, ...]:
    lead = leading("parse_sequence_example", serialized, many)
    avals = [aval for _, feature in context for aval in avals_of(feature, lead)]
    for _, feature in lists:
        avals += avals_of(feature, lead, steps=1)
        if many and not isinstance(feature, VarLenFeature):
            avals.append(Aval(lead, int64))
    return tuple(avals)


@host_op("ParseSequenceExampleV2", _abstract, args=("serialized",), batch=one_by_one, multi=True)
def parse_sequences(serialized: Any, *, context: Any, lists: Any, many: bool) -> tuple[np.ndarray, ...]:
    """The features of serialized examples that are sequences."""
    try:
        data = serialized.tolist() if many else [serialized[()]]
        examples = [SequenceExample.FromString(x) for x in data]
    except DataLossError as error:
        raise InvalidArgumentError(f"Could not parse example input as a SequenceExample: {error}") from None
    out = list[np.ndarray]()
    for (name, feature), held in zip(context, columns_of([e.context for e in examples], context), strict=True):
        out += assembled(name, feature, *held, many)
    for name, feature in lists:
        found = [_sequence(e, name, feature) for e in examples]
        if isinstance(feature, VarLenFeature):
            out += _sparse(found, feature, many)
            continue
        counts, values = column(found)
        out += assembled(name, feature, counts, values, many)
        if many:
            out.append(counts // math.prod(feature.shape))
    return tuple(out)


def _pairs(features: Any, kinds: tuple[type, ...]) -> tuple[tuple[str, Any], ...]:
    if not features:
        return ()
    if not isinstance(features, Mapping):
        raise TypeError(f"parse_sequence_example: features must be a dict of names to features, got {features!r}")
    for key, feature in features.items():
        if not isinstance(feature, kinds):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
    names, made = checked(features, False)
    return tuple(zip(names, made, strict=True))


def _parsed(tf: Any, serialized: Any, context: Any, lists: Any, many: bool) -> tuple[dict[str, Any], ...]:
    if not (context or lists):
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    first = _pairs(context, (VarLenFeature, FixedLenFeature))
    second = _pairs(lists, (VarLenFeature, FixedLenSequenceFeature))
    outputs = iter(parse_sequences(tf.convert_to_tensor(serialized), context=first, lists=second, many=many))
    found: list[dict[str, Any]] = []
    lengths: dict[str, Any] = {}
    for pairs in (first, second):
        found.append({})
        for name, feature in pairs:
            if isinstance(feature, VarLenFeature):
                found[-1][name] = tf.SparseTensor(next(outputs), next(outputs), next(outputs))
                continue
            found[-1][name] = next(outputs)
            if many and pairs is second:
                lengths[name] = next(outputs)
    return (*found, lengths) if many else tuple(found)


def parse_single_sequence_example(
    tf: Any,
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], ...]:
    """The features of one serialized `SequenceExample`.

    Parameters
    ----------
    tf : module
    serialized : scalar string
    context_features : dict of str to FixedLenFeature or VarLenFeature, optional
        Of the whole example.
    sequence_features : dict of str to FixedLenSequenceFeature or VarLenFeature, optional
        Of its steps, which are the first dimension.
    example_name, name : optional
        Accepted for compatibility.

    Returns
    -------
    (context, sequences) : dicts of str to tensor

    Raises
    ------
    InvalidArgumentError
        If a feature is missing, or of another kind or number of values.
    """
    return _parsed(tf, serialized, context_features, sequence_features, False)


def parse_sequence_example(
    tf: Any,
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], ...]:
    """The features of several sequences, padded to the longest, and the lengths; see `parse_single_sequence_example`.

    Returns
    -------
    (context, sequences, lengths) : dicts of str to tensor
    """
    return _parsed(tf, serialized, context_features, sequence_features, True)
