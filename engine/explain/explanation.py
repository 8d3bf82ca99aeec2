"""The result of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.op import Node
from engine.explain.diagnose import Finding, source_line
from engine.explain.evidence import Evidence, op_label, site_text
from engine.explain.picture import Picture, dot, picture_of_path, svg
from engine.runtime.quoting import markup

_SHOWN = 40
"""Ops of a path that a picture shows."""


@dataclass(repr=False)
class Explanation:
    """Why a gradient is None, zero, not finite, or only a part; or that it arrives.

    Attributes
    ----------
    connected : bool
        Whether a derivative leads from the source to the target. If not, the gradient is None.
    findings : list of Finding
        The reasons, the first broken edge first.
    path : list of Node
        From the source to the target; to the broken edge, and on from there, if it is broken.
    gradient : array or None
        Where it was computed.
    """

    connected: bool
    findings: list[Finding]
    path: Sequence[Node]
    evidence: Evidence
    names: dict[str, str]
    gradient: Any = None

    @property
    def code(self) -> str:
        """The stable code of the first reason: ``"stopped"``. ``dualgrad explain CODE`` prints the page about it."""
        return self.findings[0].code

    @property
    def message(self) -> str:
        """The first reason in a sentence."""
        return self.findings[0].message

    @property
    def instead(self) -> str:
        """Advice what to write instead."""
        return self.findings[0].instead

    @property
    def where(self) -> tuple[str, int] | None:
        """File and line of the user's program that the first reason is about."""
        site = self.findings[0].site
        return None if site is None else (site.file, site.line)

    @property
    def op(self) -> str | None:
        """The op that the first reason is about."""
        node = self.findings[0].node
        return None if node is None else op_label(node)

    # ---- pictures ----------------------------------------------------------------------------------------------------

    def dot(self) -> str:
        """A picture of the path in Graphviz's language, the broken edge in red."""
        return dot(self._picture())

    def svg(self) -> str:
        """The same picture, laid out."""
        return svg(self._picture())

    def _picture(self) -> Picture:
        nodes = self.path if len(self.path) < _SHOWN else [*self.path[: _SHOWN // 2], *self.path[-_SHOWN // 2 :]]
        return picture_of_path(nodes, self._broken, self.names)

    @property
    def _broken(self) -> Node | None:
        return None if self.connected else self.findings[0].node

    # ---- text --------------------------------------------------------------------------------------------------------

    def _headline(self) -> str:
        if not self.connected:
            return f"no gradient: {self.code}"
        return {"connected": "connected", "partial": "a part of the gradient is missing"}.get(
            self.code, f"connected, but {self.code}"
        )

    def _lines(self) -> list[tuple[str, str]]:
        lines = [("", self._headline())]
        for finding in self.findings:
            lines.append(("why" if finding is self.findings[0] else "also", str(finding)))
            text = source_line(finding.site)
            if text:
                lines.append(("line", text))
            if finding.instead:
                lines.append(("write", finding.instead))
        if self.path:
            lines.append(("path", self._way()))
        if self.code != "connected":
            lines.append(("more", f"dualgrad explain {self.code}"))
        return lines

    def _way(self) -> str:
        steps = [self.names["source"]]
        for node in self.path:
            where = site_text(self.evidence.site(node))
            mark = "✗ " if node is self._broken else ""
            steps.append(f"{mark}{op_label(node)}" + (f" ({where})" if where else ""))
        return " → ".join([*steps, self.names["target"]])

    def __str__(self) -> str:
        return "\n".join(f"  {name:6}{text}" if name else text for name, text in self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top'>{name}</th>"
            f"<td style='text-align:left'>{markup(text)}</td></tr>"
            for name, text in self._lines()[1:]
        )
        return f"<div><b>{markup(self._headline())}</b><table>{rows}</table>{self.svg()}</div>"
