"""Numbers that a program counts in its data, and builds its graph with: ``len(vocabulary)``, ``data.shape[1]``.

The lines that count stay in the new program, where a function that was made for one vocabulary would go on with
another one. So such a number stays an expression where the converted module can say it. Where it cannot, the new
program looks at it where the old one built the graph, and refuses other data.
"""

from __future__ import annotations

import argparse
import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualgrad.migrate.check.scopes import Element, Entered, Expression, Parameter, Part, Scopes
from dualgrad.migrate.convert.edits import COMPUTE, Place, computes, extent, is_plain, place, plain_names
from dualgrad.migrate.convert.facts import is_graphs, is_tensorflow
from dualgrad.platform.flags import FLAGS

_SMALL = (0, 1, -1)
_NO_SIZES = frozenset({"axis", "axes", "batch_dims", "dtype", "name", "perm", "seed"})
"""Arguments that are no numbers of elements."""
_LONGEST = 50
"""Elements of a list of sizes that is looked at as a whole."""
_PURE = (ast.Attribute, ast.BinOp, ast.Call, ast.Name, ast.Subscript, ast.UnaryOp)
_DATA = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Sizes:
    """Finds numbers that a program computes from what it reads.

    Parameters
    ----------
    tree : ast.Module
        The program.
    scopes : Scopes
        Its names.
    names : mapping
        Its global names, and what they stood for in the end.
    value : callable
        What a name stood for; None if that is not known, or changed.
    """

    def __init__(
        self, tree: ast.Module, scopes: Scopes, names: Mapping[str, Any], value: Callable[[ast.Name], Any]
    ) -> None:
        self.tree, self.scopes, self.names, self._value = tree, scopes, names, value
        self._functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        self._classes = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
        self._given: dict[str, list[ast.Call]] = {}
        for n in ast.walk(tree):
            if isinstance(n, ast.Call):
                self._given.setdefault(getattr(n.func, "id", getattr(n.func, "attr", "")), []).append(n)
        self._set: dict[str, list[ast.expr]] = {}
        """By the names of attributes, what they are set to."""
        for assigned in [n for n in ast.walk(tree) if isinstance(n, ast.Assign)]:
            for target in assigned.targets:
                if isinstance(target, ast.Attribute):
                    self._set.setdefault(target.attr, []).append(assigned.value)

    # ---- what is counted ---------------------------------------------------------------------------------------------

    def within(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> Iterator[tuple[ast.expr, Any]]:
        """The expressions of numbers that are counted, the outermost ones, in a statement and in what it calls."""
        own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        yield from self._in(node, own, seen)

    def _in(self, node: ast.AST, own: set[str], seen: frozenset[str]) -> Iterator[tuple[ast.expr, Any]]:
        if isinstance(node, _PURE) and (value := self.number(node)) is not None:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if names.isdisjoint(own):
                yield node, value
                return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            return
        for inner in ast.iter_child_nodes(node):
            yield from self._in(inner, own, seen)
        if isinstance(node, ast.Call):
            yield from self._called(node, own, seen)

    def _called(self, call: ast.Call, own: set[str], seen: frozenset[str]) -> Iterator[tuple[ast.expr, Any]]:
        """Those in the functions of the program that a call leads to, as far as they can be said where it stands."""
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        bodies: list[ast.FunctionDef] = [self._functions[name]] if name in self._functions else []
        if name in self._classes:
            bodies = [n for n in self._classes[name].body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        for function in bodies if name not in seen else ():
            given, bound = _arguments(function, call), self.scopes.inside[function].bound

            def argument(n: ast.expr, given: Any = given, bound: Any = bound) -> ast.expr | None:
                scope = self.scopes.of.get(n) if isinstance(n, ast.Name) else None
                own = scope is not None and scope.find(n.id) is bound.get(n.id)  # type: ignore[attr-defined]
                return given.get(n.id) if own else None  # type: ignore[attr-defined]

            for statement in function.body:
                for found, value in self.within(statement, seen | {name}):
                    said = _copied(found, argument)
                    names = {n.id for n in ast.walk(said) if isinstance(n, ast.Name)}
                    local = any(self._is_local(n, function) for n in ast.walk(said) if isinstance(n, ast.Name))
                    if not local and names.isdisjoint(own):
                        yield said, value

    def _is_local(self, name: ast.Name, function: ast.AST) -> bool:
        scope = self.scopes.of.get(name)
        sources = scope.find(name.id) if scope is not None else None
        return sources is not None and sources is self.scopes.inside[function].bound.get(name.id)

    def number(self, node: ast.expr) -> Any:
        """The number, or the list of numbers, that an expression stood for; None if it is none, or not known."""
        for n in ast.walk(node):
            if isinstance(n, ast.Call):
                if not computes(n):
                    return None
            elif isinstance(n, (ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
                return None
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        if any(is_graphs(self.names.get(n.id)) or is_tensorflow(self.names.get(n.id)) for n in names):
            return None
        if any(n.id in self._functions or n.id in self._classes for n in names):
            return None  # where something else has the name in the end, this was a function nevertheless
        known = {n.id: v for n in names if (v := self._value(n)) is not None}
        try:
            value = eval(compile(ast.Expression(node), "<counted>", "eval"), dict(self.names), known)
        except Exception:  # noqa: BLE001  (then it is not known)
            return None
        value = value.item() if isinstance(value, np.generic) else value
        several = list(value) if type(value) in (tuple, list) and len(value) <= _LONGEST else [value]
        return value if several and all(type(v) in (int, float) for v in several) else None

    def counted(self, node: ast.expr, stays: Callable[[ast.AST], bool]) -> dict[str, tuple[ast.expr, Any]]:
        """By text, the innermost numbers that data decides of which an expression is made, where that is all of it."""
        found: dict[str, tuple[ast.expr, Any]] = {}
        todo: list[ast.AST] = list(ast.iter_child_nodes(node))
        while todo:
            inner = todo.pop()
            of_data = any(map(stays, self.roots(inner)))
            if isinstance(inner, _PURE) and type(self.number(inner)) in (int, float):
                found |= self.counted(inner, stays) if of_data else {}
            elif of_data and isinstance(inner, (ast.Attribute, ast.Name)):
                return {ast.unparse(node): (node, self.number(node))}
            else:
                todo += ast.iter_child_nodes(inner)
        return found or {ast.unparse(node): (node, self.number(node))}

    def is_sliced(self, node: ast.expr) -> bool:
        """Whether it asks for a side of the shape of what was cut out of an array between two numbers of the text."""
        shape = node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
        if not isinstance(node, ast.Subscript) or not isinstance(shape, ast.Attribute) or shape.attr != "shape":
            return False
        array: Any = shape.value
        while array is not None and not isinstance(array, ast.Subscript):
            array = self.only_source(array)
        cuts = array.slice.elts if array is not None and isinstance(array.slice, ast.Tuple) else []
        at = getattr(node.slice, "value", None)
        cut = cuts[at] if isinstance(at, int) and 0 <= at < len(cuts) else None
        return isinstance(cut, ast.Slice) and all(isinstance(end, ast.Constant) for end in (cut.lower, cut.upper))

    def roots(self, node: ast.AST, seen: frozenset[int] = frozenset(), counts: bool = False) -> Iterator[ast.expr]:
        """The expressions from which a number comes that are no numbers: texts, lists, what is read or computed.

        A list of whole numbers, such as the sizes of layers, is one where it is counted (`counts`), and not where it is
        asked for an element.
        """
        counts = counts or any(isinstance(n, ast.Call) for n in ast.walk(node))
        for n in ast.walk(node):
            is_text = isinstance(n, ast.Constant) and isinstance(n.value, (str, bytes))
            is_data = isinstance(n, _DATA) and (counts or not _is_layout(n))
            if is_text or is_data or (isinstance(n, ast.Call) and type(self.number(n)) not in (int, float)):
                yield n  # type: ignore[misc]
            elif isinstance(n, ast.Attribute):
                for value in self._set.get(n.attr, ()):
                    if id(value) not in seen:
                        yield from self.roots(value, seen | {id(value)}, counts)
            elif isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                yield from self._roots_of(n, seen, counts)

    def _roots_of(self, name: ast.Name, seen: frozenset[int], counts: bool) -> Iterator[ast.expr]:
        scope = self.scopes.of.get(name)
        sources = scope.find(name.id) if scope is not None else None
        if sources is None or id(sources) in seen:
            return
        value = self.names.get(name.id) if sources is self.scopes.module.bound.get(name.id) else None
        if not (isinstance(value, argparse.Namespace) or value is FLAGS or is_tensorflow(value)):
            for source in sources:
                yield from self._roots_in(source, seen | {id(sources)}, counts)

    def _roots_in(self, source: Any, seen: frozenset[int], counts: bool) -> Iterator[ast.expr]:
        while isinstance(source, (Element, Part, Entered)):
            source = source.source
        if isinstance(source, Expression):
            yield from self.roots(source.node, seen, counts)
        elif isinstance(source, Parameter):
            for given in self._arguments_for(source):
                if given is not None and id(given) not in seen:
                    yield from self.roots(given, seen | {id(given)}, counts)

    def _arguments_for(self, parameter: Parameter) -> list[ast.expr | None]:
        """The arguments that the calls of a function give for a parameter; None for a call that leaves it out."""
        name = getattr(parameter.function, "name", "")
        owner = next((c.name for c in self._classes.values() if parameter.function in c.body), "")
        calls = self._given.get(owner if name == "__init__" else name, ())
        return [_arguments(parameter.function, call).get(parameter.name) for call in calls]  # type: ignore[arg-type]

    def only_source(self, node: ast.expr) -> ast.expr | None:
        """The expression that an attribute of `self` is set to, or a parameter is given; None if there are several."""
        if isinstance(node, ast.Attribute):
            found: Sequence[Any] = self._set.get(node.attr, ()) if getattr(node.value, "id", "") == "self" else ()
        else:
            scope = self.scopes.of.get(node) if isinstance(node, ast.Name) else None
            sources = [*(scope.find(node.id) or ())] if scope is not None else []  # type: ignore[attr-defined]
            parameters = len(sources) == 1 and isinstance(sources[0], Parameter)
            found = self._arguments_for(sources[0]) if parameters else ()
        return found[0] if len(found) == 1 else None

    def at_top(self, node: ast.expr) -> ast.expr:
        """An expression as the top of the program says it: attributes and parameters as what each has as its source."""
        said: ast.expr = _copied(node, self.only_source)
        return said


def _is_layout(node: ast.AST) -> bool:
    """Whether it lists whole numbers of the program's text."""
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return bool(elements) and all(isinstance(e, ast.Constant) and type(e.value) is int for e in elements)


@dataclass
class Said:
    """Numbers of one statement at the top of a program that the converted module says as the program does.

    Attributes
    ----------
    place : tuple of int
        Where the statement stands.
    numbers : list of (expression, number)
        What it counts.
    told : set of number
        Those that are in its own text.
    used : set of str
        The texts of what was said.
    left : bool
        Whether another number came out of it, of which nobody knows how.
    constants : list of (expression, number)
        What it makes of the names that the program gives to plain numbers.
    """

    place: Place
    numbers: list[tuple[ast.expr, Any]]
    told: set[Any]
    used: set[str] = field(default_factory=set)
    left: bool = False
    constants: list[tuple[ast.expr, Any]] = field(default_factory=list)

    def names(self) -> set[str]:
        """The names of the program that it may use."""
        return {n.id for e, _ in [*self.numbers, *self.constants] for n in ast.walk(e) if isinstance(n, ast.Name)}

    def settled(self, code: Any) -> Any:
        """A piece of code that a node of the statement became, which says the numbers."""
        before = len(self.used)
        new = _Saying(self).visit(code)
        new.says = getattr(code, "says", False) or len(self.used) > before
        return new

    def edits(self, code: Any) -> list[tuple[ast.expr, str]]:
        """The same as texts that take the places of numbers."""
        saying, places = _Saying(self), {extent(n): n for n in ast.walk(code) if isinstance(n, ast.Constant)}
        saying.visit(copy.deepcopy(code))
        return [(places[extent(n)], text) for n, text in saying.edits]

    def is_whole(self) -> bool:
        """Whether all that it counts is said, and nothing is left."""
        return bool(self.numbers) and not self.left and self.used >= {ast.unparse(e) for e, _ in self.numbers}


def of_constants(tree: ast.Module, names: Mapping[str, Any]) -> dict[int, Said]:
    """By line, the statements of a program that use names which its top gives, once, to plain numbers.

    Parameters
    ----------
    tree : ast.Module
    names : mapping
        Its global names, and what they stood for in the end.
    """
    scopes = Scopes(tree)
    sizes = Sizes(tree, scopes, names, lambda _: None)
    given = {name for _, found, _ in plain_names(tree) for name in found}
    known = COMPUTE | {name for name in given if isinstance(names.get(name), (int, float, np.generic))}

    def number(node: ast.expr) -> Any:
        """The number that the program's names and computations make; None if it is none, or uses something else."""
        read = {n for n in ast.walk(node) if isinstance(n, ast.Name)}
        final = all(n.id in COMPUTE or scopes.of[n].find(n.id) is scopes.module.bound.get(n.id) for n in read)
        if not read or not {n.id for n in read} <= known or not final or not is_plain(node):
            return None
        try:
            value = eval(compile(ast.Expression(node), "<constant>", "eval"), dict(names))
        except Exception:  # noqa: BLE001  (then it is not known)
            return None
        value = value.item() if isinstance(value, np.generic) else value
        return value if type(value) in (int, float) else None

    def said(node: ast.AST) -> Iterator[tuple[ast.expr, Any, ast.AST]]:
        if isinstance(node, ast.expr) and (value := number(told := sizes.at_top(node))) is not None:
            yield told, value, node
            return
        for inner in ast.iter_child_nodes(node):
            yield from said(inner)

    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and (constants := list(said(node))):
            within = {id(n) for _, _, e in constants for n in ast.walk(e)}
            told = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and id(n) not in within}
            numbers = {v for v in told if type(v) in (int, float)}
            found[node.lineno] = Said(place(node), [], numbers, constants=[(e, value) for e, value, _ in constants])
    return found


class _Saying(ast.NodeTransformer):
    def __init__(self, said: Said) -> None:
        self.said = said
        self.edits: list[tuple[ast.expr, str]] = []

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg in _NO_SIZES:
            for n in ast.walk(node):
                n.settled = True  # type: ignore[attr-defined]
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            one.beside = not isinstance(other, ast.Constant)  # type: ignore[attr-defined]  # the tensor's dtype counts
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if getattr(node, "settled", False) or type(value) not in (int, float) or value in _SMALL:
            return node
        node.settled = True  # type: ignore[attr-defined]
        every = [*self.said.numbers, *self.said.constants]
        found = {ast.unparse(e): (e, v) for e, v in every if _is_same(v, value)}
        told = any(_is_same(v, value) for v in self.said.told)
        if len(found) == 1 and not told:
            ((text, (_, number)),) = found.items()
            self.said.used.add(text)
            new: ast.expr = ast.parse(text, mode="eval").body
            whole = type(value) is float and type(number) is int and not getattr(node, "beside", False)
            new = ast.Call(ast.Name("float", ast.Load()), [new], []) if whole else new
            self.edits.append((node, ast.unparse(new)))
            return new
        self.said.left |= not told
        return node


def _is_same(number: Any, value: Any) -> bool:
    """Whether a number of a statement is one of its code, where one of float32 is as short as it can be."""
    return bool(number == value if type(value) is int else np.float32(number) == np.float32(value))


def _copied(node: Any, source: Callable[[Any], ast.expr | None], depth: int = 5) -> Any:
    """A copy of an expression that has the same names in it, or what stands for them and for attributes."""
    given = source(node) if depth and isinstance(node, (ast.Attribute, ast.Name)) else None
    if given is not None:
        return _copied(given, source, depth - 1)
    if isinstance(node, ast.Name) or not isinstance(node, ast.AST):
        return node
    new = copy.copy(node)
    for name, value in ast.iter_fields(node):
        several = isinstance(value, list)
        setattr(new, name, [_copied(v, source, depth) for v in value] if several else _copied(value, source, depth))
    return new


def _arguments(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """By parameter, the expression that a call gives."""
    names = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    plain = [] if any(isinstance(a, ast.Starred) for a in call.args) else call.args
    return dict(zip(names, plain, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg is not None}
