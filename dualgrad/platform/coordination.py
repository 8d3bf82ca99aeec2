"""Threads that stop together: ``train.Coordinator``."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from engine.runtime.errors import OutOfRangeError
from engine.runtime.faces import Shown


class Coordinator(Shown):
    """Lets several threads stop together, and hands the error of one on to who waits for them.

    Parameters
    ----------
    clean_stop_exception_types : tuple of classes, optional
        Errors that mean a clean stop; by default OutOfRangeError.

    Examples
    --------
    >>> import threading
    >>> import tape_api as tf
    >>> coord = tf.train.Coordinator()
    >>> thread = threading.Thread(target=lambda: coord.wait_for_stop())
    >>> thread.start()
    >>> coord.request_stop()
    >>> coord.join([thread])
    >>> coord.should_stop()
    True
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = tuple(clean_stop_exception_types or (OutOfRangeError,))
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._error: Any = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def should_stop(self) -> bool:
        """Whether the threads are to stop."""
        return self._stopped.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop; an error, or what `sys.exc_info` gives, is raised by `join`."""
        with self._lock:
            if isinstance(ex, tuple):
                ex = ex[1]
            if self._joined:
                if isinstance(ex, Exception):
                    raise ex
                return
            if not self._stopped.is_set():
                if isinstance(ex, BaseException) and not isinstance(ex, self._clean):
                    self._error = ex
                self._stopped.set()

    def clear_stop(self) -> None:
        """Forget that the threads were to stop."""
        with self._lock:
            self._joined, self._error = False, None
            self._stopped.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """An error inside the `with` block stops all threads."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - whatever it is, all threads stop, and `join` raises it
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until the threads are to stop; whether they are."""
        return self._stopped.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread."""
        with self._lock:
            self._threads.add(thread)

    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait until all threads have ended, and raise the error that stopped them, if there was one.

        Parameters
        ----------
        threads : iterable of Thread, optional
            Besides those registered.
        stop_grace_period_secs : float
            How long threads may take once they are to stop.
        ignore_live_threads : bool
            Whether threads that take longer are left alone; else RuntimeError.
        """
        with self._lock:
            waited = list(self._threads | set(threads or ()))
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0.05):
            pass
        limit = time.monotonic() + stop_grace_period_secs
        while any(t.is_alive() for t in waited) and time.monotonic() < limit:
            for thread in waited:
                thread.join(min(0.05, max(limit - time.monotonic(), 0)))
        left = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
        if self._error is not None:
            raise self._error
        if left and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(left)}")


__all__ = ["Coordinator"]
