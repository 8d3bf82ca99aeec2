"""The type stubs of the front ends, made from their tables of names: ``python -m tests.stubs`` writes them.

Both front ends make most of their functions at import time, so a type checker cannot read them in the source. A stub
says what it needs, and is kept, since a checkout that nobody has installed has types too, and ours are checked by it:
for each function of a table its parameters, and whether it gives one tensor or several. Everything
else is re-exported from the module that defines it, where its types are.
"""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import graph_api
import graph_api.names
import tape_api
import tape_api.names
from dualgrad.frontend.bound import is_shared
from dualgrad.frontend.legacy import Old
from dualgrad.frontend.namespace import listing
from engine.core.dtypes import DType
from engine.core.op import Op

HOME = Path(__file__).resolve().parent.parent
TENSORS = {"graph_api": "graph_api.graphs.tensor.Tensor", "tape_api": "tape_api.tensor.Tensor"}
FRONT_ENDS: dict[str, tuple[ModuleType, Any]] = {
    "graph_api": (graph_api, graph_api.names.TABLE),
    "tape_api": (tape_api, tape_api.names.TABLE),
}
HEADER = '''"""Types of `{front_end}`. Made by ``python -m tests.stubs``; a test fails when this is stale."""

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
'''
RESERVED = {"None", "False", "True", "and", "or", "not", "is", "in", "lambda", "print"}


NAMED_TUPLES: dict[str, tuple[str, ...]] = {}
"""The fields of the named tuples that functions return, which are tensors of the front end here."""


SHORT = {"graph_api": "graph", "tape_api": "tape"}
"""What `dualgrad` calls them."""


def path_of(front_end: str) -> Path:
    """Where the stub of a front end lies."""
    return HOME / front_end / "__init__.pyi"


def short_path_of(front_end: str) -> Path:
    """Where the one lies that gives it its name in `dualgrad`."""
    return HOME / "dualgrad" / f"{SHORT[front_end]}.pyi"


def short_text(front_end: str) -> str:
    """The latter: all names, and where one is a module of the source too, which a checker might mean, the class."""
    text = path_of(front_end).read_text()
    own = dict(re.findall(r"^(\w+): TypeAlias = (_\1)$", text, re.M))
    defined = re.findall(r"^(?:def |class )?([a-zA-Z]\w*)(?=\(|:| = )", text, re.M)
    handed_on = re.findall(r"^from [\w.]+ import (\w+) as \1$", text, re.M)
    names = sorted({*defined, *handed_on} - {*own, "from", "import", "TensorLike"})
    lines = [f'"""`{front_end}` as a part of `dualgrad`. Made by ``python -m tests.stubs``."""', ""]
    lines += ["from typing import TypeAlias", "", f"from {front_end} import __version__ as __version__"]
    lines += [f"from {front_end} import {name} as {name}" for name in names]
    lines += [f"from {front_end} import {hidden}" for hidden in own.values()]
    return "\n".join([*lines, "", *(f"{name}: TypeAlias = {hidden}" for name, hidden in own.items()), ""])


# ---- signatures ------------------------------------------------------------------------------------------------------


def operand_names(function: Callable[..., Any]) -> set[str]:
    """The parameters that are tensors."""
    if isinstance(function, Op):
        return {name.lstrip("*") for name in function.args}
    same, alone = getattr(function, "__operands__", ((), ()))
    return {name.lstrip("*") for name in (*same, *alone)}


def is_bound(function: Any) -> bool:
    """Whether it is a function of both front ends, bound to one."""
    return (
        isinstance(function, FunctionType)
        and function is not inspect.unwrap(function)
        and is_shared(inspect.unwrap(function))
    )


def parameters(function: Callable[..., Any]) -> list[tuple[str, bool, bool]]:
    """Of each parameter its name, whether it may be left out, and whether it takes all positional ones."""
    if isinstance(function, Op):
        return [(name.lstrip("*"), False, name.startswith("*")) for name in function.args]
    found = inspect.signature(function).parameters.values()
    return [
        (p.name, p.default is not p.empty, p.kind is p.VAR_POSITIONAL) for p in found if p.kind is not p.VAR_KEYWORD
    ]


def result(function: Callable[..., Any]) -> str:
    """The annotation of the result: ``Operand`` or ``Any`` in the engine is one tensor here."""
    if isinstance(function, Op):
        return "builtins.tuple[Tensor, ...]" if function.multi else "Tensor"
    annotation = inspect.signature(function).return_annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
    kind = inspect.unwrap(function).__globals__.get(text)
    if hasattr(kind, "_fields"):
        NAMED_TUPLES[kind.__name__] = kind._fields
        return f"_{kind.__name__}"
    text = text.replace("TensorShape", "_TensorShape").replace("Operation", "_Operation")
    # a front end has functions of its own called tuple, complex...
    text = re.sub(r"\b(Any|Operand|EagerTensor|Symbol|np\.ndarray)\b", "Tensor", text)
    return re.sub(r"\b(tuple|list)\[", r"builtins.\1[", text)


