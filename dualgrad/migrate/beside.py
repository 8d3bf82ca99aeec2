"""A program's own modules that have the names of our packages: each side imports its own.

A program's ``import engine`` gives the ``engine.py`` or the folder beside it, ours gives ours. The program's module has
another name in `sys.modules`, for there a name stands for one module.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from engine.runtime.packages import FOLDERS, HOME, PACKAGES

PREFIX = "own_"
"""Before the name of a program's module that clashes."""


def _spec(folder: Path, name: str) -> ModuleSpec | None:
    """Where ``import name`` of a program in this folder leads."""
    for file in (folder / name / "__init__.py", folder / f"{name}.py"):
        if file.is_file():
            return spec_from_file_location(PREFIX + name, file)
    # a folder called `dualgrad` is rather a copy of ours
    if name == "dualgrad" or not any((folder / name).glob("*.py")):
        return None
    spec = ModuleSpec(PREFIX + name, None, is_package=True)
    spec.submodule_search_locations = [str(folder / name)]
    return spec


def keep_apart(folder: Path) -> None:
    """From now on modules of a program in this folder import what lies there, whatever its name is."""
    folder = folder.resolve()
    specs = {PREFIX + name: spec for name in PACKAGES if (spec := _spec(folder, name)) is not None}
    if not specs or str(folder) == HOME:
        return
    for name in specs:
        import_module(name.removeprefix(PREFIX))  # ours, before the program's folder is looked at
    sys.meta_path.insert(0, SimpleNamespace(find_spec=lambda name, *_: specs.get(name)))
    plain, below = builtins.__import__, str(folder) + os.sep

    def apart(name: str, given: Any = None, inside: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:
        if level == 0 and PREFIX + name.partition(".")[0] in specs and given:
            file = os.path.realpath(given.get("__file__") or "")
            if given.get("__name__") == "__main__" or (file.startswith(below) and not file.startswith(FOLDERS)):
                name = PREFIX + name
        return plain(name, given, inside, fromlist, level)

    builtins.__import__ = apart  # type: ignore[assignment]
