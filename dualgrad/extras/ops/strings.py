"""Strings: made of numbers, changed, examined, joined, and turned into numbers. None of it has a derivative."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np

from dualgrad.extras.fingerprint import fingerprints
from dualgrad.extras.ops.host import host_op, row_places
from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.value import shape_of
from engine.ops.patterns import matcher
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotKnownYet

_UNITS = ("BYTE", "UTF8_CHAR")


def _filled(results: Iterable[Any], shape: tuple[int, ...], dtype: Any = object) -> np.ndarray:
    if isinstance(results, np.ndarray):
        return results.astype(dtype).reshape(shape)
    return np.fromiter(results, dtype, math.prod(shape)).reshape(shape)


def _elementwise(
    type: str, result: DType | None, args: tuple[str, ...] = ("input",)
) -> Callable[[Callable[..., Iterable[Any]]], Op]:
    """Make a function an op whose elements do not depend on each other; its first operand, or all, are of strings.

    The function takes a list of the elements of each operand that has strings, a vector of those of others, and gives
    the results: what is done for each string is a call of C. Without a `result`, the parameter `out_type` is the dtype.
    """

    def made(function: Callable[..., Iterable[Any]]) -> Op:
        @functools.wraps(function)
        def kernel(*inputs: Any, **params: Any) -> np.ndarray:
            arrays = np.broadcast_arrays(*inputs)
            columns = [a.ravel().tolist() if a.dtype == object else a.ravel() for a in arrays]
            return _filled(function(*columns, **params), arrays[0].shape, (result or params["out_type"]).numpy)

        def abstract(*avals: Aval, **params: Any) -> Aval:
            name = function.__name__.removesuffix("_op")
            return Aval(broadcast_shapes(name, *[a.shape for a in avals]), result or params["out_type"])

        return host_op(type, abstract, args=args, batch=elementwise_rule, of_strings=True)(kernel)

    return made


def _together(function: Callable[[Any], Any], texts: Sequence[Any], between: Any = b"\0") -> Iterable[Any]:
    """The results of a function for strings or texts, by one call for all of them, with a zero between each two.

    It must let the zeros be. It is called one by one if there are zeros in them, or it raises an error.
    """
    joined = between.join(texts)
    if joined.count(between) == len(texts) - 1:
        with contextlib.suppress(UnicodeError):
            found = function(joined)
            return found.split("\0" if isinstance(found, str) else b"\0")
    return map(function, texts)


def _decoded(x: bytes) -> str:
    return x.decode("utf-8", "replace")


def _characters(texts: list[bytes], unit: str) -> Sequence[Any]:
    """The strings, or the text that they are."""
    return texts if unit == "BYTE" else list(_together(_decoded, texts))


def _bytes(x: Any) -> bytes:
    return x if isinstance(x, bytes) else x.encode()


def _unit(name: str, unit: Any) -> str:
    if unit not in _UNITS:
        raise ValueError(f"{name}: argument `unit` must be one of {', '.join(_UNITS)}, got {unit!r}")
    return str(unit)


def _encoding(name: str, encoding: Any) -> str:
    if encoding not in ("", "utf-8"):
        raise ValueError(f"{name}: argument `encoding` must be '' or 'utf-8', got {encoding!r}")
    return str(encoding)


# ---- one string at a time --------------------------------------------------------------------------------------------


def _in_text(method: Callable[[str], str], x: bytes) -> bytes:
    return method(x.decode()).encode()


@_elementwise("StringLower", string)
def lower_op(texts: list[bytes], *, encoding: str) -> Iterable[bytes]:
    """Small letters in place of capitals."""
    return _together(partial(_in_text, str.lower) if encoding else bytes.lower, texts)


@_elementwise("StringUpper", string)
def upper_op(texts: list[bytes], *, encoding: str) -> Iterable[bytes]:
    """Capitals in place of small letters."""
    return _together(partial(_in_text, str.upper) if encoding else bytes.upper, texts)


@_elementwise("StringStrip", string)
def strip_op(texts: list[bytes]) -> Iterable[bytes]:
    """Strings without white space at their ends."""
    return map(bytes.strip, texts)


@_elementwise("StringLength", int32)
def length_op(texts: list[bytes], *, unit: str) -> Iterable[int]:
    """The lengths of strings."""
    return map(len, _characters(texts, unit))


@_elementwise("Substr", string, args=("input", "pos", "len"))
def substr_op(strings: list[bytes], pos: np.ndarray, count: np.ndarray, *, unit: str) -> Iterable[bytes]:
    """Parts of strings."""
    texts = _characters(strings, unit)
    size = np.fromiter(map(len, texts), np.int64, len(texts))
    pos, count = (x.astype(np.int64, casting="same_kind") for x in (pos, count))
    outside = np.flatnonzero((pos < -size) | (pos > size))
    if len(outside):
        i = outside[0]
        raise InvalidArgumentError(f"substr: pos {pos[i]} out of range for string {strings[i]!r}")
    starts = np.where(pos < 0, pos + size, pos)
    ends = starts + np.clip(count, 0, size)
    parts = [text[a:b] for text, a, b in zip(texts, starts.tolist(), ends.tolist(), strict=True)]
    return parts if unit == "BYTE" else _together(str.encode, parts, "\0")


@_elementwise("RegexReplace", string)
def regex_replace_op(texts: list[bytes], *, pattern: bytes, rewrite: bytes, replace_global: bool) -> Iterable[bytes]:
    """Strings in which a pattern is replaced."""
    template = re.sub(rb"\\(\d)", rb"\\g<\1>", rewrite)
    replaced = matcher("regex_replace", pattern, texts, True).sub
    return map(replaced, repeat(template), texts, repeat(0 if replace_global else 1))


@_elementwise("RegexFullMatch", bool_)
def regex_full_match_op(texts: list[bytes], *, pattern: bytes) -> Iterable[bool]:
    """Whether strings as a whole match a pattern."""
    return [found is not None for found in map(matcher("regex_full_match", pattern, texts, False).fullmatch, texts)]


def _decimals(texts: list[bytes], out_type: DType) -> np.ndarray | None:
    """The integers that strings of digits stand for; None if one is something else, or may be too large."""
    joined = b",".join([b"", *texts, b""])
    are_decimals = (
        not joined.translate(None, b"0123456789-,")
        and joined.count(b",") == len(texts) + 1
        and joined.count(b"-") == joined.count(b",-")
        and b",," not in joined
        and b"-," not in joined
    )
    if not are_decimals:
        return None
    found, ends = np.fromstring(joined[1:-1], np.int64, sep=","), np.iinfo(out_type.numpy)
    return None if found.min() <= ends.min or found.max() >= ends.max else found.astype(out_type.numpy)


@_elementwise("StringToNumber", None)
def to_number_op(texts: list[bytes], *, out_type: DType) -> np.ndarray:
    """The numbers that strings stand for."""
    return numbers(texts, out_type)


def numbers(texts: list[bytes], out_type: DType) -> np.ndarray:
    """The numbers that strings stand for; InvalidArgumentError if one stands for none."""
    is_integer = out_type in (int32, int64)
    if is_integer and len(texts) > 1 and (found := _decimals(texts, out_type)) is not None:
        return found
    try:
        if b"_" in b"".join(texts):
            raise ValueError("Python would take it for a number")
        return np.array(list(map(int if is_integer else float, texts)), out_type.numpy)
    except (ValueError, OverflowError):
        if len(texts) > 1:
            # the first that stands for none is named
            return np.concatenate([numbers([text], out_type) for text in texts])
        raise InvalidArgumentError(
            f"StringToNumberOp could not correctly convert string: {texts[0].decode(errors='replace')}"
        ) from None


@operands("input")
def lower(input: Any, encoding: str = "") -> Operand:
    """Small letters in place of capitals: of ASCII, or of all letters with ``encoding="utf-8"``.

    Examples
    --------
    >>> lower(np.array([b"Ab"], object))
    array([b'ab'], dtype=object)
    """
    return lower_op(input, encoding=_encoding("lower", encoding))


@operands("input")
def upper(input: Any, encoding: str = "") -> Operand:
    """Capitals in place of small letters: of ASCII, or of all letters with ``encoding="utf-8"``."""
    return upper_op(input, encoding=_encoding("upper", encoding))


@operands("input")
def strip(input: Any) -> Operand:
    """Strings without white space at their ends."""
    return strip_op(input)


@operands("input")
def length(input: Any, unit: str = "BYTE") -> Operand:
    """The lengths of strings, in bytes or (``"UTF8_CHAR"``) characters."""
    return length_op(input, unit=_unit("length", unit))


@operands("input", alone=("pos", "len"))
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE") -> Operand:
    """Parts of strings: `len` bytes or (``"UTF8_CHAR"``) characters from `pos` on, counted from the end if negative.

    Raises
    ------
    InvalidArgumentError
        If a string does not reach to `pos`.
    """
    return substr_op(input, pos, len, unit=_unit("substr", unit))


@operands("input")
def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: bool = True) -> Operand:
    r"""Replace what matches a pattern; ``\1`` in `rewrite` stands for the first group, ``\0`` for all that matched.

    Examples
    --------
    >>> regex_replace(np.array(b"a-b", object), "(.)-(.)", r"\2+\1").item()
    b'b+a'
    """
    return regex_replace_op(
        input, pattern=_bytes(pattern), rewrite=_bytes(rewrite), replace_global=bool(replace_global)
    )


@operands("input")
def regex_full_match(input: Any, pattern: Any) -> Operand:
    """Whether strings as a whole match a pattern."""
    return regex_full_match_op(input, pattern=_bytes(pattern))


@operands("input")
def to_number(input: Any, out_type: Any = float32) -> Operand:
    """The numbers that strings stand for.

    Raises
    ------
    InvalidArgumentError
        If one stands for none.

    Examples
    --------
    >>> to_number(np.array([b"1.5", b"-2"], object))
    array([ 1.5, -2. ], dtype=float32)
    """
    dtype = as_dtype(out_type)
    if dtype not in (float32, float64, int32, int64):
        raise DTypeError(f"to_number: argument `out_type` must be float32, float64, int32 or int64, got {dtype.name}")
    return to_number_op(input, out_type=dtype)


# ---- strings of numbers ----------------------------------------------------------------------------------------------


_WIDEST = 1 << 12
"""Characters of a number, at most: of the digits of float64 no more than 1,100 are not zero."""


@host_op("AsString", lambda x, **_: Aval(x.shape, string), args=("input",), batch=elementwise_rule)
def as_string_op(x: Any, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> np.ndarray:
    """Numbers as strings."""
    if x.dtype == object:
        return x.copy()
    if x.dtype == bool:
        return np.where(x, b"true", b"false").astype(object)
    flags = "%" + fill + (str(width) if width > -1 else "")
    digits, letter = f".{precision}" if precision > -1 else "", "e" if scientific else "g" if shortest else "f"
    one = flags + ("d" if x.dtype.kind in "iu" else digits + letter)
    values = np.ravel(x)
    if x.dtype.kind == "c":
        one, values = f"({one},{one})", values.view(x.real.dtype)
    # one call of C for all of them
    text = (f"{one}\0".encode() * x.size) % tuple(values.tolist())
    return _filled(text.split(b"\0"), x.shape)


@operands("input")
def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = ""
) -> Operand:
    """Numbers as strings.

    Parameters
    ----------
    input : value
    precision : int
        Digits after the point; by default six.
    scientific, shortest : bool
        Whether to write ``1.5e+00``, or whichever form is shorter.
    width : int
        The least length, to which they are filled up at the left with `fill` (a space, or ``"0"``).
    fill : str

    Examples
    --------
    >>> as_string(np.array([1.5, 20.0]), precision=1)
    array([b'1.5', b'20.0'], dtype=object)
    """
    if scientific and shortest:
        raise ValueError("as_string: Cannot select both scientific and shortest notation")
    for name, value in (("precision", precision), ("width", width)):
        if int(value) > _WIDEST:
            raise InvalidArgumentError(f"as_string: argument `{name}` must be at most {_WIDEST}, got {value}")
    return as_string_op(
        input,
        precision=int(precision),
        scientific=bool(scientific),
        shortest=bool(shortest),
        width=int(width),
        fill=str(fill),
    )


# ---- joining, splitting ----------------------------------------------------------------------------------------------


@_elementwise("StringJoin", string, args=("*inputs",))
def join_op(*texts: list[bytes], separator: bytes) -> Iterable[bytes]:
    """Strings one after the other."""
    return map(separator.join, zip(*texts, strict=True))


@operands("*inputs")
def join(inputs: Any, separator: str = "") -> Operand:
    """Strings of several tensors one after the other, with `separator` between them.

    Examples
    --------
    >>> join([np.array([b"a", b"b"], object), np.array(b"c", object)], "-")
    array([b'a-c', b'b-c'], dtype=object)
    """
    return join_op(*inputs, separator=_bytes(separator))


def _reduce_join_abstract(x: Aval, *, axes: tuple[int, ...], keepdims: bool, separator: bytes) -> Aval:
    if x.shape is None:
        return Aval(None, string)
    dims = [1 if a in axes else d for a, d in enumerate(x.shape) if keepdims or a not in axes]
    return Aval(tuple(dims), string)


_one_by_one = refused("strings cannot be vectorized; treat them before")


@host_op("ReduceJoin", _reduce_join_abstract, args=("inputs",), batch=_one_by_one, of_strings=True)
def reduce_join_op(x: Any, *, axes: tuple[int, ...], keepdims: bool, separator: bytes) -> np.ndarray:
    """The strings along axes, one after the other."""
    for axis in axes:
        rows = np.moveaxis(x, axis, -1)
        size = math.prod(rows.shape[:-1])
        joined = _filled(map(separator.join, rows.reshape(size, rows.shape[-1]).tolist()), rows.shape[:-1])
        x = np.expand_dims(joined, axis)
    return x if keepdims else np.squeeze(x, axes)


@operands("inputs")
def reduce_join(inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "") -> Operand:
    """The strings along axes (by default all, row by row) one after the other, with `separator` between them.

    Examples
    --------
    >>> reduce_join(np.array([[b"a", b"b"], [b"c", b"d"]], object), 1)
    array([b'ab', b'cd'], dtype=object)
    """
    shape = shape_of(inputs)
    if shape is None:
        raise NotKnownYet("reduce_join: the rank of `inputs` must be known")
    rank = len(shape)
    order = range(rank - 1, -1, -1) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    axes = tuple(normalize_axis("reduce_join", int(a), rank) for a in order)
    return reduce_join_op(inputs, axes=axes, keepdims=bool(keepdims), separator=_bytes(separator))


@_elementwise("StringToHashBucketFast", int64)
def to_hash_bucket_fast_op(texts: list[bytes], *, num_buckets: int) -> np.ndarray:
    """The bucket of each string."""
    return fingerprints(texts) % num_buckets


@operands("input")
def to_hash_bucket_fast(input: Any, num_buckets: int) -> Operand:
    """The bucket of each string: its fingerprint, modulo the number of buckets.

    Parameters
    ----------
    input : string value
    num_buckets : int
        At least 1.

    Returns
    -------
    int64 value, of the same shape

    Examples
    --------
    >>> to_hash_bucket_fast(np.array([b"a", b"b"], object), 10)
    array([9, 2])
    """
    if num_buckets < 1:
        raise InvalidArgumentError(f"to_hash_bucket_fast: argument `num_buckets` must be at least 1, got {num_buckets}")
    return to_hash_bucket_fast_op(input, num_buckets=int(num_buckets))


_BYTES = np.array([bytes([i]) for i in range(256)], object)


def _split(texts: list[bytes], sep: bytes, maxsplit: int, skip_empty: bool, any_of: bool) -> tuple[np.ndarray, Any]:
    """How many parts each string has, and the parts of all of them."""
    if any_of and not sep:
        return np.fromiter(map(len, texts), np.int64, len(texts)), _BYTES[np.frombuffer(b"".join(texts), np.uint8)]
    rows: Iterable[list[bytes]]
    if any_of:
        # an empty string has no parts
        cut = re.compile(b"[" + re.escape(sep) + b"]").split
        rows = [parts if text else [] for text, parts in zip(texts, map(cut, texts), strict=True)]
    else:
        rows = list(map(bytes.split, texts, repeat(sep or None), repeat(maxsplit)))
    if skip_empty:
        rows = [list(filter(None, parts)) for parts in rows]
    lengths = np.fromiter(map(len, rows), np.int64, len(texts))
    return lengths, np.fromiter(chain.from_iterable(rows), object, int(lengths.sum()))


def _split_abstract(x: Aval, **_: Any) -> tuple[Aval, ...]:
    return Aval((None, 2), int64), Aval((None,), string), Aval((2,), int64)


@host_op("StringSplitV2", _split_abstract, args=("input",), batch=_one_by_one, of_strings=True, multi=True)
def string_split_op(x: Any, **how: Any) -> tuple[np.ndarray, ...]:
    """Parts of strings, as the indices, values and shape of a sparse matrix with a row for each string."""
    lengths, values = _split(np.ravel(x).tolist(), **how)
    return row_places(lengths), values, np.array([len(lengths), lengths.max(initial=0)], np.int64)
