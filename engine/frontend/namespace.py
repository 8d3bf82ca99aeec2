"""Trees of names: from a front end's table to the modules that users see.

A table has one row per function: the function (or op), and all its names below ``tf.`` (``"abs math.abs"``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any


def missing(path: str, name: str) -> AttributeError:
    """The error for a name that is not here."""
    front_end = path.partition(".")[0]
    return AttributeError(f"module '{path}' has no attribute '{name}': dualgrad's {front_end} has no such name (yet)")


def listing(module: ModuleType, modules: Iterable[str] = ()) -> list[str]:
    """What ``dir`` shows of a front end: of the modules that it is made of, only those that are part of its API."""

    def is_part(name: str, value: Any) -> bool:
        return hasattr(value, "__file__") and value.__name__ == f"{module.__name__}.{name}" and name not in modules

    private = {name for name in vars(module) if name.startswith("_") and not name.startswith("__")}
    return sorted(n for n, v in vars(module).items() if n not in private and not is_part(n, v))


def namespace(path: str) -> ModuleType:
    """An empty module of the given full name, which can be imported too."""
    module = ModuleType(path, f"The part `{path.partition('.')[2]}` of TensorFlow's API.")

    def getattr_(name: str) -> Any:
        raise missing(path, name)

    module.__dict__["__getattr__"] = getattr_
    sys.modules[path] = module
    return module


def place(root: Any, path: str, value: Any) -> None:
    """Make `value` known as `path` (``"math.abs"``), making the namespaces on the way.

    Raises
    ------
    ValueError
        If the name is taken: a table must not say two things about one name.
    """
    *parents, name = path.split(".")
    here = root
    for parent in parents:
        if parent not in vars(here):
            setattr(here, parent, namespace(f"{here.__name__}.{parent}"))
        here = vars(here)[parent]
    if name in vars(here):
        raise ValueError(f"the name {path} is in the table twice")
    setattr(here, name, value)


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
    """What a module offers: a namespace everything, a module of the source what it defines itself."""
    is_source = hasattr(module, "__file__")
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and (not is_source or getattr(value, "__module__", "") == module.__name__)
    }
