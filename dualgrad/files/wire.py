"""Protocol buffers: the wire format, and messages declared as classes.

A message is a subclass of `Message` with a `Field` per field (`dualgrad.files.protos` has them). It has the methods
that programs use of Google's classes: keywords in the constructor, attributes, ``value.add(...)`` on repeated messages,
``SerializeToString`` and ``FromString``. Fields that a class does not declare are kept and written again.

References
----------
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from dualgrad.files.fields import INTEGERS, Field
from dualgrad.files.text_format import lines
from dualgrad.files.varints import read_varint, read_varints, varint
from engine.runtime.errors import DataLossError
from engine.runtime.tuning import TUNING

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_FIXED = {"float": "<f4", "double": "<f8", "fixed32": "<u4", "fixed64": "<u8"}
_LONG = TUNING.packed_bytes
"""Packed integers of so many bytes are decoded by NumPy."""


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- messages --------------------------------------------------------------------------------------------------------


class Message:
    """Base of the messages.

    Examples
    --------
    >>> class Point(Message):
    ...     x = Field(1, "int32")
    ...     names = Field(2, "string", repeated=True)
    >>> data = Point(x=150, names=["a"]).SerializeToString()
    >>> data.hex(), Point.FromString(data).names
    ('089601120161', ['a'])
    """

    _values: dict[str, Any]
    _explicit: set[str]
    _unknown: list[bytes]
    FIELDS: ClassVar[dict[int, Field]] = {}
    NAMES: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        fields = [f for f in vars(cls).values() if isinstance(f, Field)]
        for field in fields:
            if field.kind == "self":
                field.kind = cls
        cls.FIELDS = {f.number: f for f in sorted(fields, key=lambda f: f.number)}
        cls.NAMES = {f.name: f for f in fields}

    @classmethod
    def declare(cls, name: str, field: Field) -> None:
        """Add a field whose kind is a class that is declared later."""
        setattr(cls, name, field)
        field.__set_name__(cls, name)
        cls.__init_subclass__()

    def __init__(self, **fields: Any) -> None:
        self.Clear()
        for name, value in fields.items():
            field = self.NAMES.get(name)
            if field is None:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            if value is not None:
                self._init_field(field, value)

    def _init_field(self, field: Field, value: Any) -> None:
        if field.key:
            held = getattr(self, field.name)
            for key, item in value.items():
                held[key] = field.kind(**item) if field.is_message and isinstance(item, dict) else item
        elif field.repeated:
            getattr(self, field.name).extend(value)
        elif field.is_message:
            made = field.kind(**value) if isinstance(value, dict) else value
            if not isinstance(made, field.kind):
                raise TypeError(f"{type(self).__name__}.{field.name} must be a {field.kind.__name__}, got {value!r}")
            field.store(self, made)
        else:
            setattr(self, field.name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in self.NAMES:
            raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        super().__setattr__(name, value)

    # ---- presence ----------------------------------------------------------------------------------------------------

    def _present(self, field: Field) -> bool:
        value = self._values.get(field.name)
        if value is None:
            return False
        if field.repeated or field.key:
            return bool(value)
        if field.is_message:
            return field.name in self._explicit or bool(value.ListFields()) or bool(value._unknown)
        return field.oneof is not None or value != field.default() or str(value) == "-0.0"

    def HasField(self, name: str) -> bool:
        """Whether a field is present."""
        if name not in self.NAMES:
            raise ValueError(f'Protocol message {type(self).__name__} has no field "{name}".')
        return self._present(self.NAMES[name])

    def WhichOneof(self, group: str) -> str | None:
        """The name of the field that is present of a group."""
        return next((f.name for f in self.FIELDS.values() if f.oneof == group and self._present(f)), None)

    def ListFields(self) -> list[tuple[Field, Any]]:
        """The fields that are present, with their values."""
        return [(f, self._values[f.name]) for f in self.FIELDS.values() if self._present(f)]

    def ClearField(self, name: str) -> None:
        """Remove a field."""
        self._values.pop(name, None)
        self._explicit.discard(name)

    def Clear(self) -> None:
        """Remove everything."""
        # not one by one: messages are made by the thousand, and `__setattr__` looks at each name
        self.__dict__.update(_values={}, _explicit=set(), _unknown=[])

    def CopyFrom(self, other: Any) -> None:
        """Become equal to another message of the class."""
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Any) -> None:
        """Take over what is present in another message; repeated fields are appended."""
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__} cannot take over a {type(other).__name__}")
        for field, value in other.ListFields():
            held = getattr(self, field.name)
            if field.key:
                held.update({key: _copied(item) for key, item in value.items()})
            elif field.repeated:
                list.extend(held, map(_copied, value[:]))
            elif field.is_message:
                held.MergeFrom(value)
                field.store(self, held)
            else:
                field.store(self, value)
        self._unknown += other._unknown

    def SetInParent(self) -> None:
        """Accepted for compatibility: a message counts as present as soon as it has contents."""

    def IsInitialized(self) -> bool:
        """Whether no required field is missing: there are none."""
        return True

    # ---- the wire ----------------------------------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message as bytes, fields by number, entries of maps by key."""
        out = bytearray()
        for field, value in self.ListFields():
            _write(out, field, value)
        return bytes(out) + b"".join(self._unknown)

    def ByteSize(self) -> int:
        """How many bytes it takes."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """The message that bytes stand for.

        Raises
        ------
        DataLossError
            If they are no such message.
        """
        message = cls()
        message.MergeFromString(data)
        return message

    def ParseFromString(self, data: bytes) -> int:
        """Become the message that bytes stand for; their number."""
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Take over the message that bytes stand for; their number."""
        try:
            for number, wire_type, raw, whole in fields_of(data):
                field = self.FIELDS.get(number)
                if field is None:
                    self._unknown.append(bytes(whole))
                else:
                    _read(self, field, wire_type, raw)
        except (struct.error, ValueError, DataLossError, RecursionError) as error:
            if str(error).startswith("Error parsing"):
                raise
            raise DataLossError(f"Error parsing message of type {type(self).__name__}: {error}") from None
        return len(data)

    # ---- Python's protocols ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.SerializeToString() == self.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> Self:
        made = type(self)()
        made.MergeFrom(self)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self.SerializeToString(),)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in lines(self))

    __repr__ = __str__


