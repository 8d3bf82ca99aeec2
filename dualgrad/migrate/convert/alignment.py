"""Finished statements side by side: what they have in common, and which names and numbers differ.

A statement is a *shape*, which is its text without names of values and without numbers, and its *parts*, which are
those in the order in which they are evaluated. Statements of one shape can be written once.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_EXACT = frozenset({"tf", "np", "zip", "list", "range", "enumerate", "reversed", "ARRAYS", "not_converted"})
"""Names that stand for themselves."""
BLOCKS = (ast.With, ast.For, ast.FunctionDef)
"""Statements that hold others."""


@dataclass(frozen=True)
class Part:
    """A name or number in a statement.

    Attributes
    ----------
    value : str, int or float
    is_name : bool
    is_store : bool
        Whether the name gets its value here.
    is_inner : bool
        Whether it is a name of a function inside, which nothing outside sees.
    """

    value: Any
    is_name: bool
    is_store: bool = False
    is_inner: bool = False


class Aligned:
    """The shapes and parts of statements, each found once; a `Statement` has its own in a block."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, str, list[Part]]] = {}

    def shape(self, statement: Any) -> str:
        """The shape of a statement."""
        return self._read(statement)[1]

    def parts(self, statement: Any) -> list[Part]:
        """The parts of a statement."""
        return self._read(statement)[2]

    def all_parts(self, statements: Iterable[Any]) -> list[Part]:
        """The parts of several."""
        return [part for statement in statements for part in self.parts(statement)]

    def _read(self, statement: Any) -> tuple[Any, str, list[Part]]:
        found = self._found.get(id(statement))
        if found is None or found[0] is not statement.code:
            reader = _Reader()
            reader.read(statement)
            shape = sys.intern("".join(reader.text))  # equal ones are compared often
            found = self._found[id(statement)] = (statement.code, shape, reader.parts)
        return found

    def changed(self) -> None:
        """Forget everything: names were changed."""
        self._found.clear()


