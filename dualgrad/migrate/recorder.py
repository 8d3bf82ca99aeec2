"""The recorder: keeps in a folder what a program's runs and steps were asked, fed and gave."""

from __future__ import annotations

import hashlib
import io
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files.golden import GoldenWriter, described, digest
from dualgrad.migrate.census import Census
from dualgrad.migrate.watch import Run, Site, exit_code, is_number
from dualgrad.migrate.watch_tapes import Step
from dualgrad.platform import progress
from engine.core.trace import constant, needed_nodes
from engine.core.variable import read_variable, variable_handle
from graph_api.graphs.tensor import Tensor
from graph_api.iterators import next_element, next_of_handle
from graph_api.legacy.queues import take_elements
from graph_api.sessions.session import _readable

WHOLE = 4096
"""Of an operation's value with more elements only the hash is kept."""


def finished(program: Callable[[], int]) -> int:
    """The exit code of a program, however it ends."""
    try:
        return program()
    except SystemExit as end:
        return exit_code(end)


@dataclass(frozen=True)
class Sampling:
    """Which runs are kept.

    Attributes
    ----------
    every : int
        Of each kind of run (same fetches, same feeds) every so many.
    limit : int
        At most so many of each kind.
    ops : int
        Of so many of those the operations' values too.
    """

    every: int = 1
    limit: int = 100
    ops: int = 2


