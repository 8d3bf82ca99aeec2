"""`Module`: an object that knows the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from engine.core.dtypes import DType
from engine.core.variable import Variable

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


class Module:
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

    @property
    def name(self) -> str:
        """The module's name."""
        return self._name

    def _members(self) -> list[Any]:
        """The variables and modules that this one holds directly, by the names of the attributes."""
        return list(held_by(value for _, value in sorted(vars(self).items())))

    def _walk(self) -> list[Any]:
        """All variables and modules below this one: its own variables first, then those of each module."""
        found: list[Any] = []
        self._collect(found, {id(self)})
        return found

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
