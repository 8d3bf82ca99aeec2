"""Costs of derivatives: every problem, in graph and tape mode by each method, and by the peers that are installed.

``pytest bench -k jacobian --benchmark-enable`` (with ``--full``: the large sizes too). A benchmark is called
``problem-size-mode-method``; its results are checked, and what was found out about it is in its ``extra_info``.
Where benchmarks are disabled, the smallest size of each problem runs once, by our own methods.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bench import jacobians, peer_jacobians
from bench.jacobians import MODES, NotHere, Runner
from bench.measure import median_seconds, peak_bytes
from bench.problems import PROBLEMS, Problem, Size, label
from engine.executor.staged import in_python

SIDES = (1, 10, 100, 1000)
GRID = replace(
    PROBLEMS["mlp"],
    name="grid",
    quick=tuple((n, 32, m) for n in SIDES[::3] for m in SIDES[::3]),
    full=tuple((n, 32, m) for n in SIDES for m in SIDES if n not in SIDES[::3] or m not in SIDES[::3]),
)
"""Every pair of few, some and many inputs and outputs of a network: does the planner choose well?"""
BEST = "best"
"""The method of a peer: the fastest of its ways."""
WARM = 4
"""Calls after which everything that is compiled is compiled."""


def pytest_generate_tests(metafunc: Any) -> None:
    """The cases; their number depends on what is installed and on ``--full``."""
    options = metafunc.config.option
    measured = options.benchmark_enable or not options.benchmark_disable
    peers = peer_jacobians.installed() if measured else []
    first_only = "cold" in metafunc.function.__name__
    cases = [
        _case(problem, size, mode, method, first_only)
        for problem in (*PROBLEMS.values(), *[GRID] * measured)
        for size in (problem.sizes(getattr(options, "full", False)) if measured else problem.quick[:1])
        for mode, method in [
            *((mode, method) for mode in MODES for method in jacobians.methods(problem)),
            *((peer, BEST) for peer in peers),
        ]
        if problem is not GRID or (mode == "graph" and method != "row loop" and not first_only)
        if method == "auto" or not first_only
    ]
    metafunc.parametrize(("problem", "size", "mode", "method"), cases)


def _case(problem: Problem, size: Size, mode: str, method: str, cold: bool) -> Any:
    group = f"{problem.name} {label(size)}" + (", first call" if cold else "")
    name = f"{problem.name}-{label(size)}-{mode}-{method}"
    marks = [pytest.mark.benchmark(group=group)]
    if method not in ("auto", BEST):
        marks.append(pytest.mark.secondary)
    if mode not in MODES:
        # what a peer warns about is its own affair
        marks.append(pytest.mark.filterwarnings("ignore"))
    return pytest.param(problem, size, mode, method, id=name, marks=marks)


def test_jacobian(benchmark: Any, problem: Problem, size: Size, mode: str, method: str) -> None:
    """A later call."""
    place = _place(problem, size)
    with _or_skipped(mode, method):
        run = place.prepared(mode, method)
    result = benchmark.pedantic(run, rounds=1) if place.is_long(mode) else benchmark(run)
    if mode in MODES:
        matrix = jacobians.check(problem, place.values, result, method)
    else:
        # checked before it was timed: a peer that is off is left out, and is no failure of ours
        matrix = jacobians.matrix(problem, place.values, result)
    benchmark.extra_info.update(_facts(place, mode, method, matrix), stage="warm")
    case = problem.name, size, mode, method
    if benchmark.enabled and mode in MODES and case not in _told:
        # once is enough: of several passes, the facts of the first are kept
        _told.add(case)
        benchmark.extra_info.update(_costs(place, mode, method, run, benchmark.stats.stats.median))


_told: set[tuple[str, Size, str, str]] = set()


def _costs(place: Place, mode: str, method: str, run: Runner, median: float) -> dict[str, Any]:
    """Further facts about one of our ways, a later call of which takes `median` seconds."""
    found: dict[str, Any] = {"j_over_f": median / place.function_seconds(mode)}
    found |= jacobians.planned(place.problem, place.values, method)
    if method == "auto":
        stages = jacobians.stages(place.problem, place.values, mode)
        found |= {"peak_bytes": peak_bytes(run), "stages": stages}
        found |= {"python_seconds": _python_seconds(place, mode)}
    return found


def _python_seconds(place: Place, mode: str) -> float:
    """The seconds of a later call without the native executor."""
    with in_python(), jacobians.afresh():
        run = jacobians.reading(jacobians.ours(place.problem, place.values, mode, "auto"))
        for _ in range(WARM):
            run()
        return median_seconds(run)


def test_jacobian_cold(benchmark: Any, problem: Problem, size: Size, mode: str, method: str) -> None:
    """Our first call, with everything that is done once: recording or tracing, planning, compiling.

    That of a peer is a fact of its later calls: it takes seconds, and is not to be waited for twice.
    """
    place = _place(problem, size)
    with _or_skipped(mode, method):
        first = place.unprepared(mode, method)
        with jacobians.afresh():
            result = benchmark.pedantic(first, rounds=1)
    matrix = jacobians.check(problem, place.values, result)
    benchmark.extra_info.update(_facts(place, mode, method, matrix), stage="cold")


@contextlib.contextmanager
def _or_skipped(mode: str, method: str) -> Iterator[None]:
    try:
        yield
    except NotHere as reason:
        pytest.skip(f"{mode}, {method}: {reason}")


# ---- a problem of one size -------------------------------------------------------------------------------------------


class Place:
    """A problem of one size: its inputs, and what was prepared to be timed, since a case may be run several times."""

    def __init__(self, problem: Problem, size: Size) -> None:
        self.problem, self.size = problem, size
        self.values = problem.values(size)
        self._runners: dict[tuple[str, str], Runner] = {}
        self._peers: dict[str, dict[str, Any]] = {}
        self._long: dict[str, bool] = {}
        self._seconds: dict[str, float] = {}

    def prepared(self, mode: str, method: str) -> Runner:
        """A function to time, warmed up."""
        key = (mode, method)
        if key not in self._runners:
            if mode in MODES:
                run = jacobians.ours(self.problem, self.values, mode, method)
                # a recording that was seen a few times is compiled
                for _ in range(WARM if method not in ("row loop", "numeric") else 1):
                    run()
            else:
                ways = peer_jacobians.peer_ways(mode, self.problem, self.values)
                firsts = peer_jacobians.first_calls(ways)
                ways, off = peer_jacobians.right_ways(self.problem, self.values, ways)
                seconds = peer_jacobians.warm_seconds(ways)
                name = min(seconds, key=seconds.__getitem__)
                self._peers[mode] = {"way": name, "first_call": firsts[name], "off": off}
                self._long[mode] = seconds[name] > peer_jacobians.LONG
                run = ways[name]
            self._runners[key] = jacobians.reading(run)
        return self._runners[key]

    def unprepared(self, mode: str, method: str) -> Runner:
        """A function that does everything from the start."""
        return lambda: jacobians.ours(self.problem, self.values, mode, method)()

    def is_long(self, mode: str) -> bool:
        """Whether a call of a peer is so long that one says enough."""
        return self._long.get(mode, False)

    def of_peer(self, mode: str) -> dict[str, Any]:
        """The fastest right way of a peer, its first call's seconds, and what is wrong; nothing for modes of ours."""
        return self._peers.get(mode, {})

    def function_seconds(self, mode: str) -> float:
        """The seconds of the function alone."""
        if mode not in self._seconds:
            call = jacobians.function(self.problem, self.values, mode)
            self._seconds[mode] = median_seconds(lambda: call(*self.values[: self.problem.sources]))
        return self._seconds[mode]


@functools.lru_cache(maxsize=1)
def _place(problem: Problem, size: Size) -> Place:
    return Place(problem, size)


def _facts(place: Place, mode: str, method: str, matrix: Any) -> dict[str, Any]:
    columns = sum(v.size for v in place.values[: place.problem.sources])
    found = {
        "problem": place.problem.name,
        "size": label(place.size),
        "mode": mode,
        "method": method,
        "m": math.prod(matrix.shape) // columns,
        "n": columns,
        "dtype": np.dtype(place.problem.dtype).name,
        "nnz": int(matrix.nnz if sparse.issparse(matrix) else np.count_nonzero(matrix)),
        "bytes": _bytes(matrix),
        "held_out": place.problem.held_out,
    }
    return found | place.of_peer(mode)


def _bytes(matrix: Any) -> int:
    parts = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    return sum(int(part.nbytes) for part in parts)
