"""``python -m bench compare A.json B.json``: what became slower or faster from one run to the other.

What is compared is the fast end of the rounds (`bench.bootstrap`), since other programs make rounds slower but seldom
all of them. A benchmark counts as slower only if the interval of the ratio lies so far above 1 that even its lower
bound exceeds the smallest effect worth a word (15 % unless told otherwise). Two processes with the same code differ by
some percent from memory layout alone, what allocates much by more, and no number of rounds shows that.

A round that takes longer than a time slice is interrupted whenever another program wants the processor, so that none is
undisturbed. Its time is then known to lie between the share in which the process had a processor (``cpu_share``, see
`bench.rounds`) and the whole, and the interval is widened accordingly.

If the machine itself was slower, as far as the calibrations tell (`bench.calibrate`), the interval is widened by that:
by the median of their ratios, since a look that was disturbed shows in one of them. If the runs come from different
machines, ratios are divided by the geometric mean, while the interval is widened to cover the ratio of each figure,
since no single one says how a machine does on a given program.
"""

from __future__ import annotations

import argparse
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from bench.bootstrap import Interval, fast_end, ratio_interval
from bench.calibrate import slowness
from bench.results import Result, Run, read
from bench.text import as_text, duration

EFFECT = 0.15
LEAST = 3  # rounds without which nothing is said,
UNDISTURBED = 2  # nor if, by the share of the time in which there was a processor, fewer than these were undisturbed
SLICE = 2e-3  # seconds for which a process is usually left alone, even if several others wait
SLOWER, FASTER, SAME, UNSURE = "slower", "faster", "no change", "too few rounds"
HEAD = ("benchmark", "fast end before", "after", "ratio", "95 % interval", "verdict")


@dataclass(frozen=True)
class Machines:
    """How much slower the second machine is than the first: the least, the middle, and the most."""

    low: float
    middle: float
    high: float
    words: str


@dataclass(frozen=True)
class Change:
    """One benchmark in two runs."""

    before: Result
    after: Result
    interval: Interval
    verdict: str

    @property
    def counts(self) -> bool:
        """Whether it is a regression of ours; a peer's is its own affair."""
        return self.verdict == SLOWER and self.after.ours


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    changes: list[Change]
    machines: Machines
    only_before: list[str]
    only_after: list[str]
    effect: float

    @property
    def regressions(self) -> list[Change]:
        """The changes of ours that became slower."""
        return [c for c in self.changes if c.counts]

    def summary(self) -> str:
        """The finding in words."""
        counts = {v: sum(c.verdict == v for c in self.changes) for v in (SLOWER, FASTER, SAME, UNSURE)}
        said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "nothing in common"
        lines = [
            f"{len(self.changes)} benchmarks in both runs: {said}.",
            f"“Slower”, “faster”: in the fast end of the rounds, by over {self.effect:.0%} in all of the interval.",
            "Interval: the 95 % bootstrap's, and at least how far passes disagree.",
            self.machines.words,
        ]
        if counts[UNSURE]:
            lines.append(f"Too few rounds: under {LEAST}, or under {UNDISTURBED} that other programs left alone.")
        peers = sum(c.verdict == SLOWER and not c.after.ours for c in self.changes)
        if peers:
            lines.append(f"{peers} of the slower ones are other libraries and do not count as regressions.")
        for names, which in ((self.only_before, "first"), (self.only_after, "second")):
            if names:
                lines.append(
                    f"Only in the {which} run: {len(names)} ({', '.join(names[:3])}{', …' if names[3:] else ''})."
                )
        return "\n".join(lines)


def compare(before: Run, after: Run, effect: float = EFFECT) -> Comparison:
    """Compare two runs, benchmark by benchmark."""
    machines = relative_speed(before, after)
    old = {r.fullname: r for r in before.results}
    new = {r.fullname: r for r in after.results}
    changes = [_change(old[name], new[name], machines, effect) for name in new if name in old]
    return Comparison(changes, machines, [n for n in old if n not in new], [n for n in new if n not in old], effect)


