"""Variables and constants of which the program's own line stays: they hold what it draws, reads or computes.

A graph knows only the value of the recorded run. So where the program says at its top ``W = tf.Variable(rng.randn())``,
which is tape code too, that line stays, with those before it, and stands above the functions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dualgrad.migrate.convert.printing import unparsed
from dualgrad.migrate.convert.provenance import MARK

if TYPE_CHECKING:
    import libcst

_MAKERS = frozenset({"tf.Variable", "tf.constant"})
_KEYWORDS = frozenset({"dtype", "name", "trainable", "shape"})
_SCOPES = re.compile(r"tf\.(variable_scope|name_scope|device)|[\w.()]+\.as_default")


def candidates(tree: ast.Module, names: Mapping[str, Any]) -> dict[str, ast.Assign]:
    """By name, the statements of a program that could stay.

    Parameters
    ----------
    tree : ast.Module
        The program.
    names : mapping
        Its global names and what they stood for in the end.
    """
    assigned = _made(tree)
    graphs = {name for name, value in names.items() if isinstance(getattr(value, "name", None), str)}
    return {name: node for name, node in assigned.items() if name in graphs and _expression(node, graphs) is not None}


def hosted(tree: ast.Module, text: str, names: Mapping[str, Any], from_run: Sequence[str]) -> dict[str, ast.Assign]:
    """By name, the statements of a program that can stay.

    Parameters
    ----------
    tree, names
        As in `candidates`.
    text : str
        The converted module.
    from_run : sequence of str
        The variables and constants of which the module holds the value of the run.
    """
    lines = text.split("\n")
    written = {name for name, node in _made(ast.parse(text)).items() if lines[node.lineno - 1].endswith(MARK)}
    statements = candidates(tree, names)
    return {name: node for name, node in statements.items() if name in written and names[name].name in from_run}


def in_tape_code(kept: Mapping[str, ast.Assign], text: str) -> dict[ast.expr, str]:
    """The calls of `get_variable` among statements that stay, and what stands in their place."""
    made = _made(ast.parse(text))
    texts: dict[ast.expr, str] = {}
    for name, node in kept.items():
        call: Any = made[name].value
        expression = _expression(node, set())
        if expression is not None and ast.unparse(node.value.func) not in _MAKERS:  # type: ignore[attr-defined]
            texts[node.value] = unparsed(ast.Call(call.func, [expression], call.keywords))
    return texts


def _made(tree: ast.Module) -> dict[str, ast.Assign]:
    """The names that are given once at the top, or in scopes there, each a variable or constant."""
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {
        node.targets[0].id: node
        for node in _top(tree.body)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _MAKERS | {"tf.get_variable"}
        and stored.count(node.targets[0].id) == 1
    }  # fmt: skip


def _top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.With):
            calls = [item.context_expr for item in node.items]
            if all(isinstance(c, ast.Call) and _SCOPES.fullmatch(ast.unparse(c.func)) for c in calls):
                yield from _top(node.body)
        else:
            yield node


def _expression(node: ast.Assign, graphs: set[str]) -> ast.expr | None:
    """The expression that makes a variable or constant, if nothing of the graph is in that; None otherwise."""
    call = node.value
    assert isinstance(call, ast.Call)
    keywords = {str(k.arg): k.value for k in call.keywords}
    if ast.unparse(call.func) in _MAKERS:
        if len(call.args) != 1 or not _KEYWORDS.issuperset(keywords):
            return None
        whole = call.args[0]
    elif "initializer" in keywords and len(call.args) <= 1 and {"initializer", "name"}.issuperset(keywords):
        whole = keywords.pop("initializer")
    else:
        return None
    inside = [n for x in [whole, *keywords.values()] for n in ast.walk(x)]
    types = {id(n.value) for n in inside if isinstance(n, ast.Attribute)
             and re.fullmatch(r"tf\.(float|u?int)\d+", ast.unparse(n))}  # fmt: skip
    of_graph = any(
        isinstance(n, ast.Name) and (n.id in graphs or (n.id == "tf" and id(n) not in types)) for n in inside
    )
    return None if of_graph else whole


def without(text: str, names: set[str]) -> str:
    """The converted module without the statements that make these."""
    lines = text.split("\n")
    gone = [node for name, node in _made(ast.parse(text)).items() if name in names]
    numbers = {n for node in gone for n in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in numbers)


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
    if not names:
        return [], list(body)
    first = list(body[: places[-1] + 1])
    for line in first:
        tree = ast.parse(cst.Module(body=[line]).code)
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if (used & provided) - names - {"tf"} or "print" in used or not isinstance(line, cst.SimpleStatementLine):
            return None
    return first, list(body[places[-1] + 1 :])


def _name(cst: Any, line: Any) -> str:
    small: libcst.BaseSmallStatement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
    return getattr(small.targets[0].target, "value", "") if isinstance(small, cst.Assign) else ""
