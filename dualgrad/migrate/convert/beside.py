"""The modules of its own that a program imports from its folder: the converted program needs those that it still uses.

What they have of TensorFlow is left out: functions of the graph are in the converted module. The trial says whether
something is missing then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dualgrad.migrate.check.scopes import FUNCTIONS


def modules(text: str, folder: Path) -> dict[str, bytes]:
    """By path below the folder of the converted program, the modules of the program that it imports.

    Parameters
    ----------
    text : str
        The converted program.
    folder : Path
        Of the original.
    """
    contents: dict[str, bytes] = {}
    todo = list(_imported(ast.parse(text), ""))
    while todo:
        dotted = todo.pop()
        for file in _files(folder, dotted):
            name = file.relative_to(folder).as_posix()
            if name in contents:
                continue
            content = file.read_bytes()
            tree = ast.parse(content)
            contents[name] = content = _without_graphs(content, tree)
            package = dotted if file.stem == "__init__" else dotted.rpartition(".")[0]
            todo += _imported(ast.parse(content), package)
    return contents


def _files(folder: Path, dotted: str) -> Iterator[Path]:
    """The files that an import of a name runs."""
    parts = dotted.split(".")
    for count in range(1, len(parts) + 1):
        path = folder.joinpath(*parts[:count])
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                yield file
                break


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """The names of modules that are imported, perhaps of things in modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*outer, *filter(None, [node.module])])
            yield from (f"{base}.{a.name}".lstrip(".") for a in node.names)


def is_tensorflow(node: ast.AST) -> bool:
    """Whether an import is of TensorFlow alone."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == "tensorflow"
    return isinstance(node, ast.Import) and all(a.name.partition(".")[0] == "tensorflow" for a in node.names)


def _without_graphs(content: bytes, tree: ast.Module) -> bytes:
    """A module without the statements that need TensorFlow, and those that need what these define."""
    gone: set[str] = set()
    left_out: list[ast.stmt] = []
    while True:
        more = [s for s in tree.body if s not in left_out and (is_tensorflow(s) or _names(s, ast.Load) & gone)]
        if not more:
            break
        left_out += more
        gone |= {name for s in more for name in _bound(s)}
    if not left_out:
        return content
    lines = content.split(b"\n")
    for statement in left_out:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        for number in range(first, (statement.end_lineno or first) + 1):
            shared = [s for s in tree.body if s not in left_out and s.lineno <= number <= (s.end_lineno or 0)]
            if shared:
                return content  # several statements in a line: it stays as it is
            lines[number - 1] = b""
    return b"\n".join(lines)


def _names(statement: ast.stmt, context: type) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {a.asname or a.name.partition(".")[0] for a in statement.names}
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return {getattr(statement, "name", "")}
    return _names(statement, ast.Store)
