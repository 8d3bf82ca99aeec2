"""Files that are whole or not there at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from engine.runtime.errors import NotFoundError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: saves of one name by several processes are not kept apart there
    fcntl = None

_SUFFIX = ".dualgrad.tmp"
_LONGEST = 60
_holding: set[tuple[int, str]] = set()
"""Threads, and the folders that they have locked."""


def write(path: str | Path, parts: Iterable[Any]) -> None:
    """Write a file of some parts, each bytes-like, as `writing` does."""
    with writing(path) as file:
        for part in parts:
            file.write(part)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[IO[bytes]]:
    """Write a file in one step: whoever looks, and whenever the machine stops, finds the old one or the new one.

    What killed processes have left of files half written is removed from the folder.

    Parameters
    ----------
    path : str or Path
        Its folder is made if need be.
    """
    target = Path(path)
    with contextlib.suppress(FileExistsError):
        target.parent.mkdir(parents=True)
    handle, name = _temporary(target)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_umask())
            if fcntl is not None:  # as long as the lock says that somebody needs it
                os.replace(name, target)
        if fcntl is None:  # an open file has no other name there
            os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def _temporary(target: Path) -> tuple[int, str]:
    """A new file beside another one: its handle, which holds a lock on it, and its name."""
    _clear(target.parent)
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:_LONGEST]}.", suffix=_SUFFIX, dir=target.parent)
        _lock(handle)
        if os.path.exists(name):
            return handle, name
        os.close(handle)  # between the two lines above somebody took it for one of a killed process


def _clear(folder: Path) -> None:
    """Remove temporary files that nobody holds a lock on: the system takes back the locks of killed processes."""
    if fcntl is None:
        return
    left: list[str] = []
    with contextlib.suppress(PermissionError), os.scandir(folder) as entries:  # a folder may be there to write only
        left += [e.path for e in entries if e.name.endswith(_SUFFIX) and e.is_file(follow_symlinks=False)]
    for path in left:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def _lock(handle: int) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Keep other processes and threads from saving to a folder; who saves several files of one name asks for it.

    A thread that has it already, and is interrupted by a signal whose handler saves too, does not wait for itself.
    """
    who = threading.get_ident(), os.path.realpath(folder)
    handle = None
    if fcntl is not None and who not in _holding:
        with contextlib.suppress(PermissionError):  # a folder may be there to write only
            handle = os.open(folder, os.O_RDONLY)
    if handle is None:
        yield
        return
    try:
        _holding.add(who)
        _lock(handle)
        yield
    finally:
        _holding.discard(who)
        os.close(handle)


def link(source: str | Path, path: str | Path) -> None:
    """Give a file a second name, in one step, in place of what had that name."""
    target = Path(path)
    name = target.with_name(f".{target.name[:_LONGEST]}.{os.getpid()}{_SUFFIX}")
    with open(source, "rb") as file:
        _lock(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            name.unlink()
        try:
            os.link(source, name)
        except OSError:  # a file system without links
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
