"""Messages from files: binary, or protocol buffers' text format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from dualgrad.files.text_format_parser import parse
from dualgrad.files.wire import Message
from engine.runtime.errors import DataLossError, NotFoundError, ResourceExhaustedError

M = TypeVar("M", bound=Message)

LARGEST = 1 << 31
"""Bytes of a file: a message of protocol buffers is no larger."""


def message_from(kind: type[M], path: Any, text: bool | None = None) -> M:
    """The message that a file holds.

    Parameters
    ----------
    kind : Message class
    path : str
    text : bool, optional
        Whether it is in the text format; None if that is to be found out.

    Raises
    ------
    NotFoundError, DataLossError, ResourceExhaustedError
        If there is no such file, or it holds no such message, or is too large.
    """
    file = Path(os.fspath(path))
    if not file.is_file():
        raise NotFoundError(f"File {file} does not exist.")
    if file.stat().st_size > LARGEST:
        raise ResourceExhaustedError(f"{file} has {file.stat().st_size} bytes, more than a message can have")
    data = file.read_bytes()
    try:
        if text:
            return parse(kind, data)
        try:
            return kind.FromString(data)
        except DataLossError as error:
            if text is False or not _is_text(data):
                raise
            try:
                return parse(kind, data)
            except DataLossError:
                raise error from None
    except DataLossError as error:
        raise DataLossError(f"Cannot parse file {file}: {error}") from None


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False
