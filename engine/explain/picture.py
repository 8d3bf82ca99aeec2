"""Pictures of nodes: Graphviz's language, and a plain SVG of our own.

In DOT scopes are clusters, nested as they are. The SVG puts each box one row below what it takes, and what belongs to
gradients to the right; of a graph it shows what `engine.explain.folding` makes of it. In both, what belongs to
gradients is blue, and the broken edge red.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.core.op import Node
from engine.explain.evidence import op_label
from engine.runtime.errors import InvalidArgumentError
from engine.runtime.quoting import markup, one_line

MOST = 300
"""Ops up to which an SVG is drawn."""
GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?(/|$)")
_BLUE, _RED, _GRAY = "#1f5fbf", "#c62828", "#8a8a8a"


@dataclass
class Picture:
    """A picture: the nodes and edges that are drawn.

    Attributes
    ----------
    boxes : list of (scope, text, is gradient)
    edges : list of (from, to, is broken)
    """

    boxes: list[tuple[str, str, bool]] = field(default_factory=list)
    edges: list[tuple[int, int, bool]] = field(default_factory=list)


def picture_of(nodes: Sequence[Node]) -> Picture:
    """All nodes of a graph, with the edges between them."""
    picture = Picture()
    number = {id(out): i for i, node in enumerate(nodes) for out in node.outputs}
    for i, node in enumerate(nodes):
        name = str(getattr(node, "name", ""))
        scope, _, last = name.rpartition("/")
        picture.boxes.append((scope, f"{node.op.type}\n{last}" if last else node.op.name, bool(GRADIENTS.search(name))))
        picture.edges += [(number[k], i, False) for k in dict.fromkeys(map(id, node.inputs)) if k in number]
    return picture


def picture_of_path(nodes: Sequence[Node], broken: Node | None, names: dict[str, str]) -> Picture:
    """A way from source to target, one op below the other."""
    picture = Picture([("", names["source"], False)])
    for node in nodes:
        picture.edges.append((len(picture.boxes) - 1, len(picture.boxes), node is broken))
        picture.boxes.append(("", op_label(node), False))
    if nodes:
        picture.edges.append((len(picture.boxes) - 1, len(picture.boxes), False))
    elif broken is None:
        picture.edges.append((0, 1, True))
    picture.boxes.append(("", names["target"], False))
    return picture


# ---- DOT -------------------------------------------------------------------------------------------------------------


def dot(picture: Picture) -> str:
    """The picture in Graphviz's language."""
    lines = ["digraph {", '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];']
    lines += _cluster(picture, "", 1)
    for a, b, broken in picture.edges:
        gradient = picture.boxes[b][2]
        style = f' [color="{_RED}", style=dashed, label="✗"]' if broken else f' [color="{_BLUE}"]' if gradient else ""
        lines.append(f"  n{a} -> n{b}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _cluster(picture: Picture, scope: str, depth: int) -> list[str]:
    pad = "  " * depth
    lines = []
    inner = {}
    for i, (place, text, gradient) in enumerate(picture.boxes):
        if place == scope:
            color = f', color="{_BLUE}", fontcolor="{_BLUE}"' if gradient else ""
            lines.append(f"{pad}n{i} [label={_quoted(text)}{color}];")
        elif place.startswith(f"{scope}/" if scope else ""):
            rest = place.removeprefix(f"{scope}/") if scope else place
            inner[rest.partition("/")[0]] = True
    for name in inner:
        full = f"{scope}/{name}" if scope else name
        lines += [f"{pad}subgraph {_quoted('cluster_' + full)} {{", f"{pad}  label={_quoted(name)};"]
        lines += [*_cluster(picture, full, depth + 1), f"{pad}}}"]
    return lines


def _quoted(text: str) -> str:
    lines = [one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\n".join(lines) + '"'


# ---- SVG -------------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _ACROSS, _DOWN = 170, 34, 190, 62


def svg(picture: Picture) -> str:
    """The picture laid out.

    Raises
    ------
    InvalidArgumentError
        If there are more than `MOST` ops.
    """
    if len(picture.boxes) > MOST:
        raise InvalidArgumentError(
            f"svg: the picture would have {len(picture.boxes)} ops, and is drawn up to {MOST}; use dot() and Graphviz"
        )
    places, columns, rows = _placed(picture)
    width, height = columns * _ACROSS + 20, rows * _DOWN + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [f'{head} font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']
    parts.append(f"<defs>{''.join(_head(color) for color in (_GRAY, _BLUE, _RED))}</defs>")
    for a, b, broken in picture.edges:
        (x1, y1), (x2, y2) = places[a], places[b]
        color = _RED if broken else _BLUE if picture.boxes[b][2] else _GRAY
        dashes = ' stroke-dasharray="5 4"' if broken else ""
        if y2 - y1 > _DOWN:
            dashes += ' stroke-opacity="0.45"'  # a long way, behind other boxes
        start, end = y1 + _HEIGHT, y2 - 2
        parts.append(
            f'<line x1="{x1}" y1="{start}" x2="{x2}" y2="{end}" stroke="{color}"{dashes} '
            f'marker-end="url(#head-{color[1:]})"/>'
        )
        if broken:
            parts.append(f'<text x="{(x1 + x2) / 2 + 6}" y="{(start + end) / 2 + 4}" fill="{_RED}">✗</text>')
    for (x, y), (scope, text, gradient) in zip(places, picture.boxes, strict=True):
        color = _BLUE if gradient else "#222222"
        shown = text.replace("\n", " ")
        parts.append(
            f'<g><title>{markup(f"{scope}/{shown}" if scope else shown)}</title><rect x="{x - _WIDTH / 2}" y="{y}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="white" stroke="{color}"/><text x="{x}" '
            f'y="{y + _HEIGHT / 2 + 4}" text-anchor="middle" fill="{color}">{_cut(shown)}</text></g>'
        )
    return "".join([*parts, "</svg>"])


def _head(color: str) -> str:
    """The head of an arrow."""
    return (
        f'<marker id="head-{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
    )


def _cut(text: str) -> str:
    return markup(text) if len(text) <= 28 else markup(text[:27]) + "…"


def _placed(picture: Picture) -> tuple[list[tuple[float, float]], int, int]:
    """The middle of each box's upper edge, and how many columns and rows there are.

    In a row boxes stand in the order of those that they take from; what belongs to gradients stands to the right.
    """
    row = [0] * len(picture.boxes)
    for a, b, _ in sorted(picture.edges, key=lambda edge: edge[1]):
        if a < b:
            row[b] = max(row[b], row[a] + 1)
    taken: list[list[int]] = [[] for _ in row]
    for a, b, _ in picture.edges:
        taken[b].append(a)
    column: list[float] = [0.0] * len(row)
    apart = any(gradient for _, _, gradient in picture.boxes)
    left = 0
    for which in (False, True):
        for r in range(max(row, default=0) + 1):
            here = [i for i, box in enumerate(picture.boxes) if row[i] == r and box[2] is which]
            before = {i: sum(column[a] for a in taken[i]) / max(len(taken[i]), 1) for i in here}
            for n, i in enumerate(sorted(here, key=lambda i: (before[i], i))):
                column[i] = n + (left if which else 0)
        if apart and not which:
            left = int(max((c for c, box in zip(column, picture.boxes, strict=True) if not box[2]), default=-1)) + 1
    places = [(10 + _ACROSS * c + _ACROSS / 2, 8.0 + r * _DOWN) for c, r in zip(column, row, strict=True)]
    return places, int(max(column, default=0)) + 1, max(row, default=0) + 1
