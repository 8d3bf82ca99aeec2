"""Where in the user's program something is made."""

from __future__ import annotations

import contextlib
import sys

from engine.runtime.packages import FOLDERS

_is_ours: dict[str, bool] = {contextlib.__file__: True}
"""File name to whether it is one of ours (or lies between). Whoever asks finds the same, so threads need no lock."""


def user_line(skip: int) -> tuple[str, int]:
    """File and line of the innermost caller outside this project, whose callees are `skip` frames of ours at least."""
    # to look at a frame makes an object of it
    frame = sys._getframe(skip)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        ours = _is_ours.get(name)
        if ours is None:
            ours = _is_ours[name] = name.startswith(FOLDERS)
        if not ours:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