def fields_of(data: Any) -> Iterator[tuple[int, int, Any, Any]]:
    """The fields of a message as they stand: number, wire type, contents (an int or a view of bytes), whole field."""
    view = memoryview(data)
    at, end = 0, len(view)
    while at < end:
        start = at
        tag, at = read_varint(view, at)
        number, wire_type = tag >> 3, tag & 7
        raw: Any
        if wire_type == _VARINT:
            raw, at = read_varint(view, at)
        else:
            if wire_type == _LENGTH:
                size, at = read_varint(view, at)
            elif wire_type in _WIDTH:
                size = _WIDTH[wire_type]
            else:
                raise DataLossError(f"a field has the wire type {wire_type}, which there is not")
            if at + size > end:
                raise DataLossError(f"field {number} ends behind the message")
            raw = view[at : at + size]
            at += size
        if not number:
            raise DataLossError("a field has the number 0")
        yield number, wire_type, raw, view[start:at]


def _copied(x: Any) -> Any:
    return copy.deepcopy(x) if isinstance(x, Message) else x


def _write(out: bytearray, field: Field, value: Any) -> None:
    if field.key:
        for key in sorted(value):
            entry = bytearray()
            _write_one(entry, Field(1, field.key), key)
            _write_one(entry, Field(2, field.kind), value[key])
            out += varint(field.number << 3 | _LENGTH) + varint(len(entry)) + entry
    elif not field.repeated:
        _write_one(out, field, value)
    elif field.is_message or field.kind in ("string", "bytes"):
        for item in value:
            _write_one(out, field, item)
    else:
        packed = _packed(field.kind, value)
        out += varint(field.number << 3 | _LENGTH) + varint(len(packed)) + packed


