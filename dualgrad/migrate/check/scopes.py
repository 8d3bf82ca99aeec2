"""Where the names of a file are bound: scopes, and for each name everything that is ever assigned to it.

The order of statements is not looked at: a name stands for all that it is given anywhere in its scope.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import TypeAlias

from dualgrad.migrate.check.modules import Import, Modules, base_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FORGIVEN = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
STORES = {"append": 0, "add": 0, "appendleft": 0, "insert": 1, "setdefault": 1, "extend": 0, "update": 0}
"""Methods that put something into a container: which argument."""


@dataclass(frozen=True)
class Expression:
    """The value of an expression."""

    node: ast.expr


@dataclass(frozen=True)
class Element:
    """An element that going through `source` gives."""

    source: Source


@dataclass(frozen=True)
class Part:
    """Element `index` of `source`, which is taken apart into `count`; None if a star is among the targets."""

    source: Source
    index: int | None


@dataclass(frozen=True)
class Entered:
    """The value of `name` in ``with source as name``."""

    source: Source


@dataclass(frozen=True)
class Imported:
    """A module of another package, or a name of one."""

    path: str


@dataclass(frozen=True)
class Own:
    """A module of the program's own, or a name of it."""

    module: File
    name: str = ""


@dataclass(frozen=True)
class Defined:
    """A function or class of the file."""

    node: ast.AST


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function of the file."""

    function: Function
    name: str


@dataclass(frozen=True)
class Other:
    """Something that has nothing to do with TensorFlow: an exception, what a pattern matches."""


Source: TypeAlias = Expression | Element | Part | Entered | Imported | Own | Defined | Parameter | Other


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension; `stars` are the modules of which it imports all names."""

    node: ast.AST
    parent: Scope | None = None
    bound: dict[str, list[Source]] = field(default_factory=dict)
    outer: dict[str, Scope] = field(default_factory=dict)
    returns: list[ast.expr] = field(default_factory=list)
    yields: list[ast.expr] = field(default_factory=list)
    stars: list[Imported | Own] = field(default_factory=list)

    def find(self, name: str) -> list[Source] | None:
        """All that the name stands for here; None if the file does not bind it."""
        here: Scope | None = self.outer.get(name, self)
        first = here
        while here is not None:
            if name in here.bound and (here is first or not isinstance(here.node, ast.ClassDef)):
                return here.bound[name]
            here = here.parent
        return None

    def enclosing(self, *kinds: type) -> Scope | None:
        """The innermost scope around (or this one) of one of these kinds."""
        here: Scope | None = self
        while here is not None and not isinstance(here.node, kinds):
            here = here.parent
        return here


