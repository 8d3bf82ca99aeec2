"""Default arguments for functions, inside a ``with`` block: `arg_scope`."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Scope = dict[Any, dict[str, Any]]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = [{}]


_stack = _Stack()


def add_arg_scope(func: F) -> F:
    """Decorator: `arg_scope` can give the function other defaults.

    Examples
    --------
    >>> @add_arg_scope
    ... def power(x, exponent=2):
    ...     return x**exponent
    >>> with arg_scope([power], exponent=3):
    ...     power(2), power(2, exponent=4)
    (8, 16)
    """

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**_stack.scopes[-1].get(_key(scoped), {}), **kwargs})

    scoped._key_op = getattr(func, "_key_op", func)  # type: ignore[attr-defined]
    return scoped  # type: ignore[return-value]


def _key(func: Any) -> Any:
    return getattr(func, "_key_op", None)


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether `arg_scope` can give the function other defaults."""
    return _key(func) is not None


def current_arg_scope() -> Scope:
    """The defaults that are given now."""
    return _stack.scopes[-1]


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments for which `arg_scope` can give a function defaults."""
    if not has_arg_scope(func):
        raise ValueError(f"{_name(func)} is not decorated with @add_arg_scope")
    parameters = inspect.signature(_key(func)).parameters.values()
    return tuple([p.name for p in parameters if p.default is not p.empty])


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Mapping[Any, Any], **kwargs: Any) -> Iterator[Scope]:
    """Give functions other defaults inside the ``with`` block.

    Parameters
    ----------
    list_ops_or_scope : list of callable, or what such a block has yielded
        Functions decorated with `add_arg_scope`; or a scope to enter again, for which no arguments may be given.
    **kwargs
        The defaults.

    Yields
    ------
    dict
        The scope.

    Raises
    ------
    ValueError
        If a function is not decorated, or arguments are given with a scope.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        new: Scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        new = dict(_stack.scopes[-1])
        for func in list_ops_or_scope:
            if not has_arg_scope(func):
                raise ValueError(f"{_name(func)} is not decorated with @add_arg_scope")
            new[_key(func)] = {**new.get(_key(func), {}), **kwargs}
    _stack.scopes.append(new)
    try:
        yield new
    finally:
        _stack.scopes.pop()


def _name(func: Any) -> str:
    return f"{getattr(func, '__module__', '')}.{getattr(func, '__name__', func)}"


__all__ = ["add_arg_scope", "arg_scope", "arg_scoped_arguments", "current_arg_scope", "has_arg_scope"]
