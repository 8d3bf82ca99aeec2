"""Trees of names: from a front end's table to the modules that users see.

A table has one row per function: the function (or op), and all its names below ``tf.`` (``"abs math.abs"``). A table of
what is loaded when it is first used has, in place of the function, where it is: ``"graph_api.saving:Saver"``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from dualgrad.frontend.absent import reason
from dualgrad.frontend.bound import as_offered

OPS = ("engine.ops.", "dualgrad.extras.ops.")
"""Where modules of ops are: `lift` makes public functions of what these hold."""

LIFT: dict[str, Callable[[Any, str], Any]] = {}
"""By front end, what makes a public function of one of the engine's, as `build` is told: ``public(function, name)``."""


def lazily(where: str) -> Callable[..., Any]:
    """A function that is loaded when it is first called, from ``"module:name"``."""
    module, _, name = where.partition(":")
    return lambda *args, **kwargs: getattr(importlib.import_module(module), name)(*args, **kwargs)


def missing(module: ModuleType, path: str, name: str) -> AttributeError:
    """The error for a name that is not here: what to use instead, or why it is out of scope."""
    front_end, _, inner = path.partition(".")
    why = reason(f"{inner}.{name}".lstrip(".")) or f"dualgrad's {front_end} has no such name (yet)"
    # with these two Python itself proposes the name that was meant
    return AttributeError(f"module '{path}' has no attribute '{name}': {why}", name=name, obj=module)


def listing(module: ModuleType) -> list[str]:
    """The names that ``dir`` shows of a front end or a part of it, loaded or not; not the modules it is made of."""
    waiting: dict[str, str] = vars(module).get("__waiting__", {})
    if "__all__" in vars(module):
        return sorted({*vars(module)["__all__"], *waiting})

    def is_part(name: str, value: Any) -> bool:
        return hasattr(value, "__file__") and value.__name__ == f"{module.__name__}.{name}"

    hidden = {name for name, value in vars(module).items() if name not in waiting and is_part(name, value)}
    hidden |= {name for name in vars(module) if name.startswith("_") and not name.startswith("__")}
    return sorted({*vars(module), *waiting} - hidden - {"__getattr__", "__dir__", "__waiting__"})


def offer(module: ModuleType, path: str) -> dict[str, str]:
    """Let a module load what waits there when it is first used, and say of every other name that it is missing.

    Parameters
    ----------
    module : module
    path : str
        Its name for users: ``"graph_api.train"``.

    Returns
    -------
    dict of str to str
        What waits, by name: ``"module"``, or ``"module:name"``. It may be added to.
    """
    content = vars(module)
    if "__waiting__" in content:
        return content["__waiting__"]
    waiting: dict[str, str] = {}

    def getattr_(name: str) -> Any:
        if name not in waiting:
            raise missing(module, path, name)
        where, _, attribute = waiting[name].partition(":")
        value: Any = importlib.import_module(where)
        if attribute:
            value = getattr(value, attribute)
            front_end = path.partition(".")[0]
            if where.startswith(OPS):
                value = LIFT[front_end](value, f"{path}.{name}".partition(".")[2])
            elif where.startswith("dualgrad."):
                value = as_offered(value, front_end)
        else:
            offer(value, f"{path}.{name}")
        content[name] = value
        return value

    content.setdefault("__getattr__", getattr_)
    content.setdefault("__dir__", lambda: listing(module))
    content["__waiting__"] = waiting
    return waiting


def namespace(path: str) -> ModuleType:
    """An empty module of the given full name, which can be imported too."""
    module = ModuleType(path, f"The part `{path.partition('.')[2]}` of TensorFlow's API.")
    offer(module, path)
    sys.modules[path] = module
    return module


def _above(root: Any, path: str) -> tuple[Any, str]:
    """The namespace that a name belongs to, made if need be, and the last part of the name."""
    *parents, name = path.split(".")
    here, so_far = root, root.__name__
    for parent in parents:
        so_far = f"{so_far}.{parent}"
        if parent not in vars(here):
            setattr(here, parent, namespace(so_far))
        here = vars(here)[parent]
        offer(here, so_far)
    return here, name


def place(root: Any, path: str, value: Any) -> None:
    """Make `value` known as `path` (``"math.abs"``), making the namespaces on the way.

    Raises
    ------
    ValueError
        If the name is taken: a table must not say two things about one name.
    """
    here, name = _above(root, path)
    if name in vars(here):
        raise ValueError(f"the name {path} is in the table twice")
    setattr(here, name, value)


def place_later(root: Any, table: Iterable[tuple[str, str]]) -> None:
    """Make names known whose modules are loaded when one of them is first used.

    Parameters
    ----------
    root : module
    table : iterable of (where, names)
        Where: ``"module:name"``; ``"module:"`` if the module has it under the last part of each name; ``"module"`` for
        the module itself, of which ``__all__`` is shown. What is in a module of ``engine.ops`` becomes a public
        function by `LIFT`; a function of ``dualgrad.frontend`` is bound to the front end (`dualgrad.frontend.bound`).

    Raises
    ------
    ValueError
        If a name is taken.
    """
    offer(root, root.__name__)
    for where, names in table:
        for path in names.split():
            here, name = _above(root, path)
            loaded = vars(here).get(name)
            taken = loaded is not None and loaded is not sys.modules.get(where)
            if name in vars(here)["__waiting__"] or taken:
                raise ValueError(f"the name {path} is in the table twice")
            vars(here)["__waiting__"][name] = f"{where}{name}" if where.endswith(":") else where
            if loaded is not None:
                offer(loaded, f"{root.__name__}.{path}")


def build(
    front_end: str, table: Iterable[tuple[Any, str]], public: Callable[[Any, str], Callable[..., Any]]
) -> ModuleType:
    """All functions of a table, in a tree of namespaces.

    Parameters
    ----------
    front_end : str
        Name of the package.
    table : iterable of (function, names)
    public : callable
        ``public(function, name)`` makes the function that users call.
    """
    root = ModuleType(front_end)
    for function, names in table:
        value = public(function, names.split()[0])
        for path in names.split():
            place(root, path, value)
    return root


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
