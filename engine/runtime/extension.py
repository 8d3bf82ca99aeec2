"""The extensions in C, where they are there and wanted.

``DUALGRAD_NATIVE=0`` does without, with the same results; ``DUALGRAD_NATIVE=require`` makes it an error that one is
missing.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

_VARIABLE = "DUALGRAD_NATIVE"


def extension(name: str) -> tuple[ModuleType | None, str]:
    """An extension, None if programs do without it; and why.

    Raises
    ------
    ImportError
        If it is required, and missing.
    ValueError
        If the environment variable says something else than 0, 1 or require.
    """
    wanted = os.environ.get(_VARIABLE, "1")
    if wanted not in ("0", "1", "require"):
        raise ValueError(f"the environment variable {_VARIABLE} must be 0, 1 or require, got {wanted!r}")
    if wanted == "0":
        return None, f"{_VARIABLE}=0"
    try:
        found = importlib.import_module(name)
    except ImportError as error:
        if wanted == "require":
            raise ImportError(
                f"{_VARIABLE}=require, but the extension cannot be imported ({error}); install a C compiler and "
                f"install again, or set {_VARIABLE}=1 to do without"
            ) from error
        return None, f"the extension cannot be imported: {error}"
    return found, "the extension is there"
