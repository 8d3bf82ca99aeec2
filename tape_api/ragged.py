"""Rows of different lengths, as far as texts need them: what ``tf.strings.unicode_split`` gives for several strings.

A `RaggedTensor` is handed to layers of vocabularies, joined again, or made a tensor of; nothing else takes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dualgrad.extras.ops import strings
from engine.core.detach import looked_at
from engine.core.dtypes import DType, string
from engine.core.tensor_shape import TensorShape
from engine.core.value import shape_of
from engine.runtime.errors import UnimplementedError
from tape_api.library import public
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor


class RaggedTensor:
    """Rows of different lengths.

    Parameters
    ----------
    flat_values : tensor, shape (n, ...)
        The rows, one after the other.
    row_splits : integer array
        Where each row begins, and where the last one ends.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.unicode_split(["ab", "c"], "UTF-8").to_tensor().numpy().tolist()
    [[b'a', b'b'], [b'c', b'']]
    """

    def __init__(self, flat_values: Any, row_splits: Any) -> None:
        self.flat_values = self.values = flat_values
        self.row_splits = np.asarray(row_splits, np.int64)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The number of rows, and None for their length."""
        return TensorShape([len(self), None, *self.flat_values.shape[1:]])

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int) -> Any:
        row = range(len(self))[row]
        return self.flat_values[int(self.row_splits[row]) : int(self.row_splits[row + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def row_lengths(self) -> Any:
        """The lengths of the rows."""
        return tf.constant(np.diff(self.row_splits))

    def with_flat_values(self, flat_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(flat_values, self.row_splits)

    def to_list(self) -> list[Any]:
        """The rows as lists."""
        return [row.numpy().tolist() for row in self]

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Any:
        """A tensor as wide as the longest row, with zeros, empty strings, or a given value behind shorter ones."""
        lengths = np.diff(self.row_splits)
        width = int(lengths.max(initial=0)) if shape is None or shape[1] is None else int(shape[1])
        at = self.row_splits[:-1, None] + np.arange(width)
        inside = np.arange(width) < lengths[:, None]
        rest = default_value if default_value is not None else b"" if self.dtype is string else 0
        if not inside.any():
            return tf.fill([len(self), width], tf.constant(rest, self.dtype))
        found = tf.gather(self.flat_values, np.where(inside, at, 0))
        wide = inside.reshape(*inside.shape, *[1] * (len(found.shape) - 2))
        if self.dtype is string:
            return tf.constant(np.where(wide, found.numpy(), rest))
        return tf.where(wide, found, tf.cast(rest, self.dtype))

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"


def unicode_split(
    input: Any,
    input_encoding: str = "UTF-8",
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of a string, or of each of several.

    Parameters
    ----------
    input : string tensor, shape () or (n,)
    input_encoding : str
        "UTF-8".
    errors, replacement_char
        Bytes that are no character become U+FFFD.

    Returns
    -------
    tensor of shape (characters,), or RaggedTensor

    Raises
    ------
    UnimplementedError
        For other encodings, or an input of another rank.
    """
    if input_encoding != "UTF-8" or errors != "replace" or replacement_char != 65533:
        raise UnimplementedError(
            f"unicode_split: only UTF-8 with errors='replace' is supported, got {input_encoding!r} and {errors!r}"
        )
    strings = convert_to_tensor(input)
    rank = len(shape_of(strings) or ())
    if rank > 1:
        raise UnimplementedError(f"unicode_split: the input must have rank 0 or 1, got {rank}")
    looked_at(strings)
    rows = [[c.encode() for c in text.decode("utf-8", "replace")] for text in np.ravel(strings.numpy()).tolist()]
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [c for row in rows for c in row]
    found = tf.constant(flat)
    return found if not rank else RaggedTensor(found, np.cumsum([0, *map(len, rows)]))


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Any:
    """``tf.strings.reduce_join``, of a `RaggedTensor` too: its rows joined.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.reduce_join(tf.strings.unicode_split(["ab", "c"], "UTF-8"), axis=-1).numpy().tolist()
    [b'ab', b'c']
    """
    if not isinstance(inputs, RaggedTensor):
        return _joined(inputs, axis, keepdims, separator)
    if axis not in (-1, 1) or keepdims:
        raise UnimplementedError("reduce_join: rows of different lengths are joined along their last axis only")
    rows = [separator.encode().join(row.numpy().tolist()) for row in inputs]
    return tf.constant(np.array(rows, object)) if rows else tf.constant([], string)


_joined = public(strings.reduce_join, "reduce_join")
