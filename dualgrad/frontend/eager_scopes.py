"""Name scopes where there is no graph: prefixes of the names of variables."""

from __future__ import annotations

import threading
from typing import Any

from engine.runtime.faces import Shown


class _Scope(threading.local):
    prefix: str = ""


_scope = _Scope()


def scoped(name: str) -> str:
    """The name that a variable gets in the scope that is open."""
    return _scope.prefix + name


class name_scope(Shown):
    """A prefix of the names of variables that are made in it; eager tensors have no names.

    Parameters
    ----------
    name : str
        Scopes in a scope add up. A name that ends in a slash is the whole prefix, and an empty one ends all scopes.

    Examples
    --------
    >>> import tape_api as tf
    >>> with tf.name_scope("outer"), tf.name_scope("inner") as scope:
    ...     print(scope, tf.Variable(0.0, name="v").name)
    outer/inner/ outer/inner/v:0
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name_scope: argument `name` must be a string, got {name!r}")
        self._name = name
        self._before: list[str] = []

    @property
    def name(self) -> str:
        """The name it was made with."""
        return self._name

    def __enter__(self) -> str:
        self._before.append(_scope.prefix)
        ended = not self._name or self._name.endswith("/")
        _scope.prefix = self._name if ended else f"{_scope.prefix}{self._name}/"
        return _scope.prefix

    def __exit__(self, *error: Any) -> None:
        _scope.prefix = self._before.pop()


def old_name_scope(name: str | None = None, default_name: str | None = None, values: Any = None) -> name_scope:
    """`name_scope` with TensorFlow 1's arguments."""
    chosen = default_name if name is None else name
    if chosen is None:
        raise ValueError("name_scope: one of the arguments `name` and `default_name` must be given")
    return name_scope(chosen)
