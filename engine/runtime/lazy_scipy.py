"""SciPy, a part of which is loaded when it is first used: gradients of most programs need none of it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


class _Later:
    """A package whose modules are attributes."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(f"{self._package} has no public module {name!r}")
        module = import_module(f"{self._package}.{name}")
        setattr(self, name, module)
        return module


scipy = _Later("scipy")
