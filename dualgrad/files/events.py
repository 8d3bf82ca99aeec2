"""Event files, which TensorBoard shows: records of `dualgrad.files.protos.Event`."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dualgrad.files import limits
from dualgrad.files.protos import Event
from dualgrad.files.records import read_records, record
from engine.runtime.errors import FailedPreconditionError

_VERSION = "brain.Event:2"


class EventFileWriter:
    """Writes events to a new file in a folder.

    Events reach the file when `max_queue` are waiting, when `flush_secs` have passed at the next event, and when the
    writer is flushed or closed. Threads may share one.

    Parameters
    ----------
    logdir : str or Path
        Made if need be.
    max_queue : int
    flush_secs : float
    filename_suffix : str, optional
    """

    def __init__(
        self, logdir: str | Path, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None
    ) -> None:
        self._logdir = os.fspath(logdir)
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._file: Any = None
        self._open()

    def _open(self) -> None:
        try:
            os.makedirs(self._logdir, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise FailedPreconditionError(f"{self._logdir} is a file; events need a folder") from None
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
        number = 0
        while (path := Path(self._logdir, f"{name}.{number}{self._suffix}")).exists():
            number += 1
        self.path = str(path)
        self._file = open(path, "ab")  # noqa: SIM115 - `close` closes it
        self._flushed = now
        first = Event(wall_time=now, file_version=_VERSION)
        first.source_metadata.writer = "dualgrad.files.events"
        self._file.write(record(first.SerializeToString()))
        self._file.flush()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._file is None

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def reopen(self) -> None:
        """Begin a new file, if the writer was closed."""
        with self._lock:
            if self._file is None:
                self._open()

    def add_event(self, event: Event) -> None:
        """Write an event."""
        with self._lock:
            if self._file is None:
                return
            self._waiting.append(record(event.SerializeToString()))
            if len(self._waiting) >= self._max_queue or time.time() - self._flushed >= self._flush_secs:
                self._flush()

    def _flush(self) -> None:
        if self._file is not None:
            self._file.write(b"".join(self._waiting))
            self._waiting.clear()
            self._file.flush()
            self._flushed = time.time()

    def flush(self) -> None:
        """Hand the events to the system."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Finish the file."""
        with self._lock:
            self._flush()
            if self._file is not None:
                self._file.close()
                self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


def summary_iterator(path: str | Path) -> Iterator[Event]:
    """The events of a file; one that is cut at its end is being written, and read as far as it goes.

    Raises
    ------
    NotFoundError
        If there is no such file.
    DataLossError
        If it is damaged.
    """
    with limits.damage(path):
        yield from map(Event.FromString, read_records(path, partial=True))
