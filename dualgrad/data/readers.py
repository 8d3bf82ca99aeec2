"""Records of files, as data sets and queues read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualgrad.files import limits
from dualgrad.files.records import opened, read_records
from engine.core.value import boxed
from engine.runtime.errors import InvalidArgumentError


def read_lines(name: str, compression: Any = None) -> Iterator[tuple[Any]]:
    """The lines of a file, without their ends."""
    with limits.damage(name, InvalidArgumentError), opened(name, compression) as file:
        most = limits.most_bytes(name)
        while line := file.readline(most + 1):
            limits.require(len(line), name, "a line")
            yield (boxed(line.removesuffix(b"\n").removesuffix(b"\r")),)


def read_tfrecords(name: str, compression: Any = None) -> Iterator[tuple[Any]]:
    """The records of a file of TFRecords."""
    return ((boxed(record),) for record in read_records(name, compression))


def read_pieces(
    name: str, size: int, header: int = 0, footer: int = 0, compression: Any = None
) -> Iterator[tuple[Any]]:
    """Records of a fixed length.

    Raises
    ------
    InvalidArgumentError
        If what lies between header and footer is no multiple of it.
    """
    with limits.damage(name, InvalidArgumentError), opened(name, compression) as file:
        data = file.read(limits.most_bytes(name) + 1)
        limits.require(len(data), name, "what it unpacks to")
    inner = data[header : len(data) - footer]
    if len(inner) % size:
        raise InvalidArgumentError(
            f"Excess bytes in file {name}: {len(inner)} bytes between header and footer are no multiple of {size}"
        )
    return ((boxed(inner[i : i + size]),) for i in range(0, len(inner), size))
