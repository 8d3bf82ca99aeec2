"""Strings: made of numbers, changed, examined, joined, and turned into numbers. None of it has a derivative."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualgrad.extras.fingerprint import fingerprint64
from dualgrad.extras.ops.host import host_op
from engine.core.arguments import normalize_axis
from engine.core.aval import Aval, broadcast_shapes
from engine.core.batching import elementwise_rule, refused
from engine.core.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64, string
from engine.core.kinds import nondifferentiable
from engine.core.op import Op
from engine.core.operands import Operand, operands
from engine.core.value import shape_of
from engine.ops.patterns import matcher
from engine.runtime.errors import DTypeError, InvalidArgumentError, NotKnownYet

_UNITS = ("BYTE", "UTF8_CHAR")


def _strings_only(name: str, avals: Sequence[Aval], names: Sequence[str]) -> None:
    for aval, argument in zip(avals, names, strict=False):
        if aval.dtype is not string:
            raise DTypeError(f"{name}: argument `{argument}` must be of strings, got {aval}")


def _elementwise(
    name: str, type: str, function: Callable[..., Any], result: DType | None, args: tuple[str, ...], doc: str
) -> Op:
    """An op that computes each element by a Python function; the first operand is of strings.

    Without a `result`, the parameter `out_type` is the dtype.
    """

    def kernel(*inputs: Any, **params: Any) -> np.ndarray:
        arrays = np.broadcast_arrays(*inputs)
        dtype = result or params["out_type"]
        out = np.empty(arrays[0].shape, dtype.numpy)
        columns = [np.ravel(a).tolist() for a in arrays]
        if columns[0]:
            out.reshape(-1)[:] = [function(*row, **params) for row in zip(*columns, strict=True)]
        return out

    def abstract(*avals: Aval, **params: Any) -> Aval:
        _strings_only(name.removesuffix("_op"), avals, args[:1])
        return Aval(broadcast_shapes(name, *[a.shape for a in avals]), result or params["out_type"])

    return nondifferentiable(
        name, kernel, abstract=abstract, batch=elementwise_rule, type=type, args=args, strict=False, doc=doc
    )


def _characters(x: bytes, unit: str) -> bytes | str:
    return x if unit == "BYTE" else x.decode("utf-8", "replace")


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

lower_op = _elementwise(
    "lower_op",
    "StringLower",
    lambda x, *, encoding: x.decode().lower().encode() if encoding else x.lower(),
    string,
    ("input",),
    "Small letters in place of capitals.",
)
upper_op = _elementwise(
    "upper_op",
    "StringUpper",
    lambda x, *, encoding: x.decode().upper().encode() if encoding else x.upper(),
    string,
    ("input",),
    "Capitals in place of small letters.",
)
strip_op = _elementwise(
    "strip_op", "StringStrip", lambda x: x.strip(), string, ("input",), "Strings without white space at their ends."
)
length_op = _elementwise(
    "length_op",
    "StringLength",
    lambda x, *, unit: len(_characters(x, unit)),
    int32,
    ("input",),
    "The lengths of strings.",
)


def _substr(x: bytes, pos: int, count: int, *, unit: str) -> bytes:
    text = _characters(x, unit)
    if not -len(text) <= pos <= len(text):
        raise InvalidArgumentError(f"substr: pos {pos} out of range for string {x!r}")
    start = pos + len(text) if pos < 0 else pos
    return _bytes(text[start : start + max(count, 0)])


substr_op = _elementwise("substr_op", "Substr", _substr, string, ("input", "pos", "len"), "Parts of strings.")


def _regex_replace(x: bytes, *, pattern: bytes, rewrite: bytes, replace_global: bool) -> bytes:
    template = re.sub(rb"\\(\d)", rb"\\g<\1>", rewrite)
    return matcher("regex_replace", pattern, x, True).sub(template, x, count=0 if replace_global else 1)


regex_replace_op = _elementwise(
    "regex_replace_op", "RegexReplace", _regex_replace, string, ("input",), "What matches a pattern, replaced."
)
regex_full_match_op = _elementwise(
    "regex_full_match_op",
    "RegexFullMatch",
    lambda x, *, pattern: matcher("regex_full_match", pattern, x, False).fullmatch(x) is not None,
    bool_,
    ("input",),
    "Whether strings as a whole match a pattern.",
)


def _number(x: bytes, *, out_type: DType) -> np.generic:
    try:
        if b"_" in x:
            raise ValueError("Python would take it for a number")
        if out_type in (int32, int64):
            return out_type.numpy.type(int(x))
        return out_type.numpy.type(float(x))
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            f"StringToNumberOp could not correctly convert string: {x.decode(errors='replace')}"
        ) from None


to_number_op = _elementwise(
    "to_number_op", "StringToNumber", _number, None, ("input",), "The numbers that strings stand for."
)


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
    flags = "%" + fill + (str(width) if width > -1 else "")
    digits = f".{precision}" if precision > -1 else ""
    letter = "e" if scientific else "g" if shortest else "f"

    def text(v: Any) -> str:
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, int):
            return (flags + "d") % v
        if isinstance(v, complex):
            return f"({text(v.real)},{text(v.imag)})"
        return (flags + digits + letter) % v

    out = np.empty(x.shape, object)
    if x.size:
        out.reshape(-1)[:] = [v if isinstance(v, bytes) else text(v).encode() for v in np.ravel(x).tolist()]
    return out


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


def _join_abstract(*avals: Aval, separator: bytes) -> Aval:
    _strings_only("join", avals, ["inputs"] * len(avals))
    return Aval(broadcast_shapes("join", *[a.shape for a in avals]), string)


@host_op("StringJoin", _join_abstract, args=("*inputs",), batch=elementwise_rule)
def join_op(*inputs: Any, separator: bytes) -> np.ndarray:
    """Strings one after the other."""
    arrays = np.broadcast_arrays(*inputs)
    out = np.empty(arrays[0].shape, object)
    if out.size:
        out.reshape(-1)[:] = [separator.join(row) for row in zip(*[np.ravel(a) for a in arrays], strict=True)]
    return out


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
    _strings_only("reduce_join", [x], ["inputs"])
    if x.shape is None:
        return Aval(None, string)
    dims = [1 if a in axes else d for a, d in enumerate(x.shape) if keepdims or a not in axes]
    return Aval(tuple(dims), string)


_one_by_one = refused("strings cannot be vectorized; treat them before")


@host_op("ReduceJoin", _reduce_join_abstract, args=("inputs",), batch=_one_by_one)
def reduce_join_op(x: Any, *, axes: tuple[int, ...], keepdims: bool, separator: bytes) -> np.ndarray:
    """The strings along axes, one after the other."""
    for axis in axes:
        rows = np.moveaxis(x, axis, -1)
        joined = np.empty(rows.shape[:-1], object)
        if joined.size:
            joined.reshape(-1)[:] = [separator.join(r.tolist()) for r in rows.reshape(joined.size, -1)]
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


to_hash_bucket_fast_op = _elementwise(
    "to_hash_bucket_fast_op",
    "StringToHashBucketFast",
    lambda x, *, num_buckets, out_type: fingerprint64(x) % num_buckets,
    None,
    ("input",),
    "The bucket of each string.",
)


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
    return to_hash_bucket_fast_op(input, num_buckets=int(num_buckets), out_type=int64)


def _parts(x: bytes, *, sep: bytes, maxsplit: int, skip_empty: bool, any_of: bool) -> list[bytes]:
    if any_of and not x:
        return []
    if any_of:
        parts = re.split(b"[" + re.escape(sep) + b"]", x) if sep else [x[i : i + 1] for i in range(len(x))]
    else:
        parts = x.split(sep or None, maxsplit)
    return [p for p in parts if p] if skip_empty else parts


def _split_abstract(x: Aval, **_: Any) -> tuple[Aval, ...]:
    _strings_only("split", [x], ["input"])
    return Aval((None, 2), int64), Aval((None,), string), Aval((2,), int64)


@host_op("StringSplitV2", _split_abstract, args=("input",), batch=_one_by_one, multi=True)
def string_split_op(x: Any, **how: Any) -> tuple[np.ndarray, ...]:
    """Parts of strings, as the indices, values and shape of a sparse matrix with a row for each string."""
    rows = [_parts(text, **how) for text in np.ravel(x).tolist()]
    lengths = [len(row) for row in rows]
    places = np.concatenate(
        [np.zeros((0, 2), np.int64), *[[[i, j] for j in range(n)] for i, n in enumerate(lengths) if n]]
    )
    values = np.empty(sum(lengths), object)
    values[:] = [part for row in rows for part in row]
    return places.astype(np.int64), values, np.array([len(rows), max(lengths, default=0)], np.int64)
