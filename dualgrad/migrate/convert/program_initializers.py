"""Variables and constants that the program's own expressions make: they hold what it draws, reads or computes.

Their statements stand above the functions, where the program made them (`origins`), and with them the lines of the
program that come before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dualgrad.migrate.convert.edits import Place

if TYPE_CHECKING:
    import libcst

    from dualgrad.migrate.convert.origins import Origin


def without_hosted(text: str, hosted: Sequence[tuple[Origin, str]]) -> tuple[str, dict[Place, list[str]]]:
    """The converted module without the statements of what is hosted; and these, by place in the program.

    Parameters
    ----------
    text : str
        The converted module.
    hosted : sequence of (Origin, str)
        In the order in which the program made it.
    """
    lines = text.split("\n")
    made = {node.targets[0].id: node for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}  # fmt: skip
    spans = {name: range(made[name].lineno - 1, made[name].end_lineno or 0) for _, name in hosted}
    places: dict[Place, list[str]] = {}
    for origin, name in hosted:
        places.setdefault(origin.place, []).append("\n".join(lines[i] for i in spans[name]))
    gone = {i for span in spans.values() for i in span}
    return "\n".join(line for i, line in enumerate(lines) if i not in gone), places


def read(statements: Iterable[Iterable[str]]) -> set[str]:
    """The names that statements read."""
    trees = [ast.parse(text) for texts in statements for text in texts]
    return {n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def split(cst: Any, body: Sequence[Any], names: set[str], provided: set[str]) -> tuple[list[Any], list[Any]] | None:
    """The statements that stand above the functions, and the others; None if the former need the latter.

    Parameters
    ----------
    cst : module
    body : sequence of statements
        Of the program that stay, in order.
    names : set of str
        The hosted ones.
    provided : set of str
        The names that the converted module has.
    """
    places = [i for i, line in enumerate(body) if _name(cst, line) in names]
    if not places:
        return [], list(body)
    first, rest = list(body[: places[-1] + 1]), list(body[places[-1] + 1 :])
    needed: set[str] = set()
    early: list[Any] = []
    later: list[Any] = []
    for line in reversed(first):
        tree = ast.parse(cst.Module(body=[line]).code)
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(line, (cst.FunctionDef, cst.ClassDef)) and line.name.value not in needed:
            later.insert(0, line)
            continue
        needed |= used
        early.insert(0, line)
        if (used & provided) - names - {"tf"}:
            return None
    return early, [*later, *rest]


def _name(cst: Any, line: Any) -> str:
    small: libcst.BaseSmallStatement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
    return getattr(small.targets[0].target, "value", "") if isinstance(small, cst.Assign) else ""
