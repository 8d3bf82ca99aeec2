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
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from dualgrad.files.fields import CODES, INTEGERS, Field, Map
from dualgrad.files.text_format import lines
from dualgrad.files.varints import SHORT, read_varint, read_varints, varint, varints
from engine.runtime.errors import DataLossError

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_LONG = 32
"""Packed integers of so many bytes are decoded by NumPy, and so many of them encoded."""


class _Codec(NamedTuple):
    """The wire type of one value, and its ways to bytes and back; the code that `struct` has for several."""

    wire_type: int
    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any]
    code: str | None = None


def _fixed(code: str) -> _Codec:
    one = struct.Struct(f"<{code}")
    return _Codec(_FIXED32 if one.size == 4 else _FIXED64, one.pack, lambda raw: one.unpack(raw)[0], code)


def _integer(bits: int, signed: bool) -> _Codec:
    most, sign = (1 << bits) - 1, signed << (bits - 1)
    return _Codec(_VARINT, varint, lambda raw: (raw & most ^ sign) - sign)


def _prefixed(raw: bytes) -> bytes:
    return (SHORT[len(raw)] if len(raw) < 128 else varint(len(raw))) + raw


_CODECS = {
    **{kind: _integer(*facts) for kind, facts in INTEGERS.items()},
    **{kind: _fixed(CODES[kind]) for kind in ("float", "double", "fixed32", "fixed64")},
    "bool": _Codec(_VARINT, varint, bool),
    # the sign is the lowest bit, so that -1 is short
    "sint64": _Codec(_VARINT, lambda x: varint(x << 1 ^ x >> 63), lambda raw: raw >> 1 ^ -(raw & 1)),
    "bytes": _Codec(_LENGTH, _prefixed, bytes),
    "string": _Codec(_LENGTH, lambda x: _prefixed(x.encode()), lambda raw: str(raw, "utf8")),
}


def _as_bytes(message: Message) -> bytes:
    return _prefixed(message.SerializeToString())


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

    __slots__ = ("_values",)
    _values: dict[str, Any]
    _made: ClassVar[Any] = frozenset()
    """The messages inside that are there because somebody looked: they count as soon as they have contents."""
    _unknown: tuple[bytes, ...] = ()
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    FIELDS: ClassVar[dict[int, Field]] = {}
    NAMES: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        fields = [f for f in vars(cls).values() if isinstance(f, Field)]
        for field in fields:
            for part in (field, *field.parts):
                part.codec = _CODECS.get(part.kind) or _Codec(_LENGTH, _as_bytes, part.kind.FromString)
                part.tag = varint(part.number << 3 | (_LENGTH if part.repeated or part.key else part.codec.wire_type))
            field.others = tuple([f.name for f in fields if f.oneof and f.oneof == field.oneof and f is not field])
            field.write = _writer(field)
        cls.FIELDS = {f.number: f for f in sorted(fields, key=lambda f: f.number)}
        cls.NAMES = {f.name: f for f in cls.FIELDS.values()}

    def __init__(self, **fields: Any) -> None:
        # not by `self._values = `: messages are made by the thousand, and `__setattr__` looks at each name
        values: dict[str, Any] = {}
        _set_values(self, values)
        for name, value in fields.items():
            field = self.NAMES.get(name)
            if field is None:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            if value is None:
                continue
            if field.repeated:
                values[name] = field.held(value)
            elif field.key:
                made = values[name] = Map(field)
                made.update(value)
                if not field.plain.issuperset(map(type, made.values())):
                    made |= {k: field.kind(**v) for k, v in made.items() if field.is_message and isinstance(v, dict)}
            else:
                values[name] = value if type(value) is field.kind else field.item(value)
                if len(values) > 1:
                    field.store(self, values[name])

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
            return field.name not in self._made or bool(value._unknown or value.ListFields())
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
        return [(f, getattr(self, f.name)) for f in self.FIELDS.values() if self._present(f)]

    def ClearField(self, name: str) -> None:
        """Remove a field."""
        self._values.pop(name, None)

    def Clear(self) -> None:
        """Remove everything."""
        self.__dict__.clear()
        _set_values(self, {})

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
        self.__dict__["_unknown"] = self._unknown + other._unknown

    def SetInParent(self) -> None:
        """Accepted for compatibility: a message counts as present as soon as it has contents."""

    def IsInitialized(self) -> bool:
        """Whether no required field is missing: there are none."""
        return True

    # ---- the wire ----------------------------------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message as bytes, fields by number, entries of maps by key."""
        values = self._values
        if len(values) == 1 and not self._unknown:
            ((name, value),) = values.items()
            return self.NAMES[name].write(self, value)
        parts = [field.write(self, values[name]) for name, field in self.NAMES.items() if name in values]
        return b"".join((*parts, *self._unknown))

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
                    self.__dict__["_unknown"] = (*self._unknown, bytes(whole))
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