@dataclass
class Recorder:
    """Keeps runs and steps of one program in a folder.

    Parameters
    ----------
    folder : path
        Of the record.
    path : Path
        The program.
    sampling : Sampling
    """

    folder: str | Path
    path: Path
    sampling: Sampling = field(default_factory=Sampling)
    seen: Counter[Any] = field(default_factory=Counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    rest: list[list[Any]] = field(default_factory=list)
    """Of each run that is not kept: its number, that of the first of its kind, hashes of what it was fed and gave."""
    graphs: list[Any] = field(default_factory=list)
    sessions: list[Any] = field(default_factory=list)
    events: list[list[Any]] = field(default_factory=list)
    """The steps and tags of summaries that went to event files."""
    count: int = 0
    _first: dict[Any, int] = field(default_factory=dict)
    _extra: dict[int, dict[str, Any]] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.RLock)
    _printed: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.writer = GoldenWriter(self.folder)
        self._home = self.path.resolve().parent

    # ---- which -------------------------------------------------------------------------------------------------------

    def should_keep(self, kind: Any) -> tuple[bool, bool]:
        """Whether to keep one more of a kind, and the values of its operations."""
        with self._lock:
            n, every = self.seen[kind], self.sampling.every
            keep = n % every == 0 and n // every < self.sampling.limit
            return keep, keep and n // every < self.sampling.ops

    def site(self, where: Site) -> list[Any]:
        """A place in the program, the same on every machine."""
        file = Path(where[0]).resolve()
        inside = file.is_relative_to(self._home)
        return [str(file.relative_to(self._home)) if inside else file.name, where[1]]

    # ---- runs of sessions --------------------------------------------------------------------------------------------

    def around(self, made: Run, compute: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Make a run; ask for the values of operations besides, if they are to be kept."""
        if made.minimizes:
            return compute(made.flat)
        keep, ops = self.should_keep(_kind(made))
        nodes = needed(made) if keep else []
        extra = [x for n in nodes for x in (n.outputs if ops or takes(n) else draw(n)) if fetchable(x)]
        if not extra:
            return compute(made.flat)
        values = compute([*made.flat, *extra])
        found = dict(zip([x.name for x in extra], values[len(made.flat) :], strict=True))
        told: dict[str, Any] = {"draws": _draws_of(nodes, found)}
        taken = [x.name for n in nodes if takes(n) for x in n.outputs]
        told["taken"] = {name: self._store(found[name]) for name in taken if is_data(found.get(name))}
        if ops:
            told["ops"] = {name: self._value(value) for name, value in found.items() if is_data(value)}
        with self._lock:
            self._extra[id(made)] = {name: value for name, value in told.items() if value}
        return values[: len(made.flat)]

    def keep(self, made: Run) -> None:
        """Take down a run that was made."""
        with self._lock:
            self.count += 1
            progress.step(f"{len(self.steps)} kept")
            keep, _ = self.should_keep(_kind(made))
            self.seen[_kind(made)] += 1
            extra = self._extra.pop(id(made), {})
            first = self._first.setdefault(_kind(made), self.count - 1)
            if not keep:
                fed = [digest(v) for v in made.fed if is_data(v)]
                given = [digest(v) if is_data(v) else None for v in made.results]
                self.rest.append([self.count - 1, first, fed, given, _error_text(made.error)])
                return
            before, after = made.variables("before"), made.variables("after")
            step = {
                "kind": "run",
                "session": place_in(self.sessions, made.session),
                "graph": place_in(self.graphs, made.graph),
                "site": self.site(made.site),
                "fetches": [x.name for x in made.flat],
                "feeds": {t.name: self._store(v) for t, v in zip(made.feeds, made.fed, strict=True) if is_data(v)},
                "results": [self._store(v) if is_data(v) else None for v in made.results],
            }
            if threading.current_thread() is not threading.main_thread():
                step["thread"] = True
            if made.error is not None:
                step["error"] = _error_text(made.error)
            self.add(step, before, after, extra)

    def keep_step(self, made: Step) -> None:
        """Take down what a tape or an optimizer of eager variables did."""
        with self._lock:
            self.count += 1
            progress.step(f"{len(self.steps)} kept")
            kind = made.kind, self.site(made.site)[0], made.site[1], *made.given, *made.gave
            keep, _ = self.should_keep(kind)
            self.seen[kind] += 1
            if keep:
                step: dict[str, Any] = {"kind": made.kind, "site": self.site(made.site), "fetches": list(made.gave)}
                step["feeds"] = {name: self._store(v) for name, v in made.given.items() if v is not None}
                step["results"] = [None if v is None else self._store(v) for v in made.gave.values()]
                self.add(step, made.before, made.after, {})

    def add(self, step: dict[str, Any], before: dict[str, Any], after: dict[str, Any], extra: dict[str, Any]) -> None:
        """Take down a step with the variables; of those afterwards only what has changed."""
        step["before"] = {name: self._store(v) for name, v in before.items()}
        later = {name: self._store(v) for name, v in after.items()}
        step["after"] = {n: d for n, d in later.items() if d["hash"] != step["before"].get(n, {}).get("hash")}
        self.steps.append({"number": self.count - 1, **step, **extra})

    def _store(self, value: Any) -> dict[str, Any]:
        with self._lock:  # threads that feed queues run sessions too
            return self.writer.put(value)

    def _value(self, value: Any) -> dict[str, Any]:
        """The form in which an operation's value is kept."""
        return self._store(value) if np.size(value) <= WHOLE else described(value)

    # ---- the rest ----------------------------------------------------------------------------------------------------

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is printed, too."""
        usual, sys.stdout = sys.stdout, Both(sys.stdout, self._printed)
        try:
            yield
        finally:
            sys.stdout = usual

    def finish(
        self,
        made: dict[str, Any],
        code: int,
        call: dict[str, Any],
        census: Census,
        nodes: Callable[[Any], Iterable[dict[str, Any]]] | None = None,
    ) -> None:
        """Write what was taken down.

        Parameters
        ----------
        made : dict
            With what, and on which machine.
        code : int
            The program's exit code.
        call : dict
            How it was called.
        census : Census
        nodes : callable, optional
            The nodes of a graph as JSON data, if it is none of ours.
        """
        content = self.path.read_bytes()
        head = {
            "program": {"file": self.path.name, "sha256": hashlib.sha256(content).hexdigest(), **call, "exit": code},
            "made": made,
            "kept": {**vars(self.sampling), "steps": len(self.steps), "of": self.count},
        }
        describe = nodes or (lambda graph: [node_data(self, node) for node in graph.nodes])
        used = {name: sorted(map(self.site, places)) for name, places in sorted(census.found.items())}
        parts = {
            "steps.json": self.steps,
            "rest.json": self.rest,
            "graphs.json": [list(describe(graph)) for graph in self.graphs],
            "census.json": used,
            "events.json": self.events,
            "printed.txt": self._printed.getvalue(),
            "program.py": content.decode(),
        }
        self.writer.finish(head, parts)
        print(  # noqa: T201
            f"dualgrad record: {len(self.steps)} of {self.count} runs and steps, {len(used)} names of TensorFlow, "
            f"in {self.folder}",
            file=sys.stderr,
        )


class Both(io.TextIOBase):
    """Text that goes to two places."""

    def __init__(self, first: Any, second: Any) -> None:
        self._first, self._second = first, second

    def write(self, text: str) -> int:
        """Write to both."""
        progress.clear()
        self._second.write(text)
        return int(self._first.write(text))

    def flush(self) -> None:
        """Flush the first."""
        self._first.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)


# ---- what runs are made of -------------------------------------------------------------------------------------------


def place_in(known: list[Any], one: Any) -> int:
    """The place of an object in a list, to which it is added if need be."""
    for i, other in enumerate(known):
        if other is one:
            return i
    known.append(one)
    return len(known) - 1


def _kind(made: Run) -> tuple[Any, ...]:
    return "run", id(made.graph), tuple(map(id, made.flat)), tuple(map(id, made.feeds))


def _error_text(error: BaseException | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {error}".splitlines()[0]


def needed(made: Run) -> list[Any]:
    """The operations that a run needs."""
    fed = {id(t) for t in made.feeds}
    return needed_nodes(made.graph.nodes, [_readable(x) for x in made.flat], fed, lambda node: node.control_inputs)


def fetchable(x: Any) -> bool:
    """Whether a session can be asked for a value, and it is one of numbers or strings."""
    return isinstance(x, Tensor) and x.op.op is not variable_handle


def draw(node: Any) -> tuple[Any, ...]:
    """The seed and the counter that an operation takes, if it draws random numbers."""
    names = node.op.args
    return node.inputs[names.index("seed") :][:2] if "counter" in names else ()


def takes(node: Any) -> bool:
    """Whether an operation takes the next element of an iterator, or of a queue."""
    return node.op in (next_element, next_of_handle, take_elements)


def _draws_of(nodes: Sequence[Any], found: dict[str, Any]) -> list[list[Any]]:
    """Of each operation that draws: its name, type, seed and counter."""
    drawing = [n for n in nodes if draw(n) and all(x.name in found for x in draw(n))]
    return [[n.name, n.type, *[np.asarray(found[x.name]).tolist() for x in draw(n)]] for n in drawing]


def is_data(value: Any) -> bool:
    """Whether a value is an array of numbers or strings (and not the handle of a queue)."""
    return type(value) is np.ndarray or is_number(value) or isinstance(value, (bytes, str))


def node_data(recorder: Recorder, node: Any) -> dict[str, Any]:
    """A node of one of our graphs as JSON data."""
    data: dict[str, Any] = {"name": node.name, "type": node.type, "inputs": [x.name for x in node.inputs]}
    if node.control_inputs:
        data["after"] = [c.name for c in node.control_inputs]
    data["outputs"] = [[x.dtype.name, None if x._aval.shape is None else list(x._aval.shape)] for x in node.outputs]
    data["site"] = recorder.site(node.where)
    if node.op is variable_handle and node.params["default"] is not None:
        data["hidden"] = True  # a counter of random numbers: no variable of the program's own
    if (operands := draw(node)) and operands[1].node.op is read_variable:
        seed = operands[0].node
        pair = np.asarray(seed.params["value"]).tolist() if seed.op is constant else None
        data["stream"] = [pair, operands[1].node.inputs[0].name]  # without a seed, each session has others
    return data
