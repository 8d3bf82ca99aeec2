"""Run a program's own files as if NumPy and Python still had what it was written for: ``dualgrad run --compat``.

The files are rewritten when they are compiled, in memory: attributes and imports whose names `removed` knows are looked
up by functions that try what there is first, then the table; ``'%f' % x`` and ``float(x)`` take arrays of one element.
Lines stay where they are. Nothing else sees the change: NumPy, other packages and Python itself are as they were.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from dualgrad.migrate.removed import BUILTINS, MODULES, REMOVED, standing_for

_ATTRIBUTES = {name.rpartition(".")[2] for name in REMOVED}
_NUMBERS = ("complex", "float", "int")


def _attribute(value: Any, name: str) -> Any:
    """``value.name``, or what stands for it today."""
    try:
        found = getattr(value, name)
    except AttributeError:
        owners = [value.__name__] if isinstance(value, ModuleType) else [c.__name__ for c in type(value).__mro__]
        for owner in owners:
            if f"{owner}.{name}" in REMOVED:
                stand_in = standing_for(f"{owner}.{name}")
                return stand_in if isinstance(value, ModuleType) else functools.partial(stand_in, value)
        raise
    return found


def _imported(module: str, name: str) -> Any:
    """The object that ``from module import name`` gives."""
    try:
        return getattr(importlib.import_module(module), name)
    except (AttributeError, ModuleNotFoundError):
        if f"{module}.{name}" in REMOVED:
            return standing_for(f"{module}.{name}")
        if module in MODULES:
            return getattr(importlib.import_module(MODULES[module]), name)
        raise


def _module(name: str) -> ModuleType:
    """The module of that name, or that which has its names today."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    return importlib.import_module(MODULES[name])


def _lone(value: Any) -> Any:
    """An array of one element as a number; all else as it is."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim and value.size == 1 else value


def _number(kind: Callable[[Any], Any], *values: Any, **others: Any) -> Any:
    """``float(x)`` and its like."""
    return kind(*map(_lone, values), **others)


def _formatted(text: Any, values: Any) -> Any:
    """``text % values``."""
    try:
        return text % values
    except TypeError:
        return text % (tuple(map(_lone, values)) if isinstance(values, tuple) else _lone(values))


_HELPERS = {
    "__compat_attribute__": _attribute,
    "__compat_formatted__": _formatted,
    "__compat_imported__": _imported,
    "__compat_module__": _module,
    "__compat_number__": _number,
}


class _Rewriter(ast.NodeTransformer):
    """Puts calls of the helpers in the place of what they bridge."""

    def _call(self, name: str, like: ast.AST, *arguments: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
        return ast.fix_missing_locations(ast.copy_location(call, like))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``np.float``, ``d.iteritems``."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in _ATTRIBUTES:
            return self._call("__compat_attribute__", node, node.value, ast.Constant(node.attr))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """``'%f' % x``."""
        self.generic_visit(node)
        is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        if isinstance(node.op, ast.Mod) and is_text:
            return self._call("__compat_formatted__", node, node.left, node.right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``float(x)``."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS:
            node.args.insert(0, node.func)
            node.func = ast.copy_location(ast.Name("__compat_number__", ast.Load()), node.func)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """``import cPickle as pickle``."""
        kept = [alias for alias in node.names if alias.name not in MODULES]
        out: list[ast.stmt] = [ast.copy_location(ast.Import(kept), node)] if kept else []
        for alias in node.names:
            if alias.name in MODULES:
                value = self._call("__compat_module__", node, ast.Constant(alias.name))
                out.append(self._assigned(alias.asname or alias.name, value, node))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """``from collections import Mapping``."""
        if node.level or node.module is None:
            return [node]
        gone = [a for a in node.names if node.module in MODULES or f"{node.module}.{a.name}" in REMOVED]
        gone = [a for a in gone if a.name != "*"]
        kept = [alias for alias in node.names if alias not in gone]
        out: list[ast.stmt] = [ast.copy_location(ast.ImportFrom(node.module, kept, 0), node)] if kept else []
        for alias in gone:
            value = self._call("__compat_imported__", node, ast.Constant(node.module), ast.Constant(alias.name))
            out.append(self._assigned(alias.asname or alias.name, value, node))
        return out

    def _assigned(self, name: str, value: ast.expr, like: ast.stmt) -> ast.stmt:
        made = ast.Assign([ast.Name(name, ast.Store())], value)
        return ast.fix_missing_locations(ast.copy_location(made, like))


def compiled(source: bytes, file: str) -> CodeType:
    """A file's code, bridged."""
    tree = _Rewriter().visit(ast.parse(source, file))
    code: CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


def names() -> dict[str, Any]:
    """The names that a bridged module begins with."""
    return {**_HELPERS, **{name: standing_for(name) for name in BUILTINS}}


class _Loader(SourceFileLoader):
    """Loads one of the program's own modules, bridged. Nothing of it is kept in ``__pycache__``."""

    def get_code(self, fullname: str) -> CodeType:
        return compiled(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(names())
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules that lie in the program's folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of one of the program's own modules; None for every other one."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        file = Path(spec.origin).resolve()
        if not file.is_relative_to(self.folder) or "site-packages" in file.parts:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


def install(folder: Path) -> None:
    """Bridge the modules of a folder, from now on."""
    sys.meta_path.insert(0, Finder(folder))
