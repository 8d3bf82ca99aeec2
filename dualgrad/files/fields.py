"""The fields of protocol buffers' messages, and what holds the values of repeated ones and of maps."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from dualgrad.files.text_format import Scalar

INTEGERS = {
    "int32": (32, True), "int64": (64, True), "uint32": (32, False), "uint64": (64, False), "sint64": (64, True),
    "enum": (32, True), "fixed32": (32, False), "fixed64": (64, False),
}  # fmt: skip
"""By kind: how many bits, and whether one is the sign."""
CODES = {"float": "f", "double": "d", "fixed32": "I", "fixed64": "Q"}
"""By kind of one width: the code of `struct`."""


class Field:
    """One field of a message, as a descriptor.

    Parameters
    ----------
    number : int
    kind : str or Message class
        ``"int32" "int64" "uint32" "uint64" "sint64" "bool" "enum" "float" "double" "fixed32" "fixed64" "string"
        "bytes"``, or the class of a nested message.
    repeated : bool
    key : str, optional
        The kind of the keys, if the field is a map.
    oneof : str, optional
        The group of fields of which only one is present. Such a scalar is written even if it is zero.
    """

    __slots__ = (
        "codec", "is_message", "key", "kind", "most", "name", "number", "oneof", "others", "parts", "plain",
        "repeated", "tag", "write",
    )  # fmt: skip

    def __init__(
        self, number: int, kind: Any, repeated: bool = False, key: str | None = None, oneof: str | None = None
    ) -> None:
        self.number, self.kind, self.repeated, self.key, self.oneof = number, kind, repeated, key, oneof
        self.name, self.tag = "", b""
        self.codec: Any = None
        self.write: Any = None
        self.is_message = not isinstance(kind, str)
        bits, signed = INTEGERS.get(kind, (0, True))
        kinds: dict[str, type] = {"bytes": bytes, "string": str, "bool": bool}
        self.plain = frozenset([kind if self.is_message else kinds.get(kind, int)] * signed)
        """The class of values that are held as they come, up to the largest number of a signed kind."""
        self.most = (1 << bits - 1) - 1 if bits and signed else 0
        self.others: tuple[str, ...] = ()
        self.parts: tuple[Field, ...] = (Field(1, key), Field(2, kind)) if key else ()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, message: Any, owner: Any = None) -> Any:
        if message is None:
            return self
        values = message._values
        if self.name not in values:
            if not (self.repeated or self.is_message or self.key):
                return self.default()
            values[self.name] = self.empty()
            if self.is_message and not self.repeated and not self.key:
                message.__dict__.setdefault("_made", set()).add(self.name)
        value = values[self.name]
        if self.repeated and type(value) is not Repeated:
            value = values[self.name] = Repeated(self, value)
        return value

    def __set__(self, message: Any, value: Any) -> None:
        if self.repeated or self.key or self.is_message:
            raise AttributeError(
                f"Assignment not allowed to field {self.name!r} of {type(message).__name__}; "
                f"change what it holds (extend, add, CopyFrom)"
            )
        self.store(message, self.checked(value))

    def store(self, message: Any, value: Any) -> None:
        """Set the field, and remove the others of its group."""
        for other in self.others:
            message._values.pop(other, None)
        message._values[self.name] = value
        if self.name in message._made:
            message._made.remove(self.name)

    def default(self) -> Scalar:
        """The value of a scalar that is not there."""
        kinds: dict[str, Scalar] = {"string": "", "bytes": b"", "bool": False, "float": 0.0, "double": 0.0}
        return kinds.get(self.kind, 0)

    def empty(self) -> Any:
        """A container, or a message, without contents."""
        if self.key:
            return Map(self)
        if self.repeated:
            return Repeated(self)
        return self.kind()

    def checked(self, value: Any) -> Scalar:
        """A scalar as the field holds it.

        Raises
        ------
        TypeError, ValueError
            If it is of another kind, or out of range.
        """
        kind = self.kind
        if kind == "bytes":
            if not isinstance(value, bytes):
                raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")
            return value
        if kind == "string":
            if not isinstance(value, (str, bytes)):
                raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes, str")
            return value if isinstance(value, str) else value.decode()
        if kind in ("float", "double"):
            if isinstance(value, (str, bytes)):
                raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int, float")
            return float(np.float32(value)) if kind == "float" else float(value)
        if kind == "bool":
            return bool(value)
        if not hasattr(value, "__index__"):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int")
        number = value.__index__()
        bits, signed = INTEGERS[kind]
        if not -(1 << (bits - 1)) * signed <= number < 1 << (bits - signed):
            raise ValueError(f"Value out of range: {number}")
        return number

    def held(self, values: Iterable[Any]) -> list[Any] | bytes:
        """Values of a repeated field until somebody looks at them: a list, or those of one width as their bytes."""
        code = self.codec.code
        listed = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)
        try:
            if code:
                return struct.pack(f"<{len(listed)}{code}", *listed)
        except (struct.error, OverflowError, TypeError):
            pass  # one by one says which is wrong
        is_plain = not code and self.plain.issuperset(map(type, listed))
        if is_plain and (not (self.most and listed) or (max(listed) <= self.most and min(listed) >= ~self.most)):
            return listed
        checked = [self.item(v) for v in listed]
        return struct.pack(f"<{len(checked)}{code}", *checked) if code else checked

    def unpacked(self, raw: Any) -> list[Any]:
        """The values of one width that bytes stand for."""
        return list(struct.unpack(f"<{len(raw) // struct.calcsize(self.codec.code)}{self.codec.code}", raw))

    def item(self, value: Any) -> Any:
        """One of them."""
        if not self.is_message:
            return self.checked(value)
        made = self.kind(**value) if isinstance(value, dict) else value
        if not isinstance(made, self.kind):
            raise TypeError(f"{value!r} is no {self.kind.__name__}")
        return made


class Repeated(list[Any]):
    """The values of a repeated field."""

    __slots__ = ("_field",)

    def __init__(self, field: Field, values: Iterable[Any] | None = None) -> None:
        self._field = field
        if values is not None:
            list.extend(self, field.unpacked(values) if type(values) is bytes else values)

    def append(self, value: Any) -> None:
        """Add a value."""
        super().append(self._field.item(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Add several values."""
        super().extend(Repeated(self._field, self._field.held(values)))

    def add(self, **fields: Any) -> Any:
        """Add a new message; return it."""
        super().append(self._field.kind(**fields))
        return self[-1]


class Map(dict[Any, Any]):
    """The entries of a map. A message that is not there is made when it is asked for."""

    __slots__ = ("_field",)

    def __init__(self, field: Field) -> None:
        self._field = field

    def __missing__(self, key: Any) -> Any:
        if not self._field.is_message:
            raise KeyError(key)
        self[key] = self._field.kind()
        return self[key]
