"""Numbers and tables as text: for a terminal, for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from engine.runtime.quoting import one_line

DASH = "–"


def readable(value: float) -> str:
    """Three digits, or all before the point: 0.0123, 4.56, 12,300."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """A time with its unit, e.g. ``1.23 ms``; a dash for None."""
    return _with_unit(seconds, ((1, "s"), (1e-3, "ms"), (1e-6, "µs")), (1e-9, "ns"))


def amount(size: float | None) -> str:
    """A number of bytes with its unit, e.g. ``1.23 MB``; a dash for None."""
    return _with_unit(size, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")), (1, "B"))


def times(ratio: float | None) -> str:
    """A ratio, e.g. ``1.23 ×``; a dash for None."""
    if ratio is None:
        return DASH
    return f"{ratio:.2f} ×" if 0.1 <= ratio < 10 else f"{readable(ratio)} ×"


def _with_unit(value: float | None, units: Sequence[tuple[float, str]], last: tuple[float, str]) -> str:
    if value is None:
        return DASH
    # 0.9995 rounds to 1.00 of the next unit
    scale, unit = next((u for u in units if value >= 0.9995 * u[0]), last)
    return f"{readable(value / scale)} {unit}"


def filled(rows: Sequence[Sequence[str]], words: int = 2) -> list[list[str]]:
    """A table without the columns that say nothing; the first row is the head, the first `words` columns stay."""
    kept = [i for i in range(len(rows[0])) if i < words or any(row[i] != DASH for row in rows[1:])]
    return [[row[i] for i in kept] for row in rows]


def as_text(rows: Sequence[Sequence[str]], words: int = 2) -> str:
    """A table for a terminal; the first row is the head, the first `words` columns are words, the others numbers."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(c.ljust(w) if i < words else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def as_markdown(rows: Sequence[Sequence[str]], words: int = 2) -> str:
    """A table for Markdown; the first row is the head, the first `words` columns are words, the others numbers."""
    rule = ["---" if i < words else "--:" for i in range(len(rows[0]))]
    return "\n".join(
        "| " + " | ".join(one_line(c).replace("|", "\\|") for c in row) + " |" for row in (rows[0], rule, *rows[1:])
    )
