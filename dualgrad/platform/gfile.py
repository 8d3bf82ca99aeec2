"""``tf.gfile`` and ``tf.io.gfile``: files and folders of this machine."""

from __future__ import annotations

import glob as globbing
import os
import shutil
from collections.abc import Iterator
from typing import Any

from engine.runtime.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, OpError

_MODES = ("r", "rb", "w", "wb", "a", "ab", "r+", "w+", "a+", "rb+", "wb+", "ab+", "r+b", "w+b", "a+b")


def _path(path: Any) -> str:
    return os.fsdecode(path)


def _translated(error: OSError, path: Any) -> OpError:
    kinds = {FileNotFoundError: NotFoundError, FileExistsError: AlreadyExistsError}
    return kinds.get(type(error), FailedPreconditionError)(f"{_path(path)}; {error.strerror}")


class GFile:
    """A file. Strings are read and written as UTF-8, unless the mode has a ``b``.

    Parameters
    ----------
    name : path
    mode : str

    Raises
    ------
    NotFoundError
        If a file to be read does not exist; raised when it is first used, as in TensorFlow.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode not in _MODES:
            raise ValueError(f"GFile: argument `mode` must be one of {', '.join(_MODES)}, got {mode!r}")
        self.name = _path(name)
        self.mode = mode
        self._file: Any = None

    def _opened(self) -> Any:
        if self._file is None:
            try:
                self._file = open(self.name, self.mode, encoding=None if "b" in self.mode else "utf-8")  # noqa: SIM115
            except OSError as error:
                raise _translated(error, self.name) from None
        return self._file

    def read(self, n: int = -1) -> str | bytes:
        """The next `n` characters or bytes, or all that are left."""
        return self._opened().read(n)

    def readline(self) -> str | bytes:
        """The next line, with its end."""
        return self._opened().readline()

    def readlines(self) -> list[str | bytes]:
        """The lines that are left."""
        return list(self._opened().readlines())

    def write(self, file_content: Any) -> None:
        """Append a string or bytes."""
        self._opened().write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place in the file."""
        self._opened().seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """The place in the file."""
        return int(self._opened().tell())

    def size(self) -> int:
        """The number of bytes."""
        self.flush()
        return int(stat(self.name).st_size)

    def seekable(self) -> bool:
        """Yes."""
        return True

    def flush(self) -> None:
        """Write out what waits in buffers."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; a file to be written exists then even if nothing was."""
        if self._file is None and self.mode[0] in "wa":
            self._opened()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._opened())

    def __next__(self) -> str | bytes:
        return next(self._opened())

    def __repr__(self) -> str:
        return f"GFile({self.name!r}, {self.mode!r})"


Open = FastGFile = GFile


def exists(path: Any) -> bool:
    """Whether there is a file or folder of that name."""
    return os.path.exists(_path(path))


def isdir(path: Any) -> bool:
    """Whether it is a folder."""
    return os.path.isdir(_path(path))


def listdir(path: Any) -> list[str]:
    """The names of what is in a folder."""
    try:
        return sorted(os.listdir(_path(path)))
    except OSError as error:
        raise _translated(error, path) from None


def makedirs(path: Any) -> None:
    """Make a folder, and those that it is in; it may exist."""
    try:
        os.makedirs(_path(path), exist_ok=True)
    except OSError as error:
        raise _translated(error, path) from None


def mkdir(path: Any) -> None:
    """Make a folder in one that exists."""
    try:
        os.mkdir(_path(path))
    except OSError as error:
        raise _translated(error, path) from None


def glob(pattern: Any) -> list[str]:
    """The files whose names fit a pattern, or one of several."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return sorted(name for p in patterns for name in globbing.glob(_path(p)))


def remove(path: Any) -> None:
    """Delete a file."""
    try:
        os.remove(_path(path))
    except OSError as error:
        raise _translated(error, path) from None


def rmtree(path: Any) -> None:
    """Delete a folder and all that is in it."""
    try:
        shutil.rmtree(_path(path)) if os.path.isdir(_path(path)) else os.remove(_path(path))
    except OSError as error:
        raise _translated(error, path) from None


def _free(dst: Any, overwrite: bool) -> None:
    if not overwrite and exists(dst):
        raise AlreadyExistsError(f"{_path(dst)}; there is a file of that name: give overwrite=True to replace it")


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _free(dst, overwrite)
    try:
        shutil.copyfile(_path(src), _path(dst))
    except OSError as error:
        raise _translated(error, src) from None


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another name."""
    _free(dst, overwrite)
    try:
        os.replace(_path(src), _path(dst))
    except OSError as error:
        raise _translated(error, src) from None


def stat(path: Any) -> os.stat_result:
    """Size and times of a file."""
    try:
        return os.stat(_path(path))
    except OSError as error:
        raise _translated(error, path) from None


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """All folders below one, each with the names of its folders and files."""
    return os.walk(_path(top), topdown, onerror)


def join(path: Any, *paths: Any) -> str:
    """One path of several parts."""
    return os.path.join(_path(path), *map(_path, paths))


Exists, IsDirectory, ListDirectory, MakeDirs, MkDir, Glob = exists, isdir, listdir, makedirs, mkdir, glob
Remove, DeleteRecursively, Copy, Rename, Stat, Walk = remove, rmtree, copy, rename, stat, walk
