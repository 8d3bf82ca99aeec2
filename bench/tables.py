"""The tables of the report, and what they say in words."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence

from bench.results import OURS, STAGES, Result, chosen, first_call, problems, sizes
from bench.text import DASH, amount, duration, readable, times

SUMMARY = (
    *("problem", "size", "graph", "tape", "tape / graph", "fastest peer", "its time", "graph / peer"),
    *("auto / best forced", "J / f", "peak memory", "in Python / native", "set"),
)
WAYS = ("mode", "method", "first call", "later calls", "middle half", "× fastest", "passes", "J / f", "peak memory")
OTHERS = ("measured", "by", "median", "middle half", "× fastest")
FACTS = ("n", "m", "nnz", "bytes", "passes", "peak_bytes", "j_over_f", "python_seconds", "held_out")
FORCED = ("forward", "reverse")


def cases(results: Iterable[Result]) -> list[tuple[str, str, list[Result]]]:
    """Problem, size and results of each problem of the suite at each size, small sizes first."""
    return [
        (problem, size, [r for r in of_problem if r.size == size])
        for problem, of_problem in problems(r for r in results if r.in_suite).items()
        for size in sizes(of_problem)
    ]


def others(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The measurements beside the suite: per group its results."""
    return problems(r for r in results if not r.in_suite)


def fastest_peer(results: Iterable[Result]) -> Result | None:
    """The fastest warm result of another library; NumPy is the one we stand on."""
    others = (r for r in results if not r.ours and r.mode != "numpy" and r.stage == "warm")
    return min(others, key=lambda r: r.median, default=None)


def seconds(r: Result | None) -> float | None:
    """The median, None for None."""
    return None if r is None else r.median


def ratio(a: Result | None, b: Result | None) -> float | None:
    """How many times as long `a` takes as `b`."""
    return None if a is None or b is None else a.median / b.median


def forced_ratio(results: Sequence[Result], mode: str) -> float | None:
    """The time of ``auto`` by that of the best forced direction."""
    warm = [r for r in results if r.mode == mode and r.stage == "warm"]
    automatic = next((r for r in warm if r.method == "auto"), None)
    return ratio(automatic, min((r for r in warm if r.method in FORCED), key=lambda r: r.median, default=None))


