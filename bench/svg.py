"""Plots as inline SVG: a line chart, and what others are drawn with, enough for a report and small enough to read.

Colors are those of Okabe and Ito, which the color-blind can tell apart (M. Okabe and K. Ito, "Color universal
design", 2008); lines differ in width as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.runtime.quoting import markup

BLUE, SKY, ORANGE, VERMILLION, GREEN, PURPLE = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7"
INK, GRID = "#222222", "#DDDDDD"

_STAR = [(r * math.sin(i * math.pi / 5), -r * math.cos(i * math.pi / 5)) for i, r in enumerate([1.4, 0.6] * 5)]
_CROSS: list[tuple[float, float]] = [(0, -0.5), (0.7, -1.2), (1.2, -0.7), (0.5, 0), (1.2, 0.7), (0.7, 1.2)]
MARKERS: dict[str, list[tuple[float, float]]] = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "triangle": [(0, -1.2), (1.2, 1), (-1.2, 1)],
    "diamond": [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)],
    "point down": [(0, 1.2), (1.2, -1), (-1.2, -1)],
    "cross": [*_CROSS, *((-x, -y) for x, y in _CROSS)],
    "star": _STAR,
}
"""The corners of each marker that is not round; ``"disc"`` and ``"ring"`` are."""


@dataclass(frozen=True)
class Style:
    """The looks of a series."""

    color: str
    marker: str = "disc"


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


class Svg:
    """A drawing that grows by one element at a time; coordinates are pixels from the top left corner."""

    def __init__(self, width: float, height: float, title: str) -> None:
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        look = f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}"'
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {look}>',
            f"<title>{markup(title)}</title>",
        ]

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str = GRID) -> None:
        """A straight line."""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>')

    def path(self, points: Sequence[tuple[float, float]], color: str, width: float) -> None:
        """A line through points."""
        pen = f'stroke="{color}" stroke-width="{width:g}" stroke-linejoin="round"'
        self.parts.append(f'<polyline points="{_joined(points)}" fill="none" {pen}/>')

    def mark(self, x: float, y: float, style: Style, size: float = 5) -> None:
        """A marker around a point, by which a series is known even without colors."""
        if style.marker in MARKERS:
            corners = [(x + size * dx, y + size * dy) for dx, dy in MARKERS[style.marker]]
            self.parts.append(f'<polygon points="{_joined(corners)}" fill="{style.color}" stroke="white"/>')
        else:
            look = f'fill="white" stroke="{style.color}" stroke-width="2"' if style.marker == "ring" else ""
            look = look or f'fill="{style.color}" stroke="white"'
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {look}/>')

    def box(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """A filled rectangle."""
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>')

    def text(self, x: float, y: float, words: str, anchor: str = "start", bold: bool = False, turn: int = 0) -> None:
        """A piece of text; `y` is the base line."""
        look = f'text-anchor="{anchor}"'
        if bold:
            look += ' font-weight="bold"'
        if turn:
            look += f' transform="rotate({turn} {x:.1f} {y:.1f})"'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {look}>{markup(words)}</text>')

    def __str__(self) -> str:
        return "\n".join([*self.parts, "</svg>"])


@dataclass(frozen=True)
class Scale:
    """Maps values in [low, high] to pixels in [start, end], linearly or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values, about five of them (powers of ten on a logarithmic scale, 1-2-5 if there are too few)."""
        if self.log:
            exponents = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            powers = [10.0**e for e in exponents]
            return (
                powers
                if len(powers) > 2
                else [v for v in self._finer() if self.low <= v * 1.0001 and v <= self.high * 1.0001]
            )
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(m for m in (1, 2, 5, 10) if (self.high - self.low) / (step * m) <= 6)
        return [i * step for i in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]

    def _finer(self) -> list[float]:
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [m * 10.0**e for e in exponents for m in (1, 2, 5)]


def log_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """A logarithmic scale over positive values, between round numbers."""
    steps = [m * 10.0**e for e in range(-12, 19) for m in (1, 2, 5)]
    low = max(v for v in steps if v <= min(values) / 1.05)
    high = min(v for v in steps if v >= max(values) * 1.05)
    return Scale(low, high, start, end, log=True)


@dataclass(frozen=True)
class Line:
    """One curve of a line chart: `values` at 0, 1, 2..."""

    label: str
    values: Sequence[float]
    color: str
    width: float = 2


def line_chart(title: str, lines: Sequence[Line], x_label: str, y_label: str) -> str:
    """Curves over a common x axis, with a legend."""
    width, height, left, right, top, bottom = 900, 380, 70, 880, 50, 320
    svg = Svg(width, height, title)
    svg.text(left, 24, title, bold=True)
    x = Scale(0, max(len(line.values) for line in lines), left, right)
    y = Scale(0, max(max(line.values) for line in lines) * 1.05, bottom, top)
    for tick in y.ticks():
        svg.line(left, y(tick), right, y(tick))
        svg.text(left - 8, y(tick) + 5, f"{tick:g}", anchor="end")
    for tick in x.ticks():
        svg.line(x(tick), bottom, x(tick), bottom + 5, INK)
        svg.text(x(tick), bottom + 22, f"{tick:g}", anchor="middle")
    svg.line(left, bottom, right, bottom, INK)
    svg.text((left + right) / 2, height - 14, x_label, anchor="middle")
    svg.text(22, (top + bottom) / 2, y_label, anchor="middle", turn=-90)
    svg.box(right - 200, top - 2, 200, 24 * len(lines) + 14, "white")
    for i, line in enumerate(lines):
        svg.path([(x(k), y(v)) for k, v in enumerate(line.values)], line.color, line.width)
        here = top + 22 + 24 * i
        svg.path([(right - 190, here - 5), (right - 150, here - 5)], line.color, line.width)
        svg.text(right - 142, here, line.label)
    return str(svg)
