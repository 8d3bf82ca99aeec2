"""Traces: what operations computed, one after the other, by the hashes of their operands and results.

A program that was migrated has other names, and perhaps other operations, than the original. But where both compute the
same, the same bits appear in both. So the first operation that differs is found by values: its operands occur in the
other trace, its result does not. Its counterpart is the operation there that takes the same operands and gives what
does not occur here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import engine.core.eager as eager_module
from dualgrad.files.golden import Golden, digest
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.watch import user_site
from dualgrad.platform import config
from engine.core.op import Op
from engine.gradient_tape import GradientTape
from engine.reverse import reverse
from optim import closed_step
from tape_api.random import draws as drawing


@dataclass
class Event:
    """One operation that was carried out.

    Attributes
    ----------
    name, type : str
    operands, results : list of str
        Hashes.
    site : (str, int)
        The line of the program.
    arrays : dict
        Hashes to arrays, as far as they are there.
    names : list of str
        Of the operands.
    """

    name: str
    type: str
    operands: list[str]
    results: list[str]
    site: Sequence[Any] | None
    arrays: Mapping[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)


@dataclass
class Pair:
    """The first operation that differs, and its counterpart in the other program, if there is one."""

    here: Event
    there: Event | None


def recorded_trace(golden: Golden, step: Mapping[str, Any], graph: Sequence[Mapping[str, Any]]) -> list[Event]:
    """The operations of a recorded run, as far as they were kept.

    Parameters
    ----------
    golden : Golden
    step : dict
        The run.
    graph : list of dict
        The nodes of its graph.
    """
    values = {**step.get("before", {}), **step["feeds"], **step.get("ops", {})}
    arrays = Arrays(golden, {d["hash"]: d for d in values.values()})
    found = []
    for node in graph:
        outputs = [f"{node['name']}:{i}" for i in range(len(node["outputs"]))]
        if not any(name in step.get("ops", {}) for name in outputs) or any(o in step["feeds"] for o in outputs):
            continue
        inputs = [x for x in node["inputs"] if x in values]
        results = [values[o]["hash"] for o in outputs if o in values]
        operands = [values[x]["hash"] for x in inputs]
        found.append(Event(node["name"], node["type"], operands, results, node["site"], arrays, inputs))
    return found


class Arrays(Mapping[str, Any]):
    """The arrays of a record by their hashes; those that are there."""

    def __init__(self, golden: Golden, described: Mapping[str, Any]) -> None:
        self._golden, self._described = golden, {h: d for h, d in described.items() if golden.holds(d)}

    def __getitem__(self, key: str) -> np.ndarray:
        return self._golden.array(self._described[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)


# ---- what runs on eager values ---------------------------------------------------------------------------------------


class Draws:
    """Seeds and counters of recorded random numbers without a seed, handed out by type of operation in their order.

    Each run of a program draws others, so that nothing could be compared without.

    Attributes
    ----------
    count : int
        How many were handed out.
    """

    def __init__(self, recorded: Sequence[Sequence[Any]]) -> None:
        self._left: dict[str, list[Any]] = {}
        self.count = 0
        for _, type_, seed, counter in recorded:
            self._left.setdefault(type_, []).append((seed, counter))

    def operands_for(self, op: Op, arrays: Sequence[Any]) -> Sequence[Any]:
        """The operands of an operation; if it draws without a seed, with the next recorded seed and counter."""
        if "counter" not in op.args or not self._left.get(op.type):
            return arrays
        at = op.args.index("seed")
        if [int(word) % 2**64 for word in arrays[at]] != list(drawing.state.secret):
            return arrays
        self.count += 1
        pair = self._left[op.type].pop(0)
        drawn = [np.asarray(x, np.asarray(a).dtype) for x, a in zip(pair, arrays[at : at + 2], strict=True)]
        return [*arrays[:at], *drawn, *arrays[at + 2 :]]


@contextmanager
def tracing(events: list[Event] | None = None, draws: Draws | None = None) -> Iterator[None]:
    """Take down what operations compute on eager values, gradients included; let those draw that have no seed.

    Parameters
    ----------
    events : list of Event, optional
        To be added to; by default nothing is taken down.
    draws : Draws, optional
        By default operations draw what they would.
    """
    eagerly, after = config.functions_run_eagerly(), closed_step.AFTER

    def note(op: Op, arrays: Sequence[Any], results: Any) -> None:
        if events is not None:
            kept: dict[str, Any] = {}
            hashes = []
            for x in [*arrays, *results]:
                value = np.asarray(x)
                if value.dtype.kind == "O" and value.dtype.metadata is None and not _strings(value):
                    continue
                hashes.append(digest(value))
                kept[hashes[-1]] = value
            count = len(results)
            operands, made = hashes[: len(hashes) - count], hashes[len(hashes) - count :]
            events.append(Event(op.name, op.type, operands, made, user_site(3), kept, list(op.args)))

    def traced(usual: Any, op: Op, inputs: Any, arrays: Any, params: dict[str, Any]) -> Any:
        if draws is not None:
            arrays = draws.operands_for(op, arrays)
        out = usual(op, inputs, arrays, params)
        note(op, arrays, [x._array for x in (out if op.multi else (out,))])
        return out

    def called(usual: Any, self: Op, *inputs: Any, **params: Any) -> Any:
        out = usual(self, *inputs, **params)
        if events is not None and all(isinstance(x, (np.ndarray, np.generic)) for x in inputs):
            note(self, inputs, out if self.multi else (out,))
        return out

    def walked(usual: Any, tape: GradientTape, *args: Any, **kwargs: Any) -> list[Any]:
        return reverse(*args, **kwargs)

    changes: list[Any] = [(eager_module, "_applied", traced)]
    if events is not None:
        # programs show no operations
        config.run_functions_eagerly(True)
        closed_step.AFTER = math.inf
        changes += [(GradientTape, "_replayed", walked), (Op, "__call__", called)]
    try:
        with replaced(*changes), eager_module.applied_in_python():
            yield
    finally:
        config.run_functions_eagerly(eagerly)
        closed_step.AFTER = after


def _strings(value: np.ndarray) -> bool:
    return all(isinstance(x, (str, bytes)) for x in value.ravel().tolist())


# ---- the first that differs ------------------------------------------------------------------------------------------


def first_difference(recorded: Sequence[Event], new: Sequence[Event], known: set[str]) -> Pair | None:
    """The first recorded operation whose operands occur in the new trace and whose result does not.

    Parameters
    ----------
    recorded, new : sequence of Event
        In the order of execution.
    known : set of str
        Hashes of what both are given: feeds and variables.

    Returns
    -------
    Pair or None
        None if every recorded result occurs in the new trace. Operations that have a counterpart come first: others
        may have been left out for good.
    """
    there = known.union(*[{*e.operands, *e.results} for e in new])
    here = known.union(*[{*e.operands, *e.results} for e in recorded])
    strange = [e for e in new if not here.issuperset(e.results)]
    # a constant of the same name and another value: the old value may well occur elsewhere
    named = {e.name: set(e.results) for e in new if not e.operands}
    candidates = [
        e
        for e in recorded
        if (not there.issuperset(e.results) and there.issuperset(e.operands))
        or (not e.operands and e.name in named and named[e.name].isdisjoint(e.results))
    ]
    alone = None
    for event in candidates:
        pair = _counterpart(event, strange) if event.operands else _constant(event, recorded, strange)
        if pair is not None:
            return pair
        alone = alone or Pair(event, None)
    return alone


def hidden_difference(recorded: Sequence[Event], new: Sequence[Event], known: set[str]) -> Pair | None:
    """The first operation that gives something else, though what follows from it has the same bits again.

    An operation corresponds to the only one of its type that takes what corresponds to its operands; constants may be
    others. A difference counts once an operation gives the same of what differs: a rounding, say, that hides it. Where
    a program computes in another way there is no such operation.

    Parameters
    ----------
    recorded, new, known
        As of `first_difference`.
    """
    here, there = [known.union(*[e.results for e in events]) for events in (recorded, new)]
    data = known.union(*[e.results for e in recorded if e.operands])
    places: dict[Any, list[Event]] = {}
    for e in new:
        places.setdefault((e.type, *sorted(h for h in e.operands if h in there)), []).append(e)
    meaning: dict[str, str] = {}
    origin: dict[str, Pair] = {}
    for e in recorded:
        found = places.get((e.type, *sorted(meaning.get(h, h) for h in e.operands if h in data)), ())
        roots = [origin[h] for h in e.operands if h in origin]
        if any(f.results == e.results for f in found):
            if roots:
                return min(roots, key=lambda pair: list(origin.values()).index(pair))
            continue
        others = [f for f in found if here.isdisjoint(f.results) and len(f.results) == len(e.results)]
        if e.operands and len(others) == 1 and there.isdisjoint(e.results):
            meaning |= zip(e.results, others[0].results, strict=True)
            origin |= dict.fromkeys(e.results, roots[0] if roots else Pair(e, others[0]))
    return None


def _counterpart(event: Event, strange: Sequence[Event]) -> Pair | None:
    """The operation in the other trace that takes the same operands: of this name or type rather than of another."""
    same = [e for e in strange if sorted(set(e.operands)) == sorted(set(event.operands)) and e.operands]
    same = same or [e for e in strange if e.type == event.type and set(e.operands) & set(event.operands)]
    if not same:
        return None
    return Pair(event, min(same, key=lambda e: (e.name != event.name, e.type != event.type)))


def _constant(event: Event, recorded: Sequence[Event], strange: Sequence[Event]) -> Pair | None:
    """A constant that the other program does not have: who takes it here, and takes something else there."""
    same = next((e for e in strange if not e.operands and e.name == event.name), None)
    if same is not None:
        return Pair(event, same)
    for user in recorded:
        if not set(event.results) & set(user.operands):
            continue
        others = set(user.operands) - set(event.results)
        for e in strange:
            if e.type == user.type and others <= set(e.operands) and len(e.operands) == len(user.operands):
                instead = [h for h in e.operands if h not in others]
                if instead:
                    there = Event(e.name, e.type, [], instead[:1], e.site, e.arrays, [])
                    return Pair(event, there)
    return None
