"""Protocol buffers' text format, as programs print messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Scalar = str | bytes | bool | int | float
"""The value of a field of a message that is no message itself."""


def lines(message: Any, indent: str = "") -> Iterator[str]:
    """The lines of protocol buffers' text format."""
    for field, value in message.ListFields():
        if field.key:
            for key in sorted(value):
                shown = [f"{indent}  key: {_shown(key)}"]
                if field.is_message:
                    shown += [f"{indent}  value {{", *lines(value[key], f"{indent}    "), f"{indent}  }}"]
                else:
                    shown.append(f"{indent}  value: {_shown(value[key])}")
                yield from (f"{indent}{field.name} {{", *shown, f"{indent}}}")
            continue
        for item in value if field.repeated else [value]:
            if field.is_message:
                yield from (f"{indent}{field.name} {{", *lines(item, f"{indent}  "), f"{indent}}}")
            else:
                yield f"{indent}{field.name}: {_shown(item)}"


def _shown(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        single = np.float32(value)
        short = str(single if float(single) == value else value)
        return short.removesuffix(".0") if "e" not in short and abs(value) < 1e15 else short
    if isinstance(value, int):
        return str(value)
    return quoted(value)


_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def quoted(value: str | bytes) -> str:
    """A string as the text format writes it: quotation marks, and octal escapes for what is not ASCII."""
    raw = value.encode() if isinstance(value, str) else value
    return '"' + "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in raw) + '"'
