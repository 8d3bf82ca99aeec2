"""The names under which users know methods that are defined in a class that they never see."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Any)
T = TypeVar("T", bound=type)


def is_named(thing: Any, function: Any) -> bool:
    """Whether `thing`, made of a function, stands in its place: so what is decorated pickles by name."""
    if getattr(function, "__module__", None) == "__main__" and "cloudpickle" in sys._getframe(2).f_globals["__name__"]:
        return False  # another process has another main program: there functions go by value
    place: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "").split("."):
        place = getattr(place, part, None)
    return place is thing


def named(function: F, name: str, doc: str | None) -> F:
    """A function, or class, that another one made, with the name and the docstring of its own."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def methods_of(name: str) -> Callable[[T], T]:
    """Say whose methods those of a class are to users: Python's own messages about arguments name that class.

    Parameters
    ----------
    name : str
        The public class that inherits them.

    Examples
    --------
    >>> @methods_of("Tape")
    ... class Derivatives:
    ...     def jacobian(self): ...
    >>> class Tape(Derivatives): ...
    >>> Tape().jacobian(foo=1)
    Traceback (most recent call last):
    TypeError: Tape.jacobian() got an unexpected keyword argument 'foo'
    """

    def renamed(kind: T) -> T:
        for value in vars(kind).values():
            function = getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                function.__qualname__ = f"{name}.{function.__name__}"
        return kind

    return renamed
