"""Two functions of the module ``imp``, which Python 3.12 gave up, for programs that run with ``--compat``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

reload = importlib.reload


def load_source(name: str, pathname: str, file: object = None) -> ModuleType:
    """The module of that name, made of a file.

    Raises
    ------
    ImportError
        If the file is none of Python's.
    """
    spec = importlib.util.spec_from_file_location(name, pathname)
    if spec is None or spec.loader is None:
        raise ImportError(f"{pathname} is no file of Python's", name=name, path=pathname)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
