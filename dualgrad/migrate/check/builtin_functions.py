"""Python's own functions that hand values on: what calling them gives, for `inference`."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from dualgrad.migrate.check.modules import imports
from dualgrad.migrate.check.values import (
    NOTHING,
    Box,
    Fixed,
    Foreign,
    Instance,
    Local,
    Made,
    Many,
    Path,
    Unknown,
    Values,
    union,
)

Inference: TypeAlias = Any
"""The caller, `dualgrad.migrate.check.inference.Inference`."""

THE_SAME = {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "dict", "filter", "OrderedDict", "deque"}
AN_ELEMENT = {"next", "max", "min", "sum"}
HANDED_ON = {"functools.partial", "functools.wraps", "copy.copy", "copy.deepcopy", "contextlib.closing"}
CONTAINERS = (Box, Many, Fixed)


def call(inference: Inference, node: ast.Call, called: Values) -> Values | None:
    """The results of a call if it is one of these; None if it is another's."""
    if isinstance(node.func, ast.Name) and inference.scopes.of[node].find(node.func.id) is None:
        return _builtin(inference, node, node.func.id)
    for value in called:
        if isinstance(value, Foreign):
            return _foreign(inference, node, value.path)
    if isinstance(node.func, ast.Attribute):
        return _of_container(inference, node.func)
    return None


def _builtin(inference: Inference, node: ast.Call, name: str) -> Values | None:
    arguments = [inference.values_of(a) for a in node.args]
    if name in THE_SAME and arguments:
        return frozenset({Many(inference.elements(arguments[-1]))})
    if name in AN_ELEMENT and arguments:
        return union(inference.elements(arguments[0]), *arguments[1:])
    if name == "zip":
        return frozenset({Many(frozenset({Fixed(tuple(inference.elements(a) for a in arguments))}))})
    if name == "enumerate" and arguments:
        return frozenset({Many(frozenset({Fixed((NOTHING, inference.elements(arguments[0])))}))})
    if name == "map" and len(arguments) > 1:
        return frozenset({Many(union(*(inference.result(v, node) for v in arguments[0])))})
    if name == "getattr" and len(arguments) > 1:
        return _looked_up(inference, node.args[:2]) | union(*arguments[2:])
    if name == "super":
        return _super(inference, node)
    if name == "__import__":
        return _imported(inference, node, whole=False)
    return None if inference.values_of(node.func) else NOTHING


def _looked_up(inference: Inference, arguments: list[ast.expr]) -> Values:
    """The results of ``getattr``."""
    base, key = inference.values_of(arguments[0]), arguments[1]
    if isinstance(key, ast.Constant):
        return inference.attribute(base, str(key.value))
    ours = any(isinstance(v, (Path, Instance)) for v in base)
    return frozenset({Unknown(f"getattr({ast.unparse(arguments[0])}, …)")}) if ours else NOTHING


def _super(inference: Inference, node: ast.Call) -> Values:
    scope = inference.within(node, ast.ClassDef)
    if scope is None or not isinstance(scope.node, ast.ClassDef):
        return NOTHING
    bases = inference.bases(scope.node)
    own = {Made(b.node) for b in bases if isinstance(b, Local) and isinstance(b.node, ast.ClassDef)}
    return frozenset([*own, *(b for b in bases if not isinstance(b, Local))])


def _foreign(inference: Inference, node: ast.Call, path: str) -> Values:
    if path in HANDED_ON and node.args:
        return inference.values_of(node.args[0])
    if path == "importlib.import_module":
        return _imported(inference, node)
    if path.rpartition(".")[2] in THE_SAME and node.args:
        return frozenset({Many(inference.elements(inference.values_of(node.args[-1])))})
    return NOTHING


def _imported(inference: Inference, node: ast.Call, whole: bool = True) -> Values:
    what = next((w for w in imports(node) if w.node is node), None)
    return NOTHING if what is None else inference.source(inference.scopes.imported(node, what, whole))


def _of_container(inference: Inference, node: ast.Attribute) -> Values | None:
    """A method of a list or dict."""
    held = frozenset(v for v in inference.values_of(node.value) if isinstance(v, CONTAINERS))
    if not held:
        return None
    inner = inference.elements(held)
    if node.attr in ("values", "copy"):
        return frozenset({Many(inner)})
    if node.attr == "items":
        return frozenset({Many(frozenset({Fixed((NOTHING, inner))}))})
    return inner if node.attr in ("get", "pop", "setdefault", "popleft", "popitem") else NOTHING
