"""Timings, and the file that `pytest-benchmark compare` reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest_benchmark
from pytest_benchmark.plugin import pytest_benchmark_generate_machine_info
from pytest_benchmark.stats import Stats
from pytest_benchmark.utils import get_commit_info, safe_dumps


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
        return float(self.stats.median)

    @property
    def stats(self) -> Stats:
        """pytest-benchmark's statistics of the later calls."""
        stats = Stats()
        for seconds in self.rounds:
            stats.update(seconds)
        return stats


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


def write_json(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements as ``pytest --benchmark-json`` does."""
    content = {
        "machine_info": pytest_benchmark_generate_machine_info(),
        "commit_info": get_commit_info("dualgrad"),
        "benchmarks": [_entry(m) for m in measurements],
        "datetime": datetime.now(UTC).isoformat(),
        "version": pytest_benchmark.__version__,
    }
    path.write_bytes(safe_dumps(content, indent=4).encode())


def _entry(m: Measurement) -> dict[str, Any]:
    return {
        "group": m.group,
        "name": m.name,
        "fullname": f"bench/report.py::{m.group}[{m.name}]",
        "params": None,
        "param": None,
        "extra_info": {"first_call": m.first, **m.extra},
        "options": {},
        "stats": {**m.stats.as_dict(), "data": m.rounds, "iterations": 1},
    }
