"""A comparison as text, for who must sign off a migration: the verdict, what it rests on, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualgrad.migrate.compare.findings import Comparison, Difference, Row
from engine.runtime.quoting import one_line

EXPLAINED = {
    "EQUAL TO THE BIT": "Every value compared has the same bits as in the record.",
    "EQUAL TO THE BIT BUT FOR PRODUCTS": "Every operation that gives the same bits on every machine gave them. Those "
    "of the machine's BLAS, LAPACK, Fourier transforms and special functions are within rounding.",
    "EQUAL WITHIN ROUNDING": "Every operation compared is within its budget of rounding errors. It is not comparable "
    "to the bit, for the reasons below.",
    "EQUAL ONLY FOR THIS RUN": "Every value compared is equal, but values of the recorded run stand in the migrated "
    "program, where the original one computes or reads them.",
    "NOT ALL COMPARED": "What was compared is equal. Not looked at, when the program runs by itself:",
    "THE SAME WITH GIVEN DRAWS": "Random numbers without a seed were given from the record: every value compared is "
    "equal then. When it runs by itself, the program draws others, as the original does.",
    "EQUAL SO FAR": "What was compared is equal, but a part of the program is not migrated yet; see what was left out.",
    "DIFFERENT": "Something differs. The first difference stands first.",
    "NOTHING COMPARED": "Nothing could be compared; see what was left out.",
}


MOST = 10
"""So many values of the run are named."""


def report(comparison: Comparison) -> str:
    """The text.

    Parameters
    ----------
    comparison : Comparison
    """
    return "\n".join(map(one_line, _lines(comparison)))


def _lines(comparison: Comparison) -> Iterator[str]:
    yield comparison.title
    yield f"{comparison.verdict}. {explained(comparison)}"
    yield ""
    yield f"compared: {scope(comparison)}"
    for what, count in comparison.uncovered.items():
        yield f"left out: {what} ({count})"
    if comparison.from_run:
        shown = ", ".join(comparison.from_run[:MOST]) + ", ..." * (len(comparison.from_run) > MOST)
        yield f"values of the recorded run: {len(comparison.from_run)} ({shown})"
    for reason in comparison.reasons:
        yield f"not comparable to the bit: {reason}"
    if comparison.printed == []:
        yield "printed: the same text"
    for line in comparison.printed or []:
        yield f"printed: {line}"
    for note in comparison.notes:
        yield f"note: {note}"
    for difference in comparison.differences:
        yield ""
        yield from described(difference)
    if comparison.rows:
        yield ""
        yield from table(list(comparison.rows.values()))
    yield ""
    yield f"record: {made_with(comparison.record['made'])}"
    yield f"here:   {made_with(comparison.here)}"


def explained(comparison: Comparison) -> str:
    """The meaning of the verdict, and what it does not cover."""
    parts = [EXPLAINED[comparison.verdict]]
    given = [f"{comparison.supplied} draws without a seed, given from the record"] * bool(comparison.supplied)
    parts += [f"{'; '.join([*comparison.unseen, *given])}."] * (comparison.verdict == "NOT ALL COMPARED")
    if comparison.verdict == "EQUAL TO THE BIT BUT FOR PRODUCTS":
        largest = max(comparison.rows.values(), key=lambda row: row.worst)
        far = f"The largest difference is {largest.worst:.3g} units in the last place, of {largest.name}."
        parts.append(far if largest.worst else "These did not differ either.")
    return " ".join(filter(None, [*parts, comparison.aside]))


def scope(comparison: Comparison) -> str:
    """Counts of all that was compared."""
    values = sum(row.steps for row in comparison.rows.values())
    kept = comparison.record["kept"]
    return (
        f"{comparison.steps} runs and training steps of {kept['of']} ({kept['steps']} were kept), "
        f"{values} values by name, {comparison.operations} operations"
        + f", and {comparison.own} runs of the program by itself"
        * bool(comparison.own)
    )


def described(d: Difference) -> Iterator[str]:
    """A difference, in lines."""
    yield f"step {d.step}: {d.what} {d.name}{f' ({d.type})' if d.type else ''} differs{apart(d.ulps)}"
    for name, text in d.operands:
        yield f"    operand {name}: {text}"
    if d.expected or d.got:
        yield f"    recorded: {d.expected}{place(d.site)}"
        yield f"    here:     {d.got}{place(d.new_site)}"
    if d.note:
        yield f"    {d.note}"


def apart(ulps: float | None) -> str:
    """How far apart two values are, where that tells rounding from a mistake."""
    if ulps is None:
        return ""
    return f", {ulps:.6g} units in the last place apart" if ulps < 1e4 else ", by far more than rounding"


def place(site: Any) -> str:
    """Where in a program."""
    return f"   [{site[0]}:{site[1]}]" if site else ""


def cells(row: Row) -> list[str]:
    """A row of the table."""
    worst = "" if not row.worst else f"{row.worst:.3g}"
    return [
        row.name,
        str(row.steps),
        str(row.equal),
        str(row.failed),
        worst,
        f"{row.allowed:.3g}" if row.allowed else "0",
    ]


HEAD = ["name", "compared", "same bits", "different", "worst, ulp", "allowed, ulp"]


def table(rows: list[Row]) -> Iterator[str]:
    """Rows under a head, those that differ first."""
    lines = [HEAD, *[cells(row) for row in sorted(rows, key=lambda row: not row.failed)]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for line in lines:
        numbers = [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        yield "  ".join([line[0].ljust(widths[0]), *numbers]).rstrip()


def made_with(made: Any) -> str:
    """A machine in a line."""
    library = f"{made['backend']} {made['version']}, " if "version" in made else f"{made['backend']}, "
    parts = [f"NumPy {made['numpy']}", f"{made['blas']} ({made['blas_core']})", f"{made['threads']} threads"]
    return f"{library}{', '.join(parts)}, {made['machine']} {made['system']}, Python {made['python']}"
