"""Tracebacks that end at the program's line: dualgrad's frames are left out."""

from __future__ import annotations

import contextlib
from types import TracebackType

from engine.runtime.packages import FOLDERS

_MADE = ("<program>", "<frozen runpy>", "<frozen importlib._bootstrap>", contextlib.__file__)


def is_ours(file: str) -> bool:
    """Whether a line of this file says nothing to who wrote the program."""
    return file.startswith(FOLDERS) or file in _MADE


def shortened(error: BaseException) -> BaseException:
    """The exception, of whose traceback, and those of the exceptions behind it, only the program's lines are kept.

    An exception that has no line of the program keeps all.
    """
    seen: set[int] = set()
    behind: list[BaseException | None] = [error]
    while behind:
        here = behind.pop()
        if here is None or id(here) in seen:
            continue
        seen.add(id(here))
        here.__traceback__ = _kept(here.__traceback__) or here.__traceback__
        behind += [here.__cause__, here.__context__]
    return error


def _kept(traceback: TracebackType | None) -> TracebackType | None:
    links = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code.co_filename):
            links.append(traceback)
        traceback = traceback.tb_next
    for link, following in zip(links, [*links[1:], None], strict=False):
        link.tb_next = following
    return links[0] if links else None
