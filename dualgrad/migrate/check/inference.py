"""The values that each expression of a file may stand for, found without running it.

Names stand for all that the file ever binds them to, parameters for what the file's own calls give them, attributes
for what it stores there. The whole file is evaluated a few times, each time from what the last one found, so that
functions that call each other and variables that are updated in loops are understood too.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path as File
from typing import Any

from dualgrad.migrate.check import builtin_functions
from dualgrad.migrate.check.scopes import (
    FUNCTIONS,
    Defined,
    Element,
    Entered,
    Expression,
    Function,
    Imported,
    Other,
    Own,
    Parameter,
    Part,
    Scope,
    Scopes,
    Source,
)
from dualgrad.migrate.check.surface import MISSING, NUMPY, Surface, tensorflow_path
from dualgrad.migrate.check.values import (
    NOTHING,
    Box,
    Fixed,
    Foreign,
    Instance,
    Local,
    Lost,
    Made,
    Many,
    Method,
    Module,
    Path,
    Unknown,
    Value,
    Values,
    union,
)

ROUNDS = 4
DEEPEST = 60
"""How many expressions may lead to each other before the rest is left unknown."""
HABITS = {"sess": "Session", "session": "Session"}
"""Parameters that are called what everybody calls them."""


class Inference:
    """The values of the expressions of the files that `scopes` has.

    Parameters
    ----------
    scopes : Scopes
    surface : Surface
    """

    def __init__(self, scopes: Scopes, surface: Surface) -> None:
        self.scopes, self.surface = scopes, surface
        self.calls: dict[ast.AST, list[tuple[ast.Call, int]]] = {}
        self.before: dict[Any, Values] = {}
        self.now: dict[Any, Values] = {}
        self.deep = 0
        for _ in range(ROUNDS):
            self.before, self.now = self.now, {}
            for node in scopes.of:
                if isinstance(node, ast.expr):
                    self.values_of(node)
            if self.now == self.before:
                break

    # ---- expressions -------------------------------------------------------------------------------------------------

    def values_of(self, node: ast.expr) -> Values:
        """The values that an expression stands for."""
        if node in self.now:
            return self.now[node]
        known = self.before.get(node, NOTHING)
        if self.deep > DEEPEST:
            return known
        self.now[node] = known
        self.deep += 1
        method = getattr(self, f"_{type(node).__name__}", None)
        found: Values = method(node) if method is not None else NOTHING
        self.deep -= 1
        self.now[node] = found
        return found

    def _Name(self, node: ast.Name) -> Values:
        sources = self.scopes.of[node].find(node.id)
        if sources is not None:
            return union(*(self.source(s) for s in sources))
        return self._starred(self.scopes.root(node), node.id)

    def _starred(self, module: Scope, name: str) -> Values:
        """The values of a name that a file does not bind, but perhaps imports with all of another's."""
        found = []
        for star in module.stars if not name.startswith("_") else ():
            if isinstance(star, Own):
                found.append(self.exported(star.module, name))
            elif (path := tensorflow_path(star.path)) is not None:
                whole = f"{path}.{name}".lstrip(".")
                found.append(frozenset({Path(whole)}) if self.surface.has(whole) else NOTHING)
        return union(*found)

    def exported(self, base: File, name: str) -> Values:
        """The values of a name of one of the program's own modules."""
        key = ("exported", base, name)
        if key in self.now:
            return self.now[key]
        self.now[key] = self.before.get(key, NOTHING)
        module = self.scopes.at.get(base)
        if module is not None and name in module.bound:
            self.now[key] = union(*(self.source(s) for s in module.bound[name]))
        elif self.scopes.modules.has(base / name):
            self.now[key] = frozenset({Module(base / name)})
        elif module is not None:
            self.now[key] = self._starred(module, name)
        return self.now[key]

    def _Attribute(self, node: ast.Attribute) -> Values:
        return self.attribute(self.values_of(node.value), node.attr)

    def _Call(self, node: ast.Call) -> Values:
        called = self.values_of(node.func)
        special = builtin_functions.call(self, node, called)
        if special is not None:
            return special
        return union(*(self.result(value, node) for value in called))

    def _BinOp(self, node: ast.BinOp) -> Values:
        return self._combined(self.values_of(node.left), self.values_of(node.right))

    def _Compare(self, node: ast.Compare) -> Values:
        if any(isinstance(o, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for o in node.ops):
            return NOTHING
        return self._tensors(union(self.values_of(node.left), *(self.values_of(c) for c in node.comparators)))

    def _UnaryOp(self, node: ast.UnaryOp) -> Values:
        return NOTHING if isinstance(node.op, ast.Not) else self._tensors(self.values_of(node.operand))

    def _combined(self, left: Values, right: Values) -> Values:
        both = left | right
        return self._tensors(both) or frozenset(v for v in both if isinstance(v, (Box, Many, Fixed, Unknown)))

    def _tensors(self, values: Values) -> Values:
        """The results of an operator: a tensor if an operand is one."""
        if any(isinstance(v, Instance) and self.surface.is_tensor(v.kind) for v in values):
            return frozenset({Instance(self.surface.tensor)})
        own = {v for v in values if isinstance(v, Instance)}  # TensorShape + TensorShape
        return frozenset(own)

    def _BoolOp(self, node: ast.BoolOp) -> Values:
        return union(*(self.values_of(v) for v in node.values))

    def _IfExp(self, node: ast.IfExp) -> Values:
        return self.values_of(node.body) | self.values_of(node.orelse)

    def _NamedExpr(self, node: ast.NamedExpr) -> Values:
        return self.values_of(node.value)

    def _Starred(self, node: ast.Starred) -> Values:
        return self.values_of(node.value)

    def _Await(self, node: ast.Await) -> Values:
        return self.values_of(node.value)

    def _Lambda(self, node: ast.Lambda) -> Values:
        return frozenset({Local(node)})

    def _Tuple(self, node: ast.Tuple) -> Values:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            return frozenset({Box(node)})
        return frozenset({Fixed(tuple(self.values_of(e) for e in node.elts))})

    def _display(self, node: ast.expr) -> Values:
        return frozenset({Box(node)})

    _List = _Set = _Dict = _ListComp = _SetComp = _DictComp = _GeneratorExp = _display

    def _Subscript(self, node: ast.Subscript) -> Values:
        return union(*(self._item(v, node.slice) for v in self.values_of(node.value)))

    def _item(self, value: Value, index: ast.expr) -> Values:
        if isinstance(index, ast.Slice) and isinstance(value, (Fixed, Many, Box)):
            return frozenset({value if not isinstance(value, Fixed) else Many(union(*value.items))})
        if isinstance(value, Fixed) and isinstance(index, (ast.Constant, ast.UnaryOp)):
            try:
                return value.items[ast.literal_eval(index)]
            except (ValueError, IndexError, TypeError):
                return NOTHING
        if isinstance(value, Instance) and not self.surface.is_tensor(value.kind):
            return self._by_method(value.kind, "__getitem__")
        return self.elements(frozenset({value}))

    # ---- sources of names --------------------------------------------------------------------------------------------

    def source(self, source: Source) -> Values:
        """The values that a name is bound to."""
        if isinstance(source, Expression):
            return self.values_of(source.node)
        if isinstance(source, Element):
            return self.elements(self.source(source.source))
        if isinstance(source, Part):
            return self._part(source)
        if isinstance(source, Entered):
            return union(*(self._entered(v) for v in self.source(source.source)))
        if isinstance(source, Imported):
            path = tensorflow_path(source.path)
            return frozenset({Foreign(source.path) if path is None else Path(path)})
        if isinstance(source, Own):
            return self.exported(source.module, source.name) if source.name else frozenset({Module(source.module)})
        if isinstance(source, Defined):
            return frozenset({Local(source.node)})
        if isinstance(source, Parameter):
            return self._parameter(source)
        assert isinstance(source, Other)
        return NOTHING

    def _part(self, source: Part) -> Values:
        found = []
        for value in self.source(source.source):
            if isinstance(value, Fixed) and source.index is not None and source.index < len(value.items):
                found.append(value.items[source.index])
            elif isinstance(value, Box) and source.index is not None and isinstance(value.node, (ast.List, ast.Tuple)):
                elements = value.node.elts
                plain = source.index < len(elements) and not any(isinstance(e, ast.Starred) for e in elements)
                found.append(self.values_of(elements[source.index]) if plain else self.elements(frozenset({value})))
            else:
                found.append(self.elements(frozenset({value})))
        return union(*found)

    def _entered(self, value: Value) -> Values:
        if isinstance(value, Many):
            return value.items
        if isinstance(value, Instance):
            results = self._by_method(value.kind, "__enter__")
            known = {v for v in results if not isinstance(v, Unknown)}
            return frozenset(known) or frozenset({value})
        return frozenset({value}) if isinstance(value, (Made, Lost, Unknown)) else NOTHING

    def _parameter(self, source: Parameter) -> Values:
        """The values that the file's own calls give a parameter, and its default."""
        function, name = source.function, source.name
        given = [self._argument_values(call, shift, function, name) for call, shift in self.calls.get(function, ())]
        given.append(self._default(function, name))
        owner = self.owner(function)
        arguments = [*function.args.posonlyargs, *function.args.args]
        if owner is not None and arguments and arguments[0].arg == name:
            given.append(self._first(function, owner))
        found = union(*given)
        return found or self._by_habit(function, name)

    def _by_habit(self, function: Function, name: str) -> Values:
        """The class that a name usually stands for, if all that is done with it is what can be done with that class."""
        kind = self.surface.look(HABITS[name]) if name in HABITS else MISSING
        if not inspect.isclass(kind):
            return NOTHING
        inner = [n for n in ast.walk(function) if isinstance(n, ast.Attribute)]
        used = [n.attr for n in inner if isinstance(n.value, ast.Name) and n.value.id == name]
        return frozenset({Instance(kind)}) if all(hasattr(kind, attribute) for attribute in used) else NOTHING

    def owner(self, function: ast.AST) -> ast.ClassDef | None:
        """The class that a method is defined in."""
        scope = self.scopes.of.get(function)
        return scope.node if scope is not None and isinstance(scope.node, ast.ClassDef) else None

    def _first(self, function: Function, owner: ast.ClassDef) -> Values:
        decorators = self.decorators(function)
        if "staticmethod" in decorators:
            return NOTHING
        return frozenset({Local(owner) if "classmethod" in decorators else Made(owner)})

    @staticmethod
    def decorators(function: ast.AST) -> set[str]:
        """Their names, where they are plain names."""
        return {d.id for d in getattr(function, "decorator_list", ()) if isinstance(d, ast.Name)}

    def _argument_values(self, call: ast.Call, shift: int, function: Function, name: str) -> Values:
        for keyword in call.keywords:
            if keyword.arg == name:
                return self.values_of(keyword.value)
        arguments = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][shift:]
        if any(isinstance(a, ast.Starred) for a in call.args):
            return NOTHING
        if function.args.vararg is not None and function.args.vararg.arg == name:
            return frozenset({Many(union(*(self.values_of(a) for a in call.args[len(arguments) :])))})
        place = arguments.index(name) if name in arguments else len(call.args)
        return self.values_of(call.args[place]) if place < len(call.args) else NOTHING

    def _default(self, function: Function, name: str) -> Values:
        arguments = [*function.args.posonlyargs, *function.args.args]
        behind = arguments[len(arguments) - len(function.args.defaults) :]
        pairs = [*zip(behind, function.args.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d]
        return union(*(self.values_of(default) for argument, default in pairs if argument.arg == name))

    # ---- containers --------------------------------------------------------------------------------------------------

    def elements(self, values: Values) -> Values:
        """The elements that going through them gives."""
        return union(*(self._elements(v) for v in values))

    def _elements(self, value: Value) -> Values:
        if isinstance(value, Fixed):
            return union(*value.items)
        if isinstance(value, Many):
            return value.items
        if isinstance(value, Box):
            return self._contents(value.node)
        if isinstance(value, Instance):
            if self.surface.is_tensor(value.kind):
                return frozenset({Instance(self.surface.tensor)})
            return self.elements(frozenset(v for v in self._by_method(value.kind, "__iter__") if v != value))
        return frozenset({value}) if isinstance(value, Unknown) else NOTHING

    def _contents(self, node: ast.expr) -> Values:
        key = ("contents", node)
        if key in self.now:
            return self.now[key]
        known = self.before.get(key, NOTHING)
        if self.deep > DEEPEST:
            return known
        self.now[key] = known
        self.deep += 1
        self.now[key] = self._displayed(node) | self._put_into(node)
        self.deep -= 1
        return self.now[key]

    def _displayed(self, node: ast.expr) -> Values:
        if isinstance(node, ast.Dict):
            parts = [self.values_of(v) for v in node.values]
        elif isinstance(node, ast.DictComp):
            parts = [self.values_of(node.value)]
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            parts = [self.values_of(node.elt)]
        else:
            displayed = getattr(node, "elts", ())
            parts = [
                self.elements(self.values_of(e)) if isinstance(e, ast.Starred) else self.values_of(e) for e in displayed
            ]
        return union(*parts)

    def _put_into(self, node: ast.expr) -> Values:
        """The things that files store in a container that they make."""
        box = Box(node)
        return union(*(self.source(source) for base, source in self.scopes.stored if box in self.values_of(base)))

    # ---- attributes --------------------------------------------------------------------------------------------------

    def attribute(self, values: Values, name: str) -> Values:
        """The values of ``value.name``."""
        stored = self.scopes.attributes.get(name, ())
        given = [self.source(source) for base, source in stored if self.values_of(base) & values]
        return union(*given, *(self._attribute(v, name) for v in values))

    def _attribute(self, value: Value, name: str) -> Values:
        if isinstance(value, Path):
            return self._below(value, name)
        if isinstance(value, Instance):
            if callable(inspect.getattr_static(value.kind, name, None)):
                return frozenset({Method(value.kind, name)})
            known = self.surface.has_attribute(value.kind, name)
            return self.surface.attribute(value.kind, name) if known else NOTHING
        if isinstance(value, Made):
            return self._member(value.node, name)
        if isinstance(value, Local) and isinstance(value.node, ast.ClassDef):
            return union(*(self.source(s) for s in self.scopes.inside[value.node].bound.get(name, ())))
        if isinstance(value, Foreign):
            return frozenset({Foreign(f"{value.path}.{name}")})
        if isinstance(value, Module):
            return self.exported(value.base, name)
        if isinstance(value, Unknown) and name in NUMPY:
            return NOTHING
        if isinstance(value, Unknown) and name in self.surface.telling:
            return frozenset({Method(self.surface.telling[name], name)})
        return frozenset({value}) if isinstance(value, Unknown) else NOTHING

    def _below(self, value: Path, name: str) -> Values:
        member = self.surface.look(value.path)
        if member is MISSING or inspect.ismodule(member) or inspect.isclass(member):
            return frozenset({Path(f"{value.path}.{name}".lstrip("."))})
        return NOTHING if callable(member) else self._attribute(Instance(type(member)), name)

    def _member(self, node: ast.ClassDef, name: str, seen: frozenset[ast.AST] = frozenset()) -> Values:
        """An attribute of an object of a class of the file."""
        found = []
        for source in self.scopes.inside[node].bound.get(name, ()):
            if isinstance(source, Defined) and isinstance(source.node, FUNCTIONS):
                if "property" in self.decorators(source.node):
                    found.append(self.returned(source.node))
                else:
                    found.append(frozenset({Local(source.node, node)}))
            else:
                found.append(self.source(source))
        if found or node in seen:
            return union(*found)
        for base in self.bases(node):
            if isinstance(base, Local) and isinstance(base.node, ast.ClassDef):
                found.append(self._member(base.node, name, seen | {node}))
            elif isinstance(base, Instance):
                found.append(self._attribute(base, name))
        return union(*found)

    def bases(self, node: ast.ClassDef) -> list[Value]:
        """The bases of a class of the file: its classes, objects of ours, names that are foreign or missing."""
        kinds: list[Value] = []
        for value in union(*(self.values_of(b) for b in node.bases)):
            if isinstance(value, Path):
                kind = self.surface.look(value.path)
                kinds.append(Instance(kind) if inspect.isclass(kind) else Lost(value.path))
            elif isinstance(value, (Local, Foreign, Lost, Unknown)):
                kinds.append(value)
        return kinds

    # ---- calls -------------------------------------------------------------------------------------------------------

    def result(self, value: Value, node: ast.Call) -> Values:
        """The results of calling it."""
        if isinstance(value, Path):
            return self._of_path(value, node)
        if isinstance(value, Method):
            return self._by_method(value.kind, value.name)
        if isinstance(value, Instance):
            return self._by_method(value.kind, "__call__")
        if isinstance(value, Local):
            return self._of_local(value, node)
        if isinstance(value, Made):
            return self._of_made(value, node)
        return frozenset({value}) if isinstance(value, Unknown) else NOTHING

    def _by_method(self, kind: type, name: str) -> Values:
        function = inspect.getattr_static(kind, name, None)
        if isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        if function is None or not callable(function):
            return NOTHING
        return self.surface.result(function, f"{kind.__name__}.{name}", kind)

    def _of_path(self, value: Path, node: ast.Call) -> Values:
        function = self.surface.look(value.path)
        if function is MISSING:
            return frozenset({Lost(value.path)})
        if inspect.isclass(function):
            made = getattr(function.__new__, "__annotations__", {}).get("return")
            # `Input` makes a symbol, no object of its class
            return frozenset({Instance(self.surface.tensor if made == "Any" else function)})
        if not callable(function):
            return self._by_method(type(function), "__call__")
        parent = self.surface.look(value.path.rpartition(".")[0])
        owner = parent if inspect.isclass(parent) else None
        results = self.surface.result(function, f"tf.{value.path}", owner)
        own = {v for a in node.args[:2] for v in self.values_of(a) if isinstance(v, Local)}
        if own and all(isinstance(v, Unknown) for v in results):
            return frozenset(own)  # tf.function(f), tf.make_template("name", f): a function like its own
        return results

    def _of_local(self, value: Local, node: ast.Call) -> Values:
        if isinstance(value.node, ast.ClassDef):
            for start in self._member(value.node, "__init__"):
                if isinstance(start, Local):
                    self._register(start.node, node, 1)
            return frozenset({Made(value.node)})
        assert isinstance(value.node, FUNCTIONS)
        is_static = "staticmethod" in self.decorators(value.node)
        self._register(value.node, node, 1 if value.owner is not None and not is_static else 0)
        return self.returned(value.node)

    def _of_made(self, value: Made, node: ast.Call) -> Values:
        for name in ("__call__", "call"):
            found = self._member(value.node, name)
            own = [f for f in found if isinstance(f, Local)]
            if own:
                return union(*(self._of_local(f, node) for f in own))
        return union(*(self.result(f, node) for f in self._member(value.node, "__call__")))

    def _register(self, function: ast.AST, node: ast.Call, shift: int) -> None:
        known = self.calls.setdefault(function, [])
        if (node, shift) not in known:
            known.append((node, shift))

    def returned(self, function: ast.AST) -> Values:
        """The results of a function of the file."""
        scope = self.scopes.inside[function]
        results = union(*(self.values_of(r) for r in scope.returns))
        if scope.yields:
            return results | {Many(union(*(self.values_of(y) for y in scope.yields)))}
        return results

    def within(self, node: ast.AST, *kinds: type) -> Scope | None:
        """The innermost scope of these kinds around a node."""
        return self.scopes.of[node].enclosing(*kinds)
