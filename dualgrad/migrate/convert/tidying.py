"""The last touches to finished functions: what is named only to be handed on at once, and functions of equal text."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dualgrad.migrate.convert.alignment import Aligned
from dualgrad.migrate.convert.identifiers import Scope
from dualgrad.migrate.convert.literals import substituted
from dualgrad.migrate.convert.printing import WIDTH


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
    tidy: list[Any] = []
    for number, statement in enumerate(statements):
        while tidy and (whole := _joined(tidy[-1], [statement, *statements[number + 1 :]], indent)) is not None:
            last, before = statement, tidy.pop()
            statement = copy.copy(last if before.item is None else before)
            statement.code, statement.node = whole, last.node
        tidy.append(statement)
    return tidy


def _joined(before: Any, left: Sequence[Any], indent: int) -> ast.stmt | None:
    """Two statements as one, if the first only names what the next takes at once, and nobody else does."""
    name, code = _assigned_name(before.code), left[0].code
    if name is None or not _takes(code, name) or not _count(left[:1], name) == _count(left, name) == 1:
        return None
    whole: ast.stmt = substituted(code, {name: before.code.value})
    return whole if isinstance(whole, ast.Return) or indent + len(ast.unparse(whole)) <= WIDTH else None


def _assigned_name(code: ast.stmt) -> str | None:
    """The one name that a statement gives."""
    if isinstance(code, ast.Assign) and len(code.targets) == 1 and isinstance(code.targets[0], ast.Name):
        return code.targets[0].id
    return None


def _takes(code: ast.stmt, name: str) -> bool:
    """Whether a statement does nothing before it reads a name, and may be written with what the name stands for."""
    if isinstance(code, ast.Return):
        parts = code.value.elts if isinstance(code.value, (ast.Tuple, ast.List)) else [code.value]
        first = next((p for p in parts if not isinstance(p, ast.Name) or p.id == name), None)
        return isinstance(first, ast.Name)
    is_call = isinstance(code, ast.Expr) and isinstance(code.value, ast.Call)
    if not is_call or not ast.unparse(code).partition("(")[0].endswith(".apply_gradients"):
        return False
    calls = [n for n in ast.walk(code) if isinstance(n, ast.Call)]
    return all(isinstance(c.func, ast.Attribute) or ast.unparse(c.func) == "zip" for c in calls) and len(calls) < 3


def _count(statements: Sequence[Any], name: str) -> int:
    inside = (n for s in statements for n in nodes_of(s))
    return sum(isinstance(n, ast.Name) and n.id == name for n in inside)


def nodes_of(statement: Any) -> list[ast.AST]:
    """The nodes of a statement, also of those inside of it, which stand in statements of their own."""
    nodes: list[ast.AST] = []
    todo = [getattr(statement, "code", statement)]
    while todo:
        node = todo.pop()
        nodes.append(node)
        body = getattr(node, "body", None)
        todo += [s.code for s in body if not isinstance(s, ast.AST)] if isinstance(body, list) else []
        todo += ast.iter_child_nodes(node)
    return nodes


def reuse_names(functions: Sequence[Any], top: Scope) -> None:
    """Give values the names that they have but for a number, where what had that name before is not read any more.

    Where only other functions have those names, the number goes, or is lower; one that was asked for stays.
    """
    inside = [{id(n): n for s in f.statements for n in nodes_of(s)} for f in functions]
    every = Counter(i for found in inside for i in found)
    for function, nodes in zip(functions, inside, strict=True):
        parameters = [name for name, _ in function.parameters]
        _reuse(function.statements, parameters, every)
        names = [n for n in nodes.values() if isinstance(n, ast.Name)]
        bound = {*parameters, *(n.arg for n in nodes.values() if isinstance(n, ast.arg))}
        _lower(names, bound, bound | top.asked | {n.id for n in names if every[id(n)] > 1}, top)


def _lower(names: Sequence[ast.Name], bound: set[str], fixed: set[str], top: Scope) -> None:
    """Lower the numbers of names; those that are `fixed` stay."""
    used = bound | {n.id for n in names}
    numbered = {n.id: n.id.rpartition("_") for n in names if _is_stored(n) and n.id not in fixed}
    for name, (base, _, number) in sorted(numbered.items(), key=lambda row: (row[1][0], len(row[0]), row[0])):
        if base and number.isdigit():
            used.discard(name)
            free = (f"{base}_{i}" if i > 1 else base for i in range(1, len(used) + 2))
            new = next((n for n in free if n not in used and not top.holds(n)), name)
            used.add(new)
            for n in names:
                n.id = new if n.id == name else n.id


def _reuse(statements: Sequence[Any], parameters: Sequence[str], functions: Mapping[int, int]) -> None:
    """The same for one function; `functions` says of each node how many have it."""
    fixed: set[str] = set()
    used: dict[str, list[tuple[int, ast.Name]]] = {name: [] for name in parameters}
    for at, atom in enumerate(_atoms(statements)):
        for n in nodes_of(atom):
            if isinstance(n, ast.Name):
                used.setdefault(n.id, []).append((at, n))
                opaque = isinstance(atom, ast.FunctionDef) or (_is_stored(n) and not isinstance(atom, _PLAIN))
                fixed |= {n.id} if opaque or functions[id(n)] > 1 else set()
            fixed |= {n.arg} if isinstance(n, ast.arg) else set()
            if isinstance(n, (ast.comprehension, ast.AugAssign)):
                fixed |= {m.id for m in ast.walk(n.target) if isinstance(m, ast.Name)}
    stored = {name: [at for at, n in found if _is_stored(n)] for name, found in used.items()}
    for name in sorted((n for n, at in stored.items() if len(at) == 1), key=lambda n: stored[n]):
        base, _, number = name.rpartition("_")
        before = [at for at, _ in used.get(base, ())]
        is_given = base in parameters or bool(stored.get(base))
        if number.isdigit() and is_given and not {name, base} & fixed and max(before, default=-1) <= stored[name][0]:
            for _, n in used[name]:
                n.id = base
            used[base] += used.pop(name)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(getattr(name, "ctx", None), ast.Store)


_PLAIN = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)


def _atoms(statements: Sequence[Any]) -> Iterator[ast.stmt]:
    """Statements in the order in which they run, those in a with statement behind its head."""
    for statement in statements:
        code = statement.code
        if isinstance(code, ast.With):
            yield ast.With(code.items, [])
            yield from _atoms(code.body)
        else:
            yield code


def merged(functions: Sequence[Any]) -> None:
    """Let functions that do the same be one: the later ones get the name of the first, and no statements."""
    while True:
        known: dict[Any, Any] = {}
        renamed: dict[str, str] = {}
        aligned = Aligned()
        for function in functions:
            first = known.setdefault(_shape(function, aligned), function) if function.statements else function
            if first is not function:
                renamed[function.name] = first.name
                names = [name for name, _ in first.parameters]
                function.parameters = [(n, x) for n, (_, x) in zip(names, function.parameters, strict=True)]
                function.statements = []
        if not renamed:
            return
        for function in functions:
            function.name = renamed.get(function.name, function.name)
            for node in (n for s in function.statements for n in nodes_of(s) if isinstance(n, ast.Name)):
                node.id = renamed.get(node.id, node.id)


def _shape(function: Any, aligned: Aligned) -> tuple[Any, ...]:
    """The text of a function, whatever it calls its own names."""
    parts = aligned.all_parts(function.statements)
    own = [*(name for name, _ in function.parameters), *(p.value for p in parts if p.is_store)]
    numbered = {name: i for i, name in enumerate(dict.fromkeys(own))}
    converted = [function.converts.get(name) for name, _ in function.parameters]
    shapes = map(aligned.shape, function.statements)
    return (*converted, *shapes, *(numbered.get(p.value, p.value) if p.is_name else repr(p.value) for p in parts))