def signature(row: Any) -> str:
    """The parameters and the result of the public function for a row of a table."""
    function = row.function if isinstance(row, Old) else row
    tensors = operand_names(function)
    given = parameters(function)
    renames = dict(row.renames) if isinstance(row, Old) else {}
    optional = {name: may for name, may, _ in given}
    optional.update(dict.fromkeys([*renames, *renames.values()], True))
    order = [*row.order] if isinstance(row, Old) and row.order is not None else [name for name, _, _ in given]
    variadic = {name for name, _, many in given if many}
    ignored = list(row.ignored) if isinstance(row, Old) else []
    further = [n for n in [*(name for name, _, _ in given), *renames, *ignored] if n not in order]
    if "name" not in (*order, *further) and not is_bound(function):
        (further if variadic else order).append("name")

    def typed(name: str) -> str:
        kind = "TensorLike" if renames.get(name, name) in tensors else "str | None" if name == "name" else "Any"
        if name in variadic:
            return f"*{name}: {kind}"
        return f"{name}: {kind}" + (" = ..." if optional.get(name, True) else "")

    # what may be left out stands behind what may not: such calls are made by keyword
    positional = [typed(n) for n in order]
    seen, texts = False, []
    for text in positional:
        seen = seen or text.endswith("= ...")
        texts.append(text + " = ..." if seen and not text.endswith("= ...") and not text.startswith("*") else text)
    if further and not variadic:
        texts.append("*")
    texts += [typed(n) for n in further]
    return f"({', '.join(texts)}) -> {result(function)}"


@functools.cache
def defined(module: ModuleType | None) -> frozenset[str]:
    """The classes in the source of a module."""
    if not hasattr(module, "__file__"):
        return frozenset()
    return frozenset(n.name for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.ClassDef))


def says_all(module: ModuleType) -> bool:
    """Whether the source of a module names all that it offers, so that a type checker can read it there."""
    inner = [value for value in vars(module).values() if isinstance(value, ModuleType)]
    if not all(says_all(i) for i in inner if i.__name__.startswith(f"{module.__name__}.")):
        return False
    if not hasattr(module, "__file__"):
        return True
    named: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            named |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            named.add(node.id)
    return {name for name in listing(module) if not name.startswith("_")} <= named


# ---- stubs -----------------------------------------------------------------------------------------------------------


