"""Facts that a program asks its graph for besides running it, as plain values: counts, names, shapes, texts.

Tape code has no graph to ask. What such an expression gave is known, for the program has run: it is evaluated once
more, when the program has ended, and its value is written down in its place.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import math
import operator
import re
import sys
from collections.abc import Callable, Mapping
from collections.abc import Iterator as PythonIterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import graph_api
import tape_api
from dualgrad.data.dataset import BaseDataset
from dualgrad.migrate import watch
from dualgrad.migrate.check.scopes import Scopes
from dualgrad.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from engine.core.variable import Variable
from graph_api.graphs.graph import Graph
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.iterators import Iterator
from optim.optimizer import Optimizer

_LOOKING = (
    "all any bool dict enumerate float getattr hasattr int isinstance len list map max min range repr reversed "
    "round set sorted str sum tuple type zip"
)
LOOKING = frozenset(_LOOKING.split())
"""Functions of Python that only look."""
_METHODS = (
    "all_variables as_list average count endswith format get get_attr get_collection get_default_graph "
    "get_operation_by_name get_operations get_shape get_slot get_slot_names get_tensor_by_name get_variable_scope "
    "global_variables index is_compatible_with is_fully_defined items join keys local_variables lower lstrip "
    "model_variables moving_average_variables name_from_scope_name num_elements prod replace rsplit rstrip split "
    "startswith strip trainable_variables upper values variables_to_restore"
)
METHODS = frozenset(_METHODS.split())
"""Methods and functions of graphs, of texts and of containers that only look."""
_PLAIN = (str, bytes, int, float, bool, type(None))
_LONGEST = 2000
_APART = (
    "dualgrad.platform",
    "dualgrad.extras.mnist",
    "dualgrad.files.",
    "engine.runtime.errors",
    "engine.core.dtypes",
)
"""Modules of TensorFlow's surface that know no graphs; tape code has them too."""


class Facts:
    """Evaluates the expressions of a program that only look at its graph.

    Parameters
    ----------
    tree : ast.Module
        The program.
    scopes : Scopes
        Its names.
    names : mapping
        Its global names, and what they stood for in the end.
    local : callable
        What a name of a function stood for; None if it is not known, or changed.
    """

    def __init__(
        self, tree: ast.Module, scopes: Scopes, names: Mapping[str, Any], local: Callable[[ast.Name], Any]
    ) -> None:
        self.scopes, self.names, self.local = scopes, names, local
        graphs = {id(g): g for v in names.values() for g in _graphs(v, 2)}
        self._graph = next(iter(graphs.values())) if len(graphs) == 1 else None
        self._loops = [set(ast.walk(n)) for n in ast.walk(tree) if isinstance(n, (ast.For, ast.AsyncFor, ast.While))]
        self._named: dict[str, list[ast.Name]] = {}
        for n in ast.walk(tree):
            if isinstance(n, ast.Name):
                self._named.setdefault(n.id, []).append(n)

    def known_expressions(self, tree: ast.AST) -> PythonIterator[tuple[ast.expr, str]]:
        """The expressions that are known, the outermost ones, each with the text that says its value."""
        for inner in ast.iter_child_nodes(tree):
            text = self._text(inner, tree) if isinstance(inner, ast.expr) else None
            if text is None:
                yield from self.known_expressions(inner)
            elif isinstance(inner, ast.expr):
                yield inner, text

    def is_final(self, leaf: ast.Name) -> bool:
        """Whether a global name has, when a line is reached, the value that it has in the end."""
        bindings = self.scopes.of[leaf].find(leaf.id)
        if bindings is not self.scopes.module.bound.get(leaf.id):
            return False
        around = {n for loop in self._loops if leaf in loop for n in loop}
        stores = [n for n in self._named[leaf.id] if not isinstance(n.ctx, ast.Load)]
        if any(n in around for n in stores):
            return False
        return len(bindings or ()) == 1 or all(n.lineno < leaf.lineno for n in stores)

    def is_set_in_loop(self, name: ast.Name, function: ast.AST) -> bool:
        """Whether a loop within a function gives one of its names other values, perhaps."""
        stores = [n for n in self._named[name.id] if not isinstance(n.ctx, ast.Load)]
        sources = self.scopes.of[name].find(name.id)
        own = [n for n in stores if self.scopes.of[n].find(n.id) is sources]
        return any(n in loop and function not in loop for n in own for loop in self._loops)

    def _text(self, node: ast.expr, parent: ast.AST) -> str | None:
        shown = _is_shown(node, parent)
        if not isinstance(node, (ast.Attribute, ast.Call, ast.Subscript, ast.Compare, ast.ListComp, ast.SetComp,
                                 ast.DictComp)) and not (shown and isinstance(node, ast.Name)):  # fmt: skip
            return None
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or not self._looks(node):
            return None
        try:
            with self._graph.as_default() if self._graph is not None else contextlib.nullcontext():
                value = self._evaluated(node)
            text = plain(value)
            return repr(str(value)) if text is None and shown and is_graphs(value) else text
        except Exception:  # noqa: BLE001  (then it is no plain value)
            return None

    def handles(self, node: ast.expr, label: Callable[[str], str]) -> str | None:
        """A part of the graph, or a structure of such parts, with labels in their place; None if it is none."""
        value = self.value(node)
        return None if value is None else labeled(value, label)

    def value(self, node: ast.expr) -> Any:
        """A part of the graph, or a structure of such parts; None if it is not known."""
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and self._looks(node):
            with contextlib.suppress(Exception):  # then it is not known
                return self._evaluated(node)
        return None

    def _evaluated(self, node: ast.expr) -> Any:
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        local = {n.id: self.local(n) for n in names if self._is_local(n)}
        return eval(compile(ast.Expression(node), "<looked at>", "eval"), {**self.names, **local})

    def _is_local(self, node: ast.Name) -> bool:
        """Whether it is a name of a function."""
        sources = self.scopes.of[node].find(node.id)
        return sources is not None and sources is not self.scopes.module.bound.get(node.id)

    def _looks(self, node: ast.expr) -> bool:
        """Whether it looks at the graph, changes nothing, and uses nothing that is known inside of a function only."""
        inside = list(ast.walk(node))
        own = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        of_graph = False
        for n in inside:
            if isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)):
                return False
            if isinstance(n, ast.Call):
                f = n.func
                known = f.id in LOOKING if isinstance(f, ast.Name) else getattr(f, "attr", "") in METHODS
                if not known:
                    return False
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in own:
                if self._is_local(n):
                    value = self.local(n)
                    if not is_graphs(value) or not _is_final_part(value, n, inside):
                        return False
                    of_graph = True
                    continue
                if n.id not in self.names:
                    if self.scopes.of[n].find(n.id) is not None or not hasattr(builtins, n.id):
                        return False
                    continue
                if not self.is_final(n):
                    return False
                value = self.names[n.id]
                if not isinstance(value, ModuleType) and not _is_final_part(value, n, inside):
                    return False
                of_graph = of_graph or is_tensorflow(value) or is_graphs(value)
        return of_graph


