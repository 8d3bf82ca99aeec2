"""``python -m bench ablate``: what each pass and the native executor are good for, on problems old and new.

The derivative of each problem is lowered with all passes, without each, and without any, for the native executor and
for Python. All of these compute the same, to the bit; what one is good for shows in how much slower a run is without
it. The variants of a problem run in turn. Of problems that are held out only averages are shown, so that nobody tunes
for one.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import graph_api
from bench.document import DOCUMENT, replaced
from bench.jacobians import built, derived
from bench.measure import interleaved
from bench.problems import PROBLEMS, Problem, Size, label
from bench.ratios import SETS, kind_of
from bench.text import DASH, as_markdown
from engine.compiler.lowering import lower
from engine.compiler.pipeline import ALL_PASSES
from engine.compiler.program import Program
from engine.core.trace import needed_nodes
from engine.executor import status
from engine.executor.staged import in_python

WHOLE = "nothing"
EXECUTORS = ("native", "Python")
TITLE = "## What each pass is good for"
SECTION = "ablation"
WARM = 3
"""Runs after which a program runs as it will."""
COPIES = 2
"""Further copies of the program with all passes, so that what others are compared with is no accident."""
MARGIN = 1.03
"""How many times as long a run must take for a table to name it: less is noise."""


class Source:
    """The derivative of a problem, as nodes of a graph."""

    def __init__(self, problem: Problem, size: Size) -> None:
        values = problem.values(size)
        self.arguments = values[: problem.sources]
        # the entries alone: what puts them into a matrix of SciPy's is no part of a program
        target, self.given, _ = built(problem, values)
        with target.graph.as_default():
            found = derived(problem, target, self.given, "auto")
            self.wanted = [x.values if problem.format == "csr" else graph_api.convert_to_tensor(x) for x in found]
        self.nodes = needed_nodes(target.graph.nodes, self.wanted, {id(x) for x in self.given})

    def lowered(self, passes: Collection[str] = ALL_PASSES) -> Program:
        """The program that some of the passes make."""
        return lower(self.nodes, [(x, x.aval) for x in self.given], self.wanted, passes=passes)[0]


def variants() -> dict[str, Collection[str]]:
    """The passes that are left in each variant, by what is left out."""
    each = {f"`{one}`": [p for p in ALL_PASSES if p != one] for one in ALL_PASSES}
    return {WHOLE: ALL_PASSES, **each, "all passes": ()}


class Slowdown(NamedTuple):
    """How many times as long a problem takes without something."""

    problem: str
    size: str
    executor: str
    without: str
    ratio: float


def slowdowns(problem: Problem, size: Size, seconds: float) -> list[Slowdown]:
    """Each variant of one problem, beside all passes with the same executor; Python beside the native executor.

    A pass that changes nothing about a program makes no difference to it: that is not measured, but known.

    Raises
    ------
    AssertionError
        If a variant gives other bits.
    """
    source = Source(problem, size)
    programs = {name: source.lowered(passes) for name, passes in variants().items()}
    signatures = {name: _signature(program) for name, program in programs.items()}
    different = {signature: name for name, signature in reversed(signatures.items())}
    found: list[Slowdown] = []
    whole: dict[str, float] = {}
    for executor in EXECUTORS if status().active else EXECUTORS[1:]:
        with contextlib.nullcontext() if executor == "native" else in_python():
            calls = {name: _ready(source, variants()[name]) for name in different.values()}
            # where arrays happen to lie can make some percent of difference
            again = {f"{WHOLE} {i}": _ready(source, ALL_PASSES) for i in range(COPIES)}
        _assert_same_bits(problem, size, calls)
        times = {name: statistics.median(rounds) for name, rounds in interleaved({**calls, **again}, seconds).items()}
        whole[executor] = statistics.median([times[WHOLE], *(times[name] for name in again)])
        times[WHOLE] = whole[executor]
        found += [
            Slowdown(problem.name, label(size), executor, name, times[different[signature]] / whole[executor])
            for name, signature in signatures.items()
            if name != WHOLE
        ]
    if len(whole) == len(EXECUTORS):
        found.append(
            Slowdown(problem.name, label(size), "native", "the native executor", whole["Python"] / whole["native"])
        )
    return found


def _signature(program: Program) -> str:
    """Equal for programs that do the same in the same way."""
    lines = [f"{i.op.name} {i.inputs} {i.outputs} {i.params!r}" for i in program.instructions]
    plans = program.outputs, program.inline, program.buffers
    return "\n".join([*lines, *map(repr, plans)])


def _assert_same_bits(problem: Problem, size: Size, calls: Mapping[str, Callable[[], Any]]) -> None:
    wanted = calls[WHOLE]()
    for name, call in calls.items():
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, call(), strict=True))
        assert same, f"{problem.name} {label(size)}: other bits without {name}"


def _ready(source: Source, passes: Collection[str]) -> Callable[[], Any]:
    """A program of its own, to be timed."""
    program, arguments = source.lowered(passes), source.arguments
    for _ in range(WARM):
        program(*arguments)
    return lambda: program(*arguments)


# ---- the table -------------------------------------------------------------------------------------------------------


def table(found: Sequence[Slowdown]) -> list[tuple[str, ...]]:
    """For each thing left out, the geometric mean per set and executor, and the tuned problem that needs it most."""
    executors = [e for e in EXECUTORS if any(s.executor == e for s in found)]
    sets = [s for s in SETS if any(kind_of(one.problem) == s for one in found)]
    head = ("without", *(f"{e}: {s}" for e in executors for s in sets), "most needed by")
    lines = [head]
    for name in dict.fromkeys(s.without for s in found):
        means = [
            _mean(s.ratio for s in found if (s.without, s.executor, kind_of(s.problem)) == (name, executor, kind))
            for executor in executors
            for kind in sets
        ]
        open_ones = [s for s in found if s.without == name and kind_of(s.problem) != "held out"]
        worst = max(open_ones, key=lambda s: s.ratio, default=None)
        told = worst is not None and worst.ratio >= MARGIN
        lines.append(
            (
                name,
                *means,
                f"{worst.problem} {worst.size}, {worst.executor} ({worst.ratio:.2f})" if worst and told else DASH,
            )
        )
    return lines


def _mean(ratios: Iterable[float]) -> str:
    logs = [math.log(r) for r in ratios]
    return f"{math.exp(statistics.fmean(logs)):.2f}" if logs else DASH


def measured_sizes(problem: Problem, large: bool) -> Sequence[Size]:
    """The two smallest for calls, or the largest of three for what passes do about memory."""
    sizes = problem.sizes(full=True)
    return sizes[:3][-1:] if large else sizes[:2]


def section(found: Sequence[Slowdown], large: bool = False) -> str:
    """The table with what it says, in Markdown."""
    sizes = "the largest of the three smallest of each" if large else "the two smallest of each"
    count = len({(s.problem, s.size) for s in found})
    said = (
        f"How many times as long a run takes without a pass, or without the native executor: geometric means over "
        f"{count} problems and sizes ({sizes}). 1.00 is no difference; less than {MARGIN - 1:.0%} is noise. A column "
        "is named by what runs the program, and by the set of problems. Written by `python -m bench ablate`."
    )
    return "\n\n".join([TITLE, said, as_markdown(table(found), words=1)])


# ---- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``ablate``."""
    parser.add_argument("-k", dest="expression", default="", help="only problems whose name holds this")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each problem, size and executor (default: 0.5)")
    parser.add_argument("--large", action="store_true", help="one larger size of each problem, not two small ones")
    parser.add_argument("--write", type=Path, nargs="?", const=DOCUMENT, help="put the table here (%(const)s)")


def run(options: argparse.Namespace) -> int:
    """Print the table; 2 if no problem is meant."""
    chosen = [p for p in PROBLEMS.values() if options.expression in p.name]
    if not chosen:
        print(f"no problem's name holds {options.expression!r}", file=sys.stderr)
        return 2
    found: list[Slowdown] = []
    for i, problem in enumerate(chosen):
        print(f"{i + 1}/{len(chosen)}  {problem.name}", file=sys.stderr)
        for size in measured_sizes(problem, options.large):
            found += slowdowns(problem, size, options.seconds)
    text = section(found, options.large)
    print(text)
    if options.write is not None:
        whole = options.write.read_text(encoding="utf-8")
        options.write.write_text(replaced(whole, text, SECTION), encoding="utf-8")
        print(f"Written: {options.write}", file=sys.stderr)
    return 0
