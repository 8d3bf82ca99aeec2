"""The import hook: ``tensorflow`` and what lies below it, made of dualgrad's front ends.

``tensorflow.nn`` and its like are `Facade` modules: each hands on one module of a front end under TensorFlow's name,
shows what that shows, and says of other names that they are missing and why. What TensorFlow has elsewhere
(``compat.v1``, ``python.framework.ops``) is in tables. Nothing is loaded before the program asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from dualgrad.frontend.absent import reason
from dualgrad.frontend.namespace import of_version1
from dualgrad.migrate.internals import Internals, imported, is_internal

API = "DUALGRAD_API"
"""The environment variable that tells processes which the program starts which API it uses."""
VERSIONS = {
    "1": {"": "graph_api", "compat.v1": "graph_api", "compat.v2": "tape_api"},
    "2": {"": "tape_api", "compat.v1": "tape_api:compat.v1", "compat.v2": "tape_api"},
    "eager": {"": "tape_api:compat.v1", "compat.v1": "tape_api:compat.v1", "compat.v2": "tape_api"},
}
"""Of each API where its parts are: a module, or ``module:attributes``."""
ROOTS = {"tensorflow": "", "keras": "keras", "tf_slim": "contrib.slim"}
"""The packages that programs import, and which part of the API each is."""


class Facade(ModuleType):
    """A module of a front end under TensorFlow's name."""

    def __init__(self, name: str, path: str, target: Any) -> None:
        super().__init__(name, target.__doc__)
        self.__path__: list[str] = []
        self.__target__ = target
        self.__inner__ = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            if name == "__version__" and hasattr(self.__target__, name):
                return self.__target__.__version__
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)
        path = f"{self.__inner__}.{name}".lstrip(".")
        if isinstance(self.__target__, Internals) and is_internal(path):
            # a module below is meant before a function that has its name (``parallel_for.gradients``)
            return import_module(f"{self.__name__}.{name}")
        if name not in dir(self.__target__):
            if has_module(path):
                return import_module(f"{self.__name__}.{name}")
            if (elsewhere := imported(self.__inner__, name)) is not None:
                return import_module(f"tensorflow.{elsewhere}")
            raise AttributeError(
                f"module '{self.__name__}' has no attribute '{name}': {why_not(path)}", name=name, obj=self
            )
        value = getattr(self.__target__, name)
        if isinstance(value, ModuleType):
            try:
                return import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:  # a part of the API where TensorFlow's module has a function
                raise AttributeError(str(error), name=name, obj=self) from None
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        own = set(vars(self)) - {"__target__", "__inner__"}
        return sorted(own.union(n for n in dir(self.__target__) if n == "__version__" or not n.startswith("__")))


def why_not(path: str) -> str:
    """The message about a name that is not here."""
    inner, _, name = path.removeprefix("compat.v1.").rpartition(".")
    if os.environ.get(API) == "2" and of_version1("tape_api", inner, name):
        return reason(path) or "TensorFlow 1: run the program with --api 1"
    return reason(path) or "dualgrad has no such name (yet)"


def parts(version: str | None = None) -> dict[str, str]:
    """Where the parts of an API are, by default of the one in use."""
    return VERSIONS[version or os.environ.get(API, "1")]


def has_module(path: str) -> bool:
    """Whether TensorFlow has a module of this name that its parent does not show."""
    inner = path.removeprefix("compat.v1.").removeprefix("compat.v2.")
    return inner in ("compat", "compat.v1", "compat.v2") or is_internal(inner)


def located(where: str) -> ModuleType:
    """The module that ``"module:attributes"`` says."""
    name, _, attributes = where.partition(":")
    found: Any = import_module(name)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def find(path: str, version: str | None = None) -> Any:
    """The object that stands for ``tensorflow.<path>``.

    Parameters
    ----------
    path : str
        Such as ``""``, ``"nn"`` or ``"compat.v1.train"``.
    version : str, optional
        Of which API, as `install` takes it; by default of the one in use.

    Raises
    ------
    AttributeError
        If there is nothing.
    """
    here = parts(version)
    start = next((p for p in ("compat.v1", "compat.v2") if path == p or path.startswith(f"{p}.")), "")
    inner = path[len(start) :].lstrip(".")
    found = api = located(here[start])
    for name in filter(None, inner.split(".")):
        if name not in dir(found):
            if has_module(inner):
                return Internals(inner, api)
            raise AttributeError(name)
        found = getattr(found, name)
    return found


class Hook(MetaPathFinder, Loader):
    """Finds and makes the modules below `ROOTS`.

    Parameters
    ----------
    facade : class
        Of the modules.
    """

    def __init__(self, facade: type[Facade] = Facade) -> None:
        self.facade = facade

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A specification for what is ours, None for everything else and for the program's own ``keras.py``."""
        root, _, inner = fullname.partition(".")
        if root not in ROOTS or (not inner and root != "tensorflow" and self._is_local(root)):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    @staticmethod
    def _is_local(name: str) -> bool:
        folder = Path(sys.path[0])
        return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The facade."""
        root, _, inner = spec.name.partition(".")
        path = ".".join(filter(None, (ROOTS[root], inner)))
        try:
            target = find(path)
        except AttributeError as error:
            raise ModuleNotFoundError(f"No module named '{spec.name}': {why_not(path)}", name=spec.name) from error
        if not isinstance(target, ModuleType):
            raise ModuleNotFoundError(f"No module named '{spec.name}': it is a name in a module", name=spec.name)
        return self.facade(spec.name, path, target)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: a facade loads what it is asked for."""


def install(api: str, facade: type[Facade] = Facade) -> None:
    """Make ``import tensorflow`` give dualgrad, in this process and in those that it starts.

    Parameters
    ----------
    api : {"1", "2", "eager"}
        Which TensorFlow ``tensorflow`` is: graphs, tapes, or TensorFlow 1's names on eager values.
    facade : class
        Of the modules, a subclass of `Facade` that wants to know what the program asks of them.

    Raises
    ------
    ValueError
        If there is no such API.
    """
    if api not in VERSIONS:
        raise ValueError(f"api must be one of {', '.join(VERSIONS)}, not {api!r}")
    os.environ[API] = api
    if not any(isinstance(finder, Hook) for finder in sys.meta_path):
        sys.meta_path.insert(0, Hook(facade))
    here = Path(__file__).resolve()
    for folder, place in ((here.with_name("stand_in"), 1), (here.parents[2], len(sys.path) + 1)):
        if str(folder) not in sys.path[1:]:  # the first becomes the program's own folder
            sys.path.insert(place, str(folder))


def stand_in(name: str) -> None:
    """The way a module in the folder ``stand_in`` works when a process that the program started imports it as `name`.

    `multiprocessing` hands ``sys.path`` on to such a process, so that folder too, but no hook.
    """
    install(os.environ[API])
    del sys.modules[name]
    import_module(name)
