"""How long converted programs are: ``python -m tests.migrate.lengths [PROGRAM...]``.

Lines of code are counted, without comments and docstrings. Of the original those count that build the graph: which
mention TensorFlow, or what is made of it, and run no session. Of the converted program those count that stand in
their place: all but its main part, and the imports that the program had.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from pathlib import Path

from tests.migrate.round_trip import round_trip
from tests.programs.catalogue import HERE

_IGNORED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {n for t in tokens if t.type not in _IGNORED for n in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def building(text: str) -> set[int]:
    """The numbers of the lines that build a graph."""
    tree = ast.parse(text)
    made = {"tf"}
    while True:
        before = len(made)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not _runs(node) and _names(node) & made:
                made.add(node.name)
            if isinstance(node, ast.Assign) and not _runs(node) and _names(node.value) & made:
                made |= {n.id for t in node.targets for n in _targets(t)}
        if len(made) == before:
            return _found(tree.body, made) & code_lines(text)


def _targets(node: ast.expr) -> list[ast.Name]:
    each = node.elts if isinstance(node, ast.Tuple) else [node]
    return [n for n in each if isinstance(n, ast.Name)]


def _is_run(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "eval")


def _runs(node: ast.AST) -> bool:
    return any(_is_run(n) for n in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    """The names in a node, but for those in runs of sessions."""
    if _is_run(node) or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Session")):
        return set()
    own = {node.id} if isinstance(node, ast.Name) else set()
    return own.union(*[_names(child) for child in ast.iter_child_nodes(node)])


def _found(body: list[ast.stmt], made: set[str]) -> set[int]:
    found: set[int] = set()
    for s in body:
        every = range(s.lineno, (s.end_lineno or s.lineno) + 1)
        inner = getattr(s, "body", None)
        if isinstance(s, (ast.FunctionDef, ast.ClassDef)) and not _runs(s) and s.name in made:
            found.update(every)
        elif isinstance(inner, list):
            inside = _found(inner, made) | _found(getattr(s, "orelse", []), made)
            opens = any("Session" in ast.unparse(i) for i in getattr(s, "items", []))
            found |= inside
            if inside and not opens and not _runs(s):
                found.update(range(s.lineno, inner[0].lineno))
        elif isinstance(s, (ast.Import, ast.ImportFrom)):
            found.update(every if "tensorflow" in ast.unparse(s) else ())
        elif _names(s) & made and not _runs(s) and not ast.unparse(s).startswith("print("):
            found.update(every)
    return found


def lengths(converted: str, program: str) -> tuple[int, int]:
    """Lines of the converted module, and of the program, that say what is computed."""
    above = converted.partition('\nif __name__ == "__main__":')[0]
    own = {line.strip() for line in program.splitlines() if line.startswith(("import ", "from "))}
    lines = above.splitlines()
    return sum(lines[n - 1].strip() not in own for n in code_lines(above)), len(building(program))


def report(programs: list[Path]) -> None:
    """Print the lengths of programs and what they were converted to."""
    ratios = []
    for program in programs:
        converted, original = lengths(round_trip(program).conversion.text, program.read_text())
        ratios.append(converted / max(original, 1))
        print(f"{program.stem:24} {converted:4} {original:4} {ratios[-1]:5.2f}", flush=True)  # noqa: T201
    print(f"median {statistics.median(ratios):.2f} of {len(ratios)}")  # noqa: T201


if __name__ == "__main__":
    report([Path(p) for p in sys.argv[1:]] or sorted((HERE / "graphs").glob("*.py")))
