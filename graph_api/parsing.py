"""``tf.io`` for serialised examples; see `engine.frontend.data.parsing`."""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand
from engine.frontend.data.parsing import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, decoded, parsed
from graph_api.convert import convert_to_tensor
from graph_api.sparse import SparseTensor


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one serialised `Example`.

    Parameters
    ----------
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
    return parsed(convert_to_tensor, SparseTensor, serialized, features, False)


def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of several serialised examples, stacked; see `parse_single_example`."""
    return parsed(convert_to_tensor, SparseTensor, serialized, features, True)


def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Operand:
    """Strings of equal length as arrays of numbers, along a new last dimension."""
    return decoded(convert_to_tensor, input_bytes, out_type, little_endian)


__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "VarLenFeature",
    "decode_raw",
    "parse_example",
    "parse_single_example",
]
