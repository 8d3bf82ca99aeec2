"""The last line of a terminal that says how far something is, and when it will be done; in a pipe there is none."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

OFTEN = 0.1
"""Seconds between two looks of the line."""
_open: list[ProgressLine] = []


class ProgressLine:
    """One line that is written over and over; `shown` says whether anybody sees it.

    Parameters
    ----------
    what : str
        What is being done.
    total : int, optional
        How many steps it has; with it, the line says how much time is left.
    stream : text file, optional
        ``sys.stderr`` by default.
    """

    def __init__(self, what: str, total: int | None = None, stream: Any = None) -> None:
        self.what, self.total = what, total
        self.stream = sys.stderr if stream is None else stream
        self.shown = is_terminal(self.stream)
        self.done, self.began = 0, time.monotonic()
        self._last, self._written = self.began, False

    def step(self, text: str = "", count: int = 1) -> None:
        """One step more is done, or several."""
        self.done += count
        now = time.monotonic()
        if self.shown and now - self._last >= OFTEN:
            self._write(now, text)

    def say(self, text: str) -> None:
        """Write the line at once: before something that takes time and has no steps."""
        if self.shown:
            self._write(time.monotonic(), text)

    def _write(self, now: float, text: str) -> None:
        self._last, self._written = now, True
        parts = [self.what]
        if self.total:
            left = (now - self.began) / max(self.done, 1) * max(self.total - self.done, 0)
            parts += [f"{self.done} of {self.total}", *([f"{duration(left)} left"] if self.done else [])]
        elif self.done:
            parts += [str(self.done), duration(now - self.began)]
        line = " - ".join(filter(None, [*parts, text]))
        width = max(_width(self.stream) - 1, 10)
        # what others print next begins at the left edge, too
        self.stream.write(f"\r{line[:width]}\x1b[K\r")
        self.stream.flush()

    def clear(self) -> None:
        """Take the line away, so that something else can be written there."""
        if self._written:
            self._written = False
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def is_terminal(stream: Any) -> bool:
    """Whether a person sees what is written, on something that can write a line over another."""
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False


def _width(stream: Any) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):
        return 80


def duration(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> duration(0.4), duration(75), duration(7300)
    ('0 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


@contextlib.contextmanager
def progress(what: str, total: int | None = None, stream: Any = None) -> Iterator[ProgressLine]:
    """A line for as long as the ``with`` block runs; `step`, `say` and `clear` are about the innermost one."""
    line = ProgressLine(what, total, stream)
    _open.append(line)
    try:
        yield line
    finally:
        _open.remove(line)
        line.clear()


def step(text: str = "") -> None:
    """One step more of what is being done, if anything is."""
    if _open:
        _open[-1].step(text)


def say(text: str) -> None:
    """Say what comes next, if a line is there."""
    if _open:
        _open[-1].say(text)


def clear() -> None:
    """Before a program prints: take the line away."""
    if _open:
        _open[-1].clear()
