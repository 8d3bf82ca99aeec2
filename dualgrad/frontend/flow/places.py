"""Where in the user's program something is made."""

from __future__ import annotations

import contextlib
import sys
from types import FrameType

from engine.runtime.packages import FOLDERS

_is_ours: dict[str, bool] = {contextlib.__file__: True}
"""File name to whether it is one of ours (or lies between). Whoever asks finds the same, so threads need no lock."""


def user_line(skip: int, known: tuple[FrameType, tuple[str, int]] | None = None) -> tuple[str, int]:
    """File and line of the innermost caller outside this project, whose callees are `skip` frames of ours at least.

    `known` is a frame that is still running, and the line found from there.
    """
    # to look at a frame makes an object of it
    frame = sys._getframe(skip)
    stop = None if known is None else known[0]
    while frame.f_back is not None:
        if frame is stop:
            assert known is not None
            return known[1]
        name = frame.f_code.co_filename
        ours = _is_ours.get(name)
        if ours is None:
            ours = _is_ours[name] = name.startswith(FOLDERS)
        if not ours:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
