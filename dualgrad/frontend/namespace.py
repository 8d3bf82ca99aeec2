"""Trees of names: from a front end's tables to the modules that users see.

A row of a table says where something is, and all its names below ``tf.``: ``("engine.ops.trig:sin", "sin math.sin")``
(`dualgrad.frontend.rows`). It is loaded when one of its names is first used, and is the same object under all of them.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from dualgrad.frontend.docstrings import describe
from dualgrad.frontend.rows import found, loaded
from engine.runtime.collector import settled

OPS = ("engine.ops.", "dualgrad.extras.ops.")
"""Where modules of ops are: `lift` makes public functions of the ops in these, and of functions made of ops."""

FOUNDATION: dict[str, str] = {}
"""By front end, the module that is loaded before anything else of it.

If functions of the engine's are to be among its names, this module has ``public(function, name)``, which makes one.
"""


class Waiting(NamedTuple):
    """A name that waits: its row, the first of its names, and whether it is of a table of functions to lift."""

    what: Any
    first: str
    lifted: bool

    @property
    def is_module(self) -> bool:
        """Whether it is a module, which is a part of the API."""
        return isinstance(self.what, str) and ":" not in self.what


_INSIDE: dict[str, dict[str, Waiting]] = {}
"""Names that wait in modules that are not loaded yet, by their path."""
_MADE: dict[tuple[str, Any, str], Any] = {}
"""Public functions by front end, row and first name."""


def lazily(where: str) -> Callable[..., Any]:
    """A function that is loaded when it is first called, from ``"module:name"``."""
    return lambda *args, **kwargs: found(where)(*args, **kwargs)


def _load(front_end: str, waiting: Waiting) -> Any:
    """Load what waits. The first name loads hundreds of modules, whose objects stay."""
    return settled(_loaded, front_end, waiting)


def _loaded(front_end: str, waiting: Waiting) -> Any:
    foundation: Any = found(FOUNDATION[front_end]) if front_end in FOUNDATION else None
    what = waiting.what
    key = (front_end, what, waiting.first)
    if key in _MADE:
        return _MADE[key]
    value = loaded(what)
    if waiting.lifted or (what.startswith(OPS) and _is_operation(value)):
        # of two threads that come here at once, the later one takes what the first one made
        return _MADE.setdefault(key, foundation.public(value, waiting.first))
    if what.startswith("dualgrad.") and not waiting.is_module:
        from dualgrad.frontend.bound import as_offered

        return as_offered(value, front_end)
    return value


def _tell_where(value: Any, front_end: str, name: str) -> None:
    """Say of a function that is made for a front end where it is to be found: pickles hold this."""
    if isinstance(value, FunctionType) and value.__module__ != front_end:
        named = sys.modules.get(value.__module__)
        if getattr(named, value.__qualname__, None) is not value:
            value.__module__, value.__qualname__ = front_end, name.partition(".")[2]


def _is_operation(value: Any) -> bool:
    """Whether it is an op, or a function that says which of its arguments are tensors."""
    return hasattr(value, "__operands__") or not isinstance(value, (type, FunctionType, ModuleType))


def missing(module: ModuleType, path: str, name: str) -> AttributeError:
    """The error for a name that is not here: what to use instead, or why it is out of scope."""
    front_end, _, inner = path.partition(".")
    from dualgrad.frontend.absent import reason

    why = reason(f"{inner}.{name}".lstrip(".")) or of_version1(front_end, inner, name)
    page = "; docs/keras.md lists what Keras has and dualgrad has not" if inner.startswith("keras") else ""
    why = why or f"dualgrad's {front_end} has no such name (yet){page}"
    # with these two Python itself proposes the name that was meant
    return AttributeError(f"module '{path}' has no attribute '{name}': {why}", name=name, obj=module)


def of_version1(front_end: str, inner: str, name: str) -> str | None:
    """Where a name of TensorFlow 1 is that a program on tapes asks for; None for every other name."""
    from dualgrad.frontend.version1_only import is_version1

    if front_end != "tape_api":
        return None
    # Keras's losses and their like are ``tf.losses``, too
    part = inner.removeprefix("compat.v1").lstrip(".").removeprefix("keras.")
    here = f"compat.v1.{part}".rstrip(".")
    offered = inner != here and name in _names_beside(f"{front_end}.{here}")
    if not offered and not is_version1(part, name):
        return None
    return "TensorFlow 1: use graph_api" + (f", or tf.{here}.{name} here" if offered else "")


def listing(module: ModuleType) -> list[str]:
    """The names that ``dir`` shows of a front end or a part of it, loaded or not; not the modules it is made of."""
    content = vars(module)
    waiting = {*content.get("__waiting__", ()), *_names_beside(content.get("__beside__", ""))}
    if "__all__" in content:
        return sorted({*content["__all__"], *waiting})

    def is_part(name: str, value: Any) -> bool:
        is_source = isinstance(value, ModuleType) and "__file__" in vars(value)
        return is_source and value.__name__ == f"{module.__name__}.{name}"

    hidden = {name for name, value in content.items() if name not in waiting and is_part(name, value)}
    hidden |= {name for name in content if name.startswith("_") and not name.startswith("__")}
    return sorted({*content, *waiting} - hidden - {"__getattr__", "__dir__", "__waiting__", "__beside__"})


def _beside(path: str) -> Any:
    """The namespace of that path; None if there is none."""
    name, *parts = path.split(".")
    return functools.reduce(lambda here, part: getattr(here, part, None), parts, sys.modules.get(name))


def _names_beside(path: str) -> list[str]:
    there = _beside(path) if path else None
    return [] if there is None else [name for name in listing(there) if not name.startswith("_")]


def offer(module: ModuleType, path: str, beside: str = "") -> dict[str, Waiting]:
    """Let a module load what waits there when it is first used, and say of every other name that it is missing.

    Parameters
    ----------
    module : module
    path : str
        Its name for users: ``"graph_api.train"``.
    beside : str
        Path of a namespace that has what is missing in this one.

    Returns
    -------
    dict of str to Waiting
        What waits, by name. It may be added to.
    """
    content = vars(module)
    if "__waiting__" in content:
        return content["__waiting__"]
    waiting = _INSIDE.pop(path, {})
    front_end = path.partition(".")[0]

    def getattr_(name: str) -> Any:
        if name in waiting:
            value = _load(front_end, waiting[name])
            _tell_where(value, front_end, f"{path}.{name}")
            if not isinstance(value, ModuleType):
                describe(value)
            elif not value.__name__.startswith("engine."):
                offer(value, f"{path}.{name}")
        elif name == "__all__":
            # `from ... import *` asks for it: all names, those that wait too
            return [n for n in listing(module) if not n.startswith("_")]
        elif name.startswith("__"):
            # Python asks for these, of every module that something is imported from
            raise AttributeError(f"module '{path}' has no attribute '{name}'", name=name, obj=module)
        elif not name.startswith("_") and name in _names_beside(beside):
            value = getattr(_beside(beside), name)
        else:
            raise missing(module, path, name)
        content[name] = value
        return value

    content.setdefault("__getattr__", getattr_)
    content.setdefault("__dir__", lambda: listing(module))
    content["__waiting__"] = waiting
    content["__beside__"] = beside
    offered = content.get("__all__", ())
    for name, inner in list(content.items()):
        # the modules that it is made of say what is missing in them, too
        is_part = isinstance(inner, ModuleType) and inner.__name__ == f"{module.__name__}.{name}"
        if name in offered or (getattr(inner, "__module__", "") == module.__name__ and not name.startswith("_")):
            describe(inner)
        if is_part and "__getattr__" not in vars(inner):
            offer(inner, f"{path}.{name}")
    return waiting


class Named(ModuleType):
    """A front end, whose names are what its tables say: importing a module of it takes no name from a function.

    ``import graph_api.function`` would put the module in the place of the function of that name. A module that is a
    part of the API is put there, and says what is missing in it (`offer`).
    """

    def __setattr__(self, name: str, value: Any) -> None:
        waiting = vars(self).get("__waiting__", {}).get(name)
        if waiting is not None and isinstance(value, ModuleType):
            if not waiting.is_module:
                return
            offer(value, f"{self.__name__}.{name}")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


def namespace(path: str, beside: str = "") -> ModuleType:
    """An empty module of the given full name, which can be imported too; see `offer`."""
    module = ModuleType(path, f"The part `{path.partition('.')[2]}` of TensorFlow's API.")
    offer(module, path, beside)
    sys.modules[path] = module
    return module


def _above(root: Any, path: str) -> tuple[Any, str]:
    """The namespace that a name belongs to, made if need be, and the last part of the name.

    Of a module that waits itself, the path.
    """
    offer(root, root.__name__)
    *parents, name = path.split(".")
    here, so_far = root, root.__name__
    for parent in parents:
        so_far = f"{so_far}.{parent}"
        if parent in vars(here)["__waiting__"]:
            return so_far, name
        if parent not in vars(here):
            beside = vars(here)["__beside__"]
            setattr(here, parent, namespace(so_far, beside and f"{beside}.{parent}"))
        here = vars(here)[parent]
    return here, name


def place(root: Any, path: str, value: Any) -> None:
    """Make `value` known as `path` (``"compat.v1"``), making the namespaces on the way.

    Raises
    ------
    ValueError
        If the name is taken: a table must not say two things about one name.
    """
    here, name = _above(root, path)
    if name in vars(here):
        raise ValueError(f"the name {path} is in the table twice")
    setattr(here, name, value)


def place_later(root: Any, table: Iterable[tuple[Any, str]], lifted: bool = False) -> None:
    """Make names known whose modules are loaded when one of them is first used.

    Parameters
    ----------
    root : module
    table : iterable of (where, names)
        Where: ``"module:name"``; ``"module:"`` if the module has it under the last part of each name; ``"module"`` for
        the module itself, of which ``__all__`` is shown. An op in a module of `OPS`, or a function there that declares
        its operands, becomes a public function (`FOUNDATION`); a function of ``dualgrad`` whose first parameter is the
        front end is bound to it (`dualgrad.frontend.bound`).
    lifted : bool
        Whether everything in the table becomes public functions; then `Old` rows may be in it.

    Raises
    ------
    ValueError
        If a name is taken.
    """
    spaces: dict[str, tuple[dict[str, Any], dict[str, Waiting]]] = {}
    for what, names in table:
        paths = names.split()
        by_last = isinstance(what, str) and what.endswith(":")
        first: dict[str, str] = {}
        for path in paths:
            parent, _, name = path.rpartition(".")
            if parent not in spaces:
                here = _above(root, path)[0]
                content = {"__waiting__": _INSIDE.setdefault(here, {})} if isinstance(here, str) else vars(here)
                spaces[parent] = content, content["__waiting__"]
            content, waiting = spaces[parent]
            if name in content or name in waiting:
                raise ValueError(f"the name {path} is in the table twice")
            known = first.setdefault(name, path) if by_last else paths[0]
            waiting[name] = Waiting(f"{what}{name}" if by_last else what, known, lifted)


def with_aliases(table: Iterable[tuple[Any, str]], aliases: Mapping[str, str]) -> tuple[tuple[Any, str], ...]:
    """A table with further names: ``{"sub": "subtract"}`` says that ``tf.sub`` is ``tf.subtract``.

    Raises
    ------
    ValueError
        If a name is not in the table.
    """
    further: dict[str, list[str]] = {}
    for alias, name in aliases.items():
        further.setdefault(name, []).append(alias)
    rows = [(row, " ".join([names, *[a for n in names.split() for a in further.pop(n, ())]])) for row, names in table]
    if further:
        raise ValueError(f"there are other names for {', '.join(further)}, which are not in the table")
    return tuple(rows)


def moved(names: str, now: str, before: str = "") -> dict[str, str]:
    """Aliases for names that were in the namespace `before` and are in `now` (empty: at the top level)."""
    return {f"{before}.{n}".lstrip("."): f"{now}.{n}".lstrip(".") for n in names.split()}


def defined(module: ModuleType) -> dict[str, Any]:
    """The names that a module offers: a namespace everything, a module of the source those it defines or lists."""
    if "__all__" in vars(module):
        return {name: getattr(module, name) for name in vars(module)["__all__"]}
    is_source = hasattr(module, "__file__")
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and (not is_source or getattr(value, "__module__", "") == module.__name__)
    }
