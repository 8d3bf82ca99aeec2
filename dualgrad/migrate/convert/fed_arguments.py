"""Where what is fed becomes tensors: at the beginning of a function, or in those that it hands it on to."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.literals import literal
from dualgrad.migrate.convert.spelling import path
from dualgrad.migrate.convert.tidying import nodes_of


def leave_to_callees(functions: Sequence[Any]) -> None:
    """Let functions not convert an argument that they only hand on to others which do.

    Parameters
    ----------
    functions : sequence of Function
        Of which `converts` is changed.
    """
    converts = {f.name: [name in f.converts for name, _ in f.parameters] for f in functions if f.statements}
    for function in functions:
        nodes = [node for s in function.statements for node in nodes_of(s)]
        calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in converts]
        pairs = [pair for c in calls for pair in zip(c.args, converts[c.func.id], strict=False)]  # type: ignore[attr-defined]
        handed = {id(argument) for argument, does_convert in pairs if does_convert}
        kept = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in handed}
        function.converts = {name: dtype for name, dtype in function.converts.items() if name in kept}


def converted(converts: Mapping[str, Any]) -> list[Statement]:
    """Statements that make tensors of arguments: one line for each dtype."""
    by_dtype: dict[Any, list[str]] = {}
    for name, dtype in converts.items():
        by_dtype.setdefault(dtype, []).append(name)
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
