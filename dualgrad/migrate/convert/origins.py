"""Expressions of the program that gave variables and constants their values, as text for the top of a module.

A graph knows only the value of the recorded run. The program's text says where it came from: ``rng.randn(m, n)``,
perhaps in a function that is called for each layer. Read from the inside of the program's frames to its top, such an
expression needs global names alone: what is local is a plain value, an argument, or what one line of the function says.
Whether it gives the value that the program had is proved by running it (`dualgrad.migrate.convert.trial`).
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dualgrad.migrate.convert.edits import Extent, Place, extent, place, top
from dualgrad.migrate.convert.facts import LOOKING, METHODS, is_graphs, is_own, is_tensorflow, plain
from dualgrad.migrate.convert.notes import GENERATORS
from dualgrad.migrate.convert.observed_run import Capture, Making
from engine.core.dtypes import DType

_MAKERS = {"Variable": ("initial_value", 0), "get_variable": ("initializer", 3), "constant": ("value", 0)}
"""Functions that make variables and constants: the argument that says the value, by name and by place."""
_WRAPS = frozenset({"constant", "constant_initializer", "convert_to_tensor"})
_PURE = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Constant, ast.UnaryOp, ast.Call)
_SHORT = (ast.Name, ast.Attribute, ast.Subscript)
_DEEPEST = 8


class _Unknown(Exception):
    """An expression needs what is not known at the top of a module."""


@dataclass(frozen=True)
class Origin:
    """Where the value of a variable or constant came from.

    Attributes
    ----------
    code : expression
        What gives it, in global names of the program.
    place : tuple of int
        The statement at the top of the program that made it.
    number : int
        How many values were made before.
    says_dtype : bool
        Whether its dtype has to be said, too.
    draws : bool
        Whether it may draw random numbers.
    read : frozenset
        The statements of the program whose values it says itself.
    inside : dict
        By class of the program in whose constructor it was made: the text of what gives it there.
    """

    code: ast.expr
    place: Place
    number: int
    says_dtype: bool
    draws: bool
    read: frozenset[Place] = frozenset()
    inside: dict[str, str] = field(default_factory=dict)


class Origins:
    """Finds where values came from, of the variables and constants of one program.

    Parameters
    ----------
    source : str
        The program.
    capture : Capture
        What was seen when it ran.
    """

    def __init__(self, source: str, capture: Capture) -> None:
        self.tree, self.names, self._makings = ast.parse(source), capture.names, capture.makings
        self.above = {inner: n for n in ast.walk(self.tree) for inner in ast.iter_child_nodes(n)}
        self.by_extent: dict[Extent, ast.expr] = {}
        self.functions: dict[tuple[int, str], ast.FunctionDef] = {}
        self.top = list(top(self.tree.body))
        for n in ast.walk(self.tree):
            if isinstance(n, ast.expr):
                self.by_extent.setdefault(extent(n), n)
            elif isinstance(n, ast.FunctionDef):
                self.functions[min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.name] = n
        self._found: dict[int, Origin | None] = {}

    def origin_of(self, x: Any) -> Origin | None:
        """The origin of a variable, or of a tensor that is a constant; None if it is not known."""
        if id(x) not in self._found:
            made = self._makings.get(id(x))
            self._found[id(x)] = None if made is None else self._origin(made)
        return self._found[id(x)]

    def made_by(self, x: Any) -> str:
        """The name of the public function that made a value, if it is one of those that only make one; else empty."""
        made = self._makings.get(id(x))
        call = self.by_extent.get(made.frames[0].extent) if made is not None and made.frames else None
        name = _path(call.func, self.names) if isinstance(call, ast.Call) else ""
        return name if name in _MAKERS else ""

    def is_librarys(self, x: Any) -> bool:
        """Whether a function of TensorFlow made a constant of nothing but tensors and numbers in the program's text."""
        made = self._makings.get(id(x))
        call = self.by_extent.get(made.frames[0].extent) if made is not None and made.frames else None
        if made is None or not isinstance(call, ast.Call) or _path(call.func, self.names) in ("", *_MAKERS):
            return False
        reader = _Reader(self, made)
        given = [*call.args, *(k.value for k in call.keywords)]
        return all(isinstance(a, ast.Constant) or is_graphs(reader.value(a, 0)) for a in given)

    def _origin(self, made: Making) -> Origin | None:
        if not made.frames or made.frames[-1].name != "<module>":
            return None
        line = made.frames[-1].extent[0]
        statement = next((s for s in self.top if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
        whole = self.by_extent.get(made.frames[0].extent)
        if statement is None or whole is None:
            return None
        reader, found = self._read(whole, made)
        inside: dict[str, str] = {}
        others: list[tuple[_Reader, ast.expr]] = []
        for at, frame in enumerate(made.frames[:-1]):
            kind = self.above.get(self.functions.get((frame.line, frame.name)))  # type: ignore[arg-type]
            if frame.name == "__init__" and isinstance(kind, ast.ClassDef):
                other, code = self._read(whole, made, at)
                inside |= {} if code is None else {kind.name: ast.unparse(code)}
                others += [] if code is None else [(other, code)]
        reader, code = next(iter(others), (reader, None)) if found is None else (reader, found)
        if code is None:
            return None
        return Origin(
            code, place(statement), made.number, reader.says_dtype, reader.draws, frozenset(reader.statements), inside
        )

    def _read(self, whole: ast.expr, made: Making, own: int | None = None) -> tuple[_Reader, ast.expr | None]:
        """The expression of a value, in global names, or in those of the constructor that is this frame."""
        reader = _Reader(self, made, own)
        try:
            return reader, reader.read(self._argument(whole, reader, made), 0)
        except (_Unknown, RecursionError):
            return reader, None

    def _argument(self, whole: ast.expr, reader: _Reader, made: Making) -> ast.expr:
        """The part of an expression that says the value."""
        name = _path(whole.func, self.names) if isinstance(whole, ast.Call) else ""
        if isinstance(whole, ast.Call) and name in _MAKERS:
            keyword, at = _MAKERS[name]
            given = {k.arg: k.value for k in whole.keywords}
            reader.says_dtype = "dtype" in given or len(whole.args) > {"get_variable": 2}.get(name, 1)
            if keyword in given:
                return given[keyword]
            if len(whole.args) > at and not any(isinstance(a, ast.Starred) for a in whole.args):
                return whole.args[at]
            raise _Unknown
        for node in ast.walk(whole):
            if isinstance(node, _PURE) and not isinstance(node, ast.Constant) and self._is_pure(node):
                value = reader.value(node, 0)
                value = _texts(value) if made.array.dtype.kind == "O" else value
                if isinstance(value, np.ndarray) and _same(value, made.array):
                    reader.says_dtype = value.dtype != made.array.dtype
                    return node
        raise _Unknown

    def _is_pure(self, node: ast.expr) -> bool:
        """Whether evaluating it once more changes nothing."""
        calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        texts = [ast.unparse(f) for f in calls]
        return all(t.startswith(("np.", "numpy.")) and ".random" not in t for t in texts)

    def global_name(self, value: Any) -> str:
        """A global name of the program that stands for an object; empty if none does."""
        if value is None or isinstance(value, (int, float, str, bool, tuple)):
            return ""
        return next((n for n, v in self.names.items() if v is value and not n.startswith("_")), "")

    def is_host(self, function: ast.FunctionDef, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function of the program has nothing to do with its graph."""
        names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} - {function.name} - seen
        for name in names & self.names.keys():
            value = self.names[name]
            if is_tensorflow(value) or is_graphs(value):
                return False
            inner = self.function_of(value)
            if inner is not None and not self.is_host(inner, seen | names):
                return False
        return True

    def function_of(self, value: Any) -> ast.FunctionDef | None:
        """The definition of a function of the program."""
        if not isinstance(value, FunctionType) or value.__module__ != "__main__":
            return None
        return self.functions.get((value.__code__.co_firstlineno, value.__name__))


class _Reader:
    """Reads one expression, from the frame in which it was evaluated outwards; `own` is a constructor to stop at."""

    def __init__(self, origins: Origins, made: Making, own: int | None = None) -> None:
        self.origins, self.frames, self._own = origins, made.frames, own
        self.says_dtype = self.draws = False
        self.statements: set[Place] = set()
        self._methods: list[tuple[str, Any]] = []
        """Of the methods that are read in place of their calls, the name of their object, and that."""
        self._depth = 0

    def read(
        self, node: Any, at: int, local: dict[str, ast.expr] | None = None, bound: frozenset[str] = frozenset()
    ) -> Any:
        """An expression in global names.

        Parameters
        ----------
        node : syntax
        at : int
            The frame in which it stands.
        local : dict, optional
            What names of a function that is read in place of its call stand for; then no frame is known.
        bound : set of str
            Names that a comprehension or lambda around it gives.

        Raises
        ------
        _Unknown
        """
        try:
            return self._read(node, at, local, bound)
        except _Unknown:
            known = None if local is not None or bound or not isinstance(node, ast.expr) else self._looked(node, at)
            if known is None:
                raise
            return known

    def _read(self, node: Any, at: int, local: dict[str, ast.expr] | None, bound: frozenset[str]) -> Any:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return node if node.id in bound else self._name(node, at, local)
        if isinstance(node, ast.Attribute) and self.value(node, at) is np.random:
            self.draws = True
        if isinstance(node, ast.Attribute) and (known := self._attribute(node, at, local)) is not None:
            return known
        if isinstance(node, ast.Call) and (known := self._call(node, at, local, bound)) is not None:
            return known
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            raise _Unknown
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            inside = list(ast.walk(node))
            bound = bound | {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            bound = bound | {n.arg for n in inside if isinstance(n, ast.arg)}
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(new, name, self.read(value, at, local, bound))
            elif isinstance(value, list):
                setattr(new, name, [self.read(v, at, local, bound) if isinstance(v, ast.AST) else v for v in value])
        return new

    # ---- names -------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, at: int, local: dict[str, ast.expr] | None) -> ast.expr:
        if local is not None:
            return local[node.id] if node.id in local else self._global(node)
        for i in range(at, len(self.frames) - 1):
            if node.id in self.frames[i].known:
                return self._local(node, i)
            if not self.frames[i].name.startswith("<"):
                break
        return self._global(node)

    def _global(self, node: ast.Name) -> ast.expr:
        names = self.origins.names
        if node.id not in names:
            if hasattr(builtins, node.id):
                return node
            raise _Unknown
        if self._varies(node.id):
            return self._local(node, len(self.frames) - 1)
        value = names[node.id]
        if is_tensorflow(value) or (not isinstance(value, ModuleType) and is_graphs(value)):
            raise _Unknown
        function = self.origins.function_of(value)
        if function is not None and not self.origins.is_host(function):
            raise _Unknown
        drawing = isinstance(value, GENERATORS) or value in (np.random, random) if _is_simple(value) else False
        self.draws = self.draws or drawing or function is not None
        return ast.Name(node.id, ast.Load())

    def _varies(self, name: str) -> bool:
        """Whether a global name changes in a loop that goes on at the top of the program."""
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
            for loop in self._loops(len(self.frames) - 1) for n in ast.walk(loop)
        )  # fmt: skip

    def _loops(self, at: int) -> list[ast.AST]:
        """The loops around what a frame evaluates, the innermost first."""
        node: ast.AST | None = self.origins.by_extent.get(self.frames[at].extent)
        found: list[ast.AST] = []
        while node is not None and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            if isinstance(node, (ast.For, ast.While)):
                found.append(node)
            node = self.origins.above.get(node)
        return found

    def _local(self, node: ast.Name, at: int) -> ast.expr:
        """A name of a function, or of a loop at the top."""
        value = self.frames[at].known.get(node.id)
        function = self._function(at)
        if at == self._own and function is not None and not _stores(function, node.id):
            return ast.Name(node.id, ast.Load())
        argument = self._argument(node.id, at)
        known = _literal(value)
        if known is not None:
            if isinstance(argument, _SHORT):
                told = self._tried(argument, at + 1)
                return known if told is None else told
            if not isinstance(value, float) or (assigned := self._assigned(node.id, at)) is None:
                return known
            with suppress(_Unknown):  # what a number is made of says more
                return self._deeper(assigned, at)
            return known
        if name := self.origins.global_name(value):
            return self._global(ast.Name(name, ast.Load()))
        if argument is not None:
            return self._deeper(argument, at + 1)
        assigned = self._assigned(node.id, at)
        if assigned is None:
            raise _Unknown
        return self._deeper(assigned, at)

    def _tried(self, node: ast.expr, at: int) -> ast.expr | None:
        try:
            found = self._deeper(node, at)
        except _Unknown:
            return None
        return found if isinstance(found, _SHORT) else None

    def _deeper(self, node: ast.expr, at: int, local: dict[str, ast.expr] | None = None) -> ast.expr:
        if self._depth > _DEEPEST:
            raise _Unknown
        self._depth += 1
        try:
            found: ast.expr = self.read(node, at, local)
            return found
        finally:
            self._depth -= 1

    def _function(self, at: int) -> ast.FunctionDef | None:
        frame = self.frames[at]
        return self.origins.functions.get((frame.line, frame.name))

    def _argument(self, name: str, at: int) -> ast.expr | None:
        """The expression that was given for a parameter, which stands in the next frame."""
        function = self._function(at)
        call = self.origins.by_extent.get(self.frames[at + 1].extent) if at + 1 < len(self.frames) else None
        if function is None or not isinstance(call, ast.Call) or _stores(function, name):
            return None
        return _bound(function, call, isinstance(self.origins.above.get(function), ast.ClassDef)).get(name)

    def _assigned(self, name: str, at: int) -> ast.expr | None:
        """The only value that a name of a function, or of a loop at the top, is given on a line, in the same turn."""
        scope: ast.AST | None = self._function(at)
        loops = self._loops(at)
        scope = scope or (loops[-1] if loops else None)
        stores = _stores(scope, name) if scope is not None else []
        if len(stores) != 1:
            return None
        (store,) = stores
        statement = self._statement(store)
        around, inner = self.origins.above.get(statement), set(map(id, loops))
        while around is not None and around is not scope and not isinstance(around, ast.Module):
            if isinstance(around, (ast.For, ast.While)) and id(around) not in inner:
                return None
            around = self.origins.above.get(around)
        return self._assigned_value(store)

    def _statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.origins.above[node]
        return node

    def _assigned_value(self, store: ast.AST) -> ast.expr | None:
        """The expression that an assignment gives to one of its targets."""
        statement = self._statement(store)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        (target,) = statement.targets
        self.statements.add(place(statement))
        if target is store:
            return statement.value
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple) and store in target.elts:
            pairs = dict(zip(map(id, target.elts), statement.value.elts, strict=False))
            return pairs.get(id(store))
        return None

    # ---- attributes and calls ----------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, at: int, local: dict[str, ast.expr] | None) -> ast.expr | None:
        """A dtype, or an attribute of an object of the program; None if it is read part by part."""
        path = _path(node, self.origins.names)
        if path:
            if isinstance(self.value(node, len(self.frames) - 1), DType):
                return ast.Attribute(ast.Name("tf", ast.Load()), path.rpartition(".")[2], ast.Load())
            raise _Unknown
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        if local is not None:
            if root is not node.value or not self._methods or root.id != self._methods[-1][0]:
                return None
            held = self._methods[-1][1]
            value = getattr(held, node.attr, None)
        elif root.id in self.frames[at].known:
            held, value = self.value(node.value, at), self.value(node, at)
        else:
            return None
        if self._own is not None and self.frames[self._own].known.get("self") is held is not None:
            if node.attr not in vars(held) or is_graphs(value):
                return None
            self.draws = self.draws or isinstance(value, GENERATORS)
            return ast.Attribute(ast.Name("self", ast.Load()), node.attr, ast.Load())
        known = _literal(value)
        if known is None and (name := self.origins.global_name(value)):
            known = self._global(ast.Name(name, ast.Load()))
        return known if known is not None or local is not None else self._attribute_source(node, at)

    def _attribute_source(self, node: ast.Attribute, at: int) -> ast.expr | None:
        """The expression on the only line that sets an attribute, in a function that goes on."""
        held = self.value(node.value, at)
        for i in range(at, len(self.frames) - 1):
            function, known = self._function(i), self.frames[i].known
            stores = [n for n in ast.walk(function) if isinstance(n, ast.Attribute) and n.attr == node.attr
                      and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
                      and known.get(n.value.id) is held is not None] if function is not None else []  # fmt: skip
            if len(stores) == 1 and (given := self._assigned_value(stores[0])) is not None:
                return self._deeper(given, i)
        return None

    def _call(
        self, node: ast.Call, at: int, local: dict[str, ast.expr] | None, bound: frozenset[str]
    ) -> ast.expr | None:
        """The value that TensorFlow was given, or what a function of the program returns; None for any other call."""
        path = _path(node.func, self.origins.names)
        if path in _WRAPS and node.args:
            self.says_dtype = True
            found: ast.expr = self.read(node.args[0], at, local, bound)
            return found
        if path:
            raise _Unknown
        value = self.value(node.func, at) if local is None or not isinstance(node.func, ast.Name) else (
            self.origins.names.get(node.func.id))  # fmt: skip
        function = self.origins.function_of(getattr(value, "__func__", value))
        is_method = hasattr(value, "__self__")
        if function is None or (not is_method and self._is_kept(node.func, function)):
            return None
        self._methods.append((function.args.args[0].arg, getattr(value, "__self__", None)) if is_method else ("", None))
        try:
            return self._inside(function, node, at, local, is_method)
        finally:
            self._methods.pop()

    def _is_kept(self, name: ast.expr, function: ast.FunctionDef) -> bool:
        top = function in self.origins.tree.body
        return top and isinstance(name, ast.Name) and self.origins.is_host(function)

    def _inside(
        self, function: ast.FunctionDef, call: ast.Call, at: int, local: dict[str, ast.expr] | None, is_method: bool
    ) -> ast.expr:
        """The expression that a function of a few lines returns, in place of its call."""
        lines = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        *before, last = lines or [ast.Pass()]
        given = _bound(function, call, is_method)
        if not isinstance(last, ast.Return) or last.value is None or function.decorator_list:
            raise _Unknown
        inner = {name: self._deeper(x, at, local) for name, x in given.items()}
        if is_method and function.args.args:
            inner.pop(function.args.args[0].arg, None)
        for line in before:
            target = line.targets[0] if isinstance(line, ast.Assign) and len(line.targets) == 1 else None
            if not isinstance(target, ast.Name) or not isinstance(line, ast.Assign):
                raise _Unknown
            inner[target.id] = self._deeper(line.value, at, inner)
        return self._deeper(last.value, at, inner)

    # ---- values ------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, at: int) -> Any:
        """The value that an expression gives now, which changes nothing; None if that is not known."""
        known: dict[str, Any] = {}
        for frame in reversed(self.frames[at:-1]):
            known |= frame.known
        try:
            return eval(compile(ast.Expression(node), "<looked at>", "eval"), dict(self.origins.names), known)
        except Exception:  # noqa: BLE001  (then it is not known)
            return None

    def _looked(self, node: ast.expr, at: int) -> ast.expr | None:
        """The plain value of an expression that only looks, as ``int(x.get_shape()[1])``."""
        for n in ast.walk(node):
            if isinstance(n, ast.Call):
                f = n.func
                if not (f.id in LOOKING if isinstance(f, ast.Name) else getattr(f, "attr", "") in METHODS):
                    return None
            if isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)):
                return None
        return _literal(self.value(node, at))


# ---- syntax ----------------------------------------------------------------------------------------------------------


def _path(node: ast.expr, names: dict[str, Any]) -> str:
    """``"constant"`` for ``tf.constant``, whatever the module's name is in the program; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and is_tensorflow(names.get(node.id)):
        return ".".join(reversed(parts)).removeprefix("compat.v1.")
    return ""


def _bound(function: ast.FunctionDef, call: ast.Call, is_method: bool) -> dict[str, ast.expr]:
    """By parameter, what a call gives; nothing where that depends on how long a list is."""
    parameters = [a.arg for a in [*function.args.posonlyargs, *function.args.args]][int(is_method) :]
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    defaults = dict(zip(reversed(parameters), reversed(function.args.defaults), strict=False))
    given = dict(zip(parameters, call.args, strict=False)) | {str(k.arg): k.value for k in call.keywords}
    return {**defaults, **given}


def _stores(scope: ast.AST, name: str) -> list[ast.AST]:
    """The places where a function or loop gives a name something, not those of functions in it."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            found.append(node)
        todo += ast.iter_child_nodes(node)
    return found


def _literal(value: Any) -> ast.expr | None:
    """A plain value as an expression."""
    if isinstance(value, np.generic):
        value = value.item()
    text = None if value is None else plain(value)
    return None if text is None else ast.parse(text, mode="eval").body


def _is_simple(value: Any) -> bool:
    """Whether comparing it with something gives a truth value."""
    return isinstance(value, (ModuleType, *GENERATORS, FunctionType)) or is_own(type(value))


def _texts(value: Any) -> Any:
    """A list of texts as an array of the bytes that a tensor has; anything else as it is."""
    if not (isinstance(value, (list, tuple)) and value and all(isinstance(x, str) for x in value)):
        return value
    return np.array([x.encode() for x in value], object)


def _same(value: np.ndarray, array: np.ndarray) -> bool:
    return value.shape == array.shape and bool(np.array_equal(value.astype(array.dtype), array))
