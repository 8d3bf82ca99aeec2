"""Rows of different lengths, as far as texts need them: ``tf.ragged``, and what strings become that are taken apart.

A `RaggedTensor` is handed to tables and layers of vocabularies, or made a tensor of; nothing else takes one.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np

from dualgrad.extras.ops.host import row_places
from dualgrad.extras.ops.strings import string_split_op
from engine.core.detach import looked_at
from engine.core.dtypes import DType, as_dtype, float32, int32, int64, string
from engine.core.tensor_shape import TensorShape
from engine.core.value import shape_of
from engine.runtime.errors import DTypeError, InvalidArgumentError
from tape_api.library import root as tf
from tape_api.tensor import convert_to_tensor


class RaggedTensor:
    """Rows of different lengths.

    Parameters
    ----------
    values : tensor of shape (n, ...), or RaggedTensor
        The rows, one after the other.
    row_splits : integer array
        Where each row begins, and where the last one ends.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.unicode_decode(["ab", "c"], "UTF-8").to_tensor().numpy().tolist()
    [[97, 98], [99, 0]]
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        self.values = values
        self._splits = np.asarray(row_splits)
        if self._splits.dtype not in (np.int32, np.int64):
            self._splits = self._splits.astype(np.int64)

    @property
    def row_splits(self) -> Any:
        """Where each row begins, and where the last one ends."""
        return tf.constant(self._splits)

    @property
    def flat_values(self) -> Any:
        """The innermost values, a tensor."""
        return self.values.flat_values if isinstance(self.values, RaggedTensor) else self.values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all dimensions of different lengths, the outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions may have different lengths."""
        return 1 + (self.values.ragged_rank if isinstance(self.values, RaggedTensor) else 0)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The number of rows, and None for their length."""
        return TensorShape([len(self), None, *self.values.shape[1:]])

    def __len__(self) -> int:
        return len(self._splits) - 1

    def __getitem__(self, key: Any) -> Any:
        rows, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        if isinstance(rows, slice):
            picked = [self[i][rest] if rest else self[i] for i in range(*rows.indices(len(self)))]
            return _stacked(picked, self.values[:0], self._splits.dtype)
        row = range(len(self))[int(rows)]
        found = self.values[int(self._splits[row]) : int(self._splits[row + 1])]
        return found[rest] if rest else found

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows."""
        if axis > 1 and isinstance(self.values, RaggedTensor):
            return RaggedTensor(self.values.row_lengths(axis - 1), self._splits)
        if axis != 1:
            raise ValueError(f"row_lengths: argument `axis` must be a dimension of different lengths, got {axis}")
        return tf.constant(np.diff(self._splits))

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """The number of rows."""
        return tf.constant(len(self), self.row_splits.dtype if out_type is None else out_type)

    def with_values(self, values: Any) -> RaggedTensor:
        """The same rows of other values, ragged or not."""
        return RaggedTensor(values, self._splits)

    def with_flat_values(self, flat_values: Any) -> RaggedTensor:
        """The same rows of other innermost values."""
        inner = self.values.with_flat_values(flat_values) if isinstance(self.values, RaggedTensor) else flat_values
        return self.with_values(inner)

    def to_list(self) -> list[Any]:
        """The rows as lists."""
        inner = self.values.to_list() if isinstance(self.values, RaggedTensor) else self.values.numpy().tolist()
        return [inner[a:b] for a, b in pairwise(self._splits.tolist())]

    def numpy(self) -> np.ndarray:
        """The rows as arrays in an array of objects; one array, if they have equal lengths."""
        rows = [row.numpy() for row in self]
        if rows and len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        return np.fromiter(rows, object, len(rows))

    def _places(self) -> tuple[np.ndarray, list[int]]:
        """For each of the innermost values its place in the tensor that holds all rows, and that tensor's shape."""
        lengths = np.diff(self._splits)
        ends = [len(self), int(lengths.max(initial=0))]
        places = row_places(lengths)
        if not isinstance(self.values, RaggedTensor):
            return places, ends
        inner, more = self.values._places()
        return np.concatenate([places[inner[:, 0]], inner[:, 1:]], 1), [*ends, *more[1:]]

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Any:
        """A tensor as wide as the longest row, with zeros, empty strings, or a given value behind shorter ones."""
        places, ends = self._places()
        given = [None] * len(ends) if shape is None else list(TensorShape(shape))[: len(ends)]
        ends = [end if size is None else int(size) for end, size in zip(ends, given, strict=True)]
        rest = default_value if default_value is not None else b"" if self.dtype is string else 0
        kept = (places < ends).all(1)
        whole = [*ends, *self.flat_values.shape[1:]]
        if self.dtype is string:
            texts = np.full(whole, rest, object)
            texts[tuple(places[kept].T)] = self.flat_values.numpy()[kept]
            return tf.constant(texts, string)
        values = self.flat_values if kept.all() else tf.boolean_mask(self.flat_values, kept)
        return tf.tensor_scatter_nd_update(tf.fill(whole, tf.cast(rest, self.dtype)), places[kept], values)

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"