def relative_speed(before: Run, after: Run) -> Machines:
    """How much slower the second run's machine was."""
    old, new = slowness(before.calibration), slowness(after.calibration)
    factors = [new[name] / old[name] for name in new if name in old]
    same = before.identity == after.identity
    if not factors:
        where = "one machine" if same else "DIFFERENT MACHINES, and no calibration to set them right"
        return Machines(1, 1, 1, f"Both ran on {where}." if same else f"The runs come from {where}.")
    if not same:
        middle = math.prod(factors) ** (1 / len(factors))
        low, high = min(factors), max(factors)
        words = f"Different machines: by calibration the second is {middle:.2f} × as slow ({low:.2f} to {high:.2f})."
        return Machines(low, middle, high, words)
    middle = statistics.median(factors)
    words = "Both ran on one machine"
    if 0.95 < middle < 1.05:
        return Machines(1, 1, 1, f"{words}, equally fast by calibration.")
    words = f"{words}, but by calibration it was {middle:.2f} × as slow: the intervals are widened by that."
    return Machines(min(middle, 1), 1, max(middle, 1), words)


def _change(before: Result, after: Result, machines: Machines, effect: float) -> Change:
    if not (_enough(before) and _enough(after)):
        ratio = after.median / before.median / machines.middle
        return Change(before, after, Interval(ratio, math.nan, math.nan), UNSURE)
    raw = (
        ratio_interval(before.blocks, after.blocks) if before.blocks and after.blocks else _by_quartiles(before, after)
    )
    # the least and the most that the ratio can be, whatever other programs and the machines did to it
    low, high = raw.low * _own_share(after) / machines.high, raw.high / _own_share(before) / machines.low
    interval = Interval(raw.ratio / machines.middle, low, high)
    verdict = SLOWER if low > 1 + effect else FASTER if high < 1 / (1 + effect) else SAME
    return Change(before, after, interval, verdict)


def _enough(r: Result) -> bool:
    return r.rounds >= LEAST and r.rounds * (r.fact("cpu_share") or 1.0) >= UNDISTURBED


def _by_quartiles(before: Result, after: Result) -> Interval:
    """The ratio of the medians, where rounds were not kept; certain is only what lies outside of both middle halves."""
    return Interval(after.median / before.median, after.q1 / before.q3, after.q3 / before.q1)


def _own_share(r: Result) -> float:
    """Which share of its time a result may have had a processor, 1 if it surely had one in some rounds."""
    return (r.fact("cpu_share") or 1.0) if compared(r) > SLICE else 1.0


def compared(r: Result) -> float:
    """The seconds that are compared: the fast end; the median, where rounds were not kept."""
    return fast_end(r.blocks) if r.blocks else r.median


# ---- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``compare``."""
    parser.add_argument("before", type=Path, metavar="A.json")
    parser.add_argument("after", type=Path, metavar="B.json")
    parser.add_argument("--effect", type=float, default=EFFECT, help="smallest change that counts (default: 0.15)")
    parser.add_argument("--all", action="store_true", help="list what did not change, too")


def run(options: argparse.Namespace) -> int:
    """Print the comparison; 1 if something of ours became slower."""
    found = compare(read(options.before), read(options.after), options.effect)
    shown = [c for c in found.changes if options.all or c.verdict in (SLOWER, FASTER)]
    if shown:
        print(as_text([HEAD, *map(row, sorted(shown, key=lambda c: -c.interval.ratio))], words=1))
        print()
    print(found.summary())
    if found.regressions:
        print(f"REGRESSION in {len(found.regressions)}.")
    return 1 if found.regressions else 0


def row(change: Change) -> tuple[str, ...]:
    """The cells of a change in the table."""
    ratio, low, high = change.interval
    between = "–" if math.isnan(low) else f"{low:.2f} to {high:.2f}"
    return (
        change.after.name,
        duration(compared(change.before)),
        duration(compared(change.after)),
        f"{ratio:.2f}",
        between,
        change.verdict,
    )
