"""``tf.logging``: messages through Python's logger ``tensorflow``, written as TensorFlow 1 writes them."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL

_lock = threading.Lock()
_counts: Counter[tuple[str, int]] = Counter()


class _ToStandardError(logging.StreamHandler[Any]):
    """Writes to what is standard error now, also if a program has replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(sys.stderr)
        super().emit(record)


def _logger() -> logging.Logger:
    logger = logging.getLogger("tensorflow")
    with _lock:
        if not logger.handlers and not logging.getLogger().handlers:
            handler = _ToStandardError()
            handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
            logger.addHandler(handler)
    return logger


def set_verbosity(v: int | str) -> None:
    """From which level on messages are written."""
    _logger().setLevel(v)


def get_verbosity() -> int:
    """From which level on messages are written."""
    return _logger().getEffectiveLevel()


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write ``msg % args`` if `level` is high enough."""
    _logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message for who looks for errors."""
    log(DEBUG, msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message."""
    log(INFO, msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a warning."""
    log(WARN, msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write that something failed."""
    log(ERROR, msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write that the program cannot go on. It goes on nevertheless, as in TensorFlow."""
    log(FATAL, msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """`log` under another name."""
    log(level, msg, *args, **kwargs)


def flush() -> None:
    """Write out what waits in buffers."""
    for handler in _logger().handlers:
        handler.flush()


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Write a message if a condition holds."""
    if condition:
        log(level, msg, *args)


def _count() -> int:
    """How often the line that called the caller has called it before."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    with _lock:
        _counts[place] += 1
        return _counts[place] - 1


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write a message the first time that this line is reached, and every n-th time from there on."""
    log_if(level, msg, _count() % n == 0, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write a message the first n times that this line is reached."""
    log_if(level, msg, _count() < n, *args)


__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "flush", "get_verbosity", "info", "log",
    "log_every_n", "log_first_n", "log_if", "set_verbosity", "vlog", "warn", "warning",
]  # fmt: skip
