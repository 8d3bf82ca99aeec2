"""Where what is fed becomes tensors: at the beginning of a function, where it uses its only argument, or in others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dualgrad.migrate.convert import printing
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.literals import literal, substituted
from dualgrad.migrate.convert.spelling import path


def _walked(node: Any, is_once: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes below, and whether each is evaluated in the function itself, and not more than once."""
    if isinstance(node, (list, tuple)):
        for inner in node:
            yield from _walked(inner, is_once)
    elif hasattr(node, "code"):
        yield from _walked(node.code, is_once)
    elif isinstance(node, ast.AST):
        yield node, is_once
        inside = is_once and not isinstance(node, (ast.For, ast.FunctionDef, ast.ListComp, ast.DictComp))
        inside = inside and not (isinstance(node, ast.Lambda) and node.args.args)
        for _, value in ast.iter_fields(node):
            yield from _walked(value, inside)


def leave_to_callees(functions: Sequence[Any]) -> None:
    """Let functions not convert an argument that they only hand on to others which do.

    Parameters
    ----------
    functions : sequence of Function
        Of which `converts` is changed.
    """
    converts = {f.name: [name in f.converts for name, _ in f.parameters] for f in functions if f.statements}
    for function in functions:
        nodes = [node for node, _ in _walked(function.statements, True)]
        calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in converts]
        pairs = [pair for c in calls for pair in zip(c.args, converts[c.func.id], strict=False)]  # type: ignore[attr-defined]
        handed = {id(argument) for argument, does_convert in pairs if does_convert}
        kept = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in handed}
        function.converts = {name: dtype for name, dtype in function.converts.items() if name in kept}


def convert_in_place(function: Any, length: Callable[[Sequence[Any]], int]) -> None:
    """Let a function convert its only argument where it uses it, if it does so once and no line gets too long."""
    if len(function.converts) != 1:
        return
    ((name, dtype),) = function.converts.items()
    uses = [n for n in _walked(function.statements, True) if isinstance(n[0], ast.Name) and n[0].id == name]
    if len(uses) != 1 or not uses[0][1]:
        return
    user = _innermost(function.statements, uses[0][0])
    if isinstance(getattr(user.code, "body", None), list):
        return
    before, code = length(function.statements), user.code
    user.code = substituted(code, {name: _converted(name, dtype)})
    if length(function.statements) > before:
        user.code = code
    else:
        function.converts = {}


def _innermost(statements: Sequence[Any], node: ast.AST) -> Any:
    """The statement that a node is in, and in none inside of that."""
    around = next(s for s in statements if any(n is node for n, _ in _walked(s, True)))
    inside = [s for s in getattr(around.code, "body", ()) if hasattr(s, "code")]
    return _innermost(inside, node) if any(n is node for n, _ in _walked(inside, True)) else around


def converted(converts: Mapping[str, Any]) -> list[Statement]:
    """Statements that make tensors of arguments: one line, or one for each dtype if that is too long."""
    by_dtype: dict[Any, list[str]] = {}
    for name, dtype in converts.items():
        by_dtype.setdefault(dtype, []).append(name)
    if len(by_dtype) > 1 and len(converts) < 4:
        names = ast.Tuple([ast.Name(name, ast.Store()) for name in converts], ast.Store())
        values = ast.Tuple([_converted(name, dtype) for name, dtype in converts.items()], ast.Load())
        together = ast.Assign([names], values)
        if len(ast.unparse(ast.fix_missing_locations(together))) <= printing.WIDTH - 4:
            return [Statement(together)]
    return [Statement(_all_converted(names, dtype)) for dtype, names in by_dtype.items()]


def _converted(name: str, dtype: Any) -> ast.expr:
    return ast.Call(path("tf.convert_to_tensor"), [ast.Name(name), literal(dtype)], [])


def _all_converted(names: Sequence[str], dtype: Any) -> ast.stmt:
    if len(names) == 1:
        return ast.Assign([ast.Name(names[0], ast.Store())], _converted(names[0], dtype))
    source = ast.Tuple([ast.Name(n) for n in names], ast.Load())
    running = ast.comprehension(ast.Name("x", ast.Store()), source, [], 0)
    value = ast.ListComp(_converted("x", dtype), [running])
    return ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], value)
