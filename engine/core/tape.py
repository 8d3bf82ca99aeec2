"""The recorder: a tape is a list of the nodes that depend on what it watches.

Tapes live in the engine because they record eager and symbolic values alike. A value is *tracked* by a tape if it is
watched or computed from something tracked; a node is recorded if one of its inputs is tracked. Values are tracked by
identity; the tape keeps them alive, so identities stay unique.

Recording is hot: each eager op pays for it. So the parts of a node are only written down; most derivatives follow from
these (`engine.closed.replay`), and nodes are made when somebody asks for them.

Which tapes are recording is thread-local state: a tape records the thread that opened it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from engine.core.op import Node, Op
from engine.core.value import address

R = TypeVar("R")


class _Active(threading.local):
    """The tapes that record the current thread, outermost first.

    Attributes
    ----------
    function : FunctionTape or None
        The outermost of them, if it records a whole function (`engine.core.function_tape`). Nothing pauses it.
    region : object or None
        Where branches and bodies of loops of such a function are captured: variables are read and assigned there.
    started : int
        How many have begun to record.
    instead : callable or None
        ``instead(op, inputs, params)`` applies an op in its own way; None leaves it to the kernel. It is asked where
        Python applies ops (`engine.core.eager.applied_in_python`).
    building : Trace or None
        The graph that results become constants of; see `engine.core.trace.unless_large`.
    """

    def __init__(self) -> None:
        self.tapes: tuple[Tape, ...] = ()
        self.function: Any = None
        self.region: Any = None
        self.instead: Callable[..., Any] | None = None
        self.building: Any = None
        self.started = 0


active = _Active()


NOTHING: dict[str, Any] = {}
"""The parameters of all nodes that have none: garbage collection has less to look at than with a dict each."""


class Recording(Sequence[Node]):
    """The nodes that a tape has recorded, in the order of execution.

    Attributes
    ----------
    log : list
        Op, operands, parameters and result (a tuple if the op has several) of each node, one after the other.
    """

    __slots__ = ("_known", "_nodes", "log")

    def __init__(self) -> None:
        self.log: list[Any] = []
        self._nodes: list[Node] = []
        self._known: tuple[int, Any] = 0, None

    def __len__(self) -> int:
        return len(self.log) // 4

    def __getitem__(self, index: Any) -> Any:
        return self._made()[index]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._made())

    def known(self, find: Callable[[Recording], R]) -> R:
        """``find(self)``, or what that gave before if nothing has been recorded since. There is one thing to find."""
        length, result = self._known
        if length != len(self.log) or result is None:
            length, result = self._known = len(self.log), find(self)
        return result

    def renamed(self, since: int, others: dict[int, Any]) -> None:
        """Put others in place of some operands, by identity, in what was recorded since the log had that length."""
        for i in range(since + 1, len(self.log), 4):
            if any(id(x) in others for x in self.log[i]):
                self.log[i] = tuple([others.get(id(x), x) for x in self.log[i]])
        self._nodes, self._known = self._nodes[: since // 4], (0, None)

    def copy(self) -> Recording:
        """The same nodes, to which others may be added."""
        other = Recording()
        other.log += self.log
        return other

    def _made(self) -> list[Node]:
        further = [
            Node(op, inputs, params, out if op.multi else (out,))
            for op, inputs, params, out in _in_fours(self.log[4 * len(self._nodes) :])
        ]
        if further:
            self._nodes = [*self._nodes, *further]
        return self._nodes


class Seen(dict[int, Any]):
    """Stands in for `Tape.nondifferentiable`: it takes every value for one it knows, and so is told of every op.

    Attributes
    ----------
    recording : Recording
        What it was told. It keeps all values alive.
    """

    __slots__ = ("recording",)

    def __init__(self) -> None:
        super().__init__()
        self.recording = Recording()

    def __bool__(self) -> bool:
        return True

    def __contains__(self, key: object) -> bool:
        return True

    def distinct(self) -> list[Node]:
        """The nodes, in the order of execution: a variable that is read again gives what it gave."""
        found: dict[int, Node] = {}
        for node in self.recording:
            if node.outputs:
                found.setdefault(address(node.outputs[0]), node)
        return list(found.values())


def logged(nodes: Sequence[Node]) -> Iterator[tuple[Any, ...]]:
    """Op, operands, parameters and result (a tuple if the op has several) of each node."""
    if type(nodes) is Recording:
        parts = iter(nodes.log)
        return zip(parts, parts, parts, parts, strict=True)
    return ((n.op, n.inputs, n.params, n.outputs if n.op.multi else n.outputs[0]) for n in nodes)


def _in_fours(log: list[Any]) -> Iterator[tuple[Any, ...]]:
    parts = iter(log)
    return zip(parts, parts, parts, parts, strict=True)


class Tape:
    """A recording.

    Attributes
    ----------
    nodes : Recording
    tracked : dict
        ``address(value) -> value`` for every watched or computed value (keeps them alive).
    watch_accessed_variables : bool
        Whether a trainable variable is watched when it is read.
    variables : dict
        ``id(variable) -> variable`` of the variables watched, in the order they were first read.
    detached : dict
        Where tracked values became arrays, with what is known of it (`engine.core.detach`).
    assigned : dict
        ``id(variable) -> function`` for variables that were assigned to: it is called when one is read again.
    nondifferentiable : dict
        ``address(value) -> (length of the log before it, node)`` for what comes from tracked values by ops without
        derivatives, and from that. No walk looks at it; a plan that is called at another point computes it anew.
    left : dict
        ``address(value) -> (value, contents, file, line)`` of what left the recording: Python looked at the contents of
        such a value. At a point where they are others the recording is that of another function.
    held : dict
        ``id(variable) -> function`` for variables that hold what was computed from tracked values: it is called with
        what is read of one.
    choices : list of bool, or None
        The truth of tensors as it is to be taken, in the order in which Python asks; if this is given, each answer is
        added to `chosen`.
    strict : bool
        Whether a tracked value that becomes an array is an error.
    explains : bool
        Whether it notes what an explanation needs (`engine.explain.witness`).
    """

    explains = False
    instead: Callable[..., Any] | None = None
    """Applies ops as `active.instead` does, while no other tape records."""
    values_by_address: Callable[[], Any] = dict
    """Makes what `tracked` is; in C, a table of values alone (`engine.core.eager`)."""
    __slots__ = (
        *("__weakref__", "assigned", "choices", "chosen", "detached", "held", "left", "nodes", "nondifferentiable"),
        *("strict", "tracked", "variables", "watch_accessed_variables"),
    )

    def __init__(self, watch_accessed_variables: bool = True, strict: bool = False) -> None:
        self.watch_accessed_variables = watch_accessed_variables
        self.strict = strict
        self.detached: dict[Any, Any] = {}
        self.assigned: dict[int, Callable[[], None]] = {}
        self.nondifferentiable: dict[int, tuple[int, Node]] = {}
        self.left: dict[int, tuple[Any, Any, str, int]] = {}
        self.held: dict[int, Callable[[Any], None]] = {}
        self.choices: list[bool] | None = None
        self.chosen: list[bool] = []
        self.nodes = Recording()
        self.tracked = self.values_by_address()
        self.variables: dict[int, Any] = {}

    def watch(self, value: Any) -> None:
        """Track `value` from here on."""
        self.tracked[address(value)] = value

    def forget(self) -> None:
        """Let go of what was recorded. Which variables were watched is still known."""
        self.nodes, self.tracked = Recording(), self.values_by_address()
        self.detached, self.assigned, self.nondifferentiable = {}, {}, {}
        self.left, self.held = {}, {}

    def knows(self, value: Any) -> bool:
        """Whether `value` is watched, or was computed from what is, with a derivative or without."""
        return address(value) in self.tracked or address(value) in self.nondifferentiable

    def depends(self, value: Any) -> bool:
        """Whether the contents of `value` depend on those of what is watched, not on shapes alone."""
        made: dict[int, Node] = {id(out): node for node in self.everything() for out in node.outputs}
        left, seen = [value], set[int]()
        while left:
            x = left.pop()
            if id(x) in seen or not self.knows(x):
                continue
            seen.add(id(x))
            node = made.get(id(x))
            if node is None:
                return True
            if not node.op.from_avals:
                left += [y for i, y in enumerate(node.inputs) if i not in node.op.references]
        return False

    def everything(self) -> list[Node]:
        """All that was computed from tracked values, in the order of execution: with what has no derivative."""
        every, nodes, first = [], list(self.nodes), 0
        # one node with several results stands under each
        for length, node in dict.fromkeys(self.nondifferentiable.values()):
            every += [*nodes[first : length // 4], node]
            first = length // 4
        return [*every, *nodes[first:]]

    def clear(self) -> None:
        """Forget everything recorded and watched."""
        self.forget()
        self.variables = {}

    def start(self) -> None:
        """Record the current thread from here on."""
        active.started += 1
        tapes = active.tapes
        if self not in tapes:
            active.tapes = (*tapes, self)

    def stop(self) -> None:
        """Stop recording."""
        tapes = active.tapes
        if self in tapes:
            active.tapes = tapes[:-1] if tapes[-1] is self else tuple([t for t in tapes if t is not self])

    close = stop
    """Stop for good."""

    @property
    def is_recording(self) -> bool:
        """Whether the tape records the current thread."""
        return self in active.tapes


def record(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> None:
    """Let every active tape that tracks one of `inputs` record this application of `op`.

    `out` is its result, a tuple if the op has several.
    """
    for tape in active.tapes:
        tracked = tape.tracked
        if op.vjp is None:
            record_nondifferentiable(tape, op, inputs, params, out)
            continue
        for x in inputs:
            if address(x) in tracked:
                tape.nodes.log += (op, inputs, params or NOTHING, out)
                if op.multi:
                    for part in out:
                        tracked[address(part)] = part
                else:
                    tracked[address(out)] = out
                break
        else:
            if tape.nondifferentiable:
                record_nondifferentiable(tape, op, inputs, params, out)


def record_nondifferentiable(tape: Tape, op: Op, inputs: tuple[Any, ...], params: dict[str, Any], out: Any) -> None:
    """Keep what has no derivative, if it comes from tracked values."""
    tracked, others = tape.tracked, tape.nondifferentiable
    if type(others) is Seen:
        others.recording.log += (op, inputs, params, out)
        return
    for x in inputs:
        key = address(x)
        if key in tracked or key in others:
            outputs = out if op.multi else (out,)
            entry = len(tape.nodes.log), Node(op, inputs, params, outputs)
            for part in outputs:
                others[address(part)] = entry
            return


def record_read(variable: Any, op: Op, inputs: tuple[Any, ...], out: Any) -> None:
    """Record that `variable` was read, watching it first where a tape watches accessed variables."""
    for tape in active.tapes:
        if tape.assigned and (read_again := tape.assigned.pop(id(variable), None)):
            read_again()
        key = address(inputs[0])
        if key not in tape.tracked and tape.watch_accessed_variables and variable.trainable:
            tape.tracked[key] = inputs[0]
            tape.variables[id(variable)] = variable
        if key in tape.tracked:
            if address(out) not in tape.tracked:
                tape.nodes.log += (op, inputs, NOTHING, out)
                tape.tracked[address(out)] = out
        elif id(variable) in tape.held:
            tape.held[id(variable)](out)
        elif tape.nondifferentiable:
            record_nondifferentiable(tape, op, inputs, NOTHING, out)
    if active.function is not None:
        active.function.read(variable, op, out)


def references(tapes: Sequence[Tape]) -> Counter[int]:
    """How often tapes refer to each value that they hold, by its identity."""
    held: dict[int, Iterable[Any]] = {}
    for tape in tapes:
        log = tape.nodes.log
        held[id(log)], held[id(tape.tracked)] = log, tape.tracked.values()
        held[id(tape.detached)] = [note.value for note in tape.detached.values()]
        held[id(tape.held)] = [read.args[0] for read in tape.held.values()]  # type: ignore[attr-defined]
        held[id(tape.left)] = [note[0] for note in tape.left.values()]
        nodes = [node for _, node in tape.nondifferentiable.values()]
        parts = chain(log[1::4], log[3::4], *[(n.inputs, n.outputs) for n in nodes])
        held.update({id(x): x for x in parts if type(x) is tuple})
    return Counter(map(id, chain.from_iterable(held.values())))


def _unpaused() -> tuple[Tape, ...]:
    return () if active.function is None else (active.function,)


class paused:
    """Pauses the given tapes (all active ones if none is given) in this thread, inside a ``with`` block."""

    __slots__ = ("_before", "_paused")

    def __init__(self, *tapes: Tape) -> None:
        self._paused = tapes

    def __enter__(self) -> None:
        self._before = before = active.tapes
        if self._paused:
            function = active.function
            active.tapes = tuple([t for t in before if t is function or not any(t is p for p in self._paused)])
        else:
            active.tapes = _unpaused()

    def __exit__(self, *_: Any) -> None:
        active.tapes = self._before


def unrecorded(function: Callable[..., R], *arguments: Any) -> R:
    """``function(*arguments)`` while no tape records this thread; whatever interrupts it, they record it afterwards."""
    before = active.tapes
    if not before:
        return function(*arguments)
    # twice: an interrupt may come within `finally` (`engine.runtime.commit`)
    try:
        try:
            active.tapes = _unpaused()
            return function(*arguments)
        finally:
            active.tapes = before
    finally:
        active.tapes = before