class Scopes(ast.NodeVisitor):
    """The scopes of a file, or of several that import each other.

    Parameters
    ----------
    *trees : ast.Module
    modules : Modules, optional
        What tells which of the files an import means.

    Attributes
    ----------
    module : Scope
        That of the (last) file.
    at : dict
        The scope of each file, by its module.
    of : dict
        The scope that each node stands in.
    inside : dict
        The scope that a function, class or comprehension makes.
    attributes : dict
        By name of an attribute: every object that it is set of, and to what.
    stored : list
        Every container that something is put into, and what.
    guarded : set
        The nodes whose failure the program expects.
    members : set
        The names that objects of the files' own classes have.
    """

    def __init__(self, *trees: ast.Module, modules: Modules | None = None) -> None:
        self.modules = modules or Modules(dict.fromkeys(trees))
        self.at: dict[File, Scope] = {}
        self.of: dict[ast.AST, Scope] = {}
        self.inside: dict[ast.AST, Scope] = {}
        self.attributes: dict[str, list[tuple[ast.expr, Source]]] = {}
        self.stored: list[tuple[ast.expr, Source]] = []
        self.guarded: set[ast.AST] = set()
        self.members: set[str] = set()
        for tree in trees:
            self.module = self.here = self.inside[tree] = Scope(tree)
            file = self.modules.files[tree]
            if file is not None:
                self.at[base_of(file)] = self.module
            self.visit(tree)
        for scope in self.inside.values():
            if isinstance(scope.node, ast.ClassDef):
                self.members.update(scope.bound)
        self.members.update(self.attributes)

    def visit(self, node: ast.AST) -> None:
        """Remember the scope of every node, and bind what it binds."""
        self.of[node] = self.here
        if isinstance(node, (ast.ExceptHandler, ast.MatchAs)) and node.name:
            self._bind_name(node.name, Other())
        handler = getattr(self, f"_{type(node).__name__}", None) if isinstance(node, (ast.stmt, ast.expr)) else None
        (handler or self.generic_visit)(node)

    def _in(self, scope: Scope, nodes: Iterable[ast.AST]) -> None:
        before, self.here = self.here, scope
        for node in nodes:
            self.visit(node)
        self.here = before

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def bind(self, target: ast.AST, source: Source) -> None:
        """Let `target` stand for `source` too."""
        if isinstance(target, ast.Name):
            self._bind_name(target.id, source)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, source)
        elif isinstance(target, (ast.Tuple, ast.List)):
            value = source.node if isinstance(source, Expression) else None
            written = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            starred = any(isinstance(t, ast.Starred) for t in [*target.elts, *written])
            whole = starred or len(written) != len(target.elts)
            for index, inner in enumerate(target.elts):
                self.bind(inner, Part(source, None if starred else index) if whole else Expression(written[index]))
        elif isinstance(target, ast.Attribute):
            self.attributes.setdefault(target.attr, []).append((target.value, source))
        elif isinstance(target, ast.Subscript):
            self.stored.append((target.value, source))

    def _bind_name(self, name: str, source: Source) -> None:
        scope = self.here.outer.get(name, self.here)
        scope.bound.setdefault(name, []).append(source)

    # ---- statements --------------------------------------------------------------------------------------------------

    def _Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.bind(target, Expression(node.value))
        self.generic_visit(node)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, Expression(node.value))
        elif isinstance(self.here.node, ast.ClassDef) and isinstance(node.target, ast.Name):
            self.members.add(node.target.id)  # a field
        self.generic_visit(node)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self.bind(node.target, Expression(node.value))
        self.generic_visit(node)

    def _NamedExpr(self, node: ast.NamedExpr) -> None:
        before, scope = self.here, self.here
        while isinstance(scope.node, COMPREHENSIONS) and scope.parent is not None:
            scope = scope.parent
        self.here = scope
        self.bind(node.target, Expression(node.value))
        self.here = before
        self.generic_visit(node)

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        self.bind(node.target, Element(Expression(node.iter)))
        self.generic_visit(node)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.bind(item.optional_vars, Entered(Expression(item.context_expr)))
        self.generic_visit(node)

    _AsyncWith = _With

    def _Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            source = self.imported(node, Import(node, alias.name), whole=bool(alias.asname))
            self._bind_name(alias.asname or root, source)

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        what = Import(node, node.module or "", node.level, tuple(alias.name for alias in node.names))
        module = self.imported(node, what)
        for alias in node.names:
            if alias.name == "*":
                self.module.stars.append(module)
            elif isinstance(module, Own):
                self._bind_name(alias.asname or alias.name, Own(module.module, alias.name))
            else:
                self._bind_name(alias.asname or alias.name, Imported(f"{module.path}.{alias.name}"))

    def imported(self, node: ast.AST, what: Import, whole: bool = True) -> Imported | Own:
        """The module that is imported at a node; unless `whole`, the first part of its name."""
        tree = self.root(node).node
        assert isinstance(tree, ast.Module)
        own = self.modules.find(self.modules.files[tree], what)
        if own is None:
            return Imported(what.module if whole else what.module.partition(".")[0])
        return Own(own if whole else [own, *own.parents][what.module.count(".")])

    def root(self, node: ast.AST) -> Scope:
        """The scope of the file that a node is in."""
        scope = self.of[node].enclosing(ast.Module)
        assert scope is not None
        return scope

    def _Try(self, node: ast.Try) -> None:
        caught = {n.id for h in node.handlers for n in ast.walk(h.type or h) if isinstance(n, ast.Name)}
        if FORGIVEN & caught or any(h.type is None for h in node.handlers):
            self.guarded.update(inner for statement in node.body for inner in ast.walk(statement))
        self.generic_visit(node)

    def _If(self, node: ast.If) -> None:
        calls = (n for n in ast.walk(node.test) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "hasattr")
        names = {a.args[1].value for a in calls if len(a.args) == 2 and isinstance(a.args[1], ast.Constant)}
        if names:
            inner = (n for statement in (node.test, *node.body) for n in ast.walk(statement))
            self.guarded.update(n for n in inner if isinstance(n, ast.Attribute) and n.attr in names)
        self.generic_visit(node)

    def _Global(self, node: ast.Global) -> None:
        self.here.outer.update(dict.fromkeys(node.names, self.module))

    def _Nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            scope = self.here.parent
            while scope is not None and (name not in scope.bound or isinstance(scope.node, ast.ClassDef)):
                scope = scope.parent
            self.here.outer[name] = scope or self.module

    def _Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.here.returns.append(node.value)
        self.generic_visit(node)

    def _Yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self.here.yields.append(node.value)
        self.generic_visit(node)

    def _Call(self, node: ast.Call) -> None:
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in ("namedtuple", "NamedTuple", "make_dataclass"):
            said = (c.value for a in node.args for c in ast.walk(a) if isinstance(c, ast.Constant))
            self.members.update(
                name for text in said if isinstance(text, str) for name in text.replace(",", " ").split()
            )
        if isinstance(node.func, ast.Attribute) and node.func.attr in STORES:
            position = STORES[node.func.attr]
            if position < len(node.args):
                source: Source = Expression(node.args[position])
                several = node.func.attr in ("extend", "update")
                self.stored.append((node.func.value, Element(source) if several else source))
        self.generic_visit(node)

    # ---- what has a scope of its own ---------------------------------------------------------------------------------

    def _function(self, node: Function) -> None:
        arguments = node.args
        self._all([*arguments.defaults, *arguments.kw_defaults])
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        if not isinstance(node, ast.Lambda):
            self._all([*node.decorator_list, *(a.annotation for a in every if a is not None), node.returns])
            self._bind_name(node.name, Defined(node))
        inner = self.inside[node] = Scope(node, self.here)
        for argument in filter(None, every):
            inner.bound[argument.arg] = [Parameter(node, argument.arg)]
        if isinstance(node, ast.Lambda):
            inner.returns.append(node.body)
            self._in(inner, [node.body])
        else:
            self._in(inner, node.body)

    _FunctionDef = _AsyncFunctionDef = _Lambda = _function

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        self._bind_name(node.name, Defined(node))
        inner = self.inside[node] = Scope(node, self.here)
        self._in(inner, node.body)

    def _display(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        inner = self.inside[node] = Scope(node, self.here)
        before, self.here = self.here, inner
        for generator in node.generators:
            self.bind(generator.target, Element(Expression(generator.iter)))
        self.generic_visit(node)
        self.here = before

    _ListComp = _SetComp = _DictComp = _GeneratorExp = _display
