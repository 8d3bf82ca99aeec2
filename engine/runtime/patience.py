"""A line on a terminal while something takes long that seldom does: a first call, which plans and compiles."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONG, OFTEN = 2.0, 1.0
"""Seconds before something is said, and between two writings."""
_outermost = threading.Lock()


@contextmanager
def patience(what: str) -> Iterator[None]:
    """Say on the last line of a terminal what is being done, if it takes seconds: a decorator, or for ``with``."""
    seen = not getattr(sys.stderr, "closed", True) and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not seen or not _outermost.acquire(blocking=False):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    try:
        teller.start()
        yield
    finally:
        done.set()
        teller.join()
        _outermost.release()


def _tell(what: str, done: threading.Event) -> None:
    began, told = time.monotonic(), False
    while not done.wait(OFTEN if told else LONG):
        told = True
        sys.stderr.write(f"\r{what} - {time.monotonic() - began:.0f} s - Ctrl-C stops it\x1b[K\r")
        sys.stderr.flush()
    if told:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
