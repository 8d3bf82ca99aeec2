"""The extension in C, if it is there and wanted."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

_VARIABLE = "DUALGRAD_NATIVE"


def _load() -> tuple[ModuleType | None, str]:
    wanted = os.environ.get(_VARIABLE, "1")
    if wanted not in ("0", "1", "require"):
        raise ValueError(f"the environment variable {_VARIABLE} must be 0, 1 or require, got {wanted!r}")
    if wanted == "0":
        return None, f"{_VARIABLE}=0"
    try:
        found = importlib.import_module("engine.program.native._executor")
    except ImportError as error:
        if wanted == "require":
            raise ImportError(
                f"{_VARIABLE}=require, but the extension cannot be imported ({error}); install a C compiler and "
                f"install again, or set {_VARIABLE}=1 to do without"
            ) from error
        return None, f"the extension cannot be imported: {error}"
    return found, "the extension is there"


executor, reason = _load()
"""The extension, None where programs run in Python; and why."""