def _packed(kind: str, values: Any) -> bytes:
    if kind in _FIXED:
        return np.asarray(values, _FIXED[kind]).tobytes()
    return b"".join([varint(_folded(kind, value)) for value in values])


def _folded(kind: str, value: Any) -> int:
    """The integer that stands for a number: of ``sint64`` the sign is its lowest bit, so that -1 is short."""
    return (int(value) << 1) ^ (int(value) >> 63) if kind == "sint64" else int(value)


def _write_one(out: bytearray, field: Field, value: Any) -> None:
    kind, number = field.kind, field.number
    if kind in _FIXED:
        raw = np.asarray(value, _FIXED[kind]).tobytes()
        out += varint(number << 3 | (_FIXED32 if len(raw) == 4 else _FIXED64)) + raw
    elif isinstance(kind, str) and kind not in ("string", "bytes"):
        out += varint(number << 3) + varint(_folded(kind, value))
    else:
        raw = value.SerializeToString() if field.is_message else value.encode() if isinstance(value, str) else value
        out += varint(number << 3 | _LENGTH) + varint(len(raw)) + raw


def _read(message: Message, field: Field, wire_type: int, raw: Any) -> None:
    if (field.key or field.is_message) and wire_type != _LENGTH:
        raise DataLossError(f"field {field.number} has the wire type {wire_type}, not {_LENGTH}")
    if field.key:
        entry = {number: (kind, value) for number, kind, value, _ in fields_of(raw)}
        parts = [Field(1, field.key), Field(2, field.kind)]
        key, value = [
            _read_one(p, *entry[p.number]) if p.number in entry else p.kind() if p.is_message else p.default()
            for p in parts
        ]
        getattr(message, field.name)[key] = value
    elif field.repeated:
        held = getattr(message, field.name)
        if wire_type == _LENGTH and not field.is_message and field.kind not in ("string", "bytes"):
            list.extend(held, _unpacked(field.kind, raw))
        else:
            list.append(held, _read_one(field, wire_type, raw))
    elif field.is_message and message._values.get(field.name) is not None:
        message._values[field.name].MergeFromString(raw)
        message._explicit.add(field.name)
    else:
        field.store(message, _read_one(field, wire_type, raw))


def _read_one(field: Field, wire_type: int, raw: Any) -> Any:
    kind = field.kind
    expected = _LENGTH
    if kind in _FIXED:
        expected = _FIXED32 if kind in ("float", "fixed32") else _FIXED64
    elif isinstance(kind, str) and kind not in ("string", "bytes"):
        expected = _VARINT
    if wire_type != expected:
        raise DataLossError(f"field {field.number} has the wire type {wire_type}, not {expected}")
    if field.is_message:
        return kind.FromString(raw)
    if kind == "bytes":
        return bytes(raw)
    if kind == "string":
        return bytes(raw).decode()
    if kind in _FIXED:
        return np.frombuffer(raw, _FIXED[kind])[0].item()
    return _integer(kind, raw)


def _integer(kind: str, raw: int) -> int:
    if kind == "bool":
        return bool(raw)
    if kind == "sint64":
        return (raw >> 1) ^ -(raw & 1)
    bits, signed = INTEGERS.get(kind, (32, True))
    return _signed(raw, bits) if signed else raw & ((1 << bits) - 1)


def _unpacked(kind: str, raw: Any) -> list[Any]:
    if kind in _FIXED:
        return np.frombuffer(raw, _FIXED[kind]).tolist()
    if len(raw) < _LONG or kind == "sint64":
        values, at = [], 0
        while at < len(raw):
            value, at = read_varint(raw, at)
            values.append(_integer(kind, value))
        return values
    numbers = read_varints(raw)
    if kind == "bool":
        return (numbers != 0).tolist()
    bits, signed = INTEGERS.get(kind, (32, True))
    return numbers.astype(f"{'i' if signed else 'u'}{bits // 8}").tolist()
