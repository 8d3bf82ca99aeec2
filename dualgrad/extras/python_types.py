"""``tf.compat``: text and bytes as either, and which of Python's types are numbers."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text encoded; bytes as they are.

    Parameters
    ----------
    bytes_or_text : str or bytes
    encoding : str

    Raises
    ------
    TypeError
        If it is neither.

    Examples
    --------
    >>> as_bytes("a")
    b'a'
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes decoded; text as it is.

    Parameters
    ----------
    bytes_or_text : str or bytes
    encoding : str

    Raises
    ------
    TypeError
        If it is neither.

    Examples
    --------
    >>> as_text(b"a")
    'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """``str(value)``, but bytes decoded.

    Examples
    --------
    >>> as_str_any(b"a"), as_str_any(1)
    ('a', '1')
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as text; text as it is."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """True: there is no older program that must read what a newer one writes."""
    return True
