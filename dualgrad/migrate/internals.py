"""TensorFlow's internal modules that programs import (``tensorflow.python.framework.ops``), made of public names.

A module is a list of the parts of the API in which its names are looked for, in this order.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from dualgrad.migrate.internal_modules import modules


def is_internal(path: str) -> bool:
    """Whether TensorFlow has a module of this name of its own."""
    return any(f"{known}.".startswith(f"{path}.") for known in modules())


def imported(path: str, name: str) -> str | None:
    """Another one of TensorFlow's own modules that a program takes from one that imports it: ``rnn.rnn_cell_impl``."""
    if not path.startswith("python."):
        return None
    folders = ("python.ops", "python.framework", "python.training", "python.util", "python.eager", "python.platform")
    return next((f"{folder}.{name}" for folder in folders if is_internal(f"{folder}.{name}")), None)


class Internals(ModuleType):
    """One of these modules, or a package of them."""

    def __init__(self, path: str, api: Any) -> None:
        super().__init__(path, f"Public names under the name that TensorFlow's own modules have: {path}.")
        self.__api__ = api
        self.__wanted__ = modules().get(path, "").split()
        self.__known__ = path
        # until TensorFlow 1.7 the names in generated modules began with an underscore; those of gradients still do
        self.__generated__ = ".gen_" in path or path.endswith("_grad")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            if name.startswith("_") and self.__generated__:
                name = name[1:]
            for place in self._places():
                if name in dir(place):
                    return getattr(place, name)
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)

    def _places(self) -> list[Any]:
        """The parts that are here."""
        places = []
        for wanted in self.__wanted__:
            here = self.__api__
            if wanted.endswith(":"):
                if not wanted.startswith("graph_api.") or here.__name__ == "graph_api":
                    places.append(import_module(wanted[:-1]))
                continue
            for part in filter(None, wanted.split(".")):
                here = getattr(here, part, None)
            if here is not None:
                places.append(here)
        return places

    def __dir__(self) -> list[str]:
        prefix = f"{self.__known__}."
        known = (name for name in modules() if name.startswith(prefix))
        below = {name[len(prefix) :].partition(".")[0] for name in known}
        names = {n for place in self._places() for n in dir(place) if not n.startswith("_")}
        return sorted({*below, *names, *(f"_{n}" for n in names if self.__generated__)})
