"""The charts of the report: times as dots with their spread, scaling with the size, and shares of a whole.

Every series has a color of Okabe and Ito's palette and a marker of its own, so that the charts can be read without
colors; all text is text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.svg import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILLION, Scale, Style, Svg, log_scale
from bench.text import readable

GRAY, BAND, BLACK = "#999999", "#F5F5F5", "#000000"
CHARACTER = 8.3  # average width of a character, px; nothing here can measure text

_OWN = {"graph": Style(BLUE, "disc"), "tape": Style(VERMILLION, "square"), "": Style(INK, "disc")}
_COLORS = (GREEN, PURPLE, ORANGE, SKY, BLACK, GRAY)
_MARKERS = ("triangle", "diamond", "point down", "cross", "star", "ring", "square")


def styles(modes: Sequence[str]) -> dict[str, Style]:
    """The style of each mode: ours always the same, peers in turn."""
    # 6 colors and 7 markers: 42 peers before one looks like another
    others = (Style(_COLORS[i % 6], _MARKERS[i % 7]) for i in itertools.count())
    return {m: _OWN.get(m) or next(others) for m in modes}


@dataclass(frozen=True)
class Dot:
    """A value of one series, with its spread (`low` and `high` equal to it if there is none)."""

    series: str
    value: float
    low: float
    high: float


def dots(
    title: str,
    rows: Sequence[tuple[str, Sequence[Dot]]],
    looks: Mapping[str, Style],
    x_label: str,
    reference: float | None = None,
) -> str:
    """One row per thing measured, one dot per series, on a logarithmic scale; a line where `reference` is."""
    used = [name for name in looks if any(d.series == name for _, row in rows for d in row)]
    left = 30 + CHARACTER * max(len(label) for label, _ in rows)
    width, right = 900, 850
    pitch = [max(24, 11 * len(row) + 6) for _, row in rows]
    legend = _legend_rows(used, width - 20)
    top = 44 + 22 * len(legend)
    bottom = top + sum(pitch)
    svg = Svg(width, bottom + 50, title)
    svg.text(10, 22, title, bold=True)
    _legend(svg, legend, looks)
    shown = [d for _, row in rows for d in row]
    values = [v for d in shown for v in (d.value, d.low, d.high) if v > 0] + ([reference] if reference else [])
    x = log_scale(values, left, right)
    y: float = top
    for i, height in enumerate(pitch):
        if i % 2 == 0:
            svg.box(10, y, right + 20 - 10, height, BAND)
        y += height
    _x_axis(svg, x, top, bottom, x_label)
    if reference:
        svg.line(x(reference), top, x(reference), bottom, INK)
    y = top
    for (label, row), height in zip(rows, pitch, strict=True):
        svg.text(left - 10, y + height / 2 + 5, label, anchor="end")
        for i, dot in enumerate(row):
            here = y + height / 2 + 11 * (i - (len(row) - 1) / 2)
            style = looks[dot.series]
            if dot.high > dot.low > 0:
                svg.path([(x(dot.low), here), (x(dot.high), here)], style.color, 2)
            svg.mark(x(dot.value), here, style)
        y += height
    return str(svg)


@dataclass(frozen=True)
class Curve:
    """A series over sizes, all positive."""

    label: str
    style: Style
    points: Sequence[tuple[float, float]]

    @property
    def slope(self) -> float | None:
        """The exponent p of the power law ``size ** p`` that fits best (least squares on the logarithms)."""
        if len({x for x, _ in self.points}) < 2:
            return None
        logs = np.log(np.array(self.points))
        return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])

    def described(self, size: str) -> str:
        """The label and the slope."""
        return self.label if self.slope is None else f"{self.label}: ∝ {size}^{self.slope:.2f}"


def scaling(title: str, curves: Sequence[Curve], x_label: str, y_label: str, size: str = "n") -> str:
    """Curves with both axes logarithmic, half a page wide; the legend says the fitted slopes."""
    width, left, right, top, bottom = 440, 74, 415, 40, 270
    svg = Svg(width, bottom + 58 + 22 * len(curves), title)
    svg.text(10, 22, title, bold=True)
    x = log_scale([p[0] for c in curves for p in c.points], left, right)
    y = log_scale([p[1] for c in curves for p in c.points], bottom, top)
    for tick in y.ticks():
        svg.line(left, y(tick), right, y(tick))
        svg.text(left - 6, y(tick) + 5, short(tick), anchor="end")
    svg.text(16, (top + bottom) / 2, y_label, anchor="middle", turn=-90)
    _x_axis(svg, x, top, bottom, x_label, short)
    svg.line(left, bottom, right, bottom, INK)
    for i, curve in enumerate(curves):
        places = [(x(a), y(b)) for a, b in sorted(curve.points)]
        svg.path(places, curve.style.color, 1.5)
        for place in places:
            svg.mark(*place, curve.style, 4.5)
        here = bottom + 64 + 22 * i
        svg.path([(left, here - 5), (left + 34, here - 5)], curve.style.color, 1.5)
        svg.mark(left + 17, here - 5, curve.style, 4.5)
        svg.text(left + 44, here, curve.described(size))
    return str(svg)


def shares(
    title: str, rows: Sequence[tuple[str, str, Sequence[float]]], parts: Sequence[tuple[str, str]], x_label: str
) -> str:
    """Bars cut into parts of a whole: per row a label, the total in words, and the value of each part."""
    left = 30 + CHARACTER * max(len(label) for label, _, _ in rows)
    width, right, thick, pitch = 900, 790, 18, 28
    legend = _legend_rows([name for name, _ in parts], width - 20)
    top = 44 + 22 * len(legend)
    bottom = top + pitch * len(rows)
    svg = Svg(width, bottom + 50, title)
    svg.text(10, 22, title, bold=True)
    _legend(svg, legend, {name: Style(color, "square") for name, color in parts})
    x = Scale(0, 100, left, right)
    for tick in x.ticks():
        svg.line(x(tick), top - 4, x(tick), bottom)
        svg.text(x(tick), bottom + 18, f"{tick:g} %", anchor="middle")
    svg.text((left + right) / 2, bottom + 40, x_label, anchor="middle")
    for i, (label, total, values) in enumerate(rows):
        y, done = top + pitch * i, 0.0
        svg.text(left - 10, y + 14, label, anchor="end")
        for value, (_, color) in zip(values, parts, strict=True):
            share = 100 * value / sum(values)
            svg.box(x(done), y, max(0.0, x(done + share) - x(done) - 1), thick, color)
            if share >= 7:
                svg.text((x(done) + x(done + share)) / 2, y + 14, f"{share:.0f}", anchor="middle")
            done += share
        svg.text(right + 10, y + 14, total)
    return str(svg)


def short(value: float) -> str:
    """A power of ten as such where it would be long, else the number: 10⁻⁶, 0.1, 200, 5·10⁴."""
    if 0.01 <= value < 10_000:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    factor = round(value / 10.0**exponent)
    return power if factor == 1 else f"{factor}·{power}"


def _x_axis(
    svg: Svg, x: Scale, top: float, bottom: float, label: str, words: Callable[[float], str] = readable
) -> None:
    for tick in x.ticks():
        svg.line(x(tick), top, x(tick), bottom)
        svg.text(x(tick), bottom + 18, words(tick), anchor="middle")
    svg.text((x.start + x.end) / 2, bottom + 40, label, anchor="middle")


def _legend_rows(names: Sequence[str], width: float) -> list[list[tuple[float, str]]]:
    """The names with their places, in as many rows as it takes."""
    rows: list[list[tuple[float, str]]] = [[]]
    x = 10.0
    for name in names:
        needed = 40 + CHARACTER * len(name)
        if rows[-1] and x + needed > width:
            rows.append([])
            x = 10
        rows[-1].append((x, name))
        x += needed
    return rows


def _legend(svg: Svg, rows: Sequence[Sequence[tuple[float, str]]], looks: Mapping[str, Style]) -> None:
    for i, row in enumerate(rows):
        for x, name in row:
            svg.mark(x + 7, 45 + 22 * i - 5, looks[name])
            svg.text(x + 18, 45 + 22 * i, name)