def _is_final_part(value: Any, name: ast.Name, inside: list[ast.AST]) -> bool:
    """Whether what is asked of a value is final: of an object of the program only parts of the graph are."""
    if not is_own(type(value)) or isinstance(value, tuple):
        return True
    held = [a.attr for a in inside if isinstance(a, ast.Attribute) and a.value is name]
    return bool(held) and all(is_graphs(held_by(value, attribute)) for attribute in held)


def held_by(value: Any, name: str) -> Any:
    """An attribute of an object, a property or field too; None if it has it not."""
    if isinstance(value, tuple) or isinstance(getattr(type(value), name, None), property):
        with contextlib.suppress(Exception):  # of the program's own property
            return getattr(value, name)
        return None
    return getattr(value, "__dict__", {}).get(name)


def shared(path: str) -> str | None:
    """The name in tape code of something that has nothing to do with graphs: flags, files, checkpoints, errors.

    >>> shared("gfile.Exists"), shared("errors.OutOfRangeError"), shared("matmul")
    ('tf.compat.v1.gfile.Exists', 'tf.errors.OutOfRangeError', None)
    >>> shared("python.platform.flags.FLAGS")
    'tf.compat.v1.flags.FLAGS'
    """
    path = re.sub(r"^python\.(\w+\.)*(?=(flags|gfile|app)\b)", "", path)  # where TensorFlow itself keeps it
    for prefix in ("", "compat.v1."):
        with contextlib.suppress(AttributeError):
            value = operator.attrgetter(path)(graph_api)
            if value is operator.attrgetter(prefix + path)(tape_api) and (_is_apart(path, graph_api)):
                return f"tf.{prefix}{path}"
    return None


def same_function(path: str) -> str | None:
    """The name in tape code of a function that is called the same there.

    >>> same_function("nn.relu"), same_function("placeholder")
    ('tf.nn.relu', None)
    """
    with contextlib.suppress(AttributeError):
        one, other = [operator.attrgetter(path)(module) for module in (graph_api, tape_api)]
        return f"tf.{path}" if isinstance(one, FunctionType) and callable(other) else None
    return None


