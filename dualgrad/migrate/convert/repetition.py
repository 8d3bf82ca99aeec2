"""Loops from repetition: lists of like expressions are written once.

It works on the finished code: expressions are alike if they differ only in some of their parts, and each part runs
through a list that has a name, through the elements of one value, or through a few expressions that can be listed.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dualgrad.migrate.convert.alignment import Aligned, replaced
from dualgrad.migrate.convert.body import Statement
from dualgrad.migrate.convert.literals import literal

LEAST = 3
"""How often something must be repeated to become a loop."""
_RUNNING = ("n", "m", "k")
"""Names of the numbers that run."""
_NAMES = ("a", "b", "c", "d", "e")
"""Names of the parts that run."""


class Repetition:
    """Writes repeated code as loops.

    Parameters
    ----------
    lists : mapping
        Names of lists at the top of the module, by the texts of their elements.
    is_free : callable
        Whether a name may be used.
    listed : callable
        Gives a name to the list of some variables; None for what are no variables.
    """

    def __init__(
        self,
        lists: Mapping[tuple[str, ...], str],
        is_free: Callable[[str], bool],
        listed: Callable[[Sequence[str]], str | None],
    ) -> None:
        self._lists, self._is_free, self._listed = lists, is_free, listed
        self.sizes: dict[str, int] = {}
        """How many elements lists in functions have, by name."""

    def gathered(self, elements: Sequence[ast.expr]) -> ast.expr | None:
        """The list of which some expressions are all elements, or a list with it in stars; None if there is none."""
        texts = [ast.unparse(e) for e in elements]
        for at, first in enumerate(elements):
            if not isinstance(first, ast.Subscript) or not isinstance(first.value, ast.Name):
                continue
            name = first.value.id
            size = self.sizes.get(name, 0)
            if size < 2 or texts[at : at + size] != [f"{name}[{i}]" for i in range(size)]:
                continue
            starred = ast.Starred(first.value, ast.Load())
            return first.value if size == len(texts) else _list([*elements[:at], starred, *elements[at + size :]])
        return None

    def shorten(self, statements: list[Any]) -> list[Any]:
        """Statements with their repetitions as loops."""
        for statement in statements:
            if isinstance(statement.code, ast.For):
                statement.code.iter = _Lists(self).visit(statement.code.iter)
            if isinstance(statement.code, (ast.With, ast.FunctionDef, ast.For)):
                statement.code.body = self.shorten(statement.code.body)
            else:
                _listed_return(statement.code)
                statement.code = _Lists(self).visit(statement.code)
        return statements

    def looped(self, values: Sequence[ast.expr]) -> tuple[ast.expr, ast.expr, ast.expr] | None:
        """One expression for several alike, the names that run, and what they run through."""
        made = pattern(values, [n for n in _NAMES if self._is_free(n)])
        if made is None:
            return None
        value, names = made
        return value, *through(names, [self.source(column) for column in names])

    def source(self, column: tuple[Any, ...]) -> ast.expr:
        """The list that some expressions, as texts, or some numbers are the elements of."""
        if not isinstance(column[0], str):
            return counted(column)
        if column in self._lists:
            return ast.Name(self._lists[column])
        items = [re.fullmatch(r"(.+)\[(\d+)\]", text) for text in column]
        if [int(i[2]) for i in items if i] == list(range(len(column))) and len({i[1] for i in items if i}) == 1:
            whole = column[0].removesuffix("[0]")
            return expression(whole if self.sizes.get(whole) == len(column) else f"{whole}[:{len(column)}]")
        for size in range(len(column) - 1, LEAST - 1, -1):
            if column[:size] in self._lists and column[size:] in self._lists:
                return ast.BinOp(ast.Name(self._lists[column[:size]]), ast.Add(), ast.Name(self._lists[column[size:]]))
        name = self._listed(column)
        return _list([expression(text) for text in column]) if name is None else ast.Name(name)


def sizes(statements: Sequence[Any], lists: Mapping[tuple[str, ...], str]) -> dict[str, int]:
    """How many elements the lists of a function have, by name, as far as that can be read.

    Parameters
    ----------
    statements : sequence of Statement
    lists : mapping
        Names of lists at the top of the module, by the texts of their elements.
    """
    by_name = {name: len(texts) for texts, name in lists.items()}

    def size(value: Any) -> int | None:
        if isinstance(value, (ast.List, ast.Tuple)):
            return len(value.elts)
        if isinstance(value, ast.Name):
            return by_name.get(value.id)
        if isinstance(value, ast.ListComp):
            return size(value.generators[0].iter)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "gradient":
            return size(value.args[1])
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return None
        if value.func.id == "range":
            ends = [a.value for a in value.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
            return len(range(*ends)) if len(ends) == len(value.args) else None
        return size(value.args[0]) if value.func.id in ("enumerate", "zip") else None

    def read(block: Sequence[Any], times: int | None) -> None:
        for statement in block:
            code = statement.code
            if isinstance(code, ast.Assign) and isinstance(code.targets[0], ast.Name):
                by_name.pop(code.targets[0].id, None)
                if (count := size(code.value)) is not None:
                    by_name[code.targets[0].id] = count
            appended = code.value.func if isinstance(code, ast.Expr) and isinstance(code.value, ast.Call) else None
            if (
                isinstance(appended, ast.Attribute)
                and appended.attr == "append"
                and isinstance(appended.value, ast.Name)
            ):
                name = appended.value.id
                by_name[name] = by_name.get(name, 0) + (times or 0)
            if isinstance(code, ast.For):
                read(code.body, size(code.iter))
            elif isinstance(code, (ast.With, ast.FunctionDef)):
                read(code.body, times)

    read(statements, 1)
    return by_name


def expression(text: str) -> ast.expr:
    """The expression that a text is."""
    return ast.parse(text, mode="eval").body


def _list(elements: Sequence[ast.expr]) -> ast.List:
    return ast.List(list(elements), ast.Load())


def _listed_return(code: ast.stmt) -> None:
    """Return many values as a list, which can be a comprehension."""
    if isinstance(code, ast.Return) and isinstance(code.value, ast.Tuple) and len(code.value.elts) > LEAST:
        code.value = ast.List(code.value.elts, ast.Load())


class _Lists(ast.NodeTransformer):
    """Makes comprehensions of lists of like expressions."""

    def __init__(self, repetition: Repetition) -> None:
        self._repetition = repetition

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        for i, given in enumerate(node.args):
            whole = self._repetition.gathered(given.elts) if isinstance(given, ast.Tuple) else None
            node.args[i] = whole if isinstance(whole, ast.Name) else given
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        gathered = self._repetition.gathered(node.elts)
        if gathered is not None:
            return gathered
        if len(node.elts) < LEAST or all(isinstance(e, (ast.Name, ast.Constant, ast.UnaryOp)) for e in node.elts):
            return node
        made = self._repetition.looped(node.elts)
        if made is None:
            return node
        value, target, source = made
        if isinstance(value, ast.Name):
            return source
        shorter = ast.ListComp(value, [ast.comprehension(target, source, [], 0)])
        return shorter if len(ast.unparse(shorter)) < len(ast.unparse(node)) else node


class _Items(ast.NodeTransformer):
    """Writes elements of lists and dictionaries as names, such as ``x[0]``, that are one part of an expression."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        is_item = isinstance(node.slice, ast.Constant) and isinstance(node.value, ast.Name)
        return ast.Name(ast.unparse(node), ast.Load()) if is_item else node


