"""SciPy, a part of which is loaded when it is first used: gradients and dense Jacobians of most programs need none."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from typing import TYPE_CHECKING, Any

__all__ = ["scipy", "sparse"]

_TOOLS = "numpy.f2py", "numpy.testing"
"""NumPy's tools for developers: SciPy asks NumPy for each of its names, theirs too, and uses neither.

Loading them takes a third of the time of loading `scipy.linalg`.
"""


class _ToolsLater:
    """A finder of modules that are loaded when something in them is first used."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _TOOLS else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def _without_tools() -> Iterator[None]:
    sys.meta_path.insert(0, _ToolsLater)
    try:
        yield
    finally:
        sys.meta_path.remove(_ToolsLater)


class _Later:
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
        with _without_tools():
            found = import_module(f"{of}.{name}") if self._modules else getattr(import_module(of), name)
        setattr(self, name, found)
        return found


scipy = _Later("scipy", modules=True)

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = _Later("scipy.sparse", modules=False)
