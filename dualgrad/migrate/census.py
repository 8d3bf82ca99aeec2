"""The census: which names of TensorFlow a program really used when it ran, and on which lines.

What is counted is each look-up of a name in a module (``tf.nn.relu``, ``from tensorflow import gradients``), wherever
it came about: through aliases, ``getattr`` and stars. Methods of objects are not looked up in modules, so not counted.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from dualgrad.migrate.hook import Facade
from dualgrad.migrate.watch import Site, is_users


class Census:
    """Counts names.

    Attributes
    ----------
    found : dict
        Names (``"nn.relu"``) to the lines where they were looked up.
    """

    def __init__(self) -> None:
        self.found: dict[str, set[Site]] = {}

    def note(self, name: str, depth: int) -> None:
        """Count a name if the program itself looks it up: if it does so in the frame `depth` above the caller's."""
        frame: Any = sys._getframe(depth + 1)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        if frame is not None and is_users(frame.f_code.co_filename):
            self.found.setdefault(name, set()).add((frame.f_code.co_filename, frame.f_lineno))

    def facades(self) -> type[Facade]:
        """The modules to give to `dualgrad.migrate.hook.install`, which tell of what is looked up in them."""
        census = self

        class Counted(Facade):
            """A module of a front end under TensorFlow's name, which counts what is looked up in it."""

            def __getattribute__(self, name: str) -> Any:
                value = super().__getattribute__(name)
                if not name.startswith("_") and not isinstance(value, ModuleType):
                    census.note(f"{super().__getattribute__('__inner__')}.{name}".lstrip("."), 1)
                return value

            def __getattr__(self, name: str) -> Any:
                value = None
                try:
                    value = super().__getattr__(name)
                finally:
                    # also what is missing was asked for
                    if not name.startswith("_") and not isinstance(value, ModuleType):
                        census.note(f"{self.__inner__}.{name}".lstrip("."), 1)
                return value

        return Counted


class Counting(ModuleType):
    """A module of real TensorFlow that tells a census what is looked up in it."""

    def __init__(self, real: Any, path: str, census: Census) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(__real__=real, __inner__=path, __census__=census, __path__=[], __spec__=real.__spec__)

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__inner__}.{name}".lstrip(".")
        try:
            value = getattr(self.__real__, name)
        except AttributeError:
            if not name.startswith("__"):
                self.__census__.note(path, 1)
            raise
        if name.startswith("__"):
            return value
        if isinstance(value, ModuleType):
            return Counting(value, path, self.__census__)
        self.__census__.note(path, 1)
        return value

    def __dir__(self) -> list[str]:
        return dir(self.__real__)


def counting(real: str, path: str, census: Census) -> Counting:
    """The module `real` of TensorFlow under the part `path` of its API."""
    return Counting(import_module(real), path, census)
