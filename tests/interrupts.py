"""KeyboardInterrupt at every point of an operation, one after the other.

A trace function raises it when the k-th line, or the k-th bytecode, of our own code is about to run, for k = 1, 2, …
until the operation completes. That is more than CPython does to a program, which is interrupted between some bytecodes
only. What context managers set back is left out: it is plain statements, between which CPython interrupts nobody.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from engine.runtime.packages import FOLDERS

OURS = (*FOLDERS, "<program>")


class _Interrupter:
    """Raises KeyboardInterrupt at the event of the given number."""

    def __init__(self, at: int, opcodes: bool) -> None:
        self.left = at
        self.opcodes = opcodes

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if self.opcodes:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        caller = frame.f_back
        if event != "call" and caller is not None and caller.f_code.co_filename == contextlib.__file__:
            return self
        if event in ("call", "line", "opcode"):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt(f"{frame.f_code.co_filename}:{frame.f_lineno} ({event})")
        return self


def interrupted(operation: Callable[[], Any], at: int, opcodes: bool = False) -> str | None:
    """Interrupt an operation at event number `at`: the place; None if it has completed before."""
    before = sys.gettrace()
    interrupter = _Interrupter(at, opcodes)
    sys.settrace(interrupter)
    try:
        operation()
    except KeyboardInterrupt as interrupt:
        return str(interrupt)
    finally:
        sys.settrace(before)
    # Python swallows what is raised in a finalizer
    return "a finalizer" if interrupter.left <= 0 else None


def length(operation: Callable[[], Any], opcodes: bool = False) -> int:
    """The number of events of an operation."""
    before = sys.gettrace()
    counter = _Interrupter(0, opcodes)
    sys.settrace(counter)
    try:
        operation()
    finally:
        sys.settrace(before)
    return -counter.left


def everywhere(
    operation: Callable[[], Any], reset: Callable[[], Any], opcodes: bool = False, stride: int = 1
) -> Iterator[str]:
    """Interrupt an operation at each event, or one in `stride`, from the state that `reset` makes; yield the places."""
    at = 1
    while True:
        reset()
        place = interrupted(operation, at, opcodes)
        if place is None:
            return
        yield place
        at += stride