def summary(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """One row per problem and size, under `SUMMARY`."""
    rows: list[tuple[str, ...]] = []
    for problem, size, found in cases(results):
        graph, tape, peer = chosen(found, "graph"), chosen(found, "tape"), fastest_peer(found)
        ours = graph or tape
        forced = [f for f in (forced_ratio(found, mode) for mode in OURS) if f is not None]
        rows.append(
            (
                problem,
                size,
                duration(seconds(graph)),
                duration(seconds(tape)),
                times(ratio(tape, graph)),
                peer.way if peer else DASH,
                duration(seconds(peer)),
                times(ratio(graph, peer)),
                times(max(forced, default=None)),
                _number(ours.fact("j_over_f") if ours else None),
                amount(ours.fact("peak_bytes") if ours else None),
                times(_python_ratio(ours)),
                _set(found),
            )
        )
    return rows


def _set(found: Sequence[Result]) -> str:
    """Whether a problem was looked at while we made things faster, if that is known."""
    known = {bool(fact) for r in found if (fact := r.fact("held_out")) is not None}
    return DASH if not known else "held out" if True in known else "tuned"


def _python_ratio(ours: Result | None) -> float | None:
    """How many times as long a call takes without the native executor."""
    found = ours.fact("python_seconds") if ours else None
    return None if found is None or ours is None else found / ours.median


def ways(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """One row per mode and method at one size of one problem, under `WAYS`; the fastest first."""
    warm = sorted((r for r in results if r.stage == "warm"), key=lambda r: r.median)
    return [
        (
            r.mode or DASH,
            r.method or DASH,
            duration(first_call(results, r)),
            duration(r.median),
            spread(r),
            times(r.median / warm[0].median),
            _number(r.fact("passes")),
            _number(r.fact("j_over_f")),
            amount(r.fact("peak_bytes")),
        )
        for r in warm
    ]


def other_rows(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """One row per result outside the suite, under `OTHERS`."""
    rows: list[tuple[str, ...]] = []
    for group, found in others(results).items():
        least = min(r.median for r in found)
        rows += [(group, r.way, duration(r.median), spread(r), times(r.median / least)) for r in found]
    return rows


def spread(r: Result) -> str:
    """Between which times the middle half of the rounds lies."""
    return f"{duration(r.q1)} to {duration(r.q3)}" if r.q3 > r.q1 else DASH


def _number(value: float | None) -> str:
    return DASH if value is None else readable(value)


# ---- where the time goes ---------------------------------------------------------------------------------------------

PARTS = ("trace", "plan", "rest of the first call", "later call")


def stages(results: Sequence[Result], mode: str) -> tuple[float, ...] | None:
    """Seconds of each of `PARTS` in the first call of a mode, None if that was not measured.

    The first call is what is done once, and what a later call does. The rest of it is what it takes beyond all that was
    told apart: lowering, allocating, warming up. As each was timed by itself, they may come to more than the whole;
    then what is done once is taken to be less.
    """
    warm = chosen(results, mode)
    cold = None if warm is None else first_call(results, warm)
    if warm is None or cold is None:
        return None
    known = _known(results, warm)
    later = min(warm.median, cold)
    once = known.get("trace", 0.0) + known.get("plan", 0.0)
    scale = min(1.0, (cold - later) / once) if once else 1.0
    trace, plan = scale * known.get("trace", 0.0), scale * known.get("plan", 0.0)
    return trace, plan, cold - trace - plan - later, later


def _known(results: Sequence[Result], warm: Result) -> dict[str, float]:
    """Seconds of the stages that were told apart, as benchmarks of their own or among the facts."""
    same = (r for r in results if (r.mode, r.method) == (warm.mode, warm.method) and r.stage in STAGES)
    known = {r.stage: r.median for r in same}
    inner = warm.extra.get("stages")
    if isinstance(inner, dict):
        known |= {k: float(v) for k, v in inner.items() if isinstance(v, (int, float))}
    return known


# ---- in words --------------------------------------------------------------------------------------------------------


def verdicts(results: Sequence[Result]) -> list[str]:
    """A summary of the summary table, a sentence each."""
    found = cases(results)
    slower = [r for r in (ratio(chosen(c, "tape"), chosen(c, "graph")) for _, _, c in found) if r is not None]
    beside = [r for r in (ratio(chosen(c, "graph"), fastest_peer(c)) for _, _, c in found) if r is not None]
    forced = [f for _, _, c in found for mode in OURS if (f := forced_ratio(c, mode)) is not None]
    said = []
    if slower:
        said.append(
            f"A later call on a tape takes {times(statistics.median(slower))} the time of the graph (median of "
            f"{len(slower)} problems and sizes; from {times(min(slower))} to {times(max(slower))}), and at most "
            f"1.5 × on {sum(r <= 1.5 for r in slower)} of them."
        )
    if beside:
        said.append(
            f"Graph mode is at least as fast as the fastest other library on {sum(r <= 1 for r in beside)} of "
            f"{len(beside)} (graph / peer: from {times(min(beside))} to {times(max(beside))})."
        )
    if forced:
        said.append(
            f"The planner's choice is within 1.25 × of the best forced direction in "
            f"{sum(f <= 1.25 for f in forced)} of {len(forced)} (at worst {times(max(forced))})."
        )
    return said


def as_csv(results: Iterable[Result]) -> str:
    """Every result on a line, with every fact; times in seconds, memory in bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ("problem", "size", "mode", "method", "stage", "median", "q1", "q3", "rounds")
    writer.writerow([*head, *FACTS, "benchmark"])
    for r in results:
        facts = [r.extra.get(key, "") for key in FACTS]
        known = (r.problem, r.size, r.mode, r.method, r.stage, r.median, r.q1, r.q3, r.rounds)
        writer.writerow([*known, *facts, r.fullname])
    return text.getvalue()
