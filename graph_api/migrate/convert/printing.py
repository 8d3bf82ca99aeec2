"""Statements as text: lines of at most 120 columns, with the lines of the original program beside them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

WIDTH = 120


def lines(statements: Iterable[Any], origin: Callable[[Any], str], indent: int = 0) -> list[str]:
    """The lines of some statements.

    Parameters
    ----------
    statements : iterable of Statement
    origin : callable
        Of a statement where it comes from, or an empty string.
    indent : int
        Columns before each line.
    """
    found: list[str] = []
    last = ""
    for statement in statements:
        where = origin(statement)
        comment = f"  # {where}" if where and where != last else ""
        last = where or last
        found += _statement(statement.code, comment, origin, indent)
    # one empty line around functions, none at the ends of a block
    apart = [line for i, line in enumerate(found) if line or (0 < i < len(found) - 1 and found[i - 1])]
    return apart if not apart or apart[-1] else apart[:-1]


def _statement(code: ast.stmt, comment: str, origin: Callable[[Any], str], indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(code, ast.With):
        head = ", ".join(_unparsed(item) for item in code.items)
        return [f"{pad}with {head}:", *lines(code.body, origin, indent + 4)]
    if isinstance(code, ast.FunctionDef):
        head = f"{pad}def {code.name}({_unparsed(code.args)}):"
        return ["", head + comment, *lines(code.body, origin, indent + 4), ""]
    if isinstance(code, ast.For):
        heads = _broken(f"for {_unparsed(code.target).strip('()')} in ", code.iter, indent, ":")
        heads[0] += comment
        return [*heads, *lines(code.body, origin, indent + 4)]
    before, value = _split(code)
    text = before + ("" if value is None else _unparsed(value))
    if isinstance(code, (ast.Return, ast.Assign)) and isinstance(value, ast.Tuple) and len(value.elts) > 1:
        text = before + text[len(before) + 1 : -1]
    if len(pad) + len(text) + len(comment) <= WIDTH:
        return [f"{pad}{text}{comment}"]
    broken = _broken(before, value, indent)
    broken[0] += comment
    return broken


def _unparsed(code: ast.AST) -> str:
    return _QUOTED.sub(_with_double_quotes, ast.unparse(ast.fix_missing_locations(code)))


_QUOTED = re.compile(r"""[rb]*"(?:[^"\\]|\\.)*"|'([^'"\\\n]*)'""")


def _with_double_quotes(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f'"{found[1]}"'


def _split(code: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(code, ast.Assign):
        return " = ".join(_unparsed(t).strip("()") for t in code.targets) + " = ", code.value
    if isinstance(code, ast.Return):
        return "return ", code.value
    if isinstance(code, ast.Expr):
        return "", code.value
    return _unparsed(code), None


def _broken(before: str, value: ast.expr | None, indent: int, after: str = "") -> list[str]:
    """An expression behind some text, over several lines if it does not fit in one."""
    pad = " " * indent
    whole = f"{pad}{before}{'' if value is None else _unparsed(value)}{after}"
    if value is None or len(whole) <= WIDTH:
        return [whole]
    if isinstance(value, ast.Call) and (value.args or value.keywords):
        inside = [("", a) for a in value.args] + [(f"{k.arg}=", k.value) for k in value.keywords]
        return _bracketed(f"{pad}{before}{_unparsed(value.func)}(", inside, f"){after}", indent)
    if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
        brackets = "[]" if isinstance(value, ast.List) else "()"
        return _bracketed(f"{pad}{before}{brackets[0]}", [("", e) for e in value.elts], f"{brackets[1]}{after}", indent)
    if isinstance(value, ast.ListComp):
        (loop,) = value.generators
        through = f"for {_unparsed(loop.target).strip('()')} in "
        element = _broken("", value.elt, indent + 4)
        return [f"{pad}{before}[", *element, *_broken(through, loop.iter, indent + 4), f"{pad}]{after}"]
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Call):
        return _broken(f"{before}-", value.operand, indent, after)
    if isinstance(value, ast.BinOp) and not before.endswith("("):
        return [f"{pad}{before}(", *_terms(value, indent + 4), f"{pad}){after}"]
    return [whole]


def _bracketed(opening: str, inside: list[tuple[str, ast.expr]], closing: str, indent: int) -> list[str]:
    pad = " " * indent
    together = " " * (indent + 4) + ", ".join(f"{name}{_unparsed(value)}" for name, value in inside)
    if len(together) <= WIDTH:
        return [opening, together, pad + closing]
    return [opening, *[line for name, value in inside for line in _broken(name, value, indent + 4, ",")], pad + closing]


_SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@"}


def _terms(value: ast.expr, indent: int) -> list[str]:
    """A sum or product, one term a line."""
    sign = type(value.op) if isinstance(value, ast.BinOp) else None
    if sign not in (ast.Add, ast.Sub, ast.Mult, ast.Div):
        return _broken("", value, indent)
    assert isinstance(value, ast.BinOp)
    group = (ast.Add, ast.Sub) if sign in (ast.Add, ast.Sub) else (ast.Mult, ast.Div)
    left = value.left
    first = _terms(left, indent) if isinstance(left, ast.BinOp) and isinstance(left.op, group) else None
    first = first or _term("", left, indent, group)
    return [*first, *_term(f"{_SIGNS[sign]} ", value.right, indent, (ast.Mult, ast.Div) if group[0] is ast.Add else ())]


def _term(before: str, value: ast.expr, indent: int, kept: tuple[type, ...]) -> list[str]:
    if isinstance(value, ast.BinOp) and not isinstance(value.op, (*kept, ast.Pow)):
        return _bracket_or_line(before, value, indent)
    return _broken(before, value, indent)


def _bracket_or_line(before: str, value: ast.expr, indent: int) -> list[str]:
    pad = " " * indent
    line = f"{pad}{before}({_unparsed(value)})"
    return [line] if len(line) <= WIDTH else [f"{pad}{before}(", *_terms(value, indent + 4), f"{pad})"]
