"""Notes of a run: what a program prints, and the states of its random number generators between its lines.

Lines that only build a graph are not part of the converted program. If they draw random numbers, the lines after them
would draw others without them. So `noting` keeps the states that the generators had when each line was first reached.
"""

from __future__ import annotations

import hashlib
import io
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from dualgrad.platform import progress
from graph_api.graphs.graph import get_default_graph

GENERATORS = (np.random.RandomState, np.random.Generator)


@dataclass
class Notes:
    """Notes of what was seen.

    Attributes
    ----------
    states : dict
        By line: of each generator, by the expression that names it, its state when the line was first reached.
    called : Counter
        How often each function was called, by the line where its head stands.
    locals : dict
        By the line where a function begins, what its names stood for when it ran a session (`Capture.locals`).
    told : list
        In order: the lines that were being run, of functions too, and what was printed then.
    seeded : set
        Of ``"np.random"`` and ``"random"`` those to which the program gave a seed or a state.
    objects : dict
        By class of the program, its objects in the order in which they were made (`Capture.objects`).
    built : set
        The lines that added something to a graph, also by functions of other modules.
    """

    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    called: Counter[int] = field(default_factory=Counter)
    locals: dict[int, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, list[Any]] = field(default_factory=dict)
    told: list[tuple[frozenset[int], str]] = field(default_factory=list)
    seeded: set[str] = field(default_factory=set)
    built: set[int] = field(default_factory=set)
    _printed: _Tee | None = None
    _known: dict[str, Any] = field(default_factory=dict)

    @property
    def printed(self) -> str:
        """The text that the program printed."""
        return self._printed.copy.getvalue() if self._printed is not None else ""

    def printed_by(self, lines: range) -> str:
        """The text that was printed while lines were run."""
        return "".join(text for at, text in self.told if not at.isdisjoint(lines))

    def reached(self, frame: FrameType) -> None:
        """The program has come to a line."""
        line = frame.f_lineno
        is_head = line == frame.f_code.co_firstlineno and frame.f_code.co_name != "<module>"
        if line in self.states or is_head:
            return
        # Python 3.12 loses names of a comprehension at the top of a module if one looks at the locals there
        own = {} if frame.f_code.co_name == "<module>" else frame.f_locals
        named: dict[str, Any] = {n: v for n, v in {**frame.f_globals, **own}.items() if isinstance(v, GENERATORS)}
        named |= {"np.random": np.random, "random": random}
        self.states[line] = {name: self._interned(state(generator)) for name, generator in named.items()}

    def unseeded(self) -> list[str]:
        """Of ``"np.random"`` and ``"random"`` those that the program drew from without giving them a seed."""
        first: dict[str, Any] = next(iter(self.states.values()), {})
        last = {"np.random": self._interned(state(np.random)), "random": self._interned(state(random))}
        return [n for n, now in last.items() if n in first and first[n] is not now and n not in self.seeded]

    def _seeding(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A generator's own function that gives it a seed or a state, noted."""

        def noted(*args: Any, **kwargs: Any) -> Any:
            given = any(x is not None for x in (*args, *kwargs.values()))
            (self.seeded.add if given else self.seeded.discard)(name)
            return method(*args, **kwargs)

        return noted

    def _interned(self, found: Any) -> object:
        """The state, one object for equal ones."""
        return self._known.setdefault(hashlib.sha256(repr(_plain(found)).encode()).hexdigest(), found)


class _Tee(io.TextIOBase):
    """Hands text on and keeps it, also with the lines of the program that print it."""

    def __init__(self, to: Any, program: str, told: list[tuple[frozenset[int], str]]) -> None:
        self.to, self.copy, self.program, self.told = to, io.StringIO(), program, told

    def write(self, text: str) -> int:
        frame: FrameType | None = sys._getframe(1)
        lines = []
        while frame is not None:
            if frame.f_code.co_filename == self.program:
                lines.append(frame.f_lineno)
            frame = frame.f_back
        if lines:
            self.told.append((frozenset(lines), text))
        self.copy.write(text)
        progress.clear()
        return self.to.write(text)

    def flush(self) -> None:
        # it is flushed once more when it goes, which may be after the end of what it writes to
        if not self.to.closed:
            self.to.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.to, name)


def state(generator: Any) -> object:
    """The state of a generator, or of the common one of `numpy.random` or `random`."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if generator is random else generator.get_state()


def _plain(found: Any) -> object:
    """A state as numbers and strings."""
    if isinstance(found, dict):
        return {key: _plain(value) for key, value in found.items()}
    if isinstance(found, (tuple, list)):
        return [_plain(value) for value in found]
    return found.tobytes() if isinstance(found, np.ndarray) else found


@contextmanager
def noting(program: Path, ended: Callable[[FrameType], None] = lambda frame: None) -> Iterator[Notes]:
    """Note what a program does that is run inside the ``with`` block.

    Parameters
    ----------
    program : Path
        Its file.
    ended : callable
        What is told of each function of the program that ends.
    """
    notes = Notes()
    notes._printed = _Tee(sys.stdout, str(program), notes.told)
    seeds: list[tuple[str, Any, str, Any]] = [
        (name, module, method, getattr(module, method))
        for name, module, methods in (("np.random", np.random, "seed set_state"), ("random", random, "seed setstate"))
        for method in methods.split()
    ]
    for name, module, method, usual in seeds:
        setattr(module, method, notes._seeding(name, usual))
    before = sys.gettrace()

    since: dict[int, tuple[int, Any, int]] = {}

    def on_line(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        graph = get_default_graph()
        now = frame.f_lineno, graph, len(graph.nodes)
        line, before, count = since.get(id(frame), now)
        if before is graph and count < len(graph.nodes):
            notes.built.add(line)
        since[id(frame)] = now
        if event == "line":
            notes.reached(frame)
        elif event == "return":
            del since[id(frame)]
            ended(frame)
        return on_line

    def on_call(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if event != "call" or frame.f_code.co_filename != str(program):
            return None
        notes.called[frame.f_code.co_firstlineno] += 1
        return on_line

    with redirect_stdout(notes._printed):
        sys.settrace(on_call)
        try:
            yield notes
        finally:
            sys.settrace(before)
            for _, module, method, usual in seeds:
                setattr(module, method, usual)
