"""From a function to the part of its source file that defines it, with the file's own line numbers.

The whole file is parsed, not the lines of the function alone: so lines and columns are right, a method is known to be
one, and of several lambdas in a line the right one is found.
"""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FunctionType
from typing import NamedTuple

from dualgrad.autograph.analysis import inside
from engine.runtime.cache import Cache

Definition = ast.FunctionDef | ast.Lambda

_MODULES: Cache[tuple[str, int], ast.Module | None] = Cache("parsed source files", 64, key="file, text")


class Unreadable(Exception):
    """That a function cannot be rewritten, and why."""


class Found(NamedTuple):
    """The definition of a function, the class around it, and what its module imports: the compiler looks at that."""

    node: Definition
    owner: str
    imports: list[ast.stmt]


def definition(function: FunctionType) -> Found:
    """The syntax tree of a function.

    Raises
    ------
    Unreadable
        If its source is not there, is not what was compiled, or is no plain function.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise Unreadable("its source is not there")
    text = "".join(lines)
    key = code.co_filename, hash(text)
    module = _MODULES.get(key)
    if module is None:
        try:
            module = ast.parse(text, code.co_filename)
        except SyntaxError:
            raise Unreadable("its source cannot be parsed") from None
        _MODULES.put(key, module)
    imports: list[ast.stmt] = [n for n in inside(module) if isinstance(n, ast.Import | ast.ImportFrom)]
    found = [f for f in _definitions(module, "", imports) if _is_of(f.node, code)]
    if len(found) > 1:
        found = [f for f in found if _spans(f.node, code)]
    if len(found) != 1:
        raise Unreadable("its source is not found, or has changed since it was imported")
    return found[0]


def _definitions(node: ast.AST, owner: str, imports: list[ast.stmt]) -> list[Found]:
    found: list[Found] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            found.append(Found(child, owner, imports))
        found += _definitions(child, child.name if isinstance(child, ast.ClassDef) else owner, imports)
    return found


def _is_of(node: Definition, code: CodeType) -> bool:
    """Whether a definition has the line, name and parameters that code has."""
    first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
    if first != code.co_firstlineno or getattr(node, "name", "<lambda>") != code.co_name:
        return False
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    count = code.co_argcount + code.co_kwonlyargcount
    # the compiler mangles names within classes
    return len(names) == count and all(b.endswith(a) for a, b in zip(names, code.co_varnames, strict=False))


def _spans(node: Definition, code: CodeType) -> bool:
    """Whether code lies within a definition, column for column."""
    body = node.body if isinstance(node, ast.Lambda) else node
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [(a, c) for a, _, c, d in code.co_positions() if a is not None and c is not None and d]
    return bool(places) and all(start <= place <= end for place in places)
