"""Tracebacks that end at the program's line: dualgrad's frames are left out.

A front end has them so by itself once it is imported (`install`), in Python and in Jupyter;
``DUALGRAD_TRACEBACK=full`` shows ours, too.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

_MADE = ("<program>", "<frozen runpy>", "<frozen importlib._bootstrap>")


def is_ours(file: str) -> bool:
    """Whether a line of this file says nothing to who wrote the program."""
    import contextlib

    from engine.runtime.packages import FOLDERS

    return file.startswith(FOLDERS) or file in (*_MADE, contextlib.__file__)


def _is_below(file: str) -> bool:
    """Whether it belongs to what we call ourselves: NumPy, SciPy, Python."""
    import sysconfig

    import numpy as np

    packages = os.path.dirname(os.path.dirname(np.__file__))
    folders = [os.path.join(packages, name) for name in ("numpy", "scipy")]
    inside = file.startswith(tuple(f + os.sep for f in folders))
    return inside or (file.startswith(sysconfig.get_path("stdlib")) and not file.startswith(packages))


def shortened(error: BaseException) -> BaseException:
    """The exception, of whose traceback, and those of the exceptions behind it, only the program's lines are kept.

    What of NumPy, SciPy or Python was called by us goes with us, unless it called the program again. An exception that
    has no line of the program keeps all; one behind it keeps none.
    """
    seen: set[int] = set()
    behind: list[BaseException | None] = [error]
    while behind:
        here = behind.pop()
        if here is None or id(here) in seen:
            continue
        seen.add(id(here))
        links = _links(here.__traceback__)
        kept = _of_program(links) or (links if here is error else [])
        for link, following in zip(kept, [*kept[1:], None], strict=False):
            link.tb_next = following
        here.__traceback__ = kept[0] if kept else None
        behind += [here.__cause__, here.__context__]
    return error


def _links(traceback: TracebackType | None) -> list[TracebackType]:
    links = []
    while traceback is not None:
        links.append(traceback)
        traceback = traceback.tb_next
    return links


def _of_program(links: list[TracebackType]) -> list[TracebackType]:
    """Those of the program, and of packages that it calls, from the outermost on."""
    kept: list[TracebackType] = []
    called: list[TracebackType] = []  # by us, and not the program's as far as we know yet
    by_us = False
    for link in links:
        file = link.tb_frame.f_code.co_filename
        if is_ours(file):
            by_us, called = True, []
        elif by_us and _is_below(file):
            called.append(link)
        else:
            kept += [*called, link]
            by_us, called = False, []
    return kept


def is_full() -> bool:
    """Whether all lines are wanted."""
    return os.environ.get("DUALGRAD_TRACEBACK") == "full"


def install() -> None:
    """Shorten what Python shows of an exception that nobody caught, and what a notebook shows, from now on."""
    usual = sys.excepthook
    if getattr(usual, "__module__", None) == __name__:
        return

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not is_full():
            traceback = shortened(error).__traceback__
        usual(kind, error, traceback)

    sys.excepthook = hook
    # only where it runs already
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # a handler that somebody else has set stays
    if shell is not None and not getattr(shell, "custom_exceptions", True):
        shell.set_custom_exc((Exception,), _in_notebook)


def _in_notebook(shell: Any, kind: Any, error: BaseException, traceback: Any, tb_offset: int | None = None) -> None:
    # the first link is IPython's own, which it leaves out by itself
    if not is_full():
        traceback = shortened(error).__traceback__
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
