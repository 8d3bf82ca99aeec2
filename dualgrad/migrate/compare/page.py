"""A comparison as a page of its own, without scripts or files from elsewhere: to be read, printed, signed and kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dualgrad.migrate.compare.findings import Comparison, Difference, Row
from dualgrad.migrate.compare.report import HEAD, apart, cells, explained, made_with, scope
from engine.runtime.quoting import markup

BAD = '<tr class="bad">'
_STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #b3261e; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.verdict { border-left: .4rem solid var(--good); padding: .5rem 1rem; font-size: 1.2rem; }
.verdict.bad { border-color: var(--bad); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .7rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
tr.bad td { color: var(--bad); font-weight: 600; }
section.difference { border: 1px solid var(--line); padding: 0 1rem; margin: 1rem 0; }
code, td:first-child { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1.5rem; }
.sign { margin-top: 3rem; display: flex; gap: 3rem; } .sign span { border-top: 1px solid; padding: .2rem 4rem .2rem 0; }
@media print { body { margin: 0; max-width: none; } section.difference { break-inside: avoid; } }
"""


def page(comparison: Comparison) -> str:
    """The page, as HTML.

    Parameters
    ----------
    comparison : Comparison
    """
    c = comparison
    bad = "" if c.exit_code == 0 else " bad"
    parts = [
        f"<h1>{markup(c.title)}</h1>",
        f'<p class="verdict{bad}"><strong>{markup(c.verdict)}</strong><br>{markup(explained(c))}</p>',
        f"<h2>What was compared</h2><p>{markup(scope(c))}.</p>",
        _list("Left out", [f"{what}: {count}" for what, count in c.uncovered.items()]),
        _list("Why it is not comparable to the bit", c.reasons),
        _list("Notes", c.notes),
        _printed(c),
    ]
    if c.differences:
        parts += ["<h2>What differs</h2>", *map(_difference, c.differences)]
    if c.rows:
        parts += ["<h2>Name by name</h2>", _table(sorted(c.rows.values(), key=lambda row: not row.failed))]
    parts += [
        "<h2>With what</h2>",
        _terms([("The record", made_with(c.record["made"])), ("Here", made_with(c.here)), *_program(c)]),
        "<p>CPU features: <code>" + markup(" ".join(c.here.get("cpu_features", []))) + "</code></p>",
        '<p class="sign"><span>Date</span><span>Name</span><span>Signature</span></p>',
    ]
    body = "\n".join(filter(None, parts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{markup(c.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _program(c: Comparison) -> list[tuple[str, str]]:
    program = c.record["program"]
    return [("The recorded program", f"{program['file']}, SHA-256 {program['sha256']}")]


def _printed(c: Comparison) -> str:
    if c.printed is None:
        return ""
    return _list("Printed lines that differ", c.printed) or "<p>Both print the same text.</p>"


def _list(title: str, items: Iterable[str]) -> str:
    rows = "".join(f"<li>{markup(item)}</li>" for item in items)
    return f"<h3>{markup(title)}</h3><ul>{rows}</ul>" if rows else ""


def _terms(pairs: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{markup(a)}</dt><dd><code>{markup(b)}</code></dd>" for a, b in pairs) + "</dl>"


def _difference(d: Difference) -> str:
    kind = f" ({d.type})" if d.type else ""
    pairs = [(f"Operand {name}", text) for name, text in d.operands]
    pairs += [("Recorded" + _at(d.site), d.expected), ("Here" + _at(d.new_site), d.got)]
    said = f"<p>{markup(d.note)}</p>" if d.note else ""
    head = f"Step {d.step}: {d.what} {d.name}{kind} differs{apart(d.ulps)}"
    return f'<section class="difference"><h3>{markup(head)}</h3>{_terms(p for p in pairs if p[1])}{said}</section>'


def _at(site: Any) -> str:
    return f", {site[0]} line {site[1]}" if site else ""


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f"<th>{markup(name)}</th>" for name in HEAD)
    lines = [
        (BAD if row.failed else "<tr>") + "".join(f"<td>{markup(x)}</td>" for x in cells(row)) + "</tr>" for row in rows
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
