"""Ratios that sum up a run: graph mode beside JAX, first calls, gradients beside their functions.

Each ratio is of medians of one run, on one machine. Problems are in three sets: those with which the project began
("suite"), those of the field's lists that may be profiled ("tuned"), and those that may not ("held out").
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.jacobians import is_scalar
from bench.problems import FIELD, PROBLEMS
from bench.results import Result, chosen, first_call
from bench.tables import cases, ratio
from bench.text import DASH, as_markdown, as_text, duration, readable, times

SETS = ("suite", "tuned", "held out")
HEAD = (
    *("problem", "size", "set", "graph", "graph / JAX", "graph / TF", "graph / by hand", "graph / sparse peer"),
    *("tape / graph", "first / JAX's", "J / f", "Python / native"),
)
MEDIANS = ("median of", *HEAD[4:])
TITLE = "## In ratios"
SAID = "Medians over each set of problems. The number behind a set is that of its problems and sizes."
SHORT = 20e-6
"""Seconds below which a call counts as small."""
LIMITS = 1.0, 1.3
"""The most that graph / JAX shall be, for long and for small calls."""


class Row(NamedTuple):
    """The ratios of one problem at one size; None where one of the two was not measured."""

    problem: str
    size: str
    kind: str
    seconds: float
    jax: float | None
    tensorflow: float | None
    by_hand: float | None
    sparse: float | None
    tape: float | None
    first: float | None
    function: float | None
    python: float | None

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Those under `HEAD`."""
        return self[4:]

    @property
    def label(self) -> str:
        """Problem and size."""
        return f"{self.problem} {self.size}".rstrip()


def rows(results: Sequence[Result]) -> list[Row]:
    """A row for each problem and size that was measured in graph mode."""
    found = []
    for problem, size, of in cases(results):
        graph = chosen(of, "graph")
        if graph is None:
            continue
        sparse = [r for r in (chosen(of, mode) for mode in ("asdex", "casadi")) if r is not None]
        graphs = [r for r in (chosen(of, mode) for mode in ("tf_graph", "tf_xla")) if r is not None]
        jax, python = chosen(of, "jax"), graph.fact("python_seconds")
        found.append(
            Row(
                problem,
                size,
                kind_of(problem),
                graph.median,
                ratio(graph, jax),
                ratio(graph, min(graphs, key=_median, default=None)),
                ratio(graph, chosen(of, "numpy")),
                ratio(graph, min(sparse, key=_median, default=None)),
                ratio(chosen(of, "tape"), graph),
                _by(first_call(of, graph), None if jax is None else first_call(of, jax)),
                graph.fact("j_over_f"),
                _by(python, graph.median),
            )
        )
    return found


def kind_of(problem: str) -> str:
    """Which of `SETS` a problem is in."""
    known = PROBLEMS.get(problem)
    return "suite" if known is None or known.group != FIELD else "held out" if known.held_out else "tuned"


def _median(r: Result) -> float:
    return r.median


def _by(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


# ---- in words and tables ---------------------------------------------------------------------------------------------


def cells(row: Row) -> tuple[str, ...]:
    """A row under `HEAD`."""
    return row.problem, row.size, row.kind, duration(row.seconds), *map(_shown, row.ratios)


def _shown(value: float | None) -> str:
    return DASH if value is None else readable(value)


def medians(found: Sequence[Row]) -> list[tuple[str, ...]]:
    """The median of each ratio over each set, under `MEDIANS`."""
    lines = []
    for kind in SETS:
        of_kind = [row.ratios for row in found if row.kind == kind]
        if of_kind:
            columns = [[v for v in column if v is not None] for column in zip(*of_kind, strict=True)]
            middle = [_shown(statistics.median(column) if column else None) for column in columns]
            lines.append((f"{kind} ({len(of_kind)})", *middle))
    return lines


def sentences(found: Sequence[Row]) -> list[str]:
    """On how many problems each aim is met, and where not."""
    said = []
    dense = [row for row in found if row.sparse is None]
    beside = [(row, row.jax, LIMITS[row.seconds < SHORT]) for row in dense if row.jax is not None]
    if beside:
        slower = sorted(((value, row) for row, value, limit in beside if value > limit), reverse=True)
        said.append(
            f"graph / JAX is at most {LIMITS[0]} (calls below {duration(SHORT)}: {LIMITS[1]}) on "
            f"{len(beside) - len(slower)} of {len(beside)} dense problems and sizes{_named(slower)}."
        )
    said += _at_most(found, "graph / sparse peer", lambda row: row.sparse, 1.0)
    said += _at_most(found, "the first call, by JAX's,", lambda row: row.first, 0.1)
    gradients = [row for row in found if row.problem in PROBLEMS and _is_gradient(row)]
    said += _at_most(gradients, "a gradient, by its function,", lambda row: row.function, 4.0)
    return said


def _is_gradient(row: Row) -> bool:
    """Whether a problem's derivative is the gradient of a scalar: the field's problems that are neither."""
    problem = PROBLEMS[row.problem]
    return problem.group == FIELD and is_scalar(problem, problem.values(problem.quick[0]))


def _at_most(found: Sequence[Row], what: str, value: Callable[[Row], float | None], limit: float) -> list[str]:
    known = [(v, row) for row in found if (v := value(row)) is not None]
    if not known:
        return []
    over = sorted((pair for pair in known if pair[0] > limit), reverse=True)
    return [
        f"{what[0].upper()}{what[1:]} is at most {limit} on {len(known) - len(over)} of {len(known)}{_named(over)}."
    ]


def _named(over: Sequence[tuple[float, Row]], most: int = 8) -> str:
    if not over:
        return ""
    shown = ", ".join(f"{row.label} {times(value)}" for value, row in over[:most])
    return f"; not on {shown}" + (f", and {len(over) - most} more" if len(over) > most else "")


def as_terminal(results: Sequence[Result]) -> str:
    """All of it, for a terminal; empty where nothing was measured in graph mode."""
    found = rows(results)
    if not found:
        return ""
    parts = [as_text([HEAD, *map(cells, found)], words=3), as_text([MEDIANS, *medians(found)], words=1)]
    return "\n\n".join([*parts, "\n".join(sentences(found))])


def as_document(results: Sequence[Result]) -> list[str]:
    """The same in Markdown, without the single problems."""
    found = rows(results)
    said = "\n".join(f"- {s}" for s in sentences(found))
    return [TITLE, SAID, as_markdown([MEDIANS, *medians(found)], words=1), *([said] if said else [])] if found else []
