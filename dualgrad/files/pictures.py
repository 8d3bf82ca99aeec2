"""Pillow, which reads and writes pictures, loaded when it is first needed."""

from __future__ import annotations

import importlib
from types import ModuleType

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
"""The formats that are opened. Others may need programs: Pillow hands PostScript to an interpreter."""


def pillow(name: str) -> ModuleType:
    """``PIL.Image``.

    Raises
    ------
    ImportError
        If Pillow is not installed.
    """
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise ImportError(f"{name}: pictures need Pillow: pip install pillow (or dualgrad[images])") from None
