"""The last touches to finished functions: what is named only to be handed on at once, and functions of equal text."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from graph_api.migrate.convert.printing import WIDTH


def tidied(statements: list[Any], indent: int = 4) -> list[Any]:
    """Statements without names that the next one alone uses: of what is returned, and of gradients that are applied.

    Parameters
    ----------
    statements : list of Statement
        Of one block; the blocks inside are changed in place.
    indent : int
        Columns before each line.
    """
    for statement in statements:
        if isinstance(statement.code, (ast.With, ast.FunctionDef, ast.For)):
            statement.code.body = tidied(statement.code.body, indent + 4)
    found: list[Any] = []
    for number, statement in enumerate(statements):
        name = _given(found[-1].code) if found else None
        assigned = _assigned(found[-1].code, statement.code) if found else None
        if assigned is not None:
            statement, last = copy.copy(found.pop()), statement
            statement.code, statement.node = assigned, last.node
        elif name is not None and _takes(statement.code, name) and _count(statements[number:], name) == 1:
            whole = _Placed(name, found[-1].code.value).visit(copy.deepcopy(statement.code))
            if indent + len(ast.unparse(whole)) <= WIDTH:
                last = found.pop()
                statement = copy.copy(statement if last.item is None else last)
                statement.code = whole
        found.append(statement)
    return found


def _assigned(before: ast.stmt, code: ast.stmt) -> ast.stmt | None:
    """What returns the value of a variable that has just been assigned to, as one statement."""
    if not isinstance(code, ast.Return) or not isinstance(before, ast.Expr) or code.value is None:
        return None
    target, _, rest = ast.unparse(before).partition(".assign(")
    if not rest or ast.unparse(code.value) != f"{target}.read_value()":
        return None
    return ast.Return(ast.Call(ast.Attribute(before.value, "read_value", ast.Load()), [], []))


def _given(code: ast.stmt) -> str | None:
    """The one name that a statement gives."""
    if isinstance(code, ast.Assign) and len(code.targets) == 1 and isinstance(code.targets[0], ast.Name):
        return code.targets[0].id
    return None


def _takes(code: ast.stmt, name: str) -> bool:
    """Whether a statement does nothing before it reads a name, and may be written with what the name stands for."""
    if isinstance(code, ast.Return):
        return isinstance(code.value, ast.Name) and code.value.id == name
    is_call = isinstance(code, ast.Expr) and isinstance(code.value, ast.Call)
    if not is_call or not ast.unparse(code).partition("(")[0].endswith(".apply_gradients"):
        return False
    calls = [n for n in ast.walk(code) if isinstance(n, ast.Call)]
    return all(isinstance(c.func, ast.Attribute) or ast.unparse(c.func) == "zip" for c in calls) and len(calls) < 3


def _count(statements: Sequence[Any], name: str) -> int:
    inside = (n for s in statements for n in _nodes(s))
    return sum(isinstance(n, ast.Name) and n.id == name for n in inside)


def _nodes(statement: Any) -> list[ast.AST]:
    """The nodes of a statement, also of those inside of it, which stand in statements of their own."""
    found: list[ast.AST] = []
    todo = [getattr(statement, "code", statement)]
    while todo:
        node = todo.pop()
        found.append(node)
        body = getattr(node, "body", None)
        todo += [s.code for s in body if not isinstance(s, ast.AST)] if isinstance(body, list) else []
        todo += ast.iter_child_nodes(node)
    return found


class _Placed(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def merged(functions: Sequence[Any]) -> None:
    """Let functions that do the same be one: the later ones get the name of the first, and no statements."""
    while True:
        known: dict[Any, Any] = {}
        renamed: dict[str, str] = {}
        for function in functions:
            first = known.setdefault(_shape(function), function) if function.statements else function
            if first is not function:
                renamed[function.name] = first.name
                names = [name for name, _ in first.parameters]
                function.parameters = [(n, x) for n, (_, x) in zip(names, function.parameters, strict=True)]
                function.statements = []
        if not renamed:
            return
        for function in functions:
            function.name = renamed.get(function.name, function.name)
            for node in (n for s in function.statements for n in _nodes(s) if isinstance(n, ast.Name)):
                node.id = renamed.get(node.id, node.id)


def _shape(function: Any) -> tuple[int, tuple[str, ...]]:
    """What a function does, whatever it calls its own names."""
    nodes = [n for s in function.statements for n in _nodes(s)]
    own = [name for name, _ in function.parameters]
    own += [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(getattr(n, "ctx", None), ast.Store)]
    own += [n.arg for n in nodes if isinstance(n, ast.arg)]
    numbered = {name: f"_{i}" for i, name in enumerate(dict.fromkeys(own))}
    return len(function.parameters), tuple([_text(s, numbered) for s in function.statements])


def _text(statement: Any, own: dict[str, str]) -> str:
    code = getattr(statement, "code", statement)
    body = getattr(code, "body", None)
    if isinstance(body, list):
        head = copy.copy(code)
        head.body = [ast.Pass()]
        return _text_of(head, own) + "{" + "".join(_text(s, own) for s in body) + "}"
    return _text_of(code, own)


def _text_of(code: ast.AST, own: dict[str, str]) -> str:
    code = copy.deepcopy(code)
    for node in ast.walk(code):
        if isinstance(node, ast.Name):
            node.id = own.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = own.get(node.arg, node.arg)
    return ast.dump(code)
