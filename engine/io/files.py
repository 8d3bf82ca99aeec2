"""Files that are whole or not there at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.core.errors import NotFoundError


def write(path: str | Path, parts: Iterable[Any]) -> None:
    """Write a file in one step: whoever looks, and whenever the machine stops, finds the old one or the new one.

    Parameters
    ----------
    path : str or Path
        Its folder is made if need be.
    parts : iterable of bytes-like
    """
    target = Path(path)
    with contextlib.suppress(FileExistsError):
        target.parent.mkdir(parents=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def link(source: str | Path, path: str | Path) -> None:
    """Give a file a second name, in one step, in place of what had that name."""
    target = Path(path)
    name = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with contextlib.suppress(FileNotFoundError):
        name.unlink()
    try:
        os.link(source, name)
    except OSError:  # a file system without links
        with open(source, "rb") as file:
            write(target, iter(lambda: file.read(1 << 20), b""))
        return
    os.replace(name, target)
    with contextlib.suppress(FileNotFoundError):
        name.unlink()  # both were the same file already
    _sync_folder(target.parent)


def read(path: str | Path) -> bytes:
    """The contents of a file.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise NotFoundError(f"{path}; No such file or directory") from None


def remove(path: str | Path) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _umask() -> int:
    """The mask for the permissions of new files. It cannot be asked for without being set."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """See that a new name outlasts a loss of power, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
