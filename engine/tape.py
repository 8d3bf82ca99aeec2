"""The recorder: a tape is a list of the nodes that depend on what it watches.

Tapes live in the engine because they record eager and symbolic values alike. A value is *tracked* by a tape if it is
watched or computed from something tracked; a node is recorded if one of its inputs is tracked. Values are tracked by
identity; the tape keeps them alive, so identities stay unique.

Which tapes are recording is thread-local state: a tape records the thread that opened it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.op import Node, Op


class _Active(threading.local):
    """The tapes that record the current thread, outermost first."""

    def __init__(self) -> None:
        self.tapes: tuple[Tape, ...] = ()


active = _Active()


class Tape:
    """A recording.

    Attributes
    ----------
    nodes : list of Node
        In the order of execution.
    tracked : dict
        ``id(value) -> value`` for every watched or computed value (keeps them alive).
    watch_accessed_variables : bool
        Whether a trainable variable is watched when it is read.
    variables : dict
        ``id(variable) -> variable`` of the variables watched, in the order they were first read.
    """

    __slots__ = ("__weakref__", "nodes", "tracked", "variables", "watch_accessed_variables")

    def __init__(self, watch_accessed_variables: bool = True) -> None:
        self.watch_accessed_variables = watch_accessed_variables
        self.nodes: list[Node] = []
        self.tracked: dict[int, Any] = {}
        self.variables: dict[int, Any] = {}

    def watch(self, value: Any) -> None:
        """Track `value` from here on."""
        self.tracked[id(value)] = value

    def forget(self) -> None:
        """Let go of what was recorded. Which variables were watched is still known."""
        self.nodes, self.tracked = [], {}

    def clear(self) -> None:
        """Forget everything recorded and watched."""
        self.forget()
        self.variables = {}

    def start(self) -> None:
        """Record the current thread from here on."""
        active.tapes = (*active.tapes, self)

    def stop(self) -> None:
        """Stop recording."""
        active.tapes = tuple(t for t in active.tapes if t is not self)

    @property
    def is_recording(self) -> bool:
        """Whether the tape records the current thread."""
        return any(t is self for t in active.tapes)


def record(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], outputs: tuple[Any, ...]) -> None:
    """Let every active tape that tracks one of `inputs` record this application of `op`."""
    if op.vjp is None:
        return
    node = None
    for tape in active.tapes:
        tracked = tape.tracked
        for x in inputs:
            if id(x) in tracked:
                if node is None:
                    node = Node(op, inputs, params, outputs)
                tape.nodes.append(node)
                for out in outputs:
                    tracked[id(out)] = out
                break


def record_read(variable: Any, op: Op, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Record that `variable` was read, watching it first where a tape watches accessed variables."""
    for tape in active.tapes:
        key = id(inputs[0])
        if key not in tape.tracked and tape.watch_accessed_variables and variable.trainable:
            tape.tracked[key] = inputs[0]
            tape.variables[id(variable)] = variable
        if key in tape.tracked and id(outputs[0]) not in tape.tracked:
            tape.nodes.append(Node(op, inputs, {}, outputs))
            tape.tracked[id(outputs[0])] = outputs[0]


@contextmanager
def paused(*tapes: Tape) -> Iterator[None]:
    """Pause the given tapes (all active ones if none is given) in this thread."""
    before = active.tapes
    active.tapes = tuple(t for t in before if tapes and not any(t is p for p in tapes))
    try:
        yield
    finally:
        active.tapes = before
