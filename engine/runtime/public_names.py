"""The names under which users know methods that are defined in a class that they never see."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

T = TypeVar("T", bound=type)


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
