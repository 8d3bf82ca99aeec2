"""Modules that are loaded when they are first used: parts of SciPy, which most programs do not need, and ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Later", "scipy", "sparse"]


class Later:
    """A package, or a module, that the first use of a name in it loads.

    Parameters
    ----------
    package : str
    modules : bool
        Whether its names are modules, each of which is loaded by itself.
    """

    def __init__(self, package: str, modules: bool) -> None:
        self._package, self._modules = package, modules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self._package} has no public name {name!r}")
        of = self._package
        found = import_module(f"{of}.{name}") if self._modules else getattr(import_module(of), name)
        setattr(self, name, found)
        return found


scipy = Later("scipy", modules=True)

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = Later("scipy.sparse", modules=False)
