"""Every use of TensorFlow in a file, with a verdict: what `dualgrad check` reports."""

from __future__ import annotations

import ast
import inspect
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path as File
from pathlib import PurePath
from typing import Any

from dualgrad.frontend.absent import method_reason
from dualgrad.frontend.differences import difference
from dualgrad.frontend.signatures import Arguments, arguments_of
from dualgrad.migrate.check.inference import Inference
from dualgrad.migrate.check.members import lacks
from dualgrad.migrate.check.modules import Import, Modules, imports, together
from dualgrad.migrate.check.scopes import Expression, Imported, Own, Parameter, Scopes
from dualgrad.migrate.check.surface import MISSING, Surface, tensorflow_path
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
)
from dualgrad.migrate.removed import BUILTINS, removed

SAME, DIFFERS, MISSES, UNCHECKED = VERDICTS = ("same", "differs", "missing", "not checked")
GRAVITY = {SAME: 0, DIFFERS: 1, UNCHECKED: 2, MISSES: 3}
RUNS_TEXT = {"eval", "exec"}
LOOKS_UP = {"getattr"}
LIBRARIES = {
    "baselines", "edward", "gpflow", "horovod", "keras_contrib", "sonnet", "stable_baselines", "t3f", "tensor2tensor",
    "tensorforce", "tensorlayer", "tensorpack", "tf_agents", "tflearn", "trfl", "zhusuan",
}  # fmt: skip
"""Packages of others that import TensorFlow themselves."""
CONTAINERS_HAVE = {name for kind in (list, tuple, dict, set, deque) for name in dir(kind)}
"""Attributes of what a program keeps tensors in."""


@dataclass(frozen=True)
class Use:
    """One use of TensorFlow.

    Attributes
    ----------
    file : str
    line, column : int
        Where its name stands, from 1.
    kind : str
        ``"name"``, ``"keyword"``, ``"method"``, ``"attribute"`` or ``"file"``.
    name : str
        As a reader would look it up: ``"tf.nn.relu"``, ``"Tensor.get_shape"``.
    verdict : {"same", "differs", "missing", "not checked"}
    message : str
        What differs, what to use instead, or why it was not checked. Empty for ``"same"``, unless only running
        shows that it is used.
    """

    file: str
    line: int
    column: int
    kind: str
    name: str
    verdict: str
    message: str = ""

    @property
    def is_resolved(self) -> bool:
        """Whether nothing remains to be done or looked at."""
        return self.verdict in (SAME, DIFFERS)


def place(use: Use) -> tuple[int, int, str]:
    """Where a use stands in the order of its file."""
    return use.line, use.column, use.name


def uses(source: str | bytes, name: str, surface: Surface) -> list[Use]:
    r"""All uses of TensorFlow in a text, in the order of its lines.

    Parameters
    ----------
    source : str or bytes
    name : str
        The file's, for the report.
    surface : Surface
        The API that it was written for.

    Examples
    --------
    >>> text = "import tensorflow as T\nx = T.zeros([2])\ny = x.get_shape().as_lists()\n"
    >>> for use in uses(text, "p.py", Surface.of("1")):
    ...     print(use.line, use.name, use.verdict)
    1 tf same
    2 tf.zeros same
    3 Tensor.get_shape same
    3 GraphShape.as_lists missing
    """
    tree = parsed(source, name)
    return [tree] if isinstance(tree, Use) else Checker(tree, name, Inference(Scopes(tree), surface)).uses()


def uses_of(files: Mapping[File, str]) -> dict[File, list[Use]]:
    """Those in each of the files, which may import each other, written for these versions of the API."""
    trees = {file: parsed(file.read_bytes(), str(file)) for file in files}
    uses = {file: [tree] for file, tree in trees.items() if isinstance(tree, Use)}
    paths = {tree: file for file, tree in trees.items() if isinstance(tree, ast.Module)}
    modules = Modules({tree: file.resolve() for tree, file in paths.items()}, [file.resolve() for file in files])
    for group in together(modules):
        scopes = Scopes(*group, modules=modules)
        for version in {files[paths[tree]] for tree in group}:
            inference = Inference(scopes, Surface.of(version))
            for tree in group:
                if files[paths[tree]] == version:
                    uses[paths[tree]] = Checker(tree, str(paths[tree]), inference).uses()
    return uses