_set_values = vars(Message)["_values"].__set__


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


def _writer(field: Field) -> Callable[[Message, Any], bytes]:
    """A function that gives a field of a message as bytes: what is there of it, the entries of a map by key."""
    tag, codec = field.tag, field.codec
    encode = codec.encode

    def entries(message: Message, value: Any) -> bytes:
        (first, code), (second, code_item) = [(part.tag, part.codec.encode) for part in field.parts]
        return b"".join([tag + _prefixed(first + code(k) + second + code_item(value[k])) for k in sorted(value)])

    def one_by_one(message: Message, value: Any) -> bytes:
        return tag + encode(value[0]) if len(value) == 1 else b"".join([tag + encode(item) for item in value])

    def packed(message: Message, value: Any) -> bytes:
        if not value:
            return b""
        if codec.code:
            return tag + _prefixed(value if type(value) is bytes else bytes(field.held(value)))
        many = len(value) >= _LONG and field.kind != "sint64"
        return tag + _prefixed(varints(value) if many else b"".join(map(encode, value)))

    def single(message: Message, value: Any) -> bytes:
        return tag + encode(value) if message._present(field) else b""

    if field.repeated:
        return one_by_one if codec.wire_type == _LENGTH else packed
    return entries if field.key else single


def _read(message: Message, field: Field, wire_type: int, raw: Any) -> None:
    if (field.key or field.is_message) and wire_type != _LENGTH:
        raise DataLossError(f"field {field.number} has the wire type {wire_type}, not {_LENGTH}")
    if field.key:
        entry = {number: (kind, value) for number, kind, value, _ in fields_of(raw)}
        key, value = [
            _read_one(p, *entry[p.number]) if p.number in entry else p.kind() if p.is_message else p.default()
            for p in field.parts
        ]
        getattr(message, field.name)[key] = value
    elif field.repeated:
        held = getattr(message, field.name)
        if wire_type == _LENGTH != field.codec.wire_type:
            list.extend(held, _unpacked(field, raw))
        else:
            list.append(held, _read_one(field, wire_type, raw))
    elif field.is_message and message._values.get(field.name) is not None:
        held = message._values[field.name]
        held.MergeFromString(raw)
        field.store(message, held)
    else:
        field.store(message, _read_one(field, wire_type, raw))


def _read_one(field: Field, wire_type: int, raw: Any) -> Any:
    codec = field.codec
    if wire_type != codec.wire_type:
        raise DataLossError(f"field {field.number} has the wire type {wire_type}, not {codec.wire_type}")
    return codec.decode(raw)


def _unpacked(field: Field, raw: Any) -> list[Any]:
    kind, codec = field.kind, field.codec
    if codec.code:
        return field.unpacked(raw)
    if len(raw) < _LONG or kind == "sint64":
        values, at = [], 0
        while at < len(raw):
            value, at = read_varint(raw, at)
            values.append(codec.decode(value))
        return values
    numbers = read_varints(raw)
    if kind == "bool":
        return (numbers != 0).tolist()
    bits, signed = INTEGERS[kind]
    return numbers.astype(f"{'i' if signed else 'u'}{bits // 8}").tolist()
