"""What a terminal says while something takes long that seldom does: a first call, which plans and compiles."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LONG, OFTEN = 2.0, 1.0
"""Seconds before something is said, and between two looks of the line."""
_outermost = threading.Lock()


@contextmanager
def patience(what: str) -> Iterator[None]:
    """As a decorator or in ``with``: if it takes seconds, the last line of a terminal says what is being done."""
    if not getattr(sys.stderr, "isatty", bool)() or not _outermost.acquire(blocking=False):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, sys.stderr, done), daemon=True)
    try:
        teller.start()
        yield
    finally:
        done.set()
        teller.join()
        _outermost.release()


def _tell(what: str, stream: Any, done: threading.Event) -> None:
    began, told = time.monotonic(), False
    while not done.wait(OFTEN if told else LONG):
        told = True
        stream.write(f"\r{what} - {time.monotonic() - began:.0f} s - Ctrl-C stops it\x1b[K\r")
        stream.flush()
    if told:
        stream.write("\r\x1b[K")
        stream.flush()
