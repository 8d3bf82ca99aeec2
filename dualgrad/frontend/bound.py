"""Functions that both front ends share, and that are made of a front end's own functions.

Their first parameter is the front end, called `tf`. Users do not see it: `bound` leaves it out.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def bound(function: Callable[Concatenate[Any, P], R], tf: ModuleType) -> Callable[P, R]:
    """A shared function as one front end offers it."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(tf, *args, **kwargs)

    shared = inspect.signature(function)
    call.__signature__ = shared.replace(parameters=[*shared.parameters.values()][1:])  # type: ignore[attr-defined]
    return call


def is_shared(value: Any) -> bool:
    """Whether something is a function whose first parameter is the front end."""
    return inspect.isfunction(value) and value.__code__.co_varnames[:1] == ("tf",) and value.__code__.co_argcount > 0


@functools.cache
def _known(function: Callable[..., Any], front_end: str) -> Callable[..., Any]:
    return bound(function, sys.modules[front_end])


class OfFrontEnd(type):
    """Metaclass of a shared class as a front end offers it: instances of derived shared classes are instances of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), cls)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(vars(cls).get("__shared__", cls), subclass)


@functools.cache
def _class(shared: type, front_end: str) -> type:
    """The class whose attribute `tf` is the front end."""
    content = {"tf": sys.modules[front_end], "__shared__": shared, "__doc__": shared.__doc__}
    return OfFrontEnd(shared.__name__, (shared,), {**content, "__module__": shared.__module__})


def as_offered(value: Any, front_end: str) -> Any:
    """The form in which a front end offers what it shares with the other: one function under all its names."""
    if isinstance(value, type) and "per_front_end" in dir(value):
        return _class(value, front_end)
    return _known(value, front_end) if is_shared(value) else value
