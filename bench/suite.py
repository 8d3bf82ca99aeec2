"""``python -m bench report``: a page, a table in Markdown and one in CSV, from what was measured.

Without a file it measures one model on real data (`bench.report`); ``python -m bench run`` makes files of all the rest.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench import page, tables
from bench.calibrate import described
from bench.plots import Curve, Dot, dots, scaling, shares, styles
from bench.results import OURS, Result, Run, axis, chosen, modes, problems, read, sizes
from bench.svg import ORANGE, SKY, VERMILLION, Style
from bench.text import as_markdown, duration, filled
from engine.runtime.quoting import markup

TITLE = "What Jacobians cost in graph mode and in tape mode"
OTHER_TITLE = "Benchmarks"
PART_COLORS = dict(zip(tables.PARTS, (SKY, ORANGE, "#BBBBBB", VERMILLION), strict=True))
MEDIANS = "Times are medians; lines through dots and “middle half” show between which times half of the rounds lie."
HOW = f"""{MEDIANS} What is compared was run one after the other, in several passes, so that what slows the machine for
a while slows all of it. “First call” holds everything that is done once: building, planning, lowering. A peer stands
with its fastest way. J / f is the time of the Jacobian by that of the function."""
STAGES = """Our first calls, cut into what they do, at the largest size of each problem; the number beside a bar is its
whole time. There is what is done once: making the graph (“trace”), choosing the way and adding it to the graph
(“plan”), and more, which is mostly lowering. The last part is what a later call takes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``report``."""
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE.json", help="what to report (default: one model on real data)"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("report"), help="folder to write to (default: report)")


def run(options: argparse.Namespace) -> int:
    """Write the report; 1 if something that was measured for it was wrong."""
    options.out.mkdir(parents=True, exist_ok=True)
    if options.file is None:
        # Here, since it needs scikit-learn, and a file can be reported without.
        from bench import report

        return report.main(["--out", str(options.out)])
    measured = read(options.file)
    write(measured, options.out, options.file.stem, as_page(measured))
    return 0


def write(measured: Run, out: Path, stem: str, html: str) -> None:
    """Write the page, the Markdown and the CSV."""
    for suffix, text in (("html", html), ("md", as_text_page(measured)), ("csv", tables.as_csv(measured.results))):
        (out / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    print(f"Written: {out / stem}.html, .md and .csv")


# ---- the page --------------------------------------------------------------------------------------------------------


def as_page(measured: Run) -> str:
    """The HTML page; it needs no other file and no script."""
    return page.page(heading(measured), sections(measured), f"Made by python -m bench report. {measured.described()}.")


def heading(measured: Run) -> str:
    """The subject of the page: our suite, or whatever somebody measured."""
    return TITLE if any(r.in_suite for r in measured.results) else OTHER_TITLE


def _how(measured: Run) -> str:
    return " ".join((HOW if heading(measured) == TITLE else MEDIANS).split())


def sections(measured: Run) -> list[str]:
    """The page without its frame."""
    results = measured.results
    looks = styles(modes(r for r in results if r.in_suite))
    body = [page.verdict(sentence) for sentence in tables.verdicts(results)]
    body.append(f"<p>{_how(measured)}</p>")
    if rows := tables.summary(results):
        body += ["<h2>All problems</h2>", overview(results, looks), page.wide(_table(tables.SUMMARY, rows))]
    body += [part for name, found in _suite(results).items() for part in problem_section(name, found, looks)]
    body += _stages_section(results)
    if rows := tables.other_rows(results):
        body += [f"<h2>{_others(measured)}</h2>", page.wide(page.table(tables.OTHERS, rows))]
    if measured.calibration:
        head = ("the machine", "its ceiling")
        body += ["<h2>The machine</h2>", page.table(head, described(measured.calibration))]
    return body


def _others(measured: Run) -> str:
    return "Beside the Jacobians" if heading(measured) == TITLE else "Measured"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = filled([head, *rows])
    return page.table(shown[0], shown[1:])


def _suite(results: Sequence[Result]) -> dict[str, list[Result]]:
    return problems(r for r in results if r.in_suite)


def overview(results: Sequence[Result], looks: dict[str, Style]) -> str:
    """Every mode beside the graph, at the largest size of each problem."""
    rows = []
    for name, found in _suite(results).items():
        largest = [r for r in found if r.size == sizes(found)[-1]]
        base = chosen(largest, "graph") or chosen(largest, "tape")
        if base is None:
            continue
        picked = [r for mode in looks if (r := chosen(largest, mode))]
        row = [Dot(r.mode, *(v / base.median for v in (r.median, r.q1, r.q3))) for r in picked]
        rows.append((f"{name} {base.size}".strip(), row))
    title = "A later call at the largest size, by graph mode's time: left of 1 is faster"
    return dots(title, rows, looks, "time by that of graph mode (logarithmic)", reference=1.0) if rows else ""


def problem_section(name: str, results: Sequence[Result], looks: dict[str, Style]) -> list[str]:
    """One problem: its ways at the largest size, how they grow, and all the numbers."""
    size = sizes(results)[-1]
    largest = sorted((r for r in results if r.size == size and r.stage == "warm"), key=lambda r: r.median)
    rows = [(r.way, [Dot(r.mode, 1e3 * r.median, 1e3 * r.q1, 1e3 * r.q3)]) for r in largest]
    body = [f"<h2>{markup(name)}</h2>"]
    if rows:
        body.append(dots(f"{name} {size}: a later call".replace(" :", ":"), rows, looks, "milliseconds (logarithmic)"))
    if plots := [p for p in (growth(results, looks, kind) for kind in GROWTH) if p]:
        body.append(f'<div class="pair">{"".join(plots)}</div>')
    for one in sizes(results):
        found = [r for r in results if r.size == one]
        body.append(
            page.details(f"Numbers at size {one}" if one else "Numbers", _table(tables.WAYS, tables.ways(found)))
        )
    return body


GROWTH = {"time": (1e3, "ms"), "peak memory": (1e-6, "MB")}


def growth(results: Sequence[Result], looks: dict[str, Style], kind: str) -> str:
    """Time or memory of each mode against the size, where two sizes or more are known; else nothing."""
    factor, unit = GROWTH[kind]
    along = axis(results)
    if not along:
        return ""
    curves = []
    for mode, style in looks.items():
        points = []
        for size in sizes(results):
            r = chosen([r for r in results if r.size == size], mode)
            value = r and (r.median if kind == "time" else r.fact("peak_bytes"))
            if r and value:
                points.append((r.extent["nm".index(along)], factor * value))
        if len(points) > 1:
            curves.append(Curve(mode, style, points))
    if not curves:
        return ""
    title = f"{kind.capitalize()} against {along}"
    return scaling(title, curves, f"{along} (logarithmic)", f"{unit} (logarithmic)", along)


def _stages_section(results: Sequence[Result]) -> list[str]:
    rows = []
    for name, found in _suite(results).items():
        largest = [r for r in found if r.size == sizes(found)[-1]]
        for mode in OURS:
            values = tables.stages(largest, mode)
            if values and sum(values):
                rows.append((f"{name}, {mode}", duration(sum(values)), values))
    if not rows:
        return []
    chart = shares("Where the time of a first call goes", rows, [*PART_COLORS.items()], "share of a first call")
    return ["<h2>Where the time goes</h2>", f"<p>{STAGES}</p>", chart]


# ---- Markdown --------------------------------------------------------------------------------------------------------


def as_text_page(measured: Run) -> str:
    """The tables and sentences as Markdown."""
    results = measured.results
    parts = [f"# {heading(measured)}", measured.described() + ".", *tables.verdicts(results), _how(measured)]
    for title, head, rows in (
        ("All problems", tables.SUMMARY, tables.summary(results)),
        (_others(measured), tables.OTHERS, tables.other_rows(results)),
    ):
        if rows:
            parts += [f"## {title}", as_markdown(filled([head, *rows]))]
    for problem, size, found in tables.cases(results):
        parts += [f"## {problem} {size}".rstrip(), as_markdown(filled([tables.WAYS, *tables.ways(found)]))]
    if measured.calibration:
        parts += ["## The machine", as_markdown([("what", "ceiling"), *described(measured.calibration)], words=1)]
    return "\n\n".join(parts) + "\n"
