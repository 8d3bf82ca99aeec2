"""Protocol buffers' text format, read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from dualgrad.files.text_format import Scalar
from dualgrad.files.wire import Message
from engine.runtime.errors import DataLossError

M = TypeVar("M", bound=Message)

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<word>[^\s"'{}<>\[\]:;,\#]+)|(?P<sign>[{}<>\[\]:;,])"""
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DEEPEST = 100

_TYPES = (
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 "
    "QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64"
)
ENUMS = {f"DT_{name}": number for number, name in enumerate(_TYPES.split())}
ENUMS |= {f"{name}_REF": number + 100 for name, number in [*ENUMS.items()]} | {"LEGACY": 0, "V1": 1, "V2": 2}
"""The names that values of enums have in files of graphs."""


def parse(kind: type[M], data: bytes) -> M:
    """The message that a text stands for.

    Parameters
    ----------
    kind : Message class
    data : bytes

    Raises
    ------
    DataLossError
        If it is no such message; fields that the class does not have are skipped.

    Examples
    --------
    >>> from dualgrad.files.protos import TensorShapeProto
    >>> parse(TensorShapeProto, b"dim { size: 3 } dim { size: -1 }").dim[1].size
    -1
    """
    try:
        text = data.decode()
        made = kind()
        parser = _Parser(text)
        parser.fields(made, "", 0)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataLossError(f"Error parsing text-format {kind.__name__}: {error}") from None
    return made


class _Parser:
    """Goes through the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens, "")

    def _take(self) -> str:
        token, self._next = self._next, next(self._tokens, "")
        return token

    def _accept(self, *signs: str) -> str:
        return self._take() if self._next in signs and self._next else ""

    def fields(self, message: Any, closing: str, depth: int) -> None:
        """The fields of a message, up to a closing bracket. Without a message, they are skipped."""
        if depth > _DEEPEST:
            raise ValueError("messages are nested too deeply")
        while self._next != closing:
            if not self._next:
                raise ValueError(f"{closing!r} is missing")
            self._field(message, depth)
            self._accept(";", ",")
        self._take()

    def _field(self, message: Any, depth: int) -> None:
        name = self._take()
        field = None if message is None else message.NAMES.get(name)
        colon = self._accept(":")
        if self._next == "[" and colon:
            self._take()
            while not self._accept("]"):
                self._value(message, field, depth)
                self._accept(",")
                if not self._next:
                    raise ValueError("']' is missing")
            return
        self._value(message, field, depth)

    def _value(self, message: Any, field: Any, depth: int) -> None:
        opening = self._accept("{", "<")
        if opening:
            closing = "}" if opening == "{" else ">"
            if field is not None and field.key:
                self._entry(message, field, closing, depth)
                return
            if field is not None and not field.is_message:
                raise ValueError(f"{field.name!r} is no message")
            inner = None if field is None else field.kind()
            self.fields(inner, closing, depth + 1)
            if field is not None:
                self._store(message, field, inner)
            return
        tokens = [self._take()]
        while field is not None and tokens[0][:1] in ('"', "'") and self._next[:1] in ('"', "'"):
            tokens.append(self._take())
        token = tokens[0] if len(tokens) == 1 else _joined(tokens)
        if field is not None:
            if field.is_message or field.key:
                raise ValueError(f"{field.name!r} is a message")
            self._store(message, field, _scalar(field.kind, token))

    def _entry(self, message: Any, field: Any, closing: str, depth: int) -> None:
        key: Scalar
        key, value = "", field.kind() if field.is_message else field.default()
        while self._next != closing:
            name = self._take()
            self._accept(":")
            if name == "key":
                key = _scalar(field.key, self._take())
            elif name == "value" and field.is_message:
                opening = self._accept("{", "<")
                if not opening:
                    raise ValueError("the value of an entry is a message")
                self.fields(value, "}" if opening == "{" else ">", depth + 1)
            elif name == "value":
                value = _scalar(field.kind, self._take())
            else:
                raise ValueError(f"an entry has no field {name!r}")
            self._accept(";", ",")
        self._take()
        getattr(message, field.name)[key] = value

    def _store(self, message: Any, field: Any, value: Any) -> None:
        if field.repeated:
            getattr(message, field.name).append(value)
        elif field.is_message:
            field.store(message, value)
        else:
            setattr(message, field.name, value)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"{text[at : at + 20]!r}, in line {line}, is not understood")
        at = match.end()
        if match.lastgroup:
            yield match[0]


def _joined(tokens: Sequence[str]) -> str:
    """Texts that stand side by side as one, in the first one's quotation marks."""
    mark = tokens[0][0]
    inner = [t[1:-1] if t[0] == mark else t[1:-1].replace(mark, "\\" + mark) for t in tokens]
    return f"{mark}{''.join(inner)}{mark}"


def _scalar(kind: str, token: str) -> Scalar:
    """A token as a value of a kind of field."""
    if kind in ("string", "bytes"):
        if token[:1] not in ("'", '"'):
            raise ValueError(f"{token!r} is no string")
        raw = _ESCAPE.sub(_unescaped, token[1:-1].encode())
        return raw if kind == "bytes" else raw.decode()
    if kind == "bool":
        if token not in ("true", "false", "t", "f", "1", "0", "True", "False"):
            raise ValueError(f"{token!r} is no bool")
        return token in ("true", "t", "1", "True")
    if kind in ("float", "double"):
        return float(token.rstrip("fF") if "inf" not in token.lower() and "0x" not in token.lower() else token)
    if kind == "enum" and token in ENUMS:
        return ENUMS[token]
    return int(token, 0)


def _unescaped(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, plain = found.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    return bytes([int(hexadecimal, 16)]) if hexadecimal else _PLAIN.get(plain, plain)
