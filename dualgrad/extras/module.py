"""`Module`: an object that knows the variables and modules among its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from dualgrad.frontend import eager_scopes
from engine.core.dtypes import DType
from engine.core.variable import Variable
from engine.runtime.faces import Shown

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
_NOTHING_HELD = frozenset(
    {bool, bytes, complex, float, int, str, type(None), FunctionType, MethodType, np.ndarray, DType}
)
"""Types of which most attributes are, and which hold neither variables nor modules: a model is walked at each step."""


def held_by(values: Iterable[Any]) -> Iterator[Any]:
    """The variables and modules among the values, and in lists, tuples, sets and dicts at any depth."""
    for value in values:
        kind = type(value)
        if kind in _NOTHING_HELD or (kind in _CONTAINERS and not value):
            continue
        if isinstance(value, (Variable, Module)):
            yield value
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from held_by(value)
        elif isinstance(value, dict):
            yield from held_by(value.values())


def distinct(items: Iterable[Any]) -> list[Any]:
    """The items without repetitions of the same object."""
    return list({id(item): item for item in items}.values())


def snake_case(name: str) -> str:
    """``MyLayer`` as ``my_layer``."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower().lstrip("_")


class Module(Shown):
    """Base of objects that hold variables.

    Parameters
    ----------
    name : str, optional
        By default the name of the class in snake case.

    Examples
    --------
    >>> import tape_api as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w, self.b = tf.Variable(2.0, name="w"), tf.Variable(1.0, name="b")
    ...     def __call__(self, x):
    ...         return self.w * x + self.b
    >>> line = Line()
    >>> [v.name for v in line.trainable_variables]
    ['b:0', 'w:0']
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not name.isidentifier():
            raise ValueError(f"{name!r} is not a valid module name: it must be a Python identifier")
        self._name = name or snake_case(type(self).__name__)
        with eager_scopes.name_scope(self._name) as scope:
            self._name_scope = scope

    @property
    def name(self) -> str:
        """The module's name."""
        return self._name

    @property
    def name_scope(self) -> eager_scopes.name_scope:
        """The scope that gives variables made in it the module's name as prefix."""
        return eager_scopes.name_scope(vars(self).get("_name_scope", f"{self.name}/"))

    @staticmethod
    def with_name_scope(method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator of a method that runs in the module's `name_scope`.

        Examples
        --------
        >>> import tape_api as tf
        >>> class Scale(tf.Module):
        ...     @tf.Module.with_name_scope
        ...     def __call__(self, x):
        ...         if not hasattr(self, "w"):
        ...             self.w = tf.Variable(2.0, name="w")
        ...         return self.w * x
        >>> scale = Scale(name="twice")
        >>> float(scale(3.0)), scale.w.name
        (6.0, 'twice/w:0')
        """

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    def _members(self) -> list[Any]:
        """The variables and modules that this one holds directly, by the names of the attributes."""
        return list(held_by(value for _, value in sorted(vars(self).items())))

    def _walk(self) -> list[Any]:
        """All variables and modules below this one: its own variables first, then those of each module."""
        modules: list[Any] = []
        self._collect(modules, {id(self)})
        return modules

    def _collect(self, found: list[Any], seen: set[int]) -> None:
        members = {id(m): m for m in self._members() if id(m) not in seen}
        found += [m for m in members.values() if isinstance(m, Variable)]
        for key, module in members.items():
            if isinstance(module, Module) and key not in seen:
                seen.add(key)
                found.append(module)
                module._collect(found, seen)

    @property
    def variables(self) -> Sequence[Variable]:
        """All variables of this module and those it holds."""
        return tuple(distinct(v for v in self._walk() if isinstance(v, Variable)))

    @property
    def trainable_variables(self) -> Sequence[Variable]:
        """The trainable ones among `variables`."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> Sequence[Variable]:
        """The others among `variables`."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules that this one holds, directly or not."""
        return tuple(m for m in self._walk() if isinstance(m, Module))