class Stub:
    """The lines of one front end's stub, and what they import."""

    def __init__(self, front_end: str) -> None:
        self.front_end = front_end
        self.module, table = FRONT_ENDS[front_end]
        self.rows = {path: row for row, names in table for path in names.split()}
        self.imports: set[str] = set()

    def lines(self) -> Iterator[str]:
        """Everything behind the imports."""
        for name in dir(self.module):
            value = getattr(self.module, name)
            if not name.startswith("_") and value is not self.module:
                yield from self.entry(name, value, "", 0)
        yield "__version__: str"

    def entry(self, name: str, value: Any, before: str, depth: int) -> Iterator[str]:
        """The lines for one name."""
        path, indent = f"{before}{name}", "    " * depth
        if not name.isidentifier() or name in RESERVED:
            return
        if path in self.rows:
            if depth:
                yield f"{indent}@staticmethod"
            yield f"{indent}def {name}{signature(self.rows[path])}: ..."
        elif isinstance(value, ModuleType):
            yield from self.of_module(name, value, path, depth)
        elif isinstance(value, DType):
            yield f"{indent}{name}: _DType"
        elif isinstance(value, (type, FunctionType)) and self.is_importable(value):
            yield from self.of_definition(name, value, depth)
        elif callable(value):
            if depth:
                yield f"{indent}@staticmethod"
            text = signature(value) if is_bound(value) else "(*args: Any, **kwargs: Any) -> Any"
            yield f"{indent}def {name}{text}: ..."
        else:
            kind = "dict[Any, Any]" if isinstance(value, dict) else f"builtins.{type(value).__name__}"
            plain = isinstance(value, (bool, int, float, complex, str, dict))
            kind = kind if plain and type(value).__module__ == "builtins" else "Any"
            yield f"{indent}{name}: {'None' if value is None else kind}"

    def of_module(self, name: str, value: ModuleType, path: str, depth: int) -> Iterator[str]:
        """A module of the source is imported; a namespace is a class that is never made."""
        indent = "    " * depth
        if value.__name__ in FRONT_ENDS or ".compat" in value.__name__:
            yield f"{indent}{name}: Any"
        elif hasattr(value, "__file__") and (not self.is_part(value) or says_all(value)):
            parent, _, own = value.__name__.rpartition(".")
            alias = f"_{value.__name__.replace('.', '_')}"
            self.imports.add(f"from {parent} import {own} as {alias}" if parent else f"import {own} as {alias}")
            yield f"{indent}{name} = {alias}"
        else:
            # names that wait until they are used, too
            keys = [key for key in listing(value) if not key.startswith("_") and self.is_offered(getattr(value, key))]
            # not under the name of a module that there is: type checkers would take one for the other
            own = f"_{name}" if hasattr(value, "__file__") else name
            yield f"{indent}class {own}:" + ("" if keys else " ...")
            for key in keys:
                yield from self.entry(key, getattr(value, key), f"{path}.", depth + 1)
            if own != name:
                yield f"{indent}{name}: TypeAlias = {own}"

    def is_part(self, value: ModuleType) -> bool:
        """Whether a module is one of the front end's."""
        return value.__name__.startswith(f"{self.front_end}.")

    def is_offered(self, value: Any) -> bool:
        """Whether it may be for users: not what a module of the front end imports from elsewhere."""
        inside = ("engine", "dualgrad", "optim", self.front_end)
        where = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        return not isinstance(where, str) or where.partition(".")[0] in inside

    def is_importable(self, value: Any) -> bool:
        """Whether the module that it names has it under its name."""
        module = sys.modules.get(value.__module__)
        if getattr(module, value.__name__, None) is not value or not value.__qualname__.isidentifier():
            return False
        # a function that was made elsewhere cannot be read there
        own = getattr(module, "__file__", None)
        return isinstance(value, type) or inspect.unwrap(value).__code__.co_filename == own

    def of_definition(self, name: str, value: Any, depth: int) -> Iterator[str]:
        """A class or function that its own module defines; for a class that was made while loading, its base."""
        if isinstance(value, type):
            value = next((k for k in value.__mro__ if k.__name__ in defined(sys.modules.get(k.__module__))), value)
        # a stub hands on what it imports under its own name only (PEP 484)
        if not depth and name == value.__name__:
            self.imports.add(f"from {value.__module__} import {name} as {name}")
            return
        own = f"_{value.__module__.replace('.', '_')}_{value.__name__}"
        self.imports.add(f"from {value.__module__} import {value.__name__} as {own}")
        wrapper = f"staticmethod({own})" if depth and isinstance(value, FunctionType) else own
        # without the word, what is imported in a circle counts as a variable
        kind = ": TypeAlias" if isinstance(value, type) else ""
        yield f"{'    ' * depth}{name}{kind} = {wrapper}"

    def text(self) -> str:
        """The whole file."""
        NAMED_TUPLES.clear()
        body = [line for line in self.lines() if line]
        module, _, tensor = TENSORS[self.front_end].rpartition(".")
        if tensor == "Tensor":
            self.imports.add(f"from {module} import Tensor as Tensor")
        self.imports.add("from engine.core.dtypes import DType as _DType")
        self.imports.add("from engine.core.operands import Operation as _Operation")
        self.imports.add("from engine.ops.indexed_slices import IndexedSlices as IndexedSlices")
        self.imports.add("from engine.core.tensor_shape import TensorShape as _TensorShape")
        self.imports.add("from engine.core.value import Value as _Value")
        kinds = (
            "_Value",
            "IndexedSlices",
            "np.ndarray",
            "np.generic",
            "builtins.complex",
            "str",
            "Sequence[Any]",
            "None",
        )
        like = f"TensorLike = {' | '.join(kinds)}"
        named = [
            line
            for name, fields in sorted(NAMED_TUPLES.items())
            for line in (f"class _{name}(NamedTuple):", *map(_field, fields), "")
        ]
        head = HEADER.format(front_end=self.front_end) + "\n".join(sorted(self.imports))
        return "\n".join([head, "", like, "", *named, *body, ""])


def _field(name: str) -> str:
    """A field of a named tuple; one that hides a method of tuples may be anything."""
    return f"    {name}: {'Any' if hasattr(tuple, name) else 'Tensor'}"


def main() -> None:
    """Write both."""
    for front_end in FRONT_ENDS:
        path_of(front_end).write_text(Stub(front_end).text())
        short_path_of(front_end).write_text(short_text(front_end))


if __name__ == "__main__":
    main()
