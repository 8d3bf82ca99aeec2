"""Programs whose `main` has everything in it: its lines as lines of the module, where that means the same.

What a function draws for its variables cannot be written above the functions that use them; what a module draws can
(`origins`). So a program of which values of the run would stay is converted once more, with the lines of `main` in
place of its call.
"""

from __future__ import annotations

import ast
import builtins

from dualgrad.autograph.analysis import inside, names
from dualgrad.migrate.convert.program_modules import JoinedText

_CALLS = ("main", "tf.app.run", "tf.compat.v1.app.run")


def with_main_inlined(source: str, name: str) -> JoinedText | None:
    """The program with the lines of `main` where it calls it; None if that may mean something else.

    Parameters
    ----------
    source : str
        The program.
    name : str
        Of its file.
    """
    tree = ast.parse(source)
    main = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"), None)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)
             and ast.unparse(n.value.func) in _CALLS]  # fmt: skip
    if main is None or len(calls) != 1 or main.decorator_list or not _is_alone(tree, main):
        return None
    call, first, last = calls[0], main.body[0], main.body[-1]
    if first.col_offset != call.col_offset or first.lineno == main.lineno or call.lineno != call.end_lineno:
        return None
    lines = [(text, name, number) for number, text in enumerate(source.split("\n"), 1)]
    body = lines[(main.lineno if _is_plain_head(main, lines) else first.lineno - 1) : last.end_lineno]
    if call.lineno < main.lineno:
        return None
    kept = [*lines[: main.lineno - 1], *lines[last.end_lineno : call.lineno - 1], *body, *lines[call.lineno :]]
    return JoinedText(kept)


def _is_plain_head(main: ast.FunctionDef, lines: list[tuple[str, str, int]]) -> bool:
    """Whether the head of the function is one line, so that comments below it come along."""
    return lines[main.lineno - 1][0].split("#")[0].rstrip().endswith(":")


def _is_alone(tree: ast.Module, main: ast.FunctionDef) -> bool:
    """Whether the names of the function mean nothing elsewhere, and it does no more than its lines."""
    given = {a.arg for a in ast.walk(main.args) if isinstance(a, ast.arg)}
    own = [n for n in inside(main) if n is not main]
    stored = {n.id for n in own if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.name for n in own if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    outside = [n for top in tree.body if top is not main for n in ast.walk(top)]
    elsewhere = {name for top in tree.body if top is not main for group in names(top) for name in group}
    elsewhere |= {n.name for n in outside if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | set(dir(builtins))
    jumps = (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)
    return (
        not any(isinstance(n, jumps) for n in own)
        and given.isdisjoint(n.id for n in ast.walk(main) if isinstance(n, ast.Name))
        and stored.isdisjoint(elsewhere)
    )
