"""The report as one HTML page that needs no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.runtime.quoting import markup

STYLE = """
body { max-width: 1000px; margin: 2em auto; padding: 0 1em; font: 16px/1.5 system-ui, sans-serif; color: #222; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; margin-top: 1.5em; font-size: 0.93em; }
th, td { padding: 0.3em 0.6em; border-bottom: 1px solid #ddd; text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; max-width: 100%; } .wide table { font-size: 0.85em; }
.wide th, .wide td { padding: 0.25em 0.5em; }
.wide td { white-space: nowrap; }
.pair { display: flex; flex-wrap: wrap; gap: 16px; align-items: flex-start; }
details { margin: 0.6em 0; } summary { cursor: pointer; color: #0072B2; }
.verdict { border-left: 4px solid #009E73; padding-left: 0.8em; }
.failed { border-left-color: #D55E00; }
footer { color: #666; font-size: 0.85em; margin-top: 3em; }
nav ul { columns: 15em; padding-left: 1.2em; } a { color: #0072B2; }
@media (max-width: 640px) {
  body { margin: 1em auto; overflow-wrap: anywhere; }
  th, td { padding: 0.25em 0.4em; } .wide svg { max-width: none; }
}
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #e2e2e2; } a, summary { color: #6cb8ec; }
  th, td { border-bottom-color: #444; } footer { color: #a0a0a0; }
  svg { background: #fff; border-radius: 6px; }
}
@media print {
  body { max-width: none; margin: 0; font-size: 10pt; background: #fff; color: #000; }
  nav { display: none; } .wide { overflow: visible; } .wide td { white-space: normal; }
  svg, tr { break-inside: avoid; } h2 { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; }
}
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table; the first two columns are words, the others numbers."""
    lines = ["<table>", "<tr>" + "".join(f"<th>{markup(h)}</th>" for h in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{markup(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def wide(content: str) -> str:
    """Content that may be wider than the page: it scrolls by itself."""
    return f'<div class="wide">{content}</div>'


def details(heading: str, content: str) -> str:
    """Content that is folded away until somebody asks for it."""
    return f"<details><summary>{markup(heading)}</summary>{wide(content)}</details>"


def verdict(text: str, good: bool = True) -> str:
    """A sentence that matters."""
    return f'<p class="{"verdict" if good else "verdict failed"}">{markup(text)}</p>'


def contents(body: str) -> tuple[str, str]:
    """The list of the headings of a page, and the page with places that it leads to."""
    names: list[str] = []

    def numbered(heading: re.Match[str]) -> str:
        names.append(heading[2])
        return f'<a id="part-{len(names)}"></a>{heading[0]}'

    body = re.sub(r"<h([12])>(.*?)</h\1>", numbered, body)
    items = "".join(f'<li><a href="#part-{n}">{name}</a></li>' for n, name in enumerate(names, 1))
    return (f"<nav><ul>{items}</ul></nav>" if len(names) > 1 else ""), body


def page(title: str, body: Sequence[str], footer: str) -> str:
    """The whole page: what was found out, what else there is, and then everything in turn."""
    answers = [part for part in body if part.startswith('<p class="verdict')]
    rest = "\n".join(part for part in body if part not in answers)
    # what is wider than a narrow screen scrolls by itself
    drawn = r'(?<!<div class="wide">)(<svg.*?</svg>|<table>.*?</table>)'
    rest = re.sub(drawn, r'<div class="wide">\1</div>', rest, flags=re.S)
    nav, rest = contents(rest)
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{markup(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{markup(title)}</h1>",
            *answers,
            nav,
            rest,
            f"<footer>{markup(footer)}</footer>",
            "</body></html>",
        ]
    )
