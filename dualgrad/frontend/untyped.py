"""For type checkers only: a module that imports `__getattr__` from here may have any attribute, of any type.

Modules that a front end fills when it is imported (`dualgrad.keras.host`) cannot be read by a type checker.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)
