"""Timings, and the file that `pytest-benchmark compare` reads."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """How long something took.

    Attributes
    ----------
    group, name : str
        What was computed, and how.
    first : float
        Seconds of the first call, with everything that is done once: building a graph, planning.
    rounds : list of float
        Seconds of each later call.
    extra : dict
        Facts to keep with it.
    """

    group: str
    name: str
    first: float
    rounds: list[float]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def warm(self) -> float:
        """Median seconds of the later calls."""
        return statistics.median(self.rounds)


def measure(
    group: str, name: str, prepare: Callable[[], Callable[[], Any]], seconds: float, **extra: Any
) -> tuple[Measurement, Any]:
    """Time `prepare` with one call of what it returns, then further calls (3 at least) until `seconds` are over.

    Returns
    -------
    Measurement
    object
        What the last call returned.
    """
    start = time.perf_counter()
    call = prepare()
    result = call()
    first = time.perf_counter() - start
    rounds: list[float] = []
    while len(rounds) < 3 or (sum(rounds) < seconds and len(rounds) < 1000):
        start = time.perf_counter()
        result = call()
        rounds.append(time.perf_counter() - start)
    return Measurement(group, name, first, rounds, extra), result


def interleaved(
    calls: Mapping[str, Callable[[], Any]], seconds: float, least: int = 5, most: int = 1000
) -> dict[str, list[float]]:
    """Time several calls in turn, round by round: what slows the machine for a while then slows all of them.

    Parameters
    ----------
    calls : mapping
        What to time; each was called before, so that nothing is done for the first time here.
    seconds : float
        Stop after the round in which this time is over.
    least, most : int
        Rounds.

    Returns
    -------
    dict
        Per name the seconds of one call in each round. What is short beside the clock is repeated within a round.
    """
    # the first call of some finds nothing in the caches
    least_of = {name: min(_timed(call, 1) for _ in range(3)) for name, call in calls.items()}
    counts = {name: max(1, int(2e-4 / max(shortest, 1e-9))) for name, shortest in least_of.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    names, end = list(calls), time.perf_counter() + seconds
    for i in range(most):
        if i >= least and time.perf_counter() > end:
            break
        turn = i % len(names)  # nobody is always first after somebody else
        for name in (*names[turn:], *names[:turn]):
            found[name].append(_timed(calls[name], counts[name]))
    return found


def _timed(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def median_seconds(call: Callable[[], Any], seconds: float = 0.1) -> float:
    """The median of at least 5 calls, and of as many as fit in `seconds`, after one that is not timed."""
    call()
    rounds: list[float] = []
    while len(rounds) < 5 or (sum(rounds) < seconds and len(rounds) < 1000):
        rounds.append(_timed(call, 1))
    return statistics.median(rounds)


def peak_bytes(call: Callable[[], Any]) -> int:
    """The most memory that a call holds at once, beyond what was held before. Tracing slows it: not to be timed."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        if not running:
            tracemalloc.stop()
    return max(0, peak - before)


def write_json(path: Path, measurements: Sequence[Measurement], program: str = "bench/report.py") -> None:
    """Write measurements as ``pytest --benchmark-json`` does."""
    path.write_text(as_json(measurements, program), encoding="utf-8")


def as_json(measurements: Sequence[Measurement], program: str = "bench/report.py") -> str:
    """Measurements as the text of a file that ``pytest --benchmark-json`` writes; `program` measured them."""
    # Here, since whoever only looks at a comparison needs NumPy alone.
    import pytest_benchmark
    from pytest_benchmark.plugin import pytest_benchmark_generate_machine_info
    from pytest_benchmark.utils import get_commit_info, safe_dumps

    content = {
        "machine_info": pytest_benchmark_generate_machine_info(),
        "commit_info": get_commit_info("dualgrad"),
        "benchmarks": [_entry(m, program) for m in measurements],
        "datetime": datetime.now(UTC).isoformat(),
        "version": pytest_benchmark.__version__,
    }
    return safe_dumps(content, indent=4)


def _entry(m: Measurement, program: str) -> dict[str, Any]:
    return {
        "group": m.group,
        "name": m.name,
        "fullname": f"{program}::{m.group}[{m.name}]",
        "params": None,
        "param": None,
        "extra_info": {"first_call": m.first, **m.extra},
        "options": {},
        "stats": statistics_of(m.rounds),
    }


def statistics_of(rounds: Sequence[float]) -> dict[str, Any]:
    """The ``stats`` of an entry, by pytest-benchmark's own formulas."""
    from pytest_benchmark.stats import Stats

    stats = Stats()
    for seconds in rounds:
        stats.update(seconds)
    return {**stats.as_dict(), "data": list(rounds), "iterations": 1}