class _Written(ast.NodeTransformer):
    """Makes elements of such names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return expression(node.id) if "[" in node.id else node


def pattern(values: Sequence[ast.expr], free: Sequence[str]) -> tuple[ast.expr, dict[tuple[Any, ...], str]] | None:
    """One expression for several alike, and its names for what differs: texts, or numbers, one for each of them.

    There is none if nothing differs, or if the `free` names are too few.
    """
    statements, aligned = [Statement(ast.Expr(_Items().visit(copy.deepcopy(v)))) for v in values], Aligned()
    if len({aligned.shape(s) for s in statements}) > 1:
        return None
    columns = list(zip(*[[part.value for part in aligned.parts(s)] for s in statements], strict=True))
    varying = list(dict.fromkeys(c for c in columns if len(set(c)) > 1))
    if not 0 < len(varying) <= len(free):
        return None
    names = dict(zip(varying, free, strict=False))
    (new,) = replaced(statements[:1], lambda part, i: ast.Name(names[c]) if (c := columns[i]) in names else part.value)
    return _Written().visit(new.code.value), names


def counted(values: Sequence[Any]) -> ast.expr:
    """Numbers as a range, if they are one, or as a list."""
    step = values[1] - values[0]
    if all(type(v) is int for v in values) and step:
        end = values[0] + step * len(values)
        if list(values) == list(range(values[0], end, step)):
            args = [end] if values[0] == 0 and step == 1 else [values[0], end] if step == 1 else [values[0], end, step]
            return ast.Call(ast.Name("range"), [ast.Constant(a) for a in args], [])
    return _list([ast.Constant(v) for v in values])


def in_a_loop(values: Sequence[ast.expr]) -> ast.ListComp | None:
    """A loop that makes what several calls make which differ in plain values; None if they differ in anything else.

    Parameters
    ----------
    values : sequence of expression
        The calls.
    """
    made = pattern(values, _RUNNING) if len(values) >= LEAST else None
    if made is None or any(isinstance(x, str) for column in made[1] for x in column):
        return None
    rows = list(zip(*made[1], strict=True))
    target, source = through(made[1], [literal([row[0] for row in rows] if len(made[1]) == 1 else rows)])
    return ast.ListComp(made[0], [ast.comprehension(target, source, [], 0)])


def through(names: Mapping[Any, str], sources: Sequence[ast.expr]) -> tuple[ast.expr, ast.expr]:
    """The names that a loop gives, and the things it runs through."""
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names.values()]
    source = sources[0] if len(sources) == 1 else ast.Call(ast.Name("zip"), list(sources), [])
    return targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store()), source