def reached(path: str) -> str | None:
    """The name in tape code of what has this name in graphs, there or among what is kept of TensorFlow 1."""
    for prefix in ("", "compat.v1."):
        with contextlib.suppress(AttributeError):
            operator.attrgetter(prefix + path)(tape_api)
            return f"tf.{prefix}{path}"
    return None


def _is_apart(path: str, own: Any) -> bool:
    """Whether something, or the namespace in which it is, lies in a module that knows no graphs."""
    found, parent = operator.attrgetter(path)(own), path.rpartition(".")[0]
    if isinstance(found, ModuleType):
        return found.__name__.startswith(_APART)
    where = getattr(found, "__module__", None)
    if isinstance(found, type):
        return is_apart(found)
    return where.startswith(_APART) if isinstance(where, str) else bool(parent) and _is_apart(parent, own)


def is_apart(kind: type) -> bool:
    """Whether the objects of a class have nothing to do with graphs."""
    return kind is SparseTensorValue or kind.__module__.startswith(_APART)


def is_tensorflow(value: Any) -> bool:
    """Whether it is the module that stands for TensorFlow."""
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] in ("tensorflow", "graph_api")


def is_graphs(value: Any, depth: int = 3) -> bool:
    """Whether it is a part of a graph, or holds one."""
    if isinstance(value, (Tensor, Operation, Variable, Graph, Optimizer)):
        return True
    if isinstance(value, (BaseDataset, Iterator)):
        return False
    if type(value).__module__.partition(".")[0] in ("graph_api", "optim"):
        return True
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return any(is_graphs(v, depth - 1) for v in value)
    if depth and isinstance(value, dict):
        return any(is_graphs(v, depth - 1) for pair in value.items() for v in pair)
    return bool(depth) and is_own(type(value)) and any(
        is_graphs(v, depth - 1) for v in getattr(value, "__dict__", {}).values()
    )  # fmt: skip


def is_own(thing: Any) -> bool:
    """Whether a module, or a function or class, is the program's own, of the file that runs or of one beside it."""
    module = thing if isinstance(thing, ModuleType) else sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    return module is not None and (module.__name__ == "__main__" or (isinstance(file, str) and watch.is_users(file)))


def _graphs(value: Any, depth: int) -> PythonIterator[Graph]:
    """The graphs that something belongs to."""
    graph = value if isinstance(value, Graph) else getattr(value, "graph", None)
    if isinstance(graph, Graph):
        yield graph
    elif depth and isinstance(value, (list, tuple)):
        for v in value:
            yield from _graphs(v, depth - 1)


def _is_shown(node: ast.expr, parent: ast.AST) -> bool:
    """Whether it is only turned into text."""
    if isinstance(parent, ast.FormattedValue):
        return parent.conversion in (-1, 115) and parent.format_spec is None
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    return (isinstance(parent.func, ast.Name) and parent.func.id == "print") or (
        isinstance(parent.func, ast.Attribute) and parent.func.attr == "format"
    )


def labeled(value: Any, label: Callable[[str], str]) -> str | None:
    """A part of the graph, or a structure of such parts, as text with labels in their place; None if it is none."""
    if isinstance(value, (Tensor, Operation, Variable)):
        return repr(label(value.name))
    if type(value) in (list, tuple):
        inside = [labeled(v, label) for v in value]
        if None in inside:
            return None
        text = ", ".join(map(str, inside))
        return f"[{text}]" if type(value) is list else f"({text}{',' * (len(inside) == 1)})"
    if isinstance(value, SparseTensor):  # as a session gives it, and takes it
        value = SparseTensorValue(value.indices, value.values, value.dense_shape)
    if isinstance(value, tuple) and hasattr(value, "_fields") and type(value).__name__.isidentifier():
        inside = [labeled(v, label) for v in value]
        kind = type(value).__name__
        made = f'namedtuple("{kind}", "{" ".join(value._fields)}")({", ".join(map(str, inside))})'
        return None if None in inside else made
    if type(value) is dict:
        pairs = [(labeled(k, label), labeled(v, label)) for k, v in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return plain(value)


def plain(value: Any) -> str | None:
    """A value as Python writes it; None if it is not made of numbers, texts and containers."""
    if isinstance(value, np.float64):
        value = float(value)
    if not _is_plain(value):
        return None
    text = repr(value)
    return text if len(text) <= _LONGEST else None


def _is_plain(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is set:
        return bool(value) and all(map(_is_plain, value))
    if type(value) is dict:
        return all(_is_plain(v) for pair in value.items() for v in pair)
    return type(value) in _PLAIN