def _stacked(rows: list[Any], like: Any, dtype: Any) -> Any:
    """Rows below each other; a tensor, if they are scalars."""
    if rows and not isinstance(rows[0], RaggedTensor) and not rows[0].shape.rank:
        return tf.stack(rows)
    splits = np.cumsum([0, *map(len, rows)], dtype=dtype)
    if isinstance(like, RaggedTensor):
        return RaggedTensor(_stacked([row for part in rows for row in part], like.values, dtype), splits)
    return RaggedTensor(tf.concat(rows, 0) if rows else like, splits)


def _depth(x: Any) -> int | None:
    """How deep scalars lie within lists; None if there are none.

    Raises
    ------
    ValueError
        If some lie deeper than others.
    """
    if not isinstance(x, (list, tuple, np.ndarray)) or (isinstance(x, np.ndarray) and not x.ndim):
        return 0
    inner = {_depth(item) for item in x} - {None}
    if len(inner) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return 1 + inner.pop() if inner else None  # type: ignore[operator]


def _lists(x: Any) -> int:
    """How deep lists lie within lists."""
    if isinstance(x, np.ndarray):
        return x.ndim
    return 1 + max(map(_lists, x), default=0) if isinstance(x, (list, tuple)) else 0


def _inner_shape(x: Any, levels: int) -> tuple[int, ...]:
    """The shape of what lies that deep, by the first that is there."""
    if levels:
        return next((s for item in x if (s := _inner_shape(item, levels - 1))), ())
    return np.shape(x)


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Nested lists as rows of different lengths.

    Parameters
    ----------
    pylist : nested list
        All its numbers or strings lie equally deep.
    dtype : DType, optional
    ragged_rank : int, optional
        How many dimensions may have different lengths; by default all but the first, and those of `inner_shape`.
    inner_shape : shape, optional
        Of the dimensions that have equal lengths.
    name : str, optional
    row_splits_dtype : {int64, int32}

    Returns
    -------
    RaggedTensor, or a tensor if no dimension may have different lengths

    Raises
    ------
    ValueError
        If the lists are not equally deep, or `ragged_rank` does not fit them.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.ragged.constant([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    scalars = _depth(pylist)
    depth = max(scalars or 0, _lists(pylist))
    if scalars is not None and _lists(pylist) > scalars:
        raise ValueError("Invalid pylist: empty list nesting is greater than scalar value nesting")
    inner = None if inner_shape is None else tuple(TensorShape(inner_shape).as_list())
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - len(inner or ()))
    if not 0 <= ragged_rank < max(depth, 1):
        raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
    level, splits = [pylist], list[Any]()
    for _ in range(ragged_rank):
        level = [x for row in level for x in row]
        splits.append(np.cumsum([0, *map(len, level)], dtype=as_dtype(row_splits_dtype).numpy))
    if ragged_rank:
        items = [x for row in level for x in row]
        shape = inner if inner is not None else _inner_shape(level, 2) if depth > ragged_rank + 1 else ()
        flat = tf.constant(items, dtype) if items else tf.zeros([0, *shape], dtype or float32)
    else:
        flat = tf.constant(pylist, dtype)
    if inner is not None and tuple(flat.shape[1:]) != inner:
        raise ValueError(f"Invalid pylist={pylist!r}: incompatible with inner_shape={inner}")
    for ends in reversed(splits):
        flat = RaggedTensor(flat, ends)
    return flat


_OUTPUTS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def _errors(name: str, errors: str) -> None:
    if errors not in ("strict", "replace", "ignore"):
        raise InvalidArgumentError(f"{name}: `errors` must be 'strict', 'replace' or 'ignore', got {errors!r}")


def _points(text: bytes, codec: str, errors: str, replacement: int) -> list[int]:
    """The code points of a string."""
    points: list[int] = []
    while text:
        try:
            points += map(ord, text.decode(codec))
            break
        except UnicodeDecodeError as error:
            if errors == "strict":
                raise InvalidArgumentError("unicode_decode: Invalid formatting on input string") from None
            points += map(ord, text[: error.start].decode(codec))
            points += [replacement] * (errors == "replace")
            text = text[error.end :]
    return points


def _all_points(texts: list[bytes], codec: str, errors: str, replacement: int) -> tuple[list[int], np.ndarray]:
    """How many code points each string has, and those of all strings."""
    try:
        decoded = list(map(bytes.decode, texts, repeat(codec)))
        return list(map(len, decoded)), np.frombuffer("".join(decoded).encode("utf-32-le", "surrogatepass"), "<i4")
    except UnicodeDecodeError:
        rows = [_points(text, codec, errors, replacement) for text in texts]
        return list(map(len, rows)), np.fromiter(chain.from_iterable(rows), np.int32)


def rows_of(values: Any, lengths: Any, shape: tuple[int, ...]) -> RaggedTensor:
    """Rows of these lengths, one for each element of a tensor of a shape."""
    made = RaggedTensor(values, np.cumsum([0, *lengths]))
    for axis in range(len(shape) - 1, 0, -1):
        made = RaggedTensor(made, np.arange(math.prod(shape[:axis]) + 1) * shape[axis])
    return made


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of strings.

    Parameters
    ----------
    input : string tensor, shape (...)
    input_encoding : str
        "UTF-8", "UTF-16-BE", "UTF-32-BE", or another one that Python knows.
    errors : {"replace", "ignore", "strict"}
        What becomes of bytes that are no character.
    replacement_char : int
        What stands for them.
    replace_control_characters : bool
        Whether it stands for control characters, too.
    name : str, optional

    Returns
    -------
    int32 tensor, shape (characters,), or RaggedTensor of shape (..., characters)

    Raises
    ------
    InvalidArgumentError
        If there is no such encoding, or with "strict", if a string is not in it.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.unicode_decode(["ab", "c"], "UTF-8")
    <tf.RaggedTensor [[97, 98], [99]]>
    """
    _errors("unicode_decode", errors)
    try:
        codec = _OUTPUTS.get(input_encoding) or codecs.lookup(input_encoding).name
    except LookupError:
        raise InvalidArgumentError(
            f"unicode_decode: Could not create converter for input encoding: {input_encoding}"
        ) from None
    if isinstance(input, RaggedTensor):
        inner = unicode_decode(input.flat_values, input_encoding, errors, replacement_char, replace_control_characters)
        return input.with_flat_values(inner)
    given = convert_to_tensor(input)
    if given.dtype is not string:
        raise DTypeError(f"unicode_decode: argument `input` must be of strings, got {given.dtype.name}")
    looked_at(given)
    replacement = int(replacement_char)
    lengths, points = _all_points(np.ravel(given.numpy()).tolist(), codec, errors, replacement)
    if replace_control_characters:
        # those below U+0020 and from U+007F to U+009F
        points = np.where((points < 32) | (points >= 127) & (points < 160), replacement, points)
    found = tf.constant(points, int32)
    shape = np.shape(given.numpy())
    return rows_of(found, lengths, shape) if shape else found


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None
) -> Any:
    """The strings that code points along the last dimension make; see `unicode_decode`.

    Raises
    ------
    InvalidArgumentError
        If there is no such encoding, or with "strict", if a number is no code point.
    ValueError
        If the input is a scalar.

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.unicode_encode([[97, 98], [99, 100]], "UTF-8").numpy().tolist()
    [b'ab', b'cd']
    """
    _errors("unicode_encode", errors)
    if output_encoding not in _OUTPUTS:
        raise InvalidArgumentError(
            f"unicode_encode: `output_encoding` must be one of {list(_OUTPUTS)}, got {output_encoding!r}"
        )
    if isinstance(input, RaggedTensor) and len(input.values.shape) > 1:
        return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
    given = input.values if isinstance(input, RaggedTensor) else convert_to_tensor(input, int32)
    if not given.shape.rank:
        raise ValueError("input_tensor's rank must be at least 1.")
    looked_at(given)
    points, shape = given.numpy().reshape(-1), list(given.shape)[:-1]
    lengths = np.full(math.prod(shape), given.shape[-1])
    if isinstance(input, RaggedTensor):
        shape, lengths = [len(input)], np.diff(input._splits)
    valid = (points >= 0) & (points < 0xD800) | (points >= 0xE000) & (points < 0x110000)
    if errors == "strict" and not valid.all():
        raise InvalidArgumentError("unicode_encode: Code point is out of range for Unicode, or is a surrogate.")
    if errors == "replace":
        points = np.where(valid, points, int(replacement_char))
    else:
        points, lengths = points[valid], np.bincount(row_places(lengths)[valid, 0], minlength=len(lengths))
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    texts = [text[a:b].encode(_OUTPUTS[output_encoding]) for a, b in pairwise(np.cumsum([0, *lengths]).tolist())]
    return tf.constant(np.fromiter(texts, object, len(texts)).reshape(shape), string)


def _cut(x: Any, sep: bytes, maxsplit: int, any_of: bool) -> Any:
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(_cut(x.flat_values, sep, maxsplit, any_of))
    strings = convert_to_tensor(x)
    places, values, _ = string_split_op(strings, sep=sep, maxsplit=maxsplit, skip_empty=False, any_of=any_of)
    if shape_of(strings) == ():
        return values
    looked_at(strings)
    shape = np.shape(strings.numpy())
    return rows_of(values, np.bincount(places.numpy()[:, 0], minlength=math.prod(shape)), shape)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between `sep` (by default white space), at most ``maxsplit + 1`` of each.

    Parameters
    ----------
    input : string tensor, shape (...), or RaggedTensor
    sep : str, optional
    maxsplit : int
    name : str, optional

    Returns
    -------
    string tensor, shape (parts,), or RaggedTensor of shape (..., parts)

    Examples
    --------
    >>> import tape_api as tf
    >>> tf.strings.split("a b").numpy()
    array([b'a', b'b'], dtype=object)
    >>> tf.strings.split(["a b", "c"])
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    return _cut(input, sep if isinstance(sep, bytes) else (sep or "").encode(), int(maxsplit), False)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of strings; see `split`."""
    return _cut(input, b"", -1, True)


__all__ = ["constant"]
