"""How ``python -m bench run`` runs the suite: pytest plugins for interleaved rounds and for showing what is going on.

pytest-benchmark times one benchmark after the other, each at one time only. On a shared machine that is slow for a
while, this makes some benchmarks slow and not others. `InterleavedRounds` goes through the suite in several passes,
those that are to be compared next to each other, and merges the passes into one entry of the JSON file. For
`bench.compare` it keeps how long the passes are (``extra_info["blocks"]``), and which share of the time the process had
a processor at all, in the pass where it had it most (``extra_info["cpu_share"]``): where that is less than 1, other
programs were in the way.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence
from typing import Any, TextIO

import pytest

from bench.calibrate import better, calibrate
from bench.measure import statistics_of

PASS = "bench_pass"
SECONDARY = "secondary"
"""The mark of benchmarks that may be left out."""
_MARK = re.compile(r"-pass\d+of\d+|pass\d+of\d+-?")


class InterleavedRounds:
    """Runs the benchmarks `passes` times, those of a group in turn, and keeps one entry for each.

    Parameters
    ----------
    passes : int
    seconds : float
        After this time further passes are left out, after half of it what is marked as secondary. What is not is
        complete in the first pass.
    threads : int, optional
        With how many threads the libraries run, to be kept with the results.
    """

    def __init__(self, passes: int, seconds: float = float("inf"), threads: int | None = None) -> None:
        self.passes = passes
        self.threads = threads
        self.seconds = seconds
        self.calibration: dict[str, float] = {}
        self._start = time.perf_counter()

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make each benchmark `passes` tests."""
        if "benchmark" in metafunc.fixturenames and self.passes > 1:
            metafunc.fixturenames.append(PASS)
            ids = [f"pass{i + 1}of{self.passes}" for i in range(self.passes)]
            metafunc.parametrize(PASS, range(self.passes), ids=ids)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Leave out what is no benchmark; order by pass, then by group."""
        benchmarks = [item for item in items if "benchmark" in getattr(item, "fixturenames", ())]
        others = [item for item in items if "benchmark" not in getattr(item, "fixturenames", ())]
        if others:
            config.hook.pytest_deselected(items=others)
        first: dict[str, int] = {}
        for item in benchmarks:
            first.setdefault(_group(item), len(first))
        items[:] = sorted(benchmarks, key=lambda item: (_pass(item), first[_group(item)]))
        self.calibration = calibrate()
        self._start = time.perf_counter()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Skip a further pass when the time is over, and what is secondary when half of it is."""
        gone = time.perf_counter() - self._start
        if _pass(item) and gone > self.seconds:
            pytest.skip("the time is over: fewer passes must do")
        if gone > self.seconds / 2 and item.get_closest_marker(SECONDARY):
            pytest.skip("half of the time is over: what is secondary is left out")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, Any]:
        """Keep how much of the time the process had a processor."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = yield
        share = (time.process_time() - cpu) / (time.perf_counter() - wall)
        item.funcargs["benchmark"].extra_info["cpu_share"] = min(1.0, round(share, 3))
        return result

    def pytest_benchmark_update_machine_info(self, machine_info: dict[str, Any]) -> None:
        """Keep how fast the machine is (the better of a look before and one after), the threads and the BLAS."""
        machine_info["calibration"] = better(self.calibration, calibrate())
        machine_info["threads"] = self.threads
        machine_info["blas"] = blas()

    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Merge the passes."""
        output_json["benchmarks"] = merged(output_json["benchmarks"])


def blas() -> list[str]:
    """The BLAS libraries in this process, with the kernels that they use."""
    from threadpoolctl import threadpool_info

    words = ("internal_api", "version", "architecture")
    found = [i for i in threadpool_info() if i.get("user_api") == "blas"]
    return sorted({" ".join(str(i[w]) for w in words if i.get(w)) for i in found})


def _group(item: Any) -> str:
    """The group of tests that run in turn: those of one benchmark group, else those of one function."""
    marker = item.get_closest_marker("benchmark")
    return str((marker and marker.kwargs.get("group")) or item.nodeid.partition("[")[0])


def _pass(item: Any) -> int:
    return item.callspec.params.get(PASS, 0) if hasattr(item, "callspec") else 0


def merged(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a JSON file with the passes of each benchmark made one entry."""
    kept: dict[str, dict[str, Any]] = {}
    data: dict[str, list[list[float]]] = {}
    shares: dict[str, float] = {}
    for entry in entries:
        name = _without_pass(entry["fullname"])
        data.setdefault(name, []).append(entry["stats"]["data"])
        shares[name] = max(shares.get(name, 0.0), entry["extra_info"].get("cpu_share", 1.0))
        if name not in kept:
            params = {k: v for k, v in (entry["params"] or {}).items() if k != PASS} or None
            param = _without_pass(entry["param"] or "").strip("[]") or None
            kept[name] = {
                **entry,
                "fullname": name,
                "name": _without_pass(entry["name"]),
                "params": params,
                "param": param,
            }
    for name, entry in kept.items():
        blocks = data[name]
        entry["extra_info"] = {**entry["extra_info"], "blocks": [len(b) for b in blocks], "cpu_share": shares[name]}
        entry["stats"] = {**statistics_of([s for b in blocks for s in b]), "iterations": entry["stats"]["iterations"]}
    return list(kept.values())


def _without_pass(name: str) -> str:
    return _MARK.sub("", name).removesuffix("[]")


class Progress:
    """Shows what runs, how much is done, and about how long the rest takes.

    On a terminal that is one line which is rewritten; elsewhere (a log) one line per benchmark.

    Parameters
    ----------
    out : text stream
    """

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()
        self.failures: list[str] = []
        self.skipped: dict[str, str] = {}
        self._total = 0
        self._done = 0
        self._start = 0.0
        self._began = 0.0

    def pytest_collection_finish(self, session: Any) -> None:
        """Say how much there is to do."""
        self._total = len(session.items)
        self._start = time.perf_counter()
        if not self.live:
            self._say(f"{self._total} benchmarks to run (each pass counts)")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show what starts."""
        self._began = time.perf_counter()
        if self.live:
            self._rewrite(f"{self._where()}  {_short(nodeid)}")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what failed and what was skipped, and say what is done."""
        if report.failed:
            self.failures.append(f"{_short(report.nodeid)} ({report.when})\n{report.longreprtext}")
        if report.skipped:
            why = report.longrepr
            self.skipped[_without_pass(_short(report.nodeid))] = str(why[2] if isinstance(why, tuple) else why)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Count; in a log, say how long it took."""
        self._done += 1
        if not self.live:
            took = time.perf_counter() - self._began
            self._say(f"{self._where()}  {_short(nodeid)}  {took:.1f} s")

    def pytest_collectreport(self, report: Any) -> None:
        """Keep what could not even be read."""
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_sessionfinish(self) -> None:
        """Leave the line free."""
        if self.live:
            self._rewrite("")

    def _where(self) -> str:
        gone = time.perf_counter() - self._start
        left = f", about {_clock(gone / self._done * (self._total - self._done))} left" if self._done else ""
        return f"{self._done:>{len(str(self._total))}}/{self._total}  {_clock(gone)}{left}"

    def _rewrite(self, line: str) -> None:
        self.out.write(f"\r\033[K{line[:118]}")
        self.out.flush()

    def _say(self, line: str) -> None:
        self.out.write(line + "\n")
        self.out.flush()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _short(nodeid: str) -> str:
    return nodeid.rpartition("/")[2]
