"""A witness for tapes with ``explain=True``: every op of its thread with the user's line, recorded or not.

An ordinary tape keeps what depends on its sources. To say why something does *not*, one must have seen the rest:
what was computed before `watch`, inside `stop_recording`, or from other values. So a second tape is active beside the
first. It watches nothing, but `record` (`engine.core.tape`) tells it of every op, whether or not an operand is tracked.
Ops pay for this only while such a tape is active.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, NamedTuple

from engine.core.detach import user_frame
from engine.core.op import Node
from engine.core.tape import Seen, Tape, active
from engine.core.value import address


class Site(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int


class Notes(Seen):
    """The ops that were seen (`nodes`), where they were, and whether the tape that it stands beside was recording."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        # a reference back would keep both alive until the next garbage collection
        self._tape = weakref.ref(tape)
        self.nodes: list[Node] = []
        self.sites: list[Site] = []
        self.recorded: list[bool] = []
        self._made: set[int] = set()

    def __setitem__(self, key: int, entry: tuple[int, Node]) -> None:
        if key in self._made:
            return  # another result of the same node; or a variable is read again
        self._made.update(map(address, entry[1].outputs))
        self.nodes.append(entry[1])
        frame = user_frame(sys._getframe(1))
        self.sites.append(Site(frame.f_code.co_filename, frame.f_lineno))
        self.recorded.append(self._tape() in active.tapes)


class ExplainedTape(Tape):
    """A tape beside which a witness sees all ops between `start` and the end of the ``with`` block.

    `watched` says by address how many ops had been seen when a value was watched.
    """

    explains = True
    __slots__ = ("_kept", "_witness", "notes", "watched")

    def __init__(self, watch_accessed_variables: bool = True, strict: bool = False) -> None:
        super().__init__(watch_accessed_variables, strict)
        self.watched: dict[int, int] = {}
        self.notes = Notes(self)
        self._witness = Tape(watch_accessed_variables=False)
        self._witness.nondifferentiable = self.notes
        self._kept: Tape | None = None

    @property
    def kept(self) -> Tape:
        """A tape with what was recorded, also after this one has let go of it."""
        return self._kept or self

    def watch(self, value: Any) -> None:
        """Track `value` from here on."""
        self.watched.setdefault(address(value), len(self.notes.nodes))
        super().watch(value)

    def forget(self) -> None:
        """Let go of what was recorded; `kept` has it still."""
        if self.nodes or self._kept is None:
            kept = Tape(self.watch_accessed_variables, self.strict)
            for name in ("nodes", "tracked", "detached", "nondifferentiable"):
                setattr(kept, name, getattr(self, name))
            kept.variables = self.variables
            self._kept = kept
        super().forget()

    def clear(self) -> None:
        """Forget everything recorded, seen and watched."""
        super().clear()
        self.watched, self._kept = {}, None
        self.notes = self._witness.nondifferentiable = Notes(self)

    def start(self) -> None:
        """Record the current thread from here on; the witness sees it until `close`."""
        self._witness.start()
        super().start()

    def close(self) -> None:
        """Stop for good."""
        super().stop()
        self._witness.stop()
