"""Functions that are made anew in each call of the code around them, as lambdas are: what they do is known by then.

Two functions of the same code do the same, if all that the code names besides its arguments is the same and cannot be
changed. Then the second runs what has been recorded of the first.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Hashable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from engine.core.eager import EagerTensor
from engine.core.op import Op, distinct
from engine.core.variable import Variable
from engine.runtime.packages import PACKAGES

_DEEP = 8
"""So many functions that name each other are looked through."""
_FIXED = frozenset({*PACKAGES, "numpy", "scipy", *sys.stdlib_module_names})
"""Packages whose names mean the same all the time."""


class Same:
    """An object as part of a key: equal to itself only, and not kept alive."""

    __slots__ = ("_hash", "referent")

    def __init__(self, x: Any) -> None:
        self._hash, self.referent = id(x), weakref.ref(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and (x := self.referent()) is not None and x is other.referent()

    def __hash__(self) -> int:
        return self._hash


def variable_of(key: Any) -> Variable | None:
    """The first variable that a key names: what has been recorded goes when it goes."""
    if isinstance(key, Same):
        x = key.referent()
        return x if isinstance(x, Variable) else None
    found = map(variable_of, key) if isinstance(key, tuple) else ()
    return next((v for v in found if v is not None), None)


def code_key(function: Callable[..., Any]) -> Hashable:
    """A key that says all that a function does; None if that may change."""
    try:
        return _key(function, _DEEP)
    except (TypeError, ValueError):
        # the second is of a cell that is empty yet
        return None


def _key(function: Any, deep: int) -> Hashable:
    if type(function) is not FunctionType or not deep:
        raise TypeError("no plain function")
    cells = [_thing(cell.cell_contents, deep) for cell in function.__closure__ or ()]
    around = function.__globals__
    named = [(name, _thing(around[name], deep)) for name in sorted(set(_names(function.__code__))) if name in around]
    defaults = [_thing(x, deep) for x in function.__defaults__ or ()]
    defaults += [(name, _thing(x, deep)) for name, x in sorted((function.__kwdefaults__ or {}).items())]
    return function.__code__, tuple(cells), tuple(named), tuple(defaults)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _thing(x: Any, deep: int) -> Hashable:
    """Something that a function names, as part of a key.

    Raises
    ------
    TypeError
        If it may be changed.
    """
    if type(x) is EagerTensor or isinstance(x, Variable):
        return Same(x)
    if isinstance(x, ModuleType):
        if x.__name__.partition(".")[0] in _FIXED:
            return x.__name__
    elif isinstance(x, (type, Op, np.ufunc, BuiltinFunctionType)) or type(x) is FunctionType:
        if str(getattr(x, "__module__", None) or "builtins").partition(".")[0] in _FIXED:
            return Same(x)
        return _key(x, deep - 1)
    else:
        return distinct(x)
    raise TypeError(f"{x!r} may be changed")
