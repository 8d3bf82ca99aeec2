"""Results of a JSON file of pytest-benchmark, in the terms of the report: problem, size, mode, method, stage.

A benchmark of our suite says these in its ``extra_info``. Of any other, the group is the problem, the name is the
method, and the mode is found in the parameters if they name a library. So every file that ``pytest --benchmark-json``
wrote can be read, and every fact may be missing.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS = ("graph", "tape")
_LIBRARIES = {"graph_api": "graph", "tape_api": "tape", "tensorflow eager": "tf_eager", "tensorflow graph": "tf_graph"}
STAGES = ("trace", "plan", "cold", "warm")


class NotABenchmark(Exception):
    """A file is not what ``pytest --benchmark-json`` writes."""


@dataclass(frozen=True)
class Result:
    """The times of one benchmark.

    Attributes
    ----------
    name, fullname : str
    in_suite : bool
        Whether the benchmark says itself which problem it is.
    problem, size : str
        What was computed; `size` may be empty.
    mode : str
        ``"graph"``, ``"tape"``, a peer's name, or empty.
    method : str
    stage : str
        ``"trace"``, ``"plan"``, ``"cold"`` (the first call, with everything) or ``"warm"`` (a later call)...
    median, q1, q3 : float
        Seconds.
    rounds : int
        How many.
    blocks : list of list of float
        Seconds of each round, pass by pass; empty if the file holds none.
    extra : dict
        The other facts: n, m, nnz, bytes, passes, peak_bytes, j_over_f.
    """

    name: str
    fullname: str
    in_suite: bool
    problem: str
    size: str
    mode: str
    method: str
    stage: str
    median: float
    q1: float
    q3: float
    rounds: int
    blocks: list[list[float]]
    extra: dict[str, Any]

    @property
    def ours(self) -> bool:
        """Whether it is our code that was timed."""
        return self.mode in (*OURS, "")

    @property
    def where(self) -> tuple[str, str]:
        """Problem and size."""
        return self.problem, self.size

    @property
    def way(self) -> str:
        """Mode and method (of a peer: which of its ways), as one label."""
        return " ".join(word for word in (self.mode, str(self.extra.get("way") or self.method)) if word) or self.name

    def fact(self, key: str) -> float | None:
        """A number among the facts, None if it is not there."""
        value = self.extra.get(key)
        return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None

    @property
    def extent(self) -> tuple[float, float]:
        """Columns and rows of the Jacobian; the first number in `size` twice, or nothing, where they are not known."""
        number = re.search(r"\d[\d_]*(\.\d+)?([eE][+-]?\d+)?", self.size)
        known = float(number[0].replace("_", "")) if number else 0.0
        return self.fact("n") or known, self.fact("m") or known


@dataclass(frozen=True)
class Run:
    """One file: the results, and where and when they were measured."""

    path: Path
    results: list[Result]
    machine: dict[str, Any]
    commit: dict[str, Any]
    when: str

    @property
    def calibration(self) -> dict[str, float]:
        """How fast the machine is (`bench.calibrate`); empty if that was not measured."""
        found = self.machine.get("calibration") or {}
        return {k: float(v) for k, v in found.items() if isinstance(v, (int, float)) and v > 0}

    @property
    def identity(self) -> tuple[Any, ...]:
        """A key that two runs on one machine share."""
        cpu = self.machine.get("cpu") or {}
        known = [self.machine.get(key) for key in ("node", "machine", "system", "python_version")]
        return (*known, cpu.get("brand_raw"), cpu.get("count"))

    def described(self) -> str:
        """Commit, time and machine, in a line."""
        cpu = self.machine.get("cpu") or {}
        commit = str(self.commit.get("id") or "unknown")[:12] + (" with changes" if self.commit.get("dirty") else "")
        machine = cpu.get("brand_raw") or self.machine.get("machine") or "unknown machine"
        python = self.machine.get("python_version", "?")
        when = self.when[:16].replace("T", " ")
        threads = f", threads: {self.machine['threads']}" if self.machine.get("threads") else ""
        blas = self.machine.get("blas")
        kernels = f", {', '.join(map(str, blas))}" if isinstance(blas, list) and blas else ""
        return f"commit {commit}, {when}, {machine}, {cpu.get('count', '?')} cores, Python {python}{threads}{kernels}"


def read(path: Path) -> Run:
    """The results in a file.

    Raises
    ------
    NotABenchmark
        If it cannot be read, or is something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = content["benchmarks"]
        return Run(
            path,
            [_result(e) for e in entries],
            content.get("machine_info") or {},
            content.get("commit_info") or {},
            str(content.get("datetime") or ""),
        )
    except OSError as error:
        raise NotABenchmark(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotABenchmark(f"{path} is not what pytest --benchmark-json writes ({error!r})") from error


def _result(entry: dict[str, Any]) -> Result:
    extra, stats, name = dict(entry.get("extra_info") or {}), entry["stats"], str(entry["name"])
    median = float(stats["median"])
    mode = str(extra.pop("mode", None) or _library(entry) or "")
    size = extra.pop("size", None)
    parameters = re.search(r"\[(.*)\]$", name)
    return Result(
        name,
        str(entry.get("fullname") or name),
        bool(extra.get("problem")),
        str(extra.pop("problem", None) or entry.get("group") or name.partition("[")[0]),
        "" if size is None else str(size),
        mode,
        str(extra.pop("method", None) or ("" if mode else parameters[1] if parameters else name)),
        str(extra.pop("stage", None) or "warm"),
        median,
        float(stats.get("q1") or median),
        float(stats.get("q3") or median),
        int(stats.get("rounds") or 0),
        _blocks(stats.get("data") or [], extra.pop("blocks", None)),
        extra,
    )


def _library(entry: dict[str, Any]) -> str:
    """The mode that the parameters tell, or the name itself (as in the report on the digits)."""
    library = str((entry.get("params") or {}).get("library") or "")
    if library:
        return _LIBRARIES.get(library, library)
    word = re.split(r"\W", str(entry["name"]), maxsplit=1)[0]
    return word if word in OURS else ""


def _blocks(data: Sequence[float], lengths: Any) -> list[list[float]]:
    """The rounds, pass by pass. One pass is cut into up to ten stretches: what is near in time is alike."""
    rounds = [float(x) for x in data]
    told = isinstance(lengths, list) and all(isinstance(n, int) for n in lengths)
    if told and len(lengths) > 1 and sum(lengths) == len(rounds):
        ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        return [rounds[end - length : end] for end, length in zip(ends, lengths, strict=True) if length]
    count = min(10, len(rounds))
    return [rounds[i * len(rounds) // count : (i + 1) * len(rounds) // count] for i in range(count)]


# ---- picking ---------------------------------------------------------------------------------------------------------


def problems(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Per problem its results, in the order of the file."""
    found: dict[str, list[Result]] = {}
    for r in results:
        found.setdefault(r.problem, []).append(r)
    return found


def sizes(results: Iterable[Result]) -> list[str]:
    """The sizes, smallest first."""
    found = {r.size: r.extent for r in results}
    return sorted(found, key=lambda size: (math.prod(found[size]), size))


def axis(results: Sequence[Result]) -> str:
    """Which of ``"n"`` and ``"m"`` tells the sizes apart; empty if they do not grow together, or there is one only."""
    extents = [next(r.extent for r in results if r.size == size) for size in sizes(results)]
    if any(later[k] < earlier[k] for earlier, later in itertools.pairwise(extents) for k in (0, 1)):
        return ""
    return next((name for k, name in enumerate("nm") if 0 < extents[0][k] < extents[-1][k]), "")


def modes(results: Iterable[Result]) -> list[str]:
    """The modes: ours, then the peers by name."""
    found = {r.mode for r in results if r.mode}
    return [m for m in OURS if m in found] + sorted(found - set(OURS))


def chosen(results: Iterable[Result], mode: str) -> Result | None:
    """The warm result that stands for a mode: ours as it comes (``auto``), a peer at its best."""
    found = [r for r in results if r.mode == mode and r.stage == "warm"]
    automatic = [r for r in found if r.method in ("auto", "")]
    return min(automatic or found, key=lambda r: r.median, default=None)


def first_call(results: Iterable[Result], warm: Result) -> float | None:
    """Seconds of the first call of what `warm` repeats, None if they were not measured."""
    if (first := warm.fact("first_call")) is not None:
        return first
    for r in results:
        if r.stage == "cold" and (r.where, r.mode, r.method) == (warm.where, warm.mode, warm.method):
            return r.median
    return None