class _Reader:
    """Reads one statement."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.parts: list[Part] = []
        self._bound: list[set[str]] = []
        self._inside: list[set[str]] = []

    def read(self, node: Any) -> None:
        if isinstance(node, list):
            self.text.append("[")
            for item in node:
                self.read(item)
            self.text.append("]")
        elif hasattr(node, "code"):
            self.read(node.code)
        elif not isinstance(node, ast.AST):
            self.text.append(f"{node!r},")
        else:
            self._node(node)

    def _node(self, node: Any) -> None:
        if isinstance(node, ast.Name):
            if node.id in _EXACT or any(node.id in names for names in self._bound):
                self.text.append(f"{node.id},")
            else:
                self._name(node.id, isinstance(getattr(node, "ctx", None), ast.Store))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            self.text.append(f"<{type(node.value).__name__}>")
            self.parts.append(Part(node.value, False))
        else:
            self.text.append(f"{type(node).__name__}(")
            for value in self._fields(node):
                self.read(value)
            self.text.append(")")
            if isinstance(node, (ast.Lambda, ast.ListComp)):
                self._bound.pop()
            if isinstance(node, ast.FunctionDef):
                self._inside.pop()

    def _name(self, name: str, is_store: bool) -> None:
        self.text.append("<name>")
        self.parts.append(Part(name, True, is_store, any(name in own for own in self._inside)))

    def _fields(self, node: Any) -> Iterator[Any]:
        """The parts of a node, as it is evaluated."""
        if isinstance(node, ast.Assign):
            yield from (node.value, node.targets)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            # another function is another meaning, even where it is called alike
            yield from (f"{node.func.id}()", node.args, node.keywords)
        elif isinstance(node, ast.For):
            yield from (node.iter, node.target, node.body)
        elif isinstance(node, ast.ListComp):
            yield from (g.iter for g in node.generators)
            self._bound.append({n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)})
            yield from (node.generators[0].target, node.elt)
        elif isinstance(node, ast.Lambda):
            self._bound.append({a.arg for a in node.args.args})
            yield from (node.args, node.body)
        elif isinstance(node, ast.FunctionDef):
            self._name(node.name, True)
            self._inside.append(own_names(node))
            for argument in node.args.args:
                self._name(argument.arg, True)
            yield node.body
        else:
            yield from (getattr(node, name, None) for name in node._fields if name not in ("ctx", "type_comment"))


def replaced(statements: Sequence[Any], values: Callable[[Any, int], Any]) -> list[Any]:
    """Copies of statements with other parts.

    Parameters
    ----------
    statements : sequence of Statement
    values : callable
        Of a part and its number the expression or name that takes its place.
    """
    writer = _Writer(values)
    return [writer.statement(s) for s in statements]


def renamed(statements: Sequence[Any], expressions: Mapping[str, Any]) -> list[Any]:
    """Copies of statements with names replaced by other names or by expressions."""

    def value(part: Any, _: int) -> Any:
        return expressions.get(part.value, part.value) if part.is_name and not part.is_inner else part.value

    return replaced(statements, value)


class _Writer(_Reader):
    """Reads as a `_Reader` does, and puts something in the place of each part."""

    def __init__(self, values: Callable[[Any, int], Any]) -> None:
        super().__init__()
        self._values = values
        self._count = 0
        self._new: dict[int, Any] = {}

    def statement(self, statement: Any) -> Any:
        copied = copy.copy(statement)
        copied.code = self._copied(statement.code)
        self.parts = []
        self._new = {}
        self.read(copied.code)
        copied.code = _Putting(self._new).visit(copied.code)
        _put_names(copied.code, self._new)
        return copied

    def _copied(self, node: Any) -> Any:
        """A deep copy in which statements of blocks are copied too, but not what they come from."""
        if isinstance(node, list):
            return [self._copied(item) for item in node]
        if hasattr(node, "code"):
            copied = copy.copy(node)
            copied.code = self._copied(node.code)
            return copied
        if not isinstance(node, ast.AST):
            return node
        return type(node)(**{name: self._copied(getattr(node, name)) for name in node._fields if hasattr(node, name)})

    def _node(self, node: Any) -> None:
        before = len(self.parts)
        if isinstance(node, (ast.Name, ast.Constant)):
            super()._node(node)
            if len(self.parts) > before:
                self._new[id(node)] = self._next()
        elif isinstance(node, ast.FunctionDef):
            # the name and the parameters are parts without a node of their own
            first = self._count
            names = 1 + len(node.args.args)
            self._new[id(node)] = [self._peek(first + i, name) for i, name in enumerate(self._names_of(node))]
            self._count += names
            super()._node(node)
        else:
            super()._node(node)

    @staticmethod
    def _names_of(node: Any) -> list[str]:
        return [node.name, *(a.arg for a in node.args.args)]

    def _peek(self, number: int, name: str) -> Any:
        return self._values(Part(name, True, True), number)

    def _next(self) -> Any:
        self._count += 1
        return self._values(self.parts[-1], self._count - 1)


class _Putting(ast.NodeTransformer):
    """Puts new names, numbers and expressions into a statement."""

    def __init__(self, new: Mapping[int, Any]) -> None:
        self._new = new

    def visit(self, node: ast.AST) -> Any:
        new = self._new.get(id(node))
        if isinstance(node, ast.Name) and new is not None:
            return ast.Name(new, getattr(node, "ctx", ast.Load())) if isinstance(new, str) else new
        if isinstance(node, ast.Constant) and new is not None:
            return new if isinstance(new, ast.AST) else ast.Name(new) if isinstance(new, str) else ast.Constant(new)
        if isinstance(node, BLOCKS):
            for statement in node.body:
                statement.code = self.visit(statement.code)  # type: ignore[attr-defined]
        return self.generic_visit(node)


def _put_names(node: Any, new: Mapping[int, Any]) -> None:
    """Rename functions inside, and their parameters."""
    if isinstance(node, ast.FunctionDef) and id(node) in new:
        node.name, *names = new[id(node)]
        for argument, name in zip(node.args.args, names, strict=True):
            argument.arg = name
    if isinstance(node, BLOCKS):
        for statement in node.body:
            _put_names(statement.code, new)  # type: ignore[attr-defined]


def is_mixed(parts: Iterable[Part]) -> bool:
    """Whether a name is that of a function inside and another one outside."""
    names = [p for p in parts if p.is_name]
    return not {p.value for p in names if p.is_inner}.isdisjoint({p.value for p in names if not p.is_inner})


def blocks(statements: list[Any], inner: bool = True) -> Iterator[list[Any]]:
    """A list of statements, and the lists in its blocks; those of functions inside too, unless `inner` is false."""
    yield statements
    for statement in statements:
        if isinstance(statement.code, BLOCKS) and (inner or not isinstance(statement.code, ast.FunctionDef)):
            yield from blocks(statement.code.body, inner)


def bodies(statements: list[Any]) -> Iterator[list[Any]]:
    """The statements of a function, and those of the functions inside of it."""
    yield statements
    for block in blocks(statements):
        yield from (s.code.body for s in block if isinstance(s.code, ast.FunctionDef))


def own_names(function: Any) -> set[str]:
    """The names that a function inside has for itself."""
    names = {a.arg for a in function.args.args}
    for block in blocks(function.body):
        for statement in block:
            code = statement.code
            targets = list(code.targets) if isinstance(code, ast.Assign) else [getattr(code, "target", ast.Pass())]
            targets += [item.optional_vars for item in getattr(code, "items", ()) if item.optional_vars]
            names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if isinstance(code, ast.FunctionDef):
                names.add(code.name)
    return names


def plain(name: str) -> str:
    """A name without the numbers that made it differ from others."""
    return re.sub(r"(?<=[^_])(_\d+)+$", "", name) or name


_SAYS_NOTHING = frozenset({"op", "ph", "placeholder", "tf"})
"""Parts of names that say what kind of thing is named."""


def common(names: Sequence[str]) -> str:
    """A name for what has several names: what these end with, or begin with."""
    bases = [plain(n) for n in names]
    if len(set(bases)) == 1:
        return bases[0]
    words = [[w for w in b.split("_") if w not in _SAYS_NOTHING] or [b] for b in bases]
    sizes = range(min(map(len, words)), 0, -1)
    for part in [*(slice(-size, None) for size in sizes), *map(slice, sizes)]:
        shared = {tuple(w[part]) for w in words}
        if len(shared) == 1 and not words[0][part][0][:1].isdigit():
            return "_".join(words[0][part]).strip("_") or "x"
    return bases[-1]
