"""The streams of random numbers that a migrated program draws from, set and compared as its variables are.

An operation of a graph has a stream of its own: two seeds, and a counter that moves on with each run. Eager calls with
the same seeds share one; a call in the code of a ``tf.function`` has one of its own. Before a recorded run is made
again, each stream is set to where its operation's counter was. What seeds it has and how far it moves on is the new
program's own affair, and is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dualgrad.files.golden import Golden
from tape_api.random import draws as drawing

Key = tuple[str, tuple[int, ...]]
"""A type of operation, and the two seeds."""
_NONE: Key = "", ()
Moved = tuple[str, int, int]
"""The name of an operation, and two counters: what the record says, and what is here."""


@dataclass(frozen=True)
class _Drawn:
    """An operation of a recorded graph that draws with seeds, and the variable that counts."""

    name: str
    key: Key
    counter: str


class _Counters(dict[Any, int]):
    """The counters of eager calls; one that has not drawn yet begins where the operation with its seeds was."""

    begun: Mapping[Any, int]

    def get(self, key: Any, default: Any = None) -> Any:
        """The counter of a stream."""
        found = _key(key)
        return super().get(key, default if found is None else self.begun.get(found, default))


class Streams:
    """The streams of a migrated program.

    Parameters
    ----------
    golden : Golden
    graphs : sequence
        The recorded ones.
    own : sequence of dict
        Of the operations of each graph for which the program has a function that draws for them alone: the function.
    fresh : bool
        Whether the program has only been imported, so that its streams are where they begin.
    """

    def __init__(self, golden: Golden, graphs: Sequence[Any], own: Sequence[Mapping[str, str]], fresh: bool) -> None:
        self._golden, self._own, self._fresh = golden, own, fresh
        # what threads draw moves on at any time
        steps = [step for step in golden.part("steps.json") if step.get("thread")]
        threads = {(step["graph"], draw[0]) for step in steps for draw in step.get("draws", ())}
        self._drawn = [
            [
                _Drawn(n["name"], (n["type"], (*n["stream"][0],)), n["stream"][1])
                for n in graph
                if seeded(n) and (number, n["name"]) not in threads
            ]
            for number, graph in enumerate(graphs)
        ]
        self._used: set[tuple[int, str]] = set()
        self._begun: dict[Key, int] = {}
        self._before: dict[Any, int] = {}
        self._step: Mapping[str, Any] | None = None
        self._late: list[Moved] = []

    def set(self, step: Mapping[str, Any], evaluated: Callable[[str], Any]) -> None:
        """Set all streams to where they were before a recorded run; `evaluated` gives what an expression means."""
        graph, there = step["graph"], step["before"]
        owned = {name: _calls_of(evaluated(code)) for name, code in self._own[graph].items()}
        if step is not self._step:
            self._step, self._late = step, []
        left: dict[Key, list[int]] = {}
        # those that draw in this run come first: what has drawn initial values may have the same seeds
        for drawn in sorted(self._drawn[graph], key=lambda d: d.counter not in step["after"]):
            at = self._counter(there, drawn)
            calls = owned.get(drawn.name, ())
            if self._fresh and drawn.counter in step["after"] and (graph, drawn.name) not in self._used:
                self._used.add((graph, drawn.name))
                starts = [call.start for call in calls]
                starts += [n for k, n in drawing.state.counters.items() if _key(k) == drawn.key and not calls]
                if (start := max(starts, default=0)) != at:
                    self._late.append((drawn.name, at, start))
            for call in calls:
                call.start = at
            if drawn.name not in owned:
                left.setdefault(drawn.key, []).append(at)
        self._begun = {key: places[0] for key, places in left.items()}
        counters = _Counters({k: self._begun.get(_key(k) or _NONE, n) for k, n in drawing.state.counters.items()})
        counters.begun, drawing.state.counters = self._begun, counters
        known = [call for calls in owned.values() for call in calls]
        for call in [c for c in drawing.calls.values() if c not in known]:
            if places := left.get(_key(call.kind, call.pair) or _NONE):
                call.start = places[0] if len(places) == 1 else places.pop(0)
        self._before = {place: at for place, _, at in _places()}

    def moved(self, step: Mapping[str, Any]) -> list[Moved]:
        """Where a run has not moved the streams on as the recorded one did, or some began elsewhere."""
        if step is not self._step:
            return []  # no function has run
        names: dict[Key, str] = {}
        wanted: dict[Key, int] = {}
        for drawn in self._drawn[step["graph"]]:
            names.setdefault(drawn.key, drawn.name)
            if drawn.counter in step["after"]:
                by = self._counter(step["after"], drawn) - self._counter(step["before"], drawn)
                wanted[drawn.key] = wanted.get(drawn.key, 0) + by
        got: dict[Key, int] = {}
        for place, key, at in _places():
            begun = 0 if isinstance(place, int) else self._begun.get(key, 0)
            got[key] = got.get(key, 0) + at - self._before.get(place, begun)
        found = [(names.get(key, f"{key[0]} {list(key[1])}"), wanted.get(key, 0), got.get(key, 0))
                 for key in {**wanted, **got} if (wanted.get(key, 0) - got.get(key, 0)) % 2**64]  # fmt: skip
        return [*self._late, *found]

    def _counter(self, held: Mapping[str, Any], drawn: _Drawn) -> int:
        described = held.get(drawn.counter)
        return int(self._golden.array(described)) if described is not None else 0


def seeded(node: Mapping[str, Any]) -> bool:
    """Whether a recorded operation draws with seeds, not with what each session finds anew."""
    return bool(node.get("stream", [None])[0])


def _key(kind: Any, pair: Sequence[int] | None = None) -> Key | None:
    """The type and the seeds of what `tape_api.random` counts; None without seeds."""
    if pair is None:
        if isinstance(kind, str):
            return None
        kind, pair = kind
    return kind.partition(":")[0], (*pair,)


def _places() -> list[tuple[Any, Key, int]]:
    """All streams with seeds: what they are known by, the type and the seeds, and the counter."""
    eager = [(k, key, n) for k, n in drawing.state.counters.items() if (key := _key(k)) is not None]
    return [*eager, *((id(c), (c.kind.partition(":")[0], (*c.pair,)), c.start) for c in drawing.calls.values())]


def _calls_of(function: Any) -> list[Any]:
    """The calls of random functions in the code of a ``tf.function``, in so far as it has been traced."""
    of = getattr(function, "_function", function)
    return [call for streams in of._streams.values() for call in streams.calls.values()]