def parsed(source: str | bytes, name: str) -> ast.Module | Use:
    """The tree of a file, or why there is none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        return Use(name, line, 1, "file", name, UNCHECKED, f"Python 3 cannot read it: {getattr(error, 'msg', error)}")


class Checker:
    """The walk over one file."""

    def __init__(self, tree: ast.Module, name: str, inference: Inference) -> None:
        self.tree, self.name, self.inference = tree, name, inference
        self.scopes, self.surface = inference.scopes, inference.surface
        self.parents = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
        self.found: dict[Use, None] = {}

    def uses(self) -> list[Use]:
        """All of them, once each."""
        for what in imports(self.tree):
            self._import(what)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._attribute(node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._name(node)
            elif isinstance(node, ast.Call):
                self._call(node)
        return sorted(self.found, key=place)

    def _add(self, node: ast.AST, kind: str, name: str, verdict: str, message: str = "") -> None:
        if verdict == MISSES and node in self.scopes.guarded:
            verdict, message = DIFFERS, f"missing, and the program says what then: {message}"
        if isinstance(node, ast.Attribute):  # where its last part stands
            line, column = node.end_lineno or 1, (node.end_col_offset or 0) - len(node.attr)
        else:
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        self.found[Use(self.name, line, column + 1, kind, name, verdict, message)] = None

    # ---- names -------------------------------------------------------------------------------------------------------

    def _import(self, what: Import) -> None:
        module = self.scopes.imported(what.node, what)
        if isinstance(module, Own):
            self._own(what, module.module)
            return
        for name in what.names or ("*",):
            name = what.module if name == "*" else f"{what.module}.{name}"
            path = tensorflow_path(name)
            if path is not None:
                self._path(what.node, path)
            elif name.partition(".")[0].startswith(("tensorflow_", "tensorflowjs")):
                why = "a package that is built on TensorFlow's own insides: it needs TensorFlow itself"
                self._add(what.node, "name", name, MISSES, why)
            elif name.partition(".")[0] in LIBRARIES:
                why = "a package that is built on TensorFlow: only running tells whether what it uses is here"
                self._add(what.node, "name", name, UNCHECKED, why)
            elif (gone := removed(name)) is not None:
                self._add(what.node, "name", name, MISSES, gone)

    def _own(self, what: Import, base: File) -> None:
        """Say which modules of the program's own are not among the files, and which names they do not bind."""
        modules = self.scopes.modules
        away = "it is not among the files that are checked: check it together with this one"
        if base not in modules.at and (not what.names or not modules.has(base)):
            self._add(what.node, "file", str(what), UNCHECKED, away)
            return
        for name in what.names:
            label = f"{what}.{name}" if what.module else f"{what}{name}"
            if base not in modules.at and not modules.has(base / name):
                self._add(what.node, "file", label, UNCHECKED, away)
            elif not self._binds(base, name):
                said = f"{modules.at[base].name} does not bind it: only running tells what it is"
                self._add(what.node, "name", label, UNCHECKED, said)

    def _binds(self, base: File, name: str, seen: frozenset[File] = frozenset()) -> bool:
        """Whether a module has a name, or may have it from where that is said already or does not matter."""
        module = self.scopes.at.get(base)
        if module is None or name in module.bound or name == "*" or name.startswith("__"):
            return True
        stars = [s.module if isinstance(s, Own) else None for s in module.stars]
        inner = (s is None or self._binds(s, name, seen | {base}) for s in stars if s not in seen)
        return self.scopes.modules.has(base / name) or any(inner)

    def _path(self, node: ast.AST, path: str) -> None:
        verdict, message = self.surface.verdict(path)
        self._add(node, "name", f"tf.{path}".rstrip("."), verdict, message)

    def _name(self, node: ast.Name) -> None:
        sources = self.scopes.of[node].find(node.id)
        if sources is None and node.id in BUILTINS:
            self._add(node, "name", node.id, MISSES, removed(node.id) or "")
        if sources is not None and not any(isinstance(source, Imported) for source in sources):
            return  # a name of the program's own: what it stands for is reported where it is bound
        for value in self.inference.values_of(node):
            if isinstance(value, Path) and not self._continues(node, value.path):
                self._path(node, value.path)

    def _continues(self, node: ast.expr, path: str) -> bool:
        """Whether a longer name will be reported, or a module is only handed on."""
        parent = self.parents.get(node)
        longer = isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load)
        looked = self.surface.look(path)
        return inspect.ismodule(looked) or (longer and (looked is MISSING or inspect.isclass(looked)))

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith("__") and node.attr != "__dict__":
            return
        base = self.inference.values_of(node.value)
        if node.attr == "__dict__" and any(self._is_ours(v) for v in base):
            self._add(node, "name", "__dict__", UNCHECKED, "what is looked up in it is known only when it runs")
            return
        for foreign in sorted(v.path for v in self.inference.values_of(node) if isinstance(v, Foreign)):
            if (gone := removed(foreign)) is not None:
                self._add(node, "name", foreign, MISSES, gone)
        self._one_of(node, base)
        if any(isinstance(v, (Box, Fixed, Many)) for v in base) and node.attr in CONTAINERS_HAVE:
            return  # a name that stands for a list first and for a tensor made of it later
        objects: list[Value] = [v for v in base if isinstance(v, (Instance, Lost, Unknown, Made))]
        objects += [
            Instance(type(o)) for v in base if isinstance(v, Path) and _is_object(o := self.surface.look(v.path))
        ]
        if objects:
            self._member(node, objects)
        elif not base and self._is_call(node) and node.attr in self.surface.telling:
            self._taken_for(node, self.surface.telling[node.attr])

    def _one_of(self, node: ast.Attribute, base: Values) -> None:
        """The name below TensorFlow that the attribute is; a missing one only where none of several is here."""
        paths = sorted(v.path for v in self.inference.values_of(node) if isinstance(v, Path))
        below = [path for path in paths if self._below(base, path, node.attr)]
        here = [path for path in below if self.surface.has(path)]
        is_open = any(isinstance(v, (Unknown, Module, Foreign)) for v in base)
        for path in here or ([] if is_open else below):
            if not self._continues(node, path):
                self._path(node, path)

    @staticmethod
    def _below(base: Values, path: str, name: str) -> bool:
        return any(isinstance(v, Path) and f"{v.path}.{name}".lstrip(".") == path for v in base)

    def _is_call(self, node: ast.Attribute) -> bool:
        parent = self.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    @staticmethod
    def _is_ours(value: Value) -> bool:
        return isinstance(value, (Path, Instance))

    # ---- attributes and methods of objects ---------------------------------------------------------------------------

    def _member(self, node: ast.Attribute, objects: list[Value]) -> None:
        kind = "method" if self._is_call(node) else "attribute"
        if any(self._stores(value, node.attr) for value in objects):
            return
        judged = [j for value in objects if (j := self._judged(value, node.attr, kind)) is not None]
        if any(verdict == MISSES for _, verdict, _ in judged) and self._is_of_another(objects, node):
            return
        if judged:
            name, verdict, message = min(judged, key=lambda j: (GRAVITY[j[1]], j[0]))
            self._add(node, kind, name, verdict, message)

    def _stores(self, value: Value, name: str) -> bool:
        """Whether the program itself gives objects this attribute, or their class."""
        given = [v for base, _ in self.scopes.attributes.get(name, ()) for v in self.inference.values_of(base)]
        kinds = [self.surface.look(v.path) for v in given if isinstance(v, Path)]
        if isinstance(value, Made):
            return any(Made(node) in given for node in self._with_bases(value.node))
        return value in given or (isinstance(value, Instance) and any(kind in kinds for kind in value.kind.__mro__))

    def _is_of_another(self, objects: list[Value], node: ast.Attribute) -> bool:
        """Whether an object of another class must come this way, since TensorFlow's have no such attribute either."""
        if node.attr not in self.scopes.members | self.surface.elsewhere or self._is_made_here(node.value):
            return False
        kinds = [value.kind for value in objects if isinstance(value, Instance)]
        return not any(lacks(kind, node.attr) or method_reason(kind, node.attr) for kind in kinds)

    def _is_made_here(self, node: ast.expr) -> bool:
        """Whether an expression is the result of a call of TensorFlow's, and nothing else."""
        if isinstance(node, ast.Name):
            sources = self.scopes.of[node].find(node.id) or []
            only = sources[0] if len(sources) == 1 else None
            return isinstance(only, Expression) and isinstance(only.node, ast.Call) and self._is_made_here(only.node)
        called = self.inference.values_of(node.func) if isinstance(node, ast.Call) else NOTHING
        return bool(called) and all(isinstance(v, Path) for v in called)

    def _with_bases(self, node: ast.ClassDef, seen: tuple[ast.ClassDef, ...] = ()) -> tuple[ast.ClassDef, ...]:
        """A class of the file, and those of the file that it is made of."""
        for base in self.inference.bases(node):
            if isinstance(base, Local) and isinstance(base.node, ast.ClassDef) and base.node not in (*seen, node):
                seen = self._with_bases(base.node, (*seen, node))
        return (*seen, node)

    def _judged(self, value: Value, name: str, kind: str) -> tuple[str, str, str] | None:
        if isinstance(value, Lost):
            return f"tf.{value.path}().{name}", MISSES, f"tf.{value.path} is missing"
        if isinstance(value, Unknown):
            if kind == "attribute" or name in CONTAINERS_HAVE:
                return None  # lists have it, too
            if name in self.surface.telling:
                return self._of_class(self.surface.telling[name], name)
            return f"{value.source}.{name}", UNCHECKED, f"the class of {value.source} is known only when it runs"
        if isinstance(value, Made):
            return self._inherited(value.node, name)
        return self._of_class(value.kind, name) if isinstance(value, Instance) else None

    def _of_class(self, kind: type, name: str) -> tuple[str, str, str] | None:
        label = f"{kind.__name__}.{name}"
        has = self.surface.has_attribute(kind, name)
        if has is None:
            return None  # a namespace that the program fills: FLAGS
        if not has:
            return label, MISSES, method_reason(kind, name) or f"objects of class {kind.__name__} have no {name} here"
        said = difference(label)
        return (label, DIFFERS, said) if said else (label, SAME, "")

    def _inherited(self, node: ast.ClassDef, name: str, seen: frozenset[ast.AST] = frozenset()) -> Any:
        """Findings about an attribute that a class of the file may have from one of ours."""
        if node in seen or self.scopes.inside[node].bound.get(name):
            return None
        judged = []
        for base in self.inference.bases(node):
            if isinstance(base, Local) and isinstance(base.node, ast.ClassDef):
                judged.append(self._inherited(base.node, name, seen | {node}))
            else:
                judged.append(None if isinstance(base, (Foreign, Unknown)) else self._judged(base, name, "method"))
        return None if not judged or None in judged else min(judged, key=lambda j: GRAVITY[j[1]])

    def _taken_for(self, node: ast.Attribute, kind: type) -> None:
        """A method that only objects of one kind have, of a value that the file does not tell."""
        if node.attr not in self._defined:
            self._add(node, "method", f"{kind.__name__}.{node.attr}", SAME)

    @cached_property
    def _defined(self) -> set[str]:
        """The functions of all files."""
        return {n.name for n in self.scopes.inside if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        self._dynamic(node)
        called = self.inference.values_of(node.func)
        partial = any(isinstance(v, Foreign) and v.path == "functools.partial" for v in called)
        values = self.inference.values_of(node.args[0]) if partial and node.args else called
        judged = [(label, arguments) for v in values for label, arguments in self._arguments(v)]
        if not judged:
            return
        # a call that one of several functions takes is taken
        best = min(
            (list(self._argument_values(node, label, arguments, int(partial))) for label, arguments in judged),
            key=lambda given: max((GRAVITY[verdict] for *_, verdict, _ in given), default=0),
        )
        is_handed = any(isinstance(v, Path) for v in values) and not self._is_named(node.func)
        for place, name, verdict, message in best:
            if is_handed and verdict == MISSES:
                continue  # another function takes it
            self._add(place, "keyword", name, verdict, message)

    def _arguments(self, value: Value) -> Iterator[tuple[str, Arguments]]:
        """The parameters of a callable, without `self`."""
        if isinstance(value, Path):
            function, shift, label = self.surface.look(value.path), 0, f"tf.{value.path}"
            if function is MISSING or not callable(function):
                return
            parent = self.surface.look(value.path.rpartition(".")[0])
            if inspect.isclass(parent) and inspect.isfunction(
                inspect.getattr_static(parent, value.path.rpartition(".")[2], None)
            ):
                return  # Base.__init__(self, ...) and the like
        elif isinstance(value, Method):
            function, label = inspect.getattr_static(value.kind, value.name), f"{value.kind.__name__}.{value.name}"
            shift = 0 if isinstance(function, staticmethod) else 1
            function = getattr(function, "__func__", function)
        elif isinstance(value, Instance) and hasattr(value.kind, "__call__"):  # noqa: B004
            function, shift, label = value.kind.__call__, 1, value.kind.__name__
        else:
            return
        arguments = arguments_of(function)
        if arguments is not None:
            yield label, _without(arguments, shift)

    def _is_named(self, node: ast.expr) -> bool:
        """Whether a name below an import says what is called; else it is one of several, as an `activation` is."""
        while isinstance(node, ast.Attribute):
            node = node.value
        sources = self.scopes.of[node].find(node.id) or () if isinstance(node, ast.Name) else ()
        return not any(isinstance(source, Parameter) for source in sources)

    def _argument_values(
        self, node: ast.Call, label: str, arguments: Arguments, skip: int
    ) -> Iterator[tuple[ast.AST, str, str, str]]:
        """Findings about the arguments of a call: place, name, verdict, message."""
        allowed = ", ".join(arguments.keywords) or "none by name"
        for keyword in node.keywords:
            if keyword.arg is None:
                continue  # **options: what the dict holds is an expression of its own
            name = f"{label}({keyword.arg}=)"
            if keyword.arg in arguments.ignored:
                yield keyword, name, DIFFERS, "It is accepted and means nothing here."
            elif keyword.arg in arguments.keywords or arguments.any_keyword:
                yield keyword, name, SAME, ""
            else:
                near = get_close_matches(keyword.arg, arguments.keywords, 1, 0.5)
                hint = f"did you mean {near[0]}? " if near else ""
                yield keyword, name, MISSES, f"{hint}The arguments of {label} are: {allowed}"
        count = len(node.args) - skip
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        if plain and not arguments.variadic and count > len(arguments.positional):
            most = len(arguments.positional)
            yield node, label, MISSES, f"{label} takes {most} positional arguments, not {count}: give them by name"

    def _dynamic(self, node: ast.Call) -> None:
        """Names that only running tells."""
        if not isinstance(node.func, ast.Name) or self.scopes.of[node].find(node.func.id) is not None:
            self._imported(node)
            return
        name, arguments = node.func.id, node.args
        if name in LOOKS_UP and len(arguments) > 1:
            ours = [v for v in self.inference.values_of(arguments[0]) if self._is_ours(v)]
            if isinstance(key := arguments[1], ast.Constant):
                self._constant(node, ours, str(key.value), has_default=len(arguments) > 2)
            elif ours:
                what = ast.unparse(arguments[0])
                self._add(node, "name", f"{name}({what}, …)", UNCHECKED, "the name is known only when it runs")
        elif name == "vars" and arguments and any(self._is_ours(v) for v in self.inference.values_of(arguments[0])):
            self._add(node, "name", "vars", UNCHECKED, "what is looked up in it is known only when it runs")
        elif name in RUNS_TEXT and self._knows_tensorflow():
            self._add(node, "name", name, UNCHECKED, "code in a string is not read")
        elif name == "__import__":
            self._imported(node)

    def _constant(self, node: ast.Call, ours: list[Value], name: str, has_default: bool) -> None:
        for value in ours:
            if isinstance(value, Path):
                path = f"{value.path}.{name}".lstrip(".")
                verdict, message = self.surface.verdict(path)
                if verdict == MISSES and has_default:
                    verdict, message = DIFFERS, f"missing, and the program says what then: {message}"
                self._add(node, "name", f"tf.{path}", verdict, message)
            elif (judged := self._judged(value, name, "attribute")) is not None and not has_default:
                self._add(node, "attribute", *judged)

    def _imported(self, node: ast.Call) -> None:
        """``importlib.import_module("tensorflow.nn")``."""
        by_name = isinstance(node.func, ast.Name) and node.func.id == "__import__"
        called = self.inference.values_of(node.func)
        if not node.args or not (by_name or Foreign("importlib.import_module") in called):
            return
        key = node.args[0]
        if not isinstance(key, ast.Constant) and "tensorflow" in ast.unparse(key):
            self._add(node, "name", "import", UNCHECKED, "the name of the module is known only when it runs")

    def _knows_tensorflow(self) -> bool:
        here = self.scopes.inside[self.tree]
        scopes = {s for s in self.scopes.of.values() if s.enclosing(ast.Module) is here} | {here}
        bound = [source for scope in scopes for sources in scope.bound.values() for source in sources]
        kinds = [v for s in bound if isinstance(s, (Imported, Own)) for v in self.inference.source(s)]
        # a star of an own module may bring it: no telling by a name
        stars = [isinstance(s, Own) or tensorflow_path(s.path) is not None for s in here.stars]
        return any(stars) or any(isinstance(v, Path) for v in kinds)


def _is_object(found: Any) -> bool:
    """Whether it is neither a module nor a class nor a function: a dtype, FLAGS."""
    return found is not MISSING and not inspect.ismodule(found) and not callable(found)


def _without(arguments: Arguments, shift: int) -> Arguments:
    if not shift or not arguments.positional:
        return arguments
    first = arguments.positional[0]
    return Arguments(
        arguments.positional[shift:],
        tuple(k for k in arguments.keywords if k != first),
        arguments.required - {first},
        arguments.variadic,
        arguments.any_keyword,
        arguments.ignored,
    )


def unseen(census: Mapping[str, Sequence[Any]], apis: Mapping[File, str], found: Mapping[File, list[Use]]) -> list[Use]:
    """A use for each name of a census that the files' uses do not have.

    A name counts as seen in a file whose uses have its last part in theirs: aliases and modules of TensorFlow's own
    give it other first ones.

    Parameters
    ----------
    census : dict
        The names that a record has, and the files and lines where they were looked up.
    apis, found : dict
        The version of the API, and the uses, of each file.
    """
    shown = {file: {part for use in uses for part in use.name.split(".")} for file, uses in found.items()}
    added: dict[Use, None] = {}
    for name, places in census.items():
        for where, line in places:
            file = _among(where, found)
            if file is None:
                why = "the program looked names up in it when it ran, and it is not among the files that are checked"
                added[Use(where, 1, 1, "file", where, UNCHECKED, why)] = None
            elif name.rpartition(".")[2] not in shown[file]:
                verdict, message = Surface.of(apis.get(file, "1")).verdict(name)
                said = "reading does not show it, but it was looked up here when the program ran"
                said = said if verdict == SAME else f"{message}; {said}"
                added[Use(str(file), line, 1, "name", f"tf.{name}", verdict, said)] = None
    return list(added)


def _among(where: str, files: Mapping[File, Any]) -> File | None:
    """The file that a record names by its path below the program's folder."""
    parts = PurePath(where).parts
    return next((file for file in files if file.resolve().parts[-len(parts) :] == parts), None)
